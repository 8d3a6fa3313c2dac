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
 * vector: the loop stands in an HK_INLINE function of the type, which HK_BY_NUMBER calls.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_CHANNELS_H
#define HEED_BACKENDS_KERNELS_OPS_CHANNELS_H

#include "operation.h"

/* Needs HK_THREAD_ID(id) and hk_i64 t. */
#define HK_CHANNELS(id, t, d)                                                                      \
    HK_EACH(id)                                                                                    \
        for (t = (hk_i64)id * HKV_LANES; t < (d); t += (hk_i64)HK_THREADS * HKV_LANES)

/* ---- a vector of channels ---- */

/* Of a row of blocks: the scale of channel t, or the minimum (1). */
HK_INLINE float hk_channel_half(hk_u32 dtype, HK_GLOBAL const char *row, hk_i64 t, int which)
{
    return hk_block_half(row + hk_channel_bytes(dtype, t), which);
}

/* A channel as a number: of blocks its scale joins it, and its minimum where there is one. */
HK_INLINE float hk_channel_read(hk_u32 dtype, HK_GLOBAL const char *row, hk_i64 index)
{
    const float z = hk_element(dtype, row, index);

    if (HK_HAS_MINIMA(dtype))
        return hk_fma(z, hk_channel_half(dtype, row, index, 0),
                      hk_channel_half(dtype, row, index, 1));
    return HK_IN_BLOCKS(dtype) ? hk_mul(z, hk_channel_half(dtype, row, index, 0)) : z;
}

#if HKV_LANES > 1
/* Neighbours of one block, or of a row of numbers. */
HK_INLINE hk_vec hk_channels_load(hk_u32 dtype, HK_GLOBAL const char *row, hk_i64 t)
{
    const hk_vec z = hk_vec_load(dtype, row, t);

    if (HK_HAS_MINIMA(dtype))
        return hkv_fma(z, hkv_set(hk_channel_half(dtype, row, t, 0)),
                       hkv_set(hk_channel_half(dtype, row, t, 1)));
    return HK_IN_BLOCKS(dtype) ? hkv_mul(z, hkv_set(hk_channel_half(dtype, row, t, 0))) : z;
}
#endif

#if !HKV_STORE_PAIRS
#define hkv_store_pair_f16(p, a, b) hk_pair_put(hkv_put_f16, p, a, b)
#define hkv_store_pair_bf16(p, a, b) hk_pair_put(hkv_put_bf16, p, a, b)
#endif
#define hkv_store_pair_f32(p, a, b) hk_pair_put(hkv_put_f32, p, a, b)
#define hk_pair_put(put, p, a, b)                                                                  \
    do {                                                                                           \
        put(p, a);                                                                                 \
        put((p) + HKV_LANES, b);                                                                   \
    } while (0)

/* The way out of two vectors of neighbours, from t on (step 11). */
HK_INLINE void hk_channels_put_pair(hk_u32 dtype, HK_GLOBAL char *row, hk_i64 t, hk_vec a, hk_vec b)
{
#define HK_PUT(NAME, name, number, elements, bytes, arg)                                           \
    if (dtype == HK_##NAME)                                                                        \
        hkv_store_pair_##name((HK_GLOBAL hk_stored_##name *)row + t, a, b);                        \
    else
    HK_FLOAT_TYPES(HK_PUT, 0)
#undef HK_PUT
    HK_UNREACHABLE();
}

/* Channels t .. of a row of d channels, `channel` elements apart. */
HK_INLINE hk_vec hk_channels_read(hk_u32 dtype, HK_GLOBAL const char *row, hk_i64 channel,
                                  hk_i64 t, hk_i64 d)
{
#if HKV_LANES == 1
    (void)d;
    return hkv_set(hk_channel_read(dtype, row, t * channel));
#else
    float part[HKV_LANES];
    int i;

    if (channel == 1 && t + HKV_LANES <= d)
        return hk_channels_load(dtype, row, t);
    for (i = 0; i < HKV_LANES; i++)
        part[i] = t + i < d ? hk_channel_read(dtype, row, (t + i) * channel) : 0.0f;
    return hkv_load(part);
#endif
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
        hk_vec_put(dtype, row, t, x);
        return;
    }
    hkv_store(part, x);
    for (i = 0; i < HKV_LANES && t + i < d; i++)
        hk_put(dtype, row, (t + i) * channel, part[i]);
#endif
}

/* ---- rows ---- */

/* What is read once is asked for so many bytes ahead, a line with each line that is read: a
 * processor that has much to do with a vector does not look that far by itself. */
#define HK_ROW_AHEAD 2048

/* Of rows that are there: the lines of `bytes`, from byte `at` of the row on. */
HK_INLINE void hk_row_ask(HK_GLOBAL const char *row, hk_i64 at, const hk_i64 bytes)
{
    hk_i64 line;

    HK_UNROLL
    for (line = 0; row && line < bytes; line += 64)
        HK_PREFETCH(row + at + HK_ROW_AHEAD + line);
}

/* Rows of a strip; base NULL where the array is absent. */
HK_FN struct hk_rows hk_rows_given(const struct hk_call *call, hk_u32 array,
                                   const struct hk_strip_task *strip)
{
    struct hk_rows out = hk_rows_get(call, array, strip->b, strip->head);

    if (!hk_has(call, array))
        out.base = 0;
    return out;
}

/* Absent, or without gaps and of that type? */
HK_FN int hk_rows_plain(const struct hk_rows *rows, hk_u32 dtype)
{
    return !rows->base || (rows->channel == 1 && rows->dtype == dtype);
}

/* Channels t .. of row i, of d, of rows that are plain and of that type, or of any. */
HK_INLINE hk_vec hk_rows_read(hk_u32 dtype, const int plain, const struct hk_rows *rows, hk_i64 i,
                              hk_i64 t, hk_i64 d)
{
    return hk_channels_read(plain ? dtype : rows->dtype, hk_row(rows, i), plain ? 1 : rows->channel,
                            t, d);
}

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
