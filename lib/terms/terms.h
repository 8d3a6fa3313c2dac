/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of term, one file each: the fields and flags a kind takes, its slot and what the entries
 * must be, what it lowers to and what it shows. A new kind is one file and one row of the list
 * below.
 */
#ifndef HEED_LIB_TERMS_TERMS_H
#define HEED_LIB_TERMS_TERMS_H

#include "../ops/attn/use.h"
#include "../ops/attn/validate.h"
#include "../ops/attn/visible.h"
#include "../spans.h"

enum {
    HEED_FIELD_LEFT = 1u,
    HEED_FIELD_RIGHT = 2u,
    HEED_FIELD_STEP = 4u,
    HEED_FIELD_PHASE = 8u,
    HEED_FIELD_BLOCK = 16u
};

/* What one term contributes to its source. */
struct heed_term_form {
    struct hk_range range;
    bool has_range;  /* range goes to the sub-source of the term's (step, phase, phase flags) */
    bool pairs;      /* range reads the term's slot */
    bool keys, rows; /* the keys, the rows in the term's slot or the first `block` ones */
};

struct heed_term_kind {
    uint32_t kind;                  /* HEED_TERM_* */
    const char *name;
    uint32_t fields;                /* HEED_FIELD_* that may be non-zero */
    uint32_t flags;                 /* flag bits it takes */
    uint32_t default_flags;         /* set where none is given */
    bool positional;                /* what it shows depends on where the queries lie */
    bool whole;                     /* shows every key, but for steps */
    struct heed_slot_rule slots[HEED_TERM_SLOTS];
    void (*lower)(const struct heed_checked_term *, const struct heed_checked_source *,
                  struct heed_term_form *out);
    /* Does it name the key? Step and phase are looked at elsewhere. */
    bool (*sees)(const struct heed_look *, const struct heed_checked_term *, int64_t key);
};

const struct heed_term_kind *heed_term_kind_find(uint32_t kind);    /* NULL: unknown */

/* What no term at all means. */
extern const struct heed_checked_term heed_term_default;

/* The one list of kinds: each row is a struct heed_term_kind heed_term_NAME with its own file. */
#define HEED_TERM_KINDS(ROW)                                                                       \
    ROW(all)                                                                                       \
    ROW(window)                                                                                    \
    ROW(global)                                                                                    \
    ROW(segment)                                                                                   \
    ROW(diagonal)

#define HEED_DECLARE(name) extern const struct heed_term_kind heed_term_##name;
HEED_TERM_KINDS(HEED_DECLARE)
#undef HEED_DECLARE

#endif
