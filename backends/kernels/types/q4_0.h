/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a scale and 32 numbers of four bits, less 8: the words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_Q4_0_H
#define HEED_BACKENDS_KERNELS_TYPES_Q4_0_H

#define HK_CODES_Q4_0 0xfffefdfcfbfaf9f8u, 0x0706050403020100u
#define hk_in_q4_0(row, t) hk_block_code(row, t, 18, 2, HK_CODES_Q4_0)
#define HK_HEAD_Q4_0 2
#define HK_NAUGHT_Q4_0 8
#define HK_ZERO_Q4_0(k) ((k) > 0 ? 0x8888 : 0)

#define HK_UNIT_Q4_0(extreme) hk_mul(extreme, -0.125f)
#define HK_DIGIT_Q4_0(q) ((hk_i32)hk_max_f(hk_min_f(hk_rint(q), 7.0f), -8.0f) + 8)
HK_INLINE void hk_pack_q4_0(HK_GLOBAL hk_u8 *block, const float *q)
{
    int i;

    for (i = 0; i < 16; i++)
        block[2 + i] = (hk_u8)(HK_DIGIT_Q4_0(q[i]) | HK_DIGIT_Q4_0(q[i + 16]) << 4);
}

#if HK_VECTORS
#define hkv_in_q4_0(row, t) hkv_block_codes(row, t, 18, 2, HK_CODES_Q4_0)
#define hkv_pair_q4_0(row, t, out) hkv_block_pair(row, t, 18, 2, HK_CODES_Q4_0, out)
#define hkv_bytes_q4_0(rows, g, out) hkv_codes_pack(rows, (g)*18 + 2, HK_CODES_Q4_0, out)

#define HKV_CHANNELS_Q4_0 HKV_PACK
#define hkv_columns_q4_0(rows, t, out, pitch) hk_columns_wide(HK_Q4_0, rows, t, out, pitch)
#endif

#endif
