/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * E5M2, the upper byte of binary16: the words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_F8E5M2_H
#define HEED_BACKENDS_KERNELS_TYPES_F8E5M2_H

typedef hk_u8 hk_stored_f8e5m2;
#define hk_get_f8e5m2(p) hk_from_half_byte(*(p), 8)
#define HK_STEP_F8E5M2 0x1.24924ap-16f
#define hk_put_f8e5m2(p, x) ((void)(*(p) = hk_to_f8(x, 2, 112, 0x7bu, 0x7eu)))

#define hk_four_f8e5m2(word, t, j) hk_from_half_byte((hk_u8)((word)[0] >> 8 * (j)), 8)

#if HK_VECTORS
#define HKV_CHANNELS_F8E5M2 HKV_PACK
#define hkv_get_f8e5m2(p) hkv_load_half_bytes(p, 8)
#define hkv_put_f8e5m2(p, a) HKV_PUT_EACH(hk_put_f8e5m2, p, a)
#define hkv_columns_f8e5m2(rows, t, out, pitch)                                                    \
    hk_columns_wide(HK_F8E5M2, (HK_GLOBAL const char *const *)(rows), t, out, pitch)
#endif

#endif
