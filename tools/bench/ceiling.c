/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bursts are long enough for the clock to be steady and short enough to sit close to the kernel
 * they are compared with.
 */
#include "bench/ceiling.h"

#include "peak/device.h"
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

static struct timing run_burst(struct ceiling *c)
{
    const struct timing failed = { NAN, NAN };
    struct timing start;

    if (c->device == NULL)
        return team_run(c->team, burn, c);
    start = timing_now(1);
    return peak_device_burn(c->device, (uint32_t)c->iterations) ? timing_since(start, 1) : failed;
}

/* A device has much more to do in an iteration, and its driver needs some time for each burst. */
static void calibrate(struct ceiling *c)
{
    const double burst = (c->device != NULL ? 20e-3 : 5e-3) * c->pace;
    const int64_t most = c->device != NULL ? INT64_C(1) << 30 : INT64_C(1) << 40;

    for (c->iterations = c->device != NULL ? 1 : 1000; c->iterations < most; c->iterations *= 2) {
        const double seconds = run_burst(c).wall;

        if (seconds >= burst / 4) {
            c->iterations = (int64_t)((double)c->iterations * burst / seconds) + 1;
            return;
        }
    }
}

struct ceiling *ceiling_create(const char *device, const char *isa, unsigned threads,
                               bool cpu_time)
{
    struct ceiling *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->name = device;
    c->peak = isa != NULL ? peak_find(isa) : NULL;
    c->cpu_time = cpu_time;
    c->pace = 1;
    c->team = team_create(threads);
    c->burnt = calloc(threads, sizeof *c->burnt);
    if (c->team == NULL || c->burnt == NULL) {
        ceiling_destroy(c);
        return NULL;
    }
    return c;
}

void ceiling_ready(struct ceiling *c)
{
    if (c->ready)
        return;
    c->ready = true;
    c->device = peak_device_open(c->name);
    if (c->peak != NULL || c->device != NULL)
        calibrate(c);
}

void ceiling_destroy(struct ceiling *c)
{
    if (c == NULL)
        return;
    peak_device_close(c->device);
    team_destroy(c->team);
    free(c->burnt);
    free(c);
}

double ceiling_flops(struct ceiling *c)
{
    double best = NAN, flops;

    ceiling_ready(c);
    flops = c->device != NULL ? peak_device_flops(c->device)
          : c->peak != NULL   ? c->peak->flops * team_threads(c->team) : NAN;
    if (isnan(flops))
        return NAN;
    for (int burst = 0; burst < 3; burst++) {
        const double seconds = ceiling_seconds(c, run_burst(c));
        const double work = flops * (double)c->iterations;

        if (seconds > 0 && !(work / seconds <= best))
            best = work / seconds;
    }
    return best;
}
