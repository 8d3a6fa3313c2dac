/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-bench: how fast heed is here, next to what the processor can do at most.
 */
#define _POSIX_C_SOURCE 200809L
#include "bench/measure.h"
#include "bench/options.h"
#include "bench/neighbour.h"
#include "bench/output.h"
#include "bench/plugin.h"

#include "common/cache.h"
#include "common/child.h"
#include "common/command.h"
#include "common/compiling.h"
#include "common/streams.h"
#include "common/terminal.h"
#include "common/text.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct bench {
    struct options options;
    struct library another;             /* --vs a file, or the plug-in */
    const struct library *ours;         /* where `device` is from */
    const struct library *others;       /* where `other` is from */
    heed_runtime *runtime, *other_runtime;
    heed_device *device, *other;        /* other NULL: none */
    heed_device_props props, other_props;   /* of `device` and `other` */
    struct peer *peer;
    heed_executor *team;                /* of OpenMP's threads; NULL: the built-in executor works */
    unsigned threads;                   /* that work, of the host */
    bool cpu_time;
};

/* name "": the default device; `option` named it. Returns an exit code. */
static int find(const struct library *lib, const heed_runtime *runtime, const char *option,
                const char *name, heed_device **out)
{
    heed_report report = { .size = sizeof report };
    const heed_status status = lib->device_find(runtime, name[0] != '\0' ? name : NULL, out,
                                                &report);

    if (status >= 0)
        return EXIT_DONE;
    if (lib == &library_own)
        return command_device("heed-bench", option, runtime, name, status, &report);
    text_failure("heed-bench", name[0] != '\0' ? name : "default device", status, &report);
    return status == HEED_E_NOT_FOUND || status == HEED_E_NOT_BUILT ? EXIT_USAGE : EXIT_FAILED;
}

/* The plug-in takes the place of the device, which it is compared with; its arrays are the host's.
 * A name without a folder would be looked for where libraries are. */
static int open_plugin(struct bench *bench)
{
    char path[4096];
    const char *why, *const file = bench->options.plugin;
    heed_device_props props = { .size = sizeof props };

    snprintf(path, sizeof path, "%s%s", strchr(file, '/') != NULL ? "" : "./", file);
    why = plugin_open(path, (unsigned)bench->options.threads, &bench->another);
    if (why != NULL) {
        fprintf(stderr, "heed-bench: --plugin %s: %s\n", file, why);
        return EXIT_USAGE;
    }
    bench->ours = &bench->another;
    bench->other = bench->device;
    if (heed_device_info(bench->device, &props) >= 0 && contender_kind_is_host(props.kind))
        return EXIT_DONE;
    return find(&library_own, bench->runtime, "--device", "cpu", &bench->device);
}

/* Whom --vs names: a device, or the same device of another build of the library, by its file. */
static int open_other(struct bench *bench, const heed_runtime_desc *desc)
{
    const char *vs = bench->options.vs, *why;
    heed_report report = { .size = sizeof report };
    heed_status status;

    bench->ours = bench->others = &library_own;
    if (bench->options.plugin != NULL)
        return open_plugin(bench);
    if (vs == NULL)
        return EXIT_DONE;
    if (strchr(vs, '/') == NULL)
        return find(&library_own, bench->runtime, "--vs", vs, &bench->other);
    why = library_open(vs, &bench->another);
    if (why != NULL) {
        fprintf(stderr, "heed-bench: --vs %s: %s\n", vs, why);
        return EXIT_USAGE;
    }
    bench->others = &bench->another;
    status = bench->another.runtime_create(desc, &bench->other_runtime, &report);
    if (status < 0) {
        text_failure("heed-bench", "cannot create a runtime of the other library", status, &report);
        return EXIT_FAILED;
    }
    return find(&bench->another, bench->other_runtime, "--device", bench->options.device,
                &bench->other);
}

/* Threads that will work: a device may have fewer workers than were asked for. */
static unsigned lanes_of(const struct bench *bench)
{
    const unsigned wanted = (unsigned)bench->options.threads;
    const unsigned has = bench->props.width;

    if (!contender_kind_is_host(bench->props.kind) || has == 0 || has >= wanted)
        return wanted;
    fprintf(stderr, "heed-bench: device %s has %u %s, not %u\n", bench->props.name, has,
            has == 1 ? "worker" : "workers", wanted);
    return has;
}

/* Where a driver does the work of either, this thread's clock of CPU time sees only the waiting. */
static int choose_clock(struct bench *bench)
{
    const bool host = contender_kind_is_host(bench->props.kind)
                   && (bench->other == NULL || contender_kind_is_host(bench->other_props.kind));

    if (bench->options.clock == CLOCK_CPU && !host)
        return command_wrong("heed-bench", "--clock", "wall, as a driver does the work", "cpu");
    bench->threads = lanes_of(bench);
    bench->cpu_time = bench->options.clock == CLOCK_CPU
                   || (bench->options.clock == CLOCK_AUTO && bench->threads == 1 &&
                       bench->options.neighbours == 0 && host);
    return EXIT_DONE;
}

/* Its first run, before anything is printed, and before ours: it may still be starting. */
static int meet_peer(const struct bench *bench)
{
    struct timing start_up;

    return bench->peer == NULL || peer_run(bench->peer, &start_up) ? EXIT_DONE
                                                                   : peer_failure(bench->peer);
}

static int open_bench(struct bench *bench)
{
    const heed_executor workers = {
        .size = sizeof workers, .width = (uint32_t)bench->options.threads,
    };
    char room[CACHE_ROOM];
    heed_runtime_desc desc = {
        .size = sizeof desc, .executor = &workers, .logger = compiling_logger(),
        .cache_dir = cache_folder(room),
    };
    heed_report report = { .size = sizeof report };
    heed_status status;
    int code;

    if (bench->options.peer != NULL) {
        bench->peer = peer_start(bench->options.peer, bench->options.timeout);
        if (bench->peer == NULL) {
            fprintf(stderr, "heed-bench: cannot start the peer: %s\n", strerror(errno));
            return EXIT_FAILED;
        }
    }
    status = bench->options.openmp
                 ? heed_executor_create(workers.width, HEED_EXECUTOR_OPENMP, NULL, &bench->team,
                                        &report)
                 : HEED_OK;
    if (bench->team != NULL)
        desc.executor = bench->team;
    if (status >= 0)
        status = heed_runtime_create(&desc, &bench->runtime, &report);
    if (status < 0) {
        text_failure("heed-bench", "cannot create a runtime", status, &report);
        return EXIT_FAILED;
    }
    code = find(&library_own, bench->runtime, "--device", bench->options.device, &bench->device);
    if (code == EXIT_DONE)
        code = open_other(bench, &desc);
    if (code != EXIT_DONE)
        return code;
    bench->props.size = bench->other_props.size = sizeof bench->props;
    status = heed_device_info(bench->device, &bench->props);
    if (status >= 0 && bench->other != NULL)
        status = bench->others->device_info(bench->other, &bench->other_props);
    if (status < 0) {
        text_failure("heed-bench", "cannot describe the device", status, NULL);
        return EXIT_FAILED;
    }
    code = choose_clock(bench);
    return code == EXIT_DONE ? meet_peer(bench) : code;
}

static void close_bench(struct bench *bench)
{
    heed_runtime_destroy(bench->runtime);
    plugin_close();
    if (bench->other_runtime != NULL)
        bench->another.runtime_destroy(bench->other_runtime);
    heed_executor_destroy(bench->team);
    peer_stop(bench->peer);
}

enum outcome { MEASURED, REFUSED, TROUBLE, UNWRITTEN };

static enum outcome bench_one(struct bench *bench, const struct workload *load,
                              struct ceiling **ceiling)
{
    struct contender ours = { 0 }, other = { 0 };
    struct measure_input in = {
        .load = load, .ours = &ours, .peer = bench->peer, .threads = bench->threads,
        .pairs = (size_t)bench->options.pairs, .cpu_time = bench->cpu_time,
    };
    struct measure_result result = { 0 };
    heed_report refused = { .size = 0 };
    enum outcome outcome = TROUBLE;

    if (contender_open(&ours, bench->ours, bench->device, load, bench->options.numerics,
                       bench->options.plugin != NULL ? &refused : NULL) < 0) {
        if (refused.size == 0)
            return TROUBLE;
        return output_refused(&bench->options, load, &refused) ? REFUSED : UNWRITTEN;
    }
    if (bench->other != NULL) {
        if (contender_open(&other, bench->others, bench->other, load, bench->options.numerics,
                           NULL) < 0)
            goto close_ours;
        in.other = &other;
    }
    if (*ceiling == NULL) {
        *ceiling = ceiling_create(bench->props.name,
                                  contender_is_host(&ours) ? contender_isa(&ours) : NULL,
                                  bench->threads, bench->cpu_time);
    }
    if (*ceiling != NULL && bench->options.quick)
        (*ceiling)->pace = 0.02;
    if (*ceiling == NULL) {
        fprintf(stderr, "heed-bench: cannot start %u threads for the peak loops\n",
                bench->threads);
        goto close_other;
    }
    in.ceiling = *ceiling;
    in.cost = contender_cost(&ours, load);
    in.mix = mix_create(in.ceiling, &in.cost);
    in.products = products_create(in.ceiling, load);
    if (measure(&in, &result))
        outcome = output_row(&bench->options, &in, &result) ? MEASURED : UNWRITTEN;
    products_destroy(in.products);
    mix_destroy(in.mix);
close_other:
    if (in.other != NULL)
        contender_close(&other);
close_ours:
    contender_close(&ours);
    return outcome;
}

/* Returns an exit code. Whatever cannot be written ends it: text_end() says why. */
static int measure_all(struct bench *bench)
{
    struct ceiling *ceiling = NULL;
    size_t measured = 0;
    int code = EXIT_DONE;
    bool written = output_head(&bench->options, bench->options.plugin != NULL
                                                    ? bench->other_props.name : bench->props.name);

    for (size_t i = 0; written && i < bench->options.n_loads; i++) {
        const enum outcome outcome = bench_one(bench, &bench->options.loads[i], &ceiling);

        measured += outcome == MEASURED;
        code = outcome == TROUBLE ? EXIT_FAILED : code;
        written = outcome != UNWRITTEN;
    }
    ceiling_destroy(ceiling);
    if (measured == 0 || !written)
        return EXIT_FAILED;
    return code;
}

static int work(struct bench *bench)
{
    int code = open_bench(bench);

    if (code == EXIT_DONE) {
        code = measure_all(bench);
        if (!bench->options.json &&
            !output_foot(bench->options.plugin != NULL ? plugin_name() : NULL, bench->cpu_time))
            code = EXIT_FAILED;
    }
    close_bench(bench);
    return text_end("heed-bench", code);
}

/* A kernel may end the process that it is in, which says its exit code over a pipe when it comes to
 * its own end. */
static int work_apart(struct bench *bench)
{
    struct child child = { 0 };
    const pid_t parent = getpid(), pid = child_fork(&child, CHILD_FROM);
    const char *const file = bench->options.plugin;
    int code = EXIT_FAILED;

    if (pid == 0) {
        child_tie(parent);
        output_share();
        code = work(bench);
        _exit(write(child.from, &code, sizeof code) == sizeof code ? code : EXIT_FAILED);
    }
    if (pid < 0) {
        fprintf(stderr, "heed-bench: --plugin %s: no process can be made\n", file);
        return EXIT_FAILED;
    }
    terminal_expect();
    child_wait(&child, CHILD_EVER);
    if (read(child.from, &code, sizeof code) != sizeof code) {
        terminal_wipe();
        fprintf(stderr, "heed-bench: --plugin %s: the kernel ended the process (%s %d)\n", file,
                WIFSIGNALED(child.status) ? "signal" : "exit status",
                WIFSIGNALED(child.status) ? WTERMSIG(child.status) : WEXITSTATUS(child.status));
        code = EXIT_FAILED;
    }
    child_end(&child);
    return code;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    int code = EXIT_DONE;

    streams_keep();
    if (!options_read(argc, argv, &bench.options, &code))
        return text_end("heed-bench", code);
    if (!neighbours_start(bench.options.neighbours)) {
        fprintf(stderr, "heed-bench: --neighbours: no process can be made\n");
        return EXIT_FAILED;
    }
    code = bench.options.plugin != NULL ? work_apart(&bench) : work(&bench);
    neighbours_end();
    return code;
}
