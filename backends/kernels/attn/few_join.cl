/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention for GPUs where a strip has few rows, the second half: a group joins the chunks of one
 * row in the order that docs/numerics.md step 8 wants, and ends the row. What the references of
 * chunks do to its sums is found once, a chunk a thread; then a thread has one sum, a partial sum
 * or a channel, and goes through the chunks with many of them on their way. Like the walk
 * (walk.h) it is one flat loop, whose turns are tiles of chunks for some sums each.
 */
#define HK_FEW 1
#define HK_THREADS 256
#define HK_WIDTH 128
#define HK_KV 0
#define HK_PLAIN 0
#include "group_end.h"

#if HK_THREADS != HK_PART_THREADS
#error "the host starts groups of HK_PART_THREADS"
#endif

#define HK_JOIN_TILE 1024       /* chunks whose factors lie in local memory */
#define HK_JOIN_AHEAD 16        /* chunks in flight; divides the tile */
#define HK_JOIN_SKIP -1.0f      /* as the factor of what was joined: the chunk is not there */

/* Of a turn. */
struct hk_turn {
    hk_i64 first;               /* chunk */
    hk_i32 chunks, run;         /* of the tile; of a thread at most */
    hk_i32 before, after;       /* where what is joined before it and with it is told */
    hk_i32 begins, ends;        /* it is the first tile, the last one */
    hk_i32 knows;               /* its factors are there from the turn before */
};

/* ---- local memory, where slabs of K and V are in the other half ---- */

/* By place in the tile: references, NaN where a chunk has no key, then factors of the chunk's sums;
 * factors of the sums before. */
HK_FN HK_LOCAL float *hk_join_new(const struct hk_group *g)
{
    return g->shared->in.slab;
}

HK_FN HK_LOCAL float *hk_join_old(const struct hk_group *g)
{
    return g->shared->in.slab + HK_JOIN_TILE;
}

/* By thread: the largest reference of its chunks, NaN: none. */
HK_FN HK_LOCAL float *hk_join_top(const struct hk_group *g)
{
    return g->shared->p;
}

/* ---- references ---- */

/* What is joined: its reference, if there is anything. */
struct hk_joint {
    float m;
    hk_u32 some;
};

/* y: a reference, NaN: there is none. */
HK_FN void hk_joint_rise(struct hk_joint *to, float y)
{
    if (!hk_ordered(y))
        return;
    to->m = !to->some || y > to->m ? y : to->m;
    to->some = 1;
}

/* What is joined before the first tile, before even ones and before odd ones has a place each. The
 * reference of a state may be NaN, and stays. */
HK_FN void hk_joint_put(const struct hk_group *g, hk_i32 which, struct hk_joint joint)
{
    g->shared->m[which] = joint.m;
    g->shared->masks[which] = joint.some;
}

HK_FN struct hk_joint hk_joint_get(const struct hk_group *g, hk_i32 which)
{
    struct hk_joint joint;

    joint.m = g->shared->m[which];
    joint.some = g->shared->masks[which];
    return joint;
}

HK_FN HK_GLOBAL char *hk_turn_chunks(const struct hk_group *g, hk_u32 task,
                                     const struct hk_turn *turn)
{
    return hk_few_chunks(g->call, task) + turn->first * g->call->plan->chunk_bytes;
}

/* A thread's references to local memory. */
HK_FN void hk_tile_look(const struct hk_group *g, hk_i32 id, hk_u32 task, hk_i32 row,
                        const struct hk_turn *turn)
{
    HK_GLOBAL char *chunks = hk_turn_chunks(g, task, turn);
    const hk_i64 bytes = g->call->plan->chunk_bytes;
    const hk_i32 end = (hk_i32)hk_min((id + 1) * turn->run, turn->chunks);
    struct hk_joint top;
    hk_i32 i;

    top.m = hk_float(HK_NAN_WORD);
    top.some = 0;
    HK_NO_UNROLL
    for (i = id * turn->run; i < end; i++) {
        const struct hk_kept kept = hk_few_kept(chunks + i * bytes)[row];
        const float y = kept.joined == 0.0f ? hk_float(HK_NAN_WORD) : kept.m;

        hk_join_new(g)[i] = y;
        hk_joint_rise(&top, y);
    }
    hk_join_top(g)[id] = top.m;
}

/* A thread's references become factors; behind the last one are none up to a whole turn of
 * hk_tile_join. */
HK_FN void hk_tile_factors(const struct hk_group *g, hk_i32 id, const struct hk_turn *turn)
{
    HK_LOCAL float *to = hk_join_new(g), *old = hk_join_old(g);
    const hk_i32 whole = (turn->chunks + HK_JOIN_AHEAD - 1) / HK_JOIN_AHEAD * HK_JOIN_AHEAD;
    const hk_i32 end = (hk_i32)hk_min((id + 1) * turn->run, turn->chunks);
    const hk_i32 before = (hk_i32)hk_min(id, (turn->chunks + turn->run - 1) / turn->run);
    struct hk_joint joint = hk_joint_get(g, turn->before);
    hk_i32 i, j;

    HK_NO_UNROLL
    for (i = 0; i < before; i += 4) {           /* threads that have chunks */
        float y[4];

        hk_local_get4(hk_join_top(g) + i, y);
        HK_UNROLL
        for (j = 0; j < 4; j++)
            hk_joint_rise(&joint, i + j < before ? y[j] : hk_float(HK_NAN_WORD));
    }
    HK_NO_UNROLL
    for (i = id * turn->run; i < end; i++) {
        const struct hk_joint was = joint;
        const float y = to[i];

        hk_joint_rise(&joint, y);
        to[i] = was.some ? hk_power(hk_sub(y, joint.m)) : 1.0f;
        old[i] = !hk_ordered(y) ? HK_JOIN_SKIP
                 : was.some     ? hk_power(hk_sub(was.m, joint.m))
                                : 0.0f;
    }
    if (id == HK_THREADS - 1)           /* it has the last chunk, or is behind it */
        hk_joint_put(g, turn->after, joint);
    HK_NO_UNROLL
    for (i = turn->chunks + id; i < whole; i += HK_THREADS)
        old[i] = HK_JOIN_SKIP;
}

/* ---- sums ---- */

/* Sum number i of a row's: partial sums, then channels. Where it lies in the first chunk. */
HK_FN HK_GLOBAL const float *hk_joint_at(const struct hk_group *g, HK_GLOBAL char *chunk,
                                         hk_i32 row, hk_i64 i)
{
    return i < HK_PARTIALS ? hk_few_l(chunk, row) + i
                           : hk_few_o(g->call, chunk, row) + (i - HK_PARTIALS);
}

/* A tile joins a sum; `at` is where it lies in the first chunk. */
HK_FN float hk_tile_join(const struct hk_group *g, HK_GLOBAL const float *at,
                         const struct hk_turn *turn, float sum)
{
    const hk_i64 step = g->call->plan->chunk_bytes / 4;
    hk_i32 i, j;

    HK_NO_UNROLL
    for (i = 0; i < turn->chunks; i += HK_JOIN_AHEAD) {
        float x[HK_JOIN_AHEAD], to[HK_JOIN_AHEAD], old[HK_JOIN_AHEAD];

        HK_UNROLL
        for (j = 0; j < HK_JOIN_AHEAD; j += 4) {
            hk_local_get4(hk_join_new(g) + i + j, to + j);
            hk_local_get4(hk_join_old(g) + i + j, old + j);
        }
        HK_UNROLL
        for (j = 0; j < HK_JOIN_AHEAD; j++, at += step)
            x[j] = old[j] < 0.0f ? 0.0f : *at;
        HK_UNROLL
        for (j = 0; j < HK_JOIN_AHEAD; j++)
            sum = old[j] < 0.0f ? sum : hk_fma(x[j], to[j], hk_mul(sum, old[j]));
    }
    return sum;
}

/* Where the state of the row lies that begins from one. */
HK_FN HK_GLOBAL const float *hk_state_of(const struct hk_group *g, hk_i32 row)
{
    return hk_state_row(g->call, g->task->b, g->shared->head[row],
                        g->task->o_begin + g->shared->index[row]);
}

/* Sum number i before the first chunk. A thread reads it before it writes there. */
HK_FN float hk_sum_begin(const struct hk_group *g, hk_i32 row, hk_i64 i)
{
    const hk_i64 at = i < HK_PARTIALS ? HK_STATE_AT_L + i : HK_STATE_AT_O + i - HK_PARTIALS;

    return g->shared->masks[0] ? hk_state_of(g, row)[at * g->call->plan->state.stride[5]] : 0.0f;
}

/* Channel t of the row's outputs. */
HK_FN void hk_sum_put(const struct hk_group *g, hk_i32 row, hk_i64 t, float sum)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i64 at = plan->flags & HK_PLAN_STOPS ? t + HK_STATE_AT_O : t;

    hk_put(plan->o.dtype, hk_o(g->call),
           hk_batch_offset(g->call, plan->o.stride, g->task->b) +
               shared->head[row] * plan->o.stride[3] +
               (g->task->o_begin + shared->index[row]) * plan->o.stride[4] +
               at * plan->o.stride[5],
           hk_mul(hk_mul(sum, shared->w[2 * row]), shared->w[2 * row + 1]));
}

/* ---- all ---- */

/* What is joined before the first chunk. */
HK_FN void hk_join_begin(const struct hk_group *g, hk_i32 row)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    struct hk_joint joint;

    joint.m = -HK_INFINITY;
    joint.some = 0;
    if (plan->state.dtype && g->shared->active[row]) {
        HK_GLOBAL const float *from = hk_state_of(g, row);

        joint.some = from[HK_STATE_AT_JOINED * plan->state.stride[5]] != 0.0f;
        joint.m = joint.some ? from[0] : joint.m;
    }
    hk_joint_put(g, 0, joint);
}

/* Turn `number`, where `tiles` of them join the same sums; of a row that is not there it has no
 * chunk. */
HK_FN struct hk_turn hk_turn_get(const struct hk_group *g, hk_i32 row, hk_u32 number, hk_u32 tiles)
{
    const hk_u32 tile = number % tiles;
    struct hk_turn turn;

    turn.first = (hk_i64)tile * HK_JOIN_TILE;
    turn.chunks = (hk_i32)hk_min(g->call->plan->chunks - turn.first, HK_JOIN_TILE);
    if (!g->shared->active[row])
        turn.chunks = 0;
    turn.run = (hk_i32)hk_max((turn.chunks + HK_THREADS - 1) / HK_THREADS, 1);
    turn.before = tile == 0 ? 0 : 1 + (hk_i32)(tile % 2);
    turn.after = 2 - (hk_i32)(tile % 2);
    turn.begins = tile == 0;
    turn.ends = tile == tiles - 1;
    turn.knows = tiles == 1 && number > 0;
    return turn;
}

/* The row ends when its partial sums are there. */
HK_FN void hk_join_end(const struct hk_group *g, hk_i32 row, const struct hk_turn *turn,
                       struct hk_mine *me)
{
    const struct hk_joint joint = hk_joint_get(g, turn->after);

    me->acc_m = joint.m;
    me->has_partial = joint.some;
    hk_row_finish(g, row, me);
}

/* A tile joins sum number i of a thread. */
HK_FN void hk_turn_join(const struct hk_group *g, hk_u32 task, hk_i32 row,
                        const struct hk_turn *turn, hk_i64 i, float *sum)
{
    if (!g->shared->active[row] || i >= HK_PARTIALS + g->call->plan->d_v)
        return;
    if (turn->begins)
        *sum = hk_sum_begin(g, row, i);
    *sum = hk_tile_join(g, hk_joint_at(g, hk_turn_chunks(g, task, turn), row, i), turn, *sum);
    if (turn->ends && i < HK_PARTIALS)
        g->shared->out.red[row * HK_RED_LINE + i] = *sum;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const hk_u32 rows = HK_CUT_JOIN ? (hk_u32)HK_ROWS : (hk_u32)hk_part_rows(plan);
    const hk_u32 task = (hk_u32)group / rows;
    const hk_i32 row = (hk_i32)((hk_u32)group % rows);
    const hk_u32 tiles = ((hk_u32)hk_max(plan->chunks, 1) + HK_JOIN_TILE - 1) / HK_JOIN_TILE;
    const hk_u32 passes = ((hk_u32)plan->d_v + HK_PARTIALS + HK_THREADS - 1) / HK_THREADS;
    struct hk_mine mine[HK_MINE];
    float sum[HK_MINE];
    struct hk_group g;
    hk_u32 n;
    HK_THREAD_ID(id);

    hk_group_open(call, task, 0, shared, &g);
    HK_EACH(id) {
        if (id == row)
            hk_row_open(&g, row);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id == row)
            hk_join_begin(&g, row);
    }
    HK_NO_UNROLL
    for (n = 0; n < passes * tiles; n++) {
        const struct hk_turn turn = hk_turn_get(&g, row, n, tiles);
        const hk_i64 first = (hk_i64)(n / tiles) * HK_THREADS;

        HK_BARRIER();
        HK_EACH(id) {
            if (!turn.knows)
                hk_tile_look(&g, id, task, row, &turn);
        }
        HK_BARRIER();
        HK_EACH(id) {
            if (!turn.knows)
                hk_tile_factors(&g, id, &turn);
        }
        HK_BARRIER();
        HK_EACH(id) {
            hk_turn_join(&g, task, row, &turn, first + id, &sum[HK_OWN(id)]);
        }
        HK_BARRIER();
        HK_EACH(id) {
            if (id == row && turn.ends && first == 0 && shared->active[row])
                hk_join_end(&g, row, &turn, &mine[HK_OWN(id)]);
        }
        HK_BARRIER();
        HK_EACH(id) {
            if (turn.ends && shared->active[row] && first + id >= HK_PARTIALS &&
                first + id < HK_PARTIALS + plan->d_v)
                hk_sum_put(&g, row, first + id - HK_PARTIALS, sum[HK_OWN(id)]);
        }
    }
}

#include "../entry.h"
