/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A workload made ready on a device: plan, tensors with random contents, workspace.
 */
#ifndef HEED_TOOLS_BENCH_CONTENDER_H
#define HEED_TOOLS_BENCH_CONTENDER_H

#include "bench/library.h"
#include "bench/workload.h"

struct contender {
    const struct library *lib;
    heed_device *device;
    heed_queue *queue;
    heed_plan *plan;
    heed_device_props device_props;
    heed_plan_props plan_props;
    heed_kv_bufs kv;
    heed_attn_args args;                /* kv points to the field above: not to be copied */
};

/* On failure one line is on stderr and nothing is left to close. */
heed_status contender_open(struct contender *, const struct library *, heed_device *,
                           const struct workload *);
void contender_close(struct contender *);

/* Runs the workload once and waits for it. */
heed_status contender_run(struct contender *);

/* The instruction set the device works with: a name of tools/peak, or "unknown". */
const char *contender_isa(const struct contender *);

#endif
