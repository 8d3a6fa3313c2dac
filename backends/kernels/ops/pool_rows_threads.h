/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * pool for the threads of a work-group: a row has a few of them, and the group has several rows
 * side by side. A task has two steps with a barrier behind each: the item is opened, for it lies in
 * local memory, and its rows are summed.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_POOL_ROWS_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_POOL_ROWS_THREADS_H

#define HK_HAS_SHARED 1

struct hk_pool_strip {
    struct hk_pool_item item;
    struct hk_strip_task at;
    hk_i64 d;
    hk_u32 kind;
    int whole; /* 1: vectors of x and of y lie at multiples of their bytes */
};

struct hk_shared {
    struct hk_pool_strip strip;
};

/* A row with a present token, one way. */
HK_INLINE void hk_pool_row_sum(int way, const int whole, const struct hk_pool_item *item,
                               const struct hk_pool_row *row, HK_GLOBAL char *y, hk_i64 d,
                               struct hk_share own)
{
    struct hk_taps taps;
    hk_i64 t;

    hk_pool_weigh(way, item, row, &taps);
    HK_NO_UNROLL
    for (t = own.lane * HKV_LANES; t < d; t += (hk_i64)own.lanes * (HK_WIDE * HKV_LANES)) {
        const struct hk_tile tile = {
            way, whole, HK_WIDE, item->x.dtype, t, d, (hk_i64)own.lanes * HKV_LANES
        };

        hk_pool_tile(tile, item, row, &taps, y);
    }
}

/* How is a constant where what is read lies in vectors. */
HK_INLINE void hk_pool_row_write(const int whole, hk_u32 kind, const struct hk_pool_item *item,
                                 const struct hk_pool_row *row, HK_GLOBAL char *y, hk_i64 d,
                                 struct hk_share own)
{
    const int way = hk_pool_way(kind, row);

    if (!whole) {
        hk_pool_row_sum(way, 0, item, row, y, d, own);
        return;
    }
    switch (way) {
    case HK_WAY_ADD:
        hk_pool_row_sum(HK_WAY_ADD, 1, item, row, y, d, own);
        return;
    case HK_WAY_MEAN:
        hk_pool_row_sum(HK_WAY_MEAN, 1, item, row, y, d, own);
        return;
    case HK_WAY_MAX:
        hk_pool_row_sum(HK_WAY_MAX, 1, item, row, y, d, own);
        return;
    case HK_WAY_TAPS:
        hk_pool_row_sum(HK_WAY_TAPS, 1, item, row, y, d, own);
        return;
    }
    HK_UNREACHABLE();
}

/* Zeros. */
HK_FN void hk_pool_row_clear(const struct hk_pool_item *item, HK_GLOBAL char *y, hk_i64 d,
                             struct hk_share own)
{
    hk_i64 t;

    for (t = own.lane; t < d; t += own.lanes)
        hk_put(item->y.dtype, y, t * item->y.channel, 0.0f);
}

HK_FN void hk_pool_row_run(const struct hk_call *call, HK_LOCAL const struct hk_shared *shared,
                           hk_i64 i, struct hk_share own)
{
    const struct hk_pool_strip strip = shared->strip;
    const struct hk_pool_item *const item = &strip.item;
    HK_GLOBAL const struct hk_pool *numbers = HK_NUMBERS(call, struct hk_pool);
    HK_GLOBAL char *const y = hk_row(&item->y, i);
    struct hk_pool_row row;
    int exists = 0;

    if (i < item->rows) {
        row = hk_pool_row_get(call, numbers, item, strip.at.b, i);
        exists = hk_pool_exists(numbers, item, &row, i);
    }
    if (exists && strip.d > 0)
        hk_pool_row_write(strip.whole, strip.kind, item, &row, y, strip.d, own);
    else
        hk_pool_row_clear(item, y, strip.d, own);
    if (own.lane == 0 && item->y_mask)
        item->y_mask[i * item->y_mask_step] = (hk_u8)exists;
}

/* Without something to write nothing is read: mask and ids may have no head then. */
HK_FN void hk_pool_rows_run(const struct hk_call *call, hk_i32 id,
                            HK_LOCAL const struct hk_shared *shared)
{
    const hk_i32 lanes = hk_share_lanes(shared->strip.d, HK_WIDE);
    struct hk_share own;
    hk_i64 i;

    if (shared->strip.d == 0 && !shared->strip.item.y_mask)
        return;
    own.lane = id % lanes;
    own.lanes = lanes;
    for (i = id / lanes; i < shared->strip.at.count; i += HK_THREADS / lanes)
        hk_pool_row_run(call, shared, shared->strip.at.first + i, own);
}

/* Where x has no head there is a strip of one all the same, for y_mask and y_len. */
HK_FN void hk_pool_start(const struct hk_call *call, hk_i64 task,
                         HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_pool *numbers = HK_NUMBERS(call, struct hk_pool);
    struct hk_pool_strip strip;
    struct hk_stream stream;

    strip.at = hk_strip_get(&numbers->strip, task);
    strip.d = numbers->d;
    strip.kind = numbers->kind;
    hk_pool_open(call, numbers, strip.at.b, strip.at.head, &strip.item);
    strip.whole = hk_stream_open(&strip.item.x, 0, 1, strip.d, &stream) &&
                  hk_stream_open(&strip.item.y, 0, 1, strip.d, &stream);
    shared->strip = strip;
    if (strip.at.head == 0 && strip.at.first == 0 && hk_has(call, HK_POOL_Y_LEN))
        hk_pool_length(call, strip.at.b, strip.item.rows);
}

HK_MAIN_OPENED(hk_pool_start(call, at.task, shared), hk_pool_rows_run(call, id, shared))

#endif
