/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bursts are long enough for the clock to be steady and short enough to sit close to the kernel
 * they are compared with.
 */
#include "bench/ceiling.h"

#include "peak/peak.h"

#include <math.h>
#include <stdlib.h>

static void burn(void *arg, unsigned worker)
{
    struct ceiling *c = arg;

    c->burnt[worker] = c->peak->burn(c->iterations, 1.0f + (float)(worker + 1) / 64);
}

double ceiling_seconds(const struct ceiling *c, struct timing t)
{
    return c->cpu_time ? t.cpu : t.wall;
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
    if (c->team == NULL || c->burnt == NULL) {
        ceiling_destroy(c);
        return NULL;
    }
    if (c->peak != NULL)
        calibrate(c);
    return c;
}

void ceiling_destroy(struct ceiling *c)
{
    if (c == NULL)
        return;
    team_destroy(c->team);
    free(c->burnt);
    free(c);
}

double ceiling_flops(struct ceiling *c)
{
    double best = NAN;

    if (c->peak == NULL)
        return NAN;
    for (int burst = 0; burst < 3; burst++) {
        const double seconds = ceiling_seconds(c, team_run(c->team, burn, c));
        const double work = c->peak->flops * (double)c->iterations * team_threads(c->team);

        if (seconds > 0 && !(work / seconds <= best))
            best = work / seconds;
    }
    return best;
}
