/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vector vocabulary of AVX-512 (F, BW, DQ, VL): 16 lanes, a tile of 6 rows x 64 columns (24
 * accumulators, 4 operands).
 */
#ifndef HEED_BACKENDS_CPU_SIMD_AVX512_H
#define HEED_BACKENDS_CPU_SIMD_AVX512_H

#include "x86.h"

#include <math.h>

#define HEED_ISA avx512
#define HEED_ISA_TEXT "AVX-512 F, BW, DQ, VL"
#define VL 16
#define TILE_ROWS 6
#define TILE_VECS 4
#define TILE_WEIGHTS 4

typedef __m512 vf;
typedef __mmask16 vm;

HEED_INLINE vf v_zero(void) { return _mm512_setzero_ps(); }
HEED_INLINE vf v_set(float x) { return _mm512_set1_ps(x); }
HEED_INLINE vf v_load(const float *p) { return _mm512_load_ps(p); }
HEED_INLINE vf v_loadu(const float *p) { return _mm512_loadu_ps(p); }
HEED_INLINE void v_store(float *p, vf a) { _mm512_store_ps(p, a); }
HEED_INLINE void v_storeu(float *p, vf a) { _mm512_storeu_ps(p, a); }
HEED_INLINE vf v_add(vf a, vf b) { return _mm512_add_ps(a, b); }
HEED_INLINE vf v_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
HEED_INLINE vf v_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
HEED_INLINE vf v_div(vf a, vf b) { return _mm512_div_ps(a, b); }
HEED_INLINE vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
HEED_INLINE vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }         /* b if either is NaN */
HEED_INLINE vf v_min(vf a, vf b) { return _mm512_min_ps(a, b); }
HEED_INLINE vf v_rint(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
HEED_INLINE vf v_abs(vf a) { return _mm512_abs_ps(a); }
HEED_INLINE vf v_sign(vf a, vf from)
{
    return _mm512_or_ps(a, _mm512_and_ps(_mm512_set1_ps(-0.0f), from));
}
HEED_INLINE vm v_less(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
HEED_INLINE vm v_not_less(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ); }
HEED_INLINE vm v_not_equal(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
HEED_INLINE vm v_ordered(vf a) { return _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q); }
HEED_INLINE vf v_select(vm m, vf a, vf b) { return _mm512_mask_blend_ps(m, b, a); }
HEED_INLINE vf v_keep(vm m, vf a) { return _mm512_maskz_mov_ps(m, a); }
HEED_INLINE vm v_both(vm a, vm b) { return a & b; }
HEED_INLINE vm v_bits(uint32_t word) { return (vm)word; }
HEED_INLINE uint32_t v_word(vm m) { return m; }
HEED_INLINE float v_max_across(vf a) { return _mm512_reduce_max_ps(a); }        /* no NaN in a */
HEED_INLINE float v_min_across(vf a) { return _mm512_reduce_min_ps(a); }

/* p * 2^g for integer g in [-100, 30]; anything for other g. */
HEED_INLINE vf v_scale2(vf p, vf g)
{
    const __m512i shift = _mm512_slli_epi32(_mm512_cvtps_epi32(g), 23);

    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(p), shift));
}

HEED_INLINE vf v_from_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

HEED_INLINE vf v_from_bf16(const uint16_t *p)
{
    const __m256i half = _mm256_loadu_si256((const __m256i *)(const void *)p);
    const __m512i wide = _mm512_cvtepu16_epi32(half);

    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

#endif
