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
/* A line of 64 bytes, to where one begins. */
HK_INLINE void hk_x86_line_past(char *to, const char *from)
{
#if defined __AVX512F__
    _mm512_stream_si512((__m512i *)(void *)to, _mm512_loadu_si512((const void *)from));
#else
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)from);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(from + 32));

    _mm256_stream_si256((__m256i *)(void *)to, a);
    _mm256_stream_si256((__m256i *)(void *)(to + 32), b);
#endif
}

HK_INLINE int hk_move_past(char *to, const char *from, hk_i64 bytes)
{
    hk_i64 at = (hk_i64)(-(uintptr_t)to & 63);

    if (bytes < 1024 && (at > 0 || bytes % 64 > 0)) /* too much would be parts of lines */
        return 0;
    if (at > 0)
        hk_move(to, from, at);
    for (; at + 64 <= bytes; at += 64)
        hk_x86_line_past(to + at, from + at);
    if (at < bytes)
        hk_move(to + at, from + at, bytes - at);
    return 1;
}

HK_INLINE void hk_move_past_end(void)
{
    _mm_sfence();
}

#endif
