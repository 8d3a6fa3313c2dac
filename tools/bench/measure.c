/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One pair is: ceiling, kernel, and the one it is compared with, all within a fraction of a
 * second, so that a change of the clock or a neighbour on the machine meets them alike. Runs that
 * are too short for the clock are repeated within the pair. Who goes first of two compared
 * changes from pair to pair.
 */
#define _POSIX_C_SOURCE 200809L
#include "bench/measure.h"

#include "common/text.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { BANDWIDTH_EVERY = 4 };           /* it evicts the caches: attention need not bear it often */
enum { CALIBRATIONS = 5 };
static const double sample_seconds = 20e-3;

/* [pairs] each */
struct samples {
    double *memory;
    double *peak, *share, *chosen, *cpu, *wall, *other, *ratio, *products;
    double *bandwidth, *bytes_share;
    size_t n_bandwidth;
};

static bool make_samples(struct samples *s, size_t pairs)
{
    double **const rows[] = { &s->peak, &s->share, &s->chosen, &s->cpu, &s->wall, &s->other,
                              &s->ratio, &s->products, &s->bandwidth, &s->bytes_share };

    *s = (struct samples){ .memory = calloc(pairs, sizeof rows / sizeof *rows * sizeof(double)) };
    if (s->memory == NULL)
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i] = s->memory + i * pairs;
    return true;
}

/* Of several runs a quarter as many warm up: where other arrays were used in between, the caches
 * hold a workload of some MiB again after its third run, not after its first. */
static bool warm_up(struct contender *c, size_t repeats)
{
    size_t runs = repeats > 1 ? repeats / 4 + 1 : 0;

    while (runs > 0 && contender_run(c) >= 0)
        runs--;
    return runs == 0;
}

/* Time of one of `repeats` runs. */
static bool time_runs(const struct measure_input *in, struct contender *c, size_t repeats,
                      struct timing *out)
{
    struct timing start;

    if (!warm_up(c, repeats))
        return false;
    start = timing_now(in->threads);
    for (size_t i = 0; i < repeats; i++) {
        if (contender_run(c) < 0)
            return false;
    }
    *out = timing_since(start, in->threads);
    out->cpu /= (double)repeats;
    out->wall /= (double)repeats;
    return true;
}

/* The first run warms up; the shortest of the others, which nobody disturbed, says how often to
 * repeat. */
static bool calibrate(const struct measure_input *in, struct contender *c, size_t *repeats)
{
    const double sample = sample_seconds * in->ceiling->pace;
    double shortest = INFINITY, wanted;
    struct timing t = { 0 };

    for (int trial = 0; trial <= CALIBRATIONS; trial++) {
        if (!time_runs(in, c, 1, &t))
            return false;
        if (trial > 0)
            shortest = fmin(shortest, t.wall);
        if (shortest >= sample && trial > 0)
            break;
    }
    wanted = shortest > 0 ? sample / shortest : 1000;
    *repeats = wanted <= 1 ? 1 : wanted >= 1e6 ? 1000000 : (size_t)wanted + 1;
    return true;
}

/* Threads of a built-in executor may spin for a moment after their last work. */
static void settle(const struct measure_input *in)
{
    const struct timespec moment = { .tv_nsec = 5000000 };

    if (in->threads > 1)
        nanosleep(&moment, NULL);
}

static bool time_other(const struct measure_input *in, size_t repeats, struct timing *out)
{
    if (in->peer == NULL)
        return time_runs(in, in->other, repeats, out);
    if (peer_run(in->peer, out))
        return true;
    peer_failure(in->peer);
    return false;
}

/* Is the bandwidth what counts, so that it is measured in every pair? */
static bool moves(const struct workload *load)
{
    return (workload_operation(load) != OPERATION_ATTN && !workload_is_program(load)) ||
           load->kind == WORKLOAD_DECODE;
}

/* Is the peak of multiply-adds printed? */
static bool computes(const struct measure_input *in)
{
    return in->cost.flops > 0;
}

/* What the machine can do, right before the kernel. */
static void measure_limits(const struct measure_input *in, size_t pair, struct samples *s)
{
    if (moves(in->load) || pair % BANDWIDTH_EVERY == 0)
        s->bandwidth[s->n_bandwidth] = mix_bandwidth(in->mix);
    s->peak[pair] = computes(in) ? ceiling_flops(in->ceiling) : NAN;
    s->products[pair] = products_seconds(in->products);
}

static bool measure_pair(const struct measure_input *in, const size_t repeats[2], size_t pair,
                         struct samples *s)
{
    const bool compared = in->other != NULL || in->peer != NULL;
    const struct workload_cost cost = in->cost;
    struct timing ours = { 0 }, other = { 0 };

    settle(in);
    measure_limits(in, pair, s);
    if (compared && pair % 2 != 0 && !time_other(in, repeats[1], &other))
        return false;
    if (!time_runs(in, in->ours, repeats[0], &ours))
        return false;
    if (compared && pair % 2 == 0 && !time_other(in, repeats[1], &other))
        return false;
    s->cpu[pair] = ours.cpu;
    s->wall[pair] = ours.wall;
    s->chosen[pair] = in->cpu_time ? ours.cpu : ours.wall;
    s->other[pair] = in->cpu_time ? other.cpu : other.wall;
    s->share[pair] = cost.flops / s->chosen[pair] / s->peak[pair];
    s->ratio[pair] = s->other[pair] / s->chosen[pair];
    s->products[pair] = s->chosen[pair] / s->products[pair];
    if (moves(in->load) || pair % BANDWIDTH_EVERY == 0) {
        s->bytes_share[s->n_bandwidth] = (cost.read + cost.written) / s->chosen[pair]
                                       / s->bandwidth[s->n_bandwidth];
        s->n_bandwidth++;
    }
    return true;
}

static void summarize(const struct measure_input *in, struct samples *s,
                      struct measure_result *out)
{
    const struct workload_cost cost = in->cost;

    *out = (struct measure_result){
        .peak = timing_spread(s->peak, in->pairs).median,
        .share = timing_spread(s->share, in->pairs).median,
        .products = timing_spread(s->products, in->pairs).median,
        .peak_bytes = timing_spread(s->bandwidth, s->n_bandwidth).median,
        .bytes_share = timing_spread(s->bytes_share, s->n_bandwidth).median,
        .seconds = timing_spread(s->chosen, in->pairs),
        .cpu = timing_spread(s->cpu, in->pairs).median,
        .wall = timing_spread(s->wall, in->pairs).median,
        .compared = in->other != NULL || in->peer != NULL,
        .ratio = timing_spread(s->ratio, in->pairs),
        .other_seconds = timing_spread(s->other, in->pairs).median,
    };
    out->useful = cost.flops > 0 ? cost.flops / out->seconds.median : NAN;
    out->floor = fmax(out->share, out->bytes_share); /* fmax leaves out NaN */
    out->read = cost.read / out->seconds.median;
    out->written = cost.written / out->seconds.median;
}

bool measure(const struct measure_input *in, struct measure_result *out)
{
    size_t repeats[2] = { 1, 1 };
    struct samples s;
    bool good = make_samples(&s, in->pairs);

    if (!good)
        fprintf(stderr, "heed-bench: not enough memory for the samples\n");
    if (good && computes(in)) {
        text_progress("what can be done at most", 0);
        ceiling_ready(in->ceiling);
    }
    good = good && calibrate(in, in->ours, &repeats[0]);
    if (in->other != NULL)
        good = good && calibrate(in, in->other, &repeats[1]);
    for (size_t pair = 0; good && pair < in->pairs; pair++) {
        text_progress(in->load->text, (double)pair / (double)in->pairs);
        good = measure_pair(in, repeats, pair, &s);
    }
    text_progress_clear();
    if (good)
        summarize(in, &s, out);
    free(s.memory);
    return good;
}
