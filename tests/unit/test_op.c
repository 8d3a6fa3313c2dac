/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What every operation gets from the tables: a toy operation with an input, a state that may be the
 * input itself, and an output goes through check, plan and run, on a device of the test's own.
 */
#include "lib/core/context.h"
#include "lib/core/error.h"
#include "lib/launch/operands.h"
#include "lib/ops/op.h"
#include "support/ledger.h"
#include "support/suite.h"

#include <string.h>

enum { TOY = 77, OTHER = 78, LENGTH = 8, WORKSPACE = 64 };
enum { X, Y, OUT, OPERANDS };

/* ---- the toy ---- */

struct toy_desc {
    int64_t n;
    uint32_t numerics;
};

struct toy_args {
    heed_buf at[OPERANDS], workspace;
};

static heed_status toy_check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                             heed_report *report)
{
    const struct toy_desc *desc = given;
    struct heed_plan_operand *to = heed_arena_array(arena, OPERANDS, sizeof(*to), 8);
    const struct heed_view row = {
        .dtype = HEED_F32, .shape = { 1, 1, 1, 1, 1, desc->n }, .stride = { 0, 0, 0, 0, 0, 1 }
    };

    if (desc->n < 0)
        return heed_report_fill(report, HEED_E_VALUE, "n", 0, desc->n, "n is negative");
    if (to == NULL)
        return heed_report_fill(report, HEED_E_NOMEM, NULL, 0, 0, "no memory");
    to[X] = (struct heed_plan_operand){ .view = row, .role = HEED_ROLE_IN, .name = "x" };
    to[Y] = (struct heed_plan_operand){
        .view = row, .role = HEED_ROLE_STATE, .same_as = X + 1, .name = "y[]", .index = 3
    };
    to[OUT] = (struct heed_plan_operand){ .view = row, .role = HEED_ROLE_OUT, .name = "out" };
    plan->operands = to;
    plan->n_operands = OPERANDS;
    plan->numerics = desc->numerics;
    return HEED_OK;
}

static heed_status toy_lower(struct heed_plan *plan, struct heed_arena *arena, heed_report *report)
{
    (void)plan;
    (void)arena;
    (void)report;
    return HEED_OK;
}

static heed_status toy_place(const struct heed_plan *plan, const void *given,
                             struct heed_places *to, heed_report *report)
{
    const struct toy_args *args = given;

    (void)plan;
    (void)report;
    memcpy(to->at, args->at, sizeof(args->at));
    to->run.workspace = args->workspace;
    to->run.workspace_size = WORKSPACE;
    return HEED_OK;
}

static int works;

static void toy_work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    (void)plan;
    works++;
    *flops = 5;
    *bytes = 7;
}

static const struct heed_op toy = {
    .id = TOY, .name = "toy", .check = toy_check, .lower = toy_lower, .place = toy_place,
    .work = toy_work,
};
static const struct heed_op other = {
    .id = OTHER, .name = "other", .check = toy_check, .lower = toy_lower, .place = toy_place,
    .work = toy_work,
};

/* ---- the device ---- */

static struct {
    bool refuses;
    int prepared, released, runs;
    heed_buf at[OPERANDS];
} fake;

static bool toy_accepts(const struct heed_plan *plan, const struct heed_services *services,
                        struct heed_refusal *why)
{
    ck_assert_ptr_eq(plan->op, &toy);
    ck_assert_ptr_nonnull(services->executor);
    *why = (struct heed_refusal){ "toys of this size are too dear", "n" };
    return !fake.refuses;
}

static heed_status toy_prepare(struct heed_plan *plan, const struct heed_services *services,
                               struct heed_error_detail *detail)
{
    (void)services;
    (void)detail;
    fake.prepared++;
    plan->workspace_size = WORKSPACE;
    plan->workspace_align = 4;
    return HEED_OK;
}

static heed_status toy_run(const struct heed_plan *plan, const struct heed_services *services,
                           const struct heed_launch *launch)
{
    (void)services;
    memcpy(fake.at, launch->at, plan->n_operands * sizeof(fake.at[0]));
    fake.runs++;
    return HEED_OK;
}

static void toy_release(struct heed_plan *plan, const struct heed_services *services)
{
    (void)plan;
    (void)services;
    fake.released++;
}

/* The first implementation is of another operation: nobody may ask it. */
static const struct heed_impl foreign = { .op = HEED_OP_ATTN, .name = "foreign" };
static const struct heed_impl toy_impl = {
    .op = TOY, .name = "toy", .accepts = toy_accepts, .prepare = toy_prepare, .run = toy_run,
    .release = toy_release,
};
static const struct heed_impl *const impls[] = { &foreign, &toy_impl, NULL };
static const struct heed_backend backend = {
    .size = sizeof(backend), .kind = HEED_DEVICE_PLUGIN, .host = 1, .impls = impls
};

static struct ledger ledger;
static heed_runtime *rt;
static struct heed_event done;
static heed_device device;
static heed_queue *queue;
static heed_report why;
static struct toy_desc desc;
static struct toy_args args;
static _Alignas(64) float memory[4][LENGTH], room[WORKSPACE / 4];

static void set_up(void)
{
    const heed_allocator a = ledger_allocator(&ledger);
    const heed_runtime_desc rt_desc = { .size = sizeof(rt_desc), .allocator = &a };

    why.size = sizeof(why);
    ck_assert_int_eq(heed_runtime_create(&rt_desc, &rt, &why), HEED_OK);
    device = (heed_device){
        .backend = &backend, .runtime = rt, .done = &done, .props = { .name = "fake", .exact = 1 }
    };
    done.device = &device;
    memset(&fake, 0, sizeof(fake));
    ck_assert_int_eq(heed_queue_create(&device, 0, &queue, &why), HEED_OK);
    desc = (struct toy_desc){ .n = LENGTH };
    args = (struct toy_args){
        .at = { { memory[0], 0 }, { memory[1], 0 }, { memory[2], 0 } }, .workspace = { room, 0 }
    };
}

static void tear_down(void)
{
    heed_queue_destroy(queue);
    heed_runtime_destroy(rt);
    ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
}

static heed_plan *make_plan(void)
{
    heed_plan *plan = NULL;

    ck_assert_int_eq(heed_op_plan(&toy, &device, &desc, &plan, &why), HEED_OK);
    return plan;
}

static void run_is(const heed_plan *plan, heed_status status, const char *field)
{
    ck_assert_int_eq(heed_op_run(&toy, plan, queue, &args, NULL, &why), status);
    ck_assert_str_eq(why.field, field);
}

/* ---- check and plan ---- */

TEST(check_is_plan_without_prepare)
{
    heed_plan *plan = NULL;
    const int64_t blocks = atomic_load(&ledger.blocks);

    ck_assert_int_eq(heed_op_check(&toy, &device, &desc, &why), HEED_OK);
    ck_assert_int_eq(fake.prepared, 0);
    ck_assert_int_eq(atomic_load(&ledger.blocks), blocks);
    fake.refuses = true;
    ck_assert_int_eq(heed_op_check(&toy, &device, &desc, &why), HEED_E_UNSUPPORTED);
    ck_assert_str_eq(why.field, "n");
    ck_assert_int_eq(heed_op_plan(&toy, &device, &desc, &plan, &why), HEED_E_UNSUPPORTED);
    ck_assert_str_eq(why.field, "n");
    ck_assert_str_eq(why.message, "toys of this size are too dear");
    ck_assert_ptr_null(plan);
    ck_assert_int_eq(fake.prepared, 0);
}

TEST(a_device_without_the_operation_says_so)
{
    ck_assert_int_eq(heed_op_check(&other, &device, &desc, &why), HEED_E_UNSUPPORTED);
    ck_assert_str_eq(why.message, "the device has no implementation of it");
}

TEST(exact_is_refused_where_the_device_is_not)
{
    device.props.exact = 0;
    desc.numerics = HEED_NUMERICS_EXACT;
    ck_assert_int_eq(heed_op_check(&toy, &device, &desc, &why), HEED_E_UNSUPPORTED);
    ck_assert_str_eq(why.field, "numerics");
    desc.numerics = HEED_NUMERICS_BEST;
    ck_assert_int_eq(heed_op_check(&toy, &device, &desc, &why), HEED_OK);
}

TEST(work_is_estimated_when_it_is_asked_for)
{
    heed_plan_props props = { .size = sizeof(props) };
    heed_plan *plan;

    works = 0;
    ck_assert_int_eq(heed_op_check(&toy, &device, &desc, &why), HEED_OK);
    plan = make_plan();
    ck_assert_int_eq(works, 0);
    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    ck_assert_int_eq(works, 1);
    ck_assert_uint_eq(props.flops, 5);
    ck_assert_uint_eq(props.bytes, 7);
    heed_plan_drop(plan);
    ck_assert_int_eq(fake.released, 1);
}

/* ---- run ---- */

TEST(a_plan_runs_as_what_it_is)
{
    heed_plan *plan = make_plan();

    ck_assert_int_eq(heed_op_run(&other, plan, queue, &args, NULL, &why), HEED_E_MISMATCH);
    ck_assert_str_eq(why.field, "plan");
    ck_assert_str_eq(why.message, "the plan is one of toy, this is the run of other");
    ck_assert_int_eq(fake.runs, 0);
    run_is(plan, HEED_OK, "");
    ck_assert_ptr_eq(fake.at[Y].handle, memory[1]);
    heed_plan_drop(plan);
}

TEST(operands_share_what_they_may)
{
    heed_plan *plan = make_plan();

    args.at[Y] = args.at[X];                    /* the one it may be */
    run_is(plan, HEED_OK, "");
    args.at[Y].offset = 4;                      /* but not beside it */
    run_is(plan, HEED_E_ALIAS, "y[3]");
    args.at[Y] = (heed_buf){ memory[1], 0 };
    args.at[OUT] = args.at[X];                  /* an output is never an input */
    run_is(plan, HEED_E_ALIAS, "out");
    args.at[OUT] = args.at[Y];
    run_is(plan, HEED_E_ALIAS, "y[3]");
    args.at[OUT] = (heed_buf){ memory[2], 0 };
    args.workspace = (heed_buf){ memory[1], 0 };
    run_is(plan, HEED_E_ALIAS, "workspace");
    heed_plan_drop(plan);
}

TEST(every_operand_needs_its_memory)
{
    heed_plan *plan = make_plan();

    args.at[OUT].offset = 2;
    run_is(plan, HEED_E_ALIGN, "out");
    args.at[OUT] = (heed_buf){ NULL, 0 };
    run_is(plan, HEED_E_NULL, "out");
    args.at[OUT] = (heed_buf){ memory[2], UINT64_MAX };
    run_is(plan, HEED_E_OVERFLOW, "out");
    ck_assert_int_eq(fake.runs, 0);
    heed_plan_drop(plan);
    desc.n = 0;                     /* nothing has elements, so nothing is asked of it */
    plan = make_plan();
    run_is(plan, HEED_OK, "");
    ck_assert_ptr_null(fake.at[OUT].handle);
    heed_plan_drop(plan);
}

TEST(the_table_of_operations_is_in_order)
{
    uint32_t n = 0;

    for (; heed_ops[n] != NULL; n++) {
        ck_assert_uint_eq(heed_ops[n]->id, n + 1);
        ck_assert_ptr_nonnull(heed_ops[n]->name);
        ck_assert(heed_ops[n]->check && heed_ops[n]->lower && heed_ops[n]->place &&
                  heed_ops[n]->work);
    }
    ck_assert_uint_ge(n, 1);
}

int main(void)
{
    return suite_run("op", 0, set_up, tear_down);
}
