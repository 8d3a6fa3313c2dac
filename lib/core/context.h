/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The runtime: the caller's hooks, the devices found, and what is lent to backends.
 */
#ifndef HEED_LIB_CONTEXT_H
#define HEED_LIB_CONTEXT_H

#include "alloc.h"
#include "../backend.h"
#include "compiler.h"
#include "lock.h"

#include <stdatomic.h>

/* Host runs are complete when they return, so one event a device, always complete, serves
 * all of them and run has none to allocate. handed_out counts those not yet destroyed.
 * Offload devices: an object per event, whose handed_out counts references to it; the device's own
 * keeps the count only. */
struct heed_event {
    heed_device *device;
    heed_status status;
    uint32_t reserved;
    atomic_int_least64_t handed_out;
    void *offload;                  /* the backend's; NULL: complete */
};

/* A device that is not the host's. The device comes first: lib goes from it to the rest. */
struct heed_offload_device {
    heed_device device;
    struct heed_event count;        /* device.done */
    atomic_uint opened;             /* 1: device.props and .state stay as they are */
    uint32_t closes;                /* open or wrap was OK */
    heed_device_props listed;       /* as listed: readable while another thread opens the device */
    struct heed_offload_device *next;   /* of the wrapped ones */
};

struct heed_runtime {
    heed_allocator allocator;
    heed_executor executor;         /* width >= 1, parallel set */
    heed_executor *own;             /* threads that end with the runtime; NULL: none */
    heed_logger logger;             /* line NULL: silent */
    struct heed_services services;
    atomic_bool cache_refused;      /* see there */
    struct heed_arena arena;
    uint32_t n_devices, reserved;   /* of the host */
    heed_device *devices;
    struct heed_event *events;      /* one per device of the host */
    struct heed_lock lock;          /* held while offload devices are listed, opened, wrapped */
    atomic_uint listed;             /* 1: the two below stay as they are */
    uint32_t n_offloads;
    struct heed_offload_device *offloads;
    struct heed_offload_device *wrapped; /* by lock; a list */
};

struct heed_queue {
    heed_device *device;
    uint32_t width, reserved;       /* of its runs on host devices; 0: the executor's */
    void *offload;                  /* the backend's; NULL on host devices */
};

extern const heed_allocator heed_alloc_default;     /* alloc.c */

/* from NULL: malloc. */
HEED_MUST_CHECK heed_status heed_allocator_take(heed_allocator *to, const heed_allocator *from,
                                                heed_report *);

enum { HEED_LOG_ERROR = 1, HEED_LOG_WARNING, HEED_LOG_INFORMATION, HEED_LOG_DETAIL };
HEED_PRINTF(3, 4)
void heed_context_log(const struct heed_runtime *, uint32_t level, const char *format, ...);

/* ---- device.c ---- */

/* The host's devices; false: no memory. */
HEED_MUST_CHECK bool heed_context_list(struct heed_runtime *);
/* Events that were handed out and not destroyed. */
int64_t heed_context_events(const struct heed_runtime *);
/* Closes and forgets every offload device. */
void heed_context_close(struct heed_runtime *);

/* HEED_OK, or the device's own status and the reason why nothing can be run on it. Offload devices
 * are opened by this. */
HEED_MUST_CHECK heed_status heed_context_usable(const heed_device *, heed_report *);

/* A device over what the caller owns. Field names are those of the arguments in the report. */
HEED_MUST_CHECK
heed_status heed_context_wrap(struct heed_runtime *, const struct heed_backend *, void *context,
                              void *native, heed_device **out, heed_report *);

/* ---- queue.c ---- */

/* An event of an offload device with one reference and without the backend's part, not counted as
 * handed out; NULL: no memory. */
heed_event *heed_event_new(heed_device *);
heed_event *heed_event_retain(heed_event *);
void heed_event_release(heed_event *);          /* NULL: does nothing */

#endif
