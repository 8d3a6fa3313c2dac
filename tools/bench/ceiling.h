/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ceilings of this machine, measured: fused multiply-adds a second and bytes read a second, on all
 * threads at once.
 */
#ifndef HEED_TOOLS_BENCH_CEILING_H
#define HEED_TOOLS_BENCH_CEILING_H

#include "bench/timing.h"

struct ceiling;

/* isa: name of a level of tools/peak, or one that is not there: then its peak is not a number.
 * cpu_time: which of the two times the rates are made of. NULL: no memory or no thread. */
struct ceiling *ceiling_create(const char *isa, unsigned threads, bool cpu_time);
void ceiling_destroy(struct ceiling *);

/* Operations a second, the best of three bursts of a few milliseconds. */
double ceiling_flops(struct ceiling *);

/* Bytes a second of one pass over memory that fits no cache. Evicts the caches. */
double ceiling_bandwidth(struct ceiling *);

#endif
