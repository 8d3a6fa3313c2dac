/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The measurement: ceiling and kernel in turn, and in turn with whom it is compared.
 */
#ifndef HEED_TOOLS_BENCH_MEASURE_H
#define HEED_TOOLS_BENCH_MEASURE_H

#include "bench/ceiling.h"
#include "bench/contender.h"
#include "bench/mix.h"
#include "bench/peer.h"
#include "bench/products.h"

struct measure_input {
    const struct workload *load;
    struct workload_cost cost;
    struct contender *ours;
    struct contender *other;            /* NULL: none */
    struct peer *peer;                  /* NULL: none; at most one of the two */
    struct ceiling *ceiling;
    struct mix *mix;                    /* NULL: no bandwidth to compare with */
    struct products *products;          /* NULL: no score products to compare with */
    unsigned threads;
    size_t pairs;
    bool cpu_time;                      /* rates from CPU time; else wall time */
};

/* What there is nothing to say about is not a number. */
struct measure_result {
    double useful, peak;                /* operations a second */
    double share;                       /* median over pairs of rate / peak right before it */
    double read, written;               /* bytes a second, as workload_cost counts them */
    double peak_bytes;                  /* read and written, bytes a second */
    double bytes_share;                 /* as share */
    double floor;                       /* the least time that either leaves, of the time taken */
    double products;                    /* median over pairs of time / that of the score products */
    struct timing_spread seconds;       /* of one run, by the chosen clock */
    double cpu, wall;                   /* medians of both clocks */
    bool compared;
    struct timing_spread ratio;         /* time of the other / time of ours: > 1, ours is faster */
    double other_seconds;               /* median */
};

/* False: all is said on stderr. */
bool measure(const struct measure_input *, struct measure_result *);

#endif
