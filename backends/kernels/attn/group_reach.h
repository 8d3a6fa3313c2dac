/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: which blocks the rows of a strip see of a sub-source, and where a block's keys
 * lie.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_REACH_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_REACH_H

#include "group.h"

/* By thread r for range r. */
HK_FN void hk_reach_hull(const struct hk_group *g, hk_i32 r)
{
    hk_i64 lo = HK_NO_BLOCK, hi = -HK_NO_BLOCK;
    hk_i32 i;

    HK_NO_UNROLL
    for (i = 0; i < HK_ROWS; i++) {
        const hk_i64 a = g->shared->in.reach.lo[i * HK_REACHES + r],
                     b = g->shared->in.reach.hi[i * HK_REACHES + r];

        if (a < b) {
            lo = hk_min(a, lo);
            hi = hk_max(b, hi);
        }
    }
    g->shared->hull_lo[r] = lo;
    g->shared->hull_hi[r] = hi;
}

/* The first block from `block` on that a range of some row meets; HK_NO_BLOCK: none. */
HK_FN hk_i64 hk_hull_next(const struct hk_group *g, hk_i64 block)
{
    hk_i64 best = HK_NO_BLOCK;
    hk_i32 r;

    for (r = 0; r < HK_REACHES; r++) {
        const hk_i64 lo = g->shared->hull_lo[r], hi = g->shared->hull_hi[r];

        if (lo < hi && hi > block * HK_BLOCK)   /* lo is no less than 0 */
            best = hk_min(best, hk_max((hk_i64)((hk_u64)lo / HK_BLOCK), block));
    }
    return best;
}

/* Place i of the block is this key, which is within the length; 0: it is absent. */
HK_FN int hk_place_take(const struct hk_group *g, hk_i32 i, hk_i64 key)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 at = hk_place(g, i);
    hk_i64 page, in;

    if (!hk_row_find(&shared->k_rows.layout, key, &page, &in))
        return 0;
    shared->keys[at] = key;
    shared->k_at[at] = page * shared->k_rows.page + in * shared->k_rows.row;
    shared->v_at[at] = page * shared->v_rows.page + in * shared->v_rows.row;
#if HK_SCALES
    shared->scales.k_at[at] = page * shared->k_rows.scale_page + in * shared->k_rows.scale_row;
    shared->scales.v_at[at] = page * shared->v_rows.scale_page + in * shared->v_rows.scale_row;
#endif
    return 1;
}

#endif
