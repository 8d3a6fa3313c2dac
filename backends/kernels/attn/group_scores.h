/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: the scores of a block, and what they do to its rows' sums (docs/numerics.md
 * steps 3 to 7).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_SCORES_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_SCORES_H

#include "group_softmax.h"

/* ---- scores ---- */

HK_FN void hk_scores_clear(struct hk_mine *me)
{
    hk_i32 r, c;

    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        HK_UNROLL
        for (c = 0; c < 4; c++)
            me->s[r][c] = 0.0f;
    }
}

/* Step 3: one fma chain over d per score; HK_SLICE channels, those of the rows from q on. */
HK_PIECE void hk_score_slice(const struct hk_group *g, hk_i32 id, HK_LOCAL const float *q,
                             struct hk_mine *me)
{
    HK_LOCAL const float *k = g->shared->in.k + id % 16 * 4;
    hk_i32 t, u, r, c;

    HK_MARK(qk);
    q += id / 16 * HK_TR;
    HK_NO_UNROLL
    for (t = 0; t < HK_SLICE; t += HK_STEPS, q += HK_STEPS * HK_Q_LINE, k += HK_STEPS * HK_K_LINE) {
        HK_UNROLL
        for (u = 0; u < HK_STEPS; u++) {
            float a[HK_TR], b[4];

            hk_local_get4(k + u * HK_K_LINE, b);
            HK_UNROLL
            for (r = 0; r < HK_TR; r += 4)
                hk_local_get4(q + u * HK_Q_LINE + r, a + r);
            HK_UNROLL
            for (r = 0; r < HK_TR; r++) {
                HK_UNROLL
                for (c = 0; c < 4; c++)
                    me->s[r][c] = hk_fma(a[r], b[c], me->s[r][c]);
            }
        }
    }
}

/* ---- softmax ---- */

/* Step 5: sums follow their rows' references. */
HK_PIECE void hk_sums_follow(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i32 row = id / 16 * HK_TR;
    hk_i32 r, c;

    HK_MARK(softmax);
    if (!shared->raised)
        return;
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const float w = shared->w[row + r];

        me->l[r] = hk_mul(me->l[r], w);
#if HK_SCALES
        hk_lows_follow(r, w, me);
#endif
        HK_UNROLL
        for (c = 0; c < HK_TC; c++)
            me->o[r][c] = hk_mul(me->o[r][c], w);
    }
}

/* Steps 6 and 7 for the next HK_GROUP_KEYS keys, one of each row for a thread: y become weights,
 * which go to p, transposed; of a removed key -0, which changes no sum. */
HK_PIECE void hk_weigh(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL const float *m = g->shared->m + id / 16 * HK_TR;
    HK_LOCAL float *to = g->shared->out.p + id % 16 * HK_P_LINE + id / 16 * HK_TR;
    hk_i32 r, j;

    HK_MARK(softmax);
    HK_UNROLL
    for (r = 0; r < HK_TR; r += 4) {
        float p[4], of[4];

        hk_local_get4(m + r, of);
        HK_UNROLL
        for (j = 0; j < 4; j++) {
            const float y = me->s[r + j][0];

            p[j] = hk_select(y == -HK_INFINITY, hk_float(HK_REMOVED), hk_weight(y, of[j]));
            me->l[r + j] = hk_add(me->l[r + j], p[j]);
            me->s[r + j][0] = me->s[r + j][1];      /* no index of a register is computed */
            me->s[r + j][1] = me->s[r + j][2];
            me->s[r + j][2] = me->s[r + j][3];
        }
        hk_local_put4(to + r, p);
        HK_ORDER();
    }
}

#endif
