/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of a plan, whatever its operation: made, prepared, described, dropped.
 */
#include "context.h"
#include "error.h"
#include "../ops/op.h"
#include "owned.h"
#include "sized.h"

#include <fenv.h>
#include <stdio.h>

enum { WORKSPACE_ALIGN = 64 };

/* The arena holds the plan too, so it starts on the stack and moves in once there is a place. */
struct heed_plan *heed_plan_new(const struct heed_op *op, heed_device *device)
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
    plan->op = op;
    plan->owned = owned;
    plan->device = device;
    plan->backend = device->backend;
    return plan;
}

static size_t workspace_align(const struct heed_plan *plan)
{
    return plan->workspace_align > WORKSPACE_ALIGN ? (size_t)plan->workspace_align
                                                   : WORKSPACE_ALIGN;
}

/* HEED_OK without a place for the result: 0 bytes. */
static heed_status make_workspace(struct heed_plan *plan, struct heed_error_detail *detail)
{
    struct heed_plan_owned *owned = plan->owned;
    const struct heed_services *services = owned->services;
    const struct heed_backend_offload *offload = plan->backend->offload;

    if (!plan->own_workspace || plan->workspace_size == 0)
        return HEED_OK;
    if (offload != NULL)
        return offload->buf_create(plan->device, plan->workspace_size, &owned->workspace, detail);
    if (plan->workspace_size <= SIZE_MAX)
        owned->workspace = services->alloc(services->runtime, (size_t)plan->workspace_size,
                                           workspace_align(plan));
    return owned->workspace != NULL ? HEED_OK : HEED_E_NOMEM;
}

heed_status heed_plan_prepare(struct heed_plan *plan, heed_report *report)
{
    const struct heed_services *services = plan->owned->services;
    struct heed_error_detail detail = { .native = 0 };
    const heed_status prepared = plan->impl->prepare(plan, services, &detail);
    heed_status status;

    if (prepared < 0)
        return heed_report_detail(report, prepared, NULL, &detail, "%s cannot prepare the plan",
                                  plan->impl->name);
    if (plan->workspace_align == 0)
        plan->workspace_align = 1;
    status = make_workspace(plan, &detail);
    if (status >= 0)
        return prepared;
    plan->owned->workspace = NULL;
    if (plan->impl->release != NULL)
        plan->impl->release(plan, services);
    return heed_report_detail(report, status, NULL, &detail,
                              "no memory for the plan's own workspace of %llu bytes",
                              (unsigned long long)plan->workspace_size);
}

static uint32_t delivered(const struct heed_plan *plan)
{
    if (plan->loose)
        return HEED_NUMERICS_FAST;
    if (plan->device->props.exact)
        return HEED_NUMERICS_EXACT;
    return plan->numerics == HEED_NUMERICS_BEST ? HEED_NUMERICS_FAST : plan->numerics;
}

void heed_plan_work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    plan->op->work(plan, flops, bytes);
}

heed_status heed_plan_info(const heed_plan *plan, heed_plan_props *props)
{
    heed_plan_props filled = { .size = sizeof(filled) };
    const struct heed_plan_owned *owned;
    fenv_t caller;

    if (plan == NULL || props == NULL)
        return HEED_E_NULL;
    owned = plan->owned;
    filled.numerics = delivered(plan);
    filled.workspace_size = plan->own_workspace ? 0 : plan->workspace_size;
    filled.workspace_align = plan->own_workspace ? 1 : plan->workspace_align;
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    heed_plan_work(plan, &filled.flops, &filled.bytes);
    fesetenv(&caller);
    filled.host_bytes = owned->arena.bytes + plan->state_bytes;
    filled.device_bytes = plan->device_bytes;
    if (owned->workspace != NULL)
        *(plan->backend->offload != NULL ? &filled.device_bytes : &filled.host_bytes) +=
            plan->workspace_size;
    snprintf(filled.implementation, sizeof(filled.implementation), "%s%s%s", plan->impl->name,
             plan->kernel != NULL ? " " : "", plan->kernel != NULL ? plan->kernel : "");
    return heed_sized_out(props, HEED_PLAN_PROPS_V1, &filled, sizeof(filled));
}

heed_plan *heed_plan_retain(heed_plan *plan)
{
    if (plan != NULL)
        atomic_fetch_add_explicit(&plan->owned->references, 1, memory_order_relaxed);
    return plan;
}

/* On offload devices the last run may still be using it. */
static void drop_workspace(struct heed_plan *plan)
{
    const struct heed_plan_owned *owned = plan->owned;
    const struct heed_services *services = owned->services;
    const struct heed_backend_offload *offload = plan->backend->offload;
    struct heed_error_detail ignored = { .native = 0 };

    if (owned->last != NULL && owned->last->offload != NULL)
        offload->event_wait(plan->device, owned->last->offload, &ignored);
    heed_event_release(owned->last);
    if (owned->workspace == NULL)
        return;
    if (offload != NULL)
        offload->buf_destroy(plan->device, owned->workspace);
    else
        services->free(services->runtime, owned->workspace, (size_t)plan->workspace_size,
                       workspace_align(plan));
}

void heed_plan_drop(heed_plan *plan)
{
    struct heed_plan_owned *owned;
    struct heed_arena arena;

    if (plan == NULL)
        return;
    owned = plan->owned;
    if (atomic_fetch_sub_explicit(&owned->references, 1, memory_order_acq_rel) != 1)
        return;
    drop_workspace(plan);
    if (plan->impl->release != NULL)
        plan->impl->release(plan, owned->services);
    arena = owned->arena;           /* the plan itself lies in it */
    heed_arena_finish(&arena);
}
