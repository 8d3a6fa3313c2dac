/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The measurement: ceiling and kernel in turn, and in turn with whom it is compared.
 */
#ifndef HEED_TOOLS_BENCH_MEASURE_H
#define HEED_TOOLS_BENCH_MEASURE_H

#include "bench/ceiling.h"
#include "bench/contender.h"
#include "bench/peer.h"

struct measure_input {
    const struct workload *load;
    struct contender *ours;
    struct contender *other;            /* NULL: none */
    struct peer *peer;                  /* NULL: none; at most one of the two */
    struct ceiling *ceiling;
    unsigned threads;
    size_t pairs;
    bool cpu_time;                      /* rates from CPU time; else wall time */
};

struct measure_result {
    double useful, peak;                /* operations a second */
    double share;                       /* median over pairs of rate / peak right before it */
    double bandwidth;                   /* bytes read a second */
    struct timing_spread seconds;       /* of one run, by the chosen clock */
    double cpu, wall;                   /* medians of both clocks */
    bool compared;
    struct timing_spread ratio;         /* time of the other / time of ours: > 1, ours is faster */
    double other_seconds;               /* median */
};

/* False: all is said on stderr. */
bool measure(const struct measure_input *, struct measure_result *);

#endif
