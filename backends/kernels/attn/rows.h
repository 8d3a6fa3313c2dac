/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: from rows of any storage type and stride to what the register tiles read: rows of
 * f32 with unit stride, and K transposed into panels [64 / HK_PANEL][d][HK_PANEL] of a block.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_ROWS_H
#define HEED_BACKENDS_KERNELS_ATTN_ROWS_H

#include "matrix.h"
#include "../products.h"

HK_FN int hk_matrix_plain(const struct hk_matrix *m)
{
    return m->dtype == HK_F32 && m->channel == 1;
}

/* Where row i begins, which is there. */
HK_FN HK_GLOBAL const char *hk_row_at(const struct hk_matrix *m, hk_i64 i)
{
    return hk_byte(m->base, hk_row_offset(m, i) * hk_size(m->dtype));
}

/* Scale or, where `which` is 1, minimum of group g of row i, which is there. */
HK_FN float hk_row_scale(const struct hk_matrix *m, hk_i64 i, hk_i64 g, int which)
{
    if (HK_IN_BLOCKS(m->dtype))
        return hk_block_head(m->dtype, hk_row_at(m, i), g, which);
    return hk_scale_at(m, hk_scale_offset(m, i), g, which);
}

HK_INLINE void hk_row_widen_from(const hk_u32 dtype, HK_GLOBAL const char *from, hk_i64 channel,
                                 hk_i64 n, HK_GLOBAL float *to)
{
    hk_i64 t = 0;

    for (; channel == 1 && t + HKV_LANES <= n; t += HKV_LANES)
        hkv_store(to + t, hk_vec_load(dtype, from, t));
    for (; t < n; t++)
        to[t] = hk_element(dtype, from, t * channel);
}

/* n channels of a row that begins at `from`, as f32 with unit stride, without their scales. */
HK_NOINLINE void hk_row_widen(const struct hk_matrix *m, HK_GLOBAL const char *from, hk_i64 n,
                              HK_GLOBAL float *to)
{
#define HK_WIDEN(type) hk_row_widen_from(type, from, m->channel, n, to)
    HK_BY_KV(m->dtype, HK_WIDEN);
#undef HK_WIDEN
}

/* n channels of row i as f32 with unit stride: in place or converted into temp. */
HK_FN HK_GLOBAL const float *hk_row_f32(const struct hk_matrix *m, hk_i64 i, hk_i64 n,
                                        HK_GLOBAL float *temp)
{
    HK_GLOBAL const char *from = hk_row_at(m, i);

    if (hk_matrix_plain(m))
        return (HK_GLOBAL const float *)from;
    hk_row_widen(m, from, n, temp);
    return temp;
}

/* n channels of row i into `to`, then zeros up to width. */
HK_FN void hk_row_read(const struct hk_matrix *m, hk_i64 i, hk_i64 n, hk_i64 width,
                       HK_GLOBAL float *to)
{
    HK_GLOBAL const float *from = hk_row_f32(m, i, n, to);
    hk_i64 t = 0;

    if (from != to) {
        for (; t + HKV_LANES <= n; t += HKV_LANES)
            hkv_store(to + t, hkv_load(from + t));
        for (; t < n; t++)
            to[t] = from[t];
    }
    for (t = n; t < width; t++)
        to[t] = 0.0f;
}

/* Channels [t, end) of HKV_PACK rows to out[channel - t][row]; pitch: floats from channel to
 * channel. */
HK_FN void hk_rows_pack(HK_GLOBAL const char *const *rows, hk_u32 dtype, hk_i64 t, hk_i64 end,
                        HK_GLOBAL float *out, hk_i64 pitch)
{
    int r;

#define HK_COLUMNS(NAME, name, number, elements, bytes, arg)                                       \
    if (dtype == HK_##NAME) {                                                                      \
        for (; t + HKV_CHANNELS_##NAME <= end;                                                     \
             t += HKV_CHANNELS_##NAME, out += HKV_CHANNELS_##NAME * pitch)                         \
            hkv_columns_##name((HK_GLOBAL const hk_stored_##name *const *)rows, t, out, pitch);    \
    } else
    HK_ROW_TYPES(HK_COLUMNS, 0)
#undef HK_COLUMNS
#define HK_COLUMNS(NAME, name, number, elements, bytes, arg)                                       \
    if (dtype == HK_##NAME) {                                                                      \
        for (; t + HKV_CHANNELS_##NAME <= end;                                                     \
             t += HKV_CHANNELS_##NAME, out += HKV_CHANNELS_##NAME * pitch)                         \
            hkv_columns_##name(rows, t, out, pitch);                                               \
    } else
    HK_PIECE_TYPES(HK_COLUMNS, 0)
#undef HK_COLUMNS
    HK_UNREACHABLE();
    for (; t < end; t++, out += pitch) {
        for (r = 0; r < HKV_PACK; r++)
            out[r] = hk_element(dtype, rows[r], t);
    }
}

/* Keys that whole vectors and whole packs hold. */
#define HK_ABREAST (HKV_LANES > HKV_PACK ? HKV_LANES : HKV_PACK)

/* Do HK_ABREAST keys lie side by side, channel after channel, as in a cache of panels or in K
 * transposed? */
HK_FN int hk_keys_abreast(const struct hk_matrix *k, const hk_i64 *keys)
{
    int r;

    if (k->row != 1 || k->channel == 1 || keys[0] < 0)
        return 0;
    for (r = 1; r < HK_ABREAST; r++) {
        if (keys[r] != keys[0] + r)
            return 0;
    }
    return hk_rows_even(&k->layout, keys[0], keys[HK_ABREAST - 1]);
}

HK_INLINE void hk_columns_widen(const hk_u32 dtype, HK_GLOBAL const char *from, hk_i64 step,
                                hk_i64 d, HK_GLOBAL float *panel)
{
    hk_i64 t;
    int r;

    for (t = 0; t < d; t++, from += step) {
        for (r = 0; r < HK_ABREAST; r += HKV_LANES)
            hkv_store(panel + t * HK_PANEL + r, hk_vec_load(dtype, from, r));
    }
}

/* HK_ABREAST such keys into columns of a panel. */
HK_NOINLINE void hk_columns_pack(const struct hk_matrix *k, hk_i64 key, hk_i64 d,
                                 HK_GLOBAL float *panel)
{
    const hk_i64 step = k->channel * hk_size(k->dtype);
    HK_GLOBAL const char *from = hk_byte(k->base, hk_row_offset(k, key) * hk_size(k->dtype));

#define HK_WIDEN(type) hk_columns_widen(type, from, step, d, panel)
    HK_BY(HK_ROW_TYPES, k->dtype, HK_WIDEN);
#undef HK_WIDEN
}

/* Scales and minima of 64 keys behind the channels of their panels. */
HK_NOINLINE void hk_scales_pack(const struct hk_matrix *k, const hk_i64 *keys, hk_i64 d,
                                HK_GLOBAL float *out)
{
    const hk_i64 groups = d / k->group, n = hk_scale_rows(k->group, (int)k->minima, d);
    hk_i64 i, g;

    for (i = 0; i < HK_BLOCK; i++) {
        HK_GLOBAL float *column = out + (i / HK_PANEL * (d + n) + d) * HK_PANEL + i % HK_PANEL;

        for (g = 0; g < n; g++)
            column[g * HK_PANEL] =
                keys[i] < 0 ? 0.0f : hk_row_scale(k, keys[i], g % groups, g >= groups);
    }
}

/* 64 keys (negative: a row of zeros) into the panels of a block, [d, then scales][HK_PANEL] each.
 * temp: HKV_PACK rows of d. */
HK_FN void hk_keys_pack(const struct hk_matrix *k, const hk_i64 *keys, hk_i64 d,
                        HK_GLOBAL float *out, HK_GLOBAL float *temp)
{
    const int direct = k->channel == 1;
    const hk_i64 span = (d + hk_scale_rows(k->group, (int)k->minima, d)) * HK_PANEL;
    int i, r;

    if (k->group > 0)
        hk_scales_pack(k, keys, d, out);
    for (i = 0; i < HK_BLOCK; i += HKV_PACK) {
        HK_GLOBAL float *panel = out + i / HK_PANEL * span + i % HK_PANEL;
        HK_GLOBAL const char *rows[HKV_PACK];

        if (i % HK_ABREAST == 0 && hk_keys_abreast(k, keys + i)) {
            hk_columns_pack(k, keys[i], d, panel);
            i += HK_ABREAST - HKV_PACK;
            continue;
        }
        for (r = 0; r < HKV_PACK; r++) {
            HK_GLOBAL float *row = temp + r * d;
            hk_i64 t;

            rows[r] = (HK_GLOBAL const char *)row;
            if (keys[i + r] < 0) {
                for (t = 0; t < d; t++)
                    row[t] = 0.0f;
            } else if (direct) {
                rows[r] = hk_row_at(k, keys[i + r]);
            } else {
                hk_row_f32(k, keys[i + r], d, row);
            }
        }
        hk_rows_pack(rows, direct ? k->dtype : HK_F32, 0, d, panel, HK_PANEL);
    }
}

/* Keys first .. first + 63 as hk_keys_pack wants them: negative from `end` on and where they are
 * not there. */
HK_FN void hk_keys_fill(const struct hk_matrix *k, hk_i64 first, hk_i64 end, hk_i64 *keys)
{
    int i;

    for (i = 0; i < HK_BLOCK; i++)
        keys[i] = first + i < end && hk_row_present(&k->layout, first + i) ? first + i : -1;
}

/* Are the rows of 64 keys (negative: none) finite, and their scales? 0 * x is NaN where x is not.
 * temp: a row of n. */
HK_FN int hk_rows_finite(const struct hk_matrix *v, hk_i64 n, const hk_i64 *keys,
                         HK_GLOBAL float *temp)
{
    const hk_vec zero = hkv_set(0.0f);
    hk_vec sum = zero, more = zero;
    float rest = 0.0f;
    hk_i64 i, t;

    for (i = 0; i < HK_BLOCK; i++) {
        HK_GLOBAL const float *row;

        if (keys[i] < 0)
            continue;
        row = hk_row_f32(v, keys[i], n, temp);
        for (t = 0; t + 2 * HKV_LANES <= n; t += 2 * HKV_LANES) {
            sum = hkv_fma(hkv_load(row + t), zero, sum);
            more = hkv_fma(hkv_load(row + t + HKV_LANES), zero, more);
        }
        for (; t + HKV_LANES <= n; t += HKV_LANES)
            sum = hkv_fma(hkv_load(row + t), zero, sum);
        for (; t < n; t++)
            rest = hk_fma(row[t], 0.0f, rest);
        for (t = 0; t < hk_scale_rows(v->group, (int)v->minima, n); t++)
            rest =
                hk_fma(hk_row_scale(v, keys[i], t % (n / v->group), t >= n / v->group), 0.0f, rest);
    }
    return rest == rest && hkv_word(hkv_ordered(hkv_add(sum, more))) == HK_ALL_LANES;
}

#endif
