/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Entries of auxiliary arrays against what they name. Each use of a slot brings the rule of its
 * entries; one walk asks it of constant slots, where a mistake refuses the plan, and of run-time
 * ones, where the entry is absent or clamped and only a debugging call reports it.
 */
#ifndef HEED_LIB_OPS_ATTN_VALIDATE_H
#define HEED_LIB_OPS_ATTN_VALIDATE_H

#include "../../backend.h"

#include <stdbool.h>

struct heed_site;

/* An array that is walked. */
struct heed_entries {
    const struct heed_checked *attn;
    const struct heed_checked_source *source;   /* NULL: a slot of the descriptor */
    const struct heed_checked_term *term;       /* NULL: no term's slot */
    const struct heed_site *site;
    const void *const *slots;             /* of run-time slots */
    void *runtime;                              /* of scratch memory */
    heed_report *report;
    bool constant;
};

/* One entry, and what stands before it on the last axis. */
struct heed_entry {
    int64_t value;
    int64_t before;                 /* -1 if first */
    bool first;                     /* on its last axis */
    bool ended;                     /* an entry before it on that axis is negative */
};

/* What a rule adds to the status it answers. */
struct heed_fault {
    int64_t wanted;
    const char *why;
    int64_t more;                   /* entries of the array with a fault, beside the first */
};

/* Asks the place's rule of every entry. Constants that overlap themselves are walked by what is
 * stored, in time and memory of its size; there `ended` speaks of the entry right before. */
HEED_MUST_CHECK
heed_status heed_entries_walk(const struct heed_entries *);
/* Entries from the lowest to the highest offset of an array that has some, and that lowest one.
 * Extents and strides have been checked: sums fit. */
int64_t heed_entries_stored(const struct heed_aux *, int64_t *low);
/* Reports a fault. index NULL: the entry has no indices of its own, `at` is its offset. */
heed_status heed_entries_fail(const struct heed_entries *, heed_status, const int64_t index[6],
                              int64_t at, int64_t got, const struct heed_fault *);

/* The first entry of a run-time slot that run would treat as absent or clamp: field "slots[i]" (i
 * counts from 0), wanted the bound, got the entry; the message names the place of use and the
 * entry's indices, and says how many more entries of that array have a fault. HEED_E_INDEX;
 * HEED_E_VALUE: a negative length; HEED_E_OVERFLOW: a coordinate or query position beyond
 * HEED_POSITION_MAX; HEED_E_NULL: a slot in use is not bound; HEED_E_NOMEM: no memory to sort the
 * query sequences. Not reported because legal: negative entries of LISTED lists and of tables of
 * pages, what follows the first negative entry of a GLOBAL list, empty or reversed SEGMENT ranges,
 * entries of a bias map outside its table. */
HEED_MUST_CHECK
heed_status heed_validate_slots(const struct heed_checked *, const void *const *,
                                heed_report *);

/* The same for constant slots, by stricter rules: a GLOBAL list may only end with negative entries,
 * a LISTED entry or a page below -1 and a reversed SEGMENT range are refused. HEED_E_UNSUPPORTED:
 * more than 2^20 sequences whose begins and lengths share memory. The report is written on failure
 * only. */
HEED_MUST_CHECK
heed_status heed_validate_constants(const struct heed_checked *, void *runtime, heed_report *);

#endif
