/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of operations, of the list in plan.h.
 */
#include "op.h"

#define HEED_OP_ROW(NAME, name) &heed_op_##name,

const struct heed_op *const heed_ops[] = { HEED_OPERATIONS(HEED_OP_ROW) NULL };
