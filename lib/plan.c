/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plans: from descriptor to bound implementation, and the life of the result. The lowered form
 * is built for every device, since a pattern that it cannot hold is refused on all of them
 * alike, but handed only to those that read it.
 */
#include "ops/attn/check.h"
#include "context.h"
#include "error.h"
#include "owned.h"
#include "sized.h"
#include "spans.h"

#include <stdio.h>
#include <string.h>

enum { WORKSPACE_ALIGN = 64 };

static heed_status choose(struct heed_plan *plan, heed_report *report)
{
    const struct heed_impl *const *impls = plan->backend->impls;
    const char *reason = "the device has no implementation";
    const char *field = NULL;

    for (size_t i = 0; impls[i] != NULL; i++) {
        field = NULL;
        reason = impls[i]->refuse == NULL ? NULL
                                          : impls[i]->refuse(plan->device, plan->attn, &field);
        if (reason == NULL) {
            plan->impl = impls[i];
            return HEED_OK;
        }
    }
    return heed_report_fill(report, HEED_E_UNSUPPORTED, field, 0, 0, "%s", reason);
}

heed_status heed_plan_prepare(struct heed_plan *plan, const heed_attn_desc *desc,
                              heed_report *report)
{
    struct heed_plan_owned *owned = plan->owned;
    const struct heed_lowered *lowered = NULL;
    heed_status status;

    status = heed_check_attn(desc, &owned->arena, &plan->attn, report);
    if (status < 0)
        return status;
    if (plan->attn->numerics == HEED_NUMERICS_EXACT && !plan->device->props.exact)
        return heed_report_fill(report, HEED_E_UNSUPPORTED, "numerics", 0, 0,
                                "%.60s is not exact: %.120s", plan->device->props.name,
                                plan->device->props.reason);
    status = choose(plan, report);
    if (status < 0)
        return status;
    status = heed_spans_build(plan->attn, &owned->arena, &lowered, report);
    if (status < 0)
        return status;
    heed_spans_work(plan->attn, lowered, &owned->flops, &owned->bytes);
    plan->lowered = plan->backend->lowered ? lowered : NULL;
    return HEED_OK;
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

    if (!owned->own_workspace || plan->workspace_size == 0)
        return HEED_OK;
    if (offload != NULL)
        return offload->buf_create(plan->device, plan->workspace_size, &owned->workspace, detail);
    if (plan->workspace_size <= SIZE_MAX)
        owned->workspace = services->alloc(services->runtime, (size_t)plan->workspace_size,
                                           workspace_align(plan));
    return owned->workspace != NULL ? HEED_OK : HEED_E_NOMEM;
}

heed_status heed_plan_bind(struct heed_plan *plan, heed_report *report)
{
    const struct heed_services *services = plan->owned->services;
    struct heed_error_detail detail = { .native = 0 };
    const heed_status bound = plan->impl->bind(plan, services, &detail);
    heed_status status;

    if (bound < 0)
        return heed_report_detail(report, bound, NULL, &detail, "%s cannot bind the plan",
                                  plan->impl->name);
    if (plan->workspace_align == 0)
        plan->workspace_align = 1;
    status = make_workspace(plan, &detail);
    if (status >= 0)
        return bound;
    plan->owned->workspace = NULL;
    if (plan->impl->drop != NULL)
        plan->impl->drop(plan, services);
    return heed_report_detail(report, status, NULL, &detail,
                              "no memory for the plan's own workspace of %llu bytes",
                              (unsigned long long)plan->workspace_size);
}

static uint32_t delivered(const struct heed_plan *plan)
{
    if (plan->device->props.exact)
        return HEED_NUMERICS_EXACT;
    return plan->attn->numerics == HEED_NUMERICS_BEST ? HEED_NUMERICS_FAST : plan->attn->numerics;
}

heed_status heed_plan_info(const heed_plan *plan, heed_plan_props *props)
{
    heed_plan_props filled = { .size = sizeof(filled) };
    const struct heed_plan_owned *owned;

    if (plan == NULL || props == NULL)
        return HEED_E_NULL;
    owned = plan->owned;
    filled.numerics = delivered(plan);
    filled.workspace_size = owned->own_workspace ? 0 : plan->workspace_size;
    filled.workspace_align = owned->own_workspace ? 1 : plan->workspace_align;
    filled.flops = owned->flops;
    filled.bytes = owned->bytes;
    filled.host_bytes = owned->arena.bytes + plan->state_bytes;
    filled.device_bytes = plan->device_bytes;
    if (owned->workspace != NULL)
        *(plan->backend->offload != NULL ? &filled.device_bytes : &filled.host_bytes) +=
            plan->workspace_size;
    snprintf(filled.implementation, sizeof(filled.implementation), "%s", plan->impl->name);
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
    if (plan->impl->drop != NULL)
        plan->impl->drop(plan, owned->services);
    arena = owned->arena;           /* the plan itself lies in it */
    heed_arena_finish(&arena);
}
