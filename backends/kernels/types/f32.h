/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * binary32: the words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_F32_H
#define HEED_BACKENDS_KERNELS_TYPES_F32_H

typedef float hk_stored_f32;
#define hk_get_f32(p) (*(p))
#define hk_put_f32(p, x) ((void)(*(p) = hk_canonical(x)))

#define hk_four_f32(word, t, j) hk_float((word)[j])

#if HK_VECTORS
#define HKV_CHANNELS_F32 HKV_PACK
#define hkv_get_f32(p) hkv_load(p)
#define hkv_put_f32(p, a) hkv_store(p, hkv_canonical(a))
#define hkv_columns_f32(rows, t, out, pitch) hkv_pack(rows, t, out, pitch)
#endif

#endif
