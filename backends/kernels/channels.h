/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Channels of rows of any storage type, for kernels of operations: vectors of f32 in and out. (What
 * is moved as it is: moves.h.) A vector holds the channels t .. t + HKV_LANES - 1 of a row; what
 * lies beyond the row reads as +0 and is not written. The text of a row is a loop
 *
 *     HK_CHANNELS(id, t, d)
 *         ... the vector at t ...
 *
 * in which t runs over the vectors of the thread. An element type is asked once a row, not once a
 * vector: the loop stands in an HK_INLINE function of the type, which HK_BY_DTYPE calls.
 */
#ifndef HEED_BACKENDS_KERNELS_CHANNELS_H
#define HEED_BACKENDS_KERNELS_CHANNELS_H

#include "operation.h"

/* Needs HK_THREAD_ID(id) and hk_i64 t. */
#define HK_CHANNELS(id, t, d)                                                                      \
    HK_EACH(id)                                                                                    \
        for (t = (hk_i64)id * HKV_LANES; t < (d); t += (hk_i64)HK_THREADS * HKV_LANES)

/* call(type) with the type as a constant. */
#define HK_BY_DTYPE(dtype, call)                                                                   \
    do {                                                                                           \
        if ((dtype) == HK_F32)                                                                     \
            call(HK_F32);                                                                          \
        else if ((dtype) == HK_F16)                                                                \
            call(HK_F16);                                                                          \
        else                                                                                       \
            call(HK_BF16);                                                                         \
    } while (0)

/* ---- a vector of channels ---- */

HK_INLINE hk_vec hk_vec_load(hk_u32 dtype, HK_GLOBAL const char *row, hk_i64 t)
{
    if (dtype == HK_F32)
        return hkv_load((HK_GLOBAL const float *)row + t);
    if (dtype == HK_F16)
        return hkv_load_f16((HK_GLOBAL const hk_u16 *)row + t);
    return hkv_load_bf16((HK_GLOBAL const hk_u16 *)row + t);
}

/* Channels t .. of a row of d channels, `channel` elements apart. */
HK_INLINE hk_vec hk_channels_read(hk_u32 dtype, HK_GLOBAL const char *row, hk_i64 channel,
                                  hk_i64 t, hk_i64 d)
{
#if HKV_LANES == 1
    (void)d;
    return hkv_set(hk_element(dtype, row, t * channel));
#else
    float part[HKV_LANES];
    int i;

    if (channel == 1 && t + HKV_LANES <= d)
        return hk_vec_load(dtype, row, t);
    for (i = 0; i < HKV_LANES; i++)
        part[i] = t + i < d ? hk_element(dtype, row, (t + i) * channel) : 0.0f;
    return hkv_load(part);
#endif
}

/* Step 11, in a vector. */
HK_INLINE hk_vec hkv_canonical(hk_vec x)
{
    return hkv_select(hkv_ordered(x), hkv_add(x, hkv_set(0.0f)), hkv_set(hk_float(HK_NAN_WORD)));
}

/* The way out of channels t .. (step 11). */
HK_INLINE void hk_channels_write(hk_u32 dtype, HK_GLOBAL char *row, hk_i64 channel, hk_i64 t,
                                 hk_i64 d, hk_vec x)
{
#if HKV_LANES == 1
    (void)d;
    hk_put(dtype, row, t * channel, x);
#else
    float part[HKV_LANES];
    int i;

    if (channel == 1 && t + HKV_LANES <= d) {
        if (dtype == HK_F32)
            hkv_store((HK_GLOBAL float *)row + t, hkv_canonical(x));
        else if (dtype == HK_F16)
            hkv_store_f16((HK_GLOBAL hk_u16 *)row + t, x);
        else
            hkv_store_bf16((HK_GLOBAL hk_u16 *)row + t, x);
        return;
    }
    hkv_store(part, x);
    for (i = 0; i < HKV_LANES && t + i < d; i++)
        hk_put(dtype, row, (t + i) * channel, part[i]);
#endif
}

/* ---- rows ---- */

/* From a row of one type to a row of another. */
HK_INLINE void hk_row_convert(hk_u32 from, HK_GLOBAL const char *x, hk_i64 x_channel, hk_u32 to,
                              HK_GLOBAL char *y, hk_i64 y_channel, hk_i64 d)
{
    HK_THREAD_ID(id);
    hk_i64 t;

    HK_CHANNELS(id, t, d)
        hk_channels_write(to, y, y_channel, t, d, hk_channels_read(from, x, x_channel, t, d));
}

#endif
