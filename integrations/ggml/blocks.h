/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Element types of an engine's caches: what heed reads as it is, and how the rest becomes halves.
 */
#ifndef HEED_INTEGRATIONS_GGML_BLOCKS_H
#define HEED_INTEGRATIONS_GGML_BLOCKS_H

#include <stdint.h>

enum { HEED_ATTEND_BLOCK = 128 }; /* elements of the longest block */

/* Writes the elements of a block. */
typedef void heed_unpack(const uint8_t *block, float *x);

/* A type. Its rows are whole blocks of `elements` elements in `bytes` bytes. */
struct heed_attend_type {
    int32_t elements, bytes; /* 0: no such type */
    uint32_t heed;           /* HEED_*, where heed reads the blocks itself; else 0 */
    heed_unpack *unpack;     /* where it does not */
};

/* What a row of a mask has between its first and its last entry that is not -Inf, zeros apart. */
enum {
    HEED_ATTEND_HOLES_IN = 1u,  /* -Inf */
    HEED_ATTEND_NUMBERS_IN = 2u /* numbers, and perhaps -Inf */
};

/* What is done along rows of n elements, by the instructions of one instruction set. A half that is
 * made is rounded to nearest even; what is beyond the largest one becomes infinite. */
struct heed_attend_rows {
    /* The row of a type by its number in files, NULL where there is none. */
    const struct heed_attend_type *(*type)(uint32_t type);
    /* The elements of blocks, as halves. */
    void (*convert)(const struct heed_attend_type *type, const uint8_t *blocks, uint16_t *halves,
                    int64_t n);
    /* [ends[0], ends[1]): from the first entry that is not -Inf to the last one, both 0 where there
     * is none. Returns 0 if all entries in it are zeros, else what else is there. */
    unsigned (*scan)(const uint16_t *mask, int64_t n, int32_t ends[2]);
    /* Bit i mod 32 of word i / 32: entry i is not -Inf; 0 behind the last entry. */
    void (*bits)(const uint16_t *mask, int64_t n, uint32_t *words);
};

extern const struct heed_attend_rows heed_attend_rows_base, heed_attend_rows_wide;

/* Those for this processor. Any thread. */
const struct heed_attend_rows *heed_attend_rows(void);

#endif
