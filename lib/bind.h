/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the arguments of one run to checked addresses.
 */
#ifndef HEED_LIB_BIND_H
#define HEED_LIB_BIND_H

#include "backend.h"
#include "compiler.h"

/* Events that a run on an offload device can wait for; run binds on the stack. */
enum { HEED_MAX_WAITS = 64 };

/* Addresses of one run; lives on the caller's stack and points into itself, so it is never
 * copied. */
struct heed_binding {
    struct heed_bound bound;
    struct heed_handles handles;
    const void *k[HEED_MAX_SOURCES], *v[HEED_MAX_SOURCES];
    const void *slots[HEED_MAX_SLOTS];
    void *k_handles[HEED_MAX_SOURCES], *v_handles[HEED_MAX_SOURCES];
    void *slot_handles[HEED_MAX_SLOTS];
    void *waits[HEED_MAX_WAITS + 1];    /* the last place: lib's own, for the plan's workspace */
};

/* Everything that run can find wrong with its arguments, in the order of the contract:
 * sizes, unknown bytes, values, overflow, alignment, aliasing, workspace. Writes nothing but
 * the binding and the report; allocates nothing. */
HEED_MUST_CHECK
heed_status heed_bind_run(const struct heed_plan *, const heed_queue *, const heed_attn_args *,
                          struct heed_binding *, heed_report *);

/* The same without aliasing and workspace. */
HEED_MUST_CHECK
heed_status heed_bind_inputs(const struct heed_plan *, const heed_queue *, const heed_attn_args *,
                             struct heed_binding *, heed_report *);

/* The run-time slots only, in host memory; args may be NULL when there is none. */
HEED_MUST_CHECK
heed_status heed_bind_slots(const struct heed_checked *, const heed_attn_args *,
                            struct heed_binding *, heed_report *);

/* Run-time slots of a binding on an offload device, read back. `at` holds the memory of each slot
 * that is read; heed_readback_finish gives it back, whatever heed_readback_slots answered. */
struct heed_readback {
    void *at[HEED_MAX_SLOTS];
    uint64_t bytes[HEED_MAX_SLOTS];
};

/* Waits for the events of the binding and the work in the queue, copies the integer arrays among
 * the run-time slots to host memory, and makes the binding's slots point there. */
HEED_MUST_CHECK
heed_status heed_readback_slots(const struct heed_checked *, const heed_queue *,
                                struct heed_binding *, struct heed_readback *, heed_report *);
void heed_readback_finish(const heed_queue *, struct heed_readback *);

#endif
