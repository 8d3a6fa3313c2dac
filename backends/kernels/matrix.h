/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * K and V of a batch item and head as kernels of attention find their rows: at one stride, on pages
 * or in a ring.
 */
#ifndef HEED_BACKENDS_KERNELS_MATRIX_H
#define HEED_BACKENDS_KERNELS_MATRIX_H

#include "call.h"

/* Element (i, t) at base + hk_row_offset(i) + t * channel, in elements. */
struct hk_matrix {
    HK_GLOBAL const char *base;
    hk_i64 row, channel;
    /* PAGED: entry t of the table is the page of rows t * page_rows on. */
    HK_GLOBAL const hk_i32 *table;
    hk_i64 table_stride, pages, page_rows, page_shift, page_stride;
    hk_i64 first, rows;         /* RING: row 0 is row `first` of so many */
    /* I8: the scale of row 0, or PAGED of the first row in memory; elements from row to row and
     * from page to page. */
    HK_GLOBAL const char *scale;
    hk_i64 scale_row, scale_page;
    hk_u32 dtype, layout;       /* layout: PAGED, RING, or DENSE: rows lie at one stride */
    hk_u32 scale_dtype, reserved;
};

/* Rows at one stride. */
HK_FN struct hk_matrix hk_matrix_even(HK_GLOBAL const char *base, hk_i64 row, hk_i64 channel,
                                      hk_u32 dtype)
{
    struct hk_matrix out;

    out.base = base;
    out.row = row;
    out.channel = channel;
    out.table = 0;
    out.table_stride = out.pages = out.page_rows = out.page_shift = out.page_stride = 0;
    out.first = out.rows = 0;
    out.scale = 0;
    out.scale_row = out.scale_page = 0;
    out.dtype = dtype;
    out.layout = HK_LAYOUT_DENSE;
    out.scale_dtype = out.reserved = 0;
    return out;
}

HK_FN struct hk_matrix hk_matrix_get(const struct hk_call *call,
                                     HK_GLOBAL const struct hk_view *view,
                                     HK_GLOBAL const char *base, hk_i64 b, hk_i64 head,
                                     hk_i64 begin)
{
    const hk_i64 at = hk_batch_offset(call, view->stride, b) + head * view->stride[3] +
                      begin * view->stride[4];

    return hk_matrix_even(hk_byte(base, at * hk_size(view->dtype)), view->stride[4],
                          view->stride[5], view->dtype);
}

/* Scales lie as their rows do. */
#if HK_IN_REGISTERS
HK_FN
#else
HK_NOINLINE
#endif
void hk_scales_get(const struct hk_call *call, HK_GLOBAL const struct hk_aux *scale,
                         hk_i64 b, hk_i64 head, hk_i64 begin, struct hk_matrix *m)
{
    const hk_i64 at = head * scale->stride[4] + begin * scale->stride[5];

    m->scale = hk_byte(hk_aux_of(call, scale, b), at * hk_size(scale->dtype));
    m->scale_row = scale->stride[5];
    m->scale_page = scale->stride[3];
    m->scale_dtype = scale->dtype;
}

/* K or V of an item's key head. */
HK_FN struct hk_matrix hk_keys_get(const struct hk_call *call,
                                   HK_GLOBAL const struct hk_source *source,
                                   HK_GLOBAL const struct hk_view *view,
                                   HK_GLOBAL const struct hk_aux *scale,
                                   HK_GLOBAL const char *base, hk_i64 b, hk_i64 head,
                                   const struct hk_cut *cut)
{
    const hk_u32 layout = source->layout;
    const hk_i64 begin = layout == HK_LAYOUT_RAGGED ? cut->begin : 0;
    struct hk_matrix out =
        hk_matrix_get(call, view, base, layout == HK_LAYOUT_PAGED ? 0 : b, head, begin);

    if (HK_KV == 0 && view->dtype == HK_I8)
        hk_scales_get(call, scale, b, head, begin, &out);
    if (layout == HK_LAYOUT_PAGED) {
        out.layout = HK_LAYOUT_PAGED;
        out.table = (HK_GLOBAL const hk_i32 *)hk_aux_of(call, &source->index, b);
        out.table_stride = source->index.stride[5];
        out.pages = source->pages;
        out.page_rows = source->page_rows;
        out.page_shift = source->page_shift;
        out.page_stride = view->stride[2];
    } else if (layout == HK_LAYOUT_RING) {
        out.layout = HK_LAYOUT_RING;
        out.first = cut->begin;
        out.rows = source->n_k;
    }
    return out;
}

/* PAGED: which entry of the table row i has. */
HK_FN hk_i64 hk_row_entry(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    if (m->page_shift < 0) {
        HK_MARK(cold);
        return hk_quotient(i, m->page_rows);
    }
    return i >> m->page_shift;
}

/* Rows of pages and of a ring, and any others: row i is row *in of page *page, if there are pages;
 * 0: it is not there. */
HK_FN int hk_row_find(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i, hk_i64 *page, hk_i64 *in)
{
    *page = 0;
    *in = i;
    if (m->layout == HK_LAYOUT_PAGED) {
        const hk_i64 entry = hk_row_entry(m, i);

        *page = m->table[entry * m->table_stride];
        *in = i - entry * m->page_rows;
        return *page >= 0 && *page < m->pages;
    }
    if (m->layout == HK_LAYOUT_RING)
        *in = i < m->rows - m->first ? i + m->first : i - (m->rows - m->first);
    return 1;
}

/* Is row i, which is within the length, there? A page outside [0, P) is not. */
HK_FN int hk_row_present(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    hk_i64 page, in;

    return hk_row_find(m, i, &page, &in);
}

/* Where row i of pages or of a ring lies, in memory with these strides. */
HK_FN hk_i64 hk_row_apart(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i, hk_i64 row,
                          hk_i64 page)
{
    hk_i64 at, in;

    hk_row_find(m, i, &at, &in);
    return at * page + in * row;
}

/* Elements from base to row i, which is there. */
HK_FN hk_i64 hk_row_offset(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    return m->layout == HK_LAYOUT_DENSE ? i * m->row
                                        : hk_row_apart(m, i, m->row, m->page_stride);
}

/* Where the scale of row i lies, which is there. */
HK_FN hk_i64 hk_scale_offset(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    return m->layout == HK_LAYOUT_DENSE ? i * m->scale_row
                                        : hk_row_apart(m, i, m->scale_row, m->scale_page);
}

/* The scale of row i, which is there: each of its bytes is multiplied by it. */
HK_FN float hk_row_scale(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    return hk_element(m->scale_dtype, m->scale, hk_scale_offset(m, i));
}

/* The same, of the row that hk_row_find found. */
HK_FN float hk_place_scale(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 page, hk_i64 in)
{
    return hk_element(m->scale_dtype, m->scale, page * m->scale_page + in * m->scale_row);
}

/* Rows from i on, which is there, that lie at one stride. */
HK_FN hk_i64 hk_rows_run(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    const hk_i64 all = (hk_i64)1 << 62;

    if (m->layout == HK_LAYOUT_PAGED)
        return (hk_row_entry(m, i) + 1) * m->page_rows - i;
    return m->layout == HK_LAYOUT_RING && i < m->rows - m->first ? m->rows - m->first - i : all;
}

/* Do rows i to last lie at one stride? */
HK_FN int hk_rows_even(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i, hk_i64 last)
{
    return last - i < hk_rows_run(m, i);
}

#endif
