/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Devices at work, and the workspace of a run.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_TARGET_H
#define HEED_TOOLS_CONFORM_ENGINE_TARGET_H

#include <heed/heed.h>

#include <stdbool.h>

struct target {
    heed_runtime *runtime;
    heed_device *device;
    heed_queue *queue;
    char name[64];
    uint32_t width;
    bool partial; /* may refuse legal cases (refusals.h) */
};

enum { MAX_CREWS = 3 };

struct bench { /* devices at work */
    struct target reference;
    struct target one, two; /* the device under test with one thread and with several */
    /* Of a device of the host's processor, with executors that the session orders (workers.h); no
     * device: there is none. */
    struct target crew[MAX_CREWS];
};

/* The workspace of a run, which begins with garbage: it must carry nothing between runs. */
struct workspace {
    heed_buf made, at; /* the buffer; the aligned place in it */
    uint64_t size;
    uint32_t numerics; /* what the plan delivers, */
    char runs[64];     /* and what it runs */
};

bool cf_target_open(struct target *, const char *name, uint32_t width, heed_report *);
/* allocator NULL: the runtime's default. */
bool cf_target_open_with(struct target *, const char *name, uint32_t width,
                         const heed_allocator *allocator, heed_report *);
bool cf_target_open_on(struct target *, const char *name, const heed_executor *,
                       const heed_allocator *allocator, heed_report *);
void cf_target_close(struct target *);
heed_status cf_workspace_make(struct workspace *, const struct target *, const heed_plan *,
                              int garbage);
void cf_workspace_finish(struct workspace *, const struct target *);

#endif
