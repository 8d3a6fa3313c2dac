/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * May a matrix unit be used? Only if it does what docs/numerics.md section 11 says, point 1, which
 * the bound of FAST rests on. Whether it does is asked with operands that tell wrong answers apart:
 * each element's place, products, subnormals, sums, NaN and infinities; what threads trade, and how
 * scores become weights.
 */
#define HK_VECTORS 0
#include "../kernels/selftest/selftest_matrix.h"

#include "../kernels/attn/blob.h"
#include "../kernels/dialect/mma.h"
#include "../kernels/numerics.h"
#include "device.h"
#include "selftest_unit.h"

#include <assert.h>
#include <fenv.h>
#include <math.h>
#include <string.h>

enum { TERMS = 16 };

static const struct {
    uint32_t end;               /* sets before this one are of this kind, or of one before */
    const char *reason;
} kinds[HEED_UNIT_KINDS] = {
    [HEED_UNIT_LAYOUT] = { 6, "elements of the matrix unit lie elsewhere" },
    [HEED_UNIT_PASSES] = { 8, "the matrix unit changes sums it adds nothing to" },
    [HEED_UNIT_PRODUCT] = { 14, "products of the matrix unit are not exact" },
    [HEED_UNIT_SUBNORMAL] = { 20, "the matrix unit flushes subnormals" },
    [HEED_UNIT_SUM] = { 28, "sums of the matrix unit lose more than 2^-22 a product" },
    [HEED_UNIT_SPECIAL] = { 32, "NaN and infinities of the matrix unit are wrong" },
    [HEED_UNIT_TRADE] = { 36, "threads of the matrix unit trade other words" },
    [HEED_UNIT_WEIGHTS] = { HEED_UNIT_SETS,
                            "weights for the matrix unit lie elsewhere or are other halves" },
};

enum heed_unit_kind heed_unit_kind_of(uint32_t set)
{
    enum heed_unit_kind kind = HEED_UNIT_LAYOUT;

    while (set >= kinds[kind].end)
        kind++;
    return kind;
}

const char *heed_unit_reason(uint32_t set)
{
    return kinds[heed_unit_kind_of(set)].reason;
}

/* The how-manieth of its kind. */
static uint32_t variant_of(uint32_t set)
{
    const enum heed_unit_kind kind = heed_unit_kind_of(set);

    return kind == HEED_UNIT_LAYOUT ? set : set - kinds[kind - 1].end;
}

/* ---- inputs ---- */

struct maker {
    uint32_t dtype, random;
    struct hk_unit_input *in;
};

static uint32_t next(struct maker *m)
{
    m->random = m->random * 1664525u + 1013904223u;
    return m->random >> 8;
}

static uint32_t half_of(const struct maker *m, float x)
{
    return m->dtype == HEED_F16 ? hk_to_f16(x) : hk_to_bf16(x);
}

static float wide(uint32_t dtype, uint32_t half)
{
    return dtype == HEED_F16 ? hk_from_f16((hk_u16)half) : hk_from_bf16((hk_u16)half);
}

static void put_half(uint32_t *words, uint32_t line, uint32_t term, uint32_t half)
{
    uint32_t *const word = &words[line * TERMS / 2 + term / 2];
    const uint32_t shift = term % 2 * 16;

    *word = (*word & ~(0xffffu << shift)) | half << shift;
}

static uint32_t get_half(const uint32_t *words, uint32_t line, uint32_t term)
{
    return words[line * TERMS / 2 + term / 2] >> term % 2 * 16 & 0xffffu;
}

/* Either sign, all bits of the mantissa, an exponent from low to high. */
static float number(struct maker *m, int low, int high)
{
    const uint32_t exponent = (uint32_t)(127 + low) + next(m) % (uint32_t)(high - low + 1);

    return hk_float((next(m) & 1) << 31 | exponent << 23 | (next(m) & 0x7fffffu));
}

static uint32_t half_number(struct maker *m, int low, int high)
{
    const uint32_t all = m->dtype == HEED_F16 ? 0x3ffu : 0x7fu;
    const uint32_t half = half_of(m, hk_float(hk_word(number(m, low, high)) & 0xff800000u));

    return half | (next(m) & all);
}

static uint32_t half_subnormal(struct maker *m)
{
    const uint32_t all = m->dtype == HEED_F16 ? 0x3ffu : 0x7fu;

    return (next(m) & 1) << 15 | (1 + next(m) % all);
}

static uint32_t half_integer(struct maker *m)
{
    return half_of(m, (float)(int32_t)(next(m) % 15) - 7.0f);
}

/* All of A or B. */
static void fill(struct maker *m, uint32_t *words, int low, int high)
{
    for (uint32_t i = 0; i < HK_UNIT_SIDE * TERMS; i++)
        put_half(words, i / TERMS, i % TERMS, half_number(m, low, high));
}

static void fill_sums(struct maker *m, int low, int high)
{
    for (uint32_t i = 0; i < HK_UNIT_SUMS; i++)
        m->in->c[i] = number(m, low, high);
}

/* Of every row of A one term remains. */
static void leave_one(struct maker *m, uint32_t variant)
{
    for (uint32_t row = 0; row < HK_UNIT_SIDE; row++) {
        for (uint32_t term = 0; term < TERMS; term++) {
            if (term != (row + 3 * variant) % TERMS)
                put_half(m->in->a, row, term, 0);
        }
    }
}

/* Integers below 2^11 in all: every sum is exact in any order, and in half precision too. */
static void make_layout(struct maker *m)
{
    for (uint32_t i = 0; i < HK_UNIT_SIDE * TERMS; i++) {
        put_half(m->in->a, i / TERMS, i % TERMS, half_integer(m));
        put_half(m->in->b, i / TERMS, i % TERMS, half_integer(m));
    }
    for (uint32_t i = 0; i < HK_UNIT_SUMS; i++)
        m->in->c[i] = (float)(int32_t)(next(m) % 2001) - 1000.0f;
}

static void make_subnormal(struct maker *m, uint32_t variant)
{
    uint32_t *const small = variant % 2 ? m->in->b : m->in->a,
                    *const other = variant % 2 ? m->in->a : m->in->b;

    /* Products of bf16 stay above the subnormals of f32, of which nothing is said. */
    fill(m, other, m->dtype == HEED_F16 ? 0 : 10, m->dtype == HEED_F16 ? 8 : 20);
    for (uint32_t i = 0; i < HK_UNIT_SIDE * TERMS; i++)
        put_half(small, i / TERMS, i % TERMS, half_subnormal(m));
    leave_one(m, variant);
}

/* Pairs of products that leave the difference of two neighbours of B. */
static void make_cancel(struct maker *m)
{
    for (uint32_t line = 0; line < HK_UNIT_SIDE; line++) {
        for (uint32_t term = 0; term < TERMS; term += 2) {
            put_half(m->in->a, line, term + 1, get_half(m->in->a, line, term) ^ 0x8000u);
            put_half(m->in->b, line, term + 1, get_half(m->in->b, line, term) ^ 1);
        }
    }
    fill_sums(m, -12, -6);
}

static double product(uint32_t dtype, const struct hk_unit_input *in, uint32_t row,
                      uint32_t column, uint32_t term)
{
    return (double)wide(dtype, get_half(in->a, row, term)) *
           (double)wide(dtype, get_half(in->b, column, term));
}

/* The sums before take all products away, but for their last bits. */
static void make_opposed(struct maker *m)
{
    for (uint32_t i = 0; i < HK_UNIT_SUMS; i++) {
        double sum = 0;

        for (uint32_t term = 0; term < TERMS; term++)
            sum -= product(m->dtype, m->in, i / HK_UNIT_SIDE, i % HK_UNIT_SIDE, term);
        m->in->c[i] = (float)sum;
    }
}

static void make_sum(struct maker *m, uint32_t variant)
{
    fill(m, m->in->a, -3, 3);
    fill(m, m->in->b, -3, 3);
    fill_sums(m, -3, 6);
    switch (variant) {
    case 1:
        make_cancel(m);
        break;
    case 2:
        fill_sums(m, 12, 14);           /* what is added lies in their last bits */
        break;
    case 3:
    case 4:
        leave_one(m, variant);
        fill_sums(m, variant == 3 ? -6 : 14, variant == 3 ? 6 : 20);
        break;
    case 5:
        fill(m, m->in->a, -8, 8);
        fill(m, m->in->b, -6, 6);
        break;
    case 6:
        make_opposed(m);
        break;
    default:                            /* as they are */
        break;
    }
}

/* Where something is no number: of A in odd rows, of B in odd columns, of sums here and there. */
static void make_special(struct maker *m, uint32_t variant)
{
    const uint32_t infinity = m->dtype == HEED_F16 ? 0x7c00u : 0x7f80u,
                   nan = m->dtype == HEED_F16 ? 0x7e00u : 0x7fc0u;

    fill(m, m->in->a, -3, 3);
    fill(m, m->in->b, -3, 3);
    fill_sums(m, -3, 6);
    for (uint32_t line = 1; line < HK_UNIT_SIDE; line += 2) {
        const uint32_t sign = line / 2 % 2 << 15;

        if (variant == 0)
            put_half(m->in->a, line, line, nan);
        if (variant == 1)
            put_half(m->in->a, line, line, infinity | sign);
        if (variant == 2)
            put_half(m->in->b, line, line, infinity | sign);
        if (variant == 1)
            put_half(m->in->b, line / 2, line, 0);      /* 0 times infinity */
    }
    for (uint32_t i = 0; i < HK_UNIT_SUMS && variant >= 2; i += 5)
        m->in->c[i] = i % 2 ? -HK_INFINITY : HK_INFINITY;
    for (uint32_t i = 3; i < HK_UNIT_SUMS && variant == 3; i += 7)
        m->in->c[i] = hk_float(0x7fc00000u);
}

/* The largest score of each row lies with another of its threads from set to set. */
static void make_trade(struct maker *m, uint32_t variant)
{
    fill_sums(m, -6, 6);
    for (uint32_t row = 0; row < HK_UNIT_SIDE; row++)
        m->in->c[row * HK_UNIT_SIDE + (5 * row + 4 * variant + variant / 2) % TERMS] =
            100.0f + (float)(next(m) % 100);
}

/* Weights that are not halves, some of them ties; every column takes one of them. */
static void make_weights(struct maker *m, uint32_t variant)
{
    const uint32_t one = half_of(m, 1.0f), cut = m->dtype == HEED_F16 ? 13 : 16;

    for (uint32_t column = 0; column < HK_UNIT_SIDE; column++)
        put_half(m->in->b, column, (5 * column + 8 * variant) % TERMS, one);
    for (uint32_t i = 0; i < HK_UNIT_SUMS; i++) {
        uint32_t word = hk_word(number(m, m->dtype == HEED_F16 ? -27 : -100, 14)) & 0x7fffffffu;

        if (next(m) % 4 == 0)
            word = word >> cut << cut | 1u << (cut - 1);
        m->in->c[i] = next(m) % 16 == 0 ? 0.0f : hk_float(word);
    }
}

static void make(struct maker *m, uint32_t set)
{
    const uint32_t variant = variant_of(set);

    switch (heed_unit_kind_of(set)) {
    case HEED_UNIT_LAYOUT:
        make_layout(m);
        return;
    case HEED_UNIT_PASSES:
        fill(m, variant ? m->in->b : m->in->a, -3, 3);
        fill_sums(m, -20, 20);
        return;
    case HEED_UNIT_PRODUCT:
        fill(m, m->in->a, -4, 4);
        fill(m, m->in->b, -4, 4);
        leave_one(m, variant);
        return;
    case HEED_UNIT_SUBNORMAL:
        make_subnormal(m, variant);
        return;
    case HEED_UNIT_SUM:
        make_sum(m, variant);
        return;
    case HEED_UNIT_SPECIAL:
        make_special(m, variant);
        return;
    case HEED_UNIT_TRADE:
        make_trade(m, variant);
        return;
    case HEED_UNIT_WEIGHTS:
        make_weights(m, variant);
        return;
    case HEED_UNIT_KINDS:
        break;
    }
    assert(0);
}

void heed_unit_input(uint32_t dtype, uint32_t set, uint32_t *random, struct hk_unit_input *in)
{
    struct maker m = { .dtype = dtype, .random = set == 0 ? 20261123 : *random, .in = in };

    memset(in, 0, sizeof(*in));
    make(&m, set);
    *random = m.random;
}

void heed_unit_test_inputs(uint32_t dtype, struct hk_unit_input *in)
{
    uint32_t random = 0;
    fenv_t caller;

    assert(dtype == HEED_F16 || dtype == HEED_BF16);
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    for (uint32_t set = 0; set < HEED_UNIT_SETS; set++)
        heed_unit_input(dtype, set, &random, &in[set]);
    fesetenv(&caller);
}

/* ---- judgement ---- */

/* One output. Products are exact as doubles, and their sums nearly so. */
static int allowed(uint32_t dtype, enum heed_unit_kind kind, const struct hk_unit_input *in,
                   uint32_t row, uint32_t column, float got)
{
    double sum = (double)in->c[row * HK_UNIT_SIDE + column], size = fabs(sum), products = 0;

    for (uint32_t term = 0; term < TERMS; term++) {
        const double one = product(dtype, in, row, column, term);

        products += one != 0.0;
        size += fabs(one);
        sum += one;
    }
    if (isnan(sum))
        return isnan(got) != 0;
    if (isinf(sum) || kind < HEED_UNIT_SUM)
        return (double)got == sum;
    return fabs((double)got - sum) <= products * 0x1p-22 * size;
}

static struct heed_unit_shape shape_of(uint32_t unit)
{
    return (struct heed_unit_shape){ (uint32_t)HK_MMA_ROWS(unit), (uint32_t)HK_MMA_COLUMNS(unit) };
}

int heed_unit_sums_allowed(uint32_t dtype, struct heed_unit_shape shape, uint32_t set,
                           const struct hk_unit_input *in, const float *got)
{
    for (uint32_t row = 0; row < shape.rows; row++) {
        for (uint32_t column = 0; column < shape.columns; column++) {
            if (!allowed(dtype, heed_unit_kind_of(set), in, row, column,
                         got[row * HK_UNIT_SIDE + column]))
                return 0;
        }
    }
    return 1;
}

/* All threads of a row have its largest score. */
static int tops_right(uint32_t unit, const struct hk_unit_input *in, const float *got)
{
    const uint32_t threads = (uint32_t)(HK_MMA_FARTHEST(unit) / HK_MMA_NEAREST(unit));

    for (uint32_t row = 0; row < HK_MMA_ROWS(unit); row++) {
        float top = -HK_INFINITY;

        for (uint32_t key = 0; key < TERMS; key++)
            top = hk_max_f(in->c[row * HK_UNIT_SIDE + key], top);
        for (uint32_t i = 0; i < threads; i++) {
            if (!(got[row * HK_UNIT_SIDE + i] == top))
                return 0;
        }
    }
    return 1;
}

/* Of every column one weight remains, which meets 1. */
int heed_unit_weights_right(uint32_t dtype, struct heed_unit_shape shape,
                            const struct hk_unit_input *in, const float *got)
{
    const struct maker m = { .dtype = dtype };

    for (uint32_t row = 0; row < shape.rows; row++) {
        for (uint32_t column = 0; column < shape.columns; column++) {
            float sum = 0.0f;

            for (uint32_t key = 0; key < TERMS; key++) {
                if (get_half(in->b, column, key) != 0)
                    sum += wide(dtype, half_of(&m, in->c[row * HK_UNIT_SIDE + key]));
            }
            if (!(got[row * HK_UNIT_SIDE + column] == sum))
                return 0;
        }
    }
    return 1;
}

static int set_allowed(uint32_t dtype, uint32_t unit, uint32_t set, const struct hk_unit_input *in,
                       const struct hk_unit_output *got)
{
    switch (heed_unit_kind_of(set)) {
    case HEED_UNIT_TRADE:
        return tops_right(unit, in, got->top);
    case HEED_UNIT_WEIGHTS:
        return heed_unit_weights_right(dtype, shape_of(unit), in, got->weighed);
    default:
        return heed_unit_sums_allowed(dtype, shape_of(unit), set, in, got->sum);
    }
}

const char *heed_unit_test_judge(uint32_t dtype, uint32_t unit, const struct hk_unit_input *in,
                                 const struct hk_unit_output *got)
{
    const char *reason = "";
    fenv_t caller;

    assert(unit > 0 && unit < HK_MMA_UNITS);
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    for (uint32_t set = 0; set < HEED_UNIT_SETS && reason[0] == '\0'; set++) {
        if (!set_allowed(dtype, unit, set, &in[set], &got[set]))
            reason = kinds[heed_unit_kind_of(set)].reason;
    }
    fesetenv(&caller);
    return reason;
}

/* ---- a run ---- */

struct sheet {
    struct {
        struct hk_plan plan;
        struct hk_unit_input in[HEED_UNIT_SETS];
    } blob;
    struct hk_unit_output got[HEED_UNIT_SETS];
};

heed_status heed_device_unit_test(heed_device *device, const struct heed_backend_offload *offload,
                                  uint32_t dtype, const char **reason,
                                  struct heed_error_detail *detail)
{
    const struct heed_device_state *state = device->state;
    const struct heed_services *services = state->services;
    const struct heed_device_traits *traits = &state->traits;
    const uint32_t rows = HEED_UNIT_SETS * (uint32_t)HK_MMA_ROWS(traits->mma),
                   groups = rows / traits->group_rows;
    struct sheet *sheet =
        services->alloc(services->runtime, sizeof(*sheet), _Alignof(struct sheet));
    heed_status status;

    assert(groups * traits->group_rows == rows);
    *reason = "the test of the matrix unit did not run";
    if (sheet == NULL)
        return HEED_E_NOMEM;
    memset(sheet, 0, sizeof(*sheet));
    heed_unit_test_inputs(dtype, sheet->blob.in);
    status = heed_device_test(
        device, offload,
        &(struct heed_test_sheet){
            .launch = { .kernel = dtype == HEED_F16 ? HEED_KERNEL_test_matrix_f16
                                                    : HEED_KERNEL_test_matrix_bf16,
                        .threads = traits->group_rows * HK_MMA_SHARE(traits->mma),
                        .groups = groups },
            .blob = &sheet->blob, .blob_bytes = sizeof(sheet->blob),
            .got = sheet->got, .got_bytes = sizeof(sheet->got) },
        detail);
    if (status >= 0)
        *reason = heed_unit_test_judge(dtype, traits->mma, sheet->blob.in, sheet->got);
    services->free(services->runtime, sheet, sizeof(*sheet), _Alignof(struct sheet));
    return status;
}
