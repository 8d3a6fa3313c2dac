/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The end of a row: sinks, its LSE, the factor of its outputs.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_FINISH_H
#define HEED_BACKENDS_KERNELS_ATTN_FINISH_H

#include "call.h"

/* hk_end of a row of this call. */
HK_FN float hk_row_end(const struct hk_call *call, hk_i64 head, int has_partial, float m, float l,
                       float *sink, float *lse)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    float z = -HK_INFINITY;

    if (plan->sinks.dtype)
        z = hk_element(plan->sinks.dtype, hk_sinks(call), head * plan->sinks.stride[5]);
    return hk_end(z, (plan->flags & HK_PLAN_LSE_WITH_SINK) != 0, plan->lse.dtype != 0, has_partial,
                  m, l, sink, lse);
}

#endif
