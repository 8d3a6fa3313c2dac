/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks and resolves the arguments of a run. The passes over its arrays differ in what they look
 * at: first places, alignment and extents of all of them, then the bytes that an output shares with
 * any. Where memory is an opaque handle, nothing is known of it but that two handles are two
 * memories: offsets then take the place of addresses.
 */
#include "operand.h"

#include "alloc.h"
#include "context.h"
#include "dtype.h"
#include "error.h"
#include "overlap.h"
#include "owned.h"
#include "sized.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Where a buffer begins: an address, or with handles the offset and whose it is. false: handle +
 * offset leaves the address space. */
static bool place_of(const struct heed_binding *b, heed_buf buf, const void **p, void **handle)
{
    if (b->bound.handles != NULL) {
        if (buf.handle != NULL && buf.offset > INT64_MAX)     /* no memory is so large */
            return false;
        *p = (const void *)(uintptr_t)buf.offset;
        *handle = buf.handle;
        return true;
    }
    if (buf.offset > UINTPTR_MAX - (uintptr_t)buf.handle)
        return false;
    *p = buf.handle == NULL ? NULL : (const void *)((uintptr_t)buf.handle + buf.offset);
    return true;
}

/* false: some element of a non-empty array lies outside the address space. */
static bool fits(const struct heed_operand *x)
{
    const int64_t bytes = (int64_t)heed_dtype_size(x->view.dtype);
    int64_t low, high;

    if (!heed_view_range(&x->view, &low, &high) || !heed_mul_i64(low, bytes, &low) ||
        !heed_mul_i64(high, bytes, &high) || !heed_add_i64(high, bytes, &high))
        return false;
    return (uintptr_t)x->p >= 0 - (uint64_t)low &&
           (uint64_t)high <= (uint64_t)UINTPTR_MAX - (uintptr_t)x->p;
}

static heed_status check_operand(const struct heed_operand *x, heed_report *report)
{
    const uint32_t bytes = heed_dtype_size(x->view.dtype);

    if (heed_view_empty(&x->view))
        return HEED_OK;
    if (!x->given)
        return heed_operand_fail(report, HEED_E_NULL, x, 0, 0,
                                 "no memory was given for an array with elements");
    if (!fits(x))
        return heed_operand_fail(report, HEED_E_OVERFLOW, x, 0, 0,
                                 "the array leaves the address space");
    if ((uintptr_t)x->p % bytes != 0)
        return heed_operand_fail(report, HEED_E_ALIGN, x, bytes,
                                 (int64_t)((uintptr_t)x->p % bytes),
                                 "the address is not a multiple of the element size");
    return HEED_OK;
}

/* ---- passes ---- */

static heed_status visit_check(const struct heed_pass *pass, const struct heed_operand *x)
{
    return check_operand(x, pass->report);
}

/* Slots are resolved where they are used, so that what is in the places of the others does
 * not matter. */
static heed_status visit_resolve(const struct heed_pass *pass, const struct heed_operand *x)
{
    struct heed_binding *b = pass->binding;
    struct heed_operand resolved = *x;

    if (pass->args->slots == NULL && heed_view_empty(&x->view))
        return HEED_OK;
    if (pass->args->slots == NULL)
        return heed_report_fill(pass->report, HEED_E_NULL, "slots", pass->args->n_slots, 0,
                                "slot %" PRIu32 " is bound by run and there is no array",
                                x->index + 1);
    if (!place_of(b, pass->args->slots[x->index], &resolved.p, &resolved.handle))
        return heed_operand_fail(pass->report, HEED_E_OVERFLOW, x, 0, 0,
                    "handle and offset leave the address space");
    b->slots[x->index] = resolved.p;
    b->slot_handles[x->index] = resolved.handle;
    resolved.given = b->bound.handles != NULL ? resolved.handle != NULL : resolved.p != NULL;
    return check_operand(&resolved, pass->report);
}

static heed_status visit_overlap(const struct heed_pass *pass, const struct heed_operand *x)
{
    const struct heed_operand *out = pass->against;
    char other[HEED_FIELD];

    if (x->handle != out->handle || heed_view_empty(&x->view) || heed_view_empty(&out->view) ||
        !heed_overlap(&out->view, out->p, heed_dtype_size(out->view.dtype), &x->view, x->p,
                      heed_dtype_size(x->view.dtype)))
        return HEED_OK;
    heed_operand_name(other, x->name, x->index);
    return heed_report_fill(pass->report, HEED_E_ALIAS, out->name, 0, 0, "shares bytes with %s",
                            other);
}

/* ---- tensors ---- */

static heed_status bind_one(const struct heed_binding *b, heed_buf buf, const char *name,
                            uint32_t index, uint32_t dtype, const void **p, void **handle,
                            heed_report *report)
{
    const struct heed_operand x = { .name = name, .index = index };

    *p = NULL;
    if (dtype != 0 && !place_of(b, buf, p, handle))
        return heed_operand_fail(report, HEED_E_OVERFLOW, &x, 0, 0,
                                 "handle and offset leave the address space");
    return HEED_OK;
}

static heed_status bind_kv(const struct heed_checked *attn, const heed_attn_args *args,
                           struct heed_binding *b, heed_report *report)
{
    for (uint32_t i = 0; i < attn->n_sources; i++) {
        const char *given = (const char *)args->kv + (size_t)i * args->kv_size;
        const struct heed_checked_source *source = &attn->sources[i];
        heed_kv_bufs kv;
        char field[HEED_FIELD];
        heed_status status;

        heed_operand_name(field, "kv[]", i);
        status = heed_sized_element(given, args->kv_size, HEED_KV_BUFS_V1, &kv, sizeof(kv), field,
                                    report);
        if (status >= 0)
            status = bind_one(b, kv.k, "kv[].k", i, source->k.dtype, &b->k[i], &b->k_handles[i],
                              report);
        if (status >= 0)
            status = bind_one(b, kv.v, "kv[].v", i, source->v.dtype, &b->v[i], &b->v_handles[i],
                              report);
        if (status < 0)
            return status;
    }
    return HEED_OK;
}

static heed_status bind_tensors(const struct heed_checked *attn, const heed_attn_args *args,
                                struct heed_binding *b, heed_report *report)
{
    struct heed_handles *h = &b->handles;
    const void *o = NULL, *lse = NULL;
    heed_status status = bind_kv(attn, args, b, report);

    if (status >= 0)
        status = bind_one(b, args->q, "q", 0, attn->q.dtype, &b->bound.q, &h->q, report);
    if (status >= 0)
        status = bind_one(b, args->sinks, "sinks", 0, attn->sinks.dtype, &b->bound.sinks,
                          &h->sinks, report);
    if (status >= 0)
        status = bind_one(b, args->o, "o", 0, attn->o.dtype, &o, &h->o, report);
    if (status >= 0)
        status = bind_one(b, args->lse, "lse", 0, attn->lse.dtype, &lse, &h->lse, report);
    if (status < 0)
        return status;
    b->bound.o = (void *)(uintptr_t)o;          /* outputs: the caller's handle was not const */
    b->bound.lse = (void *)(uintptr_t)lse;
    return HEED_OK;
}

/* device NULL: host memory. */
static void clear(struct heed_binding *b, const heed_device *device)
{
    const struct heed_backend_offload *offload = device != NULL ? device->backend->offload : NULL;

    memset(b, 0, sizeof(*b));
    b->bound.k = b->k;
    b->bound.v = b->v;
    b->bound.slots = b->slots;
    b->bound.waits = b->waits;
    b->handles.k = b->k_handles;
    b->handles.v = b->v_handles;
    b->handles.slots = b->slot_handles;
    if (offload != NULL && offload->handles)
        b->bound.handles = &b->handles;
}

/* ---- steps of heed_bind_run ---- */

static heed_status check_slot_count(const struct heed_checked *attn, const heed_attn_args *args,
                                    heed_report *report)
{
    if (args->n_slots != attn->n_slots)
        return heed_report_fill(report, HEED_E_VALUE, "n_slots", attn->n_slots, args->n_slots,
                                "one entry per slot of the descriptor is wanted");
    return HEED_OK;
}

static heed_status resolve_slots(const struct heed_checked *attn, const heed_attn_args *args,
                                 struct heed_binding *b, heed_report *report)
{
    const struct heed_pass pass = {
        .visit = visit_resolve,
        .binding = b,
        .args = args,
        .report = report,
    };

    return heed_operand_slots(&pass, attn);
}

static heed_status check_counts(const struct heed_checked *attn, const heed_attn_args *args,
                                heed_report *report)
{
    assert(attn->n_sources <= HEED_MAX_SOURCES && attn->n_slots <= HEED_MAX_SLOTS);
    if (attn->n_sources > 0 && args->kv_size < HEED_KV_BUFS_V1)
        return heed_report_fill(report, HEED_E_SIZE, "kv_size", HEED_KV_BUFS_V1, args->kv_size,
                                "element size is below that of the first version");
    if (attn->n_sources > 0 && args->kv == NULL)
        return heed_report_fill(report, HEED_E_NULL, "kv", attn->n_sources, 0,
                                "one entry per source is wanted");
    return check_slot_count(attn, args, report);
}

/* On the host, events are complete. Elsewhere, those that are complete have no part of the
 * backend's. */
static heed_status check_wait(const struct heed_plan *plan, const heed_attn_args *args,
                              struct heed_binding *b, heed_report *report)
{
    if (args->n_wait > 0 && args->wait == NULL)
        return heed_report_fill(report, HEED_E_NULL, "wait", args->n_wait, 0,
                                "a required pointer is NULL");
    if (args->n_wait > HEED_MAX_WAITS && plan->backend->offload != NULL)
        return heed_report_fill(report, HEED_E_UNSUPPORTED, "wait", HEED_MAX_WAITS, args->n_wait,
                                "a run on %.60s waits for %d events at most",
                                plan->device->props.name, HEED_MAX_WAITS);
    for (uint32_t i = 0; i < args->n_wait; i++) {
        const struct heed_operand x = { .name = "wait[]", .index = i };
        const heed_event *event = args->wait[i];

        if (event == NULL)
            return heed_operand_fail(report, HEED_E_NULL, &x, 0, 0, "an event is NULL");
        if (event->device != plan->device)
            return heed_operand_fail(report, HEED_E_MISMATCH, &x, 0, 0,
                                     "the event is of another device");
        if (event->offload != NULL)
            b->waits[b->bound.n_waits++] = event->offload;
    }
    return HEED_OK;
}

/* An operand of its own, for a pass against it. */
static struct heed_operand operand_of(const struct heed_view *view, const void *p, void *handle,
                                      const char *name)
{
    return (struct heed_operand){ .view = *view, .p = p, .handle = handle, .name = name };
}

/* Two outputs against each other and every input; inputs may share memory freely. */
static heed_status check_aliases(const struct heed_checked *attn, struct heed_binding *b,
                                 heed_report *report)
{
    const struct heed_operand o = operand_of(&attn->o, b->bound.o, b->handles.o, "o");
    const struct heed_operand lse = operand_of(&attn->lse, b->bound.lse, b->handles.lse, "lse");
    struct heed_pass pass = {
        .visit = visit_overlap, .binding = b, .against = &o, .report = report
    };
    heed_status status = attn->lse.dtype != 0 ? visit_overlap(&pass, &lse) : HEED_OK;

    if (status >= 0)
        status = heed_operand_inputs(&pass, attn);
    if (status < 0 || attn->lse.dtype == 0)
        return status;
    pass.against = &lse;
    return heed_operand_inputs(&pass, attn);
}

/* The plan's own workspace is memory of the runtime's, or of the device from its beginning on. */
static void bind_own_workspace(const struct heed_plan *plan, struct heed_binding *b)
{
    if (b->bound.handles != NULL)
        b->handles.workspace = plan->owned->workspace;
    else
        b->bound.workspace = plan->owned->workspace;
}

static heed_status bind_workspace(const struct heed_plan *plan, const heed_attn_args *args,
                                  struct heed_binding *b, heed_report *report)
{
    struct heed_operand w = { .view = { .dtype = HEED_U8 }, .name = "workspace" };
    struct heed_pass pass = {
        .visit = visit_overlap, .binding = b, .against = &w, .report = report
    };
    heed_status status;

    if (plan->owned->own_workspace || plan->workspace_size == 0) {
        bind_own_workspace(plan, b);
        return HEED_OK;
    }
    if (args->workspace_size < plan->workspace_size || args->workspace.handle == NULL)
        return heed_report_fill(report, HEED_E_WORKSPACE, "workspace",
                                (int64_t)plan->workspace_size,
                                args->workspace.handle == NULL ? 0 : (int64_t)args->workspace_size,
                                "the workspace is absent or too small");
    for (int i = 0; i < 6; i++)
        w.view.shape[i] = 1;
    w.view.shape[5] = (int64_t)plan->workspace_size;
    w.view.stride[5] = 1;
    if (!place_of(b, args->workspace, &w.p, &w.handle) || !fits(&w))
        return heed_operand_fail(report, HEED_E_OVERFLOW, &w, 0, 0,
                                 "the workspace leaves the address space");
    if ((uintptr_t)w.p % plan->workspace_align != 0)
        return heed_operand_fail(report, HEED_E_ALIGN, &w, (int64_t)plan->workspace_align,
                                 (int64_t)((uintptr_t)w.p % plan->workspace_align),
                                 "the workspace is not aligned as heed_plan_info() says");
    status = heed_operand_outputs(&pass, plan->attn);
    if (status >= 0)
        status = heed_operand_inputs(&pass, plan->attn);
    b->bound.workspace = (void *)(uintptr_t)w.p;
    b->handles.workspace = w.handle;
    return status;
}

heed_status heed_bind_slots(const struct heed_checked *attn, const heed_attn_args *given,
                            struct heed_binding *b, heed_report *report)
{
    heed_attn_args args = { .n_slots = attn->n_slots };
    heed_status status;

    clear(b, NULL);
    if (given != NULL) {
        status = heed_sized_in(given, HEED_ATTN_ARGS_V1, &args, sizeof(args), "args", report);
        if (status >= 0)
            status = check_slot_count(attn, &args, report);
        if (status < 0)
            return status;
    }
    return resolve_slots(attn, &args, b, report);
}

static heed_status bind_arrays(const struct heed_plan *plan, const heed_queue *queue,
                               const heed_attn_args *args, struct heed_binding *b,
                               heed_report *report)
{
    const struct heed_checked *attn = plan->attn;
    const struct heed_pass pass = { .visit = visit_check, .binding = b, .report = report };
    heed_status status;

    if (queue->device != plan->device)
        return heed_report_fill(report, HEED_E_MISMATCH, "queue", 0, 0,
                                "the queue is of %.60s, the plan of %.60s",
                                queue->device->props.name, plan->device->props.name);
    status = check_counts(attn, args, report);
    if (status >= 0)
        status = check_wait(plan, args, b, report);
    if (status >= 0)
        status = bind_tensors(attn, args, b, report);
    if (status >= 0)
        status = resolve_slots(attn, args, b, report);
    if (status >= 0)
        status = heed_operand_outputs(&pass, attn);
    return status >= 0 ? heed_operand_inputs(&pass, attn) : status;
}

heed_status heed_bind_inputs(const struct heed_plan *plan, const heed_queue *queue,
                             const heed_attn_args *given, struct heed_binding *b,
                             heed_report *report)
{
    heed_attn_args args;
    heed_status status;

    clear(b, plan->device);
    status = heed_sized_in(given, HEED_ATTN_ARGS_V1, &args, sizeof(args), "args", report);
    return status >= 0 ? bind_arrays(plan, queue, &args, b, report) : status;
}

heed_status heed_bind_run(const struct heed_plan *plan, const heed_queue *queue,
                          const heed_attn_args *given, struct heed_binding *b, heed_report *report)
{
    heed_attn_args args;
    heed_status status;

    clear(b, plan->device);
    status = heed_sized_in(given, HEED_ATTN_ARGS_V1, &args, sizeof(args), "args", report);
    if (status >= 0)
        status = bind_arrays(plan, queue, &args, b, report);
    if (status >= 0)
        status = check_aliases(plan->attn, b, report);
    return status >= 0 ? bind_workspace(plan, &args, b, report) : status;
}
