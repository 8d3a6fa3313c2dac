/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for few rows: products of queries and keys, by a thread for each key, and of weights
 * and values, by a thread for each channel (docs/numerics.md steps 3 and 7).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_FEW_PRODUCTS_H
#define HEED_BACKENDS_KERNELS_ATTN_FEW_PRODUCTS_H

#include "group_softmax.h"

#define HK_AHEAD_UNITS 4          /* of K in flight */
#define HK_AHEAD_KEYS 16          /* of V in flight */

#if HK_SCALES
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

/* Step 7 of channel t of V, n rows; careful: removed keys are left out. Else each is there for no
 * row, and stands for 0. */
HK_FN void hk_few_values(const struct hk_group *g, hk_i64 t, const hk_i32 n, const int careful,
                         struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_matrix *m = &shared->v_rows;
    hk_i32 k, r;

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

/* One unit of K times n rows. */
HK_FN void hk_few_unit(const hk_u32 *word, HK_LOCAL const float *q, const hk_i32 n, float *s)
{
    hk_i32 j, r;

    HK_UNROLL
    for (j = 0; j < HK_UNIT; j++) {
        const float k = hk_unit_get(word, j);

        HK_UNROLL
        for (r = 0; r < n; r++)
            s[r] = hk_fma(q[j * HK_Q_LINE + r], k, s[r]);
    }
}

/* Step 3: channels t0 to `end` of the key at a place, n rows from `row` on. */
HK_FN void hk_few_scores(const struct hk_group *g, hk_i32 place, hk_i32 row, const hk_i32 n,
                         hk_i64 t0, hk_i64 end, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_matrix *m = &shared->k_rows;
    const hk_i64 at = shared->k_at[place];
    HK_LOCAL const float *q = shared->q + row;
    HK_GLOBAL const char *from;
    hk_i32 t, u, r;

    HK_MARK(qk);
    if (at == HK_NO_ROW)
        return;
    if (!shared->k_wide) {
        HK_MARK(cold);
        HK_NO_UNROLL
        for (t = 0; t < end - t0; t++) {
            const float k = hk_row_element(m, at, t0 + t);

            HK_UNROLL
            for (r = 0; r < n; r++)
                me->k[r] = hk_fma(q[t * HK_Q_LINE + r], k, me->k[r]);
        }
        return;
    }
    from = hk_byte(m->base, (at + t0) * hk_element_bytes(m));
    HK_NO_UNROLL
    for (t = 0; t < end - t0; t += HK_AHEAD_UNITS * HK_UNIT) {
        hk_u32 word[HK_AHEAD_UNITS][HK_UNIT_WORDS];

        HK_UNROLL
        for (u = 0; u < HK_AHEAD_UNITS; u++) {
            if (t0 + t + u * HK_UNIT < end)
                hk_unit_load(m, hk_byte(from, (t + u * HK_UNIT) * hk_element_bytes(m)), word[u]);
        }
        HK_UNROLL
        for (u = 0; u < HK_AHEAD_UNITS; u++) {
            if (t0 + t + u * HK_UNIT < end)
                hk_few_unit(word[u], q + (t + u * HK_UNIT) * HK_Q_LINE, n, me->k);
        }
    }
}

/* Step 7 of channel t of V, n rows; careful: removed keys are left out. Else each is there for no
 * row, and stands for 0. */
HK_FN void hk_few_values(const struct hk_group *g, hk_i64 t, const hk_i32 n, const int careful,
                         struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    hk_i32 k0, k, r;

    HK_MARK(pv);
    HK_NO_UNROLL
    for (k0 = 0; k0 < HK_BLOCK; k0 += HK_AHEAD_KEYS) {
        float v[HK_AHEAD_KEYS];

        HK_UNROLL
        for (k = 0; k < HK_AHEAD_KEYS; k++) {
            const hk_i64 at = shared->v_at[k0 + k];

            v[k] = 0.0f;
            if (at != HK_NO_ROW)
                v[k] = hk_row_element(&shared->v_rows, at, t);
        }
        HK_UNROLL
        for (k = 0; k < HK_AHEAD_KEYS; k++) {
            HK_LOCAL const float *p = shared->out.p + (k0 + k) * HK_ROWS;

            HK_UNROLL
            for (r = 0; r < n; r++) {
                const float sum = hk_fma(p[r], v[k], me->o[r]);

                me->o[r] = careful && hk_word(p[r]) == HK_REMOVED ? me->o[r] : sum;
            }
        }
    }
}

#endif

#endif
