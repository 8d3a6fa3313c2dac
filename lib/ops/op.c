/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Check and plan of every operation. Both take the same way: the descriptor is checked and lowered,
 * and the implementations are asked in their order whether they accept. check ends there; plan
 * prepares the first that accepts. The lowered form is built for every device, also for those that
 * do not read it, so that a pattern that it cannot hold is refused on all of them alike.
 */
#include "op.h"

#include "../core/context.h"
#include "../core/error.h"
#include "../core/owned.h"
#include "../launch/operands.h"

#include <fenv.h>

heed_status heed_op_require(const void *pointer, const char *field, heed_report *report)
{
    if (pointer != NULL)
        return HEED_OK;
    return heed_report_fill(report, HEED_E_NULL, field, 0, 0, "a required pointer is NULL");
}

heed_status heed_op_require_run(const struct heed_op *op, const heed_plan *plan,
                                const heed_queue *queue, const void *args, heed_report *report)
{
    heed_status status = heed_op_require(plan, "plan", report);

    if (status >= 0)
        status = heed_op_require(queue, "queue", report);
    if (status >= 0)
        status = heed_op_require(args, "args", report);
    if (status >= 0 && plan->op != op)
        return heed_report_fill(report, HEED_E_MISMATCH, "plan", op->id, plan->op->id,
                                "the plan is one of %s, this is the run of %s", plan->op->name,
                                op->name);
    return status;
}

static heed_status require_device(const heed_device *device, const void *desc, heed_report *report)
{
    heed_status status = heed_op_require(device, "device", report);

    if (status >= 0)
        status = heed_op_require(desc, "desc", report);
    return status >= 0 ? heed_context_usable(device, report) : status;
}

static heed_status require_exact(const struct heed_plan *plan, heed_report *report)
{
    const heed_device_props *props = &plan->device->props;

    if (plan->numerics != HEED_NUMERICS_EXACT || props->exact)
        return HEED_OK;
    return heed_report_fill(report, HEED_E_UNSUPPORTED, "numerics", 0, 0,
                            "%.60s is not exact: %.120s", props->name, props->reason);
}

/* The first implementation of the operation that accepts; the report has the last one's reason. */
static heed_status choose(struct heed_plan *plan, heed_report *report)
{
    struct heed_refusal why = { .reason = "the device has no implementation of it" };

    if (plan->impl != NULL)             /* what is made of others brings its own */
        return HEED_OK;
    for (const struct heed_impl *const *impl = plan->backend->impls; *impl != NULL; impl++) {
        if ((*impl)->op != plan->op->id)
            continue;
        why = (struct heed_refusal){ .reason = "no reason was given" };
        if ((*impl)->accepts == NULL ||
            (*impl)->accepts(plan, plan->owned->services, &why)) {
            plan->impl = *impl;
            return HEED_OK;
        }
    }
    if (why.field == NULL && plan->n_operands > 0)
        why.field = plan->operands[0].name; /* the report names a part in any case */
    return heed_report_fill(report, HEED_E_UNSUPPORTED, why.field, 0, 0, "%s", why.reason);
}

heed_status heed_op_form(struct heed_plan *plan, const void *desc, heed_report *report)
{
    struct heed_arena *arena = &plan->owned->arena;
    heed_status status = plan->op->check(plan, arena, desc, report);

    if (status >= 0)
        heed_operands_measure(plan);
    if (status >= 0)
        status = require_exact(plan, report);
    if (status >= 0)
        status = plan->op->lower(plan, arena, report);
    return status >= 0 ? choose(plan, report) : status;
}

/* Some of a plan are numbers that were rounded: they are found in the default environment, whatever
 * the caller's, which is put back, sticky flags and all. */
static heed_status form(struct heed_plan *plan, const void *desc, heed_report *report)
{
    fenv_t caller;
    heed_status status;

    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    status = heed_op_form(plan, desc, report);
    fesetenv(&caller);
    return status;
}

heed_status heed_op_check(const struct heed_op *op, heed_device *device, const void *desc,
                          heed_report *report)
{
    struct heed_plan_owned owned = { .workspace = NULL };
    struct heed_plan plan = { .op = op, .device = device, .owned = &owned };
    heed_status status = require_device(device, desc, report);

    if (status < 0)
        return status;
    plan.backend = device->backend;
    owned.services = &device->runtime->services;
    heed_arena_init(&owned.arena, device->runtime);
    status = form(&plan, desc, report);
    heed_arena_finish(&owned.arena);
    return status < 0 ? status : heed_report_ok(report);
}

static heed_status prepare(struct heed_plan *plan, heed_report *report)
{
    fenv_t caller;
    heed_status status;

    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    status = heed_plan_prepare(plan, report);
    fesetenv(&caller);
    return status;
}

heed_status heed_op_plan(const struct heed_op *op, heed_device *device, const void *desc,
                         heed_plan **out, heed_report *report)
{
    struct heed_plan *plan;
    struct heed_arena arena;
    heed_status status = require_device(device, desc, report);

    if (status >= 0)
        status = heed_op_require(out, "plan", report);
    if (status < 0)
        return status;
    plan = heed_plan_new(op, device);
    if (plan == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, 0, 0, "no memory for the plan");
    status = form(plan, desc, report);
    if (status >= 0)
        status = prepare(plan, report);
    if (status < 0)
        goto finish_arena;
    heed_context_log(device->runtime, HEED_LOG_DETAIL, "%s planned for %s: %s", op->name,
                     device->props.name, plan->impl->name);
    *out = plan;
    heed_report_ok(report);
    return status;

finish_arena:
    arena = plan->owned->arena;     /* the plan itself lies in it */
    heed_arena_finish(&arena);
    return status;
}
