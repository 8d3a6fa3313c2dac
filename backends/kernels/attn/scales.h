/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: rows whose channels share scales by groups, and may have minima (docs/numerics.md
 * section 4, steps 3 and 7). Products are those of the numbers as they are stored: what a group's
 * channels sum to joins a score times the scale of the key, and a weight meets V times the scale of
 * V. Minima of K meet sums of q over a group; those of V are summed like channels, behind them.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_SCALES_H
#define HEED_BACKENDS_KERNELS_ATTN_SCALES_H

#include "fetch.h"

/* ---- scores ---- */

/* Minima of a group of K with what they are multiplied by: sums of q, `row` floats from row to row.
 * of 0: there are none. */
struct hk_minima {
    HK_GLOBAL const float *of, *sums;
    hk_i64 row;
};

/* s[u] of a row before the group -> behind it; a: the group's products. */
HK_INLINE hk_vec hk_group_join(hk_vec a, hk_vec scale, hk_vec s, const struct hk_minima *minima,
                               hk_i64 i, hk_i64 n)
{
    s = hkv_fma(a, scale, s);
    return minima->of ? hkv_fma(hkv_set(minima->sums[i * minima->row]), hkv_load(minima->of + n), s)
                      : s;
}

/* Sums of q over groups of K, for minima. */
HK_FN void hk_sums_fill(const struct hk_strip *st)
{
    const hk_i64 d = st->call->plan->d, group = st->k_rows.group, groups = d / group;
    hk_i64 i, t;

    for (i = 0; i < st->n_rows; i++) {
        HK_GLOBAL float *sums = st->sums + i * groups;

        for (t = 0; t < groups; t++)
            sums[t] = 0.0f;
        for (t = 0; t < d; t++)
            sums[t / group] = hk_add(sums[t / group], st->q[i * d + t]);
    }
}

/* Minima of group g of K: `of` is where they lie for the keys at hand. */
HK_FN struct hk_minima hk_minima_of(const struct hk_strip *st, hk_i64 row, hk_i64 g,
                                    HK_GLOBAL const float *of)
{
    const hk_i64 groups = st->call->plan->d / st->k_rows.group;
    struct hk_minima out;

    out.of = st->k_rows.minima ? of : 0;
    out.sums = st->sums + row * groups + g;
    out.row = groups;
    return out;
}

/* Scores s[R][64] with the keys of a panel from one group of K. first: there was none before. */
HK_NOINLINE void hk_panel_group(HK_GLOBAL const float *q, hk_i64 d, HK_GLOBAL const float *panel,
                                HK_GLOBAL const float *scale, hk_i64 n, int first,
                                const struct hk_minima *minima, HK_GLOBAL float *s)
{
    hk_vec acc[HK_R][HK_TILE_VECS];
    int i, u;

    hk_product_zero(acc, HK_R, HKV_TILE);
    hk_product_more(q, d, panel, HK_PANEL, n, acc, HKV_TILE);
    HK_UNROLL
    for (i = 0; i < HK_R; i++) {
        HK_UNROLL
        for (u = 0; u < HKV_TILE; u++) {
            HK_GLOBAL float *to = s + i * HK_BLOCK + u * HKV_LANES;
            const hk_vec before = first ? hkv_set(0.0f) : hkv_load(to);

            hkv_store(to, hk_group_join(acc[i][u], hkv_load(scale + u * HKV_LANES), before, minima,
                                        i, u * HKV_LANES));
        }
    }
}

/* Scores of tile m with the packed keys in `mask`. */
HK_FN void hk_scaled_scores(const struct hk_strip *st, HK_GLOBAL const float *k, hk_i64 m,
                            hk_u64 mask)
{
    const hk_i64 d = st->call->plan->d, group = st->k_rows.group, groups = d / group;
    HK_GLOBAL const float *q = st->q + m * HK_R * d;
    hk_i64 g;
    int n;

    for (n = 0; n < HK_BLOCK; n += HK_PANEL) {
        HK_GLOBAL const float *panel = k + n * st->source->panel_rows;
        HK_GLOBAL const float *scale = panel + d * HK_PANEL;

        if ((mask & (~(hk_u64)0 >> (64 - HK_PANEL)) << n) == 0)
            continue;
        for (g = 0; g < groups; g++) {
            const struct hk_minima minima =
                hk_minima_of(st, m * HK_R, g, scale + (groups + g) * HK_PANEL);

            hk_panel_group(q + g * group, d, panel + g * group * HK_PANEL, scale + g * HK_PANEL,
                           group, g == 0, &minima, st->s + m * HK_R * HK_BLOCK + n);
        }
    }
}

/* Scores of tile m become y = s * c, and max each row's largest, lane by lane. */
HK_NOINLINE void hk_scores_end(const struct hk_tile *tile, float c)
{
    const hk_vec factor = hkv_set(c);
    hk_i64 i;
    int n;

    for (i = 0; i < HK_R; i++) {
        hk_vec top = hkv_set(-HK_INFINITY);

        for (n = 0; n < HK_BLOCK; n += HKV_LANES) {
            const hk_vec y = hkv_mul(hkv_load(tile->s + i * HK_BLOCK + n), factor);

            top = hkv_max_f(y, top);
            hkv_store(tile->s + i * HK_BLOCK + n, y);
        }
        hkv_store(tile->max + i * HKV_LANES, top);
    }
}

/* The panels of a block with their channels widened, for DOT. */
HK_NOINLINE HK_GLOBAL const float *hk_panels_widen(const struct hk_strip *st,
                                                   HK_GLOBAL const float *k)
{
    const hk_i64 d = st->call->plan->d, group = st->k_rows.group, groups = d / group;
    const int minima = (int)st->k_rows.minima;
    hk_i64 n, t, i;

    for (n = 0; n < HK_BLOCK; n += HK_PANEL) {
        HK_GLOBAL const float *panel = k + n * st->source->panel_rows;
        HK_GLOBAL float *to = st->wide + n * d;

        for (t = 0; t < d; t++) {
            HK_GLOBAL const float *scale = panel + (d + t / group) * HK_PANEL;

            for (i = 0; i < HK_PANEL; i += HKV_LANES) {
                const hk_vec z = hkv_load(panel + t * HK_PANEL + i), by = hkv_load(scale + i);

                hkv_store(to + t * HK_PANEL + i,
                          minima ? hkv_fma(z, by, hkv_load(scale + groups * HK_PANEL + i))
                                 : hkv_mul(z, by));
            }
        }
    }
    return st->wide;
}

/* ---- scores of few rows, 64 keys abreast ---- */

/* Joins what a group sums to, a[rows][64], to scores. */
HK_NOINLINE void hk_rows_join(HK_GLOBAL const float *a, HK_GLOBAL const float *scale, int first,
                              const struct hk_minima *minima, hk_i64 rows, HK_GLOBAL float *s)
{
    hk_i64 i;
    int n;

    for (i = 0; i < rows; i++) {
        for (n = 0; n < HK_BLOCK; n += HKV_LANES) {
            const hk_vec before = first ? hkv_set(0.0f) : hkv_load(s + i * HK_BLOCK + n);

            hkv_store(s + i * HK_BLOCK + n,
                      hk_group_join(hkv_load(a + i * HK_BLOCK + n), hkv_load(scale + n), before,
                                    minima, i, n));
        }
    }
}

/* Group g of K for all rows: `a` is what it sums to. */
HK_FN void hk_few_join(const struct hk_strip *st, const struct hk_block_rows *k, hk_i64 g,
                       HK_GLOBAL const float *a)
{
    HK_GLOBAL float *scale = st->scaled, *low = scale + HK_BLOCK;
    const struct hk_minima minima = hk_minima_of(st, 0, g, low);

    hk_rows_scales(k, g, 0, scale);
    if (minima.of)
        hk_rows_scales(k, g, 1, low);
    hk_rows_join(a, scale, g == 0, &minima, st->n_rows, st->s);
}

/* ---- values ---- */

/* Where sums of minima begin, behind the channels. */
HK_FN hk_i64 hk_minima_at(const struct hk_strip *st)
{
    return st->width - st->call->plan->minima;
}

/* The scales of V's row `key`, which lies at place n of the block, and its minima behind its
 * channels in st->v. */
HK_FN void hk_value_scales(const struct hk_strip *st, hk_i64 key, hk_i64 n)
{
    const struct hk_matrix *v = &st->v_rows;
    const hk_i64 groups = st->call->plan->d_v / v->group;
    hk_i64 g;

    for (g = 0; g < groups; g++)
        st->v_scales[g * HK_BLOCK + n] = hk_row_scale(v, key, g, 0);
    for (g = 0; v->minima && g < groups; g++)
        st->v[n * st->width + hk_minima_at(st) + g] = hk_row_scale(v, key, g, 1);
}

/* Are the scales and minima of the keys in mask finite? */
HK_FN int hk_value_scales_finite(const struct hk_strip *st, hk_u64 mask)
{
    const hk_i64 groups = st->call->plan->d_v / st->v_rows.group;
    float sum = 0.0f;
    hk_i64 g;

    for (; mask != 0; mask &= mask - 1) {
        const int n = hk_first_bit(mask);

        for (g = 0; g < groups; g++)
            sum = hk_fma(st->v_scales[g * HK_BLOCK + n], 0.0f, sum);
        for (g = 0; st->v_rows.minima && g < groups; g++)
            sum = hk_fma(st->v[n * st->width + hk_minima_at(st) + g], 0.0f, sum);
    }
    return sum == sum;
}

/* to = p * scale, for `rows` rows of 64 keys. */
HK_NOINLINE void hk_weights_scale(HK_GLOBAL const float *p, HK_GLOBAL const float *scale,
                                  hk_i64 rows, HK_GLOBAL float *to)
{
    hk_i64 i;
    int n;

    for (n = 0; n < HK_BLOCK; n += HKV_LANES) {
        const hk_vec by = hkv_load(scale + n);

        for (i = 0; i < rows; i++)
            hkv_store(to + i * HK_BLOCK + n, hkv_mul(hkv_load(p + i * HK_BLOCK + n), by));
    }
}

/* Channels [t, t + n) of one tile with keys [start, end). */
HK_FN void hk_value_span(HK_GLOBAL const float *p, HK_GLOBAL const float *v, hk_i64 v_row,
                         int start, int end, HK_GLOBAL float *o, hk_i64 t, hk_i64 n)
{
    const hk_i64 rest = t % HK_PANEL == 0 ? 0 : hk_min(HK_PANEL - t % HK_PANEL, n);

    if (rest > 0)
        hk_value_part(p, v + t, v_row, start, end, o + hk_o_at(t), rest);
    if (n > rest)
        hk_value_tiles(p, v + t + rest, v_row, start, end, o + hk_o_at(t + rest), n - rest);
}

/* Weights of tile m with minima of V, from the row of place 0 on. */
HK_FN void hk_value_minima(const struct hk_strip *st, const struct hk_tile *tile, int start,
                           int end)
{
    hk_i64 t;

    for (t = hk_minima_at(st); st->v_rows.minima && t < st->width; t += HKV_LANES)
        hk_value_part(tile->s, st->v + t, st->width, start, end, tile->o + hk_o_at(t), HKV_LANES);
}

/* All channels of a tile with keys [start, end) of st->v. */
HK_FN void hk_scaled_values(const struct hk_strip *st, const struct hk_tile *tile, int start,
                            int end)
{
    const hk_i64 width = hk_minima_at(st), group = st->v_rows.group;
    hk_i64 t;

    for (t = 0; t < st->call->plan->d_v; t += group) {
        hk_weights_scale(tile->s, st->v_scales + t / group * HK_BLOCK, tile->rows, st->scaled);
        hk_value_span(st->scaled, st->v, st->width, start, end, tile->o, t,
                      t + group < st->call->plan->d_v ? group : width - t);
    }
    hk_value_minima(st, tile, start, end);
}

/* Row i of a tile, keys in mask only: where a V that a row does not see is not finite. */
HK_FN void hk_scaled_row(const struct hk_strip *st, const struct hk_tile *tile, hk_i64 i,
                         hk_u64 mask)
{
    const hk_i64 width = hk_minima_at(st), group = st->v_rows.group;
    HK_GLOBAL const float *p = tile->s + i * HK_BLOCK;
    HK_GLOBAL float *o = tile->o + i * HK_PANEL;
    hk_i64 t, j;

    for (t = 0; t < st->call->plan->d_v; t += group) {
        const hk_i64 end = t + group < st->call->plan->d_v ? t + group : width;

        hk_weights_scale(p, st->v_scales + t / group * HK_BLOCK, 1, st->scaled);
        for (j = t; j < end; j += HKV_LANES)
            hk_value_lanes(st->scaled, st->v + j, st->width, mask, o + hk_o_at(j));
    }
    for (j = width; st->v_rows.minima && j < st->width; j += HKV_LANES)
        hk_value_lanes(p, st->v + j, st->width, mask, o + hk_o_at(j));
}

/* The sums of minima join the channels of their groups, where a chunk ends. */
HK_FN void hk_minima_end(const struct hk_strip *st)
{
    const hk_i64 d_v = st->call->plan->d_v, at = hk_minima_at(st);
    hk_i64 m, i, t;

    for (m = 0; m < st->tiles; m++) {
        const struct hk_tile tile = hk_strip_tile(st, m);

        for (i = 0; i < tile.rows; i++) {
            HK_GLOBAL float *o = tile.o + i * HK_PANEL;

            for (t = 0; t < d_v; t += HKV_LANES) {
                const float low = o[hk_o_at(at + t / st->v_rows.group)];

                hkv_store(o + hk_o_at(t), hkv_add(hkv_load(o + hk_o_at(t)), hkv_set(low)));
            }
        }
    }
}

#endif
