/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a scale and 32 numbers of a table of 16 uneven ones: the words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_IQ4_NL_H
#define HEED_BACKENDS_KERNELS_TYPES_IQ4_NL_H

/* -127, -104, -83, -65, -49, -35, -22, -10 and 1, 13, 25, 38, 53, 69, 89, 113 */
#define HK_CODES_IQ4_NL 0xf6eaddcfbfad9881u, 0x7159453526190d01u
#define hk_in_iq4_nl(row, t) hk_block_code(row, t, 18, 2, HK_CODES_IQ4_NL)
#define HK_HEAD_IQ4_NL 2
#define HK_ZERO_IQ4_NL(k) ((k) > 0 ? 0x8888 : 0)

#define hk_four_iq4_nl(word, t, j)                                                                 \
    hk_from_code((hk_u8)((word)[0] >> 8 * (j)), hk_in_block(t) >= 16, HK_CODES_IQ4_NL)

#if HK_VECTORS
#define hkv_in_iq4_nl(row, t) hkv_block_codes(row, t, 18, 2, HK_CODES_IQ4_NL)
#define hkv_pair_iq4_nl(row, t, out) hkv_block_pair(row, t, 18, 2, HK_CODES_IQ4_NL, out)
#define hkv_bytes_iq4_nl(rows, g, out) hkv_codes_pack(rows, (g)*18 + 2, HK_CODES_IQ4_NL, out)

#define HKV_CHANNELS_IQ4_NL HKV_PACK
#define hkv_columns_iq4_nl(rows, t, out, pitch) hk_columns_wide(HK_IQ4_NL, rows, t, out, pitch)
#endif

#endif
