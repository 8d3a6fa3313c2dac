/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vector vocabulary of AVX2 with FMA and F16C: 8 lanes, a tile of 6 rows x 16 columns (12
 * accumulators, 2 operands).
 */
#ifndef HEED_BACKENDS_CPU_SIMD_AVX2_H
#define HEED_BACKENDS_CPU_SIMD_AVX2_H

#include "x86.h"

#include <math.h>

#define HEED_ISA avx2
#define HEED_ISA_TEXT "AVX2, FMA, F16C"
#define VL 8
#define TILE_ROWS 6
#define TILE_VECS 2
#define TILE_WEIGHTS 2

typedef __m256 vf;
typedef __m256 vm;              /* all ones or zero */

HEED_INLINE vf v_zero(void) { return _mm256_setzero_ps(); }
HEED_INLINE vf v_set(float x) { return _mm256_set1_ps(x); }
HEED_INLINE vf v_load(const float *p) { return _mm256_load_ps(p); }
HEED_INLINE vf v_loadu(const float *p) { return _mm256_loadu_ps(p); }
HEED_INLINE void v_store(float *p, vf a) { _mm256_store_ps(p, a); }
HEED_INLINE void v_storeu(float *p, vf a) { _mm256_storeu_ps(p, a); }
HEED_INLINE vf v_add(vf a, vf b) { return _mm256_add_ps(a, b); }
HEED_INLINE vf v_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
HEED_INLINE vf v_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
HEED_INLINE vf v_div(vf a, vf b) { return _mm256_div_ps(a, b); }
HEED_INLINE vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
HEED_INLINE vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }         /* b if either is NaN */
HEED_INLINE vf v_min(vf a, vf b) { return _mm256_min_ps(a, b); }
HEED_INLINE vf v_rint(vf a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
HEED_INLINE vf v_abs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
HEED_INLINE vf v_sign(vf a, vf from)
{
    return _mm256_or_ps(a, _mm256_and_ps(_mm256_set1_ps(-0.0f), from));
}
HEED_INLINE vm v_less(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
HEED_INLINE vm v_not_less(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_NLT_UQ); }
HEED_INLINE vm v_not_equal(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
HEED_INLINE vm v_ordered(vf a) { return _mm256_cmp_ps(a, a, _CMP_ORD_Q); }
HEED_INLINE vf v_select(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, m); }
HEED_INLINE vf v_keep(vm m, vf a) { return _mm256_and_ps(m, a); }
HEED_INLINE vm v_both(vm a, vm b) { return _mm256_and_ps(a, b); }
HEED_INLINE uint32_t v_word(vm m) { return (uint32_t)_mm256_movemask_ps(m); }

HEED_INLINE vm v_bits(uint32_t word)
{
    const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i bits = _mm256_and_si256(_mm256_set1_epi32((int)word), lane);

    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(bits, lane));
}

HEED_INLINE float v_max_across(vf a)            /* no NaN in a */
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

HEED_INLINE float v_min_across(vf a)
{
    __m128 m = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    m = _mm_min_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_min_ss(m, _mm_movehdup_ps(m)));
}

/* p * 2^g for integer g in [-100, 30]; anything for other g. */
HEED_INLINE vf v_scale2(vf p, vf g)
{
    const __m256i shift = _mm256_slli_epi32(_mm256_cvtps_epi32(g), 23);

    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), shift));
}

HEED_INLINE vf v_from_f16(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

HEED_INLINE vf v_from_bf16(const uint16_t *p)
{
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));

    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

#endif
