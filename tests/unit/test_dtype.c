/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Conversions of single elements, against arithmetic that shares nothing with them: widening by
 * ldexp, narrowing by looking at both neighbours of the result.
 */
#include "lib/core/dtype.h"
#include "conform/conform.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

/* Value of a pattern with e exponent and f fraction bits; Inf and NaN as such. */
static double value_of(uint32_t bits, int e, int f)
{
    const uint32_t fraction = bits & ((1u << f) - 1), exponent = bits >> f & ((1u << e) - 1);
    const double sign = bits >> (e + f) & 1 ? -1.0 : 1.0;
    const int bias = (1 << (e - 1)) - 1;

    if (exponent == (1u << e) - 1)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - f);
    return sign * ldexp(fraction + (1u << f), (int)exponent - bias - f);
}

START_TEST(widening_is_exact_for_every_pattern)
{
    for (uint32_t h = 0; h < 65536; h++) {
        const float f16 = heed_f32_from_f16((uint16_t)h), bf16 = heed_f32_from_bf16((uint16_t)h);
        const double want16 = value_of(h, 5, 10), wantb = value_of(h, 8, 7);

        if (!(isnan(want16) ? isnan(f16) : (double)f16 == want16) || (signbit(f16) != 0) != h >> 15)
            ck_abort_msg("f16 %04x", h);
        if (!(isnan(wantb) ? isnan(bf16) : (double)bf16 == wantb) ||
            (signbit(bf16) != 0) != h >> 15)
            ck_abort_msg("bf16 %04x", h);
    }
}
END_TEST

START_TEST(narrowing_gives_back_what_was_widened)
{
    for (uint32_t h = 0; h < 65536; h++) {
        const float f16 = heed_f32_from_f16((uint16_t)h), bf16 = heed_f32_from_bf16((uint16_t)h);

        if (heed_f16_from_f32(f16) != (isnan(f16) ? 0x7e00 : h))
            ck_abort_msg("f16 %04x", h);
        if (heed_bf16_from_f32(bf16) != (isnan(bf16) ? 0x7fc0 : h))
            ck_abort_msg("bf16 %04x", h);
    }
}
END_TEST

/* got must be the nearest pattern to x, even among equals: the top finite value plus one ulp counts
 * as where infinity begins. */
static void nearest(float x, uint32_t got, int e, int f)
{
    const uint32_t most = (((1u << e) - 1) << f), sign = got & 1u << (e + f), size = got & ~sign;
    const double a = fabs((double)x), top = value_of(most - 1, e, f);
    const double infinite = top + (top - value_of(most - 2, e, f));
    const double here = size == most ? infinite : value_of(size, e, f), d = fabs(a - here);

    if (size > most || (signbit(x) != 0) != (sign != 0))
        ck_abort_msg("%a -> %x", (double)x, got);
    if (size > 0) {
        const double below = fabs(a - value_of(size - 1, e, f));

        if (!(d < below || (d == below && !(size & 1))))
            ck_abort_msg("%a -> %x", (double)x, got);
    }
    if (size < most && !isinf(x)) {
        const double above = fabs(a - (size + 1 == most ? infinite : value_of(size + 1, e, f)));

        if (!(d < above || (d == above && !(size & 1))))
            ck_abort_msg("%a -> %x", (double)x, got);
    }
}

START_TEST(narrowing_rounds_to_nearest_even)
{
    struct rng r = rng_of(7);

    for (int i = 0; i < 300000; i++) {
        uint32_t bits = (uint32_t)rng_next(&r);
        float x;

        if (i % 2) /* the range of f16 and a bit around it */
            bits = (bits & 0x807fffffu) | (uint32_t)rng_range(&r, 100, 145) << 23;
        if (i % 3 == 0) /* halfway cases and their neighbours */
            bits = (bits & ~0x1fffu) | (0x1000u + (uint32_t)rng_range(&r, -1, 1));
        if (i % 7 == 0)
            bits = (bits & ~0xffffu) | (0x8000u + (uint32_t)rng_range(&r, -1, 1));
        x = heed_f32_from_bits(bits);
        if (isnan(x) || isinf(x))
            continue;
        nearest(x, heed_f16_from_f32(x), 5, 10);
        nearest(x, heed_bf16_from_f32(x), 8, 7);
    }
}
END_TEST

START_TEST(edges_of_f16)
{
    ck_assert_uint_eq(heed_f16_from_f32(65504.0f), 0x7bff);
    ck_assert_uint_eq(heed_f16_from_f32(65519.996f), 0x7bff);
    ck_assert_uint_eq(heed_f16_from_f32(65520.0f), 0x7c00);
    ck_assert_uint_eq(heed_f16_from_f32(-INFINITY), 0xfc00);
    ck_assert_uint_eq(heed_f16_from_f32(0x1p-24f), 1);
    ck_assert_uint_eq(heed_f16_from_f32(0x1p-25f), 0);
    ck_assert_uint_eq(heed_f16_from_f32(0x1.000002p-25f), 1);
    ck_assert_uint_eq(heed_f16_from_f32(0x1.8p-24f), 2);
    ck_assert_uint_eq(heed_f16_from_f32(0x1.ffffp-15f), 0x400);
    ck_assert_uint_eq(heed_f16_from_f32(-0.0f), 0x8000);
}
END_TEST

START_TEST(stores_are_canonical)
{
    static const struct {
        uint32_t dtype, bits, want;
    } rows[] = {
        { HEED_F32, 0x7f800001u, 0x7fc00000u }, { HEED_F32, 0xffffffffu, 0x7fc00000u },
        { HEED_F32, 0x80000000u, 0 },           { HEED_F32, 0x80000001u, 0x80000001u },
        { HEED_F32, 0xff800000u, 0xff800000u }, { HEED_F16, 0x7fffffffu, 0x7e00 },
        { HEED_F16, 0x80000001u, 0 },           { HEED_F16, 0xbf800000u, 0xbc00 },
        { HEED_BF16, 0x7fffffffu, 0x7fc0 },     { HEED_BF16, 0x80000000u, 0 },
        { HEED_BF16, 0x80000001u, 0 },          { HEED_BF16, 0x7f7fffffu, 0x7f80 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        union {
            uint32_t word;
            uint16_t half[2];
        } to = { 0xdeadbeefu };

        heed_dtype_store_f32(rows[i].dtype, &to, heed_f32_from_bits(rows[i].bits));
        ck_assert_uint_eq(rows[i].dtype == HEED_F32 ? to.word : to.half[0], rows[i].want);
    }
}
END_TEST

START_TEST(loads_and_table)
{
    const int64_t wide = -5000000000;
    const int32_t narrow = -7;
    const uint8_t byte = 200;
    const uint16_t half = 0xc100;

    ck_assert_int_eq(heed_dtype_load_i64(HEED_I64, &wide), wide);
    ck_assert_int_eq(heed_dtype_load_i64(HEED_I32, &narrow), -7);
    ck_assert_int_eq(heed_dtype_load_i64(HEED_U8, &byte), 200);
    ck_assert(heed_dtype_load_f32(HEED_I32, &narrow) == -7.0f);
    ck_assert(heed_dtype_load_f32(HEED_F16, &half) == -2.5f);
    ck_assert(heed_dtype_load_f32(HEED_BF16, &half) == -8.0f);
    ck_assert_uint_eq(heed_dtype_size(HEED_BF16), 2);
    ck_assert_uint_eq(heed_dtype_size(HEED_I64), 8);
    ck_assert_uint_eq(heed_dtype_size(0), 0);
    ck_assert_str_eq(heed_dtype_name(HEED_F16), "f16");
    ck_assert_str_eq(heed_dtype_name(99), "?");
    ck_assert_ptr_null(heed_dtype_find(4));
    ck_assert_uint_eq(heed_dtype_find(HEED_U8)->decode, HEED_DECODE_INT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dtype");
    TCase *tests = tcase_create("dtype");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tests, 240);
    tcase_add_test(tests, widening_is_exact_for_every_pattern);
    tcase_add_test(tests, narrowing_gives_back_what_was_widened);
    tcase_add_test(tests, narrowing_rounds_to_nearest_even);
    tcase_add_test(tests, edges_of_f16);
    tcase_add_test(tests, stores_are_canonical);
    tcase_add_test(tests, loads_and_table);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
