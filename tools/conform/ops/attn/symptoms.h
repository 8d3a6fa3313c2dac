/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the outputs of failed cases of attention are wrong: in which rows, channels, heads and
 * batch items, with how many blocks of keys, and whether keys lie on pages that are absent. What
 * the wrong ones have in common hints at the loop that is wrong.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_ATTN_SYMPTOMS_H
#define HEED_TOOLS_CONFORM_OPS_ATTN_SYMPTOMS_H

#include "attn.h"

struct session;

enum { WHERE_MOST = 1024 }; /* larger numbers count as the largest */

/* Of each number how many were wrong, and how many right beside wrong ones. */
struct where_axis {
    int64_t wrong[WHERE_MOST], right[WHERE_MOST];
};
struct where {
    int64_t cases;  /* with wrong elements of o */
    int64_t others; /* that failed otherwise */
    struct where_axis rows, channels, heads, items;
    struct where_axis blocks; /* of 64 keys, the last one that a row sees */
};

/* Adds a failed case: got against the reference's bits if both are EXACT, else against the bound.
 * Says behind the verdict's reason what its wrong rows alone have. */
void cf_where_add(struct where *, const struct problem *, const struct call *ref,
                  const struct call *got, struct verdict *);
/* Says behind the reason that keys of the case lie on pages that are absent, if some do. */
void cf_where_pages(const struct problem *, struct verdict *);

/* What attention's judge notes in a run. */
struct notes {
    struct where where;  /* their outputs are wrong */
    int64_t evidence[3]; /* cases judged: without keys, with rows that see one, two or more */
};

#endif
