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
