/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * SEGMENT: a range of key indices for every `block` query rows, loaded from the slot.
 */
#include "terms.h"

static void lower(const struct heed_checked_term *term, const struct heed_checked_source *source,
                  struct heed_term_form *out)
{
    (void)source;
    *out = (struct heed_term_form) {
        .has_range = true,
        .pairs = true,
        .range = { .block = term->block, .kind = HK_RANGE_PAIRS },
    };
}

const struct heed_term_kind heed_term_segment = {
    .kind = HEED_TERM_SEGMENT,
    .name = "SEGMENT",
    .fields = HEED_FIELD_BLOCK | HEED_FIELD_SLOT,
    .slot_axes = 2,
    .needs_slot = true,
    .lower = lower,
};
