/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * docs/numerics.md section 4, attention version 1, in the words of dialect.h: every step that is
 * more than a sum. The coefficients are part of the version. HK_VECTORS 1 (defined before): also
 * for vectors.
 */
#ifndef HEED_BACKENDS_KERNELS_NUMERICS_H
#define HEED_BACKENDS_KERNELS_NUMERICS_H

#include "dialect/dialect.h"

#define HK_BLOCK 64             /* keys of a softmax block: step 5 */
#define HK_CHUNK 16             /* blocks of a chunk: step 8 */
#define HK_PARTIALS 16          /* partial row sums: step 7 */

/* Channels of a state (heed/attn.h): M is the first. */
enum { HK_STATE_AT_L = 1, HK_STATE_AT_JOINED = 17, HK_STATE_AT_O = 18 };

#define HK_LOG2_E 0x1.715476p+0f
#define HK_LN_2 0x1.62e43p-1f
#define HK_NAN_WORD 0x7fc00000u

/* Of 2^f on [-1/2, 1/2], after 1 (step 6). */
#define HK_EXP_1 0.693147182f
#define HK_EXP_2 0.240226463f
#define HK_EXP_3 0.0555032864f
#define HK_EXP_4 0.00961834379f
#define HK_EXP_5 0.00133962662f
#define HK_EXP_6 0.000154013524f

#define HK_STEP HK_FN
#define HK_T float
#define HK_OP(name) hk_##name
#include "steps.h"
#undef HK_T
#undef HK_OP

#if HK_VECTORS
#define HK_T hk_vec
#define HK_OP(name) hkv_##name
#include "steps.h"
#undef HK_T
#undef HK_OP
#endif
#undef HK_STEP

/* W: 2^x for integer-valued x >= -100, else 0 (NaN too). */
HK_FN float hk_power(float x)
{
    return x >= -100.0f ? hk_float((hk_u32)(127 + (hk_i32)x) << 23) : 0.0f;
}

/* The m that a largest y asks for (step 5). */
HK_FN float hk_row_max(float y)
{
    return hk_add(hk_rint(y), 1.0f);
}

/* ln of 2^m * l (step 12). */
HK_FN float hk_lse(float m, float l)
{
    const hk_u32 word = hk_word(l);
    hk_u32 k = word - 0x3f3504f3u;      /* sqrt(1/2) */
    float x, g = 0x1.00e03ap-3f;

    if (!(l == l))
        return hk_float(HK_NAN_WORD);
    k = k >> 23 | (k >> 31 ? 0xfffffe00u : 0);
    x = hk_sub(hk_float(word - (k << 23)), 1.0f);
    g = hk_fma(g, x, -0x1.aeac5ap-3f);
    g = hk_fma(g, x, 0x1.bd2a42p-3f);
    g = hk_fma(g, x, -0x1.e87dcep-3f);
    g = hk_fma(g, x, 0x1.269004p-2f);
    g = hk_fma(g, x, -0x1.7160e2p-2f);
    g = hk_fma(g, x, 0x1.ec76eep-2f);
    g = hk_fma(g, x, -0x1.71546ap-1f);
    g = hk_fma(g, x, 0x1.715474p+0f);
    g = hk_mul(g, x);
    x = hk_add(m, (float)(hk_i32)k);
    x = hk_add(x, g);
    return hk_mul(x, HK_LN_2);
}

/* 1 / sqrt(x) by three steps of Newton (section 12); what is below 2^-126 counts as that. */
HK_FN float hk_inverse_root(float x)
{
    float y;
    int i;

    if (!(x >= 0.0f))
        return hk_float(HK_NAN_WORD);
    if (x == HK_INFINITY)
        return 0.0f;
    x = hk_max_f(x, 0x1p-126f);
    y = hk_float(0x5f375a86u - (hk_word(x) >> 1));
    HK_UNROLL
    for (i = 0; i < 3; i++) {
        const float e = hk_fma(-hk_mul(x, y), y, 1.0f);

        y = hk_fma(hk_mul(0.5f, y), e, y);
    }
    return y;
}

/* Step 11: NaN canonical, -0 to +0. */
HK_FN float hk_canonical(float x)
{
    return x == x ? hk_add(x, 0.0f) : hk_float(HK_NAN_WORD);
}

/* Steps 9, 10 and 12: from a row's sums over all chunks (has_partial: it has one) to the factor
 * that those over V are multiplied by, twice: first by *sink, then by the result; and its LSE, if
 * that is wanted. z: the sink, -Inf: none. */
HK_FN float hk_end(float z, int with_sink, int wants_lse, int has_partial, float m, float l,
                   float *sink, float *lse)
{
    *sink = 1.0f;
    if (!has_partial) {
        *lse = with_sink ? hk_canonical(z) : -HK_INFINITY;
        return 0.0f;
    }
    if (!(z == -HK_INFINITY)) {
        const float y = hk_mul(z, HK_LOG2_E), e = hk_row_max(y), both = e > m ? e : m;
        const float before = l;

        *sink = hk_power(hk_sub(m, both));
        l = hk_fma(l, *sink, hk_weight(y, both));
        *lse = !wants_lse ? 0.0f : with_sink ? hk_lse(both, l) : hk_lse(m, before);
    } else {
        *lse = wants_lse ? hk_lse(m, l) : 0.0f;
    }
    *lse = hk_canonical(*lse);
    return hk_inverse(l);
}

HK_FN hk_u16 hk_to_bf16(float x)
{
    const hk_u32 word = hk_word(x);
    hk_u32 out;

    if (!(x == x))
        return 0x7fc0u;
    out = (word + 0x7fffu + (word >> 16 & 1)) >> 16;
    return (hk_u16)(out == 0x8000u ? 0 : out);
}

#if HK_HAS_ROUND_F16
HK_FN hk_u16 hk_to_f16(float x)
{
    const hk_u16 out = hk_round_f16(x);

    if (!(x == x))
        return 0x7e00u;
    return (out & 0x7fffu) == 0 ? 0 : out;
}
#else
/* On integers: the built-in conversions of some devices flush subnormals. */
HK_FN hk_u16 hk_to_f16(float x)
{
    const hk_u32 word = hk_word(x), magnitude = word & 0x7fffffffu;
    hk_u32 out = 0, rest;

    if (!(x == x))
        return 0x7e00u;
    if (magnitude >= 0x477ff000u) {             /* 65520 and above round to infinity */
        out = 0x7c00u;
    } else if (magnitude >= 0x38800000u) {      /* 2^-14: normal */
        rest = magnitude - 0x38000000u;
        out = (rest + 0xfffu + (rest >> 13 & 1)) >> 13;
    } else if (magnitude >= 0x33000000u) {      /* 2^-25: subnormal, or rounds to the smallest */
        const hk_u32 shift = 126 - (magnitude >> 23), tie = (hk_u32)1 << (shift - 1);
        const hk_u32 mantissa = (magnitude & 0x7fffffu) | 0x800000u;

        out = mantissa >> shift;
        rest = mantissa & ((tie << 1) - 1);
        out += rest > tie || (rest == tie && (out & 1)) ? 1 : 0;
    }
    return (hk_u16)(out == 0 ? 0 : out | (word >> 16 & 0x8000u));
}
#endif

#endif
