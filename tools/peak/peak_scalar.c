/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Multiply and add as plain C gets them for the processor family at large: one fused instruction
 * where every member of the family has it, else a product and a sum; the compiler is free to use
 * lanes. Portable kernels, which call a library function where the instruction is missing, stay
 * far below this.
 */
#include "peak.h"

#include <math.h>
#include <string.h>

#if defined FP_FAST_FMAF || defined __ARM_FEATURE_FMA
static inline float step(float a, float x, float y)
{
    return fmaf(a, x, y);
}
#else
static inline float step(float a, float x, float y)
{
    return a * x + y;
}
#endif

float peak_burn_scalar(int64_t iterations, float seed)
{
    float a[PEAK_CHAINS_SCALAR];
    const float x = 0.9999f, y = 1e-4f;     /* towards 1: no subnormals, no overflow */
    float sum = 0;

    for (int c = 0; c < PEAK_CHAINS_SCALAR; c++)
        a[c] = seed + 1e-3f * (float)c;
    for (int64_t i = 0; i < iterations; i++) {
        for (int c = 0; c < PEAK_CHAINS_SCALAR; c++)
            a[c] = step(a[c], x, y);
    }
    for (int c = 0; c < PEAK_CHAINS_SCALAR; c++)
        sum += a[c];
    return sum;
}

/* ---- memory and scores: the loops of loops.h ------------------------------ */

#define PEAK_LOOP(name) peak_##name##_scalar
#define WORDS uint64_t
#define words_load(p) load_word(p)
#define words_store(p, x) memcpy((p), &(x), sizeof(x))
#define words_add(x, y) ((x) + (y))
#define words_sum(x) (x)
#define FLOATS float
#define FLOATS_LANES 1
#define SCORE_VECTORS 2
#define floats_zero() 0.0f
#define floats_load(p) (*(p))
#define floats_store(p, x) (*(p) = (x))
#define floats_set(x) (x)
#define floats_fma(x, y, z) step((z), (y), (x))
#define peak_prefetch(p) ((void)(p))

static uint64_t load_word(const void *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof x);
    return x;
}

#include "loops.h"
