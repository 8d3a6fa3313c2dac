/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of the kit: integers from the splitmix64 finalizer (Steele, Lea and Flood 2014), scaled
 * by powers of two, so that the data of a case are the same everywhere; and the kit's own
 * conversions of f16 and bf16.
 */
#include "conform.h"

#include <string.h>

uint64_t cf_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t cf_mix2(uint64_t a, uint64_t b)
{
    return cf_mix(a ^ (cf_mix(b) + UINT64_C(0x632be59bd9b4e019)));
}

struct rng rng_of(uint64_t seed)
{
    return (struct rng){ .state = seed };
}

struct rng rng_of_bytes(const uint8_t *bytes, size_t size)
{
    static const uint8_t none[1];

    return (struct rng){ .at = size ? bytes : none, .end = size ? bytes + size : none };
}

/* The next `n` bytes, least significant first. */
static uint64_t bytes_take(struct rng *r, int n)
{
    uint64_t word = 0;

    for (int i = 0; i < n && r->at < r->end; i++)
        word |= (uint64_t)*r->at++ << 8 * i;
    return word;
}

uint64_t rng_next(struct rng *r)
{
    if (r->at)
        return bytes_take(r, 8);
    r->state += UINT64_C(0x9e3779b97f4a7c15);
    return cf_mix(r->state);
}

int64_t rng_below(struct rng *r, int64_t n)
{
    int size = 1;

    if (n <= 0)
        return 0;
    while (size < 8 && (n - 1) >> 8 * size > 0)
        size++;
    return (int64_t)((r->at ? bytes_take(r, size) : rng_next(r)) % (uint64_t)n);
}

int64_t rng_range(struct rng *r, int64_t low, int64_t high)
{
    return low + rng_below(r, high - low + 1);
}

int64_t cf_edge(struct rng *r, int64_t most)
{
    const int64_t block = INT64_C(16) << rng_below(r, 4);
    const int64_t number = block * (1 + rng_below(r, most / block)) + rng_range(r, -1, 1);

    return number > most ? most : number;
}

size_t cf_dtype_size(uint32_t dtype)
{
    switch (dtype) {
    case HEED_F16:
    case HEED_BF16:
        return 2;
    case HEED_U8:
    case HEED_I8:
        return 1;
    case HEED_I64:
        return 8;
    default:
        return 4;
    }
}

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

float cf_decode(uint32_t dtype, uint32_t bits)
{
    if (dtype == HEED_F32)
        return float_of(bits);
    if (dtype == HEED_BF16)
        return float_of(bits << 16);
    if (dtype == HEED_I8)       /* without its scale */
        return (float)(int32_t)(bits ^ 128) - 128;
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31,
                   fraction = bits & 0x3ff;

    if (exponent == 31)
        return float_of(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) {
        const float x = (float)fraction * 0x1p-24f;

        return sign ? -x : x;
    }
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

static uint32_t half_of(uint32_t bits)
{
    const uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    const int32_t exponent = (int32_t)(rest >> 23) - 112;
    uint32_t fraction = (rest & 0x7fffffu) | 0x800000u, shift = 13, whole;

    if (rest >= 0x47800000u) /* 65536 and more */
        return sign | 0x7c00u;
    if (exponent <= 0) {
        if (exponent < -11)
            return sign;
        shift = (uint32_t)(14 - exponent);
    }
    whole = fraction >> shift;
    const uint32_t left = fraction & ((1u << shift) - 1), half = 1u << (shift - 1);

    if (left > half || (left == half && (whole & 1)))
        whole++;
    if (exponent > 0)
        whole += (uint32_t)(exponent - 1) << 10; /* the hidden bit carries into the exponent */
    return sign | whole;
}

uint32_t cf_encode(uint32_t dtype, float x)
{
    const uint32_t bits = bits_of(x);

    if (x != x)
        return dtype == HEED_F32 ? 0x7fc00000u : dtype == HEED_F16 ? 0x7e00u : 0x7fc0u;
    if (dtype == HEED_F32)
        return bits;
    if (dtype == HEED_F16)
        return half_of(bits);
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

uint32_t cf_small(uint32_t dtype, uint64_t hash, float unit)
{
    const int bits = dtype == HEED_F32 ? 20 : dtype == HEED_F16 ? 10 : 7;
    const int64_t whole =
        (int64_t)(hash >> 40 & ((UINT64_C(1) << bits) - 1)) - (INT64_C(1) << (bits - 1));
    const float ulp = bits == 20 ? 0x1p-18f : bits == 10 ? 0x1p-8f : 0x1p-5f;

    return cf_encode(dtype, (float)whole * ulp * unit);
}

uint32_t cf_subnormal(uint32_t dtype, uint64_t hash)
{
    const uint32_t bits = (uint32_t)(hash >> 20);

    return dtype == HEED_F32   ? bits & 0x807fffffu
           : dtype == HEED_F16 ? bits & 0x83ffu
                               : bits & 0x807fu;
}

uint64_t cf_hash_bytes(const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t h = cf_mix(size);

    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;

        memcpy(&word, p, 8);
        h = cf_mix(h ^ word);
    }
    for (; size; size--)
        h = cf_mix(h ^ *p++);
    return h;
}
