/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels for every pattern: several ranges of a row, lists, masks and combs.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_RANGES_H
#define HEED_BACKENDS_KERNELS_ATTN_RANGES_H

#include "group_reach.h"
#include "listed.h"
#include "row_mask.h"

HK_FN struct hk_row hk_group_row(const struct hk_group *g, hk_i32 i)
{
    struct hk_row row;

    row.q = g->shared->q_pos[i];
    row.index = g->shared->index[i];
    row.head = g->shared->head[i];
    row.all = (hk_i64)(g->shared->all[i] >> g->shared->source & 1);
    return row;
}

HK_FN HK_LOCAL const struct hk_sub_view *hk_group_view(const struct hk_group *g)
{
    return &g->shared->views[g->shared->sub];
}

/* Do all rows share the residue of every strided sub-source that follows the query? */
HK_FN int hk_rows_agree(const struct hk_group *g, hk_i32 first)
{
    const hk_i64 step = g->call->plan->strips.row_step, q = g->shared->q_pos[first];
    hk_i32 i;

    for (i = first; i < HK_ROWS && step > 1; i++) {
        if (g->shared->active[i] && hk_mod(g->shared->q_pos[i] - q, step) != 0)
            return 0;
    }
    return 1;
}

HK_FN void hk_views_get(const struct hk_group *g, HK_GLOBAL const struct hk_source *source)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 first = shared->window_first;
    hk_u32 i;

    for (i = 0; i < source->n_subs; i++)
        hk_sub_view_get(g->call, shared->source, i, g->task->b, shared->head[first],
                        shared->index[first], shared->len, &shared->views[i]);
}

/* By thread i for row i; two of them find K and V. */
HK_PIECE void hk_reach_row(const struct hk_group *g, HK_GLOBAL const struct hk_sub *sub, hk_i32 i,
                           struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const struct hk_row row = hk_group_row(g, i);
    HK_LOCAL hk_i64 *lo = shared->in.reach.lo + i * HK_RANGES;
    HK_LOCAL hk_i64 *hi = shared->in.reach.hi + i * HK_RANGES;
    const int sees = shared->active[i] == 2 && i >= shared->window_first && i < shared->window_end;
    struct hk_reach reach;
    hk_u32 n, r;

    (void)me;
    if (i < 2)
        hk_source_rows(g, i);
    n = hk_reach_begin(sub, hk_group_view(g), &row, &reach);
    HK_NO_UNROLL
    for (r = 0; r < HK_RANGES; r++)
        lo[r] = hi[r] = 0;
    if (sees && n == 0 && reach.n == 1) {
        lo[0] = reach.lo[0];
        hi[0] = reach.hi[0];
    }
    HK_NO_UNROLL
    for (r = 0; sees && r < n; r++) {
        hk_i64 first, end;

        hk_reach_range(sub, hk_group_view(g), &row, r, &reach, &first, &end);
        lo[r] = first;
        hi[r] = end;
    }
    shared->limit[i] = reach.limit;
    if (i == shared->window_first)
        shared->residue = reach.residue;
}

/* Range r of a thread's, of those that look at a block number i: some ranges of a row are its. */
HK_FN void hk_reach_own(const struct hk_group *g, hk_i32 i, const hk_i32 r, hk_i64 *lo, hk_i64 *hi)
{
    const hk_i32 n = i / HK_ROWS * HK_OWN_RANGES + r, at = i % HK_ROWS * HK_RANGES + n;
    const int has = HK_OWN_RANGES * HK_LOOKING == HK_RANGES * HK_ROWS || n < HK_RANGES;

    *lo = has ? g->shared->in.reach.lo[at] : 0;
    *hi = has ? g->shared->in.reach.hi[at] : 0;
}

/* Then by every thread: they stay with it where there is little local memory. */
HK_PIECE void hk_reach_take(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
#if HK_REACH_STAYS
    (void)g;
    (void)id;
    (void)me;
#else
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < HK_OWN_RANGES; r++)
        hk_reach_own(g, id % HK_LOOKING, r, &me->lo[r], &me->hi[r]);
#endif
}

/* The first block from `block` on that some row may see; HK_NO_BLOCK: none. */
HK_FN hk_i64 hk_group_next(const struct hk_group *g, hk_i64 block)
{
    HK_GLOBAL const struct hk_sub *sub = hk_group_sub(g);

    if (sub->kind == HK_SUB_GATHER && !hk_is_apart(g))
        block = hk_gather_next(sub, hk_group_view(g), block);
    return hk_hull_next(g, block);
}

/* The end of what any row may see: what a STRIDED has behind it may be no number. */
HK_FN hk_i64 hk_group_end(const struct hk_group *g)
{
    hk_i64 end = g->shared->hull_hi[0];
    hk_i32 r;

    for (r = 1; r < HK_RANGES; r++)
        end = hk_max(g->shared->hull_hi[r], end);
    return end;
}

/* Place i of the block, by thread i: which key it is, and is it there for any row (as hk_block_mask
 * has it)? */
HK_FN int hk_place_open(const struct hk_group *g, hk_i32 i)
{
    HK_GLOBAL const struct hk_sub *sub = hk_group_sub(g);
    HK_LOCAL const struct hk_sub_view *view = hk_group_view(g);
    const hk_i64 ordinal = hk_block_of(g) * HK_BLOCK + i;
    struct hk_reach reach;
    hk_i64 key;

#if HK_LISTS
    if (g->shared->apart)
        return hk_listed_open(g, i);
#endif
    if (sub->kind == HK_SUB_LIST && ordinal >= view->n_list)
        return 0;
    if (sub->kind == HK_SUB_GATHER && ordinal >= view->n_list * sub->run)
        return 0;
    if (sub->kind == HK_SUB_STRIDED && ordinal >= hk_group_end(g))
        return 0;
    reach.residue = g->shared->residue;
    key = hk_key(sub, view, &reach, ordinal);
    if (key < 0 || key >= view->len || (view->mask && view->mask[key * view->mask_stride] == 0))
        return 0;
    if ((sub->kind == HK_SUB_KEYS || sub->kind == HK_SUB_STRIDED) && hk_is_global(sub, view, key))
        return 0;
    return hk_place_take(g, i, key);
}

/* What a thread's ranges hold of the block: of those that look at it number i. */
HK_PIECE void hk_mask_part(const struct hk_group *g, hk_i32 i, const struct hk_mine *me)
{
    const hk_i32 at = hk_number(g) * HK_LOOKING + i;
    hk_u64 mask = 0;
    hk_i64 base;
    hk_i32 r;

    if (!g->shared->works)
        return;
    base = hk_block_of(g) * HK_BLOCK;
    HK_UNROLL
    for (r = 0; r < HK_OWN_RANGES; r++) {
        hk_i64 lo, hi;

#if HK_REACH_STAYS
        (void)me;
        hk_reach_own(g, i, r, &lo, &hi);
#else
        lo = me->lo[r];
        hi = me->hi[r];
#endif
        mask |= hk_bits(lo - base, hi - base);
    }
    g->shared->out.parts[2 * at] = (hk_u32)mask;
    g->shared->out.parts[2 * at + 1] = (hk_u32)(mask >> 32);
}

/* Of the places of the block that row i sees, those whose keys its row mask keeps. */
HK_PIECE hk_u64 hk_row_kept(const struct hk_group *g, hk_i32 i, hk_u64 seen)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    HK_GLOBAL const struct hk_aux *mask = &g->call->sources[shared->source].row_mask;
    const struct hk_row_keep keep = hk_row_keep_get(mask, hk_aux_of(g->call, mask, g->task->b),
                                                    shared->head[i], shared->index[i]);
    const hk_u32 kind = hk_group_sub(g)->kind;
    hk_u64 left;

    if (keep.dtype == HK_I32 && (kind == HK_SUB_KEYS || kind == HK_SUB_FIRST_N))
        return seen & hk_row_words(&keep, hk_block_of(g));
    HK_NO_UNROLL
    for (left = seen; left != 0; left &= left - 1) {
        const hk_i32 n = hk_first_bit(left);

        if (!hk_row_keeps(&keep, shared->keys[hk_place(g, n)]))
            seen &= ~((hk_u64)1 << n);
    }
    return seen;
}

/* By thread i for row i, when all threads of the row have done their part. */
HK_FN hk_u64 hk_mask_get(const struct hk_group *g, hk_i32 i, const struct hk_mine *me)
{
    HK_GLOBAL const struct hk_sub *sub = hk_group_sub(g);
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const struct hk_row row = hk_group_row(g, i);
    hk_u64 mask = 0, left;
    hk_i32 id;

    (void)me;
    HK_UNROLL
    for (id = i; id < HK_LOOKING; id += HK_ROWS)
        mask |= hk_joined(shared->out.parts + 2 * (hk_number(g) * HK_LOOKING + id));
    mask &= hk_joined(shared->available + 2 * hk_number(g));
#if HK_LISTS
    if (shared->apart)
        return hk_listed_mask(g, i, mask);
#endif
    if (mask != 0 && sub->n_earlier != 0)       /* all rows of the window have one residue */
        mask &= ~hk_earlier_mask(sub, hk_group_view(g), &row, shared->residue,
                                 hk_block_of(g) * HK_BLOCK, mask);
    HK_NO_UNROLL
    for (left = hk_keys_decide(sub) ? mask : 0; left != 0; left &= left - 1) {
        const hk_i32 n = hk_first_bit(left);

        if (shared->keys[hk_place(g, n)] >= shared->limit[i])
            mask &= ~((hk_u64)1 << n);
    }
    if (mask != 0 && g->call->sources[shared->source].row_mask.slot)
        mask = hk_row_kept(g, i, mask);
    return mask;
}

#endif
