/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a scale and 32 signed bytes: the words of types.h.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_Q8_0_H
#define HEED_BACKENDS_KERNELS_TYPES_Q8_0_H

#define HK_AT_Q8_0(row, t) ((HK_GLOBAL const hk_i8 *)hk_block_byte(row, t, 34, 2) + hk_in_block(t))
#define hk_in_q8_0(row, t) hk_from_i8(*HK_AT_Q8_0(row, t))
#define HK_HEAD_Q8_0 2
#define HK_ZERO_Q8_0(k) 0

#define HK_UNIT_Q8_0(extreme) hk_mul(hk_abs_f(extreme), HK_STEP_I8)
HK_INLINE void hk_pack_q8_0(HK_GLOBAL hk_u8 *block, const float *q)
{
    int i;

    for (i = 0; i < HK_BLOCK_CHANNELS; i++)
        hk_put_i8((HK_GLOBAL hk_i8 *)block + 2 + i, q[i]);
}

#if HK_VECTORS
#define hkv_in_q8_0(row, t) hkv_load_i8(HK_AT_Q8_0(row, t))
#define hkv_pair_q8_0(row, t, out) HKV_PAIR(hkv_in_q8_0, row, t, out)
#define hkv_bytes_q8_0(rows, g, out) hkv_bytes_pack(rows, (g)*34 + 2, out)

#define HKV_CHANNELS_Q8_0 HKV_PACK_I8
HK_INLINE void hkv_columns_q8_0(HK_GLOBAL const char *const *rows, hk_i64 t, HK_GLOBAL float *out,
                                hk_i64 pitch)
{
    HK_GLOBAL const hk_i8 *at[HKV_PACK];
    int r;

    HK_UNROLL
    for (r = 0; r < HKV_PACK; r++)
        at[r] = HK_AT_Q8_0(rows[r], t);
    hkv_pack_i8(at, 0, out, pitch);
}
#endif

#endif
