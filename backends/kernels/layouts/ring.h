/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows in a ring: row 0 is row `first`, and behind the last one comes the first one.
 */
#ifndef HEED_BACKENDS_KERNELS_LAYOUTS_RING_H
#define HEED_BACKENDS_KERNELS_LAYOUTS_RING_H

/* Row i of a ring of `rows` rows, i below that. */
HK_FN hk_i64 hk_ring_row(hk_i64 first, hk_i64 rows, hk_i64 i)
{
    return i < rows - first ? i + first : i - (rows - first);
}

HK_FN int hk_ring_find(HK_VIEW_SPACE const struct hk_layout *layout, hk_i64 i, hk_i64 *page,
                       hk_i64 *in)
{
    (void)page;
    *in = hk_ring_row(layout->first, layout->rows, i);
    return 1;
}

HK_FN hk_i64 hk_ring_run(HK_VIEW_SPACE const struct hk_layout *layout, hk_i64 i)
{
    return i < layout->rows - layout->first ? layout->rows - layout->first - i : HK_EVEN_RUN;
}

#endif
