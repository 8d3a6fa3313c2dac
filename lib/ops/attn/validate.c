/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Entries of auxiliary arrays against what they name. Axes of stride 0 repeat what was seen and are
 * walked once (or twice, where neighbours are compared), so a walk takes no longer than the memory
 * is large.
 */
#include "validate.h"

#include "../../core/alloc.h"
#include "../../core/error.h"
#include "slots.h"

#include <stdbool.h>
#include <stdio.h>

struct walk {
    const struct heed_checked *attn;
    const void *const *slots; /* NULL: constants */
    void *runtime;                  /* of scratch memory */
    heed_report *report;
};

/* One array at one place of use. */
struct place {
    const struct heed_aux *aux;
    const void *base;
    const char *path; /* "sources[0].len_slot" */
};

/* Sequences of packed query rows. */
struct sequence {
    int64_t begin, end;
};

static bool is_constant(const struct walk *w)
{
    return w->slots == NULL;
}

static bool belongs(const struct walk *w, const struct heed_aux *aux)
{
    return aux->slot != 0 && (aux->data != NULL) == is_constant(w);
}

/* 1 = look at it, 0 = not this walk's, < 0 = not bound. */
static int place_find(const struct walk *w, const struct heed_aux *aux, const char *path,
                      struct place *out)
{
    *out = (struct place){ .aux = aux, .base = heed_slots_base(aux, w->slots), .path = path };
    if (!belongs(w, aux))
        return 0;
    for (int i = 0; i < 6; i++) {
        if (aux->shape[i] == 0)
            return 0;
    }
    if (!out->base)
        return heed_report_fill(w->report, HEED_E_NULL, path, 0, 0, "slot %u is not bound",
                                (unsigned)aux->slot);
    return 1;
}

static heed_status entry_fail(const struct walk *w, const struct place *p, heed_status status,
                              const int64_t index[6], int64_t wanted, int64_t got, const char *why)
{
    char field[32];

    snprintf(field, sizeof(field), "slots[%u]", (unsigned)(p->aux->slot - 1));
    return heed_report_fill(w->report, is_constant(w) ? status : HEED_E_INDEX, field, wanted, got,
                            "%s: batch [%lld,%lld,%lld] entry [%lld,%lld,%lld] is %lld: %s",
                            p->path, (long long)index[0], (long long)index[1], (long long)index[2],
                            (long long)index[3], (long long)index[4], (long long)index[5],
                            (long long)got, why);
}

/* Extents to walk: `most` along axes of stride 0. */
static void limits_find(const struct heed_aux *aux, int64_t most, int64_t limit[6])
{
    for (int i = 0; i < 6; i++)
        limit[i] = aux->stride[i] == 0 && aux->shape[i] > most ? most : aux->shape[i];
}

/* Every entry within [low, high]. */
static heed_status entries_in(const struct walk *w, const struct heed_aux *aux, const char *path,
                              int64_t low, int64_t high, heed_status below, heed_status above,
                              const char *why)
{
    int64_t index[6] = { 0 }, limit[6];
    struct place p;
    const int found = place_find(w, aux, path, &p);

    if (found <= 0)
        return found;
    limits_find(aux, 1, limit);
    do {
        const int64_t value = heed_slots_get(aux, p.base, index);

        if (value < low)
            return entry_fail(w, &p, below, index, low, value, why);
        if (value > high)
            return entry_fail(w, &p, above, index, high, value, why);
    } while (heed_slots_next(index, limit));
    return HEED_OK;
}

static heed_status lengths_in(const struct walk *w, const struct heed_aux *aux, const char *path,
                              int64_t bound)
{
    return entries_in(w, aux, path, 0, bound, HEED_E_VALUE, HEED_E_INDEX,
                      "lengths lie between 0 and the bound");
}

static heed_status positions_in(const struct walk *w, const struct heed_aux *aux, const char *path)
{
    return entries_in(w, aux, path, -HEED_POSITION_MAX, HEED_POSITION_MAX, HEED_E_OVERFLOW,
                      HEED_E_OVERFLOW, "positions lie within 2^60 of 0");
}

/* begin in [0, total], begin + length at most total; length NULL: not known now. */
static heed_status sequence_in(const struct walk *w, const struct place *p, const void *lengths,
                               const struct heed_aux *len, const int64_t index[6], int64_t total,
                               struct sequence *out)
{
    const int64_t begin = heed_slots_get(p->aux, p->base, index);
    const int64_t length = lengths ? heed_slots_get(len, lengths, index) : 0;

    if (begin < 0 || begin > total)
        return entry_fail(w, p, HEED_E_INDEX, index, begin < 0 ? 0 : total, begin,
                          "no such row: the sequence would be empty");
    if (length > total - begin)
        return entry_fail(w, p, HEED_E_INDEX, index, total - length, begin,
                          "begin + length leaves the packed rows");
    *out = (struct sequence){ begin, begin + (length > 0 ? length : 0) };
    return HEED_OK;
}

/* Walks begins, with lengths where both can be read. */
static heed_status begins_in(const struct walk *w, const struct heed_aux *begins,
                             const struct heed_aux *len, const char *path, int64_t total)
{
    const void *lengths = heed_slots_base(len, w->slots);
    int64_t index[6] = { 0 }, limit[6];
    struct sequence sequence;
    struct place p;
    const int found = place_find(w, begins, path, &p);

    if (found < 0)
        return found;
    if (found == 0) { /* constant begins with run-time lengths are looked at in both walks */
        if (is_constant(w) || !belongs(w, len) || !begins->data || !lengths ||
            w->attn->n_batch == 0)
            return HEED_OK;
        p = (struct place){ begins, begins->data, path };
    }
    limits_find(begins, 1, limit);
    for (int a = 0; a < 3; a++) {
        if (len->stride[a] != 0)
            limit[a] = begins->shape[a];
    }
    do {
        const heed_status status = sequence_in(w, &p, lengths, len, index, total, &sequence);

        if (status < 0)
            return status;
    } while (heed_slots_next(index, limit));
    return HEED_OK;
}

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

static heed_status overlap_fail(const struct walk *w, const struct heed_aux *begins, int64_t end,
                                int64_t begin)
{
    char field[32];

    snprintf(field, sizeof(field), "slots[%u]", (unsigned)(begins->slot - 1));
    return heed_report_fill(
        w->report, HEED_E_INDEX, field, end, begin,
        "q_slot: a query sequence begins at row %lld, another one ends before row %lld: they "
        "overlap",
        (long long)begin, (long long)end);
}

/* Sequences that are not empty, up to two along axes where all are the same: enough to see an
 * overlap. */
static int64_t sequences_take(const struct walk *w, const struct heed_aux *begins,
                              const struct heed_aux *len, struct sequence *out, int64_t most)
{
    const void *from = heed_slots_base(begins, w->slots), *lengths = heed_slots_base(len, w->slots);
    int64_t index[6] = { 0 }, limit[6], n = 0;

    limits_find(begins, 2, limit);
    for (int a = 0; a < 3; a++) {
        if (len->stride[a] != 0)
            limit[a] = begins->shape[a];
    }
    do {
        const int64_t begin = heed_slots_get(begins, from, index),
                      length = heed_slots_get(len, lengths, index);

        if (length <= 0)
            continue;
        if (out && n < most)
            out[n] = (struct sequence){ begin, begin + length };
        n++;
    } while (heed_slots_next(index, limit));
    return n;
}

/* Both arrays hold sensible entries by now. */
static heed_status queries_apart(const struct walk *w)
{
    const struct heed_aux *begins = &w->attn->q_begin, *len = &w->attn->q_len;
    heed_status status = HEED_OK;
    struct sequence *all;
    size_t bytes = 0;
    int64_t n;

    if (begins->slot == 0 || w->attn->n_batch == 0 || (!belongs(w, begins) && !belongs(w, len)) ||
        !heed_slots_base(begins, w->slots) || !heed_slots_base(len, w->slots))
        return HEED_OK;
    n = sequences_take(w, begins, len, NULL, 0);
    if (n < 2)
        return HEED_OK;
    all = heed_mul_size((size_t)n, sizeof(*all), &bytes) ? heed_alloc(w->runtime, bytes, 8) : NULL;
    if (!all)
        return heed_report_fill(w->report, HEED_E_NOMEM, "q_slot", 0, 0,
                                "no memory to sort the query sequences");
    sequences_take(w, begins, len, all, n);
    sort(all, n);
    for (int64_t i = 1; i < n && status >= 0; i++) {
        if (all[i].begin < all[i - 1].end)
            status = overlap_fail(w, begins, all[i - 1].end, all[i].begin);
    }
    heed_free(w->runtime, all, bytes, 8);
    return status;
}

/* One list of a GLOBAL term: ascending and below bound up to its first negative entry; constant
 * lists hold nothing but negative entries after that. */
static heed_status list_in(const struct walk *w, const struct place *p, int64_t index[6],
                           int64_t count, int64_t bound)
{
    int64_t before = -1;
    bool ended = false;

    for (index[5] = 0; index[5] < count; index[5]++) {
        const int64_t value = heed_slots_get(p->aux, p->base, index);

        if (value < 0) {
            if (!is_constant(w))
                break;
            ended = true;
            continue;
        }
        if (ended)
            return entry_fail(w, p, HEED_E_INDEX, index, -1, value,
                              "a negative entry ended the list before");
        if (value >= bound)
            return entry_fail(w, p, HEED_E_INDEX, index, bound, value, "no such key or row");
        if (value <= before)
            return entry_fail(w, p, HEED_E_INDEX, index, before + 1, value,
                              "the list must ascend strictly");
        before = value;
    }
    index[5] = 0;
    return HEED_OK;
}

static heed_status global_in(const struct walk *w, const struct heed_checked_source *source,
                             const struct heed_checked_term *term, const char *path)
{
    int64_t index[6] = { 0 }, limit[6], count, bound = INT64_MAX;
    struct place p;
    const int found = place_find(w, &term->slot, path, &p);

    if (found <= 0)
        return found;
    if (term->flags & HEED_TERM_KEYS)
        bound = source->n_k;
    if ((term->flags & HEED_TERM_ROWS) && w->attn->n_q < bound)
        bound = w->attn->n_q;
    limits_find(&term->slot, 1, limit);
    count = term->slot.stride[5] == 0 && term->slot.shape[5] > 2 ? 2 : term->slot.shape[5];
    limit[5] = 1;
    do {
        const heed_status status = list_in(w, &p, index, count, bound);

        if (status < 0)
            return status;
    } while (heed_slots_next(index, limit));
    return HEED_OK;
}

static heed_status segment_in(const struct walk *w, const struct heed_checked_source *source,
                              const struct heed_checked_term *term, const char *path)
{
    int64_t index[6] = { 0 }, limit[6];
    struct place p;
    const int found = place_find(w, &term->slot, path, &p);

    if (found <= 0)
        return found;
    limits_find(&term->slot, 1, limit);
    limit[5] = 1;
    do {
        const int64_t begin = heed_slots_get(&term->slot, p.base, index);
        int64_t end;

        index[5] = 1;
        end = heed_slots_get(&term->slot, p.base, index);
        if (end > source->n_k)
            return entry_fail(w, &p, HEED_E_INDEX, index, source->n_k, end,
                              "the range ends after the last key");
        if (end < begin && is_constant(w))
            return entry_fail(w, &p, HEED_E_INDEX, index, begin, end,
                              "the range ends before it begins");
        index[5] = 0;
        if (begin < 0)
            return entry_fail(w, &p, HEED_E_INDEX, index, 0, begin,
                              "the range begins before the first key");
    } while (heed_slots_next(index, limit));
    return HEED_OK;
}

static heed_status listed_in(const struct walk *w, const struct heed_checked_source *source,
                             const char *path)
{
    const int64_t runs = source->n_k > 0 ? (source->n_k - 1) / source->run + 1 : 0;

    return entries_in(w, &source->index, path, is_constant(w) ? -1 : INT64_MIN, runs - 1,
                      HEED_E_INDEX, HEED_E_INDEX, "entries name a run of keys, or are -1");
}

static heed_status source_in(const struct walk *w, uint32_t s)
{
    const struct heed_checked_source *source = &w->attn->sources[s];
    heed_status status = HEED_OK;
    char path[64], len[64];

    snprintf(path, sizeof(path), "sources[%u].slot", (unsigned)s);
    snprintf(len, sizeof(len), "sources[%u].len_slot", (unsigned)s);
    status = lengths_in(w, &source->len, len, source->n_k);
    if (status >= 0 && source->layout == HEED_LAYOUT_LISTED)
        status = listed_in(w, source, path);
    if (status >= 0 && source->layout == HEED_LAYOUT_RAGGED)
        status = begins_in(w, &source->index, &source->len, path, source->k.shape[4]);
    for (uint32_t t = 0; t < source->n_terms && status >= 0; t++) {
        const struct heed_checked_term *term = &source->terms[t];

        snprintf(path, sizeof(path), "sources[%u].terms[%u].slot", (unsigned)s, (unsigned)t);
        status = term->kind == HEED_TERM_SEGMENT ? segment_in(w, source, term, path)
                                                 : global_in(w, source, term, path);
    }
    for (uint32_t b = 0; b < source->n_biases && status >= 0; b++) {
        snprintf(path, sizeof(path), "sources[%u].biases[%u].q_coord", (unsigned)s, (unsigned)b);
        status = positions_in(w, &source->biases[b].q_coord, path);
        snprintf(path, sizeof(path), "sources[%u].biases[%u].k_coord", (unsigned)s, (unsigned)b);
        if (status >= 0)
            status = positions_in(w, &source->biases[b].k_coord, path);
    }
    return status;
}

static heed_status walk_all(const struct walk *w)
{
    const struct heed_checked *attn = w->attn;
    heed_status status = positions_in(w, &attn->q_pos, "q_pos_slot");

    if (status >= 0)
        status = lengths_in(w, &attn->q_len, "q_len_slot", attn->n_q);
    if (status >= 0 && attn->q_begin.slot != 0)
        status = begins_in(w, &attn->q_begin, &attn->q_len, "q_slot", attn->q.shape[4]);
    if (status >= 0)
        status = queries_apart(w);
    for (uint32_t s = 0; s < attn->n_sources && status >= 0; s++)
        status = source_in(w, s);
    return status;
}

heed_status heed_validate_slots(const struct heed_checked *attn, const void *const *slots,
                                heed_report *report)
{
    const struct walk w = { .attn = attn, .slots = slots, .report = report };
    const heed_status status = walk_all(&w);

    return status < 0 ? status : heed_report_ok(report);
}

heed_status heed_validate_constants(const struct heed_checked *attn, void *runtime,
                                    heed_report *report)
{
    const struct walk w = { .attn = attn, .runtime = runtime, .report = report };

    return walk_all(&w);
}
