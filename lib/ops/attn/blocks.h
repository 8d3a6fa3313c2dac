/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which blocks of a source's keys a stretch of rows may see, from the lowered form.
 */
#ifndef HEED_LIB_OPS_ATTN_BLOCKS_H
#define HEED_LIB_OPS_ATTN_BLOCKS_H

#include "../../backend.h"
#include "../../spans.h"

struct heed_arena;

/* Rows [first, first + count) and the keys of a source, `block` at a time; all there. */
struct heed_stretch {
    int64_t first, count, block;
    uint32_t source, reserved;
};

/* Writes 1 for each block of which a row may see a key, else 0. slots as heed_visible_row() takes
 * them. HEED_E_NOMEM, HEED_E_NULL: a slot that is not bound. */
HEED_MUST_CHECK
heed_status heed_blocks_find(const struct heed_checked *, const struct heed_lowered *,
                             const void *const *slots, const struct heed_stretch *, uint8_t *seen,
                             struct heed_arena *, heed_report *);

#endif
