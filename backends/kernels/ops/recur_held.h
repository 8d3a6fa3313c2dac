/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * recur for the threads of a work-group, where the state fits in their registers. Tokens come a
 * tile at a time; while one is worked on the next is brought into the other half of local memory,
 * and a step has one barrier.
 *
 * With DELTA a thread has a column of the state, for a token cannot begin before the one before it
 * has its answer. Without it several threads share a column, each has some channels of k, and they
 * form a line: while the first is at a tile the second is at the one before, and takes up the sums
 * over c, which keep their order, where the first has left them.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_RECUR_HELD_H
#define HEED_BACKENDS_KERNELS_OPS_RECUR_HELD_H

#include "quads.h"

#define HK_HAS_SHARED 1

#if HK_HELD == 1
#define HK_RECUR_OWN HK_RECUR_HELD_MOST              /* channels of k of a thread at most */
#else
#define HK_RECUR_OWN HK_RECUR_HELD_PART
#endif
#define HK_RECUR_TILE 8                              /* tokens */
#define HK_RECUR_SPAN (HK_RECUR_HELD_MOST + 8 * 4)   /* a row's channels, with gaps for banks */
#define HK_RECUR_QUADS 5                             /* of a tile's rows, that a thread brings */

/* A tile, or of each part of the columns its own one: that of a part lies in all rows side by side.
 * Of tokens that are not there keys are zeros and factors ones, which change nothing. */
struct hk_recur_tile {
    float key[(HK_RECUR_TILE + 1) * HK_RECUR_SPAN]; /* with DELTA that of the token before first */
    float query[HK_RECUR_TILE * HK_RECUR_SPAN];     /* with DELTA a token later than the keys */
    float decay[HK_RECUR_TILE * HK_RECUR_SPAN];     /* of channels */
    float factor[8 * HK_RECUR_TILE], beta[8 * HK_RECUR_TILE]; /* [part][token] */
    float sums[HK_RECUR_TILE * HK_THREADS];         /* [token][thread]: what the next part goes on
                                                     * with */
};

/* What a thread keeps. */
struct hk_recur_held {
    float s[HK_RECUR_OWN]; /* its channels of its column */
    hk_u32 v[HK_RECUR_TILE];     /* of the next tokens, as they lie; with DELTA of one */
    float r;                     /* the state's answer to the next k */
};

/* Where a thread stands. */
struct hk_recur_seat {
    hk_i32 columns, column;         /* of the group; of the thread */
    hk_i32 parts, part;             /* of a column */
    hk_i32 first, count, room;      /* its channels of k; room: of a part at most */
    hk_i32 line;                    /* floats from row to row in a tile */
    hk_i64 channel;                 /* of v */
    int there;
};

HK_FN struct hk_recur_seat hk_recur_seat_get(HK_LOCAL const struct hk_recur_strip *strip, hk_i32 id)
{
    const hk_i32 d_k = (hk_i32)strip->numbers->d_k;
    struct hk_recur_seat seat;

    seat.parts = (hk_i32)strip->numbers->threads;
    seat.columns = HK_THREADS / seat.parts;
    seat.column = id % seat.columns;
    seat.part = id / seat.columns;
    seat.room = ((d_k + seat.parts - 1) / seat.parts + HK_QUAD - 1) / HK_QUAD * HK_QUAD;
    seat.first = seat.part * seat.room;
    seat.count = (hk_i32)hk_max(hk_min(d_k - seat.first, seat.room), 0);
    seat.line = seat.parts * (seat.room + 4);
    seat.channel = strip->first + seat.column;
    seat.there = seat.channel < strip->end;
    return seat;
}

/* The group's columns of its task's strip. */
HK_FN void hk_recur_share(struct hk_recur_strip *strip, hk_i64 share)
{
    const hk_i64 columns = HK_THREADS / (hk_i64)strip->numbers->threads;

    strip->first = hk_min(strip->first + share * columns, strip->end);
    strip->end = hk_min(strip->first + columns, strip->end);
}

HK_FN hk_i64 hk_recur_tiles(HK_LOCAL const struct hk_recur_strip *strip)
{
    return (strip->tokens + strip->numbers->delta + HK_RECUR_TILE - 1) / HK_RECUR_TILE;
}

/* Steps of a task: the state comes in with the first tile, and each further part of the columns is
 * a tile later. */
HK_FN hk_i64 hk_recur_held_steps(HK_LOCAL const struct hk_recur_strip *strip)
{
    return strip->tokens > 0 ? hk_recur_tiles(strip) + (hk_i64)strip->numbers->threads : 1;
}

/* ---- tiles ---- */

/* Rows of a tile on their way: some quads of the thread's part, and of one token its factors. */
struct hk_recur_brought {
    struct hk_quad key[HK_RECUR_QUADS], query[HK_RECUR_QUADS], decay[HK_RECUR_QUADS];
    hk_u32 factor, beta;
};

HK_FN int hk_recur_token_there(HK_LOCAL const struct hk_recur_strip *strip, hk_i64 t)
{
    return t >= 0 && t < strip->tokens;
}

/* Quad `number` of rows first, first + 1, ... of the part. */
HK_FN void hk_recur_quad_load(HK_LOCAL const struct hk_recur_strip *strip,
                              HK_LOCAL const struct hk_rows *from,
                              const struct hk_recur_seat *seat, hk_i32 number, hk_i64 first,
                              hk_i32 n, struct hk_quad *to)
{
    const struct hk_rows rows = *from;
    const hk_i32 quads = seat->room / HK_QUAD, row = number / quads;
    const hk_i32 c = number % quads * HK_QUAD;

    if (row < n && c < seat->count && hk_recur_token_there(strip, first + row))
        hk_quad_load(rows.dtype, hk_row(&rows, first + row), rows.channel, seat->first + c,
                     strip->numbers->d_k, to);
}

HK_FN void hk_recur_quad_put(hk_u32 dtype, HK_LOCAL const struct hk_recur_strip *strip,
                             const struct hk_recur_seat *seat, hk_i32 number, hk_i64 first,
                             hk_i32 n, float absent, const struct hk_quad *quad,
                             HK_LOCAL float *to)
{
    const hk_i32 quads = seat->room / HK_QUAD, row = number / quads;
    const float none[HK_QUAD] = { absent, absent, absent, absent };

    if (row >= n)
        return;
    to += row * seat->line + seat->part * (seat->room + 4) + number % quads * HK_QUAD;
    if (hk_recur_token_there(strip, first + row))
        hk_quad_put(dtype, quad, to);
    else
        hk_local_put4(to, none);
}

/* The thread's quads from `from` to `end` of the tile whose first token is `first`. */
HK_INLINE void hk_recur_load(const int delta, HK_LOCAL const struct hk_recur_strip *strip,
                             const struct hk_recur_seat *seat, hk_i64 first, hk_i32 from,
                             const hk_i32 n, struct hk_recur_brought *to)
{
    int i;

    HK_UNROLL
    for (i = 0; i < n; i++) {
        const hk_i32 number = seat->column + (from + i) * seat->columns;

        hk_recur_quad_load(strip, &strip->k, seat, number, first - delta, HK_RECUR_TILE + delta,
                           &to->key[i]);
        if (strip->o.base)
            hk_recur_quad_load(strip, &strip->q, seat, number, first - delta, HK_RECUR_TILE,
                               &to->query[i]);
        if (strip->numbers->channels)
            hk_recur_quad_load(strip, &strip->decay, seat, number, first, HK_RECUR_TILE,
                               &to->decay[i]);
    }
}

HK_INLINE void hk_recur_store(const int delta, HK_LOCAL const struct hk_recur_strip *strip,
                              const struct hk_recur_seat *seat, hk_i64 first, hk_i32 from,
                              const hk_i32 n, const struct hk_recur_brought *brought,
                              HK_LOCAL struct hk_recur_tile *to)
{
    int i;

    HK_UNROLL
    for (i = 0; i < n; i++) {
        const hk_i32 number = seat->column + (from + i) * seat->columns;

        hk_recur_quad_put(strip->k.dtype, strip, seat, number, first - delta,
                          HK_RECUR_TILE + delta, 0.0f, &brought->key[i], to->key);
        if (strip->o.base)
            hk_recur_quad_put(strip->q.dtype, strip, seat, number, first - delta, HK_RECUR_TILE,
                              0.0f, &brought->query[i], to->query);
        if (strip->numbers->channels)
            hk_recur_quad_put(strip->decay.dtype, strip, seat, number, first, HK_RECUR_TILE, 1.0f,
                              &brought->decay[i], to->decay);
    }
}

/* A thread for each token of its part: factors of the head, which come with the tokens that decay,
 * and the strengths of those that are written. */
HK_FN void hk_recur_factors_load(const int delta, HK_LOCAL const struct hk_recur_strip *strip,
                                 const struct hk_recur_seat *seat, hk_i64 first,
                                 struct hk_recur_brought *to)
{
    const hk_i64 asks = first + seat->column, writes = asks - delta;

    if (seat->column < HK_RECUR_TILE && strip->decays && !strip->numbers->channels &&
        hk_recur_token_there(strip, asks))
        to->factor = hk_bits_load(strip->decay.dtype, strip->decay.base,
                                  asks * strip->decay.channel);
    if (seat->column < HK_RECUR_TILE && strip->beta.base && hk_recur_token_there(strip, writes))
        to->beta = hk_bits_load(strip->beta_dtype, strip->beta.base, writes * strip->beta.step);
}

HK_FN void hk_recur_factors_store(const int delta, HK_LOCAL const struct hk_recur_strip *strip,
                                  const struct hk_recur_seat *seat, hk_i64 first,
                                  const struct hk_recur_brought *brought,
                                  HK_LOCAL struct hk_recur_tile *to)
{
    const hk_i64 asks = first + seat->column, writes = asks - delta;
    const hk_i32 at = seat->part * HK_RECUR_TILE + seat->column;

    if (seat->column >= HK_RECUR_TILE)
        return;
    to->factor[at] = strip->decays && !strip->numbers->channels && hk_recur_token_there(strip, asks)
                         ? hk_bits_get(strip->decay.dtype, brought->factor)
                         : 1.0f;
    to->beta[at] = strip->beta.base && hk_recur_token_there(strip, writes)
                       ? hk_bits_get(strip->beta_dtype, brought->beta)
                       : 1.0f;
}

/* The thread's v of token t. */
HK_FN hk_u32 hk_recur_value_load(HK_LOCAL const struct hk_recur_strip *strip,
                                 const struct hk_recur_seat *seat, hk_i64 t)
{
    const struct hk_rows v = strip->v;

    return seat->there && hk_recur_token_there(strip, t)
               ? hk_bits_load(v.dtype, hk_row(&v, t), seat->channel * v.channel)
               : 0;
}

/* The thread's rows of token t in a tile. */
struct hk_recur_lines {
    HK_LOCAL const float *key, *query, *decay;
};

HK_FN struct hk_recur_lines hk_recur_lines_get(const struct hk_recur_seat *seat,
                                               HK_LOCAL const struct hk_recur_tile *tile, hk_i32 t)
{
    const hk_i32 at = t * seat->line + seat->part * (seat->room + 4);
    struct hk_recur_lines lines;

    lines.key = tile->key + at;
    lines.query = tile->query + at;
    lines.decay = tile->decay + at;
    return lines;
}

#if HK_HELD == 1
#include "recur_delta.h"
#else
#include "recur_line.h"
#endif

/* ---- tasks ---- */

/* The state comes in with the first step of a task, and goes out with the last. */
HK_PIECE void hk_recur_held_in(HK_LOCAL const struct hk_recur_strip *strip, hk_i32 id,
                               struct hk_recur_held *mine)
{
    const struct hk_recur_seat seat = hk_recur_seat_get(strip, id);
    hk_i64 i;
    int c;

    mine->r = 0.0f;
    HK_UNROLL
    for (c = 0; c < HK_RECUR_OWN; c++)
        mine->s[c] =
            c < seat.count ? hk_recur_state_get(strip, seat.first + c, seat.channel) : 0.0f;
    for (i = strip->tokens; seat.part == 0 && i < strip->numbers->n; i++)
        hk_recur_put(strip, i, seat.channel, 0.0f);
}

HK_PIECE void hk_recur_held_out(HK_LOCAL const struct hk_recur_strip *strip, hk_i32 id,
                                const struct hk_recur_held *mine)
{
    const struct hk_recur_seat seat = hk_recur_seat_get(strip, id);
    int c;

    HK_UNROLL
    for (c = 0; c < HK_RECUR_OWN; c++) {
        if (seat.there && c < seat.count)
            hk_recur_state_put(strip, seat.first + c, seat.channel, mine->s[c]);
    }
}

struct hk_shared {
    struct hk_recur_tile tiles[2]; /* first: at a multiple of 16 bytes */
    struct hk_recur_strip strip;   /* the group's columns of its task's */
};

/* Step 0 of a task finds its strip. */
HK_FN void hk_recur_find(const struct hk_call *call, hk_i64 task, hk_i64 group,
                         HK_LOCAL struct hk_recur_strip *to)
{
    const hk_i64 shares = call->op->shares[HK_PASS];
    struct hk_recur_strip strip;

    hk_recur_open(call, task / shares, group, &strip);
    hk_recur_share(&strip, task % shares);
    *to = strip;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    HK_LOCAL struct hk_recur_strip *const strip = &shared->strip;
    struct hk_recur_held mine[HK_MINE];
    struct hk_steps at;
    HK_THREAD_ID(id);

    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        hk_i64 steps;

        HK_EACH(id) {
            struct hk_recur_held *const me = &mine[HK_OWN(id)];

            if (at.step == 0 && id == 0)
                hk_recur_find(call, at.task, group, strip);
            if (at.step == 1)
                hk_recur_held_in(strip, id, me);
            if (at.step > 0)
                hk_recur_held_step(strip, at.step - 1, id, shared->tiles, me);
            if (at.step > 1 && at.step == hk_recur_held_steps(strip))
                hk_recur_held_out(strip, id, me);
        }
        /* Behind the barrier the strip may be the next task's. */
        steps = at.step == 0 ? 2 : 1 + hk_recur_held_steps(strip);
        HK_BARRIER();
        at = hk_steps_next(call, at, steps);
    }
}

#endif
