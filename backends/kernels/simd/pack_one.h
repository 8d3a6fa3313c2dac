/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Transposing for vocabularies that have no instructions for it: one row and one channel at a time.
 * dialect.h includes it behind them.
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_PACK_ONE_H
#define HEED_BACKENDS_KERNELS_SIMD_PACK_ONE_H

/* Transposes channels t .. t + HKV_PACK - 1 of HKV_PACK rows into out[channel][row]; pitch: floats
 * from channel to channel. Halves and bytes are widened; their channels are HKV_PACK_F16,
 * HKV_PACK_BF16 and HKV_PACK_I8. */
#define HKV_PACK 1
#define HKV_PACK_F16 1
#define HKV_PACK_BF16 1
#define HKV_PACK_I8 1
HK_INLINE void hkv_pack(HK_GLOBAL const float *const *rows, hk_i64 t, HK_GLOBAL float *out,
                        hk_i64 pitch)
{
    (void)pitch;
    *out = rows[0][t];
}

HK_INLINE void hkv_pack_f16(HK_GLOBAL const hk_u16 *const *rows, hk_i64 t, HK_GLOBAL float *out,
                            hk_i64 pitch)
{
    (void)pitch;
    *out = hk_load_f16(rows[0] + t);
}

HK_INLINE void hkv_pack_bf16(HK_GLOBAL const hk_u16 *const *rows, hk_i64 t, HK_GLOBAL float *out,
                             hk_i64 pitch)
{
    (void)pitch;
    *out = hk_from_bf16(rows[0][t]);
}

HK_INLINE void hkv_pack_i8(HK_GLOBAL const hk_i8 *const *rows, hk_i64 t, HK_GLOBAL float *out,
                           hk_i64 pitch)
{
    (void)pitch;
    *out = hk_from_i8(rows[0][t]);
}

#endif
