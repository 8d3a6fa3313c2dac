/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A row of channels as it is stored: numbers, numbers whose scales lie apart, or blocks of them
 * with a scale and perhaps a minimum each (numerics.md 4, step 3).
 */
#ifndef HEED_REFERENCE_BLOCKS_H
#define HEED_REFERENCE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* Scales that lie apart, and minima behind each: those of all rows of a source. */
struct heed_ref_scales {
    const void *data;
    uint32_t dtype;
    bool minima;
    int64_t channels; /* that have a scale in common; 0: there are no scales */
    int64_t step;     /* elements from entry to entry of a row */
};

struct heed_ref_line {
    const void *data;
    int64_t at,
        stride; /* of channel 0, and from channel to channel; in blocks, where there are any */
    uint32_t dtype;
    struct heed_ref_scales scales;
    int64_t scale_at; /* of the row: that of its first entry */
};

/* Channels that have a scale in common; 0: its numbers have none. */
int64_t heed_ref_line_block(const struct heed_ref_line *);
/* Do its blocks have minima? */
bool heed_ref_line_minima(const struct heed_ref_line *);
/* The number z stored for channel t, and the scale and the minimum of its block, widened. */
float heed_ref_line_stored(const struct heed_ref_line *, int64_t t);
float heed_ref_line_scale(const struct heed_ref_line *, int64_t t);
float heed_ref_line_minimum(const struct heed_ref_line *, int64_t t);
/* Channel t: z, z times the scale, or that and the minimum; rounded once. */
float heed_ref_line_get(const struct heed_ref_line *, int64_t t);

/* Bytes of a block of the type; 0: it has none. */
int64_t heed_ref_blocks_bytes(uint32_t dtype);
/* d channels of blocks, from block `at` on: moved as they are; zeros; numbers, of which q8_0 and
 * q4_0 alone are made (numerics.md 5). */
void heed_ref_blocks_copy(uint32_t dtype, const void *from, int64_t from_at, void *to,
                          int64_t to_at, int64_t d);
void heed_ref_blocks_zero(uint32_t dtype, void *to, int64_t at, int64_t d);
void heed_ref_blocks_quantise(const struct heed_ref_line *x, uint32_t dtype, void *to, int64_t at,
                              int64_t d);

#endif
