/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for few rows: which rows a group has. Of keys that all items share it takes the rows
 * of several items, one item behind the other, as far as there is room; their sums go to chunks of
 * each item's own strip, so that what joins them (few_join.cl) knows nothing of this.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_FEW_ITEMS_H
#define HEED_BACKENDS_KERNELS_ATTN_FEW_ITEMS_H

#include "few_softmax.h"

/* Chunk `number` of the strip that row i of the group is of: the next item's lies before. */
HK_FN HK_GLOBAL char *hk_few_chunk(const struct hk_group *g, hk_i32 i, hk_i64 number)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    const hk_i64 item = i / g->shared->few.item_rows;

    return g->shared->few.chunks + (number - item * plan->chunks) * plan->chunk_bytes;
}

/* Its place among the rows of that strip. */
HK_FN hk_i32 hk_few_row(const struct hk_group *g, hk_i32 i)
{
    return i % g->shared->few.item_rows;
}

/* Items that a group takes of a part whose task is one of item b; 0: another group does. */
HK_FN hk_i32 hk_few_items(HK_GLOBAL const struct hk_plan *plan, hk_i64 b, hk_u32 part)
{
    const hk_i64 first = part * plan->part_chunks,
                 end = hk_min(first + plan->part_chunks, plan->chunks);

    if (plan->together == 1 || first < plan->common_first || end > plan->common_end)
        return 1;
    if ((hk_u32)b % (hk_u32)plan->together != 0)
        return 0;
    return (hk_i32)hk_min(plan->together, plan->n_batch - b);
}

/* A part of a task: no row is there yet. */
HK_FN void hk_part_begin(const struct hk_group *g, hk_i32 id, hk_u32 task, hk_u32 part,
                         hk_i32 items)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL struct hk_shared *shared = g->shared;

    if (id < HK_ROWS)
        hk_row_close(g, id);
    if (id == 0) {
        shared->few.first_chunk = part * plan->part_chunks;
        shared->few.end_chunk =
            hk_min(shared->few.first_chunk + plan->part_chunks, plan->chunks);
        shared->few.chunks = hk_few_chunks(g->call, task);
        shared->few.rows = 0;
        shared->few.item_rows = items > 1 ? (hk_i32)hk_part_rows(plan) : HK_ROWS;
    }
}

/* The rows of the item at hand, number `item` of the group's: no chunk has a key of theirs yet. */
HK_FN void hk_part_rows_open(const struct hk_group *g, hk_i32 id, hk_i32 item)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 before = item * shared->few.item_rows;
    const hk_i32 rows = (hk_i32)(g->task->count * plan->strips.stack);
    hk_i64 i;

    if (id >= before && id < before + rows) {
        hk_row_open_as(g, id, id - before);
        shared->few.q_at[id] = hk_batch_offset(g->call, plan->q.stride, g->task->b);
        HK_NO_UNROLL
        for (i = shared->few.first_chunk; g->pass == 0 && i < shared->few.end_chunk; i++)
            hk_few_kept(hk_few_chunk(g, id, i))[hk_few_row(g, id)].joined = 0.0f;
    }
    if (id == 0 && before + rows > shared->few.rows)
        shared->few.rows = before + rows;
}

#endif
