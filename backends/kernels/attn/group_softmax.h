/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: from scores to logits, and the largest of them (docs/numerics.md steps 3 to
 * 5).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_SOFTMAX_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_SOFTMAX_H

#include "group_bias.h"
#include "group_scales.h"

/* Of four keys none has a y above -Inf: NaN if all are removed, else -Inf. */
HK_FN float hk_none_remains(const float *y)
{
    const int some = !hk_ordered(y[0]) || !hk_ordered(y[1]) || !hk_ordered(y[2]) ||
                     !hk_ordered(y[3]);

    return some ? -HK_INFINITY : hk_float(HK_NAN_WORD);
}

/* Steps 3 and 4: scores to y, -Inf where the key is removed, which no other y is; the largest of
 * each row goes to red, NaN where the thread has no remaining key. */
HK_PIECE void hk_score_end(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_i32 r, c;

    HK_MARK(softmax);
#if !HK_PLAIN && !HK_BIASES
    hk_logits(g, id, me);
#endif
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const hk_i32 row = hk_line(g, id / 16 * HK_TR + r), x = id % 16;
        const hk_u32 low = shared->masks[2 * row] >> x, high = shared->masks[2 * row + 1] >> x;
        float max = -HK_INFINITY;

        HK_UNROLL
        for (c = 0; c < 4; c++) {
            const int visible = (int)((c < 2 ? low : high) >> c % 2 * 16 & 1);
            float y = me->s[r][c];

#if HK_PLAIN
            y = hk_mul(y, g->call->plan->c);
#endif
            y = visible ? y : -HK_INFINITY;
            max = hk_max_number(y, max);
            me->s[r][c] = y;
        }
        shared->out.red[row * HK_RED_LINE + x] = max;
        if (max == -HK_INFINITY) {      /* no key, or but keys whose scores are NaN */
            HK_MARK(cold);
            shared->out.red[row * HK_RED_LINE + x] = hk_none_remains(me->s[r]);
        }
        HK_ORDER();
    }
}

#if !HK_FEW
/* Step 5, by thread i for row i: its reference rises, w is what its sums are multiplied by. */
HK_PIECE void hk_row_rise(const struct hk_group *g, hk_i32 i, struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    float max = -HK_INFINITY, e, w = 1.0f;
    int some = 0;
    hk_i32 x, j;

    HK_MARK(softmax);
    HK_NO_UNROLL
    for (x = 0; x < 16; x += 4) {
        float y[4];

        hk_local_get4(shared->out.red + i * HK_RED_LINE + x, y);
        HK_UNROLL
        for (j = 0; j < 4; j++) {
            some |= y[j] == y[j];
            max = hk_max_number(y[j], max);
        }
    }
    e = hk_row_max(max);
    if (some)
        me->empty = 0;
    if (some && e > me->m) {
        w = hk_power(hk_sub(me->m, e));
        me->m = e;
        shared->raised = 1;
    }
    shared->m[i] = me->m;
    shared->w[i] = w;
}
#endif

#endif
