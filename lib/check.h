/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the public descriptor of an attention to the checked one. Everything the contract asks of a
 * descriptor is asked here, once, in this order; each point looks at the whole descriptor before
 * the next one begins:
 *
 *  1. structure    NULL descriptor, arrays with a count but no address (HEED_E_NULL); size and
 *                  element sizes (HEED_E_SIZE); counts above HEED_MAX_* (HEED_E_UNSUPPORTED:
 *                  nothing past them is read)
 *  2. newer bytes  HEED_E_NEWER: wanted is the size known here, got the offset of such a byte
 *  3. flags        bits that this library does not know (HEED_E_FLAG)
 *  4. values       q, o, k, v absent (HEED_E_NULL); enums, signs, numbers, reserved fields, axes,
 *                  extents, slot numbers, fields and flags that the kind or layout does not take
 *                  (HEED_E_VALUE)
 *  5. kinds        PAGED, RING, DOT (HEED_E_UNSUPPORTED): the rest is not defined for them yet
 *  6. shapes       slots with more axes than their use takes (HEED_E_VALUE); then HEED_E_SHAPE:
 *                  batch axes, sources, o, lse, sinks, slots at each place of use
 *  7. overflow     HEED_E_OVERFLOW: products of extents (extents of 0 count as 1), bytes spanned,
 *                  positions
 *  8. strides      HEED_E_STRIDE: o, then lse
 *  9. dtypes       HEED_E_DTYPE, also for numbers that are no element type
 * 10. ambiguity    HEED_E_AMBIGUOUS
 * 11. constants    alignment (HEED_E_ALIGN), copy, then entries: HEED_E_INDEX; negative lengths
 *                  HEED_E_VALUE; coordinates and query positions beyond HEED_POSITION_MAX
 *                  HEED_E_OVERFLOW
 * 12. support      combinations of terms (HEED_E_UNSUPPORTED)
 *
 * Choices where the contract leaves room: lengths above their bound are HEED_E_INDEX; entries of a
 * bias map outside its table are legal (they add nothing); no source at all is legal (every row is
 * empty); for RAGGED queries the extents of SEGMENT and LISTED row blocks cut the length like those
 * of q_coord; H_k = 0 (legal with H = 0 only) gives heed_checked_source.heads = 1, so that nobody
 * divides by it.
 */
#ifndef HEED_LIB_CHECK_H
#define HEED_LIB_CHECK_H

#include "core/alloc.h"
#include "plan.h"

/* *out and all it points to lie in the arena and keep nothing of the caller's; on failure the arena
 * may hold leftovers and *out is not written. The report is written on success too. */
HEED_MUST_CHECK
heed_status heed_check_attn(const heed_attn_desc *, struct heed_arena *,
                            const struct heed_checked **out, heed_report *);

#endif
