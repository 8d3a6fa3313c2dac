/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the x86 vocabularies share: sums across lanes, stores past the caches.
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_X86_H
#define HEED_BACKENDS_KERNELS_SIMD_X86_H

#include <immintrin.h>

HK_INLINE float hk_x86_add_across(__m256 a)
{
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}

#define HK_HAS_MOVE_PAST 1
HK_INLINE void hk_move_past(char *to, const char *from, hk_i64 bytes)
{
    hk_i64 at = (hk_i64)(-(uintptr_t)to & 63);

    if (bytes < 1024) {
        hk_move(to, from, bytes);
        return;
    }
    hk_move(to, from, at);
    for (; at + 64 <= bytes; at += 64) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(from + at));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(from + at + 32));

        _mm256_stream_si256((__m256i *)(void *)(to + at), a);
        _mm256_stream_si256((__m256i *)(void *)(to + at + 32), b);
    }
    hk_move(to + at, from + at, bytes - at);
    _mm_sfence();
}

#endif
