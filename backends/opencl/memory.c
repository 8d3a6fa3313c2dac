/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Buffers of heed's own, and transfers to and from any buffer of the context.
 */
#include "state.h"

static heed_status create(struct heed_opencl_state *d, uint64_t bytes, uint64_t flags,
                          void *contents, void **handle, struct heed_error_detail *detail)
{
    int32_t code = HEED_CL_SUCCESS;
    heed_status status = heed_opencl_enter(d, detail);
    void *memory;

    if (status < 0)
        return status;
    if (bytes > SIZE_MAX)
        return heed_opencl_status(HEED_CL_INVALID_BUFFER_SIZE, "clCreateBuffer", detail);
    memory = d->api->CreateBuffer(d->context, flags, (size_t)bytes, contents, &code);
    if (memory == NULL && code == HEED_CL_SUCCESS)
        code = HEED_CL_MEM_OBJECT_ALLOCATION_FAILURE;
    status = heed_opencl_check(d, code, "clCreateBuffer", detail);
    if (status >= 0)
        *handle = memory;
    return status;
}

/* OpenCL knows no buffer without bytes; heed does. */
heed_status heed_opencl_buf_create(heed_device *device, uint64_t bytes, void **handle,
                                   struct heed_error_detail *detail)
{
    return create(device->state, bytes > 0 ? bytes : 1, HEED_CL_MEM_READ_WRITE, NULL, handle,
                  detail);
}

void heed_opencl_buf_destroy(heed_device *device, void *handle)
{
    heed_opencl_memory_destroy(device->state, handle);
}

heed_status heed_opencl_memory_create(void *state, uint64_t bytes, const void *contents,
                                      void **handle, struct heed_error_detail *detail)
{
    /* The parameter lacks a const; the driver copies from it. */
    return create(state, bytes, HEED_CL_MEM_READ_ONLY | HEED_CL_MEM_COPY_HOST_PTR,
                  (void *)(uintptr_t)contents, handle, detail);
}

void heed_opencl_memory_destroy(void *state, void *handle)
{
    struct heed_opencl_state *const d = state;

    if (handle != NULL)
        (void)d->api->ReleaseMemObject(handle);
}

/* After all that was put into an out-of-order queue comes a marker; an in-order one needs none. */
static heed_status after_all(struct heed_opencl_state *d, const struct heed_opencl_queue *queue,
                             void **marker, struct heed_error_detail *detail)
{
    if (!queue->out_of_order)
        return HEED_OK;
    return heed_opencl_check(d, d->api->EnqueueMarkerWithWaitList(queue->queue, 0, NULL, marker),
                             "clEnqueueMarkerWithWaitList", detail);
}

/* One of `from` (a write) and `to` (a read) is set. Blocking calls of Intel's runtime for CPUs have
 * been seen to return a moment before the copy was made (2026, out-of-order queues and several
 * queues), so the event is waited for besides. */
static heed_status transfer(heed_device *device, const struct heed_opencl_queue *queue,
                            void *handle, uint64_t offset, const void *from, void *to,
                            uint64_t bytes, struct heed_error_detail *detail)
{
    struct heed_opencl_state *const d = device->state;
    heed_status status = heed_opencl_enter(d, detail);
    void *marker = NULL, *event = NULL, *const *waits;
    uint32_t n;
    int32_t code;

    if (status < 0 || bytes == 0)
        return status;
    status = after_all(d, queue, &marker, detail);
    if (status < 0)
        return status;
    n = marker != NULL;
    waits = n > 0 ? &marker : NULL;
    code = from != NULL
               ? d->api->EnqueueWriteBuffer(queue->queue, handle, 1, (size_t)offset,
                                            (size_t)bytes, from, n, waits, &event)
               : d->api->EnqueueReadBuffer(queue->queue, handle, 1, (size_t)offset,
                                           (size_t)bytes, to, n, waits, &event);
    status = heed_opencl_check_end(d, code, from != NULL ? "clEnqueueWriteBuffer"
                                                         : "clEnqueueReadBuffer", detail);
    if (status >= 0 && event != NULL)
        status = heed_opencl_event_wait(device, event, detail);
    heed_opencl_event_destroy(device, event);
    heed_opencl_event_destroy(device, marker);
    return status;
}

heed_status heed_opencl_buf_write(heed_device *device, void *queue, void *handle, uint64_t offset,
                                  const void *from, uint64_t bytes,
                                  struct heed_error_detail *detail)
{
    return transfer(device, queue, handle, offset, from, NULL, bytes, detail);
}

heed_status heed_opencl_buf_read(heed_device *device, void *queue, void *to, void *handle,
                                 uint64_t offset, uint64_t bytes,
                                 struct heed_error_detail *detail)
{
    return transfer(device, queue, handle, offset, NULL, to, bytes, detail);
}
