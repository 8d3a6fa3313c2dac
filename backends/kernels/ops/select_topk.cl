/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/pool.h, select by scores. A task is a strip of query rows and a part of the tokens. A row
 * keeps the keys of what it may choose, and a bar below which it wants nothing more: a score that
 * reaches the bar is added, and when there is no more room, all but the `count` largest go and the
 * bar rises. So most scores cost a comparison, and none is stored. A group that goes on with
 * another part of its strip goes on with its bars.
 *
 * Query rows are the columns of panels, and tokens the rows that are multiplied with them: x is
 * read in place, once for all rows of a strip, and a vector of scores has the same token and
 * different query rows. With threads instead of lanes each thread has a column.
 */
#define HK_SCALES 0 /* numbers alone */
#include "select_topk.h"

/* Nothing is too small yet; a column without a row takes nothing but NaN. */
HK_FN void hk_topk_start(const struct hk_topk *topk, hk_i64 column)
{
    topk->bars[column] = column < topk->n ? -HK_INFINITY : HK_INFINITY;
    if (column < topk->n)
        topk->held[column] = 0;
}

HK_FN void hk_topk_add(const struct hk_topk *topk, hk_i64 column, float score, hk_i64 token)
{
    const hk_i64 room = topk->select->room, count = topk->select->count;
    HK_GLOBAL hk_i64 *keys = topk->keys + column * room;
    hk_i64 n = topk->held[column];

    keys[n++] = hk_key(score, token);
    if (n == room) {
        topk->bars[column] = hk_key_bar(hk_keys_cut(keys, n, count));
        n = count;
    }
    topk->held[column] = n;
}

/* The keys of a row to where its parts are joined: those of the parts that the group had. */
HK_FN void hk_topk_spread(const struct hk_topk *topk, hk_i64 column, hk_i64 first, hk_i64 step,
                          hk_i64 end)
{
    HK_GLOBAL const struct hk_select *select = topk->select;
    HK_GLOBAL hk_i64 *keys = topk->keys + column * select->room;
    HK_GLOBAL hk_i64 *to = topk->chosen + column * select->parts * select->count;
    hk_i64 n = topk->held[column], i = 0, part, place;

    if (n > select->count) {
        hk_keys_cut(keys, n, select->count);
        n = select->count;
    }
    for (part = first; part < end; part += step) {
        for (place = 0; place < select->count; place++) {
            const int mine = i < n && hk_key_index(keys[i]) < (part + 1) * select->part_tokens;

            to[part * select->count + place] = mine ? keys[i] : HK_NO_KEY;
            i += mine;
        }
    }
}

/* first, step, end: the parts that the group had. */
HK_FN void hk_topk_finish(const struct hk_topk *topk, hk_i64 column, hk_i64 first, hk_i64 step,
                          hk_i64 end)
{
    if (topk->select->parts == 1)
        hk_topk_write(topk, column, topk->keys + column * topk->select->room, topk->held[column]);
    else
        hk_topk_spread(topk, column, first, step, end);
}

/* Channels of query row `column` into its column; line: floats from channel to channel. */
HK_FN void hk_topk_column(const struct hk_topk *topk, hk_i64 column, HK_GLOBAL float *to,
                          hk_i64 line)
{
    HK_GLOBAL const struct hk_array *q = topk->call->arrays + HK_SELECT_Q;
    HK_GLOBAL const char *row = hk_topk_row(topk, HK_SELECT_Q, column);
    hk_i64 t;

    for (t = 0; t < topk->select->d; t++)
        to[t * line] = hk_element(q->dtype, row, t * q->stride[5]);
}

#if HK_THREADS == 1
#include "select_topk_lanes.h"
#else
#include "select_topk_threads.h"
#endif

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    const hk_i64 parts = HK_NUMBERS(call, struct hk_select)->parts;
    const hk_i64 step = call->op->groups[HK_PASS], tasks = call->op->tasks[HK_PASS];
    hk_i64 task = group;

    while (task < tasks) {
        const hk_i64 strip = task / parts, first = task % parts;
        struct hk_topk topk;

        hk_topk_open(call, group, strip, &topk);
        hk_topk_begin(&topk);
        for (; task < tasks && task / parts == strip; task += step)
            hk_topk_part(&topk, task % parts);
        hk_topk_end(&topk, first, step);
    }
}

#include "../entry.h"
