/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows of floats that become bytes with a scale, or blocks, for the oracles of copy and push
 * (docs/numerics.md, section 5, step 4). Products of two floats are exact in double, so each
 * rounding that the definition has is one conversion here.
 */
#include "operations.h"

#include <math.h>

struct cf_scaled cf_scaled_of(const struct array *x, int64_t from, int64_t d, uint32_t dtype,
                              uint32_t scale_dtype)
{
    const double step = (double)(float)(1.0 / (double)type_largest(dtype));
    struct cf_scaled out = { .dtype = dtype, .scale = 1 };
    double most = 0;
    float scale;

    if (!scale_dtype)
        return out;

    for (int64_t c = 0; c < d; c++) {
        const double size = fabs((double)cf_decode(x->dtype, cf_array_bits(x, from + c)));

        most = isnan(size) || size > most ? size : most;
        if (isnan(most))
            break;
    }
    scale = (float)(most * step);
    out.bits = cf_round_out(scale_dtype, scale);
    out.scale = (double)cf_decode(scale_dtype, (uint32_t)out.bits);
    if (isfinite(out.scale))
        return out;
    out.scale = 0; /* bytes of 0 under NaN */
    out.bits = cf_round_out(scale_dtype, NAN);
    return out;
}

int64_t cf_byte_of(const struct cf_scaled *scaled, float x)
{
    int exponent;
    const double mantissa = frexp(scaled->scale, &exponent);
    double whole;
    float quotient;

    if (scaled->scale == 0)
        return 0;
    quotient = (float)(ldexp((double)x, -exponent) * (double)(float)(1.0 / mantissa));
    if (scaled->dtype != HEED_I8)
        return cf_round_out(scaled->dtype, quotient);
    whole = rint((double)quotient);
    whole = whole > 127 ? 127 : whole < -127 ? -127 : whole;
    return (int64_t)whole & 255;
}

/* ---- blocks --------------------------------------------------------------------- */

/* Of the block from element `from` on: the element that the scale is made of, the first one of the
 * largest magnitude; NaN where one is not finite. */
static double extreme_of(const struct array *x, int64_t from, uint32_t dtype)
{
    double extreme = 0;

    for (int64_t c = 0; c < type_elements(dtype); c++) {
        const double value = (double)cf_array_value(x, from + c);

        if (!isfinite(value))
            return NAN;
        if (fabs(value) > fabs(extreme))
            extreme = value;
    }
    return extreme;
}

int64_t cf_block_of(const struct array *x, int64_t from, uint32_t dtype, int64_t c)
{
    const int64_t j = c % type_elements(dtype), first = from + c - j;
    const double extreme = extreme_of(x, first, dtype);
    const bool bytes = type_codes(dtype) == 256;
    const double least = bytes ? -127 : -8, most = bytes ? 127 : 7;
    const double share = bytes ? fabs(extreme) * (double)(float)(1.0 / 127) : extreme * -0.125;
    int64_t bits = cf_round_out(HEED_F16, (float)share), head;
    double scale = (double)cf_decode(HEED_F16, (uint32_t)bits), whole = 0;

    if (!isfinite(scale)) {
        bits = cf_round_out(HEED_F16, NAN);
        scale = 0;
    }
    if (scale != 0) {
        const double factor = (double)(float)(1.0 / scale);

        whole = rint((double)(float)((double)cf_array_value(x, from + c) * factor));
        whole = whole > most ? most : whole < least ? least : whole;
    }
    head = j < 2 ? (bits >> 8 * j & 255) << 8 : 0;
    return ((int64_t)whole + type_find(dtype)->block.less) % type_codes(dtype) + head +
           (whole < 0 && bytes ? 256 : 0);
}

int64_t cf_zero_of(uint32_t dtype)
{
    return type_elements(dtype) > 1 ? (int64_t)type_code_of_zero(dtype) : 0;
}
