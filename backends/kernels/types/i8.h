/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bytes beside a scale a row: the words of types.h. quantise.h writes them.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_I8_H
#define HEED_BACKENDS_KERNELS_TYPES_I8_H

typedef hk_i8 hk_stored_i8;
#define hk_get_i8(p) hk_from_i8(*(p))
#define HK_STEP_I8 0x1.020408p-7f
#define hk_put_i8(p, x)                                                                            \
    ((void)(*(p) = (hk_i8)(hk_i32)hk_max_f(hk_min_f(hk_rint(x), 127.0f), -127.0f)))

#if HK_VECTORS
#define HKV_CHANNELS_I8 HKV_PACK_I8
#define hkv_get_i8(p) hkv_load_i8(p)
#define hkv_put_i8(p, a)                                                                           \
    hkv_store_i8(p, hkv_max_f(hkv_min_f(hkv_rint(a), hkv_set(127.0f)), hkv_set(-127.0f)))
#define hkv_columns_i8(rows, t, out, pitch) hkv_pack_i8(rows, t, out, pitch)
#endif

#endif
