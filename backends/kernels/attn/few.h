/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: a block of 64 keys for a strip of few rows, as in decoding, where K and V are read
 * once and memory is what a block costs. K is transposed a slice of channels at a time, which stays
 * in the first level of the cache; V is widened in registers on its way into the sums; the next
 * block is fetched meanwhile. Register tiles have as many rows as the strip. The order of every sum
 * is that of tiles.h (docs/numerics.md steps 3 and 7).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_FEW_H
#define HEED_BACKENDS_KERNELS_ATTN_FEW_H

#include "lines.h"
#include "scales.h"
#if defined HKV_BYTES
#include "bytes.h"
#endif

/* ---- scores ---- */

/* s[i][key] += fma over channels [0, n) of x[i][channel] * slice[channel][key]. */
HK_INLINE void hk_slice_product(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 x_row,
                                HK_GLOBAL const float *HK_RESTRICT slice, hk_i64 n, int first,
                                HK_GLOBAL float *HK_RESTRICT s, struct hk_fetch *ahead,
                                const int rows, const int vecs)
{
    struct hk_fetch next = *ahead;
    hk_vec acc[HK_R][HK_TILE_VECS];
    hk_i64 t;

    if (first)
        hk_product_zero(acc, rows, vecs);
    else
        hk_product_load(acc, s, HK_BLOCK, rows, vecs);
    for (t = 0; t < n; t++, slice += HK_BLOCK) {
        if (t % HK_FETCH_EVERY == 0)
            hk_fetch_step(&next);
        hk_product_step(x + t, x_row, slice, acc, rows, vecs);
    }
    hk_product_store(acc, s, HK_BLOCK, rows, vecs);
    *ahead = next;
}

#define HK_SLICE_PRODUCTS(name, rows)                                                              \
    HK_NOINLINE void hk_slice_products_##name(                                                     \
        HK_GLOBAL const float *x, hk_i64 x_row, HK_GLOBAL const float *slice, int end, hk_i64 n,   \
        int first, HK_GLOBAL float *s, struct hk_fetch *ahead)                                     \
    {                                                                                              \
        const int step = HK_VECS_OF(rows) * HKV_LANES;                                             \
        int key;                                                                                   \
                                                                                                   \
        for (key = 0; key < end; key += step)                                                      \
            hk_slice_product(x, x_row, slice + key, n, first, s + key, ahead, rows,                \
                             HK_VECS_OF(rows));                                                    \
    }
HK_FEW_TILES(HK_SLICE_PRODUCTS)
#undef HK_SLICE_PRODUCTS

/* Channels [t, t + n) of the first `end` rows, transposed, into the worker's slice. */
HK_FN void hk_slice_pack(const struct hk_strip *st, const struct hk_block_rows *k, int end,
                         hk_i64 t, hk_i64 n, struct hk_fetch *ahead)
{
    int i;

    for (i = 0; i < end; i += HKV_PACK) {
        hk_fetch_step(ahead);
        hk_fetch_step(ahead);
        hk_rows_pack(k->at + i, k->dtype, t, t + n, st->k + i, HK_BLOCK);
    }
}

HK_FN void hk_slice_scores(const struct hk_strip *st, const struct hk_block_rows *k,
                         const struct hk_block_rows *v)
{
    const hk_i64 d = st->call->plan->d, slices = (d + HK_SLICE - 1) / HK_SLICE;
    const int end = hk_keys_computed(st, k);
    const hk_i64 across = end / HKV_LANES / hk_vecs_of(hk_min(st->n_rows, HK_R));
    const hk_i64 steps = end / HKV_PACK * 2 + st->tiles * across * HK_SLICE / HK_FETCH_EVERY;
    const hk_i64 group = k->group > 0 ? k->group : d;
    HK_GLOBAL float *to = k->group > 0 ? st->part : st->s;
    struct hk_fetch ahead;
    hk_i64 t, m;

    hk_fetch_begin(&ahead, v, 0, st->call->plan->d_v, slices * steps);
    for (t = 0; t < d; t += HK_SLICE) {
        const hk_i64 n = hk_min(HK_SLICE, d - t);

        hk_slice_pack(st, k, end, t, n, &ahead);
        for (m = 0; m < st->tiles; m++) {
            HK_GLOBAL const float *x = st->q + m * HK_R * d + t;
            HK_GLOBAL float *s = to + m * HK_R * HK_BLOCK;

#define HK_CALL(name) hk_slice_products_##name(x, d, st->k, end, n, t % group == 0, s, &ahead)
            HK_BY_TILE(hk_min(st->n_rows - m * HK_R, HK_R), HK_CALL);
#undef HK_CALL
        }
        if (k->group > 0 && (t + n) % group == 0)
            hk_few_join(st, k, t / group, to);
    }
}

/* Scores of all tiles with the keys whose rows are given. Meanwhile the block's V is fetched, and
 * what `far` has, which may be the same rows. */
HK_FN void hk_few_scores(const struct hk_strip *st, const struct hk_block_rows *k,
                         const struct hk_block_rows *v, const struct hk_block_rows *far)
{
#if defined HKV_BYTES
    if (HK_IN_BLOCKS(k->dtype)) {
        hk_bytes_scores(st, k, far);
        return;
    }
#endif
    if (hk_lines_fit(st, k->dtype) && (k->group == 0 || k->group == st->call->plan->d) &&
        hk_line_scores(st, k, v, far)) {
        if (k->group > 0)
            hk_few_join(st, k, 0, st->s);
    } else
        hk_slice_scores(st, k, far);
}

/* ---- values ---- */

/* Two vectors of a row of pieces from channel t on. */
HK_INLINE void hk_pair_load(const hk_u32 dtype, HK_GLOBAL const char *row, hk_i64 t, hk_vec b[2])
{
    (void)dtype, (void)row, (void)t, (void)b;           /* there may be no such type */
#define HK_PAIR(NAME, name, number, elements, bytes, arg)                                          \
    if (dtype == HK_##NAME) {                                                                      \
        hkv_pair_##name(row, t, b);                                                                \
    } else
    HK_PIECE_TYPES(HK_PAIR, 0)
#undef HK_PAIR
    HK_UNREACHABLE();
}

/* Two vectors of a row from channel t on; of HK_PARITY_TYPES those of even and of odd channels. */
HK_INLINE void hk_few_load(HK_GLOBAL const char *row, const hk_u32 dtype, hk_i64 t, hk_vec b[2])
{
    if (HK_IN_PIECES(dtype)) {
        hk_pair_load(dtype, row, t, b);
        return;
    }
    if (dtype == HK_BF16) {
        hkv_load_pairs_bf16((HK_GLOBAL const hk_u16 *)row + t, b);
    } else {
        b[0] = hk_vec_load(dtype, row, t);
        b[1] = hk_vec_load(dtype, row, t + HKV_LANES);
    }
}

/* Sums of two vectors, in the order of their channels in memory. */
HK_INLINE void hk_few_sums_load(HK_GLOBAL const float *o, const hk_u32 dtype, hk_vec sums[2])
{
    sums[0] = hkv_load(o);
    sums[1] = hkv_load(o + hk_o_at(HKV_LANES));
    if (HK_BY_PARITY(dtype))
        hkv_part_pairs(sums);
}

HK_INLINE void hk_few_sums_store(HK_GLOBAL float *o, const hk_u32 dtype, hk_vec sums[2])
{
    if (HK_BY_PARITY(dtype))
        hkv_join_pairs(sums);
    hkv_store(o, sums[0]);
    hkv_store(o + hk_o_at(HKV_LANES), sums[1]);
}

/* The weights that meet the channels of a register tile: those of 32 channels from the first on,
 * and of the others. Of types in blocks the latter lie behind the former. */
struct hk_few_by {
    HK_GLOBAL const float *first, *rest;
};

/* Floats from the weights of one group to those of the next. */
#define HK_BY_GROUP (HK_TILE_ROWS_MAX * HK_BLOCK)

/* Those of channel c of the tile. */
HK_INLINE HK_GLOBAL const float *hk_few_weights_of(const struct hk_few_by *by, const hk_u32 dtype,
                                                   const int c)
{
    if (HK_IN_BLOCKS(dtype))
        return by->first + c / HK_BLOCK_CHANNELS * HK_BY_GROUP;
    return HK_MAY_SCALE(dtype) && c >= HK_BLOCK_CHANNELS ? by->rest : by->first;
}

/* Products of the weights of key `key` + `at` with its channels from t on. Meanwhile the share of
 * key `at` of `keys` in `lines` lines is fetched. */
HK_INLINE void hk_few_key(const struct hk_few_by *by, const struct hk_block_rows *v,
                          const hk_u32 dtype, hk_i64 t, int key, const int at,
                          hk_vec acc[HK_R][HK_TILE_VECS / 2][2], const int rows, const int pairs,
                          struct hk_streams *next, const int lines, const int keys)
{
    hk_vec b[2];
    int i, u;

    HK_UNROLL
    for (u = 0; u < pairs; u++) {
        HK_GLOBAL const float *p = hk_few_weights_of(by, dtype, 2 * u * HKV_LANES);

        hk_few_load(v->at[key + at], dtype, t + 2 * u * HKV_LANES, b);
        HK_UNROLL
        for (i = 0; i < rows; i++) {
            const hk_vec a = hkv_set(p[i * HK_BLOCK + key + at]);

            hk_streams_go(next, HK_HAS_NEAR(dtype), lines, (at * pairs + u) * rows + i,
                          keys * pairs * rows);
            acc[i][u][0] = hkv_fma(a, b[0], acc[i][u][0]);
            acc[i][u][1] = hkv_fma(a, b[1], acc[i][u][1]);
        }
    }
}

#define HK_FEW_KEYS 4 /* at most, that are taken at a time */
#define HK_FEW_KEYS_MIN 16 /* of those that stay in the first level */
#define HK_FEW_BYTES 12288 /* of their rows, at most, unless they are so few */

/* 2 * pairs vectors of channels from t on of o[i] += fma over keys [first, end) of p[i][key] *
 * v[key]. So many keys are taken at a time as make a line, which is fetched meanwhile. */
HK_INLINE void hk_few_value(const struct hk_few_by *weights, const struct hk_block_rows *v,
                            const hk_u32 dtype, hk_i64 t, int first, int end,
                            HK_GLOBAL float *HK_RESTRICT o, struct hk_streams *ahead,
                            const int rows, const int pairs)
{
    const int bytes =
        (int)hk_channel_bytes(dtype, HK_BLOCK_CHANNELS) * 2 * pairs * HKV_LANES / HK_BLOCK_CHANNELS;
    const int keys = bytes >= HK_LINE ? 1 : (int)hk_min(HK_FEW_KEYS, HK_LINE / bytes);
    const int lines = (bytes * keys + HK_LINE - 1) / HK_LINE;
    struct hk_streams next = *ahead;
    const struct hk_few_by by = *weights;
    hk_vec acc[HK_R][HK_TILE_VECS / 2][2];
    int i, u, key;

    o += hk_o_at(t);
    HK_UNROLL
    for (i = 0; i < rows; i++) {
        HK_UNROLL
        for (u = 0; u < pairs; u++)
            hk_few_sums_load(o + hk_o_at(2 * u * HKV_LANES) + i * HK_PANEL, dtype, acc[i][u]);
    }
    for (key = first; key + keys <= end; key += keys) {
        HK_UNROLL
        for (i = 0; i < keys; i++)
            hk_few_key(&by, v, dtype, t, key, i, acc, rows, pairs, &next, lines, keys);
    }
    for (; keys > 1 && key < end; key++)
        hk_few_key(&by, v, dtype, t, key, 0, acc, rows, pairs, &next, 0, 1);
    HK_UNROLL
    for (i = 0; i < rows; i++) {
        HK_UNROLL
        for (u = 0; u < pairs; u++)
            hk_few_sums_store(o + hk_o_at(2 * u * HKV_LANES) + i * HK_PANEL, dtype, acc[i][u]);
    }
    *ahead = next;
}

/* The weights of a tile, and room for them times scales and for scales. */
struct hk_few_weights {
    HK_GLOBAL const float *p; /* [rows][64] */
    HK_GLOBAL float *scaled;  /* [2][HK_TILE_ROWS_MAX][64] */
    HK_GLOBAL float *scale;   /* [64] */
};

HK_INLINE void hk_few_scale(const struct hk_few_weights *w, const struct hk_block_rows *v, hk_i64 g,
                            const int rows, HK_GLOBAL float *to)
{
    hk_rows_scales(v, g, 0, w->scale);
    hk_weights_scale(w->p, w->scale, rows, to);
}

/* The weights that meet channels t to t + n - 1 of V in blocks, at most those of two. */
HK_INLINE void hk_few_scaled_blocks(const struct hk_few_weights *w, const struct hk_block_rows *v,
                                    hk_i64 t, const int n, const int rows)
{
    hk_i64 g;

    for (g = 0; t % HK_BLOCK_CHANNELS == 0 && g * HK_BLOCK_CHANNELS < n; g++)
        hk_few_scale(w, v, t / HK_BLOCK_CHANNELS + g, rows, w->scaled + g * HK_BY_GROUP);
}

/* The weights that meet channels t to t + n - 1 of V, n at most those of two blocks, which come in
 * order. Groups take turns in two places. (Not returned: Oclgrind does not know what an inlined
 * function that returns a struct becomes.) */
HK_INLINE void hk_few_scaled(const struct hk_few_weights *w, const struct hk_block_rows *v,
                             const hk_u32 dtype, hk_i64 t, const int n, const int rows,
                             struct hk_few_by *by)
{
    const hk_i64 group = v->group;
    hk_i64 g;

    by->first = by->rest = w->p;
    if (!HK_MAY_SCALE(dtype) || group == 0)
        return;
    by->first = by->rest = w->scaled;
    if (HK_IN_BLOCKS(dtype)) {
        hk_few_scaled_blocks(w, v, t, n, rows);
        return;
    }
    for (g = (t + group - 1) / group; g * group < t + n; g++)
        hk_few_scale(w, v, g, rows, w->scaled + g % 2 * HK_BY_GROUP);
    by->first = w->scaled + t / group % 2 * HK_BY_GROUP;
    if (n > HK_BLOCK_CHANNELS)
        by->rest = w->scaled + (t + HK_BLOCK_CHANNELS) / group % 2 * HK_BY_GROUP;
    else
        by->rest = by->first;
}

/* All channels; width: pairs of vectors. */
HK_INLINE void hk_few_channels(const struct hk_few_weights *w, const struct hk_block_rows *v,
                               const hk_u32 dtype, int first, int end, HK_GLOBAL float *o,
                               hk_i64 width, struct hk_streams *ahead, const int rows)
{
    const int pairs = (HK_VECS_OF(rows) + 1) / 2, n = 2 * pairs * HKV_LANES;
    struct hk_few_by by;
    hk_i64 t = 0;

    for (; t + n <= width; t += n) {
        hk_few_scaled(w, v, dtype, t, n, rows, &by);
        hk_few_value(&by, v, dtype, t, first, end, o, ahead, rows, pairs);
    }
    for (; t < width; t += 2 * HKV_LANES) {
        hk_few_scaled(w, v, dtype, t, 2 * HKV_LANES, rows, &by);
        hk_few_value(&by, v, dtype, t, first, end, o, ahead, rows, 1);
    }
}

#define HK_FEW_TYPED(type) hk_few_channels(w, v, type, first, end, o, width, ahead, tile_rows)
#define HK_FEW_VALUES(name, rows)                                                                  \
    HK_NOINLINE void hk_few_values_##name(                                                         \
        const struct hk_few_weights *w, const struct hk_block_rows *v, int first, int end,         \
        HK_GLOBAL float *o, hk_i64 width, struct hk_streams *ahead)                                \
    {                                                                                              \
        const int tile_rows = rows;                                                                \
                                                                                                   \
        HK_BY_KV(v->dtype, HK_FEW_TYPED);                                                          \
    }
HK_FEW_TILES(HK_FEW_VALUES)
#undef HK_FEW_VALUES
#undef HK_FEW_TYPED

/* The weights of a tile with keys [first, end). */
HK_FN void hk_few_values(const struct hk_strip *st, const struct hk_tile *tile,
                         const struct hk_block_rows *v, int first, int end,
                         struct hk_streams *ahead)
{
    const hk_i64 width = st->call->plan->d_v;
    struct hk_few_weights w;

    w.p = tile->s;
    w.scaled = st->scaled;
    w.scale = st->part;
#define HK_CALL(name) hk_few_values_##name(&w, v, first, end, tile->o, width, ahead)
    HK_BY_TILE(tile->rows, HK_CALL);
#undef HK_CALL
    hk_value_minima(st, tile, first, end);
}

/* Minima of V behind its channels. */
HK_FN void hk_few_minima(const struct hk_strip *st, const struct hk_block_rows *v)
{
    const hk_i64 groups = st->call->plan->d_v / v->group, minima = st->call->plan->minima;
    HK_GLOBAL float *to = st->v + hk_minima_at(st);
    hk_i64 i, g;

    for (i = 0; i < HK_BLOCK; i++) {
        for (g = 0; g < minima; g += HKV_LANES)
            hkv_store(to + i * st->width + g, hkv_set(0.0f));
    }
    for (g = 0; g < groups; g++) {
        hk_rows_scales(v, g, 1, st->part);
        for (i = 0; i < HK_BLOCK; i++)
            to[i * st->width + g] = st->part[i];
    }
}

/* Where the run of bits that begins at `start` ends. */
HK_FN int hk_run_end(hk_u64 mask, int start)
{
    const hk_u64 zeros = ~(mask >> start);

    return zeros == 0 ? HK_BLOCK : (int)hk_min(start + hk_first_bit(zeros), HK_BLOCK);
}

/* Keys of V that are taken over all channels at a time, so that they stay in the first level.
 * Strips of more rows take twice as many, for they compute more with each. */
HK_FN int hk_few_keys(const struct hk_strip *st, hk_u32 dtype)
{
    const hk_i64 bytes = hk_channel_bytes(dtype, st->call->plan->d_v);
    const hk_i64 most = st->n_rows > HK_LINE_ROWS ? 2 * HK_FEW_BYTES : HK_FEW_BYTES;
    int keys = HK_BLOCK;

    while (HK_HAS_NEAR(dtype) && keys > HK_FEW_KEYS_MIN && keys * bytes > most)
        keys /= 2;
    return keys;
}

/* The weights of a tile with the keys of `left`. */
HK_FN void hk_few_part(const struct hk_strip *st, const struct hk_tile *tile,
                       const struct hk_block_rows *v, hk_u64 left, struct hk_streams *ahead)
{
    while (left != 0) {
        const int start = hk_first_bit(left), end = hk_run_end(left, start);

        hk_few_values(st, tile, v, start, end, ahead);
        left = end == HK_BLOCK ? 0 : left >> end << end;
    }
}

/* The weights of all tiles, of which each has one mask, with V. Meanwhile K of the next block is
 * fetched, which lies `shift` bytes behind the rows of `next`, and what lies so far behind those of
 * `far`, which may be the same (0: nothing). */
HK_FN void hk_few_weigh(const struct hk_strip *st, const struct hk_block_rows *v,
                        const struct hk_block_rows *next, const struct hk_block_rows *far,
                        hk_i64 shift)
{
    const hk_i64 d = st->call->plan->d, d_v = st->call->plan->d_v;
    const int keys = hk_few_keys(st, v->dtype);
    struct hk_streams ahead;
    int first;
    hk_i64 m;

    if (v->of->minima)
        hk_few_minima(st, v);
    for (m = 0; m < st->tiles; m++)
        hk_tile_begin(st, m);
    for (first = 0; first < v->keys; first += keys) {
        const hk_u64 part = ~(hk_u64)0 >> (HK_BLOCK - keys) << first;

        if (next && keys < HK_BLOCK && first + keys >= v->keys)
            hk_stream_begin(&ahead.near, next, shift, d, 0);
        else
            hk_stream_begin(&ahead.near, v, 0, d_v, first + keys);
        if (far)
            hk_stream_begin(&ahead.far, far, shift, d, first);
        else
            hk_stream_begin(&ahead.far, v, 0, d_v, HK_BLOCK);
        for (m = 0; m < st->tiles; m++) {
            const struct hk_tile tile = hk_strip_tile(st, m);

            hk_few_part(st, &tile, v, st->tile_masks[m] ? tile.masks[0] & part : 0, &ahead);
        }
    }
}

/* ---- when ---- */

/* May rows of this source be few: is V rows of elements side by side, of whole pairs of vectors?
 * Whoever reads K looks at it. */
HK_FN int hk_few_may(const struct hk_strip *st)
{
    const hk_i64 d = st->call->plan->d, d_v = st->call->plan->d_v;

    return st->v_rows.channel == 1 && d > 0 && d_v > 0 && d_v % (2 * HKV_LANES) == 0 &&
           st->source->n_dots == 0;
}

HK_FN int hk_few_fits(const struct hk_strip *st)
{
    return st->n_rows <= HK_FEW_ROWS && hk_few_may(st);
}

/* Do the rows of every tile remain with the same keys? */
HK_FN int hk_tiles_agree(const struct hk_strip *st)
{
    hk_i64 i;

    for (i = 0; i < st->n_rows; i++) {
        if (st->masks[i] != st->masks[i / HK_R * HK_R])
            return 0;
    }
    return 1;
}

#endif
