/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The runtime: the caller's hooks, the devices found, and what is lent to backends.
 */
#ifndef HEED_LIB_CONTEXT_H
#define HEED_LIB_CONTEXT_H

#include "alloc.h"
#include "backend.h"
#include "compiler.h"

#include <stdatomic.h>

/* Host runs are complete when they return, so one event a device, always complete, serves
 * all of them and run has none to allocate. handed_out counts those not yet destroyed. */
struct heed_event {
    heed_device *device;
    heed_status status;
    uint32_t reserved;
    atomic_int_least64_t handed_out;
};

struct heed_runtime {
    heed_allocator allocator;
    heed_executor executor;         /* width >= 1, parallel set */
    heed_logger logger;             /* line NULL: silent */
    struct heed_services services;
    struct heed_arena arena;
    uint32_t n_devices, reserved;
    heed_device *devices;
    struct heed_event *events;      /* one per device */
};

struct heed_queue {
    heed_device *device;
    uint64_t reserved;
};

extern const heed_allocator heed_alloc_default;     /* alloc.c */

enum { HEED_LOG_ERROR = 1, HEED_LOG_WARNING, HEED_LOG_INFORMATION, HEED_LOG_DETAIL };
HEED_PRINTF(3, 4)
void heed_context_log(const struct heed_runtime *, uint32_t level, const char *format, ...);

/* HEED_OK, or the device's own status and the reason why nothing can be run on it. */
HEED_MUST_CHECK heed_status heed_context_usable(const heed_device *, heed_report *);

#endif
