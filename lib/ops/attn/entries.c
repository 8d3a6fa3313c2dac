/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Walks the entries of one array. Axes of stride 0 repeat what was seen and are walked once, the
 * last one twice, since neighbours are compared. An array that overlaps itself has more indices
 * than entries: of such a constant the stored entries that some index reaches are marked first,
 * axis by axis, and each is asked once as the first of its last axis and once as a later one. Rules
 * compare no more than neighbours, so nothing is lost.
 */
#include "validate.h"

#include "../../core/alloc.h"
#include "../../types/types.h"
#include "../../core/error.h"
#include "slots.h"
#include "use.h"

#include <stdio.h>
#include <string.h>

heed_status heed_entries_fail(const struct heed_entries *e, heed_status status,
                              const int64_t index[6], int64_t at, int64_t got,
                              const struct heed_fault *fault)
{
    char field[32], path[HEED_SITE_PATH], where[144], more[48] = "";

    snprintf(field, sizeof(field), "slots[%u]", (unsigned)(e->site->aux->slot - 1));
    if (index)
        snprintf(where, sizeof(where), "batch [%lld,%lld,%lld] entry [%lld,%lld,%lld]",
                 (long long)index[0], (long long)index[1], (long long)index[2],
                 (long long)index[3], (long long)index[4], (long long)index[5]);
    else
        snprintf(where, sizeof(where), "the entry at offset %lld", (long long)at);
    if (fault->more > 0)
        snprintf(more, sizeof(more), "; more such entries: %lld", (long long)fault->more);
    return heed_report_fill(e->report, status, field, fault->wanted, got, "%s: %s is %lld: %s%s",
                            heed_site_path(e->site, path), where, (long long)got, fault->why, more);
}

static heed_status indices_walk(const struct heed_entries *e, const void *base)
{
    const struct heed_aux *aux = e->site->aux;
    struct heed_entry entry = { .first = true };
    struct heed_fault first = { .more = -1 };
    heed_status failed = HEED_OK;
    int64_t index[6] = { 0 }, limit[6], place[6], got = 0;

    for (int i = 0; i < 6; i++) {
        const int64_t max = i == 5 ? 2 : 1;

        limit[i] = aux->stride[i] == 0 && aux->shape[i] > max ? max : aux->shape[i];
    }
    do {
        struct heed_fault fault = { .wanted = 0 };
        heed_status status;

        entry.first = index[5] == 0;
        entry.ended = !entry.first && (entry.ended || entry.value < 0);
        entry.before = entry.first ? -1 : entry.value;
        entry.value = heed_slots_get(aux, base, index);
        status = e->site->use->entry(e, &entry, &fault);
        if (status < 0 && ++first.more == 0) {
            first.wanted = fault.wanted;
            first.why = fault.why;
            failed = status;
            got = entry.value;
            memcpy(place, index, sizeof(place));
        }
    } while ((failed >= 0 || !e->constant) && heed_slots_next(index, limit));
    return failed < 0 ? heed_entries_fail(e, failed, place, 0, got, &first) : HEED_OK;
}

/* The stored entries of an array, from the lowest offset to the highest. */
struct stored {
    int64_t low, n;
    uint8_t *reached;               /* 1: some index leads here */
    int64_t *left;                  /* steps that may still be made from here; -1: not reached */
};

/* Goes up to n - 1 steps of `stride` from everything reached. */
static void stored_spread(struct stored *s, int64_t stride, int64_t n)
{
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t at = stride > 0 ? i : s->n - 1 - i, from = at - stride;
        const bool follows = from >= 0 && from < s->n && s->left[from] > 0;

        s->left[at] = s->reached[at] ? n - 1 : follows ? s->left[from] - 1 : -1;
        s->reached[at] = s->left[at] >= 0;
    }
}

static int64_t stored_get(const struct heed_entries *e, const void *base, int64_t at)
{
    const uint32_t dtype = e->site->aux->dtype;

    return heed_dtype_load_i64(dtype,
                               (const char *)base + at * (int64_t)heed_dtype_size(dtype));
}

static heed_status stored_ask(const struct heed_entries *e, const void *base,
                              const struct stored *s, bool first)
{
    const int64_t stride = first ? 0 : e->site->aux->stride[5];

    for (int64_t i = 0; i < s->n; i++) {
        struct heed_entry entry = { .before = -1, .first = first };
        struct heed_fault fault = { .wanted = 0 };
        heed_status status;

        if (!s->reached[i])
            continue;
        entry.value = stored_get(e, base, s->low + i + stride);
        if (!first) {
            entry.before = stored_get(e, base, s->low + i);
            entry.ended = entry.before < 0;
        }
        status = e->site->use->entry(e, &entry, &fault);
        if (status < 0)
            return heed_entries_fail(e, status, NULL, s->low + i + stride, entry.value, &fault);
    }
    return HEED_OK;
}

static heed_status stored_walk(const struct heed_entries *e, const void *base, struct stored *s)
{
    const struct heed_aux *aux = e->site->aux;
    heed_status status;

    s->reached[-s->low] = 1;
    for (int i = 0; i < 5; i++) {
        if (aux->stride[i] != 0)
            stored_spread(s, aux->stride[i], aux->shape[i]);
    }
    status = stored_ask(e, base, s, true);
    if (status < 0 || aux->shape[5] == 1)
        return status;
    if (aux->stride[5] != 0)
        stored_spread(s, aux->stride[5], aux->shape[5] - 1);
    return stored_ask(e, base, s, false);
}

int64_t heed_entries_stored(const struct heed_aux *aux, int64_t *low)
{
    int64_t high = 0;

    *low = 0;
    for (int i = 0; i < 6; i++) {
        const int64_t far = aux->stride[i] * (aux->shape[i] - 1);

        *(far < 0 ? low : &high) += far;
    }
    return high - *low + 1;
}

/* Are there more indices than stored entries? */
static bool overlaps(const struct heed_aux *aux, struct stored *s)
{
    int64_t count = 1;

    s->n = heed_entries_stored(aux, &s->low);
    for (int i = 0; i < 6; i++)
        count *= aux->stride[i] == 0 ? 1 : aux->shape[i];
    return count > s->n;
}

heed_status heed_entries_walk(const struct heed_entries *e)
{
    const struct heed_aux *aux = e->site->aux;
    const void *base = heed_slots_base(aux, e->slots);
    struct stored s = { .n = 0 };
    char path[HEED_SITE_PATH];
    heed_status status;
    size_t bytes;

    if (!e->site->use->entry || heed_slots_empty(aux))
        return HEED_OK;
    if (!base)
        return heed_report_fill(e->report, HEED_E_NULL, heed_site_path(e->site, path), 0, 0,
                                "slot %u is not bound", (unsigned)aux->slot);
    if (!e->constant || !overlaps(aux, &s))
        return indices_walk(e, base);
    bytes = (size_t)s.n * (sizeof(*s.left) + sizeof(*s.reached));
    s.left = heed_alloc(e->runtime, bytes, 8);
    if (!s.left)
        return heed_report_fill(e->report, HEED_E_NOMEM, heed_site_path(e->site, path), 0, 0,
                                "no memory to walk a constant that overlaps itself");
    s.reached = (uint8_t *)(s.left + s.n);
    memset(s.reached, 0, (size_t)s.n);
    status = stored_walk(e, base, &s);
    heed_free(e->runtime, s.left, bytes, 8);
    return status;
}
