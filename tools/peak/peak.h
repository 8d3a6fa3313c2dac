/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a processor core can do at most with an instruction set level: fused multiply-adds, moving
 * memory, score products. Only heed-bench uses this; it shares nothing with the kernels it is
 * compared with.
 */
#ifndef HEED_TOOLS_PEAK_PEAK_H
#define HEED_TOOLS_PEAK_PEAK_H

#include <stddef.h>
#include <stdint.h>

/* Memory is at a multiple of PEAK_ALIGN, `bytes` a multiple of PEAK_UNIT. */
enum { PEAK_ALIGN = 64, PEAK_UNIT = 1024, PEAK_LOOPS = 4 };

/* Returns the sum of the words, so that the work is not removed. */
typedef uint64_t peak_reader(const void *from, size_t bytes);
typedef void peak_copier(void *to, const void *from, size_t bytes);

/* Scores of `rows` query rows with n keys of width d, each a chain of d fused multiply-adds: the
 * work of a selection before it selects. q [d][rows], rows a multiple of PEAK_SCORE_ROWS; keys
 * [n][d], n at least PEAK_SCORE_KEYS; out [PEAK_SCORE_KEYS][rows] has the last scores. */
enum { PEAK_SCORE_ROWS = 64, PEAK_SCORE_KEYS = 6 };
typedef void peak_scorer(const float *q, size_t rows, const float *keys, size_t n, size_t d,
                         float *out);

/* One instruction set level, named as in the device "cpu:<isa>". */
struct peak {
    const char *isa;
    double flops;                       /* floating-point operations of one iteration */
    /* `seed` about 1; the result is only there so that the work is not removed */
    float (*burn)(int64_t iterations, float seed);
    /* Loops that do the same: the best of them is what the processor can. NULL behind the last. */
    peak_reader *readers[PEAK_LOOPS + 1];
    peak_copier *copiers[PEAK_LOOPS + 1];
    peak_scorer *scorer;
};

/* The level named `isa`, or NULL when none of that name is compiled in. Whether the processor
 * has it is for the caller to know: a usable device of that name says so. */
const struct peak *peak_find(const char *isa);

/* Name of level `index`, best last; NULL behind the last one. */
const char *peak_name(size_t index);

float peak_burn_scalar(int64_t iterations, float seed);
float peak_burn_avx2(int64_t iterations, float seed);
float peak_burn_avx512(int64_t iterations, float seed);

peak_reader peak_read_scalar, peak_read_avx2, peak_read_avx512;
peak_reader peak_read_quarters_scalar, peak_read_quarters_avx2, peak_read_quarters_avx512;
peak_copier peak_copy_scalar, peak_copy_avx2, peak_copy_avx512;
peak_copier peak_copy_ahead_scalar, peak_copy_ahead_avx2, peak_copy_ahead_avx512;
peak_copier peak_copy_stream_avx2, peak_copy_stream_avx512;
peak_scorer peak_scores_scalar, peak_scores_avx2, peak_scores_avx512;

/* Operations of one iteration: chains * lanes * 2. */
enum {
    PEAK_CHAINS_SCALAR = 48,
    PEAK_CHAINS_AVX2 = 12,
    PEAK_CHAINS_AVX512 = 24,
    PEAK_LANES_AVX2 = 8,
    PEAK_LANES_AVX512 = 16
};

#endif
