/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What one query row sees of one source. For every key the question is asked anew: within the
 * length, not after the query if causal, not masked, for all rows or for this one, and named by a
 * term - or, where the layout lists the keys, how often by the list.
 */
#include "visible.h"

#include "../../core/error.h"
#include "../../layouts/layouts.h"
#include "../../terms/terms.h"
#include "slots.h"
#include "use.h"

#include <assert.h>
#include <string.h>

int64_t heed_look_entry(const struct heed_look *l, const struct heed_aux *aux, int64_t x, int64_t y,
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

/* Rows of the item, of query rows or of keys, in a tensor with so many. */
static int64_t length_of(const struct heed_look *l, uint32_t layout, const struct heed_aux *index,
                         const struct heed_aux *len, int64_t bound, int64_t rows)
{
    const struct heed_layout *kind = heed_layout_find(layout);
    const int64_t n = len->slot ? within(heed_look_entry(l, len, 0, 0, 0), 0, bound) : bound;

    return kind->cut ? kind->cut(l, index, rows, n) : n;
}

static int64_t keys_of(const struct heed_look *l, const struct heed_checked_source *source)
{
    return length_of(l, source->layout, &source->index, &source->len, source->n_k,
                     source->k.shape[4]);
}

int64_t heed_look_room(const struct heed_checked_source *source)
{
    return heed_layout_packed(source->layout) ? source->k.shape[4] : source->n_k;
}

int64_t heed_look_rows(const struct heed_checked *attn)
{
    return heed_layout_packed(attn->q_layout) ? attn->q.shape[4] : attn->n_q;
}

/* First position that a key covers, in a source with n keys for this item. */
static int64_t first_of(const struct heed_checked_source *source, int64_t key, int64_t n)
{
    if (source->flags & HEED_SOURCE_END)
        key -= n;
    return source->pos0 + key * source->pos_step;
}

int64_t heed_look_first(const struct heed_look *l, int64_t key)
{
    return first_of(l->source, key, l->n_keys);
}

int64_t heed_look_position(const struct heed_look *l)
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
        position += within(heed_look_entry(l, &attn->q_pos, 0, 0, 0), -HEED_POSITION_MAX,
                           HEED_POSITION_MAX);
    return within(position, -HEED_POSITION_MAX, HEED_POSITION_MAX);
}

int64_t heed_look_head(const struct heed_look *l, int64_t extent)
{
    if (extent == 1)
        return 0;
    return extent == l->attn->heads ? l->head : l->head / (l->attn->heads / l->source->heads);
}

static bool in_step(const struct heed_look *l, const struct heed_checked_term *term, int64_t key)
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

static bool term_names(const struct heed_look *l, const struct heed_checked_term *term, int64_t key)
{
    const struct heed_term_kind *kind = heed_term_kind_find(term->kind);

    assert(kind);
    return kind->sees(l, term, key) && in_step(l, term, key);
}

/* Does the row mask take the key from the row? */
static bool row_masked(const struct heed_look *l, int64_t key)
{
    const struct heed_aux *mask = &l->source->row_mask;
    const int64_t head = heed_look_head(l, mask->shape[3]);

    if (mask->slot == 0)
        return false;
    if (mask->dtype == HEED_U8)
        return heed_look_entry(l, mask, head, l->row, key) == 0;
    return ((uint64_t)heed_look_entry(l, mask, head, l->row, key / 32) >> key % 32 & 1) == 0;
}

static int64_t times_seen(const struct heed_look *l, int64_t key)
{
    const struct heed_checked_source *source = l->source;
    const struct heed_layout *layout = heed_layout_find(source->layout);

    if (key >= l->n_keys || (layout->there && !layout->there(l, key)))
        return 0;
    if ((source->flags & HEED_SOURCE_CAUSAL) &&
        first_of(source, key, l->n_keys) + source->pos_span - 1 > l->position)
        return 0;
    if (source->mask.slot &&
        heed_look_entry(l, &source->mask, 0, heed_look_head(l, source->mask.shape[4]), key) == 0)
        return 0;
    if (row_masked(l, key))
        return 0;
    if (layout->times)
        return layout->times(l, key);
    for (uint32_t t = 0; t < source->n_terms; t++) {
        if (term_names(l, &source->terms[t], key))
            return 1;
    }
    return 0;
}

/* Of the last source the length may count. Arrays without entries are never read, those of biases
 * neither. */
heed_status heed_look_require(const struct heed_checked *attn, const void *const *slots,
                              uint32_t source, heed_report *report)
{
    for (uint32_t i = 0; i < attn->n_sites; i++) {
        const struct heed_site *site = &attn->sites[i];
        const bool own = site->level == HEED_LEVEL_DESC || site->source == source;
        const bool last = site->level == HEED_LEVEL_SOURCE && site->source == attn->n_sources - 1 &&
                          site->aux != &attn->sources[site->source].mask &&
                          site->aux != &attn->sources[site->source].row_mask;
        char path[HEED_SITE_PATH];

        if ((!own && !last) || site->level == HEED_LEVEL_BIAS || heed_slots_empty(site->aux) ||
            heed_slots_base(site->aux, slots))
            continue;
        return heed_report_fill(report, HEED_E_NULL, "slots", site->aux->slot, 0,
                                "slot %u, %s, is not bound", (unsigned)site->aux->slot,
                                heed_site_path(site, path));
    }
    return HEED_OK;
}

static heed_status exists(heed_report *report, const char *field, int64_t value, int64_t count)
{
    if (value >= 0 && value < count)
        return HEED_OK;
    return heed_report_fill(report, HEED_E_VALUE, field, count, value,
                            "%s counts from 0 and ends before %lld", field, (long long)count);
}

void heed_look_item(struct heed_look *l, const struct heed_checked *attn, const void *const *slots,
                    uint32_t source, int64_t item)
{
    int64_t index[6];

    *l = (struct heed_look){ .attn = attn, .slots = slots, .source = &attn->sources[source] };
    heed_slots_item(attn, item, index);
    memcpy(l->at, index, sizeof(l->at));
    l->n_rows =
        length_of(l, attn->q_layout, &attn->q_begin, &attn->q_len, attn->n_q, attn->q.shape[4]);
    if (attn->o_begin.slot)
        l->n_rows =
            heed_layout_find(attn->q_layout)->cut(l, &attn->o_begin, attn->o.shape[4], l->n_rows);
    l->n_keys = keys_of(l, l->source);
}

heed_status heed_visible_row(const struct heed_checked *attn, const void *const *slots,
                             int64_t batch, int64_t head, int64_t row, uint32_t source,
                             uint8_t *seen, heed_report *report)
{
    struct heed_look l;
    heed_status status;

    if ((status = exists(report, "source", source, attn->n_sources)) < 0 ||
        (status = exists(report, "batch", batch, attn->n_batch)) < 0 ||
        (status = exists(report, "head", head, attn->heads)) < 0 ||
        (status = exists(report, "row", row, attn->n_q)) < 0)
        return status;
    if (!seen && heed_look_room(&attn->sources[source]) != 0)
        return heed_report_fill(report, HEED_E_NULL, "seen", heed_look_room(&attn->sources[source]),
                                0, "there is no room for the counts");
    status = heed_look_require(attn, slots, source, report);
    if (status < 0)
        return status;
    heed_look_item(&l, attn, slots, source, batch);
    l.head = head;
    l.row = row;
    l.position = heed_look_position(&l);
    for (int64_t key = 0; key < heed_look_room(l.source); key++) {
        const int64_t times = row < l.n_rows ? times_seen(&l, key) : 0;

        seen[key] = (uint8_t)(times > UINT8_MAX ? UINT8_MAX : times);
    }
    return heed_report_ok(report);
}
