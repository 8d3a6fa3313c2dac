/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The scalar pieces of the reference, each against an independent formula: conversions at and next
 * to every border between two values, the reciprocal against its division-free form, and the error
 * of 2^f, TANH and log2 against double. HEED_TEST_FULL=1 walks all 2^32 conversions.
 */
#include "reference/decode.h"
#include "reference/numerics.h"
#include "sha256.h"
#include "support/suite.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint32_t to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* A format with `fraction` fraction bits and an exponent range from emin (of the smallest normal)
 * to emax; the value of a pattern, and the pattern nearest to a value, in double. */
struct format {
    int fraction, emin, emax;
    uint16_t nan;
    float (*decode)(uint16_t);
    uint16_t (*encode)(float);
};

static const struct format half = { 10, -14, 15, 0x7e00, heed_ref_f16_decode, heed_ref_f16_encode };
static const struct format brain = {
    7, -126, 127, 0x7fc0, heed_ref_bf16_decode, heed_ref_bf16_encode
};

static double value_of(const struct format *f, unsigned pattern)
{
    int exponent = (int)(pattern >> f->fraction & (0x7fffu >> f->fraction));
    int fraction = (int)(pattern & ((1u << f->fraction) - 1));
    double magnitude;

    if (exponent == f->emax - f->emin + 2)
        magnitude = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, f->emin - f->fraction);
    else
        magnitude = ldexp(fraction + (1 << f->fraction), exponent - 1 + f->emin - f->fraction);
    return pattern & 0x8000 ? -magnitude : magnitude;
}

static unsigned nearest(const struct format *f, float value)
{
    double a = fabs((double)value), unit, steps;
    unsigned sign = signbit(value) ? 0x8000 : 0;
    int exponent;

    if (value != value)
        return f->nan;
    frexp(a, &exponent);
    exponent -= 1;
    if (a == 0 || exponent < f->emin)
        exponent = f->emin;
    if (isinf(a) || exponent > f->emax)
        return sign | (unsigned)(f->emax - f->emin + 2) << f->fraction;
    unit = ldexp(1, exponent - f->fraction);
    steps = nearbyint(a / unit); /* ties to even: steps is even exactly when the pattern is */
    return sign | (unsigned)((int)steps + ((exponent - f->emin) << f->fraction));
}

static void decode_check(const struct format *f)
{
    for (unsigned pattern = 0; pattern < 0x10000; pattern++) {
        double wanted = value_of(f, pattern);
        float got = f->decode((uint16_t)pattern);

        if (wanted != wanted ? got == got : to_bits(got) != to_bits((float)wanted))
            ck_abort_msg("%04x gives %a", pattern, (double)got);
    }
}

static void encode_one(const struct format *f, uint32_t bits)
{
    float value = from_bits(bits);
    unsigned got = f->encode(value), wanted = nearest(f, value);

    if (got != wanted)
        ck_abort_msg("%08x gives %04x, not %04x", bits, got, wanted);
}

/* Rounding is monotone, so it is right everywhere if it is right around every border. */
static void encode_check(const struct format *f)
{
    uint32_t step = getenv("HEED_TEST_FULL") ? 1 : 4099;

    for (unsigned pattern = 0; pattern < 0x10000; pattern++) {
        double here = value_of(f, pattern), next = value_of(f, pattern + 1);
        uint32_t border;

        if (isinf(next) && !isinf(here)) /* overflow starts half a step above the largest */
            next = here + (here - value_of(f, pattern - 1));
        if (here != here || next != next || isinf(here))
            continue;
        border = to_bits((float)((here + next) / 2));
        for (uint32_t i = 0; i < 5; i++)
            encode_one(f, border - 2 + i);
        encode_one(f, to_bits((float)here));
    }
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += step)
        encode_one(f, (uint32_t)bits);
}

TEST(f16_is_decoded)
{
    decode_check(&half);
}

TEST(bf16_is_decoded)
{
    decode_check(&brain);
}

TEST(f16_is_rounded_to_nearest_even)
{
    encode_check(&half);
}

TEST(bf16_is_rounded_to_nearest_even)
{
    encode_check(&brain);
}

TEST(stores_are_canonical)
{
    float f;
    uint16_t h;

    heed_ref_store(HEED_F32, &f, 0, from_bits(0xffc12345u));
    ck_assert_uint_eq(to_bits(f), 0x7fc00000u);
    heed_ref_store(HEED_F32, &f, 0, -0.0f);
    ck_assert_uint_eq(to_bits(f), 0);
    heed_ref_store(HEED_F32, &f, 0, -0x1p-149f);
    ck_assert_uint_eq(to_bits(f), 0x80000001u);
    heed_ref_store(HEED_F16, &h, 0, -1e-9f);
    ck_assert_uint_eq(h, 0);
    heed_ref_store(HEED_F16, &h, 0, from_bits(0xff800001u));
    ck_assert_uint_eq(h, 0x7e00);
    heed_ref_store(HEED_BF16, &h, 0, from_bits(0x7fffffffu));
    ck_assert_uint_eq(h, 0x7fc0);
    heed_ref_store(HEED_BF16, &h, 0, -0x1p-149f);
    ck_assert_uint_eq(h, 0);
}

/* Step 10's form without a division: integer seed, four fma pairs, one ulp for mantissa all ones.
 */
static float recip_newton(float a)
{
    float x = from_bits(0x7ef311c7u - to_bits(a));

    for (int i = 0; i < 4; i++) {
        float e = fmaf(-a, x, 1.0f);

        x = fmaf(x, e, x);
    }
    return from_bits(to_bits(x) + ((to_bits(a) & 0x7fffff) == 0x7fffff));
}

TEST(recip_is_correctly_rounded)
{
    static const int exponents[] = { -2, 13 };

    for (size_t i = 0; i < sizeof(exponents) / sizeof(*exponents); i++) {
        for (uint32_t mantissa = 0; mantissa < 0x800000; mantissa++) {
            float l = from_bits((uint32_t)(127 + exponents[i]) << 23 | mantissa);
            float r = heed_ref_recip(l);

            /* double division and one more rounding give the same as one: 53 >= 2 * 24 + 2 */
            if (r != (float)(1 / (double)l) || r != recip_newton(l))
                ck_abort_msg("1 / %a gives %a, %a", (double)l, (double)r, (double)recip_newton(l));
        }
    }
    ck_assert(isnan(heed_ref_recip(NAN)));
}

TEST(powers_of_two_are_exact)
{
    for (int x = -200; x <= 0; x++)
        ck_assert(heed_ref_pow2((float)x) == (x < -100 ? 0 : ldexpf(1, x)));
    ck_assert_uint_eq(to_bits(heed_ref_pow2(-INFINITY)), 0);
    ck_assert_uint_eq(to_bits(heed_ref_pow2(NAN)), 0);
    ck_assert_uint_eq(to_bits(heed_ref_weight(-101, 0)), 0);
    ck_assert(heed_ref_weight(-100, 0) == 0x1p-100f);
    ck_assert(isnan(heed_ref_weight(NAN, 0)) && isnan(heed_ref_weight(INFINITY, INFINITY)));
    ck_assert_uint_eq(to_bits(heed_ref_weight(3, INFINITY)), 0);
}

TEST(two_to_f_is_accurate)
{
    double worst = 0;

    for (int i = -(1 << 21); i <= 1 << 21; i++) {
        float f = (float)i * 0x1p-22f;
        double error = fabs((double)heed_ref_exp2_poly(f) / exp2((double)f) - 1);

        worst = error > worst ? error : worst;
    }
    ck_assert_double_lt(worst, 1.2e-7);
    ck_assert(heed_ref_exp2_poly(0) == 1);
}

TEST(tanh_is_accurate)
{
    double worst = 0;

    for (uint32_t bits = to_bits(1e-10f); bits < to_bits(40.0f); bits += 61) {
        float x = from_bits(bits);
        double error = fabs((double)heed_ref_tanh(x) / tanh((double)x) - 1);

        worst = error > worst ? error : worst;
        if (to_bits(heed_ref_tanh(-x)) != (to_bits(heed_ref_tanh(x)) ^ 0x80000000u))
            ck_abort_msg("not odd at %a", (double)x);
    }
    ck_assert_double_lt(worst, 1.75e-7);
    ck_assert(heed_ref_tanh(INFINITY) == 1 && heed_ref_tanh(-INFINITY) == -1);
    ck_assert(isnan(heed_ref_tanh(NAN)) && heed_ref_tanh(0) == 0);
}

TEST(log_sum_is_accurate)
{
    double worst = 0;

    for (uint32_t bits = to_bits(0x1p-2f); bits < to_bits(0x1p33f); bits += 149) {
        float l = from_bits(bits);

        for (int m = -300; m <= 300; m += 50) {
            double wanted = (m + log2((double)l)) * 0.69314718055994530942;
            double unit = fmax(fabs(wanted), 1) * 0x1p-24;
            double error = fabs((double)heed_ref_lse((float)m, l) - wanted) / unit;

            worst = error > worst ? error : worst;
        }
    }
    ck_assert_double_lt(worst, 3.5); /* in units of 2^-24 of the result: 1.75 ulp */
    ck_assert(heed_ref_lse(0, 1) == 0);
    ck_assert(heed_ref_lse(-1, 2) == 0);
    ck_assert(isnan(heed_ref_lse(1, NAN)));
}

static void float_add(struct sha256 *hash, float value)
{
    uint32_t bits = to_bits(value);
    uint8_t bytes[4] = { (uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16),
                         (uint8_t)(bits >> 24) };

    sha256_add(hash, bytes, sizeof(bytes));
}

static float weight_at(uint32_t i)
{
    return heed_ref_weight((float)((int32_t)i - (1 << 19)) * 0x1p-13f, 64);
}

static float tanh_at(uint32_t i)
{
    return heed_ref_tanh(from_bits(0x30000000u + i * 285u));
}

/* m = -k or 1 - k, so that the logarithm's own bits are seen. */
static float lse_at(uint32_t i)
{
    uint32_t bits = 0x3e800000u + i * 131u;

    return heed_ref_lse((float)(127 - (int32_t)(bits >> 23)), from_bits(bits));
}

/* The bits of the three functions at 2^20 places each. The digests come from another
 * implementation, that of the study which chose the coefficients. */
TEST(functions_have_the_bits_of_version_1)
{
    static const struct {
        float (*at)(uint32_t);
        const char *digest;
    } rows[] = {
        { weight_at, "ef6c216415fa1962606fc2e551e708b1f76ef0d243e1d787adb65ddd5b6e2f60" },
        { tanh_at, "8fe1bee4a5e41e24ac92b4825060d68d19ebd58d534663e1f5bcccc1e67482cf" },
        { lse_at, "d11629b9742846fb2de30f6f627d085f4d6d0c917a02368230b82d7a8b86c299" },
    };

    for (size_t f = 0; f < sizeof(rows) / sizeof(*rows); f++) {
        struct sha256 hash;
        char text[65];

        sha256_start(&hash);
        for (uint32_t i = 0; i < 1u << 20; i++)
            float_add(&hash, rows[f].at(i));
        sha256_finish(&hash, text);
        ck_assert_str_eq(text, rows[f].digest);
    }
}

TEST(constants_are_rounded_once_each)
{
    static const struct {
        double scale, cap;
        int64_t d;
        uint32_t flags, c, c1, c2;
    } rows[] = {
        { 0, 0, 64, 0, 0x3e38aa3bu, 0, 0 }, /* 2^-3 * L */
        { 0, 0, 0, 0, 0, 0, 0 },
        { 0, 0, 64, HEED_ATTN_SCALE_GIVEN, 0, 0, 0 },
        { 1, 0, 64, 0, 0x3fb8aa3bu, 0, 0 },
        { 0, 4, 16, 0, 0, 0x3d800000u, 0x40b8aa3bu },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct heed_checked attn = {
            .d = rows[i].d, .scale = rows[i].scale, .softcap = rows[i].cap, .flags = rows[i].flags
        };
        struct heed_ref_constants got = heed_ref_constants_of(&attn);

        ck_assert_uint_eq(to_bits(got.c), rows[i].c);
        ck_assert_uint_eq(to_bits(got.c1), rows[i].c1);
        ck_assert_uint_eq(to_bits(got.c2), rows[i].c2);
        ck_assert_int_eq(got.capped, rows[i].cap != 0);
    }
}

int main(void)
{
    return suite_run("reference-numerics", 280, NULL, NULL);
}
