/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/pool.h, pool: the present tokens of a row become one. A task is a strip of rows of one item
 * and head. A row is summed for a few vectors of channels at a time, which stay in registers over
 * all its tokens; how, and from what type, are constants of the loops over tokens.
 */
#define HK_SCALES 0 /* numbers alone */
#include "moves.h"
#include "taps.h"

/* Vectors that are summed side by side. */
#if HK_THREADS > 1
#define HK_WIDE 1
#elif HKV_LANES > 8
#define HK_WIDE 4
#else
#define HK_WIDE 8
#endif

/* How tokens are summed. */
enum { HK_WAY_ADD, HK_WAY_MEAN, HK_WAY_MAX, HK_WAY_TAPS };

/* HK_WIDE vectors of channels from t on, or one; direct: as vectors in memory, else one by one. */
struct hk_tile {
    int way, direct, wide;
    hk_u32 dtype;
    hk_i64 t, d;
};

/* A token into the sum of a vector. MEAN has the weights of a softmax of zeros, which are 1/2: the
 * sum of halves rounds and overflows as half the sum does not, so it stays an fma. */
HK_INLINE hk_vec hk_pool_add(int way, hk_vec sum, hk_vec x, hk_vec p)
{
    if (way == HK_WAY_ADD)
        return hkv_add(sum, x);
    if (way == HK_WAY_MAX)
        return hkv_select(hkv_ordered(x), hkv_max_f(x, sum), x);
    return hkv_fma(p, x, sum);
}

/* The tokens of a word, of which bit 0 is token `first`; p: their weights, of TAPS. */
HK_INLINE void hk_pool_tokens(const struct hk_tile tile, const struct hk_rows *x, hk_i64 first,
                              hk_u64 word, const float *p, hk_vec *sum)
{
    HK_GLOBAL const char *base = hk_row(x, first);
    const hk_i64 step = x->row;
    int v;

    for (; word != 0; word &= word - 1) {
        const int i = hk_first_bit(word);
        HK_GLOBAL const char *row = base + i * step;
        const hk_vec weight = hkv_set(tile.way == HK_WAY_TAPS ? p[i] : 0.5f);

        HK_UNROLL
        for (v = 0; v < tile.wide; v++) {
            const hk_i64 t = tile.t + v * HKV_LANES;

            sum[v] = hk_pool_add(tile.way, sum[v],
                                 tile.direct ? hk_vec_load(tile.dtype, row, t)
                                             : hk_channels_read(tile.dtype, row, x->channel, t,
                                                                tile.d),
                                 weight);
        }
    }
}

/* ---- the channels of a row ---- */

/* Nothing is summed yet. */
HK_INLINE void hk_pool_start(int way, struct hk_taps *taps)
{
    taps->word = 0;
    taps->count = 0;
    taps->factor = taps->rescale = taps->before = taps->added = 1.0f;
    if (way == HK_WAY_TAPS)
        hk_taps_start(taps);
}

/* A block of a row: its word, and what its weights ask of the sums so far. */
HK_INLINE void hk_pool_block(int way, const struct hk_pool_item *item,
                             const struct hk_pool_row *row, hk_i64 block, struct hk_taps *taps)
{
    if (way == HK_WAY_TAPS) {
        hk_taps_block(item, row, block, taps);
    } else {
        taps->word = hk_pool_block_word(item, row, block);
        if (way == HK_WAY_MEAN)
            taps->count += hk_pool_count(taps->word);
    }
}

/* 1 / l of MEAN: halves are counted exactly, in whichever partials (hk_pool_way). */
HK_FN float hk_pool_mean(hk_i64 count)
{
    return hk_inverse(hk_mul(0.5f, hk_from_i64(count)));
}

HK_INLINE void hk_pool_scale(const struct hk_tile tile, float factor, hk_vec *sum)
{
    int v;

    HK_UNROLL
    for (v = 0; v < tile.wide; v++)
        sum[v] = hkv_mul(sum[v], hkv_set(factor));
}

/* Sums of chunks but of MAX, which has none, are joined in order. */
HK_INLINE void hk_pool_join(const struct hk_tile tile, const struct hk_pool_item *item,
                            struct hk_taps *taps, hk_vec *sum, hk_vec *all)
{
    int v;

    if (tile.way == HK_WAY_TAPS)
        hk_taps_join(item, taps);
    HK_UNROLL
    for (v = 0; v < tile.wide; v++) {
        if (tile.way == HK_WAY_TAPS)
            all[v] = hkv_fma(sum[v], hkv_set(taps->added), hkv_mul(all[v], hkv_set(taps->before)));
        else
            all[v] = hkv_add(all[v], sum[v]);
        sum[v] = hkv_set(0.0f);
    }
}

HK_NOINLINE void hk_pool_put(const struct hk_rows *to, HK_GLOBAL char *y, hk_i64 t, hk_i64 d,
                             hk_vec x)
{
    hk_channels_write(to->dtype, y, to->channel, t, d, x);
}

/* The way out of a tile. */
HK_INLINE void hk_pool_write(const struct hk_tile tile, const struct hk_rows *to,
                             HK_GLOBAL char *y, const hk_vec *sum)
{
    int v;

    if (tile.direct && to->dtype == HK_F32 && to->channel == 1) {
        HK_UNROLL
        for (v = 0; v < tile.wide; v++)
            hkv_store((HK_GLOBAL float *)y + tile.t + v * HKV_LANES, hkv_canonical(sum[v]));
        return;
    }
    HK_UNROLL
    for (v = 0; v < tile.wide; v++)
        hk_pool_put(to, y, tile.t + v * HKV_LANES, tile.d, sum[v]);
}

/* A row in several blocks. */
HK_INLINE void hk_pool_blocks(const struct hk_tile tile, const struct hk_pool_item *item,
                              const struct hk_pool_row *row, struct hk_taps *taps, hk_vec *sum)
{
    const hk_i64 first = row->first / HK_BLOCK, last = (row->end - 1) / HK_BLOCK;
    const int joins = tile.way != HK_WAY_MAX && first / HK_CHUNK != last / HK_CHUNK;
    hk_vec all[HK_WIDE];
    hk_i64 block;
    int v;

    HK_UNROLL
    for (v = 0; v < tile.wide; v++)
        all[v] = hkv_set(0.0f);
    hk_pool_start(tile.way, taps);
    for (block = first; block <= last; block++) {
        if (joins && block != first && block % HK_CHUNK == 0)
            hk_pool_join(tile, item, taps, sum, all);
        hk_pool_block(tile.way, item, row, block, taps);
        if (tile.way == HK_WAY_TAPS)
            hk_pool_scale(tile, taps->rescale, sum);
        hk_pool_tokens(tile, &item->x, block * HK_BLOCK, taps->word, taps->p, sum);
    }
    if (joins) {
        hk_pool_join(tile, item, taps, sum, all);
        HK_UNROLL
        for (v = 0; v < tile.wide; v++)
            sum[v] = all[v];
    }
    if (tile.way == HK_WAY_TAPS)
        taps->factor = hk_taps_end(item, taps, joins ? taps->all_partials : taps->partials);
    else if (tile.way == HK_WAY_MEAN)
        taps->factor = hk_pool_mean(taps->count);
}

/* The vectors of a tile, over all tokens of a row. taps: those of a short row, else the tile's to
 * use. */
HK_INLINE void hk_pool_tile(const struct hk_tile tile, const struct hk_pool_item *item,
                            const struct hk_pool_row *row, struct hk_taps *taps,
                            HK_GLOBAL char *y)
{
    hk_vec sum[HK_WIDE];
    int v;

    HK_UNROLL
    for (v = 0; v < tile.wide; v++)
        sum[v] = hkv_set(tile.way == HK_WAY_MAX ? -HK_INFINITY : 0.0f);
    if (row->is_short)
        hk_pool_tokens(tile, &item->x, row->first, taps->word, taps->p, sum);
    else
        hk_pool_blocks(tile, item, row, taps, sum);
    if (tile.way == HK_WAY_MEAN || tile.way == HK_WAY_TAPS)
        hk_pool_scale(tile, taps->factor, sum);
    hk_pool_write(tile, &item->y, y, sum);
}

/* Vectors from t on of a row whose channels adjoin and fill a vector; what the last would have
 * beyond the row it has before t, where channels become the same once more. */
#define HK_POOL_TILE(count, at)                                                                    \
    do {                                                                                           \
        const struct hk_tile tile = { way, 1, count, dtype, at, d };                               \
                                                                                                   \
        hk_pool_tile(tile, item, row, taps, y);                                                    \
    } while (0)

HK_INLINE void hk_pool_direct(int way, hk_u32 dtype, const struct hk_pool_item *item,
                              const struct hk_pool_row *row, struct hk_taps *taps,
                              HK_GLOBAL char *y, hk_i64 d)
{
    HK_THREAD_ID(id);
    hk_i64 begin = 0, t;

    for (; HK_WIDE > 1 && begin + HK_WIDE * HKV_LANES <= d; begin += HK_WIDE * HKV_LANES)
        HK_POOL_TILE(HK_WIDE, begin);
    HK_EACH(id)
        for (t = begin + id * HKV_LANES; t < d; t += HK_THREADS * HKV_LANES)
            HK_POOL_TILE(1, hk_min(t, d - HKV_LANES));
}
#undef HK_POOL_TILE

/* Any row, channel by channel. */
HK_INLINE void hk_pool_any(int way, const struct hk_pool_item *item, const struct hk_pool_row *row,
                           struct hk_taps *taps, HK_GLOBAL char *y, hk_i64 d)
{
    HK_THREAD_ID(id);
    hk_i64 t;

    HK_CHANNELS(id, t, d) {
        const struct hk_tile tile = { way, 0, 1, item->x.dtype, t, d };

        hk_pool_tile(tile, item, row, taps, y);
    }
}

/* ---- rows ---- */

/* A row with a present token, one way. */
HK_INLINE void hk_pool_row_sum(int way, const struct hk_pool_item *item,
                               const struct hk_pool_row *row, HK_GLOBAL char *y, hk_i64 d)
{
    struct hk_taps taps;

    taps.word = 0;
    taps.factor = 1.0f;
    if (row->is_short && way == HK_WAY_TAPS) {
        hk_taps_short(item, row, &taps);
    } else if (row->is_short) {
        taps.word = row->word;
        if (way == HK_WAY_MEAN)
            taps.factor = hk_pool_mean(hk_pool_count(row->word));
    }
#define HK_POOL_FROM(type) hk_pool_direct(way, type, item, row, &taps, y, d)
    if (item->x.channel == 1 && d >= HKV_LANES)
        HK_BY_NUMBER(item->x.dtype, HK_POOL_FROM);
    else
        hk_pool_any(way, item, row, &taps, y, d);
#undef HK_POOL_FROM
}

/* MEAN is WEIGHTED with weights of 0; how many halves there are is exact below 2^24. */
HK_FN int hk_pool_way(hk_u32 kind, const struct hk_pool_row *row)
{
    switch (kind) {
    case HK_POOL_SUM:
        return HK_WAY_ADD;
    case HK_POOL_MAX:
        return HK_WAY_MAX;
    case HK_POOL_MEAN:
    case HK_POOL_BUCKET:
        return row->end - row->first <= (hk_i64)1 << 24 ? HK_WAY_MEAN : HK_WAY_TAPS;
    case HK_POOL_LINEAR:
    case HK_POOL_WEIGHTED:
    case HK_POOL_DYNAMIC:
        return HK_WAY_TAPS;
    }
    HK_UNREACHABLE();
    return HK_WAY_TAPS;
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
    hk_pool_flag(item, i, exists);
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

#include "../entry.h"
