/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * AVX2: numbers of blocks transposed as bytes, of which avx2.h is the rest.
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_AVX2_BYTES_H
#define HEED_BACKENDS_KERNELS_SIMD_AVX2_BYTES_H

/* 16 bytes, from `at` on, of 8 rows: a[i] has bytes 4 * i to 4 * i + 3, those of all rows side by
 * side. */
HK_INLINE void hk_bytes_columns(const char *const *rows, hk_i64 at, __m256i a[4])
{
    __m256i b[4];
    int i;

    HK_UNROLL
    for (i = 0; i < 4; i++) {
        const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)(rows[i] + at));
        const __m128i second = _mm_loadu_si128((const __m128i *)(const void *)(rows[i + 4] + at));

        a[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
    }
    b[0] = _mm256_unpacklo_epi8(a[0], a[2]);
    b[1] = _mm256_unpackhi_epi8(a[0], a[2]);
    b[2] = _mm256_unpacklo_epi8(a[1], a[3]);
    b[3] = _mm256_unpackhi_epi8(a[1], a[3]);
    a[0] = _mm256_unpacklo_epi8(b[0], b[2]);
    a[1] = _mm256_unpackhi_epi8(b[0], b[2]);
    a[2] = _mm256_unpacklo_epi8(b[1], b[3]);
    a[3] = _mm256_unpackhi_epi8(b[1], b[3]);
    HK_UNROLL
    for (i = 0; i < 4; i++)
        a[i] = _mm256_permutevar8x32_epi32(a[i], _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Numbers of a byte of blocks of 32 channels, of HKV_LANES rows, to out[channel][row]: bytes that
 * lie `at` bytes from the rows' beginnings, or entries that halves of 16 bytes there name
 * (hkv_load_codes). */
#define HKV_BYTES 1
HK_INLINE void hkv_bytes_pack(const char *const *rows, hk_i64 at, hk_i8 *out)
{
    __m256i a[4];
    int i, c;

    HK_UNROLL
    for (c = 0; c < 32; c += 16) {
        hk_bytes_columns(rows, at + c, a);
        HK_UNROLL
        for (i = 0; i < 4; i++)
            _mm256_storeu_si256((__m256i *)(void *)(out + (c + 4 * i) * HKV_LANES), a[i]);
    }
}

HK_INLINE void hkv_codes_pack(const char *const *rows, hk_i64 at, hk_u64 low, hk_u64 high,
                              hk_i8 *out)
{
    const __m256i table =
        _mm256_broadcastsi128_si256(_mm_set_epi64x((long long)high, (long long)low));
    const __m256i half = _mm256_set1_epi8(15);
    __m256i a[4];
    int i;

    hk_bytes_columns(rows, at, a);
    HK_UNROLL
    for (i = 0; i < 4; i++) {
        const __m256i lower = _mm256_and_si256(a[i], half);
        const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(a[i], 4), half);

        _mm256_storeu_si256((__m256i *)(void *)(out + 4 * i * HKV_LANES),
                            _mm256_shuffle_epi8(table, lower));
        _mm256_storeu_si256((__m256i *)(void *)(out + (16 + 4 * i) * HKV_LANES),
                            _mm256_shuffle_epi8(table, upper));
    }
}

/* The same of numbers of five bits, whose fifth ones, a word, lie before the 16 bytes: 16 more for
 * each. */
HK_INLINE void hkv_fives_pack(const char *const *rows, hk_i64 at, hk_u64 low, hk_u64 high,
                              hk_i8 *out)
{
    const __m256i places = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    int words[8], c, i;
    __m256i word, m[4];

    for (i = 0; i < 8; i++)
        memcpy(&words[i], rows[i] + at, sizeof words[i]);
    word = _mm256_loadu_si256((const __m256i *)(const void *)words);
    hkv_codes_pack(rows, at + 4, low, high, out);
    for (c = 0; c < 32; c += 4) {
        __m256i *const to = (__m256i *)(void *)(out + c * HKV_LANES);

        HK_UNROLL
        for (i = 0; i < 4; i++) /* the sign says the bit */
            m[i] = _mm256_srai_epi32(_mm256_sll_epi32(word, _mm_cvtsi32_si128(31 - c - i)), 31);
        m[0] = _mm256_packs_epi16(_mm256_packs_epi32(m[0], m[1]), _mm256_packs_epi32(m[2], m[3]));
        m[0] = _mm256_and_si256(_mm256_permutevar8x32_epi32(m[0], places), _mm256_set1_epi8(16));
        _mm256_storeu_si256(to, _mm256_add_epi8(_mm256_loadu_si256(to), m[0]));
    }
}

#endif
