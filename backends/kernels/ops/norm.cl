/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/nn.h, norm: rows over their deviation or their root mean square (docs/numerics.md, section
 * 12). A task is a strip of rows of one item and head. Channels are read again for each of the sums
 * and for what is written: caches have them by then.
 */
#define HK_SCALES 0 /* numbers alone */
#include "sums.h"

/* A strip, and the vectors that all rows have in common. */
struct hk_rows_norm {
    HK_GLOBAL const struct hk_norm *numbers;
    struct hk_strip_task strip;
    struct hk_rows x, residual, y, sum; /* base NULL: absent */
    HK_GLOBAL const char *weight, *bias;
    hk_i64 weight_channel, bias_channel;
    hk_u32 weight_dtype, bias_dtype;
    float part; /* 1 / d */
};

HK_FN void hk_norm_open(const struct hk_call *call, hk_i64 task, struct hk_rows_norm *norm)
{
    HK_GLOBAL const struct hk_norm *numbers = HK_NUMBERS(call, struct hk_norm);

    norm->numbers = numbers;
    norm->strip = hk_strip_get(&numbers->strip, task);
    norm->x = hk_rows_given(call, HK_NORM_X, &norm->strip);
    norm->residual = hk_rows_given(call, HK_NORM_RESIDUAL, &norm->strip);
    norm->y = hk_rows_given(call, HK_NORM_Y, &norm->strip);
    norm->sum = hk_rows_given(call, HK_NORM_SUM, &norm->strip);
    norm->weight = hk_has(call, HK_NORM_WEIGHT) ? call->buffer[HK_NORM_WEIGHT] : 0;
    norm->bias = hk_has(call, HK_NORM_BIAS) ? call->buffer[HK_NORM_BIAS] : 0;
    norm->weight_channel = call->arrays[HK_NORM_WEIGHT].stride[5];
    norm->bias_channel = call->arrays[HK_NORM_BIAS].stride[5];
    norm->weight_dtype = call->arrays[HK_NORM_WEIGHT].dtype;
    norm->bias_dtype = call->arrays[HK_NORM_BIAS].dtype;
    norm->part = hk_inverse(hk_from_i64(hk_max(numbers->d, 1)));
}

/* ---- channels of a row ---- */

struct hk_norm_row {
    HK_GLOBAL const char *x, *residual;
    hk_i64 d;
};

HK_FN struct hk_norm_row hk_norm_row_get(const struct hk_rows_norm *norm, hk_i64 i)
{
    struct hk_norm_row row;

    row.x = hk_row(&norm->x, i);
    row.residual = hk_row(&norm->residual, i);
    row.d = norm->numbers->d;
    return row;
}

/* What the norm is taken of; +0 beyond the row. */
HK_INLINE hk_vec hk_norm_read(hk_u32 dtype, const struct hk_rows_norm *norm,
                              const struct hk_norm_row *row, hk_i64 t)
{
    const hk_vec x = hk_channels_read(dtype, row->x, norm->x.channel, t, row->d);

    if (!row->residual)
        return x;
    return hkv_add(x, hk_channels_read(norm->residual.dtype, row->residual, norm->residual.channel,
                                       t, row->d));
}

/* Its distance from the centre, 0 with RMS. */
HK_FN hk_vec hk_norm_apart(const struct hk_rows_norm *norm, hk_vec x, float centre)
{
    return norm->numbers->kind == HK_NORM_RMS ? x : hkv_sub(x, hkv_set(centre));
}

/* Channels t .. of y and of the sum. */
HK_FN void hk_norm_write(const struct hk_rows_norm *norm, hk_i64 i, hk_vec x, float centre,
                         float factor, hk_i64 t)
{
    const hk_i64 d = norm->numbers->d;
    const hk_vec scaled = hkv_mul(hk_norm_apart(norm, x, centre), hkv_set(factor));
    hk_vec weight = hkv_set(1.0f), bias = hkv_set(0.0f);

    if (norm->weight)
        weight = hk_channels_read(norm->weight_dtype, norm->weight, norm->weight_channel, t, d);
    if (norm->bias)
        bias = hk_channels_read(norm->bias_dtype, norm->bias, norm->bias_channel, t, d);
    hk_channels_write(norm->y.dtype, hk_row(&norm->y, i), norm->y.channel, t, d,
                      norm->numbers->kind == HK_NORM_RMS ? hkv_mul(scaled, weight)
                                                         : hkv_fma(scaled, weight, bias));
    if (norm->sum.base)
        hk_channels_write(norm->sum.dtype, hk_row(&norm->sum, i), norm->sum.channel, t, d, x);
}

#if HK_THREADS == 1
#include "norm_lanes.h"
#else
#include "norm_threads.h"
#endif

#include "../entry.h"
