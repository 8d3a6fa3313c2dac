/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear for processors: register tiles of a few rows and a panel of outputs, a block of terms at a
 * time. For a block the rows of the task are widened into the worker's scratch, and the weights of
 * each panel are transposed there, so that vectors hold different outputs. Few rows are one tile,
 * with less to do than the weights take to come: then slices of a block are transposed that stay
 * in the first level of the cache.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_LINEAR_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_LINEAR_LANES_H

#include "../products.h"

#define HK_TERMS HK_LINEAR_BLOCK
#define HK_WIDE HK_LINEAR_WIDTH /* outputs of a panel for few rows */
#define HK_SLICE 64             /* terms of one */

#if HK_WIDE % HK_PANEL != 0
#error "the widest panel is whole panels"
#endif

/* A worker's scratch. */
struct hk_linear_room {
    HK_GLOBAL float *x;     /* [rows][HK_TERMS] */
    HK_GLOBAL float *panel; /* [HK_TERMS][HK_PANEL] or [HK_SLICE][HK_WIDE] */
    HK_GLOBAL float *chain; /* [HK_R][HK_WIDE], of few rows */
    HK_GLOBAL float *sums;  /* [rows][width] */
    HK_GLOBAL float *bias;  /* [width] */
};

HK_FN void hk_linear_room_get(const struct hk_call *call, hk_i64 group,
                              HK_GLOBAL const struct hk_linear *numbers,
                              struct hk_linear_room *room)
{
    room->panel = (HK_GLOBAL float *)hk_scratch(call, group);
    room->chain = room->panel + HK_TERMS * HK_WIDE;
    room->x = room->chain + 16 * HK_WIDE;
    room->sums = room->x + numbers->room * HK_TERMS;
    room->bias = room->sums + numbers->room * numbers->width;
}

/* ---- rows of x ---- */

HK_INLINE void hk_linear_widen(hk_u32 dtype, HK_GLOBAL const char *row, hk_i64 step, hk_i64 c,
                               hk_i64 n, hk_i64 in, HK_GLOBAL float *to)
{
    hk_i64 t;

    for (t = 0; t < n; t += HKV_LANES)
        hkv_store(to + t, hk_channels_read(dtype, row, step, c + t, in));
}

/* Terms [u, end) of a row; those of absent taps are zeros, which are in no sum. What is written
 * behind them is a row's that comes later. */
HK_FN void hk_linear_row_widen(const struct hk_linear_task *task, hk_i64 i, hk_i64 u, hk_i64 end,
                               HK_GLOBAL float *to)
{
    HK_GLOBAL const struct hk_linear *numbers = task->numbers;
    struct hk_linear_run run;
    hk_i64 t;

    for (; u < end; u += run.count, to += run.count) {
        hk_i64 row;

        run = hk_linear_run_get(numbers, u, end);
        row = i * numbers->stride - numbers->before + run.tap;
        if (row < 0 || row >= numbers->n) {
            for (t = 0; t < run.count; t++)
                to[t] = 0.0f;
            continue;
        }
#define HK_WIDEN(type)                                                                             \
    hk_linear_widen(type, hk_row(&task->x, row), task->x.channel, run.channel, run.count,          \
                    numbers->in, to)
        HK_BY(HK_FLOAT_TYPES, task->x.dtype, HK_WIDEN);
#undef HK_WIDEN
    }
}

/* Rows [from, n) of the task, and where these are its last ones zeros up to a whole tile. */
HK_NOINLINE void hk_linear_rows_widen(const struct hk_linear_task *task, hk_i64 from, hk_i64 n,
                                      hk_i64 u, hk_i64 end, HK_GLOBAL float *to)
{
    const hk_i64 all = n == task->strip.count ? (n + HK_R - 1) / HK_R * HK_R : n;
    hk_i64 i, t;

    for (i = from; i < n; i++)
        hk_linear_row_widen(task, task->strip.first + i, u, end, to + i * HK_TERMS);
    for (i = n; i < all; i++) {
        for (t = 0; t < HK_TERMS; t += HKV_LANES)
            hkv_store(to + i * HK_TERMS + t, hkv_set(0.0f));
    }
}

/* ---- panels of w ---- */

/* Outputs of a panel: `there` from `first` on, `wide` vectors' lanes; those behind the last are
 * anything finite or not, as nothing is made of them. */
struct hk_linear_panel {
    hk_i64 first, there, wide, pitch;
};

/* Channels [c, c + n) of HKV_PACK outputs, whose channels of that tap begin at rows[r]. */
HK_INLINE void hk_linear_columns(hk_u32 dtype, HK_GLOBAL const char *const *rows, hk_i64 c,
                                 hk_i64 n, HK_GLOBAL float *out, hk_i64 pitch)
{
    const hk_i64 end = c + n;
    int r;

#define HK_COLUMNS(NAME, name, number, elements, bytes, arg)                                       \
    if (dtype == HK_##NAME) {                                                                      \
        for (; c + HKV_CHANNELS_##NAME <= end;                                                     \
             c += HKV_CHANNELS_##NAME, out += HKV_CHANNELS_##NAME * pitch)                         \
            hkv_columns_##name((HK_GLOBAL const hk_stored_##name *const *)rows, c, out, pitch);    \
    } else
    HK_FLOAT_TYPES(HK_COLUMNS, 0)
#undef HK_COLUMNS
    HK_UNREACHABLE();
    for (; c < end; c++, out += pitch) {
        for (r = 0; r < HKV_PACK; r++)
            out[r] = hk_element(dtype, rows[r], c);
    }
}

/* Terms [u, end) where the channels of an output lie side by side. */
HK_INLINE void hk_linear_pack_rows(hk_u32 dtype, const struct hk_linear_task *task,
                                   const struct hk_linear_panel *panel, hk_i64 u, hk_i64 end,
                                   HK_GLOBAL float *out)
{
    const hk_i64 size = hk_size(dtype), last = panel->first + panel->there - 1;
    HK_GLOBAL const char *rows[HKV_PACK];
    struct hk_linear_run run;
    hk_i64 o;
    int r;

    for (; u < end; u += run.count, out += run.count * panel->pitch) {
        run = hk_linear_run_get(task->numbers, u, end);
        for (o = 0; o < panel->wide; o += HKV_PACK) {
            HK_UNROLL
            for (r = 0; r < HKV_PACK; r++)
                rows[r] = task->w + (hk_min(panel->first + o + r, last) * task->w_out +
                                     run.tap * task->w_tap) *
                                        size;
            hk_linear_columns(dtype, rows, run.channel, run.count, out + o, panel->pitch);
        }
    }
}

/* Terms [u, end) where outputs lie side by side, or nothing does. */
HK_INLINE void hk_linear_pack_any(hk_u32 dtype, const struct hk_linear_task *task,
                                  const struct hk_linear_panel *panel, hk_i64 u, hk_i64 end,
                                  HK_GLOBAL float *out)
{
    const hk_i64 size = hk_size(dtype);

    for (; u < end; u++, out += panel->pitch) {
        const struct hk_linear_run run = hk_linear_run_get(task->numbers, u, end);
        HK_GLOBAL const char *from =
            task->w + (panel->first * task->w_out + run.tap * task->w_tap +
                       run.channel * task->w_channel) *
                          size;
        hk_i64 o;

        for (o = 0; o < panel->wide; o += HKV_LANES)
            hkv_store(out + o, hk_channels_read(dtype, from, task->w_out, o, panel->there));
    }
}

HK_NOINLINE void hk_linear_pack(const struct hk_linear_task *task,
                                const struct hk_linear_panel *panel, hk_i64 u, hk_i64 end,
                                HK_GLOBAL float *out)
{
#define HK_PACK_AS(type) hk_linear_pack_rows(type, task, panel, u, end, out)
    if (task->w_channel == 1)
        HK_BY(HK_FLOAT_TYPES, task->w_dtype, HK_PACK_AS);
#undef HK_PACK_AS
#define HK_PACK_AS(type) hk_linear_pack_any(type, task, panel, u, end, out)
    else
        HK_BY(HK_FLOAT_TYPES, task->w_dtype, HK_PACK_AS);
#undef HK_PACK_AS
}

/* ---- sums ---- */

/* The sum of a block joins the others'. */
HK_INLINE void hk_linear_join(hk_vec acc[HK_R][HK_TILE_VECS], HK_GLOBAL float *sums, hk_i64 pitch,
                              const int rows, const int vecs)
{
    int i, u;

    HK_UNROLL
    for (i = 0; i < rows; i++) {
        HK_UNROLL
        for (u = 0; u < vecs; u++) {
            HK_GLOBAL float *const to = sums + i * pitch + u * HKV_LANES;

            hkv_store(to, hkv_add(hkv_load(to), acc[i][u]));
        }
    }
}

/* All tiles of a panel, n terms. */
#define HK_LINEAR_TILES(name, vecs)                                                                \
    HK_NOINLINE void hk_linear_tiles_##name(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 x_row,    \
                                            HK_GLOBAL const float *HK_RESTRICT panel, hk_i64 n,    \
                                            HK_GLOBAL float *HK_RESTRICT sums, hk_i64 pitch,       \
                                            hk_i64 tiles)                                          \
    {                                                                                              \
        for (; tiles > 0; tiles--, x += HK_R * x_row, sums += HK_R * pitch) {                      \
            hk_vec acc[HK_R][HK_TILE_VECS];                                                        \
                                                                                                   \
            hk_product_sums(x, x_row, panel, n, acc, vecs);                                        \
            hk_linear_join(acc, sums, pitch, HK_R, vecs);                                          \
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

/* ---- few rows: weights go into the sums as they are transposed ---- */

#if HKV_PACK == HKV_LANES
#define HK_DIRECT 1
#define HK_PAIR 2               /* vectors of outputs side by side, whose chains overlap */
#define HK_AHEAD 512            /* bytes, of each output's weights */
#define HK_LINE 64

/* Weights of HK_PAIR vectors of outputs, each output's from w[r] on. */
struct hk_linear_weights {
    HK_GLOBAL const char *w[HK_PAIR * HKV_LANES];
};

/* The lines behind those that begin among `bytes` bytes from `at` on. */
HK_INLINE void hk_linear_fetch(HK_GLOBAL const char *const *w, hk_i64 at, const hk_i64 bytes)
{
    int i;

    if (at % HK_LINE >= bytes)
        return;
    HK_UNROLL
    for (i = 0; i < HKV_LANES; i++)
        HK_PREFETCH(w[i] + at + HK_AHEAD);
}

/* Channels [c, c + n) of a tap: their products with `rows` rows of x join acc. Meanwhile what comes
 * behind them is fetched. */
#define HK_LINEAR_DIRECT(NAME, name, number, elements, bytes, arg)                                 \
    HK_INLINE void hk_linear_direct_##name(const struct hk_linear_weights *from, hk_i64 c,         \
                                           hk_i64 n, HK_GLOBAL const float *x, hk_i64 x_row,       \
                                           hk_vec acc[HK_R][HK_PAIR], const int rows)              \
    {                                                                                              \
        hk_i64 t = 0;                                                                              \
        int g, k, i;                                                                               \
                                                                                                   \
        for (; t + HKV_CHANNELS_##NAME <= n; t += HKV_CHANNELS_##NAME) {                           \
            HK_UNROLL                                                                              \
            for (g = 0; g < HK_PAIR; g++) {                                                        \
                HK_GLOBAL const char *const *w = from->w + g * HKV_LANES;                          \
                float tile[HKV_CHANNELS_##NAME * HKV_LANES];                                       \
                                                                                                   \
                hk_linear_fetch(w, (c + t) * bytes, HKV_CHANNELS_##NAME * bytes);                  \
                hkv_columns_##name((HK_GLOBAL const hk_stored_##name *const *)w, c + t, tile,      \
                                   HKV_LANES);                                                     \
                HK_UNROLL                                                                          \
                for (k = 0; k < HKV_CHANNELS_##NAME; k++) {                                        \
                    const hk_vec b = hkv_load(tile + k * HKV_LANES);                               \
                                                                                                   \
                    HK_UNROLL                                                                      \
                    for (i = 0; i < rows; i++)                                                     \
                        acc[i][g] = hkv_fma(hkv_set(x[i * x_row + t + k]), b, acc[i][g]);          \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        for (; t < n; t++) {                                                                       \
            for (g = 0; g < HK_PAIR; g++) {                                                        \
                float part[HKV_LANES];                                                             \
                                                                                                   \
                for (k = 0; k < HKV_LANES; k++)                                                    \
                    part[k] = hk_element(HK_##NAME, from->w[g * HKV_LANES + k], c + t);            \
                for (i = 0; i < rows; i++)                                                         \
                    acc[i][g] = hkv_fma(hkv_set(x[i * x_row + t]), hkv_load(part), acc[i][g]);     \
            }                                                                                      \
        }                                                                                          \
    }
HK_FLOAT_TYPES(HK_LINEAR_DIRECT, 0)
#undef HK_LINEAR_DIRECT
#endif

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

/* A row that has no tap for some terms: it has sums of its own for vectors of the panel. */
HK_NOINLINE void hk_linear_row(const struct hk_linear_block *block, hk_i64 i,
                               const struct hk_linear_panel *panel, HK_GLOBAL float *sums)
{
    const struct hk_linear_span span = hk_linear_cut(block, i, block->first, block->end);
    HK_GLOBAL float *const chain = block->room->chain;
    hk_i64 o;

    if (span.first >= span.end)
        return;
    hk_linear_chain_zero(chain, 1);
    for (o = 0; o < panel->wide; o += HKV_LANES)
        hk_linear_more(block->room->x + i * HK_TERMS + span.first,
                       block->room->panel + span.first * HK_PANEL + o, HK_PANEL,
                       span.end - span.first, chain + o, 1, 1);
    hk_linear_chain_join(chain, sums, panel->wide);
}

/* Do the rows of x lie as tiles read them, and the block's terms side by side? */
HK_FN int hk_linear_in_place(const struct hk_linear_block *block)
{
    HK_GLOBAL const struct hk_linear *numbers = block->task->numbers;

    return block->task->x.dtype == HK_F32 && block->task->x.channel == 1 &&
           (numbers->taps == 1 || numbers->in % HK_TERMS == 0);
}

/* The rows of a block of many: those that are not read in place are widened. */
HK_FN void hk_linear_rows_find(struct hk_linear_block *block)
{
    const struct hk_linear_task *task = block->task;
    HK_GLOBAL const struct hk_linear *numbers = task->numbers;
    const hk_i64 count = task->strip.count;

    block->full = 0;
    while (block->full + HK_R <= count && !hk_linear_full(block, block->full, HK_R))
        block->full += HK_R;
    block->full_end = block->full + (count - block->full) / HK_R * HK_R;
    while (block->full_end > block->full &&
           !hk_linear_full(block, block->full_end - HK_R, HK_R))
        block->full_end -= HK_R;
    block->x = block->room->x + block->full * HK_TERMS;
    block->x_row = HK_TERMS;
    if (!hk_linear_in_place(block)) {
        hk_linear_rows_widen(task, 0, count, block->first, block->end, block->room->x);
        return;
    }
    if (block->full < block->full_end) {
        const struct hk_linear_run run = hk_linear_run_get(numbers, block->first, block->end);
        const hk_i64 row =
            (task->strip.first + block->full) * numbers->stride - numbers->before + run.tap;

        block->x = (HK_GLOBAL const float *)hk_row(&task->x, row) + run.channel;
        block->x_row = numbers->stride * task->x.row / (hk_i64)sizeof(float);
    }
    hk_linear_rows_widen(task, 0, block->full, block->first, block->end, block->room->x);
    hk_linear_rows_widen(task, block->full_end, count, block->first, block->end, block->room->x);
}

/* Tiles of rows from row i of the task on, which are read at x, with the panel. */
HK_FN void hk_linear_tiles(const struct hk_linear_block *block, HK_GLOBAL const float *x,
                           hk_i64 x_row, const struct hk_linear_panel *panel,
                           HK_GLOBAL float *sums, hk_i64 tiles)
{
    const hk_i64 n = block->end - block->first, pitch = block->task->numbers->width;
    HK_GLOBAL const float *const from = block->room->panel;

#if HKV_TILE > 1
    hk_i64 k;

    for (k = 0; panel->wide < HK_PANEL && k < panel->wide; k += HKV_LANES)
        hk_linear_tiles_one(x, x_row, from + k, n, sums + k, pitch, tiles);
#endif
    if (panel->wide == HK_PANEL)
        hk_linear_tiles_whole(x, x_row, from, n, sums, pitch, tiles);
}

/* Rows i to end of the task, a tile or a row at a time. */
HK_FN void hk_linear_edge(const struct hk_linear_block *block, hk_i64 i, hk_i64 end,
                          const struct hk_linear_panel *panel, HK_GLOBAL float *sums)
{
    const hk_i64 pitch = block->task->numbers->width;
    hk_i64 k;

    for (; i < end; i += HK_R) {
        const hk_i64 rows = hk_min(end - i, HK_R);

        if (hk_linear_full(block, i, rows))
            hk_linear_tiles(block, block->room->x + i * HK_TERMS, HK_TERMS, panel,
                            sums + i * pitch, 1);
        else
            for (k = i; k < i + rows; k++)
                hk_linear_row(block, k, panel, sums + k * pitch);
    }
}

/* Many rows with a panel of HK_PANEL outputs from output o of the task on. */
HK_FN void hk_linear_panel_many(const struct hk_linear_block *block, hk_i64 o)
{
    const struct hk_linear_task *task = block->task;
    HK_GLOBAL float *const sums = block->room->sums + o;
    struct hk_linear_panel panel;

    panel.first = task->at + o;
    panel.there = hk_min(task->outs - o, HK_PANEL);
    panel.wide = (panel.there + HKV_LANES - 1) / HKV_LANES * HKV_LANES;
    panel.pitch = HK_PANEL;
    hk_linear_pack(task, &panel, block->first, block->end, block->room->panel);
    hk_linear_edge(block, 0, block->full, &panel, sums);
    hk_linear_tiles(block, block->x, block->x_row, &panel,
                    sums + block->full * task->numbers->width,
                    (block->full_end - block->full) / HK_R);
    hk_linear_edge(block, block->full_end, task->strip.count, &panel, sums);
}

#if HK_DIRECT
/* Some terms, blocks of them, of rows that have all of their taps: `x` has them, x_row floats from
 * row to row. */
struct hk_linear_terms {
    const struct hk_linear_task *task;
    HK_GLOBAL const float *x;
    HK_GLOBAL float *sums;
    hk_i64 x_row, first, end;
};

/* The terms of the block that begins at term u, with HK_PAIR vectors of outputs from output o of
 * the task on. */
HK_INLINE void hk_linear_pair_block(const struct hk_linear_terms *terms, hk_i64 o, hk_i64 u,
                                    hk_vec acc[HK_R][HK_PAIR], const int rows)
{
    const struct hk_linear_task *task = terms->task;
    const hk_i64 end = hk_min(u + HK_TERMS, terms->end), size = hk_size(task->w_dtype);
    struct hk_linear_weights from;
    struct hk_linear_run run;
    int i;

    for (; u < end; u += run.count) {
        HK_GLOBAL const float *x = terms->x + (u - terms->first);

        run = hk_linear_run_get(task->numbers, u, end);
        for (i = 0; i < HK_PAIR * HKV_LANES; i++)
            from.w[i] = task->w + ((task->at + hk_min(o + i, task->outs - 1)) * task->w_out +
                                   run.tap * task->w_tap) *
                                      size;
#define HK_DIRECT_AS(NAME, name, number, elements, bytes, arg)                                     \
    if (task->w_dtype == HK_##NAME)                                                                \
        hk_linear_direct_##name(&from, run.channel, run.count, x, terms->x_row, acc, rows);        \
    else
        HK_FLOAT_TYPES(HK_DIRECT_AS, 0)
#undef HK_DIRECT_AS
        HK_UNREACHABLE();
    }
}

HK_INLINE void hk_linear_pair(const struct hk_linear_terms *terms, hk_i64 o, const int rows)
{
    const hk_i64 pitch = terms->task->numbers->width;
    hk_i64 u;
    int i, g;

    for (u = terms->first; u < terms->end; u += HK_TERMS) {
        hk_vec acc[HK_R][HK_PAIR];

        HK_UNROLL
        for (i = 0; i < rows; i++) {
            HK_UNROLL
            for (g = 0; g < HK_PAIR; g++)
                acc[i][g] = hkv_set(0.0f);
        }
        hk_linear_pair_block(terms, o, u, acc, rows);
        HK_UNROLL
        for (i = 0; i < rows; i++) {
            HK_UNROLL
            for (g = 0; g < HK_PAIR; g++) {
                HK_GLOBAL float *const to = terms->sums + o + i * pitch + g * HKV_LANES;

                hkv_store(to, hkv_add(hkv_load(to), acc[i][g]));
            }
        }
    }
}

#define HK_LINEAR_PAIRS(name, rows)                                                                \
    HK_NOINLINE void hk_linear_pairs_##name(const struct hk_linear_terms *terms)                   \
    {                                                                                              \
        hk_i64 o;                                                                                  \
                                                                                                   \
        for (o = 0; o < terms->task->outs; o += HK_PAIR * HKV_LANES)                               \
            hk_linear_pair(terms, o, rows);                                                        \
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
                                 room->sums + i * task->numbers->width + o, HK_WIDE);
    }
}

/* ---- tasks ---- */

/* Sums of nothing, to which the first block's is added without a rounding; the task's bias. */
HK_FN void hk_linear_begin(const struct hk_linear_task *task, const struct hk_linear_room *room)
{
    const hk_i64 all = (task->strip.count + HK_R - 1) / HK_R * HK_R * task->numbers->width;
    hk_i64 t;

    for (t = 0; t < all; t += HKV_LANES)
        hkv_store(room->sums + t, hkv_set(-0.0f));
    for (t = 0; task->bias && t < task->outs; t++)
        room->bias[t] = hk_element(task->bias_dtype, task->bias, (task->at + t) * task->bias_step);
}

HK_INLINE void hk_linear_end(hk_u32 dtype, const struct hk_linear_task *task,
                             const struct hk_linear_room *room)
{
    const hk_i64 end = task->at + task->outs;
    hk_i64 i, t;

    for (i = 0; i < task->strip.count; i++) {
        HK_GLOBAL const float *sums = room->sums + i * task->numbers->width;
        HK_GLOBAL const char *add = hk_row(&task->add, task->strip.first + i);
        HK_GLOBAL char *const y = hk_row(&task->y, task->strip.first + i);

        for (t = 0; t < task->outs; t += HKV_LANES) {
            hk_vec s = hkv_load(sums + t);

            if (task->bias)
                s = hkv_add(s, hkv_load(room->bias + t));
            if (add)
                s = hkv_add(s, hk_channels_read(task->add.dtype, add, task->add.channel,
                                                task->at + t, end));
            hk_channels_write(dtype, y, task->y.channel, task->at + t, end,
                              hk_linear_act(task->numbers, s));
        }
    }
}

HK_FN void hk_linear_task_run(const struct hk_linear_task *task, const struct hk_linear_room *room)
{
    struct hk_linear_block block;
    hk_i64 o;

    block.task = task;
    block.room = room;
    block.first = 0;
    block.end = task->terms;
    hk_linear_begin(task, room);
    if (hk_linear_directly(&block))
        block.first = task->terms;
    for (; block.first < task->terms; block.first = block.end) {
        block.end = hk_min(block.first + HK_TERMS, task->terms);
        if (task->strip.count <= HK_R) {
            hk_linear_rows_widen(task, 0, task->strip.count, block.first, block.end, room->x);
            if (hk_linear_block_directly(&block))
                continue;
            for (o = 0; o < task->outs; o += HK_WIDE)
                hk_linear_panel_few(&block, o);
        } else {
            hk_linear_rows_find(&block);
            for (o = 0; o < task->outs; o += HK_PANEL)
                hk_linear_panel_many(&block, o);
        }
    }
#define HK_END(type) hk_linear_end(type, task, room)
    HK_BY(HK_FLOAT_TYPES, task->y.dtype, HK_END);
#undef HK_END
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 at;

    HK_TASKS(call, group, at)
    {
        struct hk_linear_task task;
        struct hk_linear_room room;

        hk_linear_open(call, at, &task);
        hk_linear_room_get(call, group, task.numbers, &room);
        hk_linear_task_run(&task, &room);
    }
}

#endif
