/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What programs cost, as their plans say it: the pairs and the temporaries that heed/programs.h
 * states, for long texts.
 */
#include "faults.h"

#include <heed/programs.h>

enum { LONG = 1 << 16 };

static heed_plan_props lsg_props(uint32_t sparsity, int64_t n)
{
    const int64_t columns[2] = { 4, 16 };
    heed_plan_props props = { .size = sizeof(props) };
    heed_lsg_program_desc desc = {
        .size = sizeof(desc), .sparsity = sparsity, .q = small_tensor(n), .o = small_tensor(n),
        .text = small_keys(n), .globals = small_keys(64), .factor = 4,
    };
    heed_plan *plan = NULL;

    if (sparsity == HEED_LSG_LSH)
        desc.rounds[0] = heed_array_dense(HEED_F32, NULL, 2, columns).t;
    ck_assert_msg(heed_lsg_program_plan(world.device, &desc, &plan, &world.why) == HEED_OK,
                  "%s: %s", world.why.field, world.why.message);
    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    heed_plan_drop(plan);
    return props;
}

static heed_plan_props pooled_props(uint32_t flags, int64_t n)
{
    heed_plan_props props = { .size = sizeof(props) };
    const heed_poolingformer_level2_desc desc = {
        .size = sizeof(desc), .flags = flags, .q = small_tensor(n), .o = small_tensor(n),
        .text = small_keys(n),
    };
    heed_plan *plan = NULL;

    ck_assert_int_eq(heed_poolingformer_level2_plan(world.device, &desc, &plan, &world.why), 0);
    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    heed_plan_drop(plan);
    return props;
}

/* 0 .. 3: LSG; 4, 5: Poolingformer. */
static heed_plan_props props_of(int which, int64_t n)
{
    return which < 4 ? lsg_props(HEED_LSG_NORM + (uint32_t)which, n)
                     : pooled_props((uint32_t)which - 4, n);
}

/* Bytes of temporaries for each token, two heads and d = 4, as the header states them. */
LOOP_TEST(workspaces_are_linear, 6)
{
    static const double bytes[] = { 2.0 * 4 / 4, 2 * 33 / 4.0, 2 * 33 / 4.0 + 8, 2 * 32 / 4.0 + 1,
                                    2 * 33, 2 * 33 / 4.0 };
    heed_plan_props small, large;

    world_open_name("cpu");
    small = props_of(_i, LONG);
    large = props_of(_i, 16 * LONG);
    printf("# %d: workspace of %llu bytes at n = 65536, %llu at 1048576, %s\n", _i,
           (unsigned long long)small.workspace_size, (unsigned long long)large.workspace_size,
           large.implementation);
    ck_assert_uint_le(large.workspace_size, 16 * small.workspace_size);
    ck_assert_uint_lt(large.host_bytes, UINT64_C(64) << 20);
    ck_assert_uint_ge(large.workspace_size, (uint64_t)(bytes[_i] * 16 * LONG));
    ck_assert_uint_lt(large.workspace_size - (uint64_t)(bytes[_i] * 16 * LONG),
                      UINT64_C(160) << 20);
}

/* 2 (d + d_v) flops a pair, n (g + 3 b + 2 s); what comes before is a tenth of it at most. */
LOOP_TEST(pairs_are_as_stated, 6)
{
    const double lsg = 64 + 3 * 128 + 2 * 128, pooled = 256, stated = _i < 4 ? lsg : pooled;
    double got;

    world_open_name("cpu");
    got = (double)props_of(_i, LONG).flops / (16.0 * 2 * LONG);
    printf("# %d: %.4g pairs for each row, %.4g stated\n", _i, got, stated);
    ck_assert_msg(got >= stated * 0.97 && got <= stated * 1.1, "%g pairs, %g are stated", got,
                  stated);
}

int main(void)
{
    return suite_run("program-costs", 120, NULL, world_close);
}
