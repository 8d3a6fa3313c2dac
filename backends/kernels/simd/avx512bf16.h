/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The words of halves.h for processors that multiply pairs of bf16 by AVX512-BF16, beside the
 * vocabulary of AVX-512.
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_AVX512BF16_H
#define HEED_BACKENDS_KERNELS_SIMD_AVX512BF16_H

#define HKV_HALVES_COLUMNS 512

/* ---- words that AMX has too ---- */

HK_INLINE void hkv_halves_weigh(const float *p, hk_u16 *to)
{
    int i;

    HK_UNROLL
    for (i = 0; i < 64; i += 32) {
        const __m512bh x =
            _mm512_cvtne2ps_pbh(_mm512_loadu_ps(p + i + 16), _mm512_loadu_ps(p + i));

        _mm512_storeu_si512(to + i, (__m512i)x);
    }
}

/* Of 16 rows of 64 numbers, whatever is no number aside. Rows are folded in pairs until each is one
 * lane. */
HK_INLINE void hkv_halves_tops(const float *s, float top[16])
{
    const __m512i order =
        _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    __m512 of[16], x, y;
    int i, u;

    HK_UNROLL
    for (i = 0; i < 16; i++) {
        of[i] = _mm512_set1_ps(-HK_INFINITY);
        HK_UNROLL
        for (u = 0; u < 64; u += 16)
            of[i] = _mm512_max_ps(_mm512_loadu_ps(s + i * 64 + u), of[i]);
    }
    HK_UNROLL
    for (i = 0; i < 8; i++) {
        x = of[2 * i];
        y = of[2 * i + 1];
        of[i] = _mm512_max_ps(_mm512_shuffle_f32x4(x, y, 0x44), _mm512_shuffle_f32x4(x, y, 0xee));
    }
    HK_UNROLL
    for (i = 0; i < 4; i++) {
        x = of[2 * i];
        y = of[2 * i + 1];
        of[i] = _mm512_max_ps(_mm512_shuffle_f32x4(x, y, 0x88), _mm512_shuffle_f32x4(x, y, 0xdd));
    }
    HK_UNROLL
    for (i = 0; i < 2; i++) {
        x = of[2 * i];
        y = of[2 * i + 1];
        of[i] = _mm512_max_ps(_mm512_unpacklo_ps(x, y), _mm512_unpackhi_ps(x, y));
    }
    x = _mm512_max_ps(_mm512_shuffle_ps(of[0], of[1], 0x44),
                      _mm512_shuffle_ps(of[0], of[1], 0xee));
    _mm512_storeu_ps(top, _mm512_permutexvar_ps(order, x));
}

HK_INLINE int hkv_halves_raise(const float top[16], float c, struct hk_row_state *state,
                               float before[16], float m[16])
{
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    const __m512 y = _mm512_mul_ps(_mm512_loadu_ps(top), _mm512_set1_ps(c)),
                 e = _mm512_add_ps(hkv_rint(y), _mm512_set1_ps(1.0f)),
                 first = _mm512_loadu_ps(&state[0].m), last = _mm512_loadu_ps(&state[8].m),
                 of = _mm512_permutex2var_ps(first, even, last);
    const __m512i empty = _mm512_castps_si512(
        _mm512_permutex2var_ps(first, _mm512_or_si512(even, _mm512_set1_epi32(1)), last));
    const __mmask16 up = _mm512_cmp_ps_mask(e, of, _CMP_GT_OQ);
    const __m512 now = _mm512_mask_mov_ps(of, up, e), zero = _mm512_setzero_ps();

    if (_mm512_cmp_ps_mask(y, _mm512_set1_ps(-HK_INFINITY), _CMP_EQ_OQ) != 0)
        return -1;
    _mm512_storeu_ps(m, now);
    if (up == 0)
        return 0;
    _mm512_storeu_ps(before, of);
    _mm512_storeu_ps(&state[0].m, _mm512_permutex2var_ps(now, low, zero));
    _mm512_storeu_ps(&state[8].m, _mm512_permutex2var_ps(now, high, zero));
    return up & _mm512_testn_epi32_mask(empty, empty);
}

/* The weights of 16 scores: those below 2^-126 may be subnormal. */
HK_INLINE __m512 hkv_halves_weight(const float *s, __m512 c, __m512 m)
{
    const __m512 z = _mm512_fmsub_ps(_mm512_loadu_ps(s), c, m);
    const __m512 f = _mm512_reduce_ps(z, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    __m512 p = _mm512_set1_ps(HK_HALF_EXP_4);

    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(HK_HALF_EXP_3));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(HK_HALF_EXP_2));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(HK_HALF_EXP_1));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(p, z);
}

HK_INLINE void hkv_halves_softmax(const float *s, float factor, float most, hk_u16 *p,
                                  float *partials)
{
    const __m512 c = _mm512_set1_ps(factor), m = _mm512_set1_ps(most);
    __m512 x[4];
    int u;

    HK_UNROLL
    for (u = 0; u < 4; u++)
        x[u] = hkv_halves_weight(s + u * 16, c, m);
    _mm512_storeu_si512(p, (__m512i)_mm512_cvtne2ps_pbh(x[1], x[0]));
    _mm512_storeu_si512(p + 32, (__m512i)_mm512_cvtne2ps_pbh(x[3], x[2]));
    _mm512_storeu_ps(partials,
                     _mm512_add_ps(_mm512_loadu_ps(partials),
                                   _mm512_add_ps(_mm512_add_ps(x[0], x[1]),
                                                 _mm512_add_ps(x[2], x[3]))));
}

HK_INLINE __m512i hkv_halves_load(const hk_u16 *p, __mmask32 mask)
{
    return p ? _mm512_maskz_loadu_epi16(mask, p) : _mm512_setzero_si512();
}

HK_INLINE hk_u32 hkv_halves_bad(__m512i x)
{
    const __m512i all = _mm512_set1_epi16(0x7f80);

    return _mm512_cmpeq_epi16_mask(_mm512_and_si512(x, all), all);
}

HK_INLINE hk_u32 hkv_halves_pair(const hk_u16 *even, const hk_u16 *odd, int n, hk_u32 *to)
{
    const __mmask32 mask = n >= 32 ? 0xffffffffu : (1u << n) - 1;
    const __m512i a = hkv_halves_load(even, mask), b = hkv_halves_load(odd, mask);
    const __m512i low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40,
                                         8, 39, 7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));

    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(a, low, b));
    _mm512_storeu_si512(to + HKV_HALVES_COLUMNS, _mm512_permutex2var_epi16(a, high, b));
    return hkv_halves_bad(a) | hkv_halves_bad(b);
}

/* ---- products ---- */

#if !defined HKV_HALVES_TILES

HK_INLINE void hkv_halves_open(void) {}
HK_INLINE void hkv_halves_close(void) {}

/* Rows of registers: 4 x 4 sums leave room for a step's columns. */
#define HKV_HALVES_ROWS 4

HK_INLINE __m512bh hkv_halves_both(const hk_u16 *p)
{
    int word;

    memcpy(&word, p, sizeof word);
    return (__m512bh)_mm512_set1_epi32(word);
}

/* One pair of terms of HKV_HALVES_ROWS rows with 64 columns, which lie `next` words apart by 16. */
HK_INLINE void hkv_halves_step(const hk_u16 *x, hk_i64 pitch, const hk_u32 *b, hk_i64 next,
                               __m512 acc[HKV_HALVES_ROWS][4])
{
    __m512bh column[4];
    int i, u;

    HK_UNROLL
    for (u = 0; u < 4; u++)
        column[u] = (__m512bh)_mm512_loadu_si512(b + u * next);
    HK_UNROLL
    for (i = 0; i < HKV_HALVES_ROWS; i++) {
        const __m512bh a = hkv_halves_both(x + i * pitch);

        HK_UNROLL
        for (u = 0; u < 4; u++)
            acc[i][u] = _mm512_dpbf16_ps(acc[i][u], a, column[u]);
    }
}

HK_INLINE void hkv_halves_scores(const hk_u16 *q, hk_i64 pitch, const hk_u32 *k, float *s)
{
    hk_i64 t;
    int m, i, u;

    for (m = 0; m < 16; m += HKV_HALVES_ROWS) {
        __m512 acc[HKV_HALVES_ROWS][4];

        HK_UNROLL
        for (i = 0; i < HKV_HALVES_ROWS; i++) {
            HK_UNROLL
            for (u = 0; u < 4; u++)
                acc[i][u] = _mm512_setzero_ps();
        }
        for (t = 0; t < pitch / 2; t++)
            hkv_halves_step(q + m * pitch + 2 * t, pitch, k + t * 16, pitch * 8, acc);
        HK_UNROLL
        for (i = 0; i < HKV_HALVES_ROWS; i++) {
            HK_UNROLL
            for (u = 0; u < 4; u++)
                _mm512_storeu_ps(s + (m + i) * 64 + u * 16, acc[i][u]);
        }
    }
}

HK_INLINE void hkv_halves_values(const hk_u16 *p, const hk_u32 *v, float *o)
{
    int m, i, u, t;

    for (m = 0; m < 16; m += HKV_HALVES_ROWS) {
        float *to = o + m * 64;
        __m512 acc[HKV_HALVES_ROWS][4];

        HK_UNROLL
        for (i = 0; i < HKV_HALVES_ROWS; i++) {
            HK_UNROLL
            for (u = 0; u < 4; u++)
                acc[i][u] = _mm512_loadu_ps(to + i * 64 + u * 16);
        }
        for (t = 0; t < 32; t++)
            hkv_halves_step(p + m * 64 + 2 * t, 64, v + t * 16, HKV_HALVES_COLUMNS, acc);
        HK_UNROLL
        for (i = 0; i < HKV_HALVES_ROWS; i++) {
            HK_UNROLL
            for (u = 0; u < 4; u++)
                _mm512_storeu_ps(to + i * 64 + u * 16, acc[i][u]);
        }
    }
}

#endif

#endif
