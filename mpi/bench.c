/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What ranks cost: bytes, messages and time of each, beside what heed_mpi_model says of them and
 * beside independent processes.
 *
 *     mpirun -n RANKS heed-bench-ranks [PATTERN [ROWS [HEADS [D [PAIRS]]]]]
 *
 * Every rank has ROWS rows of a document and their keys, or of causal-by-work other rows, so many
 * that all ranks have the same to do. In turn it computes ROWS rows over its own keys alone, as a
 * process of its own would, and its rows together with the others over all keys; both begin at a
 * barrier. Ratios are of pairs, as a machine is not the same from minute to minute, of wall time
 * and of the process's own (cpu). What is modelled is the time of the rows alone times the share of
 * operations, and bytes over what one exchange with a neighbour moves in a second: nothing of it
 * beside the other, since a run moves first and computes then. PATTERN: window, mixed, causal,
 * causal-by-work, full.
 *
 * Exit status: 0; 2 something is wrong, as plans that say other bytes than heed_mpi_model.
 */
#include <heed/mpi.h>

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIRS_MOST = 101, PROBE_BYTES = 8 << 20, PROBES = 5 };

static const heed_term window = { .kind = HEED_TERM_WINDOW, .left = 256, .right = 256 };
static const heed_term mixed[] = {
    { .kind = HEED_TERM_WINDOW, .left = 256, .right = 256 },
    { .kind = HEED_TERM_GLOBAL, .block = 64 },
    { .kind = HEED_TERM_ALL, .step = 509 },
};
static const struct pattern {
    const char *name;
    const heed_term *terms;
    uint32_t n_terms, flags;
    bool by_work;                       /* rows are cut so that ranks have the same to do */
} patterns[] = {
    { "window", &window, 1, 0, false },
    { "mixed", mixed, 3, 0, false },
    { "causal", NULL, 0, HEED_SOURCE_CAUSAL, false },
    { "causal-by-work", NULL, 0, HEED_SOURCE_CAUSAL, true },
    { "full", NULL, 0, 0, false },
};

static int rank, ranks;

/* What is measured, and of it the rank's part. */
struct bench {
    const struct pattern *pattern;
    int64_t rows, heads, d, pairs;
    heed_device *device;
    heed_queue *queue;
    heed_plan *alone;
    heed_mpi_plan *together;
    float *q, *k, *v, *o;
    double work;                        /* operations of a rank, of those of its rows alone */
    double network;                     /* bytes in a second */
};

static void fail(const char *what, const heed_report *report)
{
    fprintf(stderr, "heed-bench-ranks: %s%s%s\n", what, report ? ": " : "",
            report ? report->message : "");
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static void check(heed_status status, const heed_report *report)
{
    if (status < 0)
        fail(report->field, report);
}

/* ---- what is computed ---- */

/* The first row of rank `of`: of causal rows the first n see n * n / 2 keys. */
static int64_t row_of(const struct bench *b, int of)
{
    const int64_t rows = b->rows * ranks;

    return b->pattern->by_work ? (int64_t)((double)rows * sqrt((double)of / ranks))
                               : of * b->rows;
}

static float *memory(const struct bench *b, uint64_t seed)
{
    const int64_t mine = row_of(b, rank + 1) - row_of(b, rank);
    const int64_t n = b->heads * (mine > b->rows ? mine : b->rows) * b->d;
    float *to = malloc((size_t)n * sizeof *to);
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)rank;

    if (!to)
        fail("no memory", NULL);
    for (int64_t i = 0; i < n; i++) {
        x = (x ^ x >> 31) * UINT64_C(0x7fb5d329728ea185) + 1;
        to[i] = (float)(int)(x >> 40 & 4095) / 1024 - 2;
    }
    return to;
}

static void describe(const struct bench *b, int64_t rows, heed_attn_desc *desc,
                     heed_source *source)
{
    const heed_tensor t = heed_array4(HEED_F32, NULL, 1, b->heads, rows, b->d).t;

    *source = (heed_source){ .k = t,
                             .v = t,
                             .terms = b->pattern->terms,
                             .n_terms = b->pattern->n_terms,
                             .term_size = sizeof(heed_term),
                             .flags = b->pattern->flags };
    *desc = (heed_attn_desc){ .size = sizeof *desc,
                              .flags = HEED_PLAN_OWN_WORKSPACE,
                              .q = t,
                              .o = t,
                              .sources = source,
                              .n_sources = 1,
                              .source_size = sizeof *source };
}

static double operations(const struct bench *b, int64_t rows)
{
    heed_plan_props props = { .size = sizeof props };
    heed_report report = { .size = sizeof report };
    heed_attn_desc desc;
    heed_source source;
    heed_plan *plan = NULL;

    describe(b, rows, &desc, &source);
    desc.flags = 0;
    check(heed_attn_plan_info(b->device, &desc, &plan, &props, &report), &report);
    heed_plan_drop(plan);
    return (double)props.flops;
}

static void parts_of(const struct bench *b, int of, heed_mpi_keys *keys, heed_mpi_parts *parts)
{
    *keys = (heed_mpi_keys){ .first = of * b->rows, .count = b->rows };
    *parts = (heed_mpi_parts){ .size = sizeof *parts,
                               .first_row = row_of(b, of),
                               .n_rows = row_of(b, of + 1) - row_of(b, of),
                               .keys = keys,
                               .n_keys = 1,
                               .keys_size = sizeof *keys };
}

static void plans_make(struct bench *b)
{
    heed_report report = { .size = sizeof report };
    heed_attn_desc desc;
    heed_source source;
    heed_mpi_keys keys;
    heed_mpi_parts parts;

    describe(b, b->rows, &desc, &source);
    check(heed_attn_plan(b->device, &desc, &b->alone, &report), &report);
    describe(b, b->rows * ranks, &desc, &source);
    desc.flags = 0;
    parts_of(b, rank, &keys, &parts);
    check(heed_mpi_attn_plan(MPI_COMM_WORLD, b->device, &desc, &parts, &b->together, &report),
          &report);
    b->work = operations(b, b->rows * ranks) / ranks / operations(b, b->rows);
}

/* Seconds until this rank is done, and of its process alone. */
struct seconds {
    double wall, cpu;
};

static struct seconds run(const struct bench *b, bool together)
{
    const heed_kv_bufs kv = { { b->k, 0 }, { b->v, 0 } };
    const heed_attn_args args = { .size = sizeof args,
                                  .kv_size = sizeof kv,
                                  .q.handle = b->q,
                                  .o.handle = b->o,
                                  .kv = &kv };
    heed_report report = { .size = sizeof report };
    struct seconds begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = (struct seconds){ MPI_Wtime(), (double)clock() / CLOCKS_PER_SEC };
    check(together ? heed_mpi_attn_run(b->together, b->queue, &args, &report)
                   : heed_attn_run(b->alone, b->queue, &args, NULL, &report),
          &report);
    if (!together)
        check(heed_queue_wait(b->queue, &report), &report);
    return (struct seconds){ MPI_Wtime() - begin.wall,
                             (double)clock() / CLOCKS_PER_SEC - begin.cpu };
}

/* What comes from a neighbour in a second while as much goes there; alone: nothing. */
static double network_find(void)
{
    const int other = rank ^ 1;
    char *to = calloc(2, PROBE_BYTES);
    double least = 0;

    if (!to)
        fail("no memory", NULL);
    for (int i = 0; i < PROBES; i++) {
        double begin, seconds;

        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        if (other < ranks)
            MPI_Sendrecv(to, PROBE_BYTES, MPI_BYTE, other, 0, to + PROBE_BYTES, PROBE_BYTES,
                         MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        seconds = MPI_Wtime() - begin;
        least = i == 0 || seconds < least ? seconds : least;
    }
    free(to);
    MPI_Bcast(&least, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return ranks > 1 ? PROBE_BYTES / least : 0;
}

/* ---- what is said ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, compare);
    return x[n / 2];
}

/* Of one rank. */
struct row {
    double alone, together, ratio, cpu, modelled;
    heed_mpi_props props;
};

/* Do plans and the model say the same? */
static bool models_agree(const struct bench *b, const struct row *row)
{
    heed_mpi_parts *parts = calloc((size_t)ranks, sizeof *parts);
    heed_mpi_keys *keys = calloc((size_t)ranks, sizeof *keys);
    heed_mpi_props *props = calloc((size_t)ranks, sizeof *props);
    heed_report report = { .size = sizeof report };
    heed_attn_desc desc;
    heed_source source;
    bool same = true;

    if (!parts || !keys || !props)
        fail("no memory", NULL);
    describe(b, b->rows * ranks, &desc, &source);
    desc.flags = 0;
    for (int i = 0; i < ranks; i++)
        parts_of(b, i, &keys[i], &parts[i]);
    props[0].size = sizeof *props;
    check(heed_mpi_model(b->device, &desc, parts, ranks, props, &report), &report);
    for (int i = 0; i < ranks; i++)
        same = same && props[i].bytes_in == row[i].props.bytes_in &&
               props[i].bytes_out == row[i].props.bytes_out &&
               props[i].messages_in == row[i].props.messages_in;
    free(parts);
    free(keys);
    free(props);
    return same;
}

static void say(const struct bench *b, const struct row *row, double weak, double low, double high)
{
    const bool agree = models_agree(b, row);

    printf("%s: %" PRId64 " rows of each of %d ranks, %" PRId64 " heads of %" PRId64
           " channels, f32, %" PRId64 " pairs\n",
           b->pattern->name, b->rows, ranks, b->heads, b->d, b->pairs);
    if (ranks > 1)
        printf("a neighbour's bytes: %.2f GB/s\n", b->network / 1e9);
    printf("rank  keys seen  MiB in  MiB out  messages  alone s   ranks s   ratio     cpu  "
           "modelled s  moving %%\n");
    for (int i = 0; i < ranks; i++) {
        const double moving =
            b->network > 0 ? (double)row[i].props.bytes_in / b->network : 0;

        printf("%4d  %9" PRIu64 "  %6.2f  %7.2f  %8" PRIu64, i, row[i].props.keys_seen,
               (double)row[i].props.bytes_in / 0x1p20, (double)row[i].props.bytes_out / 0x1p20,
               row[i].props.messages_in);
        printf("  %8.5f  %8.5f  %6.3f  %6.3f  %10.5f  %8.1f\n", row[i].alone, row[i].together,
               row[i].ratio, row[i].cpu, row[i].modelled, 100 * moving / row[i].modelled);
    }
    printf("the model's bytes and messages: %s\n", agree ? "the same" : "others");
    printf("of what so many processes reach alone: %.3f (%.3f to %.3f)\n", weak, low, high);
    fflush(stdout);
    if (!agree)
        fail("plans and the model differ", NULL);
}

static void measure(struct bench *b)
{
    double alone[PAIRS_MOST], together[PAIRS_MOST], ratio[PAIRS_MOST], cpu[PAIRS_MOST],
        weak[PAIRS_MOST];
    struct row mine = { .props.size = sizeof mine.props }, *all = NULL;

    run(b, false);
    run(b, true);
    for (int64_t i = 0; i < b->pairs; i++) {
        struct seconds turn[2];
        double both[2], most[2];

        turn[i % 2] = run(b, i % 2 != 0);
        turn[1 - i % 2] = run(b, i % 2 == 0);
        both[0] = turn[0].wall;
        both[1] = turn[1].wall;
        cpu[i] = turn[1].cpu / turn[0].cpu;
        MPI_Allreduce(both, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        alone[i] = both[0];
        together[i] = both[1];
        ratio[i] = both[1] / both[0];
        weak[i] = b->work * most[0] / most[1];
    }
    if (heed_mpi_plan_info(b->together, &mine.props) < 0)
        fail("no info", NULL);
    mine.alone = median(alone, b->pairs);
    mine.together = median(together, b->pairs);
    mine.ratio = median(ratio, b->pairs);
    mine.cpu = median(cpu, b->pairs);
    mine.modelled = mine.alone * b->work +
                    (b->network > 0 ? (double)mine.props.bytes_in / b->network : 0);
    if (rank == 0 && !(all = calloc((size_t)ranks, sizeof *all)))
        fail("no memory", NULL);
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        const double middle = median(weak, b->pairs);

        say(b, all, middle, weak[0], weak[b->pairs - 1]);
    }
    free(all);
}

static int64_t number(int argc, char **argv, int i, int64_t otherwise, int64_t most)
{
    const long long value = argc > i ? atoll(argv[i]) : otherwise;

    if (value < 1 || value > most)
        fail("PATTERN ROWS HEADS D PAIRS: a number is out of range", NULL);
    return value;
}

int main(int argc, char **argv)
{
    heed_report report = { .size = sizeof report };
    heed_runtime *runtime = NULL;
    struct bench b = { .pattern = NULL };

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (!strcmp(argc > 1 ? argv[1] : "window", patterns[i].name))
            b.pattern = &patterns[i];
    }
    if (!b.pattern)
        fail("PATTERN is window, mixed, causal, causal-by-work or full", NULL);
    b.rows = number(argc, argv, 2, 32768, 1 << 20) / HEED_CHUNK * HEED_CHUNK;
    b.heads = number(argc, argv, 3, 2, 64);
    b.d = number(argc, argv, 4, 64, 256);
    b.pairs = number(argc, argv, 5, 15, PAIRS_MOST);
    if (b.rows == 0)
        fail("ROWS is at least 1024, of which multiples are taken", NULL);
    check(heed_runtime_create(NULL, &runtime, &report), &report);
    check(heed_device_find(runtime, "cpu", &b.device, &report), &report);
    check(heed_queue_create(b.device, 0, &b.queue, &report), &report);
    b.q = memory(&b, 1);
    b.k = memory(&b, 2);
    b.v = memory(&b, 3);
    b.o = memory(&b, 4);
    plans_make(&b);
    b.network = network_find();
    measure(&b);
    heed_mpi_plan_destroy(b.together);
    heed_plan_drop(b.alone);
    free(b.q);
    free(b.k);
    free(b.v);
    free(b.o);
    heed_queue_destroy(b.queue);
    heed_runtime_destroy(runtime);
    MPI_Finalize();
    return 0;
}
