/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups that take some chunks of the keys of a strip: which ones, and where the sums of
 * chunks lie in the workspace until they are joined (few_join.cl).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_PARTS_H
#define HEED_BACKENDS_KERNELS_ATTN_PARTS_H

#include "call.h"

struct hk_few_shared {
#if HK_FEW
    float top[HK_BLOCKS * HK_ROWS];     /* what a block asks of its rows' references; NaN: none */
    float follow[HK_BLOCKS * HK_ROWS];  /* what it does to their sums, if it raised some: */
    float risen[HK_ROWS];               /* references behind the step */
    float joined[HK_ROWS];              /* 1: the chunk has a key of the row */
    hk_u32 marks[HK_BLOCKS];            /* HK_MARK_* */
    hk_u32 touched, reserved;           /* hk_plan_touch */
    hk_i64 blocks[HK_BLOCKS];           /* of the step, the first `count` of them */
    hk_i64 count;
    hk_i64 q_at[HK_ROWS];               /* of rows: elements of Q before their item */
    hk_i32 rows, item_rows;             /* of the group; those of an item, if it has several */
#endif
    hk_i64 first_chunk, end_chunk;      /* of the part, among the chunks of all sub-sources */
    hk_i64 first_number, end_block;     /* of the sub-source: number of its chunk 0; blocks of the
                                         * part end there */
    hk_i64 number;                      /* of the chunk at hand */
    HK_GLOBAL char *chunks;             /* those of the strip, in the workspace */
};

/* ---- chunks in the workspace: hk_kept [row], then floats [row][16] and [row][channel] ---- */

HK_FN HK_GLOBAL char *hk_few_chunks(const struct hk_call *call, hk_i64 task)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;

    return call->work + plan->chunks_at + task * plan->chunks * plan->chunk_bytes;
}

HK_FN HK_GLOBAL struct hk_kept *hk_few_kept(HK_GLOBAL char *chunk)
{
    return (HK_GLOBAL struct hk_kept *)chunk;
}

HK_FN HK_GLOBAL float *hk_few_l(HK_GLOBAL char *chunk, hk_i64 row)
{
    return (HK_GLOBAL float *)(hk_few_kept(chunk) + HK_PART_ROWS) + row * 16;
}

HK_FN HK_GLOBAL float *hk_few_o(const struct hk_call *call, HK_GLOBAL char *chunk, hk_i64 row)
{
    return hk_few_l(chunk, HK_PART_ROWS) + row * call->plan->d_v;
}

#endif
