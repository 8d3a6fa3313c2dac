/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: the softmax of a tile's rows over a block of 64 keys (docs/numerics.md steps 5 to
 * 8).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_SOFTMAX_H
#define HEED_BACKENDS_KERNELS_ATTN_SOFTMAX_H

#include "tiles.h"
#include "worker.h"

/* Before loops over the vectors of a block: 64 turns without vectors are no straight code. */
#if HKV_LANES > 1
#define HK_UNROLL_BLOCK HK_UNROLL
#else
#define HK_UNROLL_BLOCK
#endif

/* Rows of one register tile. */
struct hk_tile {
    HK_GLOBAL float *s;                 /* [R][64] scores, then weights */
    HK_GLOBAL float *partials;          /* [R][16] */
    HK_GLOBAL float *o;                 /* [panels][R][HK_PANEL] */
    HK_GLOBAL struct hk_row_state *state;
    HK_GLOBAL hk_u64 *masks;
    HK_GLOBAL float *max;               /* [R][HKV_LANES] largest y, lane by lane */
    hk_i64 width, rows;
};

/* The weights of n vectors from y on (step 6), HKV_WEIGHTS at most, step by step: a chain of
 * dependent operations is long, and processors look ahead only so far. */
HK_INLINE void hk_weights(HK_GLOBAL const float *y, hk_vec m, hk_vec p[HKV_WEIGHTS], const int n)
{
    const float c[6] = { 1.0f, HK_EXP_1, HK_EXP_2, HK_EXP_3, HK_EXP_4, HK_EXP_5 };
    hk_vec f[HKV_WEIGHTS], g[HKV_WEIGHTS];
    int i, j;

    HK_UNROLL
    for (j = 0; j < n; j++) {
        const hk_vec x = hkv_load(y + j * HKV_LANES), r = hkv_rint(x);

        f[j] = hkv_sub(x, r);
        g[j] = hkv_sub(r, m);
        p[j] = hkv_set(HK_EXP_6);
    }
    HK_UNROLL
    for (i = 5; i >= 0; i--) {
        HK_UNROLL
        for (j = 0; j < n; j++)
            p[j] = hkv_fma(p[j], f[j], hkv_set(c[i]));
    }
    HK_UNROLL
    for (j = 0; j < n; j++)
        p[j] = hkv_scale2_keep(hkv_not_less(g[j], hkv_set(-100.0f)), p[j], g[j]);
}

/* Brings the sums of row i of a tile from its m to another (step 5). */
HK_NOINLINE void hk_row_rescale(HK_GLOBAL float *partials, HK_GLOBAL float *o, hk_i64 width,
                                float factor)
{
    const hk_vec w = hkv_set(factor);
    hk_i64 t;

    for (t = 0; t < HK_PARTIALS; t += HKV_LANES)
        hkv_store(partials + t, hkv_mul(hkv_load(partials + t), w));
    for (t = 0; t < width; t += HKV_LANES)
        hkv_store(o + hk_o_at(t), hkv_mul(hkv_load(o + hk_o_at(t)), w));
}

/* Raises m of row i to what the largest y of a block asks for. */
HK_INLINE void hk_row_raise(const struct hk_tile *tile, hk_i64 i, float max)
{
    HK_GLOBAL struct hk_row_state *row = tile->state + i;
    const float m = hk_row_max(max);

    if (m > row->m) {
        if (!row->empty)
            hk_row_rescale(tile->partials + i * HK_PARTIALS, tile->o + i * HK_PANEL, tile->width,
                           hk_power(hk_sub(row->m, m)));
        row->m = m;
    }
    row->empty = 0;
}

/* The part of a mask that belongs to the vector from key n on. */
HK_FN hk_u32 hk_lanes_of(hk_u64 mask, int n)
{
    return (hk_u32)(mask >> n) & HK_ALL_LANES;
}

/* Softmax of the visible part of row i: s holds scores that times factor are y; mask says which.
 * Leaves the weights in s, +0 where removed, and returns the remaining keys: visible and y not
 * -Inf. */
HK_NOINLINE hk_u64 hk_softmax_part(const struct hk_tile *tile, hk_i64 i, float factor, hk_u64 mask)
{
    HK_GLOBAL float *s = tile->s + i * HK_BLOCK;
    const hk_vec none = hkv_set(-HK_INFINITY), c = hkv_set(factor);
    hk_vec max = none, m;
    hk_u64 rest = 0;
    int n;

    for (n = 0; n < HK_BLOCK; n += HKV_LANES) {
        const hk_u32 bits = hk_lanes_of(mask, n);
        hk_vec y;

        if (bits == 0)
            continue;
        y = hkv_select(hkv_bits(bits), hkv_mul(hkv_load(s + n), c), none);
        rest |= (hk_u64)hkv_word(hkv_not_equal(y, none)) << n;
        max = hkv_max_f(y, max);
        hkv_store(s + n, y);
    }
    if (rest != 0)
        hk_row_raise(tile, i, hkv_max_across(max));
    m = hkv_set(tile->state[i].m);
    for (n = 0; n < HK_BLOCK; n += HKV_LANES) {
        HK_GLOBAL float *partial = tile->partials + i * HK_PARTIALS + n % HK_PARTIALS;
        const hk_u32 bits = hk_lanes_of(rest, n);
        hk_vec p = hkv_set(0.0f);

        if (bits != 0) {
            p = hkv_keep(hkv_bits(bits), hkv_weight(hkv_load(s + n), m));
            hkv_store(partial, hkv_add(hkv_load(partial), p));
        }
        hkv_store(s + n, p);
    }
    return rest;
}

/* Steps 6 and 7 of row i, of `parts` times 16 keys from key n on; s holds y. (parts is a constant
 * at every call.) */
HK_INLINE void hk_softmax_row(const struct hk_tile *tile, hk_i64 i, int n, const int parts)
{
    HK_GLOBAL float *s = tile->s + i * HK_BLOCK + n, *partials = tile->partials + i * HK_PARTIALS;
    const hk_vec m = hkv_set(tile->state[i].m);
    const int vecs = parts * HK_PARTIALS / HKV_LANES;
    const int count = vecs < HKV_WEIGHTS ? vecs : HKV_WEIGHTS;  /* side by side; vecs has no rest */
    hk_vec sum[HK_PARTIALS / HKV_LANES];
    int l, u, j;

    HK_UNROLL_BLOCK
    for (l = 0; l < HK_PARTIALS / HKV_LANES; l++)
        sum[l] = hkv_load(partials + l * HKV_LANES);
    HK_UNROLL_BLOCK
    for (u = 0; u < vecs; u += count) {
        hk_vec p[HKV_WEIGHTS];

        hk_weights(s + u * HKV_LANES, m, p, count);
        HK_UNROLL
        for (j = 0; j < count; j++) {
            l = (u + j) % (HK_PARTIALS / HKV_LANES);
            sum[l] = hkv_add(sum[l], p[j]);
            hkv_store(s + (u + j) * HKV_LANES, p[j]);
        }
    }
    HK_UNROLL_BLOCK
    for (l = 0; l < HK_PARTIALS / HKV_LANES; l++)
        hkv_store(partials + l * HKV_LANES, sum[l]);
}

/* Weights of a tile's `parts` times 16 keys from key n on: s holds y, top the rows' largest. part:
 * rows with y of -Inf that count as removed; rows without a larger y are among them. masked: masks
 * say what the rows see; else all do 64 keys. (masked and parts are constants at every call.) */
HK_INLINE void hk_tile_weights(const struct hk_tile *tile, const float top[HK_R], hk_u32 part,
                               const int masked, int n, const int parts)
{
    const hk_i64 rows = tile->rows;
    hk_i64 i;

    for (i = 0; i < rows; i++) {
        if (top[i] == -HK_INFINITY)
            part |= (hk_u32)1 << i;
        if (part >> i & 1)
            tile->masks[i] =
                hk_softmax_part(tile, i, 1.0f, masked ? tile->masks[i] : ~(hk_u64)0);
        else
            hk_row_raise(tile, i, top[i]);
    }
    for (i = 0; i < rows; i++) {
        if ((part >> i & 1) == 0)
            hk_softmax_row(tile, i, n, parts);
    }
}

/* Softmax of a tile whose rows see the whole block of a finite V; s holds y, max the rows' largest
 * y lane by lane. With a finite V it does not matter whether a key with y = -Inf counts as removed,
 * for its weight is +0; unless all keys of the row are. */
HK_NOINLINE void hk_softmax_finite(const struct hk_tile *tile)
{
    float top[HK_R];
    hk_i64 i;

    for (i = 0; i < tile->rows; i++)
        top[i] = hkv_max_across(hkv_load(tile->max + i * HKV_LANES));
    hk_tile_weights(tile, top, 0, 0, 0, HK_BLOCK / HK_PARTIALS);
}

/* Softmax of a tile's `parts` times 16 keys from key n on; s holds scores that times factor are y.
 * finite: V is; then masks say what the rows see, nothing beside those keys. Else all rows see all
 * 64 keys, and masks become what remains. (finite and parts are constants at every call.) */
HK_INLINE void hk_softmax_tile(const struct hk_tile *tile, float factor, const int finite, int n,
                               const int parts)
{
    const hk_vec c = hkv_set(factor), none = hkv_set(-HK_INFINITY);
    float top[HK_R];
    hk_u32 part = 0;
    hk_i64 i;
    int u;

    for (i = 0; i < tile->rows; i++) {
        HK_GLOBAL float *s = tile->s + i * HK_BLOCK + n;
        const hk_u64 mask = tile->masks[i] >> n;
        hk_vec max = none, min = hkv_set(HK_INFINITY);

        HK_UNROLL_BLOCK
        for (u = 0; u < parts * HK_PARTIALS / HKV_LANES; u++) {
            hk_vec y = hkv_mul(hkv_load(s + u * HKV_LANES), c);

            if (finite)
                y = hkv_select(hkv_bits(hk_lanes_of(mask, u * HKV_LANES)), y, none);
            else
                min = hkv_min_f(y, min);
            max = hkv_max_f(y, max);
            hkv_store(s + u * HKV_LANES, y);
        }
        top[i] = hkv_max_across(max);
        if (!finite)
            part |= (hk_u32)(hkv_word(hkv_not_equal(min, none)) != HK_ALL_LANES) << i;
    }
    hk_tile_weights(tile, top, part, 1, n, parts);
}

HK_NOINLINE void hk_softmax_full(const struct hk_tile *tile, float factor)
{
    hk_softmax_tile(tile, factor, 0, 0, HK_BLOCK / HK_PARTIALS);
}

/* seen: what some row sees; of other keys, 16 at a time, neither scores nor weights are read. */
HK_NOINLINE void hk_softmax_masked(const struct hk_tile *tile, float factor, hk_u64 seen)
{
    int n = 0, end = HK_BLOCK;

    while (!(seen >> n & 0xffff))
        n += HK_PARTIALS;
    while (!(seen >> (end - HK_PARTIALS) & 0xffff))
        end -= HK_PARTIALS;
    switch ((end - n) / HK_PARTIALS) {
    case 1:
        hk_softmax_tile(tile, factor, 1, n, 1);
        return;
    case 2:
        hk_softmax_tile(tile, factor, 1, n, 2);
        return;
    case 3:
        hk_softmax_tile(tile, factor, 1, n, 3);
        return;
    default:
        hk_softmax_tile(tile, factor, 1, 0, 4);
        return;
    }
}

/* ---- over the chunks ---- */

/* Joins a chunk's row into what the row has (step 8). */
HK_FN void hk_row_merge(HK_GLOBAL float *acc_m, HK_GLOBAL float *acc_partials,
                        HK_GLOBAL float *acc_o, const struct hk_tile *chunk, hk_i64 i)
{
    HK_GLOBAL const float *partials = chunk->partials + i * HK_PARTIALS;
    HK_GLOBAL const float *o = chunk->o + i * HK_PANEL;
    const float before = *acc_m, added = chunk->state[i].m, m = added > before ? added : before;
    const hk_vec w1 = hkv_set(hk_power(hk_sub(before, m)));
    const hk_vec w2 = hkv_set(hk_power(hk_sub(added, m)));
    hk_i64 t;

    for (t = 0; t < HK_PARTIALS; t += HKV_LANES)
        hkv_store(acc_partials + t, hkv_fma(hkv_load(partials + t), w2,
                                            hkv_mul(hkv_load(acc_partials + t), w1)));
    for (t = 0; t < chunk->width; t += HKV_LANES) {
        const hk_i64 at = hk_o_at(t);

        hkv_store(acc_o + at, hkv_fma(hkv_load(o + at), w2, hkv_mul(hkv_load(acc_o + at), w1)));
    }
    *acc_m = m;
}

/* The sum of 16 partial sums (step 9). In vectors, as they were written: narrower loads are slow
 * behind wider stores, and wider ones wait behind narrower. */
HK_FN float hk_partials_sum(HK_GLOBAL const float *partials)
{
    hk_vec x[HK_PARTIALS / HKV_LANES];
    int span, i;

    HK_UNROLL
    for (i = 0; i < HK_PARTIALS / HKV_LANES; i++)
        x[i] = hkv_load(partials + i * HKV_LANES);
    HK_UNROLL
    for (span = HK_PARTIALS / HKV_LANES / 2; span > 0; span /= 2) {
        HK_UNROLL
        for (i = 0; i < span; i++)
            x[i] = hkv_add(x[i], x[i + span]);
    }
    return hkv_add_across(x[0]);
}

#endif
