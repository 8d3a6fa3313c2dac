/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which keys of a source a stretch of rows may see, as few runs of keys, from the lowered form.
 */
#ifndef HEED_LIB_OPS_ATTN_RUNS_H
#define HEED_LIB_OPS_ATTN_RUNS_H

#include "../../backend.h"
#include "../../spans.h"

struct heed_arena;

/* Rows [first, first + count) of q's tensor, all there, and a source. Packed items have those that
 * lie in them, else each item has all of them. */
struct heed_stretch {
    int64_t first, count;
    uint32_t source, reserved;
};

/* Takes runs in any order; they may overlap. */
struct heed_runs_to {
    /* Keys low, low + step, .. below high of the source's tensor, where items may be packed: one at
     * least. */
    void (*add)(void *self, int64_t low, int64_t high, int64_t step);
    void *self;
};

/* Adds no key that no row sees, but for those that masks, biases of -Inf and absent pages remove,
 * and those of a LISTED source of which another row of the stretch sees less by CAUSAL. slots as
 * heed_visible_row() takes them. HEED_E_NOMEM, HEED_E_NULL: a slot that is not bound; nothing was
 * added. */
HEED_MUST_CHECK
heed_status heed_runs_find(const struct heed_checked *, const struct heed_lowered *,
                           const void *const *slots, const struct heed_stretch *,
                           const struct heed_runs_to *, struct heed_arena *, heed_report *);

#endif
