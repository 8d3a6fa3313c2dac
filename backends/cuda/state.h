/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * An opened CUDA device and what the files of this backend ask of each other; backends/opencl has
 * the same files with the same verbs. Every function that reaches the driver enters the device's
 * context and leaves it again, so that the thread's current context stays the caller's. A code
 * that has ruined the context is kept, and every later call answers HEED_E_DEVICE_LOST.
 */
#ifndef HEED_BACKENDS_CUDA_STATE_H
#define HEED_BACKENDS_CUDA_STATE_H

#include "../device/gemm.h"
#include "../device/offload.h"
#include "api.h"

#include <stdbool.h>

struct heed_cuda_kernel {
    void *module, *function;
};

struct heed_cuda_state {
    struct heed_offload_state common;   /* first */
    const struct heed_cuda_api *driver;
    int device, capability;         /* CUdevice; 90 for compute capability 9.0 */
    void *context;
    uint32_t primary;               /* 1: the device's primary context, retained by us */
    void *stream;                   /* ours, for copies that belong to no queue */
    void *gemm;                     /* cuBLASLt's handle; NULL: nobody has asked for it */
    struct heed_cuda_kernel kernels[HEED_KERNELS][2];   /* [row][large]: common.kernels' */
};

struct heed_cuda_queue {
    void *stream;                   /* may be NULL: the caller's default stream */
    uint32_t owned, reserved;
};

/* Cubins of kernels, embedded by the build (cubins.py): cubins of several architectures and PTX in
 * one block each. Ends with a NULL name; without nvcc that is all there is. */
struct heed_cuda_cubin {
    const char *name;               /* of the row of kernels.def */
    uint32_t large, reserved;
    const unsigned char *bytes;
};
extern const struct heed_cuda_cubin heed_cuda_cubins[];

/* ---- error.c ---- */

/* What a vendor's code means; the detail (may be NULL) gets the code and names the call. status()
 * is for calls without a context; check() for those within: a code after which the context is
 * unusable marks it. */
heed_status heed_cuda_status(const struct heed_cuda_api *, int code, const char *call,
                             struct heed_error_detail *);
heed_status heed_cuda_check(struct heed_cuda_state *, int code, const char *call,
                            struct heed_error_detail *);
/* Enters the device's context, or says why not; after HEED_OK there must be a leave.
 * HEED_E_DEVICE_LOST if it was lost before. */
HEED_MUST_CHECK heed_status heed_cuda_enter(struct heed_cuda_state *, struct heed_error_detail *);
void heed_cuda_leave(struct heed_cuda_state *);
/* For those that give back: false where the context is gone, and all that lived in it. */
bool heed_cuda_enter_to_destroy(struct heed_cuda_state *);
/* Within a context, around calls for memory and modules: another thread that captures a stream into
 * a graph in the mode that is the default forbids them to all threads, for the sake of programs
 * that would mix the two. heed captures nothing and puts them into no stream that is captured. */
int heed_cuda_capture_set(struct heed_cuda_state *, int mode);

/* ---- devices.c ---- */

uint32_t heed_cuda_device_count(void);
const char *heed_cuda_device_none(void);
void heed_cuda_device_describe(uint32_t index, heed_device_props *);
heed_status heed_cuda_device_wrap(heed_device_props *, void *context, void *native,
                                  struct heed_error_detail *);
heed_status heed_cuda_attach(void *state, uint32_t index, void *context, void *native,
                             struct heed_error_detail *);
void heed_cuda_detach(void *state);

/* ---- memory.c ---- */

heed_status heed_cuda_buf_create(heed_device *, uint64_t bytes, void **handle,
                                 struct heed_error_detail *);
void heed_cuda_buf_destroy(heed_device *, void *handle);
heed_status heed_cuda_buf_write(heed_device *, void *queue, void *handle, uint64_t offset,
                                const void *from, uint64_t bytes, struct heed_error_detail *);
heed_status heed_cuda_buf_read(heed_device *, void *queue, void *to, void *handle, uint64_t offset,
                               uint64_t bytes, struct heed_error_detail *);
heed_status heed_cuda_memory_create(void *state, uint64_t bytes, const void *contents,
                                    void **handle, struct heed_error_detail *);
void heed_cuda_memory_destroy(void *state, void *handle);

/* ---- queue.c ---- */

heed_status heed_cuda_queue_create(heed_device *, void *native, uint32_t has_native, void **queue,
                                   struct heed_error_detail *);
heed_status heed_cuda_queue_wait(heed_device *, void *queue, struct heed_error_detail *);
heed_status heed_cuda_queue_captures(heed_device *, void *queue, uint32_t *captures,
                                     struct heed_error_detail *);
void heed_cuda_queue_destroy(heed_device *, void *queue);
heed_status heed_cuda_event_wait(heed_device *, void *event, struct heed_error_detail *);
void heed_cuda_event_destroy(heed_device *, void *event);
heed_status heed_cuda_event_wrap(heed_device *, void *native, void **event,
                                 struct heed_error_detail *);
void *heed_cuda_event_native(heed_device *, void *event);

/* ---- gemm.c ---- */

extern const struct heed_gemm_provider heed_cublaslt;
/* Gives the handle back; within the device's context. */
void heed_cuda_gemm_close(struct heed_cuda_state *);

/* ---- program.c, run.c ---- */

heed_status heed_cuda_kernel_create(void *state, enum heed_kernel, uint32_t large, void **compiled,
                                    struct heed_error_detail *);
void heed_cuda_kernel_destroy(void *state, void *compiled);
/* A row compiled by NVRTC for the device: *cubin is *bytes long, from heed_offload_alloc. */
heed_status heed_cuda_compile(const struct heed_cuda_state *, enum heed_kernel, uint32_t large,
                              char **cubin, size_t *bytes, struct heed_error_detail *);
heed_status heed_cuda_run(void *state, const struct heed_work *, struct heed_error_detail *);

#endif
