/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for few rows: what lies in local memory and what a thread keeps (group.h and parts.h
 * have the rest). Thread (x, y) has row y of softmax, of a block keys x + 16 * c; of V every row
 * before channel id.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_FEW_GROUP_H
#define HEED_BACKENDS_KERNELS_ATTN_FEW_GROUP_H

#define HK_Q_LINE HK_ROWS
#define HK_S_LINE (HK_BLOCK + 4)
#define HK_RED_LINE 16
#define HK_SLAB_LINE (64 + 4)    /* words of a key in local memory */
#define HK_FETCHED 8            /* units that a thread has on their way */

union hk_few_inputs {
    float s[HK_ROWS * HK_S_LINE];       /* scores of a block: [row][key] */
    struct {                            /* of a sub-source that opens */
        hk_i64 lo[HK_ROWS * HK_REACHES], hi[HK_ROWS * HK_REACHES];
    } reach;
};

union hk_few_outputs {
    float red[HK_ROWS * HK_RED_LINE];   /* what the threads of a row have */
    float p[HK_BLOCK * HK_ROWS];        /* weights: [key][row] */
    hk_u32 parts[2 * HK_THREADS];       /* what threads' ranges hold of a block: words in halves */
};

/* What a thread keeps. */
struct hk_mine {
    float s[HK_TR][4];
    float k[HK_ROWS / 2];               /* scores of one key */
    float o[HK_ROWS], l[HK_TR];
#if !HK_SCALES
    hk_u32 next[HK_FETCHED * 4];        /* of K or V: words of 16 bytes */
#else
    float part[HK_ROWS / 2];            /* of k: of the group of channels at hand */
    float sum[HK_ROWS / 2];             /* of Q over that group, where it has minima */
    float low[HK_ROWS];                 /* sums of minima of V */
#endif
    /* Of row `id`, for the first HK_ROWS threads. */
    float m, acc_m;
    hk_u32 empty, has_partial;
#if HK_ONE_RANGE
    hk_i64 lo, hi;
#else
    hk_i64 lo[HK_OWN_RANGES], hi[HK_OWN_RANGES];        /* of row id % HK_ROWS: hk_reach_take */
#endif
};

#endif
