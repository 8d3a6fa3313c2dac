/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the public descriptor of an attention to the checked one. Everything the contract asks of a
 * descriptor is asked here, once. Structure comes first: pointers, sizes, counts (nothing past
 * HEED_MAX_* is read) and newer bytes. Then each object is looked at by itself, with all its rules:
 * slots, the descriptor, q, o, lse and sinks, every source with its terms and biases. Last comes
 * what takes several of them: outputs beside the batch, positions, alignment, and every slot at its
 * places of use with its entries. Of several faults one is named, and which one is not promised.
 *
 * Choices where the contract leaves room: lengths above their bound are HEED_E_INDEX; entries of a
 * bias map outside its table are legal (they add nothing); no source at all is legal (every row is
 * empty); for packed queries the extents of row blocks, of SEGMENT or a list, cut the length like
 * those of q_coord; H_k = 0 (legal with H = 0 only) gives heed_checked_source.heads = 1, so that
 * nobody divides by it.
 */
#ifndef HEED_LIB_OPS_ATTN_CHECK_H
#define HEED_LIB_OPS_ATTN_CHECK_H

#include "../../core/alloc.h"
#include "../../plan.h"

/* *out and all it points to lie in the arena and keep nothing of the caller's; on failure the arena
 * may hold leftovers and *out is not written. The report is written on success too. */
HEED_MUST_CHECK
heed_status heed_check_attn(const heed_attn_desc *, struct heed_arena *,
                            const struct heed_checked **out, heed_report *);

#endif
