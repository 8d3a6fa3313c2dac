/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: the rows of K and V of a block of 64 keys, and how rows that will be read soon are
 * fetched a few lines at a time while something else is computed, because memory that only waits is
 * time lost.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_FETCH_H
#define HEED_BACKENDS_KERNELS_ATTN_FETCH_H

#include "ahead.h"

/* ---- few rows: what their headers share ---- */

#define HK_FEW_ROWS 16   /* of a strip */
#define HK_SLICE 32      /* channels */
#define HK_FETCH_EVERY 4 /* channels between two steps of fetching */

/* OF(name, rows) of the register tiles that there are, and call(name) of that for n rows. */
#define HK_FEW_TILES(OF) OF(1, 1) OF(2, 2) OF(4, 4) OF(most, HK_R)
#define HK_BY_TILE(n, call)                                                                        \
    do {                                                                                           \
        const hk_i64 hk_by_rows = (n);                                                             \
                                                                                                   \
        if (hk_by_rows == 1)                                                                       \
            call(1);                                                                               \
        else if (hk_by_rows == 2)                                                                  \
            call(2);                                                                               \
        else if (hk_by_rows <= 4)                                                                  \
            call(4);                                                                               \
        else                                                                                       \
            call(most);                                                                            \
    } while (0)

/* Vectors that a tile of so many rows has across. */
HK_FN hk_i64 hk_vecs_of(hk_i64 rows)
{
    return HK_VECS_OF(rows);
}

/* The 64 rows of K or V of a block. */
struct hk_block_rows {
    HK_GLOBAL const char *at[HK_BLOCK];
    /* Of scales that lie apart: the matrix that has them, and where those of each row begin;
     * HK_NO_SCALE: the row is not there. */
    const struct hk_matrix *of;
    hk_i64 scale_at[HK_BLOCK];
    hk_i64 group; /* as of struct hk_matrix */
    hk_u32 dtype;
    int keys; /* rows that may matter; those behind them are there to be read, and are zeros */
};
#define HK_NO_SCALE ((hk_i64)1 << 62)

/* Are there scales that lie apart? */
HK_FN int hk_scales_apart(hk_u32 dtype, hk_i64 group)
{
    return group > 0 && !HK_IN_BLOCKS(dtype);
}

/* Keys of a block for which scores are computed: those that may matter, and behind them so many
 * that the widest of the strip's tiles takes whole steps. The rows of all of them are read: scratch
 * has numbers of another block behind them, and subnormal ones would make products slow. */
HK_FN int hk_keys_computed(const struct hk_strip *st, const struct hk_block_rows *k)
{
    const hk_i64 last = st->n_rows - (st->tiles - 1) * HK_R;
    const hk_i64 vecs = hk_max(hk_vecs_of(hk_min(last, HK_R)), HKV_PACK / HKV_LANES);
    const int step = (int)vecs * HKV_LANES;

    return (k->keys + step - 1) / step * step;
}

/* 64 keys from `first` on; those of pages that are not there are `absent`. */
HK_FN void hk_rows_list(const struct hk_matrix *m, hk_i64 first, HK_GLOBAL const char *absent,
                        struct hk_block_rows *out)
{
    const hk_i64 row = m->row * hk_size(m->dtype);
    hk_i64 i, j, n;

    out->dtype = m->dtype;
    out->group = m->group;
    out->of = m;
    out->keys = HK_BLOCK;
    for (i = 0; i < HK_BLOCK; i += n) {
        const int present = hk_row_present(&m->layout, first + i);
        HK_GLOBAL const char *at = present ? hk_row_at(m, first + i) : absent;
        const hk_i64 step = present ? row : 0;

        n = hk_min(hk_rows_run(&m->layout, first + i), HK_BLOCK - i);
        for (j = 0; j < n; j++)
            out->at[i + j] = at + j * step;
    }
}

/* Where the scales of the same keys begin. */
HK_FN void hk_scales_list(const struct hk_matrix *m, hk_i64 first, hk_i64 *out)
{
    hk_i64 i, j, n;

    for (i = 0; i < HK_BLOCK; i += n) {
        const int present = hk_row_present(&m->layout, first + i);
        const hk_i64 at = present ? hk_scale_offset(m, first + i) : 0;

        n = hk_min(hk_rows_run(&m->layout, first + i), HK_BLOCK - i);
        for (j = 0; j < n; j++)
            out[i + j] = present ? at + j * m->scale_row : HK_NO_SCALE;
    }
}

/* Rows of the keys in `visible`; those of the others are `absent`. */
HK_FN void hk_block_rows_get(const struct hk_strip *st, const struct hk_matrix *m,
                             HK_GLOBAL const struct hk_sub *sub, const struct hk_sub_view *view,
                             hk_i64 block, hk_u64 visible, HK_GLOBAL const char *absent,
                             struct hk_block_rows *out)
{
    HK_COPY(struct hk_reach, reach, st->reach[0]);
    const hk_i64 first = block * HK_BLOCK;
    const int direct = hk_block_aligned(sub);
    int i;

    if (direct && visible == ~(hk_u64)0) {
        hk_rows_list(m, first, absent, out);
        if (hk_scales_apart(m->dtype, m->group))
            hk_scales_list(m, first, out->scale_at);
        return;
    }
    out->dtype = m->dtype;
    out->group = m->group;
    out->of = m;
    out->keys = 1;
    for (i = 0; i < HK_BLOCK; i++) {
        const int there = (int)(visible >> i & 1);
        const hk_i64 key =
            direct || !there ? first + i : hk_key(sub, view, reach, first + i);

        if (there)
            out->keys = i + 1;
        out->at[i] = there ? hk_row_at(m, key) : absent;
        if (hk_scales_apart(m->dtype, m->group))
            out->scale_at[i] = there ? hk_scale_offset(m, key) : HK_NO_SCALE;
    }
}

/* Those that lie apart; of an absent row 1, or 0. */
HK_FN void hk_rows_scales_apart(const struct hk_block_rows *rows, hk_i64 g, int which,
                                HK_GLOBAL float *out)
{
    const struct hk_matrix *m = rows->of;
    const hk_i64 skip = hk_scale_entry(m, g, which) * m->scale_step;
    const float absent = which ? 0.0f : 1.0f;
    int i;

    if (m->scale_dtype == HK_F32) {
        HK_GLOBAL const float *from = (HK_GLOBAL const float *)m->scale + skip;

        for (i = 0; i < HK_BLOCK; i++)
            out[i] = rows->scale_at[i] == HK_NO_SCALE ? absent : from[rows->scale_at[i]];
    } else if (m->scale_dtype == HK_F16) {
        HK_GLOBAL const hk_u16 *from = (HK_GLOBAL const hk_u16 *)m->scale + skip;

        for (i = 0; i < HK_BLOCK; i++)
            out[i] =
                rows->scale_at[i] == HK_NO_SCALE ? absent : hk_load_f16(from + rows->scale_at[i]);
    } else {
        HK_UNREACHABLE();
    }
}

/* The scales or, where `which` is 1, the minima of group g of all 64 rows. */
HK_NOINLINE void hk_rows_scales(const struct hk_block_rows *rows, hk_i64 g, int which,
                                HK_GLOBAL float *out)
{
    int i;

    if (HK_IN_BLOCKS(rows->dtype)) {
        const hk_i64 at = g * hk_size(rows->dtype);
#if defined HKV_BYTES /* halves are converted together */
        hk_u16 bits[HK_BLOCK];

        for (i = 0; i < HK_BLOCK; i++)
            bits[i] = hk_block_bits((HK_GLOBAL const hk_u8 *)rows->at[i] + at, which);
        for (i = 0; i < HK_BLOCK; i += HKV_LANES)
            hkv_store(out + i, hkv_load_f16(bits + i));
#else
        for (i = 0; i < HK_BLOCK; i++)
            out[i] = hk_block_half(rows->at[i] + at, which);
#endif
    } else {
        hk_rows_scales_apart(rows, g, which, out);
    }
}

/* ---- fetching ahead ---- */

/* Rows are fetched one after the other in the order of addresses, because that is what processors
 * follow: by steps, of which all take as many lines. */
struct hk_fetch {
    HK_GLOBAL const char *at; /* the next line */
    HK_GLOBAL const char *const *rows;
    hk_i64 shift;                       /* bytes from rows[i] to what is fetched */
    hk_i64 row, last;                   /* row of the next line; the last one */
    hk_i64 left, lines;                 /* lines left in the row; of every row */
    hk_i64 rate;                        /* lines a step, 0: nothing is left */
};

/* steps: how often hk_fetch_step will be called, 0: there is nothing to fetch. */
HK_FN void hk_fetch_begin(struct hk_fetch *f, const struct hk_block_rows *rows, hk_i64 shift,
                          hk_i64 channels, hk_i64 steps)
{
    f->rows = rows->at;
    f->shift = shift;
    f->at = rows->at[0] + shift;
    f->row = 0;
    f->last = rows->keys - 1;
    f->lines = f->left = (hk_channel_bytes(rows->dtype, channels) + HK_LINE - 1) / HK_LINE;
    f->rate = steps > 0 ? (rows->keys * f->lines + steps - 1) / steps : 0;
}

HK_INLINE void hk_fetch_step(struct hk_fetch *f)
{
    hk_i64 i;

    for (i = 0; i < f->rate; i++) {
        HK_PREFETCH(f->at);
        f->at += HK_LINE;
        if (--f->left > 0)
            continue;
        f->left = f->lines;
        if (f->row < f->last)           /* never behind the rows: lines may be asked for next */
            f->at = f->rows[++f->row] + f->shift;
        else
            f->rate = 0;
    }
}

/* The lines of rows from one on. Rows that lie side by side are one. Behind the last row comes the
 * last row again, so that the code is straight. */
struct hk_stream {
    HK_GLOBAL const char *at, *end; /* the next line; where its row ends */
    HK_GLOBAL const char *const *row, *const *last;
    hk_i64 shift, bytes; /* from rows to what is fetched; of every row */
};

HK_FN void hk_stream_begin(struct hk_stream *s, const struct hk_block_rows *rows, hk_i64 shift,
                           hk_i64 channels, hk_i64 first)
{
    s->row = rows->at + hk_min(first, rows->keys - 1);
    s->last = rows->at + rows->keys - 1;
    s->shift = shift;
    s->bytes = hk_channel_bytes(rows->dtype, channels);
    s->at = *s->row + shift;
    s->end = s->at + s->bytes;
    if (*s->last - *s->row == (s->last - s->row) * s->bytes) {
        s->end = *s->last + shift + s->bytes;
        s->row = s->last;
    }
}

HK_INLINE void hk_stream_go(struct hk_stream *s)
{
    s->at += HK_LINE;
    if (HK_SELDOM(s->at >= s->end)) {
        s->row += s->row < s->last;
        s->at = *s->row + s->shift;
        s->end = s->at + s->bytes;
    }
}

/* Two of them, for memory is too far away for one: into the first level of the cache what is read
 * next, a few KB on, and into the second what is read half a block later. Of rows of bytes and
 * blocks half a block is no more than that: the second stream alone fetches them. */
struct hk_streams {
    struct hk_stream near, far;
};
#define HK_HAS_NEAR(dtype) (!HK_IN_BLOCKS(dtype) && hk_size(dtype) > 1)

/* Those of n lines that come before part `at` of `parts` of what is computed: lines that are asked
 * for at once wait for each other, and what is computed waits for them. near: of both streams. */
HK_INLINE void hk_streams_go(struct hk_streams *s, const int near, const int n, const int at,
                             const int parts)
{
    int i;

    HK_UNROLL
    for (i = (at * n + parts - 1) / parts; i < ((at + 1) * n + parts - 1) / parts; i++) {
        if (near) {
            HK_PREFETCH_NEAR(s->near.at);
            hk_stream_go(&s->near);
        }
        HK_PREFETCH(s->far.at);
        hk_stream_go(&s->far);
    }
}

/* Bytes from the K rows of a block to those of the next; 0: there is none, or its rows are no such
 * distance away. */
HK_FN hk_i64 hk_next_block(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                           hk_i64 block)
{
    const hk_i64 end = (block + 2) * HK_BLOCK;

    if (!hk_block_aligned(sub) || end > st->len ||
        !hk_rows_even(&st->k_rows.layout, block * HK_BLOCK, end - 1))
        return 0;
    return HK_BLOCK * st->k_rows.row * hk_size(st->k_rows.dtype);
}

/* One line of each run of rows among keys first to first + 63 is fetched: the processor looks up
 * where another page of its memory lies, and that takes longer than a line. */
HK_FN void hk_pieces_fetch(const struct hk_strip *st, const struct hk_matrix *m, hk_i64 first)
{
    hk_i64 i;

    if (first + HK_BLOCK > st->len)
        return;
    for (i = 0; i < HK_BLOCK; i += hk_rows_run(&m->layout, first + i)) {
        if (hk_row_present(&m->layout, first + i))
            HK_PREFETCH(hk_row_at(m, first + i));
    }
}

/* The K rows of the next block, where hk_next_block is 0; 0: there is none, or nobody knows. */
HK_FN int hk_next_rows(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub, hk_i64 block,
                       struct hk_block_rows *out)
{
    const hk_i64 first = (block + 1) * HK_BLOCK;

    if (!hk_block_aligned(sub) || first + HK_BLOCK > st->len)
        return 0;
    hk_rows_list(&st->k_rows, first, (HK_GLOBAL const char *)st->zeros, out);
    hk_pieces_fetch(st, &st->k_rows, first + HK_BLOCK);
    hk_pieces_fetch(st, &st->v_rows, first + HK_BLOCK);
    return 1;
}

#endif
