/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for many rows: strips that are far longer than the others are cut by keys, for one
 * group would walk over all keys when all others are done. A group takes some chunks of such a
 * strip and leaves what comes of each in the workspace, as strips of few rows do (parts.h): rows
 * HK_PART_ROWS * i on of the strip as those of task number i, so that few_join.cl joins them.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_CUTS_H
#define HEED_BACKENDS_KERNELS_ATTN_CUTS_H

#include "group_scales.h"

HK_FN int hk_is_cut(const struct hk_group *g)
{
#if HK_CUTS
    return g->shared->cut != 0;
#else
    (void)g;
    return 0;
#endif
}

#if HK_CUTS
/* Chunk number `number` of a row of the strip, among those of HK_PART_ROWS rows. */
HK_FN HK_GLOBAL char *hk_cut_chunk(const struct hk_group *g, hk_i32 row, hk_i64 number)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;

    return g->shared->few.chunks +
           (row / HK_PART_ROWS * plan->chunks + number) * plan->chunk_bytes;
}

/* Before the first step: no chunk of the part has a key yet. */
HK_FN void hk_cut_open(const struct hk_group *g, hk_i32 id, const struct hk_task_part *at)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i64 first = at->part < 0 ? 0 : at->part * plan->part_chunks;
    const hk_i64 end = at->part < 0 ? HK_NO_BLOCK / HK_CHUNK
                                    : hk_min(first + plan->part_chunks, plan->chunks);
    HK_GLOBAL char *chunks = hk_few_chunks(g->call, (hk_i64)at->cut * HK_CUT_TASKS(HK_ROWS));
    hk_i64 i;

    if (id == 0) {
        shared->cut = at->part < 0 ? 0 : 1;
        shared->few.first_chunk = first;
        shared->few.end_chunk = end;
        shared->few.chunks = chunks;
    }
    if (at->part < 0 || g->pass != 0 || id >= HK_ROWS)
        return;
    chunks += id / HK_PART_ROWS * plan->chunks * plan->chunk_bytes;
    HK_NO_UNROLL
    for (i = first; i < end; i++)
        hk_few_kept(chunks + i * plan->chunk_bytes)[id % HK_PART_ROWS].joined = 0.0f;
}

/* What came of a chunk, before thread 0 knows of the next. */
HK_PIECE void hk_cut_leave(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    const hk_i64 number = g->shared->few.number, d_v = g->call->plan->d_v;
    hk_i32 r, c;

    HK_MARK(cold);
#if HK_SCALES
    hk_lows_join(me);
#endif
    if (id < HK_ROWS && g->pass == 0) {
        HK_GLOBAL struct hk_kept *kept = hk_few_kept(hk_cut_chunk(g, id, number));

        kept[id % HK_PART_ROWS].m = me->m;
        kept[id % HK_PART_ROWS].joined = me->empty ? 0.0f : 1.0f;
    }
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const hk_i32 row = id / 16 * HK_TR + r;
        HK_GLOBAL char *chunk = hk_cut_chunk(g, row, number);

        if (g->pass == 0)
            hk_few_l(chunk, row % HK_PART_ROWS)[id % 16] = me->l[r];
        HK_UNROLL
        for (c = 0; c < HK_TC; c++) {
            const hk_i64 t = g->pass + hk_channel(id % 16, c);

            if (t < d_v)
                hk_few_o(g->call, chunk, row % HK_PART_ROWS)[t] = me->o[r][c];
        }
    }
}
#endif

#endif
