/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/pool.h, select by scores. A task is a strip of query rows and a part of the tokens. A row
 * keeps the keys of what it may choose, and a bar below which it wants nothing more: a score that
 * reaches the bar is added, and when there is no more room, all but the `count` largest go and the
 * bar rises. So most scores cost a comparison, and none is stored. A group that goes on with
 * another part of its strip goes on with its bars.
 *
 * For processors query rows are the columns of panels, and tokens the rows that are multiplied with
 * them: x is read in place, once for all rows of a strip, and a vector of scores has the same token
 * and different query rows. The threads of a work-group share tiles of tokens and query rows.
 */
#define HK_SCALES 0 /* numbers alone */
#include "select_topk.h"

#if HK_THREADS == 1
#include "select_topk_lanes.h"
#else
#include "select_topk_threads.h"
#endif

#include "../entry.h"
