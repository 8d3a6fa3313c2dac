/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups that use a matrix unit: what lies in local memory and what a thread keeps (group.h
 * has the rest). A wave has HK_MMA_M rows of the strip, all keys of a block and all channels of the
 * pass. HK_SHARE threads of the wave share the softmax of row id / HK_SHARE.
 */
#ifndef HEED_BACKENDS_KERNELS_MMA_GROUP_H
#define HEED_BACKENDS_KERNELS_MMA_GROUP_H

#include "units.h"

#define HK_SHARE HK_MMA_SHARE(HK_MMA)
/* Words or floats of a line: 4 more than there are, so that the banks of neighbours differ. */
#define HK_K_LINE (HK_WIDTH / 2 + 4)
#define HK_V_LINE (HK_BLOCK / 2 + 4)
#define HK_P_LINE (HK_BLOCK / 2 + 4)
#define HK_S_LINE (HK_BLOCK + 4)
/* Weights of f16 are kept times 2^15, so that those above 2^-29 are normal (numerics.md, 11). */
#define HK_LIFT (HK_KV == 2 ? 15.0f : 0.0f)
#define HK_REMOVED_HALF 0x8000u         /* as a weight: -0 */

enum { HK_UNITS_OF_ROW = HK_WIDTH / 8 };        /* 16 bytes of a row of Q, K or V */

/* Pairs of halves are words; the first in the lower half. */
union hk_mma_inputs {
    hk_u32 q[HK_ROWS * HK_K_LINE];      /* [row][channel] */
    hk_u32 k[HK_BLOCK * HK_K_LINE];     /* [key][channel] */
    float s[HK_ROWS * HK_S_LINE];       /* scores: [row][key]; outputs: [row][channel] */
    hk_u32 v[HK_WIDTH * HK_V_LINE];     /* [channel][key] */
    struct {                            /* of a sub-source that opens */
        hk_i64 lo[HK_ROWS], hi[HK_ROWS];
    } reach;
};

struct hk_mma_shared {
    hk_u32 p[HK_ROWS * HK_P_LINE];      /* weights: [row][key] */
    float red[HK_THREADS];              /* what the threads of a row have */
};

/* What a thread keeps. */
struct hk_mine {
    struct hk_mma_a q[HK_WIDTH / 16], a;
    struct hk_mma_b b;
    struct hk_mma_c s[HK_BLOCK / HK_MMA_N], o[HK_WIDTH / HK_MMA_N];
    /* Of row id / HK_SHARE: reference, this thread's part of the sum of weights, is there a key? */
    float m, l;
    hk_u32 has_key;
    /* Of row `id`, for the first HK_ROWS threads. */
    hk_i64 lo, hi;
};

#endif
