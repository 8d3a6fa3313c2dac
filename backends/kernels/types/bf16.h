/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * bfloat16, the upper half of binary32: the words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_BF16_H
#define HEED_BACKENDS_KERNELS_TYPES_BF16_H

typedef hk_u16 hk_stored_bf16;
#define hk_get_bf16(p) hk_from_bf16(*(p))
#define hk_put_bf16(p, x) ((void)(*(p) = hk_to_bf16(hk_add(x, 0.0f))))

#define hk_four_bf16(word, t, j)                                                                   \
    hk_float((j) % 2 ? (word)[(j) / 2] & 0xffff0000u : (word)[(j) / 2] << 16)

#if HK_VECTORS
#define HKV_CHANNELS_BF16 HKV_PACK_BF16
#define hkv_get_bf16(p) hkv_load_bf16(p)
#define hkv_put_bf16(p, a) hkv_store_bf16(p, a)
#define hkv_columns_bf16(rows, t, out, pitch) hkv_pack_bf16(rows, t, out, pitch)
#endif

#endif
