/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bursts are long enough for the clock to be steady and short enough to sit close to the kernel
 * they are compared with.
 */
#define _GNU_SOURCE
#include "bench/ceiling.h"

#include "bench/team.h"
#include "peak/peak.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ceiling {
    const struct peak *peak;            /* NULL: unknown level */
    struct team *team;
    bool cpu_time;
    int64_t iterations;
    float *burnt;                       /* [threads], so that no worker's work is removed */
    uint64_t *words, *sums;             /* words NULL: no memory for it; sums [threads] */
    size_t n_words;
};

static void burn(void *arg, unsigned worker)
{
    struct ceiling *c = arg;

    c->burnt[worker] = c->peak->burn(c->iterations, 1.0f + (float)(worker + 1) / 64);
}

static void read_share(void *arg, unsigned worker)
{
    struct ceiling *c = arg;
    const size_t share = c->n_words / team_threads(c->team);

    c->sums[worker] = peak_read(c->words + share * worker, share);
}

static double chosen(const struct ceiling *c, struct timing t)
{
    return c->cpu_time ? t.cpu : t.wall;
}

/* Four times the last cache, at least 64 MiB and at most 1 GiB. */
static size_t memory_size(void)
{
    long cache = 0;
    size_t bytes;

#ifdef _SC_LEVEL3_CACHE_SIZE
    cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    bytes = cache > 0 ? (size_t)cache * 4 : (size_t)256 << 20;
    if (bytes < (size_t)64 << 20)
        return (size_t)64 << 20;
    return bytes > (size_t)1 << 30 ? (size_t)1 << 30 : bytes;
}

static void calibrate(struct ceiling *c)
{
    const double burst = 5e-3;

    for (c->iterations = 1000; c->iterations < INT64_C(1) << 40; c->iterations *= 2) {
        const double seconds = team_run(c->team, burn, c).wall;

        if (seconds >= burst / 4) {
            c->iterations = (int64_t)((double)c->iterations * burst / seconds) + 1;
            return;
        }
    }
}

struct ceiling *ceiling_create(const char *isa, unsigned threads, bool cpu_time)
{
    struct ceiling *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->peak = peak_find(isa);
    c->cpu_time = cpu_time;
    c->team = team_create(threads);
    c->burnt = calloc(threads, sizeof *c->burnt);
    c->sums = calloc(threads, sizeof *c->sums);
    if (c->team == NULL || c->burnt == NULL || c->sums == NULL) {
        ceiling_destroy(c);
        return NULL;
    }
    c->n_words = memory_size() / sizeof *c->words;
    c->words = malloc(c->n_words * sizeof *c->words);
    if (c->words != NULL)
        memset(c->words, 1, c->n_words * sizeof *c->words);
    if (c->peak != NULL)
        calibrate(c);
    return c;
}

void ceiling_destroy(struct ceiling *c)
{
    if (c == NULL)
        return;
    team_destroy(c->team);
    free(c->words);
    free(c->sums);
    free(c->burnt);
    free(c);
}

double ceiling_flops(struct ceiling *c)
{
    double best = NAN;

    if (c->peak == NULL)
        return NAN;
    for (int burst = 0; burst < 3; burst++) {
        const double seconds = chosen(c, team_run(c->team, burn, c));
        const double work = c->peak->flops * (double)c->iterations * team_threads(c->team);

        if (seconds > 0 && !(work / seconds <= best))
            best = work / seconds;
    }
    return best;
}

double ceiling_bandwidth(struct ceiling *c)
{
    const double bytes = (double)(c->n_words * sizeof *c->words);

    if (c->words == NULL)
        return NAN;
    return bytes / chosen(c, team_run(c->team, read_share, c));
}
