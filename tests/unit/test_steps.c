/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs of a caller's steps: the words of the steps' own runs, what the plan says of its arrays,
 * and every refusal. A block of a layer stands for all: y = norm(x + W2 gelu(W1 x + b1)), in x.
 */
#include "support/suite.h"

#include <heed/nn.h>
#include <heed/programs.h>

#include <stddef.h>
#include <string.h>

enum { N = 5, D = 12, WIDE = 20, X = 0, WEIGHTS = 1, HIDDEN = 2, MORE = 3, STEPS = 3 };

struct weights {
    float up[WIDE * D], up_bias[WIDE], down[D * WIDE], norm[D];
};

static heed_report why;
static heed_runtime *runtime;
static heed_device *device;
static heed_queue *queue;
static struct weights weights;
static float x[N * D];

static heed_linear_desc linear[2];
static heed_linear_args linear_args[2];
static heed_norm_desc norm;
static heed_norm_args norm_args;
static heed_program_step steps[STEPS];
static heed_program_desc desc;

static heed_tensor rows(int64_t d)
{
    return heed_array4(HEED_F32, NULL, 1, 1, N, d).t;
}

static void fill(float *to, size_t n)
{
    static uint32_t state = 7;

    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        to[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
    }
}

static void step(int i, int64_t in, int64_t out, uint32_t act)
{
    const int64_t w[2] = { out, in };

    linear[i] = (heed_linear_desc){ .size = sizeof(linear[i]), .act = act, .x = rows(in),
                                    .y = rows(out) };
    linear[i].w = heed_array_dense(HEED_F32, NULL, 2, w).t;
    linear_args[i] = (heed_linear_args){ .size = sizeof(linear_args[i]) };
    steps[i] = (heed_program_step){ "linear", &linear[i], &linear_args[i] };
}

/* The three descriptors, with arrays of a program as memory. */
static void set_up(void)
{
    const int64_t wide = WIDE, d = D;

    why = (heed_report){ .size = sizeof(why) };
    fill(x, N * D);
    fill((float *)&weights, sizeof(weights) / sizeof(float));
    step(0, D, WIDE, HEED_ACT_GELU);
    step(1, WIDE, D, HEED_ACT_NONE);
    linear[0].bias = heed_array_dense(HEED_F32, NULL, 1, &wide).t;
    linear[1].add = linear[1].y;
    linear_args[0].x = heed_program_array(X, 0);
    linear_args[0].w = heed_program_array(WEIGHTS, offsetof(struct weights, up));
    linear_args[0].bias = heed_program_array(WEIGHTS, offsetof(struct weights, up_bias));
    linear_args[0].y = linear_args[1].x = heed_program_array(HIDDEN, 0);
    linear_args[1].w = heed_program_array(WEIGHTS, offsetof(struct weights, down));
    linear_args[1].add = linear_args[1].y = heed_program_array(X, 0);
    norm = (heed_norm_desc){ .size = sizeof(norm), .kind = HEED_NORM_RMS, .eps = 1e-5,
                             .x = rows(D), .y = rows(D) };
    norm.weight = heed_array_dense(HEED_F32, NULL, 1, &d).t;
    norm_args = (heed_norm_args){ .size = sizeof(norm_args) };
    norm_args.x = norm_args.y = heed_program_array(X, 0);
    norm_args.weight = heed_program_array(WEIGHTS, offsetof(struct weights, norm));
    steps[2] = (heed_program_step){ "norm", &norm, &norm_args };
    desc = (heed_program_desc){ .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE,
                                .n_args = 2, .n_temps = 1, .steps = steps, .n_steps = STEPS,
                                .step_size = sizeof(steps[0]) };
    ck_assert_int_eq(heed_runtime_create(NULL, &runtime, &why), HEED_OK);
    ck_assert_int_eq(heed_device_find(runtime, "reference", &device, &why), HEED_OK);
}

static void tear_down(void)
{
    heed_runtime_destroy(runtime);
}

static heed_buf memory(const void *at)
{
    return (heed_buf){ .handle = (void *)(uintptr_t)at };
}

/* The same by three runs; memory instead of numbers. */
static void separately(float *y)
{
    static float hidden[N * WIDE];
    heed_plan *plans[STEPS];

    linear_args[0].x = linear_args[1].add = linear_args[1].y = memory(y);
    norm_args.x = norm_args.y = memory(y);
    linear_args[0].w = memory(weights.up);
    linear_args[0].bias = memory(weights.up_bias);
    linear_args[0].y = linear_args[1].x = memory(hidden);
    linear_args[1].w = memory(weights.down);
    norm_args.weight = memory(weights.norm);
    for (int i = 0; i < 2; i++) {
        linear[i].flags |= HEED_PLAN_OWN_WORKSPACE;
        ck_assert_int_eq(heed_linear_plan(device, &linear[i], &plans[i], &why), HEED_OK);
        ck_assert_int_eq(heed_linear_run(plans[i], queue, &linear_args[i], NULL, &why), HEED_OK);
    }
    norm.flags |= HEED_PLAN_OWN_WORKSPACE;
    ck_assert_int_eq(heed_norm_plan(device, &norm, &plans[2], &why), HEED_OK);
    ck_assert_int_eq(heed_norm_run(plans[2], queue, &norm_args, NULL, &why), HEED_OK);
    for (int i = 0; i < STEPS; i++)
        heed_plan_drop(plans[i]);
}

LOOP_TEST(words_are_those_of_the_steps_own_runs, 2)
{
    float wanted[N * D], got[N * D];
    heed_plan *plan;
    heed_buf at[2];

    ck_assert_int_eq(heed_device_find(runtime, _i ? "cpu" : "reference", &device, &why), HEED_OK);
    ck_assert_int_eq(heed_queue_create(device, 0, &queue, &why), HEED_OK);
    ck_assert_int_eq(heed_program_check(device, &desc, &why), HEED_OK);
    ck_assert_int_eq(heed_program_plan(device, &desc, &plan, &why), HEED_OK);
    memset(steps, 0, sizeof(steps));            /* the plan has copied them */
    memcpy(wanted, x, sizeof(x));
    memcpy(got, x, sizeof(x));
    separately(wanted);
    at[X] = memory(got);
    at[WEIGHTS] = memory(&weights);
    for (int again = 0; again < 2; again++) {   /* and a second time onto the first */
        ck_assert_int_eq(heed_plan_run(plan, queue, at, 2, NULL, NULL, &why), HEED_OK);
        ck_assert_mem_eq(wanted, got, sizeof(got));
        separately(wanted);
    }
    ck_assert_int_eq(heed_plan_run(plan, queue, at, 3, NULL, NULL, &why), HEED_E_VALUE);
    heed_plan_drop(plan);
    heed_queue_destroy(queue);
}

/* Bytes and roles of the arguments, and the workspace. */
TEST(a_plan_says_what_its_arrays_are)
{
    heed_plan_props props = { .size = sizeof(props) };
    heed_operand operands[2];
    heed_program_args args = { .size = sizeof(args) };
    heed_plan *plan;
    uint32_t count;

    ck_assert_int_eq(heed_queue_create(device, 0, &queue, &why), HEED_OK);
    desc.flags = 0;
    ck_assert_int_eq(heed_program_plan(device, &desc, &plan, &why), HEED_OK);
    ck_assert_int_eq(heed_plan_operands(plan, operands, 2, sizeof(operands[0]), &count), HEED_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(operands[X].name, "arrays[0]");
    ck_assert_uint_eq(operands[X].role, HEED_ROLE_STATE);
    ck_assert_int_eq(operands[X].high, sizeof(x));
    ck_assert_uint_eq(operands[WEIGHTS].role, HEED_ROLE_IN);
    ck_assert_int_eq(operands[WEIGHTS].low, 0);
    ck_assert_int_eq(operands[WEIGHTS].high, sizeof(weights));
    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    ck_assert_uint_ge(props.workspace_size, N * WIDE * sizeof(float));
    ck_assert_int_eq(heed_program_run(plan, queue, &args, NULL, &why), HEED_E_MISMATCH);
    heed_plan_drop(plan);
    heed_queue_destroy(queue);
}

/* y goes through temporaries by turns: two of them are enough room for any number. */
TEST(temporaries_share_the_workspace)
{
    enum { TURNS = 9 };
    static heed_act_args args[TURNS + 1];
    heed_program_step turns[TURNS + 1];
    const heed_act_desc act = { .size = sizeof(act), .kind = HEED_ACT_TANH, .x = rows(D),
                                .y = rows(D) };
    heed_plan_props props = { .size = sizeof(props) };
    heed_plan *plan;

    for (uint32_t i = 0; i <= TURNS; i++) {
        args[i] = (heed_act_args){ .size = sizeof(args[i]) };
        args[i].x = heed_program_array(i == 0 ? 0 : i + 1, 0);
        args[i].y = heed_program_array(i == TURNS ? 1 : i + 2, 0);
        turns[i] = (heed_program_step){ "act", &act, &args[i] };
    }
    desc.flags = 0;
    desc.n_args = 2;
    desc.n_temps = TURNS;
    desc.steps = turns;
    desc.n_steps = TURNS + 1;
    ck_assert_int_eq(heed_program_plan(device, &desc, &plan, &why), HEED_OK);
    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    ck_assert_uint_ge(props.workspace_size, 2 * sizeof(x));
    ck_assert_uint_lt(props.workspace_size, 3 * sizeof(x));
    heed_plan_drop(plan);
}

/* ---- refusals ---- */

static void refused(heed_status status, const char *field)
{
    heed_plan *plan = NULL;

    ck_assert_int_eq(heed_program_check(device, &desc, &why), status);
    ck_assert_str_eq(why.field, field);
    ck_assert_int_eq(heed_program_plan(device, &desc, &plan, &why), status);
    ck_assert_ptr_null(plan);
}

TEST(counts_flags_and_pointers)
{
    const heed_program_desc good = desc;

    ck_assert_int_eq(heed_program_check(NULL, &desc, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_program_check(device, NULL, &why), HEED_E_NULL);
    ck_assert_int_eq(heed_program_plan(device, &desc, NULL, &why), HEED_E_NULL);
#define REFUSED(change, status, field)                                                             \
    do {                                                                                           \
        desc = good;                                                                               \
        change;                                                                                    \
        refused(status, field);                                                                    \
    } while (0)
    REFUSED(desc.size = 8, HEED_E_SIZE, "size");
    REFUSED(desc.flags = 1u << 31, HEED_E_FLAG, "flags");
    REFUSED(desc.n_args = 0, HEED_E_VALUE, "n_args");
    REFUSED(desc.n_args = 102, HEED_E_VALUE, "n_args");
    REFUSED(desc.n_temps = 257, HEED_E_VALUE, "n_temps");
    REFUSED(desc.n_steps = 0, HEED_E_VALUE, "n_steps");
    REFUSED(desc.n_steps = 4097, HEED_E_VALUE, "n_steps");
    REFUSED(desc.steps = NULL, HEED_E_NULL, "steps");
    REFUSED(desc.step_size = 16, HEED_E_SIZE, "steps[0]");
    REFUSED(desc.n_temps = 0, HEED_E_VALUE, "steps[0].y");
}

TEST(members_of_steps)
{
#define STEP(i, change, status, field)                                                             \
    do {                                                                                           \
        const heed_program_step good = steps[i];                                                   \
        change;                                                                                    \
        refused(status, field);                                                                    \
        steps[i] = good;                                                                           \
    } while (0)
    STEP(1, steps[1].op = NULL, HEED_E_NULL, "steps[1].op");
    STEP(1, steps[1].desc = NULL, HEED_E_NULL, "steps[1].desc");
    STEP(1, steps[1].args = NULL, HEED_E_NULL, "steps[1].args");
    STEP(1, steps[1].op = "lineal", HEED_E_VALUE, "steps[1].op");
    STEP(1, steps[1].op = "program", HEED_E_VALUE, "steps[1].op");
}

TEST(arrays_of_steps)
{
    const heed_linear_args good = linear_args[1];

#define MEMORY(change, status, field)                                                              \
    do {                                                                                           \
        linear_args[1] = good;                                                                     \
        change;                                                                                    \
        refused(status, field);                                                                    \
    } while (0)
    MEMORY(linear_args[1].size = 4, HEED_E_SIZE, "steps[1].args");
    MEMORY(linear_args[1].w.handle = NULL, HEED_E_NULL, "steps[1].w");
    MEMORY(linear_args[1].w = heed_program_array(MORE, 0), HEED_E_VALUE, "steps[1].w");
    MEMORY(linear_args[1].w.offset++, HEED_E_ALIGN, "steps[1].w");
    MEMORY(linear_args[1].w.offset = UINT64_MAX, HEED_E_OVERFLOW, "steps[1].w");
    MEMORY(linear_args[1].w.offset = (uint64_t)INT64_MAX - 3, HEED_E_OVERFLOW, "steps[1].w");
    MEMORY(linear_args[1].y = heed_program_array(HIDDEN, 0), HEED_E_ALIAS, "steps[1].y");
    linear_args[1] = good;
    linear[1].x.shape[3]++;
    refused(HEED_E_SHAPE, "steps[1].w.shape[1]");
    linear[1].x.shape[3]--;
    linear_args[0].y = heed_program_array(HIDDEN, UINT64_C(1) << 53);
    linear_args[1].x = linear_args[0].y;
    refused(HEED_E_OVERFLOW, "workspace");
}

/* Rows in their reverse order reach before the place of the first. */
TEST(elements_lie_in_their_arrays)
{
    const int64_t back = -D;

    norm.x.stride[2] = norm.y.stride[2] = back;
    refused(HEED_E_OVERFLOW, "steps[2].x");
    norm_args.x.offset = norm_args.y.offset = (N - 1) * D * sizeof(float);
    ck_assert_int_eq(heed_program_check(device, &desc, &why), HEED_OK);
}

TEST(temporaries_are_written_before_they_are_read)
{
    const heed_program_step first = steps[0];

    steps[0] = steps[1];
    steps[1] = first;
    refused(HEED_E_VALUE, "steps[0].x");
}

int main(void)
{
    return suite_run("steps", 0, set_up, tear_down);
}
