/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A document that ranks hold between them: every rank has a stretch of rows and of keys.
 *
 *     mpirun -n RANKS long_document [ROWS [DEVICE]]    65,536 rows, at most 2^20; cpu
 *
 * Rows see a window of 256 keys on each side, 64 global keys, and every 509th key. The plan finds
 * out which keys of other ranks that are; run moves them. What is printed at the end, a digest of
 * all rows in order, is the same for any number of ranks.
 */
#include <heed/mpi.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 2, D = 64, WINDOW = 256, GLOBALS = 64, STRIDE = 509 };

static int rank, ranks;

static void fail(const char *what, const heed_report *report)
{
    fprintf(stderr, "long_document: %s%s%s\n", what, report ? ": " : "",
            report ? report->message : "");
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* ---- the document ---- */

/* A number that depends on where it stands in the whole document and on nothing else. */
static float number_at(int64_t head, int64_t row, int64_t channel, uint64_t of)
{
    uint64_t x = (((uint64_t)row * HEADS + (uint64_t)head) * D + (uint64_t)channel) * 3 + of;

    x = (x ^ x >> 31) * UINT64_C(0x7fb5d329728ea185);
    x = (x ^ x >> 27) * UINT64_C(0x81dadef4bc2dd44d);
    return (float)(int)(x >> 40 & 4095) / 1024 - 2;
}

/* Rows [first, first + n) of each head. */
static float *rows_make(int64_t first, int64_t n, uint64_t of)
{
    float *to = malloc((size_t)(HEADS * n * D) * sizeof *to + 1);

    if (!to)
        fail("no memory", NULL);
    for (int64_t i = 0; i < HEADS * n * D; i++)
        to[i] = number_at(i / (n * D), first + i / D % n, i % D, of);
    return to;
}

/* The digest goes on from rank to rank, row after row. */
static uint64_t digest_rows(const float *o, int64_t n)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);

    if (rank > 0)
        MPI_Recv(&digest, 1, MPI_UINT64_T, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int64_t row = 0; row < n; row++) {
        for (int64_t head = 0; head < HEADS; head++) {
            const unsigned char *at = (const unsigned char *)(o + (head * n + row) * D);

            for (size_t i = 0; i < D * sizeof *o; i++)
                digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);
        }
    }
    if (rank + 1 < ranks)
        MPI_Send(&digest, 1, MPI_UINT64_T, rank + 1, 0, MPI_COMM_WORLD);
    MPI_Bcast(&digest, 1, MPI_UINT64_T, ranks - 1, MPI_COMM_WORLD);
    return digest;
}

/* ---- the attention ---- */

/* A plan of all rows, of which this rank has [first, first + n). */
static heed_mpi_plan *plan_make(heed_device *device, int64_t rows, int64_t first, int64_t n)
{
    const heed_term see[] = {
        { .kind = HEED_TERM_WINDOW, .left = WINDOW, .right = WINDOW },
        { .kind = HEED_TERM_GLOBAL, .block = GLOBALS },
        { .kind = HEED_TERM_ALL, .step = STRIDE },
    };
    const heed_tensor whole = heed_array4(HEED_F32, NULL, 1, HEADS, rows, D).t;
    const heed_source source = { .k = whole, .v = whole, .terms = HEED_ARRAY(see) };
    const heed_attn_desc desc = {
        .size = sizeof desc,
        .q = whole,
        .o = whole,
        .sources = &source,
        .n_sources = 1,
        .source_size = sizeof source,
    };
    const heed_mpi_keys keys = { .first = first, .count = n };
    const heed_mpi_parts parts = { .size = sizeof parts,
                                   .first_row = first,
                                   .n_rows = n,
                                   .keys = &keys,
                                   .n_keys = 1,
                                   .keys_size = sizeof keys };
    heed_report report = { .size = sizeof report };
    heed_mpi_plan *plan = NULL;

    if (heed_mpi_attn_plan(MPI_COMM_WORLD, device, &desc, &parts, &plan, &report) < 0)
        fail(report.field, &report);
    return plan;
}

/* Seconds of a run. */
static double run(heed_mpi_plan *plan, heed_queue *queue, float *q, float *k, float *v, float *o)
{
    const heed_kv_bufs kv = { { k, 0 }, { v, 0 } };
    const heed_attn_args args = {
        .size = sizeof args, .kv_size = sizeof kv, .q.handle = q, .o.handle = o, .kv = &kv
    };
    heed_report report = { .size = sizeof report };
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    if (heed_mpi_attn_run(plan, queue, &args, &report) < 0)
        fail(report.field, &report);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

static void say(const heed_mpi_plan *plan, int64_t rows, double seconds, uint64_t digest)
{
    heed_mpi_props props = { .size = sizeof props };
    uint64_t mine[3], most[3], moved = 0;

    if (heed_mpi_plan_info(plan, &props) < 0)
        fail("no info", NULL);
    mine[0] = props.bytes_in;
    mine[1] = props.keys_seen;
    mine[2] = props.host_bytes;
    MPI_Reduce(mine, most, 3, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(mine, &moved, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank > 0)
        return;
    printf("%" PRId64 " rows, %d heads of %d channels, %d ranks\n", rows, HEADS, D, ranks);
    printf("moved: %.1f MiB, to one rank %.1f MiB at most\n", (double)moved / 0x1p20,
           (double)most[0] / 0x1p20);
    printf("a rank sees %" PRIu64 " keys at most, and its plan holds %.1f MiB\n", most[1],
           (double)most[2] / 0x1p20);
    printf("time: %.4f s, the least of three runs\n", seconds);
    printf("digest: %016" PRIx64 "\n", digest);
}

int main(int argc, char **argv)
{
    const int64_t rows = argc > 1 ? atoll(argv[1]) : 65536;
    heed_report report = { .size = sizeof report };
    heed_runtime *runtime = NULL;
    heed_device *device = NULL;
    heed_queue *queue = NULL;
    heed_mpi_plan *plan;
    int64_t chunks, first, n;
    double seconds;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rows < 1 || rows > 1 << 20)
        fail("from 1 to 2^20 rows are wanted", NULL);
    if (heed_runtime_create(NULL, &runtime, &report) < 0 ||
        heed_device_find(runtime, argc > 2 ? argv[2] : "cpu", &device, &report) < 0 ||
        heed_queue_create(device, 0, &queue, &report) < 0)
        fail("no device", &report);
    /* Keys are cut at chunks; rows could be cut anywhere. */
    chunks = (rows + HEED_CHUNK - 1) / HEED_CHUNK;
    first = chunks * rank / ranks * HEED_CHUNK;
    n = chunks * (rank + 1) / ranks * HEED_CHUNK;
    n = (n < rows ? n : rows) - (first < rows ? first : rows);

    float *q = rows_make(first, n, 0), *k = rows_make(first, n, 1), *v = rows_make(first, n, 2);
    float *o = rows_make(first, n, 0);

    plan = plan_make(device, rows, first, n);
    seconds = run(plan, queue, q, k, v, o);
    for (int i = 0; i < 2; i++) {
        const double again = run(plan, queue, q, k, v, o);

        seconds = again < seconds ? again : seconds;
    }
    say(plan, rows, seconds, digest_rows(o, n));
    heed_mpi_plan_destroy(plan);
    free(q);
    free(k);
    free(v);
    free(o);
    heed_queue_destroy(queue);
    heed_runtime_destroy(runtime);
    MPI_Finalize();
    return 0;
}
