/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a context: its runtime, its plans, and arrays that are kept from call to call.
 */
#ifndef HEED_INTEGRATIONS_GGML_CONTEXT_H
#define HEED_INTEGRATIONS_GGML_CONTEXT_H

#include "attend.h"
#include "blocks.h"
#include "plans.h"

/* Memory that grows and is kept. */
struct heed_attend_array {
    void *at;
    size_t size;
};

struct heed_attend {
    heed_allocator memory;
    char device_name[64];
    const struct heed_attend_rows *rows;
    uint32_t threads, width; /* what calls have; what was made ready for */
    uint32_t flags, most;    /* HEED_ATTEND_OPENMP; threads that there are */
    heed_executor *executor; /* NULL: no runtime yet */
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
    struct heed_attend_array work, ranges, bits, slopes, k, v;
    struct heed_attend_usage usage;
    struct heed_attend_plans plans;
};

/* Makes the runtime fit the number of threads that calls have. Plans may be lost. */
heed_status heed_attend_ready(struct heed_attend *, heed_report *report);

/* An array of `size` bytes at least, or NULL. Contents are lost when it grows; it grows by a
 * quarter more than is asked for. */
void *heed_attend_need(struct heed_attend *, struct heed_attend_array *, size_t size);

/* Writes a report of ours and returns its status. */
heed_status heed_attend_refuse(heed_report *report, heed_status status, const char *field,
                               const char *message);

#endif
