/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for few rows: what lies in local memory and what a thread keeps (group.h and parts.h
 * have the rest). A step has up to HK_BLOCKS blocks of one chunk, one behind the other. A thread
 * has scores of one of their keys; of softmax (x, y) has row y, of a block keys x + 16 * c, of
 * every second block; of V it has a channel and half of the rows.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_FEW_GROUP_H
#define HEED_BACKENDS_KERNELS_ATTN_FEW_GROUP_H

#define HK_PLACES (HK_BLOCKS * HK_BLOCK)
#define HK_LINES (HK_ROWS * 16)         /* threads of softmax on one block */
#define HK_LOOKING (HK_THREADS / HK_BLOCKS)     /* threads that look at one block */
#define HK_Q_LINE HK_ROWS
#define HK_RED_LINE 16
#define HK_FETCHED (4 * HK_PLACES / HK_THREADS) /* units of a slab that a thread stages */
#define HK_NEXT_WORDS (HK_KV ? 16 : 4 * HK_FETCHED)     /* of a slab, at most: K may be the key's */
#define HK_SLAB_WORDS (4 * HK_FETCHED * HK_THREADS)
#define HK_SLAB (4 * HK_UNIT)           /* channels of K in a slab */
#define HK_SLAB_KEYS (HK_FETCHED * HK_THREADS * HK_UNIT / HK_WIDTH)     /* keys of V */

/* Ranges stay in local memory; else, where there is little of it, threads have them. */
#define HK_REACH_STAYS (HK_ONE_RANGE || HK_BLOCKS == 4)
#if HK_REACH_STAYS
struct
#else
union
#endif
    hk_few_inputs {
    float slab[HK_SLAB_WORDS];          /* some channels of K or keys of V (few_stage.h) */
    struct {                            /* of a sub-source, or of one that opens */
        hk_i64 lo[HK_ROWS * HK_REACHES], hi[HK_ROWS * HK_REACHES];
    } reach;
};
#if HK_REACH_STAYS
#define HK_FEW_INPUTS struct hk_few_inputs
#else
#define HK_FEW_INPUTS union hk_few_inputs
#endif

union hk_few_outputs {
    float red[HK_BLOCKS * HK_ROWS * HK_RED_LINE];       /* what the threads of a row have */
    hk_u32 parts[2 * HK_THREADS];       /* what threads' ranges hold of a block: words in halves */
};

/* Of a block: it has keys that some row sees; some row's reference rises to it; keys that are there
 * are removed for a row; places have no key. */
enum { HK_MARK_ANY = 1u, HK_MARK_RAISED = 2u, HK_MARK_POISON = 4u, HK_MARK_GAPS = 8u };

/* What a thread keeps. */
struct hk_mine {
    float s[HK_TR][4];
    float k[HK_ROWS];                   /* scores of one key */
    float o[HK_ROWS / 2], l[HK_TR];
    hk_u32 next[2][HK_NEXT_WORDS];      /* of two slabs that are on their way: units as they lie */
#if HK_KV
    HK_GLOBAL const char *k_from;       /* the row of its key */
    hk_i32 k_end;                       /* its channels that are loaded so; 0: it has none */
#else
    hk_i64 k_row[HK_FETCHED];           /* rows of K that it stages, as k_at */
#endif
#if HK_SCALES
    float part[HK_ROWS];                /* of k: of the group of channels at hand */
    float sum[HK_ROWS];                 /* of Q over that group, where it has minima */
    float low[HK_ROWS / 2];             /* sums of minima of V */
    hk_u32 scale[2][2];                 /* a scale and a minimum of V in those slabs */
#endif
    /* Of row `id`, for the first HK_ROWS threads. */
    float m, acc_m;
    hk_u32 empty, has_partial;
#if !HK_REACH_STAYS
    hk_i64 lo[HK_OWN_RANGES], hi[HK_OWN_RANGES];        /* of row id % HK_ROWS: hk_reach_take */
#endif
};

/* Of a step. */
struct hk_few_step {
    hk_i32 rows, share;         /* of the strip; those whose outputs a thread has */
    hk_i32 d, width;            /* channels of K; of V in the pass */
    hk_i32 slabs, keys;         /* slabs of K, an even number, two at least; places of keys */
    hk_i32 stages;              /* Q has to be staged */
};

#endif
