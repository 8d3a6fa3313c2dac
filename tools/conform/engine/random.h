/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of the kit: drawn from a seed or from a fuzzer's bytes, and its own conversions of
 * element types.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_RANDOM_H
#define HEED_TOOLS_CONFORM_ENGINE_RANDOM_H

#include "common/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Random numbers: from a seed, or as a fuzzer's bytes say. Of bytes a number below n takes as few
 * as hold it; where they end, all further numbers are 0. */
struct rng {
    uint64_t state;
    const uint8_t *at, *end; /* NULL: from the state */
};

uint64_t cf_mix(uint64_t x);
uint64_t cf_mix2(uint64_t a, uint64_t b);
struct rng rng_of(uint64_t seed);
struct rng rng_of_bytes(const uint8_t *bytes, size_t size);
uint64_t rng_next(struct rng *);
int64_t rng_below(struct rng *, int64_t n);                 /* 0 when n <= 0 */
int64_t rng_range(struct rng *, int64_t low, int64_t high); /* both included; high - low < 2^63 */
/* A multiple of 16, 32, 64 or 128 or a neighbour of one, at most `most`. */
int64_t cf_edge(struct rng *, int64_t most);

size_t cf_dtype_size(uint32_t dtype); /* of an element, or of a block */
size_t cf_dtype_align(uint32_t dtype);
float cf_decode(uint32_t dtype, uint32_t bits);
uint32_t cf_encode(uint32_t dtype, float x); /* nearest even; NaN canonical; keeps -0 */
uint32_t cf_small(uint32_t dtype, uint64_t hash,
                  float unit); /* uniform in [-2, 2) * unit, exactly representable */
uint32_t cf_subnormal(uint32_t dtype, uint64_t hash);
uint64_t cf_hash_bytes(const void *, size_t);

#endif
