/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the outputs of failed cases of attention are wrong: in which rows, in which channels, and
 * with how many blocks of keys. What the wrong ones have in common hints at the loop that is wrong.
 */
#ifndef HEED_TOOLS_CONFORM_WHERE_H
#define HEED_TOOLS_CONFORM_WHERE_H

#include "conform.h"

enum { WHERE_MOST = 1024 }; /* larger numbers count as the largest */

/* Of each number how many were wrong, and how many right beside wrong ones. */
struct where_axis {
    int64_t wrong[WHERE_MOST], right[WHERE_MOST];
};
struct where {
    int64_t cases;  /* with wrong elements of o */
    int64_t others; /* that failed otherwise */
    struct where_axis rows, channels, blocks; /* blocks: of 64 keys, the last one that a row sees */
};

/* Adds a failed case: got against the reference's bits if both are EXACT, else against the bound.
 */
void cf_where_add(struct where *, const struct problem *, const struct call *ref,
                  const struct call *got);
void cf_where_print(const struct where *, FILE *);

#endif
