/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of operations. An operation says how its descriptor becomes a plan and how its
 * arguments become the memory of the plan's operands; check, plan and run are the same for all of
 * them (op.c). The public functions of an operation are thin calls of these.
 */
#ifndef HEED_LIB_OPS_OP_H
#define HEED_LIB_OPS_OP_H

#include "../core/alloc.h"
#include "../backend.h"

/* Events that a run on an offload device can wait for: run works on the stack. */
enum { HEED_MAX_WAITS = 64 };

/* What the arguments of a run hold, whatever the operation. */
struct heed_places {
    heed_buf at[HEED_MAX_OPERANDS];     /* those of constants do not count */
    heed_run run;
};

struct heed_array_table; /* arrays.h */

struct heed_op {
    uint32_t id, reserved;              /* HEED_OP_* */
    const char *name;                   /* "attn" */
    const struct heed_array_table *arrays; /* NULL: attention, whose arrays are not fixed */
    /* From the public descriptor to checked form and operands, in the arena; sets numerics and
     * own_workspace of the plan. Finds everything that is wrong with a descriptor, whatever the
     * device. */
    heed_status (*check)(struct heed_plan *, struct heed_arena *, const void *desc, heed_report *);
    /* From the checked form to the one that kernels read. HEED_E_UNSUPPORTED: no device can. */
    heed_status (*lower)(struct heed_plan *, struct heed_arena *, heed_report *);
    /* Sizes, newer bytes and counts of the arguments; then where the operands are. */
    heed_status (*place)(const struct heed_plan *, const void *args, struct heed_places *,
                         heed_report *);
    /* Useful floating-point operations and compulsory bytes of one run, at planned sizes. */
    void (*work)(const struct heed_plan *, uint64_t *flops, uint64_t *bytes);
};

#define HEED_OP_DECLARE(NAME, name) extern const struct heed_op heed_op_##name;
HEED_OPERATIONS(HEED_OP_DECLARE)
#undef HEED_OP_DECLARE
extern const struct heed_op *const heed_ops[];      /* table.c; ends with NULL */

/* What check and plan have in common, of a plan that has operation, device and `owned`: checked,
 * lowered, accepted by an implementation. In the default floating-point environment. */
HEED_MUST_CHECK
heed_status heed_op_form(struct heed_plan *, const void *desc, heed_report *);

/* HEED_OK: heed_op_plan would make a plan, memory and the vendor's compiler willing. */
HEED_MUST_CHECK
heed_status heed_op_check(const struct heed_op *, heed_device *, const void *desc, heed_report *);
HEED_MUST_CHECK
heed_status heed_op_plan(const struct heed_op *, heed_device *, const void *desc, heed_plan **out,
                         heed_report *);
/* launch/run.c */
HEED_MUST_CHECK
heed_status heed_op_run(const struct heed_op *, const heed_plan *, heed_queue *, const void *args,
                        heed_event **event, heed_report *);

/* HEED_E_NULL for a required pointer that is NULL; HEED_E_MISMATCH, field "plan", for a plan of
 * another operation. */
HEED_MUST_CHECK
heed_status heed_op_require(const void *pointer, const char *field, heed_report *);
HEED_MUST_CHECK
heed_status heed_op_require_run(const struct heed_op *, const heed_plan *, const heed_queue *,
                                const void *args, heed_report *);

#endif
