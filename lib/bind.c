/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks and resolves the arguments of a run. Every array of the run is visited as an operand
 * (view, address, name); the passes over them differ in what they look at: first addresses,
 * alignment and extents of all of them, then the bytes that an output shares with any.
 */
#include "bind.h"

#include "alloc.h"
#include "context.h"
#include "dtype.h"
#include "error.h"
#include "overlap.h"
#include "owned.h"
#include "sized.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FIELD = 64 };

/* An array of the run: element [0,...,0] at p. A "[]" in name stands for [index]. */
struct operand {
    struct heed_view view;
    const void *p;
    const char *name;
    uint32_t index;
};

/* What one pass sees; heed_status < 0 ends it. */
struct pass {
    heed_status (*visit)(const struct pass *, const struct operand *);
    struct heed_binding *binding;
    const heed_attn_args *args;
    const struct operand *against;      /* the aliasing pass: an output or the workspace */
    heed_report *report;
};

static void name_field(char field[FIELD], const char *name, uint32_t index)
{
    const char *mark = strstr(name, "[]");

    if (mark == NULL)
        snprintf(field, FIELD, "%s", name);
    else
        snprintf(field, FIELD, "%.*s[%" PRIu32 "]%s", (int)(mark - name), name, index, mark + 2);
}

static heed_status fail(heed_report *report, heed_status status, const struct operand *x,
                        int64_t wanted, int64_t got, const char *message)
{
    char field[FIELD];

    name_field(field, x->name, x->index);
    return heed_report_fill(report, status, field, wanted, got, "%s", message);
}

static struct heed_view view_of_aux(const struct heed_aux *aux)
{
    struct heed_view view = { .dtype = aux->dtype };

    memcpy(view.shape, aux->shape, sizeof(view.shape));
    memcpy(view.stride, aux->stride, sizeof(view.stride));
    return view;
}

/* false: handle + offset leaves the address space. */
static bool address_of(heed_buf buf, const void **p)
{
    if (buf.offset > UINTPTR_MAX - (uintptr_t)buf.handle)
        return false;
    *p = buf.handle == NULL ? NULL : (const char *)buf.handle + buf.offset;
    return true;
}

/* false: some element of a non-empty array lies outside the address space. */
static bool fits(const struct operand *x)
{
    const int64_t bytes = (int64_t)heed_dtype_size(x->view.dtype);
    int64_t low, high;

    if (!heed_view_range(&x->view, &low, &high) || !heed_mul_i64(low, bytes, &low) ||
        !heed_mul_i64(high, bytes, &high) || !heed_add_i64(high, bytes, &high))
        return false;
    return (uintptr_t)x->p >= 0 - (uint64_t)low &&
           (uint64_t)high <= (uint64_t)UINTPTR_MAX - (uintptr_t)x->p;
}

static heed_status check_operand(const struct operand *x, heed_report *report)
{
    const uint32_t bytes = heed_dtype_size(x->view.dtype);

    if (heed_view_empty(&x->view))
        return HEED_OK;
    if (x->p == NULL)
        return fail(report, HEED_E_NULL, x, 0, 0, "no memory was given for an array with elements");
    if (!fits(x))
        return fail(report, HEED_E_OVERFLOW, x, 0, 0, "the array leaves the address space");
    if ((uintptr_t)x->p % bytes != 0)
        return fail(report, HEED_E_ALIGN, x, bytes, (int64_t)((uintptr_t)x->p % bytes),
                    "the address is not a multiple of the element size");
    return HEED_OK;
}

static heed_status visit_aux(const struct pass *pass, const struct heed_aux *aux)
{
    struct operand x;

    if (aux->slot == 0 || aux->data != NULL)
        return HEED_OK;
    x = (struct operand){
        .view = view_of_aux(aux),
        .p = pass->binding->slots[aux->slot - 1],
        .name = "slots[]",
        .index = aux->slot - 1,
    };
    return pass->visit(pass, &x);
}

static heed_status visit_list(const struct pass *pass, const struct heed_aux *const *list,
                              size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const heed_status status = visit_aux(pass, list[i]);

        if (status < 0)
            return status;
    }
    return HEED_OK;
}

static heed_status visit_source_slots(const struct pass *pass,
                                      const struct heed_checked_source *source)
{
    const struct heed_aux *const own[] = { &source->index, &source->len, &source->mask };
    heed_status status = visit_list(pass, own, 3);

    for (uint32_t i = 0; status >= 0 && i < source->n_terms; i++)
        status = visit_aux(pass, &source->terms[i].slot);
    for (uint32_t i = 0; status >= 0 && i < source->n_biases; i++) {
        const struct heed_checked_bias *b = &source->biases[i];
        const struct heed_aux *const list[] = { &b->t, &b->u, &b->map, &b->q_coord, &b->k_coord };

        status = visit_list(pass, list, 5);
    }
    return status;
}

/* Every use of a run-time slot; a slot used twice is seen with both shapes. */
static heed_status visit_slots(const struct pass *pass, const struct heed_checked *attn)
{
    const struct heed_aux *const own[] = { &attn->q_pos, &attn->q_begin, &attn->q_len };
    heed_status status = visit_list(pass, own, 3);

    for (uint32_t i = 0; status >= 0 && i < attn->n_sources; i++)
        status = visit_source_slots(pass, &attn->sources[i]);
    return status;
}

static heed_status visit_view(const struct pass *pass, const struct heed_view *view, const void *p,
                              const char *name, uint32_t index)
{
    const struct operand x = { .view = *view, .p = p, .name = name, .index = index };

    return view->dtype == 0 ? HEED_OK : pass->visit(pass, &x);
}

static heed_status visit_inputs(const struct pass *pass, const struct heed_checked *attn)
{
    const struct heed_binding *b = pass->binding;
    heed_status status = visit_view(pass, &attn->q, b->bound.q, "q", 0);

    if (status >= 0)
        status = visit_view(pass, &attn->sinks, b->bound.sinks, "sinks", 0);
    for (uint32_t i = 0; status >= 0 && i < attn->n_sources; i++) {
        status = visit_view(pass, &attn->sources[i].k, b->k[i], "kv[].k", i);
        if (status >= 0)
            status = visit_view(pass, &attn->sources[i].v, b->v[i], "kv[].v", i);
    }
    return status >= 0 ? visit_slots(pass, attn) : status;
}

static heed_status visit_outputs(const struct pass *pass, const struct heed_checked *attn)
{
    const struct heed_bound *b = &pass->binding->bound;
    const heed_status status = visit_view(pass, &attn->o, b->o, "o", 0);

    return status >= 0 ? visit_view(pass, &attn->lse, b->lse, "lse", 0) : status;
}

/* ---- passes ---- */

static heed_status visit_check(const struct pass *pass, const struct operand *x)
{
    return check_operand(x, pass->report);
}

/* Slots are resolved where they are used, so that what is in the places of the others does
 * not matter. */
static heed_status visit_resolve(const struct pass *pass, const struct operand *x)
{
    struct operand resolved = *x;

    if (pass->args->slots == NULL && heed_view_empty(&x->view))
        return HEED_OK;
    if (pass->args->slots == NULL)
        return heed_report_fill(pass->report, HEED_E_NULL, "slots", pass->args->n_slots, 0,
                                "slot %" PRIu32 " is bound by run and there is no array",
                                x->index + 1);
    if (!address_of(pass->args->slots[x->index], &resolved.p))
        return fail(pass->report, HEED_E_OVERFLOW, x, 0, 0,
                    "handle and offset leave the address space");
    pass->binding->slots[x->index] = resolved.p;
    return check_operand(&resolved, pass->report);
}

static heed_status visit_overlap(const struct pass *pass, const struct operand *x)
{
    const struct operand *out = pass->against;
    char other[FIELD];

    if (heed_view_empty(&x->view) || heed_view_empty(&out->view) ||
        !heed_overlap(&out->view, out->p, heed_dtype_size(out->view.dtype), &x->view, x->p,
                      heed_dtype_size(x->view.dtype)))
        return HEED_OK;
    name_field(other, x->name, x->index);
    return heed_report_fill(pass->report, HEED_E_ALIAS, out->name, 0, 0, "shares bytes with %s",
                            other);
}

/* ---- tensors ---- */

static heed_status bind_one(heed_buf buf, const char *name, uint32_t index, uint32_t dtype,
                            const void **p, heed_report *report)
{
    const struct operand x = { .name = name, .index = index };

    *p = NULL;
    if (dtype != 0 && !address_of(buf, p))
        return fail(report, HEED_E_OVERFLOW, &x, 0, 0, "handle and offset leave the address space");
    return HEED_OK;
}

static heed_status bind_kv(const struct heed_checked *attn, const heed_attn_args *args,
                           struct heed_binding *b, heed_report *report)
{
    for (uint32_t i = 0; i < attn->n_sources; i++) {
        const char *given = (const char *)args->kv + (size_t)i * args->kv_size;
        heed_kv_bufs kv;
        char field[FIELD];
        heed_status status;

        name_field(field, "kv[]", i);
        status = heed_sized_element(given, args->kv_size, HEED_KV_BUFS_V1, &kv, sizeof(kv), field,
                                    report);
        if (status < 0)
            return status;
        status = bind_one(kv.k, "kv[].k", i, attn->sources[i].k.dtype, &b->k[i], report);
        if (status < 0)
            return status;
        status = bind_one(kv.v, "kv[].v", i, attn->sources[i].v.dtype, &b->v[i], report);
        if (status < 0)
            return status;
    }
    return HEED_OK;
}

static heed_status bind_tensors(const struct heed_checked *attn, const heed_attn_args *args,
                                struct heed_binding *b, heed_report *report)
{
    const void *o, *lse;
    heed_status status = bind_kv(attn, args, b, report);

    if (status >= 0)
        status = bind_one(args->q, "q", 0, attn->q.dtype, &b->bound.q, report);
    if (status >= 0)
        status = bind_one(args->sinks, "sinks", 0, attn->sinks.dtype, &b->bound.sinks, report);
    if (status >= 0)
        status = bind_one(args->o, "o", 0, attn->o.dtype, &o, report);
    if (status >= 0)
        status = bind_one(args->lse, "lse", 0, attn->lse.dtype, &lse, report);
    if (status < 0)
        return status;
    b->bound.o = (void *)(uintptr_t)o;          /* outputs: the caller's handle was not const */
    b->bound.lse = (void *)(uintptr_t)lse;
    return HEED_OK;
}

static void clear(struct heed_binding *b)
{
    *b = (struct heed_binding){ .bound = { .k = b->k, .v = b->v, .slots = b->slots } };
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
    const struct pass pass = {
        .visit = visit_resolve,
        .binding = b,
        .args = args,
        .report = report,
    };

    return visit_slots(&pass, attn);
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

static heed_status check_wait(const struct heed_plan *plan, const heed_attn_args *args,
                              heed_report *report)
{
    if (args->n_wait > 0 && args->wait == NULL)
        return heed_report_fill(report, HEED_E_NULL, "wait", args->n_wait, 0,
                                "a required pointer is NULL");
    for (uint32_t i = 0; i < args->n_wait; i++) {
        const struct operand x = { .name = "wait[]", .index = i };

        if (args->wait[i] == NULL)
            return fail(report, HEED_E_NULL, &x, 0, 0, "an event is NULL");
        if (args->wait[i]->device != plan->device)
            return fail(report, HEED_E_MISMATCH, &x, 0, 0, "the event is of another device");
    }
    return HEED_OK;
}

/* Two outputs against each other and every input; inputs may share memory freely. */
static heed_status check_aliases(const struct heed_checked *attn, struct heed_binding *b,
                                 heed_report *report)
{
    const struct operand o = { .view = attn->o, .p = b->bound.o, .name = "o" };
    const struct operand lse = { .view = attn->lse, .p = b->bound.lse, .name = "lse" };
    struct pass pass = { .visit = visit_overlap, .binding = b, .against = &o, .report = report };
    heed_status status = visit_view(&pass, &attn->lse, b->bound.lse, "lse", 0);

    if (status >= 0)
        status = visit_inputs(&pass, attn);
    if (status < 0 || attn->lse.dtype == 0)
        return status;
    pass.against = &lse;
    return visit_inputs(&pass, attn);
}

static heed_status bind_workspace(const struct heed_plan *plan, const heed_attn_args *args,
                                  struct heed_binding *b, heed_report *report)
{
    const struct heed_checked *attn = plan->attn;
    struct operand w = { .view = { .dtype = HEED_U8 }, .name = "workspace" };
    struct pass pass = { .visit = visit_overlap, .binding = b, .against = &w, .report = report };
    heed_status status;

    b->bound.workspace = plan->owned->workspace;
    if (plan->owned->own_workspace || plan->workspace_size == 0)
        return HEED_OK;
    if (args->workspace_size < plan->workspace_size || args->workspace.handle == NULL)
        return heed_report_fill(report, HEED_E_WORKSPACE, "workspace",
                                (int64_t)plan->workspace_size,
                                args->workspace.handle == NULL ? 0 : (int64_t)args->workspace_size,
                                "the workspace is absent or too small");
    for (int i = 0; i < 6; i++)
        w.view.shape[i] = 1;
    w.view.shape[5] = (int64_t)plan->workspace_size;
    w.view.stride[5] = 1;
    if (!address_of(args->workspace, &w.p) || !fits(&w))
        return fail(report, HEED_E_OVERFLOW, &w, 0, 0, "the workspace leaves the address space");
    if ((uintptr_t)w.p % plan->workspace_align != 0)
        return fail(report, HEED_E_ALIGN, &w, (int64_t)plan->workspace_align,
                    (int64_t)((uintptr_t)w.p % plan->workspace_align),
                    "the workspace is not aligned as heed_plan_info() says");
    status = visit_outputs(&pass, attn);
    if (status >= 0)
        status = visit_inputs(&pass, attn);
    b->bound.workspace = (void *)(uintptr_t)w.p;
    return status;
}

heed_status heed_bind_slots(const struct heed_checked *attn, const heed_attn_args *given,
                            struct heed_binding *b, heed_report *report)
{
    heed_attn_args args = { .n_slots = attn->n_slots };
    heed_status status;

    clear(b);
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
    const struct pass pass = { .visit = visit_check, .binding = b, .report = report };
    heed_status status;

    if (queue->device != plan->device)
        return heed_report_fill(report, HEED_E_MISMATCH, "queue", 0, 0,
                                "the queue is of %.60s, the plan of %.60s",
                                queue->device->props.name, plan->device->props.name);
    status = check_counts(attn, args, report);
    if (status >= 0)
        status = check_wait(plan, args, report);
    if (status >= 0)
        status = bind_tensors(attn, args, b, report);
    if (status >= 0)
        status = resolve_slots(attn, args, b, report);
    if (status >= 0)
        status = visit_outputs(&pass, attn);
    return status >= 0 ? visit_inputs(&pass, attn) : status;
}

heed_status heed_bind_inputs(const struct heed_plan *plan, const heed_queue *queue,
                             const heed_attn_args *given, struct heed_binding *b,
                             heed_report *report)
{
    heed_attn_args args;
    heed_status status;

    clear(b);
    status = heed_sized_in(given, HEED_ATTN_ARGS_V1, &args, sizeof(args), "args", report);
    return status >= 0 ? bind_arrays(plan, queue, &args, b, report) : status;
}

heed_status heed_bind_run(const struct heed_plan *plan, const heed_queue *queue,
                          const heed_attn_args *given, struct heed_binding *b, heed_report *report)
{
    heed_attn_args args;
    heed_status status;

    clear(b);
    status = heed_sized_in(given, HEED_ATTN_ARGS_V1, &args, sizeof(args), "args", report);
    if (status >= 0)
        status = bind_arrays(plan, queue, &args, b, report);
    if (status >= 0)
        status = check_aliases(plan->attn, b, report);
    return status >= 0 ? bind_workspace(plan, &args, b, report) : status;
}
