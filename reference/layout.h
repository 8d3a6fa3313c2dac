/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the rows of a batch item lie, by layout (heed/attn.h), for keys, query rows, and the rows
 * of a copy. Written apart from the library and the kernels.
 */
#ifndef HEED_REFERENCE_LAYOUT_H
#define HEED_REFERENCE_LAYOUT_H

#include "../lib/backend.h"

#include <stdbool.h>

/* What `slot`, or an operation's array, holds for an item: entries from `at` elements beside base
 * on, `stride` from one to the next. base NULL: nothing. */
struct heed_ref_index {
    const void *base;
    uint32_t dtype;
    int64_t at, stride, entries;
};

/* How the rows of one item lie. */
struct heed_ref_layout {
    uint32_t kind;               /* HEED_LAYOUT_* */
    int64_t rows, pages;         /* of the tensor; PAGED: rows of a page, pages */
    struct heed_ref_index index; /* RAGGED: begin; RING: head; PAGED: table */
    int64_t begin;               /* RAGGED: the item's first row; RING: the row of its row 0 */
    int64_t length;              /* rows of the item */
};

/* Finds begin, and cuts length to the bound and to what the tensor holds. A begin that names no row
 * empties the item. */
void heed_ref_layout_start(struct heed_ref_layout *, int64_t bound);

/* A row in memory: `page` counts along axis 2 where the layout has pages, which are no item's. */
struct heed_ref_spot {
    bool there, paged;
    int64_t page, row;
};

/* Row i of the item, i >= 0. */
struct heed_ref_spot heed_ref_layout_spot(const struct heed_ref_layout *, int64_t i);

#endif
