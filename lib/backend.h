/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Waist 2, second half: the table behind which an implementation lives. lib reaches backends only
 * through heed_backends[]; a backend calls nothing in lib but what its services hold, and what
 * interop.h has for objects of its vendor.
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

#include <stdatomic.h>
#include <stdbool.h>

/* What lib offers a backend. alloc returns NULL on failure; memory is counted by the runtime's
 * allocator. */
struct heed_services {
    const heed_executor *executor;  /* never NULL; width >= 1 */
    void *runtime;
    void *(*alloc)(void *runtime, size_t size, size_t align);
    void (*free)(void *runtime, void *pointer, size_t size, size_t align);
    void (*log)(void *runtime, uint32_t level, const char *text);   /* one line */
    const char *cache_dir;          /* of the runtime's descriptor, a copy; NULL: none */
    atomic_bool *cache_refused;     /* the log has said that cache_dir is not used, and why */
};

/* What went wrong, for the report: filled by who returns a negative status and knows more. */
struct heed_error_detail {
    int64_t native;                 /* the vendor's code */
    char text[176];                 /* empty: nothing to add */
};

/* One run. at[i] is where operand i of the plan begins, as the caller gave it: a handle and an
 * offset in bytes. Absent operands, and those without elements, have no handle. Constants have the
 * plan's copy on host devices and no handle elsewhere. */
struct heed_launch {
    const heed_buf *at;
    heed_buf workspace;
    uint32_t width; /* the host: most workers; 0: the executor's */
    /* Offload devices only. */
    uint32_t n_waits;
    void *queue;                    /* offload->queue_create's */
    void *const *waits;             /* offload events to be waited for, n_waits of them */
    void **event;                   /* NULL: none wanted; receives an offload event, or NULL when
                                     * everything is complete already */
    struct heed_error_detail *detail;   /* never NULL */
};

/* The address of a buffer of the host's; NULL: there is none. */
static inline void *heed_address(heed_buf buf)
{
    return buf.handle != NULL ? (char *)buf.handle + buf.offset : NULL;
}

/* Why an implementation does not take a plan. */
struct heed_refusal {
    const char *reason;             /* static text */
    const char *field;              /* the part of the descriptor, or NULL */
};

/* One way to run the plans of an operation on a device. */
struct heed_impl {
    uint32_t op, reserved;          /* HEED_OP_* */
    const char *name;               /* "attend-lanes" */
    /* Every refusal there is, sizes included: what it accepts fails later for want of memory or
     * for the vendor's reasons alone. Allocates nothing. NULL: accepts everything. */
    bool (*accepts)(const struct heed_plan *, const struct heed_services *, struct heed_refusal *);
    /* Sets state, state_bytes, device_bytes and workspace_*. May allocate and compile. */
    heed_status (*prepare)(struct heed_plan *, const struct heed_services *,
                           struct heed_error_detail *);
    heed_status (*run)(const struct heed_plan *, const struct heed_services *,
                       const struct heed_launch *);
    /* May be NULL. On offload devices work of the plan may still be in flight: what it reads is
     * kept or waited for here. */
    void (*release)(struct heed_plan *, const struct heed_services *);
};

/* What devices other than the host have besides: memory, queues and events of their own. The void
 * pointers (handles of memory, queues, events) are the backend's; lib carries them about. Statuses:
 * HEED_E_DEVICE, _DEVICE_NOMEM, _DEVICE_LOST, _NOMEM, _UNSUPPORTED. Any thread, except that one
 * thread at a time uses a queue. */
struct heed_backend_offload {
    uint32_t size;
    uint32_t handles; /* 1: memory is an opaque handle, with which nothing can be computed;
                       * 0: an address */
    /* Called once per device, before all else but describe; sets device->state and may change
     * device->props (usable, reason, exact, memory, ...; the name stays). On failure props.usable
     * and reason say why. OK and not exact: reason says why not. */
    heed_status (*open)(heed_device *, const struct heed_services *);
    /* May be NULL. Of a device that is not open: where an earlier process left in the cache whether
     * it is exact, fills exact, reason and untested (0) of *props, its listed properties. Any
     * thread. */
    void (*recall)(uint32_t index, const struct heed_services *, heed_device_props *props);
    /* Only after open or wrap was OK; no queue, event, buffer or plan of it is left. */
    void (*close)(heed_device *, const struct heed_services *);
    /* A device over what the caller owns, instead of open. native: the vendor's device, or its
     * number made a pointer. Keeps references, not ownership. Fills props as describe and open do
     * (index is UINT32_MAX; the name need not be unique). */
    heed_status (*wrap)(heed_device *, const struct heed_services *, void *context, void *native,
                        struct heed_error_detail *);
    /* Aligned as any workspace of this backend must be. bytes 0 is legal. */
    heed_status (*buf_create)(heed_device *, uint64_t bytes, void **handle,
                              struct heed_error_detail *);
    void (*buf_destroy)(heed_device *, void *handle);
    /* Both after the work in the queue; complete on return. */
    heed_status (*buf_write)(heed_device *, void *queue, void *handle, uint64_t offset,
                             const void *from, uint64_t bytes, struct heed_error_detail *);
    heed_status (*buf_read)(heed_device *, void *queue, void *to, void *handle, uint64_t offset,
                            uint64_t bytes, struct heed_error_detail *);
    /* native: the caller's queue, of which a reference is kept where the vendor counts them;
     * has_native 0: one of our own. A vendor's queue may be NULL, hence both. */
    heed_status (*queue_create)(heed_device *, void *native, uint32_t has_native, void **queue,
                                struct heed_error_detail *);
    heed_status (*queue_wait)(heed_device *, void *queue, struct heed_error_detail *);
    void (*queue_destroy)(heed_device *, void *queue);              /* waits for its work first */
    heed_status (*event_wait)(heed_device *, void *event, struct heed_error_detail *);
    void (*event_destroy)(heed_device *, void *event);
    /* The caller's event as one to be waited for; and back. Where the vendor counts references
     * both retain, event_native for the caller; else a wrapped one stays the caller's, and what
     * event_native gives stays the event's. NULL: failed. */
    heed_status (*event_wrap)(heed_device *, void *native, void **event,
                              struct heed_error_detail *);
    void *(*event_native)(heed_device *, void *event);
    /* May be NULL. Is the event complete or failed, so that nothing has to wait for it any more,
     * and nothing must that is not to fail with it? */
    uint32_t (*event_over)(heed_device *, void *event);
    /* May be NULL. Is what is enqueued captured, to be run later and more than once? */
    heed_status (*queue_captures)(heed_device *, void *queue, uint32_t *captures,
                                  struct heed_error_detail *);
    /* May be NULL: as heed_device_gemm, of a device that is open or not. */
    heed_status (*gemm)(const heed_device *, uint32_t open, char *text, size_t size);
};

struct heed_backend {
    uint32_t size, kind;            /* HEED_DEVICE_* */
    uint32_t host;    /* 1: handles are host addresses and run completes before it returns */
    uint32_t reserved;
    uint32_t (*count)(void);    /* offload: called when somebody asks for more than host devices */
    /* name, description, usable, reason, exact, memory of device `index`; names unique; called once
     * per runtime. Offload devices: cheap, opens nothing. */
    void (*describe)(uint32_t index, heed_device_props *);
    const struct heed_impl *const *impls;       /* best first, ends with NULL */
    const struct heed_backend_offload *offload; /* NULL: the host's own (host == 1) */
    const char *(*none)(void);  /* may be NULL: why count() was 0, static text */
    const char *prefix;         /* with none or offload: its devices' names begin so: "vendor" */
    /* Host devices that keep a state: device->state is so many bytes of the runtime's, which begin
     * fills. */
    size_t state_size;              /* 0: none */
    void (*begin)(uint32_t index, const struct heed_services *, void *state);
};

extern const struct heed_backend *const heed_backends[];      /* backends/table.c; ends with NULL */

/* Backends this library was built without: the device names that begin with prefix, and the reason
 * in words. */
struct heed_backend_absent {
    const char *prefix, *reason;
};
extern const struct heed_backend_absent
    heed_backends_absent[]; /* backends/table.c; ends with NULL */

/* A device as the backend sees it; those of offload backends are made by lib only. */
struct heed_device {
    const struct heed_backend *backend;
    uint32_t index, reserved;       /* backend's own number */
    struct heed_runtime *runtime;
    struct heed_event *done;        /* host devices: the event of every run; lib's own affair */
    heed_device_props props;
    void *state;                    /* offload->open's or backend->begin's */
};

#endif
