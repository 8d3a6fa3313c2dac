/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * An opened CUDA device, and how its calls are made: every function that reaches the driver enters
 * the device's context and leaves it again, so that the thread's current context stays the
 * caller's. A code that has ruined the context is kept, and every later call answers
 * HEED_E_DEVICE_LOST.
 */
#ifndef HEED_BACKENDS_CUDA_STATE_H
#define HEED_BACKENDS_CUDA_STATE_H

#include "../../lib/core/compiler.h"
#include "../device/device.h"
#include "loader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct heed_cuda_kernel {
    void *module, *function;        /* NULL: not loaded yet */
};

struct heed_cuda_state {
    struct heed_device_state shared;    /* first: device.h */
    const struct heed_cuda_driver *driver;
    int device, capability;         /* CUdevice; 90 for compute capability 9.0 */
    void *context;
    uint32_t primary;               /* 1: the device's primary context, retained by us */
    atomic_int lost;                /* 0, or the code that ruined the context */
    void *stream;                   /* ours, for copies that belong to no queue */
    struct heed_error_detail *opening; /* while it is opened: of copies that have no report */
    pthread_mutex_t lock;           /* of kernels */
    struct heed_cuda_kernel kernels[HEED_KERNELS][2];   /* [row][large] */
};

struct heed_cuda_queue {
    void *stream;                   /* may be NULL: the caller's default stream */
    uint32_t owned, reserved;
};

/* Images of kernels, embedded by the build (images.py): cubins of several architectures and PTX in
 * one block each. Ends with a NULL name; without nvcc that is all there is. */
struct heed_cuda_image {
    const char *name;               /* of the row of kernels.def */
    uint32_t large, reserved;
    const unsigned char *bytes;
};
extern const struct heed_cuda_image heed_cuda_images[];

/* The log levels of heed_logger. */
enum { HEED_CUDA_LOG_ERROR = 1, HEED_CUDA_LOG_WARNING, HEED_CUDA_LOG_INFORMATION };

/* ---- error.c ---- */

/* The status that stands for a code of the driver; the code and its text into the detail. state
 * NULL: no device yet. */
heed_status heed_cuda_fail(const struct heed_cuda_driver *, struct heed_cuda_state *, int code,
                           const char *call, struct heed_error_detail *);

/* Enters the device's context, or says why not; after HEED_OK there must be a leave. */
HEED_MUST_CHECK heed_status heed_cuda_enter(struct heed_cuda_state *, struct heed_error_detail *);
void heed_cuda_leave(struct heed_cuda_state *);

/* For those that give back: false where the context is gone, and all that lived in it. */
bool heed_cuda_enter_to_destroy(struct heed_cuda_state *);

/* Every line of a text to the log. */
void heed_cuda_log(const struct heed_services *, uint32_t level, const char *text);
/* The detail's text; of a vendor's, the first line that is not empty, if there is one. */
HEED_PRINTF(2, 3)
void heed_cuda_say(struct heed_error_detail *, const char *format, ...);
void heed_cuda_quote(struct heed_error_detail *, const char *text);

/* ---- program.c ---- */

heed_status heed_cuda_kernel_get(void *state, enum heed_kernel, uint32_t large, void **compiled,
                                 struct heed_error_detail *);
void heed_cuda_kernels_drop(struct heed_cuda_state *);      /* in the context */

/* ---- compile.c ---- */

/* A row compiled by NVRTC for the device: *image is *bytes long, from services->alloc. */
heed_status heed_cuda_compile(const struct heed_cuda_state *, enum heed_kernel, uint32_t large,
                              char **image, size_t *bytes, struct heed_error_detail *);

/* ---- run.c ---- */

heed_status heed_cuda_run(void *state, const struct heed_work *, struct heed_error_detail *);

/* ---- offload.c ---- */

extern const struct heed_backend_offload heed_cuda_offload;
heed_status heed_cuda_memory_create(void *state, uint64_t bytes, const void *contents,
                                    void **handle, struct heed_error_detail *);
void heed_cuda_memory_destroy(void *state, void *handle);

/* ---- backend.c ---- */

heed_status heed_cuda_open(heed_device *, const struct heed_services *);
void heed_cuda_close(heed_device *, const struct heed_services *);
heed_status heed_cuda_wrap(heed_device *, const struct heed_services *, void *context, void *native,
                           struct heed_error_detail *);

/* An event is a CUevent; the caller's has the lowest bit set, which no object's address has. */
HEED_INLINE void *heed_cuda_event_native(void *event)
{
    return (void *)((uintptr_t)event & ~(uintptr_t)1);
}

HEED_INLINE uint32_t heed_cuda_event_borrowed(const void *event)
{
    return (uint32_t)((uintptr_t)event & 1);
}

#endif
