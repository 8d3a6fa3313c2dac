/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The run of any operation. A host run is complete when the backend returns. A run on an offload
 * device is in flight then: what it uses of the plan's own (the workspace) is kept apart by events,
 * which the next run waits for on the device, not here.
 */
#include "launch.h"

#include "../core/context.h"
#include "../core/error.h"
#include "../core/owned.h"
#include "operands.h"

#include <stdio.h>
#include <string.h>

bool heed_launch_opaque(const struct heed_backend *backend)
{
    return backend->offload != NULL && backend->offload->handles;
}

/* ---- the caller's arguments ---- */

static heed_status wait_fail(heed_report *report, heed_status status, uint32_t index,
                             const char *message)
{
    char field[HEED_FIELD];

    heed_operand_name(field, "wait[]", index);
    return heed_report_fill(report, status, field, 0, 0, "%s", message);
}

/* On the host, events are complete. Elsewhere, those that are complete have no part of the
 * backend's. */
static heed_status require_waits(const heed_plan *plan, struct heed_launching *l,
                                 heed_report *report)
{
    const heed_run *run = &l->places.run;

    if (run->n_wait > 0 && run->wait == NULL)
        return heed_report_fill(report, HEED_E_NULL, "wait", run->n_wait, 0,
                                "a required pointer is NULL");
    if (run->n_wait > HEED_MAX_WAITS && plan->backend->offload != NULL)
        return heed_report_fill(report, HEED_E_UNSUPPORTED, "wait", HEED_MAX_WAITS, run->n_wait,
                                "a run on %.60s waits for %d events at most",
                                plan->device->props.name, HEED_MAX_WAITS);
    for (uint32_t i = 0; i < run->n_wait; i++) {
        const heed_event *event = run->wait[i];

        if (event == NULL)
            return wait_fail(report, HEED_E_NULL, i, "an event is NULL");
        if (event->device != plan->device)
            return wait_fail(report, HEED_E_MISMATCH, i, "the event is of another device");
        if (event->offload != NULL)
            l->waits[l->launch.n_waits++] = event->offload;
    }
    return HEED_OK;
}

/* How the memory of a run is given: as arguments of the operation, or operand by operand. */
typedef heed_status place_fn(const struct heed_plan *, const void *given, struct heed_places *,
                             heed_report *);

static heed_status place(const heed_plan *plan, const heed_queue *queue, place_fn *how,
                         const void *given, struct heed_launching *l, heed_report *report)
{
    heed_status status;

    memset(l, 0, sizeof(*l));
    l->launch.at = l->places.at;
    l->launch.waits = l->waits;
    if (queue->device != plan->device)
        return heed_report_fill(report, HEED_E_MISMATCH, "queue", 0, 0,
                                "the queue is of %.60s, the plan of %.60s",
                                queue->device->props.name, plan->device->props.name);
    status = how(plan, given, &l->places, report);
    if (status >= 0)
        status = require_waits(plan, l, report);
    if (status >= 0)
        status = heed_operands_require(plan->operands, plan->n_operands,
                                       heed_launch_opaque(plan->backend),
                                       plan->backend->offload == NULL, l->places.at, report);
    return status;
}

heed_status heed_launch_place(const heed_plan *plan, const heed_queue *queue, const void *args,
                              struct heed_launching *l, heed_report *report)
{
    return place(plan, queue, plan->op->place, args, l, report);
}

static heed_status require_workspace(const heed_plan *plan, struct heed_launching *l,
                                     heed_report *report)
{
    l->launch.workspace = l->places.run.workspace;
    if (!plan->own_workspace && plan->workspace_size > 0)
        return heed_operands_require_workspace(plan, &l->places.run,
                                               heed_launch_opaque(plan->backend), l->places.at,
                                               report);
    l->launch.workspace = (heed_buf){ .handle = plan->owned->workspace };
    return HEED_OK;
}

/* ---- the plan's own workspace ---- */

static bool take_workspace(const heed_plan *plan)
{
    return !plan->own_workspace ||
           !atomic_flag_test_and_set_explicit(&plan->owned->busy, memory_order_acquire);
}

static void give_workspace(const heed_plan *plan)
{
    if (plan->own_workspace)
        atomic_flag_clear_explicit(&plan->owned->busy, memory_order_release);
}

static heed_status call(const heed_plan *plan, const struct heed_launching *l)
{
    return plan->impl->run(plan, plan->owned->services, &l->launch);
}

/* ---- offload devices ---- */

/* Has the run before this one to be waited for? Not if it is over: it may have failed, and what
 * waits for a failed event fails with it. */
static bool waits_for_last(const struct heed_plan_owned *owned, const heed_plan *plan)
{
    const struct heed_backend_offload *offload = plan->backend->offload;

    if (owned->last == NULL || owned->last->offload == NULL)
        return false;
    return offload->event_over == NULL ||
           !offload->event_over(plan->device, owned->last->offload);
}

/* With a workspace of the plan's own there is always an event, for the next run to wait for: on the
 * device, whatever the queue. A failed run may have left work behind that uses the workspace and
 * has no event: that is waited for here. */
static heed_status call_own(const heed_plan *plan, const heed_queue *queue,
                            struct heed_launching *l, heed_event *done)
{
    struct heed_plan_owned *owned = plan->owned;
    struct heed_error_detail ignored = { .native = 0 };
    heed_status status;

    if (waits_for_last(owned, plan))
        l->waits[l->launch.n_waits++] = owned->last->offload;
    status = call(plan, l);
    if (status < 0) {
        plan->backend->offload->queue_wait(queue->device, queue->offload, &ignored);
        return status;
    }
    heed_event_release(owned->last);
    owned->last = heed_event_retain(done);
    return status;
}

/* An event that is recorded while a queue is captured belongs to the capture: it tells nobody else
 * when a run has ended, not even the next run with the plan's own workspace. */
static heed_status require_no_capture(const heed_plan *plan, const heed_queue *queue,
                                      struct heed_error_detail *detail)
{
    const struct heed_backend_offload *offload = plan->backend->offload;
    uint32_t captures = 0;
    heed_status status = HEED_OK;

    if (offload->queue_captures != NULL)
        status = offload->queue_captures(plan->device, queue->offload, &captures, detail);
    if (status < 0 || !captures)
        return status;
    snprintf(detail->text, sizeof(detail->text), "the queue is captured: %s",
             plan->own_workspace ? "a run with the plan's own workspace cannot be"
                                 : "a run that gives an event cannot be");
    return HEED_E_UNSUPPORTED;
}

/* *event, if wanted, holds a reference of the caller's. */
static heed_status call_offload(const heed_plan *plan, const heed_queue *queue,
                                struct heed_launching *l, heed_event **event)
{
    const bool own = plan->own_workspace != 0;
    heed_event *done = NULL;
    heed_status status;

    l->launch.queue = queue->offload;
    if (event != NULL || own) {
        status = require_no_capture(plan, queue, l->launch.detail);
        if (status < 0)
            return status;
        done = heed_event_new(plan->device);
        if (done == NULL)
            return HEED_E_NOMEM;
        l->launch.event = &done->offload;
    }
    status = own ? call_own(plan, queue, l, done) : call(plan, l);
    if (status >= 0 && event != NULL)
        *event = heed_event_retain(done);
    heed_event_release(done);
    return status;
}

/* ---- run ---- */

static heed_status launch(const heed_plan *plan, const heed_queue *queue, struct heed_launching *l,
                          heed_event **event, heed_report *report)
{
    struct heed_error_detail detail = { .native = 0 };
    heed_event *done = plan->device->done;
    heed_status status;

    if (!take_workspace(plan))
        return heed_report_fill(report, HEED_E_BUSY, "workspace", 0, 0,
                                "another run uses the plan's own workspace");
    l->launch.detail = &detail;
    l->launch.width = queue->width;
    if (plan->backend->offload == NULL)
        status = call(plan, l);
    else
        status = call_offload(plan, queue, l, event != NULL ? &done : NULL);
    give_workspace(plan);
    if (status < 0)
        return heed_report_detail(report, status, NULL, &detail, "%s failed", plan->impl->name);
    if (event != NULL) {
        *event = done;
        atomic_fetch_add_explicit(&plan->device->done->handed_out, 1, memory_order_relaxed);
    }
    heed_report_ok(report);
    return status;
}

static heed_status place_and_launch(const heed_plan *plan, heed_queue *queue, place_fn *how,
                                    const void *given, heed_event **event, heed_report *report)
{
    struct heed_launching l;
    heed_plan *held = heed_plan_retain((heed_plan *)(uintptr_t)plan);   /* its count is written */
    heed_status status = place(plan, queue, how, given, &l, report);

    if (status >= 0)
        status = heed_operands_require_apart(plan->operands, plan->n_operands,
                                             heed_launch_opaque(plan->backend), l.places.at,
                                             report);
    if (status >= 0)
        status = require_workspace(plan, &l, report);
    if (status >= 0)
        status = launch(plan, queue, &l, event, report);
    heed_plan_drop(held);
    return status;
}

heed_status heed_op_run(const struct heed_op *op, const heed_plan *plan, heed_queue *queue,
                        const void *args, heed_event **event, heed_report *report)
{
    const heed_status status = heed_op_require_run(op, plan, queue, args, report);

    return status < 0 ? status
                      : place_and_launch(plan, queue, op->place, args, event, report);
}

/* ---- operand by operand ---- */

struct given {
    const heed_buf *at;
    const heed_run *run;
    uint32_t n;
};

static heed_status place_given(const struct heed_plan *plan, const void *pointer,
                               struct heed_places *to, heed_report *report)
{
    const struct given *given = pointer;

    if (given->n != plan->n_operands)
        return heed_report_fill(report, HEED_E_VALUE, "n", plan->n_operands, given->n,
                                "one entry per operand of the plan is wanted");
    if (given->run != NULL && given->run->reserved != 0)
        return heed_report_fill(report, HEED_E_VALUE, "run.reserved", 0, given->run->reserved,
                                "must be 0");
    memcpy(to->at, given->at, given->n * sizeof(*given->at));
    if (given->run != NULL)
        to->run = *given->run;
    return HEED_OK;
}

heed_status heed_plan_run(const heed_plan *plan, heed_queue *queue, const heed_buf *at, uint32_t n,
                          const heed_run *run, heed_event **event, heed_report *report)
{
    const struct given given = { .at = at, .run = run, .n = n };
    heed_status status = heed_op_require(plan, "plan", report);

    if (status >= 0)
        status = heed_op_require(queue, "queue", report);
    if (status >= 0)
        status = heed_op_require(at, "at", report);
    return status < 0 ? status : place_and_launch(plan, queue, place_given, &given, event, report);
}
