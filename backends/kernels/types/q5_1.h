/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a scale, a minimum, a word of fifth bits and 32 numbers of four more: the
 * words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_Q5_1_H
#define HEED_BACKENDS_KERNELS_TYPES_Q5_1_H

#define HK_CODES_Q5_1 0x0706050403020100u, 0x0f0e0d0c0b0a0908u
#define hk_in_q5_1(row, t) hk_block_five(row, t, 24, 4, HK_CODES_Q5_1)
#define HK_HEAD_Q5_1 8
#define HK_NAUGHT_Q5_1 0
#define HK_ZERO_Q5_1(k) 0

#if HK_VECTORS
#define hkv_in_q5_1(row, t) hkv_block_fives(row, t, 24, 4, HK_CODES_Q5_1)
#define hkv_pair_q5_1(row, t, out) hkv_block_five_pair(row, t, 24, 4, HK_CODES_Q5_1, out)
#define hkv_bytes_q5_1(rows, g, out) hkv_fives_pack(rows, (g)*24 + 4, HK_CODES_Q5_1, out)

#define HKV_CHANNELS_Q5_1 HKV_PACK
#define hkv_columns_q5_1(rows, t, out, pitch) hk_columns_wide(HK_Q5_1, rows, t, out, pitch)
#endif

#endif
