/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels whose sub-sources show each row one range of keys, with no list, mask or comb
 * (device/prepare.c decides): what ranges.h does for all others, in a tenth of the code.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_RANGE_H
#define HEED_BACKENDS_KERNELS_ATTN_RANGE_H

#include "group_reach.h"

/* By thread i for row i; two of them find K and V. */
HK_PIECE void hk_reach_row(const struct hk_group *g, HK_GLOBAL const struct hk_sub *sub, hk_i32 i,
                           struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i64 limit = hk_limit(sub, shared->len, shared->q_pos[i]);
    hk_i64 lo = 0, hi = limit;

    (void)me;
    if (i < 2)
        hk_source_rows(g, i);
    if (sub->kind == HK_SUB_FIRST_N) {
        hi = sub->first_n;
    } else {
        if (sub->n_ranges > 0 && sub->range[0].kind == HK_RANGE_AFFINE)
            hk_range_affine(sub, &sub->range[0], shared->len, shared->q_pos[i], &lo, &hi);
        lo = hk_max(lo, sub->first_n);
    }
    hi = shared->active[i] < 2 ? 0 : hk_min(hi, limit);
    shared->in.reach.lo[i] = hk_max(lo, 0);
    shared->in.reach.hi[i] = hi;
#if !HK_FEW
    me->lo = hk_max(lo, 0);
    me->hi = hi;
#endif
}

HK_FN void hk_reach_take(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    (void)g;
    (void)id;
    (void)me;
}

HK_FN void hk_mask_part(const struct hk_group *g, hk_i32 id, const struct hk_mine *me)
{
    (void)g;
    (void)id;
    (void)me;
}

HK_FN int hk_rows_agree(const struct hk_group *g, hk_i32 first)
{
    (void)g;
    (void)first;
    return 1;
}

HK_FN void hk_views_get(const struct hk_group *g, HK_GLOBAL const struct hk_source *source)
{
    (void)g;
    (void)source;
}

HK_FN hk_i64 hk_group_next(const struct hk_group *g, hk_i64 block)
{
    return hk_hull_next(g, block);
}

/* Place i of the block, by thread i: is it there for any row? */
HK_FN int hk_place_open(const struct hk_group *g, hk_i32 i)
{
    const hk_i64 key = hk_block_of(g) * HK_BLOCK + i;

    return key < g->shared->hull_hi[0] && hk_place_take(g, i, key);
}

HK_FN hk_u64 hk_mask_get(const struct hk_group *g, hk_i32 i, const struct hk_mine *me)
{
    const hk_i64 base = hk_block_of(g) * HK_BLOCK;
#if HK_FEW                      /* where several threads look at the blocks of a row */
    const hk_i64 lo = g->shared->in.reach.lo[i], hi = g->shared->in.reach.hi[i];
#else
    const hk_i64 lo = me->lo, hi = me->hi;
#endif

    (void)i;
    (void)me;
    return hk_bits(lo - base, hi - base) & hk_joined(g->shared->available + 2 * hk_number(g));
}

#endif
