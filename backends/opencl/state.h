/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * An opened OpenCL device and what the files of this backend ask of each other. backends/cuda has
 * the same files with the same verbs.
 */
#ifndef HEED_BACKENDS_OPENCL_STATE_H
#define HEED_BACKENDS_OPENCL_STATE_H

#include "../device/gemm.h"
#include "../device/offload.h"
#include "api.h"

#include <stdbool.h>

/* lock: arguments belong to the kernel object, so setting them and enqueueing is one piece.
 * n_given: operands of it from there on are NULL. */
struct heed_opencl_kernel {
    void *kernel;
    pthread_mutex_t lock;
    uint32_t n_given;
};

struct heed_opencl_state {
    struct heed_offload_state common;   /* first */
    const struct heed_opencl_api *api;
    void *platform, *device, *context;
    struct heed_opencl_kernel kernels[HEED_KERNELS][2]; /* [row][large]: common.kernels' */
    uint32_t standard;              /* the -cl-std taken last; under common.building */
    bool keeps_programs;            /* the driver: heed then keeps none */
};

/* A heed queue. last: the event of the latest launch, kept for out-of-order queues only, since runs
 * happen in the order in which they are given. */
struct heed_opencl_queue {
    void *queue, *last;
    bool out_of_order;
};

/* ---- error.c ---- */

/* What a vendor's code means; the detail (may be NULL) gets the code and names the call. status()
 * is for calls with what the caller gave; check() for our own objects: a code that only a lost
 * device gives marks it. */
heed_status heed_opencl_status(int32_t code, const char *call, struct heed_error_detail *);
heed_status heed_opencl_check(struct heed_opencl_state *, int32_t code, const char *call,
                              struct heed_error_detail *);
/* check() of a call that waits for kernels. */
heed_status heed_opencl_check_end(struct heed_opencl_state *, int32_t code, const char *call,
                                  struct heed_error_detail *);
/* HEED_E_DEVICE_LOST if it was lost before. */
HEED_MUST_CHECK heed_status heed_opencl_enter(struct heed_opencl_state *,
                                              struct heed_error_detail *);

/* ---- devices.c ---- */

uint32_t heed_opencl_device_count(void);
const char *heed_opencl_device_none(void);
void heed_opencl_device_describe(uint32_t index, heed_device_props *);
heed_status heed_opencl_device_wrap(heed_device_props *, void *context, void *native,
                                    struct heed_error_detail *);
heed_status heed_opencl_attach(void *state, uint32_t index, void *context, void *native,
                               struct heed_error_detail *);
void heed_opencl_detach(void *state);

/* Names and versions of platform, device and driver, on which a program and its arithmetic
 * depend. */
void heed_opencl_hash(const struct heed_opencl_api *, void *platform, void *device,
                      struct heed_hash *);
/* The same of listed device `index`; 0: there is none. */
uint32_t heed_opencl_identify(uint32_t index, struct heed_hash *);
uint32_t heed_opencl_shape(uint32_t index);
/* recall of heed_backend_offload. */
void heed_opencl_recall(uint32_t index, const struct heed_services *, heed_device_props *);

/* ---- memory.c ---- */

heed_status heed_opencl_buf_create(heed_device *, uint64_t bytes, void **handle,
                                   struct heed_error_detail *);
void heed_opencl_buf_destroy(heed_device *, void *handle);
heed_status heed_opencl_buf_write(heed_device *, void *queue, void *handle, uint64_t offset,
                                  const void *from, uint64_t bytes, struct heed_error_detail *);
heed_status heed_opencl_buf_read(heed_device *, void *queue, void *to, void *handle,
                                 uint64_t offset, uint64_t bytes, struct heed_error_detail *);
heed_status heed_opencl_memory_create(void *state, uint64_t bytes, const void *contents,
                                      void **handle, struct heed_error_detail *);
void heed_opencl_memory_destroy(void *state, void *handle);

/* ---- queue.c ---- */

heed_status heed_opencl_queue_create(heed_device *, void *native, uint32_t has_native,
                                     void **queue, struct heed_error_detail *);
heed_status heed_opencl_queue_wait(heed_device *, void *queue, struct heed_error_detail *);
void heed_opencl_queue_destroy(heed_device *, void *queue);
heed_status heed_opencl_event_wait(heed_device *, void *event, struct heed_error_detail *);
void heed_opencl_event_destroy(heed_device *, void *event);
heed_status heed_opencl_event_wrap(heed_device *, void *native, void **event,
                                   struct heed_error_detail *);
void *heed_opencl_event_native(heed_device *, void *event);
uint32_t heed_opencl_event_over(heed_device *, void *event);
/* *outcome: 0 complete, below a failure's code, above under way. */
heed_status heed_opencl_event_ask(struct heed_opencl_state *, void *event, int32_t *outcome,
                                  struct heed_error_detail *);

/* ---- gemm.c ---- */

extern const struct heed_gemm_provider heed_clblast;

/* ---- program.c, run.c ---- */

/* What the API gives for texts of a device and of a platform; the text is cut to size, "" when it
 * cannot be had. */
typedef int32_t heed_opencl_info(void *object, uint32_t what, size_t, void *to, size_t *size);
void heed_opencl_text(heed_opencl_info *, void *object, uint32_t what, char *to, size_t size);

heed_status heed_opencl_kernel_create(void *state, enum heed_kernel, uint32_t large,
                                      void **compiled, struct heed_error_detail *);
void heed_opencl_kernel_destroy(void *state, void *compiled);
heed_status heed_opencl_run(void *state, const struct heed_work *, struct heed_error_detail *);

#endif
