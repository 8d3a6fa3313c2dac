/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows that the threads of a work-group share unit by unit: neighbours have neighbouring units, and
 * short rows leave no thread idle. A thread takes HK_BATCH units at a time, so that it can ask
 * memory for all of them before it looks at the first: what a GPU waits for is not the bytes but
 * the first of them.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_PLACES_H
#define HEED_BACKENDS_KERNELS_OPS_PLACES_H

#include "operation.h"

#if HK_THREADS > 1

#ifndef HK_BATCH
#define HK_BATCH 2
#endif

#define HK_PLACES ((hk_i64)1 << 30) /* fewer rows, and units of a row: few registers */

struct hk_place {
    hk_i32 row, unit;
};

struct hk_walk {
    struct hk_place at[HK_BATCH]; /* those that are not there are the first again */
    int there[HK_BATCH];
    struct hk_place next, step; /* step: HK_THREADS units further */
    hk_i32 rows, units;
};

/* Units of rows 0 to `rows` - 1, each of `units`, 1 at least, from that of the thread on. */
HK_FN struct hk_walk hk_walk_begin(hk_i32 id, hk_i64 rows, hk_i64 units)
{
    struct hk_walk walk;
    int k;

    HK_UNROLL
    for (k = 0; k < HK_BATCH; k++) { /* a thread without units may ask for the first all the same */
        walk.at[k].row = walk.at[k].unit = 0;
        walk.there[k] = 0;
    }
    walk.rows = (hk_i32)rows;
    walk.units = (hk_i32)units;
    walk.next.row = id / walk.units;
    walk.next.unit = id % walk.units;
    walk.step.row = HK_THREADS / walk.units;
    walk.step.unit = HK_THREADS % walk.units;
    return walk;
}

/* The next batch; 0: there is none. */
HK_FN int hk_walk_next(struct hk_walk *walk)
{
    int k;

    if (walk->next.row >= walk->rows)
        return 0;
    HK_UNROLL
    for (k = 0; k < HK_BATCH; k++) {
        walk->there[k] = walk->next.row < walk->rows;
        walk->at[k] = walk->there[k] ? walk->next : walk->at[0];
        walk->next.row += walk->step.row;
        walk->next.unit += walk->step.unit;
        if (walk->next.unit >= walk->units) {
            walk->next.unit -= walk->units;
            walk->next.row++;
        }
    }
    return 1;
}

#endif

#endif
