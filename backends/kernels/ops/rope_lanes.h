/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * rope for processors. Rows without gaps, whose pairs are whole vectors, go two vectors at a time.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_ROPE_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_ROPE_LANES_H

/* to: the type of y, a constant if that of x is y's. */
HK_INLINE void hk_rope_row_run(hk_u32 dtype, hk_u32 to, const struct hk_rope_strip *rope, hk_i64 i)
{
    const struct hk_rope_row row = hk_rope_row_get(rope, i);
    const hk_i64 pairs = rope->numbers->pairs, d = rope->numbers->d;
    const hk_i64 from = rope->x.channel, channel = rope->y.channel;
    const int halves = rope->numbers->kind == HK_ROPE_HALVES;
    hk_i64 t;

    for (t = 0; t < pairs; t += HKV_LANES) {
        const hk_i64 first = halves ? t : 2 * t, second = halves ? pairs + t : 2 * t + HKV_LANES;
        const hk_i64 end = halves ? pairs : 2 * pairs;
        hk_vec c = hkv_set(hk_float(HK_NAN_WORD)), s = c, x[2];

        x[0] = hk_channels_read(dtype, row.x, from, first, end);
        x[1] = hk_channels_read(dtype, row.x, from, second, 2 * pairs);
        if (!halves)
            hkv_part_pairs(x);
        if (row.cos) {
            c = hk_channels_read(HK_F32, row.cos, rope->cos_channel, t, pairs);
            s = hk_channels_read(HK_F32, row.sin, rope->sin_channel, t, pairs);
        }
        hk_rope_turn(c, s, &x[0], &x[1]);
        if (!halves)
            hkv_join_pairs(x);
        hk_channels_write(to, row.y, channel, first, end, x[0]);
        hk_channels_write(to, row.y, channel, second, 2 * pairs, x[1]);
    }
    for (t = 2 * pairs; t < d; t += HKV_LANES)
        hk_channels_write(to, row.y, channel, t, d, hk_channels_read(dtype, row.x, from, t, d));
}

/* ---- plain rows ---- */

HK_FN int hk_rope_plain(const struct hk_rope_strip *rope)
{
    return hk_rows_plain(&rope->y, rope->x.dtype) && rope->x.channel == 1 &&
           rope->cos_channel == 1 && rope->sin_channel == 1 &&
           rope->numbers->pairs % (2 * HKV_LANES) == 0 &&
           rope->numbers->d == 2 * rope->numbers->pairs;
}

/* A row that has a position. */
HK_INLINE void hk_rope_row_plain(hk_u32 dtype, const int halves, const struct hk_rope_row *row,
                                 hk_i64 pairs)
{
    hk_i64 t;
    int k;

    for (t = 0; t < pairs; t += 2 * HKV_LANES) {
        const hk_i64 step = halves ? HKV_LANES : 2 * HKV_LANES, apart = halves ? pairs : HKV_LANES;
        const hk_i64 first = halves ? t : 2 * t;
        hk_vec x[2][2];

        HK_UNROLL
        for (k = 0; k < 2; k++) {
            x[k][0] = hk_vec_load(dtype, row->x, first + k * step);
            x[k][1] = hk_vec_load(dtype, row->x, first + k * step + apart);
            if (!halves)
                hkv_part_pairs(x[k]);
            hk_rope_turn(hk_vec_load(HK_F32, row->cos, t + k * HKV_LANES),
                         hk_vec_load(HK_F32, row->sin, t + k * HKV_LANES), &x[k][0], &x[k][1]);
            if (!halves)
                hkv_join_pairs(x[k]);
        }
        hk_channels_put_pair(dtype, row->y, first, x[0][0], halves ? x[1][0] : x[0][1]);
        hk_channels_put_pair(dtype, row->y, first + (halves ? pairs : step),
                        halves ? x[0][1] : x[1][0], x[1][1]);
    }
}

HK_INLINE void hk_rope_strip_plain(hk_u32 dtype, const int halves,
                                   const struct hk_rope_strip *rope, hk_i64 first, hk_i64 count)
{
    const hk_i64 pairs = rope->numbers->pairs, bytes = 2 * pairs * hk_size(dtype);
    hk_i64 i, at;

    for (i = first; i < first + count; i++) {
        const struct hk_rope_row row = hk_rope_row_get(rope, i);

        for (at = 0; at < bytes; at += 64)
            hk_row_ask(row.x, at, 64);
        if (row.cos)
            hk_rope_row_plain(dtype, halves, &row, pairs);
        else
            hk_rope_row_run(dtype, dtype, rope, i);
    }
}

HK_FN void hk_rope_strip_run(const struct hk_rope_strip *rope, hk_i64 first, hk_i64 count)
{
    hk_i64 i;

    if (hk_rope_plain(rope)) {
#define HK_ROWS(type) hk_rope_strip_plain(type, 1, rope, first, count)
        if (rope->numbers->kind == HK_ROPE_HALVES)
            HK_BY(HK_FLOAT_TYPES, rope->x.dtype, HK_ROWS);
#undef HK_ROWS
#define HK_ROWS(type) hk_rope_strip_plain(type, 0, rope, first, count)
        else
            HK_BY(HK_FLOAT_TYPES, rope->x.dtype, HK_ROWS);
#undef HK_ROWS
        return;
    }
    for (i = first; i < first + count; i++) {
#define HK_ROW(type) hk_rope_row_run(type, type, rope, i)
        if (rope->x.dtype == rope->y.dtype)
            HK_BY(HK_FLOAT_TYPES, rope->x.dtype, HK_ROW);
#undef HK_ROW
#define HK_ROW(type) hk_rope_row_run(type, rope->y.dtype, rope, i)
        else
            HK_BY(HK_FLOAT_TYPES, rope->x.dtype, HK_ROW);
#undef HK_ROW
    }
}

#endif
