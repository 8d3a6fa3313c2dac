/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every place of use, entry by entry, and what no single entry can say: sequences, which a begin
 * and a length make together, end within the packed rows, and those of queries lie apart.
 */
#include "validate.h"

#include "../../core/alloc.h"
#include "../../core/error.h"
#include "../../layouts/layouts.h"
#include "slots.h"
#include "use.h"

#include <stdio.h>

/* More sequences than this are refused where their begins and lengths share memory. */
#define SEQUENCES_MAX (INT64_C(1) << 20)

/* Sequences of packed rows. */
struct sequence {
    int64_t begin, end;
};

/* Begins and lengths of one packed tensor. */
struct pack {
    const struct heed_aux *begins, *lengths;
    const void *begin_base, *length_base;
    int64_t total;                  /* packed rows */
};

static void sift(struct sequence *a, int64_t root, int64_t n)
{
    for (int64_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        const struct sequence moved = a[root];

        if (child + 1 < n && a[child + 1].begin > a[child].begin)
            child++;
        if (a[child].begin <= moved.begin)
            return;
        a[root] = a[child];
        a[child] = moved;
        root = child;
    }
}

/* Heap sort by begin. */
static void sort(struct sequence *a, int64_t n)
{
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sift(a, i, n);
    for (int64_t i = n - 1; i > 0; i--) {
        const struct sequence last = a[i];

        a[i] = a[0];
        a[0] = last;
        sift(a, 0, i);
    }
}

static heed_status overlap_fail(const struct heed_entries *e, int64_t end, int64_t begin)
{
    char field[32];

    snprintf(field, sizeof(field), "slots[%u]", (unsigned)(e->site->aux->slot - 1));
    return heed_report_fill(
        e->report, HEED_E_INDEX, field, end, begin,
        "%s: a query sequence begins at row %lld, another one ends before row %lld: they overlap",
        e->site->name, (long long)begin, (long long)end);
}

/* `most` along batch axes where all sequences are the same. */
static void limits_find(const struct pack *p, int64_t max, int64_t limit[6])
{
    for (int i = 0; i < 6; i++) {
        const bool same = p->begins->stride[i] == 0 && p->lengths->stride[i] == 0;

        limit[i] = same && p->begins->shape[i] > max ? max : p->begins->shape[i];
    }
}

/* Sequences that are not empty, up to two along axes where all are the same: enough to see an
 * overlap. */
static int64_t sequences_take(const struct pack *p, struct sequence *out, int64_t max)
{
    int64_t index[6] = { 0 }, limit[6], n = 0;

    limits_find(p, 2, limit);
    do {
        const int64_t begin = heed_slots_get(p->begins, p->begin_base, index),
                      length = heed_slots_get(p->lengths, p->length_base, index);

        if (length <= 0)
            continue;
        if (out && n < max)
            out[n] = (struct sequence){ begin, begin + length };
        n++;
    } while (heed_slots_next(index, limit));
    return n;
}

/* Both arrays hold sensible entries by now. */
static heed_status queries_apart(const struct heed_entries *e, const struct pack *p)
{
    const int64_t n = sequences_take(p, NULL, 0);
    heed_status status = HEED_OK;
    struct sequence *all;
    size_t bytes = 0;

    if (n < 2)
        return HEED_OK;
    all = heed_mul_size((size_t)n, sizeof(*all), &bytes) ? heed_alloc(e->runtime, bytes, 8) : NULL;
    if (!all)
        return heed_report_fill(e->report, HEED_E_NOMEM, e->site->name, 0, 0,
                                "no memory to sort the query sequences");
    sequences_take(p, all, n);
    sort(all, n);
    for (int64_t i = 1; i < n && status >= 0; i++) {
        if (all[i].begin < all[i - 1].end)
            status = overlap_fail(e, all[i - 1].end, all[i].begin);
    }
    heed_free(e->runtime, all, bytes, 8);
    return status;
}

/* begin + length at most total. */
static heed_status sequences_in(const struct heed_entries *e, const struct pack *p)
{
    struct heed_fault fault = { .why = "begin + length leaves the packed rows" };
    int64_t index[6] = { 0 }, limit[6];

    limits_find(p, 1, limit);
    do {
        const int64_t begin = heed_slots_get(p->begins, p->begin_base, index);
        const int64_t length = heed_slots_get(p->lengths, p->length_base, index);

        fault.wanted = p->total - length;
        if (length > p->total - begin)
            return heed_entries_fail(e, HEED_E_INDEX, index, 0, begin, &fault);
    } while (heed_slots_next(index, limit));
    return HEED_OK;
}

/* Too many to be looked at one by one, for how little is stored? */
static bool crowded(const struct pack *p)
{
    int64_t limit[6], count = 1, low;

    limits_find(p, 2, limit);
    for (int i = 0; i < 6; i++)
        count *= limit[i];          /* at most n_batch, which fits */
    return count > SEQUENCES_MAX && count / 2 > heed_entries_stored(p->begins, &low) +
                                                     heed_entries_stored(p->lengths, &low);
}

/* Sequences that this walk is the first to know: both arrays can be read, and one of them is of
 * this walk's sort. name: of the field with the begins; written: no two may share a row. */
static heed_status pack_in(const struct heed_entries *e, const struct heed_aux *begins,
                           const struct heed_aux *lengths, int64_t total, const char *name,
                           bool written)
{
    const struct heed_site site = {
        .aux = begins,
        .name = name,
        .level = e->source ? HEED_LEVEL_SOURCE : HEED_LEVEL_DESC,
        .source = e->source ? (uint32_t)(e->source - e->attn->sources) : 0,
    };
    const struct pack p = {
        .begins = begins,
        .lengths = lengths,
        .begin_base = heed_slots_base(begins, e->slots),
        .length_base = heed_slots_base(lengths, e->slots),
        .total = total,
    };
    struct heed_entries at = *e;
    char path[HEED_SITE_PATH];
    heed_status status;

    at.site = &site;
    if (!p.begin_base || !p.length_base || e->attn->n_batch == 0 ||
        (!e->constant && begins->data && lengths->data))
        return HEED_OK;
    if (e->constant && crowded(&p))
        return heed_report_fill(e->report, HEED_E_UNSUPPORTED, heed_site_path(&site, path),
                                SEQUENCES_MAX, e->attn->n_batch,
                                "too many constant sequences for the memory that they share");
    status = sequences_in(&at, &p);
    return status >= 0 && written ? queries_apart(&at, &p) : status;
}

static heed_status walk_all(struct heed_entries *e)
{
    const struct heed_checked *attn = e->attn;
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < attn->n_sites && status >= 0; i++) {
        const struct heed_site *site = &attn->sites[i];

        if ((site->aux->data != NULL) != e->constant)
            continue;
        e->site = site;
        e->source = site->level == HEED_LEVEL_DESC ? NULL : &attn->sources[site->source];
        e->term = site->level == HEED_LEVEL_TERM ? &e->source->terms[site->index] : NULL;
        status = heed_entries_walk(e);
    }
    e->source = NULL;
    if (status >= 0 && heed_layout_packed(attn->q_layout))
        status = pack_in(e, &attn->q_begin, &attn->q_len, attn->q.shape[4], "q_slot",
                         attn->o_begin.slot == 0);
    if (status >= 0 && attn->o_begin.slot != 0)
        status = pack_in(e, &attn->o_begin, &attn->q_len, attn->o.shape[4], "o_slot", true);
    for (uint32_t s = 0; s < attn->n_sources && status >= 0; s++) {
        e->source = &attn->sources[s];
        if (heed_layout_packed(e->source->layout))
            status = pack_in(e, &e->source->index, &e->source->len, e->source->k.shape[4], "slot",
                             false);
    }
    return status;
}

heed_status heed_validate_slots(const struct heed_checked *attn, const void *const *slots,
                                heed_report *report)
{
    struct heed_entries e = { .attn = attn, .slots = slots, .report = report };
    const heed_status status = walk_all(&e);

    return status < 0 ? status : heed_report_ok(report);
}

heed_status heed_validate_constants(const struct heed_checked *attn, void *runtime,
                                    heed_report *report)
{
    struct heed_entries e = {
        .attn = attn, .runtime = runtime, .report = report, .constant = true
    };

    return walk_all(&e);
}
