/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The blob of an operation with fixed arrays: struct hk_operation, an hk_array for each operand,
 * and the operation's numbers (forms.h). Written by backends/device/operation.c. Every struct has
 * the same layout for all compilers.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_ARRAYS_H
#define HEED_BACKENDS_KERNELS_OPS_ARRAYS_H

#include "../dtypes.h"
#include "../forms.h"

#define HK_PASSES 4

/* An operand: dtype 0 if absent; batch axes 0..2, then those of lib/plan.h. Strides in elements; an
 * axis of one element has any, but channels one element apart always have 1. */
struct hk_array {
    hk_i64 shape[6], stride[6];
    hk_u32 dtype, reserved;
};

struct hk_operation {
    hk_i64 batch[3];
    hk_i64 n_batch;
    hk_i64 tasks[HK_PASSES];            /* of each launch */
    hk_i64 groups[HK_PASSES];           /* group g does the tasks g, g + groups, ... */
    hk_i64 scratch, scratch_at;         /* bytes of each group's, and where they begin in the
                                         * workspace */
    hk_i64 arrays_at, numbers_at;       /* in the blob */
    hk_i64 bytes;                       /* of the blob */
    hk_i64 shares[HK_PASSES];           /* tasks that one of the form is, on GPUs */
    hk_i64 common_at;                   /* what all groups share, in the workspace */
};

#endif
