/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: rows of a table of DOT transposed into a **band** [d][columns], a column for each
 * distance of keys from rows, or for each of 64 keys (dot_lanes.h). Columns are kept from block to
 * block and from strip to strip.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_BAND_H
#define HEED_BACKENDS_KERNELS_ATTN_BAND_H

#include "bias.h"
#include "scales.h"

#if !HK_PLAIN

#define HK_BAND_VECS HKV_TILE

/* One table of a DOT bias before a block, for some rows of a strip. */
struct hk_band {
    HK_GLOBAL const struct hk_dot *dot;
    HK_GLOBAL const struct hk_sub *sub;
    const struct hk_sub_view *view;
    HK_GLOBAL const float *k;           /* panels of the block; 0: the table is multiplied by q */
    struct hk_matrix table;
    hk_i64 block, step;                 /* step: distance from key to key; 0: not even */
    hk_i64 first, stack, rows;          /* the rows: first + stack * i */
    hk_i64 columns;                     /* in use, from column `origin` of those that are kept on */
    hk_i64 origin;
    hk_u32 number, reserved;            /* of the table, among those of the source */
    HK_GLOBAL struct hk_band_kept *kept;
    HK_GLOBAL float *at;                /* column 0 of those */
};

HK_FN hk_i64 hk_band_row(const struct hk_band *band, hk_i64 i)
{
    return band->first + band->stack * i;
}

/* What row i sees of the block. Rows of a tile that sees nothing have no masks. */
HK_FN hk_u64 hk_band_mask(const struct hk_strip *st, const struct hk_band *band, hk_i64 i)
{
    const hk_i64 row = hk_band_row(band, i);

    return st->tile_masks[row / HK_R] != 0 ? st->masks[row] : 0;
}

/* ---- packing ---- */

HK_FN hk_i64 hk_band_query(const struct hk_strip *st, const struct hk_band *band, hk_i64 i)
{
    HK_GLOBAL const struct hk_worker_query *query = st->query + hk_band_row(band, i);

    return hk_lookup_query(st->call, &band->dot->from, st->b, query->index, query->q);
}

/* Distance of the key at place n of the block from the last row. */
HK_FN hk_i64 hk_band_delta(const struct hk_strip *st, const struct hk_band *band, hk_i64 n)
{
    const hk_i64 row = hk_band_row(band, band->rows - 1);
    HK_COPY(struct hk_reach, reach, st->reach[row]);
    struct hk_place at;

    at.sub = band->sub;
    at.b = st->b;
    at.len = st->len;
    at.index = st->query[row].index;
    at.head = st->query[row].head;
    at.q = st->query[row].q;
    return hk_lookup_delta(st->call, &band->dot->from, &at,
                           hk_key(band->sub, band->view, reach, band->block * HK_BLOCK + n));
}

/* Rows of the table that become columns j on; negative: none. delta: of column 0, where the keys
 * are at even distances. */
HK_FN void hk_band_entries(const struct hk_strip *st, const struct hk_band *band, hk_i64 delta,
                           hk_i64 j, hk_i64 *entry)
{
    HK_GLOBAL const struct hk_lookup *from = &band->dot->from;
    const hk_i64 n = hk_dot_entries(band->dot);
    int r;

    for (r = 0; r < HKV_PACK; r++) {
        if (band->step != 0)
            entry[r] = hk_lookup_index(st->call, from, n, st->b, delta + (j + r) * band->step);
        else if (hk_band_mask(st, band, 0) >> (j + r) & 1)
            entry[r] = hk_lookup_index(st->call, from, n, st->b, hk_band_delta(st, band, j + r));
        else
            entry[r] = -1;
    }
}

/* The band takes up where columns are kept, if they reach to the one at distance delta, or else
 * begins there. Returns the first column that is missing. */
HK_FN hk_i64 hk_band_open(const struct hk_strip *st, struct hk_band *band, hk_i64 delta)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    const hk_i64 slot = (band->number * plan->strips.stack + band->first % plan->strips.stack) %
                        plan->bands;
    const hk_i64 dot = (HK_GLOBAL const char *)band->dot - st->call->blob;
    const hk_i64 head = st->query[band->first].head;
    const hk_u32 by_key = band->k != 0;
    HK_GLOBAL struct hk_band_kept *kept = st->bands + slot;
    int w;

    band->kept = kept;
    band->at = st->band + slot * plan->d * plan->band;
    if (band->step != 0 && kept->dot == dot && kept->b == st->b && kept->head == head &&
        kept->by_key == by_key && kept->step == band->step && delta >= kept->first &&
        (delta - kept->first) % band->step == 0) {
        band->origin = hk_quotient(delta - kept->first, band->step);
        if (band->origin <= kept->count && band->origin + band->columns <= plan->band)
            return kept->count;
    }
    kept->dot = band->step != 0 ? dot : -1;
    kept->b = st->b;
    kept->head = head;
    kept->by_key = by_key;
    kept->step = band->step;
    kept->first = delta;
    kept->whole = 1;
    for (w = 0; w < HK_BAND_WORDS; w++)
        kept->valid[w] = 0;
    band->origin = 0;
    return 0;
}

/* Columns that are no entries are zeros. */
HK_NOINLINE void hk_band_pack(const struct hk_strip *st, struct hk_band *band)
{
    const hk_i64 d = st->call->plan->d, width = st->call->plan->band;
    const hk_i64 delta = band->step != 0 ? hk_band_delta(st, band, 0) : 0;
    hk_i64 j = hk_band_open(st, band, delta), t;
    HK_GLOBAL struct hk_band_kept *kept = band->kept;
    int r;

    for (; j < band->origin + band->columns; j += HKV_PACK) {
        HK_GLOBAL const float *rows[HKV_PACK];
        hk_i64 entry[HKV_PACK];

        hk_band_entries(st, band, kept->first, j, entry);
        for (r = 0; r < HKV_PACK; r++) {
            HK_GLOBAL float *row = st->temp + r * d;

            rows[r] = row;
            if (entry[r] >= 0) {
                rows[r] = hk_row_f32(&band->table, entry[r], d, row);
                kept->valid[(j + r) / 64] |= (hk_u64)1 << (j + r) % 64;
                continue;
            }
            kept->whole = 0;
            for (t = 0; t < d; t++)
                row[t] = 0.0f;
        }
        for (t = 0; t + HKV_PACK <= d; t += HKV_PACK)
            hkv_pack(rows, t, band->at + t * width + j, width);
        for (; t < d; t++) {
            for (r = 0; r < HKV_PACK; r++)
                band->at[t * width + j + r] = rows[r][t];
        }
    }
    kept->count = j;
}

/* Where the columns of row i begin. */
HK_FN hk_i64 hk_band_at(const struct hk_strip *st, const struct hk_band *band, hk_i64 i)
{
    if (band->step == 0)
        return 0;
    return hk_floor_div(hk_band_query(st, band, band->rows - 1) - hk_band_query(st, band, i),
                        band->step);
}

/* Which of the 64 columns from `at` on are entries. */
HK_FN hk_u64 hk_band_valid(const struct hk_band *band, hk_i64 at)
{
    HK_GLOBAL const hk_u64 *valid;

    if (band->kept->whole)
        return ~(hk_u64)0;
    at += band->origin;
    valid = band->kept->valid + at / 64;
    return at % 64 == 0 ? *valid : *valid >> at % 64 | valid[1] << (64 - at % 64);
}

#endif

#endif
