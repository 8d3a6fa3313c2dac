/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows of which some are present, as select reads them: the tokens of x, by length and mask, or the
 * sums of the buckets that have any. What is not present is never read.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_TOKENS_H
#define HEED_BACKENDS_KERNELS_OPS_TOKENS_H

#include "channels.h"

struct hk_tokens {
    struct hk_rows rows;
    hk_i64 d, end;                      /* rows from `end` on are not present */
    struct hk_entries mask;             /* base 0: none */
    HK_GLOBAL const hk_i32 *bucket;     /* not 0: below 0 where a row is not present */
};

/* Of a head of x. */
HK_FN struct hk_tokens hk_tokens_get(const struct hk_call *call, hk_i64 b, hk_i64 head)
{
    HK_GLOBAL const struct hk_select *select = HK_NUMBERS(call, struct hk_select);
    struct hk_tokens out;

    out.rows = hk_rows_get(call, HK_SELECT_X, b, head);
    out.d = select->d;
    out.end = hk_length(call, HK_SELECT_LEN, b, select->n);
    out.mask.base = 0;
    out.mask.step = 0;
    if (hk_has(call, HK_SELECT_MASK))
        out.mask = hk_entries_get(call, HK_SELECT_MASK, b, head);
    out.bucket = 0;
    return out;
}

HK_FN int hk_token_present(const struct hk_tokens *tokens, hk_i64 i)
{
    return i < tokens->end && (!tokens->mask.base || hk_entry_u8(&tokens->mask, i) != 0) &&
           (!tokens->bucket || tokens->bucket[i] >= 0);
}

/* Rows without channels may have no address. */
HK_FN HK_GLOBAL const char *hk_token_row(const struct hk_tokens *tokens, hk_i64 i)
{
    return hk_byte(tokens->rows.base, i * tokens->rows.row);
}

/* Row i comes soon: rows from `end` on are not there. */
HK_INLINE void hk_token_ahead(const struct hk_tokens *tokens, hk_i64 i)
{
    HK_GLOBAL const char *row = hk_token_row(tokens, i);
    hk_i64 at;

    if (i >= tokens->end || tokens->rows.channel != 1)
        return;
    for (at = 0; at < tokens->d * hk_size(tokens->rows.dtype); at += 64)
        HK_PREFETCH(row + at);
}

#if HK_THREADS == 1
#include "../products.h"

#define HK_LINE 64              /* bytes of a line of a cache */

/* Rows of a tile that comes soon: the first `bytes` of each. */
struct hk_ahead {
    HK_GLOBAL const char *rows;
    hk_i64 row, bytes;
};

/* The tile from row i on, nothing where it is not there. */
HK_FN struct hk_ahead hk_ahead_get(const struct hk_tokens *tokens, hk_i64 i)
{
    const int there = i + HK_R <= tokens->end && tokens->rows.channel == 1;
    struct hk_ahead out;

    out.rows = hk_token_row(tokens, there ? i : 0);
    out.row = tokens->rows.row;
    out.bytes = there ? tokens->d * hk_size(tokens->rows.dtype) : 0;
    return out;
}

HK_INLINE void hk_ahead_ask(const struct hk_ahead *ahead, hk_i64 at)
{
    int i;

    if (at >= ahead->bytes)
        return;
    HK_UNROLL
    for (i = 0; i < HK_R; i++)
        HK_PREFETCH(ahead->rows + at + i * ahead->row);
}

/* hk_product_sums, and between its terms the tile that comes soon is asked for, a line of each row
 * at a time: all lines at once would wait for each other, and the products for them. */
HK_INLINE void hk_product_sums_ahead(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 x_row,
                                     HK_GLOBAL const float *HK_RESTRICT panel, hk_i64 d,
                                     const struct hk_ahead *ahead, hk_vec acc[HK_R][HK_TILE_VECS],
                                     const int vecs)
{
    const hk_i64 terms = HK_LINE / (hk_i64)sizeof(float);
    hk_i64 t, at = 0;

    hk_product_zero(acc, HK_R, vecs);
    for (t = 0; t + terms <= d; t += terms, at += HK_LINE) {
        hk_ahead_ask(ahead, at);
        hk_product_more(x + t, x_row, panel + t * HK_PANEL, HK_PANEL, terms, acc, vecs);
    }
    hk_ahead_ask(ahead, at);
    hk_product_more(x + t, x_row, panel + t * HK_PANEL, HK_PANEL, d - t, acc, vecs);
}

/* Some rows as the products take them: `in_place` of them lie x_row floats apart in x, all others
 * are copies in f32, as many as fill whole tiles. */
struct hk_chunk {
    hk_i32 index[HK_SELECT_TOKENS];     /* of each row */
    hk_i64 n, in_place;
    HK_GLOBAL const float *x;
    hk_i64 x_row;
};

/* Row i as f32 into `to`, `width` floats. */
HK_INLINE void hk_token_read(hk_u32 dtype, const struct hk_tokens *tokens, hk_i64 i,
                             HK_GLOBAL float *to)
{
    hk_i64 t;

    for (t = 0; t < tokens->d; t += HKV_LANES)
        hkv_store(to + t, hk_channels_read(dtype, hk_token_row(tokens, i), tokens->rows.channel, t,
                                           tokens->d));
}

/* The present ones of rows [first, end), HK_SELECT_TOKENS at most. copies: that many rows. */
HK_FN void hk_chunk_get(const struct hk_tokens *tokens, hk_i64 first, hk_i64 end,
                        HK_GLOBAL float *copies, hk_i64 width, struct hk_chunk *out)
{
    const struct hk_rows *rows = &tokens->rows;
    hk_i64 i, t;

    out->n = 0;
    for (i = first; i < end; i++) {
        out->index[out->n] = (hk_i32)i;
        out->n += hk_token_present(tokens, i);
    }
    out->x = (HK_GLOBAL const float *)hk_token_row(tokens, first);
    out->x_row = rows->row / (hk_i64)sizeof(float);
    out->in_place = 0;
    if (rows->dtype == HK_F32 && rows->channel == 1 && out->n == end - first)
        out->in_place = out->n / HK_R * HK_R;
    for (i = out->in_place; i < out->n; i++) {
        HK_GLOBAL float *to = copies + i * width;

#define HK_READ(type) hk_token_read(type, tokens, out->index[i], to)
        HK_BY_NUMBER(rows->dtype, HK_READ);
#undef HK_READ
    }
    for (; i % HK_R != 0; i++) {
        for (t = 0; t < width; t++)
            copies[i * width + t] = 0.0f;
    }
}
#endif

#endif
