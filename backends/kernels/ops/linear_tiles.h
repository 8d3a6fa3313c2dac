/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear for processors: register tiles, and which terms of a block rows have.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_LINEAR_TILES_H
#define HEED_BACKENDS_KERNELS_OPS_LINEAR_TILES_H

#include "linear_pack.h"

/* ---- sums ---- */

/* The sum of a block joins the others'. */
HK_INLINE void hk_linear_join(hk_vec acc[HK_R][HK_TILE_VECS], HK_GLOBAL float *sums, hk_i64 pitch,
                              const int rows, const int vecs, int begins)
{
    int i, u;

    if (begins) {
        hk_product_store(acc, sums, pitch, rows, vecs);
        return;
    }

    HK_UNROLL
    for (i = 0; i < rows; i++) {
        HK_UNROLL
        for (u = 0; u < vecs; u++) {
            HK_GLOBAL float *const to = sums + i * pitch + u * HKV_LANES;

            hkv_store(to, hkv_add(hkv_load(to), acc[i][u]));
        }
    }
}

#define HK_LINE_TERMS 16 /* of f32 in a line of a cache */

/* The sums of a tile, as hk_product_sums has them. Meanwhile the rows of the next tile come nearer,
 * and this one's sums of other blocks: lines of rows far apart are not foreseen by processors. */
HK_INLINE void hk_linear_tile(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 x_row,
                              HK_GLOBAL const float *HK_RESTRICT panel, hk_i64 n,
                              HK_GLOBAL const float *HK_RESTRICT sums, hk_i64 pitch,
                              hk_vec acc[HK_R][HK_TILE_VECS], const int vecs)
{
    hk_i64 t;
    int i, u;

    hk_product_zero(acc, HK_R, vecs);
    HK_UNROLL
    for (i = 0; i < HK_R; i++) {
        HK_UNROLL
        for (u = 0; u < vecs; u++)
            HK_PREFETCH_NEAR(sums + i * pitch + u * HKV_LANES);
    }
    for (t = 0; t + HK_LINE_TERMS <= n; t += HK_LINE_TERMS) {
        HK_UNROLL
        for (i = 0; i < HK_R; i++)
            HK_PREFETCH_NEAR(x + (HK_R + i) * x_row + t);
        hk_product_more(x + t, x_row, panel + t * HK_PANEL, HK_PANEL, HK_LINE_TERMS, acc, vecs);
    }
    hk_product_more(x + t, x_row, panel + t * HK_PANEL, HK_PANEL, n - t, acc, vecs);
}

/* All tiles of a panel, n terms. begins: they are the first, whose sums join nothing. */
#define HK_LINEAR_TILES(name, vecs)                                                                \
    HK_NOINLINE void hk_linear_tiles_##name(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 x_row,    \
                                            HK_GLOBAL const float *HK_RESTRICT panel, hk_i64 n,    \
                                            HK_GLOBAL float *HK_RESTRICT sums, hk_i64 pitch,       \
                                            hk_i64 tiles, int begins)                              \
    {                                                                                              \
        for (; tiles > 0; tiles--, x += HK_R * x_row, sums += HK_R * pitch) {                      \
            hk_vec acc[HK_R][HK_TILE_VECS];                                                        \
                                                                                                   \
            hk_linear_tile(x, x_row, panel, n, sums, pitch, acc, vecs);                            \
            hk_linear_join(acc, sums, pitch, HK_R, vecs, begins);                                  \
        }                                                                                          \
    }
HK_LINEAR_TILES(whole, HKV_TILE)
#if HKV_TILE > 1
HK_LINEAR_TILES(one, 1)
#endif
#undef HK_LINEAR_TILES

/* Terms of `rows` rows with a panel of any pitch, whose sums of the block lie in `chain`. */
HK_INLINE void hk_linear_more(HK_GLOBAL const float *HK_RESTRICT x,
                              HK_GLOBAL const float *HK_RESTRICT panel, hk_i64 panel_pitch,
                              hk_i64 n, HK_GLOBAL float *HK_RESTRICT chain, const int rows,
                              const int vecs)
{
    hk_vec acc[HK_R][HK_TILE_VECS];
    hk_i64 t;

    hk_product_load(acc, chain, HK_WIDE, rows, vecs);
    for (t = 0; t < n; t++)
        hk_product_step(x + t, HK_TERMS, panel + t * panel_pitch, acc, rows, vecs);
    hk_product_store(acc, chain, HK_WIDE, rows, vecs);
}

/* The same of a panel of HK_WIDE outputs. */
#define HK_LINEAR_FEW(name, rows)                                                                  \
    HK_NOINLINE void hk_linear_few_##name(HK_GLOBAL const float *x, HK_GLOBAL const float *panel,  \
                                          hk_i64 n, HK_GLOBAL float *chain)                        \
    {                                                                                              \
        const int step = HK_VECS_OF(rows) * HKV_LANES;                                             \
        int o;                                                                                     \
                                                                                                   \
        for (o = 0; o < HK_WIDE; o += step)                                                        \
            hk_linear_more(x, panel + o, HK_WIDE, n, chain + o, rows, HK_VECS_OF(rows));           \
    }
HK_LINEAR_FEW(1, 1)
HK_LINEAR_FEW(2, 2)
HK_LINEAR_FEW(4, 4)
HK_LINEAR_FEW(most, HK_R)
#undef HK_LINEAR_FEW

HK_FN void hk_linear_few(HK_GLOBAL const float *x, HK_GLOBAL const float *panel, hk_i64 n,
                         HK_GLOBAL float *chain, hk_i64 rows)
{
    if (rows == 1)
        hk_linear_few_1(x, panel, n, chain);
    else if (rows == 2)
        hk_linear_few_2(x, panel, n, chain);
    else if (rows <= 4)
        hk_linear_few_4(x, panel, n, chain);
    else
        hk_linear_few_most(x, panel, n, chain);
}

HK_FN void hk_linear_chain_zero(HK_GLOBAL float *chain, hk_i64 rows)
{
    hk_i64 t;

    for (t = 0; t < rows * HK_WIDE; t += HKV_LANES)
        hkv_store(chain + t, hkv_set(0.0f));
}

HK_FN void hk_linear_chain_join(HK_GLOBAL const float *chain, HK_GLOBAL float *sums, hk_i64 n)
{
    hk_i64 t;

    for (t = 0; t < n; t += HKV_LANES)
        hkv_store(sums + t, hkv_add(hkv_load(sums + t), hkv_load(chain + t)));
}

/* ---- a block: terms first .. end - 1 ---- */

struct hk_linear_block {
    const struct hk_linear_task *task;
    const struct hk_linear_room *room;
    hk_i64 first, end;
    /* Of many rows those that are whole tiles with all of their taps, and where they are read. */
    hk_i64 full, full_end;
    HK_GLOBAL const float *x;
    hk_i64 x_row;
};

/* Have rows i .. i + n - 1 of the task all terms of the block? Spans move on from row to row. */
HK_FN int hk_linear_full(const struct hk_linear_block *block, hk_i64 i, hk_i64 n)
{
    const hk_i64 row = block->task->strip.first + i;
    const hk_i64 last = hk_min(i + n, block->task->strip.count) - 1 - i;

    return hk_linear_span_get(block->task->numbers, row).first <= block->first &&
           hk_linear_span_get(block->task->numbers, row + last).end >= block->end;
}

/* The terms that row i of the task has of [first, end), counted from the block's first. */
HK_FN struct hk_linear_span hk_linear_cut(const struct hk_linear_block *block, hk_i64 i,
                                          hk_i64 first, hk_i64 end)
{
    struct hk_linear_span span =
        hk_linear_span_get(block->task->numbers, block->task->strip.first + i);

    span.first = hk_max(span.first, first) - block->first;
    span.end = hk_min(span.end, end) - block->first;
    return span;
}

#endif
