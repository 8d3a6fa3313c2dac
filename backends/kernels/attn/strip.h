/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: a strip of query rows in a worker's scratch, and which keys of a sub-source its
 * rows and tiles may see.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_STRIP_H
#define HEED_BACKENDS_KERNELS_ATTN_STRIP_H

#include "row_mask.h"
#include "softmax.h"
#include "tasks.h"

#define HK_NO_BLOCK ((hk_i64)1 << 62)

/* What is fetched ahead of its use (ahead.h). */
struct hk_rows_ahead {
    HK_GLOBAL const char *base;
    hk_i64 row, bytes, n, heads, head;
};

struct hk_ahead {
    struct hk_rows_ahead rows[3];       /* Q, K, V */
    int n, at;                          /* of them; the one at hand */
    hk_i64 row;                         /* its next row */
    hk_i64 total, each;                 /* rows of all; rows with each tile, 0: none yet */
    struct hk_task next;                /* count 0: not known */
};

/* What a worker knows, by how long it holds. Pointers are to places of the worker's scratch, as
 * large as struct hk_worker_layout says; hk_strip_open sets them, and what they hold is written as
 * the group's line says, unless a member's says otherwise. */
struct hk_strip {
    /* Of the launch: hk_strip_open. */
    const struct hk_call *call;
    HK_GLOBAL char *scratch;
    hk_i64 width;                       /* d_v rounded up to whole vectors */
    HK_GLOBAL float *zeros;
    HK_GLOBAL struct hk_stretch *stretches; /* bias_lanes.h, when a block wants another; kept over
                                         * strips, until hk_kept_clear at the next launch */
    /* Of the part at hand, of all sub-sources: hk_part_attend. */
    hk_i64 first_chunk, end_chunk;
    HK_GLOBAL char *chunks;             /* in the workspace; 0: the strip is not cut */
    hk_i64 next;                        /* task that the worker takes next; -1: not known */
    struct hk_ahead ahead;
    /* Of the rows at hand: hk_task_attend, and Q hk_strip_read. */
    hk_i64 b;
    hk_i64 n_rows, tiles;               /* in use */
    hk_i64 base;                        /* row of the strip that `query` and `q` begin with */
    int shares;                         /* 1: a part of the strip: rows of one list (lists.h), of
                                         * one item (hk_items_attend) */
    HK_GLOBAL struct hk_worker_query *query; /* hk_strip_fill, for all rows of the strip; goes on to
                                         * those of the next turn */
    HK_GLOBAL const float *q;           /* rows of the caller's Q where they lie so, else copies */
    HK_GLOBAL float *q_copy;
    hk_i64 q_tiles;                     /* tiles before this one read q, those behind it the copy */
    /* Sums over the chunks that are finished: hk_chunk_end. */
    HK_GLOBAL float *acc_o, *acc_partials, *acc_m;
    HK_GLOBAL hk_u32 *has_partial;      /* hk_rows_begin, then hk_chunk_end: 1 */
    int any_partial;                    /* as has_partial, of some row */
    /* Of the source at hand: hk_source_attend. */
    hk_u32 number;
    HK_GLOBAL const struct hk_source *source;
    hk_i64 len;
    struct hk_matrix k_rows, v_rows;
    HK_GLOBAL const char *row_masks;    /* of the item's rows; 0: there are none */
    HK_GLOBAL const float *packed;      /* 0: not; pack.cl wrote it, and finite */
    HK_GLOBAL const hk_u32 *finite;
    HK_GLOBAL struct hk_ring_tag *tags; /* 0: no ring; hk_ring_get, when a block is not there */
    HK_GLOBAL float *ring;              /* likewise */
    hk_i64 first_block;                 /* number of its block 0, over items and key heads */
    struct hk_sub_view views[HK_SUBS];
    /* Of the sub-source at hand: hk_reach_rows, and `all`, of all tiles, hk_reach_strip. Of ranges
     * only the first `ranges` are there, at least one. */
    hk_u32 ranges;
    HK_GLOBAL struct hk_reach *reach;
    HK_GLOBAL struct hk_tile_reach *tile;
    struct hk_tile_reach all;
    /* Of the chunk at hand: hk_chunk_begin; then every block adds to them. Where the strip is cut
     * hk_chunk_open points them into `chunks`; hk_chunk_end may swap them with the acc ones. */
    HK_GLOBAL float *o, *partials;
    HK_GLOBAL struct hk_row_state *state;
    HK_GLOBAL hk_u32 *begun;            /* of a tile 1: its o holds sums; hk_tile_begin */
    /* Of the block at hand: masks by hk_block_masks, scores and then weights by hk_block_weights
     * and what stands for it, each row's largest score by lanes. */
    HK_GLOBAL hk_u64 *masks, *tile_masks;
    HK_GLOBAL hk_u32 *full;
    HK_GLOBAL float *s, *max;
    HK_GLOBAL float *k, *v, *temp;      /* K in panels and V as f32, where neither lies so */
    HK_GLOBAL float *values, *band;     /* addends of a bias (bias_lanes.h); bands of tables of DOT
                                         * (dot_lanes.h), kept as stretches are */
    HK_GLOBAL struct hk_band_kept *bands;
    HK_GLOBAL float *part, *scaled, *v_scales, *sums, *wide; /* scales.h */
};

HK_FN void hk_strip_open(struct hk_strip *st, const struct hk_call *call, HK_GLOBAL char *scratch)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    struct hk_worker_layout at;
    hk_i64 i;

    hk_worker_find(plan, &at);
    st->call = call;
    st->scratch = scratch;
    st->first_chunk = 0;
    st->end_chunk = HK_NO_BLOCK;
    st->chunks = 0;
    st->next = -1;
    st->base = 0;
    st->shares = 0;
    st->width = (plan->d_v + HKV_LANES - 1) / HKV_LANES * HKV_LANES + plan->minima;
    st->q_copy = (HK_GLOBAL float *)(scratch + at.q);
    st->q = st->q_copy;
    st->q_tiles = HK_NO_BLOCK;
    st->s = (HK_GLOBAL float *)(scratch + at.s);
    st->o = (HK_GLOBAL float *)(scratch + at.o);
    st->acc_o = (HK_GLOBAL float *)(scratch + at.acc_o);
    st->partials = (HK_GLOBAL float *)(scratch + at.partials);
    st->acc_partials = (HK_GLOBAL float *)(scratch + at.acc_partials);
    st->acc_m = (HK_GLOBAL float *)(scratch + at.acc_m);
    st->max = (HK_GLOBAL float *)(scratch + at.max);
    st->k = (HK_GLOBAL float *)(scratch + at.k);
    st->v = (HK_GLOBAL float *)(scratch + at.v);
    st->temp = (HK_GLOBAL float *)(scratch + at.temp);
    st->values = (HK_GLOBAL float *)(scratch + at.values);
    st->zeros = (HK_GLOBAL float *)(scratch + at.zeros);
    for (i = 0; i < hk_max(plan->d, plan->d_v); i++)
        st->zeros[i] = 0.0f;
    st->part = (HK_GLOBAL float *)(scratch + at.part);
    st->scaled = (HK_GLOBAL float *)(scratch + at.scaled);
    st->v_scales = (HK_GLOBAL float *)(scratch + at.v_scales);
    st->sums = (HK_GLOBAL float *)(scratch + at.sums);
    st->wide = (HK_GLOBAL float *)(scratch + at.wide);
    st->stretches = (HK_GLOBAL struct hk_stretch *)(scratch + at.stretches);
    st->band = (HK_GLOBAL float *)(scratch + at.band);
    st->bands = (HK_GLOBAL struct hk_band_kept *)(scratch + at.bands);
    st->state = (HK_GLOBAL struct hk_row_state *)(scratch + at.state);
    st->has_partial = (HK_GLOBAL hk_u32 *)(scratch + at.has_partial);
    st->full = (HK_GLOBAL hk_u32 *)(scratch + at.full);
    st->begun = (HK_GLOBAL hk_u32 *)(scratch + at.begun);
    st->masks = (HK_GLOBAL hk_u64 *)(scratch + at.masks);
    st->tile_masks = (HK_GLOBAL hk_u64 *)(scratch + at.tile_masks);
    st->reach = (HK_GLOBAL struct hk_reach *)(scratch + at.reach);
    st->tile = (HK_GLOBAL struct hk_tile_reach *)(scratch + at.tile_reach);
    st->query = (HK_GLOBAL struct hk_worker_query *)(scratch + at.queries);
}

/* The tags of a source's ring in a worker's scratch. */
HK_FN HK_GLOBAL struct hk_ring_tag *hk_ring_tags(HK_GLOBAL const struct hk_source *source,
                                                 HK_GLOBAL char *scratch)
{
    return (HK_GLOBAL struct hk_ring_tag *)(scratch + source->ring_at);
}

/* What a worker keeps is gone when a run begins: K and tables may be others. */
HK_FN void hk_kept_clear(const struct hk_strip *st)
{
    hk_i64 i;
    hk_u32 s;

    for (i = 0; i < st->call->plan->stretches; i++)
        st->stretches[i].bias = -1;
    for (i = 0; i < st->call->plan->bands; i++)
        st->bands[i].dot = -1;
    for (s = 0; s < st->call->plan->n_sources; s++) {
        HK_GLOBAL const struct hk_source *source = st->call->sources + s;

        for (i = 0; i < source->ring; i++)
            hk_ring_tags(source, st->scratch)[i].number = -1;
    }
}

/* Tile m of the strip. */
HK_FN struct hk_tile hk_strip_tile(const struct hk_strip *st, hk_i64 m)
{
    const hk_i64 first = m * HK_R;
    struct hk_tile tile;

    tile.s = st->s + first * HK_BLOCK;
    tile.partials = st->partials + first * HK_PARTIALS;
    tile.o = st->o + m * hk_o_span(st->width);
    tile.state = st->state + first;
    tile.masks = st->masks + first;
    tile.max = st->max + first * HKV_LANES;
    tile.width = st->width;
    tile.rows = hk_min(st->n_rows - first, HK_R);
    return tile;
}

/* Before values join the sums of tile m: they begin as zeros, in the first level of the caches. */
HK_FN void hk_tile_begin(const struct hk_strip *st, hk_i64 m)
{
    const hk_i64 span = hk_o_span(st->width);
    HK_GLOBAL float *o = st->o + m * span;
    hk_i64 i;

    if (st->begun[m])
        return;
    for (i = 0; i < span; i += HKV_LANES)
        hkv_store(o + i, hkv_set(0.0f));
    st->begun[m] = 1;
}

/* Q of tile m. */
HK_FN HK_GLOBAL const float *hk_tile_q(const struct hk_strip *st, hk_i64 m)
{
    return (m < st->q_tiles ? st->q : st->q_copy) + m * HK_R * st->call->plan->d;
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

/* Is y = s * c for all keys of the source at hand? */
HK_FN int hk_logits_plain(const struct hk_strip *st)
{
#if HK_PLAIN
    (void)st;
    return 1;
#else
    return !(st->call->plan->flags & HK_PLAN_CAPPED) && st->source->n_biases == 0;
#endif
}

/* ---- what may be visible of a sub-source ---- */

/* Row i's: member by member to its place, for a copy reads widely what was written narrowly. */
HK_FN void hk_reach_row(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                        const struct hk_sub_view *view, hk_i64 i)
{
    HK_GLOBAL struct hk_reach *to = st->reach + i;
    const struct hk_row row = hk_strip_row(st, i);
    struct hk_reach reach;
    hk_u32 n, r;

    reach.hi[0] = 0;
    n = hk_reach_begin(sub, view, &row, &reach);
    to->limit = reach.limit;
    to->residue = reach.residue;
    to->n = st->query[i].absent ? 0 : reach.n;
    for (r = 0; r < st->ranges; r++) {
        hk_i64 lo = 0, hi = 0;

        if (r < n && to->n != 0)
            hk_reach_range(sub, view, &row, r, &reach, &lo, &hi);
        to->lo[r] = lo;
        to->hi[r] = hi;
    }
    if (n == 0 && to->n != 0) {
        to->lo[0] = reach.lo[0];
        to->hi[0] = reach.hi[0];
    }
}

/* Range r of tile m. */
HK_FN void hk_reach_tile(const struct hk_strip *st, hk_i64 m, hk_u32 r)
{
    HK_GLOBAL struct hk_tile_reach *to = st->tile + m;
    const hk_i64 end = hk_min((m + 1) * HK_R, st->n_rows);
    hk_i64 lo = HK_NO_BLOCK, hi = -HK_NO_BLOCK, in_lo = -HK_NO_BLOCK, in_hi = HK_NO_BLOCK, i;

    for (i = m * HK_R; i < end; i++) {
        const hk_i64 a = st->reach[i].lo[r], b = st->reach[i].hi[r];

        lo = a < b ? hk_min(a, lo) : lo;
        hi = a < b ? hk_max(b, hi) : hi;
        in_lo = hk_max(a, in_lo);
        in_hi = hk_min(b, in_hi);
    }
    to->lo[r] = lo;
    to->hi[r] = hi;
    to->in_lo[r] = in_lo;
    to->in_hi[r] = in_hi;
}

HK_FN void hk_reach_rows(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                         const struct hk_sub_view *view)
{
    hk_i64 i, m;
    hk_u32 r;

    st->ranges = sub->n_ranges > 1 ? sub->n_ranges : 1;
    for (i = 0; i < st->n_rows; i++)
        hk_reach_row(st, sub, view, i);
    for (m = 0; m < st->tiles; m++) {
        for (r = 0; r < st->ranges; r++)
            hk_reach_tile(st, m, r);
    }
}

/* The hull of the tiles' reach, range by range, and what all rows see. */
HK_FN void hk_reach_strip(struct hk_strip *st)
{
    hk_i64 m;
    hk_u32 r;

    for (r = 0; r < st->ranges; r++) {
        hk_i64 lo = st->tile[0].lo[r], hi = st->tile[0].hi[r];
        hk_i64 in_lo = st->tile[0].in_lo[r], in_hi = st->tile[0].in_hi[r];

        for (m = 1; m < st->tiles; m++) {
            lo = hk_min(st->tile[m].lo[r], lo);
            hi = hk_max(st->tile[m].hi[r], hi);
            in_lo = hk_max(st->tile[m].in_lo[r], in_lo);
            in_hi = hk_min(st->tile[m].in_hi[r], in_hi);
        }
        st->all.lo[r] = lo;
        st->all.hi[r] = hi;
        st->all.in_lo[r] = in_lo;
        st->all.in_hi[r] = in_hi;
    }
}

/* The first block from `block` on that some row may see; HK_NO_BLOCK: none. */
HK_FN hk_i64 hk_strip_next(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                           const struct hk_sub_view *view, hk_i64 block)
{
    hk_i64 best = HK_NO_BLOCK;
    hk_u32 r;

    if (sub->kind == HK_SUB_GATHER)
        block = hk_gather_next(sub, view, block);
    for (r = 0; r < st->ranges; r++) {
        if (st->all.lo[r] < st->all.hi[r] && st->all.hi[r] > block * HK_BLOCK)
            best = hk_min(best, hk_max(st->all.lo[r] / HK_BLOCK, block));
    }
    return best;
}

/* Do its blocks hold keys 64 * block on? */
HK_FN int hk_block_aligned(HK_GLOBAL const struct hk_sub *sub)
{
    return sub->kind == HK_SUB_KEYS || sub->kind == HK_SUB_FIRST_N;
}

/* Are a block's masks the same for all rows whose ranges hold the whole block? */
HK_FN int hk_rows_alike(HK_GLOBAL const struct hk_sub *sub)
{
    return sub->n_earlier == 0 &&
           !((sub->kind == HK_SUB_LIST || sub->kind == HK_SUB_GATHER) && (sub->flags & HK_CAUSAL));
}

HK_FN void hk_tile_fill(struct hk_strip *st, hk_i64 m)
{
    hk_i64 i;

    st->full[m] = 1;
    st->tile_masks[m] = ~(hk_u64)0;
    for (i = m * HK_R; i < (m + 1) * HK_R; i++)
        st->masks[i] = ~(hk_u64)0;
}

/* Of bytes, those of keys 64 * block on, whole vectors at a time where they lie side by side; seen:
 * keys that matter. */
HK_FN hk_u64 hk_row_bytes(const struct hk_row_keep *keep, hk_i64 block, hk_u64 seen)
{
    HK_GLOBAL const hk_u8 *byte =
        (HK_GLOBAL const hk_u8 *)keep->base + block * HK_BLOCK * keep->step;
    hk_u64 out = 0;
    int i;

    if (keep->step == 1 && (block + 1) * HK_BLOCK <= keep->entries) {
        for (i = 0; i < HK_BLOCK; i += HKV_LANES)
            out |= (hk_u64)hkv_bytes(byte + i) << i;
        return out;
    }
    for (; seen != 0; seen &= seen - 1) {
        i = hk_first_bit(seen);
        out |= (hk_u64)(byte[i * keep->step] != 0) << i;
    }
    return out;
}

/* Of the ordinals of a block that row i sees, those whose keys its row mask keeps. */
HK_NOINLINE hk_u64 hk_row_kept(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                               const struct hk_sub_view *view, hk_i64 i, hk_i64 block, hk_u64 seen)
{
    const struct hk_row_keep keep = hk_row_keep_get(&st->source->row_mask, st->row_masks,
                                                    st->query[i].head, st->query[i].index);
    HK_COPY(struct hk_reach, reach, st->reach[i]);
    hk_u64 left;

    if (hk_block_aligned(sub) && keep.dtype == HK_U8)
        return seen & hk_row_bytes(&keep, block, seen);
    if (hk_block_aligned(sub))
        return seen & hk_row_words(&keep, block);
    for (left = seen; left != 0; left &= left - 1) {
        const int bit = hk_first_bit(left);

        if (!hk_row_keeps(&keep, hk_key(sub, view, reach, block * HK_BLOCK + bit)))
            seen &= ~((hk_u64)1 << bit);
    }
    return seen;
}

/* What row i sees of a block in which rows differ by their ranges alone. */
HK_FN hk_u64 hk_ranges_mask(const struct hk_strip *st, hk_i64 i, hk_i64 base, hk_u64 available)
{
    HK_GLOBAL const struct hk_reach *reach = st->reach + i;
    hk_u64 mask = 0;
    hk_u32 r;

    for (r = 0; r < reach->n; r++)
        mask |= hk_bits(reach->lo[r] - base, reach->hi[r] - base);
    return mask & available;
}

/* Forms the masks of a tile's rows and their union, 0 if no row sees anything; full: all rows see
 * all 64. plain: hk_rows_alike, and there are no row masks. */
HK_FN void hk_tile_mask(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                        const struct hk_sub_view *view, hk_i64 m, hk_i64 block, hk_u64 available,
                        int plain)
{
    const hk_i64 base = block * HK_BLOCK, end = base + HK_BLOCK;
    const hk_i64 last = hk_min((m + 1) * HK_R, st->n_rows);
    hk_u64 any = 0, every = ~(hk_u64)0;
    int outer = 0, inner = 0;
    hk_u32 r;
    hk_i64 i;

    for (r = 0; r < st->ranges; r++) {
        outer |= st->tile[m].lo[r] < end && st->tile[m].hi[r] > base;
        inner |= st->tile[m].in_lo[r] <= base && st->tile[m].in_hi[r] >= end;
    }
    if (inner && available == ~(hk_u64)0 && plain) {
        hk_tile_fill(st, m);
        return;
    }
    for (i = m * HK_R; i < last && outer && plain; i++) {
        const hk_u64 mask = hk_ranges_mask(st, i, base, available);

        st->masks[i] = mask;
        any |= mask;
        every &= mask;
    }
    for (; i < last; i++) {
        const struct hk_row row = hk_strip_row(st, i);
        HK_COPY(struct hk_reach, reach, st->reach[i]);
        hk_u64 mask = outer ? hk_row_mask(sub, view, &row, reach, block, available) : 0;

        if (st->row_masks && mask != 0)
            mask = hk_row_kept(st, sub, view, i, block, mask);
        st->masks[i] = mask;
        any |= mask;
        every &= mask;
    }
    st->full[m] = every == ~(hk_u64)0 && i == (m + 1) * HK_R;
    st->tile_masks[m] = any;
}

/* Masks of all tiles whose rows see all of a block. */
HK_FN void hk_block_fill(struct hk_strip *st)
{
    hk_i64 m;

    for (m = 0; m < st->tiles; m++)
        hk_tile_fill(st, m);
}

/* Masks of all tiles; returns what some row sees. */
HK_FN hk_u64 hk_block_masks(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                            const struct hk_sub_view *view, hk_i64 block, hk_u64 available)
{
    const int plain = hk_rows_alike(sub) && !st->row_masks;
    hk_u64 visible = 0;
    hk_i64 m;

    if (available == 0)
        return 0;
    for (m = 0; m < st->tiles; m++) {
        hk_tile_mask(st, sub, view, m, block, available, plain);
        visible |= st->tile_masks[m];
    }
    return visible;
}

/* Do all rows see all of a block whose available keys are these? */
HK_FN int hk_block_inside(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                          hk_i64 block, hk_u64 available)
{
    const hk_i64 base = block * HK_BLOCK;
    int inside = 0;
    hk_u32 r;

    for (r = 0; r < st->ranges; r++)
        inside |= st->all.in_lo[r] <= base && st->all.in_hi[r] >= base + HK_BLOCK;
    return inside && available == ~(hk_u64)0 && hk_rows_alike(sub) && !st->row_masks;
}

#endif
