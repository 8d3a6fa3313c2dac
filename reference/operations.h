/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The operations of the reference beside attention, and what their runs share.
 */
#ifndef HEED_REFERENCE_OPERATIONS_H
#define HEED_REFERENCE_OPERATIONS_H

#include "../lib/backend.h"

#define HEED_REF_OPERATIONS(ROW)                                                                   \
    ROW(copy)                                                                                      \
    ROW(pool)                                                                                      \
    ROW(select)                                                                                    \
    ROW(push)                                                                                      \
    ROW(merge)                                                                                     \
    ROW(state)                                                                                     \
    ROW(norm)                                                                                      \
    ROW(rope)                                                                                      \
    ROW(act)                                                                                       \
    ROW(recur)                                                                                     \
    ROW(embed)                                                                                     \
    ROW(order)                                                                                     \
    ROW(linear)                                                                                    \
    ROW(gate)

#define HEED_REF_DECLARE(name) extern const struct heed_impl heed_ref_##name;
HEED_REF_OPERATIONS(HEED_REF_DECLARE)
#undef HEED_REF_DECLARE

/* A run in the default floating-point environment, whatever the caller's. */
heed_status heed_ref_compute(void (*body)(const struct heed_plan *, const struct heed_launch *),
                             const struct heed_plan *, const struct heed_launch *);

/* prepare of an operation that needs no workspace. */
heed_status heed_ref_prepare_nothing(struct heed_plan *, const struct heed_services *,
                                     struct heed_error_detail *);
/* The workspace of an operation that sums rows of d channels: heed_ref_softmax_start's scratch. */
void heed_ref_accumulators_prepare(struct heed_plan *, int64_t d);

#endif
