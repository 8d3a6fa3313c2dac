/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups with matrix units: from sums to outputs (docs/numerics.md steps 9 to 12).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_MMA_OUT_H
#define HEED_BACKENDS_KERNELS_ATTN_MMA_OUT_H

#include "group.h"

/* The sums of a row's weights, thread by thread, are sent, */
HK_FN void hk_sums_send(struct hk_mine *me)
{
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < HK_MMA_HELD; r++)
        me->sent[r] = hk_word(me->l[r]);
}

/* and joined. */
HK_FN void hk_sums_join(struct hk_mine *me)
{
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < HK_MMA_HELD; r++)
        me->l[r] = hk_add(me->l[r], hk_float(me->got[r]));
}

/* All threads of a row say the same of it; its sum lies where masks were. */
HK_FN void hk_sums_put(const struct hk_group *g, hk_i32 id, const struct hk_mine *me)
{
    const hk_i32 lane = id % HK_MMA_LANES, first = id / HK_MMA_LANES * HK_MMA_M;
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < HK_MMA_HELD; r++) {
        const hk_i32 row = first + hk_mma_row(lane, r * HK_MMA_OF_ROW);

        if (hk_mma_column(lane, 0) == 0) {
            g->shared->m[row] = me->m[r];
            g->shared->masks[row] = hk_word(me->l[r]);
        }
    }
}

/* Row i, by thread i: its factors to w, its LSE to memory. The largest weight of a row that has a
 * key is no less than 2^-1.5, so its sum is not 0. */
HK_PIECE void hk_row_finish(const struct hk_group *g, hk_i32 i)
{
    const struct hk_call *call = g->call;
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i64 head = shared->head[i], at = g->task->o_begin + shared->index[i];
    const float l = hk_float(shared->masks[i]);
    float sink, lse;

    shared->w[2 * i + 1] = hk_row_end(call, head, !(l == 0.0f), shared->m[i], l, &sink, &lse);
    shared->w[2 * i] = sink;
    if (plan->lse.dtype && shared->active[i] && g->pass == 0)
        hk_lse_out(call)[hk_batch_offset(call, plan->lse.stride, g->task->b) +
                         head * plan->lse.stride[3] + at * plan->lse.stride[4]] = lse;
}

/* Channels 64 * part on of all rows leave through local memory. */
HK_PIECE void hk_out_put(const struct hk_group *g, hk_i32 id, hk_i32 part,
                         const struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 lane = id % HK_MMA_LANES, first = id / HK_MMA_LANES * HK_MMA_M;
    hk_i32 n, i;

    HK_MARK(cold);
    HK_UNROLL
    for (i = 0; i < HK_MMA_ITEMS; i++) {
        const hk_i32 row = first + hk_mma_row(lane, i);
        const float sink = shared->w[2 * row], factor = shared->w[2 * row + 1];

        HK_UNROLL
        for (n = 0; n < 64 / HK_MMA_N; n++)
            shared->in.s[row * HK_S_LINE + n * HK_MMA_N + hk_mma_column(lane, i)] =
                hk_mul(hk_mul(me->o[part * (64 / HK_MMA_N) + n].x[i], sink), factor);
        HK_ORDER();
    }
}

HK_PIECE void hk_out_store(const struct hk_group *g, hk_i32 id, hk_i32 part)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i64 from = hk_batch_offset(g->call, plan->o.stride, g->task->b);
    hk_i32 i;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (i = id; i < HK_ROWS * 64; i += HK_THREADS) {
        const hk_i32 row = i / 64;
        const hk_i64 t = g->pass + part * 64 + i % 64;

        if (shared->active[row] && t < plan->d_v)
            hk_put(plan->o.dtype, hk_o(g->call),
                   from + shared->head[row] * plan->o.stride[3] +
                       (g->task->o_begin + shared->index[row]) * plan->o.stride[4] +
                       t * plan->o.stride[5], shared->in.s[row * HK_S_LINE + i % 64]);
    }
}

#endif
