/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * GLOBAL: keys that every row sees, rows that see every key, or both (Beltagy et al. 2020; Zaheer
 * et al. 2020). From an ascending list in the slot, or the first `block` ones.
 */
#include "terms.h"

static void lower(const struct heed_checked_term *term, const struct heed_checked_source *source,
                  struct heed_term_form *out)
{
    (void)source;
    *out = (struct heed_term_form) {
        .keys = (term->flags & HEED_TERM_KEYS) != 0,
        .rows = (term->flags & HEED_TERM_ROWS) != 0,
    };
}

const struct heed_term_kind heed_term_global = {
    .kind = HEED_TERM_GLOBAL,
    .name = "GLOBAL",
    .fields = HEED_FIELD_BLOCK | HEED_FIELD_SLOT,
    .flags = HEED_TERM_KEYS | HEED_TERM_ROWS,
    .slot_axes = 1,
    .lower = lower,
};
