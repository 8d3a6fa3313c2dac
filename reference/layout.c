/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Layouts, each by its definition.
 */
#include "layout.h"

#include "decode.h"

#include <assert.h>

static int64_t entry(const struct heed_ref_index *index, int64_t i)
{
    return heed_ref_load_int(index->dtype, index->base, index->at + i * index->stride);
}

/* The item's first row, or its row 0; -1: there is no such row. */
static int64_t begin_of(const struct heed_ref_layout *layout)
{
    int64_t begin;

    switch (layout->kind) {
    case HEED_LAYOUT_DENSE:
    case HEED_LAYOUT_PAGED:
    case HEED_LAYOUT_LISTED:
        return 0;
    case HEED_LAYOUT_RAGGED: /* an item without rows may begin behind the last one */
        begin = entry(&layout->index, 0);
        return begin <= layout->rows ? begin : -1;
    case HEED_LAYOUT_RING:
        begin = entry(&layout->index, 0);
        return begin < layout->rows ? begin : -1;
    }
    assert(false); /* heed_attn_check refuses other layouts */
    return -1;
}

void heed_ref_layout_start(struct heed_ref_layout *layout, int64_t bound)
{
    int64_t begin = begin_of(layout);

    layout->begin = begin < 0 ? 0 : begin;
    if (layout->length > bound)
        layout->length = bound;
    if (layout->length < 0 || begin < 0)
        layout->length = 0;
    if (layout->kind == HEED_LAYOUT_RAGGED && layout->length > layout->rows - layout->begin)
        layout->length = layout->rows - layout->begin;
}

static struct heed_ref_spot page_spot(const struct heed_ref_layout *layout, int64_t i)
{
    struct heed_ref_spot spot = { .paged = true };

    if (layout->rows == 0 || i / layout->rows >= layout->index.entries)
        return spot;
    spot.page = entry(&layout->index, i / layout->rows);
    spot.there = spot.page >= 0 && spot.page < layout->pages;
    spot.row = i % layout->rows;
    return spot;
}

struct heed_ref_spot heed_ref_layout_spot(const struct heed_ref_layout *layout, int64_t i)
{
    struct heed_ref_spot spot = { .there = true };

    switch (layout->kind) {
    case HEED_LAYOUT_DENSE:
    case HEED_LAYOUT_LISTED:
        spot.there = i < layout->rows;
        spot.row = i;
        return spot;
    case HEED_LAYOUT_RAGGED:
        spot.row = layout->begin + i;
        return spot;
    case HEED_LAYOUT_PAGED:
        return page_spot(layout, i);
    case HEED_LAYOUT_RING:
        spot.row = (layout->begin + i % layout->rows) % layout->rows;
        return spot;
    }
    assert(false); /* as above */
    return spot;
}
