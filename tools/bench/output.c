/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A row leaves as soon as it is measured, so the widths come from the options, not from the
 * results.
 */
#define _POSIX_C_SOURCE 200809L
#include "bench/output.h"

#include "common/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static int rows = -1; /* standard output, where a kernel prints elsewhere; -1: it does not */

/* What a kernel has printed leaves first. */
static void elsewhere(int to)
{
    if (fflush(stdout) != 0)
        clearerr(stdout);
    dup2(to, STDOUT_FILENO);
}

void output_share(void)
{
    rows = dup(STDOUT_FILENO);
    if (rows >= 0)
        elsewhere(STDERR_FILENO);
}

static void begin(void)
{
    if (rows >= 0)
        elsewhere(rows);
}

static bool end(void)
{
    const bool good = text_flush();

    if (rows >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return good;
}

static int load_width(const struct options *options)
{
    size_t width = strlen("workload");

    for (size_t i = 0; i < options->n_loads; i++) {
        const size_t length = strlen(options->loads[i].text);

        if (length > width)
            width = length;
    }
    return (int)width;
}

static bool is_compared(const struct options *options)
{
    return options->vs != NULL || options->peer != NULL || options->plugin != NULL;
}

static const char *opponent(const struct options *options, const struct measure_input *in)
{
    if (options->plugin != NULL)
        return in->other->device_props.name;
    return options->vs != NULL ? options->vs : "peer";
}

/* The columns behind the workload; the first has what a row says, the second its unit. */
#define NAMES "  %-12s %-7s %-8s %7s %9s %9s %6s %8s %8s %6s %6s %8s %12s  %10s %10s %10s %10s"

bool output_head(const struct options *options, const char *device)
{
    const int width = load_width(options);

    if (options->json)
        return true;
    begin();
    printf("%-*s" NAMES, width, "workload", "device", "isa", "numerics", "threads", "useful",
           "peak", "share", "moved", "peak", "share", "floor", "products", "extra", "median", "min",
           "max", "wall");
    if (is_compared(options))
        printf("  %-24s", "ratio (min..max)");
    printf("\n%-*s" NAMES, width, "", "", "", "", "", "GFLOP/s", "GFLOP/s", "%", "GB/s", "GB/s",
           "%", "%", "x", "bytes", "s", "s", "s", "s");
    if (is_compared(options))
        printf("  %s / %s", options->plugin != NULL ? device : opponent(options, NULL),
               options->plugin != NULL ? "plug-in" : device);
    putchar('\n');
    return end();
}
#undef NAMES

/* What is not a number is a dash. */
static void cell(int width, int decimals, double value)
{
    if (isnan(value))
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, decimals, value);
}

/* A driver has threads of its own, which nobody counts. */
static double threads_of(const struct measure_input *in)
{
    return contender_is_host(in->ours) ? (double)in->threads : NAN;
}

static void table_row(const struct options *options, const struct measure_input *in,
                      const struct measure_result *r)
{
    printf("%-*s  %-12s %-7s %-8s", load_width(options), in->load->text,
           in->ours->device_props.name, contender_isa(in->ours),
           text_numerics(in->ours->plan_props.numerics));
    cell(7, 0, threads_of(in));
    cell(9, 2, r->useful * 1e-9);
    cell(9, 2, r->peak * 1e-9);
    cell(6, 1, r->share * 100);
    cell(8, 2, (r->read + r->written) * 1e-9);
    cell(8, 2, r->peak_bytes * 1e-9);
    cell(6, 1, r->bytes_share * 100);
    cell(6, 1, r->floor * 100);
    cell(8, 2, r->products);
    printf(" %12" PRIu64 "  %10.4g %10.4g %10.4g %10.4g", in->ours->plan_props.workspace_size,
           r->seconds.median, r->seconds.min, r->seconds.max, r->wall);
    if (r->compared)
        printf("  %.3f (%.3f..%.3f)", r->ratio.median, r->ratio.min, r->ratio.max);
    putchar('\n');
}

static void member(const char *name, double value)
{
    printf(",\"%s\":", name);
    text_json_number(stdout, value);
}

static void text_member(const char *name, const char *value)
{
    printf(",\"%s\":", name);
    text_json_string(stdout, value);
}

static void json_row(const struct options *options, const struct measure_input *in,
                     const struct measure_result *r)
{
    const struct workload *load = in->load;
    const char *key;
    int64_t value;

    printf("{\"workload\":\"%s\"", workload_name(load));
    text_member("case", load->text);
    for (size_t i = 0; (key = workload_number(load, i, &value)) != NULL; i++)
        printf(",\"%s\":%" PRId64, key, value);
    text_member("dtype", workload_dtype(load));
    text_member("device", in->ours->device_props.name);
    text_member("isa", contender_isa(in->ours));
    text_member("implementation", in->ours->plan_props.implementation);
    text_member("numerics", text_numerics(in->ours->plan_props.numerics));
    member("threads", threads_of(in));
    printf(",\"pairs\":%zu,\"clock\":\"%s\"", in->pairs, in->cpu_time ? "cpu" : "wall");
    member("useful_gflops", r->useful * 1e-9);
    member("peak_gflops", r->peak * 1e-9);
    text_member("peak_of", contender_is_host(in->ours) ? contender_isa(in->ours)
                                                       : in->ours->device_props.name);
    member("share", r->share);
    member("read_gbytes", r->read * 1e-9);
    member("written_gbytes", r->written * 1e-9);
    member("peak_gbytes", r->peak_bytes * 1e-9);
    member("bandwidth_share", r->bytes_share);
    member("floor_share", r->floor);
    printf(",\"neighbours\":%" PRId64, options->neighbours);
    member("score_ratio", r->products);
    printf(",\"extra_bytes\":%" PRIu64 ",\"plan_bytes\":%" PRIu64,
           in->ours->plan_props.workspace_size,
           in->ours->plan_props.host_bytes + in->ours->plan_props.device_bytes);
    member("median_s", r->seconds.median);
    member("min_s", r->seconds.min);
    member("max_s", r->seconds.max);
    member("median_cpu_s", r->cpu);
    member("median_wall_s", r->wall);
    if (r->compared) {
        text_member("vs", opponent(options, in));
        member("vs_median_s", r->other_seconds);
        member("ratio", r->ratio.median);
        member("ratio_min", r->ratio.min);
        member("ratio_max", r->ratio.max);
    }
    puts("}");
}

bool output_refused(const struct options *options, const struct workload *load,
                    const heed_report *report)
{
    const char *const field = report->field[0] != '\0' ? report->field : "-";

    begin();
    if (options->json) {
        printf("{\"workload\":\"%s\"", workload_name(load));
        text_member("case", load->text);
        text_member("refused", field);
        text_member("reason", report->message);
        puts("}");
    } else {
        printf("%-*s  refused: %s: %s\n", load_width(options), load->text, field,
               report->message);
    }
    return end();
}

bool output_row(const struct options *options, const struct measure_input *in,
                const struct measure_result *r)
{
    begin();
    if (options->json)
        json_row(options, in, r);
    else
        table_row(options, in, r);
    return end();
}

bool output_foot(const char *kernel, bool cpu_time)
{
    begin();
    if (kernel != NULL)
        printf("plug-in: %s\n", kernel);
    printf("share and rates by %s time; wall: median wall time\n", cpu_time ? "CPU" : "wall");
    return end();
}
