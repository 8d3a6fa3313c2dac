/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loops run over as much memory as the workload has, so that both find the caches alike, and
 * each is warmed up by one pass. Where more is written than read, copying is scaled.
 */
#include "bench/mix.h"

#include "bench/contents.h"
#include "peak/peak.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double burst = 5e-3;       /* seconds of one loop at least */
enum { BEHIND = 4096 };                 /* loops may prefetch there */

struct mix {
    const struct ceiling *ceiling;
    double bytes;                       /* the workload's, in whole units */
    double scale;                       /* time of the copied part counts so often */
    size_t copied, read;                /* bytes of one worker; 0: no such part */
    char *from, *to;                    /* [threads][copied + read], [threads][copied] */
    size_t copies[PEAK_LOOPS + 1];      /* passes of a burst; 0 behind the last loop */
    size_t reads[PEAK_LOOPS + 1];
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

/* The first pass warms up, the second says how often to repeat. */
static size_t calibrate(struct pass *p)
{
    double once;

    seconds(p, 1);
    once = seconds(p, 1);
    return once > burst / 1e6 ? (size_t)(burst / once) + 1 : 1000000;
}

static double best(struct pass *p, const size_t *times, double so_far)
{
    double once;

    seconds(p, 1);
    once = seconds(p, *times) / (double)*times;
    return once < so_far ? once : so_far;
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
    for (size_t i = 0; m->copied > 0 && ceiling->peak->copiers[i] != NULL; i++)
        m->copies[i] = calibrate(&(struct pass){ .mix = m, .copier = ceiling->peak->copiers[i] });
    for (size_t i = 0; m->read > 0 && ceiling->peak->readers[i] != NULL; i++)
        m->reads[i] = calibrate(&(struct pass){ .mix = m, .reader = ceiling->peak->readers[i] });
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
    double copying = INFINITY, reading = INFINITY;

    if (m == NULL)
        return NAN;
    for (size_t i = 0; m->copies[i] > 0; i++)
        copying = best(&(struct pass){ .mix = m, .copier = m->ceiling->peak->copiers[i] },
                       &m->copies[i], copying);
    for (size_t i = 0; m->reads[i] > 0; i++)
        reading = best(&(struct pass){ .mix = m, .reader = m->ceiling->peak->readers[i] },
                       &m->reads[i], reading);
    return m->bytes / ((m->copied > 0 ? copying * m->scale : 0) + (m->read > 0 ? reading : 0));
}
