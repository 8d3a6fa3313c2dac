/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: blocks whose K lies in panels: of all keys before the run (pack.cl), or in a ring
 * of the worker.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_PACKED_H
#define HEED_BACKENDS_KERNELS_ATTN_PACKED_H

#include "strip.h"

/* A block of keys 64 * block on that lies packed. */
struct hk_panels {
    HK_GLOBAL const float *k;           /* 0: it does not */
    int finite;                         /* 1: all of its V is */
};

/* From the worker's ring, into which the block is packed first if it is not there. */
HK_FN struct hk_panels hk_ring_get(const struct hk_strip *st, hk_i64 block)
{
    const hk_i64 d = st->call->plan->d, slot = block % st->source->ring;
    HK_GLOBAL struct hk_ring_tag *tag = st->tags + slot;
    HK_GLOBAL float *k = st->ring + slot * HK_BLOCK * st->source->panel_rows;
    struct hk_panels out;

    if (tag->number != st->first_block + block) {
        hk_i64 keys[HK_BLOCK];

        hk_keys_fill(&st->k_rows, block * HK_BLOCK, st->len, keys);
        hk_keys_pack(&st->k_rows, keys, d, k, st->temp);
        tag->finite = (hk_u32)hk_rows_finite(&st->v_rows, st->call->plan->d_v, keys, st->temp);
        tag->number = st->first_block + block;
    }
    out.k = k;
    out.finite = tag->finite != 0;
    return out;
}

/* The block of keys behind a block of ordinals, where it is a whole one; else negative. */
HK_FN hk_i64 hk_block_whose(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                            const struct hk_sub_view *view, hk_i64 block)
{
    HK_COPY(struct hk_reach, reach, st->reach[0]);
    hk_i64 key;

    if (hk_block_aligned(sub))
        return block;
    if (sub->kind != HK_SUB_GATHER || st->source->like == 0)
        return -1;
    key = hk_key(sub, view, reach, block * HK_BLOCK);
    return key < 0 ? -1 : key / HK_BLOCK;
}

HK_FN struct hk_panels hk_block_panels(const struct hk_strip *st,
                                       HK_GLOBAL const struct hk_sub *sub,
                                       const struct hk_sub_view *view, hk_i64 block)
{
    const hk_i64 at = hk_block_whose(st, sub, view, block);
    struct hk_panels out;

    out.k = 0;
    out.finite = 0;
    if (at < 0)
        return out;
    if (st->tags)
        return hk_ring_get(st, at);
    if (st->packed) {
        out.k = st->packed + at * HK_BLOCK * st->source->panel_rows;
        out.finite = st->finite[at] != 0;
    }
    return out;
}

#endif
