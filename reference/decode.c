/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Element access of the reference. The formats are written out from their field widths: binary16
 * has 5 exponent and 10 fraction bits, bfloat16 is the upper half of binary32.
 */
#include "decode.h"

#include <string.h>

float heed_ref_from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

uint32_t heed_ref_to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

float heed_ref_f16_decode(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 0x1fu;
    uint32_t fraction = bits & 0x3ffu;

    if (exponent == 0x1f) /* Inf, NaN */
        return heed_ref_from_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) { /* zero, subnormal: fraction * 2^-24, exact in binary32 */
        float magnitude = (float)fraction * 0x1p-24f;

        return heed_ref_from_bits(sign | heed_ref_to_bits(magnitude));
    }
    return heed_ref_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

float heed_ref_bf16_decode(uint16_t bits)
{
    return heed_ref_from_bits((uint32_t)bits << 16);
}

/* value >> shift, ties to even; 1 <= shift <= 31 */
static uint32_t shift_even(uint32_t value, unsigned shift)
{
    uint32_t half = (uint32_t)1 << (shift - 1);
    uint32_t rest = value & ((half << 1) - 1);
    uint32_t kept = value >> shift;

    if (rest > half || (rest == half && (kept & 1)))
        kept++;
    return kept;
}

uint16_t heed_ref_f16_encode(float value)
{
    uint32_t bits = heed_ref_to_bits(value);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t exponent = magnitude >> 23;
    uint32_t kept;

    if (magnitude > 0x7f800000u)
        return 0x7e00u;
    if (exponent >= 143) /* 2^16 and above, Inf */
        kept = 0x7c00u;
    else if (exponent >= 113) /* normal; a carry may reach Inf, which is right */
        kept = shift_even(magnitude - ((uint32_t)112 << 23), 13);
    else if (exponent >=
             102) /* subnormal: units of 2^-24, the value is mantissa * 2^(exponent - 150) */
        kept = shift_even((magnitude & 0x7fffffu) | 0x800000u, 126 - exponent);
    else /* below 2^-25, half the smallest subnormal */
        kept = 0;
    return (uint16_t)(sign | kept);
}

uint16_t heed_ref_bf16_encode(float value)
{
    uint32_t bits = heed_ref_to_bits(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fc0u;
    return (uint16_t)((bits & 0x80000000u) >> 16 | shift_even(bits & 0x7fffffffu, 16));
}

float heed_ref_load(uint32_t dtype, const void *base, int64_t at)
{
    if (dtype == HEED_F16 || dtype == HEED_BF16) {
        uint16_t bits;

        memcpy(&bits, (const uint16_t *)base + at, sizeof(bits));
        return dtype == HEED_F16 ? heed_ref_f16_decode(bits) : heed_ref_bf16_decode(bits);
    } else if (dtype == HEED_I8) {
        return (float)((const int8_t *)base)[at];
    } else {
        float value;

        memcpy(&value, (const float *)base + at, sizeof(value));
        return value;
    }
}

int64_t heed_ref_load_int(uint32_t dtype, const void *base, int64_t at)
{
    if (dtype == HEED_U8)
        return ((const uint8_t *)base)[at];
    if (dtype == HEED_I32)
        return ((const int32_t *)base)[at];
    return ((const int64_t *)base)[at];
}

void heed_ref_store_int(uint32_t dtype, void *base, int64_t at, int64_t value)
{
    if (dtype == HEED_U8)
        ((uint8_t *)base)[at] = (uint8_t)value;
    else if (dtype == HEED_I8)
        ((int8_t *)base)[at] = (int8_t)value;
    else if (dtype == HEED_I32)
        ((int32_t *)base)[at] = (int32_t)value;
    else
        ((int64_t *)base)[at] = value;
}

void heed_ref_copy_bits(uint32_t dtype, const void *from, int64_t from_at, void *to, int64_t to_at)
{
    if (dtype == HEED_F32)
        ((uint32_t *)to)[to_at] = ((const uint32_t *)from)[from_at];
    else
        ((uint16_t *)to)[to_at] = ((const uint16_t *)from)[from_at];
}

void heed_ref_store(uint32_t dtype, void *base, int64_t at, float value)
{
    if (dtype == HEED_F16 || dtype == HEED_BF16) {
        uint16_t bits =
            dtype == HEED_F16 ? heed_ref_f16_encode(value) : heed_ref_bf16_encode(value);

        if (bits == 0x8000u)
            bits = 0;
        ((uint16_t *)base)[at] = bits;
    } else {
        uint32_t bits = heed_ref_to_bits(value);

        if ((bits & 0x7fffffffu) > 0x7f800000u)
            bits = 0x7fc00000u;
        if (bits == 0x80000000u)
            bits = 0;
        ((float *)base)[at] = heed_ref_from_bits(bits);
    }
}
