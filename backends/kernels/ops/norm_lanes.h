/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * norm for processors: vectors hold the partial sums of a row. A plain row is widened once, into
 * memory that the first level of the cache holds, and between its sums the row behind it is asked
 * for. Of other rows channels are read again for each of the sums and for what is written.
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
    norm->y.past = (hk_u64)call->op->n_batch * (hk_u64)numbers->strip.heads *
                       (hk_u64)numbers->strip.rows * (hk_u64)numbers->d *
                       (hk_u64)(hk_size(norm->y.dtype) +
                                (norm->sum.base ? hk_size(norm->sum.dtype) : 0)) >=
                   HK_FAR;
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
 * with RMS. Those from t on join the sums of whole tiles before them. */
HK_INLINE float hk_norm_mean(hk_u32 dtype, const struct hk_rows_norm *norm,
                             const struct hk_norm_row *row, const int squares, float centre,
                             hk_i64 t, struct hk_sums *sums)
{
    int i;

    for (; t < row->d; t += HK_PARTIALS) {
        for (i = 0; i < HK_SUMS && t + (hk_i64)i * HKV_LANES < row->d; i++) {
            const hk_i64 at = t + (hk_i64)i * HKV_LANES;
            const hk_vec x = hk_norm_read(dtype, norm, row, at);

            sums->l[i] = hk_norm_term(
                squares, squares ? hk_norm_within(norm, x, centre, at, row->d) : x, sums->l[i]);
        }
    }
    return hk_mul(hk_sums_tree(sums), norm->part);
}

HK_FN float hk_norm_scale(const struct hk_rows_norm *norm, float mean)
{
    return hk_inverse_root(hk_add(mean, norm->numbers->eps));
}

HK_INLINE void hk_norm_row_run(hk_u32 dtype, const struct hk_rows_norm *norm, hk_i64 i)
{
    const struct hk_norm_row row = hk_norm_row_get(norm, i);
    struct hk_sums sums;
    float centre = 0.0f, factor;
    hk_i64 t;

    hk_sums_begin(&sums);
    if (!norm->rms) {
        centre = hk_norm_mean(dtype, norm, &row, 0, 0.0f, 0, &sums);
        hk_sums_begin(&sums);
    }
    factor = hk_norm_scale(norm, hk_norm_mean(dtype, norm, &row, 1, centre, 0, &sums));
    for (t = 0; t < row.d; t += HKV_LANES)
        hk_norm_write(norm, i, hk_norm_read(dtype, norm, &row, t), centre, factor, t);
}

/* ---- plain rows ---- */

#define HK_NORM_ROOM 4096 /* channels of a row that are kept; the others are read again */
/* Channels of a step: whole tiles, and pairs of vectors. */
#define HK_NORM_STEP (2 * HKV_LANES > HK_PARTIALS ? 2 * HKV_LANES : HK_PARTIALS)

/* A row, widened, and as it leaves around the caches; `whole`: channels that are kept, which are
 * whole steps. */
struct hk_norm_kept {
    float x[HK_NORM_ROOM];
#if HK_HAS_MOVE_PAST
    float y[HK_NORM_ROOM], sum[HK_NORM_ROOM];
#endif
    hk_i64 whole;
};

/* Channels t .. of the row: kept, or read where they lie. */
HK_INLINE hk_vec hk_norm_kept_at(hk_u32 dtype, const int keeps, const struct hk_norm_row *row,
                                 const struct hk_norm_kept *kept, hk_i64 t)
{
    return keeps ? hkv_load(kept->x + t) : hk_norm_load(dtype, row, t);
}

/* Asks for what lies in the row behind, `row` bytes on, where a vector at byte `at` begins. */
HK_INLINE void hk_norm_ask(HK_GLOBAL const char *from, hk_i64 row, hk_i64 at)
{
    if (from && at % 64 == 0)
        HK_PREFETCH(from + row + at);
}

/* Widens the row, and takes the first of its sums. */
HK_INLINE void hk_norm_keep(hk_u32 dtype, const int keeps, const struct hk_rows_norm *norm,
                            const struct hk_norm_row *row, struct hk_norm_kept *kept,
                            struct hk_sums *sums)
{
    const hk_i64 size = hk_size(dtype);
    hk_i64 t;
    int i;

    for (t = 0; t < kept->whole; t += HK_PARTIALS) {
        HK_UNROLL
        for (i = 0; i < HK_SUMS; i++) {
            const hk_i64 at = t + (hk_i64)i * HKV_LANES;
            const hk_vec x = hk_norm_load(dtype, row, at);

            hk_norm_ask(row->x, norm->x.row, at * size);
            if (norm->rms)
                hk_norm_ask(row->residual, norm->residual.row, at * size);
            if (keeps)
                hkv_store(kept->x + at, x);
            sums->l[i] = hk_norm_term(norm->rms, x, sums->l[i]);
        }
    }
}

/* The sum of the squares of distances from the centre. */
HK_INLINE void hk_norm_kept_squares(hk_u32 dtype, const int keeps,
                                    const struct hk_rows_norm *norm,
                                    const struct hk_norm_row *row, const struct hk_norm_kept *kept,
                                    float centre, struct hk_sums *sums)
{
    const hk_i64 size = hk_size(dtype);
    hk_i64 t;
    int i;

    for (t = 0; t < kept->whole; t += HK_PARTIALS) {
        HK_UNROLL
        for (i = 0; i < HK_SUMS; i++) {
            const hk_i64 at = t + (hk_i64)i * HKV_LANES;

            hk_norm_ask(row->residual, norm->residual.row, at * size);
            sums->l[i] = hk_norm_term(1, hkv_sub(hk_norm_kept_at(dtype, keeps, row, kept, at),
                                                 hkv_set(centre)),
                                      sums->l[i]);
        }
    }
}

/* Writes the channels that are kept to y and sum (NULL: absent). */
HK_INLINE void hk_norm_kept_write(hk_u32 dtype, const int keeps, const struct hk_rows_norm *norm,
                                  const struct hk_norm_row *row, const struct hk_norm_kept *kept,
                                  float centre, float factor, HK_GLOBAL char *y,
                                  HK_GLOBAL char *sum)
{
    hk_i64 t;
    int k;

    for (t = 0; t < kept->whole; t += 2 * HKV_LANES) {
        hk_vec x[2], out[2];

        HK_UNROLL
        for (k = 0; k < 2; k++) {
            const hk_i64 at = t + (hk_i64)k * HKV_LANES;
            hk_vec weight = hkv_set(1.0f), bias = hkv_set(0.0f);

            if (norm->weight.base)
                weight = hk_norm_factor(dtype, norm->weight.dtype, norm->weight.base, at);
            if (norm->bias.base)
                bias = hk_norm_factor(dtype, norm->bias.dtype, norm->bias.base, at);
            x[k] = hk_norm_kept_at(dtype, keeps, row, kept, at);
            out[k] = hk_norm_end(norm, x[k], centre, factor, weight, bias);
        }
        hk_channels_put_pair(dtype, y, t, out[0], out[1]);
        if (sum)
            hk_channels_put_pair(dtype, sum, t, x[0], x[1]);
    }
}

#if HK_HAS_MOVE_PAST
/* Leaves the caches alone where it can. */
HK_INLINE void hk_norm_past(char *to, const float *from, hk_i64 bytes)
{
    if (to && !hk_move_past(to, (const char *)from, bytes))
        hk_move(to, (const char *)from, bytes);
}
#endif

HK_INLINE void hk_norm_row_plain(hk_u32 dtype, const int keeps, const struct hk_rows_norm *norm,
                                 hk_i64 i, struct hk_norm_kept *kept)
{
    const struct hk_norm_row row = hk_norm_row_get(norm, i);
    HK_GLOBAL char *const y = hk_row(&norm->y, i), *const sum = hk_row(&norm->sum, i);
    struct hk_sums sums;
    float centre = 0.0f, factor;
    hk_i64 t;

    hk_sums_begin(&sums);
    hk_norm_keep(dtype, keeps, norm, &row, kept, &sums);
    if (!norm->rms) {
        centre = hk_norm_mean(dtype, norm, &row, 0, 0.0f, kept->whole, &sums);
        hk_sums_begin(&sums);
        hk_norm_kept_squares(dtype, keeps, norm, &row, kept, centre, &sums);
    }
    factor = hk_norm_scale(norm,
                           hk_norm_mean(dtype, norm, &row, 1, centre, kept->whole, &sums));
#if HK_HAS_MOVE_PAST
    if (norm->y.past) {
        hk_norm_kept_write(dtype, keeps, norm, &row, kept, centre, factor, (char *)kept->y,
                           sum ? (char *)kept->sum : 0);
        hk_norm_past(y, kept->y, kept->whole * hk_size(dtype));
        hk_norm_past(sum, kept->sum, kept->whole * hk_size(dtype));
    } else
#endif
        hk_norm_kept_write(dtype, keeps, norm, &row, kept, centre, factor, y, sum);
    for (t = kept->whole; t < row.d; t += HKV_LANES)
        hk_norm_write(norm, i, hk_norm_read(dtype, norm, &row, t), centre, factor, t);
}

/* A task's rows of one type, all without gaps. */
HK_INLINE void hk_norm_strip_plain(hk_u32 dtype, const struct hk_rows_norm *norm,
                                   struct hk_norm_kept *kept)
{
    const int keeps = dtype != HK_F32 || norm->residual.base;
    hk_i64 i;

    kept->whole = hk_min(norm->numbers->d, HK_NORM_ROOM) / HK_NORM_STEP * HK_NORM_STEP;
    for (i = norm->strip.first; i < norm->strip.first + norm->strip.count; i++)
        if (keeps)
            hk_norm_row_plain(dtype, 1, norm, i, kept);
        else
            hk_norm_row_plain(dtype, 0, norm, i, kept);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    struct hk_norm_kept kept;       /* one for all types: stacks may be small */
    hk_i64 task, i;

    HK_TASKS(call, group, task)
    {
        struct hk_rows_norm norm;

        hk_norm_open(call, task, &norm);
        if (norm.numbers->d == 0)
            continue;
        if (hk_norm_plain(&norm)) {
#define HK_ROW(type) hk_norm_strip_plain(type, &norm, &kept)
            HK_BY(HK_FLOAT_TYPES, norm.x.dtype, HK_ROW);
#undef HK_ROW
            continue;
        }
        for (i = norm.strip.first; i < norm.strip.first + norm.strip.count; i++) {
#define HK_ROW(type) hk_norm_row_run(type, &norm, i)
            HK_BY(HK_FLOAT_TYPES, norm.x.dtype, HK_ROW);
#undef HK_ROW
        }
    }
    hk_move_past_end();
}

#endif
