/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for few rows: products of queries and keys, by a thread for each key, and of weights
 * and values, by a thread for each channel (docs/numerics.md steps 3 and 7).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_FEW_PRODUCTS_H
#define HEED_BACKENDS_KERNELS_ATTN_FEW_PRODUCTS_H

#include "group_softmax.h"

#if HK_SCALES

enum {
    HK_SLAB = HK_KEPT,          /* channels of K that are multiplied at a time */
    HK_SLAB_KEYS = HK_BLOCK     /* keys of V */
};

/* Rows with scales are read where they lie. */
HK_FN void hk_fetch_k(const struct hk_group *g, hk_i32 id, hk_i64 t0, struct hk_mine *me)
{
    (void)g, (void)id, (void)t0, (void)me;
}

HK_FN void hk_put_k(const struct hk_group *g, hk_i32 id, hk_i64 t0, const struct hk_mine *me)
{
    (void)g, (void)id, (void)t0, (void)me;
}

HK_FN void hk_fetch_v(const struct hk_group *g, hk_i32 id, hk_i32 k0, struct hk_mine *me)
{
    (void)g, (void)id, (void)k0, (void)me;
}

HK_FN void hk_put_v(const struct hk_group *g, hk_i32 id, hk_i32 k0, const struct hk_mine *me)
{
    (void)g, (void)id, (void)k0, (void)me;
}

/* Step 3: channels t0 to `end` of the key at a place, n rows from `row` on. */
HK_FN void hk_few_scores(const struct hk_group *g, hk_i32 place, hk_i32 row, const hk_i32 n,
                         hk_i64 t0, hk_i64 end, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_matrix *m = &shared->k_rows;
    const hk_i64 d = g->call->plan->d, group = hk_key_group(shared, d);
    const hk_i64 at = shared->k_at[place], scales = shared->scales.k_at[place];
    const int minima = (int)m->minima;
    HK_LOCAL const float *q = shared->q + row;
    hk_i64 left = group - (hk_u32)t0 % (hk_u32)group, t;
    hk_i32 r;

    HK_MARK(qk);
    if (at == HK_NO_ROW)
        return;
    HK_NO_UNROLL
    for (t = t0; t < end; t++, q += HK_Q_LINE) {
        const float k = hk_row_element(m, at, t);
        float scale, low;

        HK_UNROLL
        for (r = 0; r < n; r++) {
            me->part[r] = hk_fma(q[r], k, me->part[r]);
            me->sum[r] = hk_add(me->sum[r], q[r]);
        }
        if (--left > 0)
            continue;
        left = group;
        scale = hk_scale_of(m, at, scales, t, 0);
        low = hk_scale_of(m, at, scales, t, 1);
        HK_UNROLL
        for (r = 0; r < n; r++) {
            me->k[r] = hk_fma(me->part[r], scale, me->k[r]);
            me->k[r] = minima ? hk_fma(me->sum[r], low, me->k[r]) : me->k[r];
            me->part[r] = me->sum[r] = 0.0f;
        }
    }
}

/* Step 7 of the thread's channel and n rows, all keys; careful: removed ones are left out. Else
 * each is there for no row, and stands for 0. */
HK_FN void hk_few_values(const struct hk_group *g, hk_i32 id, hk_i32 k0, const hk_i32 n,
                         const int careful, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_matrix *m = &shared->v_rows;
    const hk_i64 t = g->pass + id;
    hk_i32 k, r;

    (void)k0;
    HK_MARK(pv);
    HK_NO_UNROLL
    for (k = 0; k < HK_BLOCK; k++) {
        HK_LOCAL const float *p = shared->out.p + k * HK_ROWS;
        const hk_i64 at = shared->v_at[k];
        float v = 0.0f, scale = 0.0f, low = 0.0f;

        if (at != HK_NO_ROW) {
            v = hk_row_element(m, at, t);
            scale = hk_scale_of(m, at, shared->scales.v_at[k], t, 0);
            low = hk_scale_of(m, at, shared->scales.v_at[k], t, 1);
        }
        HK_UNROLL
        for (r = 0; r < n; r++) {
            const float sum = hk_fma(hk_mul(p[r], scale), v, me->o[r]);
            const float lows = hk_fma(p[r], low, me->low[r]);
            const int seen = !careful || hk_word(p[r]) != HK_REMOVED;

            me->o[r] = seen ? sum : me->o[r];
            me->low[r] = seen && m->minima ? lows : me->low[r];
        }
    }
}

#else

enum {
    HK_SLAB = HK_HALVES ? 128 : 64,             /* channels of K in local memory at a time */
    HK_SLAB_KEYS = HK_HALVES ? 64 : 32,         /* keys of V */
    HK_K_UNITS = HK_SLAB / HK_UNIT,             /* of a key's channels */
    HK_V_UNITS = HK_WIDTH / HK_UNIT
};

/* ---- a slab of K or V: a thread loads units of 16 bytes, all of them before it wants the first;
 * its neighbours have theirs beside it ---- */

/* Channels of rows that do not lie in units: one word of local memory; from `end` on they are 0. */
HK_FN hk_u32 hk_word_slowly(HK_LOCAL const struct hk_matrix *m, hk_i64 at, hk_i64 t, hk_i64 end)
{
    if (at == HK_NO_ROW || t >= end)
        return 0;
#if HK_HALVES
    {
        HK_GLOBAL const hk_u16 *from = (HK_GLOBAL const hk_u16 *)m->base + at;

        return from[t * m->channel] |
               (t + 1 < end ? (hk_u32)from[(t + 1) * m->channel] << 16 : 0);
    }
#else
    return hk_word(hk_row_element(m, at, t));
#endif
}

HK_FN void hk_unit_put(HK_LOCAL float *to, const hk_u32 *word)
{
    float x[4];
    hk_i32 j;

    HK_UNROLL
    for (j = 0; j < 4; j++)
        x[j] = hk_float(word[j]);
    hk_local_put4(to, x);
}

/* Channels t0 on of the block's keys; where there is none anything will do. */
HK_FN void hk_fetch_k(const struct hk_group *g, hk_i32 id, hk_i64 t0, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_matrix *m = &shared->k_rows;
    HK_GLOBAL const char *base = m->base;
    const hk_i64 d = g->call->plan->d, size = hk_element_bytes(m);
    hk_i32 i;

    HK_MARK(stage_k);
    if (!shared->k_wide)
        return;
    HK_UNROLL
    for (i = 0; i < HK_FETCHED; i++) {
        const hk_i32 u = id + i * HK_THREADS;
        const hk_i64 at = shared->k_at[u / HK_K_UNITS], t = t0 + u % HK_K_UNITS * HK_UNIT;

        if (at != HK_NO_ROW && t < d)
            hk_unit_load(m, hk_byte(base, (at + t) * size), me->next + i * HK_UNIT_WORDS);
    }
}

HK_FN void hk_put_k(const struct hk_group *g, hk_i32 id, hk_i64 t0, const struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 word = HK_SLAB / 64;   /* channels of one */
    hk_i32 i;

    HK_MARK(stage_k);
    if (!shared->k_wide) {
        HK_MARK(cold);
        HK_NO_UNROLL
        for (i = id; i < HK_BLOCK * 64; i += HK_THREADS)
            shared->slab[i / 64 * HK_SLAB_LINE + i % 64] =
                hk_float(hk_word_slowly(&shared->k_rows, shared->k_at[i / 64],
                                        t0 + i % 64 * word, g->call->plan->d));
        return;
    }
    HK_UNROLL
    for (i = 0; i < HK_FETCHED; i++) {
        const hk_i32 u = id + i * HK_THREADS;

        hk_unit_put(shared->slab + u / HK_K_UNITS * HK_SLAB_LINE + u % HK_K_UNITS * 4,
                    me->next + i * HK_UNIT_WORDS);
    }
}

/* Keys k0 on; where there is none 0. */
HK_FN void hk_fetch_v(const struct hk_group *g, hk_i32 id, hk_i32 k0, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_matrix *m = &shared->v_rows;
    HK_GLOBAL const char *base = m->base;
    const hk_i64 d_v = g->call->plan->d_v, size = hk_element_bytes(m);
    hk_i32 i, j;

    HK_MARK(stage_v);
    if (!shared->v_wide)
        return;
    HK_UNROLL
    for (i = 0; i < HK_FETCHED; i++) {
        const hk_i32 u = id + i * HK_THREADS;
        const hk_i64 at = shared->v_at[k0 + u / HK_V_UNITS],
                     t = g->pass + u % HK_V_UNITS * HK_UNIT;

        HK_UNROLL
        for (j = 0; j < HK_UNIT_WORDS; j++)
            me->next[i * HK_UNIT_WORDS + j] = 0;
        if (at != HK_NO_ROW && t < d_v)
            hk_unit_load(m, hk_byte(base, (at + t) * size), me->next + i * HK_UNIT_WORDS);
    }
}

HK_FN void hk_put_v(const struct hk_group *g, hk_i32 id, hk_i32 k0, const struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 line = HK_V_UNITS * 4, word = HK_SLAB / 64;
    hk_i32 i;

    HK_MARK(stage_v);
    if (!shared->v_wide) {
        HK_MARK(cold);
        HK_NO_UNROLL
        for (i = id; i < HK_SLAB_KEYS * line; i += HK_THREADS)
            shared->slab[i] =
                hk_float(hk_word_slowly(&shared->v_rows, shared->v_at[k0 + i / line],
                                        g->pass + i % line * word, g->call->plan->d_v));
        return;
    }
    HK_UNROLL
    for (i = 0; i < HK_FETCHED; i++) {
        const hk_i32 u = id + i * HK_THREADS;

        hk_unit_put(shared->slab + u / HK_V_UNITS * line + u % HK_V_UNITS * 4,
                    me->next + i * HK_UNIT_WORDS);
    }
}

/* ---- products ---- */

/* Step 3: channels t0 to `end` of the key at a place, n rows from `row` on. */
HK_FN void hk_few_scores(const struct hk_group *g, hk_i32 place, hk_i32 row, const hk_i32 n,
                         hk_i64 t0, hk_i64 end, struct hk_mine *me)
{
    HK_LOCAL const float *q = g->shared->q + t0 % HK_KEPT * HK_Q_LINE + row;
    HK_LOCAL const float *from = g->shared->slab + place * HK_SLAB_LINE;
    hk_i32 left, i, j, r;

    HK_MARK(qk);
    HK_NO_UNROLL
    for (left = (hk_i32)(end - t0); left > 0; left -= HK_UNIT) {
        hk_u32 word[4];
        float x[4];

        hk_local_get4(from, x);
        HK_UNROLL
        for (i = 0; i < 4; i++)
            word[i] = hk_word(x[i]);
        HK_UNROLL
        for (j = 0; j < HK_UNIT; j++) {
            const float k = hk_unit_get(word, j);

            HK_UNROLL
            for (r = 0; r < n; r++)
                me->k[r] = hk_fma(q[j * HK_Q_LINE + r], k, me->k[r]);
        }
        q += HK_UNIT * HK_Q_LINE;
        from += 4;
    }
}

/* Step 7 of the thread's channel and n rows, keys k0 on; careful: removed ones are left out. Else
 * each is there for no row, and stands for 0. */
HK_FN void hk_few_values(const struct hk_group *g, hk_i32 id, hk_i32 k0, const hk_i32 n,
                         const int careful, struct hk_mine *me)
{
    HK_LOCAL const float *p = g->shared->out.p + k0 * HK_ROWS;
    HK_LOCAL const float *v = g->shared->slab + id / (HK_SLAB / 64);
    hk_i32 k, u, r;

    HK_MARK(pv);
    HK_NO_UNROLL
    for (k = 0; k < HK_SLAB_KEYS; k += 8, p += 8 * HK_ROWS, v += 8 * HK_V_UNITS * 4) {
        HK_UNROLL
        for (u = 0; u < 8; u++) {
            const hk_u32 word = hk_word(v[u * HK_V_UNITS * 4]) >> (HK_HALVES && id % 2 ? 16 : 0);
            const float value = hk_unit_get(&word, 0);

            HK_UNROLL
            for (r = 0; r < n; r++) {
                const float weight = p[u * HK_ROWS + r];
                const float sum = hk_fma(weight, value, me->o[r]);

                me->o[r] = careful && hk_word(weight) == HK_REMOVED ? me->o[r] : sum;
            }
        }
    }
}

#endif

#endif
