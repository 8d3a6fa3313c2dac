/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of the kit: integers from the splitmix64 finalizer (Steele, Lea and Flood 2014), scaled
 * by powers of two, so that the data of a case are the same everywhere; and the kit's own
 * conversions of f16 and bf16.
 */
#include "random.h"

#include <math.h>
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

/* Cases of errors ask for types that there are not: as much memory as most types take. */
size_t cf_dtype_size(uint32_t dtype)
{
    return type_is(dtype) ? type_find(dtype)->bytes : 4;
}

size_t cf_dtype_align(uint32_t dtype)
{
    return type_block_head(dtype) > 0 ? 2 : cf_dtype_size(dtype);
}

float cf_decode(uint32_t dtype, uint32_t bits)
{
    return type_decode(dtype, bits);
}

uint32_t cf_encode(uint32_t dtype, float x)
{
    return type_encode(dtype, x);
}

uint32_t cf_small(uint32_t dtype, uint64_t hash, float unit)
{
    const struct type *type = type_find(dtype);
    const uint32_t fraction = type->fraction, bits = fraction < 20 ? fraction : 20;
    const int64_t whole =
        (int64_t)(hash >> 40 & ((UINT64_C(1) << bits) - 1)) - (INT64_C(1) << (bits - 1));

    if (type->bytes == 1) /* too few numbers lie evenly: any below 2 */
        return (uint32_t)(hash >> 40 & 128) | (uint32_t)(hash >> 48) % cf_encode(dtype, 2 * unit);
    return cf_encode(dtype, (float)whole * ldexpf(1, 2 - (int)bits) * unit);
}

uint32_t cf_subnormal(uint32_t dtype, uint64_t hash)
{
    const struct type *type = type_find(dtype);

    return (uint32_t)(hash >> 20) & (1u << (8 * type->bytes - 1) | ((1u << type->fraction) - 1));
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
