/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: the end of a row: its LSE, the factors of its outputs, or what a state has
 * before them (docs/numerics.md steps 9 to 12).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_END_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_END_H

#include "group.h"
#include "state.h"

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

/* Step 9: the tree of a row's partial sums. */
#if HK_FEW
HK_FN void hk_tree_level(float *l, const hk_i32 reach)
{
    hk_i32 x;

    HK_UNROLL
    for (x = 0; x < reach; x++)
        l[x] = hk_add(l[x], l[x + reach]);
}

HK_FN float hk_row_sum(HK_LOCAL const float *red)
{
    float l[HK_PARTIALS];
    hk_i32 x;

    HK_UNROLL
    for (x = 0; x < HK_PARTIALS; x += 4)
        hk_local_get4(red + x, l + x);
    hk_tree_level(l, 8);
    hk_tree_level(l, 4);
    hk_tree_level(l, 2);
    hk_tree_level(l, 1);
    return l[0];
}
#else                           /* where registers are scarce */
HK_FN float hk_row_sum(HK_LOCAL float *red)
{
    hk_i32 reach, x;

    HK_NO_UNROLL
    for (reach = HK_PARTIALS / 2; reach > 0; reach /= 2) {
        HK_NO_UNROLL
        for (x = 0; x < reach; x++)
            red[x] = hk_add(red[x], red[x + reach]);
    }
    return red[0];
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

#if !HK_PLAIN
    if (plan->flags & HK_PLAN_STOPS) {
        hk_row_stop(g, i, me, red);
        return;
    }
#endif
    shared->w[2 * i + 1] = hk_row_end(call, head, me->has_partial != 0, me->acc_m,
                                      hk_row_sum(red), &sink, &lse);
    shared->w[2 * i] = sink;
    if (plan->lse.dtype && shared->active[i] && g->pass == 0)
        hk_lse_out(call)[hk_batch_offset(call, plan->lse.stride, g->task->b) +
                         head * plan->lse.stride[3] + at * plan->lse.stride[4]] = lse;
}

#endif
