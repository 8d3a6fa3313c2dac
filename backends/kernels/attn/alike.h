/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: how far the keys of an item and of the next one are the same rows of memory, which
 * their tables say. Keys are shared as chunks are, which are what sums restart at.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_ALIKE_H
#define HEED_BACKENDS_KERNELS_ATTN_ALIKE_H

#include "call.h"
#include "strips.h"

#define HK_ALIKE_ALL ((hk_i64)1 << 62)  /* chunks of items with the same keys, and no others */

/* Chunks that item b and the next one begin with. */
HK_FN HK_GLOBAL hk_i64 *hk_alike(const struct hk_call *call,
                                 HK_GLOBAL const struct hk_source *source, hk_i64 b)
{
    return (HK_GLOBAL hk_i64 *)(call->work + source->alike_at) + b;
}

/* Does item b share keys with the next one? */
HK_FN int hk_items_alike(const struct hk_call *call, hk_i64 b)
{
    hk_u32 s;

    for (s = 0; s < call->plan->n_sources; s++) {
        HK_GLOBAL const struct hk_source *source = call->sources + s;

        if (source->alike_at && *hk_alike(call, source, b) > 0)
            return 1;
    }
    return 0;
}

/* Does an item before item b take it along? */
HK_FN int hk_item_follows(const struct hk_call *call, hk_i64 b)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;

    return (plan->flags & HK_PLAN_LEADS) && b % plan->items != 0 && hk_items_alike(call, b - 1);
}

/* Behind the items that share the strip of item b, its first. */
HK_FN hk_i64 hk_items_end(const struct hk_call *call, hk_i64 b)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const hk_i64 most = hk_min(b + plan->items, plan->n_batch);

    if (!(plan->flags & HK_PLAN_LEADS))
        return most;
    for (b++; b < most && hk_item_follows(call, b);)
        b++;
    return b;
}

/* Entries from 0 on, of n, in which the tables of two items agree. */
HK_FN hk_i64 hk_tables_agree(const struct hk_call *call, HK_GLOBAL const struct hk_aux *index,
                             hk_i64 b, hk_i64 n)
{
    HK_GLOBAL const hk_i32 *one = (HK_GLOBAL const hk_i32 *)hk_aux_of(call, index, b);
    HK_GLOBAL const hk_i32 *other = (HK_GLOBAL const hk_i32 *)hk_aux_of(call, index, b + 1);
    const hk_i64 step = index->stride[5];
    hk_i64 i;

    for (i = 0; i < n && one[i * step] == other[i * step];)
        i++;
    return i;
}

/* Where positions are counted from the end, items of other lengths see other keys. */
HK_FN void hk_alike_find(const struct hk_call *call, HK_GLOBAL const struct hk_source *source,
                         hk_i64 b)
{
    hk_i64 len, other, keys, entries, agree;

    *hk_alike(call, source, b) = 0;
    if (b + 1 >= call->plan->n_batch)
        return;
    len = hk_keys_cut(call, source, b).len;
    other = hk_keys_cut(call, source, b + 1).len;
    keys = hk_min(len, other);
    if (len != other && (hk_subs(call, source)->flags & HK_END))
        return;
    entries = hk_parts(keys, source->k.length);
    agree = hk_tables_agree(call, &source->index, b, entries);
    if (agree == entries && len == other)
        *hk_alike(call, source, b) = HK_ALIKE_ALL;
    else
        *hk_alike(call, source, b) =
            hk_quotient(hk_min(agree * source->k.length, keys), HK_BLOCK * HK_CHUNK);
}

#endif
