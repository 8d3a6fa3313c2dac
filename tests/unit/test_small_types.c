/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of a byte: the kernels', the reference's and the kit's widening of all 256 codes, and
 * rounding at every number, at every half between neighbours and next to it, against the format as
 * the OFP8 specification draws it, and against a search for the nearest number.
 */
#include "backends/kernels/attn/blob.h"
#include "backends/kernels/types.h"
#include "common/types.h"
#include "reference/decode.h"
#include "support/suite.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* largest: the code; NaN above it but where infinity is. */
static const struct format {
    uint32_t dtype;
    int fraction, bias;
    uint32_t largest, infinity;
} formats[] = {
    { HEED_F8E4M3, 3, 7, 0x7e, 0x100 },
    { HEED_F8E5M2, 2, 15, 0x7b, 0x7c },
};
enum { FORMATS = sizeof formats / sizeof *formats };

static double value_of(const struct format *f, uint32_t code)
{
    const int exponent = (int)(code & 0x7f) >> f->fraction;
    const double part = (double)(code & ((1u << f->fraction) - 1)) / (1 << f->fraction);
    const double size =
        exponent > 0 ? ldexp(1 + part, exponent - f->bias) : ldexp(part, 1 - f->bias);

    if ((code & 0x7f) > f->largest)
        return (code & 0x7f) == f->infinity ? (code & 0x80 ? -INFINITY : INFINITY) : NAN;
    return code & 0x80 ? -size : size;
}

/* Of all numbers that there are the nearest, of two the one with an even code. */
static uint32_t nearest(const struct format *f, double x)
{
    uint32_t best = 0;

    for (uint32_t code = 1; code <= f->largest; code++) {
        const double off = fabs(fabs(x) - value_of(f, code)),
                     before = fabs(fabs(x) - value_of(f, best));

        if (off < before || (off == before && (code & 1) == 0))
            best = code;
    }
    return fabs(x) >= value_of(f, f->largest) ? f->largest : best;
}

static float kernel_get(uint32_t dtype, uint8_t code)
{
    return hk_element(dtype, (const char *)&code, 0);
}

static uint32_t kernel_put(uint32_t dtype, float x)
{
    uint8_t code = 0;

#define PUT(NAME, name, number, elements, bytes, arg)                                              \
    if (dtype == HK_##NAME)                                                                        \
        hk_put_##name(&code, x);                                                                   \
    else
    HK_SMALL_TYPES(PUT, 0)
    ck_abort();
#undef PUT
    return code;
}

static uint32_t reference_put(uint32_t dtype, float x)
{
    uint8_t code = 0;

    heed_ref_store_quotient(dtype, &code, 0, x);
    return code;
}

static bool alike(double a, double b)
{
    return a == b ? !signbit(a) == !signbit(b) : isnan(a) && isnan(b);
}

LOOP_TEST(codes_are_what_the_format_says, FORMATS)
{
    const struct format *f = &formats[_i];

    for (uint32_t code = 0; code < 256; code++) {
        const uint8_t byte = (uint8_t)code;
        const double want = value_of(f, code);

        ck_assert(alike((double)kernel_get(f->dtype, byte), want));
        ck_assert(alike((double)heed_ref_load(f->dtype, &byte, 0), want));
        ck_assert(alike((double)type_decode(f->dtype, code), want));
    }
    ck_assert(alike((double)type_largest(f->dtype), value_of(f, f->largest)));
}

/* Zeros leave as +0 but for the kit's, which keeps the sign until step 11. */
static void rounds(const struct format *f, float x)
{
    const uint32_t want = nearest(f, (double)x), sign = signbit(x) ? 0x80 : 0;
    const uint32_t out = want ? want | sign : 0;

    ck_assert_msg(kernel_put(f->dtype, x) == out, "kernel: %a gave %u, not %u", (double)x,
                  kernel_put(f->dtype, x), out);
    ck_assert_msg(reference_put(f->dtype, x) == out, "reference: %a gave %u, not %u", (double)x,
                  reference_put(f->dtype, x), out);
    ck_assert_uint_eq(type_encode(f->dtype, x), want | sign);
}

static void around(const struct format *f, double x)
{
    const float at = (float)x;

    for (int sign = -1; sign < 2; sign += 2) {
        rounds(f, (float)sign * at);
        rounds(f, (float)sign * nextafterf(at, 0.0f));
        rounds(f, (float)sign * nextafterf(at, FLT_MAX));
    }
}

LOOP_TEST(rounding_goes_to_the_nearest, FORMATS)
{
    const struct format *f = &formats[_i];
    const double largest = value_of(f, f->largest);

    for (uint32_t code = 0; code < f->largest; code++) {
        around(f, value_of(f, code));
        around(f, (value_of(f, code) + value_of(f, code + 1)) / 2);
    }
    around(f, largest);
    around(f, largest * (1 + ldexp(0.5, -f->fraction)));
    around(f, largest * 2);
    rounds(f, FLT_MAX);
    rounds(f, -INFINITY);
    rounds(f, FLT_MIN);
    rounds(f, 0x1p-149f);
    for (int i = 0; i < 2; i++) {
        const float nan = i ? -NAN : NAN;

        ck_assert(isnan(value_of(f, kernel_put(f->dtype, nan))));
        ck_assert_uint_eq(kernel_put(f->dtype, nan), type_find(f->dtype)->nan);
        ck_assert_uint_eq(reference_put(f->dtype, nan), type_find(f->dtype)->nan);
        ck_assert_uint_eq(type_encode(f->dtype, nan), type_find(f->dtype)->nan);
    }
}

int main(void)
{
    return suite_run("small types", 0, NULL, NULL);
}
