/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How the workloads of an operation are called: descriptor, arrays, run.
 */
#ifndef HEED_TOOLS_BENCH_OPERATION_H
#define HEED_TOOLS_BENCH_OPERATION_H

#include "bench/contender.h"
#include "bench/contents.h"

/* An array of a workload: its shape, what it holds, and where its memory is to be written. */
struct operation_array {
    heed_tensor tensor;                 /* ndim 0: absent */
    struct contents contents;
    heed_buf *at;
};

struct operation {
    const char *name;                   /* as in the names of its calls */
    /* Plans, and lists the arrays: [CONTENDER_ARRAYS] zeroed ones come in. */
    heed_status (*plan)(struct contender *, const struct workload *, struct operation_array *,
                        heed_report *);
    heed_status (*run)(struct contender *, heed_report *);
    const char *runs;                   /* the name of the run; NULL: the same */
};

/* Of the operation that the workload belongs to. */
const struct operation *operation_of(const struct workload *);

extern const struct operation operation_attn, operation_lsg, operation_poolingformer;

#endif
