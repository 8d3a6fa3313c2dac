/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Scalar functions of numerics.md section 4, version 1. The coefficients are part of the version.
 * Here and in row.c a statement holds one rounding: where the compiler evaluates float expressions
 * in double (FLT_EVAL_METHOD 1, as on s390x), the assignment still gives binary32's own result.
 */
#include "numerics.h"

#include "decode.h"

#include <math.h>

struct heed_ref_constants heed_ref_constants_of(const struct heed_checked *attn)
{
    const double log2e = 1.4426950408889634;
    struct heed_ref_constants constants = { 0 };
    double scale = attn->scale;

    /* Step 1. Every line is one rounding to double; the square root is the host's, in double, as
     * step 1 says. */
    if (scale == 0 && !(attn->flags & HEED_ATTN_SCALE_GIVEN) && attn->d > 0) {
        double root = sqrt((double)attn->d);

        scale = 1.0 / root;
    }
    constants.capped = attn->softcap != 0;
    if (constants.capped) {
        double c1 = scale / attn->softcap;
        double c2 = attn->softcap * log2e;

        constants.c1 = (float)c1;
        constants.c2 = (float)c2;
    } else {
        double c = scale * log2e;

        constants.c = (float)c;
    }
    return constants;
}

float heed_ref_pow2(float x)
{
    if (!(x >= -100.0f))
        return 0.0f;
    return heed_ref_from_bits((uint32_t)(127 + (int32_t)x) << 23);
}

/* Horner by fma from the highest of `count` coefficients down. */
static float horner(const float *coefficient, int count, float x)
{
    float p = coefficient[count - 1];

    for (int i = count - 2; i >= 0; i--)
        p = fmaf(p, x, coefficient[i]);
    return p;
}

float heed_ref_exp2_poly(float f)
{
    static const float coefficient[7] = {
        1.0f,           0.693147182f,   0.240226463f,    0.0555032864f,
        0.00961834379f, 0.00133962662f, 0.000154013524f,
    };

    return horner(coefficient, 7, f);
}

/* 2^f with g added to the exponent field; g integer-valued in [-100, 127). */
static float scale_exponent(float f, float g)
{
    return heed_ref_from_bits(heed_ref_to_bits(heed_ref_exp2_poly(f)) +
                              ((uint32_t)(int32_t)g << 23));
}

float heed_ref_weight(float y, float m)
{
    float r = rintf(y);
    float f = y - r; /* exact */
    float g = r - m;

    if (g != g)
        return heed_ref_from_bits(0x7fc00000u);
    if (g < -100.0f)
        return 0.0f;
    return scale_exponent(f, g);
}

float heed_ref_recip(float l)
{
    float r = 1.0f / l; /* step 10 allows the correctly rounded division */

    return r;
}

float heed_ref_tanh(float x)
{
    static const float coefficient[5] = {
        -0x1.555534p-2f, 0x1.11076cp-3f, -0x1.b844a2p-5f, 0x1.5258cap-6f, -0x1.76b3ccp-8f,
    };
    float a = fabsf(x);

    if (x != x)
        return x;
    if (a < 0.625f) {
        float z = x * x;
        float xz = x * z;

        return fmaf(xz, horner(coefficient, 5, z), x);
    } else {
        float b = a < 10.0f ? a : 10.0f;
        float y = b * (2.0f * HEED_REF_LOG2E); /* 2L is exact */
        float r = rintf(y);
        float e = scale_exponent(y - r, r);
        float big = fmaf(-2.0f, heed_ref_recip(e + 1.0f), 1.0f);

        return x < 0 ? -big : big;
    }
}

float heed_ref_lse(float m, float l)
{
    static const float coefficient[9] = {
        0x1.715474p+0f,  -0x1.71546ap-1f, 0x1.ec76eep-2f,  -0x1.7160e2p-2f, 0x1.269004p-2f,
        -0x1.e87dcep-3f, 0x1.bd2a42p-3f,  -0x1.aeac5ap-3f, 0x1.00e03ap-3f,
    };
    const uint32_t root_half = 0x3f3504f3u; /* bits of RNE32(sqrt(1/2)) */
    uint32_t bits = heed_ref_to_bits(l);
    float x, g, sum, k = 0;

    if (l != l)
        return l;
    /* l = 2^k * r with r in [sqrt(1/2), sqrt 2); l is a positive normal number here. */
    for (; bits < root_half; bits += (uint32_t)1 << 23)
        k -= 1.0f;
    for (; bits >= root_half + ((uint32_t)1 << 23); bits -= (uint32_t)1 << 23)
        k += 1.0f;
    x = heed_ref_from_bits(bits) - 1.0f;
    g = x * horner(coefficient, 9, x);
    sum = m + k;
    sum += g;
    sum *= 0x1.62e43p-1f; /* RNE32(ln 2) */
    return sum;
}

float heed_ref_rsqrt(float x)
{
    const float least = 0x1p-126f;
    float y;

    if (x != x || x < 0)
        return NAN;
    if (isinf(x))
        return 0;
    if (x < least)
        x = least;
    y = heed_ref_from_bits(0x5f375a86u - heed_ref_to_bits(x) / 2);
    for (int step = 0; step < 3; step++) {
        const float t = x * y;
        const float e = fmaf(-t, y, 1.0f);
        const float h = 0.5f * y;

        y = fmaf(h, e, y);
    }
    return y;
}
