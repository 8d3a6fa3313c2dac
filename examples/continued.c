/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention over more keys than memory may hold, and a prompt cache that goes on another day.
 *
 *     continued [DEVICE [MIB]]    cpu, and 48 MiB of keys and values
 *
 * Keys and values lie in a file. The process limits its address space so that the file cannot be
 * mapped as a whole; it maps a window of 4,096 tokens after the other, and a state carries the
 * rows from window to window. Halfway the state is written to a file of its own, which another
 * process could read: the second half begins from what is read back. At the end the limit is
 * lifted, and one call over the whole file must have the same bits: exit status 0.
 */
#define _GNU_SOURCE
#include <heed/attn.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROWS = 4, D = 64, TOKEN = 2 * D * sizeof(float), WINDOW = 4096, ROOM = 16 << 20 };
enum { CHANNELS = HEED_STATE_SUMS + D };

static void fail(const char *what, const heed_report *report)
{
    fprintf(stderr, "continued: %s%s%s\n", what, report ? ": " : "", report ? report->message : "");
    exit(1);
}

/* Row after row a key and its value, so that a window of tokens is one piece of the file. */
static int file_make(int64_t tokens)
{
    char name[] = "/tmp/heed-continued-XXXXXX";
    const int file = mkstemp(name);
    uint64_t noise = 1;

    if (file < 0)
        fail("no temporary file", NULL);
    unlink(name);
    for (int64_t i = 0; i < tokens; i++) {
        float token[2 * D];

        for (int t = 0; t < 2 * D; t++) {
            noise = noise * UINT64_C(6364136223846793005) + 1442695040888963407u;
            token[t] = (float)(int)(noise >> 33 & 4095) / 1024 - 2;
        }
        if (write(file, token, sizeof token) != sizeof token)
            fail("the file cannot be written", NULL);
    }
    return file;
}

static void *map(int file, int64_t first, int64_t tokens)
{
    return mmap(NULL, (size_t)tokens * TOKEN, PROT_READ, MAP_PRIVATE, file, first * (int64_t)TOKEN);
}

/* What is mapped now, and ROOM more. */
static void limit_set(bool on)
{
    struct rlimit limit;
    long pages = 0;
    FILE *const statm = fopen("/proc/self/statm", "r");

    if (!statm || fscanf(statm, "%ld", &pages) != 1 || getrlimit(RLIMIT_AS, &limit) != 0)
        fail("no limit of memory can be set here", NULL);
    fclose(statm);
    limit.rlim_cur = on ? (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ROOM : limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
}

/* Rows that see all of a number of tokens. */
struct reader {
    heed_device *device;
    heed_queue *queue;
    float q[ROWS * D];
};

/* from, to: states, or NULL; o, where there is no `to`. */
static void attend(const struct reader *r, const void *kv_at, int64_t tokens, float *from,
                   float *to, float *o)
{
    heed_source source = { .k = heed_array4(HEED_F32, NULL, 1, 1, tokens, D).t };
    heed_kv_bufs kv = { { .handle = (void *)(uintptr_t)kv_at },
                        { .handle = (float *)(uintptr_t)kv_at + D } };
    const heed_tensor state = heed_array4(HEED_F32, NULL, 1, 1, ROWS, CHANNELS).t;
    heed_attn_desc desc = {
        .size = sizeof desc,
        .flags = HEED_PLAN_OWN_WORKSPACE,
        .q = heed_array4(HEED_F32, NULL, 1, 1, ROWS, D).t,
        .sources = &source, .n_sources = 1, .source_size = sizeof source,
    };
    heed_attn_args args = {
        .size = sizeof args, .kv_size = sizeof kv, .kv = &kv,
        .q.handle = (float *)(uintptr_t)r->q,
        .o.handle = o, .state_in.handle = from, .state_out.handle = to,
    };
    heed_report report = { .size = sizeof report };
    heed_plan *plan;

    source.k.stride[2] = 2 * D;
    source.v = source.k;
    if (from)
        desc.state_in = state;
    if (to)
        desc.state_out = state;
    else
        desc.o = desc.q;
    if (heed_attn_plan(r->device, &desc, &plan, &report) < 0 ||
        heed_attn_run(plan, r->queue, &args, NULL, &report) < 0)
        fail("attention", &report);
    heed_plan_drop(plan);
}

/* The tokens [first, end) through windows; state: begun and left. */
static void stream(const struct reader *r, int file, int64_t first, int64_t end, bool begun,
                   float *state)
{
    for (; first < end; first += WINDOW, begun = true) {
        const int64_t n = end - first < WINDOW ? end - first : WINDOW;
        void *const at = map(file, first, n);

        if (at == MAP_FAILED)
            fail("a window cannot be mapped", NULL);
        attend(r, at, n, begun ? state : NULL, state, NULL);
        munmap(at, (size_t)n * TOKEN);
    }
}

/* The state as a file: written, forgotten, read. */
static void sleep_over(float *state, size_t bytes)
{
    FILE *const file = tmpfile();

    if (!file || fwrite(state, 1, bytes, file) != bytes)
        fail("the state cannot be written", NULL);
    memset(state, 0xff, bytes);
    rewind(file);
    if (fread(state, 1, bytes, file) != bytes)
        fail("the state cannot be read", NULL);
    fclose(file);
}

int main(int argc, char **argv)
{
    static float state[ROWS * CHANNELS], streamed[ROWS * D], whole[ROWS * D];
    const int64_t mib = argc > 2 ? atoll(argv[2]) : 48;
    const int64_t tokens = (mib << 20) / (int64_t)TOKEN, half = tokens / 2 / 1024 * 1024;
    heed_report report = { .size = sizeof report };
    struct reader r = { .device = NULL };
    heed_runtime *runtime;
    int file;

    if (tokens < 2 * WINDOW || mib > 1 << 20)
        fail("from 8 MiB to 1 TiB of keys and values are wanted", NULL);
    if (heed_runtime_create(NULL, &runtime, &report) < 0 ||
        heed_device_find(runtime, argc > 1 ? argv[1] : "cpu", &r.device, &report) < 0 ||
        heed_queue_create(r.device, 0, &r.queue, &report) < 0)
        fail("no device", &report);
    for (int i = 0; i < ROWS * D; i++)
        r.q[i] = (float)(i * 37 % 101) / 50 - 1;
    file = file_make(tokens);
    attend(&r, r.q, 1, NULL, NULL, streamed);   /* threads begin before the limit does */
    limit_set(true);
    if (map(file, 0, tokens) != MAP_FAILED)
        fail("the file fits into the limit: ask for more MiB", NULL);
    stream(&r, file, 0, half, false, state);
    sleep_over(state, sizeof state);
    stream(&r, file, half, tokens, true, state);
    attend(&r, r.q, 0, state, NULL, streamed);  /* no more keys: the end of the rows */
    limit_set(false);
    attend(&r, map(file, 0, tokens), tokens, NULL, NULL, whole);
    printf("%" PRId64 " MiB of keys and values through windows of %d KiB, a state of %zu bytes on "
           "disk halfway: %s\n", mib, WINDOW * (int)TOKEN >> 10, sizeof state,
           memcmp(streamed, whole, sizeof whole) == 0 ? "the bits of one call" : "OTHER BITS");
    heed_queue_destroy(r.queue);
    heed_runtime_destroy(runtime);
    return memcmp(streamed, whole, sizeof whole) != 0;
}
