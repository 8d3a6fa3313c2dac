/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One query row of one head of one batch item, from the order of its keys to its output
 * (numerics.md steps 2 to 12).
 */
#ifndef HEED_REFERENCE_ROW_H
#define HEED_REFERENCE_ROW_H

#include "numerics.h"
#include "predicate.h"

/* Writes o and, where there is one, lse of the row, or its state. A DENSE row beyond the query
 * length sees no key. scratch: HEED_REF_SOFTMAX_SCRATCH * d_v floats. */
void heed_ref_row_run(const struct heed_ref_row *, const struct heed_ref_constants *,
                      float *scratch);

#endif
