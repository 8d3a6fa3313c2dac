/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a scale, a word of fifth bits and 32 numbers of four more, less 16: the
 * words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_Q5_0_H
#define HEED_BACKENDS_KERNELS_TYPES_Q5_0_H

#define HK_CODES_Q5_0 0xf7f6f5f4f3f2f1f0u, 0xfffefdfcfbfaf9f8u
#define hk_in_q5_0(row, t) hk_block_five(row, t, 22, 2, HK_CODES_Q5_0)
#define HK_HEAD_Q5_0 6
#define HK_NAUGHT_Q5_0 16
#define HK_ZERO_Q5_0(k) ((k) == 1 || (k) == 2 ? 0xffff : 0)

#if HK_VECTORS
#define hkv_in_q5_0(row, t) hkv_block_fives(row, t, 22, 2, HK_CODES_Q5_0)
#define hkv_pair_q5_0(row, t, out) hkv_block_five_pair(row, t, 22, 2, HK_CODES_Q5_0, out)
#define hkv_bytes_q5_0(rows, g, out) hkv_fives_pack(rows, (g)*22 + 2, HK_CODES_Q5_0, out)

#define HKV_CHANNELS_Q5_0 HKV_PACK
#define hkv_columns_q5_0(rows, t, out, pitch) hk_columns_wide(HK_Q5_0, rows, t, out, pitch)
#endif

#endif
