/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a processor core can do at most: fused multiply-adds of an instruction set level, and
 * reading memory. Only heed-bench uses this; it shares nothing with the kernels it is compared
 * with.
 */
#ifndef HEED_TOOLS_PEAK_PEAK_H
#define HEED_TOOLS_PEAK_PEAK_H

#include <stddef.h>
#include <stdint.h>

/* One instruction set level, named as in the device "cpu:<isa>". */
struct peak {
    const char *isa;
    double flops;                       /* floating-point operations of one iteration */
    /* `seed` about 1; the result is only there so that the work is not removed */
    float (*burn)(int64_t iterations, float seed);
};

/* The level named `isa`, or NULL when none of that name is compiled in. Whether the processor
 * has it is for the caller to know: a usable device of that name says so. */
const struct peak *peak_find(const char *isa);

/* Name of level `index`, best last; NULL behind the last one. */
const char *peak_name(size_t index);

/* Reads `count` words and returns their sum. */
uint64_t peak_read(const uint64_t *words, size_t count);

float peak_burn_scalar(int64_t iterations, float seed);
float peak_burn_avx2(int64_t iterations, float seed);
float peak_burn_avx512(int64_t iterations, float seed);

/* Operations of one iteration: chains * lanes * 2. */
enum {
    PEAK_CHAINS_SCALAR = 48,
    PEAK_CHAINS_AVX2 = 12,
    PEAK_CHAINS_AVX512 = 24,
    PEAK_LANES_AVX2 = 8,
    PEAK_LANES_AVX512 = 16
};

#endif
