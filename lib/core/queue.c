/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Queues and events. A host device completes a run before it returns: its queue never holds
 * anything, and the event it hands out is the device's one completed event. Other devices have
 * queues and events of their own, and an event is an object that holds the backend's. So an event
 * outlives its queue but not its runtime.
 */
#include "alloc.h"
#include "context.h"
#include "error.h"
#include "interop.h"

#define MOST_SHARES ((int64_t)1 << 62) /* with a worker's last look behind them */

static const struct heed_backend_offload *offload_of(const heed_device *device)
{
    return device->backend->offload;
}

/* own: not over the caller's `native`. */
static heed_status make_queue(heed_device *device, void *native, bool own, heed_queue **out,
                              heed_report *report)
{
    struct heed_error_detail detail = { .native = 0 };
    heed_status status = heed_context_usable(device, report);
    heed_queue *queue;

    if (status < 0)
        return status;
    queue = heed_alloc(device->runtime, sizeof(*queue), _Alignof(heed_queue));
    if (queue == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, (int64_t)sizeof(*queue), 0,
                                "no memory for the queue");
    *queue = (heed_queue){ .device = device };
    if (offload_of(device) != NULL)
        status = offload_of(device)->queue_create(device, native, !own, &queue->offload, &detail);
    if (status < 0) {
        heed_free(device->runtime, queue, sizeof(*queue), _Alignof(heed_queue));
        return heed_report_detail(report, status, "queue", &detail,
                                   "%.60s cannot make the queue", device->props.name);
    }
    *out = queue;
    return heed_report_ok(report);
}

heed_status heed_queue_create(heed_device *device, uint32_t flags, heed_queue **out,
                              heed_report *report)
{
    if (device == NULL || out == NULL)
        return heed_report_fill(report, HEED_E_NULL, device == NULL ? "device" : "queue", 0, 0,
                                "a required pointer is NULL");
    if (flags != 0)
        return heed_report_fill(report, HEED_E_FLAG, "flags", 0, flags, "no flag is known here");
    return make_queue(device, NULL, true, out, report);
}

heed_status heed_queue_over(heed_device *device, void *native, heed_queue **out,
                            heed_report *report)
{
    return make_queue(device, native, false, out, report);
}

heed_status heed_queue_wait(heed_queue *queue, heed_report *report)
{
    struct heed_error_detail detail = { .native = 0 };
    heed_status status = HEED_OK;

    if (queue == NULL)
        return heed_report_fill(report, HEED_E_NULL, "queue", 0, 0, "a required pointer is NULL");
    if (offload_of(queue->device) != NULL)
        status = offload_of(queue->device)->queue_wait(queue->device, queue->offload, &detail);
    if (status < 0)
        return heed_report_detail(report, status, "queue", &detail, "the queue's work failed");
    return heed_report_ok(report);
}

heed_status heed_queue_width(heed_queue *queue, uint32_t width, heed_report *report)
{
    const heed_executor *executor;

    if (queue == NULL)
        return heed_report_fill(report, HEED_E_NULL, "queue", 0, 0, "a required pointer is NULL");
    executor = &queue->device->runtime->executor;
    if (width > executor->width)
        return heed_report_fill(report, HEED_E_VALUE, "width", executor->width, width,
                                "the executor has %u workers", executor->width);
    queue->width = width;
    return heed_report_ok(report);
}

struct shares {
    void (*body)(void *arg, int64_t i);
    void *arg;
    int64_t n;
    atomic_int_least64_t next;
};

static void shares_take(void *given, uint32_t worker)
{
    struct shares *shares = given;
    int64_t i;

    (void)worker;
    while ((i = atomic_fetch_add_explicit(&shares->next, 1, memory_order_relaxed)) < shares->n)
        shares->body(shares->arg, i);
}

heed_status heed_parallel(heed_queue *queue, int64_t n, void (*body)(void *arg, int64_t i),
                          void *arg, heed_report *report)
{
    struct shares shares = { .body = body, .arg = arg, .n = n };
    const heed_executor *executor;
    uint32_t width;

    if (queue == NULL || body == NULL)
        return heed_report_fill(report, HEED_E_NULL, queue == NULL ? "queue" : "body", 0, 0,
                                "a required pointer is NULL");
    if (n < 0 || n > MOST_SHARES)
        return heed_report_fill(report, HEED_E_VALUE, "n", n < 0 ? 0 : MOST_SHARES, n,
                                "0 to 2^62 shares");
    if (offload_of(queue->device) != NULL)
        return heed_report_fill(report, HEED_E_UNSUPPORTED, "queue", 0, 0,
                                "%.60s has no threads for the host's work",
                                queue->device->props.name);
    executor = &queue->device->runtime->executor;
    width = queue->width != 0 ? queue->width : executor->width;
    if (n < width)
        width = (uint32_t)n;
    atomic_init(&shares.next, 0);
    if (width == 1)
        shares_take(&shares, 0);
    else if (width > 1)
        executor->parallel(executor->context, width, shares_take, &shares);
    return heed_report_ok(report);
}

heed_device *heed_queue_device(const heed_queue *queue)
{
    return queue != NULL ? queue->device : NULL;
}

void heed_queue_destroy(heed_queue *queue)
{
    if (queue == NULL)
        return;
    if (offload_of(queue->device) != NULL)
        offload_of(queue->device)->queue_destroy(queue->device, queue->offload);
    heed_free(queue->device->runtime, queue, sizeof(*queue), _Alignof(heed_queue));
}

heed_event *heed_event_new(heed_device *device)
{
    heed_event *event = heed_alloc(device->runtime, sizeof(*event), _Alignof(heed_event));

    if (event == NULL)
        return NULL;
    event->device = device;
    event->status = HEED_OK;
    event->reserved = 0;
    event->offload = NULL;
    atomic_init(&event->handed_out, 1);
    return event;
}

heed_event *heed_event_retain(heed_event *event)
{
    atomic_fetch_add_explicit(&event->handed_out, 1, memory_order_relaxed);
    return event;
}

void heed_event_release(heed_event *event)
{
    heed_device *device;

    if (event == NULL ||
        atomic_fetch_sub_explicit(&event->handed_out, 1, memory_order_acq_rel) != 1)
        return;
    device = event->device;
    if (event->offload != NULL)
        offload_of(device)->event_destroy(device, event->offload);
    heed_free(device->runtime, event, sizeof(*event), _Alignof(heed_event));
}

heed_status heed_event_over(heed_device *device, void *native, heed_event **out,
                            heed_report *report)
{
    struct heed_error_detail detail = { .native = 0 };
    heed_status status = heed_context_usable(device, report);
    heed_event *event;

    if (status < 0)
        return status;
    event = heed_event_new(device);
    if (event == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, (int64_t)sizeof(*event), 0,
                                "no memory for the event");
    status = offload_of(device)->event_wrap(device, native, &event->offload, &detail);
    if (status < 0) {
        event->offload = NULL;
        heed_event_release(event);
        return heed_report_detail(report, status, "event", &detail, "no event can be made of it");
    }
    atomic_fetch_add_explicit(&device->done->handed_out, 1, memory_order_relaxed);
    *out = event;
    return heed_report_ok(report);
}

heed_status heed_event_wait(heed_event *event, heed_report *report)
{
    struct heed_error_detail detail = { .native = 0 };
    heed_status status;

    if (event == NULL)
        return heed_report_fill(report, HEED_E_NULL, "event", 0, 0, "a required pointer is NULL");
    status = event->status;
    if (event->offload != NULL)
        status = offload_of(event->device)->event_wait(event->device, event->offload, &detail);
    if (status < 0)
        return heed_report_detail(report, status, "event", &detail, "the run failed");
    return heed_report_ok(report);
}

void heed_event_destroy(heed_event *event)
{
    heed_event *done;

    if (event == NULL)
        return;
    done = event->device->done;
    atomic_fetch_sub_explicit(&done->handed_out, 1, memory_order_relaxed);
    if (event != done)
        heed_event_release(event);
}
