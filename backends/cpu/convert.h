/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bit casts and conversions between f32 and the storage types, on integers.
 */
#ifndef HEED_BACKENDS_CPU_CONVERT_H
#define HEED_BACKENDS_CPU_CONVERT_H

#include "../../lib/core/compiler.h"

#include <heed/heed.h>
#include <stdint.h>
#include <string.h>

HEED_INLINE float heed_float(uint32_t word)
{
    float x;

    memcpy(&x, &word, sizeof x);
    return x;
}

HEED_INLINE uint32_t heed_word(float x)
{
    uint32_t word;

    memcpy(&word, &x, sizeof word);
    return word;
}

/* Index of the lowest set bit; 64 if there is none. */
HEED_INLINE int heed_first_bit(uint64_t word)
{
    int i = 0;

#if defined __GNUC__
    return word ? __builtin_ctzll(word) : 64;
#endif
    for (; i < 64 && !(word >> i & 1); i++)
        continue;
    return i;
}

HEED_INLINE float heed_from_bf16(uint16_t x)
{
    return heed_float((uint32_t)x << 16);
}

/* Exact. A subnormal half is mantissa * 2^-24. */
HEED_INLINE float heed_from_f16(uint16_t x)
{
    const uint32_t sign = (uint32_t)(x & 0x8000u) << 16, magnitude = x & 0x7fffu;
    float value;

    if (magnitude >= 0x7c00u)
        return heed_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x400u)
        return heed_float(sign | ((magnitude << 13) + 0x38000000u));
    value = (float)magnitude * 0x1p-24f;
    return heed_float(heed_word(value) | sign);
}

/* Round to nearest even; NaN canonical, -0 to +0 (numerics.md step 11). */
HEED_INLINE uint16_t heed_to_bf16(float x)
{
    const uint32_t word = heed_word(x);
    uint32_t out;

    if (x != x)
        return 0x7fc0u;
    out = (word + 0x7fffu + (word >> 16 & 1)) >> 16;
    return (uint16_t)(out == 0x8000u ? 0 : out);
}

HEED_INLINE uint16_t heed_to_f16(float x)
{
    const uint32_t word = heed_word(x), magnitude = word & 0x7fffffffu;
    uint32_t out, rest;

    if (x != x)
        return 0x7e00u;
    if (magnitude >= 0x477ff000u) {             /* 65520 and above round to infinity */
        out = 0x7c00u;
    } else if (magnitude >= 0x38800000u) {      /* 2^-14: normal */
        rest = magnitude - 0x38000000u;
        out = (rest + 0xfffu + (rest >> 13 & 1)) >> 13;
    } else if (magnitude >= 0x33000000u) { /* 2^-25: subnormal, or rounds to zero or the smallest */
        const uint32_t shift = 126 - (magnitude >> 23),
                       mantissa = (magnitude & 0x7fffffu) | 0x800000u;

        out = mantissa >> shift;
        rest = mantissa & (((uint32_t)1 << shift) - 1);
        out +=
            rest > (uint32_t)1 << (shift - 1) || (rest == (uint32_t)1 << (shift - 1) && (out & 1));
    } else {
        out = 0;
    }
    return (uint16_t)(out == 0 ? 0 : out | (word >> 16 & 0x8000u));
}

HEED_INLINE float heed_cpu_element(uint32_t dtype, const char *base, int64_t index)
{
    float x;
    uint16_t half;

    if (dtype == HEED_F32) {
        memcpy(&x, base + index * 4, sizeof x);
        return x;
    }
    memcpy(&half, base + index * 2, sizeof half);
    return dtype == HEED_F16 ? heed_from_f16(half) : heed_from_bf16(half);
}

HEED_INLINE int64_t heed_cpu_integer(uint32_t dtype, const char *base, int64_t index)
{
    int32_t narrow;
    int64_t wide;

    if (dtype == HEED_I32) {
        memcpy(&narrow, base + index * 4, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, base + index * 8, sizeof wide);
    return wide;
}

HEED_INLINE int64_t heed_cpu_size(uint32_t dtype)
{
    switch (dtype) {
    case HEED_F32:
    case HEED_I32:
        return 4;
    case HEED_I64:
        return 8;
    case HEED_U8:
        return 1;
    default:
        return 2;
    }
}

#endif
