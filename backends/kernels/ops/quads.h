/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows on their way into the local memory of a work-group, four neighbouring channels at a time: a
 * quad is loaded as it lies, by one instruction where the row allows it, and becomes numbers when
 * it is put, so that nothing waits for memory in between.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_QUADS_H
#define HEED_BACKENDS_KERNELS_OPS_QUADS_H

#include "channels.h"

#define HK_QUAD 4 /* channels */

/* The bits of an element that lies alone. */
HK_FN hk_u32 hk_bits_load(hk_u32 dtype, HK_GLOBAL const char *base, hk_i64 index)
{
    const hk_i64 bytes = hk_size(dtype);

    if (bytes == 4)
        return ((HK_GLOBAL const hk_u32 *)base)[index];
    if (bytes == 2)
        return ((HK_GLOBAL const hk_u16 *)base)[index];
    return ((HK_GLOBAL const hk_u8 *)base)[index];
}

/* The number that they are. */
HK_FN float hk_bits_get(hk_u32 dtype, hk_u32 bits)
{
    if (dtype == HK_F16)
        return hk_from_f16((hk_u16)bits);
    if (dtype == HK_BF16)
        return hk_from_bf16((hk_u16)bits);
    if (dtype == HK_F8E4M3)
        return hk_from_f8e4m3((hk_u8)bits);
    if (dtype == HK_F8E5M2)
        return hk_from_half_byte((hk_u8)bits, 8);
    if (dtype == HK_F32)
        return hk_float(bits);
    HK_UNREACHABLE();
    return 0.0f;
}

/* In words as they lie: one, two or four. */
struct hk_quad {
    hk_u32 word[4];
};

HK_FN void hk_quad_fill(struct hk_quad *quad, hk_u32 word)
{
    int i;

    HK_UNROLL
    for (i = 0; i < 4; i++)
        quad->word[i] = word;
}

/* Rows of d channels, whose quads begin at multiples of 4. */
struct hk_quads {
    HK_GLOBAL const char *base; /* of row 0 */
    hk_i64 row, channel, d;     /* bytes; elements */
    hk_u32 dtype;
    hk_i32 words; /* that a quad is loaded as; 0: its elements one by one */
};

HK_FN struct hk_quads hk_quads_get(const struct hk_rows *rows, hk_i64 d)
{
    const hk_i64 size = hk_size(rows->dtype);
    const hk_u64 places = hk_address(rows->base) | (hk_u64)rows->row;
    struct hk_quads out;

    out.base = rows->base;
    out.row = rows->row;
    out.channel = rows->channel;
    out.d = d;
    out.dtype = rows->dtype;
    out.words = rows->channel == 1 && d % HK_QUAD == 0 &&
                        (places & (hk_u64)(HK_QUAD * size - 1)) == 0
                    ? (hk_i32)size
                    : 0;
    return out;
}

/* call(words) with these as a constant. */
#define HK_BY_WORDS(words, call)                                                                   \
    do {                                                                                           \
        const hk_i32 hk_by_words = (words);                                                        \
                                                                                                   \
        if (hk_by_words == 4)                                                                      \
            call(4);                                                                               \
        else if (hk_by_words == 2)                                                                 \
            call(2);                                                                               \
        else if (hk_by_words == 1)                                                                 \
            call(1);                                                                               \
        else                                                                                       \
            call(0);                                                                               \
    } while (0)

/* Channels t .. t + 3 of a row; words: a constant, that of the rows. */
HK_INLINE void hk_quad_load(const int words, const struct hk_quads *quads,
                            HK_GLOBAL const char *row, hk_i64 t, struct hk_quad *to)
{
    const hk_i64 size = hk_size(quads->dtype);
    hk_u32 x[HK_QUAD];
    int j;

    if (words > 1) {
        hk_load_words(row + t * words, words, to->word);
    } else if (words == 1) {
        to->word[0] = *(HK_GLOBAL const hk_u32 *)(row + t);
    } else {
        HK_UNROLL
        for (j = 0; j < HK_QUAD; j++)
            x[j] = t + j < quads->d ? hk_bits_load(quads->dtype, row, (t + j) * quads->channel) : 0;
        to->word[0] = size == 4   ? x[0]
                      : size == 2 ? x[0] | x[1] << 16
                                  : x[0] | x[1] << 8 | x[2] << 16 | x[3] << 24;
        to->word[1] = size == 4 ? x[1] : x[2] | x[3] << 16;
        to->word[2] = x[2];
        to->word[3] = x[3];
    }
}

/* Its numbers, to a multiple of 16 bytes; dtype: a constant. */
HK_INLINE void hk_quad_put(hk_u32 dtype, const struct hk_quad *quad, HK_LOCAL float *to)
{
    const hk_i64 size = hk_size(dtype);
    float x[HK_QUAD];
    int j;

    HK_UNROLL
    for (j = 0; j < HK_QUAD; j++)
        x[j] = hk_bits_get(dtype, size == 4   ? quad->word[j]
                                  : size == 2 ? quad->word[j / 2] >> j % 2 * 16
                                              : quad->word[0] >> j * 8);
    hk_local_put4(to, x);
}

#endif
