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
#ifndef HEED_BACKENDS_KERNELS_DOT_LANES_H
#define HEED_BACKENDS_KERNELS_DOT_LANES_H

#include "bias.h"
#include "strip.h"

#if !HK_PLAIN

#define HK_BAND_WORDS (HK_BAND_MAX / 64 + 1)

/* One table of a DOT bias before a block, for some rows of a strip. */
struct hk_band {
    HK_GLOBAL const struct hk_dot *dot;
    HK_GLOBAL const struct hk_sub *sub;
    const struct hk_sub_view *view;
    HK_GLOBAL const float *k;           /* panels of the block; 0: the table is multiplied by q */
    struct hk_matrix table;
    hk_i64 block, step;                 /* step: distance from key to key; 0: not even */
    hk_i64 first, stack, rows;          /* the rows: first + stack * i */
    hk_i64 columns;                     /* in use */
    int whole;                          /* all columns are entries of the table */
    hk_u64 valid[HK_BAND_WORDS];        /* else: which */
};

HK_FN hk_i64 hk_band_row(const struct hk_band *band, hk_i64 i)
{
    return band->first + band->stack * i;
}

/* ---- packing ---- */

HK_FN hk_i64 hk_band_query(const struct hk_strip *st, const struct hk_band *band, hk_i64 i)
{
    HK_GLOBAL const struct hk_worker_query *query = st->query + hk_band_row(band, i);

    return hk_lookup_query(st->call, &band->dot->from, st->b, query->index, query->q);
}

/* The entry of a column; negative: none. */
HK_FN hk_i64 hk_band_entry(const struct hk_strip *st, const struct hk_band *band, hk_i64 column)
{
    const hk_i64 row = hk_band_row(band, band->rows - 1), base = band->block * HK_BLOCK;
    HK_COPY(struct hk_reach, reach, st->reach[row]);
    struct hk_place at;
    hk_i64 key, delta;

    at.sub = band->sub;
    at.b = st->b;
    at.len = st->len;
    at.index = st->query[row].index;
    at.head = st->query[row].head;
    at.q = st->query[row].q;
    if (band->step != 0) {
        key = hk_key(band->sub, band->view, reach, base);
        delta = hk_lookup_delta(st->call, &band->dot->from, &at, key) + column * band->step;
    } else {
        if (!(st->masks[row] >> column & 1))
            return -1;
        key = hk_key(band->sub, band->view, reach, base + column);
        delta = hk_lookup_delta(st->call, &band->dot->from, &at, key);
    }
    return hk_lookup_index(st->call, &band->dot->from, hk_dot_entries(band->dot), st->b, delta);
}

/* Columns that are no entries are zeros. */
HK_NOINLINE void hk_band_pack(const struct hk_strip *st, struct hk_band *band)
{
    const hk_i64 d = st->call->plan->d, width = st->call->plan->band;
    hk_i64 j, t;
    int r;

    band->whole = 1;
    for (j = 0; j < HK_BAND_WORDS; j++)
        band->valid[j] = 0;
    for (j = 0; j < band->columns; j += HKV_PACK) {
        HK_GLOBAL const float *rows[HKV_PACK];

        for (r = 0; r < HKV_PACK; r++) {
            HK_GLOBAL float *row = st->temp + r * d;
            const hk_i64 entry = hk_band_entry(st, band, j + r);

            rows[r] = row;
            if (entry >= 0) {
                rows[r] = hk_row_f32(&band->table, entry, d, row);
                band->valid[(j + r) / 64] |= (hk_u64)1 << (j + r) % 64;
                continue;
            }
            band->whole = 0;
            for (t = 0; t < d; t++)
                row[t] = 0.0f;
        }
        for (t = 0; t + HKV_PACK <= d; t += HKV_PACK)
            hkv_pack(rows, t, st->band + t * width + j, width);
        for (; t < d; t++) {
            for (r = 0; r < HKV_PACK; r++)
                st->band[t * width + j + r] = rows[r][t];
        }
    }
}

/* ---- products ---- */

/* Where the columns of row i begin. */
HK_FN hk_i64 hk_band_at(const struct hk_strip *st, const struct hk_band *band, hk_i64 i)
{
    if (band->step == 0)
        return 0;
    return (hk_band_query(st, band, band->rows - 1) - hk_band_query(st, band, i)) / band->step;
}

/* Which of the 64 columns from `at` on are entries. */
HK_FN hk_u64 hk_band_valid(const struct hk_band *band, hk_i64 at)
{
    const hk_u64 low = band->valid[at / 64] >> at % 64;

    return at % 64 == 0 ? low : low | band->valid[at / 64 + 1] << (64 - at % 64);
}

/* Vectors of one row at a time. */
#if HKV_LANES > 1
#define HK_BAND_VECS 4
#else
#define HK_BAND_VECS 1
#endif

/* Adds the products of row i to its scores. */
HK_FN void hk_band_row_add(const struct hk_strip *st, const struct hk_band *band, hk_i64 i)
{
    const hk_i64 d = st->call->plan->d, width = st->call->plan->band, row = hk_band_row(band, i);
    const hk_i64 at = hk_band_at(st, band, i);
    const hk_u64 valid = band->whole ? ~(hk_u64)0 : hk_band_valid(band, at);
    HK_GLOBAL float *s = st->s + row * HK_BLOCK;
    HK_GLOBAL const float *q = st->q + row * d;
    hk_i64 t;
    int n, u;

    for (n = 0; n < HK_BLOCK; n += HK_BAND_VECS * HKV_LANES) {
        hk_vec acc[HK_BAND_VECS];

        HK_UNROLL
        for (u = 0; u < HK_BAND_VECS; u++)
            acc[u] = hkv_set(0.0f);
        for (t = 0; t < d; t++) {
            HK_GLOBAL const float *from = st->band + t * width + at + n;

            HK_UNROLL
            for (u = 0; u < HK_BAND_VECS; u++) {
                const int key = n + u * HKV_LANES;
                const hk_vec x = band->k ? hkv_load(band->k + key / HK_PANEL * HK_PANEL * d +
                                                    t * HK_PANEL + key % HK_PANEL)
                                         : hkv_set(q[t]);

                acc[u] = hkv_fma(x, hkv_load(from + u * HKV_LANES), acc[u]);
            }
        }
        HK_UNROLL
        for (u = 0; u < HK_BAND_VECS; u++) {
            const int key = n + u * HKV_LANES;
            const hk_vec a = hkv_keep(hkv_bits((hk_u32)(valid >> key) & HK_ALL_LANES), acc[u]);

            hkv_store(s + key, hkv_add(hkv_load(s + key), a));
        }
    }
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
    return more % band->step == 0 &&
           more / band->step <= st->call->plan->band - HK_BLOCK;
}

/* The rows first + stack * i, i < n, by as few bands as hold them. */
HK_FN void hk_band_rows(const struct hk_strip *st, struct hk_band *band, hk_i64 n)
{
    const hk_i64 first = band->first;
    hk_i64 i, done = 0;

    while (done < n) {
        band->first = first + band->stack * done;
        band->rows = 1;
        if (st->masks[band->first] == 0) {
            done++;
            continue;
        }
        while (done + band->rows < n && hk_band_holds(st, band, band->rows))
            band->rows++;
        done += band->rows;
        while (st->masks[hk_band_row(band, band->rows - 1)] == 0)
            band->rows--;
        band->columns = HK_BLOCK + hk_band_at(st, band, 0);
        band->columns = (band->columns + HKV_PACK - 1) / HKV_PACK * HKV_PACK;
        hk_band_pack(st, band);
        for (i = 0; i < band->rows; i++) {
            if (st->masks[hk_band_row(band, i)] != 0)
                hk_band_row_add(st, band, i);
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

/* All DOT biases of the source onto the raw scores of a block, whose K panels are k. */
HK_NOINLINE void hk_block_dots(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                               const struct hk_sub_view *view, hk_i64 block,
                               HK_GLOBAL const float *k)
{
    HK_GLOBAL const struct hk_dot *dot = hk_dots(st->call, st->source);
    struct hk_band band;
    hk_u32 i;

    band.sub = sub;
    band.view = view;
    band.block = block;
    for (i = 0; i < st->source->n_dots; i++, dot++) {
        band.dot = dot;
        band.step = dot->from.k_coord.slot || sub->kind > HK_SUB_FIRST_N
                        ? 0
                        : (sub->kind == HK_SUB_STRIDED ? sub->step : 1) * sub->pos_step;
        band.k = 0;
        if (dot->t.slot)
            hk_block_table(st, &band, &dot->t);
        band.k = k;
        if (dot->u.slot)
            hk_block_table(st, &band, &dot->u);
    }
}

#endif

#endif
