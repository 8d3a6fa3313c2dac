/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The end of a row: sinks, its LSE, the factor of its outputs.
 */
#ifndef HEED_BACKENDS_KERNELS_FINISH_H
#define HEED_BACKENDS_KERNELS_FINISH_H

#include "call.h"

/* Steps 9, 10 and 12: from the row's sums over all chunks (has_partial: it has one) to the factor
 * that those over V are multiplied by, twice: first by *sink, then by the result; and its LSE, if
 * the plan wants it. */
HK_FN float hk_row_end(const struct hk_call *call, hk_i64 head, int has_partial, float m, float l,
                       float *sink, float *lse)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const int with_sink = (plan->flags & HK_PLAN_LSE_WITH_SINK) != 0;
    float z = -HK_INFINITY;

    *sink = 1.0f;
    if (plan->sinks.dtype)
        z = hk_element(plan->sinks.dtype, hk_sinks(call), head * plan->sinks.stride[5]);
    if (!has_partial) {
        *lse = with_sink ? hk_canonical(z) : -HK_INFINITY;
        return 0.0f;
    }
    if (!(z == -HK_INFINITY)) {
        const float y = hk_mul(z, HK_LOG2_E), e = hk_row_max(y), both = e > m ? e : m;
        const float before = l;

        *sink = hk_power(hk_sub(m, both));
        l = hk_fma(l, *sink, hk_weight(y, both));
        *lse = !plan->lse.dtype ? 0.0f : with_sink ? hk_lse(both, l) : hk_lse(m, before);
    } else {
        *lse = plan->lse.dtype ? hk_lse(m, l) : 0.0f;
    }
    *lse = hk_canonical(*lse);
    return hk_inverse(l);
}

#endif
