/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which row of memory is key i of an item, for all kernels that ask. Rows lie at one stride (EVEN),
 * or as a header of layouts/ says, which has for its layout
 *
 *     hk_NAME_find    is row i there? It is row *in of page *page
 *     hk_NAME_run     rows from i on, which is there, that lie at one stride
 *
 * Row i is within the length, and less than `rows` if there are no pages.
 */
#ifndef HEED_BACKENDS_KERNELS_LAYOUTS_H
#define HEED_BACKENDS_KERNELS_LAYOUTS_H

#include "spans.h"

struct hk_layout {
    HK_GLOBAL const hk_i32 *table;      /* entry t is the page of rows t * rows on */
    hk_i64 table_stride;
    hk_i64 pages, rows, shift;          /* rows: of a page, of a ring; 2^shift, -1: no power of 2 */
    hk_i64 first;                       /* of a ring: row 0 is row `first` */
    hk_u32 kind, gaps;                  /* HK_LAYOUT_*; 1: rows may be absent */
};

HK_FN struct hk_layout hk_layout_even(void)
{
    struct hk_layout out;

    out.table = 0;
    out.table_stride = out.pages = out.rows = out.shift = out.first = 0;
    out.kind = HK_LAYOUT_EVEN;
    out.gaps = 0;
    return out;
}

#define HK_EVEN_RUN ((hk_i64)1 << 62)

#include "layouts/paged.h"
#include "layouts/ring.h"

/* Row i is row *in of page *page; 0: it is not there. */
HK_FN int hk_row_find(HK_VIEW_SPACE const struct hk_layout *layout, hk_i64 i, hk_i64 *page,
                      hk_i64 *in)
{
    *page = 0;
    *in = i;
#define HK_FIND(NAME, name)                                                                        \
    if (layout->kind == HK_LAYOUT_##NAME)                                                          \
        return hk_##name##_find(layout, i, page, in);
    HK_LAYOUTS(HK_FIND)
#undef HK_FIND
    if (layout->kind != HK_LAYOUT_EVEN)
        HK_UNREACHABLE();
    return 1;
}

/* Is row i, which is within the length, there? */
HK_FN int hk_row_present(HK_VIEW_SPACE const struct hk_layout *layout, hk_i64 i)
{
    hk_i64 page, in;

    return hk_row_find(layout, i, &page, &in);
}

/* Rows from i on, which is there, that lie at one stride. */
HK_FN hk_i64 hk_rows_run(HK_VIEW_SPACE const struct hk_layout *layout, hk_i64 i)
{
#define HK_RUN(NAME, name)                                                                         \
    if (layout->kind == HK_LAYOUT_##NAME)                                                          \
        return hk_##name##_run(layout, i);
    HK_LAYOUTS(HK_RUN)
#undef HK_RUN
    if (layout->kind != HK_LAYOUT_EVEN)
        HK_UNREACHABLE();
    return HK_EVEN_RUN;
}

/* Do rows i to last lie at one stride? */
HK_FN int hk_rows_even(HK_VIEW_SPACE const struct hk_layout *layout, hk_i64 i, hk_i64 last)
{
    return last - i < hk_rows_run(layout, i);
}

#endif
