/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: what is fetched while the block at hand computes, a few rows with each tile. Of
 * the next block that is K and V; of the worker's next strip, where the one at hand is short, its Q
 * and its first rows of K and V.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_AHEAD_H
#define HEED_BACKENDS_KERNELS_ATTN_AHEAD_H

#include "strip.h"

#define HK_LINE 64              /* bytes of a line of the cache */
#define HK_AHEAD_BLOCKS 24      /* of a strip, at most */

/* ---- the next strip ---- */

/* n rows from row 0 at base on, each of all heads that a strip stacks; in bytes. */
HK_FN void hk_ahead_add(struct hk_ahead *ahead, HK_GLOBAL const char *base, hk_i64 row,
                        hk_i64 bytes, hk_i64 n, hk_i64 heads, hk_i64 head)
{
    struct hk_rows_ahead *to = &ahead->rows[ahead->n];

    if (n <= 0 || bytes <= 0)
        return;
    to->base = base;
    to->row = row;
    to->bytes = bytes;
    to->n = n;
    to->heads = heads;
    to->head = head;
    ahead->total += n;
    ahead->n++;
}

/* A task's rows of Q. */
HK_FN void hk_ahead_rows(struct hk_strip *st, const struct hk_task *task)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    HK_GLOBAL const struct hk_view *view = &plan->q;
    const hk_i64 size = hk_size(view->dtype), heads = plan->strips.stack;
    const hk_i64 at = hk_batch_offset(st->call, view->stride, task->b) +
                      task->group * heads * view->stride[3] +
                      (task->begin + task->first) * view->stride[4];

    if (view->stride[5] == 1 && task->row_list < 0)
        hk_ahead_add(&st->ahead, hk_byte(hk_q(st->call), at * size),
                     task->step * view->stride[4] * size, plan->d * size, task->count, heads,
                     view->stride[3] * size);
}

/* Before a strip. next: number of the worker's next task; negative: that is not known. */
HK_FN void hk_ahead_begin(struct hk_strip *st, hk_i64 next)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    struct hk_ahead *ahead = &st->ahead;

    ahead->n = ahead->at = 0;
    ahead->row = ahead->total = ahead->each = 0;
    ahead->next.count = 0;
    if (next < 0 || plan->items > 1)
        return;
    hk_task_get(st->call, next, &ahead->next);
    if (ahead->next.count > 0)
        hk_ahead_rows(st, &ahead->next);
}

/* The first block that row 0 of the next strip sees of the sub-source at hand. */
HK_FN hk_i64 hk_ahead_block(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                            const struct hk_sub_view *view)
{
    const struct hk_task *next = &st->ahead.next;
    struct hk_reach reach;
    struct hk_row row;
    hk_i64 first = HK_NO_BLOCK;
    hk_u32 n, r;

    row.index = next->first;
    row.q = hk_clamp(next->origin + next->first * st->call->plan->q_pos_step);
    row.head = next->group * st->call->plan->strips.stack;
    row.all = 0;
    n = hk_reach_begin(sub, view, &row, &reach);
    for (r = 0; r < n; r++) {
        hk_i64 lo, hi;

        hk_reach_range(sub, view, &row, r, &reach, &lo, &hi);
        if (lo < hi)
            first = hk_min(lo / HK_BLOCK, first);
    }
    return first;
}

/* The next strip's first rows of K and V. */
HK_FN void hk_ahead_keys(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                         const struct hk_sub_view *view)
{
    const struct hk_call *call = st->call;
    HK_GLOBAL const struct hk_source *source = st->source;
    const struct hk_task *next = &st->ahead.next;
    const hk_i64 found = hk_ahead_block(st, sub, view);
    const hk_i64 block = found == HK_NO_BLOCK ? 0 : found, first = block * HK_BLOCK;
    const hk_i64 key_head = hk_key_head(call, source, next->group * call->plan->strips.stack);
    const hk_i64 tag = (next->b * source->heads + key_head) * source->blocks + block;
    const struct hk_cut keys = hk_keys_cut(call, source, next->b);
    struct hk_matrix k, v;
    hk_i64 n;

    if (found == HK_NO_BLOCK || first >= keys.len ||
        (st->tags && st->tags[block % source->ring].number == tag))
        return;
    k = hk_keys_get(call, source, &source->k, &source->k_scale, &source->k_scaling,
                    hk_k(call, st->number), next->b, key_head, &keys);
    v = hk_keys_get(call, source, &source->v, &source->v_scale, &source->v_scaling,
                    hk_v(call, st->number), next->b, key_head, &keys);
    if (k.channel != 1 || v.channel != 1)
        return;
    n = hk_min(keys.len - first, HK_BLOCK);
    hk_ahead_add(&st->ahead, hk_row_at(&k, first), k.row * hk_size(k.dtype),
                 hk_channel_bytes(k.dtype, call->plan->d), n, 1, 0);
    hk_ahead_add(&st->ahead, hk_row_at(&v, first), v.row * hk_size(v.dtype),
                 hk_channel_bytes(v.dtype, call->plan->d_v), n, 1, 0);
}

/* Before the blocks of a sub-source: from here on rows are fetched, if it shows few. */
HK_FN void hk_ahead_open(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                         const struct hk_sub_view *view)
{
    hk_i64 blocks = 0;
    hk_u32 r;

    if (st->ahead.each > 0 || st->ahead.next.count == 0 || sub->kind != HK_SUB_KEYS)
        return;
    for (r = 0; r < st->ranges; r++) {
        if (st->all.lo[r] < st->all.hi[r])
            blocks += (st->all.hi[r] - 1) / HK_BLOCK - st->all.lo[r] / HK_BLOCK + 1;
    }
    if (blocks == 0 || blocks > HK_AHEAD_BLOCKS)
        return;
    if (!st->packed && st->k_rows.layout.kind == HK_LAYOUT_EVEN)
        hk_ahead_keys(st, sub, view);
    if (st->ahead.total > 0)
        st->ahead.each = (st->ahead.total - 1) / (blocks * st->tiles) + 1;
}

/* A tile's part. */
HK_INLINE void hk_ahead_fetch(struct hk_ahead *ahead)
{
    hk_i64 left = ahead->each, g, t;

    for (; left > 0 && ahead->at < ahead->n; left--) {
        const struct hk_rows_ahead *rows = &ahead->rows[ahead->at];
        HK_GLOBAL const char *const row = rows->base + ahead->row * rows->row;

        for (g = 0; g < rows->heads; g++) {
            for (t = 0; t < rows->bytes; t += HK_LINE)
                HK_PREFETCH(row + g * rows->head + t);
        }
        if (++ahead->row == rows->n) {
            ahead->row = 0;
            ahead->at++;
        }
    }
}

/* ---- the next block ---- */

/* What the block behind the one at hand reads from memory: K panels or rows that are to be packed,
 * and rows of V; all in bytes. */
struct hk_next {
    HK_GLOBAL const char *k, *v;        /* k 0: nothing */
    hk_i64 k_row, k_bytes, v_row, v_bytes;
    hk_i64 each;                        /* rows of both with each tile */
    struct hk_ahead *ahead;
};

HK_FN struct hk_next hk_next_get(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                                 hk_i64 block)
{
    const struct hk_matrix *k = &st->k_rows, *v = &st->v_rows;
    const hk_i64 d = st->call->plan->d, next = block + 1, first = next * HK_BLOCK;
    struct hk_next out;

    out.ahead = &st->ahead;
    out.each = (HK_BLOCK - 1) / st->tiles + 1;
    out.k = out.v = 0;
    out.k_row = out.k_bytes = out.v_row = out.v_bytes = 0;
    if (!hk_block_aligned(sub) || first + HK_BLOCK > st->len || k->layout.kind != HK_LAYOUT_EVEN ||
        k->channel != 1 || v->channel != 1 || d == 0)
        return out;
    if (st->packed) {
        out.k = (HK_GLOBAL const char *)(st->packed + first * st->source->panel_rows);
        out.k_row = out.k_bytes = st->source->panel_rows * 4;
    } else if (st->tags && st->tags[next % st->source->ring].number == st->first_block + next) {
        return out;
    } else {
        out.k = hk_row_at(k, first);
        out.k_row = k->row * hk_size(k->dtype);
        out.k_bytes = hk_channel_bytes(k->dtype, d);
    }
    out.v_row = v->row * hk_size(v->dtype);
    out.v_bytes = hk_channel_bytes(v->dtype, st->call->plan->d_v);
    if (out.v_bytes > 0)
        out.v = hk_row_at(v, first);
    return out;
}

/* Fetches what belongs to tile m, while this block computes. */
HK_INLINE void hk_next_fetch(const struct hk_next *next, hk_i64 m)
{
    const hk_i64 end = hk_min(next->each * (m + 1), HK_BLOCK);
    hk_i64 i, t;

    for (i = next->each * m; next->k && i < end; i++) {
        for (t = 0; t < next->k_bytes; t += HK_LINE)
            HK_PREFETCH(next->k + i * next->k_row + t);
        for (t = 0; t < next->v_bytes; t += HK_LINE)
            HK_PREFETCH(next->v + i * next->v_row + t);
    }
    hk_ahead_fetch(next->ahead);
}

#endif
