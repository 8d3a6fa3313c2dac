/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The options of heed-bench as rows of the table that all tools have.
 */
#include "bench/options.h"

#include "bench/neighbour.h"

#include "common/command.h"
#include "common/text.h"
#include "common/types.h"

#include <string.h>

struct state {
    struct options *out;
    const char *device, *isa, *vs, *peer, *plugin;
    int64_t threads, pairs, timeout, neighbours;
    bool json, quick, openmp;
};

/* A line of its own, where a mistake has several forms. False. */
static bool say(const char *text)
{
    fprintf(stderr, "heed-bench: %s\n", text);
    return false;
}

static bool take_workload(void *state, const char *value, const char **wanted)
{
    struct state *s = state;
    char why[480];

    *wanted = NULL;
    if (s->out->n_loads == OPTIONS_WORKLOADS_MOST) {
        fprintf(stderr, "heed-bench: --workload: wanted at most %d of them, got more\n",
                OPTIONS_WORKLOADS_MOST);
        return false;
    }
    if (workload_parse(value, &s->out->loads[s->out->n_loads], why, sizeof why)) {
        s->out->n_loads++;
        return true;
    }
    fprintf(stderr, "heed-bench: --workload: %s\n", why);
    return false;
}

static bool take_clock(void *state, const char *value, const char **wanted)
{
    struct state *s = state;

    *wanted = "cpu or wall";
    s->out->clock = strcmp(value, "cpu") == 0 ? CLOCK_CPU
                  : strcmp(value, "wall") == 0 ? CLOCK_WALL : CLOCK_AUTO;
    return s->out->clock != CLOCK_AUTO;
}

static bool take_numerics(void *state, const char *value, const char **wanted)
{
    struct state *s = state;

    *wanted = "exact, repeat, fast or best";
    return text_numerics_read(value, &s->out->numerics);
}

static const struct command_option rows[] = {
    { .name = "--workload", .value = "WORKLOAD[:KEY=VALUE,...]", .take = take_workload,
      .help = "one of the list below; may be given again, also without\n"
              "\"--workload\"; without any some of attention" },
    { .name = "--device", .value = "DEVICE", .at = offsetof(struct state, device),
      .help = "device to measure (default: the fastest; see heed-info)" },
    { .name = "--isa", .value = "NAME", .at = offsetof(struct state, isa),
      .help = "instruction set: short for --device cpu:NAME" },
    { .name = "--numerics", .value = "exact|repeat|fast|best", .take = take_numerics,
      .help = "what is asked of the bits: those of the reference (exact), the same\n"
              "at every run on a device (repeat), within a bound where that is\n"
              "faster (fast), or fast where the device has that, else exact (best,\n"
              "the default); a row says which the plan delivers, --json its\n"
              "kernel, too" },
    { .name = "--threads", .value = "N", .at = offsetof(struct state, threads), .low = 1,
      .high = 1024,
      .help = "workers of the built-in executor (default 1)" },
    { .name = "--openmp", .at = offsetof(struct state, openmp),
      .help = "a team of OpenMP's threads instead (HEED_EXECUTOR_OPENMP)" },
    { .name = "--pairs", .value = "N", .at = offsetof(struct state, pairs),
      .low = OPTIONS_PAIRS_LEAST, .high = 10000,
      .help = "pairs of peak loops and kernel, at least 15 (default 15)" },
    { .name = "--quick", .at = offsetof(struct state, quick),
      .help = "one pair of short bursts: whether a workload runs, not how fast it is" },
    { .name = "--clock", .value = "cpu|wall", .take = take_clock,
      .help = "time the rates are made of (default: cpu on one thread without\n"
              "neighbours, else wall)" },
    { .name = "--neighbours", .value = "N", .at = offsetof(struct state, neighbours), .low = 0,
      .high = NEIGHBOURS_MOST,
      .help = "keep N processors busy with other work meanwhile, the peak loops\n"
              "beside it, too" },
    { .name = "--vs", .value = "DEVICE|FILE", .at = offsetof(struct state, vs),
      .help = "measure a second device in turn with the first: ratio of times;\n"
              "FILE, a path with a slash: the same device of another build of\n"
              "libheed.so" },
    { .name = "--peer", .value = "COMMAND", .at = offsetof(struct state, peer),
      .help = "the same against a program: for every line \"run\" on its input it\n"
              "does the work once and prints \"CPU_SECONDS WALL_SECONDS\"" },
    { .name = "--timeout", .value = "S", .at = offsetof(struct state, timeout), .low = 1,
      .high = 86400,
      .help = "seconds that a peer has for an answer (default 300)" },
    { .name = "--plugin", .value = "FILE", .at = offsetof(struct state, plugin),
      .help = "measure a kernel of somebody else (heed/plugin.h) in turn with\n"
              "the device; ratio: more than 1, the kernel is faster; what it\n"
              "refuses is listed" },
    { .name = "--json", .at = offsetof(struct state, json),
      .help = "one JSON object a workload, each on a line" },
};

static void print_workloads(FILE *to)
{
    fputs("\nWorkloads, and what their keys are by default:\n", to);
    for (size_t i = 0; workload_kind_name(i) != NULL; i++) {
        char keys[160];

        workload_kind_keys(i, keys, sizeof keys);
        fprintf(to, "  %-21s %s\n", workload_kind_name(i), keys);
    }
}

static const struct command command = {
    .name = "heed-bench",
    .usage = "heed-bench [OPTION]... [WORKLOAD]...\n",
    .what = "Measures heed next to what the processor, or a device with a driver, can do at most,\n"
            "in turn, in one run.\n",
    .options = rows,
    .n_options = sizeof rows / sizeof *rows,
    .more = print_workloads,
    .operand = take_workload,
    .examples = "  heed-bench --workload window:n=4096,w=256\n"
                "      a window of 256 keys to each side\n"
                "  heed-bench --workload dense:n=256 --device cpu:scalar --quick\n"
                "      whether it runs on a device\n"
                "  heed-bench --workload copy:n=4096 --workload merge:n=4096 --json\n"
                "      two operations, for a program\n"
                "  heed-bench --workload causal:n=128 --vs reference\n"
                "      two devices in turns\n",
    .ends = "Keys of workloads:\n"
            "  n positions, h heads, hk key heads, d width, b batch, w reach to each side,\n"
            "  keys rows of the longest cache, token 1: its rows [n][h][d], else [h][n][d],\n"
            "  own keys of each item beside those of all,\n"
            "  panels 1: pages of K [d][page], else [page][d], kernel and stride of windows,\n"
            "  page rows of a page, block tokens of a block, buckets, queries, count places of a\n"
            "  selection, rows of a memory or that share a list, run keys of an entry of a list,\n"
            "  parts to merge or join, out channels of outputs, residual 1: norms of a sum, which\n"
            "  leaves, too, gated 1: times a factor; dtype f32, f16, bf16 or, of decode and\n"
            "  ragged,\n"
            "  i8 " TYPE_NIBBLES " " TYPE_SMALL "\n"
            "  " TYPE_BLOCKS ".\n"
            "\n"
            "Exit status:\n"
            "  0 done, 1 a device, the peer, the kernel or the output failed, 2 wrong usage.\n",
};

/* Nothing is no name of anything. */
static bool all_named(const struct state *s)
{
    const struct {
        const char *option, *value, *wanted;
    } names[] = {
        { "--device", s->device, "a device" }, { "--isa", s->isa, "an instruction set" },
        { "--vs", s->vs, "a device or a file" }, { "--peer", s->peer, "a command" },
        { "--plugin", s->plugin, "a file" },
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].value != NULL && names[i].value[0] == '\0') {
            command_wrong("heed-bench", names[i].option, names[i].wanted, "");
            return false;
        }
    }
    return true;
}

/* Defaults, and what the options must be to each other. */
static bool complete(struct state *s)
{
    struct options *out = s->out;
    const char *wanted = NULL;
    int length = 0;

    if (!all_named(s))
        return false;
    out->vs = s->vs;
    out->peer = s->peer;
    out->plugin = s->plugin;
    out->threads = s->threads;
    out->timeout = s->timeout;
    out->neighbours = s->neighbours;
    out->pairs = s->quick ? 1 : s->pairs;
    out->json = s->json;
    out->quick = s->quick;
    out->openmp = s->openmp;
    if (s->isa != NULL && s->device != NULL && strcmp(s->device, "cpu") != 0
        && (strncmp(s->device, "cpu:", 4) != 0 || strcmp(s->device + 4, s->isa) != 0))
        return say("--isa: wanted the instruction set of --device, got another one");
    if ((out->vs != NULL) + (out->peer != NULL) + (out->plugin != NULL) > 1)
        return say("--vs: wanted it, --peer or --plugin, got more than one");
    if (s->isa != NULL)
        length = snprintf(out->device, sizeof out->device, "cpu:%s", s->isa);
    else if (s->device != NULL)
        length = snprintf(out->device, sizeof out->device, "%s", s->device);
    if (length >= (int)sizeof out->device)
        return say("--device: wanted the name of a device, got a longer one");
    if (out->peer != NULL && out->n_loads != 1)
        return say("--peer: wanted one --workload, the peer's, got none or more");
    for (size_t i = 0; out->n_loads == i && workload_default(i) != NULL; i++) {
        if (!take_workload(s, workload_default(i), &wanted))
            return false;
    }
    return true;
}

bool options_read(int argc, char **argv, struct options *out, int *code)
{
    struct state s = { .out = out, .threads = 1, .pairs = OPTIONS_PAIRS_LEAST,
                       .timeout = 300 };

    *out = (struct options){ .clock = CLOCK_AUTO };
    if (!command_read(&command, argc, argv, &s, code))
        return false;
    *code = EXIT_USAGE;
    return complete(&s);
}
