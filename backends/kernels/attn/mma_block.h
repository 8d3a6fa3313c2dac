/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups with matrix units: scores, softmax and values of a block (docs/numerics.md section
 * 11).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_MMA_BLOCK_H
#define HEED_BACKENDS_KERNELS_ATTN_MMA_BLOCK_H

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

/* ---- softmax: what a thread holds of its rows ---- */

HK_FN void hk_top_put(struct hk_mine *me, const float *top)
{
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < HK_MMA_HELD; r++)
        me->sent[r] = hk_word(top[r]);
}

/* Where a thread's rows do not see all keys. */
HK_PIECE void hk_scores_mask(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    const hk_i32 lane = id % HK_MMA_LANES, first = id / HK_MMA_LANES * HK_MMA_M,
                 from = hk_mma_key(0, hk_mma_column(lane, 0));
    hk_i32 r, n, i;

    HK_MARK(cold);
    HK_UNROLL
    for (r = 0; r < HK_MMA_HELD; r++) {
        HK_LOCAL const hk_u32 *mask =
            g->shared->masks + 2 * (first + hk_mma_row(lane, r * HK_MMA_OF_ROW));
        const hk_u32 seen[2] = { mask[0] >> from, mask[1] >> from };

        HK_UNROLL
        for (n = 0; n < HK_BLOCK / HK_MMA_N; n++) {
            HK_UNROLL
            for (i = r * HK_MMA_OF_ROW; i < (r + 1) * HK_MMA_OF_ROW; i++) {
                const hk_i32 key = hk_mma_key(n, hk_mma_column(0, i));

                me->s[n].x[i] = seen[key / 32] >> key % 32 & 1 ? me->s[n].x[i] : -HK_INFINITY;
            }
        }
    }
}

/* Scores become y: -Inf where the key is removed, which no other y is. The largest is sent; of a
 * row that has a NaN it does not matter. */
HK_PIECE void hk_scores_end(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    const hk_i32 lane = id % HK_MMA_LANES, first = id / HK_MMA_LANES * HK_MMA_M;
    const float c = g->call->plan->c;
    hk_u32 all = 0xffffffffu;
    float top[HK_MMA_HELD];
    hk_i32 r, n, i;

    HK_MARK(softmax);
    HK_UNROLL
    for (n = 0; n < HK_BLOCK / HK_MMA_N; n++) {
        HK_UNROLL
        for (i = 0; i < HK_MMA_ITEMS; i++)
            me->s[n].x[i] = hk_mul(me->s[n].x[i], c);
    }
    HK_UNROLL
    for (r = 0; r < HK_MMA_HELD; r++) {
        HK_LOCAL const hk_u32 *mask =
            g->shared->masks + 2 * (first + hk_mma_row(lane, r * HK_MMA_OF_ROW));

        all &= mask[0] & mask[1];
        top[r] = -HK_INFINITY;
    }
    if (~all != 0)
        hk_scores_mask(g, id, me);
    HK_UNROLL
    for (n = 0; n < HK_BLOCK / HK_MMA_N; n++) {
        HK_UNROLL
        for (i = 0; i < HK_MMA_ITEMS; i++)
            top[i / HK_MMA_OF_ROW] = hk_max_number(me->s[n].x[i], top[i / HK_MMA_OF_ROW]);
    }
    hk_top_put(me, top);
}

/* What other threads have of the rows is joined. */
HK_FN void hk_top_join(struct hk_mine *me)
{
    float top[HK_MMA_HELD];
    hk_i32 r;

    HK_MARK(softmax);
    HK_UNROLL
    for (r = 0; r < HK_MMA_HELD; r++)
        top[r] = hk_max_number(hk_float(me->got[r]), hk_float(me->sent[r]));
    hk_top_put(me, top);
}

/* All threads of a row have its largest y, and do the same. */
HK_PIECE void hk_rows_rise(struct hk_mine *me)
{
    float w[HK_MMA_HELD];
    int raised = 0;
    hk_i32 r, n, i;

    HK_MARK(softmax);
    HK_UNROLL
    for (r = 0; r < HK_MMA_HELD; r++) {
        const float e = hk_sub(hk_row_max(hk_float(me->sent[r])), HK_LIFT);

        w[r] = 1.0f;
        if (e > me->m[r]) {
            w[r] = hk_power(hk_sub(me->m[r], e));
            me->m[r] = e;
            raised = 1;
        }
    }
    if (raised) {
        HK_MARK(cold);
        HK_UNROLL
        for (r = 0; r < HK_MMA_HELD; r++) {
            me->l[r] = hk_mul(me->l[r], w[r]);
            HK_UNROLL
            for (n = 0; n < HK_WIDTH / HK_MMA_N; n++) {
                HK_UNROLL
                for (i = r * HK_MMA_OF_ROW; i < (r + 1) * HK_MMA_OF_ROW; i++)
                    me->o[n].x[i] = hk_mul(me->o[n].x[i], w[r]);
            }
        }
    }
}

/* A y's weight, as hk_weight, but made by a product, which keeps NaN: +0 where the key is removed,
 * of a row without a key too. */
HK_FN float hk_weight_of(const struct hk_mine *me, hk_i32 r, float y)
{
    const float n = hk_rint(y), g = hk_sub(n, me->m[r] == -HK_INFINITY ? 0.0f : me->m[r]);
    const hk_u32 power = hk_word(hk_add(g, 0x1.8p23f + 127.0f)) << 23;

    return hk_keep(hk_not_less(g, -100.0f),
                   hk_mul(hk_exp_poly(hk_sub(y, n)), hk_float(power)));
}

/* The 16 keys of step t: weights are summed, and become words of A. */
HK_PIECE void hk_weigh(struct hk_mine *me, hk_i32 t)
{
    struct hk_mma_c *s = me->s + t * HK_MMA_TILES;
    hk_i32 i;

    HK_MARK(softmax);
    HK_UNROLL
    for (i = 0; i < HK_MMA_TILES * HK_MMA_ITEMS; i++) {
        const hk_i32 r = i % HK_MMA_ITEMS / HK_MMA_OF_ROW;
        float *const x = &s[i / HK_MMA_ITEMS].x[i % HK_MMA_ITEMS];

        *x = hk_weight_of(me, r, *x);
        me->l[r] = hk_add(me->l[r], *x);
    }
    hk_mma_words(s, me->sent);
}

/* ---- values: of V that is not finite ---- */

/* y of all keys, for the threads of the row. */
HK_PIECE void hk_scores_put(const struct hk_group *g, hk_i32 id, const struct hk_mine *me)
{
    const hk_i32 lane = id % HK_MMA_LANES, first = id / HK_MMA_LANES * HK_MMA_M;
    hk_i32 n, i;

    HK_MARK(cold);
    HK_UNROLL
    for (n = 0; n < HK_BLOCK / HK_MMA_N; n++) {
        HK_UNROLL
        for (i = 0; i < HK_MMA_ITEMS; i++)
            g->shared->in.s[(first + hk_mma_row(lane, i)) * HK_S_LINE +
                            hk_mma_key(n, hk_mma_column(lane, i))] = me->s[n].x[i];
    }
}

/* Products of a V that is not finite, for the rows that see its key; the unit has the others. So
 * what lies under a key that a row does not see changes no bit of the row. */
HK_PIECE void hk_values_careful(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    const hk_i32 lane = id % HK_MMA_LANES, first = id / HK_MMA_LANES * HK_MMA_M;
    hk_i32 key, n, r, i;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (key = 0; key < HK_BLOCK; key++) {
        HK_UNROLL
        for (r = 0; r < HK_MMA_HELD; r++) {
            const hk_i32 row = first + hk_mma_row(lane, r * HK_MMA_OF_ROW);
            const float y = g->shared->in.s[row * HK_S_LINE + key],
                        p = hk_mma_wide(hk_mma_pair(hk_weight_of(me, r, y), 0.0f) & 0xffffu);

            HK_UNROLL
            for (n = 0; n < HK_WIDTH / HK_MMA_N; n++) {
                HK_UNROLL
                for (i = r * HK_MMA_OF_ROW; i < (r + 1) * HK_MMA_OF_ROW; i++) {
                    const hk_i32 t = n * HK_MMA_N + hk_mma_column(lane, i);
                    const hk_u32 v = hk_mma_half(g->shared->mma.v + t * HK_V_LINE, key);
                    const float o = hk_fma(p, hk_mma_wide(v), me->o[n].x[i]);

                    me->o[n].x[i] = !(y == -HK_INFINITY) && hk_half_bad(v) ? o : me->o[n].x[i];
                }
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
        const hk_u32 word = g->shared->mma.v[i];

        if (i % HK_V_LINE < HK_BLOCK / 2)
            g->shared->mma.v[i] = (hk_half_bad(word) ? 0 : word & 0xffffu) |
                                 (hk_half_bad(word >> 16) ? 0 : word & 0xffff0000u);
    }
}

#endif
