/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for few rows: the units of K and V that a thread stages. A unit is HK_UNIT neighbours
 * of a row: as it lies four words at most, in local memory four. In kernels for halves that is the
 * same; in those that ask for the type a number has a word there, without its scale.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_FEW_UNITS_H
#define HEED_BACKENDS_KERNELS_ATTN_FEW_UNITS_H

#include "group_softmax.h"

/* Intel's compiler copies what a load behind a branch brings, and so waits for it: there units
 * without a row, which nobody uses, are loaded as well, from the plan. HK_LOAD_ANYWAY is for
 * tests. */
#if HK_KV && (HK_LEAST_LANES > 0 || HK_LOAD_ANYWAY)
#define HK_ANYWAY 1
#else
#define HK_ANYWAY 0
#endif

#if !HK_KV
/* Bytes from the beginning of a row to the unit of channels t on. */
HK_FN hk_i32 hk_unit_at(HK_LOCAL const struct hk_matrix *m, hk_i32 t)
{
    const hk_u32 dtype = hk_type_of(m->dtype);
    const hk_i32 size = (hk_i32)hk_size(dtype);

    if (HK_IN_BLOCKS(dtype)) {
        const hk_i32 head = hk_block_head_bytes(dtype);

        return (hk_i32)((hk_u32)t / HK_BLOCK_CHANNELS) * size + head + (t & (size - head - 1));
    }
    return HK_IN_PIECES(dtype) ? t / 2 * size : t * size;
}

/* A unit that lies there; `fifth`: bytes to the word of fifth bits. */
HK_FN void hk_unit_take(HK_LOCAL const struct hk_matrix *m, HK_GLOBAL const char *at, hk_i32 fifth,
                        hk_u32 *word)
{
    HK_GLOBAL const hk_u8 *bytes = (HK_GLOBAL const hk_u8 *)at;
    const hk_u32 dtype = hk_type_of(m->dtype);
    const hk_i32 size = (hk_i32)hk_size(dtype);

    if (HK_IN_BLOCKS(dtype)) {
        word[0] = hk_block_four(bytes);
        if (HK_IN_FIVES(dtype))
            word[1] = hk_block_four(bytes + fifth);
    } else if (HK_IN_PIECES(dtype)) {
        word[0] = *(HK_GLOBAL const hk_u16 *)at;
    } else if (size == 1) {
        word[0] = *(HK_GLOBAL const hk_u32 *)at;
    } else if (size == 2) {
        hk_load_words(at, 2, word);
    } else {
        hk_load_words(at, 4, word);
    }
}

/* The four numbers of a few bits of a unit, a byte each; t: the first one's channel. */
HK_FN hk_u32 hk_unit_digits(HK_LOCAL const struct hk_matrix *m, const hk_u32 *word, hk_i32 t)
{
    const hk_u32 dtype = hk_type_of(m->dtype);
    hk_u32 more = 0;

    if (!HK_IN_BLOCKS(dtype)) {              /* i4, whose sign bit is the highest of four */
        const hk_u32 two = (word[0] & 0xffu) | (word[0] & 0xff00u) << 8;

        return ((two & 0xf000fu) | (two & 0xf000f0u) << 4) ^ 0x08080808u;
    }
    if (HK_IN_FIVES(dtype))                  /* four bits, each to the lowest of a byte */
        more = (word[1] >> t % HK_BLOCK_CHANNELS & 15) * 0x204081u & 0x1010101u;
    return (word[0] >> t % HK_BLOCK_CHANNELS / 16 * 4 & 0xf0f0f0fu) | more << 4;
}
#endif

/* Units of rows that are not there: whatever the plan has. */
HK_FN HK_GLOBAL const char *hk_no_row(const struct hk_group *g)
{
    return (HK_GLOBAL const char *)g->call->plan;
}

/* The thread's units of a slab: channels t on of rows that begin at[i] elements or pieces from the
 * base; those without a row keep what they have, or get anything. */
HK_FN void hk_units_load(const struct hk_group *g, HK_LOCAL const struct hk_matrix *m,
                         const hk_i64 *at, hk_i32 t, hk_u32 *word)
{
    const hk_i64 size = hk_element_bytes(m);
#if HK_KV
    HK_GLOBAL const char *base = hk_byte(m->base, t * size);
#else
    HK_GLOBAL const char *base = hk_byte(m->base, hk_unit_at(m, t));
    const hk_i32 fifth = -(t & 15) - 4;
#endif
    hk_i32 i;

    (void)g;
    HK_IS_GLOBAL(base);
    HK_UNROLL
    for (i = 0; i < HK_FETCHED; i++) {
#if HK_ANYWAY
        hk_load_words(at[i] != HK_NO_ROW ? base + at[i] * size : hk_no_row(g), 4, word + 4 * i);
#else
        if (at[i] != HK_NO_ROW)
#if HK_KV
            hk_load_words(base + at[i] * size, 4, word + 4 * i);
#else
            hk_unit_take(m, base + at[i] * size, fifth, word + 4 * i);
#endif
#endif
    }
}

/* From as they lie to what local memory has. */
HK_FN void hk_unit_widen(HK_LOCAL const struct hk_matrix *m, hk_i32 t, hk_u32 *word)
{
#if HK_KV
    (void)m, (void)t, (void)word;
#else
    const hk_u32 dtype = hk_type_of(m->dtype);
    float x[4] = { 0 };
    hk_i32 j;

    if (HK_IN_DIGITS(dtype)) {
        const hk_u32 digits = hk_unit_digits(m, word, t);
        const float zero = hk_from_digit((hk_u32)hk_naught(dtype), 0);

        HK_UNROLL
        for (j = 0; j < 4; j++)
            x[j] = hk_sub(hk_from_digit(digits >> 8 * j & 255, 0), zero);
    } else if (HK_IN_SIGNED(dtype)) {
        HK_UNROLL
        for (j = 0; j < 4; j++)
            x[j] = hk_from_byte(word[0] >> 8 * j);
    } else {
#define HK_WIDEN(NAME, name, number, elements, bytes, arg)                                         \
    if (dtype == HK_##NAME) {                                                                      \
        HK_UNROLL                                                                                  \
        for (j = 0; j < 4; j++)                                                                    \
            x[j] = hk_four_##name(word, t, j);                                                     \
    } else
        HK_UNEVEN_TYPES(HK_WIDEN, 0)
#undef HK_WIDEN
            HK_UNREACHABLE();
    }
    HK_UNROLL
    for (j = 0; j < 4; j++)
        word[j] = hk_word(x[j]);
#endif
}

HK_FN void hk_units_widen(HK_LOCAL const struct hk_matrix *m, hk_i32 t, hk_u32 *word)
{
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < HK_FETCHED; i++)
        hk_unit_widen(m, t, word + 4 * i);
}

/* Channels of rows that do not lie in units: one word of local memory; from `end` on they are 0. */
HK_RARE float hk_number_slowly(HK_LOCAL const struct hk_matrix *m, hk_i64 at, hk_i64 t, hk_i64 end)
{
    return at == HK_NO_ROW || t >= end ? 0.0f : hk_row_element(m, at, t);
}

#if HK_HALVES
HK_RARE hk_u32 hk_half_slowly(HK_LOCAL const struct hk_matrix *m, hk_i64 at, hk_i64 t, hk_i64 end)
{
    HK_GLOBAL const hk_u16 *from = (HK_GLOBAL const hk_u16 *)m->base;

    return at == HK_NO_ROW || t >= end ? 0 : from[at + t * m->channel];
}
#endif

HK_FN void hk_words_put(HK_LOCAL float *to, const hk_u32 *word)
{
    float x[4];
    hk_i32 j;

    HK_UNROLL
    for (j = 0; j < 4; j++)
        x[j] = hk_float(word[j]);
    hk_local_put4(to, x);
}

#endif
