/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows of rows (HEED_TAIL_*, heed/pool.h): which there may be, and how many an item has.
 */
#ifndef HEED_LIB_OPS_WINDOWS_H
#define HEED_LIB_OPS_WINDOWS_H

#include "arrays.h"

struct heed_windows {
    int64_t kernel, stride, left;
    uint32_t tail;
};

/* Numbers that a tail does not take. */
HEED_MUST_CHECK
heed_status heed_windows_check(const struct heed_arrays *, const struct heed_windows *);
/* Windows of n rows, after that check. */
int64_t heed_windows_count(const struct heed_windows *, int64_t n);

#endif
