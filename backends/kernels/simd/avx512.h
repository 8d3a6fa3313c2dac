/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vector vocabulary of AVX-512 (F, BW, DQ, VL): 16 lanes, a tile of 6 rows x 64 columns (24
 * accumulators, 4 operands).
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_AVX512_H
#define HEED_BACKENDS_KERNELS_SIMD_AVX512_H

#include "x86.h"

#define HKV_LANES 16
#ifndef HK_TILE_ROWS
#define HK_TILE_ROWS 6
#endif
#define HKV_TILE 4
#define HKV_WEIGHTS 4
#define HKV_WIDE 4

typedef __m512 hk_vec;
typedef __mmask16 hk_vmask;

HK_INLINE hk_vec hkv_set(float x) { return _mm512_set1_ps(x); }
HK_INLINE hk_vec hkv_load(const float *p) { return _mm512_loadu_ps(p); }
HK_INLINE void hkv_store(float *p, hk_vec a) { _mm512_storeu_ps(p, a); }
HK_INLINE hk_vec hkv_add(hk_vec a, hk_vec b) { return _mm512_add_ps(a, b); }
HK_INLINE hk_vec hkv_sub(hk_vec a, hk_vec b) { return _mm512_sub_ps(a, b); }
HK_INLINE hk_vec hkv_mul(hk_vec a, hk_vec b) { return _mm512_mul_ps(a, b); }
HK_INLINE hk_vec hkv_recip(hk_vec a) { return _mm512_div_ps(_mm512_set1_ps(1.0f), a); }
HK_INLINE hk_vec hkv_fma(hk_vec a, hk_vec b, hk_vec c) { return _mm512_fmadd_ps(a, b, c); }
HK_INLINE hk_vec hkv_max_f(hk_vec a, hk_vec b) { return _mm512_max_ps(a, b); }
HK_INLINE hk_vec hkv_min_f(hk_vec a, hk_vec b) { return _mm512_min_ps(a, b); }
HK_INLINE hk_vec hkv_rint(hk_vec a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
HK_INLINE hk_vec hkv_abs_f(hk_vec a) { return _mm512_abs_ps(a); }
HK_INLINE hk_vec hkv_sign_f(hk_vec a, hk_vec from)
{
    return _mm512_or_ps(a, _mm512_and_ps(_mm512_set1_ps(-0.0f), from));
}
HK_INLINE hk_vmask hkv_less(hk_vec a, hk_vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
HK_INLINE hk_vmask hkv_not_less(hk_vec a, hk_vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ);
}
HK_INLINE hk_vmask hkv_not_equal(hk_vec a, hk_vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ);
}
HK_INLINE hk_vmask hkv_ordered(hk_vec a)
{
    return _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q);
}
HK_INLINE hk_vec hkv_select(hk_vmask m, hk_vec a, hk_vec b)
{
    return _mm512_mask_blend_ps(m, b, a);
}
HK_INLINE hk_vec hkv_keep(hk_vmask m, hk_vec a) { return _mm512_maskz_mov_ps(m, a); }
HK_INLINE hk_vmask hkv_bits(hk_u32 word) { return (hk_vmask)word; }
HK_INLINE hk_u32 hkv_word(hk_vmask m) { return m; }
HK_INLINE float hkv_max_across(hk_vec a) { return _mm512_reduce_max_ps(a); }
HK_INLINE float hkv_min_across(hk_vec a) { return _mm512_reduce_min_ps(a); }

HK_INLINE float hkv_add_across(hk_vec a)
{
    const __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));

    return hk_x86_add_across(b);
}

HK_INLINE hk_vec hkv_scale2(hk_vec a, hk_vec g)
{
    const __m512i shift = _mm512_slli_epi32(_mm512_cvtps_epi32(g), 23);

    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), shift));
}

/* hkv_keep(m, hkv_scale2(a, g)) in one operation less. */
#define HKV_HAS_SCALE2_KEEP 1
HK_INLINE hk_vec hkv_scale2_keep(hk_vmask m, hk_vec a, hk_vec g)
{
    const __m512i shift = _mm512_slli_epi32(_mm512_cvtps_epi32(g), 23);

    return _mm512_castsi512_ps(_mm512_maskz_add_epi32(m, _mm512_castps_si512(a), shift));
}

HK_INLINE hk_u32 hkv_equals(const hk_i32 *p, hk_i32 x)
{
    return _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(p), _mm512_set1_epi32(x));
}

HK_INLINE hk_u32 hkv_bytes(const hk_u8 *p)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);

    return _mm_test_epi8_mask(bytes, bytes);
}

HK_INLINE hk_vec hkv_load_f16(const hk_u16 *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

HK_INLINE hk_vec hkv_load_bf16(const hk_u16 *p)
{
    const __m256i half = _mm256_loadu_si256((const __m256i *)(const void *)p);
    const __m512i wide = _mm512_cvtepu16_epi32(half);

    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

HK_INLINE hk_vec hkv_load_i8(const hk_i8 *p)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);

    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
}

HK_INLINE hk_vec hkv_load_codes(const hk_u8 *p, const int upper, hk_u64 low, hk_u64 high)
{
    const __m128i table = _mm_set_epi64x((long long)high, (long long)low);
    __m128i of = _mm_loadu_si128((const __m128i *)(const void *)p);

    if (upper)
        of = _mm_srli_epi16(of, 4);
    of = _mm_shuffle_epi8(table, _mm_and_si128(of, _mm_set1_epi8(15)));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(of));
}

/* The 32 channels that 16 bytes at p name. */
#define HKV_HAS_CODE_PAIRS 1
HK_INLINE void hkv_load_code_pair(const hk_u8 *p, const int in, hk_u64 low, hk_u64 high,
                                  hk_vec out[2])
{
    const __m128i table = _mm_set_epi64x((long long)high, (long long)low);
    const __m128i of = _mm_loadu_si128((const __m128i *)(const void *)p), half = _mm_set1_epi8(15);
    const __m128i lower = _mm_shuffle_epi8(table, _mm_and_si128(of, half));
    const __m128i upper = _mm_shuffle_epi8(table, _mm_and_si128(_mm_srli_epi16(of, 4), half));

    (void)in; /* 0 */
    out[0] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(lower));
    out[1] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(upper));
}

HK_INLINE hk_vec hkv_load_nibbles(const hk_u8 *p, const int upper, hk_u64 low, hk_u64 high)
{
    const __m128i table = _mm_set_epi64x((long long)high, (long long)low);
    const __m128i of = _mm_loadl_epi64((const __m128i *)(const void *)p);
    const __m128i in_order = _mm_unpacklo_epi8(of, _mm_srli_epi16(of, 4));
    const __m128i z = _mm_shuffle_epi8(table, _mm_and_si128(in_order, _mm_set1_epi8(15)));

    (void)upper; /* 0 */
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(z));
}

HK_INLINE hk_vec hkv_load_half_bytes(const hk_u8 *p, const int up)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    const __m256i halves = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), up);
    const __m256i kept = _mm256_set1_epi16((short)(0x8000 | 0x7f << up));

    return _mm512_cvtph_ps(_mm256_and_si256(halves, kept));
}

/* What several operations read: gcc 12 stores it, for they can read it from there, and all of them
 * then wait for the store. */
HK_INLINE __m512i hk_in_register(__m512i a)
{
#if defined __GNUC__
    __asm__("" : "+v"(a));
#endif
    return a;
}

HK_INLINE void hkv_load_pairs_bf16(const hk_u16 *p, hk_vec out[2])
{
    const __m512i words = hk_in_register(_mm512_loadu_si512(p));

    out[0] = _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
    out[1] = _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32((int)0xffff0000u)));
}

HK_INLINE void hkv_part_pairs(hk_vec a[2])
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                           30);
    const hk_vec b = _mm512_permutex2var_ps(a[0], even, a[1]);

    a[1] = _mm512_permutex2var_ps(a[0], _mm512_add_epi32(even, _mm512_set1_epi32(1)), a[1]);
    a[0] = b;
}

HK_INLINE void hkv_join_pairs(hk_vec a[2])
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const hk_vec b = _mm512_permutex2var_ps(a[0], low, a[1]);

    a[1] = _mm512_permutex2var_ps(a[0], _mm512_add_epi32(low, _mm512_set1_epi32(8)), a[1]);
    a[0] = b;
}

/* Four rows of four words in each quarter, transposed within the quarters. */
HK_INLINE void hk_transpose_4(__m512 a[4])
{
    const __m512 b0 = _mm512_unpacklo_ps(a[0], a[1]), b1 = _mm512_unpackhi_ps(a[0], a[1]);
    const __m512 b2 = _mm512_unpacklo_ps(a[2], a[3]), b3 = _mm512_unpackhi_ps(a[2], a[3]);

    a[0] = _mm512_shuffle_ps(b0, b2, 0x44);
    a[1] = _mm512_shuffle_ps(b0, b2, 0xee);
    a[2] = _mm512_shuffle_ps(b1, b3, 0x44);
    a[3] = _mm512_shuffle_ps(b1, b3, 0xee);
}

/* Words t .. t + 7 of 16 rows: every second four go in through memory, which costs no shuffle. */
HK_INLINE void hk_columns_8(const float *const *rows, hk_i64 t, __m512 out[8])
{
    __m512 a[8];
    int i;

    HK_UNROLL
    for (i = 0; i < 8; i++) {
        const int r = i < 4 ? i : i + 4;

        a[i] = _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(rows[r] + t)),
                                  _mm256_loadu_ps(rows[r + 4] + t), 1);
    }
    hk_transpose_4(a);
    hk_transpose_4(a + 4);
    HK_UNROLL
    for (i = 0; i < 4; i++) {
        out[i] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0x88);
        out[i + 4] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd);
    }
}

/* 16 rows of as many floats, transposed on their way out. */
HK_INLINE void hk_store_columns(__m512 a[16], float *out, hk_i64 pitch)
{
    int i, c;

    HK_UNROLL
    for (i = 0; i < 16; i += 4)
        hk_transpose_4(a + i);
    HK_UNROLL
    for (c = 0; c < 4; c++) {
        const __m512 b0 = _mm512_shuffle_f32x4(a[c], a[c + 4], 0x44);
        const __m512 b1 = _mm512_shuffle_f32x4(a[c], a[c + 4], 0xee);
        const __m512 b2 = _mm512_shuffle_f32x4(a[c + 8], a[c + 12], 0x44);
        const __m512 b3 = _mm512_shuffle_f32x4(a[c + 8], a[c + 12], 0xee);

        _mm512_storeu_ps(out + c * pitch, _mm512_shuffle_f32x4(b0, b2, 0x88));
        _mm512_storeu_ps(out + (c + 4) * pitch, _mm512_shuffle_f32x4(b0, b2, 0xdd));
        _mm512_storeu_ps(out + (c + 8) * pitch, _mm512_shuffle_f32x4(b1, b3, 0x88));
        _mm512_storeu_ps(out + (c + 12) * pitch, _mm512_shuffle_f32x4(b1, b3, 0xdd));
    }
}

/* A line of each row at once: rows a power of two apart push each other out of the cache. */
#define HKV_PACK 16
HK_INLINE void hkv_pack(const float *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    __m512 a[16];
    int i;

    HK_UNROLL
    for (i = 0; i < 16; i++)
        a[i] = _mm512_loadu_ps(rows[i] + t);
    hk_store_columns(a, out, pitch);
}

/* Words t .. t + 7 of every second row: out[i] holds those of word i, then those of word i + 4. */
HK_INLINE void hk_columns_second(const float *const *rows, hk_i64 t, __m512i out[4])
{
    __m512 a[4];
    int i;

    HK_UNROLL
    for (i = 0; i < 4; i++)
        a[i] = _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(rows[2 * i] + t)),
                                  _mm256_loadu_ps(rows[2 * i + 8] + t), 1);
    hk_transpose_4(a);
    HK_UNROLL
    for (i = 0; i < 4; i++)
        out[i] = _mm512_castps_si512(_mm512_shuffle_f32x4(a[i], a[i], 0xd8));
}

/* Two channels are a word, whose transposition costs half as much as theirs. Even and odd rows
 * apart, a channel's halves come together with a shift. */
#define HKV_PACK_F16 16
HK_INLINE void hkv_pack_f16(const hk_u16 *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    const __mmask32 odd = 0xaaaaaaaau;
    __m512i a[4], b[4];
    int i;

    hk_columns_second((const float *const *)rows, t / 2, a);
    hk_columns_second((const float *const *)rows + 1, t / 2, b);
    HK_UNROLL
    for (i = 0; i < 4; i++) {
        const __m512i e = _mm512_mask_mov_epi16(a[i], odd, _mm512_slli_epi32(b[i], 16));
        const __m512i f = _mm512_mask_mov_epi16(_mm512_srli_epi32(a[i], 16), odd, b[i]);

        hkv_store(out + 2 * i * pitch, _mm512_cvtph_ps(_mm512_castsi512_si256(e)));
        hkv_store(out + (2 * i + 8) * pitch, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(e, 1)));
        hkv_store(out + (2 * i + 1) * pitch, _mm512_cvtph_ps(_mm512_castsi512_si256(f)));
        hkv_store(out + (2 * i + 9) * pitch, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(f, 1)));
    }
}

#define HKV_PACK_BF16 16
HK_INLINE void hkv_pack_bf16(const hk_u16 *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    const __m512 high = _mm512_castsi512_ps(_mm512_set1_epi32((int)0xffff0000u));
    __m512 a[8];
    int i;

    hk_columns_8((const float *const *)rows, t / 2, a);
    HK_UNROLL
    for (i = 0; i < 8; i++) {
        const __m512i even = _mm512_slli_epi32(_mm512_castps_si512(a[i]), 16);

        _mm512_storeu_ps(out + 2 * i * pitch, _mm512_castsi512_ps(even));
        _mm512_storeu_ps(out + (2 * i + 1) * pitch, _mm512_and_ps(a[i], high));
    }
}

/* The highest byte of each word. */
HK_INLINE void hk_store_bytes(float *p, __m512i words)
{
    _mm512_storeu_ps(p, _mm512_cvtepi32_ps(_mm512_srai_epi32(words, 24)));
}

/* Four channels are a word. */
#define HKV_PACK_I8 32
HK_INLINE void hkv_pack_i8(const hk_i8 *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    __m512 a[8];
    int i;

    hk_columns_8((const float *const *)rows, t / 4, a);
    HK_UNROLL
    for (i = 0; i < 8; i++, out += 4 * pitch) {
        const __m512i words = _mm512_castps_si512(a[i]);

        hk_store_bytes(out, _mm512_slli_epi32(words, 24));
        hk_store_bytes(out + pitch, _mm512_slli_epi32(words, 16));
        hk_store_bytes(out + 2 * pitch, _mm512_slli_epi32(words, 8));
        hk_store_bytes(out + 3 * pitch, words);
    }
}

/* Words t .. t + 7 of HKV_PACK rows, transposed to out[word][pitch]. */
#define HKV_LINES 1
HK_INLINE void hkv_pack_words(const float *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    __m512 a[8];
    int i;

    hk_columns_8(rows, t, a);
    HK_UNROLL
    for (i = 0; i < 8; i++)
        _mm512_storeu_ps(out + i * pitch, a[i]);
}

/* The same of pairs of f16; top: the largest of their exponents and what is below, bits of 16. */
HK_INLINE void hkv_pack_halves(const float *const *rows, hk_i64 t, float *out, hk_i64 pitch,
                               hk_vec *top)
{
    const __m512i low = _mm512_set1_epi16(0x7fff);
    __m512i most = _mm512_castps_si512(*top);
    __m512 a[8];
    int i;

    hk_columns_8(rows, t, a);
    HK_UNROLL
    for (i = 0; i < 8; i++) {
        most = _mm512_max_epu16(most, _mm512_and_si512(_mm512_castps_si512(a[i]), low));
        _mm512_storeu_ps(out + i * pitch, a[i]);
    }
    *top = _mm512_castsi512_ps(most);
}

/* Is a half among them that is infinite or NaN? */
HK_INLINE int hkv_halves_end(hk_vec top)
{
    return _mm512_cmpge_epu16_mask(_mm512_castps_si512(top), _mm512_set1_epi16(0x7c00)) != 0;
}

/* Pairs of finite f16, times 2^-112: their bits as those of f32, so that nothing is converted. */
HK_INLINE void hkv_load_halves(const float *words, hk_vec out[2])
{
    const __m512i kept = _mm512_set1_epi32((int)0x8fffe000u);
    const __m512i w = hk_in_register(_mm512_loadu_si512(words));
    const __m512i low = _mm512_slli_epi32(w, 16);

    out[0] = _mm512_castsi512_ps(_mm512_and_si512(_mm512_srai_epi32(low, 3), kept));
    out[1] = _mm512_castsi512_ps(_mm512_and_si512(_mm512_srai_epi32(w, 3), kept));
}

/* Byte c of each word, 0 the lowest. */
HK_INLINE hk_vec hkv_load_byte(const float *words, const int c)
{
    const __m512i w = _mm512_loadu_si512(words);
    const unsigned up = (unsigned)(24 - 8 * c);

    return _mm512_cvtepi32_ps(_mm512_srai_epi32(c < 3 ? _mm512_slli_epi32(w, up) : w, 24));
}

/* Halves on their way out: zeros lose their sign, NaN is the canonical one. */
HK_INLINE void hk_store_halves(hk_u16 *p, hk_vec a, __m256i halves, short nan)
{
    const __mmask16 kept = _mm256_cmpneq_epi16_mask(halves, _mm256_set1_epi16((short)0x8000));
    const __mmask16 nans = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);

    halves = _mm256_maskz_mov_epi16(kept, halves);
    halves = _mm256_mask_mov_epi16(halves, nans, _mm256_set1_epi16(nan));
    _mm256_storeu_si256((__m256i *)(void *)p, halves);
}

HK_INLINE void hkv_store_f16(hk_u16 *p, hk_vec a)
{
    hk_store_halves(p, a, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                    0x7e00);
}

/* Words whose upper halves are the nearest bf16. */
HK_INLINE __m512i hk_round_bf16(hk_vec a)
{
    const __m512i word = _mm512_castps_si512(a);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(word, 16), _mm512_set1_epi32(1));

    return _mm512_add_epi32(word, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
}

HK_INLINE void hkv_store_bf16(hk_u16 *p, hk_vec a)
{
    const __m512i wide = _mm512_srli_epi32(hk_round_bf16(a), 16);

    hk_store_halves(p, a, _mm512_cvtepi32_epi16(wide), 0x7fc0);
}

/* Two vectors at once; those with a NaN, which are rare, go as one by one. */
#define HKV_STORE_PAIRS 1
HK_INLINE void hk_store_half_pair(hk_u16 *p, __m512i halves)
{
    const __mmask32 kept = _mm512_cmpneq_epi16_mask(halves, _mm512_set1_epi16((short)0x8000));

    _mm512_storeu_si512(p, _mm512_maskz_mov_epi16(kept, halves));
}

HK_INLINE void hkv_store_pair_f16(hk_u16 *p, hk_vec a, hk_vec b)
{
    enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

    if (_mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q)) {
        hkv_store_f16(p, a);
        hkv_store_f16(p + 16, b);
        return;
    }
    hk_store_half_pair(p, _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtps_ph(a, NEAREST)),
                                             _mm512_cvtps_ph(b, NEAREST), 1));
}

HK_INLINE void hkv_store_pair_bf16(hk_u16 *p, hk_vec a, hk_vec b)
{
    const __m512i in_order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    __m512i halves;

    if (_mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q)) {
        hkv_store_bf16(p, a);
        hkv_store_bf16(p + 16, b);
        return;
    }
    halves = _mm512_packus_epi32(_mm512_srli_epi32(hk_round_bf16(a), 16),
                                 _mm512_srli_epi32(hk_round_bf16(b), 16));
    hk_store_half_pair(p, _mm512_permutexvar_epi64(in_order, halves));
}

HK_INLINE void hkv_store_i8(hk_i8 *p, hk_vec a)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a)));
}

#include "avx512_bytes.h"

#endif
