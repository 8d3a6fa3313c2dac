/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups that use a matrix unit: what lies in local memory and what a thread keeps (group.h
 * has the rest). A wave has HK_MMA_M rows of the strip, all keys of a block and all channels of the
 * pass. What a thread holds of scores it also holds of weights, and of outputs the same rows.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_MMA_GROUP_H
#define HEED_BACKENDS_KERNELS_ATTN_MMA_GROUP_H

#include "../dialect/units.h"

/* Words or floats of a line: 4 more than there are, so that the banks of neighbours differ. */
#define HK_K_LINE (HK_WIDTH / 2 + 4)
#define HK_V_LINE (HK_BLOCK / 2 + 4)
#define HK_S_LINE (HK_BLOCK + 4)
/* Weights of f16 are kept times 2^15, so that those above 2^-29 are normal (numerics.md, 11). */
#define HK_LIFT (HK_KV == 2 ? 15.0f : 0.0f)

enum { HK_UNITS_OF_ROW = HK_WIDTH / 8 };        /* 16 bytes of a row of Q, K or V */

/* Pairs of halves are words; the first in the lower half. */
struct hk_mma_q {
    hk_u32 word[HK_ROWS * HK_K_LINE];   /* [row][channel] */
};

union hk_mma_inputs {
#if HK_MMA_KEEPS_Q
    struct hk_mma_q q;
#endif
    hk_u32 k[HK_BLOCK * HK_K_LINE];     /* [key][channel] */
    float s[HK_ROWS * HK_S_LINE];       /* outputs: [row][channel]; scores beside a V that is not
                                         * finite: [row][key] */
    struct {                            /* of a sub-source that opens */
        hk_i64 lo[HK_ROWS], hi[HK_ROWS];
    } reach;
};

struct hk_mma_shared {
#if !HK_MMA_KEEPS_Q
    struct hk_mma_q q;
#endif
    hk_u32 v[HK_WIDTH * HK_V_LINE];     /* [channel][key] */
};

/* Where Q lies in local memory, and what a thread keeps of its channels 16 * t on. */
#if HK_MMA_KEEPS_Q
#define HK_Q_PLACE in.q.word
#define HK_Q_STEP(t) q[t]
#else
#define HK_Q_PLACE mma.q.word
#define HK_Q_STEP(t) a
#endif

/* What a thread keeps. */
struct hk_mine {
#if HK_MMA_KEEPS_Q
    struct hk_mma_a q[HK_WIDTH / 16];
#endif
    struct hk_mma_a a;
    struct hk_mma_b b;
    struct hk_mma_c s[HK_BLOCK / HK_MMA_N], o[HK_WIDTH / HK_MMA_N];
    /* Of the rows whose items it holds: reference, this thread's part of the sum of weights. */
    float m[HK_MMA_HELD], l[HK_MMA_HELD];
    hk_u32 sent[HK_MMA_TRADED], got[HK_MMA_TRADED];
    /* Of row `id`, for the first HK_ROWS threads. */
    hk_i64 lo, hi;
};

#endif
