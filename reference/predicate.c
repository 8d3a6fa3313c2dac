/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Visibility, positions and the order of keys, one key at a time. Run-time slot entries are taken
 * as they come: one that makes no sense is absent by rule, lengths are cut, positions are clamped.
 */
#include "predicate.h"

#include "decode.h"

#include <assert.h>

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

int64_t heed_ref_clamp_position(int64_t position)
{
    return clamp(position, -HEED_POSITION_MAX, HEED_POSITION_MAX);
}

int64_t heed_ref_floor_div(int64_t a, int64_t b)
{
    int64_t quotient = a / b;

    return quotient * b > a ? quotient - 1 : quotient;
}

/* in [0, b) */
static int64_t floor_mod(int64_t a, int64_t b)
{
    return a - heed_ref_floor_div(a, b) * b;
}

void *heed_ref_memory(const struct heed_ref_row *row, uint32_t operand)
{
    return heed_address(row->launch->at[operand]);
}

const void *heed_ref_aux_data(const struct heed_ref_row *row, const struct heed_aux *aux)
{
    return heed_ref_memory(row, heed_attn_slot(row->attn, aux->slot));
}

int64_t heed_ref_aux_offset(const struct heed_aux *aux, const int64_t batch[3], int64_t x,
                            int64_t y, int64_t z)
{
    return batch[0] * aux->stride[0] + batch[1] * aux->stride[1] + batch[2] * aux->stride[2] +
           x * aux->stride[3] + y * aux->stride[4] + z * aux->stride[5];
}

int64_t heed_ref_aux_int(const struct heed_ref_row *row, const struct heed_aux *aux, int64_t x,
                         int64_t y, int64_t z)
{
    return heed_ref_load_int(aux->dtype, heed_ref_aux_data(row, aux),
                             heed_ref_aux_offset(aux, row->batch, x, y, z));
}

int64_t heed_ref_aux_head(int64_t extent, const struct heed_ref_row *row, int64_t key_head)
{
    if (extent == 1)
        return 0;
    return extent == row->attn->heads ? row->head : key_head;
}

/* Where an item is, without lengths all of `bound`. */
static struct heed_ref_layout item_find(const struct heed_ref_row *row, uint32_t kind,
                                        const struct heed_aux *index,
                                        const struct heed_aux *lengths,
                                        const struct heed_view *view, int64_t bound)
{
    struct heed_ref_layout out = {
        .kind = kind, .rows = view->shape[4], .pages = view->shape[2], .length = bound
    };

    if (index->slot != 0)
        out.index = (struct heed_ref_index){
            .base = heed_ref_aux_data(row, index),
            .dtype = index->dtype,
            .at = heed_ref_aux_offset(index, row->batch, 0, 0, 0),
            .stride = index->stride[5],
            .entries = index->shape[5],
        };
    if (lengths->slot != 0)
        out.length = heed_ref_aux_int(row, lengths, 0, 0, 0);
    heed_ref_layout_start(&out, bound);
    return out;
}

static struct heed_ref_layout keys_item(const struct heed_ref_row *row,
                                        const struct heed_checked_source *source)
{
    return item_find(row, source->layout, &source->index, &source->len, &source->k, source->n_k);
}

int64_t heed_ref_key_at(const struct heed_ref_row *row, const struct heed_ref_keys *keys,
                        const struct heed_view *view, int64_t key)
{
    const struct heed_ref_spot spot = heed_ref_layout_spot(&keys->item, key);
    int64_t at = keys->head * view->stride[3] + spot.row * view->stride[4];

    if (spot.paged)
        return at + spot.page * view->stride[2];
    for (int axis = 0; axis < 3; axis++)
        at += row->batch[axis] * view->stride[axis];
    return at;
}

int64_t heed_ref_key_scale_at(const struct heed_ref_row *row, const struct heed_ref_keys *keys,
                              const struct heed_aux *scale, int64_t key)
{
    const struct heed_ref_spot spot = heed_ref_layout_spot(&keys->item, key);
    int64_t head = scale->shape[4] == 1 ? 0 : keys->head;

    if (spot.paged) /* no item's: an axis of the batch may be that of groups */
        return spot.page * scale->stride[3] + head * scale->stride[4] + spot.row * scale->stride[5];
    return heed_ref_aux_offset(scale, row->batch, 0, head, spot.row);
}

void heed_ref_row_start(struct heed_ref_row *row, const struct heed_checked *attn,
                        const struct heed_launch *launch, int64_t item)
{
    struct heed_ref_layout rows;

    *row = (struct heed_ref_row) {
        .attn = attn,
        .launch = launch,
        .batch = {
            item / (attn->batch[1] * attn->batch[2]),
            item / attn->batch[2] % attn->batch[1],
            item % attn->batch[2],
        },
    };
    rows = item_find(row, attn->q_layout, &attn->q_begin, &attn->q_len, &attn->q, attn->n_q);
    row->q_begin = row->o_begin = rows.begin;
    row->q_length = rows.length;
    if (attn->o_begin.slot == 0)
        return;
    rows = item_find(row, attn->q_layout, &attn->o_begin, &attn->q_len, &attn->o, attn->n_q);
    row->o_begin = rows.begin;
    if (row->q_length > rows.length)
        row->q_length = rows.length;
}

/* Position of row `index`: ALIGN_START counts from q_pos0, ALIGN_END from the last key of the last
 * source. */
static int64_t position_find(const struct heed_ref_row *row)
{
    const struct heed_checked *attn = row->attn;
    int64_t position = attn->q_pos0;

    if (attn->flags & HEED_ATTN_ALIGN_END) {
        position -= (row->q_length - 1 - row->index) * attn->q_pos_step;
        if (attn->n_sources > 0) {
            struct heed_ref_keys last = { .source = &attn->sources[attn->n_sources - 1] };

            last.item = keys_item(row, last.source);
            position +=
                heed_ref_key_last(&last, last.item.length - 1); /* the formula also for length 0 */
        }
    } else {
        position += row->index * attn->q_pos_step;
    }
    if (attn->q_pos.slot != 0)
        position += heed_ref_clamp_position(heed_ref_aux_int(row, &attn->q_pos, 0, 0, 0));
    return heed_ref_clamp_position(position);
}

void heed_ref_row_set(struct heed_ref_row *row, int64_t head, int64_t index)
{
    row->head = head;
    row->index = index;
    row->position = position_find(row);
}

/* Entries in use of a GLOBAL term's list: it ends at the first entry that is negative, out of range
 * or not above its predecessor. Without a slot it names the first `block` ones. */
static int64_t list_length(const struct heed_ref_row *row, const struct heed_checked_term *term,
                           int64_t bound)
{
    int64_t before = -1, n = 0;

    if (term->slot.slot == 0)
        return term->block < bound ? term->block : bound;
    for (; n < term->slot.shape[5]; n++) {
        int64_t entry = heed_ref_aux_int(row, &term->slot, 0, 0, n);

        if (entry <= before || entry >= bound)
            break;
        before = entry;
    }
    return n;
}

static int64_t list_entry(const struct heed_ref_row *row, const struct heed_checked_term *term,
                          int64_t rank)
{
    return term->slot.slot == 0 ? rank : heed_ref_aux_int(row, &term->slot, 0, 0, rank);
}

static bool is_global(const struct heed_checked_term *term, uint32_t flag)
{
    return term->kind == HEED_TERM_GLOBAL && (term->flags & flag);
}

void heed_ref_keys_start(struct heed_ref_keys *keys, const struct heed_ref_row *row,
                         uint32_t source)
{
    const struct heed_checked *attn = row->attn;

    *keys = (struct heed_ref_keys){
        .source = &attn->sources[source],
        .k = heed_ref_memory(row, heed_attn_k(source)),
        .v = heed_ref_memory(row, heed_attn_v(source)),
    };
    keys->head = row->head / (attn->heads / keys->source->heads);
    keys->item = keys_item(row, keys->source);
    for (uint32_t t = 0; t < keys->source->n_terms; t++) {
        const struct heed_checked_term *term = &keys->source->terms[t];

        if (is_global(term, HEED_TERM_KEYS))
            keys->n_global = list_length(row, term, keys->source->n_k);
        if (is_global(term, HEED_TERM_ROWS)) {
            int64_t n = list_length(row, term, attn->n_q);

            for (int64_t rank = 0; rank < n; rank++) {
                if (list_entry(row, term, rank) == row->index)
                    keys->row_sees_all = true;
            }
        }
    }
}

int64_t heed_ref_global_key(const struct heed_ref_row *row, const struct heed_ref_keys *keys,
                            int64_t rank)
{
    for (uint32_t t = 0; t < keys->source->n_terms; t++) {
        if (is_global(&keys->source->terms[t], HEED_TERM_KEYS))
            return list_entry(row, &keys->source->terms[t], rank);
    }
    return -1;
}

int64_t heed_ref_key_first(const struct heed_ref_keys *keys, int64_t key)
{
    const struct heed_checked_source *source = keys->source;

    if (source->flags & HEED_SOURCE_END)
        return source->pos0 + (key - keys->item.length) * source->pos_step;
    return source->pos0 + key * source->pos_step;
}

int64_t heed_ref_key_last(const struct heed_ref_keys *keys, int64_t key)
{
    return heed_ref_key_first(keys, key) + keys->source->pos_span - 1;
}

/* Removed for this row: its byte is 0, or its bit in a word of 32 keys, the lowest first. */
static bool row_mask_cuts(const struct heed_ref_row *row, const struct heed_aux *mask, int64_t key)
{
    int64_t head = mask->shape[3] == 1 ? 0 : row->head;
    uint64_t word;

    if (mask->dtype == HEED_U8)
        return heed_ref_aux_int(row, mask, head, row->index, key) == 0;
    word = (uint64_t)heed_ref_aux_int(row, mask, head, row->index, key / 32);
    return (word & UINT64_C(1) << key % 32) == 0;
}

bool heed_ref_key_cut(const struct heed_ref_row *row, const struct heed_ref_keys *keys, int64_t key)
{
    const struct heed_checked_source *source = keys->source;

    if (key >= keys->item.length || !heed_ref_layout_spot(&keys->item, key).there)
        return true;
    if ((source->flags & HEED_SOURCE_CAUSAL) && heed_ref_key_last(keys, key) > row->position)
        return true;
    if (source->mask.slot != 0) {
        int64_t head = heed_ref_aux_head(source->mask.shape[4], row, keys->head);

        if (heed_ref_aux_int(row, &source->mask, 0, head, key) == 0)
            return true;
    }
    return source->row_mask.slot != 0 && row_mask_cuts(row, &source->row_mask, key);
}

/* With a = floor(q / block) * block: do the covered positions meet [a - left, a + block - 1 +
 * right]? That interval holds nothing when its ends are crossed. */
static bool window_meets(const struct heed_ref_row *row, const struct heed_ref_keys *keys,
                         const struct heed_checked_term *term, int64_t key)
{
    int64_t anchor = heed_ref_floor_div(row->position, term->block) * term->block;
    bool low_open = term->left == HEED_FAR, high_open = term->right == HEED_FAR;
    int64_t low = low_open ? 0 : anchor - term->left;
    int64_t high = high_open ? 0 : anchor + term->block - 1 + term->right;

    if (!low_open && !high_open && low > high)
        return false;
    return (low_open || heed_ref_key_last(keys, key) >= low) &&
           (high_open || heed_ref_key_first(keys, key) <= high);
}

static bool segment_holds(const struct heed_ref_row *row, const struct heed_checked_term *term,
                          int64_t key)
{
    int64_t rows = row->index / term->block;

    return key >= heed_ref_aux_int(row, &term->slot, 0, rows, 0) &&
           key < heed_ref_aux_int(row, &term->slot, 0, rows, 1);
}

/* step > 1: (key index - phase) mod step, or with PHASE_QUERY (key position - query position -
 * phase) mod step, is 0 */
static bool step_meets(const struct heed_ref_row *row, const struct heed_ref_keys *keys,
                       const struct heed_checked_term *term, int64_t key)
{
    int64_t phase = term->phase, at = key;

    if (term->step <= 1)
        return true;
    if (term->flags & HEED_TERM_PHASE_HEAD)
        phase += row->head;
    if (term->flags & HEED_TERM_PHASE_QUERY)
        at = heed_ref_key_first(keys, key) - row->position;
    return floor_mod(at - phase, term->step) == 0;
}

bool heed_ref_term_sees(const struct heed_ref_row *row, const struct heed_ref_keys *keys,
                        uint32_t index, int64_t key)
{
    const struct heed_checked_term *term = &keys->source->terms[index];

    switch (term->kind) {
    case HEED_TERM_ALL:
        return step_meets(row, keys, term, key);
    case HEED_TERM_WINDOW:
        return window_meets(row, keys, term, key) && step_meets(row, keys, term, key);
    case HEED_TERM_GLOBAL: /* its keys and rows are seen apart */
        return false;
    case HEED_TERM_SEGMENT:
        return segment_holds(row, term, key);
    }
    assert(false); /* heed_attn_check refuses other kinds */
    return false;
}

bool heed_ref_unit_sees(const struct heed_ref_row *row, const struct heed_ref_keys *keys,
                        int64_t key)
{
    if (keys->row_sees_all)
        return true;
    for (uint32_t t = 0; t < keys->source->n_terms; t++) {
        if (keys->source->terms[t].step <= 1 && heed_ref_term_sees(row, keys, t, key))
            return true;
    }
    return false;
}

static bool same_place(const struct heed_checked_term *a, const struct heed_checked_term *b)
{
    const uint32_t phases = HEED_TERM_PHASE_HEAD | HEED_TERM_PHASE_QUERY;

    return a->step == b->step && a->phase == b->phase && (a->flags & phases) == (b->flags & phases);
}

/* The sub-source that a term with step > 1 belongs to. */
static struct heed_ref_place place_of(const struct heed_ref_keys *keys, uint32_t term)
{
    const struct heed_checked_term *terms = keys->source->terms;
    uint32_t first = 0;

    while (!same_place(&terms[first], &terms[term]))
        first++;
    return (struct heed_ref_place){ .step = terms[term].step, .term = first };
}

/* By ascending step, then first term. */
static bool place_before(const struct heed_ref_place *a, const struct heed_ref_place *b)
{
    return a->step < b->step || (a->step == b->step && a->term < b->term);
}

bool heed_ref_place_next(const struct heed_ref_keys *keys, struct heed_ref_place *place)
{
    struct heed_ref_place next = { 0 };

    for (uint32_t t = 0; t < keys->source->n_terms; t++) {
        if (keys->source->terms[t].step > 1) {
            struct heed_ref_place candidate = place_of(keys, t);

            if (place_before(place, &candidate) &&
                (next.step == 0 || place_before(&candidate, &next)))
                next = candidate;
        }
    }
    if (next.step == 0)
        return false;
    *place = next;
    return true;
}

bool heed_ref_place_holds(const struct heed_ref_row *row, const struct heed_ref_keys *keys,
                          const struct heed_ref_place *place, int64_t key)
{
    bool named = false;

    if (heed_ref_unit_sees(row, keys, key))
        return false;
    for (uint32_t t = 0; t < keys->source->n_terms; t++) {
        if (keys->source->terms[t].step > 1 && heed_ref_term_sees(row, keys, t, key)) {
            struct heed_ref_place other = place_of(keys, t);

            if (place_before(&other, place))
                return false;
            if (!place_before(place, &other))
                named = true;
        }
    }
    return named;
}
