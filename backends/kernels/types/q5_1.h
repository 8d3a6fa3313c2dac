/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a scale, a minimum, a word of fifth bits and 32 numbers of four more: the
 * words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_Q5_1_H
#define HEED_BACKENDS_KERNELS_TYPES_Q5_1_H

#define hk_in_q5_1(row, t) hk_block_five(row, t, 24, 4, 0.0f)
#define HK_ZERO_Q5_1(k) 0

#if HK_VECTORS
#define hkv_in_q5_1(row, t) hkv_block_fives(row, t, 24, 4, 0.0f)
#define hkv_pair_q5_1(row, t, out) HKV_PAIR(hkv_in_q5_1, row, t, out)

#define HKV_CHANNELS_Q5_1 HKV_PACK
#define hkv_columns_q5_1(rows, t, out, pitch) hk_columns_wide(HK_Q5_1, rows, t, out, pitch)
#endif

#endif
