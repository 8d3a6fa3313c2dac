/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention as an operation: its operands, and the memory of its slots.
 */
#ifndef HEED_LIB_OPS_ATTN_ATTN_H
#define HEED_LIB_OPS_ATTN_ATTN_H

#include "../op.h"

/* Lays the operands of a checked attention into the arena; sets plan->checked and operands. */
HEED_MUST_CHECK
heed_status heed_attn_lay(struct heed_plan *, const struct heed_checked *, struct heed_arena *,
                          heed_report *);

/* heed_op.place of attention. */
HEED_MUST_CHECK
heed_status heed_attn_place(const struct heed_plan *, const void *args, struct heed_places *,
                            heed_report *);

/* The same for the slots alone; args may be NULL when there is none to be bound. */
HEED_MUST_CHECK
heed_status heed_attn_place_slots(const struct heed_plan *, const heed_attn_args *args,
                                  struct heed_places *, heed_report *);

/* Host addresses of the slots, slot i + 1 at [i], from the memory of all operands. */
void heed_attn_slots(const struct heed_plan *, const heed_buf *at,
                     const void *slots[HEED_MAX_SLOTS]);

#endif
