/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * AVX-512: numbers of blocks transposed as bytes, of which avx512.h is the rest.
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_AVX512_BYTES_H
#define HEED_BACKENDS_KERNELS_SIMD_AVX512_BYTES_H

/* 16 bytes, from `at` on, of 16 rows: a[i] has bytes 4 * i to 4 * i + 3, those of all rows side by
 * side. */
#define HK_BYTES_OF(r) _mm_loadu_si128((const __m128i *)(const void *)(rows[r] + at))
HK_INLINE void hk_bytes_columns(const char *const *rows, hk_i64 at, __m512i a[4])
{
    const __m512i places = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i b[4];
    int i;

    for (i = 0; i < 4; i++) {
        a[i] = _mm512_castsi128_si512(HK_BYTES_OF(i));
        a[i] = _mm512_inserti32x4(a[i], HK_BYTES_OF(i + 4), 1);
        a[i] = _mm512_inserti32x4(a[i], HK_BYTES_OF(i + 8), 2);
        a[i] = _mm512_inserti32x4(a[i], HK_BYTES_OF(i + 12), 3);
    }
    b[0] = _mm512_unpacklo_epi8(a[0], a[2]);
    b[1] = _mm512_unpackhi_epi8(a[0], a[2]);
    b[2] = _mm512_unpacklo_epi8(a[1], a[3]);
    b[3] = _mm512_unpackhi_epi8(a[1], a[3]);
    a[0] = _mm512_unpacklo_epi8(b[0], b[2]);
    a[1] = _mm512_unpackhi_epi8(b[0], b[2]);
    a[2] = _mm512_unpacklo_epi8(b[1], b[3]);
    a[3] = _mm512_unpackhi_epi8(b[1], b[3]);
    HK_UNROLL
    for (i = 0; i < 4; i++)
        a[i] = _mm512_permutexvar_epi32(places, a[i]);
}

/* Numbers of a byte of blocks of 32 channels, of HKV_LANES rows, to out[channel][row]: bytes that
 * lie `at` bytes from the rows' beginnings, or entries that halves of 16 bytes there name
 * (hkv_load_codes). */
#define HKV_BYTES 1
HK_INLINE void hkv_bytes_pack(const char *const *rows, hk_i64 at, hk_i8 *out)
{
    __m512i a[4];
    int i, c;

    HK_UNROLL
    for (c = 0; c < 32; c += 16) {
        hk_bytes_columns(rows, at + c, a);
        HK_UNROLL
        for (i = 0; i < 4; i++)
            _mm512_storeu_si512((void *)(out + (c + 4 * i) * HKV_LANES), a[i]);
    }
}

HK_INLINE void hkv_codes_pack(const char *const *rows, hk_i64 at, hk_u64 low, hk_u64 high,
                              hk_i8 *out)
{
    const __m512i table = _mm512_broadcast_i32x4(_mm_set_epi64x((long long)high, (long long)low));
    const __m512i half = _mm512_set1_epi8(15);
    __m512i a[4];
    int i;

    hk_bytes_columns(rows, at, a);
    HK_UNROLL
    for (i = 0; i < 4; i++) {
        const __m512i lower = _mm512_and_si512(a[i], half);
        const __m512i upper = _mm512_and_si512(_mm512_srli_epi16(a[i], 4), half);

        _mm512_storeu_si512((void *)(out + 4 * i * HKV_LANES), _mm512_shuffle_epi8(table, lower));
        _mm512_storeu_si512((void *)(out + (16 + 4 * i) * HKV_LANES),
                            _mm512_shuffle_epi8(table, upper));
    }
}

/* The same of numbers of five bits, whose fifth ones, a word, lie before the 16 bytes: 16 more for
 * each. */
HK_INLINE void hkv_fives_pack(const char *const *rows, hk_i64 at, hk_u64 low, hk_u64 high,
                              hk_i8 *out)
{
    int words[16], i;
    __m512i word;

    for (i = 0; i < 16; i++)
        memcpy(&words[i], rows[i] + at, sizeof words[i]);
    word = _mm512_loadu_si512(words);
    hkv_codes_pack(rows, at + 4, low, high, out);
    for (i = 0; i < 32; i++, word = _mm512_srli_epi32(word, 1)) {
        __m128i *const to = (__m128i *)(void *)(out + i * HKV_LANES);
        const __m128i codes = _mm_loadu_si128(to);
        const __mmask16 bits = _mm512_test_epi32_mask(word, _mm512_set1_epi32(1));

        _mm_storeu_si128(to, _mm_mask_add_epi8(codes, bits, codes, _mm_set1_epi8(16)));
    }
}

#endif
