/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers that become blocks (docs/numerics.md, section 5, step 4), and blocks of zeros. A block is
 * one thread's: nothing of it depends on another. What differs by type are words of types/x.h:
 *
 *   HK_UNIT_X(extreme)     the scale before it is rounded, from the channel of largest magnitude
 *   hk_pack_x(block, q)    the integers of 32 quotients, to nearest, cut to what there is
 *   HK_ZERO_X(k)           of any type in blocks: half k of a block of zeros
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_QUANTISE_BLOCKS_H
#define HEED_BACKENDS_KERNELS_OPS_QUANTISE_BLOCKS_H

#include "channels.h"

#define HK_NAN_HALF 0x7e00u

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

struct hk_unit {
    hk_u32 bits;  /* the scale as it is stored */
    float factor; /* a channel times it is its integer; 0: integers of 0 */
};

HK_FN struct hk_unit hk_unit_of(float s)
{
    const hk_u32 bits = hk_to_f16(s), size = bits & 0x7fffu;
    struct hk_unit out;

    out.bits = size >= 0x7c00u ? HK_NAN_HALF : size == 0 ? 0 : bits;
    out.factor = 0.0f;
    if (size > 0 && size < 0x7c00u)
        out.factor = hk_scale_inverse(hk_from_half(size));
    if (bits & 0x8000u)
        out.factor = -out.factor;
    return out;
}

/* The channels t .. t + 31 of a row. */
HK_INLINE void hk_block_read(hk_u32 dtype, HK_GLOBAL const char *x, hk_i64 channel, hk_i64 t,
                             float *out)
{
    int i;

#if HKV_LANES == 1
    for (i = 0; i < HK_BLOCK_CHANNELS; i++)
        out[i] = hk_element(dtype, x, (t + i) * channel);
#else
    for (i = 0; i < HK_BLOCK_CHANNELS; i += HKV_LANES)
        hkv_store(out + i, hk_channels_read(dtype, x, channel, t + i, t + HK_BLOCK_CHANNELS));
#endif
}

/* The first one of the largest magnitude; NaN where one is not finite. */
HK_FN float hk_block_extreme(const float *x)
{
    hk_u32 most = 0;
    int i;

    for (i = 0; i < HK_BLOCK_CHANNELS; i++) {
        const hk_u32 size = hk_word(x[i]) & 0x7fffffffu;

        most = size > most ? size : most;
    }
    if (most >= 0x7f800000u)
        return hk_float(HK_NAN_WORD);
    for (i = 0; (hk_word(x[i]) & 0x7fffffffu) != most; i++)
        ;
    return x[i];
}

HK_INLINE void hk_block_write(hk_u32 from, HK_GLOBAL const char *x, hk_i64 channel, hk_i64 t,
                              hk_u32 to, HK_GLOBAL char *block)
{
    float q[HK_BLOCK_CHANNELS];
    struct hk_unit unit;
    float s = 0.0f;
    int i;

    hk_block_read(from, x, channel, t, q);
#define HK_UNIT(NAME, name, number, elements, bytes, arg)                                          \
    if (to == HK_##NAME)                                                                           \
        s = HK_UNIT_##NAME(hk_block_extreme(q));
    HK_QUANTISED_TYPES(HK_UNIT, 0)
#undef HK_UNIT
    unit = hk_unit_of(s);
    *(HK_GLOBAL hk_u16 *)block = (hk_u16)unit.bits;
    for (i = 0; i < HK_BLOCK_CHANNELS; i++)
        q[i] = unit.factor == 0.0f ? 0.0f : hk_mul(q[i], unit.factor);
#define HK_PACK(NAME, name, number, elements, bytes, arg)                                          \
    if (to == HK_##NAME)                                                                           \
        hk_pack_##name((HK_GLOBAL hk_u8 *)block, q);
    HK_QUANTISED_TYPES(HK_PACK, 0)
#undef HK_PACK
}

/* Row x, of d channels, to row y in blocks, every `step` of them from `first` on. */
HK_INLINE void hk_blocks_write(hk_u32 from, HK_GLOBAL const char *x, hk_i64 channel, hk_u32 to,
                               HK_GLOBAL char *y, hk_i64 first, hk_i64 step, hk_i64 d)
{
    const hk_i64 bytes = hk_size(to);
    hk_i64 b;

    for (b = first; b < d / HK_BLOCK_CHANNELS; b += step)
        hk_block_write(from, x, channel, b * HK_BLOCK_CHANNELS, to, y + b * bytes);
}

/* The types are asked once. */
HK_FN void hk_blocks_quantise(const struct hk_rows *from, HK_GLOBAL const char *x, hk_u32 to,
                              HK_GLOBAL char *y, hk_i64 first, hk_i64 step, hk_i64 d)
{
#define HK_FROM(type) hk_blocks_write(type, x, from->channel, to, y, first, step, d)
    HK_BY_NUMBER(from->dtype, HK_FROM);
#undef HK_FROM
}

#endif
