/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of arrays: what becomes of letters, batch axes and missing heads, and which fault of a
 * descriptor is reported where.
 */
#include "lib/form.h"
#include "lib/ops/arrays.h"
#include "support/suite.h"

#include <heed/memory.h>
#include <heed/pool.h>

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

/* ---- faults ---- */

static heed_copy_desc copy;
static heed_pool_desc pool;
static heed_select_desc sel;
static heed_push_desc push;
static heed_merge_desc merge;

static void good(void)
{
    copy = (heed_copy_desc){
        .size = sizeof(copy), .x = T(F32, 2, 3, 5, 8), .y = T(F16, 2, 3, 7, 8),
        .from = T(I32, 3, 4), .len = T(I64, 2)
    };
    pool = (heed_pool_desc){
        .size = sizeof(pool), .kernel = 2, .stride = 2,
        .x = T(F32, 2, 3, 6, 8), .y = T(F32, 2, 3, 3, 8), .mask = T(U8, 1, 6)
    };
    sel = (heed_select_desc){
        .size = sizeof(sel), .block = 4, .count = 2, .pad_front = 1,
        .x = T(F32, 3, 6, 8), .y = T(I32, 3, 5)
    };
    push = (heed_push_desc){
        .size = sizeof(push), .rows = T(BF16, 2, 3, 4, 8), .head = T(I64, 2), .len = T(I64, 2),
        .x = T(BF16, 2, 3, 5, 8), .out = T(BF16, 2, 3, 5, 8)
    };
    merge = (heed_merge_desc){
        .size = sizeof(merge), .parts = T(F32, 4, 2, 3, 5, 8), .parts_lse = T(F32, 4, 2, 3, 5),
        .o = T(F32, 2, 3, 5, 8), .sinks = T(F32, 3)
    };
}

static heed_status check_all(void)
{
    heed_status status = heed_copy_check(device, &copy, &report);

    if (status >= 0)
        status = heed_pool_check(device, &pool, &report);
    if (status >= 0)
        status = heed_select_check(device, &sel, &report);
    if (status >= 0)
        status = heed_push_check(device, &push, &report);
    return status >= 0 ? heed_merge_check(device, &merge, &report) : status;
}

TEST(what_is_right_is_accepted)
{
    good();
    ck_assert_msg(check_all() == HEED_OK, "%s: %s", report.field, report.message);
}

/* Each names what spoils the good descriptors. */
#define FAULTS(OF)                                                                                 \
    OF(HEED_E_SIZE, "size", copy.size = 100)                                                       \
    OF(HEED_E_FLAG, "flags", copy.flags = 2)                                                       \
    OF(HEED_E_FLAG, "flags", pool.flags = 1)                                                       \
    OF(HEED_E_VALUE, "numerics", copy.numerics = 9)                                                \
    OF(HEED_E_VALUE, "reserved", push.reserved = 1)                                                \
    OF(HEED_E_NULL, "x.ndim", copy.x.ndim = 0)                                                     \
    OF(HEED_E_NULL, "head.ndim", push.head.ndim = 0)                                               \
    OF(HEED_E_VALUE, "x.ndim", copy.x.ndim = 7)                                                    \
    OF(HEED_E_VALUE, "x.ndim", copy.x.ndim = 1)                                                    \
    OF(HEED_E_VALUE, "len.ndim", copy.len = T(I32, 1, 1, 1, 2))                                    \
    OF(HEED_E_VALUE, "x.shape[2]", copy.x.shape[2] = -1)                                           \
    OF(HEED_E_DTYPE, "x.dtype", copy.x.dtype = HEED_I32)                                           \
    OF(HEED_E_DTYPE, "from.dtype", copy.from.dtype = HEED_I64)                                     \
    OF(HEED_E_STRIDE, "y.stride", copy.y.stride[3] = 0)                                            \
    OF(HEED_E_OVERFLOW, "x.stride", copy.x.stride[0] = INT64_MAX)                                  \
    OF(HEED_E_SHAPE, "y.shape[3]", copy.y = T(F16, 2, 3, 7, 9))                                    \
    OF(HEED_E_SHAPE, "y.shape[1]", copy.y = T(F16, 2, 1, 7, 8))                                    \
    OF(HEED_E_SHAPE, "y.ndim", copy.y = T(F16, 7, 8))                                              \
    OF(HEED_E_SHAPE, "y.shape[0]", copy.y = T(F16, 1, 3, 7, 8))                                    \
    OF(HEED_E_SHAPE, "from.shape[0]", copy.from = T(I32, 2, 4))                                    \
    OF(HEED_E_SHAPE, "from.shape[0]", copy.from = T(I32, 3, 3, 4))                                 \
    OF(HEED_E_SHAPE, "to.shape[1]", copy.to = T(I32, 3, 5))                                        \
    OF(HEED_E_VALUE, "at.ndim", (copy.to = T(I32, 4), copy.at = T(I32, 2)))                        \
    OF(HEED_E_VALUE, "table.ndim", (copy.head = T(I64, 2), copy.table = T(I32, 2, 4)))             \
    OF(HEED_E_VALUE, "y.ndim", (copy.y = T(F16, 7, 2, 8), copy.table = T(I32, 2, 4)))              \
    OF(HEED_E_VALUE, "kind", pool.kind = 7)                                                        \
    OF(HEED_E_VALUE, "tail", pool.tail = 5)                                                        \
    OF(HEED_E_VALUE, "kernel", pool.kernel = 0)                                                    \
    OF(HEED_E_VALUE, "stride", pool.stride = 0)                                                    \
    OF(HEED_E_VALUE, "left", pool.left = 1)                                                        \
    OF(HEED_E_VALUE, "left", (pool.tail = HEED_TAIL_CENTRE, pool.left = 2))                        \
    OF(HEED_E_VALUE, "stride", (pool.tail = HEED_TAIL_CEIL, pool.stride = 3))                      \
    OF(HEED_E_VALUE, "stride", (pool.tail = HEED_TAIL_END, pool.stride = 1))                       \
    OF(HEED_E_VALUE, "block", pool.block = 4)                                                      \
    OF(HEED_E_UNSUPPORTED, "kernel", pool.kernel = ((int64_t)1 << 24) + 1)                         \
    OF(HEED_E_SHAPE, "y.shape[2]", pool.stride = 1)                                                \
    OF(HEED_E_NULL, "weights.ndim", pool.kind = HEED_POOL_LINEAR)                                  \
    OF(HEED_E_VALUE, "weights.ndim", pool.weights = T(F32, 6))                                     \
    OF(HEED_E_VALUE, "ids.ndim", pool.ids = T(I32, 6))                                             \
    OF(HEED_E_VALUE, "kernel", pool.ranges = T(I32, 3, 2))                                         \
    OF(HEED_E_SHAPE, "ranges.shape[1]",                                                            \
       (pool.kernel = pool.stride = 0, pool.ranges = T(I32, 3, 3)))                                \
    OF(HEED_E_SHAPE, "weights.shape[1]",                                                           \
       (pool.kind = HEED_POOL_DYNAMIC, pool.weights = T(F32, 3, 3)))                               \
    OF(HEED_E_VALUE, "tail", (pool.kind = HEED_POOL_DYNAMIC, pool.tail = HEED_TAIL_JOIN,           \
                              pool.weights = T(F32, 3, 2)))                                        \
    OF(HEED_E_VALUE, "block", (pool.kind = HEED_POOL_BUCKET, pool.ids = T(I32, 6),                 \
                               pool.kernel = pool.stride = 0))                                     \
    OF(HEED_E_SHAPE, "y_mask.shape[1]",                                                            \
       (pool.mask = T(U8, 3, 6), pool.y_mask = T(U8, 2, 1, 3)))                                    \
    OF(HEED_E_VALUE, "kind", sel.kind = 3)                                                         \
    OF(HEED_E_VALUE, "block", sel.block = 0)                                                       \
    OF(HEED_E_VALUE, "count", sel.count = 0)                                                       \
    OF(HEED_E_VALUE, "pad_back", sel.pad_back = -1)                                                \
    OF(HEED_E_SHAPE, "y.shape[1]", sel.pad_front = 0)                                              \
    OF(HEED_E_VALUE, "q.ndim", sel.q = T(F32, 3, 6, 8))                                            \
    OF(HEED_E_VALUE, "rounds[0].ndim", sel.rounds[0] = T(F32, 8, 2))                               \
    OF(HEED_E_VALUE, "rounds[2].ndim",                                                             \
       (sel.kind = HEED_SELECT_HASH, sel.count = sel.pad_front = 0, sel.y = T(I32, 3, 6),          \
        sel.rounds[0] = T(F32, 8, 2), sel.rounds[2] = T(F32, 8, 2)))                               \
    OF(HEED_E_SHAPE, "q.shape[0]",                                                                 \
       (sel.kind = HEED_SELECT_TOPK, sel.block = sel.pad_front = 0, sel.q = T(F32, 4, 6, 8),       \
        sel.y = T(I32, 4, 6, 2)))                                                                  \
    OF(HEED_E_DTYPE, "y.dtype", sel.y.dtype = HEED_I64)                                            \
    OF(HEED_E_DTYPE, "x.dtype", push.x.dtype = HEED_F16)                                           \
    OF(HEED_E_DTYPE, "out.dtype", push.out.dtype = HEED_F16)                                       \
    OF(HEED_E_DTYPE, "len.dtype", push.len.dtype = HEED_I32)                                       \
    OF(HEED_E_SHAPE, "head.shape[0]", push.head = T(I64, 1))                                       \
    OF(HEED_E_SHAPE, "parts_lse.shape[0]", merge.parts_lse = T(F32, 3, 2, 3, 5))                   \
    OF(HEED_E_SHAPE, "sinks.shape[0]", merge.sinks = T(F32, 2))                                    \
    OF(HEED_E_VALUE, "o.ndim", merge.o = T(F32, 1, 1, 2, 3, 5, 8))                                 \
    OF(HEED_E_VALUE, "parts.ndim", merge.parts = T(F32, 5, 8))

enum {
#define COUNT(status, field, spoil) +1
    N_FAULTS = 0 FAULTS(COUNT)
#undef COUNT
};

static void spoil(int which)
{
    int i = 0;

#define SPOIL(status, field, change)                                                               \
    if (i++ == which)                                                                              \
        (void)(change);
    FAULTS(SPOIL)
#undef SPOIL
}

static const struct fault {
    heed_status status;
    const char *field, *text;
} faults[] = {
#define FAULT(status, field, spoil) { status, field, #spoil },
    FAULTS(FAULT)
#undef FAULT
};

LOOP_TEST(each_fault_is_named, N_FAULTS)
{
    heed_status status;

    good();
    spoil(_i);
    status = check_all();
    ck_assert_msg(status == faults[_i].status && !strcmp(report.field, faults[_i].field),
                  "%s: %s, field %s: %s", faults[_i].text, heed_status_name(status), report.field,
                  report.message);
}

TEST(a_newer_descriptor_is_refused_and_a_longer_one_is_not)
{
    struct {
        heed_copy_desc desc;
        uint64_t more;
    } longer = { .more = 0 };

    good();
    longer.desc = copy;
    longer.desc.size = sizeof(longer);
    ck_assert_int_eq(heed_copy_check(device, &longer.desc, &report), HEED_OK);
    longer.more = 1;
    ck_assert_int_eq(heed_copy_check(device, &longer.desc, &report), HEED_E_NEWER);
}

/* ---- views ---- */

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
    heed_plan *plan = NULL;

    good();
    copy.from = T(I32, 4);
    ck_assert_int_eq(heed_copy_plan(device, &copy, &plan, &report), HEED_OK);
    view_is(plan, HK_COPY_X, SIX(1, 1, 2, 3, 5, 8), SIX(0, 0, 120, 40, 8, 1));
    view_is(plan, HK_COPY_FROM, SIX(1, 1, 2, 1, 1, 4), SIX(0, 0, 0, 0, 0, 1));
    view_is(plan, HK_COPY_LEN, SIX(1, 1, 2, 1, 1, 1), SIX(0, 0, 1, 0, 0, 0));
    ck_assert_int_eq(heed_form_of(plan)->n_batch, 2);
    heed_plan_drop(plan);
}

TEST(pages_and_parts_stand_before_the_rest)
{
    heed_plan *plan = NULL;

    good();
    copy.y = T(F32, 9, 3, 16, 8);
    copy.table = T(I32, 2, 4);
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

int main(void)
{
    return suite_run("arrays", 0, before, after);
}
