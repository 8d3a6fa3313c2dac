/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Waist 2, second half: the table behind which an implementation lives. lib reaches backends only
 * through heed_backends[]; a backend calls nothing in lib but what its services hold.
 *
 * A backend may assume of a plan: extents >= 0; products of extents and |strides| fit 63 bits;
 * outputs map no two elements to one address; constant slots valid. Of run's arguments: pointers
 * naturally aligned, outputs overlap nothing, workspace large and aligned enough; wait events
 * complete. It may not assume a default FP environment: each task sets round-to-nearest with
 * subnormals and puts back what it found.
 */
#ifndef HEED_LIB_BACKEND_H
#define HEED_LIB_BACKEND_H

#include "plan.h"

/* What lib offers a backend. alloc returns NULL on failure; memory is counted by the runtime's
 * allocator. */
struct heed_services {
    const heed_executor *executor;  /* never NULL; width >= 1 */
    void *runtime;
    void *(*alloc)(void *runtime, size_t size, size_t align);
    void (*free)(void *runtime, void *pointer, size_t size, size_t align);
};

/* Bound arguments of one run: addresses of element [0,...,0]. slots[i] is slot i + 1, constant ones
 * already resolved to the plan's copy by heed_aux.data (the entry here is then unspecified). */
struct heed_bound {
    const void *q;
    void *o, *lse;                  /* lse NULL: absent */
    const void *sinks;              /* NULL: absent */
    const void *const *k, *const *v;    /* one per source */
    const void *const *slots;
    void *workspace;
};

/* One way to run a plan on a device. */
struct heed_impl {
    const char *name;               /* "attend-tile" */
    /* NULL: accepts; else the reason why not, static text; *field names the part when it can.
     * A NULL function accepts everything. */
    const char *(*refuse)(const heed_device *, const struct heed_checked *, const char **field);
    heed_status (*bind)(struct heed_plan *,
                        const struct heed_services *); /* sets state and workspace_* */
    heed_status (*run)(const struct heed_plan *, const struct heed_services *,
                       const struct heed_bound *);
    void (*drop)(struct heed_plan *, const struct heed_services *);             /* may be NULL */
};

struct heed_backend {
    uint32_t size, kind;            /* HEED_DEVICE_* */
    uint32_t host;    /* 1: handles are host addresses and run completes before it returns */
    uint32_t lowered; /* 1: reads plan->lowered */
    uint32_t (*count)(void);
    /* name, description, usable, reason, exact, memory of device `index`; names unique; called once
     * per runtime */
    void (*describe)(uint32_t index, heed_device_props *);
    const struct heed_impl *const *impls;       /* best first, ends with NULL */
};

extern const struct heed_backend *const heed_backends[];      /* backends/table.c; ends with NULL */

/* Backends this library was built without: the device names that begin with prefix, and the reason
 * in words. */
struct heed_backend_absent {
    const char *prefix, *reason;
};
extern const struct heed_backend_absent
    heed_backends_absent[]; /* backends/table.c; ends with NULL */

/* A device as the backend sees it. */
struct heed_device {
    const struct heed_backend *backend;
    uint32_t index, reserved;       /* backend's own number */
    struct heed_runtime *runtime;
    struct heed_event *done;        /* host devices: the event of every run; lib's own affair */
    heed_device_props props;
};

#endif
