/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Public entry points of attention, but for those that take the arguments of a run (run.c).
 */
#include "bind.h"
#include "ops/attn/check.h"
#include "context.h"
#include "error.h"
#include "owned.h"
#include "ops/attn/visible.h"

#include <fenv.h>

static heed_status require(const void *pointer, const char *field, heed_report *report)
{
    if (pointer != NULL)
        return HEED_OK;
    return heed_report_fill(report, HEED_E_NULL, field, 0, 0, "a required pointer is NULL");
}

static heed_status require_device(const heed_device *device, const heed_attn_desc *desc,
                                  heed_report *report)
{
    heed_status status = require(device, "device", report);

    if (status >= 0)
        status = require(desc, "desc", report);
    return status >= 0 ? heed_context_usable(device, report) : status;
}

/* Some of a plan are numbers that were rounded: it is made in the default environment, whatever the
 * caller's, which is put back, sticky flags and all. keep: flags of the descriptor that count. */
static heed_status make(struct heed_plan *plan, const heed_attn_desc *desc, int bind, uint32_t keep,
                        heed_report *report)
{
    fenv_t caller;
    heed_status status;

    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    status = heed_plan_prepare(plan, desc, report);
    if (status >= 0 && bind) {
        plan->owned->own_workspace = (desc->flags & keep & HEED_PLAN_OWN_WORKSPACE) != 0;
        status = heed_plan_bind(plan, report);
    }
    fesetenv(&caller);
    return status;
}

/* Binds too, as that may fail, but for devices that would build kernels. */
heed_status heed_attn_check(heed_device *device, const heed_attn_desc *desc, heed_report *report)
{
    struct heed_plan plan = { .device = device };
    struct heed_plan_owned owned = { .own_workspace = 0 };
    heed_status status = require_device(device, desc, report);
    int bind;

    if (status < 0)
        return status;
    bind = device->backend->host != 0;
    plan.backend = device->backend;
    plan.owned = &owned;
    owned.services = &device->runtime->services;
    heed_arena_init(&owned.arena, device->runtime);
    status = make(&plan, desc, bind, 0, report);
    if (status >= 0 && bind && plan.impl->drop != NULL)
        plan.impl->drop(&plan, owned.services);
    heed_arena_finish(&owned.arena);
    return status < 0 ? status : heed_report_ok(report);
}

/* The arena holds the plan too, so it starts on the stack and moves in once there is a place. */
static struct heed_plan *new_plan(heed_device *device)
{
    struct heed_arena arena;
    struct heed_plan *plan;
    struct heed_plan_owned *owned;

    heed_arena_init(&arena, device->runtime);
    plan = heed_arena_take(&arena, sizeof(*plan), _Alignof(struct heed_plan));
    owned = heed_arena_take(&arena, sizeof(*owned), _Alignof(struct heed_plan_owned));
    if (plan == NULL || owned == NULL) {
        heed_arena_finish(&arena);
        return NULL;
    }
    atomic_init(&owned->references, 1);
    atomic_flag_clear(&owned->busy);
    owned->arena = arena;
    owned->services = &device->runtime->services;
    plan->owned = owned;
    plan->device = device;
    plan->backend = device->backend;
    return plan;
}

heed_status heed_attn_plan(heed_device *device, const heed_attn_desc *desc, heed_plan **out,
                           heed_report *report)
{
    struct heed_plan *plan;
    struct heed_arena arena;
    heed_status status = require_device(device, desc, report);

    if (status >= 0)
        status = require(out, "plan", report);
    if (status < 0)
        return status;
    plan = new_plan(device);
    if (plan == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, 0, 0, "no memory for the plan");
    status = make(plan, desc, 1, HEED_PLAN_OWN_WORKSPACE, report);
    if (status < 0)
        goto finish_arena;
    heed_context_log(device->runtime, HEED_LOG_DETAIL, "attention planned for %s: %s",
                     device->props.name, plan->impl->name);
    *out = plan;
    heed_report_ok(report);
    return status;

finish_arena:
    arena = plan->owned->arena;
    heed_arena_finish(&arena);
    return status;
}

static heed_status check_place(int64_t value, int64_t bound, const char *field, heed_report *report)
{
    if (value >= 0 && value < bound)
        return HEED_OK;
    return heed_report_fill(report, HEED_E_VALUE, field, bound, value, "there are %lld of them",
                            (long long)bound);
}

heed_status heed_attn_visible(const heed_attn_desc *desc, const heed_attn_args *args, int64_t batch,
                              int64_t head, int64_t row, uint32_t source, uint8_t *seen,
                              heed_report *report)
{
    const struct heed_checked *attn = NULL;
    struct heed_binding binding;
    struct heed_arena arena;
    heed_status status = require(desc, "desc", report);

    if (status >= 0)
        status = require(seen, "seen", report);
    if (status < 0)
        return status;
    heed_arena_init(&arena, NULL);      /* no device, so no runtime: malloc */
    status = heed_check_attn(desc, &arena, &attn, report);
    if (status >= 0)
        status = check_place(batch, attn->n_batch, "batch", report);
    if (status >= 0)
        status = check_place(head, attn->heads, "head", report);
    if (status >= 0)
        status = check_place(row, attn->n_q, "row", report);
    if (status >= 0)
        status = check_place(source, attn->n_sources, "source", report);
    if (status >= 0)
        status = heed_bind_slots(attn, args, &binding, report);
    if (status >= 0)
        status = heed_visible_row(attn, &binding.bound, batch, head, row, source, seen, report);
    heed_arena_finish(&arena);
    return status < 0 ? status : heed_report_ok(report);
}
