/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: the register tiles of a block of 64 keys, scores and values (docs/numerics.md
 * steps 3 and 7). Vectors hold different keys (scores) or different channels (values), never terms
 * of one sum. The tiles are functions of their own, for inlined into their callers' loops they lose
 * registers to them; their loops over tiles let the end of one tile overlap the beginning of the
 * next.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_TILES_H
#define HEED_BACKENDS_KERNELS_ATTN_TILES_H

#include "../products.h"
#include "rows.h"

/* The sums o of a tile's rows lie [panels][R][HK_PANEL], so that a register tile finds its own at
 * constant offsets. Floats of a tile; channel t of a row. */
HK_FN hk_i64 hk_o_span(hk_i64 width)
{
    return (width + HK_PANEL - 1) / HK_PANEL * (HK_PANEL * HK_R);
}

HK_FN hk_i64 hk_o_at(hk_i64 t)
{
    return t / HK_PANEL * (HK_PANEL * HK_R) + t % HK_PANEL;
}

/* ---- scores ---- */

HK_INLINE void hk_score_tile(HK_GLOBAL const float *q, HK_GLOBAL const float *k, hk_i64 d,
                             HK_GLOBAL float *s, const int vecs)
{
    hk_vec acc[HK_R][HK_TILE_VECS];

    hk_product_sums(q, d, k, d, acc, vecs);
    hk_product_store(acc, s, HK_BLOCK, HK_R, vecs);
}

HK_NOINLINE void hk_score_whole(HK_GLOBAL const float *q, HK_GLOBAL const float *k, hk_i64 d,
                                HK_GLOBAL float *s)
{
    hk_score_tile(q, k, d, s, HKV_TILE);
}

/* Parts of panels, for tiles at the edge of what rows see. */
#if HKV_TILE >= 4
#define HK_SCORE_PART(name, vecs)                                                                  \
    HK_NOINLINE void name(HK_GLOBAL const float *q, HK_GLOBAL const float *k, hk_i64 d,            \
                          HK_GLOBAL float *s)                                                      \
    {                                                                                              \
        hk_score_tile(q, k, d, s, vecs);                                                           \
    }
HK_SCORE_PART(hk_score_quarter, HKV_TILE / 4)
HK_SCORE_PART(hk_score_half, HKV_TILE / 2)
HK_SCORE_PART(hk_score_most, HKV_TILE * 3 / 4)
#undef HK_SCORE_PART
#endif

/* Scores of a tile with the panel that begins at key n of the block, or with as many quarters of it
 * as mask asks for. */
HK_FN void hk_score_panel(HK_GLOBAL const float *q, HK_GLOBAL const float *k, hk_i64 d,
                          HK_GLOBAL float *s, int n, hk_u64 mask)
{
#if HKV_TILE >= 4
    const hk_u64 quarter = ~(hk_u64)0 >> (64 - HK_PANEL / 4);
    int first = 0, end = HK_PANEL;

    mask >>= n;
    while (!(mask >> first & quarter))
        first += HK_PANEL / 4;
    while (!(mask >> (end - HK_PANEL / 4) & quarter))
        end -= HK_PANEL / 4;
    k += n * d + first;
    s += n + first;
    if (end - first == HK_PANEL / 4)
        hk_score_quarter(q, k, d, s);
    else if (end - first == HK_PANEL / 2)
        hk_score_half(q, k, d, s);
    else if (end - first < HK_PANEL)
        hk_score_most(q, k, d, s);
    else
        hk_score_whole(q, k, d, s);
#else
    (void)mask;
    hk_score_whole(q, k + n * d, d, s + n);
#endif
}

/* A tile's scores with the panel from key n on as y = s * c, and each row's largest y so far, lane
 * by lane, in max. (c is read here, behind the products, which need all registers.) */
HK_INLINE void hk_score_leave(hk_vec acc[HK_R][HK_TILE_VECS], int n, HK_GLOBAL const float *factor,
                              HK_GLOBAL float *s, HK_GLOBAL float *max)
{
    const hk_vec c = hkv_set(*factor);
    int i, u;

    HK_UNROLL
    for (i = 0; i < HK_R; i++) {
        hk_vec top = n == 0 ? hkv_set(-HK_INFINITY) : hkv_load(max + i * HKV_LANES);

        HK_UNROLL
        for (u = 0; u < HKV_TILE; u++) {
            const hk_vec y = hkv_mul(acc[i][u], c);

            top = hkv_max_f(y, top);
            hkv_store(s + i * HK_BLOCK + n + u * HKV_LANES, y);
        }
        hkv_store(max + i * HKV_LANES, top);
    }
}

/* Scores of a tile with all 64 keys so. Saves a pass over the scores. */
HK_NOINLINE void hk_score_block(HK_GLOBAL const float *q, HK_GLOBAL const float *k, hk_i64 d,
                                HK_GLOBAL float *s, HK_GLOBAL const float *factor,
                                HK_GLOBAL float *max)
{
    int n;

    for (n = 0; n < HK_BLOCK; n += HK_PANEL) {
        hk_vec acc[HK_R][HK_TILE_VECS];

        hk_product_sums(q, d, k + n * d, d, acc, HKV_TILE);
        hk_score_leave(acc, n, factor, s, max);
    }
}

/* ---- values ---- */

/* o[i][0 .. vecs * HKV_LANES) = fma over keys [first, end) of p[i][key] * v[key] (step 7). */
HK_INLINE void hk_value_tile(HK_GLOBAL const float *HK_RESTRICT p,
                             HK_GLOBAL const float *HK_RESTRICT v, hk_i64 v_row, int first, int end,
                             HK_GLOBAL float *HK_RESTRICT o, const int vecs)
{
    hk_vec acc[HK_R][HK_TILE_VECS];

    hk_product_load(acc, o, HK_PANEL, HK_R, vecs);
    hk_product_more(p + first, HK_BLOCK, v + first * v_row, v_row, end - first, acc, vecs);
    hk_product_store(acc, o, HK_PANEL, HK_R, vecs);
}

HK_NOINLINE void hk_value_tiles_full(HK_GLOBAL const float *p, HK_GLOBAL const float *v,
                                     hk_i64 v_row, int first, int end, HK_GLOBAL float *o,
                                     hk_i64 width)
{
    hk_i64 t;

    for (t = 0; t + HK_PANEL <= width; t += HK_PANEL)
        hk_value_tile(p, v + t, v_row, first, end, o + hk_o_at(t), HKV_TILE);
}

/* n channels within a panel, whole vectors of them, at v and o. */
HK_NOINLINE void hk_value_part(HK_GLOBAL const float *p, HK_GLOBAL const float *v, hk_i64 v_row,
                               int first, int end, HK_GLOBAL float *o, hk_i64 n)
{
    hk_i64 t = 0;

    for (; HKV_TILE > 2 && t + HK_PANEL / 2 <= n; t += HK_PANEL / 2)
        hk_value_tile(p, v + t, v_row, first, end, o + t, HKV_TILE / 2);
    for (; t + HKV_LANES <= n; t += HKV_LANES)
        hk_value_tile(p, v + t, v_row, first, end, o + t, 1);
}

/* The channels behind the last whole panel. */
HK_FN void hk_value_tiles_rest(HK_GLOBAL const float *p, HK_GLOBAL const float *v, hk_i64 v_row,
                               int first, int end, HK_GLOBAL float *o, hk_i64 width)
{
    const hk_i64 t = width / HK_PANEL * HK_PANEL;

    hk_value_part(p, v + t, v_row, first, end, o + hk_o_at(t), width - t);
}

/* All channels of one tile with keys [first, end). */
HK_FN void hk_value_tiles(HK_GLOBAL const float *p, HK_GLOBAL const float *v, hk_i64 v_row,
                          int first, int end, HK_GLOBAL float *o, hk_i64 width)
{
    hk_value_tiles_full(p, v, v_row, first, end, o, width);
    if (width % HK_PANEL != 0)
        hk_value_tiles_rest(p, v, v_row, first, end, o, width);
}

/* One panel of channels of all tiles with all 64 keys: that panel of V stays in the first level. */
HK_NOINLINE void hk_value_column(HK_GLOBAL const float *p, HK_GLOBAL const float *v, hk_i64 v_row,
                                 HK_GLOBAL float *o, hk_i64 span, hk_i64 tiles)
{
    hk_i64 m;

    for (m = 0; m < tiles; m++)
        hk_value_tile(p + m * HK_R * HK_BLOCK, v, v_row, 0, HK_BLOCK, o + m * span, HKV_TILE);
}

/* All channels of all tiles with all 64 keys. */
HK_FN void hk_value_block(HK_GLOBAL const float *p, HK_GLOBAL const float *v, hk_i64 v_row,
                          HK_GLOBAL float *o, hk_i64 width, hk_i64 tiles)
{
    const hk_i64 span = hk_o_span(width);
    hk_i64 t;

    for (t = 0; t + HK_PANEL <= width; t += HK_PANEL)
        hk_value_column(p, v + t, v_row, o + hk_o_at(t), span, tiles);
    for (t = 0; width % HK_PANEL != 0 && t < tiles; t++)
        hk_value_tiles_rest(p + t * HK_R * HK_BLOCK, v, v_row, 0, HK_BLOCK, o + t * span, width);
}

/* A vector of channels of one row, keys in mask only. */
HK_FN void hk_value_lanes(HK_GLOBAL const float *p, HK_GLOBAL const float *v, hk_i64 v_row,
                          hk_u64 mask, HK_GLOBAL float *o)
{
    hk_vec sum = hkv_load(o);

    for (; mask != 0; mask &= mask - 1) {
        const int key = hk_first_bit(mask);

        sum = hkv_fma(hkv_set(p[key]), hkv_load(v + key * v_row), sum);
    }
    hkv_store(o, sum);
}

/* One row, keys in mask only: for tiles where the V of a removed key is not finite. */
HK_FN void hk_value_row(HK_GLOBAL const float *p, HK_GLOBAL const float *v, hk_i64 v_row,
                        hk_u64 mask, HK_GLOBAL float *o, hk_i64 width)
{
    hk_i64 t;

    for (t = 0; t < width; t += HKV_LANES)
        hk_value_lanes(p, v + t, v_row, mask, o + hk_o_at(t));
}

/* Are the V rows in mask finite? 0 * x is NaN where x is not. */
HK_FN int hk_values_finite(HK_GLOBAL const float *v, hk_i64 v_row, hk_u64 mask, hk_i64 width)
{
    const hk_vec zero = hkv_set(0.0f);
    hk_vec sum = zero, more = zero;

    for (; mask != 0; mask &= mask - 1) {
        HK_GLOBAL const float *row = v + hk_first_bit(mask) * v_row;
        hk_i64 t = 0;

        for (; t + 2 * HKV_LANES <= width; t += 2 * HKV_LANES) {
            sum = hkv_fma(hkv_load(row + t), zero, sum);
            more = hkv_fma(hkv_load(row + t + HKV_LANES), zero, more);
        }
        for (; t < width; t += HKV_LANES)
            sum = hkv_fma(hkv_load(row + t), zero, sum);
    }
    return hkv_word(hkv_ordered(hkv_add(sum, more))) == HK_ALL_LANES;
}

#endif
