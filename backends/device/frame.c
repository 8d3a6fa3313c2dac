/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A plan on a device that runs kernels: a blob, one launch or a few, and per run nothing but their
 * enqueueing.
 */
#include "frame.h"

#include "gemm.h"
#include "tune.h"

#include <assert.h>
#include <string.h>

int64_t heed_room_place(struct heed_room *room, double count, uint64_t size)
{
    const uint64_t start = room->at;

    if (!room->ok || count * (double)size + (double)start > 0x1p60) {
        room->ok = false;
        return 0;
    }
    room->at +=
        ((uint64_t)count * size + HEED_WORK_ALIGN - 1) / HEED_WORK_ALIGN * HEED_WORK_ALIGN;
    return (int64_t)start;
}

bool heed_frame_blob(const struct heed_services *services, uint64_t bytes, struct heed_blob *blob)
{
    void *data = NULL;

    if (bytes <= SIZE_MAX)
        data = services->alloc(services->runtime, (size_t)bytes, 16);
    if (data == NULL)
        return false;
    memset(data, 0, (size_t)bytes);
    *blob = (struct heed_blob){ .data = data, .bytes = bytes };
    return true;
}

void heed_frame_release(struct heed_plan *plan, const struct heed_services *services)
{
    struct heed_device_plan *state = plan->state;

    if (state == NULL)
        return;
    heed_gemm_finish(state, services);
    if (state->blob != NULL)
        state->device->driver->memory_destroy(state->device, state->blob);
    services->free(services->runtime, state, state->bytes, _Alignof(struct heed_device_plan));
    plan->state = NULL;
}

static heed_status fill_and_send(struct heed_plan *plan, const struct heed_services *services,
                                 struct heed_device_plan *state, heed_frame_fill *fill,
                                 struct heed_error_detail *detail)
{
    struct heed_blob blob = { 0 };
    heed_status status = fill(plan, services, state, &blob, detail);

    if (status >= 0 && blob.bytes > 0)
        status = state->device->driver->memory_create(state->device, blob.bytes, blob.data,
                                                      &state->blob, detail);
    plan->device_bytes = blob.bytes;
    if (blob.data != NULL)
        services->free(services->runtime, blob.data, (size_t)blob.bytes, 16);
    return status;
}

/* Seconds that a run takes, rather more than less. */
static double seconds_of(const struct heed_plan *plan, const struct heed_device_traits *traits)
{
    const double units = traits->workers > 0 ? traits->workers : 1;
    uint64_t flops, bytes;
    double products, traffic;

    heed_plan_work(plan, &flops, &bytes);
    products = (double)flops / (units * HEED_TUNE_UNIT_FLOPS);
    traffic = (double)bytes / (units * HEED_TUNE_UNIT_BYTES);
    return products > traffic ? products : traffic;
}

/* Groups at once: no more work-items than 32 bits count, for drivers that count so; where long
 * kernels are ended, for about a second, but enough for all units: fewer would take as long. */
static uint64_t slice_find(const struct heed_kernel_launch *launch, double seconds,
                           const struct heed_device_traits *traits)
{
    const double least = (double)traits->workers * HEED_TUNE_UNIT_GROUPS;
    uint64_t most = UINT32_MAX / launch->threads;

    if (seconds > 1 && !traits->endless) {
        const double fair = (double)launch->groups / seconds, some = fair > least ? fair : least;

        if (some < (double)most)
            most = (uint64_t)some + 1;
    }
    if (traits->processor && most > HEED_TUNE_FEW_GROUPS)
        most = HEED_TUNE_FEW_GROUPS;
    return most;
}

static void slices_find(const struct heed_plan *plan, struct heed_device_plan *state)
{
    const struct heed_device_traits *const traits = &state->device->traits;
    const double seconds = seconds_of(plan, traits);

    if (traits->shape != HEED_SHAPE_WORKGROUP)
        return;                     /* workers, that take tasks till none is left */
    for (uint32_t i = 0; i < state->n_launches; i++)
        state->launches[i].slice = slice_find(&state->launches[i], seconds, traits);
}

heed_status heed_frame_prepare(struct heed_plan *plan, const struct heed_services *services,
                               heed_frame_fill *fill, struct heed_error_detail *detail)
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
    plan->state = state;
    status = fill_and_send(plan, services, state, fill, detail);
    if (status >= 0)
        slices_find(plan, state);
    for (uint32_t i = 0; status >= 0 && i < state->n_launches; i++)
        status = state->device->driver->kernel(state->device, state->launches[i].kernel,
                                               state->large, &state->launches[i].compiled, detail);
    if (status < 0) {
        heed_frame_release(plan, services);
        return status;
    }
    if (plan->workspace_align < HEED_WORK_ALIGN)
        plan->workspace_align = HEED_WORK_ALIGN;
    plan->state_bytes = sizeof *state;
    return HEED_OK;
}

heed_status heed_frame_run(const struct heed_plan *plan, const struct heed_services *services,
                           const struct heed_launch *launch)
{
    const struct heed_device_plan *state = plan->state;
    struct heed_work work = {
        .gemm = state->gemm,
        .launches = state->launches,
        .n_launches = state->n_launches,
        .n_buffers = state->large ? HEED_BUFFERS_LARGE : HEED_BUFFERS_SMALL,
        .blob = state->blob,
        .queue = launch->queue,
        .waits = launch->waits,
        .n_waits = launch->n_waits,
        .width = launch->width,
        .event = launch->event,
    };

    (void)services;
    assert(plan->n_operands < work.n_buffers);
    assert(plan->workspace_size == 0 || launch->workspace.handle != NULL);
    memcpy(work.buffers, launch->at, plan->n_operands * sizeof(work.buffers[0]));
    work.buffers[work.n_buffers - 1] = launch->workspace;
    return state->device->driver->run(state->device, &work, launch->detail);
}
