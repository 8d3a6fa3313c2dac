/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The calls of heed that a measurement makes, of the library heed-bench is linked with or of
 * another build of it.
 */
#ifndef HEED_TOOLS_BENCH_LIBRARY_H
#define HEED_TOOLS_BENCH_LIBRARY_H

#include <heed/attn.h>

/* Each has the name and the type of a public function, less heed_. */
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
    heed_status (*attn_plan)(heed_device *, const heed_attn_desc *, heed_plan **, heed_report *);
    heed_status (*attn_run)(const heed_plan *, heed_queue *, const heed_attn_args *, heed_event **,
                            heed_report *);
    heed_status (*plan_info)(const heed_plan *, heed_plan_props *);
    void (*plan_drop)(heed_plan *);
};

/* The one this program is linked with. */
extern const struct library library_own;

/* Another build of the library, from a file; it stays loaded. NULL: it opens, and has every call;
 * else why not. */
const char *library_open(const char *path, struct library *out);

#endif
