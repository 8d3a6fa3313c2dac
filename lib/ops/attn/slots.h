/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading single entries of auxiliary arrays on the host. For checking and for people, not for
 * speed.
 */
#ifndef HEED_LIB_SLOTS_H
#define HEED_LIB_SLOTS_H

#include "../../backend.h"

/* Address of element [0,...,0]: the plan's copy, else slots[slot - 1] (slots NULL: none). NULL:
 * absent. */
const void *heed_slots_base(const struct heed_aux *, const void *const *slots);
/* Has the array no entry? Its memory may be NULL then. */
bool heed_slots_empty(const struct heed_aux *);
/* An entry of an integer array. */
int64_t heed_slots_get(const struct heed_aux *, const void *base, const int64_t index[6]);
/* Fills index[0..2] with the batch coordinates of an item. */
void heed_slots_item(const struct heed_checked *, int64_t item, int64_t index[6]);
/* Goes to the next index below limit, last axis fastest; false after the last one. */
int heed_slots_next(int64_t index[6], const int64_t limit[6]);

#endif
