/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * binary16: the words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_F16_H
#define HEED_BACKENDS_KERNELS_TYPES_F16_H

typedef hk_u16 hk_stored_f16;
#define hk_get_f16(p) hk_load_f16(p)
#define hk_put_f16(p, x) ((void)(*(p) = hk_to_f16(hk_add(x, 0.0f))))

#define hk_four_f16(word, t, j) hk_from_f16((hk_u16)((word)[(j) / 2] >> (j) % 2 * 16))

#if HK_VECTORS
#define HKV_CHANNELS_F16 HKV_PACK_F16
#define hkv_get_f16(p) hkv_load_f16(p)
#define hkv_put_f16(p, a) hkv_store_f16(p, a)
#define hkv_columns_f16(rows, t, out, pitch) hkv_pack_f16(rows, t, out, pitch)
#endif

#endif
