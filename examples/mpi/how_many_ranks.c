/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many machines does a document want? What heed_mpi_model() says of patterns, without MPI.
 *
 *     how_many_ranks [LOG2_ROWS [GB/S [TFLOP/S]]]     2^26 rows, 25 GB/s, 20 TFLOP/s a rank
 *
 * For each pattern and number of ranks: bytes that come to the rank that gets most, seconds to move
 * these at the given rate, seconds that the rank computes which has most to do, and the share of
 * the time that is moving if the two follow one another, which is what moving meanwhile could hide
 * at most. 32 query heads, 8 key heads, 128 channels, bf16; the rates are assumed, the bytes are
 * those of plans. Under causality the first rows see few keys: cut at equal numbers, the last rank
 * has twice the work of the mean; cut where n times the root of r / ranks is, all have the same.
 */
#include <heed/mpi.h>

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 32, KEY_HEADS = 8, D = 128, MOST = 4096 };

struct pattern {
    const char *name;
    heed_term terms[3];
    uint32_t n_terms, flags;
    bool by_work;       /* rows are cut so, keys at equal numbers */
};

static const struct pattern patterns[] = {
    { "window 4096", { { .kind = HEED_TERM_WINDOW, .left = 4096, .right = 4096 } }, 1, 0, false },
    { "window, 64 globals, every 509th",
      { { .kind = HEED_TERM_WINDOW, .left = 4096, .right = 4096 },
        { .kind = HEED_TERM_GLOBAL, .block = 64, .flags = HEED_TERM_KEYS },
        { .kind = HEED_TERM_ALL, .step = 509 } },
      3, 0, false },
    { "causal", { { 0 } }, 0, HEED_SOURCE_CAUSAL, false },
    { "causal, rows by work", { { 0 } }, 0, HEED_SOURCE_CAUSAL, true },
    { "full", { { 0 } }, 0, 0, false },
};

/* Keys that row `row` sees, about. */
static double keys_of(const struct pattern *p, double row, double rows)
{
    double keys = p->n_terms == 0 ? (p->flags ? row : rows) : 0;

    for (uint32_t i = 0; i < p->n_terms; i++)
        keys += p->terms[i].kind == HEED_TERM_WINDOW ? (double)(p->terms[i].left * 2 + 1)
                : p->terms[i].kind == HEED_TERM_ALL  ? rows / (double)p->terms[i].step
                                                     : p->terms[i].block;
    return keys < rows ? keys : rows;
}

/* The first row of a rank. */
static int64_t row_of(const struct pattern *p, int64_t rows, int32_t rank, int32_t ranks)
{
    return p->by_work ? (int64_t)((double)rows * sqrt((double)rank / ranks))
                      : rows / ranks * rank;
}

static heed_mpi_keys keys[MOST];
static heed_mpi_parts parts[MOST];
static heed_mpi_props props[MOST];

static int print(heed_device *device, const struct pattern *p, int64_t rows, int32_t ranks,
                 double bandwidth, double flops)
{
    const heed_source source = {
        .k = heed_array4(HEED_BF16, NULL, 1, KEY_HEADS, rows, D).t,
        .v = heed_array4(HEED_BF16, NULL, 1, KEY_HEADS, rows, D).t,
        .terms = p->terms,
        .n_terms = p->n_terms,
        .term_size = sizeof *p->terms,
        .flags = p->flags,
    };
    const heed_attn_desc desc = {
        .size = sizeof desc,
        .q = heed_array4(HEED_BF16, NULL, 1, HEADS, rows, D).t,
        .o = heed_array4(HEED_BF16, NULL, 1, HEADS, rows, D).t,
        .sources = &source,
        .n_sources = 1,
        .source_size = sizeof source,
    };
    heed_report report = { .size = sizeof report };
    int32_t most = 0;
    double work = 0, moving, computing;

    for (int32_t r = 0; r < ranks; r++) {
        const int64_t first = row_of(p, rows, r, ranks), n = row_of(p, rows, r + 1, ranks) - first;
        const double mine = keys_of(p, (double)first + (double)n / 2, (double)rows) * (double)n;

        work = mine > work ? mine : work;
        keys[r] = (heed_mpi_keys){ .first = rows / ranks * r, .count = rows / ranks };
        parts[r] = (heed_mpi_parts){ .size = sizeof parts[r],
                                     .first_row = first,
                                     .n_rows = n,
                                     .keys = &keys[r],
                                     .n_keys = 1,
                                     .keys_size = sizeof keys[r] };
    }
    props[0].size = sizeof props[0];
    if (heed_mpi_model(device, &desc, parts, ranks, props, &report) < 0) {
        fprintf(stderr, "how_many_ranks: %s: %s\n", report.field, report.message);
        return 1;
    }
    for (int32_t r = 1; r < ranks; r++)
        most = props[r].bytes_in > props[most].bytes_in ? r : most;
    moving = (double)props[most].bytes_in / (bandwidth * 1e9);
    computing = work * HEADS * D * 4 / (flops * 1e12);
    printf("%-32s %5" PRId32 " %12.1f %9" PRIu64 " %10.3f %12.3f %7.1f %%\n", p->name, ranks,
           (double)props[most].bytes_in / 0x1p20, props[most].messages_in, moving, computing,
           100 * moving / (moving + computing));
    return 0;
}

int main(int argc, char **argv)
{
    const int log2 = argc > 1 ? atoi(argv[1]) : 26;
    const double bandwidth = argc > 2 ? atof(argv[2]) : 25, flops = argc > 3 ? atof(argv[3]) : 20;
    heed_report report = { .size = sizeof report };
    heed_runtime *runtime = NULL;
    heed_device *device = NULL;
    int failed = 0;

    if (log2 < 22 || log2 > 34 || !(bandwidth > 0) || !(flops > 0)) {
        fprintf(stderr, "usage: how_many_ranks [LOG2_ROWS 22..34 [GB/S [TFLOP/S]]]\n");
        return 2;
    }
    if (heed_runtime_create(NULL, &runtime, &report) < 0 ||
        heed_device_find(runtime, "cpu", &device, &report) < 0) {
        fprintf(stderr, "how_many_ranks: %s\n", report.message);
        return 1;
    }
    printf("2^%d rows, %g GB/s to a rank, %g TFLOP/s a rank\n\n%-32s %5s %12s %9s %10s %12s %9s\n",
           log2, bandwidth, flops, "pattern", "ranks", "MiB to one", "messages", "moving s",
           "computing s", "moving");
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && !failed; i++) {
        for (int32_t ranks = 8; ranks <= MOST && !failed; ranks *= 8)
            failed = print(device, &patterns[i], (int64_t)1 << log2, ranks, bandwidth, flops);
    }
    heed_runtime_destroy(runtime);
    return failed;
}
