/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which blocks of a source's keys a stretch of rows may see, from the lowered form.
 */
#ifndef HEED_LIB_OPS_ATTN_BLOCKS_H
#define HEED_LIB_OPS_ATTN_BLOCKS_H

#include "runs.h"

/* Writes 1 for each `block` keys of which a row may see one, else 0. Errors: of heed_runs_find(),
 * HEED_E_NOMEM. */
HEED_MUST_CHECK
heed_status heed_blocks_find(const struct heed_checked *, const struct heed_lowered *,
                             const void *const *slots, const struct heed_stretch *, int64_t block,
                             uint8_t *seen, struct heed_arena *, heed_report *);

#endif
