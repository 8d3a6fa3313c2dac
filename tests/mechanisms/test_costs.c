/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What mechanisms and programs cost, as plans say it: the pairs and temporaries that
 * heed/mechanisms.h and heed/programs.h state, for long texts, and a workspace that does not grow
 * with the square of the length.
 */
#include "faults.h"
#include "patterns/pattern.h"

#include <heed/programs.h>

enum { HEADS = 2, SHORT = 1 << 14, LONG = 1 << 16 };

static heed_plan_props props_of(heed_plan *plan)
{
    heed_plan_props props = { .size = sizeof(props) };

    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    heed_plan_drop(plan);
    return props;
}

/* ---- mechanisms with the parameters of their papers ---- */

/* Each of the rows, n where it says 0, has `fixed` pairs and `share` of the n tokens; a table of
 * relative positions adds 2 d flops to a pair, half of what it takes. */
static const struct cost {
    const char *pattern;
    double fixed, share, rows, tables;
} costs[] = {
    { "longformer:window=256,globals=16", 2 * 256 + 1 + 2 * 16, 0, 0, 0 },
    { "global-rows:queries=64,globals=64", 64, 1, 64, 0 },
    { "bigbird:block=64,random=3", (5 + 3) * 64 + 2 * 64, 0, 0, 0 }, /* 2 blocks see all */
    { "longt5:window=127,side=16", 2 * 127 + 1, 1.0 / 16, 0, 0 },
    { "lsg-stride:block=128,factor=4,globals=64", 64 + 5 * 128, 0, 0, 0 },
    { "lsg-block-stride:block=128,factor=4,globals=64", 64 + 5 * 128, 0, 0, 0 },
    { "hepos:queries=256,stride=4", 0, 0.25, 256, 0 },
    { "pegasus-x-staggered:block=512,globals=128", 128 + 512, 0, 0, 0 },
    { "poolingformer:window=128,globals=16", 2 * 128 + 1 + 2 * 16, 0, 0, 0 },
    { "salient:prefix=1024", 1024, 1, 0, 0 },
    { "transformer-xl:memory=512", 512, 0.5, 0, 1 },
    { "compressive:memory=512,compressed=512", 1024, 0.5, 0, 1 },
    { "awesome:memory=512,compressed=512", 1024, 1, 0, 0 },
    { "retrieval:memory=16384,best=4,window=255", 4 + 256, 0, 0, 0 },
    { "deberta:window=128", 2 * 128 + 1, 0, 0, 2 },
    { "poolingformer-deberta:window=128,globals=16", 16 + 2 * 128 + 1, 0, 0, 2 },
    { "top-down:side=24", 0, 1.0 / 24, 0, 0 },
};

static heed_plan_props pattern_props(const struct cost *cost, int64_t n)
{
    struct pattern_choice choice;
    struct pattern p = { .m.size = sizeof(p.m) };
    heed_plan *plan = NULL;
    char text[160], why[160];

    snprintf(text, sizeof(text), "%s,n=%lld,h=%d,d=4", cost->pattern, (long long)n, HEADS);
    ck_assert_msg(pattern_parse(text, PATTERN_OF_PAPER, &choice, why, sizeof(why)), "%s", why);
    ck_assert_int_eq(pattern_make(&choice, &p, &world.why), HEED_OK);
    ck_assert_msg(heed_attn_plan(world.device, &p.m.desc, &plan, &world.why) == HEED_OK,
                  "%s: %s: %s", text, world.why.field, world.why.message);
    pattern_free(&p);
    return props_of(plan);
}

/* 2 (d + d_v) = 16 flops a pair. Borders are 3 % of the shorter text at most. */
LOOP_TEST(pairs_are_as_stated, sizeof(costs) / sizeof(costs[0]))
{
    const struct cost *cost = &costs[_i];

    world_open();
    for (int64_t n = SHORT; n <= LONG; n *= 4) {
        const double rows = cost->rows > 0 ? cost->rows : (double)n,
                     want = rows * (cost->fixed + cost->share * (double)n) * (1 + cost->tables / 2),
                     got = (double)pattern_props(cost, n).flops / (16 * HEADS);

        ck_assert_msg(got <= want * 1.001 && got >= want * 0.97, "%s: %g pairs, %g are stated",
                      cost->pattern, got, want);
    }
}

/* Not even a bit for each pair: packed keys take n d, lists of global keys a bit a key. */
LOOP_TEST(workspaces_are_linear, sizeof(costs) / sizeof(costs[0]))
{
    heed_plan_props small, large;

    world_open();
    small = pattern_props(&costs[_i], LONG);
    large = pattern_props(&costs[_i], 16 * LONG);
    ck_assert_uint_le(large.workspace_size, 16 * small.workspace_size);
    ck_assert_uint_lt(large.workspace_size, UINT64_C(256) << 20);
    ck_assert_uint_lt(large.host_bytes, UINT64_C(64) << 20);
}

/* ---- programs ---- */

static heed_plan_props lsg_props(uint32_t sparsity, int64_t n)
{
    const int64_t columns[2] = { 4, 16 };
    heed_lsg_program_desc desc = {
        .size = sizeof(desc), .sparsity = sparsity, .q = small_tensor(n), .o = small_tensor(n),
        .text = small_keys(n), .globals = small_keys(64), .factor = 4,
    };
    heed_plan *plan = NULL;

    if (sparsity == HEED_LSG_LSH)
        desc.rounds[0] = heed_array_dense(HEED_F32, NULL, 2, columns).t;
    ck_assert_msg(heed_lsg_program_plan(world.device, &desc, &plan, &world.why) == HEED_OK,
                  "%s: %s", world.why.field, world.why.message);
    return props_of(plan);
}

static heed_plan_props pooled_props(uint32_t flags, int64_t n)
{
    const heed_poolingformer_level2_desc desc = {
        .size = sizeof(desc), .flags = flags, .q = small_tensor(n), .o = small_tensor(n),
        .text = small_keys(n),
    };
    heed_plan *plan = NULL;

    ck_assert_int_eq(heed_poolingformer_level2_plan(world.device, &desc, &plan, &world.why), 0);
    return props_of(plan);
}

/* 0 .. 3: LSG; 4, 5: Poolingformer. */
static heed_plan_props program_props(int which, int64_t n)
{
    return which < 4 ? lsg_props(HEED_LSG_NORM + (uint32_t)which, n)
                     : pooled_props((uint32_t)which - 4, n);
}

/* Bytes of temporaries for each token, two heads and d = 4, as the header states them. */
LOOP_TEST(workspaces_of_programs_are_linear, 6)
{
    static const double bytes[] = { 2.0 * 4 / 4, 2 * 33 / 4.0, 2 * 33 / 4.0 + 8, 2 * 32 / 4.0 + 1,
                                    2 * 33, 2 * 33 / 4.0 };
    const uint64_t stated = (uint64_t)(bytes[_i] * 16 * LONG);
    heed_plan_props small, large;

    world_open();
    small = program_props(_i, LONG);
    large = program_props(_i, 16 * LONG);
    ck_assert_uint_le(large.workspace_size, 16 * small.workspace_size);
    ck_assert_uint_lt(large.host_bytes, UINT64_C(64) << 20);
    ck_assert_uint_ge(large.workspace_size, stated);
    ck_assert_uint_lt(large.workspace_size - stated, UINT64_C(160) << 20);
}

/* n (g + 3 b + 2 s), or the pooled keys of "(1025 - 5) / 4 + 1 = 256"; what comes before is a tenth
 * of it at most. */
LOOP_TEST(pairs_of_programs_are_as_stated, 6)
{
    const double lsg = 64 + 3 * 128 + 2 * 128, pooled = 256, stated = _i < 4 ? lsg : pooled;
    double got;

    world_open();
    got = (double)program_props(_i, LONG).flops / (16.0 * 2 * LONG);
    ck_assert_msg(got >= stated * 0.97 && got <= stated * 1.1, "%g pairs, %g are stated", got,
                  stated);
}

int main(void)
{
    return suite_run("costs", 120, NULL, world_close);
}
