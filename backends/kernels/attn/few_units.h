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

/* The thread's units of a slab: channels t on of rows that begin at[i] elements or pieces from the
 * base; those without a row keep what they have. */
HK_FN void hk_units_load(HK_LOCAL const struct hk_matrix *m, const hk_i64 *at, hk_i32 t,
                         hk_u32 *word)
{
    const hk_i64 size = hk_element_bytes(m);
    HK_GLOBAL const char *base = m->base + (HK_KV ? t * size : 0);
    hk_i32 i;

    HK_IS_GLOBAL(base);
#if HK_KV
    HK_UNROLL
    for (i = 0; i < HK_FETCHED; i++) {
        if (at[i] != HK_NO_ROW)
            hk_load_words(base + at[i] * size, 4, word + 4 * i);
    }
#else
#define HK_LOAD(NAME, name, number, elements, bytes, arg)                                          \
    if (m->dtype == HK_##NAME) {                                                                   \
        HK_UNROLL                                                                                  \
        for (i = 0; i < HK_FETCHED; i++) {                                                         \
            if (at[i] != HK_NO_ROW)                                                                \
                hk_fours_##name(base + at[i] * size, t, word + 4 * i);                             \
        }                                                                                          \
    } else
    HK_KV_TYPES(HK_LOAD, 0)
#undef HK_LOAD
        HK_UNREACHABLE();
#endif
}

/* From as they lie to what local memory has. */
HK_FN void hk_units_widen(HK_LOCAL const struct hk_matrix *m, hk_i32 t, hk_u32 *word)
{
#if HK_KV
    (void)m, (void)t, (void)word;
#else
    hk_i32 i, j;

    (void)t;            /* of numbers alone it does not matter */

#define HK_WIDEN(NAME, name, number, elements, bytes, arg)                                         \
    if (m->dtype == HK_##NAME) {                                                                   \
        HK_UNROLL                                                                                  \
        for (i = 0; i < HK_FETCHED; i++) {                                                         \
            float x[4];                                                                            \
                                                                                                   \
            HK_UNROLL                                                                              \
            for (j = 0; j < 4; j++)                                                                \
                x[j] = hk_four_##name(word + 4 * i, t, j);                                         \
            HK_UNROLL                                                                              \
            for (j = 0; j < 4; j++)                                                                \
                word[4 * i + j] = hk_word(x[j]);                                                   \
        }                                                                                          \
    } else
    HK_KV_TYPES(HK_WIDEN, 0)
#undef HK_WIDEN
        HK_UNREACHABLE();
#endif
}

/* Channels of rows that do not lie in units: one word of local memory; from `end` on they are 0. */
HK_FN float hk_number_slowly(HK_LOCAL const struct hk_matrix *m, hk_i64 at, hk_i64 t, hk_i64 end)
{
    return at == HK_NO_ROW || t >= end ? 0.0f : hk_row_element(m, at, t);
}

#if HK_HALVES
HK_FN hk_u32 hk_half_slowly(HK_LOCAL const struct hk_matrix *m, hk_i64 at, hk_i64 t, hk_i64 end)
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
