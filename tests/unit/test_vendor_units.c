/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which vendors' devices have matrix units: what they say suggests one, their test decides, and
 * only plans that would use it have it tested. The drivers are not there: test_matrix_unit.c has
 * the test itself.
 */
#define _POSIX_C_SOURCE 200809L

#include "vendor_world.h"

#include "backends/kernels/dialect/mma.h"
#include "backends/kernels/numerics.h"
#include "backends/kernels/selftest/selftest_matrix.h"

#include <heed/attn.h>
#include <math.h>
#include <unistd.h>

static char folder[64];
static bool wrong;              /* the unit's answers */

/* ---- units ---- */

static double half_at(const uint32_t *words, uint32_t line, uint32_t term, bool bf16)
{
    const hk_u16 bits = (hk_u16)(words[line * 8 + term / 2] >> term % 2 * 16);

    return (double)(bf16 ? hk_from_bf16(bits) : hk_from_f16(bits));
}

static void compute_set(const struct hk_unit_input *in, struct hk_unit_output *out, bool bf16)
{
    for (uint32_t i = 0; i < HK_UNIT_SUMS; i++) {
        double sum = (double)in->c[i], weighed = 0;
        float top = -HK_INFINITY;

        for (uint32_t term = 0; term < 16; term++) {
            const float c = in->c[i / 16 * 16 + term];
            const uint32_t weight = bf16 ? hk_to_bf16(c) : hk_to_f16(c);

            sum += half_at(in->a, i / 16, term, bf16) * half_at(in->b, i % 16, term, bf16);
            weighed += half_at(&weight, 0, 0, bf16) * half_at(in->b, i % 16, term, bf16);
            top = hk_max_f(c, top);
        }
        out->sum[i] = wrong && i == 17 ? -(float)sum - 1.0f : (float)sum;
        out->top[i] = top;
        out->weighed[i] = (float)weighed;
    }
}

/* Both self-tests; the type of halves is told by the inputs. */
static void compute_unit(unsigned items, unsigned groups, const void *blob, void *output)
{
    static struct hk_unit_input f16[HEED_UNIT_SETS], in[HEED_UNIT_SETS];

    if (items == 1) {
        compute_right(items, groups, blob, output);
        return;
    }
    heed_unit_test_inputs(HEED_F16, f16);
    memcpy(in, (const char *)blob + sizeof(struct hk_plan), sizeof in);
    for (uint32_t set = 0; set < HEED_UNIT_SETS; set++)
        compute_set(&in[set], (struct hk_unit_output *)output + set,
                    memcmp(f16, in, sizeof in) != 0);
}

static void begin_of(const struct vendor *v)
{
    world_begin(v);
    fake.launched = compute_unit;
    wrong = false;
    if (v == &vendors[OPENCL]) {
        fake_opencl.vendor = HEED_VENDOR_AMD;
        fake_opencl.name = "gfx1100";
        fake_opencl.type = 4;           /* a GPU */
        opencl_install();
    }
    world_open();
    memset(world.logged, 0, sizeof world.logged);
}

static bool has(enum heed_kernel row)
{
    return driver_of_world()->has_unit(&world.device, row);
}

LOOP_TEST(right_unit_is_there, VENDORS)
{
    const long opened = (begin_of(&vendors[_i]), world.v->builds());

    ck_assert_uint_ne(((struct heed_device_state *)world.device.state)->traits.mma, 0);
    ck_assert(has(HEED_KERNEL_matrix_64_f16));
    ck_assert_int_eq(world.v->builds() - opened, 2);    /* its test and the row */
    ck_assert(has(HEED_KERNEL_matrix_64_f16));
    ck_assert_int_eq(world.v->builds() - opened, 2);
    ck_assert(has(HEED_KERNEL_matrix_128_bf16));
    ck_assert_int_eq(world.v->builds() - opened, 4);
    ck_assert_int_eq(world.logged[HEED_OFFLOAD_WARNING], 0);
    world_end();
}

LOOP_TEST(wrong_unit_is_none, VENDORS)
{
    const long opened = (begin_of(&vendors[_i]), world.v->builds());

    wrong = true;
    for (int pass = 0; pass < 2; pass++) {
        ck_assert(!has(HEED_KERNEL_matrix_64_f16));
        ck_assert(!has(HEED_KERNEL_matrix_128_f16));
        ck_assert_int_eq(world.v->builds() - opened, 1);
        ck_assert_int_eq(world.logged[HEED_OFFLOAD_WARNING], 1);
    }
    world_end();
}

LOOP_TEST(unit_that_does_not_compile_is_none, VENDORS)
{
    begin_of(&vendors[_i]);
    world.v->refuse_builds(true);
    for (int pass = 0; pass < 2; pass++) {
        ck_assert(!has(HEED_KERNEL_matrix_64_bf16));
        ck_assert_int_eq(world.logged[HEED_OFFLOAD_WARNING], 1);
        ck_assert_int_eq(world.logged[HEED_OFFLOAD_ERROR], 0);
    }
    world_end();
}

/* Of OpenCL alone, whose fake looks at options. */
TEST(row_that_does_not_compile_is_left_out)
{
    begin_of(&vendors[OPENCL]);
    fake_opencl.refuse_option = "-DHK_WIDTH=64";
    for (int pass = 0; pass < 2; pass++) {
        ck_assert(!has(HEED_KERNEL_matrix_64_f16));
        ck_assert(has(HEED_KERNEL_matrix_128_f16));
        ck_assert_ptr_nonnull(strstr(fake_opencl.options, "-DHK_MMA=3 "));
        ck_assert_int_eq(world.logged[HEED_OFFLOAD_WARNING], 1);
    }
    world_end();
}

/* Each round is a process of its own. */
TEST(verdict_of_a_unit_is_kept)
{
    char command[96];

    for (int round = 0; round < 4; round++) {
        begin_of(&vendors[OPENCL]);
        world.rt->services.cache_dir = folder;
        wrong = round >= 2;
        if (wrong)
            fake_opencl.driver_version = "2";
        fake_opencl.source_builds = 0;
        ck_assert_int_eq(has(HEED_KERNEL_matrix_64_f16), round < 2);
        ck_assert_uint_eq(fake_opencl.source_builds, round == 0 ? 2 : round == 2 ? 1 : 0);
        ck_assert_int_eq(world.logged[HEED_OFFLOAD_WARNING], round >= 2);
        world.rt->services.cache_dir = NULL;
        world_end();
    }
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* ---- plans ---- */

/* Of the vendor, with its own name: one of the runtime's, for plans. */
static heed_device *device_of_runtime(void)
{
    char name[32];

    snprintf(name, sizeof name, "%s:0", world.v->name);
    for (uint32_t i = 0; i < heed_device_count(world.rt); i++) {
        heed_device *const device = heed_device_get(world.rt, i);

        if (strcmp(device->props.name, name) == 0)
            return device;
    }
    ck_abort_msg("no device %s", name);
    return NULL;
}

static heed_plan_props plan_of(heed_device *device, uint32_t numerics, uint32_t dtype)
{
    const heed_tensor k = heed_array4(dtype, NULL, 1, 2, 70, 64).t;
    const heed_source source = { .k = k, .v = k };
    const heed_attn_desc desc = { .size = sizeof desc,
                                  .numerics = numerics,
                                  .q = heed_array4(dtype, NULL, 1, 2, 80, 64).t,
                                  .o = heed_array4(HEED_F32, NULL, 1, 2, 80, 64).t,
                                  .sources = &source,
                                  .n_sources = 1,
                                  .source_size = sizeof source };
    heed_plan_props props = { .size = sizeof props };
    heed_plan *plan = NULL;

    ck_assert_int_ge(heed_attn_plan(device, &desc, &plan, NULL), 0);
    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    heed_plan_drop(plan);
    return props;
}

static bool is_tested(const heed_device *device)
{
    const struct heed_offload_state *const state = device->state;

    return state->kernels[HEED_KERNEL_test_matrix_f16][0] != NULL ||
           state->kernels[HEED_KERNEL_test_matrix_bf16][0] != NULL;
}

LOOP_TEST(plans_of_exact_test_no_unit, VENDORS)
{
    heed_device *const device = (begin_of(&vendors[_i]), device_of_runtime());

    ck_assert_uint_eq(plan_of(device, HEED_NUMERICS_EXACT, HEED_F16).numerics,
                      HEED_NUMERICS_EXACT);
    ck_assert_uint_eq(plan_of(device, HEED_NUMERICS_REPEAT, HEED_BF16).numerics,
                      HEED_NUMERICS_EXACT);
    ck_assert_uint_eq(plan_of(device, HEED_NUMERICS_FAST, HEED_F32).numerics, HEED_NUMERICS_EXACT);
    ck_assert_uint_eq(plan_of(device, HEED_NUMERICS_BEST, HEED_F16).numerics,
                      HEED_NUMERICS_EXACT);
    ck_assert(!is_tested(device));
    ck_assert_uint_eq(plan_of(device, HEED_NUMERICS_FAST, HEED_F16).numerics, HEED_NUMERICS_FAST);
    ck_assert(is_tested(device));
    wrong = true;
    ck_assert_uint_eq(plan_of(device, HEED_NUMERICS_FAST, HEED_BF16).numerics, HEED_NUMERICS_EXACT);
    ck_assert_int_eq(world.logged[HEED_OFFLOAD_WARNING], 1);
    world_end();
}

/* ---- what is suggested ---- */

TEST(units_are_suggested_by_what_devices_say)
{
    static const char dpas[] = "cl_intel_subgroup_matrix_multiply_accumulate";
    const struct {
        struct heed_unit_hints hints;
        uint32_t unit;
    } cases[] = {
        { { HEED_VENDOR_NVIDIA, 75, 0, "", "" }, 0 },
        { { HEED_VENDOR_NVIDIA, 80, 0, "", "" }, 1 },
        { { HEED_VENDOR_NVIDIA, 120, 0, "", "" }, 1 },
        { { HEED_VENDOR_AMD, 0, 0, "gfx942:sramecc+:xnack-", "" }, 2 },
        { { HEED_VENDOR_AMD, 0, 0, "gfx1030", "" }, 0 },
        { { HEED_VENDOR_AMD, 0, 0, "gfx1151", "" }, 3 },
        { { HEED_VENDOR_AMD, 0, 0, "gfx1201", "" }, 4 },
        { { HEED_VENDOR_AMD, 0, 0, "gfx1250", "" }, 0 },
        { { HEED_VENDOR_INTEL, 0, 8, "", dpas }, 0 },
        { { HEED_VENDOR_INTEL, 0, 16, "", dpas }, 6 },
        { { HEED_VENDOR_INTEL, 0, 0, "", dpas }, 0 },
        { { HEED_VENDOR_INTEL, 0, 16, "", "cl_khr_fp16" }, 0 },
        { { HEED_VENDOR_INTEL, 0, 16, "",
            "cl_intel_subgroup_matrix_multiply_accumulate_tf32 x" }, 0 },
        { { 0x1234, 90, 16, "gfx942", dpas }, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_msg(heed_unit_suggested(&cases[i].hints) == cases[i].unit, "case %zu", i);
        ck_assert_uint_lt(cases[i].unit, HK_MMA_UNITS);
    }
}

int main(void)
{
    snprintf(folder, sizeof(folder), "units-%ld", (long)getpid());
    return suite_run("vendor-units", 60, NULL, NULL);
}
