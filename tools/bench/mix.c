/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loops run over as much memory as the workload has, so that both find the caches alike, and
 * each is warmed up alike. Where more is written than read, copying is scaled.
 */
#include "bench/mix.h"

#include "bench/contents.h"
#include "peak/peak.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double one_burst = 10e-3;  /* seconds of one loop at least */
enum { BEHIND = 4096, TRIALS = 9 };     /* BEHIND: loops may prefetch there */

struct mix {
    const struct ceiling *ceiling;
    double bytes;                       /* the workload's, in whole units */
    double scale;                       /* time of the copied part counts so often */
    size_t copied, read;                /* bytes of one worker; 0: no such part */
    char *from, *to;                    /* [threads][copied + read], [threads][copied] */
    peak_copier *copier;                /* the best ones, and their passes of a burst */
    peak_reader *reader;
    size_t copies, reads;
    uint64_t *sums;                     /* [threads], so that no worker's work is removed */
};

/* What a worker is to do. */
struct pass {
    struct mix *mix;
    peak_copier *copier;                /* or */
    peak_reader *reader;
    size_t times;
};

static void work(void *arg, unsigned worker)
{
    const struct pass *const p = arg;
    struct mix *const m = p->mix;
    const char *const from = m->from + worker * (m->copied + m->read);
    char *const to = m->to + worker * m->copied;

    for (size_t i = 0; i < p->times; i++) {
        if (p->copier != NULL)
            p->copier(to, from, m->copied);
        else
            m->sums[worker] += p->reader(from + m->copied, m->read);
    }
}

static double seconds(struct pass *p, size_t times)
{
    p->times = times;
    return ceiling_seconds(p->mix->ceiling, team_run(p->mix->ceiling->team, work, p));
}

/* Of one pass, after a quarter as many that warm up (as in measure.c). */
static double time_of(struct pass *p, size_t times)
{
    seconds(p, times / 4 + 1);
    return seconds(p, times) / (double)times;
}

/* The loop with the best median of several trials, one of each loop in turn; how many passes are a
 * burst. Choosing anew each time would prefer whoever was not disturbed. */
static size_t choose(struct pass *p, size_t count, const struct mix *m, size_t *passes)
{
    const double first = time_of(p, 1), burst = one_burst * m->ceiling->pace;
    const size_t some = first > burst / 1e6 ? (size_t)(burst / 2 / first) + 1 : 100000;
    double trials[PEAK_LOOPS][TRIALS], best = INFINITY;
    size_t chosen = 0;

    for (size_t i = 0; i < TRIALS * count; i++) {
        const size_t loop = i % count;

        if (p->copier != NULL)
            p->copier = m->ceiling->peak->copiers[loop];
        else
            p->reader = m->ceiling->peak->readers[loop];
        trials[loop][i / count] = time_of(p, some);
    }
    for (size_t loop = 0; loop < count; loop++) {
        const double median = timing_spread(trials[loop], TRIALS).median;

        chosen = median < best ? loop : chosen;
        best = median < best ? median : best;
    }
    *passes = best > burst / 1e6 ? (size_t)(burst / best) + 1 : 1000000;
    return chosen;
}

static void choose_loops(struct mix *m)
{
    const struct peak *const peak = m->ceiling->peak;
    struct pass copy = { .mix = m, .copier = peak->copiers[0] };
    struct pass reading = { .mix = m, .reader = peak->readers[0] };
    size_t copiers = 0, readers = 0;

    while (peak->copiers[copiers] != NULL)
        copiers++;
    while (peak->readers[readers] != NULL)
        readers++;
    if (m->copied > 0)
        m->copier = peak->copiers[choose(&copy, copiers, m, &m->copies)];
    if (m->read > 0)
        m->reader = peak->readers[choose(&reading, readers, m, &m->reads)];
}

/* Each worker's part of so many bytes. */
static size_t part(double bytes, unsigned threads)
{
    const double units = ceil(bytes / threads / PEAK_UNIT);

    return units < 0x1p40 ? (size_t)units * PEAK_UNIT : 0;
}

static bool get_memory(struct mix *m, unsigned threads)
{
    const size_t from = (m->copied + m->read) * threads + BEHIND, to = m->copied * threads;

    m->sums = calloc(threads, sizeof *m->sums);
    m->from = contents_memory(from);
    m->to = contents_memory(to);
    if (m->sums == NULL || m->from == NULL || m->to == NULL)
        return false;
    memset(m->from, 1, from);
    memset(m->to, 1, to);
    return true;
}

struct mix *mix_create(const struct ceiling *ceiling, const struct workload_cost *cost)
{
    const unsigned threads = team_threads(ceiling->team);
    const double copied = cost->written < cost->read ? cost->written : cost->read;
    struct mix *m = ceiling->peak != NULL ? calloc(1, sizeof *m) : NULL;

    if (m == NULL)
        return NULL;
    m->ceiling = ceiling;
    m->copied = part(copied, threads);
    m->read = part(cost->read - copied, threads);
    m->bytes = 2.0 * (double)m->copied * threads + (double)m->read * threads;
    m->scale = 1;
    if (cost->written > copied && copied > 0) {
        m->scale = cost->written / copied;
        m->bytes = (1 + m->scale) * (double)m->copied * threads;
    }
    if (!get_memory(m, threads)) {
        mix_destroy(m);
        return NULL;
    }
    choose_loops(m);
    return m;
}

void mix_destroy(struct mix *m)
{
    if (m == NULL)
        return;
    free(m->from);
    free(m->to);
    free(m->sums);
    free(m);
}

double mix_bandwidth(struct mix *m)
{
    double time = 0;

    if (m == NULL)
        return NAN;
    if (m->copied > 0)
        time += time_of(&(struct pass){ .mix = m, .copier = m->copier }, m->copies) * m->scale;
    if (m->read > 0)
        time += time_of(&(struct pass){ .mix = m, .reader = m->reader }, m->reads);
    return m->bytes / time;
}
