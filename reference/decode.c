/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Element access of the reference. The formats are written out from their field widths: binary16
 * has 5 exponent and 10 fraction bits, bfloat16 is the upper half of binary32, those of a byte
 * are in a table.
 */
#include "decode.h"

#include <assert.h>
#include <math.h>
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

/* Formats of a byte (OFP8): a number is an integer, of fraction + 1 bits, times a power of two. */
static const struct small {
    uint32_t dtype, fraction;
    int bias;
    uint32_t largest, infinity, nan; /* bits; 0: there is no infinity */
} smalls[] = {
    { HEED_F8E4M3, 3, 7, 0x7e, 0, 0x7f },
    { HEED_F8E5M2, 2, 15, 0x7b, 0x7c, 0x7e },
};

/* NULL: another type. */
static const struct small *small_find(uint32_t dtype)
{
    for (size_t i = 0; i < sizeof smalls / sizeof *smalls; i++) {
        if (smalls[i].dtype == dtype)
            return &smalls[i];
    }
    return NULL;
}

static float power_of_two(int exponent)
{
    return heed_ref_from_bits((uint32_t)(127 + exponent) << 23);
}

static float small_decode(const struct small *type, uint32_t bits)
{
    uint32_t rest = bits & 0x7fu, whole = rest & ((1u << type->fraction) - 1);
    int exponent = (int)(rest >> type->fraction);
    float value;

    if (exponent > 0)
        whole += 1u << type->fraction;
    else
        exponent = 1;
    value = (float)whole * power_of_two(exponent - type->bias - (int)type->fraction);
    if (rest > type->largest)
        value = rest == type->infinity ? INFINITY : NAN;
    return bits & 0x80u ? -value : value;
}

/* What is too large becomes the largest. */
static uint8_t small_encode(const struct small *type, float value)
{
    float size = fabsf(value);
    int least = 1 - type->bias, exponent = (int)(heed_ref_to_bits(size) >> 23) - 127;
    uint32_t bits = type->largest;

    if (isnan(value))
        return (uint8_t)type->nan;
    if (exponent < least)
        exponent = least;
    if (size < small_decode(type, type->largest)) {
        float units = size / power_of_two(exponent - (int)type->fraction); /* exact */

        bits = (uint32_t)rintf(units) + ((uint32_t)(exponent - least) << type->fraction);
    }
    return (uint8_t)(bits | (value < 0 ? 0x80u : 0));
}

float heed_ref_largest(uint32_t dtype)
{
    const struct small *type = small_find(dtype);

    assert(type != NULL || dtype == HEED_I8);
    return type ? small_decode(type, type->largest) : 127.0f;
}

float heed_ref_load(uint32_t dtype, const void *base, int64_t at)
{
    const struct small *type = small_find(dtype);

    if (type)
        return small_decode(type, ((const uint8_t *)base)[at]);
    switch (dtype) {
    case HEED_F32:
        return ((const float *)base)[at];
    case HEED_F16:
        return heed_ref_f16_decode(((const uint16_t *)base)[at]);
    case HEED_BF16:
        return heed_ref_bf16_decode(((const uint16_t *)base)[at]);
    case HEED_I8:
        return (float)((const int8_t *)base)[at];
    default:
        assert(0);
        return 0.0f;
    }
}

int64_t heed_ref_load_int(uint32_t dtype, const void *base, int64_t at)
{
    switch (dtype) {
    case HEED_U8:
        return ((const uint8_t *)base)[at];
    case HEED_I32:
        return ((const int32_t *)base)[at];
    case HEED_I64:
        return ((const int64_t *)base)[at];
    default:
        assert(0);
        return 0;
    }
}

void heed_ref_store_int(uint32_t dtype, void *base, int64_t at, int64_t value)
{
    switch (dtype) {
    case HEED_U8:
        ((uint8_t *)base)[at] = (uint8_t)value;
        break;
    case HEED_I32:
        ((int32_t *)base)[at] = (int32_t)value;
        break;
    case HEED_I64:
        ((int64_t *)base)[at] = value;
        break;
    default:
        assert(0);
    }
}

void heed_ref_copy_bits(uint32_t dtype, const void *from, int64_t from_at, void *to, int64_t to_at)
{
    if (small_find(dtype)) {
        ((uint8_t *)to)[to_at] = ((const uint8_t *)from)[from_at];
        return;
    }
    switch (dtype) {
    case HEED_F32:
        ((uint32_t *)to)[to_at] = ((const uint32_t *)from)[from_at];
        break;
    case HEED_F16:
    case HEED_BF16:
        ((uint16_t *)to)[to_at] = ((const uint16_t *)from)[from_at];
        break;
    default:
        assert(0);
    }
}

static uint32_t f32_encode(float value)
{
    uint32_t bits = heed_ref_to_bits(value);

    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
}

void heed_ref_store(uint32_t dtype, void *base, int64_t at, float value)
{
    const struct small *type = small_find(dtype);
    uint32_t bits;

    if (type) {
        bits = small_encode(type, value);
        ((uint8_t *)base)[at] = (uint8_t)(bits == 0x80u ? 0 : bits);
        return;
    }
    switch (dtype) {
    case HEED_F32:
        bits = f32_encode(value);
        ((uint32_t *)base)[at] = bits == 0x80000000u ? 0 : bits;
        break;
    case HEED_F16:
    case HEED_BF16:
        bits = dtype == HEED_F16 ? heed_ref_f16_encode(value) : heed_ref_bf16_encode(value);
        ((uint16_t *)base)[at] = (uint16_t)(bits == 0x8000u ? 0 : bits);
        break;
    default:
        assert(0);
    }
}

void heed_ref_store_quotient(uint32_t dtype, void *base, int64_t at, float value)
{
    if (dtype == HEED_I8) {
        value = rintf(value);
        value = value > 127.0f ? 127.0f : value < -127.0f ? -127.0f : value;
        ((int8_t *)base)[at] = (int8_t)value;
    } else {
        heed_ref_store(dtype, base, at, value);
    }
}
