/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The oracle of select, from heed/pool.h. What is compared is known to lie in an interval, which is
 * a point where binary32 computes without an error; an answer is right when nothing that surely
 * comes first is left out for something that surely does not.
 */
#include "select.h"
#include "softmax.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double u = 0x1p-24;

/* Ranks beyond all numbers: of infinity and NaN. */
#define RANK_INF 1e200
#define RANK_NAN 1e300

struct span {
    double low, high;
};

/* A sum of products, in any order that binary32 may have taken. */
struct sum {
    struct exact_sum exact;
    double value, size, n;
};

static void sum_add(struct sum *s, double term)
{
    exact_add(&s->exact, term);
    s->value += term;
    s->size += isinf(term) ? 0 : fabs(term);
    s->n++;
}

/* `slack`: what the factors may be off, relative to the magnitudes, beside the roundings. */
static struct span span_of(const struct sum *s, double slack)
{
    const double bound = ((s->n + 2) * u + slack) * s->size * 1.01 + (s->n + 2) * 0x1p-149;

    if (exact_is(&s->exact) && slack == 0)
        return (struct span){ s->value, s->value };
    if (isnan(s->value))
        return (struct span){ RANK_NAN, RANK_NAN };
    if (s->size > 0x1p126) /* partial sums may leave binary32 */
        return (struct span){ -RANK_INF, RANK_NAN };
    if (isinf(s->value))
        return (struct span){ copysign(RANK_INF, s->value), copysign(RANK_INF, s->value) };
    return (struct span){ s->value - bound, s->value + bound };
}

/* Does token i surely come before token j? */
static bool surely_before(const struct span *spans, int64_t i, int64_t j)
{
    const bool points = spans[i].low == spans[i].high && spans[j].low == spans[j].high;

    return spans[i].low > spans[j].high || (points && spans[i].low == spans[j].low && i < j);
}

struct work {
    const struct fixed_problem *p;
    struct answer *a;   /* while the oracle speaks, */
    const struct array *y; /* while it judges */
    struct verdict *v;
    struct span *spans; /* of tokens */
    int64_t *bucket;    /* of tokens; -1: absent */
};

static double real_of(struct work *w, int array, int64_t index)
{
    return w->a ? answer_real(w->a, array, index)
                : (double)cf_decode(w->p->part[array].a.dtype,
                                    cf_array_bits(&w->p->part[array].a, index));
}

static int64_t length_of(const struct fixed_problem *p, int64_t b)
{
    const struct part *len = &p->part[LEN];
    int64_t n;

    if (!part_is(len))
        return p->n[N_N];
    n = part_int(len, part_at(len, b, 0, 0, 0));
    return n < 0 ? 0 : n > p->n[N_N] ? p->n[N_N] : n;
}

static bool is_present(const struct fixed_problem *p, int64_t b, int64_t g, int64_t t)
{
    const struct part *mask = &p->part[MASK];

    return t < length_of(p, b) &&
           (!part_is(mask) || part_bits(mask, part_at(mask, b, 0, g, t)) != 0);
}

/* ---- choices -------------------------------------------------------------------- */

/* The `count` places from `at` on hold the right tokens of [from, to) with spans. */
static void choice_judge(struct work *w, int64_t b, int64_t g, int64_t from, int64_t to,
                         int64_t count, int64_t at)
{
    int64_t chosen = 0, present = 0, last = -1;

    for (int64_t t = from; t < to; t++)
        present += is_present(w->p, b, g, t);
    for (int64_t i = 0; i < count; i++) {
        const int64_t t = cf_array_int(w->y, at + i);

        if (i >= present ? t != -1 : t <= last || t < from || t >= to ||
                                         !is_present(w->p, b, g, t)) {
            cf_fail(w->v, "y: place %lld of %lld, %lld present: %lld", (long long)(at + i),
                    (long long)i, (long long)present, (long long)t);
            return;
        }
        last = t;
        chosen += i < present;
    }
    for (int64_t t = from; t < to && !w->v->failed; t++) {
        bool taken = !is_present(w->p, b, g, t);

        for (int64_t i = 0; i < chosen; i++)
            taken = taken || cf_array_int(w->y, at + i) == t;
        for (int64_t i = 0; i < chosen && !taken; i++) {
            if (surely_before(w->spans, t, cf_array_int(w->y, at + i)))
                cf_fail(w->v, "y: place %lld has token %lld, but %lld comes before it",
                        (long long)(at + i), (long long)cf_array_int(w->y, at + i), (long long)t);
        }
    }
    w->v->exact += count;
}

static void norm_spans(struct work *w, int64_t b, int64_t g)
{
    const struct part *x = &w->p->part[X];

    for (int64_t t = 0; t < w->p->n[N_N]; t++) {
        struct sum s = { .n = 0 };

        for (int64_t c = 0; c < x->a.shape[3] && is_present(w->p, b, g, t); c++) {
            const double v = real_of(w, X, part_at(x, b, g, t, c));

            sum_add(&s, v * v);
        }
        w->spans[t] = span_of(&s, 0);
    }
}

static void norm_item(struct work *w, int64_t b, int64_t g)
{
    const int64_t *v = w->p->c.v, n = w->p->n[N_N], block = v[C_BLOCK];
    const struct part *y = &w->p->part[Y];

    norm_spans(w, b, g);
    for (int64_t j = 0; w->y && j * block < n && !w->v->failed; j++) {
        const int64_t end = (j + 1) * block < n ? (j + 1) * block : n;

        choice_judge(w, b, g, j * block, end, v[C_COUNT],
                     part_at(y, b, 0, g, 0) + v[C_FRONT] + j * v[C_COUNT]);
    }
}

static void topk_row(struct work *w, int64_t b, int64_t h, int64_t i)
{
    const struct part *x = &w->p->part[X], *q = &w->p->part[Q], *y = &w->p->part[Y];
    const int64_t g = h / w->p->c.v[C_GROUP];

    for (int64_t t = 0; t < w->p->n[N_N]; t++) {
        struct sum s = { .n = 0 };

        for (int64_t c = 0; c < x->a.shape[3] && is_present(w->p, b, g, t); c++)
            sum_add(&s, real_of(w, Q, part_at(q, b, h, i, c)) *
                            real_of(w, X, part_at(x, b, g, t, c)));
        w->spans[t] = span_of(&s, 0);
    }
    if (w->y)
        choice_judge(w, b, g, 0, w->p->n[N_N], w->p->c.v[C_COUNT], part_at(y, b, h, i, 0));
}

/* ---- hashes ---------------------------------------------------------------------- */

/* Candidate i of 2m: s_i, or -s_{i-m}. */
static struct span candidate(const struct span *s, int64_t m, int64_t i)
{
    if (i < m)
        return s[i];
    if (s[i - m].high >= RANK_NAN)
        return s[i - m].low >= RANK_NAN ? s[i - m] : (struct span){ -RANK_INF, RANK_NAN };
    return (struct span){ -s[i - m].high, -s[i - m].low };
}

static bool is_nan_span(struct span s)
{
    return s.low >= RANK_NAN;
}

/* Is id possibly the one that is left when the candidates are gone through in order, a larger one
 * taking the place of the best so far? NaN takes no place, and the first one keeps its own. */
static bool id_possible(const struct span *s, int64_t m, int64_t id)
{
    const struct span mine = candidate(s, m, id);

    if (is_nan_span(candidate(s, m, 0)) || is_nan_span(mine))
        return id == 0;
    for (int64_t j = 0; j < 2 * m; j++) {
        const struct span other = candidate(s, m, j);

        if (other.high >= RANK_NAN || j == id)
            continue;
        if (j < id ? !(mine.high > other.low) : other.low > mine.high)
            return false;
    }
    return true;
}

/* The only possible id; -1: there are several. */
static int64_t id_of(const struct span *s, int64_t m)
{
    int64_t found = -1;

    for (int64_t id = 0; id < 2 * m; id++) {
        if (!id_possible(s, m, id))
            continue;
        if (found >= 0)
            return -1;
        found = id;
    }
    return found;
}

/* Products of a row of d values with a matrix of a round; `slack`: what the values may be off. */
static void candidates_find(struct work *w, const double *row, double slack, int round, int64_t g,
                            struct span *s)
{
    const struct part *r = &w->p->part[ROUNDS + round];

    for (int64_t j = 0; j < r->a.shape[3]; j++) {
        struct sum sum = { .n = 0 };

        for (int64_t c = 0; c < r->a.shape[2]; c++)
            sum_add(&sum, row[c] * real_of(w, ROUNDS + round, part_at(r, 0, g, c, j)));
        s[j] = span_of(&sum, slack);
    }
}

enum { CANDIDATES = 64, WIDTH = 256 };

/* A block at work in a round: what its items, tokens or buckets of the round before, add up to. */
struct block {
    int64_t b, g, from, to;
    bool vague; /* an id was one of several */
};

/* Sums of the tokens of each bucket; false: they are not known well enough. */
static bool bucket_sum(struct work *w, const struct block *k, int64_t bucket, double *row,
                       bool *exact)
{
    const struct part *x = &w->p->part[X];
    const int64_t d = x->a.shape[3];

    *exact = true;
    for (int64_t c = 0; c < d; c++) {
        struct exact_sum sum = { 0 };

        row[c] = 0;
        for (int64_t t = k->from; t < k->to; t++) {
            if (w->bucket[t] != bucket)
                continue;
            row[c] += real_of(w, X, part_at(x, k->b, k->g, t, c));
            exact_add(&sum, real_of(w, X, part_at(x, k->b, k->g, t, c)));
        }
        *exact = *exact && exact_is(&sum);
    }
    return *exact;
}

static void token_row(struct work *w, const struct block *k, int64_t t, double *row)
{
    const struct part *x = &w->p->part[X];

    for (int64_t c = 0; c < x->a.shape[3]; c++)
        row[c] = real_of(w, X, part_at(x, k->b, k->g, t, c));
}

/* Tokens get their ids of round 0, or what it may be is judged when that is the last one. */
static void first_round(struct work *w, struct block *k, bool last)
{
    const int64_t m = w->p->part[ROUNDS].a.shape[3];
    struct span s[CANDIDATES];
    double row[WIDTH];

    for (int64_t t = k->from; t < k->to; t++) {
        w->bucket[t] = -1;
        if (!is_present(w->p, k->b, k->g, t))
            continue;
        token_row(w, k, t, row);
        candidates_find(w, row, 0, 0, k->g, s);
        w->bucket[t] = id_of(s, m);
        k->vague = k->vague || w->bucket[t] < 0;
        if (!last || !w->y)
            continue;
        const int64_t id = cf_array_int(w->y, part_at(&w->p->part[Y], k->b, 0, k->g, t));

        w->v->exact++;
        if (id < 0 || id >= 2 * m || !id_possible(s, m, id))
            cf_fail(w->v, "y: token %lld of item %lld has id %lld, wanted %lld", (long long)t,
                    (long long)k->b, (long long)id, (long long)w->bucket[t]);
    }
}

/* Buckets of the round before get ids, their tokens take these. */
static void later_round(struct work *w, struct block *k, int round)
{
    const int64_t m = w->p->part[ROUNDS + round].a.shape[3];
    const int64_t buckets = 2 * w->p->part[ROUNDS + round - 1].a.shape[3];
    int64_t ids[2 * CANDIDATES];
    struct span s[CANDIDATES];
    double row[WIDTH];

    for (int64_t i = 0; i < buckets; i++) {
        bool exact;

        bucket_sum(w, k, i, row, &exact);
        candidates_find(w, row, exact ? 0 : 1, round, k->g, s);
        ids[i] = exact ? id_of(s, m) : -1;
        for (int64_t t = k->from; t < k->to; t++)
            k->vague = k->vague || (w->bucket[t] == i && ids[i] < 0);
    }
    for (int64_t t = k->from; t < k->to; t++)
        w->bucket[t] = w->bucket[t] < 0 ? -1 : ids[w->bucket[t]];
}

static void hash_block(struct work *w, struct block *k)
{
    const int64_t rounds = w->p->c.v[C_R];

    first_round(w, k, rounds == 1);
    for (int round = 1; round < rounds && !k->vague; round++)
        later_round(w, k, round);
    for (int64_t t = k->from; w->y && t < k->to && !w->v->failed; t++) {
        const int64_t id = cf_array_int(w->y, part_at(&w->p->part[Y], k->b, 0, k->g, t));
        const bool present = is_present(w->p, k->b, k->g, t);

        w->v->judged++;
        w->v->skipped += present && k->vague;
        if (present ? !k->vague && id != w->bucket[t] : id != -1)
            cf_fail(w->v, "y: token %lld of item %lld has id %lld, wanted %lld", (long long)t,
                    (long long)k->b, (long long)id, (long long)w->bucket[t]);
    }
}

static void hash_item(struct work *w, int64_t b, int64_t g)
{
    const int64_t n = w->p->n[N_N], size = w->p->c.v[C_BLOCK];

    for (int64_t from = 0; from < n; from += size) {
        struct block k = { b, g, from, from + size < n ? from + size : n, false };

        hash_block(w, &k);
    }
}

/* ---- all -------------------------------------------------------------------------- */

static bool each_item(struct work *w)
{
    const struct fixed_problem *p = w->p;
    const int64_t kind = p->c.v[C_KIND];
    bool whole;

    w->spans = calloc((size_t)p->n[N_N] + 1, sizeof *w->spans);
    w->bucket = calloc((size_t)p->n[N_N] + 1, sizeof *w->bucket);
    whole = w->spans && w->bucket;
    for (int64_t i = 0; whole && i < p->n_items * p->n[N_HEADS]; i++) {
        const int64_t b = i / p->n[N_HEADS], h = i % p->n[N_HEADS];

        if (kind == KIND_NORM)
            norm_item(w, b, h);
        else if (kind == KIND_HASH)
            hash_item(w, b, h);
        for (int64_t row = 0; kind == KIND_TOPK && row < p->c.v[C_NQ]; row++)
            topk_row(w, b, h, row);
    }
    free(w->spans);
    free(w->bucket);
    return whole;
}

/* Places of one block: a token is surely there, surely not, or in doubt, by how many others come,
 * or may come, before it. false: one is in doubt. */
static bool block_choose(const struct work *w, int64_t b, int64_t g, int64_t from, int64_t to,
                         int64_t *chosen)
{
    const int64_t count = w->p->c.v[C_COUNT];
    int64_t n = 0;

    for (int64_t t = from; t < to; t++) {
        int64_t surely = 0, maybe = 0;

        if (!is_present(w->p, b, g, t))
            continue;
        for (int64_t s = from; s < to; s++) {
            if (s == t || !is_present(w->p, b, g, s))
                continue;
            surely += surely_before(w->spans, s, t);
            maybe += !surely_before(w->spans, t, s);
        }
        if (surely < count && maybe >= count)
            return false;
        if (maybe < count)
            chosen[n++] = t;
    }
    while (n < count)
        chosen[n++] = -1;
    return true;
}

bool select_chosen(const struct fixed_problem *p, struct answer *a, int64_t b, int64_t g,
                   int64_t *chosen, unsigned char *doubt)
{
    const int64_t block = p->c.v[C_BLOCK], n = p->n[N_N];
    struct work w = { .p = p, .a = a, .spans = calloc((size_t)n + 1, sizeof *w.spans) };

    if (!w.spans)
        return false;
    norm_spans(&w, b, g);
    for (int64_t j = 0; j * block < n; j++)
        doubt[j] = !block_choose(&w, b, g, j * block, (j + 1) * block < n ? (j + 1) * block : n,
                                 chosen + j * p->c.v[C_COUNT]);
    free(w.spans);
    return true;
}

void select_buckets(const struct fixed_problem *p, struct answer *a, int64_t b, int64_t g,
                    int64_t *bucket, unsigned char *doubt)
{
    const int64_t n = p->n[N_N], size = p->c.v[C_BLOCK];
    struct work w = { .p = p, .a = a, .bucket = bucket };

    for (int64_t from = 0; from < n; from += size) {
        struct block k = { b, g, from, from + size < n ? from + size : n, false };

        hash_block(&w, &k);
        for (int64_t t = from; t < k.to; t++)
            doubt[t] = k.vague;
    }
}

void select_say(const struct fixed_problem *p, struct answer *a)
{
    const int64_t n = cf_array_count(&p->part[Y].a), width = p->part[Y].a.shape[3];
    struct work w = { .p = p, .a = a };

    each_item(&w); /* marks what is read; matrices of rounds beyond a doubtful one, too: */
    for (int round = ROUNDS; round < ROUNDS + HEED_SELECT_ROUNDS; round++) {
        for (int64_t i = 0; part_is(&p->part[round]) && i < cf_array_count(&p->part[round].a); i++)
            answer_bits(a, round, i);
    }
    for (int64_t i = 0; i < n; i++) {
        const bool pad = p->c.v[C_KIND] == KIND_NORM &&
                         (i % width < p->c.v[C_FRONT] || i % width >= width - p->c.v[C_BACK]);

        if (pad)
            say_bits(a, Y, i, (int64_t)UINT32_MAX);
        else
            say_kind(a, Y, i, SAID_OWN);
    }
}

void select_judge(const struct fixed_problem *p, const struct answer *a,
                  const struct fixed_call *call, struct verdict *v)
{
    struct work w = { .p = p, .y = &call->out[Y], .v = v };

    (void)a;
    if (!each_item(&w))
        cf_fail(v, "no memory for the oracle");
}
