/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Queues, which are streams of heed's own or the caller's, and events. An event of heed's is a
 * CUevent; the caller's has the lowest bit set, which no object's address has.
 */
#include "state.h"

static heed_status create_stream(struct heed_cuda_state *state, void **stream,
                                 struct heed_error_detail *detail)
{
    heed_status status = heed_cuda_enter(state, detail);

    if (status < 0)
        return status;
    status = heed_cuda_check(state, state->driver->stream_create(stream,
                                                                 HEED_CU_STREAM_NON_BLOCKING),
                             "cuStreamCreate", detail);
    heed_cuda_leave(state);
    return status;
}

/* Kernels and memory of one context are no good in a stream of another. */
static heed_status require_stream(struct heed_cuda_state *state, void *stream,
                                  struct heed_error_detail *detail)
{
    const struct heed_cuda_api *const driver = state->driver;
    heed_status status = heed_cuda_enter(state, detail);
    void *context = state->context;
    int code = 0;

    if (status < 0)
        return status;
    if (stream != NULL && driver->stream_context != NULL)
        code = driver->stream_context(stream, &context);
    heed_cuda_leave(state);
    if (code == HEED_CU_NOT_SUPPORTED)
        return HEED_OK;
    status = heed_cuda_check(state, code, "cuStreamGetCtx", detail);
    if (status < 0 || context == state->context)
        return status;
    heed_offload_say(detail, "the stream is of another context than the device");
    return HEED_E_MISMATCH;
}

heed_status heed_cuda_queue_create(heed_device *device, void *native, uint32_t has_native,
                                   void **queue, struct heed_error_detail *detail)
{
    struct heed_cuda_state *const state = device->state;
    struct heed_cuda_queue *const made =
        heed_offload_alloc(state, sizeof(*made), _Alignof(struct heed_cuda_queue));
    heed_status status;

    if (made == NULL)
        return HEED_E_NOMEM;
    *made = (struct heed_cuda_queue){ .stream = native, .owned = !has_native };
    status = made->owned ? create_stream(state, &made->stream, detail)
                         : require_stream(state, native, detail);
    if (status < 0)
        heed_offload_free(state, made, sizeof(*made), _Alignof(struct heed_cuda_queue));
    else
        *queue = made;
    return status;
}

heed_status heed_cuda_queue_wait(heed_device *device, void *queue, struct heed_error_detail *detail)
{
    struct heed_cuda_state *const state = device->state;
    const struct heed_cuda_queue *const q = queue;
    heed_status status = heed_cuda_enter(state, detail);

    if (status < 0)
        return status;
    status = heed_cuda_check(state, state->driver->stream_finish(q->stream), "cuStreamSynchronize",
                             detail);
    heed_cuda_leave(state);
    return status;
}

/* A driver that does not say is taken not to capture; what it then refuses, the run reports. */
heed_status heed_cuda_queue_captures(heed_device *device, void *queue, uint32_t *captures,
                                     struct heed_error_detail *detail)
{
    struct heed_cuda_state *const state = device->state;
    const struct heed_cuda_queue *const q = queue;
    heed_status status = HEED_OK;
    int said = 0;

    if (state->driver->stream_captures != NULL)
        status = heed_cuda_enter(state, detail);
    if (state->driver->stream_captures == NULL || status < 0)
        return status;
    status = heed_cuda_check(state, state->driver->stream_captures(q->stream, &said),
                             "cuStreamIsCapturing", detail);
    heed_cuda_leave(state);
    *captures = status >= 0 && said != 0;
    return status;
}

void heed_cuda_queue_destroy(heed_device *device, void *queue)
{
    struct heed_cuda_state *const state = device->state;
    struct heed_cuda_queue *const q = queue;

    if (q == NULL)
        return;
    if (heed_cuda_enter_to_destroy(state)) {
        /* The outcome is asked for what it says of the context. */
        (void)heed_cuda_check(state, state->driver->stream_finish(q->stream),
                              "cuStreamSynchronize", NULL);
        if (q->owned)
            (void)state->driver->stream_destroy(q->stream);
        heed_cuda_leave(state);
    }
    heed_offload_free(state, q, sizeof(*q), _Alignof(struct heed_cuda_queue));
}

/* ---- events ------------------------------------------------------------ */

static bool borrowed(const void *event)
{
    return ((uintptr_t)event & 1) != 0;
}

void *heed_cuda_event_native(heed_device *device, void *event)
{
    (void)device;
    return (void *)((uintptr_t)event & ~(uintptr_t)1);
}

heed_status heed_cuda_event_wait(heed_device *device, void *event, struct heed_error_detail *detail)
{
    struct heed_cuda_state *const state = device->state;
    heed_status status = heed_cuda_enter(state, detail);

    if (status < 0)
        return status;
    status = heed_cuda_check(state,
                             state->driver->event_finish(heed_cuda_event_native(device, event)),
                             "cuEventSynchronize", detail);
    heed_cuda_leave(state);
    return status;
}

void heed_cuda_event_destroy(heed_device *device, void *event)
{
    struct heed_cuda_state *const state = device->state;

    if (event == NULL || borrowed(event) || !heed_cuda_enter_to_destroy(state))
        return;
    (void)state->driver->event_destroy(event);
    heed_cuda_leave(state);
}

heed_status heed_cuda_event_wrap(heed_device *device, void *native, void **event,
                                 struct heed_error_detail *detail)
{
    (void)device;
    if (native == NULL || borrowed(native)) {
        heed_offload_say(detail, "that is no CUevent");
        return HEED_E_UNSUPPORTED;
    }
    *event = (void *)((uintptr_t)native | 1);
    return HEED_OK;
}
