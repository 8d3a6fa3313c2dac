/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The test of matrix units: every model of a unit passes it (where they are built: option emulate),
 * and units that are wrong in one way each are found, for that reason.
 */
#include "backends/device/host.h"
#include "backends/device/selftest.h"
#include "backends/host_kernels.h"
#include "backends/kernels/attn/blob.h"
#include "backends/kernels/dialect/mma.h"
#include "backends/kernels/numerics.h"
#include "backends/kernels/selftest/selftest_matrix.h"
#include "support/suite.h"

#include <math.h>
#include <string.h>

enum { SIDE = HK_UNIT_SIDE, MODEL_ROWS = 32, EXAMPLES = 2 };

static struct {
    struct hk_plan plan;
    struct hk_unit_input in[HEED_UNIT_SETS];
} blob;
static struct hk_unit_output got[HEED_UNIT_SETS];

static const uint32_t types[EXAMPLES] = { HEED_F16, HEED_BF16 };

/* ---- models ---- */

struct model {
    const char *name;
    uint32_t unit;
    heed_host_kernel *run[EXAMPLES];
};

#define DECLARE(row, unit) extern heed_host_kernel heed_kernel_##row##_##unit;
#define DECLARE_ALL(unit, number) HEED_MATRIX_KERNELS(DECLARE, unit)
#define MODEL(unit, number)                                                                        \
    { #unit, number, { heed_kernel_test_matrix_f16_##unit, heed_kernel_test_matrix_bf16_##unit } },
HEED_MATRIX_UNITS(DECLARE_ALL)
static const struct model models[] = { HEED_MATRIX_UNITS(MODEL) { NULL, 0, { NULL, NULL } } };

TEST(every_model_passes)
{
    for (const struct model *model = models; model->name != NULL; model++) {
        for (int type = 0; type < EXAMPLES; type++) {
            char *buffers[HEED_BUFFERS_LARGE] = { [1] = (char *)got };
            const uint32_t groups =
                HEED_UNIT_SETS * (uint32_t)HK_MMA_ROWS(model->unit) / MODEL_ROWS;

            memset(got, 0, sizeof got);
            heed_unit_test_inputs(types[type], blob.in);
            for (uint32_t group = 0; group < groups; group++)
                model->run[type]((const char *)&blob, buffers, group);
            ck_assert_msg(strcmp(heed_unit_test_judge(types[type], model->unit, blob.in, got),
                                 "") == 0,
                          "%s, %d: %s", model->name, type,
                          heed_unit_test_judge(types[type], model->unit, blob.in, got));
        }
    }
}

/* ---- units that are wrong ---- */

enum fault {
    NONE, NOTHING, TRANSPOSED, TERMS_SWAPPED, COLUMNS_SWAPPED, SHORT_SUMS_KEPT, ROUNDED_PRODUCTS,
    FLUSHED_A, FLUSHED_B, HALF_SUMS, SUMS_OF_21_BITS, SUMS_OF_20_BITS_LATE, NAN_LOST,
    INFINITY_LOST, NOTHING_TRADED, LATE_NOT_TRADED, WEIGHTS_SWAPPED, WEIGHTS_OF_OTHERS,
    WEIGHTS_CUT, WEIGHTS_FLUSHED, FAULTS
};

static const struct {
    const char *reason;
} faults[FAULTS] = {
    [NONE] = { "" },
    [NOTHING] = { "elements of the matrix unit lie elsewhere" },
    [TRANSPOSED] = { "elements of the matrix unit lie elsewhere" },
    [TERMS_SWAPPED] = { "elements of the matrix unit lie elsewhere" },
    [COLUMNS_SWAPPED] = { "elements of the matrix unit lie elsewhere" },
    [SHORT_SUMS_KEPT] = { "the matrix unit changes sums it adds nothing to" },
    [ROUNDED_PRODUCTS] = { "products of the matrix unit are not exact" },
    [FLUSHED_A] = { "the matrix unit flushes subnormals" },
    [FLUSHED_B] = { "the matrix unit flushes subnormals" },
    [HALF_SUMS] = { "sums of the matrix unit lose more than 2^-22 a product" },
    [SUMS_OF_21_BITS] = { "sums of the matrix unit lose more than 2^-22 a product" },
    [SUMS_OF_20_BITS_LATE] = { "sums of the matrix unit lose more than 2^-22 a product" },
    [NAN_LOST] = { "NaN and infinities of the matrix unit are wrong" },
    [INFINITY_LOST] = { "NaN and infinities of the matrix unit are wrong" },
    [NOTHING_TRADED] = { "threads of the matrix unit trade other words" },
    [LATE_NOT_TRADED] = { "threads of the matrix unit trade other words" },
    [WEIGHTS_SWAPPED] = { "weights for the matrix unit lie elsewhere or are other halves" },
    [WEIGHTS_OF_OTHERS] = { "weights for the matrix unit lie elsewhere or are other halves" },
    [WEIGHTS_CUT] = { "weights for the matrix unit lie elsewhere or are other halves" },
    [WEIGHTS_FLUSHED] = { "weights for the matrix unit lie elsewhere or are other halves" },
};

static uint32_t bits_of(const uint32_t *words, uint32_t line, uint32_t term)
{
    return words[line * 8 + term / 2] >> term % 2 * 16 & 0xffffu;
}

static double half(uint32_t dtype, uint32_t bits, int flushed)
{
    const uint32_t exponent = dtype == HEED_F16 ? 0x7c00u : 0x7f80u;

    if (flushed && (bits & exponent) == 0)
        return 0;
    return (double)(dtype == HEED_F16 ? hk_from_f16((hk_u16)bits) : hk_from_bf16((hk_u16)bits));
}

/* To so many bits, towards 0. */
static double cut(double x, int bits)
{
    int exponent;
    const double mantissa = isfinite(x) ? frexp(x, &exponent) : 0;

    return isfinite(x) ? ldexp(trunc(ldexp(mantissa, bits)), exponent - bits) : x;
}

static double one_product(uint32_t dtype, enum fault fault, const struct hk_unit_input *in,
                          uint32_t row, uint32_t column, uint32_t term)
{
    const uint32_t other = fault == TERMS_SWAPPED ? term ^ 1 : term;
    const double x = half(dtype, bits_of(in->a, row, other), fault == FLUSHED_A),
                 y = half(dtype, bits_of(in->b, column, term), fault == FLUSHED_B);

    return fault == ROUNDED_PRODUCTS ? cut(x * y, dtype == HEED_F16 ? 20 : 15) : x * y;
}

static float one_sum(uint32_t dtype, enum fault fault, const struct hk_unit_input *in,
                     uint32_t row, uint32_t column)
{
    double sum = (double)in->c[row * SIDE + column], products = 0;

    if (fault == SHORT_SUMS_KEPT)
        sum = cut(sum, 22);
    for (uint32_t term = 0; term < 16; term++)
        products += one_product(dtype, fault, in, row, column, term);
    if (fault == HALF_SUMS && products != 0 && sum != 0)
        sum = cut(sum + products, 11);
    else if (fault == SUMS_OF_21_BITS && products != 0 && sum != 0)
        sum = cut(sum + products, 20);
    else if (fault == SUMS_OF_20_BITS_LATE && fabs(products) < fabs(sum) * 0x1p-8)
        sum = cut(sum + products, products == 0 ? 24 : 20);
    else
        sum += products;
    if ((fault == NAN_LOST && isnan(sum)) || (fault == INFINITY_LOST && isinf(sum)))
        return 65504.0f;
    return (float)sum;
}

/* The largest of a row's scores that thread i has: of every fourth key alone, or of every other, if
 * threads do not trade. */
static float one_top(enum fault fault, const struct hk_unit_input *in, uint32_t row, uint32_t i)
{
    const uint32_t step = fault == NOTHING_TRADED ? 4 : fault == LATE_NOT_TRADED ? 2 : 1;
    float top = -HK_INFINITY;

    for (uint32_t key = i % step; key < 16; key += step)
        top = hk_max_f(in->c[row * SIDE + key], top);
    return top;
}

static float one_weighed(uint32_t dtype, enum fault fault, const struct hk_unit_input *in,
                         uint32_t row, uint32_t column)
{
    double sum = 0;

    for (uint32_t key = 0; key < 16; key++) {
        const uint32_t from = fault == WEIGHTS_SWAPPED     ? key ^ 1
                              : fault == WEIGHTS_OF_OTHERS ? key ^ 8
                                                           : key;
        const float c = in->c[row * SIDE + from];
        uint32_t bits = dtype == HEED_F16 ? hk_to_f16(c) : hk_to_bf16(c);

        if (fault == WEIGHTS_CUT && half(dtype, bits, 0) > (double)c)
            bits--;
        sum += half(dtype, bits, fault == WEIGHTS_FLUSHED) *
               half(dtype, bits_of(in->b, column, key), 0);
    }
    return (float)sum;
}

static void run_fault(uint32_t dtype, enum fault fault)
{
    memset(got, 0, sizeof got);
    for (uint32_t i = 0; i < HEED_UNIT_SETS * HK_UNIT_SUMS && fault != NOTHING; i++) {
        const uint32_t row = i / SIDE % SIDE, column = i % SIDE;
        const struct hk_unit_input *in = &blob.in[i / HK_UNIT_SUMS];
        struct hk_unit_output *out = &got[i / HK_UNIT_SUMS];

        if (fault == TRANSPOSED)
            out->sum[i % HK_UNIT_SUMS] = one_sum(dtype, fault, in, column, row);
        else
            out->sum[i % HK_UNIT_SUMS] =
                one_sum(dtype, fault, in, row, fault == COLUMNS_SWAPPED ? column ^ 1 : column);
        out->top[i % HK_UNIT_SUMS] = one_top(fault, in, row, column);
        out->weighed[i % HK_UNIT_SUMS] = one_weighed(dtype, fault, in, row, column);
    }
}

TEST(wrong_units_are_found_for_their_reason)
{
    for (int type = 0; type < EXAMPLES; type++) {
        heed_unit_test_inputs(types[type], blob.in);
        for (enum fault fault = NONE; fault < FAULTS; fault++) {
            const bool harmless = fault == WEIGHTS_FLUSHED && types[type] == HEED_BF16;

            /* No weight is so small that it is a subnormal of bf16. */
            run_fault(types[type], fault);
            for (uint32_t unit = 1; unit < HK_MMA_UNITS; unit++)
                ck_assert_msg(strcmp(heed_unit_test_judge(types[type], unit, blob.in, got),
                                     harmless ? "" : faults[fault].reason) == 0,
                              "type %d, unit %u, fault %d: %s", type, unit, (int)fault,
                              heed_unit_test_judge(types[type], unit, blob.in, got));
        }
    }
}

/* ---- units of processors ---- */

static enum fault pairs_fault;

/* As row halves_test: `top` has products without sums. */
static void pairs_run(const char *given, char *const *buffers, int64_t group)
{
    struct hk_unit_input in, bare;
    struct hk_unit_output *out = (struct hk_unit_output *)(void *)buffers[1];

    ck_assert_int_eq(group, 0);
    memcpy(&in, given + sizeof(struct hk_plan), sizeof in);
    bare = in;
    memset(bare.c, 0, sizeof bare.c);
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < HK_UNIT_SUMS && pairs_fault != NOTHING; i++) {
        uint32_t row = i / SIDE, column = i % SIDE;

        out->weighed[i] = one_weighed(HEED_BF16, pairs_fault, &in, row, column);
        if (pairs_fault == TRANSPOSED) {
            row = i % SIDE;
            column = i / SIDE;
        }
        column ^= pairs_fault == COLUMNS_SWAPPED;
        out->sum[i] = one_sum(HEED_BF16, pairs_fault, &in, row, column);
        out->top[i] = one_sum(HEED_BF16, pairs_fault, &bare, row, column);
    }
}

TEST(units_of_processors_are_judged_likewise)
{
    for (pairs_fault = NONE; pairs_fault < FAULTS; pairs_fault++) {
        const bool harmless = pairs_fault == FLUSHED_A || pairs_fault == FLUSHED_B ||
                              pairs_fault == WEIGHTS_FLUSHED;
        const char *reason;

        if (pairs_fault == NOTHING_TRADED || pairs_fault == LATE_NOT_TRADED)
            continue;                   /* threads there trade nothing */
        reason = heed_host_halves_test(pairs_run);
        ck_assert_msg(strcmp(reason, harmless ? "" : faults[pairs_fault].reason) == 0,
                      "fault %d: %s", (int)pairs_fault, reason);
    }
}

/* The part of a set's outputs that is looked at, and its columns: the unit has four threads a row.
 */
static float *looked_at(uint32_t set, uint32_t *columns)
{
    *columns = set >= 32 && set < 36 ? 4 : SIDE;
    return set < 32 ? got[set].sum : set < 36 ? got[set].top : got[set].weighed;
}

/* Elements of all sets, wrong by much, are found by a unit that has them. */
TEST(elements_of_all_sets_are_looked_at)
{
    for (int type = 0; type < EXAMPLES; type++) {
        heed_unit_test_inputs(types[type], blob.in);
        run_fault(types[type], NONE);
        for (uint32_t i = 0; i < HEED_UNIT_SETS * HK_UNIT_SUMS; i += 13) {
            uint32_t columns;
            float *const one = &looked_at(i / HK_UNIT_SUMS, &columns)[i % HK_UNIT_SUMS];
            const float right = *one;

            if (i % SIDE >= columns)
                continue;
            *one = isnan(right) ? 1.0f : right * 1.001f + 1.0f;
            if (isinf(right))
                *one = -right;
            ck_assert_str_ne(heed_unit_test_judge(types[type], 2, blob.in, got), "");
            *one = right;
        }
    }
}

int main(void)
{
    return suite_run("matrix_unit", 0, NULL, NULL);
}
