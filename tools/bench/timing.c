/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * POSIX clocks, and order statistics.
 */
#define _POSIX_C_SOURCE 200809L
#include "bench/timing.h"

#include <stdlib.h>
#include <time.h>

static double read_clock(clockid_t clock)
{
    struct timespec t = { 0 };

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct timing timing_now(unsigned threads)
{
    const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID;

    return (struct timing){
        .cpu = read_clock(clock) / (double)threads,
        .wall = read_clock(CLOCK_MONOTONIC),
    };
}

struct timing timing_since(struct timing start, unsigned threads)
{
    const struct timing now = timing_now(threads);

    return (struct timing){ .cpu = now.cpu - start.cpu, .wall = now.wall - start.wall };
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct timing_spread timing_spread(double *values, size_t count)
{
    const size_t half = count / 2;

    qsort(values, count, sizeof *values, compare);
    return (struct timing_spread){
        .median = count % 2 != 0 ? values[half] : 0.5 * (values[half - 1] + values[half]),
        .min = values[0],
        .max = values[count - 1],
    };
}
