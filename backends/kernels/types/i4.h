/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Signed halves of bytes, two channels in one, whose scales lie apart: the words of types.h. A pair
 * of vectors holds even and odd channels, as those of bf16 do.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_I4_H
#define HEED_BACKENDS_KERNELS_TYPES_I4_H

#define HK_CODES_I4 0x0706050403020100u, 0xfffefdfcfbfaf9f8u

#define HK_NAUGHT_I4 8

/* The byte of channel t. */
HK_INLINE HK_GLOBAL const hk_u8 *hk_i4_byte(HK_GLOBAL const char *row, hk_i64 t)
{
    return (HK_GLOBAL const hk_u8 *)row + (hk_i64)((hk_u64)t / 2);
}

HK_FN float hk_in_i4(HK_GLOBAL const char *row, hk_i64 t)
{
    return hk_from_code(*hk_i4_byte(row, t), (int)(t & 1), HK_CODES_I4);
}

#if HK_VECTORS
#define hkv_in_i4(row, t) hkv_load_nibbles(hk_i4_byte(row, t), (int)((t)&1), HK_CODES_I4)
#define hkv_pair_i4(row, t, out)                                                                   \
    ((out)[0] = hkv_load_codes(hk_i4_byte(row, t), 0, HK_CODES_I4),                                \
     (void)((out)[1] = hkv_load_codes(hk_i4_byte(row, t), 1, HK_CODES_I4)))

#define HKV_CHANNELS_I4 HKV_PACK
#define hkv_columns_i4(rows, t, out, pitch) hk_columns_wide(HK_I4, rows, t, out, pitch)
#endif

#endif
