/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows of numbers that become rows of bytes (docs/numerics.md, section 5, step 4): where these have
 * scales, the largest magnitude gives the scale, and the scale the factors that every channel is
 * multiplied by.
 * A processor looks at a row and writes it at once (hk_row_quantise). The threads of a work-group
 * take batches of rows, in two steps with a barrier behind each (hk_steps of operation.h): in the
 * first, few threads share a row and leave what is largest of their channels in struct hk_shared
 * (hk_part_look); in the second all threads write one row after another (hk_row_write). Rows in
 * blocks take no steps: a thread quantises blocks by itself (quantise_blocks.h).
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_QUANTISE_H
#define HEED_BACKENDS_KERNELS_OPS_QUANTISE_H

#include "channels.h"
#include "moves.h"
#include "quantise_blocks.h"

#define HK_HAS_SHARED 1
#if HK_THREADS == 1
struct hk_shared {
    hk_u32 unused;
};
#else
#define HK_BYTE_BATCH 64                /* rows of a batch */
#define HK_BYTE_SHARE 8                 /* threads that look at a row */
struct hk_shared {
    hk_u32 most[HK_BYTE_BATCH * HK_BYTE_SHARE]; /* bits of magnitudes: they compare as integers */
};
#endif

/* Do rows of x become rows of bytes? Else their bits are moved, or they become floats. */
HK_FN int hk_quantises(hk_u32 x, hk_u32 y, hk_u32 scale)
{
    return HK_MAY_SCALE(y) && (x != y || scale != HK_NO_TYPE);
}

/* Where rows of bytes go, and their scales. */
struct hk_byte_rows {
    struct hk_rows y;
    struct hk_entries scale;
    hk_u32 scale_dtype;                 /* none: rows have no scales */
};

/* Where the scale of row i of `to` lies; 0: rows have none. */
HK_FN HK_GLOBAL char *hk_byte_scale_at(const struct hk_byte_rows *to, hk_i64 i)
{
    return to->scale_dtype == HK_NO_TYPE
               ? 0
               : to->scale.base + i * to->scale.step * hk_size(to->scale_dtype);
}

struct hk_byte_scale {
    hk_u32 bits;                        /* as it is stored */
    float up, factor;                   /* a channel times both is its byte; factor 0: bytes of 0 */
};

/* The largest magnitude of a row, as bits; NaN where a channel is not finite. */
#if HK_THREADS == 1 && HKV_LANES > 1
HK_INLINE hk_u32 hk_row_most(hk_u32 dtype, HK_GLOBAL const char *x, hk_i64 channel, hk_i64 d)
{
    const hk_vec zero = hkv_set(0.0f);
    hk_vec most = zero, more = zero, odd = zero, other = zero;  /* by twos: they wait less */
    float all;
    hk_i64 t;

    for (t = 0; t < d; t += 2 * HKV_LANES) {
        const hk_vec a = hk_channels_read(dtype, x, channel, t, d);
        const hk_vec b =
            t + HKV_LANES < d ? hk_channels_read(dtype, x, channel, t + HKV_LANES, d) : zero;

        most = hkv_max_f(hkv_abs_f(a), most);
        more = hkv_max_f(hkv_abs_f(b), more);
        odd = hkv_fma(a, zero, odd);    /* 0 * x is NaN where x is not finite */
        other = hkv_fma(b, zero, other);
    }
    all = hkv_add_across(hkv_add(odd, other));
    return all == all ? hk_word(hkv_max_across(hkv_max_f(most, more))) : HK_NAN_WORD;
}
#else
/* Of its channels first, first + step, ... */
HK_INLINE hk_u32 hk_part_most(hk_u32 dtype, HK_GLOBAL const char *x, hk_i64 channel, hk_i64 d,
                              hk_i64 first, hk_i64 step)
{
    hk_u32 most = 0;
    hk_i64 t;

    for (t = first; t < d; t += step) {
        const hk_u32 size = hk_word(hk_element(dtype, x, t * channel)) & 0x7fffffffu;

        most = size > most ? size : most;
    }
    return most < 0x7f800000u ? most : HK_NAN_WORD;
}
#endif

HK_FN float hk_byte_step(hk_u32 dtype)
{
#define HK_STEP(NAME, name, number, elements, bytes, arg)                                          \
    if (dtype == HK_##NAME)                                                                        \
        return HK_STEP_##NAME;
    HK_SCALED_TYPES(HK_STEP, 0)
#undef HK_STEP
    HK_UNREACHABLE();
    return 0.0f;
}

HK_FN struct hk_byte_scale hk_byte_scale_of(float most, const struct hk_byte_rows *to)
{
    struct hk_byte_scale out;
    float s = hk_mul(most, hk_byte_step(to->y.dtype));

    if (to->scale_dtype == HK_NO_TYPE) {
        s = 1.0f;
        out.bits = 0;
    } else if (to->scale_dtype == HK_F16) {
        out.bits = hk_to_f16(s);
        out.bits = out.bits < 0x7c00u ? out.bits : HK_NAN_HALF;
        s = out.bits < 0x7c00u ? hk_from_half(out.bits) : hk_float(HK_NAN_WORD);
    } else {
        out.bits = s == s ? hk_word(s) : HK_NAN_WORD;
    }
    out.up = s < 0x1p-64f ? 0x1p+64f : 1.0f;
    out.factor = s > 0.0f ? hk_scale_inverse(hk_mul(s, out.up)) : 0.0f;
    return out;
}

/* to 0: there is none. */
HK_FN void hk_scale_put(hk_u32 dtype, HK_GLOBAL char *to, hk_u32 bits)
{
    HK_THREAD_ID(id);

    HK_EACH(id) {
        if (id == 0 && dtype == HK_F32)
            *(HK_GLOBAL hk_u32 *)to = bits;
        else if (id == 0 && to)
            *(HK_GLOBAL hk_u16 *)to = (hk_u16)bits;
    }
}

HK_FN void hk_byte_put(hk_u32 dtype, HK_GLOBAL char *y, hk_i64 index, float x)
{
#define HK_PUT(NAME, name, number, elements, bytes, arg)                                           \
    if (dtype == HK_##NAME)                                                                        \
        hk_put_##name((HK_GLOBAL hk_stored_##name *)y + index, x);                                 \
    else
    HK_SCALED_TYPES(HK_PUT, 0)
#undef HK_PUT
    HK_UNREACHABLE();
}

/* Quotients to channels t .. of a row of d bytes. */
HK_INLINE void hk_bytes_write(hk_u32 dtype, HK_GLOBAL char *y, hk_i64 channel, hk_i64 t, hk_i64 d,
                              hk_vec x)
{
#if HKV_LANES == 1
    (void)d;
    hk_byte_put(dtype, y, t * channel, x);
#else
    float part[HKV_LANES];
    int i;

#define HK_PUT(NAME, name, number, elements, bytes, arg)                                           \
    if (dtype == HK_##NAME)                                                                        \
        hkv_put_##name((HK_GLOBAL hk_stored_##name *)y + t, x);                                    \
    else
    if (channel == 1 && t + HKV_LANES <= d) {
        HK_SCALED_TYPES(HK_PUT, 0)
        HK_UNREACHABLE();
        return;
    }
#undef HK_PUT
    hkv_store(part, x);
    for (i = 0; i < HKV_LANES && t + i < d; i++)
        hk_byte_put(dtype, y, (t + i) * channel, part[i]);
#endif
}

/* Row x, of d channels, to row y; most: its largest magnitude, as bits; scale: where that of y
 * lies. */
HK_INLINE void hk_row_write(hk_u32 dtype, HK_GLOBAL const char *x, hk_i64 x_channel,
                            const struct hk_byte_rows *to, HK_GLOBAL char *y,
                            HK_GLOBAL char *scale, hk_i64 d, hk_u32 most)
{
    const struct hk_byte_scale s = hk_byte_scale_of(hk_float(most), to);
    const hk_i64 channel = to->y.channel;
    const hk_u32 y_dtype = to->y.dtype;
    HK_THREAD_ID(id);
    hk_i64 t;

    hk_scale_put(to->scale_dtype, scale, s.bits);
    if (s.factor == 0.0f) {
        hk_row_zero(1, y, channel, d);
        return;
    }
    HK_CHANNELS(id, t, d) {
        const hk_vec a = hk_channels_read(dtype, x, x_channel, t, d);

        hk_bytes_write(y_dtype, y, channel, t, d,
                       hkv_mul(hkv_mul(a, hkv_set(s.up)), hkv_set(s.factor)));
    }
}

#if HK_THREADS == 1

HK_INLINE void hk_row_bytes(hk_u32 dtype, HK_GLOBAL const char *x, hk_i64 x_channel,
                            const struct hk_byte_rows *to, HK_GLOBAL char *y,
                            HK_GLOBAL char *scale, hk_i64 d)
{
    hk_u32 most = 0;

    if (to->scale_dtype != HK_NO_TYPE)
#if HKV_LANES == 1
        most = hk_part_most(dtype, x, x_channel, d, 0, 1);
#else
        most = hk_row_most(dtype, x, x_channel, d);
#endif

    hk_row_write(dtype, x, x_channel, to, y, scale, d, most);
}

/* The type is asked once a row. */
HK_FN void hk_row_quantise(const struct hk_rows *from, HK_GLOBAL const char *x,
                           const struct hk_byte_rows *to, HK_GLOBAL char *y,
                           HK_GLOBAL char *scale, hk_i64 d)
{
    if (HK_IN_BLOCKS(to->y.dtype)) {
        hk_blocks_quantise(from, x, to->y.dtype, y, 0, 1, d);
        return;
    }
#define HK_ROW_BYTES(type) hk_row_bytes(type, x, from->channel, to, y, scale, d)
    HK_BY_NUMBER(from->dtype, HK_ROW_BYTES);
#undef HK_ROW_BYTES
}

#else

/* Steps of a task of strips of `run` rows; y: the type of what is written. */
HK_FN hk_i64 hk_byte_steps(int quantises, hk_u32 y, hk_i64 run)
{
    return quantises && !HK_IN_BLOCKS(y) ? 2 * ((run + HK_BYTE_BATCH - 1) / HK_BYTE_BATCH) : 1;
}

/* The rows of a step. */
struct hk_batch {
    hk_i64 first, count;
    int write;                          /* 1: the second step */
};

HK_FN struct hk_batch hk_batch_get(hk_i64 step, hk_i64 first, hk_i64 end)
{
    struct hk_batch out;

    out.first = first + step / 2 * HK_BYTE_BATCH;
    out.count = hk_max(hk_min(end - out.first, HK_BYTE_BATCH), 0);
    out.write = (int)(step % 2);
    return out;
}

/* The thread's rows of a batch: HK_BATCH_ROWS(id, k, n) { ... row k ... }. */
#define HK_BATCH_ROWS(id, k, n)                                                                    \
    HK_EACH(id)                                                                                    \
        for (k = id / HK_BYTE_SHARE; k < (n); k += HK_THREADS / HK_BYTE_SHARE)

/* The thread's share of row k of the batch. */
HK_FN void hk_part_look(const struct hk_rows *from, HK_GLOBAL const char *x, hk_i64 d, hk_i64 k,
                        hk_i32 id, HK_LOCAL struct hk_shared *shared)
{
    const hk_i64 part = id % HK_BYTE_SHARE;

    shared->most[k * HK_BYTE_SHARE + part] =
        hk_part_most(from->dtype, x, from->channel, d, part, HK_BYTE_SHARE);
}

/* The largest magnitude of row k. */
HK_FN hk_u32 hk_batch_most(HK_LOCAL const struct hk_shared *shared, hk_i64 k)
{
    hk_u32 most = 0;
    int i;

    for (i = 0; i < HK_BYTE_SHARE; i++) {
        const hk_u32 part = shared->most[k * HK_BYTE_SHARE + i];

        most = part > most ? part : most;
    }
    return most;
}

#endif

/* A row that has no source: bytes and scale of 0. */
HK_FN void hk_row_clear(const struct hk_byte_rows *to, HK_GLOBAL char *y, HK_GLOBAL char *scale,
                        hk_i64 d)
{
    hk_rows_zero(&to->y, y, 1, d);
    hk_scale_put(to->scale_dtype, scale, 0);
}

#endif
