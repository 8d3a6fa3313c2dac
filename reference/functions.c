/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of docs/numerics.md, section 14. A statement holds one rounding, as in numerics.c.
 */
#include "numerics.h"

#include "decode.h"

#include <heed/nn.h>

#include <assert.h>
#include <math.h>

/* log2 e in two numbers: L and what is left of it. */
#define L HEED_REF_LOG2E
#define L_REST 0x1.4ae0cp-26f

/* e^x: 2^r is split, so that a subnormal result is rounded once. */
static float exponential(float x)
{
    float y, r, f, half, p;

    if (x != x)
        return x;
    if (x < -104.0f)
        x = -104.0f;
    if (x > 89.0f)
        x = 89.0f;
    y = x * L;
    r = rintf(y);
    f = fmaf(x, L, -r);
    f = fmaf(x, L_REST, f);
    y = r / 2;
    half = rintf(y);
    p = ldexpf(heed_ref_exp2_poly(f), (int)half);
    p = ldexpf(p, (int)(r - half));
    return p;
}

static float sigmoid(float x)
{
    float e = exponential(-fabsf(x));
    float i, sum = 1.0f + e;

    i = heed_ref_recip(sum);
    if (x < 0)
        i = e * i;
    return i;
}

/* Not below -104, where SILU is 0. */
static float silu(float x)
{
    float y = x < -104.0f ? -104.0f : x;

    y *= sigmoid(y);
    return y;
}

static float gelu_tanh(float x)
{
    float a = x < -16.0f ? -16.0f : x;
    float z = a * a;

    z = fmaf(0x1.2444f2p-4f, z, 0x1.988454p+0f);
    z = a * z;
    z = sigmoid(z);
    z = a * z;
    return z;
}

/* The share of the normal distribution beyond a >= 0. */
static float beyond(float a)
{
    static const float coefficient[11] = {
        -0x1.5c4c2ep-1f,  0x1.732832p-4f,  -0x1.b1d08p-7f, 0x1.efa8fep-10f,
        -0x1.070edap-12f, 0x1.e7bf14p-16f, -0x1.5f0c9ap-19f, 0x1.01b484p-23f,
        0x1.3ed3d6p-25f,  -0x1.3c81a2p-26f, 0x1.6eb768p-29f,
    };
    const float b = a < 5.75f ? a : 5.75f;
    float s = b - 3.0f, p = coefficient[10];
    float square = a * a, rest = fmaf(a, a, -square);
    float y, r, f;

    for (int i = 9; i >= 0; i--)
        p = fmaf(p, s, coefficient[i]);
    y = b * p;
    y = fmaf(square, -L / 2, y);
    r = rintf(y);
    f = fmaf(square, -L / 2, -r);
    f = fmaf(square, -L_REST / 2, f);
    f = fmaf(rest, -L / 2, f);
    f = fmaf(b, p, f);
    if (r - 1 < -100)
        return 0;
    return ldexpf(heed_ref_exp2_poly(f), (int)r - 1);
}

static float gelu(float x)
{
    const float a = fabsf(x);
    float tail;

    if (x != x)
        return x;
    tail = beyond(a < 14.0f ? a : 14.0f);
    if (x < 0)
        return (x < -14.0f ? -14.0f : x) * tail;
    tail = 1.0f - tail;
    return x * tail;
}

/* Of large numbers in two steps: the second rounds to a subnormal. */
static float inverse(float x)
{
    const bool large = fabsf(x) >= 0x1p64f;
    float y = (large ? 0x1p64f : 1.0f) / x;

    if (large)
        y = y * 0x1p-64f;
    return y;
}

float heed_ref_activate(uint32_t kind, float x)
{
    float more;

    switch (kind) {
    case HEED_ACT_RELU:
        return x < 0 ? 0 : x;
    case HEED_ACT_GELU:
        return gelu(x);
    case HEED_ACT_GELU_TANH:
        return gelu_tanh(x);
    case HEED_ACT_SILU:
        return silu(x);
    case HEED_ACT_TANH:
        return heed_ref_tanh(x);
    case HEED_ACT_SIGMOID:
        return sigmoid(x);
    case HEED_ACT_EXP:
        return exponential(x);
    case HEED_ACT_ELU_PLUS_ONE:
        more = x + 1.0f;
        return x > 0 ? more : exponential(x);
    case HEED_ACT_INVERSE:
        return inverse(x);
    case HEED_ACT_NONE:
        return x;
    }
    assert(0); /* the plan has a kind */
    return NAN;
}
