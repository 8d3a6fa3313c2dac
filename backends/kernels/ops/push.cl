/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/memory.h, push. The first launch moves rows: a task is a strip of the rows of x of one item
 * and head. The memory and x are one sequence, of which the rows before `fallen` fall out. A row of
 * x that falls out goes to `out`. One that stays takes a place of the memory; what that place held
 * goes to `out` first, for it is what falls out: the places g and g + C are the same. So each place
 * is one task's, and no task waits for another. Rows of bytes do not come out. The second launch,
 * item by item, sets the head and the lengths, when all rows are where they belong.
 */
#define HK_BATCH 2
#include "operation.h"
#include "../layouts.h"
#include "moves.h"
#include "quantise.h"

/* What an item's memory was, and what is to become of it. */
struct hk_push_item {
    hk_i64 oldest, len;                 /* of the memory, as it was */
    hk_i64 all;                         /* rows of the sequence */
    hk_i64 fallen;                      /* of them, those that fall out */
};

HK_FN struct hk_push_item hk_push_open(const struct hk_call *call,
                                       HK_GLOBAL const struct hk_push *numbers, hk_i64 b)
{
    struct hk_push_item item;

    item.oldest = hk_value(call, HK_PUSH_HEAD, b);
    if (item.oldest < 0 || item.oldest >= numbers->capacity)
        item.oldest = 0;
    item.len = hk_length(call, HK_PUSH_LEN, b, numbers->capacity);
    item.all = item.len + hk_length(call, HK_PUSH_X_LEN, b, numbers->strip.rows);
    item.fallen = hk_max(item.all - numbers->capacity, 0);
    return item;
}

#if HK_PASS == 0

/* Row i of x stays: rows of x from i on, *run at most, into the memory. */
HK_FN void hk_push_stay(HK_GLOBAL const struct hk_push *numbers, const struct hk_push_item *item,
                        const struct hk_rows *rows, const struct hk_rows *x,
                        const struct hk_rows *out, hk_i64 i, hk_i64 *run)
{
    const hk_i64 capacity = numbers->capacity;
    const hk_i64 before = (item->len + i) % capacity;       /* the place's row of the old memory */
    const hk_i64 place = hk_ring_row(item->oldest, capacity, before);
    HK_GLOBAL const char *from = hk_row(x, i);
    HK_GLOBAL char *to = hk_row(rows, place);

    *run = hk_min(*run, capacity - hk_max(place, before));
    if (before < item->len)
        *run = hk_min(*run, item->len - before);
    if (before < item->len && out->dtype)
        hk_rows_shift(x, from, rows, to, out, hk_row(out, before), *run, numbers->d);
    else
        hk_rows_move(x, from, rows, to, *run, numbers->d);
}

/* Rows first .. end - 1 of x, which stay, into a memory of bytes; on GPUs a step of them. (Not
 * inlined: what moves bits has the registers to itself.) */
HK_NOINLINE void hk_push_bytes(const struct hk_call *call, const struct hk_push_item *item,
                               const struct hk_strip_task *strip, hk_i64 first, hk_i64 end,
                               hk_i64 step, HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_push *numbers = HK_NUMBERS(call, struct hk_push);
    const struct hk_rows x = hk_rows_get(call, HK_PUSH_X, strip->b, strip->head);
    const hk_i64 d = numbers->d, capacity = numbers->capacity;
    struct hk_byte_rows to;
    hk_i64 i;

    to.y = hk_rows_get(call, HK_PUSH_ROWS, strip->b, strip->head);
    to.scale = hk_entries_get(call, HK_PUSH_ROWS_SCALE, strip->b, strip->head);
    to.scale_dtype = call->arrays[HK_PUSH_ROWS_SCALE].dtype;
#if HK_THREADS == 1
    (void)step;
    (void)shared;
    for (i = first; i < end; i++) {
        const hk_i64 place =
            hk_ring_row(item->oldest, capacity, (item->len + i) % capacity);

        hk_row_quantise(&x, hk_row(&x, i), &to, hk_row(&to.y, place),
                        hk_byte_scale_at(&to, place), d);
    }
#else
    {
        const struct hk_batch batch = hk_batch_get(step, first, end);
        HK_THREAD_ID(id);

        if (HK_IN_BLOCKS(to.y.dtype)) {
            for (i = first; i < end; i++) {
                const hk_i64 place =
                    hk_ring_row(item->oldest, capacity, (item->len + i) % capacity);

                HK_EACH(id)
                    hk_blocks_quantise(&x, hk_row(&x, i), to.y.dtype, hk_row(&to.y, place), id,
                                       HK_THREADS, d);
            }
            return;
        }
        if (!batch.write) {
            HK_BATCH_ROWS(id, i, batch.count)
                hk_part_look(&x, hk_row(&x, batch.first + i), d, i, id, shared);
            return;
        }
        for (i = 0; i < batch.count; i++) {
            const hk_i64 g = item->len + batch.first + i;
            const hk_i64 place = hk_ring_row(item->oldest, capacity, g % capacity);

            hk_row_write(x.dtype, hk_row(&x, batch.first + i), x.channel, &to,
                         hk_row(&to.y, place), hk_byte_scale_at(&to, place), d,
                         hk_batch_most(shared, i));
        }
    }
#endif
}

/* Are rows quantised? */
HK_FN int hk_push_narrows(const struct hk_call *call)
{
    return hk_quantises(call->arrays[HK_PUSH_X].dtype, call->arrays[HK_PUSH_ROWS].dtype,
                        call->arrays[HK_PUSH_ROWS_SCALE].dtype);
}

HK_FN void hk_push_task(const struct hk_call *call, hk_i64 task, hk_i64 step,
                        HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_push *numbers = HK_NUMBERS(call, struct hk_push);
    const struct hk_strip_task strip = hk_strip_get(&numbers->strip, task);
    const struct hk_push_item item = hk_push_open(call, numbers, strip.b);
    const struct hk_rows rows = hk_rows_get(call, HK_PUSH_ROWS, strip.b, strip.head);
    const struct hk_rows x = hk_rows_get(call, HK_PUSH_X, strip.b, strip.head);
    const struct hk_rows out = hk_rows_get(call, HK_PUSH_OUT, strip.b, strip.head);
    const hk_i64 end = strip.first + strip.count, stay = hk_max(item.fallen - item.len, 0);
    hk_i64 i, run;

    if (hk_push_narrows(call)) {
        hk_push_bytes(call, &item, &strip, hk_max(strip.first, stay),
                      hk_min(end, item.all - item.len), step, shared);
        return;
    }
    if (numbers->d == 0) /* rows without elements may have no address */
        return;
    i = hk_max(strip.first, item.fallen);
    if (out.dtype && i < end)
        hk_rows_zero(&out, hk_row(&out, i), end - i, numbers->d);
    run = hk_min(end, stay) - strip.first;
    if (out.dtype && run > 0)
        hk_rows_move(&x, hk_row(&x, strip.first), &out, hk_row(&out, item.len + strip.first), run,
                     numbers->d);
    for (i = hk_max(strip.first, stay); i < hk_min(end, item.all - item.len); i += run) {
        run = hk_min(end, item.all - item.len) - i;
        hk_push_stay(numbers, &item, &rows, &x, &out, i, &run);
    }
}

#else

HK_FN void hk_push_task(const struct hk_call *call, hk_i64 b, hk_i64 step,
                        HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_push *numbers = HK_NUMBERS(call, struct hk_push);
    HK_THREAD_ID(id);

    (void)step;
    (void)shared;

    HK_EACH(id) {
        if (id == 0) {
            const struct hk_push_item item = hk_push_open(call, numbers, b);
            const hk_i64 capacity = numbers->capacity;

            *(HK_GLOBAL hk_i64 *)hk_item(call, HK_PUSH_HEAD, b) =
                capacity > 0 ? (item.oldest + item.fallen) % capacity : 0;
            *(HK_GLOBAL hk_i64 *)hk_item(call, HK_PUSH_LEN, b) = hk_min(item.all, capacity);
            if (hk_has(call, HK_PUSH_OUT_LEN))
                *(HK_GLOBAL hk_i64 *)hk_item(call, HK_PUSH_OUT_LEN, b) = item.fallen;
        }
    }
}

#endif

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
#if HK_THREADS == 1 || HK_PASS == 1
    hk_i64 task;

    HK_TASKS(call, group, task)
        hk_push_task(call, task, 0, shared);
#else
    const hk_i64 steps = hk_byte_steps(hk_push_narrows(call), call->arrays[HK_PUSH_ROWS].dtype,
                                       HK_NUMBERS(call, struct hk_push)->strip.run);
    struct hk_steps at;

    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        hk_push_task(call, at.task, at.step, shared);
        HK_BARRIER();
        at = hk_steps_next(call, at, steps);
    }
#endif
}

#include "../entry.h"
