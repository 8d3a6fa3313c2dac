/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: scores of one small tile with a block of 64 keys of halves or bytes. K is
 * transposed a slice of one line of each row at a time, as it is stored; the slice is widened on
 * its way into the sums, which stay in registers over all slices, while the next slice is
 * transposed. Shuffles and products use the same parts of a processor: side by side they leave
 * fewer idle. The order of every sum is that of tiles.h (docs/numerics.md step 3).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_LINES_H
#define HEED_BACKENDS_KERNELS_ATTN_LINES_H

#include "fetch.h"

#define HK_LINE_ROWS 4          /* of a tile: sums for so many fit into registers */

#if defined HKV_LINES

#define HK_LINE_WORDS (HK_LINE / 4)
/* As many as HK_TILE_VECS. */
#define HK_LINE_VECS (HK_BLOCK / HKV_LANES)
#define HK_LINE_PACK 8          /* rows that are transposed together */

/* Types whose lines are transposed as they are stored. */
#define HK_LINE_TYPES(ROW, arg) HK_TYPE_F16(ROW, arg) HK_TYPE_BF16(ROW, arg) HK_TYPE_I8(ROW, arg)

/* A line of HK_LINE_PACK rows from row i on into the slice: words[word][64] or halves[half][64]. */
HK_INLINE void hk_line_pack(const struct hk_block_rows *k, const hk_u32 dtype, hk_i64 at, int i,
                            HK_GLOBAL float *slice)
{
    if (dtype == HK_F16)
        hkv_line_halves(k->at + i, at, (HK_GLOBAL hk_u16 *)slice + i, HK_BLOCK);
    else
        hkv_line_words(k->at + i, at, slice + i, HK_BLOCK);
}

/* Channel c of those in a word, of the keys of vector u. */
HK_INLINE hk_vec hk_line_load(HK_GLOBAL const float *word, const hk_u32 dtype, const int c,
                              const int u)
{
    HK_GLOBAL const hk_u16 *halves = (HK_GLOBAL const hk_u16 *)word;
    hk_vec pair[2];

    if (dtype == HK_I8)
        return hkv_load_byte(word + u * HKV_LANES, (hk_u32)c);
    if (dtype == HK_F16)
        return hkv_load_f16(halves + c * HK_BLOCK + u * HKV_LANES);
    if (dtype != HK_BF16)
        HK_UNREACHABLE();
    hkv_load_pairs_bf16(halves + 2 * u * HKV_LANES, pair);
    return pair[c];
}

/* Adds the products with the channels of one word. */
HK_INLINE void hk_line_step(HK_GLOBAL const float *HK_RESTRICT word,
                            HK_GLOBAL const float *HK_RESTRICT x, hk_i64 x_row, const hk_u32 dtype,
                            struct hk_fetch *next, hk_vec acc[HK_R][HK_TILE_VECS], const int rows)
{
    const int channels = 4 / (int)hk_size(dtype);
    hk_vec b[HK_LINE_VECS];
    int c, i, u;

    HK_UNROLL
    for (c = 0; c < channels; c++) {
        HK_UNROLL
        for (u = 0; u < HK_LINE_VECS; u++)
            b[u] = hk_line_load(word, dtype, c, u);
        HK_UNROLL
        for (i = 0; i < rows; i++) {
            const hk_vec a = hkv_set(x[i * x_row + c]);

            hk_fetch_lines(next, HK_LINE_PACK / 2, c * rows + i, channels * rows);
            HK_UNROLL
            for (u = 0; u < HK_LINE_VECS; u++)
                acc[i][u] = hkv_fma(a, b[u], acc[i][u]);
        }
    }
}

/* Products with a slice; if `more`, line `at` is transposed into the other meanwhile. */
HK_INLINE void hk_line_slice(HK_GLOBAL const float *x, hk_i64 d, HK_GLOBAL const float *from,
                             const struct hk_block_rows *k, const hk_u32 dtype, hk_i64 at,
                             HK_GLOBAL float *to, const int more, struct hk_fetch *next,
                             hk_vec acc[HK_R][HK_TILE_VECS], const int rows)
{
    const int per_word = 4 / (int)hk_size(dtype);
    int w;

    for (w = 0; w < HK_LINE_WORDS; w += 2) {
        if (more)
            hk_line_pack(k, dtype, at, w / 2 * HK_LINE_PACK, to);
        hk_line_step(from + w * HK_BLOCK, x + w * per_word, d, dtype, next, acc, rows);
        hk_line_step(from + (w + 1) * HK_BLOCK, x + (w + 1) * per_word, d, dtype, next, acc, rows);
    }
}

/* s[i][key] = x[i] . k[key] over `slices` lines. slice: room for two. */
HK_INLINE void hk_line_score(HK_GLOBAL const float *x, hk_i64 d, const struct hk_block_rows *k,
                             const hk_u32 dtype, hk_i64 slices, HK_GLOBAL float *slice,
                             HK_GLOBAL float *s, struct hk_fetch *fetch, const int rows)
{
    HK_GLOBAL const float *from = slice;
    struct hk_fetch next = *fetch;
    hk_vec acc[HK_R][HK_TILE_VECS];
    hk_i64 n;
    int i;

    for (i = 0; i < HK_BLOCK; i += HK_LINE_PACK)
        hk_line_pack(k, dtype, 0, i, slice);
    hk_product_zero(acc, rows, HK_LINE_VECS);
    for (n = 1; n < slices; n++, x += HK_LINE / hk_size(dtype)) {
        HK_GLOBAL float *to = slice + (n & 1) * HK_LINE_WORDS * HK_BLOCK;

        hk_line_slice(x, d, from, k, dtype, n * HK_LINE, to, 1, &next, acc, rows);
        from = to;
    }
    hk_line_slice(x, d, from, k, dtype, 0, slice, 0, &next, acc, rows);
    hk_product_store(acc, s, HK_BLOCK, rows, HK_LINE_VECS);
    *fetch = next;
}

#define HK_LINE_TYPED(type) hk_line_score(x, d, k, type, slices, slice, s, fetch, tile_rows)
#define HK_LINE_SCORES(rows)                                                                       \
    HK_NOINLINE void hk_line_scores_##rows(HK_GLOBAL const float *x, hk_i64 d,                     \
                                           const struct hk_block_rows *k, hk_i64 slices,           \
                                           HK_GLOBAL float *slice, HK_GLOBAL float *s,             \
                                           struct hk_fetch *fetch)                                 \
    {                                                                                              \
        const int tile_rows = rows;                                                                \
                                                                                                   \
        HK_BY(HK_LINE_TYPES, k->dtype, HK_LINE_TYPED);                                             \
    }
HK_LINE_SCORES(1)
HK_LINE_SCORES(2)
HK_LINE_SCORES(4)
#undef HK_LINE_SCORES
#undef HK_LINE_TYPED

/* Is the strip one small tile, and are the rows of K whole lines of halves or bytes? */
HK_FN int hk_lines_fit(const struct hk_strip *st, hk_u32 dtype)
{
    const hk_i64 bytes = st->call->plan->d * hk_size(dtype);

#define HK_IS(NAME, name, number, elements, size, arg) || dtype == HK_##NAME
    return st->n_rows <= HK_LINE_ROWS && (0 HK_LINE_TYPES(HK_IS, 0)) && bytes % HK_LINE == 0;
#undef HK_IS
}

/* Scores with the keys whose rows are given. Meanwhile the block's V is fetched. */
HK_FN void hk_line_scores(const struct hk_strip *st, const struct hk_block_rows *k,
                          const struct hk_block_rows *v)
{
    const hk_i64 d = st->call->plan->d, slices = d * hk_size(k->dtype) / HK_LINE;
    struct hk_fetch fetch;

    hk_fetch_begin(&fetch, v, 0, st->call->plan->d_v, 0);
    if (st->n_rows == 1)
        hk_line_scores_1(st->q, d, k, slices, st->k, st->s, &fetch);
    else if (st->n_rows == 2)
        hk_line_scores_2(st->q, d, k, slices, st->k, st->s, &fetch);
    else
        hk_line_scores_4(st->q, d, k, slices, st->k, st->s, &fetch);
}

#else

HK_FN int hk_lines_fit(const struct hk_strip *st, hk_u32 dtype)
{
    (void)st;
    (void)dtype;
    return 0;
}

HK_FN void hk_line_scores(const struct hk_strip *st, const struct hk_block_rows *k,
                          const struct hk_block_rows *v)
{
    (void)st;
    (void)k;
    (void)v;
    HK_UNREACHABLE();
}

#endif

#endif
