/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The arrays of an operation with a fixed list of them, one element at a time. Offsets count in
 * elements and are formed in 64 bits; x, y and z count along the trailing axes 3, 4 and 5.
 */
#ifndef HEED_REFERENCE_ARRAY_H
#define HEED_REFERENCE_ARRAY_H

#include "../lib/backend.h"
#include "../lib/form.h"

#include <stdbool.h>

/* The arrays of one run, and the batch item that is being computed. */
struct heed_ref_arrays {
    const struct heed_plan_operand *operands;
    const heed_buf *at;
    int64_t batch[3];
};

struct heed_ref_arrays heed_ref_arrays_of(const struct heed_plan *, const struct heed_launch *);
void heed_ref_arrays_item(struct heed_ref_arrays *, const struct heed_form *, int64_t item);

bool heed_ref_has(const struct heed_ref_arrays *, uint32_t operand);
int64_t heed_ref_offset(const struct heed_ref_arrays *, uint32_t operand, int64_t x, int64_t y,
                        int64_t z);

float heed_ref_float(const struct heed_ref_arrays *, uint32_t operand, int64_t offset);
/* Channel of the row that begins at `row`, of any type: of blocks with its scale and minimum. */
float heed_ref_channel(const struct heed_ref_arrays *, uint32_t operand, int64_t row,
                       int64_t channel);
/* Leaves by step 11. */
void heed_ref_put(const struct heed_ref_arrays *, uint32_t operand, int64_t offset, float value);
int64_t heed_ref_int(const struct heed_ref_arrays *, uint32_t operand, int64_t x, int64_t y,
                     int64_t z);
void heed_ref_put_int(const struct heed_ref_arrays *, uint32_t operand, int64_t x, int64_t y,
                      int64_t z, int64_t value);

/* Entry of a [B] array, cut to [0, bound]; bound where the array is absent. */
int64_t heed_ref_length(const struct heed_ref_arrays *, uint32_t operand, int64_t bound);
/* Is token `at` of a head below the length, and its byte of the mask, if there is one, not 0? */
bool heed_ref_present(const struct heed_ref_arrays *, uint32_t mask, int64_t head, int64_t length,
                      int64_t at);

/* d channels from an offset of one array to an offset of another: the bits where the types are
 * equal, else quantised into blocks, or by step 11. */
void heed_ref_copy_row(const struct heed_ref_arrays *, uint32_t from, int64_t from_at, uint32_t to,
                       int64_t to_at, int64_t d);
/* d channels of floats into bytes from to_at on, and the scale of the row to scale_at
 * (docs/numerics.md, section 5, step 4). */
struct heed_ref_scaled {
    uint32_t rows, scale; /* operands */
    int64_t at, scale_at; /* offsets */
};
void heed_ref_quantise_row(const struct heed_ref_arrays *, uint32_t from, int64_t from_at,
                           const struct heed_ref_scaled *to, int64_t d);
void heed_ref_zero_row(const struct heed_ref_arrays *, uint32_t operand, int64_t at, int64_t d);

#endif
