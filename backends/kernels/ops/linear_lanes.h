/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear for processors: register tiles of a few rows and a panel of outputs, a block of terms at a
 * time. Rows are read where they lie, or widened into the worker's scratch; the weights of a panel
 * are transposed there once for all rows of a task.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_LINEAR_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_LINEAR_LANES_H

#include "linear_few.h"

/* ---- many rows ---- */

/* A row that has no tap for some terms: it has sums of its own for vectors of the panel. */
HK_NOINLINE void hk_linear_row(const struct hk_linear_block *block, hk_i64 i,
                               const struct hk_linear_panel *panel, HK_GLOBAL float *sums)
{
    const struct hk_linear_span span = hk_linear_cut(block, i, block->first, block->end);
    HK_GLOBAL float *const chain = block->room->chain;
    hk_i64 o;

    if (span.first >= span.end)
        return;
    hk_linear_chain_zero(chain, 1);
    for (o = 0; o < panel->wide; o += HKV_LANES)
        hk_linear_more(block->room->x + i * HK_TERMS + span.first,
                       block->room->panel + span.first * HK_PANEL + o, HK_PANEL,
                       span.end - span.first, chain + o, 1, 1);
    hk_linear_chain_join(chain, sums, panel->wide);
}

/* Do the rows of x lie as tiles read them, and the block's terms side by side? */
HK_FN int hk_linear_in_place(const struct hk_linear_block *block)
{
    HK_GLOBAL const struct hk_linear *numbers = block->task->numbers;

    return block->task->x.dtype == HK_F32 && block->task->x.channel == 1 &&
           (numbers->taps == 1 || numbers->in % HK_TERMS == 0);
}

/* The rows of a block of many: those that are not read in place are widened. */
HK_FN void hk_linear_rows_find(struct hk_linear_block *block)
{
    const struct hk_linear_task *task = block->task;
    HK_GLOBAL const struct hk_linear *numbers = task->numbers;
    const hk_i64 count = task->strip.count;

    block->full = 0;
    while (block->full + HK_R <= count && !hk_linear_full(block, block->full, HK_R))
        block->full += HK_R;
    block->full_end = block->full + (count - block->full) / HK_R * HK_R;
    while (block->full_end > block->full &&
           !hk_linear_full(block, block->full_end - HK_R, HK_R))
        block->full_end -= HK_R;
    block->x = block->room->x + block->full * HK_TERMS;
    block->x_row = HK_TERMS;
    if (!hk_linear_in_place(block)) {
        hk_linear_rows_widen(task, 0, count, block->first, block->end, block->room->x);
        return;
    }
    if (block->full < block->full_end) {
        const struct hk_linear_run run = hk_linear_run_get(numbers, block->first, block->end);
        const hk_i64 row =
            (task->strip.first + block->full) * numbers->stride - numbers->before + run.tap;

        block->x = (HK_GLOBAL const float *)hk_row(&task->x, row) + run.channel;
        block->x_row = numbers->stride * task->x.row / (hk_i64)sizeof(float);
    }
    hk_linear_rows_widen(task, 0, block->full, block->first, block->end, block->room->x);
    hk_linear_rows_widen(task, block->full_end, count, block->first, block->end, block->room->x);
}

/* Has every one of many rows all terms, so that the sums of the first block are all that there is
 * then? Spans move on from row to row. */
HK_FN int hk_linear_zeroless(const struct hk_linear_task *task)
{
    const hk_i64 first = task->strip.first, last = first + task->strip.count - 1;

    return task->strip.count > HK_R && task->terms > 0 &&
           hk_linear_span_get(task->numbers, first).first == 0 &&
           hk_linear_span_get(task->numbers, last).end >= task->terms;
}

/* Tiles of rows from row i of the task on, which are read at x, with the panel. */
HK_FN void hk_linear_tiles(const struct hk_linear_block *block, HK_GLOBAL const float *x,
                           hk_i64 x_row, const struct hk_linear_panel *panel,
                           HK_GLOBAL float *sums, hk_i64 tiles)
{
    const hk_i64 n = block->end - block->first, pitch = block->task->numbers->lanes.width;
    const int begins = hk_linear_zeroless(block->task) && block->first == 0;
    HK_GLOBAL const float *const from = block->room->panel;

#if HKV_TILE > 1
    hk_i64 k;

    for (k = 0; panel->wide < HK_PANEL && k < panel->wide; k += HKV_LANES)
        hk_linear_tiles_one(x, x_row, from + k, n, sums + k, pitch, tiles, begins);
#endif
    if (panel->wide == HK_PANEL)
        hk_linear_tiles_whole(x, x_row, from, n, sums, pitch, tiles, begins);
}

/* Rows i to end of the task, a tile or a row at a time. */
HK_FN void hk_linear_edge(const struct hk_linear_block *block, hk_i64 i, hk_i64 end,
                          const struct hk_linear_panel *panel, HK_GLOBAL float *sums)
{
    const hk_i64 pitch = block->task->numbers->lanes.width;
    hk_i64 k;

    for (; i < end; i += HK_R) {
        const hk_i64 rows = hk_min(end - i, HK_R);

        if (hk_linear_full(block, i, rows))
            hk_linear_tiles(block, block->room->x + i * HK_TERMS, HK_TERMS, panel,
                            sums + i * pitch, 1);
        else
            for (k = i; k < i + rows; k++)
                hk_linear_row(block, k, panel, sums + k * pitch);
    }
}

/* Many rows with a panel of HK_PANEL outputs from output o of the task on. */
HK_FN void hk_linear_panel_many(const struct hk_linear_block *block, hk_i64 o)
{
    const struct hk_linear_task *task = block->task;
    HK_GLOBAL float *const sums = block->room->sums + o;
    struct hk_linear_panel panel;

    panel.first = task->at + o;
    panel.there = hk_min(task->outs - o, HK_PANEL);
    panel.wide = (panel.there + HKV_LANES - 1) / HKV_LANES * HKV_LANES;
    panel.pitch = HK_PANEL;
    hk_linear_pack(task, &panel, block->first, block->end, block->room->panel);
    hk_linear_edge(block, 0, block->full, &panel, sums);
    hk_linear_tiles(block, block->x, block->x_row, &panel,
                    sums + block->full * task->numbers->lanes.width,
                    (block->full_end - block->full) / HK_R);
    hk_linear_edge(block, block->full_end, task->strip.count, &panel, sums);
}

/* ---- tasks ---- */

/* Sums of nothing, to which the first block's is added without a rounding; the task's bias. */
HK_FN void hk_linear_begin(const struct hk_linear_task *task, const struct hk_linear_room *room)
{
    const hk_i64 all = (task->strip.count + HK_R - 1) / HK_R * HK_R * task->numbers->lanes.width;
    hk_i64 t;

    for (t = 0; t < all && !hk_linear_zeroless(task); t += HKV_LANES)
        hkv_store(room->sums + t, hkv_set(-0.0f));
    for (t = 0; task->bias && t < task->outs; t++)
        room->bias[t] = hk_element(task->bias_dtype, task->bias, (task->at + t) * task->bias_step);
}

/* Of a row: where its sums, its addend and its outputs lie. */
struct hk_linear_row_end {
    HK_GLOBAL const float *sums;
    HK_GLOBAL const char *add;
    HK_GLOBAL char *y;
};

/* The sum of outputs t .. of the task, with the bias and the addend. */
HK_INLINE hk_vec hk_linear_whole(const struct hk_linear_task *task,
                                 const struct hk_linear_room *room,
                                 const struct hk_linear_row_end *row, hk_i64 t)
{
    hk_vec s = hkv_load(row->sums + t);

    if (task->bias)
        s = hkv_add(s, hkv_load(room->bias + t));
    if (row->add)
        s = hkv_add(s, hk_channels_read(task->add.dtype, row->add, task->add.channel,
                                        task->at + t, task->at + task->outs));
    return s;
}

HK_INLINE void hk_linear_end(hk_u32 dtype, const struct hk_linear_task *task,
                             const struct hk_linear_room *room)
{
    const hk_i64 end = task->at + task->outs, channel = task->y.channel;
    hk_i64 i, t;

    for (i = 0; i < task->strip.count; i++) {
        struct hk_linear_row_end row;

        row.sums = room->sums + i * task->numbers->lanes.width;
        row.add = hk_row(&task->add, task->strip.first + i);
        row.y = hk_row(&task->y, task->strip.first + i);
        t = 0;
#ifdef HKV_WIDE
        for (; task->numbers->act != HK_ACT_NONE && t + HKW_LANES <= task->outs; t += HKW_LANES) {
            hk_wide s;
            int k;

            HK_UNROLL
            for (k = 0; k < HKV_WIDE; k++)
                s.v[k] = hkv_add(hk_linear_whole(task, room, &row, t + k * HKV_LANES),
                                 hkv_set(0.0f));
            s = hkw_activate(task->numbers->act, s);
            HK_UNROLL
            for (k = 0; k < HKV_WIDE; k++)
                hk_channels_write(dtype, row.y, channel, task->at + t + k * HKV_LANES, end, s.v[k]);
        }
#endif
        for (; t < task->outs; t += HKV_LANES)
            hk_channels_write(dtype, row.y, channel, task->at + t, end,
                              hk_linear_act(task, hk_linear_whole(task, room, &row, t)));
    }
}

HK_FN void hk_linear_task_run(const struct hk_linear_task *task, const struct hk_linear_room *room)
{
    struct hk_linear_block block;
    hk_i64 o;

    block.task = task;
    block.room = room;
    block.first = 0;
    block.end = task->terms;
    hk_linear_begin(task, room);
    if (hk_linear_directly(&block))
        block.first = task->terms;
    for (; block.first < task->terms; block.first = block.end) {
        block.end = hk_min(block.first + HK_TERMS, task->terms);
        if (task->strip.count <= HK_R) {
            hk_linear_rows_widen(task, 0, task->strip.count, block.first, block.end, room->x);
            if (hk_linear_block_directly(&block))
                continue;
            for (o = 0; o < task->outs; o += HK_WIDE)
                hk_linear_panel_few(&block, o);
        } else {
            hk_linear_rows_find(&block);
            for (o = 0; o < task->outs; o += HK_PANEL)
                hk_linear_panel_many(&block, o);
        }
    }
#define HK_END(type) hk_linear_end(type, task, room)
    HK_BY(HK_FLOAT_TYPES, task->y.dtype, HK_END);
#undef HK_END
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 at;

    HK_TASKS(call, group, at)
    {
        struct hk_linear_task task;
        struct hk_linear_room room;

        hk_linear_open(call, at, &task);
        hk_linear_room_get(call, group, task.numbers, &room);
        hk_linear_task_run(&task, &room);
    }
}

#endif
