/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: from sums over all chunks to outputs (docs/numerics.md steps 10 and 11).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_OUT_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_OUT_H

#include "group_end.h"

/* Rows first to first + HK_OUT_ROWS of the strip leave through local memory, where Q was. */
#define HK_OUT_ROWS (HK_KEPT < HK_WIDTH ? HK_ROWS * HK_KEPT / HK_WIDTH : HK_ROWS)

/* Step 10 of a thread's rows and channels. */
HK_PIECE void hk_out_put(const struct hk_group *g, hk_i32 id, hk_i32 first,
                         const struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 row = id / 16 * HK_TR;
    hk_i32 r, c, j;

    if (row < first || row >= first + HK_OUT_ROWS)
        return;
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const float sink = shared->w[2 * (row + r)], factor = shared->w[2 * (row + r) + 1];
        HK_LOCAL float *to = shared->q + (row + r - first) * HK_WIDTH;

        HK_UNROLL
        for (c = 0; c < HK_TC; c += 4) {
            float x[4];

            HK_UNROLL
            for (j = 0; j < 4; j++)
                x[j] = hk_mul(hk_mul(me->acc_o[r][c + j], sink), factor);
            hk_local_put4(to + hk_channel(id % 16, c), x);
        }
    }
}

/* Step 11. Sums that go on have their places behind those of a state's others. */
HK_PIECE void hk_out_store(const struct hk_group *g, hk_i32 id, hk_i32 first)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i64 from = hk_batch_offset(g->call, plan->o.stride, g->task->b);
    hk_i32 i;

    HK_NO_UNROLL
    for (i = id; i < HK_OUT_ROWS * HK_WIDTH; i += HK_THREADS) {
        const hk_i32 row = first + i / HK_WIDTH;
        const hk_i64 t = g->pass + i % HK_WIDTH;
#if HK_PLAIN
        const hk_i64 at = t;
#else
        const hk_i64 at = plan->flags & HK_PLAN_STOPS ? t + HK_STATE_AT_O : t;
#endif

        if (shared->active[row] && t < plan->d_v)
            hk_put(plan->o.dtype, hk_o(g->call),
                   from + shared->head[row] * plan->o.stride[3] +
                       (g->task->o_begin + shared->index[row]) * plan->o.stride[4] +
                       at * plan->o.stride[5], shared->q[i]);
    }
}

#endif
