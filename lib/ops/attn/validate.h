/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Entries of auxiliary arrays against what they name. One walk serves both sorts of slot: constant
 * ones, where a mistake refuses the plan, and run-time ones, where it is absent or clamped by rule
 * and only a debugging call reports it.
 */
#ifndef HEED_LIB_VALIDATE_H
#define HEED_LIB_VALIDATE_H

#include "../../backend.h"

/* The first entry of a run-time slot that run would treat as absent or clamp: HEED_E_INDEX, field
 * "slots[i]" (i counts from 0), wanted the bound, got the entry; the message names the place of use
 * and the entry's indices. HEED_E_NULL: a slot in use is not bound. HEED_E_NOMEM: no memory to sort
 * the query sequences. HEED_OK: none. Not reported because legal: negative entries of LISTED lists,
 * what follows the first negative entry of a GLOBAL list, empty or reversed SEGMENT ranges, entries
 * of a bias map outside its table. */
HEED_MUST_CHECK
heed_status heed_validate_slots(const struct heed_checked *, const void *const *slots,
                                heed_report *);

/* The same for constant slots, by stricter rules. HEED_E_INDEX: an entry that names a key or row
 * that does not exist, a GLOBAL list out of order (it may end with negative entries), a LISTED
 * entry below -1, a SEGMENT range reversed or outside, a length above its bound, query sequences
 * that overlap. HEED_E_VALUE: a negative length. HEED_E_OVERFLOW: a coordinate or query position
 * beyond HEED_POSITION_MAX. The report is written on failure only. */
HEED_MUST_CHECK
heed_status heed_validate_constants(const struct heed_checked *, void *runtime, heed_report *);

#endif
