/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a plan keeps for itself: its references, its memory and, if asked for, its workspace.
 */
#ifndef HEED_LIB_OWNED_H
#define HEED_LIB_OWNED_H

#include "alloc.h"
#include "../backend.h"

#include <stdatomic.h>

/* The plan, this and everything checked and lowered lie in `arena`; only the implementation's state
 * and the workspace have blocks of their own. */
struct heed_plan_owned {
    atomic_uint_least32_t references;
    atomic_flag busy;               /* set while a run uses the workspace */
    struct heed_arena arena;
    const struct heed_services *services;
    void *workspace;                /* NULL: the caller's, or 0 bytes; offload: a handle */
    heed_event *last;               /* offload, own workspace: of the last run; guarded by busy */
};

/* One reference, nothing but operation and device set. NULL: no memory. */
struct heed_plan *heed_plan_new(const struct heed_op *, heed_device *);

/* Prepares the implementation that was chosen and makes the plan's own workspace; undoes itself on
 * failure. */
HEED_MUST_CHECK
heed_status heed_plan_prepare(struct heed_plan *, heed_report *);

#endif
