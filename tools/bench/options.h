/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The command line of heed-bench.
 */
#ifndef HEED_TOOLS_BENCH_OPTIONS_H
#define HEED_TOOLS_BENCH_OPTIONS_H

#include "bench/workload.h"

enum { OPTIONS_PAIRS_LEAST = 15, OPTIONS_WORKLOADS_MOST = 64 };

/* Which time the rates are made of. AUTO: CPU on one thread without neighbours, else wall. */
enum options_clock { CLOCK_AUTO, CLOCK_CPU, CLOCK_WALL };

struct options {
    struct workload loads[OPTIONS_WORKLOADS_MOST];
    size_t n_loads;
    char device[64];                    /* "": the default device */
    const char *vs;                     /* a second device or library, or NULL */
    const char *plugin;                 /* a kernel's file, measured in turn with the device */
    const char *peer;                   /* a command, or NULL; see bench/peer.h */
    int64_t threads, pairs;
    int64_t neighbours;                 /* processes that keep processors busy meanwhile */
    int64_t timeout;                    /* seconds that a peer has for an answer */
    enum options_clock clock;
    uint32_t numerics;                  /* HEED_NUMERICS_* that plans are asked for */
    bool json;
    bool openmp;                        /* workers are a team of OpenMP's threads */
    bool quick;                         /* one pair of short bursts, which say nothing of speed */
};

/* Reads the command line. False: the program is to end with *code, all is said. */
bool options_read(int argc, char **argv, struct options *out, int *code);

#endif
