/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/pool.h, select by scores: the choice of each row of a strip from what each part of tokens
 * gave. A processor does the rows of a strip one by one; of work-groups each has a row.
 */
#define HK_SCALES 0 /* numbers alone */
#include "select_topk.h"

#if HK_THREADS == 1

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
    {
        struct hk_topk topk;
        hk_i64 i, n;

        hk_topk_open(call, group, task, &topk);
        n = topk.select->parts * topk.select->count;
        for (i = 0; i < topk.n; i++)
            hk_topk_write(&topk, i, topk.chosen + i * n, n);
    }
}

#else

#define HK_HAS_SHARED 1

/* Of each thread: the smallest and the largest of its keys, and how many there are; by turns of
 * steps those that are not below the middle; those that stay of its run of keys. */
struct hk_shared {
    hk_i64 low[HK_THREADS], high[HK_THREADS];
    hk_i32 there[HK_THREADS], found[2][HK_THREADS], stay[HK_THREADS];
};

/* hk_keys_least, by all threads: each keeps what all of them know. */
enum { HK_JOIN_BEGINS, HK_JOIN_FIRST, HK_JOIN_HALVES, HK_JOIN_COUNTED, HK_JOIN_ENDS };

struct hk_join {
    hk_i64 low, high;
    hk_i32 state;
};

/* The keys of a row; n 0: the strip has no such row. */
struct hk_join_row {
    struct hk_topk topk;
    HK_GLOBAL const hk_i64 *keys;
    hk_i64 n, row;
};

HK_FN hk_i64 hk_join_sum(HK_LOCAL const hk_i32 *of, hk_i32 n)
{
    hk_i64 sum = 0;
    hk_i32 i;

    for (i = 0; i < n; i++)
        sum += of[i];
    return sum;
}

HK_FN void hk_join_begin(const struct hk_join_row *row, hk_i32 id,
                         HK_LOCAL struct hk_shared *shared)
{
    hk_i64 low = ~HK_NO_KEY, high = HK_NO_KEY, there = 0, i;

    for (i = id; i < row->n; i += HK_THREADS) {
        const hk_i64 key = row->keys[i];

        if (key == HK_NO_KEY)
            continue;
        there++;
        low = hk_min(key, low);
        high = hk_max(key, high);
    }
    shared->low[id] = low;
    shared->high[id] = high;
    shared->there[id] = (hk_i32)there;
}

/* What lies between the smallest and the largest; all that there are stay where they are few. */
HK_FN void hk_join_first(const struct hk_join_row *row, HK_LOCAL const struct hk_shared *shared,
                         struct hk_join *join)
{
    hk_i32 i;

    join->low = ~HK_NO_KEY;
    join->high = HK_NO_KEY;
    for (i = 0; i < HK_THREADS; i++) {
        join->low = hk_min(shared->low[i], join->low);
        join->high = hk_max(shared->high[i], join->high);
    }
    join->state = hk_join_sum(shared->there, HK_THREADS) > row->topk.select->count
                      ? HK_JOIN_HALVES
                      : HK_JOIN_COUNTED;
}

HK_FN hk_i64 hk_join_middle(const struct hk_join *join)
{
    return join->high - (hk_i64)(((hk_u64)join->high - (hk_u64)join->low) / 2);
}

HK_FN void hk_join_halve(const struct hk_join_row *row, HK_LOCAL const hk_i32 *counts,
                         struct hk_join *join)
{
    const hk_i64 middle = hk_join_middle(join), found = hk_join_sum(counts, HK_THREADS);

    if (found < row->topk.select->count)
        join->high = middle - 1;
    else
        join->low = middle;
    if (found == row->topk.select->count)
        join->state = HK_JOIN_COUNTED;
}

HK_FN hk_i32 hk_join_count(const struct hk_join_row *row, hk_i64 first, hk_i64 end, hk_i64 step,
                           hk_i64 least)
{
    hk_i32 found = 0;
    hk_i64 i;

    for (i = first; i < end; i += step)
        found += row->keys[i] != HK_NO_KEY && row->keys[i] >= least ? 1 : 0;
    return found;
}

/* Tokens of the thread's run that stay, behind those of the runs before; then -1. */
HK_FN void hk_join_write(const struct hk_join_row *row, hk_i64 run, hk_i32 id, hk_i64 least,
                         HK_LOCAL const struct hk_shared *shared)
{
    HK_GLOBAL hk_i32 *const y =
        (HK_GLOBAL hk_i32 *)hk_topk_row(&row->topk, HK_SELECT_Y, row->row);
    const hk_i64 step = row->topk.call->arrays[HK_SELECT_Y].stride[5];
    hk_i64 place = hk_join_sum(shared->stay, id), i;

    for (i = id * run; i < hk_min((id + 1) * run, row->n); i++) {
        if (row->keys[i] != HK_NO_KEY && row->keys[i] >= least)
            y[place++ * step] = (hk_i32)hk_key_index(row->keys[i]);
    }
    for (i = hk_join_sum(shared->stay, HK_THREADS) + id; i < row->topk.select->count;
         i += HK_THREADS)
        y[i * step] = -1;
}

HK_PIECE void hk_join_step(const struct hk_join_row *row, hk_i64 step, hk_i32 id,
                           HK_LOCAL struct hk_shared *shared, struct hk_join *join)
{
    const hk_i64 run = (row->n + HK_THREADS - 1) / HK_THREADS;

    if (step == 0) {
        hk_join_begin(row, id, shared);
        join->state = HK_JOIN_FIRST;
    } else if (join->state == HK_JOIN_FIRST) {
        hk_join_first(row, shared, join);
    } else if (join->state == HK_JOIN_HALVES) {
        hk_join_halve(row, shared->found[step % 2], join);
    } else {
        hk_join_write(row, run, id, join->low, shared);
        join->state = HK_JOIN_ENDS;
    }
    if (join->state == HK_JOIN_HALVES)
        shared->found[(step + 1) % 2][id] =
            hk_join_count(row, id, row->n, HK_THREADS, hk_join_middle(join));
    if (join->state == HK_JOIN_COUNTED)
        shared->stay[id] =
            hk_join_count(row, id * run, hk_min((id + 1) * run, row->n), 1, join->low);
}

HK_FN void hk_join_open(const struct hk_call *call, hk_i64 group, hk_i64 task,
                        struct hk_join_row *row)
{
    const hk_i64 shares = call->op->shares[HK_PASS];

    row->row = task % shares;
    hk_topk_open(call, group, task / shares, &row->topk);
    row->n = row->row < row->topk.n ? row->topk.select->parts * row->topk.select->count : 0;
    row->keys = row->topk.chosen +
                row->row * row->topk.select->parts * row->topk.select->count;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    struct hk_join mine[HK_MINE];
    struct hk_steps at;
    HK_THREAD_ID(id);

    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        struct hk_join_row row;

        hk_join_open(call, group, at.task, &row);
        HK_EACH(id) {
            if (row.n > 0)
                hk_join_step(&row, at.step, id, shared, &mine[HK_OWN(id)]);
        }
        HK_BARRIER();
        at = hk_steps_next(call, at,
                           row.n == 0 || mine[0].state == HK_JOIN_ENDS ? at.step + 1
                                                                       : at.step + 2);
    }
}

#endif

#include "../entry.h"
