/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The read and write bandwidth of this machine for as many bytes as a workload reads and writes:
 * as much as is written is copied, the rest is only read. Of several loops the best one counts.
 */
#ifndef HEED_TOOLS_BENCH_MIX_H
#define HEED_TOOLS_BENCH_MIX_H

#include "bench/ceiling.h"
#include "bench/workload.h"

struct mix;

/* NULL: no memory for it, or the level is unknown. The ceiling stays the caller's. */
struct mix *mix_create(const struct ceiling *, const struct workload_cost *);
void mix_destroy(struct mix *);

/* Bytes a second, read and written together; not a number when there is no mix. */
double mix_bandwidth(struct mix *);

#endif
