/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files that make auxiliary arrays share. Slot numbers count from 1; 0: none; negative: no
 * memory.
 */
#ifndef HEED_TOOLS_CONFORM_SLOTS_H
#define HEED_TOOLS_CONFORM_SLOTS_H

#include "kinds.h"

int slot_add(struct problem *, uint32_t dtype, bool batched, int trailing, int64_t x, int64_t y,
             int64_t z, bool constant);
struct array *slot_of(struct problem *, int slot);
/* Has the slot entries that someone will read? */
bool slot_wanted(const struct problem *, int slot);
/* Where in the batch a slot's row 0, 1, ... comes from: the same item has the same entries in any
 * batch. */
uint64_t slot_hash(const struct problem *, const struct array *, int64_t b, int number);
/* What a hostile index may be, of n that there are. */
int64_t slot_nonsense(struct rng *, int64_t n);
uint32_t slot_int(const struct problem *); /* the type of the case's integers */

/* slots_bias.c: the arrays of a bias; false: no memory. */
bool slot_biases(struct problem *, int s, int b);

#endif
