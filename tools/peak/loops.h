/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loops of one level that touch memory, from one text: reading, copying, score products. Who
 * includes this has defined
 *   PEAK_LOOP(name)                        the name with the level's ending
 *   WORDS, words_load/store/add/sum        a vector of 64-bit integers, aligned
 *   FLOATS, FLOATS_LANES, floats_zero/load/store/set/fma      a vector of floats, unaligned
 *   SCORE_VECTORS                          vectors of query rows that stay in registers
 *   peak_prefetch(p)
 * and, where stores can go around the caches, words_stream and peak_fence.
 * Sums of integers may be taken in any order, so memory is the limit, not the addition.
 */
#include "peak.h"

enum { STEP = 4, AHEAD = 2048 };        /* vectors of one turn; bytes */

uint64_t PEAK_LOOP(read)(const void *from, size_t bytes)
{
    const char *const p = from;
    WORDS a = words_load(p), b = a, c = a, d = a;

    for (size_t i = 0; i < bytes; i += STEP * sizeof(WORDS)) {
        a = words_add(a, words_load(p + i));
        b = words_add(b, words_load(p + i + sizeof(WORDS)));
        c = words_add(c, words_load(p + i + 2 * sizeof(WORDS)));
        d = words_add(d, words_load(p + i + 3 * sizeof(WORDS)));
    }
    return words_sum(words_add(words_add(a, b), words_add(c, d)));
}

/* Four places at a time: prefetchers of a processor follow each. */
uint64_t PEAK_LOOP(read_quarters)(const void *from, size_t bytes)
{
    const size_t quarter = bytes / 4;
    const char *const p = from;
    WORDS a = words_load(p), b = a, c = a, d = a;

    for (size_t i = 0; i < quarter; i += sizeof(WORDS)) {
        a = words_add(a, words_load(p + i));
        b = words_add(b, words_load(p + i + quarter));
        c = words_add(c, words_load(p + i + 2 * quarter));
        d = words_add(d, words_load(p + i + 3 * quarter));
    }
    return words_sum(words_add(words_add(a, b), words_add(c, d)));
}

void PEAK_LOOP(copy)(void *to, const void *from, size_t bytes)
{
    const char *const p = from;
    char *const o = to;

    for (size_t i = 0; i < bytes; i += STEP * sizeof(WORDS)) {
        const WORDS a = words_load(p + i), b = words_load(p + i + sizeof(WORDS));
        const WORDS c = words_load(p + i + 2 * sizeof(WORDS));
        const WORDS d = words_load(p + i + 3 * sizeof(WORDS));

        words_store(o + i, a);
        words_store(o + i + sizeof(WORDS), b);
        words_store(o + i + 2 * sizeof(WORDS), c);
        words_store(o + i + 3 * sizeof(WORDS), d);
    }
}

void PEAK_LOOP(copy_ahead)(void *to, const void *from, size_t bytes)
{
    const char *const p = from;
    char *const o = to;

    for (size_t i = 0; i < bytes; i += STEP * sizeof(WORDS)) {
        const WORDS a = words_load(p + i), b = words_load(p + i + sizeof(WORDS));
        const WORDS c = words_load(p + i + 2 * sizeof(WORDS));
        const WORDS d = words_load(p + i + 3 * sizeof(WORDS));

        for (size_t line = 0; line < STEP * sizeof(WORDS); line += 64)
            peak_prefetch(p + i + AHEAD + line);
        words_store(o + i, a);
        words_store(o + i + sizeof(WORDS), b);
        words_store(o + i + 2 * sizeof(WORDS), c);
        words_store(o + i + 3 * sizeof(WORDS), d);
    }
}

#ifdef words_stream
void PEAK_LOOP(copy_stream)(void *to, const void *from, size_t bytes)
{
    const char *const p = from;
    char *const o = to;

    for (size_t i = 0; i < bytes; i += STEP * sizeof(WORDS)) {
        const WORDS a = words_load(p + i), b = words_load(p + i + sizeof(WORDS));
        const WORDS c = words_load(p + i + 2 * sizeof(WORDS));
        const WORDS d = words_load(p + i + 3 * sizeof(WORDS));

        words_stream(o + i, a);
        words_stream(o + i + sizeof(WORDS), b);
        words_stream(o + i + 2 * sizeof(WORDS), c);
        words_stream(o + i + 3 * sizeof(WORDS), d);
    }
    peak_fence();
}
#endif

/* Query rows lie in lanes, so that keys are read as they come and nothing is transposed but the
 * few rows of q, once, by the caller. The last group of keys may be one that was there before. */
void PEAK_LOOP(scores)(const float *q, size_t rows, const float *keys, size_t n, size_t d,
                       float *out)
{
    enum { KEYS = PEAK_SCORE_KEYS, VECTORS = SCORE_VECTORS, ROWS = VECTORS * FLOATS_LANES };

    for (size_t key = 0; key < n; key += KEYS) {
        const float *const k = keys + (key + KEYS <= n ? key : n - KEYS) * d;

        for (size_t line = 0; line < KEYS * d; line += 16)
            peak_prefetch((const char *)(k + KEYS * d + line));
        for (size_t row = 0; row < rows; row += ROWS) {
            FLOATS s[KEYS][VECTORS];

            for (size_t i = 0; i < KEYS; i++) {
                for (size_t v = 0; v < VECTORS; v++)
                    s[i][v] = floats_zero();
            }
            for (size_t c = 0; c < d; c++) {
                for (size_t i = 0; i < KEYS; i++) {
                    const FLOATS x = floats_set(k[i * d + c]);

                    for (size_t v = 0; v < VECTORS; v++)
                        s[i][v] = floats_fma(floats_load(q + c * rows + row + v * FLOATS_LANES),
                                             x, s[i][v]);
                }
            }
            for (size_t i = 0; i < KEYS; i++) {
                for (size_t v = 0; v < VECTORS; v++)
                    floats_store(out + i * rows + row + v * FLOATS_LANES, s[i][v]);
            }
        }
    }
}
