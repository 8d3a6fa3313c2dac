/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of golden cases. Arrays are inputs, hashed in the order in which they are made.
 */
#ifndef HEED_TESTS_GOLDEN_BUILD_H
#define HEED_TESTS_GOLDEN_BUILD_H

#include "golden.h"

uint64_t golden_next(struct golden *g);
void *golden_array(struct golden *g, uint32_t dtype, int64_t count);
/* Bits of a float in the given format: mantissa in (-2^bits, 2^bits) times 2^exponent, normal. */
void golden_put(uint32_t dtype, void *data, int64_t at, int64_t mantissa, int exponent);
void golden_put_bits(void *data, int64_t at, uint32_t bits);
/* Half number `at` of data, of blocks, which are little-endian on every machine. */
void golden_put_half(void *data, int64_t at, uint16_t bits);
/* Full mantissas, magnitude below 2^exponent; of i8 any bytes; blocks of any integers with scales,
 * and minima, of either sign, about as large. count: elements. */
void *golden_floats(struct golden *g, uint32_t dtype, int64_t count, int exponent);
heed_tensor golden_tensor(uint32_t dtype, uint32_t ndim, const int64_t *shape);
/* One source more: n_k keys of H_k heads; scores of a few units. */
heed_source *golden_source(struct golden *g, uint32_t dtype, int64_t b, int64_t h_k, int64_t n_k);
/* q, o and lse: dense [b][h][n_q][d or d_v]. */
void golden_query(struct golden *g, uint32_t dtype, int64_t b, int64_t h, int64_t n_q, int64_t d,
                  int64_t d_v);
/* The usual: f32, one source, 2 heads. */
void golden_base(struct golden *g, int64_t n_q, int64_t n_k, int64_t d, int64_t d_v);
void golden_term(struct golden *g, uint32_t s, heed_term t);
void golden_bias(struct golden *g, uint32_t s, heed_bias b);
uint32_t golden_slot_of(struct golden *g, heed_tensor t, void *data);
uint32_t golden_slot_i32(struct golden *g, uint32_t ndim, const int64_t *shape,
                         const int32_t *values);
uint32_t golden_slot_i64(struct golden *g, int64_t count, const int64_t *values);
uint32_t golden_slot_floats(struct golden *g, uint32_t dtype, uint32_t ndim, const int64_t *shape,
                            int exponent);
/* Of either sign, magnitude in [2^-8, 2^-7). */
uint32_t golden_slot_scales(struct golden *g, uint32_t dtype, uint32_t ndim, const int64_t *shape);
void *golden_slot_data(struct golden *g, uint32_t slot);
void golden_sinks(struct golden *g, uint32_t dtype);

#endif
