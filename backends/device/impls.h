/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The implementations that heed_device_impls is made of.
 */
#ifndef HEED_BACKENDS_DEVICE_IMPLS_H
#define HEED_BACKENDS_DEVICE_IMPLS_H

#include "device.h"

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

#endif
