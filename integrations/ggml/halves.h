/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * IEEE 754 binary16 to and from binary32, by the instructions that the file is compiled for: by
 * integers, or by F16C.
 */
#ifndef HEED_INTEGRATIONS_GGML_HALVES_H
#define HEED_INTEGRATIONS_GGML_HALVES_H

#include <stdint.h>
#include <string.h>
#if defined __F16C__ && defined __AVX__
#include <immintrin.h>
#endif

/* The value of a half: the fields are moved to their places and the exponent's bias is corrected by
 * an exact product, which makes subnormal halves normal, too. */
static inline float heed_half_value(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = (uint32_t)(half & 0x7fff) << 13;
    uint32_t bits;
    float value;

    memcpy(&value, &rest, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    if ((half & 0x7c00) == 0x7c00)
        bits = rest | 0x7f800000u;
    bits |= sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The half nearest to a number, ties to even: the number is added to one whose unit in the last
 * place is that of the half, so that the sum is rounded as the half is. */
static inline uint16_t heed_half_of(float x)
{
    uint32_t bits, sign, unit_bits;
    float size, unit;

    memcpy(&bits, &x, sizeof bits);
    sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (bits >= 0x477ff000) /* 65520 and more */
        return (uint16_t)(sign | 0x7c00);
    memcpy(&size, &bits, sizeof size);
    unit_bits = (bits < 0x38800000 ? 0x38800000 : bits & 0x7f800000) + (13u << 23);
    memcpy(&unit, &unit_bits, sizeof unit);
    size = size + unit - unit;
    memcpy(&bits, &size, sizeof bits);
    if (bits < 0x38800000) /* subnormal: a multiple of 2^-24 */
        return (uint16_t)(sign | (uint32_t)(size * 0x1p24f));
    return (uint16_t)(sign | (bits - 0x38000000) >> 13);
}

#if defined __F16C__ && defined __AVX__
static inline void heed_halves_of(const float *x, uint16_t *halves, int64_t n)
{
    int64_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m128i eight = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);

        _mm_storeu_si128((__m128i *)(void *)(halves + i), eight);
    }
    for (; i < n; i++)
        halves[i] = heed_half_of(x[i]);
}
#else
static inline void heed_halves_of(const float *x, uint16_t *halves, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        halves[i] = heed_half_of(x[i]);
}
#endif

#endif
