/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear for processors: a worker's scratch, and what is brought there for a block of terms: rows
 * of x, widened, and weights of a panel of outputs, transposed, so that vectors hold different
 * outputs.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_LINEAR_PACK_H
#define HEED_BACKENDS_KERNELS_OPS_LINEAR_PACK_H

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
    room->bias = room->sums + numbers->room * numbers->lanes.width;
}

/* ---- terms ---- */

/* Terms of one tap: neighbours in x, and in w as far as its channels are. */
struct hk_linear_run {
    hk_i64 tap, channel, count;
};

/* Those from term u on, and before `end`. */
HK_FN struct hk_linear_run hk_linear_run_get(HK_GLOBAL const struct hk_linear *numbers, hk_i64 u,
                                             hk_i64 end)
{
    struct hk_linear_run run;

    run.tap = u / numbers->in;
    run.channel = u - run.tap * numbers->in;
    run.count = hk_min(numbers->in - run.channel, end - u);
    return run;
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

#if defined HKV_BYTES
#if HKV_PACK != HKV_LANES
#error "bytes are transposed by vectors of rows"
#endif

/* Scales of the blocks `at` bytes from the rows' beginnings, or their minima (1). */
HK_INLINE hk_vec hk_linear_halves(HK_GLOBAL const char *const *rows, hk_i64 at, const int which)
{
    hk_u16 bits[HKV_LANES];
    int r;

    HK_UNROLL
    for (r = 0; r < HKV_LANES; r++)
        bits[r] = hk_block_bits((HK_GLOBAL const hk_u8 *)rows[r] + at, which);
    return hkv_load_f16(bits);
}

/* A block of HKV_LANES outputs: their numbers as bytes [channel][output], a quarter of what floats
 * take; what these are multiplied with; of types with minima what is added then. */
struct hk_linear_bytes {
    hk_vec scale, low;
    hk_i8 bytes[HK_BLOCK_CHANNELS * HKV_LANES];
};

/* That of channel c. */
HK_NOINLINE void hk_linear_bytes_get(hk_u32 dtype, HK_GLOBAL const char *const *rows, hk_i64 c,
                                     struct hk_linear_bytes *out)
{
    const hk_i64 at = hk_channel_bytes(dtype, c);

    out->scale = hk_linear_halves(rows, at, 0);
    out->low = HK_HAS_MINIMA(dtype) ? hk_linear_halves(rows, at, 1) : hkv_set(0.0f);
#define HK_COLUMNS(NAME, name, number, elements, size, arg)                                        \
    if (dtype == HK_##NAME) {                                                                      \
        hkv_bytes_##name(rows, c / HK_BLOCK_CHANNELS, out->bytes);                                 \
    } else
    HK_BLOCK_TYPES(HK_COLUMNS, 0)
#undef HK_COLUMNS
    HK_UNREACHABLE();
}

/* Its weights of channel t. */
HK_INLINE hk_vec hk_linear_bytes_weights(const struct hk_linear_bytes *from, hk_i64 t,
                                         const int minima)
{
    const hk_vec z = hkv_load_i8(from->bytes + t * HKV_LANES);

    return minima ? hkv_fma(z, from->scale, from->low) : hkv_mul(z, from->scale);
}

/* A block of HKV_PACK outputs, from channel c on: their numbers, each times its scale, and where
 * the type has minima plus that. */
HK_NOINLINE void hk_linear_block_columns(hk_u32 dtype, HK_GLOBAL const char *const *rows, hk_i64 c,
                                         HK_GLOBAL float *out, hk_i64 pitch)
{
    const int minima = HK_HAS_MINIMA(dtype);
    struct hk_linear_bytes bytes;
    hk_i64 t;

    hk_linear_bytes_get(dtype, rows, c, &bytes);
    for (t = 0; t < HK_BLOCK_CHANNELS; t++)
        hkv_store(out + t * pitch, hk_linear_bytes_weights(&bytes, t, minima));
}
#else
/* A block of HKV_PACK outputs, from channel c on: their numbers, each times its scale, and where
 * the type has minima plus that. */
HK_NOINLINE void hk_linear_block_columns(hk_u32 dtype, HK_GLOBAL const char *const *rows, hk_i64 c,
                                         HK_GLOBAL float *out, hk_i64 pitch)
{
    const int minima = HK_HAS_MINIMA(dtype);
    float scale[HKV_PACK], low[HKV_PACK];
    hk_i64 t;
    int r;

#define HK_COLUMNS(NAME, name, number, elements, bytes, arg)                                       \
    if (dtype == HK_##NAME) {                                                                      \
        for (t = 0; t < HK_BLOCK_CHANNELS; t += HKV_CHANNELS_##NAME)                               \
            hkv_columns_##name(rows, c + t, out + t * pitch, pitch);                               \
    } else
    HK_BLOCK_TYPES(HK_COLUMNS, 0)
#undef HK_COLUMNS
    HK_UNREACHABLE();
    for (r = 0; r < HKV_PACK; r++) {
        scale[r] = hk_channel_half(dtype, rows[r], c, 0);
        low[r] = minima ? hk_channel_half(dtype, rows[r], c, 1) : 0.0f;
    }
    for (t = 0; t < HK_BLOCK_CHANNELS; t++, out += pitch) {
        for (r = 0; r < HKV_PACK; r++)
            out[r] = minima ? hk_fma(out[r], scale[r], low[r]) : hk_mul(out[r], scale[r]);
    }
}
#endif

/* n channels of HKV_PACK outputs, which begin at rows[r]: transposing begins at even channels, and
 * blocks are whole. */
HK_INLINE void hk_linear_columns(hk_u32 dtype, HK_GLOBAL const char *const *rows, hk_i64 n,
                                 HK_GLOBAL float *out, hk_i64 pitch)
{
    hk_i64 c = 0;
    int r;

#define HK_COLUMNS(NAME, name, number, elements, bytes, arg)                                       \
    if (dtype == HK_##NAME) {                                                                      \
        for (; c + HKV_CHANNELS_##NAME <= n;                                                       \
             c += HKV_CHANNELS_##NAME, out += HKV_CHANNELS_##NAME * pitch)                         \
            hkv_columns_##name((HK_GLOBAL const hk_stored_##name *const *)rows, c, out, pitch);    \
    } else
    HK_FLOAT_TYPES(HK_COLUMNS, 0)
#undef HK_COLUMNS
    {
        for (; c < n; c += HK_BLOCK_CHANNELS, out += HK_BLOCK_CHANNELS * pitch)
            hk_linear_block_columns(dtype, rows, c, out, pitch);
    }
    for (; c < n; c++, out += pitch) {
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
                rows[r] = task->w +
                          (hk_min(panel->first + o + r, last) * task->w_out +
                           run.tap * task->w_tap) *
                              size +
                          hk_channel_bytes(dtype, run.channel);
            hk_linear_columns(dtype, rows, run.count, out + o, panel->pitch);
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
            hkv_store(out + o, o < panel->there
                                   ? hk_channels_read(dtype, from, task->w_out, o, panel->there)
                                   : hkv_set(0.0f));
    }
}

HK_NOINLINE void hk_linear_pack(const struct hk_linear_task *task,
                                const struct hk_linear_panel *panel, hk_i64 u, hk_i64 end,
                                HK_GLOBAL float *out)
{
#define HK_PACK_AS(type) hk_linear_pack_rows(type, task, panel, u, end, out)
    if (HK_IN_BLOCKS(task->w_dtype))
        HK_PACK_AS(task->w_dtype);
    else if (task->w_channel == 1)
        HK_BY(HK_FLOAT_TYPES, task->w_dtype, HK_PACK_AS);
#undef HK_PACK_AS
#define HK_PACK_AS(type) hk_linear_pack_any(type, task, panel, u, end, out)
    else
        HK_BY(HK_FLOAT_TYPES, task->w_dtype, HK_PACK_AS);
#undef HK_PACK_AS
}

#endif
