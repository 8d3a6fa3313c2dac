/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear for processors: one tile of rows, with less to do than the weights take to come. Where an
 * output's weights lie side by side they go into the sums as they are transposed, in the order of
 * addresses; else, and where rows lack taps, a slice of a block is packed that stays in the first
 * level of the cache.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_LINEAR_FEW_H
#define HEED_BACKENDS_KERNELS_OPS_LINEAR_FEW_H

#include "linear_tiles.h"

/* ---- weights go into the sums as they are transposed ---- */

#if HKV_PACK == HKV_LANES
#define HK_DIRECT 1
#define HK_PAIR (16 / HKV_LANES) /* vectors of outputs: processors follow 16 of them */
/* Of weights in blocks more, or one row's sums wait for each other. */
#define HK_PAIR_BLOCKS(rows) ((rows) == 1 ? 2 * HK_PAIR : HK_PAIR)
#define HK_PAIR_MOST (2 * HK_PAIR)
#define HK_AHEAD 512            /* bytes, of each output's weights */
#define HK_LINE 64

/* Weights of HK_PAIR_MOST vectors of outputs at most, each output's from w[r] on: transposing
 * begins at even channels. */
struct hk_linear_weights {
    HK_GLOBAL const char *w[HK_PAIR_MOST * HKV_LANES];
};

/* Of the lines of HKV_LANES outputs that begin HK_AHEAD bytes behind byte `at` those that fall to
 * step k of n: lines that are asked for at once wait for each other. */
HK_INLINE void hk_linear_fetch(HK_GLOBAL const char *const *w, hk_i64 at, const int k, const int n)
{
    int r;

    HK_UNROLL
    for (r = k * HKV_LANES / n; r < (k + 1) * HKV_LANES / n; r++)
        HK_PREFETCH(w[r] + at + HK_AHEAD);
}

/* n channels of a tap: their products with `rows` rows of x join acc. A line of each
 * output is transposed at a time, for rows a power of two apart push each other out of the cache;
 * what comes behind it is fetched meanwhile. */
#define HK_LINEAR_DIRECT(NAME, name, number, elements, bytes, arg)                                 \
    HK_INLINE void hk_linear_step_##name(const struct hk_linear_weights *from, hk_i64 c,           \
                                         HK_GLOBAL const float *x, hk_i64 x_row,                   \
                                         hk_vec acc[HK_R][HK_PAIR_MOST],                           \
                                         const int rows, const int n)                              \
    {                                                                                              \
        float tile[HK_PAIR][HK_LINE / bytes * HKV_LANES];                                          \
        int g, k, i;                                                                               \
                                                                                                   \
        HK_UNROLL                                                                                  \
        for (g = 0; g < HK_PAIR; g++) {                                                            \
            HK_UNROLL                                                                              \
            for (k = 0; k < n; k += HKV_CHANNELS_##NAME)                                           \
                hkv_columns_##name(                                                                \
                    (HK_GLOBAL const hk_stored_##name *const *)from->w + g * HKV_LANES, c + k,     \
                    tile[g] + k * HKV_LANES, HKV_LANES);                                           \
        }                                                                                          \
        HK_UNROLL                                                                                  \
        for (k = 0; k < n; k++) {                                                                  \
            hk_vec b[HK_PAIR];                                                                     \
                                                                                                   \
            HK_UNROLL                                                                              \
            for (g = 0; g < HK_PAIR; g++) {                                                        \
                b[g] = hkv_load(tile[g] + k * HKV_LANES);                                          \
                hk_linear_fetch(from->w + g * HKV_LANES, c * bytes, k, n);                         \
            }                                                                                      \
            HK_UNROLL                                                                              \
            for (i = 0; i < rows; i++) {                                                           \
                const hk_vec a = hkv_set(x[i * x_row + k]);                                        \
                                                                                                   \
                HK_UNROLL                                                                          \
                for (g = 0; g < HK_PAIR; g++)                                                      \
                    acc[i][g] = hkv_fma(a, b[g], acc[i][g]);                                       \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    HK_INLINE void hk_linear_direct_##name(const struct hk_linear_weights *from, hk_i64 n,         \
                                           HK_GLOBAL const float *x, hk_i64 x_row,                 \
                                           hk_vec acc[HK_R][HK_PAIR_MOST], const int rows)         \
    {                                                                                              \
        hk_i64 t = 0;                                                                              \
        int g, k, i;                                                                               \
                                                                                                   \
        for (; t + HK_LINE / bytes <= n; t += HK_LINE / bytes)                                     \
            hk_linear_step_##name(from, t, x + t, x_row, acc, rows, HK_LINE / bytes);              \
        for (; t + HKV_CHANNELS_##NAME <= n; t += HKV_CHANNELS_##NAME)                             \
            hk_linear_step_##name(from, t, x + t, x_row, acc, rows, HKV_CHANNELS_##NAME);          \
        for (; t < n; t++) {                                                                       \
            for (g = 0; g < HK_PAIR; g++) {                                                        \
                float part[HKV_LANES];                                                             \
                                                                                                   \
                for (k = 0; k < HKV_LANES; k++)                                                    \
                    part[k] = hk_element(HK_##NAME, from->w[g * HKV_LANES + k], t);                \
                for (i = 0; i < rows; i++)                                                         \
                    acc[i][g] = hkv_fma(hkv_set(x[i * x_row + t]), hkv_load(part), acc[i][g]);     \
            }                                                                                      \
        }                                                                                          \
    }
HK_FLOAT_TYPES(HK_LINEAR_DIRECT, 0)
#undef HK_LINEAR_DIRECT

#if !defined HKV_BYTES
struct hk_linear_bytes {
    float weights[HK_BLOCK_CHANNELS * HKV_LANES];
};

HK_FN void hk_linear_bytes_get(hk_u32 dtype, HK_GLOBAL const char *const *rows, hk_i64 c,
                               struct hk_linear_bytes *out)
{
    hk_linear_block_columns(dtype, rows, c, out->weights, HKV_LANES);
}

HK_INLINE hk_vec hk_linear_bytes_weights(const struct hk_linear_bytes *from, hk_i64 t,
                                         const int minima)
{
    (void)minima;
    return hkv_load(from->weights + t * HKV_LANES);
}
#endif

/* The same of weights in blocks, of `vecs` vectors of outputs, a block of each output at a time. */
HK_INLINE void hk_linear_direct_blocks(hk_u32 dtype, const struct hk_linear_weights *from, hk_i64 n,
                                       HK_GLOBAL const float *x, hk_i64 x_row,
                                       hk_vec acc[HK_R][HK_PAIR_MOST], const int rows,
                                       const int vecs, const int minima)
{
    const hk_i64 bytes = hk_size(dtype);
    struct hk_linear_bytes tile[HK_PAIR_MOST];
    hk_i64 t;
    int g, k, i;

    for (t = 0; t < n; t += HK_BLOCK_CHANNELS, x += HK_BLOCK_CHANNELS) {
        HK_UNROLL
        for (g = 0; g < vecs; g++) {
            hk_linear_bytes_get(dtype, from->w + g * HKV_LANES, t, &tile[g]);
            hk_linear_fetch(from->w + g * HKV_LANES, t / HK_BLOCK_CHANNELS * bytes, 0, 1);
        }
        for (k = 0; k < HK_BLOCK_CHANNELS; k++) {
            hk_vec b[HK_PAIR_MOST];

            HK_UNROLL
            for (g = 0; g < vecs; g++)
                b[g] = hk_linear_bytes_weights(&tile[g], k, minima);
            HK_UNROLL
            for (i = 0; i < rows; i++) {
                const hk_vec a = hkv_set(x[i * x_row + k]);

                HK_UNROLL
                for (g = 0; g < vecs; g++)
                    acc[i][g] = hkv_fma(a, b[g], acc[i][g]);
            }
        }
    }
}
#endif

#if HK_DIRECT
/* Some terms, blocks of them, of rows that have all of their taps: `x` has them, x_row floats from
 * row to row. */
struct hk_linear_terms {
    const struct hk_linear_task *task;
    HK_GLOBAL const float *x;
    HK_GLOBAL float *sums;
    hk_i64 x_row, first, end;
};

/* The terms of the block that begins at term u, with `vecs` vectors of outputs from output o of the
 * task on. */
HK_INLINE void hk_linear_pair_block(const struct hk_linear_terms *terms, hk_i64 o, hk_i64 u,
                                    hk_vec acc[HK_R][HK_PAIR_MOST], const int rows, const int vecs,
                                    const int blocks)
{
    const struct hk_linear_task *task = terms->task;
    const hk_i64 end = hk_min(u + HK_TERMS, terms->end), size = hk_size(task->w_dtype);
    struct hk_linear_weights from;
    struct hk_linear_run run;
    int i;

    for (; u < end; u += run.count) {
        HK_GLOBAL const float *x = terms->x + (u - terms->first);

        run = hk_linear_run_get(task->numbers, u, end);
        for (i = 0; i < vecs * HKV_LANES; i++)
            from.w[i] = task->w +
                        ((task->at + hk_min(o + i, task->outs - 1)) * task->w_out +
                         run.tap * task->w_tap) *
                            size +
                        hk_channel_bytes(task->w_dtype, run.channel);
        if (blocks && HK_HAS_MINIMA(task->w_dtype)) {
            hk_linear_direct_blocks(task->w_dtype, &from, run.count, x, terms->x_row, acc, rows,
                                    vecs, 1);
            continue;
        }
        if (blocks) {
            hk_linear_direct_blocks(task->w_dtype, &from, run.count, x, terms->x_row, acc, rows,
                                    vecs, 0);
            continue;
        }
#define HK_DIRECT_AS(NAME, name, number, elements, bytes, arg)                                     \
    if (task->w_dtype == HK_##NAME)                                                                \
        hk_linear_direct_##name(&from, run.count, x, terms->x_row, acc, rows);                     \
    else
        HK_FLOAT_TYPES(HK_DIRECT_AS, 0)
#undef HK_DIRECT_AS
        HK_UNREACHABLE();
    }
}

HK_INLINE void hk_linear_pair(const struct hk_linear_terms *terms, hk_i64 o, const int rows,
                              const int vecs, const int blocks)
{
    const hk_i64 pitch = terms->task->numbers->lanes.width;
    hk_i64 u;
    int i, g;

    for (u = terms->first; u < terms->end; u += HK_TERMS) {
        hk_vec acc[HK_R][HK_PAIR_MOST];

        HK_UNROLL
        for (i = 0; i < rows; i++) {
            HK_UNROLL
            for (g = 0; g < vecs; g++)
                acc[i][g] = hkv_set(0.0f);
        }
        hk_linear_pair_block(terms, o, u, acc, rows, vecs, blocks);
        HK_UNROLL
        for (i = 0; i < rows; i++) {
            HK_UNROLL
            for (g = 0; g < vecs; g++) {
                HK_GLOBAL float *const to = terms->sums + o + i * pitch + g * HKV_LANES;

                hkv_store(to, hkv_add(hkv_load(to), acc[i][g]));
            }
        }
    }
}

#define HK_LINEAR_PAIRS(name, rows)                                                                \
    HK_NOINLINE void hk_linear_pairs_##name(const struct hk_linear_terms *terms)                   \
    {                                                                                              \
        const hk_i64 outs = terms->task->outs;                                                     \
        hk_i64 o;                                                                                  \
                                                                                                   \
        if (HK_IN_BLOCKS(terms->task->w_dtype)) {                                                  \
            for (o = 0; o < outs; o += HK_PAIR_BLOCKS(rows) * HKV_LANES)                           \
                hk_linear_pair(terms, o, rows, HK_PAIR_BLOCKS(rows), 1);                           \
        } else {                                                                                   \
            for (o = 0; o < outs; o += HK_PAIR * HKV_LANES)                                        \
                hk_linear_pair(terms, o, rows, HK_PAIR, 0);                                        \
        }                                                                                          \
    }
HK_LINEAR_PAIRS(1, 1)
HK_LINEAR_PAIRS(2, 2)
HK_LINEAR_PAIRS(4, 4)
HK_LINEAR_PAIRS(most, HK_R)
#undef HK_LINEAR_PAIRS

/* All outputs of the task. */
HK_FN void hk_linear_pairs(const struct hk_linear_terms *terms)
{
    const hk_i64 rows = terms->task->strip.count;

    if (rows == 1)
        hk_linear_pairs_1(terms);
    else if (rows == 2)
        hk_linear_pairs_2(terms);
    else if (rows <= 4)
        hk_linear_pairs_4(terms);
    else
        hk_linear_pairs_most(terms);
}

/* A block; 0: its rows or weights are other ones. */
HK_FN int hk_linear_block_directly(const struct hk_linear_block *block)
{
    struct hk_linear_terms terms;

    if (block->task->w_channel != 1 ||
        !hk_linear_full(block, 0, block->task->strip.count))
        return 0;
    terms.task = block->task;
    terms.x = block->room->x;
    terms.x_row = HK_TERMS;
    terms.sums = block->room->sums;
    terms.first = block->first;
    terms.end = block->end;
    hk_linear_pairs(&terms);
    return 1;
}

/* All blocks, where all rows of the task find room: weights are read in the order of addresses. */
HK_FN int hk_linear_directly(const struct hk_linear_block *all)
{
    const struct hk_linear_task *task = all->task;
    const hk_i64 n = task->strip.count, x_row = (all->end + 15) / 16 * 16;
    const hk_i64 padded = n == 3 ? 4 : n > 4 ? HK_R : n;
    struct hk_linear_terms terms;
    hk_i64 i, t;

    if (n > HK_R || task->w_channel != 1 ||
        padded * x_row + HKV_LANES > task->numbers->room * HK_TERMS || !hk_linear_full(all, 0, n))
        return 0;
    for (i = 0; i < n; i++)
        hk_linear_row_widen(task, task->strip.first + i, 0, all->end, all->room->x + i * x_row);
    for (i = n; i < padded; i++) {
        for (t = 0; t < x_row; t += HKV_LANES)
            hkv_store(all->room->x + i * x_row + t, hkv_set(0.0f));
    }
    terms.task = task;
    terms.x = all->room->x;
    terms.x_row = x_row;
    terms.sums = all->room->sums;
    terms.first = 0;
    terms.end = all->end;
    hk_linear_pairs(&terms);
    return 1;
}
#else
HK_FN int hk_linear_block_directly(const struct hk_linear_block *block)
{
    (void)block;
    return 0;
}

HK_FN int hk_linear_directly(const struct hk_linear_block *all)
{
    (void)all;
    return 0;
}
#endif

/* ---- by slices ---- */

/* One tile of rows with a panel of HK_WIDE outputs from output o of the task on. */
HK_FN void hk_linear_panel_few(const struct hk_linear_block *block, hk_i64 o)
{
    const struct hk_linear_task *task = block->task;
    const struct hk_linear_room *room = block->room;
    const hk_i64 rows = task->strip.count;
    const int full = hk_linear_full(block, 0, rows);
    struct hk_linear_panel panel;
    hk_i64 u, i, k;

    panel.first = task->at + o;
    panel.there = hk_min(task->outs - o, HK_WIDE);
    panel.wide = panel.pitch = HK_WIDE;
    hk_linear_chain_zero(room->chain, HK_R);
    for (u = block->first; u < block->end; u += HK_SLICE) {
        const hk_i64 end = hk_min(u + HK_SLICE, block->end);

        hk_linear_pack(task, &panel, u, end, room->panel);
        if (full)
            hk_linear_few(room->x + u - block->first, room->panel, end - u, room->chain, rows);
        for (i = 0; !full && i < rows; i++) {
            const struct hk_linear_span span = hk_linear_cut(block, i, u, end);

            for (k = 0; span.first < span.end && k < HK_WIDE; k += HKV_LANES)
                hk_linear_more(room->x + i * HK_TERMS + span.first,
                               room->panel + (span.first - (u - block->first)) * HK_WIDE + k,
                               HK_WIDE, span.end - span.first, room->chain + i * HK_WIDE + k, 1,
                               1);
        }
    }
    for (i = 0; i < rows; i++) {
        const struct hk_linear_span span = hk_linear_cut(block, i, block->first, block->end);

        if (span.first < span.end)
            hk_linear_chain_join(room->chain + i * HK_WIDE,
                                 room->sums + i * task->numbers->lanes.width + o, HK_WIDE);
    }
}

#endif
