/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * recur with the state in registers, without DELTA: what a thread, which shares a column with
 * others, does with a tile of tokens (recur_held.h).
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_RECUR_LINE_H
#define HEED_BACKENDS_KERNELS_OPS_RECUR_LINE_H

/* Channels c .. c + 3 for all tokens of a tile: w is what each writes, o its sum so far. */
HK_INLINE void hk_recur_tile_quad(const int channels, const struct hk_recur_seat *seat,
                                  HK_LOCAL const struct hk_recur_tile *tile, const int c,
                                  const float *factor, const float *w, float *s, float *o)
{
    int t, i;

    HK_UNROLL
    for (t = 0; t < HK_RECUR_TILE; t++) {
        const struct hk_recur_lines lines = hk_recur_lines_get(seat, tile, t);
        float key[HK_QUAD], query[HK_QUAD], decay[HK_QUAD];

        hk_local_get4(lines.key + c, key);
        hk_local_get4(lines.query + c, query);
        if (channels)
            hk_local_get4(lines.decay + c, decay);
        HK_UNROLL
        for (i = 0; i < HK_QUAD; i++) {
            s[i] = hk_fma(key[i], w[t], hk_mul(channels ? decay[i] : factor[t], s[i]));
            o[t] = hk_fma(query[i], s[i], o[t]);
        }
    }
}

/* The answers of a tile's tokens: to the next part of the columns, or out. */
HK_FN void hk_recur_tile_end(HK_LOCAL const struct hk_recur_strip *strip,
                             const struct hk_recur_seat *seat, hk_i64 first, hk_i32 id,
                             const float *o, HK_LOCAL struct hk_recur_tile *tile)
{
    int t;

    HK_UNROLL
    for (t = 0; t < HK_RECUR_TILE; t++) {
        if (seat->part + 1 < seat->parts)
            tile->sums[t * HK_THREADS + id] = o[t];
        else if (hk_recur_token_there(strip, first + t))
            hk_recur_put(strip, first + t, seat->channel, hk_mul(o[t], strip->numbers->scale));
    }
}

/* before: the tile of the step before, in which the part before has left its sums. */
HK_INLINE void hk_recur_tile_run(const int channels, HK_LOCAL const struct hk_recur_strip *strip,
                                 const struct hk_recur_seat *seat, hk_i64 first, hk_i32 id,
                                 HK_LOCAL const struct hk_recur_tile *before,
                                 HK_LOCAL struct hk_recur_tile *tile, struct hk_recur_held *mine)
{
    HK_LOCAL const float *const factors = tile->factor + seat->part * HK_RECUR_TILE;
    HK_LOCAL const float *const betas = tile->beta + seat->part * HK_RECUR_TILE;
    float w[HK_RECUR_TILE], o[HK_RECUR_TILE], factor[HK_RECUR_TILE];
    int t, c;

    HK_UNROLL
    for (t = 0; t < HK_RECUR_TILE; t++) {
        factor[t] = factors[t];
        w[t] = hk_mul(betas[t], hk_bits_get(strip->v.dtype, mine->v[t]));
        o[t] = seat->part > 0 ? before->sums[t * HK_THREADS + id - seat->columns] : 0.0f;
    }
    HK_UNROLL
    for (c = 0; c < HK_RECUR_HELD_PART; c += HK_QUAD) {
        if (c < seat->count)
            hk_recur_tile_quad(channels, seat, tile, c, factor, w, mine->s + c, o);
    }
    hk_recur_tile_end(strip, seat, first, id, o, tile);
}

/* A step: the thread's tile, and behind it the rows of its next one are put. */
HK_PIECE void hk_recur_held_step(HK_LOCAL const struct hk_recur_strip *strip, hk_i64 step,
                                 hk_i32 id, HK_LOCAL struct hk_recur_tile *tiles,
                                 struct hk_recur_held *mine)
{
    const struct hk_recur_seat seat = hk_recur_seat_get(strip, id);
    const hk_i64 at = step - 1 - seat.part, first = at * HK_RECUR_TILE;
    const hk_i64 all = strip->tokens > 0 ? hk_recur_tiles(strip) : 0;
    const int brings = at + 1 >= 0 && at + 1 < all;
    struct hk_recur_brought brought;
    hk_u32 v[HK_RECUR_TILE];
    int t;

    if (brings) {
        const hk_i64 next = first + HK_RECUR_TILE;

        hk_recur_load(0, strip, &seat, next, 0, HK_RECUR_QUADS - 1, &brought);
        hk_recur_factors_load(0, strip, &seat, next, &brought);
        HK_UNROLL
        for (t = 0; t < HK_RECUR_TILE; t++)
            v[t] = hk_recur_value_load(strip, &seat, next + t);
    }
    if (at >= 0 && at < all) {
        if (strip->numbers->channels)
            hk_recur_tile_run(1, strip, &seat, first, id, &tiles[step % 2],
                              &tiles[(step - 1) % 2], mine);
        else
            hk_recur_tile_run(0, strip, &seat, first, id, &tiles[step % 2],
                              &tiles[(step - 1) % 2], mine);
    }
    if (brings) {
        hk_recur_store(0, strip, &seat, first + HK_RECUR_TILE, 0, HK_RECUR_QUADS - 1, &brought,
                       &tiles[step % 2]);
        hk_recur_factors_store(0, strip, &seat, first + HK_RECUR_TILE, &brought, &tiles[step % 2]);
        HK_UNROLL
        for (t = 0; t < HK_RECUR_TILE; t++)
            mine->v[t] = v[t];
    }
}

#endif
