/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups with matrix units: scores, softmax and values of a block (docs/numerics.md section
 * 11).
 */
#ifndef HEED_BACKENDS_KERNELS_MMA_BLOCK_H
#define HEED_BACKENDS_KERNELS_MMA_BLOCK_H

#include "mma_stage.h"

/* ---- scores ---- */

HK_PIECE void hk_scores_clear(struct hk_mine *me)
{
    hk_i32 n, i;

    HK_UNROLL
    for (n = 0; n < HK_BLOCK / HK_MMA_N; n++) {
        HK_UNROLL
        for (i = 0; i < HK_MMA_ITEMS; i++)
            me->s[n].x[i] = 0.0f;
    }
}

HK_PIECE void hk_scores_put(const struct hk_group *g, hk_i32 id, const struct hk_mine *me)
{
    const hk_i32 lane = id % HK_MMA_LANES, first = id / HK_MMA_LANES * HK_MMA_M;
    hk_i32 n, i;

    HK_MARK(softmax);
    HK_UNROLL
    for (n = 0; n < HK_BLOCK / HK_MMA_N; n++) {
        HK_UNROLL
        for (i = 0; i < HK_MMA_ITEMS; i++)
            g->shared->in.s[(first + hk_mma_row(lane, i)) * HK_S_LINE + n * HK_MMA_N +
                            hk_mma_column(lane, i)] = me->s[n].x[i];
    }
}

/* ---- softmax: a row's threads take its keys four at a time, by turns ---- */

/* Four scores of place `at` as y: -Inf where the key is removed, which no other y is. */
HK_FN void hk_scores_get(const struct hk_group *g, hk_i32 row, hk_i32 at, float *y)
{
    const hk_u32 mask = g->shared->masks[2 * row + at / 32] >> at % 32;
    const float c = g->call->plan->c;
    hk_i32 j;

    hk_local_get4(g->shared->in.s + row * HK_S_LINE + at, y);
    HK_UNROLL
    for (j = 0; j < 4; j++)
        y[j] = mask >> j & 1 ? hk_mul(y[j], c) : -HK_INFINITY;
}

/* The largest y of a thread's keys goes to red: NaN where none remains. */
HK_PIECE void hk_scores_max(const struct hk_group *g, hk_i32 id)
{
    const hk_i32 row = id / HK_SHARE;
    float max = -HK_INFINITY;
    int some = 0;
    hk_i32 at, j;

    HK_MARK(softmax);
    HK_UNROLL
    for (at = id % HK_SHARE * 4; at < HK_BLOCK; at += HK_SHARE * 4) {
        float y[4];

        hk_scores_get(g, row, at, y);
        HK_UNROLL
        for (j = 0; j < 4; j++) {
            some |= !(y[j] == -HK_INFINITY);
            max = hk_max_f(y[j], max);
        }
        HK_ORDER();
    }
    g->shared->mma.red[id] = some ? max : hk_float(HK_NAN_WORD);
}

/* Every thread of a row does the same; the first says by what the row's sums are multiplied. */
HK_PIECE void hk_row_rise(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 row = id / HK_SHARE;
    float max = -HK_INFINITY, e, w = 1.0f;
    int some = 0;
    hk_i32 i;

    HK_MARK(softmax);
    HK_UNROLL
    for (i = 0; i < HK_SHARE; i++) {
        const float y = shared->mma.red[row * HK_SHARE + i];

        some |= y == y;
        max = hk_max_f(y, max);
    }
    e = hk_sub(hk_row_max(max), HK_LIFT);
    if (some)
        me->has_key = 1;
    if (some && e > me->m) {
        w = hk_power(hk_sub(me->m, e));
        me->m = e;
        me->l = hk_mul(me->l, w);
        shared->raised = 1;
    }
    if (id % HK_SHARE == 0)
        shared->w[row] = w;
}

HK_FN hk_u32 hk_half_of(float x)
{
#if HK_KV == 2
    return hk_to_f16(x);
#else
    return hk_to_bf16(x);
#endif
}

/* Weights go to local memory as halves, their sum is that of the weights before. */
HK_PIECE void hk_weigh(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    const hk_i32 row = id / HK_SHARE;
    hk_i32 at, j;

    HK_MARK(softmax);
    HK_UNROLL
    for (at = id % HK_SHARE * 4; at < HK_BLOCK; at += HK_SHARE * 4) {
        HK_LOCAL hk_u32 *to = g->shared->mma.p + row * HK_P_LINE + at / 2;
        hk_u32 bits[4];
        float y[4];

        hk_scores_get(g, row, at, y);
        HK_UNROLL
        for (j = 0; j < 4; j++) {
            const float p = hk_weight(y[j], me->m);
            const int removed = y[j] == -HK_INFINITY;

            me->l = hk_add(me->l, removed ? 0.0f : p);
            bits[j] = removed ? HK_REMOVED_HALF : hk_half_of(p);
        }
        to[0] = bits[0] | bits[1] << 16;
        to[1] = bits[2] | bits[3] << 16;
        HK_ORDER();
    }
}

/* ---- values ---- */

HK_PIECE void hk_values_rescale(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    const hk_i32 lane = id % HK_MMA_LANES, first = id / HK_MMA_LANES * HK_MMA_M;
    hk_i32 n, i;

    HK_MARK(cold);
    HK_UNROLL
    for (i = 0; i < HK_MMA_ITEMS; i++) {
        const float w = g->shared->w[first + hk_mma_row(lane, i)];

        HK_UNROLL
        for (n = 0; n < HK_WIDTH / HK_MMA_N; n++)
            me->o[n].x[i] = hk_mul(me->o[n].x[i], w);
    }
}

/* Products of a V that is not finite, for the rows that see its key; the unit has the others. So
 * what lies under a key that a row does not see changes no bit of the row. */
HK_PIECE void hk_values_careful(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i32 lane = id % HK_MMA_LANES, first = id / HK_MMA_LANES * HK_MMA_M;
    hk_i32 key, n, i;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (key = 0; key < HK_BLOCK; key++) {
        HK_UNROLL
        for (i = 0; i < HK_MMA_ITEMS; i++) {
            const hk_u32 p =
                hk_mma_half(shared->mma.p + (first + hk_mma_row(lane, i)) * HK_P_LINE, key);

            HK_UNROLL
            for (n = 0; n < HK_WIDTH / HK_MMA_N; n++) {
                const hk_u32 v = hk_mma_half(
                    shared->in.v + (n * HK_MMA_N + hk_mma_column(lane, i)) * HK_V_LINE, key);
                const float o = hk_fma(hk_mma_wide(p), hk_mma_wide(v), me->o[n].x[i]);

                me->o[n].x[i] = p != HK_REMOVED_HALF && hk_half_bad(v) ? o : me->o[n].x[i];
            }
        }
    }
}

/* Then they are no longer needed. */
HK_PIECE void hk_values_clean(const struct hk_group *g, hk_i32 id)
{
    hk_i32 i;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (i = id; i < HK_WIDTH * HK_V_LINE; i += HK_THREADS) {
        const hk_u32 word = g->shared->in.v[i];

        if (i % HK_V_LINE < HK_BLOCK / 2)
            g->shared->in.v[i] = (hk_half_bad(word) ? 0 : word & 0xffffu) |
                                 (hk_half_bad(word >> 16) ? 0 : word & 0xffff0000u);
    }
}

#endif
