/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fused multiply-adds with AVX-512: 24 independent chains, the number of accumulators the tile
 * kernels keep. Named one by one, and started from an argument, for the reasons given in
 * peak_avx2.c. clang needs the VL extension on to use all 32 registers.
 */
#include "peak.h"

#include <immintrin.h>

float peak_burn_avx512(int64_t iterations, float seed)
{
    const __m512 x = _mm512_set1_ps(0.9999f), y = _mm512_set1_ps(1e-4f);
    const __m512 start = _mm512_set1_ps(seed), next = _mm512_set1_ps(1e-3f);
    __m512 a0 = _mm512_add_ps(start, next), a1 = _mm512_add_ps(a0, next);
    __m512 a2 = _mm512_add_ps(a1, next), a3 = _mm512_add_ps(a2, next);
    __m512 a4 = _mm512_add_ps(a3, next), a5 = _mm512_add_ps(a4, next);
    __m512 a6 = _mm512_add_ps(a5, next), a7 = _mm512_add_ps(a6, next);
    __m512 b0 = _mm512_add_ps(a7, next), b1 = _mm512_add_ps(b0, next);
    __m512 b2 = _mm512_add_ps(b1, next), b3 = _mm512_add_ps(b2, next);
    __m512 b4 = _mm512_add_ps(b3, next), b5 = _mm512_add_ps(b4, next);
    __m512 b6 = _mm512_add_ps(b5, next), b7 = _mm512_add_ps(b6, next);
    __m512 c0 = _mm512_add_ps(b7, next), c1 = _mm512_add_ps(c0, next);
    __m512 c2 = _mm512_add_ps(c1, next), c3 = _mm512_add_ps(c2, next);
    __m512 c4 = _mm512_add_ps(c3, next), c5 = _mm512_add_ps(c4, next);
    __m512 c6 = _mm512_add_ps(c5, next), c7 = _mm512_add_ps(c6, next);

    for (int64_t n = 0; n < iterations; n++) {
        a0 = _mm512_fmadd_ps(a0, x, y);
        a1 = _mm512_fmadd_ps(a1, x, y);
        a2 = _mm512_fmadd_ps(a2, x, y);
        a3 = _mm512_fmadd_ps(a3, x, y);
        a4 = _mm512_fmadd_ps(a4, x, y);
        a5 = _mm512_fmadd_ps(a5, x, y);
        a6 = _mm512_fmadd_ps(a6, x, y);
        a7 = _mm512_fmadd_ps(a7, x, y);
        b0 = _mm512_fmadd_ps(b0, x, y);
        b1 = _mm512_fmadd_ps(b1, x, y);
        b2 = _mm512_fmadd_ps(b2, x, y);
        b3 = _mm512_fmadd_ps(b3, x, y);
        b4 = _mm512_fmadd_ps(b4, x, y);
        b5 = _mm512_fmadd_ps(b5, x, y);
        b6 = _mm512_fmadd_ps(b6, x, y);
        b7 = _mm512_fmadd_ps(b7, x, y);
        c0 = _mm512_fmadd_ps(c0, x, y);
        c1 = _mm512_fmadd_ps(c1, x, y);
        c2 = _mm512_fmadd_ps(c2, x, y);
        c3 = _mm512_fmadd_ps(c3, x, y);
        c4 = _mm512_fmadd_ps(c4, x, y);
        c5 = _mm512_fmadd_ps(c5, x, y);
        c6 = _mm512_fmadd_ps(c6, x, y);
        c7 = _mm512_fmadd_ps(c7, x, y);
    }
    a0 = _mm512_add_ps(_mm512_add_ps(a0, a1), _mm512_add_ps(a2, a3));
    a4 = _mm512_add_ps(_mm512_add_ps(a4, a5), _mm512_add_ps(a6, a7));
    b0 = _mm512_add_ps(_mm512_add_ps(b0, b1), _mm512_add_ps(b2, b3));
    b4 = _mm512_add_ps(_mm512_add_ps(b4, b5), _mm512_add_ps(b6, b7));
    c0 = _mm512_add_ps(_mm512_add_ps(c0, c1), _mm512_add_ps(c2, c3));
    c4 = _mm512_add_ps(_mm512_add_ps(c4, c5), _mm512_add_ps(c6, c7));
    a0 = _mm512_add_ps(_mm512_add_ps(a0, a4), _mm512_add_ps(b0, b4));
    return _mm512_cvtss_f32(_mm512_add_ps(_mm512_add_ps(a0, c0), c4));
}

/* ---- memory and scores: the loops of loops.h ------------------------------ */

#define PEAK_LOOP(name) peak_##name##_avx512
#define WORDS __m512i
#define words_load(p) _mm512_load_si512((const void *)(p))
#define words_store(p, x) _mm512_store_si512((void *)(p), (x))
#define words_stream(p, x) _mm512_stream_si512((void *)(p), (x))
#define words_add(x, y) _mm512_add_epi64((x), (y))
#define words_sum(x) sum_words(x)
#define FLOATS __m512
#define FLOATS_LANES PEAK_LANES_AVX512
#define SCORE_VECTORS 4
#define floats_zero() _mm512_setzero_ps()
#define floats_load(p) _mm512_loadu_ps(p)
#define floats_store(p, x) _mm512_storeu_ps((p), (x))
#define floats_set(x) _mm512_set1_ps(x)
#define floats_fma(x, y, z) _mm512_fmadd_ps((x), (y), (z))
#define peak_prefetch(p) _mm_prefetch((p), _MM_HINT_T0)
#define peak_fence() _mm_sfence()

static uint64_t sum_words(__m512i x)
{
    uint64_t words[8], sum = 0;

    _mm512_storeu_si512((void *)words, x);
    for (int i = 0; i < 8; i++)
        sum += words[i];
    return sum;
}

#include "loops.h"
