/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The score products of a select-topk alone: the scores that it selects from, by a loop that keeps
 * none of them. The loop is this program's own, because no public call of heed has scores without a
 * softmax or a selection behind them; it does the multiply-adds of the selection, in the same
 * chains, over keys as they lie.
 */
#ifndef HEED_TOOLS_BENCH_PRODUCTS_H
#define HEED_TOOLS_BENCH_PRODUCTS_H

#include "bench/ceiling.h"
#include "bench/workload.h"

struct products;

/* NULL: no memory for it, the level is unknown, or the workload is none that this loop is good
 * for: a select-topk in f32 whose rows of q are a multiple of 64. */
struct products *products_create(const struct ceiling *, const struct workload *);
void products_destroy(struct products *);

/* Of the workload's scores, once; not a number when there are no products. */
double products_seconds(struct products *);

#endif
