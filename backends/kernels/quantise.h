/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows of floats that become rows of bytes with a scale (docs/numerics.md, section 5, step 4): the
 * largest magnitude gives the scale, and the scale the factors that every channel is multiplied by.
 * All threads of a group call hk_row_quantise together. They share the largest magnitude through
 * struct hk_shared, so a file that includes this has HK_HAS_SHARED.
 */
#ifndef HEED_BACKENDS_KERNELS_QUANTISE_H
#define HEED_BACKENDS_KERNELS_QUANTISE_H

#include "channels.h"
#include "moves.h"

#define HK_HAS_SHARED 1
#define HK_BYTE_STEP 0x1.020408p-7f     /* RNE32(1 / 127) */
#define HK_NAN_HALF 0x7e00u

struct hk_shared {
    hk_u32 most[HK_THREADS];            /* bits of magnitudes, which compare as integers */
};

/* Where rows of bytes go, and their scales. */
struct hk_byte_rows {
    struct hk_rows y;
    struct hk_entries scale;
    hk_u32 scale_dtype;
};

/* Where the scale of row i of `to` lies. */
HK_FN HK_GLOBAL char *hk_byte_scale_at(const struct hk_byte_rows *to, hk_i64 i)
{
    return to->scale.base + i * to->scale.step * hk_size(to->scale_dtype);
}

struct hk_byte_scale {
    hk_u32 bits;                        /* as it is stored */
    float up, factor;                   /* a channel times both is its byte; factor 0: bytes of 0 */
};

/* The largest magnitude of the thread's channels, as bits; NaN where one is not finite. */
HK_INLINE hk_u32 hk_part_most(hk_u32 dtype, HK_GLOBAL const char *x, hk_i64 channel, hk_i64 d,
                              hk_i32 id)
{
    const hk_vec zero = hkv_set(0.0f);
    hk_vec most = zero, odd = zero;
    float all;
    hk_i64 t;

    for (t = (hk_i64)id * HKV_LANES; t < d; t += (hk_i64)HK_THREADS * HKV_LANES) {
        const hk_vec a = hk_channels_read(dtype, x, channel, t, d);

        most = hkv_max_f(hkv_abs_f(a), most);
        odd = hkv_fma(a, zero, odd);    /* 0 * x is NaN where x is not finite */
    }
    all = hkv_add_across(odd);
    return all == all ? hk_word(hkv_max_across(most)) : HK_NAN_WORD;
}

/* That of all threads. */
HK_INLINE float hk_row_most(hk_u32 dtype, HK_GLOBAL const char *x, hk_i64 channel, hk_i64 d,
                            HK_LOCAL struct hk_shared *shared)
{
    HK_THREAD_ID(id);
    float most;

    HK_EACH(id)
        shared->most[id] = hk_part_most(dtype, x, channel, d, id);
#if HK_THREADS > 1
    for (int span = HK_THREADS / 2; span > 0; span /= 2) {
        HK_BARRIER();
        HK_EACH(id)
            if (id < span && shared->most[id] < shared->most[id + span])
                shared->most[id] = shared->most[id + span];
    }
    HK_BARRIER();
#endif
    most = hk_float(shared->most[0]);
#if HK_THREADS > 1
    HK_BARRIER_ALL();                   /* the next row may begin, and this one be replaced */
#endif
    return most;
}

/* Not negative, and finite. */
HK_FN float hk_from_half(hk_u32 bits)
{
    return bits >= 0x400u ? hk_float((bits << 13) + 0x38000000u)
                          : hk_mul((float)(hk_i32)bits, 0x1p-24f);
}

/* RNE(1 / s) for s of [2^-85, 2^121]: that of the mantissa, whose exponent is then turned. */
HK_FN float hk_scale_inverse(float s)
{
    const hk_u32 word = hk_word(s);
    const float mantissa = hk_float((word & 0x7fffffu) | 0x3f800000u);

    return hk_mul(hk_inverse(mantissa), hk_float(0x7f000000u - (word & 0x7f800000u)));
}

HK_FN struct hk_byte_scale hk_byte_scale_of(float most, hk_u32 dtype)
{
    struct hk_byte_scale out;
    float s = hk_mul(most, HK_BYTE_STEP);

    if (dtype == HK_F16) {
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

HK_FN void hk_scale_put(hk_u32 dtype, HK_GLOBAL char *to, hk_u32 bits)
{
    HK_THREAD_ID(id);

    HK_EACH(id) {
        if (id == 0 && dtype == HK_F32)
            *(HK_GLOBAL hk_u32 *)to = bits;
        else if (id == 0)
            *(HK_GLOBAL hk_u16 *)to = (hk_u16)bits;
    }
}

/* Integers of [-127, 127] to channels t .. of a row of d bytes. */
HK_INLINE void hk_bytes_write(HK_GLOBAL hk_i8 *y, hk_i64 channel, hk_i64 t, hk_i64 d, hk_vec x)
{
#if HKV_LANES == 1
    (void)d;
    y[t * channel] = (hk_i8)(hk_i32)x;
#else
    float part[HKV_LANES];
    int i;

    hkv_store(part, x);
    if (channel == 1 && t + HKV_LANES <= d) {
        for (i = 0; i < HKV_LANES; i++)
            y[t + i] = (hk_i8)(hk_i32)part[i];
        return;
    }
    for (i = 0; i < HKV_LANES && t + i < d; i++)
        y[(t + i) * channel] = (hk_i8)(hk_i32)part[i];
#endif
}

/* Row x, of d channels, to row y; scale: where that of y lies. */
HK_INLINE void hk_row_bytes(hk_u32 dtype, HK_GLOBAL const char *x, hk_i64 x_channel,
                            HK_GLOBAL char *y, hk_i64 y_channel, hk_i64 d, HK_GLOBAL char *scale,
                            hk_u32 scale_dtype, HK_LOCAL struct hk_shared *shared)
{
    const float most = hk_row_most(dtype, x, x_channel, d, shared);
    const struct hk_byte_scale s = hk_byte_scale_of(most, scale_dtype);
    HK_THREAD_ID(id);
    hk_i64 t;

    hk_scale_put(scale_dtype, scale, s.bits);
    if (s.factor == 0.0f) {
        hk_row_zero(1, y, y_channel, d);
        return;
    }
    HK_CHANNELS(id, t, d) {
        hk_vec a = hk_channels_read(dtype, x, x_channel, t, d);

        a = hkv_rint(hkv_mul(hkv_mul(a, hkv_set(s.up)), hkv_set(s.factor)));
        a = hkv_max_f(hkv_min_f(a, hkv_set(127.0f)), hkv_set(-127.0f));
        hk_bytes_write((HK_GLOBAL hk_i8 *)y, y_channel, t, d, a);
    }
}

/* The same with the types asked once a row. */
HK_FN void hk_row_quantise(const struct hk_rows *from, HK_GLOBAL const char *x,
                           const struct hk_byte_rows *to, HK_GLOBAL char *y,
                           HK_GLOBAL char *scale, hk_i64 d, HK_LOCAL struct hk_shared *shared)
{
#define HK_BYTES(type)                                                                             \
    hk_row_bytes(type, x, from->channel, y, to->y.channel, d, scale, to->scale_dtype, shared)
#if HK_THREADS == 1
    HK_BY_DTYPE(from->dtype, HK_BYTES);
#else
    HK_BYTES(from->dtype);              /* one text with barriers */
#endif
#undef HK_BYTES
}

/* A row that has no source: bytes and scale of 0. */
HK_FN void hk_row_clear(const struct hk_byte_rows *to, HK_GLOBAL char *y, HK_GLOBAL char *scale,
                        hk_i64 d)
{
    hk_row_zero(1, y, to->y.channel, d);
    hk_scale_put(to->scale_dtype, scale, 0);
}

#endif
