/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The matrix unit of this compilation: its fragments (dialect_mma.h) and what runs it.
 */
#ifndef HEED_BACKENDS_KERNELS_DIALECT_UNITS_H
#define HEED_BACKENDS_KERNELS_DIALECT_UNITS_H

#include "../numerics.h"

#include "dialect_mma.h"
#if HK_MINE == 1
#include "dialect_units.h"
#else
#include "dialect_model.h"
#endif

/* Columns from `from` on. */
#ifndef HK_MMA_HAS_GET_B
HK_FN void hk_mma_get_b(HK_LOCAL const hk_u32 *from, hk_i32 line, hk_i32 lane, struct hk_mma_b *b)
{
    hk_i32 w;

    HK_UNROLL
    for (w = 0; w < HK_MMA_B_WORDS; w++)
        b->word[w] = from[hk_mma_b_column(lane, w) * line + hk_mma_b_term(lane, w) / 2];
}
#endif

/* The keys of the n-th tile of scores; `from`: the block's first. */
HK_FN void hk_mma_get_keys(HK_LOCAL const hk_u32 *from, hk_i32 line, hk_i32 lane, hk_i32 n,
                           struct hk_mma_b *b)
{
#if HK_MMA == 3 || HK_MMA == 5          /* those of others are neighbours */
    hk_i32 w;

    HK_UNROLL
    for (w = 0; w < HK_MMA_B_WORDS; w++)
        b->word[w] = from[hk_mma_key(n, hk_mma_b_column(lane, w)) * line +
                          hk_mma_b_term(lane, w) / 2];
#else
    hk_mma_get_b(from + n * HK_MMA_N * line, line, lane, b);
#endif
}

/* What a thread has of A: the weights of 16 keys, which lie where their scores lay. */
HK_FN void hk_mma_words(const struct hk_mma_c *s, hk_u32 *own)
{
    hk_i32 w;

    HK_UNROLL
    for (w = 0; w < HK_MMA_OWN_WORDS; w++) {
        const hk_i32 x = hk_mma_item(w, 0), y = hk_mma_item(w, 1);

        own[w] = hk_mma_pair(s[x / HK_MMA_ITEMS].x[x % HK_MMA_ITEMS],
                             s[y / HK_MMA_ITEMS].x[y % HK_MMA_ITEMS]);
    }
}

#endif
