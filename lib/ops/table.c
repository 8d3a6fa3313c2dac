/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one list of operations.
 */
#include "op.h"

const struct heed_op *const heed_ops[] = { &heed_op_attn, &heed_op_copy, NULL };
