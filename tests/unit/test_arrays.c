/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of arrays: what becomes of letters, batch axes and missing heads.
 */
#include "lib/form.h"
#include "lib/ops/arrays.h"
#include "support/suite.h"

#include <heed/attn.h>
#include <heed/memory.h>
#include <heed/pool.h>
#include <heed/programs.h>

#include <string.h>

static heed_runtime *runtime;
static heed_device *device;
static heed_report report;

static void before(void)
{
    report = (heed_report){ .size = sizeof(report) };
    ck_assert_int_ge(heed_runtime_create(NULL, &runtime, &report), 0);
    ck_assert_int_ge(heed_device_find(runtime, "reference", &device, &report), 0);
}

static void after(void)
{
    heed_runtime_destroy(runtime);
}

static heed_tensor dense(uint32_t dtype, uint32_t ndim, const int64_t *shape)
{
    return heed_array_dense(dtype, NULL, ndim, shape).t;
}
#define T(dtype, ...)                                                                              \
    dense(HEED_##dtype, sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t),                      \
          (const int64_t[]){ __VA_ARGS__ })

static void view_is(const heed_plan *plan, uint32_t operand, const int64_t shape[6],
                    const int64_t stride[6])
{
    const struct heed_view *view = &plan->operands[operand].view;

    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(view->shape[i], shape[i]);
        ck_assert_int_eq(view->stride[i], stride[i]);
    }
}
#define SIX(...) ((const int64_t[6]){ __VA_ARGS__ })

TEST(batch_axes_are_spread_and_a_missing_head_is_one)
{
    const heed_copy_desc copy = {
        .size = sizeof(copy), .x = T(F32, 2, 3, 5, 8), .y = T(F16, 2, 3, 7, 8), .from = T(I32, 4),
        .len = T(I64, 2)
    };
    heed_plan *plan = NULL;

    ck_assert_int_eq(heed_copy_plan(device, &copy, &plan, &report), HEED_OK);
    view_is(plan, HK_COPY_X, SIX(1, 1, 2, 3, 5, 8), SIX(0, 0, 120, 40, 8, 1));
    view_is(plan, HK_COPY_FROM, SIX(1, 1, 2, 1, 1, 4), SIX(0, 0, 0, 0, 0, 1));
    view_is(plan, HK_COPY_LEN, SIX(1, 1, 2, 1, 1, 1), SIX(0, 0, 1, 0, 0, 0));
    ck_assert_int_eq(heed_form_of(plan)->n_batch, 2);
    heed_plan_drop(plan);
}

TEST(pages_and_parts_stand_before_the_rest)
{
    const heed_copy_desc copy = {
        .size = sizeof(copy), .x = T(F32, 2, 3, 5, 8), .y = T(F32, 9, 3, 16, 8),
        .from = T(I32, 3, 4), .len = T(I64, 2), .table = T(I32, 2, 4)
    };
    const heed_merge_desc merge = {
        .size = sizeof(merge), .parts = T(F32, 4, 2, 3, 5, 8), .parts_lse = T(F32, 4, 2, 3, 5),
        .o = T(F32, 2, 3, 5, 8), .sinks = T(F32, 3)
    };
    heed_plan *plan = NULL;

    ck_assert_msg(heed_copy_plan(device, &copy, &plan, &report) == HEED_OK, "%s", report.message);
    view_is(plan, HK_COPY_Y, SIX(1, 1, 9, 3, 16, 8), SIX(0, 0, 384, 128, 8, 1));
    heed_plan_drop(plan);
    ck_assert_msg(heed_merge_plan(device, &merge, &plan, &report) == HEED_OK, "%s", report.message);
    view_is(plan, HK_MERGE_PARTS, SIX(4, 1, 2, 3, 5, 8), SIX(240, 0, 120, 40, 8, 1));
    view_is(plan, HK_MERGE_PARTS_LSE, SIX(4, 1, 2, 1, 3, 5), SIX(30, 0, 15, 0, 5, 1));
    view_is(plan, HK_MERGE_SINKS, SIX(1, 1, 1, 1, 1, 3), SIX(0, 0, 0, 0, 0, 1));
    ck_assert_int_eq(heed_form_of(plan)->batch[0], 1);
    heed_plan_drop(plan);
}

/* ---- what arrays have to do with one another, and no field of the kit's cases can break ---- */

static void refused(heed_status got, heed_status wanted, const char *field)
{
    ck_assert_msg(got == wanted && strcmp(report.field, field) == 0, "%s, field %s: %s",
                  heed_status_name(got), report.field, report.message);
}

TEST(arrays_that_do_not_go_together_are_refused)
{
    heed_pool_desc pool = {
        .size = sizeof(pool), .kernel = 2, .stride = 2, .x = T(F32, 2, 3, 6, 8),
        .y = T(F32, 2, 3, 3, 8), .mask = T(U8, 2, 3, 6), .y_mask = T(U8, 2, 1, 3)
    };
    const heed_select_desc select = {
        .size = sizeof(select), .kind = HEED_SELECT_TOPK, .count = 2, .x = T(F32, 3, 6, 8),
        .q = T(F32, 4, 6, 8), .y = T(I32, 4, 6, 2)
    };
    const heed_push_desc push = {
        .size = sizeof(push), .rows = T(I8, 2, 3, 4, 8), .rows_scale = T(F32, 2, 3, 4),
        .head = T(I64, 2), .len = T(I64, 2), .x = T(BF16, 2, 3, 5, 8), .out = T(I8, 2, 3, 5, 8)
    };

    const heed_tensor t = T(F32, 1, 2, 20, 4);
    const heed_lsg_program_desc lsg = {
        .size = sizeof(lsg), .sparsity = HEED_LSG_LSH, .q = t, .o = t, .text = { .k = t, .v = t },
        .block = 16, .factor = 2, .sparse_block = 8
    };
    const heed_poolingformer_level2_desc pooled = {
        .size = sizeof(pooled), .q = t, .o = t, .text = { .k = t, .v = t }, .window = 4,
        .kernel = 5, .stride = 2, .taps_v = T(F32, 2, 20, 5)
    };

    refused(heed_pool_check(device, &pool, &report), HEED_E_SHAPE, "y_mask.shape[1]");
    pool.ranges = T(I32, 3, 2);
    refused(heed_pool_check(device, &pool, &report), HEED_E_VALUE, "kernel");
    refused(heed_select_check(device, &select, &report), HEED_E_SHAPE, "q.shape[0]");
    refused(heed_push_check(device, &push, &report), HEED_E_UNSUPPORTED, "out");
    refused(heed_lsg_program_check(device, &lsg, &report), HEED_E_NULL, "rounds[0]");
    refused(heed_poolingformer_level2_check(device, &pooled, &report), HEED_E_VALUE, "taps_v");
}

TEST(states_have_outputs_and_as_many_channels)
{
    heed_state_desc state = { .size = sizeof(state),
                              .states = T(F32, 4, 2, 3, 5, 18 + 8),
                              .sinks = T(F32, 3) };

    refused(heed_state_check(device, &state, &report), HEED_E_VALUE, "sinks.ndim");
    state.sinks.ndim = 0;
    refused(heed_state_check(device, &state, &report), HEED_E_NULL, "o.ndim");
    state.o = T(F16, 2, 3, 5, 9);
    refused(heed_state_check(device, &state, &report), HEED_E_SHAPE, "o.shape[3]");
    state.states = T(F32, 4, 2, 3, 5, 17);
    refused(heed_state_check(device, &state, &report), HEED_E_VALUE, "states.shape[4]");
}

int main(void)
{
    return suite_run("arrays", 0, before, after);
}
