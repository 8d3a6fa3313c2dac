/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files check*.c and layouts share: the descriptor copied with today's element sizes, the
 * checked form as it grows, and the object that is looked at. Private to them.
 */
#ifndef HEED_LIB_OPS_ATTN_CHECK_STATE_H
#define HEED_LIB_OPS_ATTN_CHECK_STATE_H

#include "../../core/alloc.h"
#include "../tensor.h"
#include "use.h"

struct heed_check {
    const heed_attn_desc *given;
    heed_attn_desc d;
    heed_source *sources;           /* copies; their terms and biases are copies too */
    heed_slot *slots;               /* copies */
    struct heed_checked *out;
    struct heed_checked_source *to; /* out->sources */
    struct heed_site *sites;      /* out->sites; out->n_sites of them */
    struct heed_aux **aux;          /* of each site, to be filled */
    int64_t dilation;               /* the step of PHASE_QUERY terms so far; 0: none */
    struct heed_arena *arena, *scratch;
    struct heed_where where; /* the object that is looked at */
};

/* ---- reports (check_fields.c) ---- */

/* Names the object whose fields are looked at from now on. */
HEED_PRINTF(2, 3)
void heed_check_object(struct heed_check *, const char *format, ...);
/* Reports a field of the object; the message begins with it. */
HEED_PRINTF(6, 7)
heed_status heed_check_fail(struct heed_check *, heed_status, const char *name, int64_t wanted,
                            int64_t got, const char *format, ...);
heed_status heed_check_nomem(struct heed_check *);

/* check_copy.c: copies the descriptor and its arrays; asks all that must hold before the rest of
 * them may be read. */
heed_status heed_check_copy(struct heed_check *);

/* ---- fields of any object (check_fields.c) ---- */

/* An integer field and the range it must lie in. */
struct heed_check_limit {
    const char *name;
    int64_t value, low, high;
    const char *why;
};
heed_status heed_check_limits(struct heed_check *, const struct heed_check_limit *, size_t n);
heed_status heed_check_flags(struct heed_check *, uint32_t flags, uint32_t known);
/* Where a flag that is out of place belongs, as the end of a message; "" for others. */
const char *heed_check_flags_hint(uint32_t flags);
/* Within HEED_POSITION_MAX? */
heed_status heed_check_position(struct heed_check *, const char *name, int64_t value);
/* The same of one that has been computed; known: it did not leave 63 bits. */
heed_status heed_check_reached(struct heed_check *, const char *name, bool known, int64_t value);

/* ---- batches of tensors (check_batch.c) ---- */

/* Are the batch extents all 1? */
heed_status heed_check_no_batch(struct heed_check *, const struct heed_tensor_rule *,
                                const heed_tensor *);
/* Merges an input's batch extents into the common ones. */
heed_status heed_check_batch(struct heed_check *, const struct heed_tensor_rule *,
                             const heed_tensor *);

/* ---- slots (check_slot.c, check_constant.c) ---- */

/* Every slot by itself. */
heed_status heed_check_slots(struct heed_check *);
/* The fields of one struct that name slots: adds sites, and lets extents cut the bounds of packed
 * rows. at: level, source, index. */
heed_status heed_check_fields(struct heed_check *, struct heed_site at, const void *given,
                              void *kept, const struct heed_slot_rule *rules);
/* Batch extents of what says where an item lies, begins or tables, join the common ones; trailing:
 * axes after those. */
heed_status heed_check_items(struct heed_check *, uint32_t slot, uint32_t trailing);
/* Every slot at its places of use, when all bounds are known. */
heed_status heed_check_sites(struct heed_check *);
/* The rule of a slot at a place of use. */
struct heed_tensor_rule heed_check_use_rule(const struct heed_use *);
/* Gives the place's aux its extents and strides from a tensor whose shape has been checked. */
void heed_check_aux(const struct heed_check *, uint32_t site, const heed_tensor *);
/* Copies constants into the plan and asks the rules of their entries. */
heed_status heed_check_constants(struct heed_check *);

/* ---- sources (check_source.c) ---- */

heed_status heed_check_source(struct heed_check *, uint32_t s);
/* Does it compare positions of keys with those of queries? */
bool heed_check_positional(const struct heed_checked_source *);

#endif
