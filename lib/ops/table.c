/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one list of operations.
 */
#include "op.h"

const struct heed_op *const heed_ops[] = {
    &heed_op_attn,   &heed_op_copy, &heed_op_pool,
    &heed_op_select, &heed_op_push, &heed_op_merge, &heed_op_program, NULL,
};
