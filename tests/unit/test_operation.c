/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What every row of kernels/operations.def gets from the one implementation of them all: what it
 * accepts, the blob that its kernels read, its launches with scratch and without. The driver is the
 * test's own and keeps what it is given.
 */
#include "backends/device/frame.h"
#include "backends/device/impls.h"
#include "backends/device/tune.h"
#include "backends/kernels/ops/arrays.h"
#include "lib/core/context.h"
#include "lib/form.h"
#include "lib/ops/op.h"
#include "support/ledger.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { OPERANDS = 3, WORKERS = 5 };

/* ---- the driver ---- */

static struct {
    char *blob;
    uint64_t bytes;
    uint32_t n_kernels, large;
    enum heed_kernel kernels[HEED_MAX_LAUNCHES];
    struct heed_work work;
    struct heed_kernel_launch launches[HEED_MAX_LAUNCHES];
} fake;

static heed_status memory_create(void *state, uint64_t bytes, const void *contents, void **handle,
                                 struct heed_error_detail *detail)
{
    (void)state;
    (void)detail;
    fake.blob = malloc((size_t)bytes);
    fake.bytes = bytes;
    memcpy(fake.blob, contents, (size_t)bytes);
    *handle = fake.blob;
    return HEED_OK;
}

static void memory_destroy(void *state, void *handle)
{
    (void)state;
    ck_assert_ptr_eq(handle, fake.blob);
    free(handle);
    fake.blob = NULL;
}

static heed_status kernel(void *state, enum heed_kernel row, uint32_t large, void **compiled,
                          struct heed_error_detail *detail)
{
    (void)state;
    (void)detail;
    fake.large = large;
    fake.kernels[fake.n_kernels++] = row;
    *compiled = &fake;
    return HEED_OK;
}

static heed_status run(void *state, const struct heed_work *work, struct heed_error_detail *detail)
{
    (void)state;
    (void)detail;
    fake.work = *work;
    memcpy(fake.launches, work->launches, work->n_launches * sizeof(*work->launches));
    return HEED_OK;
}

static struct heed_driver driver = {
    .size = sizeof(driver), .memory_create = memory_create, .memory_destroy = memory_destroy,
    .kernel = kernel, .run = run,
};

/* ---- plans ---- */

static const struct {
    enum heed_operation number;
    enum heed_kernel kernel[2];         /* lanes, workgroup */
} launches[] = {
#define HK_OPERATION(OP, name)
#define HK_LAUNCH(OP, lanes, workgroup)                                                            \
    { HEED_OPERATION_##OP, { HEED_KERNEL_##lanes, HEED_KERNEL_##workgroup } },
#include "backends/kernels/operations.def"
#undef HK_OPERATION
#undef HK_LAUNCH
};

#define N_LAUNCHES (sizeof(launches) / sizeof(*launches))

static struct ledger ledger;
static heed_runtime *rt;
static struct heed_device_state state;
static heed_device device;
static struct hk_strip_form numbers;
static struct heed_form form;
static struct heed_plan_operand operands[OPERANDS];
static struct heed_plan plan;

static void set_up(void)
{
    const heed_allocator a = ledger_allocator(&ledger);
    const heed_runtime_desc desc = { .size = sizeof(desc), .allocator = &a };

    ck_assert_int_eq(heed_runtime_create(&desc, &rt, NULL), HEED_OK);
    memset(&fake, 0, sizeof(fake));
    driver.handles = 0;
    state = (struct heed_device_state){
        .driver = &driver,
        .services = &rt->services,
        .traits = { .shape = HEED_SHAPE_LANES, .workers = WORKERS },
    };
    device = (heed_device){ .runtime = rt, .state = &state };
    numbers = (struct hk_strip_form){ .heads = 3, .rows = 70, .run = 16, .strips = 5 };
    for (int64_t i = 0; i < OPERANDS; i++)
        operands[i] = (struct heed_plan_operand){
            .view = { .dtype = HEED_F16, .shape = { 1, 1, 2, 3, 70, 4 + i },
                      .stride = { 0, 0, 9000, 3000, 40, 1 + i } },
        };
    operands[1].view.dtype = 0;
}

static void tear_down(void)
{
    heed_runtime_destroy(rt);
    ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
}

static uint64_t useful, compulsory;     /* operations and bytes of a run */

static void work(const struct heed_plan *of, uint64_t *flops, uint64_t *bytes)
{
    ck_assert_ptr_eq(of, &plan);
    *flops = useful;
    *bytes = compulsory;
}

static const struct heed_op op = { .work = work };

/* The plan of an operation, with so many tasks in each of its passes. */
static void plan_make(enum heed_operation number, int64_t tasks)
{
    form = (struct heed_form){
        .batch = { 1, 1, 2 }, .n_batch = 2, .numbers = &numbers, .bytes = sizeof(numbers),
        .scratch = form.scratch,
    };
    for (size_t i = 0; i < N_LAUNCHES; i++) {
        if (launches[i].number == number)
            form.tasks[form.n_passes++] = tasks + (int64_t)i;
    }
    plan = (struct heed_plan){
        .op = &op, .impl = &heed_operation_impls[number], .device = &device, .checked = &form,
        .params = &form, .operands = operands, .n_operands = OPERANDS,
    };
}

static bool is_accepted(void)
{
    struct heed_refusal why = { 0 };
    const bool accepted = plan.impl->accepts(&plan, &rt->services, &why);

    ck_assert(accepted == (why.reason == NULL));
    return accepted;
}

static const struct hk_operation *prepare(void)
{
    struct heed_error_detail detail;

    memset(&fake, 0, sizeof(fake));
    ck_assert(is_accepted());
    ck_assert_int_eq(plan.impl->prepare(&plan, &rt->services, &detail), HEED_OK);
    ck_assert_uint_eq(plan.device_bytes, fake.bytes);
    ck_assert_uint_eq(plan.workspace_align, HEED_WORK_ALIGN);
    return (const struct hk_operation *)(const void *)fake.blob;
}

static void release(void)
{
    plan.impl->release(&plan, &rt->services);
    ck_assert_ptr_null(plan.state);
    ck_assert_ptr_null(fake.blob);
}

/* Every operation with both shapes of kernels. */
#define EACH(number, shape)                                                                        \
    for (enum heed_operation number = 0; number < HEED_OPERATIONS; number++)                       \
        for (shape = HEED_SHAPE_LANES; shape <= HEED_SHAPE_WORKGROUP; shape++)

TEST(operations_are_in_the_list_of_implementations)
{
    for (enum heed_operation i = 0; i < HEED_OPERATIONS; i++) {
        uint32_t n_passes = 0;

        /* behind attention's and that of libraries */
        ck_assert_ptr_eq(heed_device_impls[2 + i], &heed_operation_impls[i]);
        ck_assert_uint_gt(heed_operation_impls[i].op, HEED_OP_ATTN);
        for (enum heed_operation k = 0; k < i; k++)
            ck_assert_uint_ne(heed_operation_impls[i].op, heed_operation_impls[k].op);
        for (size_t k = 0; k < N_LAUNCHES; k++)
            n_passes += launches[k].number == i;
        ck_assert(n_passes >= 1 && n_passes <= HEED_MAX_PASSES);
    }
    ck_assert_ptr_null(heed_device_impls[2 + HEED_OPERATIONS]);
}

/* The build sorts rows by the words of their names. */
TEST(launches_name_kernels_of_their_shape)
{
    for (size_t i = 0; i < N_LAUNCHES; i++) {
        const struct heed_kernel_row *lanes = &heed_kernel_rows[launches[i].kernel[0]];
        const struct heed_kernel_row *workgroup = &heed_kernel_rows[launches[i].kernel[1]];

        ck_assert_ptr_nonnull(strstr(lanes->name, "lanes"));
        ck_assert_ptr_nonnull(strstr(lanes->options, "-DHK_THREADS=1"));
        ck_assert_ptr_nonnull(strstr(workgroup->name, "workgroup"));
        ck_assert_ptr_nonnull(strstr(workgroup->options, "-DHK_THREADS="));
        ck_assert(strstr(workgroup->options, "-DHK_ONE_LANE=1") ||
                  strstr(workgroup->options, "-DHK_FOUR_LANES=1"));
        ck_assert_str_eq(lanes->file, workgroup->file);
    }
}

TEST(the_blob_holds_operands_and_numbers)
{
    EACH(number, state.traits.shape)
    {
        const struct hk_operation *head;
        const struct hk_array *arrays;

        operands[2].view.shape[5] = 1;          /* any stride will do: 1 is the plain one */
        plan_make(number, 30);
        head = prepare();
        arrays = (const struct hk_array *)(const void *)(fake.blob + head->arrays_at);
        ck_assert_int_eq(head->n_batch, 2);
        ck_assert_int_eq(head->batch[2], 2);
        ck_assert_uint_eq((uint64_t)head->bytes, fake.bytes);
        for (int i = 0; i < OPERANDS; i++) {
            ck_assert_uint_eq(arrays[i].dtype, operands[i].view.dtype);
            ck_assert_mem_eq(arrays[i].shape, operands[i].view.shape, sizeof(arrays[i].shape));
            ck_assert_mem_eq(arrays[i].stride, operands[i].view.stride,
                             (i < 2 ? 6 : 5) * sizeof(int64_t));
        }
        ck_assert_int_eq(arrays[2].stride[5], 1);
        ck_assert_mem_eq(fake.blob + head->numbers_at, &numbers, sizeof(numbers));
        release();
    }
}

/* A form may have other tasks for work-groups, even in other passes. */
TEST(work_groups_may_have_tasks_of_their_own)
{
    EACH(number, state.traits.shape)
    {
        const bool lanes = state.traits.shape == HEED_SHAPE_LANES;
        const struct hk_operation *head;

        plan_make(number, 30);
        form.groups_apart = true;
        form.group_tasks[form.n_passes - 1] = 7;
        head = prepare();
        for (uint32_t i = 0; i < form.n_passes; i++) {
            const int64_t wanted = lanes ? form.tasks[i] : form.group_tasks[i];

            ck_assert_int_eq(head->tasks[i], wanted);
            ck_assert_int_eq(head->groups[i], wanted);
        }
        ck_assert_uint_eq(fake.n_kernels, lanes ? form.n_passes : 1);
        release();
    }
}

TEST(without_scratch_a_task_is_a_group)
{
    EACH(number, state.traits.shape)
    {
        const bool lanes = state.traits.shape == HEED_SHAPE_LANES;
        const struct hk_operation *head;

        plan_make(number, 30);
        head = prepare();
        ck_assert_uint_eq(plan.workspace_size, 0);
        ck_assert_uint_eq(fake.n_kernels, form.n_passes);
        for (uint32_t i = 0, pass = 0; i < N_LAUNCHES; i++) {
            if (launches[i].number != number)
                continue;
            ck_assert_int_eq(head->tasks[pass], form.tasks[pass]);
            ck_assert_int_eq(head->groups[pass], form.tasks[pass]);
            ck_assert_uint_eq(fake.kernels[pass], launches[i].kernel[lanes ? 0 : 1]);
            pass++;
        }
        release();
    }
}

TEST(scratch_is_given_to_a_fixed_number_of_groups)
{
    form.scratch = 100;
    EACH(number, state.traits.shape)
    {
        const bool lanes = state.traits.shape == HEED_SHAPE_LANES;
        const int64_t most = lanes ? WORKERS : HEED_TUNE_SCRATCH_GROUPS;
        const struct hk_operation *head;

        plan_make(number, 10000);
        head = prepare();
        ck_assert_int_eq(head->groups[0], most);
        ck_assert_int_eq(head->tasks[0], form.tasks[0]);
        ck_assert_int_eq(head->scratch, 128);
        ck_assert_uint_eq(plan.workspace_size, (uint64_t)(head->scratch_at + most * 128));
        release();
        plan_make(number, 1);           /* never more groups than tasks */
        head = prepare();
        ck_assert_int_eq(head->groups[0], form.tasks[0] < most ? form.tasks[0] : most);
        release();
    }
    form.scratch = 0;
}

TEST(a_launch_without_tasks_is_left_out)
{
    EACH(number, state.traits.shape)
    {
        const bool lanes = state.traits.shape == HEED_SHAPE_LANES;
        const heed_buf at[OPERANDS] = { { &fake, 8 }, { NULL, 0 }, { &plan, 16 } };
        struct heed_error_detail detail;
        const struct heed_launch launch = { .at = at, .detail = &detail };

        plan_make(number, 7);
        form.tasks[0] = 0;
        prepare();
        ck_assert_int_eq(plan.impl->run(&plan, &rt->services, &launch), HEED_OK);
        ck_assert_uint_eq(fake.work.n_launches, form.n_passes - 1);
        for (uint32_t i = 0; i < fake.work.n_launches; i++) {
            ck_assert_uint_eq(fake.launches[i].groups, (uint64_t)form.tasks[i + 1]);
            ck_assert_uint_eq(fake.launches[i].threads,
                              heed_kernel_threads(fake.launches[i].kernel));
            ck_assert(lanes == (fake.launches[i].threads == 1));
        }
        ck_assert_uint_eq(fake.work.n_buffers, HEED_BUFFERS_SMALL);
        ck_assert_mem_eq(fake.work.buffers, at, sizeof(at));
        release();
    }
}

/* Drivers of handles write where the buffers lie, if they have only kernels with many. */
TEST(a_large_device_has_room_for_offsets)
{
    state.traits.large = 1;
    EACH(number, state.traits.shape)
    {
        plan_make(number, 7);
        driver.handles = 0;
        prepare();
        ck_assert_uint_eq(plan.workspace_size, 0);
        ck_assert_uint_eq(fake.large, 1);
        release();
        driver.handles = 1;
        prepare();
        ck_assert_uint_eq(plan.workspace_size, HEED_WORK_OFFSETS);
        release();
    }
}

static void expect_slices(uint64_t flops, uint64_t bytes, uint64_t wants)
{
    useful = flops;
    compulsory = bytes;
    plan_make(HEED_OPERATION_COPY, 1000);
    prepare();
    ck_assert_uint_eq(((struct heed_device_plan *)plan.state)->launches[0].slice, wants);
    release();
}

/* Workers take tasks as long as there are any. */
TEST(work_groups_end_in_about_a_second)
{
    const uint64_t second = (uint64_t)(WORKERS * HEED_TUNE_UNIT_FLOPS),
                   moved = (uint64_t)(WORKERS * HEED_TUNE_UNIT_BYTES);
    const uint32_t threads = heed_kernel_threads(HEED_KERNEL_copy_workgroup);

    expect_slices(100 * second, 0, 0);
    state.traits.shape = HEED_SHAPE_WORKGROUP;
    expect_slices(second, moved, UINT32_MAX / threads);
    expect_slices(10 * second, 0, 101);
    expect_slices(second, 4 * moved, 251);
    expect_slices(100000 * second, 0, WORKERS * HEED_TUNE_UNIT_GROUPS + 1);
    state.traits.endless = 1;
    expect_slices(100000 * second, 0, UINT32_MAX / threads);
    state.traits.processor = 1;
    expect_slices(0, 0, HEED_TUNE_FEW_GROUPS);
}

TEST(what_cannot_be_numbered_is_refused)
{
    EACH(number, state.traits.shape)
    {
        plan_make(number, 1);
        for (uint32_t i = 0; i < form.n_passes; i++) {
            form.tasks[i] = HEED_TUNE_TASKS_MAX;
            ck_assert(is_accepted());
            form.tasks[i]++;
            ck_assert(!is_accepted());
            form.tasks[i] = 1;
        }
        form.scratch = INT64_C(1) << 56;
        ck_assert(is_accepted());
        form.tasks[0] = 1000;           /* times 2 (lanes: 5) groups or more */
        form.scratch = INT64_C(1) << 58;
        ck_assert(!is_accepted());
        form.scratch = INT64_MAX;
        form.tasks[0] = 1;
        ck_assert(!is_accepted());
        form.scratch = 0;
    }
}

int main(void)
{
    return suite_run("operation", 0, set_up, tear_down);
}
