/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: a group of 16 columns and HK_ROWS / HK_TR lines of threads on a strip of
 * HK_GROUP_ROWS query rows. Thread (x, y) has rows y * HK_TR + r, of a block keys x + 16 * c, so
 * that the 16 partial sums of a row are the 16 threads of its line, and of a pass the channels
 * hk_channel(x, c). Thread i < HK_ROWS looks after row i: its reach and its maximum.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_H

#if HK_ONE_RANGE
#define HK_PLAIN 1
#endif
#ifndef HK_FLAT         /* walk.h */
#if HK_PROCESSOR
#define HK_FLAT 1
#else
#define HK_FLAT 0
#endif
#endif
#ifndef HK_SCALES
#define HK_SCALES 0
#endif
#ifndef HK_FEW
#define HK_FEW 0
#endif
#ifndef HK_OF
#define HK_OF 0
#endif
#if HK_FEW
#define HK_ROWS HK_PART_ROWS
#define HK_TR 1
/* Blocks of a step; fewer where local memory is short. */
#define HK_BLOCKS (HK_GROUP_ROWS < 64 || HK_LARGE ? 2 : 4)
#else
#define HK_BLOCKS 1
#define HK_PLACES HK_BLOCK
#define HK_LOOKING HK_THREADS
#define HK_ROWS HK_GROUP_ROWS
#define HK_TC (HK_WIDTH / 16)           /* channels of a thread: 4 or 8 */
#if HK_GROUP_SUMS * 16 >= 8 * HK_WIDTH
#define HK_TR 8                         /* rows of a thread */
#else
#define HK_TR 4
#endif
#endif
#ifndef HK_CUT_JOIN
#define HK_CUT_JOIN 0
#endif
#define HK_CUTS (!HK_ONE_RANGE && !HK_FEW && !HK_MATRIX)        /* strips may be cut (cuts.h) */
#define HK_LISTS (HK_CUTS && HK_PLAIN)  /* a strip may have lists of its rows (listed.h) */
#define HK_BIASES (HK_CUTS && !HK_PLAIN)        /* by distances (group_stretch.h) */
#define HK_TR_STEP (HK_TR < 4 ? HK_TR : 4)
#ifndef HK_THREADS
#define HK_THREADS (16 * HK_ROWS / HK_TR)
#endif
#if HK_MATRIX || (HK_FEW && HK_SCALES && HK_LARGE && HK_GROUP_ROWS < 64)
#define HK_MUCH_LOCAL 1
#endif
#define HK_HAS_SHARED 1
#define HK_IN_REGISTERS 1       /* what a thread has: no index that is computed may find it */
#define HK_SUB_SPACE HK_GLOBAL
#define HK_VIEW_SPACE HK_LOCAL
#define HK_TASK_SPACE HK_LOCAL
#include "bias.h"
#include "finish.h"
#include "matrix.h"
#include "parts.h"
#include "tasks.h"

/* Channels of Q that local memory holds; those of wider rows take turns in every block. */
#if HK_FEW
#define HK_KEPT (HK_GROUP_ROWS < 64 && HK_LARGE ? 32 : 128)
#elif HK_ONE_RANGE
#define HK_KEPT (HK_GROUP_SUMS < 32 ? 128 : HK_WIDTH)   /* there is no wider kernel */
#else
#define HK_KEPT (HK_LARGE ? 32 : 64)
#endif
#if HK_ONE_RANGE
#define HK_REACHES 1                    /* ranges of a row in a sub-source */
#else
#define HK_REACHES HK_RANGES
#define HK_OWN_RANGES ((HK_RANGES * HK_ROWS + HK_LOOKING - 1) / HK_LOOKING)     /* a row's threads
                                                                                 * share them */
#endif
#define HK_SLICE 16                     /* channels of K staged at a time */
#define HK_KEYS (1024 / HK_WIDTH)       /* keys of V staged at a time */
#define HK_STEPS 4                      /* channels or keys that a turn of a product's loop takes */
#define HK_GROUP_KEYS 16                /* whose weights lie in local memory at a time */
#if HK_MATRIX
#include "mma_group.h"
#elif HK_FEW
#include "few_group.h"
#else
#define HK_Q_LINE HK_ROWS
#define HK_K_LINE (HK_BLOCK + 4)
#define HK_P_LINE (HK_ROWS + 4)
#if HK_ONE_RANGE
#define HK_RED_LINE 20                  /* lines begin at different banks */
#else
#define HK_RED_LINE 16                  /* the whole fits twice into 64 KiB */
#endif
#endif
#define HK_NO_BLOCK ((hk_i64)1 << 62)
#define HK_NO_ROW (-HK_NO_BLOCK)
#define HK_REMOVED 0x80000000u          /* as a weight: -0; others are +0 or more, or NaN */

/* Elements of a slice that a thread stages: units of neighbours, each loaded at once. */
#define HK_STAGED (1024 / HK_THREADS)
#define HK_HALVES (HK_KV == 2 || HK_KV == 3)    /* rows of f16 or bf16 */
#if HK_MATRIX
#define HK_UNIT 8
#elif HK_FEW
#define HK_UNIT (HK_HALVES ? 8 : 4)
#define HK_UNIT_WORDS 4
#elif HK_HALVES
#define HK_UNIT (HK_STAGED < 8 ? HK_STAGED : 8)
#define HK_UNIT_WORDS (HK_UNIT / 2)
#else
#define HK_UNIT 4
#define HK_UNIT_WORDS 4
#endif
#define HK_UNITS (HK_STAGED / HK_UNIT)

#if HK_SCALES
#define HK_V_GROUPS (HK_WIDTH / HK_BLOCK_CHANNELS) /* of a pass, of the smallest groups */
/* Rows with scales (group_scales.h). */
struct hk_group_scales {
#if HK_FEW
    float v[HK_SLAB_KEYS * HK_V_GROUPS], v_low[HK_SLAB_KEYS * HK_V_GROUPS]; /* [group][key] */
#else
    float k[HK_BLOCK], k_low[HK_BLOCK]; /* of the group at hand: scales, minima */
    float v[HK_KEYS * HK_V_GROUPS], v_low[HK_KEYS * HK_V_GROUPS]; /* of the keys at hand */
#endif
    hk_i64 k_at[HK_PLACES], v_at[HK_PLACES]; /* of scales that lie apart: elements */
};
#endif

#if HK_BIASES
/* How scores meet a bias: products of entries by distance, what lies in a stretch, one by one. Each
 * has a word of its own: a compiler that knew them for branches of one choice would keep the scores
 * of all side by side in registers. */
enum { HK_WAY_DOT, HK_WAY_STRETCH, HK_WAY_SLOWLY, HK_WAYS };

/* Coordinates of the rows and of a block's keys, and distances from there to the last row and from
 * the first key. */
struct hk_distances {
    hk_i64 q[HK_ROWS], k[HK_BLOCK];
    hk_i32 from_row[HK_ROWS], to_key[HK_BLOCK];
    float factor[HK_ROWS];              /* of what a bias gives to a row */
};
#endif

struct hk_shared {
#if HK_MATRIX
    union hk_mma_inputs in;
    struct hk_mma_shared mma;
#elif HK_FEW
    /* Read and written four floats at a time. */
    float q[HK_KEPT * HK_Q_LINE];       /* [channel][row] */
    float p[HK_PLACES * HK_ROWS];       /* scores, y and then weights: hk_few_place */
    HK_FEW_INPUTS in;
    union hk_few_outputs out;
#if HK_SCALES
    struct hk_group_scales scales;
#endif
    struct hk_few_shared few;
#else
    /* Read and written four floats at a time. */
    float q[HK_KEPT * HK_Q_LINE];       /* [channel][row] */
    union {
        float k[HK_SLICE * HK_K_LINE];  /* [channel][hk_key_place] */
        float v[HK_KEYS * HK_WIDTH];    /* [key][channel] */
        hk_u32 rows[HK_KEYS * HK_ROWS]; /* of V: [place][row of the group] */
        struct {                        /* of a sub-source that opens: before anything is staged */
            hk_i64 lo[HK_ROWS * HK_REACHES], hi[HK_ROWS * HK_REACHES];
        } reach;
#if HK_BIASES
        struct hk_distances distances;
#endif
    } in;
    union {
        float red[HK_ROWS * HK_RED_LINE];       /* what the threads of a row's line have */
        hk_i32 entry[HK_ROWS * HK_RED_LINE];    /* of a table, by distance */
        float p[HK_GROUP_KEYS * HK_P_LINE];        /* weights: [key][row] */
        hk_u32 parts[2 * HK_THREADS];   /* what threads' ranges hold of a block: words in halves */
    } out;
#endif
    float m[HK_ROWS], w[2 * HK_ROWS];   /* of rows: reference, factors of sums */
#if HK_SCALES && !HK_FEW
    struct hk_group_scales scales;
#endif
    HK_GLOBAL char *buffer[HK_BUFFERS];
    hk_u32 item[4];
    hk_i64 value[HK_VALUE_SOURCES + HK_BUFFERS];        /* a source has two buffers at least */
    struct hk_task task;
    hk_i64 keys[HK_PLACES];             /* key index of each place, if available, and its rows: */
    hk_i64 k_at[HK_PLACES], v_at[HK_PLACES];    /* elements from the bases, or HK_NO_ROW */
    hk_u32 masks[HK_BLOCKS * 2 * HK_ROWS];      /* what a row sees of a block */
    hk_i64 hull_lo[HK_REACHES], hull_hi[HK_REACHES];
    hk_i64 index[HK_ROWS], head[HK_ROWS], q_pos[HK_ROWS];
    /* The walk over windows of rows, sources, their sub-sources and blocks; written by thread 0. */
    struct hk_matrix k_rows, v_rows;    /* of the source at hand */
    hk_i64 begin, len;                  /* its keys */
    hk_i64 residue;
    hk_i64 block, chunk, next;          /* next: the block behind, HK_NO_BLOCK: none */
    hk_i32 window, windows;             /* a window: all rows, or one where they do not agree */
    hk_i32 window_first, window_end;
    hk_u32 source, sub;                 /* sub: of the source */
    hk_u32 in_sub, opens;               /* a sub-source is being walked; it is new */
    hk_u32 works, ends, begins, done;   /* there is a block; a chunk ends, begins; all is done */
    hk_u32 k_wide, v_wide;              /* units lie at addresses that are loaded at once */
    hk_u32 active[HK_ROWS];             /* 0: no row; 1: absent, sees nothing; 2: a row */
    hk_u32 available[2 * HK_BLOCKS], any[2 * HK_BLOCKS];        /* of a block: words in halves */
    hk_u32 poison, raised;              /* V not finite; some row's reference has risen */
    hk_u32 has_q, reserved;             /* Q is in local memory */
#if !HK_ONE_RANGE
    hk_u32 all[HK_ROWS];
    hk_i64 limit[HK_ROWS];              /* as in struct hk_reach */
    struct hk_sub_view views[HK_SUBS];
#endif
#if HK_CUTS
    struct hk_few_shared few;
#if HK_BIASES
    hk_i32 first_row, last_row;         /* of those that are no longer than the item */
    hk_u32 uneven;                      /* coordinates are not what they are taken for */
    hk_u32 way[HK_WAYS];                /* 1: that way scores meet the bias at hand */
#endif
    hk_u32 cut, apart;                  /* 1: the group has a part of the strip; rows have lists of
                                         * their own (listed.h) */
    hk_u32 staged, reserved_2;          /* 1: they have not: a word of its own, as `way` has */
#endif
};

#if !HK_MATRIX && !HK_FEW
#define HK_REACH_STAYS 0
/* What a thread keeps. */
struct hk_mine {
    float s[HK_TR][4];
    float o[HK_TR][HK_TC], acc_o[HK_TR][HK_TC];
    float l[HK_TR], acc_l[HK_TR];
#if HK_BIASES
    hk_u32 gone;                        /* bit 4 * r + c: a bias has removed the key of a score */
#endif
#if HK_SCALES
    float total[HK_TR][4];       /* s over the groups that are done */
    float sum[HK_TR];            /* of Q over the group at hand, where it has minima */
    float low[HK_TR][HK_TC / 4]; /* sums of minima of V; four channels are of one group */
#endif
    hk_u32 next[HK_UNITS * HK_UNIT_WORDS];      /* of the next slice */
    /* Rows of K and channels of V that the thread stages; 0: none. */
    HK_GLOBAL const char *k_from[HK_UNITS], *v_from;
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

/* A strip at work. */
struct hk_group {
    const struct hk_call *call;
    HK_LOCAL struct hk_shared *shared;
    HK_LOCAL const struct hk_task *task;
    hk_i64 pass;                        /* first channel of V */
#if HK_CUT_JOIN
    hk_i32 rows_before;
#endif
#if HK_FEW
    hk_i32 number;                      /* of the block at hand among those of a step */
#endif
};

/* ---- the block at hand, one of those of a step ---- */

HK_FN hk_i32 hk_number(const struct hk_group *g)
{
#if HK_FEW
    return g->number;
#else
    (void)g;
    return 0;
#endif
}

HK_FN hk_i64 hk_block_of(const struct hk_group *g)
{
#if HK_FEW
    return g->shared->few.blocks[g->number];
#else
    return g->shared->block;
#endif
}

/* Where place i of it is among all of them, and row i of what is kept by block and row. */
HK_FN hk_i32 hk_place(const struct hk_group *g, hk_i32 i)
{
    return hk_number(g) * HK_BLOCK + i;
}

HK_FN hk_i32 hk_line(const struct hk_group *g, hk_i32 i)
{
    return hk_number(g) * HK_ROWS + i;
}

/* Channel c of thread x, from the first of the pass: four neighbours each. */
HK_FN hk_i32 hk_channel(hk_i32 x, hk_i32 c)
{
    return c / 4 * 64 + x * 4 + c % 4;
}

HK_FN hk_u64 hk_joined(HK_LOCAL const hk_u32 *halves)
{
    return (hk_u64)halves[1] << 32 | halves[0];
}

HK_FN void hk_or_mask(HK_LOCAL hk_u32 *halves, hk_u64 mask)
{
    if ((hk_u32)mask)
        hk_local_or(&halves[0], (hk_u32)mask);
    if ((hk_u32)(mask >> 32))
        hk_local_or(&halves[1], (hk_u32)(mask >> 32));
}

HK_FN HK_GLOBAL const struct hk_sub *hk_group_sub(const struct hk_group *g)
{
    return hk_subs(g->call, g->call->sources + g->shared->source) + g->shared->sub;
}

#include "group_strip.h"

#endif
