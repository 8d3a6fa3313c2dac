/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * For the workgroup kernels: where several groups share a strip, each with other channels, all
 * begin from the same states, and the first ends with states of its own in what may be the same
 * memory. Keeps what the others ask of them. A group is HK_KEEP_ROWS rows of o, of one item and
 * head.
 */
#define HK_THREADS 1
#include "state.h"

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const hk_i64 parts = (plan->o.length + HK_KEEP_ROWS - 1) / HK_KEEP_ROWS;
    const hk_i64 first = group % parts * HK_KEEP_ROWS;
    const hk_i64 end = hk_min(first + HK_KEEP_ROWS, plan->o.length);
    const hk_i64 head = group / parts % plan->heads, b = group / parts / plan->heads;
    hk_i64 row;

    for (row = first; row < end; row++) {
        HK_GLOBAL const float *from = hk_state_row(call, b, head, row);
        HK_GLOBAL struct hk_kept *to = hk_kept_row(call, b, head, row);

        to->m = from[0];
        to->joined = from[HK_STATE_AT_JOINED * plan->state.stride[5]];
    }
}

#include "../entry.h"
