/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/memory.h, copy: y[to(i)] = x[from(i)]. A task is a strip of the i of one item and head. Rows
 * that follow each other in x and in y are moved at once. Rows of bytes are quantised one by one.
 */
#define HK_BATCH 4
#include "channels.h"
#include "../layouts.h"
#include "moves.h"
#include "quantise.h"

#define HK_AHEAD 512            /* bytes: rows of a list are far apart, and asked for early */

struct hk_copy_item {
    struct hk_rows x, y;                /* y of pages: of page 0 */
    struct hk_entries from, to, scale;
    struct hk_layout layout;            /* of y */
    hk_i64 at;
    hk_i64 n;                           /* how many i there are */
    hk_u32 has_from, has_to;
};

/* Is there anything to be written? */
HK_FN int hk_copy_open(const struct hk_call *call, HK_GLOBAL const struct hk_copy *numbers,
                       hk_i64 b, hk_i64 head, struct hk_copy_item *item)
{
    const struct hk_entries table = hk_entries_get(call, HK_COPY_TABLE, b, 0);
    const hk_i64 item_y = hk_has(call, HK_COPY_TABLE) ? 0 : b;

    item->has_from = (hk_u32)hk_has(call, HK_COPY_FROM);
    item->has_to = (hk_u32)hk_has(call, HK_COPY_TO);
    item->n = hk_length(call, HK_COPY_LEN, b, numbers->strip.rows);
    item->at = hk_has(call, HK_COPY_AT) ? hk_clamp(hk_value(call, HK_COPY_AT, b)) : 0;
    item->layout.kind = numbers->layout;
    item->layout.gaps = 0;
    item->layout.rows = numbers->y_rows;
    item->layout.shift = -1;
    item->layout.pages = numbers->n_pages;
    item->layout.table = (HK_GLOBAL const hk_i32 *)table.base;
    item->layout.table_stride = table.step;
    item->layout.first = hk_has(call, HK_COPY_HEAD) ? hk_value(call, HK_COPY_HEAD, b) : 0;
    item->x = hk_rows_get(call, HK_COPY_X, b, head);
    item->y = hk_rows_get(call, HK_COPY_Y, item_y, head);
    item->y.past = (hk_u64)call->op->n_batch * (hk_u64)numbers->strip.heads *
                       (hk_u64)numbers->strip.rows *
                       (hk_u64)hk_channel_bytes(item->y.dtype, numbers->d) >=
                   HK_FAR;
    item->from = hk_entries_get(call, HK_COPY_FROM, b, head);
    item->to = hk_entries_get(call, HK_COPY_TO, b, head);
    item->scale = hk_entries_get(call, HK_COPY_Y_SCALE, item_y, head);
    return !numbers->endless || (item->layout.first >= 0 && item->layout.first < numbers->y_rows);
}

/* A row of y. */
struct hk_copy_place {
    hk_i64 page, row;
};

/* Where row t goes; 0: nowhere. *run, at least 1: cut to the rows that follow it there. */
HK_FN int hk_copy_find(HK_GLOBAL const struct hk_copy *numbers, const struct hk_copy_item *item,
                       hk_i64 t, hk_i64 *run, struct hk_copy_place *place)
{
    const hk_i64 bound = numbers->bound;

    if (numbers->endless && t >= bound)
        t -= t < 2 * bound ? bound : t / bound * bound;
    if (t < 0 || t >= bound) {
        *run = 1;
        return 0;
    }
    *run = hk_min(hk_min(*run, bound - t), hk_rows_run(&item->layout, t));
    return hk_row_find(&item->layout, t, &place->page, &place->row);
}

/* `run` rows that follow each other, from x on to y on. */
HK_FN void hk_copy_rows(const struct hk_copy_item *item, HK_GLOBAL const char *x,
                        HK_GLOBAL char *y, hk_i64 run, hk_i64 d)
{
    if (item->x.dtype == item->y.dtype) {
        hk_rows_move(&item->x, x, &item->y, y, run, d);
        return;
    }
#define HK_FROM(type)                                                                              \
    hk_row_convert(type, x, item->x.channel, item->y.dtype, y, item->y.channel, d)
    for (; run > 0; run--, x += item->x.row, y += item->y.row)
        HK_BY(HK_MOVED_TYPES, item->x.dtype, HK_FROM);
#undef HK_FROM
}

/* The source of i, or -1; *run: cut to those whose sources follow. */
HK_FN hk_i64 hk_copy_source(HK_GLOBAL const struct hk_copy *numbers,
                            const struct hk_copy_item *item, hk_i64 i, hk_i64 *run)
{
    const hk_i64 row = item->has_from ? hk_entry_i32(&item->from, i) : i;

    if (item->has_from || row >= numbers->x_rows)
        *run = 1;
    else
        *run = hk_min(*run, numbers->x_rows - row);
    return row < numbers->x_rows ? row : -1;
}

/* Where row i of bytes comes from (negative: it is one of zeros) and goes to. */
struct hk_copy_row {
    hk_i64 source;
    HK_GLOBAL char *y, *scale;
};

/* 0: it is not written. */
HK_FN int hk_copy_row_get(const struct hk_call *call, HK_GLOBAL const struct hk_copy *numbers,
                          const struct hk_copy_item *item, const struct hk_byte_rows *to, hk_i64 i,
                          struct hk_copy_row *row)
{
    const hk_i64 t = item->has_to ? hk_entry_i32(&item->to, i) : item->at + i;
    struct hk_copy_place place;
    hk_i64 run = 1;

    row->source = hk_copy_source(numbers, item, i, &run);
    if ((row->source < 0 && !numbers->zero) || !hk_copy_find(numbers, item, t, &run, &place))
        return 0;
    row->y = hk_along(call, HK_COPY_Y, 2, hk_row(&to->y, place.row), place.page);
    row->scale =
        hk_along(call, HK_COPY_Y_SCALE, 3, hk_byte_scale_at(to, place.row), place.page);
    return 1;
}

#if HK_THREADS > 1
/* Rows first .. end - 1 into blocks, each by one thread. */
HK_FN void hk_copy_blocks(const struct hk_call *call, const struct hk_copy_item *item,
                          const struct hk_byte_rows *to, hk_i64 first, hk_i64 end)
{
    HK_GLOBAL const struct hk_copy *numbers = HK_NUMBERS(call, struct hk_copy);
    struct hk_copy_row row;
    HK_THREAD_ID(id);
    hk_i64 i;

    for (i = first; i < end; i++) {
        if (!hk_copy_row_get(call, numbers, item, to, i, &row))
            continue;
        if (row.source < 0)
            hk_row_clear(to, row.y, row.scale, numbers->d);
        else
            HK_EACH(id)
                hk_blocks_quantise(&item->x, hk_row(&item->x, row.source), to->y.dtype, row.y, id,
                                   HK_THREADS, numbers->d);
    }
}
#endif

/* Rows first .. end - 1 into bytes; on GPUs a step of them. (Not inlined: what moves bits has the
 * registers to itself.) */
HK_NOINLINE void hk_copy_bytes(const struct hk_call *call, const struct hk_copy_item *item,
                               hk_i64 first, hk_i64 end, hk_i64 step,
                               HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_copy *numbers = HK_NUMBERS(call, struct hk_copy);
    const hk_i64 d = numbers->d;
    struct hk_byte_rows to;
    struct hk_copy_row row;
    hk_i64 i;

    to.y = item->y;
    to.scale = item->scale;
    to.scale_dtype = call->arrays[HK_COPY_Y_SCALE].dtype;
#if HK_THREADS == 1
    (void)step;
    (void)shared;
    for (i = first; i < end; i++) {
        if (!hk_copy_row_get(call, numbers, item, &to, i, &row))
            continue;
        if (row.source < 0)
            hk_row_clear(&to, row.y, row.scale, d);
        else
            hk_row_quantise(&item->x, hk_row(&item->x, row.source), &to, row.y, row.scale, d);
    }
#else
    {
        const struct hk_batch batch = hk_batch_get(step, first, end);
        HK_THREAD_ID(id);

        if (HK_IN_BLOCKS(to.y.dtype)) {
            hk_copy_blocks(call, item, &to, first, end);
            return;
        }
        if (!batch.write) {
            HK_BATCH_ROWS(id, i, batch.count) {
                if (hk_copy_row_get(call, numbers, item, &to, batch.first + i, &row) &&
                    row.source >= 0)
                    hk_part_look(&item->x, hk_row(&item->x, row.source), d, i, id, shared);
            }
            return;
        }
        for (i = 0; i < batch.count; i++) {
            if (!hk_copy_row_get(call, numbers, item, &to, batch.first + i, &row))
                continue;
            if (row.source < 0)
                hk_row_clear(&to, row.y, row.scale, d);
            else
                hk_row_write(item->x.dtype, hk_row(&item->x, row.source), item->x.channel, &to,
                             row.y, row.scale, d, hk_batch_most(shared, i));
        }
    }
#endif
}

/* A row, or its beginning, comes sooner when it is asked for. (Always inlined: a compiler may take
 * a function that only asks for one that does nothing.) */
HK_INLINE void hk_copy_ask(HK_GLOBAL const char *row, hk_i64 bytes)
{
    hk_i64 at;

    for (at = 0; at < bytes; at += 64)
        HK_PREFETCH_NEAR(row + at);
}

/* Rows that a list names, to or from a plain y, bits as they are: the common gather and scatter.
 * size, d, past: constants for the commonest rows, which then need no loop. */
HK_INLINE void hk_copy_listed(HK_GLOBAL const struct hk_copy *numbers,
                              const struct hk_copy_item *item, hk_i64 i, hk_i64 end, hk_i64 size,
                              hk_i64 d, hk_u32 past)
{
    const struct hk_rows x = item->x, y = item->y;
    const struct hk_entries from = item->from, to = item->to;
    const hk_i64 x_rows = numbers->x_rows, y_rows = numbers->y_rows;
    const hk_i64 ahead = hk_max(HK_AHEAD / (d * size), 1), bytes = hk_min(d * size, HK_AHEAD);
    const hk_u32 has_from = item->has_from, has_to = item->has_to, zero = numbers->zero;
    const hk_i64 at = item->at;

    for (; i < end; i++) {
        const hk_i64 row = has_from ? hk_entry_i32(&from, i) : i;
        const hk_i64 t = has_to ? hk_entry_i32(&to, i) : at + i;
        const hk_i64 soon = hk_min(i + ahead, end - 1);
        const hk_i64 next = has_from ? hk_entry_i32(&from, soon) : -1;

        if (next >= 0 && next < x_rows)
            hk_copy_ask(hk_row(&x, next), bytes);
        if (t < 0 || t >= y_rows)
            continue;
        if (row >= 0 && row < x_rows)
            hk_run_move(size, hk_row(&x, row), hk_row(&y, t), d, past);
        else if (zero)
            hk_row_zero(size, hk_row(&y, t), 1, d);
    }
}

#if HK_THREADS > 1
/* The same in units of 16 bytes, so many a row, of as many rows as there are threads for. */
HK_FN void hk_copy_units(HK_GLOBAL const struct hk_copy *numbers, const struct hk_copy_item *item,
                         hk_i64 first, hk_i64 end, hk_i64 units)
{
    const struct hk_rows x = item->x, y = item->y;
    const struct hk_entries from = item->from, to = item->to;
    const hk_i64 x_rows = numbers->x_rows, y_rows = numbers->y_rows, at = item->at;
    const hk_u32 has_from = item->has_from, has_to = item->has_to, zero = numbers->zero;
    HK_THREAD_ID(id);
    int k;

    HK_EACH(id)
    {
        struct hk_walk walk = hk_walk_begin(id, end - first, units);
        struct hk_piece unit[HK_BATCH];
        hk_i64 row[HK_BATCH], t[HK_BATCH];

        while (hk_walk_next(&walk)) {
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++) {
                const hk_i64 i = first + walk.at[k].row;

                row[k] = has_from ? hk_entry_i32(&from, i) : i;
                t[k] = has_to ? hk_entry_i32(&to, i) : at + i;
            }
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++) {
                unit[k].word[0] = unit[k].word[1] = unit[k].word[2] = unit[k].word[3] = 0;
                if (row[k] >= 0 && row[k] < x_rows)
                    hk_load_words(
                        x.base + row[k] * x.row + (hk_i64)walk.at[k].unit * HK_UNIT_BYTES, 4,
                        unit[k].word);
                else if (!zero)
                    t[k] = -1;
            }
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++)
                if (walk.there[k] && t[k] >= 0 && t[k] < y_rows)
                    hk_store_words(
                        y.base + t[k] * y.row + (hk_i64)walk.at[k].unit * HK_UNIT_BYTES, 4,
                        unit[k].word);
        }
    }
}
#endif

HK_FN void hk_copy_lists(HK_GLOBAL const struct hk_copy *numbers,
                         const struct hk_copy_item *item, hk_i64 i, hk_i64 end)
{
    const hk_i64 size = hk_piece_size(item->x.dtype), d = hk_pieces(item->x.dtype, numbers->d);

#if HK_THREADS == 1 && HKV_LANES > 1
    if (size == 4 && d == 64) {
        if (item->y.past)
            hk_copy_listed(numbers, item, i, end, 4, 64, 1);
        else
            hk_copy_listed(numbers, item, i, end, 4, 64, 0);
        return;
    }
#endif
#if HK_THREADS > 1
    if (hk_units_fit(hk_address(item->x.base) | hk_address(item->y.base) |
                         (hk_u64)(item->x.row | item->y.row),
                     end - i, d * size)) {
        hk_copy_units(numbers, item, i, end, d * size / HK_UNIT_BYTES);
        return;
    }
#endif
    hk_copy_listed(numbers, item, i, end, size, d, item->y.past);
}

/* Are rows quantised? */
HK_FN int hk_copy_narrows(const struct hk_call *call)
{
    return hk_quantises(call->arrays[HK_COPY_X].dtype, call->arrays[HK_COPY_Y].dtype,
                        call->arrays[HK_COPY_Y_SCALE].dtype);
}

HK_FN void hk_copy_task(const struct hk_call *call, hk_i64 task, hk_i64 step,
                        HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_copy *numbers = HK_NUMBERS(call, struct hk_copy);
    const struct hk_strip_task strip = hk_strip_get(&numbers->strip, task);
    const hk_i64 d = numbers->d;
    struct hk_copy_item item;
    struct hk_copy_place place;
    hk_i64 i, end, run;

    if (!hk_copy_open(call, numbers, strip.b, strip.head, &item))
        return;
    end = hk_min(strip.first + strip.count, item.n);
    if (hk_copy_narrows(call)) { /* a row without channels has a scale all the same */
        hk_copy_bytes(call, &item, strip.first, end, step, shared);
        return;
    }
    if (d == 0)
        return;
    if ((item.has_from || item.has_to) && item.layout.kind == HK_LAYOUT_EVEN &&
        item.x.dtype == item.y.dtype && item.x.channel == 1 && item.y.channel == 1 &&
        !(HK_IN_BLOCKS(item.y.dtype) && numbers->zero)) {
        hk_copy_lists(numbers, &item, strip.first, end);
        return;
    }
    for (i = strip.first; i < end; i += run) {
        HK_GLOBAL char *y;
        hk_i64 source;

        run = item.has_to ? 1 : end - i;
        source = hk_copy_source(numbers, &item, i, &run);
        if (!hk_copy_find(numbers, &item, item.has_to ? hk_entry_i32(&item.to, i) : item.at + i,
                          &run, &place))
            continue;
        y = hk_along(call, HK_COPY_Y, 2, hk_row(&item.y, place.row), place.page);
        if (source >= 0)
            hk_copy_rows(&item, hk_row(&item.x, source), y, run, d);
        else if (numbers->zero)
            hk_rows_zero(&item.y, y, 1, d);
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
#if HK_THREADS == 1
    hk_i64 task;

    HK_TASKS(call, group, task)
        hk_copy_task(call, task, 0, shared);
    hk_move_past_end();
#else
    const hk_i64 steps = hk_byte_steps(hk_copy_narrows(call), call->arrays[HK_COPY_Y].dtype,
                                       HK_NUMBERS(call, struct hk_copy)->strip.run);
    struct hk_steps at;

    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        hk_copy_task(call, at.task, at.step, shared);
        HK_BARRIER();
        at = hk_steps_next(call, at, steps);
    }
#endif
}

#include "../entry.h"
