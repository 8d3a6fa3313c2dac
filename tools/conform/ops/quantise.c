/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows of floats that become bytes with a scale, for the oracles of copy and push
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
