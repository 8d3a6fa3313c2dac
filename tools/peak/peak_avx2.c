/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fused multiply-adds with AVX2: 12 independent chains cover a latency of up to 6 cycles on two
 * pipes and leave registers free. The chains are named one by one, never an array: a compiler that
 * keeps an array in memory halves the reading. They start from an argument, because a compiler that
 * knows a start value may find the fixed point of its chain and drop it.
 */
#include "peak.h"

#include <immintrin.h>

float peak_burn_avx2(int64_t iterations, float seed)
{
    const __m256 x = _mm256_set1_ps(0.9999f), y = _mm256_set1_ps(1e-4f);
    const __m256 start = _mm256_set1_ps(seed), next = _mm256_set1_ps(1e-3f);
    __m256 a = _mm256_add_ps(start, next), b = _mm256_add_ps(a, next);
    __m256 c = _mm256_add_ps(b, next), d = _mm256_add_ps(c, next);
    __m256 e = _mm256_add_ps(d, next), f = _mm256_add_ps(e, next);
    __m256 g = _mm256_add_ps(f, next), h = _mm256_add_ps(g, next);
    __m256 i = _mm256_add_ps(h, next), j = _mm256_add_ps(i, next);
    __m256 k = _mm256_add_ps(j, next), l = _mm256_add_ps(k, next);

    for (int64_t n = 0; n < iterations; n++) {
        a = _mm256_fmadd_ps(a, x, y);
        b = _mm256_fmadd_ps(b, x, y);
        c = _mm256_fmadd_ps(c, x, y);
        d = _mm256_fmadd_ps(d, x, y);
        e = _mm256_fmadd_ps(e, x, y);
        f = _mm256_fmadd_ps(f, x, y);
        g = _mm256_fmadd_ps(g, x, y);
        h = _mm256_fmadd_ps(h, x, y);
        i = _mm256_fmadd_ps(i, x, y);
        j = _mm256_fmadd_ps(j, x, y);
        k = _mm256_fmadd_ps(k, x, y);
        l = _mm256_fmadd_ps(l, x, y);
    }
    a = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
    e = _mm256_add_ps(_mm256_add_ps(e, f), _mm256_add_ps(g, h));
    i = _mm256_add_ps(_mm256_add_ps(i, j), _mm256_add_ps(k, l));
    return _mm256_cvtss_f32(_mm256_add_ps(_mm256_add_ps(a, e), i));
}

/* ---- memory and scores: the loops of loops.h ------------------------------ */

#define PEAK_LOOP(name) peak_##name##_avx2
#define WORDS __m256i
#define words_load(p) _mm256_load_si256((const void *)(p))
#define words_store(p, x) _mm256_store_si256((void *)(p), (x))
#define words_stream(p, x) _mm256_stream_si256((void *)(p), (x))
#define words_add(x, y) _mm256_add_epi64((x), (y))
#define words_sum(x) sum_words(x)
#define FLOATS __m256
#define FLOATS_LANES PEAK_LANES_AVX2
#define SCORE_VECTORS 2
#define floats_zero() _mm256_setzero_ps()
#define floats_load(p) _mm256_loadu_ps(p)
#define floats_store(p, x) _mm256_storeu_ps((p), (x))
#define floats_set(x) _mm256_set1_ps(x)
#define floats_fma(x, y, z) _mm256_fmadd_ps((x), (y), (z))
#define peak_prefetch(p) _mm_prefetch((p), _MM_HINT_T0)
#define peak_fence() _mm_sfence()

static uint64_t sum_words(__m256i x)
{
    uint64_t words[4], sum = 0;

    _mm256_storeu_si256((void *)words, x);
    for (int i = 0; i < 4; i++)
        sum += words[i];
    return sum;
}

#include "loops.h"
