/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * E4M3, which has no infinities and one NaN of each sign: the words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_F8E4M3_H
#define HEED_BACKENDS_KERNELS_TYPES_F8E4M3_H

#define HK_F8E4M3_NAN 480.0f    /* what its NaN would be as a number */

typedef hk_u8 hk_stored_f8e4m3;
HK_FN float hk_from_f8e4m3(hk_u8 x)
{
    const float a = hk_mul(hk_from_half_byte(x, 7), 256.0f);

    return hk_abs_f(a) < HK_F8E4M3_NAN ? a : hk_float(HK_NAN_WORD);
}
#define hk_get_f8e4m3(p) hk_from_f8e4m3(*(p))
#define HK_STEP_F8E4M3 0x1.24924ap-9f
#define hk_put_f8e4m3(p, x) ((void)(*(p) = hk_to_f8(x, 3, 120, 0x7eu, 0x7fu)))

#define hk_four_f8e4m3(word, t, j) hk_from_f8e4m3((hk_u8)((word)[0] >> 8 * (j)))

#if HK_VECTORS
HK_INLINE hk_vec hkv_from_f8e4m3(hk_vec small)
{
    const hk_vec a = hkv_mul(small, hkv_set(256.0f));
    const hk_vec nan = hkv_set(hk_float(HK_NAN_WORD));

    return hkv_select(hkv_less(hkv_abs_f(a), hkv_set(HK_F8E4M3_NAN)), a, nan);
}
#define HKV_CHANNELS_F8E4M3 HKV_PACK
#define hkv_get_f8e4m3(p) hkv_from_f8e4m3(hkv_load_half_bytes(p, 7))
#define hkv_put_f8e4m3(p, a) HKV_PUT_EACH(hk_put_f8e4m3, p, a)
#define hkv_columns_f8e4m3(rows, t, out, pitch)                                                    \
    hk_columns_wide(HK_F8E4M3, (HK_GLOBAL const char *const *)(rows), t, out, pitch)
#endif

#endif
