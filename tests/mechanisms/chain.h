/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Mechanisms of several calls against a dense oracle in double. The oracle's arrays carry, element
 * by element, how far a right result of the calls so far may be off, and every step of the oracle
 * hands that on. "Projections" are cuts of the channels: learnt maps that round nothing.
 *
 *     struct approx x = approx_of(&rows), o;
 *     o = approx_attend(&q, sets, 2, sees, &p);
 *     approx_judge(&got, &o, "self-attention");
 */
#ifndef HEED_TESTS_MECHANISMS_CHAIN_H
#define HEED_TESTS_MECHANISMS_CHAIN_H

#include "faults.h"

/* [b][h][n][d]: values, and bounds of their errors. */
struct approx {
    int64_t b, h, n, d;
    double *x, *e;
};

static inline struct approx approx_new(int64_t b, int64_t h, int64_t n, int64_t d)
{
    const size_t bytes = (size_t)(b * h * n * d) * sizeof(double);
    struct approx a = { b, h, n, d, world_new(bytes), world_new(bytes) };

    memset(a.x, 0, bytes);
    memset(a.e, 0, bytes);
    return a;
}

static inline int64_t approx_at(const struct approx *a, int64_t b, int64_t h, int64_t i)
{
    return ((b * a->h + h) * a->n + i) * a->d;
}

/* An array of the test's own, exactly. */
static inline struct approx approx_of(const heed_array *rows)
{
    const int64_t *shape = rows->t.shape;
    struct approx a = approx_new(shape[0], shape[1], shape[2], shape[3]);

    for (int64_t i = 0; i < a.b * a.h * a.n; i++)
        for (int64_t c = 0; c < a.d; c++)
            a.x[i * a.d + c] =
                (double)world_row(rows, i / a.n / a.h, i / a.n % a.h, i % a.n)[c];
    return a;
}

/* Channels first .. first + d - 1. */
static inline struct approx approx_cut(const struct approx *a, int64_t first, int64_t d)
{
    struct approx cut = approx_new(a->b, a->h, a->n, d);

    for (int64_t i = 0; i < a->b * a->h * a->n; i++)
        for (int64_t c = 0; c < d; c++) {
            cut.x[i * d + c] = a->x[i * a->d + first + c];
            cut.e[i * d + c] = a->e[i * a->d + first + c];
        }
    return cut;
}

static inline heed_array array_cut(const heed_array *a, int64_t first, int64_t d)
{
    heed_array cut = *a;

    cut.t.shape[3] = d;
    cut.buf.handle = (float *)a->buf.handle + first;
    return cut;
}

/* A row of softmax(row->key[..].y) over rows in double, into element `at` of `o`. */
static inline void approx_mix(struct seen_row *row, int64_t d_score, struct approx *o, int64_t at)
{
    const struct world_of sizes = { .d = d_score };

    if (row->n == 0)
        return;
    row_bound(&sizes, row);
    for (int64_t c = 0; c < o->d; c++)
        o->x[at + c] = row_value(row, c, &o->e[at + c]);
}

/* The sum of n rows of `x`, which begin at these elements, times p: into element `at` of `o`. */
static inline void approx_sum(const struct approx *x, const int64_t *row, const double *p,
                              int64_t n, struct approx *o, int64_t at)
{
    for (int64_t c = 0; c < o->d; c++) {
        double size = 0, slack = 0, sum = 0;

        for (int64_t t = 0; t < n; t++) {
            sum += p[t] * x->x[row[t] + c];
            size += fabs(p[t]) * (fabs(x->x[row[t] + c]) + x->e[row[t] + c]);
            slack += fabs(p[t]) * x->e[row[t] + c];
        }
        o->x[at + c] = sum;
        o->e[at + c] = n > 0 ? slack + (double)(n + 2) * 0x1p-24 * size + 0x1p-149 : 0;
    }
}

/* ---- attention ---- */

struct approx_keys {
    struct approx k, v;
};

/* Does row i see key j of that set, by the paper? */
typedef bool sees_fn(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j);

/* A score over sqrt(d), its magnitude, and how far it is off by its factors. */
static inline void approx_score(const double *q, const double *eq, const double *k,
                                const double *ek, int64_t d, struct seen_key *key)
{
    const double scale = 1 / sqrt((double)d);

    for (int64_t t = 0; t < d; t++) {
        const double size = (fabs(q[t]) + eq[t]) * (fabs(k[t]) + ek[t]);

        key->y += q[t] * k[t] * scale;
        key->size += size * scale;
        key->shift += (size - fabs(q[t] * k[t])) * scale;
    }
}

/* softmax(q k^T / sqrt(d)) v over the keys that are seen; rows without keys are 0. */
static inline struct approx approx_attend(const struct approx *q, const struct approx_keys *set,
                                          int n_sets, sees_fn *sees, const void *p)
{
    static struct seen_row row;
    struct approx o = approx_new(q->b, q->h, q->n, set[0].v.d);

    for (int64_t x = 0; x < q->b * q->h * q->n; x++) {
        const int64_t b = x / q->n / q->h, h = x / q->n % q->h, i = x % q->n, at = x * q->d;

        row.n = 0;
        for (int s = 0; s < n_sets; s++)
            for (int64_t j = 0; j < set[s].k.n; j++) {
                const int64_t k = approx_at(&set[s].k, b, h, j), v = approx_at(&set[s].v, b, h, j);
                struct seen_key key = { .wide = set[s].v.x + v, .slack = set[s].v.e + v };

                if (!sees(p, b, h, i, s, j))
                    continue;
                approx_score(q->x + at, q->e + at, set[s].k.x + k, set[s].k.e + k, q->d, &key);
                ck_assert_int_lt(row.n, 4 * MOST_KEYS);
                row.key[row.n++] = key;
            }
        approx_mix(&row, q->d, &o, x * o.d);
    }
    return o;
}

/* ---- what is asked ---- */

/* Every element within its bound; bounds tell something: at most `tight` of the largest value. */
static inline void approx_judge(const heed_array *got, const struct approx *want, double tight,
                                const char *what)
{
    double worst = 0, widest = 0, largest = 0;

    ck_assert_int_eq(world_count(got), want->b * want->h * want->n * want->d);
    for (int64_t x = 0; x < want->b * want->h * want->n; x++) {
        const int64_t b = x / want->n / want->h, h = x / want->n % want->h, i = x % want->n;
        const float *o = world_row(got, b, h, i);

        for (int64_t c = 0; c < want->d; c++) {
            const double value = want->x[x * want->d + c], bound = want->e[x * want->d + c],
                         off = fabs((double)o[c] - value);

            ck_assert_msg(bound > 0 ? off <= bound : off == 0,
                          "%s: item %d head %d row %d channel %d: %.9g, wanted %.9g within %.3g",
                          what, (int)b, (int)h, (int)i, (int)c, (double)o[c], value,
                          bound);
            worst = fmax(worst, bound > 0 ? off / bound : 0);
            widest = fmax(widest, bound);
            largest = fmax(largest, fabs(value));
        }
    }
    ck_assert_msg(widest <= tight * largest, "%s: a bound of %g tells nothing of %g", what, widest,
                  largest);
    printf("# %s: worst error / bound %.3f, widest bound %.2g of %.2g\n", what, worst,
           widest, largest);
}

/* ---- calls ---- */

/* Plans and runs what a builder filled; `pairs`: for each set of keys. */
static inline void chain_attend(heed_mechanism *m, const heed_array *q, const heed_array *o,
                                const heed_kv_bufs *pairs, const heed_buf *slots)
{
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
    const heed_attn_args args = {
        .size = sizeof(args),
        .kv_size = sizeof(kv[0]),
        .q = q->buf,
        .o = o->buf,
        .kv = kv,
        .slots = slots,
        .n_slots = HEED_MECHANISM_SLOTS,
    };

    m->desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    heed_mechanism_kv(m, pairs, kv);
    world_attend(&m->desc, &args);
}

#endif
