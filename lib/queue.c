/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Queues and events. A host device completes a run before it returns: its queue never holds
 * anything, and the event it hands out is the device's one completed event. So an event
 * outlives its queue but not its runtime.
 */
#include "alloc.h"
#include "context.h"
#include "error.h"

heed_status heed_queue_create(heed_device *device, uint32_t flags, heed_queue **out,
                              heed_report *report)
{
    heed_queue *queue;
    heed_status status;

    if (device == NULL || out == NULL)
        return heed_report_fill(report, HEED_E_NULL, device == NULL ? "device" : "queue", 0, 0,
                                "a required pointer is NULL");
    if (flags != 0)
        return heed_report_fill(report, HEED_E_FLAG, "flags", 0, flags, "no flag is known here");
    status = heed_context_usable(device, report);
    if (status < 0)
        return status;
    queue = heed_alloc(device->runtime, sizeof(*queue), _Alignof(heed_queue));
    if (queue == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, (int64_t)sizeof(*queue), 0,
                                "no memory for the queue");
    *queue = (heed_queue){ .device = device };
    *out = queue;
    return heed_report_ok(report);
}

heed_status heed_queue_wait(heed_queue *queue)
{
    return queue != NULL ? HEED_OK : HEED_E_NULL;
}

heed_device *heed_queue_device(const heed_queue *queue)
{
    return queue != NULL ? queue->device : NULL;
}

void heed_queue_destroy(heed_queue *queue)
{
    if (queue != NULL)
        heed_free(queue->device->runtime, queue, sizeof(*queue), _Alignof(heed_queue));
}

heed_status heed_event_wait(heed_event *event, heed_report *report)
{
    if (event == NULL)
        return heed_report_fill(report, HEED_E_NULL, "event", 0, 0, "a required pointer is NULL");
    if (event->status < 0)
        return heed_report_fill(report, event->status, "event", 0, 0, "the run failed");
    return heed_report_ok(report);
}

void heed_event_destroy(heed_event *event)
{
    if (event != NULL)
        atomic_fetch_sub_explicit(&event->handed_out, 1, memory_order_relaxed);
}
