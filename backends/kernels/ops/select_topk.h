/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by scores: a strip of query rows that choose from one head of x, of one head of q or of
 * several, and the memory that the strips' parts share. Where strips are few, the tokens are cut
 * into parts, each a task; what a strip has chosen from each part lies side by side until it is
 * joined (select_join.cl).
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_TOPK_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_TOPK_H

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
    HK_GLOBAL hk_i64 *chosen;           /* [rows][parts][count], if there are several parts */
};

/* number: of the strip, counted over items and heads of x. */
HK_FN void hk_topk_open(const struct hk_call *call, hk_i64 group, hk_i64 number,
                        struct hk_topk *topk)
{
    HK_GLOBAL const struct hk_select *select = HK_NUMBERS(call, struct hk_select);
    HK_GLOBAL const struct hk_strip_form *strip = &select->strip;
    HK_GLOBAL char *scratch = hk_scratch(call, group);
    const hk_i64 head = number / strip->strips % select->groups;

    topk->call = call;
    topk->select = select;
    topk->scratch = scratch;
    topk->b = number / strip->strips / select->groups;
    topk->tokens = hk_tokens_get(call, topk->b, head);
    topk->stack = strip->heads / select->groups;
    topk->head = head * topk->stack;
    topk->first = number % strip->strips * strip->run;
    topk->n = hk_min(strip->run, topk->stack * strip->rows - topk->first);
    topk->keys = (HK_GLOBAL hk_i64 *)(scratch + select->scratch_at[HK_SCRATCH_KEYS]);
    topk->bars = (HK_GLOBAL float *)(scratch + select->scratch_at[HK_SCRATCH_BARS]);
    topk->held = (HK_GLOBAL hk_i64 *)(scratch + select->scratch_at[HK_SCRATCH_HELD]);
    topk->columns = (HK_GLOBAL float *)(scratch + select->scratch_at[HK_SCRATCH_COLUMNS]);
    topk->chosen = (HK_GLOBAL hk_i64 *)hk_common(call) +
                   number * strip->run * select->parts * select->count;
}

/* Row `column` of the strip in q or y. */
HK_FN HK_GLOBAL char *hk_topk_row(const struct hk_topk *topk, hk_u32 array, hk_i64 column)
{
    const hk_i64 at = topk->first + column, rows = topk->select->strip.rows;
    const struct hk_rows of = hk_rows_get(topk->call, array, topk->b, topk->head + at / rows);

    return of.base ? of.base + at % rows * of.row : of.base;
}

/* What a row of the strip chooses from n keys. */
HK_FN void hk_topk_write(const struct hk_topk *topk, hk_i64 column, HK_GLOBAL const hk_i64 *keys,
                         hk_i64 n)
{
    const hk_i64 count = topk->select->count;
    struct hk_indices y;

    y.base = (HK_GLOBAL hk_i32 *)hk_topk_row(topk, HK_SELECT_Y, column);
    y.step = topk->call->arrays[HK_SELECT_Y].stride[5];
    hk_keys_write(keys, n, hk_keys_least(keys, n, count), &y, count);
}

#endif
