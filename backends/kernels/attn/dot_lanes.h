/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: DOT biases, which add products with rows of tables to the scores of a block
 * (docs/numerics.md step 3). SIMD lanes are keys, as in the scores, so the rows of a table are
 * transposed into a **band** [d][columns]. Where the keys of a block lie at even distances, a
 * column of the band is a distance, and the band serves all rows of a strip: a row further on finds
 * its 64 columns further to the left. Else every row has a band of its own, of the entries of its
 * 64 keys.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_DOT_LANES_H
#define HEED_BACKENDS_KERNELS_ATTN_DOT_LANES_H

#include "band.h"

#if !HK_PLAIN

/* ---- products ---- */

/* HK_R rows of a band before the keys of a panel, or one row. */
struct hk_band_tile {
    HK_GLOBAL const float *q, *k;       /* the first row; the panel: one of the two is not read */
    HK_GLOBAL const float *band;        /* the columns of the first row */
    HK_GLOBAL float *s;                 /* of the first row and key */
    hk_i64 q_row, s_row, width, d;      /* floats from row to row, from channel to channel */
    hk_i64 at[HK_R];                    /* where a row's columns begin, beside the first row's */
    hk_u64 valid[HK_R];                 /* which of a row's columns are entries */
};

/* The products join the scores. */
HK_INLINE void hk_band_tile_end(const struct hk_band_tile *tile, hk_vec acc[HK_R][HK_BAND_VECS],
                                const int rows, const int vecs)
{
    int i, u;

    HK_UNROLL
    for (i = 0; i < rows; i++) {
        HK_GLOBAL float *s = tile->s + i * tile->s_row;

        HK_UNROLL
        for (u = 0; u < vecs; u++) {
            const hk_u32 bits = (hk_u32)(tile->valid[i] >> u * HKV_LANES) & HK_ALL_LANES;

            hkv_store(s + u * HKV_LANES, hkv_add(hkv_load(s + u * HKV_LANES),
                                                 hkv_keep(hkv_bits(bits), acc[i][u])));
        }
    }
}

/* even: a row's columns begin one column before those of the row before. by_key: the table is
 * multiplied by the keys. All but the tile are constants at every call. */
HK_INLINE void hk_band_tile_add(const struct hk_band_tile *tile, const int rows, const int vecs,
                                const int even, const int by_key)
{
    const hk_i64 width = tile->width, d = tile->d, q_row = tile->q_row;
    HK_GLOBAL const float *q = tile->q, *k = tile->k, *band = tile->band;
    hk_vec acc[HK_R][HK_BAND_VECS];
    hk_i64 t;
    int i, u;

    HK_UNROLL
    for (i = 0; i < rows; i++) {
        HK_UNROLL
        for (u = 0; u < vecs; u++)
            acc[i][u] = hkv_set(0.0f);
    }
    for (t = 0; t < d; t++, band += width, q++, k = by_key ? k + HK_PANEL : k) {
        hk_vec b[HK_BAND_VECS];

        HK_UNROLL
        for (u = 0; u < vecs && by_key; u++)
            b[u] = hkv_load(k + u * HKV_LANES);
        HK_UNROLL
        for (i = 0; i < rows; i++) {
            HK_GLOBAL const float *from = even ? band - i : band + tile->at[i];
            const hk_vec a = by_key ? b[0] : hkv_set(q[i * q_row]);

            HK_UNROLL
            for (u = 0; u < vecs; u++)
                acc[i][u] = hkv_fma(by_key ? b[u] : a, hkv_load(from + u * HKV_LANES), acc[i][u]);
        }
    }
    hk_band_tile_end(tile, acc, rows, vecs);
}

/* Rows that lie HKV_LANES apart: where the columns of a row begin as many columns before those of
 * the row before, all but one vector of the band serve again, and what is loaded across two lines
 * is 9 vectors for 24 products, not 24. */
HK_INLINE void hk_band_apart_add(const struct hk_band_tile *tile, const int rows, const int by_key)
{
    const hk_i64 width = tile->width, d = tile->d, q_row = tile->q_row;
    HK_GLOBAL const float *q = tile->q, *k = tile->k, *band = tile->band;
    hk_vec acc[HK_R][HK_BAND_VECS];
    hk_i64 t;
    int i, u;

    HK_UNROLL
    for (i = 0; i < rows; i++) {
        HK_UNROLL
        for (u = 0; u < HKV_TILE; u++)
            acc[i][u] = hkv_set(0.0f);
    }
    for (t = 0; t < d; t++, band += width, q++, k = by_key ? k + HK_PANEL : k) {
        hk_vec b[HK_BAND_VECS], c[HK_BAND_VECS];

        HK_UNROLL
        for (u = 0; u < HKV_TILE; u++) {
            b[u] = hkv_load(band + u * HKV_LANES);
            c[u] = by_key ? hkv_load(k + u * HKV_LANES) : hkv_set(0.0f);
        }
        HK_UNROLL
        for (i = 0; i < rows; i++) {
            const hk_vec a = by_key ? c[0] : hkv_set(q[i * q_row]);

            HK_UNROLL
            for (u = 0; u < HKV_TILE; u++)
                acc[i][u] = hkv_fma(by_key ? c[u] : a, b[u], acc[i][u]);
            HK_UNROLL
            for (u = HKV_TILE - 1; u > 0; u--)
                b[u] = b[u - 1];
            if (i + 1 < rows)
                b[0] = hkv_load(band - (i + 1) * HKV_LANES);
        }
    }
    hk_band_tile_end(tile, acc, rows, HKV_TILE);
}

#define HK_BAND_APART(name, rows, by_key)                                                          \
    HK_NOINLINE void name(const struct hk_band_tile *tile)                                         \
    {                                                                                              \
        hk_band_apart_add(tile, rows, by_key);                                                     \
    }
HK_BAND_APART(hk_band_apart_q, HK_R, 0)
HK_BAND_APART(hk_band_apart_k, HK_R, 1)
HK_BAND_APART(hk_band_half_q, HK_R / 2, 0)
HK_BAND_APART(hk_band_half_k, HK_R / 2, 1)
#undef HK_BAND_APART

#define HK_BAND_TILE(name, rows, vecs, even, by_key)                                               \
    HK_NOINLINE void name(const struct hk_band_tile *tile)                                         \
    {                                                                                              \
        hk_band_tile_add(tile, rows, vecs, even, by_key);                                          \
    }
HK_BAND_TILE(hk_band_even_q, HK_R, HKV_TILE, 1, 0)
HK_BAND_TILE(hk_band_even_k, HK_R, HKV_TILE, 1, 1)
HK_BAND_TILE(hk_band_any_q, HK_R, HKV_TILE, 0, 0)
HK_BAND_TILE(hk_band_any_k, HK_R, HKV_TILE, 0, 1)
HK_BAND_TILE(hk_band_one_q, 1, HKV_TILE, 1, 0)
HK_BAND_TILE(hk_band_one_k, 1, HKV_TILE, 1, 1)
#undef HK_BAND_TILE

HK_FN void hk_band_tile_run(const struct hk_band_tile *tile, hk_i64 rows, hk_i64 apart, int even)
{
    const int by_key = tile->k != 0;

    if (rows == 1 && by_key)
        hk_band_one_k(tile);
    else if (rows == 1)
        hk_band_one_q(tile);
    else if (apart > 1 && rows < HK_R && by_key)
        hk_band_half_k(tile);
    else if (apart > 1 && rows < HK_R)
        hk_band_half_q(tile);
    else if (apart > 1 && by_key)
        hk_band_apart_k(tile);
    else if (apart > 1)
        hk_band_apart_q(tile);
    else if (by_key && even)
        hk_band_even_k(tile);
    else if (by_key)
        hk_band_any_k(tile);
    else if (even)
        hk_band_even_q(tile);
    else
        hk_band_any_q(tile);
}

/* Adds the products of `rows` rows, `apart` rows from each other, from row i on to their scores:
 * HK_R or one, or HK_R / 2 that lie HKV_LANES apart as their columns do. */
HK_FN void hk_band_add(const struct hk_strip *st, const struct hk_band *band, hk_i64 i, hk_i64 rows,
                       hk_i64 apart)
{
    const hk_i64 d = st->call->plan->d, row = hk_band_row(band, i), at = hk_band_at(st, band, i);
    struct hk_band_tile tile;
    hk_u64 any = 0, valid[HK_R];
    int even = 1, n, r;

    for (r = 0; r < rows; r++) {
        const hk_i64 here = hk_band_at(st, band, i + r * apart);

        tile.at[r] = here - at;
        even = even && tile.at[r] == -r;
        valid[r] = hk_band_valid(band, here);
        any |= hk_band_mask(st, band, i + r * apart);
    }
    tile.q = st->q + row * d;
    tile.q_row = band->stack * d * apart;
    tile.s_row = band->stack * HK_BLOCK * apart;
    tile.width = st->call->plan->band;
    tile.d = d;
    for (n = 0; n < HK_BLOCK; n += HK_PANEL) {
        if ((any & ~(hk_u64)0 >> (64 - HK_PANEL) << n) == 0)
            continue;
        for (r = 0; r < rows; r++)
            tile.valid[r] = valid[r] >> n;
        tile.k = band->k ? band->k + n * d : 0;
        tile.band = band->at + band->origin + at + n;
        tile.s = st->s + row * HK_BLOCK + n;
        hk_band_tile_run(&tile, rows, apart, even);
    }
}

/* Are there vectors, and tiles of enough rows? */
#if HKV_LANES > 1 && HK_TILE_ROWS >= 4
#define HK_APART_LEAST 1
#else
#define HK_APART_LEAST (HK_R + 1)
#endif

/* How many rows from row i on, times HKV_LANES, are taken HKV_LANES apart: their columns begin one
 * before the other. 0: none are. */
HK_FN hk_i64 hk_band_apart(const struct hk_strip *st, const struct hk_band *band, hk_i64 i)
{
    const hk_i64 left = (band->rows - i) / HKV_LANES;
    const hk_i64 n = left >= HK_R ? HK_R : left >= HK_R / 2 ? HK_R / 2 : 0;
    const hk_i64 first = hk_band_at(st, band, i);
    hk_i64 r;

    if (n < HK_APART_LEAST)
        return 0;
    for (r = 1; r < n * HKV_LANES; r++) {
        if (hk_band_at(st, band, i + r) != first - r)
            return 0;
    }
    return n;
}

/* ---- a block ---- */

/* Does the band hold row i as well, which is behind those it has and must not lie before them? Its
 * columns begin in front. */
HK_FN int hk_band_holds(const struct hk_strip *st, const struct hk_band *band, hk_i64 i)
{
    const hk_i64 q = hk_band_query(st, band, i);
    hk_i64 more;

    if (band->step == 0 || q < hk_band_query(st, band, i - 1))
        return 0;
    more = q - hk_band_query(st, band, 0);
    if (band->step != 1 && more % band->step != 0)
        return 0;
    return hk_floor_div(more, band->step) <=
           hk_min(st->call->plan->band, HK_BAND_MAX) - HK_BLOCK;
}

/* The rows first + stack * i, i < n, by as few bands as hold them. */
HK_FN void hk_band_rows(const struct hk_strip *st, struct hk_band *band, hk_i64 n)
{
    const hk_i64 first = band->first;
    hk_i64 i, r, size, apart, done = 0;

    while (done < n) {
        band->first = first + band->stack * done;
        band->rows = 1;
        if (hk_band_mask(st, band, 0) == 0) {
            done++;
            continue;
        }
        while (done + band->rows < n && hk_band_holds(st, band, band->rows))
            band->rows++;
        done += band->rows;
        while (hk_band_mask(st, band, band->rows - 1) == 0)
            band->rows--;
        band->columns = HK_BLOCK + hk_band_at(st, band, 0);
        band->columns = (band->columns + HKV_PACK - 1) / HKV_PACK * HKV_PACK;
        hk_band_pack(st, band);
        for (i = 0; (apart = hk_band_apart(st, band, i)) > 0; i += apart * HKV_LANES) {
            for (r = 0; r < HKV_LANES; r++)
                hk_band_add(st, band, i + r, apart, HKV_LANES);
        }
        for (; i < band->rows; i += size) {
            size = i + HK_R <= band->rows ? HK_R : 1;
            hk_band_add(st, band, i, size, 1);
        }
    }
}

/* One table for all rows. Stacked heads whose tables differ take bands of their own. */
HK_FN void hk_block_table(const struct hk_strip *st, struct hk_band *band,
                          HK_GLOBAL const struct hk_aux *table)
{
    const hk_i64 heads = hk_min(st->call->plan->strips.stack, st->n_rows);
    hk_i64 g;

    for (g = 0; g < heads; g++) {
        band->first = g;
        band->stack = heads;
        band->table = hk_dot_table(st->call, table, st->b, st->query[g].head);
        hk_band_rows(st, band, st->n_rows / heads);
    }
}

/* Distance from key to key of a block, 0 where it is not even. A step of terms that is very large,
 * whose multiples might leave 64 bits, counts as uneven: it shows few keys. */
HK_FN hk_i64 hk_band_step(HK_GLOBAL const struct hk_dot *dot, HK_GLOBAL const struct hk_sub *sub)
{
    if (dot->from.k_coord.slot)
        return 0;
    if (hk_block_aligned(sub))
        return sub->pos_step;
    return sub->kind == HK_SUB_STRIDED && sub->step < 1 << 20 ? sub->step * sub->pos_step : 0;
}

/* Rows of tiles that see nothing of the block still have the masks of another one. */
HK_FN void hk_masks_clear(const struct hk_strip *st)
{
    hk_i64 i;

    for (i = 0; i < st->tiles * HK_R; i++) {
        if (st->tile_masks[i / HK_R] == 0)
            st->masks[i] = 0;
    }
}

/* All DOT biases of the source onto the raw scores of a block, whose K panels are k; widen: they
 * have scales. */
HK_NOINLINE void hk_block_dots(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                               const struct hk_sub_view *view, hk_i64 block,
                               HK_GLOBAL const float *k, int widen)
{
    HK_GLOBAL const struct hk_dot *dot = hk_dots(st->call, st->source);
    struct hk_band band;
    hk_u32 i;

    if (widen)
        k = hk_panels_widen(st, k);
    hk_masks_clear(st);
    band.sub = sub;
    band.view = view;
    band.block = block;
    for (i = 0; i < st->source->n_dots; i++, dot++) {
        band.dot = dot;
        band.step = hk_band_step(dot, sub);
        band.k = 0;
        band.number = 2 * i;
        if (dot->t.slot)
            hk_block_table(st, &band, &dot->t);
        band.k = k;
        band.number = 2 * i + 1;
        if (dot->u.slot)
            hk_block_table(st, &band, &dot->u);
    }
}

#endif

#endif
