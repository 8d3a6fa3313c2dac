/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The dense oracle of mechanisms: arrays of a test, the keys a row sees by the paper's text, the
 * softmax over them in double, and how far a right result may be from it.
 */
#ifndef HEED_TESTS_MECHANISMS_ORACLE_H
#define HEED_TESTS_MECHANISMS_ORACLE_H

#include "calls.h"

#include <heed/mechanisms.h>

enum { MOST_SETS = HEED_MECHANISM_KEYS, MOST_KEYS = 600 };

/* A set of keys in memory: [B][H][n][d], lengths [B], bytes [B][1][n]. */
struct key_set {
    int64_t n;
    bool has_len, has_mask;
    heed_array k, v;
    int32_t *len;
    uint8_t *mask;
};

struct world_of;
typedef int64_t times_fn(const struct world_of *, int64_t b, int64_t h, int64_t i, int set,
                         int64_t j);
typedef double bias_fn(const struct world_of *, int64_t b, int64_t h, int64_t i, int set,
                       int64_t j);

/* An addend of scores, all in all, and the sum of the magnitudes that went into it. */
typedef double extra_fn(const struct world_of *, int64_t b, int64_t h, int64_t i, int set,
                        int64_t j, double *size);

struct world_of {
    const char *name;
    int64_t batch, heads, n_q, d, d_v;
    int64_t kv_heads;                   /* divides heads; 0: as many */
    int n_sets;
    bool cross;                         /* rows have no lengths */
    double scale;                       /* 0: 1 / sqrt(d) */
    struct key_set set[MOST_SETS];
    heed_array q, o;
    /* Calls the builder with the arrays above; fills slot_buf where slots are not constant. */
    void (*build)(struct world_of *);
    times_fn *times;                    /* what the paper says; lengths and masks come on top */
    bias_fn *bias;                      /* NULL: none */
    extra_fn *extra;                    /* of 2 d products at most; NULL: none */
    const void *p;                      /* the test's parameters */
    heed_mechanism m;
    heed_buf slot_buf[HEED_MECHANISM_SLOTS];
    int64_t seen_pairs;                 /* met by the last comparison of visibility */
};

/* ---- arrays ---- */

static inline heed_tensor world_tensor(uint32_t dtype, uint32_t ndim, const int64_t *shape)
{
    return heed_array_dense(dtype, NULL, ndim, shape).t;
}

static inline heed_slot world_slot(uint32_t dtype, uint32_t ndim, int64_t a, int64_t b, int64_t c,
                                   int64_t d, const void *data)
{
    const int64_t shape[4] = { a, b, c, d };

    return (heed_slot){ .t = world_tensor(dtype, ndim, shape), .data = data };
}

/* Lengths and masks are at run time; test_*.c have constant ones of their own lists. */
static inline heed_keys world_keys(const struct world_of *w, int s)
{
    const struct key_set *set = &w->set[s];
    heed_keys keys = { .k = set->k.t, .v = set->v.t };

    if (set->has_len)
        keys.len = world_slot(HEED_I32, 1, w->batch, 1, 1, 1, NULL);
    if (set->has_mask)
        keys.mask = world_slot(HEED_U8, 3, w->batch, 1, set->n, 1, NULL);
    return keys;
}

static inline bool world_present(const struct world_of *w, int64_t b, int s, int64_t j)
{
    const struct key_set *set = &w->set[s];

    return (!set->has_len || j < set->len[b]) && (!set->has_mask || set->mask[b * set->n + j]);
}

static inline bool world_row_present(const struct world_of *w, int64_t b, int64_t i)
{
    return w->cross || !w->set[0].has_len || i < w->set[0].len[b];
}

static inline int64_t world_kv_heads(const struct world_of *w)
{
    return w->kv_heads ? w->kv_heads : w->heads;
}

/* The key head of a query head. */
static inline int64_t world_kv_head(const struct world_of *w, int64_t h)
{
    return h / (w->heads / world_kv_heads(w));
}

/* Element [b][h][row][0] of a dense array. */
static inline float *world_row(const heed_array *a, int64_t b, int64_t h, int64_t row)
{
    return world_f32(a) + b * a->t.stride[0] + h * a->t.stride[1] + row * a->t.stride[2];
}

static inline void world_make(struct world_of *w)
{
    w->q = world_floats(w->batch, w->heads, w->n_q, w->d);
    w->o = world_array(HEED_F32, w->batch, w->heads, w->n_q, w->d_v, -1);
    for (int64_t i = 0; i < world_count(&w->q); i++)
        world_f32(&w->q)[i] *= 0.125f;
    for (int s = 0; s < w->n_sets; s++) {
        struct key_set *set = &w->set[s];

        ck_assert_int_le(set->n, MOST_KEYS);
        set->k = world_floats(w->batch, world_kv_heads(w), set->n, w->d);
        set->v = world_floats(w->batch, world_kv_heads(w), set->n, w->d_v);
        set->len = world_new((size_t)w->batch * sizeof(int32_t));
        set->mask = world_new((size_t)(w->batch * set->n));
        for (int64_t b = 0; b < w->batch; b++)
            set->len[b] = (int32_t)(b == 0 ? set->n : world_range(set->n / 2, set->n));
        for (int64_t j = 0; j < w->batch * set->n; j++)
            set->mask[j] = world_range(0, 9) > 0;
    }
}

/* Of mechanisms whose rows see all keys. */
static inline int64_t all_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                                int64_t j)
{
    (void)w, (void)b, (void)h, (void)i, (void)set, (void)j;
    return 1;
}

/* ---- the oracle ---- */

struct seen_key {
    double y, size, weight, error;
    double shift;                       /* how far y is off by what went into it */
    const float *v;                     /* NULL: the row is in double */
    const double *wide, *slack;         /* each channel so far off at most */
};

struct seen_row {
    struct seen_key key[4 * MOST_KEYS];
    int64_t n;
    double most, sum, loss, gamma;
};

static inline void row_collect(const struct world_of *w, int64_t b, int64_t h, int64_t i,
                               struct seen_row *row)
{
    const double scale = w->scale != 0 ? w->scale : 1 / sqrt((double)w->d);
    const float *q = world_row(&w->q, b, h, i);
    const int64_t kv = world_kv_head(w, h);

    row->n = 0;
    for (int s = 0; s < w->n_sets && world_row_present(w, b, i); s++) {
        for (int64_t j = 0; j < w->set[s].n; j++) {
            const int64_t times = world_present(w, b, s, j) ? w->times(w, b, h, i, s, j) : 0;
            const float *k = world_row(&w->set[s].k, b, kv, j);
            struct seen_key key = { .v = world_row(&w->set[s].v, b, kv, j) };

            for (int64_t t = 0; t < w->d && times; t++) {
                key.y += (double)q[t] * (double)k[t] * scale;
                key.size += fabs((double)q[t] * (double)k[t] * scale);
            }
            if (times && w->bias) {
                const double bias = w->bias(w, b, h, i, s, j);

                key.y += bias;
                key.size += fabs(bias);
            }
            if (times && w->extra) {
                double size = 0;

                key.y += w->extra(w, b, h, i, s, j, &size);
                key.size += size;
            }
            for (int64_t t = 0; t < times; t++) {
                ck_assert_int_lt(row->n, 4 * MOST_KEYS);
                row->key[row->n++] = key;
            }
        }
    }
}

/* How far each weight may be off after d + 8 roundings of the score (3 d + 8 with an extra), at
 * most n / 16 + 2 changes of the maximum, and four units in the last place of an exponential: the
 * analysis of the conformance kit (tools/conform/oracle.c), without softcap and sinks. */
static inline void row_bound(const struct world_of *w, struct seen_row *row)
{
    const double u = 0x1p-24, n = (double)row->n, rescales = n / 16 + 2,
                 roundings = (double)(w->extra ? 3 * w->d : w->d);
    double reach = 0;

    row->most = -(double)INFINITY;
    row->sum = row->loss = 0;
    for (int64_t k = 0; k < row->n; k++) {
        row->most = fmax(row->most, row->key[k].y);
        reach = fmax(reach, row->key[k].size);
    }
    for (int64_t k = 0; k < row->n; k++) {
        row->key[k].weight = exp(row->key[k].y - row->most);
        row->sum += row->key[k].weight;
    }
    for (int64_t k = 0; k < row->n; k++) {
        struct seen_key *key = &row->key[k];
        const double eps = key->shift + u * ((roundings + 8) * key->size +
                                             3 * (row->most - key->y) + 2 * reach);

        key->error = key->weight * expm1(eps + ((rescales + 1) * 4 + rescales) * u);
        row->loss += key->error / row->sum;
    }
    row->gamma = (n + rescales) * u / (1 - (n + rescales) * u);
}

static inline double key_value(const struct seen_key *key, int64_t c)
{
    return key->v ? (double)key->v[c] : key->wide[c];
}

static inline double row_value(const struct seen_row *row, int64_t c, double *bound)
{
    double sum = 0, size = 0, spread = 0, all = 0;
    const double u = 0x1p-24;

    for (int64_t k = 0; k < row->n; k++) {
        const struct seen_key *key = &row->key[k];
        const double slack = key->slack ? key->slack[c] : 0,
                     most = fabs(key_value(key, c)) + slack;

        sum += key->weight * key_value(key, c);
        size += (key->weight + key->error) * most;
        spread += (key->weight + key->error) * slack;
        all += most;
    }
    sum /= row->sum;
    for (int64_t k = 0; k < row->n; k++)
        spread += row->key[k].error * fabs(key_value(&row->key[k], c) - sum);
    *bound = spread / row->sum + row->gamma * size / row->sum + (row->gamma + 4 * u) * fabs(sum) +
             (0x1p-98 * (all + (double)row->n * fabs(sum)) + 8 * (double)(row->n + 2) * 0x1p-149) /
                 row->sum;
    *bound /= 1 - row->loss - row->gamma;
    *bound += u * (fabs(sum) + *bound) + 0x1p-149;
    return sum;
}

#endif
