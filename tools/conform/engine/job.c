/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Devices at work, and the run of a job on one.
 */
#include "job.h"

#include "common/cache.h"
#include "common/compiling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices ---------------------------------------------------------------------- */

bool cf_target_open(struct target *t, const char *name, uint32_t width, heed_report *report)
{
    return cf_target_open_with(t, name, width, NULL, report);
}

bool cf_target_open_with(struct target *t, const char *name, uint32_t width,
                         const heed_allocator *allocator, heed_report *report)
{
    return cf_target_open_on(t, name,
                             &(heed_executor){ .size = sizeof(heed_executor), .width = width },
                             allocator, report);
}

bool cf_target_open_on(struct target *t, const char *name, const heed_executor *executor,
                       const heed_allocator *allocator, heed_report *report)
{
    char room[CACHE_ROOM];
    const heed_runtime_desc desc = {
        .size = sizeof desc,
        .allocator = allocator,
        .executor = executor,
        .logger = compiling_logger(),
        .cache_dir = cache_folder(room),
    };

    *t = (struct target){ .width = executor->width };
    snprintf(t->name, sizeof t->name, "%s", name);
    if (heed_runtime_create(&desc, &t->runtime, report) < 0)
        return false;
    if (heed_device_find(t->runtime, name, &t->device, report) >= 0 &&
        heed_queue_create(t->device, 0, &t->queue, report) >= 0)
        return true;
    cf_target_close(t);
    return false;
}

void cf_target_close(struct target *t)
{
    heed_queue_destroy(t->queue);
    heed_runtime_destroy(t->runtime);
    t->queue = NULL;
    t->runtime = NULL;
    t->device = NULL;
}

heed_status cf_workspace_make(struct workspace *w, const struct target *on, const heed_plan *plan,
                              int garbage)
{
    heed_plan_props props = { .size = sizeof props };
    heed_device_props device = { .size = sizeof device };
    heed_status status = heed_plan_info(plan, &props);
    const uint64_t dirty = props.workspace_size < 1u << 20 ? props.workspace_size : 1u << 20;
    unsigned char *bytes;

    *w = (struct workspace){ .numerics = props.numerics };
    memcpy(w->runs, props.implementation, sizeof w->runs);
    if (status >= 0)
        status = heed_device_info(on->device, &device);
    if (status < 0 || props.workspace_size == 0)
        return status;
    status = heed_buf_create(on->device, props.workspace_size + props.workspace_align, &w->made,
                             NULL);
    if (status < 0)
        return status;
    /* A cl_mem is no address: its own beginning is aligned, and the workspace lies behind that. */
    const uint64_t rest =
        device.kind == HEED_DEVICE_OPENCL ? 0
                                          : (uint64_t)(uintptr_t)w->made.handle %
                                                props.workspace_align;

    w->at = w->made;
    w->at.offset = rest || device.kind == HEED_DEVICE_OPENCL ? props.workspace_align - rest : 0;
    w->size = props.workspace_size;
    bytes = malloc((size_t)dirty);
    if (!bytes)
        return HEED_E_NOMEM;
    memset(bytes, garbage, (size_t)dirty);
    status = heed_buf_write(on->queue, w->at, bytes, dirty, NULL);
    free(bytes);
    return status;
}

void cf_workspace_finish(struct workspace *w, const struct target *on)
{
    heed_buf_destroy(on->device, w->made);
}

/* ---- the arrays of a job ------------------------------------------------------------ */

struct operand *job_add(struct job *job, const char *name, const char *field, uint32_t role,
                        struct place *place)
{
    struct operand *const x = &job->operand[job->n];

    if (job->n == JOB_OPERANDS)
        return NULL;
    job->n++;
    *x = (struct operand){ .role = role, .place = place };
    snprintf(x->name, sizeof x->name, "%s", name);
    snprintf(x->field, sizeof x->field, "%s", field);
    return x;
}

bool job_outputs_make(struct job *job)
{
    bool ok = true;

    for (int i = 0; i < job->n && ok; i++) {
        if (job->operand[i].out && !job->operand[i].out->data)
            ok = cf_array_alloc(job->operand[i].out) && cf_array_alloc(job->operand[i].old);
    }
    return ok;
}

void job_fill(struct operand *x, uint64_t poison)
{
    place_pattern(x->place, x->out ? poison : x->around);
    if (x->holds)
        place_store(x->place, x->holds);
    if (x->out)
        place_load(x->place, x->place->snapshot, x->old);
}

bool job_upload(struct job *job, uint64_t poison)
{
    bool ok = job_outputs_make(job);

    for (int i = 0; i < job->n && ok; i++) {
        struct operand *const x = &job->operand[i];

        if (x->constant || x->guest) /* has its contents by other ways */
            continue;
        job_fill(x, poison + (uint64_t)i * 99);
        ok = place_upload(x->place, job->on);
    }
    return ok;
}

/* ---- a run -------------------------------------------------------------------------- */

int job_order(const struct job *job, const heed_plan *plan, int order[JOB_PLAN_OPERANDS])
{
    heed_operand list[JOB_PLAN_OPERANDS];
    uint32_t n = 0;

    if (heed_plan_operands(plan, list, JOB_PLAN_OPERANDS, sizeof *list, &n) < 0 ||
        n > JOB_PLAN_OPERANDS)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = -1;
        for (int x = 0; x < job->n && !(list[i].flags & HEED_OPERAND_CONSTANT); x++) {
            if (!strcmp(job->operand[x].field, list[i].name))
                order[i] = x;
        }
        if (order[i] < 0 && list[i].low != list[i].high)
            return -1;
    }
    return (int)n;
}

/* Outputs and states hold again what they held before the run. */
static heed_status outputs_restore(const struct job *job)
{
    for (int i = 0; i < job->n; i++) {
        if (job->operand[i].out && !place_upload(job->operand[i].place, job->on))
            return HEED_E_DEVICE;
    }
    return HEED_OK;
}

static heed_status run(struct job *job, const heed_plan *plan, heed_report *report)
{
    heed_buf at[JOB_PLAN_OPERANDS] = { { 0 } };
    int order[JOB_PLAN_OPERANDS];
    const int n = job_order(job, plan, order);
    struct workspace work;
    heed_status status = cf_workspace_make(&work, job->on, plan, 0x5a ^ (job->n & 3));

    job->numerics = work.numerics;
    job->loose = work.numerics == HEED_NUMERICS_FAST;
    memcpy(job->ran, work.runs, sizeof job->ran);
    if (n < 0)
        status = HEED_E_INTERNAL;
    for (int i = 0; i < n; i++)
        at[i] = order[i] >= 0 ? job->operand[order[i]].place->buf : at[i];
    if (status >= 0)
        status = heed_plan_run(plan, job->on->queue, at, (uint32_t)n,
                               &(heed_run){ .workspace = work.at, .workspace_size = work.size },
                               NULL, report);
    if (status >= 0)
        status = heed_queue_wait(job->on->queue, NULL);
    cf_workspace_finish(&work, job->on);
    return status;
}

heed_status job_run(struct job *job, heed_report *report)
{
    heed_plan *plan = NULL;
    heed_status status = job->plan(job->on->device, job->desc, &plan, report);

    if (status < 0)
        return status;
    status = run(job, plan, report);
    if (job->twice && status >= 0)
        status = outputs_restore(job);
    if (job->twice && status >= 0)
        status = run(job, plan, report);
    heed_plan_drop(plan);
    for (int i = 0; i < job->n && status >= 0; i++) {
        const struct operand *const x = &job->operand[i];

        if (!x->out)
            continue;
        if (!place_download(x->place, job->on))
            return HEED_E_DEVICE;
        place_load(x->place, x->place->after, x->out);
    }
    return status;
}

/* ---- afterwards --------------------------------------------------------------------- */

static bool block_same(const struct job *job, const struct operand *x, char why[128])
{
    struct place *const place = x->place;

    if (x->constant || x->guest || !place->buf.handle ||
        (place_download(place, job->on) && !memcmp(place->snapshot, place->after, place->bytes)))
        return true;
    snprintf(why, 128, "%s was written to", x->name);
    return false;
}

bool job_memory_same(struct job *job, char why[128])
{
    for (int i = 0; i < job->n; i++) {
        const struct operand *const x = &job->operand[i];

        if (!x->out && !block_same(job, x, why))
            return false;
        if (x->out && !place_gaps_same(x->place, x->out, x->old)) {
            snprintf(why, 128, "memory between or around the elements of %s was written to",
                     x->name);
            return false;
        }
    }
    return true;
}

bool job_outputs_same(struct job *job, char why[128])
{
    for (int i = 0; i < job->n; i++) {
        if (job->operand[i].out && !block_same(job, &job->operand[i], why))
            return false;
    }
    return true;
}

void job_finish(struct job *job)
{
    for (int i = 0; i < job->n; i++) {
        const struct operand *const x = &job->operand[i];

        if (!x->guest)
            place_finish(x->place, job->on);
        if (x->out) {
            free(x->out->data);
            free(x->old->data);
        }
    }
    job->n = 0;
}

void job_drop(struct job *job)
{
    if (job)
        job_finish(job);
    free(job);
}
