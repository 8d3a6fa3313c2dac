/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows of operations whose bits are moved as they are. Elements have 4 bytes, 2 or 1; of types in
 * blocks they are the halves of a row. Each function is called by all threads of a group, which
 * share the elements.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_MOVES_H
#define HEED_BACKENDS_KERNELS_OPS_MOVES_H

#include "places.h"

/* Bytes of what is moved as one, and how many such a row of d channels has. */
HK_FN hk_i64 hk_piece_size(hk_u32 dtype)
{
    return HK_IN_BLOCKS(dtype) ? 2 : hk_size(dtype);
}

HK_FN hk_i64 hk_pieces(hk_u32 dtype, hk_i64 d)
{
    return HK_IN_BLOCKS(dtype) ? hk_channel_bytes(dtype, d) / 2 : d;
}

/* ---- d elements, some elements apart ---- */

#define HK_ELEMENTS(id, t, d)                                                                      \
    HK_EACH(id)                                                                                    \
        for (t = id; t < (d); t += HK_THREADS)

HK_FN void hk_row_zero(hk_i64 size, HK_GLOBAL char *y, hk_i64 channel, hk_i64 d)
{
    HK_THREAD_ID(id);
    hk_i64 t;

    if (size == 4)
        HK_ELEMENTS(id, t, d)
            ((HK_GLOBAL hk_u32 *)y)[t * channel] = 0;
    else if (size == 2)
        HK_ELEMENTS(id, t, d)
            ((HK_GLOBAL hk_u16 *)y)[t * channel] = 0;
    else
        HK_ELEMENTS(id, t, d)
            ((HK_GLOBAL hk_u8 *)y)[t * channel] = 0;
}

HK_FN void hk_row_move(hk_i64 size, HK_GLOBAL const char *x, hk_i64 x_channel, HK_GLOBAL char *y,
                       hk_i64 y_channel, hk_i64 d)
{
    HK_THREAD_ID(id);
    hk_i64 t;

    if (size == 4)
        HK_ELEMENTS(id, t, d)
            ((HK_GLOBAL hk_u32 *)y)[t * y_channel] = ((HK_GLOBAL const hk_u32 *)x)[t * x_channel];
    else if (size == 2)
        HK_ELEMENTS(id, t, d)
            ((HK_GLOBAL hk_u16 *)y)[t * y_channel] = ((HK_GLOBAL const hk_u16 *)x)[t * x_channel];
    else
        HK_ELEMENTS(id, t, d)
            ((HK_GLOBAL hk_u8 *)y)[t * y_channel] = ((HK_GLOBAL const hk_u8 *)x)[t * x_channel];
}

/* What y holds goes to z, and x to y: the same thread does both with an element. */
HK_FN void hk_row_shift(hk_i64 size, HK_GLOBAL const char *x, hk_i64 x_channel, HK_GLOBAL char *y,
                        hk_i64 y_channel, HK_GLOBAL char *z, hk_i64 z_channel, hk_i64 d)
{
    HK_THREAD_ID(id);
    hk_i64 t;

    if (size == 4)
        HK_ELEMENTS(id, t, d) {
            ((HK_GLOBAL hk_u32 *)z)[t * z_channel] = ((HK_GLOBAL hk_u32 *)y)[t * y_channel];
            ((HK_GLOBAL hk_u32 *)y)[t * y_channel] = ((HK_GLOBAL const hk_u32 *)x)[t * x_channel];
        }
    else if (size == 2)
        HK_ELEMENTS(id, t, d) {
            ((HK_GLOBAL hk_u16 *)z)[t * z_channel] = ((HK_GLOBAL hk_u16 *)y)[t * y_channel];
            ((HK_GLOBAL hk_u16 *)y)[t * y_channel] = ((HK_GLOBAL const hk_u16 *)x)[t * x_channel];
        }
    else
        HK_ELEMENTS(id, t, d) {
            ((HK_GLOBAL hk_u8 *)z)[t * z_channel] = ((HK_GLOBAL hk_u8 *)y)[t * y_channel];
            ((HK_GLOBAL hk_u8 *)y)[t * y_channel] = ((HK_GLOBAL const hk_u8 *)x)[t * x_channel];
        }
}

/* An element of 4 bytes or 2. */
HK_FN void hk_element_move(hk_i64 size, HK_GLOBAL const char *x, hk_i64 i, HK_GLOBAL char *y,
                           hk_i64 k)
{
    if (size == 4)
        ((HK_GLOBAL hk_u32 *)y)[k] = ((HK_GLOBAL const hk_u32 *)x)[i];
    else
        ((HK_GLOBAL hk_u16 *)y)[k] = ((HK_GLOBAL const hk_u16 *)x)[i];
}

#if HK_THREADS > 1
#include "moves_threads.h"
#endif

/* ---- n elements that adjoin: a row, or many ---- */

#if HK_THREADS == 1 && HKV_LANES > 1
/* Up to so many bytes a loop is done before the language's own move has made up its mind. */
#define HK_MOVE_SHORT 1024

/* The bits of n words of 4 bytes, in whole vectors; how many words these were. */
HK_FN hk_i64 hk_words_move(HK_GLOBAL const float *x, HK_GLOBAL float *y, hk_i64 n)
{
    hk_i64 i;

    for (i = 0; i + 4 * HKV_LANES <= n; i += 4 * HKV_LANES) {
        const hk_vec a = hkv_load(x + i), b = hkv_load(x + i + HKV_LANES);
        const hk_vec c = hkv_load(x + i + 2 * HKV_LANES), d = hkv_load(x + i + 3 * HKV_LANES);

        hkv_store(y + i, a);
        hkv_store(y + i + HKV_LANES, b);
        hkv_store(y + i + 2 * HKV_LANES, c);
        hkv_store(y + i + 3 * HKV_LANES, d);
    }
    for (; i + HKV_LANES <= n; i += HKV_LANES)
        hkv_store(y + i, hkv_load(x + i));
    return i;
}
#endif

/* past: as in struct hk_rows. */
HK_FN void hk_run_move(hk_i64 size, HK_GLOBAL const char *x, HK_GLOBAL char *y, hk_i64 n,
                       hk_u32 past)
{
#if HK_THREADS == 1
    hk_i64 bytes = n * size;

    if (past && hk_move_past(y, x, bytes))
        return;
#if HKV_LANES > 1
    if (bytes <= HK_MOVE_SHORT && ((hk_address(x) | hk_address(y)) & 3) == 0) {
        const hk_i64 done =
            4 * hk_words_move((HK_GLOBAL const float *)x, (HK_GLOBAL float *)y, bytes / 4);

        x += done;
        y += done;
        bytes -= done;
    }
#endif
    if (bytes > 0)
        hk_move(y, x, bytes);
#else
    const hk_u64 all = hk_address(x) | hk_address(y) | (hk_u64)(n * size);

    (void)past;
    if (hk_units_move(x, 0, y, 0, 1, n * size))
        return;
    if ((all & 3) == 0)
        hk_row_move(4, x, 1, y, 1, n * size / 4);
    else
        hk_row_move(size, x, 1, y, 1, n);
#endif
}

HK_FN void hk_run_shift(hk_i64 size, HK_GLOBAL const char *x, HK_GLOBAL char *y,
                        HK_GLOBAL char *z, hk_i64 n)
{
#if HK_THREADS == 1
    hk_move(z, y, n * size);
    hk_move(y, x, n * size);
#else
    const hk_u64 all =
        hk_address(x) | hk_address(y) | hk_address(z) | (hk_u64)(n * size);

    if (hk_units_shift(x, 0, y, 0, z, 0, 1, n * size))
        return;
    if ((all & 3) == 0)
        hk_row_shift(4, x, 1, y, 1, z, 1, n * size / 4);
    else
        hk_row_shift(size, x, 1, y, 1, z, 1, n);
#endif
}

/* ---- rows that follow each other ---- */

/* Do all elements of such rows adjoin? */
HK_FN int hk_rows_adjoin(const struct hk_rows *rows, hk_i64 d)
{
    return rows->channel == 1 && rows->row == hk_channel_bytes(rows->dtype, d);
}

/* Half k of a block whose elements are 0. */
HK_FN hk_u32 hk_block_zero(hk_u32 dtype, hk_i64 k)
{
#define HK_ZERO(NAME, name, number, elements, bytes, arg)                                          \
    if (dtype == HK_##NAME)                                                                        \
        return (hk_u32)(HK_ZERO_##NAME(k));
    HK_BLOCK_TYPES(HK_ZERO, 0)
#undef HK_ZERO
    (void)dtype, (void)k;
    HK_UNREACHABLE();
    return 0;
}

HK_FN void hk_blocks_zero(hk_u32 dtype, HK_GLOBAL char *y, hk_i64 d)
{
    const hk_i64 halves = hk_size(dtype) / 2, n = hk_pieces(dtype, d);
    HK_THREAD_ID(id);
    hk_i64 t;

    HK_ELEMENTS(id, t, n)
    ((HK_GLOBAL hk_u16 *)y)[t] = (hk_u16)hk_block_zero(dtype, t % halves);
}

HK_FN void hk_rows_zero(const struct hk_rows *to, HK_GLOBAL char *y, hk_i64 run, hk_i64 d)
{
    const hk_i64 size = hk_size(to->dtype);
    hk_i64 i;

    if (d == 0) /* then y may have no address */
        return;
#if HK_THREADS > 1
    if (to->channel == 1 && !HK_IN_BLOCKS(to->dtype) &&
        hk_units_zero(y, to->row, run, hk_channel_bytes(to->dtype, d)))
        return;
#endif
    if (HK_IN_BLOCKS(to->dtype))
        for (i = 0; i < run; i++)
            hk_blocks_zero(to->dtype, y + i * to->row, d);
    else if (hk_rows_adjoin(to, d))
        hk_row_zero(size, y, 1, run * d);
    else
        for (i = 0; i < run; i++)
            hk_row_zero(size, y + i * to->row, to->channel, d);
}

/* From x on, a row of `from`, to y on, a row of `to`, which has the same type. */
HK_FN void hk_rows_move(const struct hk_rows *from, HK_GLOBAL const char *x,
                        const struct hk_rows *to, HK_GLOBAL char *y, hk_i64 run, hk_i64 d)
{
    const hk_i64 size = hk_piece_size(from->dtype), n = hk_pieces(from->dtype, d);
    const int plain = from->channel == 1 && to->channel == 1;
    hk_i64 i;

    if (d == 0)
        return;
#if HK_THREADS > 1
    if (plain && hk_units_move(x, from->row, y, to->row, run, n * size))
        return;
#endif
    if (hk_rows_adjoin(from, d) && hk_rows_adjoin(to, d)) {
        hk_run_move(size, x, y, run * n, to->past);
        return;
    }
    for (i = 0; i < run; i++, x += from->row, y += to->row) {
        if (plain)
            hk_run_move(size, x, y, n, to->past);
        else
            hk_row_move(size, x, from->channel, y, to->channel, n);
    }
}

/* Rows from y on go to z on, a row of `last`, and rows from x on take their place. */
HK_FN void hk_rows_shift(const struct hk_rows *from, HK_GLOBAL const char *x,
                         const struct hk_rows *to, HK_GLOBAL char *y, const struct hk_rows *last,
                         HK_GLOBAL char *z, hk_i64 run, hk_i64 d)
{
    const hk_i64 size = hk_piece_size(from->dtype), n = hk_pieces(from->dtype, d);
    const int plain = from->channel == 1 && to->channel == 1 && last->channel == 1;
    hk_i64 i;

#if HK_THREADS > 1
    if (plain && hk_units_shift(x, from->row, y, to->row, z, last->row, run, n * size))
        return;
#endif
    if (hk_rows_adjoin(from, d) && hk_rows_adjoin(to, d) && hk_rows_adjoin(last, d)) {
        hk_run_shift(size, x, y, z, run * n);
        return;
    }
    for (i = 0; i < run; i++, x += from->row, y += to->row, z += last->row) {
        if (plain)
            hk_run_shift(size, x, y, z, n);
        else
            hk_row_shift(size, x, from->channel, y, to->channel, z, last->channel, n);
    }
}

#undef HK_ELEMENTS

#endif
