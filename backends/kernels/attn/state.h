/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * States: what rows begin from and end as in the place of nothing and of outputs (heed/attn.h).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_STATE_H
#define HEED_BACKENDS_KERNELS_ATTN_STATE_H

#include "call.h"

/* Where the state of a row begins that lies at `row` of o. */
HK_FN HK_GLOBAL const float *hk_state_row(const struct hk_call *call, hk_i64 b, hk_i64 head,
                                          hk_i64 row)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;

    return hk_state(call) + hk_batch_offset(call, plan->state.stride, b) +
           head * plan->state.stride[3] + row * plan->state.stride[4];
}

/* The same of what is kept beside it. */
HK_FN HK_GLOBAL struct hk_kept *hk_kept_row(const struct hk_call *call, hk_i64 b, hk_i64 head,
                                            hk_i64 row)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const hk_i64 item = plan->flags & HK_PLAN_PACKED ? 0 : b;

    return (HK_GLOBAL struct hk_kept *)(call->work + plan->kept_at) +
           (item * plan->heads + head) * plan->o.length + row;
}

#endif
