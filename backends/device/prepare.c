/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Binding a plan to a device that runs kernels, and running it: a blob, two or three kernels, and
 * per run nothing but their enqueueing.
 */
#include "blob.h"

#include <assert.h>
#include <string.h>

static bool is_plain(const struct heed_plan *plan)
{
    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        if (heed_attn_of(plan)->sources[s].n_biases > 0)
            return false;
    }
    return !heed_lowered_of(plan)->capped;
}

/* The storage type of all K and V, or 0. */
static uint32_t kv_dtype(const struct heed_plan *plan)
{
    uint32_t dtype = 0;

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        const struct heed_checked_source *source = &heed_attn_of(plan)->sources[s];

        if (source->k.dtype != source->v.dtype || (dtype != 0 && source->k.dtype != dtype))
            return 0;
        dtype = source->k.dtype;
    }
    return dtype;
}

static enum heed_kernel attend_choose(const struct heed_plan *plan,
                                      const struct heed_device_traits *traits, uint32_t large)
{
    static const enum heed_kernel workgroup[2][4] = {
        { HEED_KERNEL_workgroup_64_any, HEED_KERNEL_workgroup_64_f32, HEED_KERNEL_workgroup_64_f16,
          HEED_KERNEL_workgroup_64_bf16 },
        { HEED_KERNEL_workgroup_128_any, HEED_KERNEL_workgroup_128_f32,
          HEED_KERNEL_workgroup_128_f16, HEED_KERNEL_workgroup_128_bf16 },
    };
    const bool plain = is_plain(plan);

    if (traits->shape == HEED_SHAPE_LANES)
        return plain ? HEED_KERNEL_lanes_plain : HEED_KERNEL_lanes_any;
    return workgroup[heed_attn_of(plan)->d_v > 64][plain && !large ? kv_dtype(plan) : 0];
}

/* Does it need the kernels with many buffers? */
static uint32_t large_find(const struct heed_plan *plan)
{
    uint32_t large = plan->n_operands >= HEED_BUFFERS_SMALL;

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++)
        large |= heed_lowered_of(plan)->sources[s].n > HEED_SMALL_SUBS;
    return large;
}

static void launches_choose(const struct heed_plan *plan, const struct hk_plan *blob,
                         struct heed_device_plan *state)
{
    const struct heed_device_traits *traits = &state->device->traits;
    const bool lanes = traits->shape == HEED_SHAPE_LANES;
    const struct heed_lowered *lowered = plan->params;
    bool lists = false;

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++)
        lists = lists || lowered->sources[s].keys || lowered->sources[s].rows;
    if (blob->tasks == 0)
        return;
    if (lanes || lists)
        state->launches[state->n_launches++] = (struct heed_kernel_launch){
            .kernel = HEED_KERNEL_prepare,
            .threads = 1,
            .groups = lists ? (uint64_t)blob->n_batch * blob->n_sources : 1,
        };
    if (blob->pack_tasks > 0)
        state->launches[state->n_launches++] = (struct heed_kernel_launch){
            .kernel = HEED_KERNEL_pack,
            .threads = 1,
            .groups = traits->workers,
        };
    state->launches[state->n_launches++] = (struct heed_kernel_launch){
        .kernel = attend_choose(plan, traits, state->large),
        .threads = lanes ? 1 : HEED_GROUP_THREADS,
        .groups = lanes ? traits->workers : (uint64_t)(blob->tasks * blob->passes),
    };
}

/* Everything that prepare would lay out, without the memory for it. */
static bool accepts(const struct heed_plan *plan, const struct heed_services *services,
                    struct heed_refusal *why)
{
    const struct heed_device_state *device = plan->device->state;
    struct hk_source sources[HEED_MAX_SOURCES];
    struct hk_plan to;
    uint64_t workspace;

    (void)services;
    if (heed_blob_plan(plan, &device->traits, &to, sources, &workspace))
        return true;
    why->reason = "its strips or its workspace are more than the device can number";
    return false;
}

static heed_status blob_make(struct heed_plan *plan, const struct heed_services *services,
                              struct heed_device_plan *state, struct heed_error_detail *detail)
{
    struct hk_source sources[HEED_MAX_SOURCES];
    struct hk_plan to;
    heed_status status;
    uint64_t bytes;
    char *blob;
    bool ok;

    ok = heed_blob_plan(plan, &state->device->traits, &to, sources, &plan->workspace_size);
    assert(ok);                     /* accepts has asked */
    if (!ok)
        return HEED_E_INTERNAL;
    bytes = heed_blob_size(plan, &to);
    blob = bytes <= SIZE_MAX ? services->alloc(services->runtime, (size_t)bytes, 16) : NULL;
    if (blob == NULL)
        return HEED_E_NOMEM;
    memset(blob, 0, (size_t)bytes);
    heed_blob_write(plan, &to, sources, blob);
    launches_choose(plan, &to, state);
    status = state->device->driver->memory_create(state->device, bytes, blob, &state->blob,
                                                  detail);
    plan->device_bytes = bytes;
    services->free(services->runtime, blob, (size_t)bytes, 16);
    return status;
}

static void release(struct heed_plan *plan, const struct heed_services *services)
{
    struct heed_device_plan *state = plan->state;

    if (state == NULL)
        return;
    if (state->blob != NULL)
        state->device->driver->memory_destroy(state->device, state->blob);
    services->free(services->runtime, state, state->bytes, _Alignof(struct heed_device_plan));
    plan->state = NULL;
}

static heed_status prepare(struct heed_plan *plan, const struct heed_services *services,
                        struct heed_error_detail *detail)
{
    struct heed_device_plan *state = services->alloc(services->runtime, sizeof *state,
                                                     _Alignof(struct heed_device_plan));
    heed_status status;

    if (state == NULL)
        return HEED_E_NOMEM;
    *state = (struct heed_device_plan){
        .bytes = sizeof *state,
        .device = plan->device->state,
    };
    state->large = state->device->traits.large | large_find(plan);
    plan->state = state;
    status = blob_make(plan, services, state, detail);
    for (uint32_t i = 0; status >= 0 && i < state->n_launches; i++)
        status = state->device->driver->kernel(state->device, state->launches[i].kernel,
                                               state->large, &state->launches[i].compiled, detail);
    if (status < 0) {
        release(plan, services);
        return status;
    }
    plan->workspace_align = HEED_WORK_ALIGN;
    plan->state_bytes = sizeof *state;
    return HEED_OK;
}

/* ---- run ---- */

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    const struct heed_device_plan *state = plan->state;
    struct heed_work work = {
        .launches = state->launches,
        .n_launches = state->n_launches,
        .n_buffers = state->large ? HEED_BUFFERS_LARGE : HEED_BUFFERS_SMALL,
        .blob = state->blob,
        .queue = launch->queue,
        .waits = launch->waits,
        .n_waits = launch->n_waits,
        .event = launch->event,
    };

    (void)services;
    assert(plan->n_operands < work.n_buffers);
    assert(plan->workspace_size == 0 || launch->workspace.handle != NULL);
    memcpy(work.buffers, launch->at, plan->n_operands * sizeof(work.buffers[0]));
    work.buffers[work.n_buffers - 1] = launch->workspace;
    return state->device->driver->run(state->device, &work, launch->detail);
}

static const struct heed_impl attend_kernel = {
    .op = HEED_OP_ATTN,
    .name = "attend-kernel",
    .accepts = accepts,
    .prepare = prepare,
    .run = run,
    .release = release,
};

const struct heed_impl *const heed_device_impls[] = { &attend_kernel, NULL };
