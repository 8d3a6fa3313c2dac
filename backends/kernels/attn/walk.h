/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: the walk of a group over windows of rows, sources, sub-sources and blocks, as
 * one loop. Thread 0 moves on, the others read in local memory where it is. HK_FLAT: every turn
 * has the same barriers, whatever there is to do, because branches around barriers are what
 * compilers of OpenCL for processors get wrong; elsewhere barriers that separate nothing are left
 * out.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_WALK_H
#define HEED_BACKENDS_KERNELS_ATTN_WALK_H

#include "group_reach.h"
#if HK_ONE_RANGE
#include "range.h"
#else
#include "ranges.h"
#endif

#if HK_BIASES
/* The first and the last row of the item, if there are any. */
HK_FN void hk_rows_ends(const struct hk_group *g)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_i32 i;

    shared->first_row = -1;
    shared->last_row = 0;
    HK_NO_UNROLL
    for (i = 0; i < HK_ROWS; i++) {
        if (shared->active[i] != 2)
            continue;
        shared->last_row = i;
        if (shared->first_row < 0)
            shared->first_row = i;
    }
}
#endif

/* Before the first source of the first window. */
HK_FN void hk_walk_begin(const struct hk_group *g)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 first = hk_rows_first(g);

#if HK_BIASES
    hk_rows_ends(g);
#endif
    shared->windows = first < 0 ? 0 : hk_rows_agree(g, first) ? 1 : HK_ROWS;
    shared->window = -1;
    shared->window_first = first < 0 ? 0 : first;
    shared->window_end = HK_ROWS;
    shared->source = g->call->plan->n_sources;
    shared->sub = 0;
    shared->in_sub = shared->done = shared->has_q = 0;
    shared->chunk = -1;
}

/* 0: the source has no keys or no heads: nothing to be walked. */
HK_FN int hk_walk_source(const struct hk_group *g)
{
    const struct hk_call *call = g->call;
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_u32 s = shared->source;
    HK_GLOBAL const struct hk_source *source = call->sources + s;
    const struct hk_cut keys = hk_keys_cut(call, source, g->task->b);

    HK_MARK(cold);
    if (source->heads == 0 || keys.len == 0)
        return 0;
    shared->begin = keys.begin;
    shared->len = keys.len;
#if HK_CUTS
    shared->apart = source->apart;
    shared->staged = !source->apart;
#endif
    hk_views_get(g, source);
    return source->n_subs > 0;
}

/* To the next sub-source there is; 0: that was all. */
HK_FN int hk_walk_sub(const struct hk_group *g)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_u32 n = g->call->plan->n_sources;

    if (shared->source < n && shared->sub + 1 < g->call->sources[shared->source].n_subs) {
        shared->sub++;
        return 1;
    }
    shared->sub = 0;
    for (;;) {
        if (shared->source + 1 < n) {
            shared->source++;
        } else {
            shared->window++;
            if (n == 0 || shared->window >= shared->windows)
                return 0;
            shared->source = 0;
            if (shared->windows > 1) {
                shared->window_first = shared->window;
                shared->window_end = shared->window + 1;
            }
        }
        if (shared->active[shared->window_first] && hk_walk_source(g))
            return 1;
    }
}

HK_FN hk_i64 hk_chunk_of(hk_i64 block)
{
    return (hk_i64)((hk_u64)block / HK_CHUNK);  /* no less than 0: a shift */
}

/* First half of a step: to the next block of the sub-source, or to the next sub-source, of which
 * the rows' reach has then to be found. */
HK_FN void hk_walk_on(const struct hk_group *g)
{
    HK_LOCAL struct hk_shared *shared = g->shared;

    HK_MARK(walk);
    shared->opens = shared->works = shared->ends = shared->begins = 0;
    if (shared->in_sub) {
        shared->block = shared->next;
        shared->works = shared->in_sub = shared->block != HK_NO_BLOCK;
        shared->ends = !shared->works || hk_chunk_of(shared->block) != shared->chunk;
        shared->begins = shared->works && shared->ends;
    }
    if (!shared->in_sub) {
        HK_MARK(cold);
        shared->opens = (hk_u32)hk_walk_sub(g);
        shared->done = !shared->opens;
    }
}

#if HK_FEW || HK_CUTS
/* The part's first block of a sub-source that is new, and the end of them. */
HK_FN hk_i64 hk_part_enter(const struct hk_group *g)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const struct hk_chunks chunks = hk_chunks_get(g->call, g->call->sources + shared->source,
                                                  shared->sub, shared->len);
    const hk_i64 end = hk_min(shared->few.end_chunk - chunks.first, chunks.count);

    shared->few.first_number = chunks.first;
    shared->few.end_block = end * HK_CHUNK;
    return hk_max(shared->few.first_chunk - chunks.first, 0) * HK_CHUNK;
}
#endif

#if HK_FEW
/* The step begins with the walk's block, if it has one. */
HK_FN void hk_blocks_begin(HK_LOCAL struct hk_shared *shared)
{
    shared->few.blocks[0] = shared->block;
    shared->few.count = shared->works;
}

#if HK_ONE_RANGE
/* Blocks that follow each other join those of the step, as long as they are of one chunk. */
HK_FN void hk_blocks_follow(HK_LOCAL struct hk_shared *shared)
{
    const hk_i64 first = shared->block;
    const hk_i64 last = (hk_i64)(((hk_u64)shared->hull_hi[0] - 1) / HK_BLOCK);
    const hk_i64 end = hk_min(last + 1, shared->few.end_block);
    const hk_i64 n = hk_min(hk_min(end, (hk_chunk_of(first) + 1) * HK_CHUNK) - first, HK_BLOCKS);
    hk_i32 j;

    HK_UNROLL
    for (j = 1; j < HK_BLOCKS; j++)
        shared->few.blocks[j] = first + j;
    shared->few.count = n;
    shared->next = first + n < end ? first + n : HK_NO_BLOCK;
}
#else
/* Does a block join those of the step? They are of one chunk. */
HK_FN int hk_blocks_take(HK_LOCAL struct hk_shared *shared, hk_i64 block)
{
    if (block == HK_NO_BLOCK || shared->few.count == HK_BLOCKS ||
        hk_chunk_of(block) != hk_chunk_of(shared->block))
        return 0;
    shared->few.blocks[shared->few.count++] = block;
    return 1;
}
#endif
#endif

/* Second half: to the first block of a sub-source that is new; and where the one behind is. */
HK_FN void hk_walk_in(const struct hk_group *g)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_i64 at = shared->opens ? 0 : shared->block + 1;
    hk_u32 first = shared->opens;

#if HK_FEW || HK_CUTS
    if (first)
        at = hk_part_enter(g);
#endif
#if HK_FEW
    hk_blocks_begin(shared);
#endif
    HK_NO_UNROLL                        /* one text: what finds a block may be long */
    while (first || shared->works) {
        hk_i64 found;

#if HK_FEW && HK_ONE_RANGE
        if (!first) {
            hk_blocks_follow(shared);
            break;
        }
#endif
        found = hk_group_next(g, at);
#if HK_FEW || HK_CUTS
        if (found >= shared->few.end_block)
            found = HK_NO_BLOCK;
#endif
        if (!first) {
#if HK_FEW && !HK_ONE_RANGE
            if (hk_blocks_take(shared, found)) {
                at = found + 1;
                continue;
            }
#endif
            shared->next = found;
            break;
        }
        shared->block = found;
        shared->works = shared->in_sub = shared->begins = found != HK_NO_BLOCK;
        at = found + 1;
        first = 0;
#if HK_FEW
        hk_blocks_begin(shared);
#endif
    }
    if (shared->works) {
        shared->chunk = hk_chunk_of(shared->block);
#if HK_FEW || HK_CUTS
        shared->few.number = shared->few.first_number + shared->chunk;
#endif
    }
}

/* ---- a step ---- */

/* What the kernel's own threads do in a step: a thread's part before a new sub-source's reach is
 * known or where a chunk ends, when it is known, before the block; and the block, where there may
 * be none. */
HK_FN void hk_step_row(const struct hk_group *g, hk_i32 id, struct hk_mine *me);
HK_FN void hk_step_reach(const struct hk_group *g, hk_i32 id, struct hk_mine *me);
HK_FN void hk_step_chunk(const struct hk_group *g, hk_i32 id, struct hk_mine *me);
HK_FN void hk_block_attend(const struct hk_group *g, struct hk_mine *mine);

#if !HK_FEW
/* What every row sees of the block whose places are open: shared->any and masks; nothing if there
 * is no block. */
HK_FN void hk_block_masks(const struct hk_group *g, struct hk_mine *mine)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_THREAD_ID(id);

    HK_BARRIER();
    HK_EACH(id) {
        if (id < HK_ROWS) {
            const hk_u64 mask = shared->works ? hk_mask_get(g, id, &mine[HK_OWN(id)]) : 0;

            shared->masks[2 * id] = (hk_u32)mask;
            shared->masks[2 * id + 1] = (hk_u32)(mask >> 32);
            hk_or_mask(shared->any, mask);
        }
    }
    HK_BARRIER();
}

#if !HK_MATRIX
/* Which keys the block's places are and what every row sees of them. */
HK_FN void hk_block_look(const struct hk_group *g, struct hk_mine *mine)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_THREAD_ID(id);

    HK_MARK(walk);
    HK_EACH(id) {
        hk_mask_part(g, id, &mine[HK_OWN(id)]);
        if (id < HK_BLOCK) {
            shared->k_at[id] = shared->v_at[id] = HK_NO_ROW;    /* also where there is no block */
            if (shared->works && hk_place_open(g, id))
                hk_local_or(&shared->available[id / 32], 1u << id % 32);
        }
    }
    hk_block_masks(g, mine);
}
#endif
#endif

/* Does another thread than 0 have to do something before the walk goes on to its block? */
HK_FN int hk_walk_stops(HK_LOCAL const struct hk_shared *shared)
{
    return shared->opens || shared->ends;
}

/* Where a sub-source is new or a chunk ends: what the threads do before the walk goes on. */
HK_FN void hk_step_stop(const struct hk_group *g, struct hk_mine *mine)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_THREAD_ID(id);

    HK_MARK(cold);
    HK_EACH(id) {
        if (shared->opens && id < HK_ROWS)
            hk_reach_row(g, hk_group_sub(g), id, &mine[HK_OWN(id)]);
        hk_step_row(g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (shared->opens && id < HK_REACHES)
            hk_reach_hull(g, id);
        hk_step_reach(g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id == 0 && hk_walk_stops(shared))
            hk_walk_in(g);
    }
    HK_BARRIER();
}

/* One step: the next block, if it has one. */
HK_FN void hk_step(const struct hk_group *g, struct hk_mine *mine)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_THREAD_ID(id);

    HK_BARRIER();
    HK_EACH(id) {
#if HK_FEW
        if (id < HK_BLOCKS)
            shared->few.marks[id] = 0;
#endif
        if (id == 0) {
            hk_walk_on(g);
            if (!hk_walk_stops(shared))
                hk_walk_in(g);
        }
        if (id < 2 * HK_BLOCKS)
            shared->available[id] = shared->any[id] = 0;
        if (id == 2)
            shared->poison = shared->raised = 0;
    }
    HK_BARRIER();
    if (HK_FLAT || hk_walk_stops(shared))
        hk_step_stop(g, mine);
    HK_EACH(id) {
        hk_step_chunk(g, id, &mine[HK_OWN(id)]);
    }
    hk_block_attend(g, mine);
}

#endif
