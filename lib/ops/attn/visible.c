/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What one query row sees of one source. For every key the question is asked anew: within the
 * length, not after the query if causal, not masked, and named by a term - or, for a LISTED source,
 * how often by the list.
 */
#include "visible.h"

#include "../../core/error.h"
#include "slots.h"

#include <stdbool.h>
#include <string.h>

/* The row that looks. */
struct look {
    const struct heed_checked *attn;
    const void *const *slots;
    const struct heed_checked_source *source;
    int64_t at[3]; /* batch coordinates */
    int64_t head, row;
    int64_t n_rows, n_keys; /* lengths of the item */
    int64_t position;       /* of the query */
};

static int64_t read_at(const struct look *l, const struct heed_aux *aux, int64_t x, int64_t y,
                       int64_t z)
{
    const int64_t index[6] = { l->at[0], l->at[1], l->at[2], x, y, z };

    return heed_slots_get(aux, heed_slots_base(aux, l->slots), index);
}

static int64_t within(int64_t value, int64_t low, int64_t high)
{
    if (value < low)
        return low;
    return value > high ? high : value;
}

/* Toward -Inf; b > 0. */
static int64_t floor_multiple(int64_t a, int64_t b)
{
    const int64_t rest = a % b;

    return rest < 0 ? a - rest - b : a - rest;
}

static int64_t length_of(const struct look *l, uint32_t layout, const struct heed_aux *begins,
                         const struct heed_aux *len, int64_t bound, int64_t total)
{
    int64_t n = bound, begin;

    if (len->slot)
        n = within(read_at(l, len, 0, 0, 0), 0, bound);
    if (layout != HEED_LAYOUT_RAGGED)
        return n;
    begin = read_at(l, begins, 0, 0, 0);
    if (begin < 0 || begin > total)
        return 0;
    return n > total - begin ? total - begin : n;
}

static int64_t keys_of(const struct look *l, const struct heed_checked_source *source)
{
    return length_of(l, source->layout, &source->index, &source->len, source->n_k,
                     source->k.shape[4]);
}

/* First position that a key covers, in a source with n keys for this item. */
static int64_t first_of(const struct heed_checked_source *source, int64_t key, int64_t n)
{
    if (source->flags & HEED_SOURCE_END)
        key -= n;
    return source->pos0 + key * source->pos_step;
}

static int64_t position_of(const struct look *l)
{
    const struct heed_checked *attn = l->attn;
    int64_t position = attn->q_pos0;

    if (!(attn->flags & HEED_ATTN_ALIGN_END)) {
        position += l->row * attn->q_pos_step;
    } else {
        position -= (l->n_rows - 1 - l->row) * attn->q_pos_step;
        if (attn->n_sources != 0) {
            const struct heed_checked_source *last = &attn->sources[attn->n_sources - 1];
            const int64_t n = keys_of(l, last);

            position += first_of(last, n - 1, n) + last->pos_span - 1;
        }
    }
    if (attn->q_pos.slot)
        position += within(read_at(l, &attn->q_pos, 0, 0, 0), -HEED_POSITION_MAX,
                           HEED_POSITION_MAX);
    return within(position, -HEED_POSITION_MAX, HEED_POSITION_MAX);
}

/* Head axes have extent 1, H_k or H. */
static int64_t head_in(const struct look *l, int64_t extent)
{
    if (extent == 1)
        return 0;
    return extent == l->attn->heads ? l->head : l->head / (l->attn->heads / l->source->heads);
}

/* Does the list, up to its end, hold the index? It ends at the first entry that is negative, out of
 * range or not above its predecessor. No slot: the first `block` ones. */
static bool in_list(const struct look *l, const struct heed_checked_term *term, int64_t index,
                    int64_t bound)
{
    int64_t before = -1;

    if (!term->slot.slot)
        return index < term->block;
    for (int64_t i = 0; i < term->slot.shape[5]; i++) {
        const int64_t entry = read_at(l, &term->slot, 0, 0, i);

        if (entry < 0 || entry >= bound || entry <= before)
            return false;
        if (entry == index)
            return true;
        before = entry;
    }
    return false;
}

static bool in_step(const struct look *l, const struct heed_checked_term *term, int64_t key)
{
    int64_t phase = term->phase, place = key;

    if (term->step == 1)
        return true;
    if (term->flags & HEED_TERM_PHASE_HEAD)
        phase += l->head;
    if (term->flags & HEED_TERM_PHASE_QUERY)
        place = first_of(l->source, key, l->n_keys) - l->position;
    return (place - phase) % term->step == 0;
}

/* Do the positions covered meet [a - left, a + block - 1 + right]? An interval whose ends are
 * crossed meets nothing. */
static bool in_window(const struct look *l, const struct heed_checked_term *term, int64_t key)
{
    const int64_t a = floor_multiple(l->position, term->block);
    const int64_t first = first_of(l->source, key, l->n_keys),
                  last = first + l->source->pos_span - 1;
    const int64_t low = term->left == HEED_FAR ? INT64_MIN : a - term->left;
    const int64_t high = term->right == HEED_FAR ? INT64_MAX : a + term->block - 1 + term->right;

    return low <= high && last >= low && first <= high;
}

static bool term_names(const struct look *l, const struct heed_checked_term *term, int64_t key)
{
    switch (term->kind) {
    case HEED_TERM_ALL:
        return in_step(l, term, key);
    case HEED_TERM_WINDOW:
        return in_window(l, term, key) && in_step(l, term, key);
    case HEED_TERM_GLOBAL:
        return ((term->flags & HEED_TERM_ROWS) && in_list(l, term, l->row, l->attn->n_q)) ||
               ((term->flags & HEED_TERM_KEYS) && in_list(l, term, key, l->source->n_k));
    case HEED_TERM_SEGMENT:
        return key >= read_at(l, &term->slot, 0, l->row / term->block, 0) &&
               key < read_at(l, &term->slot, 0, l->row / term->block, 1);
    default:
        return false;
    }
}

static int64_t times_listed(const struct look *l, int64_t key)
{
    const struct heed_aux *list = &l->source->index;
    int64_t times = 0;

    for (int64_t i = 0; i < list->shape[5]; i++) {
        if (read_at(l, list, head_in(l, list->shape[3]), l->row / l->source->rows, i) ==
            key / l->source->run)
            times++;
    }
    return times;
}

static int64_t times_seen(const struct look *l, int64_t key)
{
    const struct heed_checked_source *source = l->source;

    if (key >= l->n_keys)
        return 0;
    if ((source->flags & HEED_SOURCE_CAUSAL) &&
        first_of(source, key, l->n_keys) + source->pos_span - 1 > l->position)
        return 0;
    if (source->mask.slot &&
        read_at(l, &source->mask, 0, head_in(l, source->mask.shape[4]), key) == 0)
        return 0;
    if (source->layout == HEED_LAYOUT_LISTED)
        return times_listed(l, key);
    for (uint32_t t = 0; t < source->n_terms; t++) {
        if (term_names(l, &source->terms[t], key))
            return 1;
    }
    return 0;
}

static bool unbound(const struct look *l, const struct heed_aux *aux)
{
    return aux->slot && !heed_slots_base(aux, l->slots);
}

/* Any slot that this row needs and that has no memory? Arrays without entries are never read. */
static heed_status bound_check(const struct look *l, heed_report *report)
{
    const struct heed_checked *attn = l->attn;
    const struct heed_checked_source *last = &attn->sources[attn->n_sources - 1];
    const struct heed_aux *needed[] = {
        &attn->q_pos,    &attn->q_begin,   &attn->q_len, &l->source->index,
        &l->source->len, &l->source->mask, &last->index, &last->len,
    };
    const struct heed_aux *missing = NULL;

    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed) && !missing; i++) {
        if (unbound(l, needed[i]) && needed[i]->shape[5] != 0)
            missing = needed[i];
    }
    for (uint32_t t = 0; t < l->source->n_terms && !missing; t++) {
        if (unbound(l, &l->source->terms[t].slot) && l->source->terms[t].slot.shape[5] != 0)
            missing = &l->source->terms[t].slot;
    }
    if (!missing)
        return HEED_OK;
    return heed_report_fill(report, HEED_E_NULL, "slots", missing->slot, 0, "slot %u is not bound",
                            (unsigned)missing->slot);
}

static heed_status exists(heed_report *report, const char *field, int64_t value, int64_t count)
{
    if (value >= 0 && value < count)
        return HEED_OK;
    return heed_report_fill(report, HEED_E_VALUE, field, count, value,
                            "%s counts from 0 and ends before %lld", field, (long long)count);
}

heed_status heed_visible_row(const struct heed_checked *attn, const void *const *slots,
                             int64_t batch, int64_t head, int64_t row, uint32_t source,
                             uint8_t *seen, heed_report *report)
{
    struct look l = { .attn = attn, .slots = slots, .head = head, .row = row };
    int64_t index[6];
    heed_status status;

    if ((status = exists(report, "source", source, attn->n_sources)) < 0 ||
        (status = exists(report, "batch", batch, attn->n_batch)) < 0 ||
        (status = exists(report, "head", head, attn->heads)) < 0 ||
        (status = exists(report, "row", row, attn->n_q)) < 0)
        return status;
    l.source = &attn->sources[source];
    if (!seen && l.source->n_k != 0)
        return heed_report_fill(report, HEED_E_NULL, "seen", l.source->n_k, 0,
                                "there is no room for the counts");
    status = bound_check(&l, report);
    if (status < 0)
        return status;
    heed_slots_item(attn, batch, index);
    memcpy(l.at, index, sizeof(l.at));
    l.n_rows = length_of(&l, attn->q_layout, &attn->q_begin, &attn->q_len, attn->n_q,
                         attn->q.shape[4]);
    l.n_keys = keys_of(&l, l.source);
    l.position = position_of(&l);
    for (int64_t key = 0; key < l.source->n_k; key++) {
        const int64_t times = row < l.n_rows ? times_seen(&l, key) : 0;

        seen[key] = (uint8_t)(times > UINT8_MAX ? UINT8_MAX : times);
    }
    return heed_report_ok(report);
}
