/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the self-test of devices asks and how it judges: outputs spoilt as real devices would spoil
 * them are told apart by the reason. The way to a device and back is tested in test_vendors.c and
 * test_vendor_faults.c.
 */
#include "backends/device/selftest.h"
#include "backends/kernels/attn/blob.h"
#include "backends/kernels/selftest/selftest.h"
#include "support/suite.h"

#include <string.h>

enum { SETS = HEED_TEST_GROUPS * HK_TEST_LANES, OUTPUTS = HEED_TEST_GROUPS * HK_TEST_WORDS };

static struct hk_test_input in[HEED_TEST_GROUPS];
static uint32_t wanted[OUTPUTS], got[OUTPUTS];

static void prepare(void)
{
    heed_self_test_inputs(in);
    heed_self_test_expect(in, HEED_TEST_GROUPS, wanted);
    memcpy(got, wanted, sizeof(got));
}

static const char *judge(void)
{
    return heed_self_test_judge(in, HEED_TEST_GROUPS, wanted, got);
}

/* The word of operand set i for a step. */
static uint32_t *word(uint32_t *out, uint32_t i, uint32_t step)
{
    return &out[i / 16 * HK_TEST_WORDS + HK_TEST_SCALARS + step * 16 + i % 16];
}

static uint32_t *vector_word(uint32_t *out, uint32_t i, uint32_t step)
{
    return &out[i / 16 * HK_TEST_WORDS + HK_TEST_VECTORS + step * 16 + i % 16];
}

static int is_nan(uint32_t w)
{
    return (w & 0x7fffffff) > 0x7f800000;
}

static uint32_t flushed(uint32_t w)
{
    return (w & 0x7f800000) == 0 ? w & 0x80000000 : w;
}

/* ---- the inputs ---- */

TEST(inputs_meet_what_goes_wrong)
{
    int unfused = 0, subnormal = 0, nan = 0, ties = 0, finite = 0;

    prepare();
    for (uint32_t i = 0; i < SETS; i++) {
        const float a = in[i / 16].a[i % 16], b = in[i / 16].b[i % 16], c = in[i / 16].c[i % 16];
        const float sum = hk_add(hk_mul(a, b), c), r = in[i / 16].divisor[i % 16];
        const uint32_t fma = *word(wanted, i, HK_TEST_FMA);

        unfused += hk_word(sum) != fma && !is_nan(fma);
        subnormal += fma != flushed(fma);
        nan += is_nan(hk_word(a)) || is_nan(hk_word(b)) || is_nan(hk_word(c));
        ties += a == (float)(int64_t)(a < 1e6f && a > -1e6f ? a : 0) + 0.5f;
        finite += !is_nan(hk_word(a - a) | hk_word(b - b));
        ck_assert(!(r == r) || (r >= 0.125f && r < 0x1p64f));
    }
    ck_assert_int_gt(unfused, 20);
    ck_assert_int_gt(subnormal, 5);
    ck_assert_int_gt(nan, 12);
    ck_assert_int_gt(ties, 3);
    ck_assert_int_gt(finite, 200);
}

TEST(every_step_has_several_answers)
{
    prepare();
    for (uint32_t step = 0; step < HK_TEST_STEPS; step++) {
        int different = 0;

        for (uint32_t i = 1; i < SETS; i++)
            different += *word(wanted, i, step) != *word(wanted, i - 1, step);
        ck_assert_msg(different > 30, "step %u: %d", step, different);
    }
    for (uint32_t step = 0; step < HK_TEST_V_STEPS; step++) {
        int different = 0;

        for (uint32_t i = 1; i < SETS; i++)
            different += *vector_word(wanted, i, step) != *vector_word(wanted, i - 1, step);
        ck_assert_msg(different > 30, "vector step %u: %d", step, different);
    }
}

/* Vectors on the host: the scalar functions' bits. */
TEST(vectors_agree_with_scalars)
{
    static const uint32_t pairs[][2] = {
        { HK_TEST_FMA, HK_TEST_V_FMA }, { HK_TEST_ADD, HK_TEST_V_ADD },
        { HK_TEST_SUB, HK_TEST_V_SUB }, { HK_TEST_MUL, HK_TEST_V_MUL },
        { HK_TEST_RINT, HK_TEST_V_RINT }, { HK_TEST_WEIGHT, HK_TEST_V_WEIGHT },
        { HK_TEST_INVERSE, HK_TEST_V_INVERSE }, { HK_TEST_TANH, HK_TEST_V_TANH },
        { HK_TEST_TO_F16, HK_TEST_V_TO_F16 }, { HK_TEST_TO_BF16, HK_TEST_V_TO_BF16 },
        { HK_TEST_EXP, HK_TEST_V_EXP }, { HK_TEST_SIGMOID, HK_TEST_V_SIGMOID },
        { HK_TEST_GELU, HK_TEST_V_GELU },
    };

    prepare();
    for (size_t p = 0; p < sizeof(pairs) / sizeof(pairs[0]); p++) {
        for (uint32_t i = 0; i < SETS; i++) {
            const uint32_t a = *word(wanted, i, pairs[p][0]);
            const uint32_t b = *vector_word(wanted, i, pairs[p][1]);

            ck_assert_msg(a == b || (is_nan(a) && is_nan(b)), "pair %zu, set %u: %08x %08x", p, i,
                          a, b);
        }
    }
}

/* ---- judgement ---- */

TEST(the_hosts_own_answers_are_right)
{
    prepare();
    ck_assert_str_eq(judge(), "");
    for (uint32_t i = 0; i < SETS; i++) {       /* payloads are left open */
        if (is_nan(*word(got, i, HK_TEST_FMA)))
            *word(got, i, HK_TEST_FMA) = 0xff812345;
    }
    ck_assert_str_eq(judge(), "");
}

TEST(nothing_written_is_no_answer)
{
    prepare();
    memset(got, 0, sizeof(got));
    ck_assert_str_eq(judge(), "the self-test wrote nothing");
    prepare();
    got[(HEED_TEST_GROUPS - 1) * HK_TEST_WORDS] = 0;
    ck_assert_str_eq(judge(), "the self-test wrote nothing");
}

/* A device without vectors writes none, and is not asked for them. */
TEST(vectors_may_be_absent)
{
    prepare();
    for (uint32_t group = 0; group < HEED_TEST_GROUPS; group++) {
        got[group * HK_TEST_WORDS] = HK_TEST_MARK;
        memset(&got[group * HK_TEST_WORDS + HK_TEST_VECTORS], 0, HK_TEST_V_STEPS * 16 * 4);
    }
    ck_assert_str_eq(judge(), "");
    *word(got, 0, HK_TEST_ADD) ^= 1;
    ck_assert_str_eq(judge(), "add is not rounded to nearest even");
}

TEST(two_roundings_are_named)
{
    prepare();
    for (uint32_t i = 0; i < SETS; i++) {
        const struct hk_test_input *g = &in[i / 16];

        *word(got, i, HK_TEST_FMA) =
            hk_word(hk_add(hk_mul(g->a[i % 16], g->b[i % 16]), g->c[i % 16]));
    }
    ck_assert_str_eq(judge(), "fma is not fused");
    *word(got, 0, HK_TEST_FMA) = 0x3f800000;
    ck_assert_str_eq(judge(), "fma is not that of IEEE 754");
}

TEST(flushed_results_are_named)
{
    for (uint32_t step = HK_TEST_FMA; step <= HK_TEST_MUL; step++) {
        prepare();
        for (uint32_t i = 0; i < SETS; i++)
            *word(got, i, step) = flushed(*word(got, i, step));
        ck_assert_str_eq(judge(), "subnormals are flushed");
    }
    prepare();
    for (uint32_t i = 0; i < SETS; i++)
        *vector_word(got, i, HK_TEST_V_MUL) = flushed(*vector_word(got, i, HK_TEST_V_MUL));
    ck_assert_str_eq(judge(), "subnormals are flushed");
}

TEST(flushed_operands_are_named)
{
    prepare();
    for (uint32_t i = 0; i < SETS; i++) {
        const struct hk_test_input *g = &in[i / 16];
        const float a = hk_float(flushed(hk_word(g->a[i % 16])));
        const float b = hk_float(flushed(hk_word(g->b[i % 16])));

        *word(got, i, HK_TEST_ADD) = flushed(hk_word(hk_add(a, b)));
        *word(got, i, HK_TEST_MUL) = flushed(hk_word(hk_mul(a, b)));
    }
    ck_assert_str_eq(judge(), "subnormals are flushed");
}

/* The column of a transposed matrix that a step of vectors is; other steps are alone. */
static uint32_t column(uint32_t step)
{
    return step < HK_TEST_STEPS + HK_TEST_V_PACK ? 0
                                                 : (step - HK_TEST_STEPS - HK_TEST_V_PACK) % 16;
}

/* One wrong bit anywhere is found, and no two steps share a reason but columns of one matrix. */
TEST(one_wrong_bit_is_found)
{
    const char *reasons[HK_TEST_STEPS + HK_TEST_V_STEPS];
    uint32_t n = 0;

    for (uint32_t step = 0; step < HK_TEST_STEPS + HK_TEST_V_STEPS; step++) {
        for (uint32_t i = 0; i < SETS; i += 37) {
            uint32_t *spoilt;

            prepare();
            spoilt = step < HK_TEST_STEPS ? word(got, i, step)
                                          : vector_word(got, i, step - HK_TEST_STEPS);
            *spoilt = is_nan(*spoilt) ? 0x3f800000 : *spoilt ^ 1;
            ck_assert_msg(judge()[0] != '\0', "step %u, set %u", step, i);
            if (i == 37 * 12)
                reasons[n++] = judge();
        }
    }
    ck_assert_uint_eq(n, HK_TEST_STEPS + HK_TEST_V_STEPS);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++)
            ck_assert_int_eq(strcmp(reasons[i], reasons[k]) == 0, i - k <= column(i));
    }
}

int main(void)
{
    return suite_run("selftest", 0, NULL, NULL);
}
