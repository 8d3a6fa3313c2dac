/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a scale, a minimum and 32 numbers of four bits: the words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_Q4_1_H
#define HEED_BACKENDS_KERNELS_TYPES_Q4_1_H

#define HK_CODES_Q4_1 0x0706050403020100u, 0x0f0e0d0c0b0a0908u
#define hk_in_q4_1(row, t) hk_block_code(row, t, 20, 4, HK_CODES_Q4_1)
#define HK_HEAD_Q4_1 4
#define HK_NAUGHT_Q4_1 0
#define HK_ZERO_Q4_1(k) 0

#if HK_VECTORS
#define hkv_in_q4_1(row, t) hkv_block_codes(row, t, 20, 4, HK_CODES_Q4_1)
#define hkv_pair_q4_1(row, t, out) hkv_block_pair(row, t, 20, 4, HK_CODES_Q4_1, out)
#define hkv_bytes_q4_1(rows, g, out) hkv_codes_pack(rows, (g)*20 + 4, HK_CODES_Q4_1, out)

#define HKV_CHANNELS_Q4_1 HKV_PACK
#define hkv_columns_q4_1(rows, t, out, pitch) hk_columns_wide(HK_Q4_1, rows, t, out, pitch)
#endif

#endif
