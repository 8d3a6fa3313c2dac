/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: from sums over all chunks to outputs (docs/numerics.md steps 9 to 12).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_OUT_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_OUT_H

#include "group.h"
#include "state.h"

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

#if !HK_PLAIN
/* Row i, by thread i, as a state: what comes before the sums of o. red: its partial sums. */
HK_PIECE void hk_row_stop(const struct hk_group *g, hk_i32 i, const struct hk_mine *me,
                          HK_LOCAL const float *red)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i64 channel = plan->o.stride[5];
    HK_GLOBAL float *out = (HK_GLOBAL float *)hk_o(g->call) +
                           hk_batch_offset(g->call, plan->o.stride, g->task->b) +
                           shared->head[i] * plan->o.stride[3] +
                           (g->task->o_begin + shared->index[i]) * plan->o.stride[4];
    hk_i32 x;

    HK_MARK(cold);
    shared->w[2 * i] = shared->w[2 * i + 1] = 1.0f;
    if (!shared->active[i] || g->pass > 0)
        return;
    out[0] = hk_canonical(me->acc_m);
    HK_NO_UNROLL
    for (x = 0; x < HK_PARTIALS; x++)
        out[(HK_STATE_AT_L + x) * channel] = hk_canonical(red[x]);
    out[HK_STATE_AT_JOINED * channel] = me->has_partial ? 1.0f : 0.0f;
}
#endif

/* Row i, by thread i: its factors to w, its LSE to memory. red: its partial sums. */
HK_PIECE void hk_row_finish(const struct hk_group *g, hk_i32 i, const struct hk_mine *me)
{
    const struct hk_call *call = g->call;
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_LOCAL float *red = shared->out.red + i * HK_RED_LINE;
    const hk_i64 head = shared->head[i], at = g->task->o_begin + shared->index[i];
    float sink, lse;
    hk_i32 reach, x;

#if !HK_PLAIN
    if (plan->flags & HK_PLAN_STOPS) {
        hk_row_stop(g, i, me, red);
        return;
    }
#endif
    HK_NO_UNROLL
    for (reach = 8; reach > 0; reach /= 2) {
        HK_NO_UNROLL
        for (x = 0; x < reach; x++)
            red[x] = hk_add(red[x], red[x + reach]);
    }
    shared->w[2 * i + 1] = hk_row_end(call, head, me->has_partial != 0, me->acc_m, red[0], &sink,
                                      &lse);
    shared->w[2 * i] = sink;
    if (plan->lse.dtype && shared->active[i] && g->pass == 0)
        hk_lse_out(call)[hk_batch_offset(call, plan->lse.stride, g->task->b) +
                         head * plan->lse.stride[3] + at * plan->lse.stride[4]] = lse;
}

#endif
