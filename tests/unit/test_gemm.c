/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * FAST of heed_linear by a library that multiplies matrices, on both vendors' backends over drivers
 * and libraries of the tests' own: which plans go there, where their matrices lie, and what becomes
 * of a plan where the library is absent, fails or is wrong.
 */
#include "gemm_world.h"

#include <heed/nn.h>

#include <stdio.h>

/* ---- which plans ---- */

LOOP_TEST(products_go_to_the_library, VENDORS)
{
    heed_device *const device = gemm_begin(&vendors[_i]);

    for (size_t i = 0; i < N_SHAPES; i++) {
        if (_i == OPENCL && shapes[i].dtype != HEED_F32)
            continue;
        (void)shape_run(device, &shapes[i], library_names[_i]);
    }
    ck_assert_int_eq(fake.mistakes, 0);
    gemm_end();
}

static const struct {
    const char *what;
    void (*change)(heed_linear_desc *);
} others[] = {
#define OTHER(what, change) { what, change }
    OTHER("EXACT", ask_exact),
    OTHER("REPEAT", ask_repeat),
    OTHER("BEST", ask_best),
    OTHER("windows that overlap", add_windows),
    OTHER("windows beyond the rows", add_centre),
    OTHER("channels that are apart", spread_channels),
    OTHER("rows that go backwards", turn_rows),
    OTHER("weights of another type", other_weights),
    OTHER("no rows", no_rows),
    OTHER("no terms", no_terms),
#undef OTHER
};

/* Each with all that surrounds it, and the kernels' name. */
LOOP_TEST(other_plans_do_not, VENDORS)
{
    heed_device *const device = gemm_begin(&vendors[_i]);

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        heed_linear_desc desc = plain_desc(40, 30, 20);
        heed_plan_props props;

        others[i].change(&desc);
        props = props_of(device, &desc);
        ck_assert_msg(strcmp(props.implementation, "linear-kernel") == 0, "%s: %s",
                      others[i].what, props.implementation);
        ck_assert_uint_eq(props.numerics, HEED_NUMERICS_EXACT);
    }
    gemm_end();
}

static const struct {
    const char *what;
    void (*change)(heed_linear_desc *);
} ends[] = {
    { "a function", add_act },
    { "a bias", add_bias },
    { "an addend", add_add },
    { "y of another type", other_results },
    { "rows of y that go backwards, and an addend", add_turned },
};

/* They go to the library, and one kernel more runs behind it. */
LOOP_TEST(ends_of_sums_are_a_launch, VENDORS)
{
    heed_device *const device = gemm_begin(&vendors[_i]);
    char words[64];

    snprintf(words, sizeof words, "linear-gemm %s", library_names[_i]);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        heed_linear_desc desc = plain_desc(40, 30, 20);
        heed_plan_props props;

        ck_assert_uint_eq(launches_of(device, &desc), 0);
        ends[i].change(&desc);
        props = props_of(device, &desc);
        ck_assert_msg(strcmp(props.implementation, words) == 0, "%s: %s", ends[i].what,
                      props.implementation);
        ck_assert_uint_eq(props.numerics, HEED_NUMERICS_FAST);
        ck_assert_uint_eq(launches_of(device, &desc), 1);
    }
    gemm_end();
}

/* ---- what is removed ---- */

static void require_fallback(heed_device *device, const char *words)
{
    const heed_linear_desc desc = plain_desc(40, 30, 20);
    const heed_plan_props props = props_of(device, &desc);
    char text[128];

    ck_assert_str_eq(props.implementation, "linear-kernel");
    ck_assert_uint_eq(props.numerics, HEED_NUMERICS_EXACT);
    if (words == NULL)
        return;
    ck_assert_int_eq(heed_device_gemm(device, text, sizeof text), HEED_E_NOT_FOUND);
    ck_assert_msg(strstr(text, words) != NULL, "%s", text);
}

LOOP_TEST(without_library_exact_is_delivered, VENDORS)
{
    heed_device *const device = gemm_begin(&vendors[_i]);
    char text[128];

    ck_assert_int_eq(heed_device_gemm(device, text, sizeof text), HEED_OK);
    ck_assert_msg(strstr(text, library_names[_i]) == text, "%s", text);
    library_remove(_i, "it is gone");
    require_fallback(device, "it is gone");
    gemm_end();
}

/* The first call of that name fails, and only the first. */
LOOP_TEST(calls_that_fail_leave_exact, VENDORS)
{
    for (int i = 0; library_calls[_i][i] != NULL; i++) {
        heed_device *const device = gemm_begin(&vendors[_i]);

        fake.fail_name = library_calls[_i][i];
        fake.fail_code = 13;
        fake.fail_at = 1;
        fake.counted = 0;
        require_fallback(device, library_calls[_i][i]);
        ck_assert_int_gt(fake.counted, 0);
        fake_mend();
        require_fallback(device, library_calls[_i][i]); /* the device was tested once */
        gemm_end();
    }
}

/* Once the device is tested, a plan that cannot be prepared is the only one that is not. */
TEST(plan_that_is_not_prepared_is_exact)
{
    const heed_linear_desc desc = plain_desc(40, 30, 20);
    heed_device *const device = gemm_begin(&vendors[CUDA]);

    ck_assert_str_eq(props_of(device, &desc).implementation, "linear-gemm cublaslt");
    fake_cublaslt.no_way = true;
    world.logged[HEED_OFFLOAD_INFORMATION] = 0;
    require_fallback(device, NULL);
    ck_assert_int_ge(world.logged[HEED_OFFLOAD_INFORMATION], 1);
    fake_cublaslt.no_way = false;
    ck_assert_str_eq(props_of(device, &desc).implementation, "linear-gemm cublaslt");
    gemm_end();
}

LOOP_TEST(wrong_sums_leave_exact, VENDORS)
{
    heed_device *const device = gemm_begin(&vendors[_i]);

    library_spoil(_i);
    require_fallback(device, "its sums are wrong");
    ck_assert_int_eq(world.logged[HEED_OFFLOAD_WARNING], 1);
    require_fallback(device, "its sums are wrong");
    ck_assert_int_eq(world.logged[HEED_OFFLOAD_WARNING], 1);
    gemm_end();
}

/* Want of memory is no answer: the next plan asks again. */
LOOP_TEST(test_without_memory_is_no_verdict, VENDORS)
{
    const heed_linear_desc desc = plain_desc(40, 30, 20);
    heed_device *const device = gemm_begin(&vendors[_i]);
    char words[64];

    fake.fail_name = vendors[_i].allocate;
    fake.fail_at = 1;
    fake.fail_code = vendors[_i].no_memory;
    fake.counted = 0;
    require_fallback(device, NULL);
    fake_mend();
    snprintf(words, sizeof words, "linear-gemm %s", library_names[_i]);
    ck_assert_str_eq(props_of(device, &desc).implementation, words);
    gemm_end();
}

/* ---- a run ---- */

/* The run says what the library answered, and the next one is done. */
LOOP_TEST(run_that_fails_is_told, VENDORS)
{
    heed_device *const device = gemm_begin(&vendors[_i]);
    struct product p = product_make(device, &shapes[0]);

    fake.fail_name = library_products[_i];
    fake.fail_at = 1;
    fake.fail_code = 13;
    fake.counted = 0;
    ck_assert_int_eq(product_run(&p), HEED_E_DEVICE);
    ck_assert_msg(strstr(p.report.message, library_products[_i]) != NULL, "%s", p.report.message);
    fake_mend();
    ck_assert_int_eq(product_run(&p), HEED_OK);
    product_check(&p);
    product_finish(&p);
    gemm_end();
}

/* What the run waits for comes before the product, which knows no events. */
static void require_barriers(bool out_of_order)
{
    heed_device *const device = gemm_begin(&vendors[OPENCL]);
    struct product p = product_make(device, &shapes[ITEMS_SHAPE]);
    const int64_t calls = shapes[ITEMS_SHAPE].heads * shapes[ITEMS_SHAPE].batch;
    heed_event *event = NULL;
    uint32_t barriers = 0;

    product_queue(&p, out_of_order);
    ck_assert_int_eq(product_run_event(&p, NULL, &event), HEED_OK);
    fake_opencl.n_commands = 0;
    ck_assert_int_eq(product_run_event(&p, event, NULL), HEED_OK);
    for (uint32_t i = 0; i < fake_opencl.n_commands; i++) {
        if (fake_opencl.commands[i].kind == 'b' && barriers++ == 0)
            ck_assert_uint_gt(fake_opencl.commands[i].n_waits, 0);
    }
    ck_assert_int_eq(barriers, out_of_order ? calls + 1 : 1);
    heed_event_destroy(event);
    product_finish(&p);
    gemm_end();
}

TEST(waits_come_before_the_product)
{
    require_barriers(false);
}

TEST(products_follow_each_other_in_any_queue)
{
    require_barriers(true);
}

/* Nothing is enqueued: CLBlast would want a part of the buffer, beside the whole. */
TEST(far_matrices_want_a_buffer_of_their_own)
{
    heed_device *const device = gemm_begin(&vendors[OPENCL]);
    struct product p = product_make(device, &shapes[0]);
    heed_linear_args args = { .size = sizeof args, .x = p.bufs[X], .w = p.bufs[W], .y = p.bufs[X] };

    args.run.workspace = p.bufs[WORK];
    args.run.workspace_size = p.props.workspace_size;
    args.y.offset = UINT64_C(1) << 32;
    fake_opencl.n_commands = 0;
    ck_assert_int_eq(heed_linear_run(p.plan, p.queue, &args, NULL, &p.report),
                     HEED_E_UNSUPPORTED);
    ck_assert_msg(strstr(p.report.message, "beyond 4 GiB") != NULL, "%s", p.report.message);
    ck_assert_uint_eq(fake_opencl.n_commands, 0);
    product_finish(&p);
    gemm_end();
}

/* Both choices of cuBLASLt are used as the places allow; the fake looks at the places. */
TEST(places_choose_the_way)
{
    heed_device *const device = gemm_begin(&vendors[CUDA]);
    struct shape shape = shapes[0];

    shape.offset = 0;
    (void)shape_run(device, &shape, "cublaslt");
    shape.offset = 1;
    (void)shape_run(device, &shape, "cublaslt");
    ck_assert_int_eq(fake.mistakes, 0);
    gemm_end();
}

int main(void)
{
    return suite_run("gemm", 60, NULL, NULL);
}
