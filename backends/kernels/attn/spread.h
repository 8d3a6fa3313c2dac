/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: the products of a block while the next one's rows are on their way. Where tiles
 * are few, many lines are asked for with each, and a processor that has as many under way as it can
 * waits: so they are asked for a few at a time, between the terms of the sums.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_SPREAD_H
#define HEED_BACKENDS_KERNELS_ATTN_SPREAD_H

#include "fetch.h"

#if HK_FETCHES

#define HK_SPREAD_TERMS 16 /* of a sum, between two steps */
#define HK_SPREAD_LINES 64 /* for each tile, at least: fewer do not wait for each other */

/* ---- products ---- */

/* hk_product_more with a step now and then. */
HK_INLINE void hk_product_spread(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 x_row,
                                 HK_GLOBAL const float *HK_RESTRICT b, hk_i64 row, hk_i64 n,
                                 hk_vec acc[HK_R][HK_TILE_VECS], struct hk_fetch *ahead)
{
    hk_i64 t;

    for (t = 0; t < n; t += HK_SPREAD_TERMS) {
        hk_fetch_step(ahead);
        hk_product_more(x + t, x_row, b + t * row, row, hk_min(n - t, HK_SPREAD_TERMS), acc,
                        HKV_TILE);
    }
}

/* hk_score_block. */
HK_NOINLINE void hk_score_spread(HK_GLOBAL const float *q, HK_GLOBAL const float *k, hk_i64 d,
                                 HK_GLOBAL float *s, HK_GLOBAL const float *factor,
                                 HK_GLOBAL float *max, struct hk_fetch *ahead)
{
    int n;

    for (n = 0; n < HK_BLOCK; n += HK_PANEL) {
        hk_vec acc[HK_R][HK_TILE_VECS];

        hk_product_zero(acc, HK_R, HKV_TILE);
        hk_product_spread(q, d, k + n * d, HK_PANEL, d, acc, ahead);
        hk_score_leave(acc, n, factor, s, max);
    }
}

/* hk_value_column. */
HK_NOINLINE void hk_value_spread(HK_GLOBAL const float *p, HK_GLOBAL const float *v, hk_i64 v_row,
                                 HK_GLOBAL float *o, hk_i64 span, hk_i64 tiles,
                                 struct hk_fetch *ahead)
{
    hk_i64 m;

    for (m = 0; m < tiles; m++) {
        hk_vec acc[HK_R][HK_TILE_VECS];

        hk_product_load(acc, o + m * span, HK_PANEL, HK_R, HKV_TILE);
        hk_product_spread(p + m * HK_R * HK_BLOCK, HK_BLOCK, v, v_row, HK_BLOCK, acc, ahead);
        hk_product_store(acc, o + m * span, HK_PANEL, HK_R, HKV_TILE);
    }
}

/* ---- a block ---- */

/* Floats or, of rows as they are, channels that a row of the next block's K has. */
HK_FN hk_i64 hk_spread_channels(const struct hk_strip *st)
{
    return st->packed ? st->source->panel_rows : st->call->plan->d;
}

/* Is there a block behind this one, and has it so many lines that they would wait for one
 * another? */
HK_FN int hk_spread_serves(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                           hk_i64 block)
{
    const struct hk_matrix *k = &st->k_rows, *v = &st->v_rows;
    const hk_i64 next = block + 1;
    hk_i64 bytes;

    if (!hk_block_aligned(sub) || (next + 1) * HK_BLOCK > st->len || k->channel != 1 ||
        v->channel != 1 || k->group != 0 || v->group != 0 || st->width % HK_PANEL != 0 ||
        st->width == 0)
        return 0;
    if (!st->packed && st->tags &&
        st->tags[next % st->source->ring].number == st->first_block + next)
        return 0;
    bytes = hk_channel_bytes(st->packed ? HK_F32 : k->dtype, hk_spread_channels(st)) +
            hk_channel_bytes(v->dtype, st->call->plan->d_v);
    return bytes >= HK_SPREAD_LINES * HK_LINE / HK_BLOCK * st->tiles;
}

/* The rows of K of the block behind. */
HK_FN void hk_spread_keys(const struct hk_strip *st, hk_i64 first, struct hk_block_rows *out)
{
    const hk_i64 row = st->source->panel_rows * 4;
    int i;

    hk_rows_list(&st->k_rows, first, (HK_GLOBAL const char *)st->zeros, out);
    if (!st->packed)
        return;
    out->dtype = HK_F32;
    for (i = 0; i < HK_BLOCK; i++)
        out->at[i] = (HK_GLOBAL const char *)st->packed + (first + i) * row;
}

/* What hk_block_whole does: all rows see all keys, nothing but scores enters, V is finite. */
HK_FN void hk_spread_whole(struct hk_strip *st, hk_i64 block, HK_GLOBAL const float *k,
                           HK_GLOBAL const float *v, hk_i64 v_row)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    const hk_i64 first = (block + 1) * HK_BLOCK, span = hk_o_span(st->width);
    struct hk_block_rows rows;
    struct hk_fetch ahead;
    hk_i64 m, t;

    hk_spread_keys(st, first, &rows);
    hk_fetch_begin(&ahead, &rows, 0, hk_spread_channels(st),
                   st->tiles * (HK_BLOCK / HK_PANEL) * ((plan->d - 1) / HK_SPREAD_TERMS + 1));
    for (m = 0; m < st->tiles; m++) {
        const struct hk_tile tile = hk_strip_tile(st, m);

        hk_ahead_fetch(&st->ahead);
        hk_score_spread(hk_tile_q(st, m), k, plan->d, tile.s, &plan->c, tile.max, &ahead);
        hk_softmax_finite(&tile);
        hk_tile_begin(st, m);
    }
    hk_rows_list(&st->v_rows, first, (HK_GLOBAL const char *)st->zeros, &rows);
    hk_fetch_begin(&ahead, &rows, 0, plan->d_v,
                   st->tiles * (st->width / HK_PANEL) * (HK_BLOCK / HK_SPREAD_TERMS));
    for (t = 0; t < st->width; t += HK_PANEL)
        hk_value_spread(st->s, v + t, v_row, st->o + hk_o_at(t), span, st->tiles, &ahead);
}

#endif

#endif
