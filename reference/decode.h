/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The reference's own element access: addresses in 64 bits, f16 and bf16 by integer arithmetic, one
 * rounding on the way out (numerics.md 4, step 11). Shares nothing with the element code of the
 * backends it judges.
 */
#ifndef HEED_REFERENCE_DECODE_H
#define HEED_REFERENCE_DECODE_H

#include <heed/heed.h>

float heed_ref_from_bits(uint32_t bits);
uint32_t heed_ref_to_bits(float value);

float heed_ref_f16_decode(uint16_t bits);
float heed_ref_bf16_decode(uint16_t bits);
/* Round to nearest, ties to even; NaN becomes the canonical one; the sign of zero is kept. */
uint16_t heed_ref_f16_encode(float value);
uint16_t heed_ref_bf16_encode(float value);

/* The largest number of a type whose rows may have scales. */
float heed_ref_largest(uint32_t dtype);

/* Element `at` (counted in elements from base, may be negative) of an array of floats or of rows of
 * keys and values, without the scale of its row. */
float heed_ref_load(uint32_t dtype, const void *base, int64_t at);
/* Likewise of a HEED_U8, HEED_I32 or HEED_I64 array. */
int64_t heed_ref_load_int(uint32_t dtype, const void *base, int64_t at);
/* Likewise. Cuts nothing: the value fits the type. */
void heed_ref_store_int(uint32_t dtype, void *base, int64_t at, int64_t value);
/* One element of a floating-point type as it is, payloads of NaN included. */
void heed_ref_copy_bits(uint32_t dtype, const void *from, int64_t from_at, void *to, int64_t to_at);
/* Step 11: one rounding, canonical NaN, then -0 becomes +0. */
void heed_ref_store(uint32_t dtype, void *base, int64_t at, float value);
/* Likewise of such a type: to nearest even, cut to what there is. */
void heed_ref_store_quotient(uint32_t dtype, void *base, int64_t at, float value);

#endif
