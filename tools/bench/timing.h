/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two clocks and the statistics of what they read. Wall time is what users feel; CPU time stays
 * steady on a machine that is shared.
 */
#ifndef HEED_TOOLS_BENCH_TIMING_H
#define HEED_TOOLS_BENCH_TIMING_H

#include <stdbool.h>
#include <stddef.h>

/* Seconds. cpu: of the calling thread when one thread works, else of the process divided by the
 * number of threads, so that both are comparable with wall time. */
struct timing {
    double cpu, wall;
};

struct timing timing_now(unsigned threads);
struct timing timing_since(struct timing start, unsigned threads);

/* Median, least and most of count >= 1 values, which are sorted in passing. */
struct timing_spread {
    double median, min, max;
};
struct timing_spread timing_spread(double *values, size_t count);

#endif
