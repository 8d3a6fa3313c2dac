/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * norm for processors: vectors hold the partial sums of a row. Channels are read again for each of
 * the sums and for what is written: caches have them by then.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_NORM_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_NORM_LANES_H

HK_FN void hk_norm_open(const struct hk_call *call, hk_i64 task, struct hk_rows_norm *norm)
{
    HK_GLOBAL const struct hk_norm *numbers = HK_NUMBERS(call, struct hk_norm);

    norm->numbers = numbers;
    norm->strip = hk_strip_get(&numbers->strip, task);
    norm->x = hk_rows_given(call, HK_NORM_X, &norm->strip);
    norm->residual = hk_rows_given(call, HK_NORM_RESIDUAL, &norm->strip);
    norm->y = hk_rows_given(call, HK_NORM_Y, &norm->strip);
    norm->sum = hk_rows_given(call, HK_NORM_SUM, &norm->strip);
    norm->weight = hk_norm_common(call, HK_NORM_WEIGHT);
    norm->bias = hk_norm_common(call, HK_NORM_BIAS);
    norm->rms = numbers->kind == HK_NORM_RMS;
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

/* Channels t .. of y and of the sum. */
HK_FN void hk_norm_write(const struct hk_rows_norm *norm, hk_i64 i, hk_vec x, float centre,
                         float factor, hk_i64 t)
{
    const hk_i64 d = norm->numbers->d;
    hk_vec weight = hkv_set(1.0f), bias = hkv_set(0.0f);

    if (norm->weight.base)
        weight = hk_rows_read(HK_F32, 0, &norm->weight, 0, t, d);
    if (norm->bias.base)
        bias = hk_rows_read(HK_F32, 0, &norm->bias, 0, t, d);
    hk_channels_write(norm->y.dtype, hk_row(&norm->y, i), norm->y.channel, t, d,
                      hk_norm_end(norm, x, centre, factor, weight, bias));
    if (norm->sum.base)
        hk_channels_write(norm->sum.dtype, hk_row(&norm->sum, i), norm->sum.channel, t, d, x);
}

/* Are all rows without gaps and of one type, the vectors of that or of f32? */
HK_FN int hk_norm_plain(const struct hk_rows_norm *norm)
{
    const hk_u32 dtype = norm->x.dtype;

    return norm->x.channel == 1 && norm->y.channel == 1 && norm->y.dtype == dtype &&
           (!norm->residual.base ||
            (norm->residual.channel == 1 && norm->residual.dtype == dtype)) &&
           (!norm->sum.base || (norm->sum.channel == 1 && norm->sum.dtype == dtype)) &&
           (!norm->weight.base || (norm->weight.channel == 1 && (norm->weight.dtype == dtype ||
                                                                 norm->weight.dtype == HK_F32))) &&
           (!norm->bias.base || (norm->bias.channel == 1 &&
                                 (norm->bias.dtype == dtype || norm->bias.dtype == HK_F32)));
}

/* hk_norm_read of whole vectors of plain rows. */
HK_INLINE hk_vec hk_norm_load(hk_u32 dtype, const struct hk_norm_row *row, hk_i64 t)
{
    const hk_vec x = hk_vec_load(dtype, row->x, t);

    return row->residual ? hkv_add(x, hk_vec_load(dtype, row->residual, t)) : x;
}

/* Of a vector that is of the rows' type or of f32. */
HK_INLINE hk_vec hk_norm_factor(hk_u32 dtype, hk_u32 own, HK_GLOBAL const char *from, hk_i64 t)
{
    return own == dtype ? hk_vec_load(dtype, from, t) : hk_vec_load(HK_F32, from, t);
}

/* A term more of a partial sum. */
HK_INLINE hk_vec hk_norm_term(const int squares, hk_vec c, hk_vec sum)
{
    return squares ? hkv_fma(c, c, sum) : hkv_add(sum, c);
}

/* A channel's distance from the centre, +0 beyond the row. */
HK_FN hk_vec hk_norm_within(const struct hk_rows_norm *norm, hk_vec x, float centre, hk_i64 t,
                            hk_i64 d)
{
    const hk_vec c = hk_norm_apart(norm, x, centre);

#if HKV_LANES > 1
    if (t + HKV_LANES > d)
        return hkv_keep(hkv_bits(d > t ? 0xffffffffu >> (32 - (d - t)) : 0), c);
#else
    (void)t;
    (void)d;
#endif
    return c;
}

/* The sum of the channels, or of the squares of their distances from the centre, over d. centre: 0
 * with RMS. */
HK_INLINE float hk_norm_mean(hk_u32 dtype, const int plain, const struct hk_rows_norm *norm,
                             const struct hk_norm_row *row, const int squares, float centre)
{
    const hk_vec middle = hkv_set(centre);
    struct hk_sums sums;
    hk_i64 t = 0;
    int i;

    hk_sums_begin(&sums);
    for (; plain && t + HK_PARTIALS <= row->d; t += HK_PARTIALS) {
        HK_UNROLL
        for (i = 0; i < HK_SUMS; i++) {
            const hk_vec x = hk_norm_load(dtype, row, t + (hk_i64)i * HKV_LANES);

            sums.l[i] = hk_norm_term(squares, squares ? hkv_sub(x, middle) : x, sums.l[i]);
        }
    }
    for (; t < row->d; t += HK_PARTIALS) {
        for (i = 0; i < HK_SUMS && t + (hk_i64)i * HKV_LANES < row->d; i++) {
            const hk_i64 at = t + (hk_i64)i * HKV_LANES;
            const hk_vec x = hk_norm_read(dtype, norm, row, at);

            sums.l[i] = hk_norm_term(
                squares, squares ? hk_norm_within(norm, x, centre, at, row->d) : x, sums.l[i]);
        }
    }
    return hk_mul(hk_sums_tree(&sums), norm->part);
}

/* Whole vectors of plain rows; answers where the first one is that was not written. */
HK_INLINE hk_i64 hk_norm_write_plain(hk_u32 dtype, const struct hk_rows_norm *norm,
                                     const struct hk_norm_row *row, hk_i64 i, float centre,
                                     float factor)
{
    HK_GLOBAL char *const y = hk_row(&norm->y, i), *const sum = hk_row(&norm->sum, i);
    const int rms = norm->rms;
    const hk_vec middle = hkv_set(centre), scale = hkv_set(factor);
    hk_vec weight = hkv_set(1.0f), bias = hkv_set(0.0f);
    hk_i64 t;

    for (t = 0; t + HKV_LANES <= row->d; t += HKV_LANES) {
        const hk_vec x = hk_norm_load(dtype, row, t);
        const hk_vec scaled = hkv_mul(hkv_sub(x, middle), scale);

        if (norm->weight.base)
            weight = hk_norm_factor(dtype, norm->weight.dtype, norm->weight.base, t);
        if (norm->bias.base)
            bias = hk_norm_factor(dtype, norm->bias.dtype, norm->bias.base, t);
        hk_vec_put(dtype, y, t, rms ? hkv_mul(scaled, weight) : hkv_fma(scaled, weight, bias));
        if (sum)
            hk_vec_put(dtype, sum, t, x);
    }
    return t;
}

HK_INLINE void hk_norm_row_run(hk_u32 dtype, const int plain, const struct hk_rows_norm *norm,
                               hk_i64 i)
{
    const struct hk_norm_row row = hk_norm_row_get(norm, i);
    float centre = 0.0f, factor;
    hk_i64 t = 0;

    if (!norm->rms)
        centre = hk_norm_mean(dtype, plain, norm, &row, 0, 0.0f);
    factor = hk_inverse_root(
        hk_add(hk_norm_mean(dtype, plain, norm, &row, 1, centre), norm->numbers->eps));
    if (plain)
        t = hk_norm_write_plain(dtype, norm, &row, i, centre, factor);
    for (; t < row.d; t += HKV_LANES)
        hk_norm_write(norm, i, hk_norm_read(dtype, norm, &row, t), centre, factor, t);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task, i;
    int plain;

    HK_TASKS(call, group, task)
    {
        struct hk_rows_norm norm;

        hk_norm_open(call, task, &norm);
        if (norm.numbers->d == 0)
            continue;
        plain = hk_norm_plain(&norm);
        for (i = norm.strip.first; i < norm.strip.first + norm.strip.count; i++) {
#define HK_ROW(type) hk_norm_row_run(type, 1, &norm, i)
            if (plain)
                HK_BY(HK_FLOAT_TYPES, norm.x.dtype, HK_ROW);
#undef HK_ROW
#define HK_ROW(type) hk_norm_row_run(type, 0, &norm, i)
            else
                HK_BY(HK_FLOAT_TYPES, norm.x.dtype, HK_ROW);
#undef HK_ROW
        }
    }
}

#endif
