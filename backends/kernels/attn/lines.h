/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: scores of one small tile with a block of 64 keys. So few keys are taken at a time
 * that their sums stay in registers over all channels, and their rows in the first level of the
 * cache. A line of each of their rows is transposed as it is stored, and widened on its way into
 * the sums while the next line is transposed: shuffles and products side by side leave fewer parts
 * of a processor idle. The order of every sum is that of tiles.h (docs/numerics.md step 3).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_LINES_H
#define HEED_BACKENDS_KERNELS_ATTN_LINES_H

#include "fetch.h"

#define HK_LINE_ROWS 4          /* of a tile: sums for so many fit into registers */

#if defined HKV_LINES

#define HK_LINE_WORDS (HK_LINE / 4)
/* Keys of a tile: their sums are at most eight vectors, which registers hold; their rows are 8 KB
 * with 128 channels, twice as much where one or two rows of f32 need more sums under way. */
#define HK_LINE_KEYS(dtype, rows)                                                                  \
    HK_VECS_MIN(8 * HKV_LANES / (rows), hk_size(dtype) == 1                             ? 64       \
                                        : hk_size(dtype) == 4 && (rows) == HK_LINE_ROWS ? 16       \
                                                                                        : 32)
#define HK_LINE_TYPES(ROW, arg)                                                                    \
    HK_TYPE_F32(ROW, arg) HK_TYPE_F16(ROW, arg) HK_TYPE_BF16(ROW, arg) HK_TYPE_I8(ROW, arg)

/* Floats of a slice, the words of a line of each key. (Slices are no multiple of 4 KB apart, for
 * stores there would hold up loads here.) */
#define HK_LINE_SLICE(keys) (HK_LINE_WORDS * (keys) + 64)

/* Bits of f16 are those of f32 times 2^-112, subnormal ones included, so that its products with q
 * times 2^112 are the same, rounded as they are; infinite halves and NaN have no such bits. */
#define HK_LINE_UP 0x1p112f
#define HK_LINE_LIMIT 0x1p16f /* of q */

/* Words w to w + HK_LINE_PART - 1 of a line, which lies `at` bytes from where its row begins, of
 * HKV_PACK rows into a slice. top: see hkv_pack_halves. */
#define HK_LINE_PART 8
HK_INLINE void hk_line_pack(HK_GLOBAL const char *const *rows, const hk_u32 dtype, hk_i64 at,
                            const int w, HK_GLOBAL float *slice, const int keys, hk_vec *top)
{
    HK_GLOBAL const float *const *const words = (HK_GLOBAL const float *const *)rows;

    if (dtype == HK_F16)
        hkv_pack_halves(words, at / 4 + w, slice + w * keys, keys, top);
    else
        hkv_pack_words(words, at / 4 + w, slice + w * keys, keys);
}

/* The channels of a word of a slice, of the keys of one vector. */
HK_INLINE void hk_line_load(HK_GLOBAL const float *word, const hk_u32 dtype, hk_vec out[4])
{
    int c;

    if (dtype == HK_F32) {
        out[0] = hkv_load(word);
    } else if (dtype == HK_BF16) {
        hkv_load_pairs_bf16((HK_GLOBAL const hk_u16 *)word, out);
    } else if (dtype == HK_F16) {
        hkv_load_halves(word, out);
    } else if (dtype == HK_I8) {
        HK_UNROLL
        for (c = 0; c < 4; c++)
            out[c] = hkv_load_byte(word, c);
    } else {
        HK_UNREACHABLE();
    }
}

/* Adds the products with the channels of words first to end - 1 of a slice, x rows d apart. */
HK_INLINE void hk_line_products(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 d,
                                HK_GLOBAL const float *HK_RESTRICT slice, const hk_u32 dtype,
                                int first, int end, struct hk_streams *next,
                                hk_vec acc[HK_R][HK_TILE_VECS], const int rows)
{
    const int channels = 4 / (int)hk_size(dtype);
    const int keys = HK_LINE_KEYS(dtype, rows), vecs = keys / HKV_LANES;
    int w, c, u;

    for (w = first; w < end; w++) {
        hk_vec word[HK_TILE_VECS][4], b[HK_TILE_VECS];

        HK_UNROLL
        for (u = 0; u < vecs; u++)
            hk_line_load(slice + w * keys + u * HKV_LANES, dtype, word[u]);
        HK_UNROLL
        for (c = 0; c < channels; c++) {
            hk_streams_go(next, keys < HK_BLOCK, keys / HK_LINE_WORDS, c, channels);
            HK_UNROLL
            for (u = 0; u < vecs; u++)
                b[u] = word[u][c];
            hk_product_add(x + w * channels + c, d, b, acc, rows, vecs);
        }
    }
}

/* What a tile is computed from. */
struct hk_lined {
    HK_GLOBAL const float *x;
    hk_i64 d, slices; /* slices: lines of a row */
    const struct hk_block_rows *k, *v, *far;
};

/* Sums of the tile of keys from `first` on, whose first line lies in *from; the first line of the
 * next tile lies there then. Meanwhile that tile's rows, or V's, and those of `far` are fetched. */
HK_INLINE void hk_line_tile(const struct hk_lined *in, const hk_u32 dtype, int first,
                            HK_GLOBAL float **from, HK_GLOBAL float **to, hk_i64 channels,
                            hk_vec *top, hk_vec acc[HK_R][HK_TILE_VECS], const int rows)
{
    const int keys = HK_LINE_KEYS(dtype, rows), end = first + keys;
    const int halves = HK_LINE_WORDS / HK_LINE_PART, packs = keys / HKV_PACK * halves;
    const int part = HK_LINE_WORDS / packs;
    const int more = end < in->k->keys;
    struct hk_streams next;
    hk_i64 n;
    int g;

    if (more)
        hk_stream_begin(&next.near, in->k, 0, in->d, end);
    else
        hk_stream_begin(&next.near, in->v, 0, channels, 0);
    hk_stream_begin(&next.far, in->far, 0, channels, first);
    hk_product_zero(acc, rows, keys / HKV_LANES);
    for (n = 1; n <= in->slices; n++) {
        HK_GLOBAL const float *const x = in->x + (n - 1) * (HK_LINE / hk_size(dtype));
        HK_GLOBAL const char *const *const at = in->k->at + (n < in->slices ? first : end);
        const hk_i64 line = n < in->slices ? n * HK_LINE : 0;
        HK_GLOBAL float *const now = *from;

        HK_UNROLL
        for (g = 0; g < packs; g++) {
            if (n < in->slices || more)
                hk_line_pack(at + g / halves * HKV_PACK, dtype, line, g % halves * HK_LINE_PART,
                             *to + g / halves * HKV_PACK, keys, top);
            hk_line_products(x, in->d, now, dtype, g * part, (g + 1) * part, &next, acc, rows);
        }
        *from = *to;
        *to = now;
    }
}

/* s[i][key] = x[i] . k[key]. slice: room for two. Returns whether that is right: of f16 with
 * infinite halves it is not. */
HK_INLINE int hk_line_score(const struct hk_lined *in, const hk_u32 dtype, hk_i64 channels,
                            HK_GLOBAL float *slice, HK_GLOBAL float *s, const int rows)
{
    const int keys = HK_LINE_KEYS(dtype, rows);
    HK_GLOBAL float *from = slice, *to = slice + HK_LINE_SLICE(keys);
    hk_vec acc[HK_R][HK_TILE_VECS], top = hkv_set(0.0f);
    int i;

    for (i = 0; i < keys; i += HKV_PACK) {
        hk_line_pack(in->k->at + i, dtype, 0, 0, from + i, keys, &top);
        hk_line_pack(in->k->at + i, dtype, 0, HK_LINE_PART, from + i, keys, &top);
    }
    for (i = 0; i < in->k->keys; i += keys) {
        hk_line_tile(in, dtype, i, &from, &to, channels, &top, acc, rows);
        hk_product_store(acc, s + i, HK_BLOCK, rows, keys / HKV_LANES);
    }
    return dtype != HK_F16 || !hkv_halves_end(top);
}

#define HK_LINE_TYPED(type) good = hk_line_score(in, type, channels, slice, s, tile_rows)
#define HK_LINE_SCORES(rows)                                                                       \
    HK_NOINLINE int hk_line_scores_##rows(const struct hk_lined *in, hk_i64 channels,              \
                                          HK_GLOBAL float *slice, HK_GLOBAL float *s)              \
    {                                                                                              \
        const int tile_rows = rows;                                                                \
        int good;                                                                                  \
                                                                                                   \
        HK_BY(HK_LINE_TYPES, in->k->dtype, HK_LINE_TYPED);                                         \
        return good;                                                                               \
    }
HK_LINE_SCORES(1)
HK_LINE_SCORES(2)
HK_LINE_SCORES(4)
#undef HK_LINE_SCORES
#undef HK_LINE_TYPED

/* Is the strip one small tile, and are the rows of K whole lines of such a type? (Two slices of 16
 * channels would not fit into st->k.) */
HK_FN int hk_lines_fit(const struct hk_strip *st, hk_u32 dtype)
{
    const hk_i64 d = st->call->plan->d;

#define HK_IS(NAME, name, number, elements, size, arg) || dtype == HK_##NAME
    return st->n_rows <= HK_LINE_ROWS && (0 HK_LINE_TYPES(HK_IS, 0)) &&
           d * hk_size(dtype) % HK_LINE == 0 && d >= 32;
#undef HK_IS
}

/* The rows of Q, for f16 times HK_LINE_UP; 0: they are too large for that. */
HK_FN HK_GLOBAL const float *hk_line_queries(const struct hk_strip *st, hk_u32 dtype)
{
    const hk_i64 rows = st->n_rows > 2 ? HK_LINE_ROWS : st->n_rows;
    HK_GLOBAL float *const to = st->temp;
    hk_vec most = hkv_set(0.0f);
    hk_i64 i;

    if (dtype != HK_F16)
        return st->q;
    for (i = 0; i < rows * st->call->plan->d; i += HKV_LANES) { /* rows are whole lines */
        const hk_vec q = hkv_load(st->q + i);

        most = hkv_max_f(hkv_abs_f(q), most);
        hkv_store(to + i, hkv_mul(q, hkv_set(HK_LINE_UP)));
    }
    return hkv_max_across(most) < HK_LINE_LIMIT ? to : 0;
}

/* Scores with the keys whose rows are given; returns whether they are right: of f16 some are not.
 * Meanwhile the block's V is fetched, and what `far` has, which may be the same rows. */
HK_FN int hk_line_scores(const struct hk_strip *st, const struct hk_block_rows *k,
                         const struct hk_block_rows *v, const struct hk_block_rows *far)
{
    const hk_i64 channels = st->call->plan->d_v;
    struct hk_lined in;

    in.x = hk_line_queries(st, k->dtype);
    if (!in.x)
        return 0;
    in.d = st->call->plan->d;
    in.slices = in.d * hk_size(k->dtype) / HK_LINE;
    in.k = k;
    in.v = v;
    in.far = far;
    if (st->n_rows == 1)
        return hk_line_scores_1(&in, channels, st->k, st->s);
    if (st->n_rows == 2)
        return hk_line_scores_2(&in, channels, st->k, st->s);
    return hk_line_scores_4(&in, channels, st->k, st->s);
}

#else

HK_FN int hk_lines_fit(const struct hk_strip *st, hk_u32 dtype)
{
    (void)st;
    (void)dtype;
    return 0;
}

HK_FN int hk_line_scores(const struct hk_strip *st, const struct hk_block_rows *k,
                         const struct hk_block_rows *v, const struct hk_block_rows *far)
{
    (void)st;
    (void)k;
    (void)v;
    (void)far;
    HK_UNREACHABLE();
    return 0;
}

#endif

#endif
