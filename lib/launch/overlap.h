/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which addresses strided tensors touch. Both questions are answered exactly by a bounded search
 * for an integer solution; a layout made to defeat it (no tensor of a program is one) that is still
 * undecided after HEED_OVERLAP_WORK steps gets the answer that refuses it.
 */
#ifndef HEED_LIB_OVERLAP_H
#define HEED_LIB_OVERLAP_H

#include "../plan.h"

#include <stdbool.h>

#define HEED_OVERLAP_WORK 65536

/* Do two elements share a byte? pa, pb: addresses of element [0,...,0], or what stands for them
 * (handle value plus offset); ea, eb: bytes an element. Empty: false. */
bool heed_overlap(const struct heed_view *a, uint64_t pa, size_t ea, const struct heed_view *b,
                  uint64_t pb, size_t eb);

/* Does every element have an address of its own? Axes of extent 1 do not matter; empty: true. */
bool heed_view_injective(const struct heed_view *);

/* Lowest and highest offset from element [0,...,0], in what strides count. false: outside int64.
 * Empty: 0, 0. */
bool heed_view_range(const struct heed_view *, int64_t *low, int64_t *high);
bool heed_view_empty(const struct heed_view *);

#endif
