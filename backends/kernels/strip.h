/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Shape A: a strip of query rows in a lane's scratch, and what its rows and tiles see of a
 * sub-source.
 */
#ifndef HEED_BACKENDS_KERNELS_STRIP_H
#define HEED_BACKENDS_KERNELS_STRIP_H

#include "lane.h"
#include "rows.h"
#include "tiles.h"

#define HK_NO_BLOCK ((hk_i64)1 << 62)

struct hk_strip {
    const struct hk_call *call;
    HK_GLOBAL char *scratch;
    struct hk_lane_layout at;
    hk_i64 n_rows, tiles;       /* in use */
    hk_i64 b;
    HK_GLOBAL float *q, *s, *o, *total_o, *lanes, *total_lanes, *most;
    HK_GLOBAL float *reference, *total;
    HK_GLOBAL hk_u32 *fresh, *started, *full;
    HK_GLOBAL hk_u64 *words, *tile_words;
    HK_GLOBAL struct hk_reach *reach;
    HK_GLOBAL struct hk_tile_reach *tile;
    HK_GLOBAL struct hk_lane_query *query;
    hk_u32 any_started, reserved;
    struct hk_tile_reach whole;
    /* The source at hand. */
    HK_GLOBAL const struct hk_source *source;
    hk_u32 number, n_subs;
    hk_i64 len;
    struct hk_matrix k, v;
    HK_GLOBAL const float *packed;      /* 0: not */
    HK_GLOBAL const hk_u32 *finite;
    struct hk_item items[HK_SUBS];
};

HK_FN void hk_strip_open(struct hk_strip *st, const struct hk_call *call, HK_GLOBAL char *scratch)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const struct hk_lane_layout *at = &st->at;

    hk_lane_find(plan->strips.rows * plan->strips.stack, HK_R, plan->d, plan->d_v, &st->at);
    st->call = call;
    st->scratch = scratch;
    st->q = (HK_GLOBAL float *)(scratch + at->q);
    st->s = (HK_GLOBAL float *)(scratch + at->s);
    st->o = (HK_GLOBAL float *)(scratch + at->o);
    st->total_o = (HK_GLOBAL float *)(scratch + at->total_o);
    st->lanes = (HK_GLOBAL float *)(scratch + at->lanes);
    st->total_lanes = (HK_GLOBAL float *)(scratch + at->total_lanes);
    st->most = (HK_GLOBAL float *)(scratch + at->most);
    st->reference = (HK_GLOBAL float *)(scratch + at->reference);
    st->total = (HK_GLOBAL float *)(scratch + at->total);
    st->fresh = (HK_GLOBAL hk_u32 *)(scratch + at->fresh);
    st->started = (HK_GLOBAL hk_u32 *)(scratch + at->started);
    st->full = (HK_GLOBAL hk_u32 *)(scratch + at->full);
    st->words = (HK_GLOBAL hk_u64 *)(scratch + at->words);
    st->tile_words = (HK_GLOBAL hk_u64 *)(scratch + at->tile_words);
    st->reach = (HK_GLOBAL struct hk_reach *)(scratch + at->reach);
    st->tile = (HK_GLOBAL struct hk_tile_reach *)(scratch + at->tile_reach);
    st->query = (HK_GLOBAL struct hk_lane_query *)(scratch + at->queries);
}

/* Sums of a row over a chunk. */
HK_FN struct hk_sums hk_strip_sums(const struct hk_strip *st, hk_i64 i)
{
    struct hk_sums row;

    row.reference = st->reference + i;
    row.fresh = st->fresh + i;
    row.lanes = st->lanes + i * HK_LANES;
    row.o = st->o + i / HK_R * (HK_R * st->at.width) + i % HK_R * 16;
    row.width = st->at.width;
    return row;
}

HK_FN struct hk_row hk_strip_row(const struct hk_strip *st, hk_i64 i)
{
    struct hk_row row;

    row.q = st->query[i].q;
    row.index = st->query[i].index;
    row.head = st->query[i].head;
    row.all = (hk_i64)(st->query[i].all >> st->number & 1);
    return row;
}

/* ---- what the strip sees of a sub-source ---- */

HK_FN void hk_reach_rows(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                         const struct hk_item *item)
{
    hk_i64 i, m;
    hk_u32 r;

    for (i = 0; i < st->n_rows; i++) {
        const struct hk_row row = hk_strip_row(st, i);
        struct hk_reach reach;

        hk_reach_find(sub, item, &row, &reach);
        if (st->query[i].absent)
            reach.n = 0;
        for (r = reach.n; r < HK_RANGES; r++)
            reach.lo[r] = reach.hi[r] = 0;
        st->reach[i] = reach;
    }
    for (m = 0; m < st->tiles; m++) {
        for (r = 0; r < HK_RANGES; r++) {
            hk_i64 lo = HK_NO_BLOCK, hi = -HK_NO_BLOCK, in_lo = -HK_NO_BLOCK, in_hi = HK_NO_BLOCK;

            for (i = m * HK_R; i < (m + 1) * HK_R && i < st->n_rows; i++) {
                const hk_i64 a = st->reach[i].lo[r], b = st->reach[i].hi[r];

                if (a < b) {
                    lo = hk_min(a, lo);
                    hi = hk_max(b, hi);
                }
                in_lo = hk_max(a, in_lo);
                in_hi = hk_min(b, in_hi);
            }
            st->tile[m].lo[r] = lo;
            st->tile[m].hi[r] = hi;
            st->tile[m].in_lo[r] = in_lo;
            st->tile[m].in_hi[r] = in_hi;
        }
    }
}

/* The hull of the tiles' reach, range by range, and what every row sees. */
HK_FN void hk_reach_strip(struct hk_strip *st)
{
    hk_i64 m;
    hk_u32 r;

    st->whole = st->tile[0];
    for (m = 1; m < st->tiles; m++) {
        for (r = 0; r < HK_RANGES; r++) {
            st->whole.lo[r] = hk_min(st->tile[m].lo[r], st->whole.lo[r]);
            st->whole.hi[r] = hk_max(st->tile[m].hi[r], st->whole.hi[r]);
            st->whole.in_lo[r] = hk_max(st->tile[m].in_lo[r], st->whole.in_lo[r]);
            st->whole.in_hi[r] = hk_min(st->tile[m].in_hi[r], st->whole.in_hi[r]);
        }
    }
}

/* The first block from `block` on that some row may see; HK_NO_BLOCK: none. */
HK_FN hk_i64 hk_strip_next(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                           const struct hk_item *item, hk_i64 block)
{
    hk_i64 best = HK_NO_BLOCK;
    hk_u32 r;

    if (sub->kind == HK_SUB_RUNS)
        block = hk_runs_next(sub, item, block);
    for (r = 0; r < HK_RANGES; r++) {
        if (st->whole.lo[r] < st->whole.hi[r] && st->whole.hi[r] > block * HK_BLOCK)
            best = hk_min(best, hk_max(st->whole.lo[r] / HK_BLOCK, block));
    }
    return best;
}

/* Are a block's words the same for all rows whose ranges hold the whole block? */
HK_FN int hk_rows_alike(HK_GLOBAL const struct hk_sub *sub)
{
    return sub->n_earlier == 0 &&
           !((sub->kind == HK_SUB_LIST || sub->kind == HK_SUB_RUNS) && (sub->flags & HK_CAUSAL));
}

HK_FN void hk_tile_fill(struct hk_strip *st, hk_i64 m)
{
    hk_i64 i;

    st->full[m] = 1;
    st->tile_words[m] = ~(hk_u64)0;
    for (i = m * HK_R; i < (m + 1) * HK_R; i++)
        st->words[i] = ~(hk_u64)0;
}

/* Forms the words of a tile's rows and their union, 0 if no row sees anything; full: all rows see
 * all 64. */
HK_FN void hk_tile_see(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                       const struct hk_item *item, hk_i64 m, hk_i64 block, hk_u64 available)
{
    const hk_i64 base = block * HK_BLOCK, end = base + HK_BLOCK;
    int outer = 0, inner = 0;
    hk_u64 any = 0;
    hk_u32 r;
    hk_i64 i;

    for (r = 0; r < HK_RANGES; r++) {
        outer |= st->tile[m].lo[r] < end && st->tile[m].hi[r] > base;
        inner |= st->tile[m].in_lo[r] <= base && st->tile[m].in_hi[r] >= end;
    }
    if (inner && available == ~(hk_u64)0 && hk_rows_alike(sub)) {
        hk_tile_fill(st, m);
        return;
    }
    for (i = m * HK_R; outer && i < (m + 1) * HK_R && i < st->n_rows; i++) {
        const struct hk_row row = hk_strip_row(st, i);
        const struct hk_reach reach = st->reach[i];

        st->words[i] = hk_row_word(sub, item, &row, &reach, block, available);
        any |= st->words[i];
    }
    st->full[m] = 0;
    st->tile_words[m] = any;
}

#endif
