/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows on pages, in the order of a table. A page outside [0, pages) is absent, with its rows.
 */
#ifndef HEED_BACKENDS_KERNELS_LAYOUTS_PAGED_H
#define HEED_BACKENDS_KERNELS_LAYOUTS_PAGED_H

/* Which entry of the table row i has. */
HK_FN hk_i64 hk_paged_entry(HK_VIEW_SPACE const struct hk_layout *layout, hk_i64 i)
{
    if (layout->shift < 0) {
        HK_MARK(cold);
        return hk_quotient(i, layout->rows);
    }
    return i >> layout->shift;
}

HK_FN int hk_paged_find(HK_VIEW_SPACE const struct hk_layout *layout, hk_i64 i, hk_i64 *page,
                        hk_i64 *in)
{
    const hk_i64 entry = hk_paged_entry(layout, i);

    *page = layout->table[entry * layout->table_stride];
    *in = i - entry * layout->rows;
    return *page >= 0 && *page < layout->pages;
}

HK_FN hk_i64 hk_paged_run(HK_VIEW_SPACE const struct hk_layout *layout, hk_i64 i)
{
    return (hk_paged_entry(layout, i) + 1) * layout->rows - i;
}

#endif
