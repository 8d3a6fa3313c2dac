/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Shape A: the arithmetic of a tile of HK_TILE_ROWS rows with vectors of 16: scores, weights,
 * values of a 64-key block (docs/numerics.md steps 3 to 8). Vectors hold different keys (scores) or
 * different channels (values), never terms of one sum.
 */
#ifndef HEED_BACKENDS_KERNELS_TILES_H
#define HEED_BACKENDS_KERNELS_TILES_H

#include "numerics.h"

#define HK_R HK_TILE_ROWS

/* acc[i] = q row i . 16 keys of a panel, one fma chain over d per score (step 3). q: [R][d]. */
HK_FN void hk_score_sums(HK_GLOBAL const float *HK_RESTRICT q, HK_GLOBAL const float *HK_RESTRICT k,
                         hk_i64 d, hk_vec acc[HK_R])
{
    hk_i64 t;
    int i;

    HK_UNROLL
    for (i = 0; i < HK_R; i++)
        acc[i] = hkv_set(0.0f);
    for (t = 0; t < d; t++) {
        const hk_vec b = hkv_load(k + t * 16);

        HK_UNROLL
        for (i = 0; i < HK_R; i++)
            acc[i] = hkv_fma(hkv_set(q[i * d + t]), b, acc[i]);
    }
}

/* Scores of `tiles` tiles with one panel. */
HK_NOINLINE void hk_score_tiles(HK_GLOBAL const float *q, HK_GLOBAL const float *k, hk_i64 d,
                                HK_GLOBAL float *s, hk_i64 tiles)
{
    hk_i64 m;
    int i;

    for (m = 0; m < tiles; m++) {
        hk_vec acc[HK_R];

        hk_score_sums(q + m * HK_R * d, k, d, acc);
        HK_UNROLL
        for (i = 0; i < HK_R; i++)
            hkv_store(s + (m * HK_R + i) * HK_BLOCK, acc[i]);
    }
}

/* As hk_score_tiles, then y = s * c in place of s, and each row's largest y over the panels so far,
 * lane by lane, in most (first: over this one only). Saves a pass over the scores. */
HK_NOINLINE void hk_score_tiles_most(HK_GLOBAL const float *q, HK_GLOBAL const float *k, hk_i64 d,
                                     HK_GLOBAL float *s, hk_i64 tiles, float factor,
                                     HK_GLOBAL float *most, int first)
{
    const hk_vec c = hkv_set(factor);
    hk_i64 m;
    int i;

    for (m = 0; m < tiles; m++) {
        hk_vec acc[HK_R];

        hk_score_sums(q + m * HK_R * d, k, d, acc);
        HK_UNROLL
        for (i = 0; i < HK_R; i++) {
            const hk_vec y = hkv_mul(acc[i], c);
            HK_GLOBAL float *top = most + (m * HK_R + i) * 16;

            hkv_store(top, hkv_max_f(y, first ? hkv_set(-HK_INFINITY) : hkv_load(top)));
            hkv_store(s + (m * HK_R + i) * HK_BLOCK, y);
        }
    }
}

/* o[i] = fma over keys [first, end) of p[i][key] * v[key] for 16 channels (step 7). */
HK_FN void hk_value_tile(HK_GLOBAL const float *HK_RESTRICT p, HK_GLOBAL const float *HK_RESTRICT v,
                         hk_i64 v_row, int first, int end, HK_GLOBAL float *HK_RESTRICT o)
{
    hk_vec acc[HK_R];
    int i, t;

    HK_UNROLL
    for (i = 0; i < HK_R; i++)
        acc[i] = hkv_load(o + i * 16);
    for (t = first; t < end; t++) {
        const hk_vec b = hkv_load(v + t * v_row);

        HK_UNROLL
        for (i = 0; i < HK_R; i++)
            acc[i] = hkv_fma(hkv_set(p[i * HK_BLOCK + t]), b, acc[i]);
    }
    HK_UNROLL
    for (i = 0; i < HK_R; i++)
        hkv_store(o + i * 16, acc[i]);
}

/* All channels of one tile. o: [width / 16][R][16]. */
HK_NOINLINE void hk_value_tiles(HK_GLOBAL const float *p, HK_GLOBAL const float *v, hk_i64 v_row,
                                int first, int end, HK_GLOBAL float *o, hk_i64 width)
{
    hk_i64 t;

    for (t = 0; t < width; t += 16)
        hk_value_tile(p, v + t, v_row, first, end, o + t * HK_R);
}

/* 16 channels of all tiles with all 64 keys: that panel of V stays in the first level. */
HK_NOINLINE void hk_value_column(HK_GLOBAL const float *p, HK_GLOBAL const float *v, hk_i64 v_row,
                                 HK_GLOBAL float *o, hk_i64 span, hk_i64 tiles)
{
    hk_i64 m;

    for (m = 0; m < tiles; m++)
        hk_value_tile(p + m * HK_R * HK_BLOCK, v, v_row, 0, HK_BLOCK, o + m * span);
}

/* One row, keys in word only: for tiles where the V of a removed key is not finite. */
HK_FN void hk_value_row(HK_GLOBAL const float *p, HK_GLOBAL const float *v, hk_i64 v_row,
                        hk_u64 word, HK_GLOBAL float *o, hk_i64 width)
{
    for (; word != 0; word &= word - 1) {
        const int key = hk_first_bit(word);
        hk_i64 t;

        for (t = 0; t < width; t += 16)
            hkv_store(o + t * HK_R, hkv_fma(hkv_set(p[key]), hkv_load(v + key * v_row + t),
                                            hkv_load(o + t * HK_R)));
    }
}

/* Are the V rows in word finite? 0 * x is NaN where x is not. */
HK_FN int hk_values_finite(HK_GLOBAL const float *v, hk_i64 v_row, hk_u64 word, hk_i64 width)
{
    hk_vec sum = hkv_set(0.0f);
    hk_i64 t;

    for (; word != 0; word &= word - 1) {
        HK_GLOBAL const float *row = v + hk_first_bit(word) * v_row;

        for (t = 0; t < width; t += 16)
            sum = hkv_fma(hkv_load(row + t), hkv_set(0.0f), sum);
    }
    return hkv_word(hkv_ordered(sum)) == 0xffffu;
}

/* Where the sums of one row lie. */
struct hk_sums {
    HK_GLOBAL float *reference, *lanes, *o;
    HK_GLOBAL hk_u32 *fresh;    /* 1: no remaining key in this chunk yet; lanes and o are zero */
    hk_i64 width;
};

/* Raises the reference of a row, if a largest y asks for it, and brings its sums along (step 5). */
HK_FN void hk_row_raise(const struct hk_sums *row, float most)
{
    const float e = hk_reference(most);

    if (e > *row->reference) {
        if (!*row->fresh) {
            const hk_vec w = hkv_set(hk_power(hk_sub(*row->reference, e)));
            hk_i64 t;

            hkv_store(row->lanes, hkv_mul(hkv_load(row->lanes), w));
            for (t = 0; t < row->width; t += 16)
                hkv_store(row->o + t * HK_R, hkv_mul(hkv_load(row->o + t * HK_R), w));
        }
        *row->reference = e;
    }
    *row->fresh = 0;
}

/* Softmax of the visible part of a block: s holds scores that times factor are y; word says which.
 * Leaves the weights in s, +0 where removed, and returns the remaining keys: visible and y not -Inf
 * (step 6). */
HK_NOINLINE hk_u64 hk_softmax_part(HK_GLOBAL float *s, float factor, hk_u64 word,
                                   const struct hk_sums *row)
{
    const hk_vec none = hkv_set(-HK_INFINITY), c = hkv_set(factor);
    hk_vec most = none, reference, lanes;
    hk_u64 rest = 0;
    int u;

    for (u = 0; u < HK_BLOCK; u += 16) {
        const hk_u32 bits = (hk_u32)(word >> u) & 0xffffu;
        hk_vec y;

        if (bits == 0)
            continue;
        y = hkv_select(hkv_bits(bits), hkv_mul(hkv_load(s + u), c), none);
        rest |= (hk_u64)hkv_word(hkv_not_equal(y, none)) << u;
        most = hkv_max_f(y, most);
        hkv_store(s + u, y);
    }
    if (rest != 0)
        hk_row_raise(row, hkv_max_across(most));
    reference = hkv_set(*row->reference);
    lanes = hkv_load(row->lanes);
    for (u = 0; u < HK_BLOCK; u += 16) {
        const hk_u32 bits = (hk_u32)(rest >> u) & 0xffffu;
        hk_vec p = hkv_set(0.0f);

        if (bits != 0) {
            p = hkv_keep(hkv_bits(bits), hkv_weight(hkv_load(s + u), reference));
            lanes = hkv_add(lanes, p);
        }
        hkv_store(s + u, p);
    }
    hkv_store(row->lanes, lanes);
    return rest;
}

/* Steps 6 and 7 of a row that sees the whole block; s holds y. */
HK_FN void hk_softmax_row(HK_GLOBAL float *s, const struct hk_sums *row)
{
    const hk_vec reference = hkv_set(*row->reference);
    hk_vec lanes = hkv_load(row->lanes);
    int u;

    HK_UNROLL
    for (u = 0; u < HK_BLOCK; u += 16) {
        const hk_vec p = hkv_weight(hkv_load(s + u), reference);

        lanes = hkv_add(lanes, p);
        hkv_store(s + u, p);
    }
    hkv_store(row->lanes, lanes);
}

/* Joins a chunk into the row's total (step 8). */
HK_FN void hk_row_fold(HK_GLOBAL float *total, HK_GLOBAL float *total_lanes,
                       HK_GLOBAL float *total_o, const struct hk_sums *chunk)
{
    const float m = *chunk->reference > *total ? *chunk->reference : *total;
    const hk_vec w1 = hkv_set(hk_power(hk_sub(*total, m)));
    const hk_vec w2 = hkv_set(hk_power(hk_sub(*chunk->reference, m)));
    hk_i64 t;

    hkv_store(total_lanes,
              hkv_fma(hkv_load(chunk->lanes), w2, hkv_mul(hkv_load(total_lanes), w1)));
    for (t = 0; t < chunk->width; t += 16)
        hkv_store(total_o + t * HK_R, hkv_fma(hkv_load(chunk->o + t * HK_R), w2,
                                              hkv_mul(hkv_load(total_o + t * HK_R), w1)));
    *total = m;
}

#endif
