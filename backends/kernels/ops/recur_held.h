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
#define HK_RECUR_TILE (HK_GROUP_ROWS < 64 ? 6 : 8)   /* tokens; two tiles fit 32 KiB */
#define HK_RECUR_SPAN (HK_RECUR_HELD_MOST + 8 * 4)   /* a row's channels, with gaps for banks */

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

/* What threads share of a task: the group's columns of its strip, and how they are dealt out. */
struct hk_recur_task {
    struct hk_recur_strip strip;
    struct hk_quads k, q, decay;  /* rows of tokens; decay: of channels */
    hk_i32 log_columns, log_room; /* of columns of the group; of channels of k of a thread */
    hk_i32 v_size;                /* bytes of an element */
    hk_u32 one;                   /* a word of ones of the decays' type */
    hk_i32 channels, asks;        /* 1: decays are of channels; there are queries */
    float scale;
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

HK_FN struct hk_recur_seat hk_recur_seat_get(HK_LOCAL const struct hk_recur_task *task, hk_i32 id)
{
    struct hk_recur_seat seat;

    seat.columns = 1 << task->log_columns;
    seat.column = id & (seat.columns - 1);
    seat.parts = HK_THREADS >> task->log_columns;
    seat.part = id >> task->log_columns;
    seat.room = 1 << task->log_room;
    seat.first = seat.part << task->log_room;
    seat.count = (hk_i32)hk_max(hk_min(task->k.d - seat.first, seat.room), 0);
    seat.line = seat.parts * (seat.room + 4);
    seat.channel = task->strip.first + seat.column;
    seat.there = seat.channel < task->strip.end;
    return seat;
}

HK_FN hk_i64 hk_recur_tiles(HK_LOCAL const struct hk_recur_task *task)
{
    return (task->strip.tokens + (HK_HELD == 1) + HK_RECUR_TILE - 1) / HK_RECUR_TILE;
}

/* Steps of a task: the state comes in with the first tile, and each further part of the columns is
 * a tile later. */
HK_FN hk_i64 hk_recur_held_steps(HK_LOCAL const struct hk_recur_task *task)
{
    return task->strip.tokens > 0 ? hk_recur_tiles(task) + (HK_THREADS >> task->log_columns) : 1;
}

/* ---- tiles ---- */

/* A token's factors on their way. */
struct hk_recur_brought {
    hk_u32 factor, beta;
};

/* Rows of tokens `first`, first + 1, ...: those from `low` to `high` - 1 are there. */
struct hk_recur_range {
    hk_i64 first;
    hk_i32 low, high;
};

HK_FN struct hk_recur_range hk_recur_range_get(HK_LOCAL const struct hk_recur_task *task,
                                               hk_i64 first)
{
    struct hk_recur_range range;

    range.first = first;
    range.low = first < 0 ? 1 : 0; /* one before the first */
    range.high = (hk_i32)hk_min(task->strip.tokens - first, HK_RECUR_TILE + 1);
    return range;
}

/* Quads from number `from` on of the part in n rows; in those that are not there each word is
 * `absent`. */
HK_INLINE void hk_recur_quads_load(const int words, HK_LOCAL const struct hk_quads *rows,
                                   hk_i32 log_room, const struct hk_recur_seat *seat,
                                   const struct hk_recur_range *range, hk_i32 n, hk_u32 absent,
                                   hk_i32 from, const hk_i32 each, struct hk_quad *to)
{
    const struct hk_quads quads = *rows;
    HK_GLOBAL const char *const base = hk_byte(quads.base, range->first * quads.row);
    const hk_i32 log = log_room - 2;
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < each; i++) {
        const hk_i32 number = seat->column + (from + i) * seat->columns, row = number >> log;
        const hk_i32 c = (number & ((1 << log) - 1)) * HK_QUAD;

        hk_quad_fill(&to[i], absent);
        if (row < n && row >= range->low && row < range->high && c < seat->count)
            hk_quad_load(words, &quads, base + row * quads.row, seat->first + c, &to[i]);
    }
}

HK_INLINE void hk_recur_rows_load(HK_LOCAL const struct hk_quads *rows, hk_i32 log_room,
                                  const struct hk_recur_seat *seat,
                                  const struct hk_recur_range *range, hk_i32 n, hk_u32 absent,
                                  hk_i32 from, const hk_i32 each, struct hk_quad *to)
{
#define HK_LOAD(words)                                                                             \
    hk_recur_quads_load(words, rows, log_room, seat, range, n, absent, from, each, to)
    HK_BY_WORDS(rows->words, HK_LOAD);
#undef HK_LOAD
}

HK_INLINE void hk_recur_quads_store(hk_u32 dtype, hk_i32 log_room,
                                    const struct hk_recur_seat *seat, hk_i32 n,
                                    hk_i32 from, const hk_i32 each, const struct hk_quad *brought,
                                    HK_LOCAL float *to)
{
    const hk_i32 log = log_room - 2;
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < each; i++) {
        const hk_i32 number = seat->column + (from + i) * seat->columns, row = number >> log;
        const hk_i32 c = (number & ((1 << log) - 1)) * HK_QUAD;

        if (row < n)
            hk_quad_put(dtype, &brought[i],
                        to + row * seat->line + seat->part * (seat->room + 4) + c);
    }
}

HK_INLINE void hk_recur_rows_store(hk_u32 dtype, hk_i32 log_room, const struct hk_recur_seat *seat,
                                   hk_i32 n, hk_i32 from, const hk_i32 each,
                                   const struct hk_quad *brought, HK_LOCAL float *to)
{
#define HK_STORE(type) hk_recur_quads_store(type, log_room, seat, n, from, each, brought, to)
    HK_BY(HK_FLOAT_TYPES, dtype, HK_STORE);
#undef HK_STORE
}

/* The rows that a tile has of tokens first, first + 1, ... */
enum { HK_RECUR_KEYS, HK_RECUR_QUERIES, HK_RECUR_DECAYS, HK_RECUR_ARRAYS };

HK_FN int hk_recur_has(HK_LOCAL const struct hk_recur_task *task, const int array)
{
    return array == HK_RECUR_KEYS || (array == HK_RECUR_QUERIES ? task->asks : task->channels);
}

/* `each` quads of one of them, from number `from` on of those that the thread brings. */
HK_INLINE void hk_recur_load(const int array, HK_LOCAL const struct hk_recur_task *task,
                             const struct hk_recur_seat *seat, hk_i64 first, hk_i32 from,
                             const hk_i32 each, struct hk_quad *to)
{
    const int delta = HK_HELD == 1;
    const struct hk_recur_range range =
        hk_recur_range_get(task, array == HK_RECUR_DECAYS ? first : first - delta);

    if (array == HK_RECUR_KEYS)
        hk_recur_rows_load(&task->k, task->log_room, seat, &range, HK_RECUR_TILE + delta, 0, from,
                           each, to);
    else if (array == HK_RECUR_QUERIES)
        hk_recur_rows_load(&task->q, task->log_room, seat, &range, HK_RECUR_TILE, 0, from, each,
                           to);
    else
        hk_recur_rows_load(&task->decay, task->log_room, seat, &range, HK_RECUR_TILE, task->one,
                           from, each, to);
}

HK_INLINE void hk_recur_store(const int array, HK_LOCAL const struct hk_recur_task *task,
                              const struct hk_recur_seat *seat, hk_i32 from, const hk_i32 each,
                              const struct hk_quad *brought, HK_LOCAL struct hk_recur_tile *to)
{
    if (array == HK_RECUR_KEYS)
        hk_recur_rows_store(task->k.dtype, task->log_room, seat, HK_RECUR_TILE + (HK_HELD == 1),
                            from, each, brought, to->key);
    else if (array == HK_RECUR_QUERIES)
        hk_recur_rows_store(task->q.dtype, task->log_room, seat, HK_RECUR_TILE, from, each,
                            brought, to->query);
    else
        hk_recur_rows_store(task->decay.dtype, task->log_room, seat, HK_RECUR_TILE, from, each,
                            brought, to->decay);
}

HK_FN int hk_recur_token_there(HK_LOCAL const struct hk_recur_task *task, hk_i64 t)
{
    return t >= 0 && t < task->strip.tokens;
}

/* A thread for each token of its part: factors of the head, which come with the tokens that decay,
 * and the strengths of those that are written. */
HK_FN void hk_recur_factors_load(const int delta, HK_LOCAL const struct hk_recur_task *task,
                                 const struct hk_recur_seat *seat, hk_i64 first,
                                 struct hk_recur_brought *to)
{
    HK_LOCAL const struct hk_recur_strip *const strip = &task->strip;
    const hk_i64 asks = first + seat->column, writes = asks - delta;

    if (seat->column < HK_RECUR_TILE && strip->decays && !task->channels &&
        hk_recur_token_there(task, asks))
        to->factor = hk_bits_load(strip->decay.dtype, strip->decay.base,
                                  asks * strip->decay.channel);
    if (seat->column < HK_RECUR_TILE && strip->beta.base && hk_recur_token_there(task, writes))
        to->beta = hk_bits_load(strip->beta_dtype, strip->beta.base, writes * strip->beta.step);
}

HK_FN void hk_recur_factors_store(const int delta, HK_LOCAL const struct hk_recur_task *task,
                                  const struct hk_recur_seat *seat, hk_i64 first,
                                  const struct hk_recur_brought *brought,
                                  HK_LOCAL struct hk_recur_tile *to)
{
    HK_LOCAL const struct hk_recur_strip *const strip = &task->strip;
    const hk_i64 asks = first + seat->column, writes = asks - delta;
    const hk_i32 at = seat->part * HK_RECUR_TILE + seat->column;

    if (seat->column >= HK_RECUR_TILE)
        return;
    to->factor[at] = strip->decays && !task->channels && hk_recur_token_there(task, asks)
                         ? hk_bits_get(strip->decay.dtype, brought->factor)
                         : 1.0f;
    to->beta[at] = strip->beta.base && hk_recur_token_there(task, writes)
                       ? hk_bits_get(strip->beta_dtype, brought->beta)
                       : 1.0f;
}

/* The thread's v of n tokens from `first` on; 0 where there is none. */
HK_INLINE void hk_recur_values_load(HK_LOCAL const struct hk_recur_task *task,
                                    const struct hk_recur_seat *seat, hk_i64 first,
                                    const hk_i32 n, hk_u32 *to)
{
    const struct hk_rows v = task->strip.v;
    const hk_i64 left = seat->there ? task->strip.tokens - first : 0;
    HK_GLOBAL const char *const row =
        hk_byte(v.base, first * v.row + seat->channel * v.channel * task->v_size);
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < n; i++) {
        to[i] = 0;
        if (i < left)
            to[i] = task->v_size == 4 ? *(HK_GLOBAL const hk_u32 *)(row + i * v.row)
                                      : *(HK_GLOBAL const hk_u16 *)(row + i * v.row);
    }
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
HK_PIECE void hk_recur_held_in(HK_LOCAL const struct hk_recur_task *task, hk_i32 id,
                               struct hk_recur_held *mine)
{
    const struct hk_recur_seat seat = hk_recur_seat_get(task, id);
    hk_i64 i;
    int c;

    mine->r = 0.0f;
    HK_UNROLL
    for (c = 0; c < HK_RECUR_OWN; c++)
        mine->s[c] =
            c < seat.count ? hk_recur_state_get(&task->strip, seat.first + c, seat.channel) : 0.0f;
    for (i = task->strip.tokens; seat.part == 0 && i < task->strip.numbers->n; i++)
        hk_recur_put(&task->strip, i, seat.channel, 0.0f);
}

HK_PIECE void hk_recur_held_out(HK_LOCAL const struct hk_recur_task *task, hk_i32 id,
                                const struct hk_recur_held *mine)
{
    const struct hk_recur_seat seat = hk_recur_seat_get(task, id);
    int c;

    HK_UNROLL
    for (c = 0; c < HK_RECUR_OWN; c++) {
        if (seat.there && c < seat.count)
            hk_recur_state_put(&task->strip, seat.first + c, seat.channel, mine->s[c]);
    }
}

struct hk_shared {
    struct hk_recur_tile tiles[2]; /* first: at a multiple of 16 bytes */
    struct hk_recur_task task;
};

/* A word of ones as they lie. */
HK_FN hk_u32 hk_recur_ones(hk_u32 dtype)
{
    if (dtype == HK_F32)
        return 0x3f800000u;
    if (dtype == HK_F16)
        return 0x3c003c00u;
    if (dtype == HK_BF16)
        return 0x3f803f80u;
    HK_UNREACHABLE();
    return 0;
}

/* Step 0 finds the task. */
HK_FN void hk_recur_find(const struct hk_call *call, hk_i64 number, hk_i64 group,
                         HK_LOCAL struct hk_recur_task *to)
{
    const hk_i64 shares = call->op->shares[HK_PASS];
    struct hk_recur_strip strip;
    hk_i32 threads, log = 0, room = 2;

    hk_recur_open(call, number / shares, group, &strip);
    threads = (hk_i32)strip.numbers->threads;
    while (threads << log < HK_THREADS)
        log++;
    while (threads << room < (hk_i32)strip.numbers->d_k)
        room++;
    strip.first = hk_min(strip.first + (number % shares << log), strip.end);
    strip.end = hk_min(strip.first + ((hk_i64)1 << log), strip.end);
    to->strip = strip;
    to->k = hk_quads_get(&strip.k, strip.numbers->d_k);
    to->q = hk_quads_get(&strip.q, strip.numbers->d_k);
    to->decay = hk_quads_get(&strip.decay, strip.numbers->d_k);
    to->log_columns = log;
    to->log_room = room;
    to->v_size = (hk_i32)hk_size(strip.v.dtype);
    to->channels = (hk_i32)strip.numbers->channels;
    to->asks = strip.o.base != 0;
    to->scale = strip.numbers->scale;
    to->one = strip.decays ? hk_recur_ones(strip.decay.dtype) : 0;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    HK_LOCAL struct hk_recur_task *const task = &shared->task;
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
                hk_recur_find(call, at.task, group, task);
            if (at.step == 1)
                hk_recur_held_in(task, id, me);
            if (at.step > 0)
                hk_recur_held_step(task, at.step - 1, id, shared->tiles, me);
            if (at.step > 1 && at.step == hk_recur_held_steps(task))
                hk_recur_held_out(task, id, me);
        }
        /* Behind the barrier the task may be the next one. */
        steps = at.step == 0 ? 2 : 1 + hk_recur_held_steps(task);
        HK_BARRIER();
        at = hk_steps_next(call, at, steps);
    }
}

#endif
