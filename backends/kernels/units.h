/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The matrix unit of this compilation: its fragments (dialect_mma.h) and what runs it.
 */
#ifndef HEED_BACKENDS_KERNELS_UNITS_H
#define HEED_BACKENDS_KERNELS_UNITS_H

#include "numerics.h"

#include "dialect_mma.h"
#if HK_MINE == 1
#include "dialect_units.h"
#else
#include "dialect_model.h"
#endif

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
