/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads for the peak loops, which have to run on all cores at once. They sleep between calls, so
 * that they take nothing from the kernel they are compared with.
 */
#ifndef HEED_TOOLS_BENCH_TEAM_H
#define HEED_TOOLS_BENCH_TEAM_H

#include "bench/timing.h"

struct team;

/* NULL: no memory or no thread. */
struct team *team_create(unsigned threads);
void team_destroy(struct team *);
unsigned team_threads(const struct team *);

/* Calls body(arg, 0) .. body(arg, threads - 1) at the same time, the first on the calling thread;
 * returns the seconds from when all were ready until the last returned, with the CPU time of that
 * (see timing.h). */
struct timing team_run(struct team *, void (*body)(void *arg, unsigned worker), void *arg);

#endif
