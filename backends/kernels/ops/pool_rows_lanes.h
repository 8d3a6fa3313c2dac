/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * pool for processors: the channels of a row, tile by tile, and the rows of a strip.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_POOL_ROWS_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_POOL_ROWS_LANES_H

/* Vectors from t on of a row whose channels adjoin and fill a vector; what the last would have
 * beyond the row it has before t, where channels become the same once more. */
#define HK_POOL_TILE(count, at)                                                                    \
    do {                                                                                           \
        const struct hk_tile tile = { way, 1, count, dtype, at, d, HKV_LANES };                    \
                                                                                                   \
        hk_pool_tile(tile, item, row, taps, y);                                                    \
    } while (0)

HK_INLINE void hk_pool_direct(int way, hk_u32 dtype, const struct hk_pool_item *item,
                              const struct hk_pool_row *row, struct hk_taps *taps,
                              HK_GLOBAL char *y, hk_i64 d)
{
    hk_i64 begin = 0, t;

    for (; HK_WIDE > 1 && begin + HK_WIDE * HKV_LANES <= d; begin += HK_WIDE * HKV_LANES)
        HK_POOL_TILE(HK_WIDE, begin);
    for (t = begin; t < d; t += HKV_LANES)
        HK_POOL_TILE(1, hk_min(t, d - HKV_LANES));
}
#undef HK_POOL_TILE

/* Any row, channel by channel. */
HK_INLINE void hk_pool_any(int way, const struct hk_pool_item *item, const struct hk_pool_row *row,
                           struct hk_taps *taps, HK_GLOBAL char *y, hk_i64 d)
{
    hk_i64 t;

    for (t = 0; t < d; t += HKV_LANES) {
        const struct hk_tile tile = { way, 0, 1, item->x.dtype, t, d, HKV_LANES };

        hk_pool_tile(tile, item, row, taps, y);
    }
}

/* A row with a present token, one way. */
HK_INLINE void hk_pool_row_sum(int way, const struct hk_pool_item *item,
                               const struct hk_pool_row *row, HK_GLOBAL char *y, hk_i64 d)
{
    struct hk_taps taps;

    hk_pool_weigh(way, item, row, &taps);
#define HK_POOL_FROM(type) hk_pool_direct(way, type, item, row, &taps, y, d)
    if (item->x.channel == 1 && d >= HKV_LANES)
        HK_BY_NUMBER(item->x.dtype, HK_POOL_FROM);
    else
        hk_pool_any(way, item, row, &taps, y, d);
#undef HK_POOL_FROM
}

HK_FN void hk_pool_row_write(hk_u32 kind, const struct hk_pool_item *item,
                             const struct hk_pool_row *row, HK_GLOBAL char *y, hk_i64 d)
{
    switch (hk_pool_way(kind, row)) {
    case HK_WAY_ADD:
        hk_pool_row_sum(HK_WAY_ADD, item, row, y, d);
        return;
    case HK_WAY_MEAN:
        hk_pool_row_sum(HK_WAY_MEAN, item, row, y, d);
        return;
    case HK_WAY_MAX:
        hk_pool_row_sum(HK_WAY_MAX, item, row, y, d);
        return;
    case HK_WAY_TAPS:
        hk_pool_row_sum(HK_WAY_TAPS, item, row, y, d);
        return;
    }
    HK_UNREACHABLE();
}

/* ---- tasks ---- */

HK_FN void hk_pool_row_run(const struct hk_call *call, HK_GLOBAL const struct hk_pool *numbers,
                           const struct hk_pool_item *item, hk_i64 b, hk_i64 i)
{
    const hk_i64 d = numbers->d;
    struct hk_pool_row row;
    int exists = 0;

    if (i < item->rows) {
        row = hk_pool_row_get(call, numbers, item, b, i);
        exists = hk_pool_exists(numbers, item, &row, i);
    }
    if (exists && d > 0)
        hk_pool_row_write(numbers->kind, item, &row, hk_row(&item->y, i), d);
    else if (d > 0)
        hk_row_zero(hk_size(item->y.dtype), hk_row(&item->y, i), item->y.channel, d);
    if (item->y_mask)
        item->y_mask[i * item->y_mask_step] = (hk_u8)exists;
}

/* Where x has no head there is a strip of one all the same, for y_mask and y_len. Without
 * something to write nothing is read: mask and ids may have no head either. */
HK_FN void hk_pool_task(const struct hk_call *call, hk_i64 task)
{
    HK_GLOBAL const struct hk_pool *numbers = HK_NUMBERS(call, struct hk_pool);
    const struct hk_strip_task strip = hk_strip_get(&numbers->strip, task);
    struct hk_pool_item item;
    hk_i64 i;

    hk_pool_open(call, numbers, strip.b, strip.head, &item);
    for (i = strip.first; i < strip.first + strip.count && (numbers->d > 0 || item.y_mask); i++)
        hk_pool_row_run(call, numbers, &item, strip.b, i);
    if (strip.head == 0 && strip.first == 0 && hk_has(call, HK_POOL_Y_LEN))
        hk_pool_length(call, strip.b, item.rows);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
        hk_pool_task(call, task);
}

#endif
