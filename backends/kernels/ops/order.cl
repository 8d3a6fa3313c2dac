/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/pool.h, order: a stable counting sort (docs/numerics.md, section 17). A task is an item and
 * head. Each thread has a piece of its tokens, a processor all. Scratch, or of a work-group local
 * memory where there is room, holds counts [id][piece], id `count` for tokens without one, so that
 * the sum of the counts before an entry is the place of the piece's first token of that id. Four
 * steps, with a barrier behind each: counts, the sum of each thread's part of them, the places, the
 * tokens.
 */
#define HK_SCALES 0 /* no rows at all */
#include "operation.h"

#define HK_HAS_SHARED 1

enum { HK_ORDER_STEPS = 4 };

#if HK_THREADS == 1
#define HK_ORDER_LOCAL 0 /* counts in local memory */
#define HK_ORDER_BATCH 1 /* tokens whose ids are loaded at once */
#else
#define HK_ORDER_LOCAL (HK_GROUP_ROWS < 64 ? 4096 : 8192)
#define HK_ORDER_BATCH 8
#endif

struct hk_shared {
    hk_u32 sums[HK_THREADS], counts[HK_ORDER_LOCAL + 1];
};

/* Integers of an item and head; base NULL: there are none. */
struct hk_order_array {
    struct hk_entries entries;
    hk_u32 dtype;
};

struct hk_order_item {
    HK_GLOBAL hk_u32 *counts;
    struct hk_order_array ids, order, place, starts;
    hk_i64 n, len, count;
    hk_i64 pieces, piece; /* piece: tokens of one */
    hk_i64 entries, part; /* of counts; of a thread */
};

HK_FN struct hk_order_array hk_order_array_get(const struct hk_call *call, hk_u32 array,
                                               const struct hk_strip_task *strip)
{
    struct hk_order_array out;

    out.entries = hk_entries_get(call, array, strip->b, strip->head);
    out.dtype = call->arrays[array].dtype;
    if (!hk_has(call, array))
        out.entries.base = 0;
    return out;
}

HK_FN struct hk_order_item hk_order_open(const struct hk_call *call, hk_i64 group, hk_i64 task)
{
    HK_GLOBAL const struct hk_order *numbers = HK_NUMBERS(call, struct hk_order);
    const struct hk_strip_task strip = hk_strip_get(&numbers->strip, task);
    struct hk_order_item item;

    item.counts = (HK_GLOBAL hk_u32 *)hk_scratch(call, group);
    item.ids = hk_order_array_get(call, HK_ORDER_IDS, &strip);
    item.order = hk_order_array_get(call, HK_ORDER_ORDER, &strip);
    item.place = hk_order_array_get(call, HK_ORDER_PLACE, &strip);
    item.starts = hk_order_array_get(call, HK_ORDER_STARTS, &strip);
    item.n = numbers->n;
    item.len = hk_length(call, HK_ORDER_LEN, strip.b, numbers->n);
    item.count = numbers->count;
    item.pieces = HK_THREADS == 1 ? 1 : numbers->pieces;
    item.piece = (item.len + item.pieces - 1) / item.pieces;
    item.entries = (item.count + 1) * item.pieces;
    item.part = (item.entries + HK_THREADS - 1) / HK_THREADS;
    return item;
}

HK_FN void hk_order_put(const struct hk_order_array *to, hk_i64 i, hk_i64 value)
{
    if (!to->entries.base)
        return;
    if (to->dtype == HK_I32)
        ((HK_GLOBAL hk_i32 *)to->entries.base)[i * to->entries.step] = (hk_i32)value;
    else
        ((HK_GLOBAL hk_i64 *)to->entries.base)[i * to->entries.step] = value;
}

/* Where the counts are: near: a constant, 1: in local memory. */
HK_INLINE hk_u32 hk_order_get(const int near, const struct hk_order_item *item,
                              HK_LOCAL const struct hk_shared *shared, hk_i64 i)
{
    return near ? shared->counts[i] : item->counts[i];
}

HK_INLINE void hk_order_set(const int near, const struct hk_order_item *item,
                            HK_LOCAL struct hk_shared *shared, hk_i64 i, hk_u32 count)
{
    if (near)
        shared->counts[i] = count;
    else
        item->counts[i] = count;
}

/* The counts of some tokens' ids in their piece, from token i on; -1 from `end` on. */
HK_FN void hk_order_batch(const struct hk_order_item *item, hk_i64 i, hk_i64 end, hk_i64 piece,
                          hk_i64 *to)
{
    int j;

    HK_UNROLL
    for (j = 0; j < HK_ORDER_BATCH; j++) {
        to[j] = -1;
        if (i + j < end)
            to[j] = hk_integer(item->ids.dtype, item->ids.entries.base,
                               (i + j) * item->ids.entries.step);
    }
    HK_UNROLL
    for (j = 0; j < HK_ORDER_BATCH; j++) {
        const hk_i64 id = to[j] >= 0 && to[j] < item->count ? to[j] : item->count;

        to[j] = i + j < end ? id * item->pieces + piece : -1;
    }
}

/* ---- what a thread does in each step ---- */

HK_INLINE void hk_order_pieces_count(const int near, const struct hk_order_item *item, hk_i64 id,
                                     HK_LOCAL struct hk_shared *shared)
{
    const hk_i64 end = hk_min((id + 1) * item->piece, item->len);
    hk_i64 i;
    int j;

    if (id >= item->pieces)
        return;
    for (i = id; i < item->entries; i += item->pieces)
        hk_order_set(near, item, shared, i, 0);
    for (i = id * item->piece; i < end; i += HK_ORDER_BATCH) {
        hk_i64 at[HK_ORDER_BATCH];

        hk_order_batch(item, i, end, id, at);
        HK_UNROLL
        for (j = 0; j < HK_ORDER_BATCH; j++) {
            if (at[j] >= 0)
                hk_order_set(near, item, shared, at[j],
                             hk_order_get(near, item, shared, at[j]) + 1);
        }
    }
}

HK_INLINE hk_u32 hk_order_part_sum(const int near, const struct hk_order_item *item, hk_i64 id,
                                   HK_LOCAL const struct hk_shared *shared)
{
    const hk_i64 end = hk_min((id + 1) * item->part, item->entries);
    hk_u32 sum = 0;
    hk_i64 i;

    for (i = id * item->part; i < end; i++)
        sum += hk_order_get(near, item, shared, i);
    return sum;
}

HK_INLINE void hk_order_part_places(const int near, const struct hk_order_item *item, hk_i64 id,
                                    HK_LOCAL struct hk_shared *shared)
{
    const hk_i64 end = hk_min((id + 1) * item->part, item->entries);
    hk_u32 place = 0;
    hk_i64 i;

    for (i = 0; i < id; i++)
        place += shared->sums[i];
    for (i = id * item->part; i < end; i++) {
        const hk_u32 count = hk_order_get(near, item, shared, i);

        hk_order_set(near, item, shared, i, place);
        if (i % item->pieces == 0)
            hk_order_put(&item->starts, i / item->pieces, place);
        place += count;
    }
}

HK_INLINE void hk_order_pieces_place(const int near, const struct hk_order_item *item, hk_i64 id,
                                     HK_LOCAL struct hk_shared *shared)
{
    const hk_i64 end = hk_min((id + 1) * item->piece, item->len);
    hk_i64 i;
    int j;

    for (i = id * item->piece; i < end && id < item->pieces; i += HK_ORDER_BATCH) {
        hk_i64 at[HK_ORDER_BATCH];

        hk_order_batch(item, i, end, id, at);
        HK_UNROLL
        for (j = 0; j < HK_ORDER_BATCH; j++) {
            if (at[j] >= 0) {
                const hk_u32 place = hk_order_get(near, item, shared, at[j]);

                hk_order_set(near, item, shared, at[j], place + 1);
                hk_order_put(&item->order, place, i + j);
                hk_order_put(&item->place, i + j, place);
            }
        }
    }
    for (i = item->len + id; i < item->n; i += HK_THREADS) {
        hk_order_put(&item->order, i, -1);
        hk_order_put(&item->place, i, -1);
    }
}

HK_INLINE void hk_order_step(const int near, const struct hk_order_item *item, hk_i64 step,
                             hk_i64 id, HK_LOCAL struct hk_shared *shared)
{
    if (step == 0)
        hk_order_pieces_count(near, item, id, shared);
    else if (step == 1)
        shared->sums[id] = hk_order_part_sum(near, item, id, shared);
    else if (step == 2)
        hk_order_part_places(near, item, id, shared);
    else
        hk_order_pieces_place(near, item, id, shared);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    struct hk_steps at;

    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        const struct hk_order_item item = hk_order_open(call, group, at.task);
        HK_THREAD_ID(id);

        HK_EACH(id)
        {
            if (item.entries <= HK_ORDER_LOCAL)
                hk_order_step(1, &item, at.step, id, shared);
            else
                hk_order_step(0, &item, at.step, id, shared);
        }
        HK_BARRIER_ALL();
        at = hk_steps_next(call, at, HK_ORDER_STEPS);
    }
}

#include "../entry.h"
