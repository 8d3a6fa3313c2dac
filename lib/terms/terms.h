/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of term kinds: what fields and flags a kind takes and what it lowers to. A new kind is
 * one file, one row.
 */
#ifndef HEED_LIB_TERMS_TERMS_H
#define HEED_LIB_TERMS_TERMS_H

#include "../spans.h"

#include <stdbool.h>

enum {
    HEED_FIELD_LEFT = 1u,
    HEED_FIELD_RIGHT = 2u,
    HEED_FIELD_STEP = 4u,
    HEED_FIELD_PHASE = 8u,
    HEED_FIELD_BLOCK = 16u,
    HEED_FIELD_SLOT = 32u
};

/* What one term contributes to its source. */
struct heed_term_form {
    struct hk_range range;
    bool has_range;  /* range goes to the sub-source of the term's (step, phase, phase flags) */
    bool keys, rows; /* GLOBAL: the keys, the rows in the term's slot or first `block` */
    bool pairs;      /* range reads the term's slot */
};

struct heed_term_kind {
    uint32_t kind;                  /* HEED_TERM_* */
    const char *name;
    uint32_t fields;                /* HEED_FIELD_* that may be non-zero */
    uint32_t flags;                 /* flag bits it takes */
    uint32_t slot_axes;             /* trailing axes of its slot */
    bool needs_slot;
    void (*lower)(const struct heed_checked_term *, const struct heed_checked_source *,
                  struct heed_term_form *out);
};

const struct heed_term_kind *heed_term_kind_find(uint32_t kind);       /* NULL: unknown */

extern const struct heed_term_kind heed_term_all, heed_term_window, heed_term_global,
    heed_term_segment;

#endif
