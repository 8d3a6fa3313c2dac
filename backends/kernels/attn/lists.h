/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: a LISTED source of a strip. The rows that share a list come one list after the
 * other, with the sums of the strip's other rows untouched, so that a list for each row does not
 * make strips of one row for the other sources. Where the rows of a list are few, the keys of a
 * block, of whichever list, are found before the blocks ahead of it are computed, and its rows are
 * fetched meanwhile.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_LISTS_H
#define HEED_BACKENDS_KERNELS_ATTN_LISTS_H

#include "block.h"
#include "chunks.h"

#ifndef HK_LIST_AHEAD
#define HK_LIST_AHEAD 2         /* blocks from the one at hand to the one that is fetched */
#endif

/* A LISTED source of a strip, of which it is the one sub-source. */
struct hk_lists {
    HK_GLOBAL struct hk_worker_query *query; /* those of all rows */
    HK_GLOBAL const float *q;
    HK_GLOBAL float *sums;
    hk_i64 n, groups;                   /* rows; of q, for which there are sums */
    HK_GLOBAL const struct hk_sub *sub;
    HK_GLOBAL const char *lists;        /* list 0 */
    hk_i64 list_bytes;                  /* from list to list */
    hk_i64 first, end;                  /* blocks of the part at hand */
    hk_i64 chunk;                       /* number of the sub-source's chunk 0 */
};

/* A block of a list that names a key which is there. */
struct hk_list_block {
    hk_i64 at, last;                    /* rows [at, last) of the strip; at: all rows, no block */
    hk_i64 block;
    hk_i64 keys[HK_BLOCK];              /* those in `available` */
    hk_u64 available;
    struct hk_block_rows k, v;
};

HK_FN void hk_lists_open(const struct hk_strip *st, struct hk_lists *out)
{
    HK_GLOBAL const struct hk_sub *sub = hk_subs(st->call, st->source);
    HK_GLOBAL const struct hk_sub_slots *slots =
        (HK_GLOBAL const struct hk_sub_slots *)(st->call->blob + st->call->plan->slots_at) +
        st->source->first_sub;
    const struct hk_chunks chunks = hk_chunks_get(st->call, st->source, 0, st->len);
    const hk_i64 list = hk_quotient(st->query[0].index, st->source->list_rows);

    out->query = st->query;
    out->q = st->q;
    out->sums = st->sums;
    out->n = st->n_rows;
    out->groups = st->k_rows.group > 0 ? st->call->plan->d / st->k_rows.group : 0;
    out->sub = sub;
    out->list_bytes = slots->list.stride[4] * 4;
    out->lists = hk_byte((HK_GLOBAL const char *)st->views[0].list, -list * out->list_bytes);
    out->first = hk_max(st->first_chunk - chunks.first, 0) * HK_CHUNK;
    out->end = hk_min(st->end_chunk - chunks.first, chunks.count) * HK_CHUNK;
    out->end = hk_min(hk_parts(st->views[0].n_list * sub->run, HK_BLOCK), out->end);
    out->chunk = chunks.first;
}

/* ---- rows ---- */

HK_FN hk_i64 hk_list_number(const struct hk_strip *st, const struct hk_lists *lists, hk_i64 row)
{
    return hk_quotient(lists->query[row].index, st->source->list_rows);
}

/* The list of a row. */
HK_FN HK_GLOBAL const hk_i32 *hk_list_of(const struct hk_strip *st, const struct hk_lists *lists,
                                         hk_i64 row)
{
    return (HK_GLOBAL const hk_i32 *)hk_byte(lists->lists,
                                             hk_list_number(st, lists, row) * lists->list_bytes);
}

/* Where the rows end that share the list of row `at`. */
HK_FN hk_i64 hk_list_last(const struct hk_strip *st, const struct hk_lists *lists, hk_i64 at)
{
    const hk_i64 number = hk_list_number(st, lists, at);

    for (at++; at < lists->n && hk_list_number(st, lists, at) == number;)
        at++;
    return at;
}

/* Rows [at, last) are those at hand, with the list that they share. */
HK_FN void hk_list_rows(struct hk_strip *st, const struct hk_lists *lists, hk_i64 at, hk_i64 last)
{
    st->query = lists->query + at;
    st->q = lists->q + at * st->call->plan->d;
    st->sums = lists->sums + at * lists->groups;
    st->n_rows = last - at;
    st->tiles = (st->n_rows + HK_R - 1) / HK_R;
    st->base = at;
    st->shares = st->n_rows != lists->n;
    st->views[0].list = hk_list_of(st, lists, at);
}

/* ---- few rows of a list ---- */

/* May all lists be walked block by block, whichever list the next one is of? */
HK_FN int hk_lists_few(const struct hk_strip *st, const struct hk_lists *lists)
{
    hk_i64 at, last;

    if (st->k_rows.channel != 1 || st->k_rows.layout.kind != HK_LAYOUT_EVEN || !hk_few_may(st))
        return 0;
    for (at = 0; at < lists->n; at = last) {
        last = hk_list_last(st, lists, at);
        if (last - at > HK_FEW_ROWS)
            return 0;
    }
    return 1;
}

/* The keys of n places from entry `entry` of the list in `view` and its key `offset` on, as hk_key
 * has them; negative: absent or beyond the length. Returns which are there. */
HK_FN hk_u64 hk_list_runs(hk_i64 run, const struct hk_sub_view *view, hk_i64 entry, hk_i64 offset,
                          int n, hk_i64 *keys)
{
    hk_u64 available = 0;
    int i = 0;

    for (; i < n; entry++, offset = 0) {
        const hk_i64 first = view->list[entry * view->list_stride];
        const hk_i64 there = first < 0 ? 0 : view->len - first * run - offset;
        const int from = i, end = (int)hk_min(i + run - offset, n);

        available |= hk_bits(from, hk_min(end, from + there));
        for (; i < end; i++)
            keys[i] = i - from < there ? first * run + offset + (i - from) : -1;
    }
    return available;
}

/* The same of runs of one key. */
HK_FN hk_u64 hk_list_singles(const struct hk_sub_view *view, hk_i64 entry, int n, hk_i64 *keys)
{
    HK_GLOBAL const hk_i32 *list = view->list + entry * view->list_stride;
    hk_u64 available = 0;
    int i;

    for (i = 0; i < n; i++) {
        const hk_i64 key = list[i * view->list_stride];
        const int there = key >= 0 && key < view->len;

        keys[i] = there ? key : -1;
        available |= (hk_u64)there << i;
    }
    return available;
}

/* Keys 64 * block on of the list in `view`, n of them; negative: absent, beyond the length or
 * masked. Returns which are there, as hk_block_mask does. */
HK_FN hk_u64 hk_list_keys(HK_GLOBAL const struct hk_sub *sub, const struct hk_sub_view *view,
                          hk_i64 block, int n, hk_i64 *keys)
{
    const hk_i64 base = block * HK_BLOCK, entry = hk_quotient(base, sub->run);
    hk_u64 available = sub->run == 1 ? hk_list_singles(view, base, n, keys)
                                     : hk_list_runs(sub->run, view, entry, base - entry * sub->run,
                                                    n, keys);
    hk_u64 left;

    for (left = view->mask ? available : 0; left != 0; left &= left - 1) {
        const int i = hk_first_bit(left);

        if (view->mask[keys[i] * view->mask_stride] == 0) {
            keys[i] = -1;
            available &= ~((hk_u64)1 << i);
        }
    }
    return available;
}

/* Rows of n keys; those of absent ones, and behind them, are zeros. */
HK_FN void hk_list_rows_get(const struct hk_strip *st, const struct hk_matrix *m,
                            const hk_i64 *keys, int n, struct hk_block_rows *out)
{
    HK_GLOBAL const char *const zeros = (HK_GLOBAL const char *)st->zeros;
    const hk_i64 bytes = m->row * hk_size(m->dtype);
    int i;

    out->dtype = m->dtype;
    out->group = m->group;
    out->of = m;
    out->keys = n;
    for (i = 0; i < n; i++)
        out->at[i] = keys[i] < 0 ? zeros : hk_byte(m->base, keys[i] * bytes);
    for (; i < HK_BLOCK; i++)
        out->at[i] = zeros;
    for (i = 0; i < HK_BLOCK && hk_scales_apart(m->dtype, m->group); i++)
        out->scale_at[i] = i >= n || keys[i] < 0 ? HK_NO_SCALE : hk_scale_offset(m, keys[i]);
}

/* The first block from `block` of the list of row `at` on, in the order of rows. view: with
 * whatever list. */
HK_FN void hk_list_find(const struct hk_strip *st, const struct hk_lists *lists,
                        struct hk_sub_view *view, hk_i64 at, hk_i64 block,
                        struct hk_list_block *out)
{
    for (; at < lists->n; at = out->last, block = lists->first) {
        out->last = hk_list_last(st, lists, at);
        view->list = hk_list_of(st, lists, at);
        while ((block = hk_gather_next(lists->sub, view, block)) < lists->end) {
            const int n = (int)hk_min(view->n_list * lists->sub->run - block * HK_BLOCK, HK_BLOCK);

            out->available = hk_list_keys(lists->sub, view, block, n, out->keys);
            if (out->available == 0) {
                block++;
                continue;
            }
            out->at = at;
            out->block = block;
            hk_list_rows_get(st, &st->k_rows, out->keys, n, &out->k);
            hk_list_rows_get(st, &st->v_rows, out->keys, n, &out->v);
            return;
        }
    }
    out->at = lists->n;
}

/* The one behind `before`, if there is one. */
HK_FN void hk_list_after(const struct hk_strip *st, const struct hk_lists *lists,
                         struct hk_sub_view *view, const struct hk_list_block *before,
                         struct hk_list_block *out)
{
    if (before->at < lists->n)
        hk_list_find(st, lists, view, before->at, before->block + 1, out);
    else
        out->at = lists->n;
}

/* What row i at hand sees of a block (hk_row_mask). */
HK_FN hk_u64 hk_list_mask(const struct hk_strip *st, const struct hk_lists *lists,
                          const struct hk_list_block *block, hk_i64 i)
{
    const int causal = (lists->sub->flags & HK_CAUSAL) != 0;
    hk_u64 mask = st->query[i].absent ? 0 : block->available, left;
    struct hk_row_keep keep;
    hk_i64 limit;

    if (mask == 0 || (!causal && !st->row_masks))
        return mask;
    limit = hk_limit(lists->sub, st->len, st->query[i].q);
    if (st->row_masks)
        keep = hk_row_keep_get(&st->source->row_mask, st->row_masks, st->query[i].head,
                               st->query[i].index);
    for (left = mask; left != 0; left &= left - 1) {
        const int bit = hk_first_bit(left);

        if (block->keys[bit] >= limit ||
            (st->row_masks && !hk_row_keeps(&keep, block->keys[bit])))
            mask &= ~((hk_u64)1 << bit);
    }
    return mask;
}

/* Masks of all rows at hand; returns what some row sees. */
HK_FN hk_u64 hk_list_masks(const struct hk_strip *st, const struct hk_lists *lists,
                           const struct hk_list_block *block)
{
    hk_u64 visible = 0;
    hk_i64 m, i;

    for (m = 0; m < st->tiles; m++) {
        const hk_i64 end = hk_min((m + 1) * HK_R, st->n_rows);
        hk_u64 any = 0, every = ~(hk_u64)0;

        for (i = m * HK_R; i < end; i++) {
            st->masks[i] = hk_list_mask(st, lists, block, i);
            any |= st->masks[i];
            every &= st->masks[i];
        }
        st->full[m] = every == ~(hk_u64)0 && end == (m + 1) * HK_R;
        st->tile_masks[m] = any;
        visible |= any;
    }
    return visible;
}

/* A block of the list of the rows at hand. Meanwhile `next` is fetched, V while K is read and K
 * while V is; 0: there is none. (Not into the first level: rows that lie apart take too long.) */
HK_FN void hk_list_attend(const struct hk_strip *st, const struct hk_lists *lists,
                          const struct hk_list_block *block, const struct hk_list_block *next)
{
    const struct hk_sub_view *view = &st->views[0];
    const hk_u64 visible = hk_list_masks(st, lists, block);

    if (visible == 0)
        return;
    hk_few_scores(st, &block->k, &block->k, next ? &next->v : &block->v);
    hk_block_softmax(st, lists->sub, view, block->block, 0);
    if (hk_tiles_agree(st))
        hk_few_weigh(st, &block->v, 0, next ? &next->k : 0, 0);
    else
        hk_block_weigh(st, lists->sub, view, block->block, visible);
}

/* All blocks of all lists, as far as they belong to the part at hand. */
HK_FN void hk_lists_walk(struct hk_strip *st, const struct hk_lists *lists)
{
    struct hk_sub_view view = st->views[0];
    struct hk_list_block blocks[HK_LIST_AHEAD + 1];
    hk_i64 at = -1, chunk = -1;
    int i, turn;

    hk_list_find(st, lists, &view, 0, lists->first, &blocks[0]);
    for (i = 1; i < HK_LIST_AHEAD; i++)
        hk_list_after(st, lists, &view, &blocks[i - 1], &blocks[i]);
    for (turn = 0; blocks[turn].at < lists->n; turn = (turn + 1) % (HK_LIST_AHEAD + 1)) {
        const struct hk_list_block *const block = &blocks[turn];
        struct hk_list_block *const next = &blocks[(turn + HK_LIST_AHEAD) % (HK_LIST_AHEAD + 1)];

        hk_list_after(st, lists, &view, &blocks[(turn + HK_LIST_AHEAD - 1) % (HK_LIST_AHEAD + 1)],
                      next);
        if (block->at != at || block->block / HK_CHUNK != chunk) {
            if (chunk >= 0)
                hk_chunk_leave(st, lists->chunk + chunk);
            at = block->at;
            chunk = block->block / HK_CHUNK;
            hk_list_rows(st, lists, at, block->last);
            hk_chunk_enter(st, lists->chunk + chunk);
        }
        hk_list_attend(st, lists, block, next->at < lists->n ? next : 0);
    }
    if (chunk >= 0)
        hk_chunk_leave(st, lists->chunk + chunk);
    hk_list_rows(st, lists, 0, lists->n);
}

#endif
