/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/pool.h, pool: the present tokens of a row become one. A task is a strip of rows of one item
 * and head. A row is summed for a few vectors of channels at a time, which stay in registers over
 * all its tokens; how, and from what type, are constants of the loops over tokens.
 */
#define HK_SCALES 0 /* numbers alone */
#include "moves.h"
#include "batch.h"
#include "taps.h"

/* Vectors that are summed side by side. */
#if HK_THREADS > 1
#define HK_WIDE 2
#elif HKV_LANES > 8
#define HK_WIDE 4
#else
#define HK_WIDE 8
#endif

/* How tokens are summed. */
enum { HK_WAY_ADD, HK_WAY_MEAN, HK_WAY_MAX, HK_WAY_TAPS };

/* HK_WIDE vectors of channels from t on, or one; direct: as vectors in memory, else one by one.
 * step: channels from vector to vector. */
struct hk_tile {
    int way, direct, wide;
    hk_u32 dtype;
    hk_i64 t, d, step;
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

#if HK_THREADS == 1
#include "pool_lanes.h"
#else
#include "pool_threads.h"
#endif

/* ---- the channels of a row ---- */

/* Nothing is summed yet. */
HK_INLINE void hk_pool_begin(int way, struct hk_taps *taps)
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
    hk_pool_begin(tile.way, taps);
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

/* ---- rows ---- */

/* What a short row's tokens are multiplied by. */
HK_INLINE void hk_pool_weigh(int way, const struct hk_pool_item *item,
                             const struct hk_pool_row *row, struct hk_taps *taps)
{
    taps->word = 0;
    taps->factor = 1.0f;
    if (row->is_short && way == HK_WAY_TAPS) {
        hk_taps_short(item, row, taps);
    } else if (row->is_short) {
        taps->word = row->word;
        if (way == HK_WAY_MEAN)
            taps->factor = hk_pool_mean(hk_pool_count(row->word));
    }
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

#if HK_THREADS == 1
#include "pool_rows_lanes.h"
#else
#include "pool_rows_threads.h"
#endif

#include "../entry.h"
