/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/pool.h, select by norms. A task is a strip of blocks of one item and head: first the keys of
 * all of its tokens, then a choice from those of each block.
 */
#define HK_SCALES 0 /* numbers alone */
#define HK_BATCH 1
#include "choice.h"
#include "tokens.h"
#include "batch.h"

struct hk_norms {
    HK_GLOBAL const struct hk_select *select;
    struct hk_strip_task strip;
    hk_i64 first, end;                  /* tokens of the strip */
    HK_GLOBAL hk_i64 *keys;             /* of each, from `first` on */
    HK_GLOBAL float *partials;          /* lanes: [2][HK_SELECT_NORMS][HK_PARTIALS] */
    struct hk_indices y;
};

HK_FN void hk_norm_open(const struct hk_call *call, hk_i64 group, hk_i64 task,
                        struct hk_norms *norm)
{
    HK_GLOBAL const struct hk_select *select = HK_NUMBERS(call, struct hk_select);
    const struct hk_strip_task strip = hk_strip_get(&select->strip, task);
    const struct hk_entries y = hk_entries_get(call, HK_SELECT_Y, strip.b, strip.head);
    HK_GLOBAL char *scratch = hk_scratch(call, group);

    norm->select = select;
    norm->strip = strip;
    norm->first = strip.first * select->room;
    norm->end = hk_min((strip.first + strip.count) * select->room, select->n);
    norm->keys = (HK_GLOBAL hk_i64 *)(scratch + select->scratch_at[HK_SCRATCH_KEYS]);
    norm->partials = (HK_GLOBAL float *)(scratch + select->scratch_at[HK_SCRATCH_PRODUCTS]);
    norm->y.base = (HK_GLOBAL hk_i32 *)y.base;
    norm->y.step = y.step;
}

/* Keys of block i of the strip in scratch: those that are chosen, in order. */
HK_FN void hk_norm_block(const struct hk_norms *norm, hk_i64 i)
{
    HK_GLOBAL const struct hk_select *select = norm->select;
    const hk_i64 block = norm->strip.first + i;
    HK_GLOBAL const hk_i64 *keys = norm->keys + i * select->room;
    const hk_i64 n = hk_min(select->room, norm->end - block * select->room);
    struct hk_indices y = norm->y;

    if (n <= 0)                         /* there is no block: a strip of pads */
        return;
    y.base += (select->pad_front + block * select->count) * y.step;
    hk_keys_write(keys, n, hk_keys_least(keys, n, select->count), &y, select->count);
}

/* n places of y from `place` on. */
HK_FN void hk_norm_pad(const struct hk_norms *norm, hk_i64 place, hk_i64 n)
{
    HK_THREAD_ID(id);
    hk_i64 i;

    HK_EACH(id)
    {
        for (i = id; i < n; i += HK_THREADS)
            norm->y.base[(place + i) * norm->y.step] = -1;
    }
}

/* The last strip ends with the blocks, or with none where there are no tokens. */
HK_FN void hk_norm_pads(const struct hk_norms *norm)
{
    HK_GLOBAL const struct hk_select *select = norm->select;
    const hk_i64 end = norm->strip.first + norm->strip.count;
    const hk_i64 blocks = select->n > 0 ? select->strip.rows : 0;

    if (norm->strip.first == 0)
        hk_norm_pad(norm, 0, select->pad_front);
    if (end == select->strip.rows)
        hk_norm_pad(norm, select->pad_front + blocks * select->count, select->pad_back);
}

#if HK_THREADS == 1
#include "select_norm_strip.h"
#else
#include "select_norm_group.h"
#endif

#include "../entry.h"
