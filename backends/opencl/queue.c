/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Queues, heed's own (in-order) or the caller's (either kind), and events, which are the vendor's
 * with a reference of ours.
 */
#include "state.h"

static heed_status mismatch(struct heed_error_detail *detail, const char *text)
{
    heed_offload_say(detail, "%s", text);
    return HEED_E_MISMATCH;
}

/* Is the caller's queue one of this context and device, and of which kind? */
static heed_status require_queue(struct heed_opencl_state *d, void *native, bool *out_of_order,
                                 struct heed_error_detail *detail)
{
    void *context = NULL, *device = NULL;
    uint64_t properties = 0;
    int32_t code;

    code = d->api->GetCommandQueueInfo(native, HEED_CL_QUEUE_CONTEXT, sizeof(context), &context,
                                       NULL);
    if (code == HEED_CL_SUCCESS)
        code = d->api->GetCommandQueueInfo(native, HEED_CL_QUEUE_DEVICE, sizeof(device), &device,
                                           NULL);
    if (code == HEED_CL_SUCCESS)
        code = d->api->GetCommandQueueInfo(native, HEED_CL_QUEUE_PROPERTIES, sizeof(properties),
                                           &properties, NULL);
    if (code != HEED_CL_SUCCESS)
        return heed_opencl_status(code, "clGetCommandQueueInfo", detail);
    if (context != d->context || device != d->device)
        return mismatch(detail, "the queue is of another context or device");
    if (properties & HEED_CL_QUEUE_ON_DEVICE) {
        heed_offload_say(detail, "a queue that only kernels can fill");
        return HEED_E_UNSUPPORTED;
    }
    *out_of_order = (properties & HEED_CL_QUEUE_OUT_OF_ORDER) != 0;
    return HEED_OK;
}

/* Fills the queue with one of our own, or with a reference to the caller's. */
static heed_status take_queue(struct heed_opencl_state *d, void *native, uint32_t has_native,
                              struct heed_opencl_queue *queue, struct heed_error_detail *detail)
{
    int32_t code = HEED_CL_SUCCESS;
    heed_status status;

    if (!has_native) {
        queue->queue = d->api->CreateCommandQueue(d->context, d->device, 0, &code);
        if (queue->queue == NULL && code == HEED_CL_SUCCESS)
            code = HEED_CL_OUT_OF_RESOURCES;
        return heed_opencl_check(d, code, "clCreateCommandQueue", detail);
    }
    if (native == NULL)
        return mismatch(detail, "the queue is NULL");
    status = require_queue(d, native, &queue->out_of_order, detail);
    if (status < 0)
        return status;
    queue->queue = native;
    return heed_opencl_status(d->api->RetainCommandQueue(native), "clRetainCommandQueue", detail);
}

heed_status heed_opencl_queue_create(heed_device *device, void *native, uint32_t has_native,
                                     void **queue, struct heed_error_detail *detail)
{
    struct heed_opencl_state *const d = device->state;
    struct heed_opencl_queue *made;
    heed_status status = heed_opencl_enter(d, detail);

    if (status < 0)
        return status;
    made = heed_offload_alloc(d, sizeof(*made), _Alignof(struct heed_opencl_queue));
    if (made == NULL)
        return HEED_E_NOMEM;
    *made = (struct heed_opencl_queue){ .queue = NULL };
    status = take_queue(d, native, has_native, made, detail);
    if (status < 0) {
        heed_offload_free(d, made, sizeof(*made), _Alignof(struct heed_opencl_queue));
        return status;
    }
    *queue = made;
    return HEED_OK;
}

heed_status heed_opencl_queue_wait(heed_device *device, void *queue,
                                   struct heed_error_detail *detail)
{
    struct heed_opencl_state *const d = device->state;
    const struct heed_opencl_queue *const q = queue;
    const heed_status status = heed_opencl_enter(d, detail);

    return status < 0 ? status
                      : heed_opencl_check_end(d, d->api->Finish(q->queue), "clFinish", detail);
}

void heed_opencl_queue_destroy(heed_device *device, void *queue)
{
    struct heed_opencl_state *const d = device->state;
    struct heed_opencl_queue *const q = queue;

    if (q == NULL)
        return;
    (void)heed_opencl_queue_wait(device, q, NULL);
    heed_opencl_event_destroy(device, q->last);
    (void)d->api->ReleaseCommandQueue(q->queue);
    heed_offload_free(d, q, sizeof(*q), _Alignof(struct heed_opencl_queue));
}

heed_status heed_opencl_event_ask(struct heed_opencl_state *d, void *event, int32_t *outcome,
                                  struct heed_error_detail *detail)
{
    return heed_opencl_check(d,
                             d->api->GetEventInfo(event, HEED_CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                  sizeof(*outcome), outcome, NULL),
                             "clGetEventInfo", detail);
}

uint32_t heed_opencl_event_over(heed_device *device, void *event)
{
    int32_t outcome = 0;

    return heed_opencl_event_ask(device->state, event, &outcome, NULL) >= 0 && outcome <= 0;
}

/* Waiting says only that something failed; the event says what. */
heed_status heed_opencl_event_wait(heed_device *device, void *event,
                                   struct heed_error_detail *detail)
{
    struct heed_opencl_state *const d = device->state;
    const heed_status status = heed_opencl_enter(d, detail);
    int32_t code, outcome = 0;

    if (status < 0)
        return status;
    code = d->api->WaitForEvents(1, &event);
    if (code == HEED_CL_EXEC_STATUS_ERROR_IN_WAIT_LIST &&
        d->api->GetEventInfo(event, HEED_CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(outcome),
                             &outcome, NULL) == HEED_CL_SUCCESS &&
        outcome < 0)
        code = outcome;
    return heed_opencl_check_end(d, code, "clWaitForEvents", detail);
}

void heed_opencl_event_destroy(heed_device *device, void *event)
{
    struct heed_opencl_state *const d = device->state;

    if (event != NULL)
        (void)d->api->ReleaseEvent(event);
}

heed_status heed_opencl_event_wrap(heed_device *device, void *native, void **event,
                                   struct heed_error_detail *detail)
{
    struct heed_opencl_state *const d = device->state;
    heed_status status = heed_opencl_enter(d, detail);
    void *context = NULL;

    if (status < 0)
        return status;
    if (native == NULL)
        return mismatch(detail, "the event is NULL");
    status = heed_opencl_status(d->api->GetEventInfo(native, HEED_CL_EVENT_CONTEXT,
                                                     sizeof(context), &context, NULL),
                                "clGetEventInfo", detail);
    if (status < 0)
        return status;
    if (context != d->context)
        return mismatch(detail, "the event is of another context");
    status = heed_opencl_status(d->api->RetainEvent(native), "clRetainEvent", detail);
    if (status >= 0)
        *event = native;
    return status;
}

/* With a reference for the caller. */
void *heed_opencl_event_native(heed_device *device, void *event)
{
    struct heed_opencl_state *const d = device->state;

    if (heed_opencl_enter(d, NULL) < 0)
        return NULL;
    return d->api->RetainEvent(event) == HEED_CL_SUCCESS ? event : NULL;
}
