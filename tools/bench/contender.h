/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A workload made ready on a device: plan, arrays with their contents, workspace.
 */
#ifndef HEED_TOOLS_BENCH_CONTENDER_H
#define HEED_TOOLS_BENCH_CONTENDER_H

#include "bench/library.h"
#include "bench/workload.h"

enum { CONTENDER_ARRAYS = 13 };          /* of an operation at most, with its workspace */

struct contender {
    const struct library *lib;
    const struct operation *operation;
    heed_device *device;
    heed_queue *queue;
    heed_plan *plan;
    uint32_t numerics;                  /* that the plan is asked for; it says what it delivers */
    heed_device_props device_props;
    heed_plan_props plan_props;
    heed_kv_bufs pairs[HEED_MECHANISM_KEYS];    /* of each set of keys, */
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];    /* and of each source: that of the set it reads */
    uint32_t set[HEED_MECHANISM_SOURCES], n_sources;
    heed_buf slots[HEED_MECHANISM_SLOTS];
#define CONTENDER_ARGS(NAME, name) heed_##name##_args name;
    union {
        heed_attn_args attn;            /* points to kv and slots: not to be copied */
        BENCH_OPERATIONS(CONTENDER_ARGS)
        heed_program_args program;
    } args;
#undef CONTENDER_ARGS
    heed_run *run;                      /* the head of `args`; NULL: attention has none */
    heed_buf workspace;
    heed_buf made[CONTENDER_ARRAYS];    /* what is to be given back */
    size_t n_made;
};

/* numerics: HEED_NUMERICS_* that is asked for. On failure nothing is left to close; `refused` says
 * why where planning failed, else, and if it is NULL, one line is on stderr. */
heed_status contender_open(struct contender *, const struct library *, heed_device *,
                           const struct workload *, uint32_t numerics, heed_report *refused);
void contender_close(struct contender *);

/* What the workload costs; of mechanisms and programs the plan says how much that is. */
struct workload_cost contender_cost(const struct contender *, const struct workload *);

/* Runs the workload once and waits for it. */
heed_status contender_run(struct contender *);

/* The instruction set the device works with: a name of tools/peak, or "unknown". */
const char *contender_isa(const struct contender *);

/* Whether the device works in the host's memory with the host's threads. */
bool contender_is_host(const struct contender *);
bool contender_kind_is_host(uint32_t kind);

#endif
