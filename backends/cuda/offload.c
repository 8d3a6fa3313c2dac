/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory, streams and events. Handles of memory are device addresses. Copies are asynchronous on
 * the queue's stream and then waited for, so that no other stream is held up.
 */
#include "state.h"

#include <stdint.h>

static struct heed_cuda_state *state_of(heed_device *device)
{
    return device->state;
}

/* ---- memory ---- */

static heed_status create_entered(struct heed_cuda_state *state, uint64_t bytes, void **handle,
                                  struct heed_error_detail *detail)
{
    heed_cuda_address memory = 0;
    int code;

    if (bytes > SIZE_MAX) {
        heed_cuda_say(detail, "%llu bytes leave the address space", (unsigned long long)bytes);
        return HEED_E_DEVICE_NOMEM;
    }
    code = state->driver->memory_create(&memory, bytes ? (size_t)bytes : 1);
    if (code)
        return heed_cuda_fail(state->driver, state, code, "cuMemAlloc", detail);
    *handle = (void *)(uintptr_t)memory;
    return HEED_OK;
}

static heed_status buf_create(heed_device *device, uint64_t bytes, void **handle,
                              struct heed_error_detail *detail)
{
    struct heed_cuda_state *state = state_of(device);
    heed_status status = heed_cuda_enter(state, detail);

    if (status < 0)
        return status;
    status = create_entered(state, bytes, handle, detail);
    heed_cuda_leave(state);
    return status;
}

void heed_cuda_memory_destroy(void *opened, void *handle)
{
    struct heed_cuda_state *state = opened;

    if (handle == NULL || !heed_cuda_enter_to_destroy(state))
        return;
    (void)state->driver->memory_destroy((uintptr_t)handle);
    heed_cuda_leave(state);
}

static void buf_destroy(heed_device *device, void *handle)
{
    heed_cuda_memory_destroy(state_of(device), handle);
}

/* One direction: to is the device's address where `in` is set, from it where not. */
struct copy {
    void *to;
    const void *from;
    uint64_t bytes;
    bool in;
};

static heed_status copy_entered(struct heed_cuda_state *state, void *stream,
                                const struct copy *copy, struct heed_error_detail *detail)
{
    const struct heed_cuda_driver *driver = state->driver;
    const size_t bytes = (size_t)copy->bytes;
    int code;

    if (copy->in)
        code = driver->copy_in((uintptr_t)copy->to, copy->from, bytes, stream);
    else
        code = driver->copy_out(copy->to, (uintptr_t)copy->from, bytes, stream);
    if (code)
        return heed_cuda_fail(driver, state, code, "cuMemcpyAsync", detail);
    code = driver->stream_finish(stream);
    return code ? heed_cuda_fail(driver, state, code, "cuStreamSynchronize", detail) : HEED_OK;
}

/* heed_buf_write and _read have no report: what went wrong is logged. The report of opening is for
 * copies of the self-test as well. */
static heed_status copy_logged(struct heed_cuda_state *state, const struct heed_cuda_queue *queue,
                               const struct copy *copy)
{
    struct heed_error_detail detail = { 0 };
    heed_status status = heed_cuda_enter(state, &detail);

    if (status >= 0) {
        if (copy->bytes > 0)
            status = copy_entered(state, queue->stream, copy, &detail);
        heed_cuda_leave(state);
    }
    if (status < 0) {
        heed_cuda_log(state->shared.services, HEED_CUDA_LOG_ERROR, detail.text);
        if (state->opening)
            *state->opening = detail;
    }
    return status;
}

static heed_status buf_write(heed_device *device, void *queue, void *handle, uint64_t offset,
                             const void *from, uint64_t bytes)
{
    const struct copy copy = { (char *)handle + offset, from, bytes, true };

    return copy_logged(state_of(device), queue, &copy);
}

static heed_status buf_read(heed_device *device, void *queue, void *to, void *handle,
                            uint64_t offset, uint64_t bytes)
{
    const struct copy copy = { to, (char *)handle + offset, bytes, false };

    return copy_logged(state_of(device), queue, &copy);
}

heed_status heed_cuda_memory_create(void *opened, uint64_t bytes, const void *contents,
                                    void **handle, struct heed_error_detail *detail)
{
    struct heed_cuda_state *state = opened;
    struct copy copy = { NULL, contents, bytes, true };
    heed_status status = heed_cuda_enter(state, detail);

    if (status < 0)
        return status;
    status = create_entered(state, bytes, &copy.to, detail);
    if (status >= 0 && bytes > 0)
        status = copy_entered(state, state->stream, &copy, detail);
    heed_cuda_leave(state);
    if (status >= 0)
        *handle = copy.to;
    else
        heed_cuda_memory_destroy(state, copy.to);
    return status;
}

/* ---- queues ---- */

static heed_status stream_create(struct heed_cuda_state *state, void **stream,
                                 struct heed_error_detail *detail)
{
    heed_status status = heed_cuda_enter(state, detail);
    int code;

    if (status < 0)
        return status;
    code = state->driver->stream_create(stream, HEED_CU_STREAM_NON_BLOCKING);
    if (code)
        status = heed_cuda_fail(state->driver, state, code, "cuStreamCreate", detail);
    heed_cuda_leave(state);
    return status;
}

/* Kernels and memory of one context are no good in a stream of another. */
static heed_status stream_judge(struct heed_cuda_state *state, void *stream,
                                struct heed_error_detail *detail)
{
    const struct heed_cuda_driver *driver = state->driver;
    heed_status status = heed_cuda_enter(state, detail);
    void *context = state->context;
    int code = 0;

    if (status < 0)
        return status;
    if (stream && driver->stream_context)
        code = driver->stream_context(stream, &context);
    heed_cuda_leave(state);
    if (code == HEED_CU_NOT_SUPPORTED)
        return HEED_OK;
    if (code)
        return heed_cuda_fail(driver, state, code, "cuStreamGetCtx", detail);
    if (context == state->context)
        return HEED_OK;
    heed_cuda_say(detail, "the stream is of another context than the device");
    return HEED_E_MISMATCH;
}

static heed_status queue_create(heed_device *device, void *native, uint32_t has_native,
                                void **queue, struct heed_error_detail *detail)
{
    struct heed_cuda_state *state = state_of(device);
    const struct heed_services *services = state->shared.services;
    struct heed_cuda_queue *made =
        services->alloc(services->runtime, sizeof(*made), _Alignof(struct heed_cuda_queue));
    heed_status status;

    if (made == NULL)
        return HEED_E_NOMEM;
    *made = (struct heed_cuda_queue){ .stream = native, .owned = !has_native };
    status = made->owned ? stream_create(state, &made->stream, detail)
                         : stream_judge(state, native, detail);
    if (status < 0)
        services->free(services->runtime, made, sizeof(*made), _Alignof(struct heed_cuda_queue));
    else
        *queue = made;
    return status;
}

static heed_status queue_wait(heed_device *device, void *queue, struct heed_error_detail *detail)
{
    struct heed_cuda_state *state = state_of(device);
    heed_status status = heed_cuda_enter(state, detail);
    int code;

    if (status < 0)
        return status;
    code = state->driver->stream_finish(((struct heed_cuda_queue *)queue)->stream);
    if (code)
        status = heed_cuda_fail(state->driver, state, code, "cuStreamSynchronize", detail);
    heed_cuda_leave(state);
    return status;
}

static void queue_destroy(heed_device *device, void *handle)
{
    struct heed_cuda_state *state = state_of(device);
    const struct heed_services *services = state->shared.services;
    struct heed_cuda_queue *queue = handle;
    struct heed_error_detail detail;
    int code;

    if (queue == NULL)
        return;
    if (heed_cuda_enter_to_destroy(state)) {
        code = state->driver->stream_finish(queue->stream);
        if (code)   /* for what it says of the context */
            (void)heed_cuda_fail(state->driver, state, code, "cuStreamSynchronize", &detail);
        if (queue->owned)
            (void)state->driver->stream_destroy(queue->stream);
        heed_cuda_leave(state);
    }
    services->free(services->runtime, queue, sizeof(*queue), _Alignof(struct heed_cuda_queue));
}

/* ---- events ---- */

static heed_status event_wait(heed_device *device, void *event, struct heed_error_detail *detail)
{
    struct heed_cuda_state *state = state_of(device);
    heed_status status = heed_cuda_enter(state, detail);
    int code;

    if (status < 0)
        return status;
    code = state->driver->event_finish(heed_cuda_event_native(event));
    if (code)
        status = heed_cuda_fail(state->driver, state, code, "cuEventSynchronize", detail);
    heed_cuda_leave(state);
    return status;
}

static void event_destroy(heed_device *device, void *event)
{
    struct heed_cuda_state *state = state_of(device);

    if (event == NULL || heed_cuda_event_borrowed(event) || !heed_cuda_enter_to_destroy(state))
        return;
    (void)state->driver->event_destroy(event);
    heed_cuda_leave(state);
}

static heed_status event_wrap(heed_device *device, void *native, void **event,
                              struct heed_error_detail *detail)
{
    (void)device;
    if (native == NULL || heed_cuda_event_borrowed(native)) {
        heed_cuda_say(detail, "that is no CUevent");
        return HEED_E_UNSUPPORTED;
    }
    *event = (void *)((uintptr_t)native | 1);
    return HEED_OK;
}

static void *event_native(heed_device *device, void *event)
{
    (void)device;
    return heed_cuda_event_native(event);
}

const struct heed_backend_offload heed_cuda_offload = {
    .size = sizeof(struct heed_backend_offload),
    .handles = 0,
    .open = heed_cuda_open,
    .close = heed_cuda_close,
    .wrap = heed_cuda_wrap,
    .buf_create = buf_create,
    .buf_destroy = buf_destroy,
    .buf_write = buf_write,
    .buf_read = buf_read,
    .queue_create = queue_create,
    .queue_wait = queue_wait,
    .queue_destroy = queue_destroy,
    .event_wait = event_wait,
    .event_destroy = event_destroy,
    .event_wrap = event_wrap,
    .event_native = event_native,
};
