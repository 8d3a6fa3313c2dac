/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a run against the operands of its plan: what any operation asks of it. One loop a
 * question: is there memory, inside the address space, aligned; does an output or the workspace
 * share bytes with anything.
 */
#ifndef HEED_LIB_LAUNCH_OPERANDS_H
#define HEED_LIB_LAUNCH_OPERANDS_H

#include "../ops/op.h"
#include "overlap.h"

enum { HEED_FIELD = 64 };           /* bytes of a field name, NUL included */

/* "kv[2].k" from "kv[].k" and 2. */
void heed_operand_name(char field[HEED_FIELD], const char *name, uint32_t index);

/* Sets low and high of each, which every run asks for; behind the operation's check. */
void heed_operands_measure(struct heed_plan *);

/* HEED_E_NULL, HEED_E_OVERFLOW, HEED_E_ALIGN. On success at[] is as heed_launch.at says: absent and
 * empty operands have no handle, constants the plan's copy where memory is the host's.
 * opaque: a handle is no address, so that offsets take the place of addresses. */
HEED_MUST_CHECK
heed_status heed_operands_require(const struct heed_plan_operand *, uint32_t n, bool opaque,
                                  bool host, heed_buf *at, heed_report *);

/* HEED_E_ALIAS: an output shares a byte with another operand. Inputs may share memory freely, and
 * an operand may be the one that same_as names, byte for byte. */
HEED_MUST_CHECK
heed_status heed_operands_require_apart(const struct heed_plan_operand *, uint32_t n, bool opaque,
                                        const heed_buf *at, heed_report *);

/* HEED_E_WORKSPACE, HEED_E_OVERFLOW, HEED_E_ALIGN, HEED_E_ALIAS for the caller's workspace. */
HEED_MUST_CHECK
heed_status heed_operands_require_workspace(const struct heed_plan *, const heed_run *,
                                            bool opaque, const heed_buf *at, heed_report *);

#endif
