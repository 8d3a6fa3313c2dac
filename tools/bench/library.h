/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The calls of heed that a measurement makes, of the library heed-bench is linked with or of
 * another build of it.
 */
#ifndef HEED_TOOLS_BENCH_LIBRARY_H
#define HEED_TOOLS_BENCH_LIBRARY_H

#include "bench/workload.h"

#include <heed/attn.h>
#include <heed/memory.h>
#include <heed/nn.h>
#include <heed/pool.h>
#include <heed/programs.h>

/* Each has the name and the type of a public function, less heed_. Those of an operation may be
 * NULL in an older build. */
struct library {
    heed_status (*runtime_create)(const heed_runtime_desc *, heed_runtime **, heed_report *);
    void (*runtime_destroy)(heed_runtime *);
    heed_status (*device_find)(const heed_runtime *, const char *, heed_device **, heed_report *);
    heed_status (*device_info)(const heed_device *, heed_device_props *);
    heed_status (*buf_create)(heed_device *, uint64_t, heed_buf *, heed_report *);
    void (*buf_destroy)(heed_device *, heed_buf);
    heed_status (*buf_write)(heed_queue *, heed_buf, const void *, uint64_t, heed_report *);
    heed_status (*queue_create)(heed_device *, uint32_t, heed_queue **, heed_report *);
    heed_status (*queue_wait)(heed_queue *, heed_report *);
    void (*queue_destroy)(heed_queue *);
    heed_status (*plan_info)(const heed_plan *, heed_plan_props *);
    void (*plan_drop)(heed_plan *);
#define LIBRARY_OPERATION(NAME, name)                                                              \
    heed_status (*name##_plan)(heed_device *, const heed_##name##_desc *, heed_plan **,            \
                               heed_report *);                                                     \
    heed_status (*name##_run)(const heed_plan *, heed_queue *, const heed_##name##_args *,         \
                              heed_event **, heed_report *);
    LIBRARY_OPERATION(ATTN, attn)
    BENCH_OPERATIONS(LIBRARY_OPERATION)
#undef LIBRARY_OPERATION
    heed_status (*lsg_program_plan)(heed_device *, const heed_lsg_program_desc *, heed_plan **,
                                    heed_report *);
    heed_status (*poolingformer_level2_plan)(heed_device *, const heed_poolingformer_level2_desc *,
                                             heed_plan **, heed_report *);
    heed_status (*program_run)(const heed_plan *, heed_queue *, const heed_program_args *,
                               heed_event **, heed_report *);
};

/* The one this program is linked with. */
extern const struct library library_own;

/* Another build of the library, from a file; it stays loaded. NULL: it opens, and has every call
 * but perhaps some operations; else why not. */
const char *library_open(const char *path, struct library *out);

/* Whether it has both calls, heed_PLANS_plan and heed_RUNS_run. */
bool library_has(const struct library *, const char *plans, const char *runs);

#endif
