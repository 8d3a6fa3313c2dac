/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The implementations that heed_device_impls is made of.
 */
#ifndef HEED_BACKENDS_DEVICE_IMPLS_H
#define HEED_BACKENDS_DEVICE_IMPLS_H

#include "device.h"
#include "frame.h"

extern const struct heed_impl heed_attend_impl;         /* prepare.c */

/* Rows of kernels/operations.def. */
enum heed_operation {
#define HK_OPERATION(OP, name) HEED_OPERATION_##OP,
#define HK_LAUNCH(OP, lanes, workgroup)
#include "../kernels/operations.def"
#undef HK_OPERATION
#undef HK_LAUNCH
    HEED_OPERATIONS
};

extern const struct heed_impl heed_operation_impls[HEED_OPERATIONS];    /* operation.c */

/* A launch that is no pass of the form, with numbers of its own in place of the form's. */
struct heed_operation_extra {
    enum heed_kernel kernel;
    int64_t tasks;
    const void *numbers; /* as many bytes as the form has */
    int64_t common_at;   /* in the workspace: what all groups share */
};

/* heed_frame_fill of such a launch alone: the blob, and the state's launches. */
heed_status heed_operation_fill(struct heed_plan *, const struct heed_services *,
                                struct heed_device_plan *, struct heed_blob *,
                                const struct heed_operation_extra *);
/* More tasks than these cannot be numbered. */
bool heed_operation_numbers(double tasks);

#endif
