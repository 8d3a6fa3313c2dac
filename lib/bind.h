/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the arguments of one run to checked addresses.
 */
#ifndef HEED_LIB_BIND_H
#define HEED_LIB_BIND_H

#include "backend.h"

/* Addresses of one run; lives on the caller's stack and points into itself, so it is never
 * copied. */
struct heed_binding {
    struct heed_bound bound;
    const void *k[HEED_MAX_SOURCES], *v[HEED_MAX_SOURCES];
    const void *slots[HEED_MAX_SLOTS];
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

/* The run-time slots only; args may be NULL when there is none. */
HEED_MUST_CHECK
heed_status heed_bind_slots(const struct heed_checked *, const heed_attn_args *,
                            struct heed_binding *, heed_report *);

#endif
