/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Element types: one table row each, and the exact conversions that host code needs.
 */
#ifndef HEED_LIB_DTYPE_H
#define HEED_LIB_DTYPE_H

#include "compiler.h"

#include <heed/heed.h>
#include <stdbool.h>
#include <string.h>

enum heed_dtype_decode {
    HEED_DECODE_FLOAT = 1, /* widened exactly to f32 */
    HEED_DECODE_INT        /* widened exactly to int64 */
};

struct heed_dtype_row {
    uint32_t dtype, size; /* HEED_F32 ..., bytes */
    uint32_t decode, reserved;
    const char *name; /* "bf16" */
};

/* NULL: no such element type. */
const struct heed_dtype_row *heed_dtype_find(uint32_t dtype);
uint32_t heed_dtype_size(uint32_t dtype);    /* 0: no such type */
const char *heed_dtype_name(uint32_t dtype); /* "?": no such type */

/* One element as f32; u8, i32 and i64 as their nearest float. Any alignment. */
float heed_dtype_load_f32(uint32_t dtype, const void *from);
/* One element of an integer type; 0 for the others. Any alignment. */
int64_t heed_dtype_load_i64(uint32_t dtype, const void *from);
/* Rounds one result to a float type as numerics.md 4, step 11, says: RNE, canonical NaN, then -0
 * becomes +0. */
void heed_dtype_store_f32(uint32_t dtype, void *to, float value);

HEED_INLINE uint32_t heed_f32_bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof(u));
    return u;
}

HEED_INLINE float heed_f32_from_bits(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof(x));
    return x;
}

HEED_INLINE float heed_f32_from_bf16(uint16_t h)
{
    return heed_f32_from_bits((uint32_t)h << 16);
}

/* Exact; NaN payloads keep their leading bits. */
HEED_INLINE float heed_f32_from_f16(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t exponent = (h >> 10) & 31u;
    uint32_t fraction = h & 0x3ffu;
    uint32_t e = 113; /* 127 - 15 + 1 */

    if (exponent == 31)
        return heed_f32_from_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0)
        return heed_f32_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    if (fraction == 0)
        return heed_f32_from_bits(sign);
    while (!(fraction & 0x400u)) { /* a subnormal half is a normal float */
        fraction <<= 1;
        e--;
    }
    return heed_f32_from_bits(sign | e << 23 | (fraction & 0x3ffu) << 13);
}

/* Round to nearest even; NaN becomes 0x7fc0; the sign of zero is kept. */
HEED_INLINE uint16_t heed_bf16_from_f32(float x)
{
    const uint32_t u = heed_f32_bits(x);

    if ((u & 0x7fffffffu) > 0x7f800000u)
        return 0x7fc0u;
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* Round to nearest even; NaN becomes 0x7e00; the sign of zero is kept. */
HEED_INLINE uint16_t heed_f16_from_f32(float x)
{
    const uint32_t u = heed_f32_bits(x), a = u & 0x7fffffffu;
    const uint32_t sign = u >> 16 & 0x8000u;
    uint32_t shift, value, rest, half;

    if (a > 0x7f800000u)
        return 0x7e00u;
    if (a >= 0x477ff000u) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (a >= 0x38800000u) { /* normal half: rebias, then cut 13 bits */
        value = a - 0x38000000u;
        return (uint16_t)(sign | (value + 0xfffu + (value >> 13 & 1u)) >> 13);
    }
    if (a < 0x33000000u) /* below half of the smallest subnormal */
        return (uint16_t)sign;
    shift = 126 - (a >> 23); /* 14 .. 24 */
    value = (a & 0x7fffffu) | 0x800000u;
    rest = value & ((1u << shift) - 1);
    half = 1u << (shift - 1);
    value >>= shift;
    if (rest > half || (rest == half && (value & 1u)))
        value++;
    return (uint16_t)(sign | value);
}

#endif
