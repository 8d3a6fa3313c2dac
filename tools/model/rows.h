/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TOOLS_MODEL_ROWS_H
#define TOOLS_MODEL_ROWS_H

#include <heed/model.h>
#include <stddef.h>

enum { ROOM = 1 << 16 };                /* of generated ids */

/* The vectors of the lines of a text, of which the last may have no end: rows [n][channels],
 * malloc'd. */
heed_status rows_vectors(const heed_model *model, heed_queue *queue, const char *text,
                          size_t bytes, float **rows, int64_t *n, heed_report *why);

/* What generated ids look at: rows [n_out][n], malloc'd; each id of the text is a group. */
heed_status rows_looks(const heed_model *model, heed_queue *queue, const int32_t *ids, int64_t n,
                       const heed_generate_options *given, float **rows, int64_t *n_out,
                       heed_report *why);

#endif
