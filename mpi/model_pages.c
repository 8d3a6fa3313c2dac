/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pages of runs of keys. Keys farther apart than a page lie in a page each, and there may be
 * millions of them: their bits are set once for all ranks that see the same ones.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

static heed_status no_memory(heed_report *report)
{
    return heed_mpi_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the pages of the model");
}

heed_status heed_mpi_pages_make(struct heed_mpi_pages *p, struct heed_mpi_memory *memory,
                                const struct heed_mpi_owners *owners, int64_t n_k, int64_t page,
                                heed_report *report)
{
    *p = (struct heed_mpi_pages){
        .memory = memory,
        .owners = owners,
        .n_k = n_k,
        .page = page,
        .n_pages = n_k / page + (n_k % page > 0),
        .teeth = heed_mpi_take(memory, owners->n, sizeof *p->teeth, false),
        .starts = heed_mpi_take(memory, owners->n + 1, sizeof *p->starts, true),
    };
    if (!p->teeth || !p->starts)
        return no_memory(report);
    for (int64_t i = 0; i < owners->n; i++)
        p->starts[i] = owners->segment[i].key / page;
    p->starts[owners->n] = p->n_pages;
    return HEED_OK;
}

/* ---- bits ---- */

/* Sets or clears the pages of the keys of a comb from `first` on. */
static void comb_change(struct heed_mpi_pages *p, const heed_key_run *comb, int64_t first, bool set)
{
    int64_t segment = heed_mpi_segment_of(p->owners, first);

    for (int64_t key = first; key < comb->end; key += comb->step) {
        const int64_t page = key / p->page;
        const uint64_t bit = (uint64_t)1 << page % 64;

        while (key >= p->owners->segment[segment].end)
            segment++;
        if (set == ((p->bits[page / 64] & bit) != 0))
            continue;
        p->bits[page / 64] ^= bit;
        p->teeth[segment] += set ? 1 : -1;
    }
}

static int64_t bits_count(const struct heed_mpi_pages *p, int64_t first, int64_t end)
{
    int64_t n = 0;

    for (int64_t word = first / 64; word * 64 < end; word++) {
        uint64_t bits = p->bits[word];

        if (word * 64 < first)
            bits &= ~(uint64_t)0 << first % 64;
        if (word * 64 + 64 > end)
            bits &= ~(~(uint64_t)0 << end % 64);
        bits -= bits >> 1 & 0x5555555555555555u;
        bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
        bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
        n += (int64_t)((bits * 0x0101010101010101u) >> 56);
    }
    return n;
}

/* Do the combs begin as those of before, and end no earlier? */
static bool combs_grow(const struct heed_mpi_pages *p, const heed_key_run *combs, int64_t n)
{
    if (n != p->n_combs)
        return false;
    for (int64_t i = 0; i < n; i++) {
        if (combs[i].first != p->combs[i].first || combs[i].step != p->combs[i].step ||
            combs[i].end < p->combs[i].end)
            return false;
    }
    return true;
}

/* The first key of a comb that is not below `from`. */
static int64_t comb_from(const heed_key_run *comb, int64_t from)
{
    if (from <= comb->first)
        return comb->first;
    return comb->first + (from - comb->first + comb->step - 1) / comb->step * comb->step;
}

static heed_status combs_set(struct heed_mpi_pages *p, const heed_key_run *combs, int64_t n,
                             heed_report *report)
{
    const bool grow = combs_grow(p, combs, n);

    if (n > 0 && !p->bits) {
        p->bits = heed_mpi_take(p->memory, p->n_pages / 64 + 1, sizeof *p->bits, false);
        if (!p->bits)
            return no_memory(report);
    }
    for (int64_t i = 0; i < p->n_combs && !grow; i++)
        comb_change(p, &p->combs[i], p->combs[i].first, false);
    for (int64_t i = 0; i < n; i++)
        comb_change(p, &combs[i], grow ? comb_from(&combs[i], p->combs[i].end) : combs[i].first,
                    true);
    if (n > p->most_combs) {
        p->combs = heed_mpi_take(p->memory, 2 * n, sizeof *p->combs, true);
        p->most_combs = p->combs ? 2 * n : 0;
    }
    p->n_combs = n;
    if (n > 0 && !p->combs)
        return no_memory(report);
    if (n > 0)
        memcpy(p->combs, combs, (size_t)n * sizeof *combs);
    return HEED_OK;
}

/* ---- spans ---- */

/* By step, then by place. */
static int run_compare(const void *a, const void *b)
{
    const heed_key_run *x = a, *y = b;

    if (x->step != y->step)
        return (x->step > y->step) - (x->step < y->step);
    if (x->first != y->first)
        return (x->first > y->first) - (x->first < y->first);
    return (x->end > y->end) - (x->end < y->end);
}

static int span_compare(const void *a, const void *b)
{
    const struct heed_mpi_span *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

static heed_status spans_room(struct heed_mpi_pages *p, int64_t n, heed_report *report)
{
    if (n <= p->most_spans)
        return HEED_OK;
    p->spans = heed_mpi_take(p->memory, 2 * n, sizeof *p->spans, true);
    p->most_spans = p->spans ? 2 * n : 0;
    return p->spans ? HEED_OK : no_memory(report);
}

/* Runs of steps that no page lies between. */
static void spans_set(struct heed_mpi_pages *p, const heed_key_run *runs, int64_t n)
{
    struct heed_mpi_span *to = p->spans;
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++) {
        const int64_t last =
            runs[i].first + (runs[i].end - 1 - runs[i].first) / runs[i].step * runs[i].step;

        to[i] = (struct heed_mpi_span){ runs[i].first / p->page, last / p->page + 1 };
    }
    if (n > 0)
        qsort(to, (size_t)n, sizeof *to, span_compare);
    for (int64_t i = 0; i < n; i++) {
        if (kept == 0 || to[i].first > to[kept - 1].end)
            to[kept++] = to[i];
        else if (to[i].end > to[kept - 1].end)
            to[kept - 1].end = to[i].end;
    }
    p->n_spans = kept;
}

heed_status heed_mpi_pages_set(struct heed_mpi_pages *p, heed_key_run *runs, int64_t n,
                               heed_report *report)
{
    int64_t near, kept;
    heed_status status;

    if (n > 0)
        qsort(runs, (size_t)n, sizeof *runs, run_compare);
    for (near = 0; near < n && runs[near].step <= p->page;)
        near++;
    status = spans_room(p, near, report);
    if (status < 0)
        return status;
    spans_set(p, runs, near);
    kept = near; /* items of a batch see the same */
    for (int64_t i = near; i < n; i++) {
        if (kept == near || run_compare(&runs[i], &runs[kept - 1]) != 0)
            runs[kept++] = runs[i];
    }
    return combs_set(p, runs + near, kept - near, report);
}

/* ---- counting ---- */

static bool page_is_seen(const struct heed_mpi_pages *p, int64_t page)
{
    return (p->n_spans > 0 && p->spans[p->n_spans - 1].end > page) ||
           (p->bits && p->bits[page / 64] >> page % 64 & 1);
}

bool heed_mpi_pages_next(const struct heed_mpi_pages *p, struct heed_mpi_pages_walk *w)
{
    int64_t first, end;

    if (w->segment == p->owners->n)
        return false;
    first = p->starts[w->segment];
    end = p->starts[w->segment + 1];
    w->pages = p->teeth[w->segment];
    while (w->span < p->n_spans && p->spans[w->span].first < end) {
        const struct heed_mpi_span *span = &p->spans[w->span];
        const int64_t low = span->first > first ? span->first : first;
        const int64_t high = span->end < end ? span->end : end;

        w->pages += high - low - (p->n_combs > 0 ? bits_count(p, low, high) : 0);
        if (span->end > end)
            break;
        w->span++;
    }
    w->keys = w->pages * p->page;
    if (end == p->n_pages && page_is_seen(p, end - 1))
        w->keys -= p->n_pages * p->page - p->n_k;
    w->segment++;
    return true;
}
