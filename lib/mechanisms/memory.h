/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What mechanisms with memories have in common: a segment, all of it or its last rows, and sources
 * that end just before it.
 */
#ifndef HEED_LIB_MECHANISMS_MEMORY_H
#define HEED_LIB_MECHANISMS_MEMORY_H

#include "build.h"

/* q, o and the text; rows are all of the segment or its last ones. */
HEED_MUST_CHECK
heed_status heed_builder_segment(struct heed_builder *b, const heed_tensor *q,
                                 const heed_tensor *o, const heed_keys *text);

/* Adds a memory whose newest row is at position end - 1, whatever its length. */
heed_source *heed_builder_memory(struct heed_builder *b, const heed_keys *memory, uint32_t set,
                                 int64_t end);

#endif
