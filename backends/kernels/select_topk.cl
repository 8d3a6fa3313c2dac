/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/pool.h, select by scores. A task is a strip of query rows that choose from one head of x, of
 * one head of q or of several. A row keeps the keys of what it may choose, and a bar below which it
 * wants nothing more: a score that reaches the bar is added, and when there is no more room, all
 * but the `count` largest go and the bar rises. So most scores cost a comparison, and none is
 * stored.
 *
 * Query rows are the columns of panels, and tokens the rows that are multiplied with them: x is
 * read in place, once for all rows of a strip, and a vector of scores has the same token and
 * different query rows. With threads instead of lanes each thread has a column.
 */
#include "choice.h"
#include "tokens.h"

struct hk_topk {
    const struct hk_call *call;
    HK_GLOBAL const struct hk_select *select;
    HK_GLOBAL char *scratch;
    struct hk_tokens tokens;
    hk_i64 b, first, n;                 /* item; query rows of the strip */
    hk_i64 stack, head;                 /* heads of q that choose from one of x; the first */
    HK_GLOBAL hk_i64 *keys;             /* [rows][room] */
    HK_GLOBAL float *bars;              /* [HK_SELECT_QUERIES] */
    HK_GLOBAL hk_i64 *held;             /* [rows] */
    HK_GLOBAL float *columns;           /* [panels][d][panel], or with threads [d][threads] */
};

HK_FN void hk_topk_open(const struct hk_call *call, hk_i64 group, hk_i64 task, struct hk_topk *topk)
{
    HK_GLOBAL const struct hk_select *select = HK_NUMBERS(call, struct hk_select);
    HK_GLOBAL const struct hk_strip_form *strip = &select->strip;
    HK_GLOBAL char *scratch = hk_scratch(call, group);
    const hk_i64 head = task / strip->strips % select->groups;

    topk->call = call;
    topk->select = select;
    topk->scratch = scratch;
    topk->b = task / strip->strips / select->groups;
    topk->tokens = hk_tokens_get(call, topk->b, head);
    topk->stack = strip->heads / select->groups;
    topk->head = head * topk->stack;
    topk->first = task % strip->strips * strip->run;
    topk->n = hk_min(strip->run, topk->stack * strip->rows - topk->first);
    topk->keys = (HK_GLOBAL hk_i64 *)(scratch + select->part[HK_PART_KEYS]);
    topk->bars = (HK_GLOBAL float *)(scratch + select->part[HK_PART_BARS]);
    topk->held = (HK_GLOBAL hk_i64 *)(scratch + select->part[HK_PART_HELD]);
    topk->columns = (HK_GLOBAL float *)(scratch + select->part[HK_PART_COLUMNS]);
}

/* Row `column` of the strip in q or y. */
HK_FN HK_GLOBAL char *hk_topk_row(const struct hk_topk *topk, hk_u32 array, hk_i64 column)
{
    const hk_i64 at = topk->first + column, rows = topk->select->strip.rows;
    const struct hk_rows of = hk_rows_get(topk->call, array, topk->b, topk->head + at / rows);

    return of.base ? of.base + at % rows * of.row : of.base;
}

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

HK_FN void hk_topk_finish(const struct hk_topk *topk, hk_i64 column)
{
    const hk_i64 count = topk->select->count, n = topk->held[column];
    HK_GLOBAL const hk_i64 *keys = topk->keys + column * topk->select->room;
    struct hk_indices y;

    y.base = (HK_GLOBAL hk_i32 *)hk_topk_row(topk, HK_SELECT_Y, column);
    y.step = topk->call->arrays[HK_SELECT_Y].stride[5];
    hk_keys_write(keys, n, n > count ? hk_keys_least(keys, n, count) : HK_NO_KEY, &y, count);
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
    hk_i64 task;

    HK_TASKS(call, group, task)
    {
        struct hk_topk topk;

        hk_topk_open(call, group, task, &topk);
        hk_topk_strip(&topk);
    }
}

#include "entry.h"
