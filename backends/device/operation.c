/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operations with fixed arrays on a device that runs kernels: one implementation for all rows of
 * kernels/operations.def. The blob is the plan's operands and numbers as they are
 * (kernels/ops/arrays.h); a pass of the form is a launch.
 */
#include "../../lib/form.h"
#include "../kernels/ops/arrays.h"
#include "frame.h"
#include "impls.h"
#include "tune.h"

#include <assert.h>
#include <string.h>

static_assert((int)HK_PASSES == (int)HEED_MAX_PASSES, "kernels count as many passes as forms");
static_assert((int)HK_PASSES <= (int)HEED_MAX_LAUNCHES, "a plan keeps a launch for each pass");
static_assert(sizeof(((struct heed_view *)0)->shape) == sizeof(((struct hk_array *)0)->shape),
              "views and arrays have the same axes");

/* The launches of all operations, in the order of their passes. */
static const struct launch {
    uint32_t op;
    enum heed_kernel kernel[2];         /* lanes, workgroup */
} launches[] = {
#define HK_OPERATION(OP, name)
#define HK_LAUNCH(OP, lanes, workgroup)                                                            \
    { HEED_OP_##OP, { HEED_KERNEL_##lanes, HEED_KERNEL_##workgroup } },
#include "../kernels/operations.def"
#undef HK_OPERATION
#undef HK_LAUNCH
};

#define N_LAUNCHES (sizeof launches / sizeof *launches)

/* The kernel of a pass. */
static enum heed_kernel kernel_find(const struct heed_plan *plan, uint32_t pass, bool lanes)
{
    pass += lanes ? 0 : heed_form_of(plan)->kernel;
    for (size_t i = 0; i < N_LAUNCHES; i++) {
        if (launches[i].op == plan->impl->op && pass-- == 0)
            return launches[i].kernel[lanes ? 0 : 1];
    }
    assert(0);                          /* the row of the operation has too few launches */
    return HEED_KERNEL_self_test;
}

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

/* Bytes of a group's own. */
static int64_t scratch_of(const struct heed_form *form, const struct heed_device_traits *traits)
{
    return form->lanes_alone && traits->shape != HEED_SHAPE_LANES ? 0 : form->scratch;
}

/* A group without scratch has one task; those with it are no more than scratch is worth. */
static void groups_find(const struct heed_form *form, const struct heed_device_traits *traits,
                        struct hk_operation *to)
{
    const int64_t most = traits->shape == HEED_SHAPE_LANES ? traits->workers
                                                           : HEED_TUNE_SCRATCH_GROUPS;

    for (uint32_t i = 0; i < form->n_passes; i++) {
        const bool lanes = traits->shape == HEED_SHAPE_LANES;

        to->shares[i] = lanes || form->shares[i] < 1 ? 1 : form->shares[i];
        to->tasks[i] = form->groups_apart && !lanes ? form->group_tasks[i] : form->tasks[i];
        if (to->tasks[i] <= HEED_TUNE_TASKS_MAX) /* more are refused */
            to->tasks[i] *= to->shares[i];
        to->groups[i] = to->tasks[i];
        if (scratch_of(form, traits) > 0 && to->tasks[i] > most)
            to->groups[i] = most;
    }
}

/* Where the parts of the blob lie. */
static void head_lay(const struct heed_plan *plan, struct hk_operation *head)
{
    head->arrays_at = (int64_t)round_up(sizeof *head, 16);
    head->numbers_at =
        head->arrays_at + (int64_t)round_up(plan->n_operands * sizeof(struct hk_array), 16);
    head->bytes = head->numbers_at + (int64_t)round_up(heed_form_of(plan)->bytes, 16);
}

/* The head of the blob, and the workspace; false: more than the device can number. */
static bool head_find(const struct heed_plan *plan, const struct heed_device_state *device,
                      struct hk_operation *to, uint64_t *workspace)
{
    const struct heed_form *form = heed_form_of(plan);
    const bool offsets = device->driver->handles && device->traits.large;
    struct heed_room room = { .at = offsets ? HEED_WORK_OFFSETS : 0, .ok = true };
    const int64_t scratch = scratch_of(form, &device->traits);
    double groups = 0;

    *to = (struct hk_operation){
        .batch = { form->batch[0], form->batch[1], form->batch[2] },
        .n_batch = form->n_batch,
    };
    groups_find(form, &device->traits, to);
    for (uint32_t i = 0; i < form->n_passes; i++) {
        if (to->tasks[i] > HEED_TUNE_TASKS_MAX)
            return false;
        groups = (double)to->groups[i] > groups ? (double)to->groups[i] : groups;
    }
    if (scratch > 0) {
        if ((double)scratch > 0x1p60)
            return false;
        to->scratch = (int64_t)round_up((uint64_t)scratch, HEED_WORK_ALIGN);
        to->scratch_at = heed_room_place(&room, groups, (uint64_t)to->scratch);
    }
    if (form->common > 0)
        to->common_at = heed_room_place(&room, 1, (uint64_t)form->common);
    head_lay(plan, to);
    *workspace = room.at;
    return room.ok;
}

/* Channels of one are one element apart; the stride 0 of what is shared stays. */
static struct hk_array array_write(const struct heed_view *from)
{
    struct hk_array to = { .dtype = from->dtype };

    memcpy(to.shape, from->shape, sizeof to.shape);
    memcpy(to.stride, from->stride, sizeof to.stride);
    if (to.shape[5] <= 1 && to.stride[5] != 0)
        to.stride[5] = 1;
    return to;
}

static void blob_write(const struct heed_plan *plan, const struct hk_operation *head,
                       const void *numbers, char *blob)
{
    memcpy(blob, head, sizeof *head);
    for (uint32_t i = 0; i < plan->n_operands; i++) {
        const struct hk_array array = array_write(&plan->operands[i].view);

        memcpy(blob + head->arrays_at + i * sizeof array, &array, sizeof array);
    }
    memcpy(blob + head->numbers_at, numbers, heed_form_of(plan)->bytes);
}

static void launches_choose(const struct heed_plan *plan, const struct hk_operation *head,
                            struct heed_device_plan *state)
{
    const bool lanes = state->device->traits.shape == HEED_SHAPE_LANES;

    for (uint32_t i = 0; i < heed_form_of(plan)->n_passes; i++) {
        const enum heed_kernel kernel = kernel_find(plan, i, lanes);

        if (head->tasks[i] > 0)
            state->launches[state->n_launches++] = (struct heed_kernel_launch){
                .kernel = kernel,
                .threads = heed_kernel_threads(kernel),
                .groups = (uint64_t)head->groups[i],
            };
    }
}

/* Everything that prepare would lay out, without the memory for it. */
static bool accepts(const struct heed_plan *plan, const struct heed_services *services,
                    struct heed_refusal *why)
{
    struct hk_operation head;
    uint64_t workspace;

    (void)services;
    if (head_find(plan, plan->device->state, &head, &workspace))
        return true;
    why->reason = "its strips or its workspace are more than the device can number";
    return false;
}

static heed_status fill(struct heed_plan *plan, const struct heed_services *services,
                        struct heed_device_plan *state, struct heed_blob *blob,
                        struct heed_error_detail *detail)
{
    struct hk_operation head;
    const bool ok = head_find(plan, state->device, &head, &plan->workspace_size);

    (void)detail;
    assert(ok); /* accepts has asked */
    assert(plan->n_operands < HEED_BUFFERS_SMALL);
    if (!ok)
        return HEED_E_INTERNAL;
    if (!heed_frame_blob(services, (uint64_t)head.bytes, blob))
        return HEED_E_NOMEM;
    blob_write(plan, &head, heed_form_of(plan)->numbers, blob->data);
    state->large = state->device->traits.large;
    launches_choose(plan, &head, state);
    return HEED_OK;
}

bool heed_operation_numbers(double tasks)
{
    return tasks <= HEED_TUNE_TASKS_MAX;
}

heed_status heed_operation_fill(struct heed_plan *plan, const struct heed_services *services,
                                struct heed_device_plan *state, struct heed_blob *blob,
                                const struct heed_operation_extra *extra)
{
    const struct heed_form *form = heed_form_of(plan);
    struct hk_operation head = {
        .batch = { form->batch[0], form->batch[1], form->batch[2] },
        .n_batch = form->n_batch,
        .common_at = extra->common_at,
        .tasks = { extra->tasks },
        .groups = { extra->tasks },
        .shares = { 1 },
    };

    head_lay(plan, &head);
    if (!heed_frame_blob(services, (uint64_t)head.bytes, blob))
        return HEED_E_NOMEM;
    blob_write(plan, &head, extra->numbers, blob->data);
    state->large = state->device->traits.large;
    state->launches[state->n_launches++] = (struct heed_kernel_launch){
        .kernel = extra->kernel,
        .threads = heed_kernel_threads(extra->kernel),
        .groups = (uint64_t)extra->tasks,
    };
    return HEED_OK;
}

static heed_status prepare(struct heed_plan *plan, const struct heed_services *services,
                           struct heed_error_detail *detail)
{
    return heed_frame_prepare(plan, services, fill, detail);
}

const struct heed_impl heed_operation_impls[HEED_OPERATIONS] = {
#define HK_LAUNCH(OP, lanes, workgroup)
#define HK_OPERATION(OP, text)                                                                     \
    [HEED_OPERATION_##OP] = {                                                                      \
        .op = HEED_OP_##OP,                                                                        \
        .name = #text "-kernel",                                                                   \
        .accepts = accepts,                                                                        \
        .prepare = prepare,                                                                        \
        .run = heed_frame_run,                                                                     \
        .release = heed_frame_release,                                                             \
    },
#include "../kernels/operations.def"
#undef HK_OPERATION
#undef HK_LAUNCH
};
