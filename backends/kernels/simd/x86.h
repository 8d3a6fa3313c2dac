/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the x86 vocabularies share: sums across lanes, 8 x 8 transposes, stores past the caches.
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

#define HKV_PACK 8
HK_INLINE void hkv_pack(const float *const *rows, hk_i64 t, float *out, hk_i64 panel)
{
    __m256 r0 = _mm256_loadu_ps(rows[0] + t), r1 = _mm256_loadu_ps(rows[1] + t);
    __m256 r2 = _mm256_loadu_ps(rows[2] + t), r3 = _mm256_loadu_ps(rows[3] + t);
    __m256 r4 = _mm256_loadu_ps(rows[4] + t), r5 = _mm256_loadu_ps(rows[5] + t);
    __m256 r6 = _mm256_loadu_ps(rows[6] + t), r7 = _mm256_loadu_ps(rows[7] + t);
    const __m256 a0 = _mm256_unpacklo_ps(r0, r1), a1 = _mm256_unpackhi_ps(r0, r1);
    const __m256 a2 = _mm256_unpacklo_ps(r2, r3), a3 = _mm256_unpackhi_ps(r2, r3);
    const __m256 a4 = _mm256_unpacklo_ps(r4, r5), a5 = _mm256_unpackhi_ps(r4, r5);
    const __m256 a6 = _mm256_unpacklo_ps(r6, r7), a7 = _mm256_unpackhi_ps(r6, r7);

    r0 = _mm256_shuffle_ps(a0, a2, 0x44);
    r1 = _mm256_shuffle_ps(a0, a2, 0xee);
    r2 = _mm256_shuffle_ps(a1, a3, 0x44);
    r3 = _mm256_shuffle_ps(a1, a3, 0xee);
    r4 = _mm256_shuffle_ps(a4, a6, 0x44);
    r5 = _mm256_shuffle_ps(a4, a6, 0xee);
    r6 = _mm256_shuffle_ps(a5, a7, 0x44);
    r7 = _mm256_shuffle_ps(a5, a7, 0xee);
    _mm256_storeu_ps(out, _mm256_permute2f128_ps(r0, r4, 0x20));
    _mm256_storeu_ps(out + panel, _mm256_permute2f128_ps(r1, r5, 0x20));
    _mm256_storeu_ps(out + 2 * panel, _mm256_permute2f128_ps(r2, r6, 0x20));
    _mm256_storeu_ps(out + 3 * panel, _mm256_permute2f128_ps(r3, r7, 0x20));
    _mm256_storeu_ps(out + 4 * panel, _mm256_permute2f128_ps(r0, r4, 0x31));
    _mm256_storeu_ps(out + 5 * panel, _mm256_permute2f128_ps(r1, r5, 0x31));
    _mm256_storeu_ps(out + 6 * panel, _mm256_permute2f128_ps(r2, r6, 0x31));
    _mm256_storeu_ps(out + 7 * panel, _mm256_permute2f128_ps(r3, r7, 0x31));
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
