/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a scale, a word of fifth bits and 32 numbers of four more, less 16: the
 * words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_Q5_0_H
#define HEED_BACKENDS_KERNELS_TYPES_Q5_0_H

#define hk_in_q5_0(row, t) hk_block_five(row, t, 22, 2, 16.0f)
#define HK_ZERO_Q5_0(k) ((k) == 1 || (k) == 2 ? 0xffff : 0)

#if HK_VECTORS
#define hkv_in_q5_0(row, t) hkv_block_fives(row, t, 22, 2, 16.0f)
#define hkv_pair_q5_0(row, t, out) HKV_PAIR(hkv_in_q5_0, row, t, out)

#define HKV_CHANNELS_Q5_0 HKV_PACK
#define hkv_columns_q5_0(rows, t, out, pitch) hk_columns_wide(HK_Q5_0, rows, t, out, pitch)
#endif

#endif
