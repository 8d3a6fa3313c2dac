/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * pool (heed/pool.h): which rows a batch item has, and which tokens each of them.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_POOL_H
#define HEED_BACKENDS_KERNELS_OPS_POOL_H

#include "channels.h"

/* What every row asks: on processors a call, as it is long. */
#if HK_THREADS == 1
#define HK_POOL_ASKED HK_NOINLINE
#else
#define HK_POOL_ASKED HK_FN
#endif

/* What a task finds: the arrays of one batch item and head. */
struct hk_pool_item {
    struct hk_rows x, y;
    struct hk_rows weights;             /* DYNAMIC: of each row its own, else one row of all */
    struct hk_entries mask, ids;
    HK_GLOBAL hk_u8 *y_mask;            /* NULL: not this task's to write */
    hk_i64 y_mask_step;
    hk_i64 len, rows;                   /* of the item */
    hk_i64 centre;                      /* CENTRE: the token of row 0 that decides; else -1 */
    hk_i64 readable;                    /* `weights` from that of row 0 or token 0 on that exist */
    hk_u32 has_mask, has_weights, dynamic, softmax;
};

/* The tokens of a row that exist: first .. end - 1, of a bucket those that have its id. */
struct hk_pool_row {
    hk_i64 first, end;
    hk_i64 tap0;                        /* the token of the first of `weights` */
    hk_i64 id;                          /* -1: any */
    HK_GLOBAL const char *weights;
    hk_i64 readable;                    /* how many of them memory has, the row's or others' */
    hk_u64 word;                        /* short: bit i: token first + i is present */
    hk_u32 is_short, reserved;          /* all tokens lie in one block of 64 */
};

/* ---- items ---- */

/* The token in the middle of row 0. */
HK_FN hk_i64 hk_pool_centre(HK_GLOBAL const struct hk_pool *numbers)
{
    return (numbers->window + 2) / 2 - 1 - numbers->left;
}

/* Windows of n tokens. */
HK_FN hk_i64 hk_pool_windows(HK_GLOBAL const struct hk_pool *numbers, hk_i64 n)
{
    const hk_i64 window = numbers->window, stride = numbers->stride;

    switch (numbers->tail) {
    case HK_TAIL_FLOOR:
        return n < window ? 0 : (n - window) / stride + 1;
    case HK_TAIL_CEIL:
        return n == 0 ? 0 : n <= window ? 1 : (n - window - 1) / stride + 2;
    case HK_TAIL_CENTRE:
        n -= hk_pool_centre(numbers);
        return n <= 0 ? 0 : (n - 1) / stride + 1;
    case HK_TAIL_JOIN:
        return n < window ? 0 : n / stride;
    case HK_TAIL_END:
        return n / stride + (n % stride != 0);
    }
    HK_UNREACHABLE();
    return 0;
}

HK_FN hk_i64 hk_pool_rows(HK_GLOBAL const struct hk_pool *numbers, hk_i64 n)
{
    switch (numbers->tokens) {
    case HK_POOL_WINDOWS:
        return hk_pool_windows(numbers, n);
    case HK_POOL_RANGED:
        return numbers->strip.rows;
    case HK_POOL_BUCKETS:
        return (n / numbers->block + (n % numbers->block != 0)) * numbers->buckets;
    }
    HK_UNREACHABLE();
    return 0;
}

HK_FN void hk_pool_open(const struct hk_call *call, HK_GLOBAL const struct hk_pool *numbers,
                        hk_i64 b, hk_i64 head, struct hk_pool_item *item)
{
    HK_GLOBAL const struct hk_array *y_mask = call->arrays + HK_POOL_Y_MASK;

    item->len = hk_length(call, HK_POOL_LEN, b, numbers->n);
    item->rows = hk_pool_rows(numbers, item->len);
    item->centre = numbers->tokens == HK_POOL_WINDOWS && numbers->tail == HK_TAIL_CENTRE
                       ? hk_pool_centre(numbers)
                       : -1;
    item->dynamic = numbers->kind == HK_POOL_DYNAMIC;
    item->softmax = numbers->kind != HK_POOL_LINEAR;
    item->has_mask = (hk_u32)hk_has(call, HK_POOL_MASK);
    item->has_weights = (hk_u32)hk_has(call, HK_POOL_WEIGHTS);
    item->x = hk_rows_get(call, HK_POOL_X, b, head);
    item->y = hk_rows_get(call, HK_POOL_Y, b, head);
    item->mask = hk_entries_get(call, HK_POOL_MASK, b, head);
    item->ids = hk_entries_get(call, HK_POOL_IDS, b, head);
    item->weights = hk_rows_get(call, HK_POOL_WEIGHTS, b, item->dynamic ? head : 0);
    if (item->has_weights && !item->dynamic)
        item->weights.base = hk_row(&item->weights, head);
    item->readable = call->arrays[HK_POOL_WEIGHTS].shape[5];
    if (item->dynamic && call->arrays[HK_POOL_WEIGHTS].stride[4] == numbers->window)
        item->readable *= numbers->strip.rows;
    /* A head of its own, or the first of those that share. */
    item->y_mask = 0;
    if (y_mask->dtype && head < y_mask->shape[4])
        item->y_mask = (HK_GLOBAL hk_u8 *)hk_along(call, HK_POOL_Y_MASK, 4,
                                                   hk_item(call, HK_POOL_Y_MASK, b), head);
    item->y_mask_step = y_mask->stride[5];
}

/* ---- rows ---- */

/* Row i, which is one of the item's. */
HK_FN struct hk_pool_row hk_pool_row_get(const struct hk_call *call,
                                         HK_GLOBAL const struct hk_pool *numbers,
                                         const struct hk_pool_item *item, hk_i64 b, hk_i64 i)
{
    struct hk_pool_row row;

    row.id = -1;
    row.tap0 = 0;
    row.weights = item->weights.base;
    row.readable = item->readable;
    row.word = 0;
    if (numbers->tokens == HK_POOL_WINDOWS) {
        row.first = numbers->tail == HK_TAIL_END ? item->len - (item->rows - i) * numbers->stride
                                                 : i * numbers->stride - numbers->left;
        row.end = numbers->tail == HK_TAIL_JOIN && i == item->rows - 1
                      ? item->len
                      : row.first + numbers->window;
        if (item->dynamic) {
            row.tap0 = row.first;
            row.weights = hk_row(&item->weights, i);
            if (item->readable > numbers->window)
                row.readable -= i * numbers->window;
        }
    } else if (numbers->tokens == HK_POOL_RANGED) {
        HK_GLOBAL const struct hk_array *ranges = call->arrays + HK_POOL_RANGES;
        HK_GLOBAL const char *pair = hk_along(call, HK_POOL_RANGES, 4,
                                              hk_item(call, HK_POOL_RANGES, b), i);

        row.first = hk_integer(ranges->dtype, pair, 0);
        row.end = hk_integer(ranges->dtype, pair, ranges->stride[5]);
    } else {
        row.first = i / numbers->buckets * numbers->block;
        row.id = i % numbers->buckets;
        row.end = item->len - row.first < numbers->block ? item->len
                                                         : row.first + numbers->block;
    }
    row.first = hk_max(row.first, 0);
    row.end = hk_max(hk_min(row.end, item->len), 0);
    row.is_short = row.first / HK_BLOCK == (row.end - 1) / HK_BLOCK;
    return row;
}

/* Which of n bytes, 64 at most, are not 0. */
HK_FN hk_u64 hk_pool_masked(HK_GLOBAL const hk_u8 *mask, hk_i64 step, int n)
{
    hk_u64 word = 0;
    int i = 0;

    for (; step == 1 && i + HKV_LANES <= n; i += HKV_LANES)
        word |= (hk_u64)hkv_bytes(mask + i) << i;
    for (; i < n; i++)
        word |= (hk_u64)(mask[i * step] != 0) << i;
    return word;
}

/* Which of n ids are this one. */
HK_FN hk_u64 hk_pool_equal(HK_GLOBAL const hk_i32 *ids, hk_i64 step, hk_i32 id, int n)
{
    hk_u64 word = 0;
    int i = 0;

    for (; step == 1 && i + HKV_LANES <= n; i += HKV_LANES)
        word |= (hk_u64)hkv_equals(ids + i, id) << i;
    for (; i < n; i++)
        word |= (hk_u64)(ids[i * step] == id) << i;
    return word;
}

/* Of the tokens from .. from + n - 1, 64 at most, those whose byte of the mask is not 0 and that
 * have the id (if it is not below 0). */
HK_POOL_ASKED hk_u64 hk_pool_sieve(const struct hk_pool_item *item, hk_i64 id, hk_i64 from, int n)
{
    const hk_i64 mask_step = item->mask.step, ids_step = item->ids.step;
    hk_u64 bits = ~(hk_u64)0;

    if (item->has_mask)
        bits = hk_pool_masked((HK_GLOBAL const hk_u8 *)item->mask.base + from * mask_step,
                              mask_step, n);
    if (id >= 0)
        bits &= hk_pool_equal((HK_GLOBAL const hk_i32 *)item->ids.base + from * ids_step,
                              ids_step, (hk_i32)id, n);
    return bits;
}

/* The present ones of n tokens of a row, 1 to 64. */
HK_FN hk_u64 hk_pool_present(const struct hk_pool_item *item, hk_i64 id, hk_i64 from, int n)
{
    return item->has_mask || id >= 0 ? hk_pool_sieve(item, id, from, n)
                                     : ~(hk_u64)0 >> (HK_BLOCK - n);
}

/* The present tokens of a row in a block that it reaches into: bit i is token 64 * block + i. */
HK_FN hk_u64 hk_pool_block_word(const struct hk_pool_item *item, const struct hk_pool_row *row,
                                hk_i64 block)
{
    const int low = (int)hk_max(row->first - block * HK_BLOCK, 0);
    const int high = (int)hk_min(row->end - block * HK_BLOCK, HK_BLOCK);

    return hk_pool_present(item, row->id, block * HK_BLOCK + low, high - low) << low;
}

/* Tokens of a word. */
HK_FN hk_i64 hk_pool_count(hk_u64 word)
{
    word -= word >> 1 & 0x5555555555555555ul;
    word = (word & 0x3333333333333333ul) + (word >> 2 & 0x3333333333333333ul);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0ful;
    return (hk_i64)(word * 0x0101010101010101ul >> 56);
}

/* Has row i a present token, with CENTRE that in its middle? */
HK_FN int hk_pool_exists(HK_GLOBAL const struct hk_pool *numbers, const struct hk_pool_item *item,
                         struct hk_pool_row *row, hk_i64 i)
{
    hk_i64 block;

    if (row->first >= row->end)
        return 0;
    if (row->is_short)
        row->word = hk_pool_present(item, row->id, row->first, (int)(row->end - row->first));
    if (item->centre >= 0)
        return !item->has_mask ||
               hk_entry_u8(&item->mask, i * numbers->stride + item->centre) != 0;
    if (row->is_short)
        return row->word != 0;
    for (block = row->first / HK_BLOCK; block * HK_BLOCK < row->end; block++) {
        if (hk_pool_block_word(item, row, block) != 0)
            return 1;
    }
    return 0;
}

/* ---- what is written beside the channels ---- */

HK_FN void hk_pool_length(const struct hk_call *call, hk_i64 b, hk_i64 rows)
{
    HK_GLOBAL char *to = hk_item(call, HK_POOL_Y_LEN, b);

    if (call->arrays[HK_POOL_Y_LEN].dtype == HK_I32)
        *(HK_GLOBAL hk_i32 *)to = (hk_i32)rows;
    else
        *(HK_GLOBAL hk_i64 *)to = rows;
}

#endif
