/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: how a chunk of a strip begins and ends in the kernel that attends. Where the strip
 * is cut by keys its sums stay in the workspace (attend_join.cl), else they join those of the
 * chunks before (ends.h). Rows that share a list (lists.h) have chunks of their own.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_CHUNKS_H
#define HEED_BACKENDS_KERNELS_ATTN_CHUNKS_H

#include "ends.h"
#include "scales.h"

HK_FN void hk_chunk_begin(const struct hk_strip *st)
{
    const hk_i64 p = st->tiles * HK_R;
    const hk_vec zero = hkv_set(0.0f);
    hk_i64 i;

    for (i = 0; i < st->tiles; i++)
        st->begun[i] = 0;
    for (i = 0; i < p * HK_PARTIALS; i += HKV_LANES)
        hkv_store(st->partials + i, zero);
    for (i = 0; i < p; i++) {
        st->state[i].m = -HK_INFINITY;
        st->state[i].empty = 1;
    }
}

/* Sums and states are the worker's own. */
HK_FN void hk_chunk_own(struct hk_strip *st)
{
    struct hk_worker_layout at;

    hk_worker_find(st->call->plan, &at);
    st->o = (HK_GLOBAL float *)(st->scratch + at.o);
    st->partials = (HK_GLOBAL float *)(st->scratch + at.partials);
    st->state = (HK_GLOBAL struct hk_row_state *)(st->scratch + at.state);
}

/* Chunk number `chunk` of the strip begins, for the rows at hand. Tiles write all of their rows, so
 * those of some rows alone are not what lies in the workspace. */
HK_FN void hk_chunk_enter(struct hk_strip *st, hk_i64 chunk)
{
    if (st->chunks && st->shares)
        hk_chunk_own(st);
    else if (st->chunks)
        hk_chunk_open(st, chunk);
    hk_chunk_begin(st);
}

/* What came of chunk number `chunk`, of some rows alone, to the chunk in the workspace. */
HK_FN void hk_chunk_keep(struct hk_strip *st, hk_i64 chunk)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    HK_GLOBAL char *to = st->chunks + chunk * plan->chunk_bytes;
    struct hk_chunk_layout layout;
    hk_i64 i;

    hk_chunk_find(plan, &layout);
    for (i = 0; i < st->n_rows; i++) {
        const struct hk_tile tile = hk_strip_tile(st, i / HK_R);
        const hk_i64 row = st->base + i;

        hk_chunk_copy(&tile, i % HK_R,
                      (HK_GLOBAL float *)(to + layout.partials) + row * HK_PARTIALS,
                      (HK_GLOBAL float *)(to + layout.o) + hk_row_o(st, row));
        ((HK_GLOBAL struct hk_row_state *)(to + layout.state))[row] = st->state[i];
    }
}

HK_FN void hk_chunk_leave(struct hk_strip *st, hk_i64 chunk)
{
    if (st->v_rows.minima)
        hk_minima_end(st);
    if (!st->chunks)
        hk_chunk_end(st);
    else if (st->shares)
        hk_chunk_keep(st, chunk);
}

/* Those that are not entered have no key. */
HK_FN void hk_chunks_clear(struct hk_strip *st, hk_i64 first, hk_i64 end)
{
    hk_i64 i;

    for (; st->chunks && first < end; first++) {
        hk_chunk_open(st, first);
        for (i = 0; i < st->n_rows; i++)
            st->state[st->base + i].empty = 1;
    }
}

#endif
