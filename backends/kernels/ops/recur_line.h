/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * recur with the state in registers, without DELTA: what a thread, which shares a column with
 * others, does with a tile of tokens (recur_held.h).
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_RECUR_LINE_H
#define HEED_BACKENDS_KERNELS_OPS_RECUR_LINE_H

#define HK_RECUR_QUADS 4 /* of a tile's rows, that a thread brings */

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
HK_INLINE void hk_recur_tile_out(hk_u32 dtype, HK_LOCAL const struct hk_recur_task *task,
                                 const struct hk_recur_seat *seat, hk_i64 first, const float *o)
{
    const struct hk_rows to = task->strip.o;
    const hk_i64 left = task->strip.tokens - first;
    const float scale = task->scale;
    HK_GLOBAL char *const row = hk_row(&to, first);
    hk_i32 t;

    HK_UNROLL
    for (t = 0; t < HK_RECUR_TILE; t++) {
        if (t < left)
            hk_put(dtype, row + t * to.row, seat->channel * to.channel, hk_mul(o[t], scale));
    }
}

HK_FN void hk_recur_tile_end(HK_LOCAL const struct hk_recur_task *task,
                             const struct hk_recur_seat *seat, hk_i64 first, hk_i32 id,
                             const float *o, HK_LOCAL struct hk_recur_tile *tile)
{
    int t;

    if (seat->part + 1 < seat->parts) {
        HK_UNROLL
        for (t = 0; t < HK_RECUR_TILE; t++)
            tile->sums[t * HK_THREADS + id] = o[t];
    } else if (seat->there && task->asks) {
#define HK_OUT(type) hk_recur_tile_out(type, task, seat, first, o)
        HK_BY(HK_FLOAT_TYPES, task->strip.o.dtype, HK_OUT);
#undef HK_OUT
    }
}

/* before: the tile of the step before, in which the part before has left its sums. */
HK_INLINE void hk_recur_tile_run(const int channels, HK_LOCAL const struct hk_recur_task *task,
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
        w[t] = hk_mul(betas[t], hk_bits_get(task->strip.v.dtype, mine->v[t]));
        o[t] = seat->part > 0 ? before->sums[t * HK_THREADS + id - seat->columns] : 0.0f;
    }
    HK_UNROLL
    for (c = 0; c < HK_RECUR_HELD_PART; c += HK_QUAD) {
        if (c < seat->count)
            hk_recur_tile_quad(channels, seat, tile, c, factor, w, mine->s + c, o);
    }
    hk_recur_tile_end(task, seat, first, id, o, tile);
}

/* A step: the thread's tile, and behind it the rows of its next one are put. */
HK_PIECE void hk_recur_held_step(HK_LOCAL const struct hk_recur_task *task, hk_i64 step,
                                 hk_i32 id, HK_LOCAL struct hk_recur_tile *tiles,
                                 struct hk_recur_held *mine)
{
    const struct hk_recur_seat seat = hk_recur_seat_get(task, id);
    const hk_i64 at = step - 1 - seat.part, first = at * HK_RECUR_TILE;
    const hk_i64 next = first + HK_RECUR_TILE;
    const hk_i64 all = task->strip.tokens > 0 ? hk_recur_tiles(task) : 0;
    const int brings = at + 1 >= 0 && at + 1 < all;
    HK_LOCAL struct hk_recur_tile *const now = &tiles[(step + 1) % 2];
    HK_LOCAL struct hk_recur_tile *const then = &tiles[step % 2];
    struct hk_quad rows[HK_RECUR_ARRAYS][HK_RECUR_QUADS];
    struct hk_recur_brought brought;
    hk_u32 v[HK_RECUR_TILE];
    int t, i;

    if (brings) {
        HK_UNROLL
        for (i = 0; i < HK_RECUR_ARRAYS; i++) {
            if (hk_recur_has(task, i))
                hk_recur_load(i, task, &seat, next, 0, HK_RECUR_QUADS, rows[i]);
        }
        hk_recur_factors_load(0, task, &seat, next, &brought);
        hk_recur_values_load(task, &seat, next, HK_RECUR_TILE, v);
    }
    if (at >= 0 && at < all && task->channels)
        hk_recur_tile_run(1, task, &seat, first, id, then, now, mine);
    else if (at >= 0 && at < all)
        hk_recur_tile_run(0, task, &seat, first, id, then, now, mine);
    if (brings) {
        HK_UNROLL
        for (i = 0; i < HK_RECUR_ARRAYS; i++) {
            if (hk_recur_has(task, i))
                hk_recur_store(i, task, &seat, 0, HK_RECUR_QUADS, rows[i], then);
        }
        hk_recur_factors_store(0, task, &seat, next, &brought, then);
        HK_UNROLL
        for (t = 0; t < HK_RECUR_TILE; t++)
            mine->v[t] = v[t];
    }
}

#endif
