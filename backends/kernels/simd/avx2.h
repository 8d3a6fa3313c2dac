/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vector vocabulary of AVX2 with FMA and F16C: 8 lanes, a tile of 6 rows x 16 columns (12
 * accumulators, 2 operands).
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_AVX2_H
#define HEED_BACKENDS_KERNELS_SIMD_AVX2_H

#include "x86.h"

#define HKV_LANES 8
#define HK_TILE_ROWS 6
#define HKV_TILE 2
#define HKV_WEIGHTS 2
#define HKV_WIDE 4

typedef __m256 hk_vec;
typedef __m256 hk_vmask;        /* all ones or zero */

HK_INLINE hk_vec hkv_set(float x) { return _mm256_set1_ps(x); }
HK_INLINE hk_vec hkv_load(const float *p) { return _mm256_loadu_ps(p); }
HK_INLINE void hkv_store(float *p, hk_vec a) { _mm256_storeu_ps(p, a); }
HK_INLINE hk_vec hkv_add(hk_vec a, hk_vec b) { return _mm256_add_ps(a, b); }
HK_INLINE hk_vec hkv_sub(hk_vec a, hk_vec b) { return _mm256_sub_ps(a, b); }
HK_INLINE hk_vec hkv_mul(hk_vec a, hk_vec b) { return _mm256_mul_ps(a, b); }
HK_INLINE hk_vec hkv_recip(hk_vec a) { return _mm256_div_ps(_mm256_set1_ps(1.0f), a); }
HK_INLINE hk_vec hkv_fma(hk_vec a, hk_vec b, hk_vec c) { return _mm256_fmadd_ps(a, b, c); }
HK_INLINE hk_vec hkv_max_f(hk_vec a, hk_vec b) { return _mm256_max_ps(a, b); }
HK_INLINE hk_vec hkv_min_f(hk_vec a, hk_vec b) { return _mm256_min_ps(a, b); }
HK_INLINE hk_vec hkv_rint(hk_vec a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
HK_INLINE hk_vec hkv_abs_f(hk_vec a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
HK_INLINE hk_vec hkv_sign_f(hk_vec a, hk_vec from)
{
    return _mm256_or_ps(a, _mm256_and_ps(_mm256_set1_ps(-0.0f), from));
}
HK_INLINE hk_vmask hkv_less(hk_vec a, hk_vec b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
HK_INLINE hk_vmask hkv_not_less(hk_vec a, hk_vec b) { return _mm256_cmp_ps(a, b, _CMP_NLT_UQ); }
HK_INLINE hk_vmask hkv_not_equal(hk_vec a, hk_vec b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
HK_INLINE hk_vmask hkv_ordered(hk_vec a) { return _mm256_cmp_ps(a, a, _CMP_ORD_Q); }
HK_INLINE hk_vec hkv_select(hk_vmask m, hk_vec a, hk_vec b) { return _mm256_blendv_ps(b, a, m); }
HK_INLINE hk_vec hkv_keep(hk_vmask m, hk_vec a) { return _mm256_and_ps(m, a); }
HK_INLINE hk_u32 hkv_word(hk_vmask m) { return (hk_u32)_mm256_movemask_ps(m); }

HK_INLINE hk_vmask hkv_bits(hk_u32 word)
{
    const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i bits = _mm256_and_si256(_mm256_set1_epi32((int)word), lane);

    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(bits, lane));
}

HK_INLINE float hkv_max_across(hk_vec a)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

HK_INLINE float hkv_add_across(hk_vec a) { return hk_x86_add_across(a); }

HK_INLINE float hkv_min_across(hk_vec a)
{
    __m128 m = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

    m = _mm_min_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_min_ss(m, _mm_movehdup_ps(m)));
}

HK_INLINE hk_vec hkv_scale2(hk_vec a, hk_vec g)
{
    const __m256i shift = _mm256_slli_epi32(_mm256_cvtps_epi32(g), 23);

    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), shift));
}

HK_INLINE hk_u32 hkv_equals(const hk_i32 *p, hk_i32 x)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);

    return hkv_word(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, _mm256_set1_epi32(x))));
}

HK_INLINE hk_u32 hkv_bytes(const hk_u8 *p)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)p);

    return ~(hk_u32)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())) & 0xffu;
}

HK_INLINE hk_vec hkv_load_f16(const hk_u16 *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

HK_INLINE hk_vec hkv_load_bf16(const hk_u16 *p)
{
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));

    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

HK_INLINE hk_vec hkv_load_i8(const hk_i8 *p)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)p);

    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

HK_INLINE hk_vec hkv_load_codes(const hk_u8 *p, const int upper, hk_u64 low, hk_u64 high)
{
    const __m128i table = _mm_set_epi64x((long long)high, (long long)low);
    __m128i of = _mm_loadl_epi64((const __m128i *)(const void *)p);

    if (upper)
        of = _mm_srli_epi16(of, 4);
    of = _mm_shuffle_epi8(table, _mm_and_si128(of, _mm_set1_epi8(15)));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(of));
}

/* Channels `in` to in + 15, of the 32 that 16 bytes at p name. */
#define HKV_HAS_CODE_PAIRS 1
HK_INLINE void hkv_load_code_pair(const hk_u8 *p, const int in, hk_u64 low, hk_u64 high,
                                  hk_vec out[2])
{
    const __m128i table = _mm_set_epi64x((long long)high, (long long)low);
    __m128i of = _mm_loadu_si128((const __m128i *)(const void *)p);

    if (in >= 16)
        of = _mm_srli_epi16(of, 4);
    of = _mm_shuffle_epi8(table, _mm_and_si128(of, _mm_set1_epi8(15)));
    out[0] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(of));
    out[1] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(of, of)));
}

HK_INLINE hk_vec hkv_load_nibbles(const hk_u8 *p, const int upper, hk_u64 low, hk_u64 high)
{
    const __m128i table = _mm_set_epi64x((long long)high, (long long)low);
    const __m128i of = _mm_loadu_si32((const void *)p);
    const __m128i in_order = _mm_unpacklo_epi8(of, _mm_srli_epi16(of, 4));
    const __m128i z = _mm_shuffle_epi8(table, _mm_and_si128(in_order, _mm_set1_epi8(15)));

    (void)upper; /* 0 */
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(z));
}

HK_INLINE hk_vec hkv_load_half_bytes(const hk_u8 *p, const int up)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)p);
    const __m128i halves = _mm_slli_epi16(_mm_cvtepi8_epi16(bytes), up);

    return _mm256_cvtph_ps(_mm_and_si128(halves, _mm_set1_epi16((short)(0x8000 | 0x7f << up))));
}

HK_INLINE void hkv_load_pairs_bf16(const hk_u16 *p, hk_vec out[2])
{
    const __m256i words = _mm256_loadu_si256((const __m256i *)(const void *)p);

    out[0] = _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
    out[1] = _mm256_castsi256_ps(_mm256_and_si256(words, _mm256_set1_epi32((int)0xffff0000u)));
}

HK_INLINE __m256 hk_x86_middle(__m256 a)
{
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(a), 0xd8));
}

HK_INLINE void hkv_part_pairs(hk_vec a[2])
{
    const hk_vec b = hk_x86_middle(_mm256_shuffle_ps(a[0], a[1], 0x88));

    a[1] = hk_x86_middle(_mm256_shuffle_ps(a[0], a[1], 0xdd));
    a[0] = b;
}

HK_INLINE void hkv_join_pairs(hk_vec a[2])
{
    const hk_vec low = _mm256_unpacklo_ps(a[0], a[1]), high = _mm256_unpackhi_ps(a[0], a[1]);

    a[0] = _mm256_permute2f128_ps(low, high, 0x20);
    a[1] = _mm256_permute2f128_ps(low, high, 0x31);
}

/* Four rows of four words in each half, transposed within the halves. */
HK_INLINE void hk_transpose_4(__m256 a[4])
{
    const __m256 b0 = _mm256_unpacklo_ps(a[0], a[1]), b1 = _mm256_unpackhi_ps(a[0], a[1]);
    const __m256 b2 = _mm256_unpacklo_ps(a[2], a[3]), b3 = _mm256_unpackhi_ps(a[2], a[3]);

    a[0] = _mm256_shuffle_ps(b0, b2, 0x44);
    a[1] = _mm256_shuffle_ps(b0, b2, 0xee);
    a[2] = _mm256_shuffle_ps(b1, b3, 0x44);
    a[3] = _mm256_shuffle_ps(b1, b3, 0xee);
}

/* Words t .. t + 3 of eight rows: the second four go in through memory, which costs no shuffle. */
HK_INLINE void hk_columns_4(const float *const *rows, hk_i64 t, __m256 a[4])
{
    int i;

    HK_UNROLL
    for (i = 0; i < 4; i++)
        a[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows[i] + t)),
                                    _mm_loadu_ps(rows[i + 4] + t), 1);
    hk_transpose_4(a);
}

#define HKV_PACK 8
HK_INLINE void hkv_pack(const float *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    __m256 a[4];
    int i, c;

    HK_UNROLL
    for (c = 0; c < 8; c += 4) {
        hk_columns_4(rows, t + c, a);
        HK_UNROLL
        for (i = 0; i < 4; i++)
            _mm256_storeu_ps(out + (c + i) * pitch, a[i]);
    }
}

/* Words t .. t + 7 of HKV_PACK rows, transposed to out[word][pitch]. */
#define HKV_LINES 1
#define hkv_pack_words(rows, t, out, pitch) hkv_pack(rows, t, out, pitch)

/* The same of pairs of f16; top: the largest of their exponents and what is below, bits of 16. */
HK_INLINE void hkv_pack_halves(const float *const *rows, hk_i64 t, float *out, hk_i64 pitch,
                               hk_vec *top)
{
    const __m256i low = _mm256_set1_epi16(0x7fff);
    __m256i most = _mm256_castps_si256(*top);
    __m256 a[4];
    int i, c;

    HK_UNROLL
    for (c = 0; c < 8; c += 4) {
        hk_columns_4(rows, t + c, a);
        HK_UNROLL
        for (i = 0; i < 4; i++) {
            most = _mm256_max_epu16(most, _mm256_and_si256(_mm256_castps_si256(a[i]), low));
            _mm256_storeu_ps(out + (c + i) * pitch, a[i]);
        }
    }
    *top = _mm256_castsi256_ps(most);
}

/* Is a half among them that is infinite or NaN? */
HK_INLINE int hkv_halves_end(hk_vec top)
{
    const __m256i end = _mm256_set1_epi16(0x7c00), most = _mm256_castps_si256(top);

    return _mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_max_epu16(most, end), most)) != 0;
}

/* Pairs of finite f16, times 2^-112: their bits as those of f32, so that nothing is converted. */
HK_INLINE void hkv_load_halves(const float *words, hk_vec out[2])
{
    const __m256i kept = _mm256_set1_epi32((int)0x8fffe000u);
    const __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)words);
    const __m256i low = _mm256_slli_epi32(w, 16);

    out[0] = _mm256_castsi256_ps(_mm256_and_si256(_mm256_srai_epi32(low, 3), kept));
    out[1] = _mm256_castsi256_ps(_mm256_and_si256(_mm256_srai_epi32(w, 3), kept));
}

/* Byte c of each word, 0 the lowest. */
HK_INLINE hk_vec hkv_load_byte(const float *words, const int c)
{
    const __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)words);

    return _mm256_cvtepi32_ps(_mm256_srai_epi32(c < 3 ? _mm256_slli_epi32(w, 24 - 8 * c) : w, 24));
}

#define HKV_PACK_F16 8
HK_INLINE void hkv_pack_f16(const hk_u16 *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    __m256 a[8];
    int i, c;

    HK_UNROLL
    for (i = 0; i < 8; i++)
        a[i] = hkv_load_f16(rows[i] + t);
    hk_transpose_4(a);
    hk_transpose_4(a + 4);
    HK_UNROLL
    for (c = 0; c < 4; c++) {
        _mm256_storeu_ps(out + c * pitch, _mm256_permute2f128_ps(a[c], a[c + 4], 0x20));
        _mm256_storeu_ps(out + (c + 4) * pitch, _mm256_permute2f128_ps(a[c], a[c + 4], 0x31));
    }
}

/* Two channels are a word, whose transposition costs half as much as theirs. */
#define HKV_PACK_BF16 8
HK_INLINE void hkv_pack_bf16(const hk_u16 *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    const __m256 high = _mm256_castsi256_ps(_mm256_set1_epi32((int)0xffff0000u));
    const float *words[8];
    __m256 a[4];
    int i;

    HK_UNROLL
    for (i = 0; i < 8; i++)
        words[i] = (const float *)(const void *)(rows[i] + t);
    hk_columns_4(words, 0, a);
    HK_UNROLL
    for (i = 0; i < 4; i++) {
        const __m256i even = _mm256_slli_epi32(_mm256_castps_si256(a[i]), 16);

        _mm256_storeu_ps(out + 2 * i * pitch, _mm256_castsi256_ps(even));
        _mm256_storeu_ps(out + (2 * i + 1) * pitch, _mm256_and_ps(a[i], high));
    }
}

/* The highest byte of each word. */
HK_INLINE void hk_store_bytes(float *p, __m256i words)
{
    _mm256_storeu_ps(p, _mm256_cvtepi32_ps(_mm256_srai_epi32(words, 24)));
}

/* Four channels are a word. */
#define HKV_PACK_I8 16
HK_INLINE void hkv_pack_i8(const hk_i8 *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    __m256 a[4];
    int i;

    hk_columns_4((const float *const *)rows, t / 4, a);
    HK_UNROLL
    for (i = 0; i < 4; i++, out += 4 * pitch) {
        const __m256i words = _mm256_castps_si256(a[i]);

        hk_store_bytes(out, _mm256_slli_epi32(words, 24));
        hk_store_bytes(out + pitch, _mm256_slli_epi32(words, 16));
        hk_store_bytes(out + 2 * pitch, _mm256_slli_epi32(words, 8));
        hk_store_bytes(out + 3 * pitch, words);
    }
}

/* Halves on their way out: zeros lose their sign, NaN is the canonical one. */
HK_INLINE void hk_store_halves(hk_u16 *p, hk_vec a, __m128i halves, short nan)
{
    const __m256i nans = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    const __m128i few =
        _mm_packs_epi32(_mm256_castsi256_si128(nans), _mm256_extracti128_si256(nans, 1));

    halves = _mm_andnot_si128(_mm_cmpeq_epi16(halves, _mm_set1_epi16((short)0x8000)), halves);
    halves = _mm_blendv_epi8(halves, _mm_set1_epi16(nan), few);
    _mm_storeu_si128((__m128i *)(void *)p, halves);
}

HK_INLINE void hkv_store_f16(hk_u16 *p, hk_vec a)
{
    hk_store_halves(p, a, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                    0x7e00);
}

/* Words whose upper halves are the nearest bf16. */
HK_INLINE __m256i hk_round_bf16(hk_vec a)
{
    const __m256i word = _mm256_castps_si256(a);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(word, 16), _mm256_set1_epi32(1));

    return _mm256_add_epi32(word, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
}

HK_INLINE void hkv_store_bf16(hk_u16 *p, hk_vec a)
{
    const __m256i wide = _mm256_srli_epi32(hk_round_bf16(a), 16);

    hk_store_halves(p, a, _mm_packus_epi32(_mm256_castsi256_si128(wide),
                                           _mm256_extracti128_si256(wide, 1)), 0x7fc0);
}

/* Two vectors at once; those with a NaN, which are rare, go as one by one. */
#define HKV_STORE_PAIRS 1
HK_INLINE void hk_store_half_pair(hk_u16 *p, __m256i halves)
{
    const __m256i zeros = _mm256_cmpeq_epi16(halves, _mm256_set1_epi16((short)0x8000));

    _mm256_storeu_si256((__m256i *)(void *)p, _mm256_andnot_si256(zeros, halves));
}

HK_INLINE int hk_any_nan(hk_vec a, hk_vec b)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q));
}

HK_INLINE void hkv_store_pair_f16(hk_u16 *p, hk_vec a, hk_vec b)
{
    enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

    if (hk_any_nan(a, b)) {
        hkv_store_f16(p, a);
        hkv_store_f16(p + 8, b);
        return;
    }
    hk_store_half_pair(p, _mm256_inserti128_si256(
                              _mm256_castsi128_si256(_mm256_cvtps_ph(a, NEAREST)),
                              _mm256_cvtps_ph(b, NEAREST), 1));
}

HK_INLINE void hkv_store_pair_bf16(hk_u16 *p, hk_vec a, hk_vec b)
{
    __m256i halves;

    if (hk_any_nan(a, b)) {
        hkv_store_bf16(p, a);
        hkv_store_bf16(p + 8, b);
        return;
    }
    halves = _mm256_packus_epi32(_mm256_srli_epi32(hk_round_bf16(a), 16),
                                 _mm256_srli_epi32(hk_round_bf16(b), 16));
    hk_store_half_pair(p, _mm256_permute4x64_epi64(halves, 0xd8));
}

HK_INLINE void hkv_store_i8(hk_i8 *p, hk_vec a)
{
    const __m256i words = _mm256_cvtps_epi32(a);
    const __m128i halves =
        _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));

    _mm_storel_epi64((__m128i *)(void *)p, _mm_packs_epi16(halves, halves));
}

#include "avx2_bytes.h"

#endif
