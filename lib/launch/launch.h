/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run on its way from the caller's arguments to an implementation.
 */
#ifndef HEED_LIB_LAUNCH_LAUNCH_H
#define HEED_LIB_LAUNCH_LAUNCH_H

#include "../ops/op.h"

/* Lives on the caller's stack and points into itself, so it is never copied. */
struct heed_launching {
    struct heed_launch launch;
    struct heed_places places;
    void *waits[HEED_MAX_WAITS + 1];    /* the last place: lib's own, for the plan's workspace */
};

/* Memory of the plan's operands, checked but for what is shared: HEED_E_MISMATCH (queue, events),
 * what heed_op.place and heed_operands_require answer, HEED_E_UNSUPPORTED (too many events).
 * Allocates nothing. */
HEED_MUST_CHECK
heed_status heed_launch_place(const heed_plan *, const heed_queue *, const void *args,
                              struct heed_launching *, heed_report *);

/* Integer inputs of an offload device, read back; heed_readback_finish gives the memory back,
 * whatever heed_readback_integers answered. */
struct heed_readback {
    void *block[HEED_MAX_OPERANDS];
    uint64_t bytes[HEED_MAX_OPERANDS];
    heed_buf at[HEED_MAX_OPERANDS];     /* host memory of element [0,...,0]; no handle: not read */
};

/* Waits for the launch's events and the work in the queue, and copies every integer input to host
 * memory. */
HEED_MUST_CHECK
heed_status heed_readback_integers(const heed_plan *, const heed_queue *,
                                   const struct heed_launching *, struct heed_readback *,
                                   heed_report *);
void heed_readback_finish(const heed_queue *, struct heed_readback *);

/* Does the device know memory by opaque handles? */
bool heed_launch_opaque(const struct heed_backend *);

#endif
