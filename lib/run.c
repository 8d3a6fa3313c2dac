/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Public entry points that take the arguments of a run. A host run is complete when the backend
 * returns. A run on another device is in flight then: what it uses of the plan's own (the
 * workspace) is kept apart by events, which the next run waits for on the device, not here.
 */
#include "bind.h"
#include "context.h"
#include "error.h"
#include "owned.h"
#include "ops/attn/validate.h"

static heed_status require(const void *pointer, const char *field, heed_report *report)
{
    if (pointer != NULL)
        return HEED_OK;
    return heed_report_fill(report, HEED_E_NULL, field, 0, 0, "a required pointer is NULL");
}

static heed_status require_run(const heed_plan *plan, const heed_queue *queue,
                               const heed_attn_args *args, heed_report *report)
{
    heed_status status = require(plan, "plan", report);

    if (status >= 0)
        status = require(queue, "queue", report);
    return status >= 0 ? require(args, "args", report) : status;
}

static bool take_workspace(struct heed_plan_owned *owned)
{
    return !owned->own_workspace ||
           !atomic_flag_test_and_set_explicit(&owned->busy, memory_order_acquire);
}

static void give_workspace(struct heed_plan_owned *owned)
{
    if (owned->own_workspace)
        atomic_flag_clear_explicit(&owned->busy, memory_order_release);
}

static heed_status call(const heed_plan *plan, struct heed_binding *binding)
{
    return plan->impl->run(plan, plan->owned->services, &binding->bound);
}

/* ---- devices that are not the host's ---- */

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
                            struct heed_binding *binding, heed_event *done)
{
    struct heed_plan_owned *owned = plan->owned;
    struct heed_error_detail ignored = { .native = 0 };
    heed_status status;

    if (waits_for_last(owned, plan))
        binding->waits[binding->bound.n_waits++] = owned->last->offload;
    status = call(plan, binding);
    if (status < 0) {
        plan->backend->offload->queue_wait(queue->device, queue->offload, &ignored);
        return status;
    }
    heed_event_release(owned->last);
    owned->last = heed_event_retain(done);
    return status;
}

/* *event, if wanted, holds a reference of the caller's. */
static heed_status call_offload(const heed_plan *plan, const heed_queue *queue,
                                struct heed_binding *binding, heed_event **event)
{
    const bool own = plan->owned->own_workspace != 0;
    heed_event *done = NULL;
    heed_status status;

    binding->bound.queue = queue->offload;
    if (event != NULL || own) {
        done = heed_event_new(plan->device);
        if (done == NULL)
            return HEED_E_NOMEM;
        binding->bound.event = &done->offload;
    }
    status = own ? call_own(plan, queue, binding, done) : call(plan, binding);
    if (status >= 0 && event != NULL)
        *event = heed_event_retain(done);
    heed_event_release(done);
    return status;
}

/* ---- run ---- */

static heed_status run_bound(const heed_plan *plan, const heed_queue *queue,
                             struct heed_binding *binding, heed_event **event, heed_report *report)
{
    struct heed_error_detail detail = { .native = 0 };
    heed_event *done = plan->device->done;
    heed_status status;

    if (!take_workspace(plan->owned))
        return heed_report_fill(report, HEED_E_BUSY, "workspace", 0, 0,
                                "another run uses the plan's own workspace");
    binding->bound.detail = &detail;
    if (plan->backend->offload == NULL)
        status = call(plan, binding);
    else
        status = call_offload(plan, queue, binding, event != NULL ? &done : NULL);
    give_workspace(plan->owned);
    if (status < 0)
        return heed_report_detail(report, status, NULL, &detail, "%s failed", plan->impl->name);
    if (event != NULL) {
        *event = done;
        atomic_fetch_add_explicit(&plan->device->done->handed_out, 1, memory_order_relaxed);
    }
    heed_report_ok(report);
    return status;
}

heed_status heed_attn_run(const heed_plan *plan, heed_queue *queue, const heed_attn_args *args,
                          heed_event **event, heed_report *report)
{
    struct heed_binding binding;
    heed_plan *held;
    heed_status status = require_run(plan, queue, args, report);

    if (status < 0)
        return status;
    held = heed_plan_retain((heed_plan *)(uintptr_t)plan);      /* only its count is written */
    status = heed_bind_run(plan, queue, args, &binding, report);
    if (status >= 0)
        status = run_bound(plan, queue, &binding, event, report);
    heed_plan_drop(held);
    return status;
}

/* ---- validate ---- */

static heed_status validate_offload(const heed_plan *plan, const heed_queue *queue,
                                    struct heed_binding *binding, heed_report *report)
{
    struct heed_readback back = { .at = { NULL } };
    heed_status status = heed_readback_slots(plan->attn, queue, binding, &back, report);

    if (status >= 0)
        status = heed_validate_slots(plan->attn, &binding->bound, report);
    heed_readback_finish(queue, &back);
    return status;
}

heed_status heed_attn_validate(const heed_plan *plan, heed_queue *queue, const heed_attn_args *args,
                               heed_report *report)
{
    struct heed_binding binding;
    heed_status status = require_run(plan, queue, args, report);

    if (status >= 0)
        status = heed_bind_inputs(plan, queue, args, &binding, report);
    if (status < 0)
        return status;
    if (plan->backend->offload != NULL)
        status = validate_offload(plan, queue, &binding, report);
    else
        status = heed_validate_slots(plan->attn, &binding.bound, report);
    return status < 0 ? status : heed_report_ok(report);
}
