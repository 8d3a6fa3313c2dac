/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Waist 2 for operations with a fixed list of arrays: what backends and the reference read of a
 * plan, beside its operands. Attention has forms of its own (plan.h, spans.h).
 */
#ifndef HEED_LIB_FORM_H
#define HEED_LIB_FORM_H

#include "plan.h"
#include "../backends/kernels/forms.h"

#include <stdbool.h>

enum { HEED_MAX_PASSES = 4 };

/* plan->checked and plan->params. A pass is one launch of a kernel on a device: its tasks do not
 * depend on each other, and all of them come after those of the pass before. */
struct heed_form {
    int64_t batch[3];               /* the last axis is the fastest */
    int64_t n_batch;                /* their product */
    const void *numbers;            /* struct hk_copy, ...: begins with a hk_strip_form */
    uint32_t bytes;                 /* of it */
    uint32_t n_passes;
    int64_t tasks[HEED_MAX_PASSES];
    int64_t group_tasks[HEED_MAX_PASSES]; /* of work-groups, if those are cut differently */
    bool groups_apart;
    int64_t scratch;                /* bytes of memory that a worker needs for itself; 0: none */
    bool lanes_alone;               /* only where a worker is a processor's */
    int64_t shares[HEED_MAX_PASSES];    /* work-groups of a GPU that share a task; 0: it has one */
    int64_t common;                 /* bytes of memory that all workers share; 0: none */
    uint32_t kernel;                /* GPUs: the launch of operations.def that the first pass is */
};

static inline const struct heed_form *heed_form_of(const struct heed_plan *plan)
{
    return plan->checked;
}

#endif
