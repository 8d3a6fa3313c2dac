/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tasks: which query rows of which item a strip takes.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_TASKS_H
#define HEED_BACKENDS_KERNELS_ATTN_TASKS_H

#include "call.h"
#include "strips.h"

/* What a task is: some query rows of one item, all heads of one group. */
struct hk_task {
    hk_i64 b, group;                    /* b: the first item, if some share the strip */
    hk_i64 first, step, count;          /* rows first + step * i; of a list: entries */
    hk_i64 begin, len, origin;          /* of the item's rows */
    hk_i64 o_begin;                     /* of its rows in o and lse */
    hk_i64 bound;                       /* rows that the item has in memory */
    hk_i64 row_list;                   /* -1, or the source whose list the rows come from */
};

/* Which strip, item and group of heads task number `task` is: the last strips come first, for under
 * causality they are the longest. */
struct hk_task_place {
    hk_i64 strip, b, group, row_list;
};

HK_FN void hk_task_find(const struct hk_call *call, hk_i64 task, struct hk_task_place *out)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const hk_i64 strips = plan->tasks - plan->list_tasks;
    const hk_u32 per_item = (hk_u32)plan->batch_strips,
                 per_group = per_item * (hk_u32)plan->item_groups; /* no more than tasks */
    hk_u32 parts, groups, s;
    hk_i64 n;

    out->row_list = -1;
    if (HK_ONE_RANGE || task < strips) {
        const hk_u32 at = per_group - 1 - (hk_u32)task % per_group;

        out->group = (hk_u32)task / per_group;
        out->b = at / per_item * (plan->flags & HK_PLAN_LEADS ? 1 : (hk_u32)plan->items);
        out->strip = at % per_item;
        return;
    }
    task -= strips;
    for (s = 0; s < plan->n_sources; s++) {
        n = call->sources[s].row_parts * plan->groups * plan->n_batch;
        if (task < n)
            break;
        task -= n;
    }
    parts = (hk_u32)call->sources[s].row_parts;
    groups = (hk_u32)plan->groups;
    out->row_list = s;
    out->strip = (hk_u32)task % parts;
    out->group = (hk_u32)task / parts % groups;
    out->b = (hk_u32)task / parts / groups;
}

#if HK_IN_REGISTERS && !HK_ONE_RANGE
/* Strip `strip` of the item and group that have number `at`. */
HK_FN hk_u32 hk_task_number(HK_GLOBAL const struct hk_plan *plan, hk_u32 at, hk_u32 strip)
{
    const hk_u32 per_item = (hk_u32)plan->batch_strips, items = (hk_u32)plan->item_groups;

    return (at / items + 1) * per_item * items - 1 - (at % items * per_item + strip);
}

/* Of strips that are cut number i: those of row lists, then the ends of every item's strips. */
HK_FN hk_u32 hk_task_cut(const struct hk_call *call, hk_u32 i)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const hk_u32 lists = (hk_u32)plan->list_tasks, first = (hk_u32)plan->cut_first,
                 ends = first + (hk_u32)plan->cut_last;
    hk_u32 strip;

    if (i < lists)
        return (hk_u32)plan->tasks - lists + i;
    strip = (i - lists) % ends;
    return hk_task_number(plan, (i - lists) / ends,
                          strip < first ? strip : (hk_u32)plan->batch_strips - ends + strip);
}

/* What group number `at` takes: a task, and which part of a strip that is cut, of those number
 * `cut`; part -1: all of it. Long strips come first. */
struct hk_task_part {
    hk_u32 task, cut;
    hk_i32 part;
};

HK_FN void hk_task_part_find(const struct hk_call *call, hk_u32 at, struct hk_task_part *out)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const hk_u32 parts = (hk_u32)plan->parts, first = (hk_u32)plan->cut_first;
    hk_u32 rest, whole;

    out->task = at;
    out->cut = 0;
    out->part = -1;
    if (plan->cut_tasks == 0)
        return;
    if (at < (hk_u32)plan->cut_tasks * parts) {
        out->cut = at / parts;
        out->part = (hk_i32)(at % parts);
        out->task = hk_task_cut(call, out->cut);
        return;
    }
    rest = at - (hk_u32)plan->cut_tasks * parts;
    whole = (hk_u32)plan->batch_strips - first - (hk_u32)plan->cut_last;
    out->task = hk_task_number(plan, rest / whole, first + whole - 1 - rest % whole);
}
#endif

/* The task at a place. count 0: there is nothing to do. */
HK_FN void hk_task_open(const struct hk_call *call, const struct hk_task_place *at,
                        struct hk_task *out)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    struct hk_cut rows;

    rows = hk_rows_cut(call, at->b, &out->o_begin);
    out->row_list = at->row_list;
    out->group = at->group;
    out->b = at->b;
    out->first = 0;
    out->step = 1;
    out->count = 0;
    out->begin = rows.begin;
    out->len = rows.len;
    out->origin = hk_row_origin(call, at->b, rows.len);
    out->bound = plan->flags & HK_PLAN_PACKED ? rows.len : plan->n_q;
    if (HK_ONE_RANGE) {         /* rows in order, without gaps */
        out->first = at->strip * plan->strips.rows;
        out->count = hk_max(hk_min(out->bound - out->first, plan->strips.rows), 0);
    } else if (at->row_list < 0) {
        struct hk_strip_rows strip;

        if (out->bound <= 0)
            return;
        hk_strips_rows(plan->strips.rows, plan->strips.row_step, plan->strips.group, out->bound,
                       at->strip, &strip);
        out->first = strip.first;
        out->step = strip.step;
        out->count = strip.count;
    } else {
        const hk_i64 size =
            plan->strips.row_step > 1 || plan->strips.group > 0 ? 1 : plan->strips.rows;
        const hk_i64 n = hk_counts(call, at->b, (hk_u32)at->row_list)[1];

        out->first = at->strip * size;
        out->count = hk_max(hk_min(n - out->first, size), 0);
    }
}

#if !HK_IN_REGISTERS
HK_FN void hk_task_get(const struct hk_call *call, hk_i64 task, struct hk_task *out)
{
    struct hk_task_place at;

    hk_task_find(call, task, &at);
    hk_task_open(call, &at, out);
}
#endif

/* ---- chunks ---- */

/* Number of a sub-source's chunk 0, and how many an item of len keys has. */
struct hk_chunks {
    hk_i64 first, count;
};

HK_FN struct hk_chunks hk_chunks_get(const struct hk_call *call,
                                     HK_GLOBAL const struct hk_source *source, hk_u32 i, hk_i64 len)
{
    HK_GLOBAL const struct hk_sub_slots *slots =
        (HK_GLOBAL const struct hk_sub_slots *)(call->blob + call->plan->slots_at) +
        source->first_sub + i;
    struct hk_chunks out;

    out.first = slots->first_chunk;
    out.count = source->heads == 0 || len == 0
                    ? 0
                    : hk_chunks_of(hk_subs(call, source) + i, slots->list.shape[2], len);
    return out;
}

/* ---- rows ---- */

/* A query row. */
struct hk_query {
    hk_i64 index, head, q;
    hk_u32 all;                 /* bit s: named by a GLOBAL ROWS term of source s */
    hk_u32 absent;              /* 1: beyond the item's length, sees nothing */
};

/* Row i of the task, for the first head of its group; 0: it belongs to another task. Rows named by
 * an earlier list, or by any when the task is of no list, do. */
HK_FN int hk_query_get(const struct hk_call *call, HK_TASK_SPACE const struct hk_task *task,
                       hk_i64 i, struct hk_query *out)
{
    hk_i64 index = task->first + task->step * i;
    hk_u32 by_list;

    if (!HK_ONE_RANGE && task->row_list >= 0) {
        HK_GLOBAL const struct hk_aux *list = &call->sources[task->row_list].rows;

        index = hk_integer(HK_I32, hk_aux_of(call, list, task->b), index * list->stride[5]);
        if (index >= task->bound)
            return 0;
    }
    out->index = index;
    out->head = task->group * call->plan->strips.stack;
    out->q = hk_clamp(task->origin + index * call->plan->q_pos_step);
    out->absent = index >= task->len ? 1 : 0;
    if (HK_ONE_RANGE) {         /* no GLOBAL rows */
        out->all = 0;
        return 1;
    }
    out->all = hk_row_all(call, task->b, index, &by_list);
    if (task->row_list < 0)
        return by_list == 0;
    return (by_list & ((1u << task->row_list) - 1)) == 0;
}

#endif
