/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What one query row sees of one source, key by key. Written from the text of the contract and from
 * nothing else, so that it can disagree with the lowered form and with the reference.
 */
#ifndef HEED_LIB_VISIBLE_H
#define HEED_LIB_VISIBLE_H

#include "../../backend.h"

/* seen[0 .. n_k of the source): how often the row sees each key; 255 stands for more. Terms,
 * lengths, CAUSAL, the mask and lists count, biases do not. slots[i]: host address of slot i + 1
 * (NULL when every slot is constant). HEED_E_VALUE: no such batch item, head, row or source;
 * HEED_E_NULL: seen, or a slot that is not bound. */
HEED_MUST_CHECK
heed_status heed_visible_row(const struct heed_checked *, const void *const *slots, int64_t batch,
                             int64_t head, int64_t row, uint32_t source, uint8_t *seen,
                             heed_report *);

#endif
