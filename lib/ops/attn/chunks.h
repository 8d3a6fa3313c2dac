/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which chunks of a source's keys a stretch of rows may see, from the lowered form.
 */
#ifndef HEED_LIB_OPS_ATTN_CHUNKS_H
#define HEED_LIB_OPS_ATTN_CHUNKS_H

#include "../../backend.h"
#include "../../spans.h"

struct heed_arena;

/* Writes 1 for each HEED_CHUNK keys of the source of which a row in [first, first + count) may see
 * one, else 0. The rows and the source exist; slots as heed_visible_row() takes them. HEED_E_NOMEM,
 * HEED_E_NULL: a slot that is not bound. */
HEED_MUST_CHECK
heed_status heed_chunks_find(const struct heed_checked *, const struct heed_lowered *,
                             const void *const *slots, uint32_t source, int64_t first,
                             int64_t count, uint8_t *chunks, struct heed_arena *, heed_report *);

#endif
