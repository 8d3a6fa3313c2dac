/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * K and V of a batch item and head as kernels of attention find their rows (layouts.h).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_MATRIX_H
#define HEED_BACKENDS_KERNELS_ATTN_MATRIX_H

#include "call.h"
#include "../layouts.h"

/* Element (i, t) at base + hk_row_offset(i) + t * channel, in elements; of rows of pieces row i at
 * base + hk_row_offset(i), in pieces, and its channels side by side. */
struct hk_matrix {
    HK_GLOBAL const char *base;
    hk_i64 row, page, channel;
    struct hk_layout layout;
    hk_i64 group; /* channels that share a scale; 0: there are no scales */
    /* Of scales that lie apart: that of row 0, or of the first row in memory; elements from row to
     * row, from page to page, and from entry to entry of a row. */
    HK_GLOBAL const char *scale;
    hk_i64 scale_row, scale_page, scale_step;
    hk_u32 dtype, scale_dtype;
    hk_u32 minima, reserved; /* 1: there are minima beside scales */
};

/* Rows at one stride. */
HK_FN struct hk_matrix hk_matrix_even(HK_GLOBAL const char *base, hk_i64 row, hk_i64 channel,
                                      hk_u32 dtype)
{
    struct hk_matrix out;

    out.base = base;
    out.row = row;
    out.page = 0;
    out.channel = channel;
    out.layout = hk_layout_even();
    out.group = 0;
    out.scale = 0;
    out.scale_row = out.scale_page = out.scale_step = 0;
    out.dtype = dtype;
    out.scale_dtype = 0;
    out.minima = out.reserved = 0;
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

/* How the keys of an item lie. */
HK_FN struct hk_layout hk_layout_get(const struct hk_call *call,
                                     HK_GLOBAL const struct hk_source *source, hk_i64 b,
                                     hk_i64 first)
{
    struct hk_layout out;

    out.kind = source->layout;
    out.gaps = source->gaps;
    out.rows = source->k.length;
    out.first = first;
    out.pages = source->pages;
    out.shift = source->shift;
    out.table = 0;
    out.table_stride = source->index.stride[5];
    if (source->index.slot && !source->value)
        out.table = (HK_GLOBAL const hk_i32 *)hk_aux_of(call, &source->index, b);
    return out;
}

/* K or V of an item's key head. */
HK_FN struct hk_matrix
hk_keys_get(const struct hk_call *call, HK_GLOBAL const struct hk_source *source,
            HK_GLOBAL const struct hk_view *view, HK_GLOBAL const struct hk_aux *scale,
            HK_GLOBAL const struct hk_scaling *scaling, HK_GLOBAL const char *base, hk_i64 b,
            hk_i64 head, const struct hk_cut *cut)
{
    const hk_i64 begin = source->packed ? cut->begin : 0;
    struct hk_matrix out = hk_matrix_get(call, view, base, b, head, begin);

    if (HK_KV == 0 && scale->dtype != HK_NO_TYPE)
        hk_scales_get(call, scale, b, head, begin, &out);
    if (HK_KV == 0) {
        out.group = scaling->group;
        out.minima = scaling->minima;
        out.scale_step = scaling->step;
    }
    if (source->layout != HK_LAYOUT_EVEN) {
        out.layout = hk_layout_get(call, source, b, cut->begin);
        out.page = view->page;
    }
    return out;
}

/* Where row i lies, which is there, in memory with these strides. */
HK_FN hk_i64 hk_row_apart(HK_VIEW_SPACE const struct hk_layout *layout, hk_i64 i, hk_i64 row,
                          hk_i64 page)
{
    hk_i64 at, in;

    hk_row_find(layout, i, &at, &in);
    return at * page + in * row;
}

/* Elements from base to row i, which is there. */
HK_FN hk_i64 hk_row_offset(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    return m->layout.kind == HK_LAYOUT_EVEN ? i * m->row
                                            : hk_row_apart(&m->layout, i, m->row, m->page);
}

/* Where the scale of row i lies, which is there. */
HK_FN hk_i64 hk_scale_offset(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    return m->layout.kind == HK_LAYOUT_EVEN
               ? i * m->scale_row
               : hk_row_apart(&m->layout, i, m->scale_row, m->scale_page);
}

/* Entry of the scale or, where `which` is 1, of the minimum of group g among those of a row. */
HK_FN hk_i64 hk_scale_entry(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 g, int which)
{
    return m->minima ? 2 * g + which : g;
}

/* A scale that lies apart or, where `which` is 1, a minimum: of group g of the row whose entries
 * begin at element `at`. */
HK_FN float hk_scale_at(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 at, hk_i64 g, int which)
{
    return hk_element(m->scale_dtype, m->scale, at + hk_scale_entry(m, g, which) * m->scale_step);
}

/* Number `which` of the halves that block g of a row begins with: 0 the scale, 1 the minimum. */
HK_FN float hk_block_head(hk_u32 dtype, HK_GLOBAL const char *row, hk_i64 g, int which)
{
    return hk_block_half(row + g * hk_size(dtype), which);
}

#endif
