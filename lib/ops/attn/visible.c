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
#include "../../terms/terms.h"
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

static int64_t length_of(const struct heed_look *l, uint32_t layout, const struct heed_aux *begins,
                         const struct heed_aux *len, int64_t bound, int64_t total)
{
    int64_t n = bound, begin;

    if (len->slot)
        n = within(heed_look_entry(l, len, 0, 0, 0), 0, bound);
    if (layout != HEED_LAYOUT_RAGGED)
        return n;
    begin = heed_look_entry(l, begins, 0, 0, 0);
    if (begin < 0 || begin > total)
        return 0;
    return n > total - begin ? total - begin : n;
}

static int64_t keys_of(const struct heed_look *l, const struct heed_checked_source *source)
{
    const int64_t n = length_of(l, source->layout, &source->index, &source->len, source->n_k,
                                source->k.shape[4]);
    int64_t head;

    if (source->layout != HEED_LAYOUT_RING)
        return n;
    head = heed_look_entry(l, &source->index, 0, 0, 0);
    return head >= 0 && head < source->n_k ? n : 0;
}

/* Has the key, which is within the length, a page? */
static bool page_there(const struct heed_look *l, int64_t key)
{
    const struct heed_checked_source *source = l->source;
    int64_t page;

    if (source->layout != HEED_LAYOUT_PAGED)
        return true;
    page = heed_look_entry(l, &source->index, 0, 0, key / source->k.shape[4]);
    return page >= 0 && page < source->k.shape[2];
}

/* Of the keys that `seen` has room for. */
static int64_t keys_room(const struct heed_checked_source *source)
{
    return source->layout == HEED_LAYOUT_PAGED ? source->n_k : source->k.shape[4];
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

static int64_t position_of(const struct heed_look *l)
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

/* Head axes have extent 1, H_k or H. */
static int64_t head_in(const struct heed_look *l, int64_t extent)
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

static int64_t times_listed(const struct heed_look *l, int64_t key)
{
    const struct heed_aux *list = &l->source->index;
    int64_t times = 0;

    for (int64_t i = 0; i < list->shape[5]; i++) {
        if (heed_look_entry(l, list, head_in(l, list->shape[3]), l->row / l->source->rows, i) ==
            key / l->source->run)
            times++;
    }
    return times;
}

static int64_t times_seen(const struct heed_look *l, int64_t key)
{
    const struct heed_checked_source *source = l->source;

    if (key >= l->n_keys || !page_there(l, key))
        return 0;
    if ((source->flags & HEED_SOURCE_CAUSAL) &&
        first_of(source, key, l->n_keys) + source->pos_span - 1 > l->position)
        return 0;
    if (source->mask.slot &&
        heed_look_entry(l, &source->mask, 0, head_in(l, source->mask.shape[4]), key) == 0)
        return 0;
    if (source->layout == HEED_LAYOUT_LISTED)
        return times_listed(l, key);
    for (uint32_t t = 0; t < source->n_terms; t++) {
        if (term_names(l, &source->terms[t], key))
            return 1;
    }
    return 0;
}

/* Any slot that this row needs and that has no memory? Of the last source the length may count.
 * Arrays without entries are never read, those of biases neither. */
static heed_status bound_check(const struct heed_look *l, uint32_t source, heed_report *report)
{
    const struct heed_checked *attn = l->attn;

    for (uint32_t i = 0; i < attn->n_sites; i++) {
        const struct heed_site *site = &attn->sites[i];
        const bool own = site->level == HEED_LEVEL_DESC || site->source == source;
        const bool last = site->level == HEED_LEVEL_SOURCE &&
                          site->source == attn->n_sources - 1 &&
                          site->aux != &attn->sources[site->source].mask;
        char path[HEED_SITE_PATH];

        if ((!own && !last) || site->level == HEED_LEVEL_BIAS || heed_slots_empty(site->aux) ||
            heed_slots_base(site->aux, l->slots))
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

heed_status heed_visible_row(const struct heed_checked *attn, const void *const *slots,
                             int64_t batch, int64_t head, int64_t row, uint32_t source,
                             uint8_t *seen, heed_report *report)
{
    struct heed_look l = { .attn = attn, .slots = slots, .head = head, .row = row };
    int64_t index[6];
    heed_status status;

    if ((status = exists(report, "source", source, attn->n_sources)) < 0 ||
        (status = exists(report, "batch", batch, attn->n_batch)) < 0 ||
        (status = exists(report, "head", head, attn->heads)) < 0 ||
        (status = exists(report, "row", row, attn->n_q)) < 0)
        return status;
    l.source = &attn->sources[source];
    if (!seen && keys_room(l.source) != 0)
        return heed_report_fill(report, HEED_E_NULL, "seen", keys_room(l.source), 0,
                                "there is no room for the counts");
    status = bound_check(&l, source, report);
    if (status < 0)
        return status;
    heed_slots_item(attn, batch, index);
    memcpy(l.at, index, sizeof(l.at));
    l.n_rows = length_of(&l, attn->q_layout, &attn->q_begin, &attn->q_len, attn->n_q,
                         attn->q.shape[4]);
    l.n_keys = keys_of(&l, l.source);
    l.position = position_of(&l);
    for (int64_t key = 0; key < keys_room(l.source); key++) {
        const int64_t times = row < l.n_rows ? times_seen(&l, key) : 0;

        seen[key] = (uint8_t)(times > UINT8_MAX ? UINT8_MAX : times);
    }
    return heed_report_ok(report);
}
