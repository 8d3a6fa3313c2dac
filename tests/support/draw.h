/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Random checked attentions with their memory: every layout, term, bias and rule of positions that
 * the reference has to know, small enough for the oracle. The generator is splitmix64 (Steele, Lea
 * and Flood 2014) and values are small integers times powers of two, so a seed names a case.
 */
#ifndef HEED_TESTS_SUPPORT_DRAW_H
#define HEED_TESTS_SUPPORT_DRAW_H

#include "arrays.h"

uint64_t draw_u64(uint64_t *state);
int64_t draw_range(uint64_t *state, int64_t low, int64_t high); /* low .. high, both included */

/* Stores mantissa * 2^exponent, which must be exact in dtype, |mantissa| < 2^24. */
void draw_put(uint32_t dtype, void *base, int64_t at, int64_t mantissa, int exponent);
/* NaN, or an infinity of the sign given. */
void draw_put_special(uint32_t dtype, void *base, int64_t at, int is_nan, int sign);

enum { DRAW_SOURCES = 3, DRAW_TERMS = 5, DRAW_BIASES = 3, DRAW_SLOTS = 64, DRAW_BLOCKS = 128 };

struct draw_limits {
    int64_t n_q, n_k, d, d_v;
    int plain; /* no biases, softcap, sinks: logits are scale * q.k */
};

struct draw {
    uint64_t seed, state;
    struct draw_limits limits;
    struct heed_checked attn;
    struct heed_checked_source sources[DRAW_SOURCES];
    struct heed_checked_term terms[DRAW_SOURCES][DRAW_TERMS];
    struct heed_checked_bias biases[DRAW_SOURCES][DRAW_BIASES];
    struct test_arrays bound;
    const void *k[DRAW_SOURCES], *v[DRAW_SOURCES], *slots[DRAW_SLOTS];
    void *blocks[DRAW_BLOCKS];
    int n_blocks;
};

void draw_start(struct draw *, uint64_t seed, const struct draw_limits *);
void draw_finish(struct draw *);
/* Zeroed memory that draw_finish gives back. */
void *draw_memory(struct draw *, size_t bytes);

/* Addresses (in elements) of a tensor's element; writable memory of a bound tensor. */
int64_t draw_offset(const struct heed_view *, const struct draw *, int64_t item, int64_t head,
                    int64_t row, int64_t channel);

#endif
