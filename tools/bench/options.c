/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Options are rows of a table: name, whether a value follows, and what takes it.
 */
#include "bench/options.h"

#include "common/text.h"

#include <string.h>

struct state {
    struct options *out;
    const char *device, *isa;
    bool help;
    char error[512];
};

static bool take_workload(struct state *s, const char *value)
{
    char why[480];

    if (s->out->n_loads == OPTIONS_WORKLOADS_MOST) {
        snprintf(s->error, sizeof s->error, "at most %d workloads", OPTIONS_WORKLOADS_MOST);
        return false;
    }
    if (workload_parse(value, &s->out->loads[s->out->n_loads], why, sizeof why)) {
        s->out->n_loads++;
        return true;
    }
    snprintf(s->error, sizeof s->error, "--workload: %s", why);
    return false;
}

static bool take_device(struct state *s, const char *value)
{
    s->device = value;
    return true;
}

static bool take_isa(struct state *s, const char *value)
{
    s->isa = value;
    return true;
}

static bool take_vs(struct state *s, const char *value)
{
    s->out->vs = value;
    return true;
}

static bool take_peer(struct state *s, const char *value)
{
    s->out->peer = value;
    return true;
}

static bool take_plugin(struct state *s, const char *value)
{
    s->out->plugin = value;
    return true;
}

static bool take_threads(struct state *s, const char *value)
{
    if (text_integer(value, 1, 1024, &s->out->threads))
        return true;
    snprintf(s->error, sizeof s->error, "--threads is a whole number from 1 to 1024, got \"%.40s\"",
             value);
    return false;
}

static bool take_pairs(struct state *s, const char *value)
{
    if (text_integer(value, OPTIONS_PAIRS_LEAST, 10000, &s->out->pairs))
        return true;
    snprintf(s->error, sizeof s->error, "--pairs is a whole number from %d to 10000, got \"%.40s\"",
             OPTIONS_PAIRS_LEAST, value);
    return false;
}

static bool take_clock(struct state *s, const char *value)
{
    s->out->clock = strcmp(value, "cpu") == 0 ? CLOCK_CPU
                  : strcmp(value, "wall") == 0 ? CLOCK_WALL : CLOCK_AUTO;
    if (s->out->clock != CLOCK_AUTO)
        return true;
    snprintf(s->error, sizeof s->error, "--clock is cpu or wall, got \"%.40s\"", value);
    return false;
}

static bool take_json(struct state *s, const char *value)
{
    (void)value;
    s->out->json = true;
    return true;
}

static bool take_quick(struct state *s, const char *value)
{
    (void)value;
    s->out->pairs = 1;
    return true;
}

static bool take_help(struct state *s, const char *value)
{
    (void)value;
    s->help = true;
    return true;
}

static const struct {
    const char *name, *value, *help;
    bool (*take)(struct state *, const char *value);
} rows[] = {
    { "--workload", "NAME[:KEY=VALUE,...]", "one of the list below; may be given again,\n"
      "      also without \"--workload\"\n"
      "      keys: n positions, h heads, hk key heads, d width, b batch, w reach to each side,\n"
      "      keys rows of the longest cache, token 1: its rows [n][h][d], else [h][n][d],\n"
      "      panels 1: pages of K [d][page], else [page][d],\n"
      "      kernel and stride of windows, page rows of a page, block tokens of a block, buckets,\n"
      "      queries, count places of a selection, rows of a memory, parts to merge; dtype f32,\n"
      "      f16, bf16 or, of decode, i8; without any --workload some of attention",
      take_workload },
    { "--device", "NAME", "device to measure (default: the fastest; see heed-info)", take_device },
    { "--isa", "NAME", "instruction set: short for --device cpu:NAME", take_isa },
    { "--threads", "N", "workers of the built-in executor (default 1)", take_threads },
    { "--pairs", "N", "pairs of peak loops and kernel, at least 15 (default 15)", take_pairs },
    { "--quick", NULL, "one pair only: whether a workload runs, not how fast it is", take_quick },
    { "--clock", "cpu|wall", "time the rates are made of (default: cpu on one thread, else wall)",
      take_clock },
    { "--vs", "DEVICE|FILE", "measure a second device in turn with the first: ratio of times;\n"
      "      FILE, a path with a slash: the same device of another build of libheed.so",
      take_vs },
    { "--peer", "COMMAND", "the same against a program: for every line \"run\" on its input it\n"
      "      does the work once and prints \"CPU_SECONDS WALL_SECONDS\"", take_peer },
    { "--plugin", "FILE", "measure a kernel of somebody else (heed/plugin.h) in turn with the\n"
      "      device; ratio: more than 1, the kernel is faster; what it refuses is listed",
      take_plugin },
    { "--json", NULL, "one JSON object a workload, each on a line", take_json },
    { "--help", NULL, "this text", take_help },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static void print_help(void)
{
    puts("usage: heed-bench [options] [WORKLOAD...]\n"
         "Measures heed next to what the processor can do at most, in turn, in one run.");
    for (size_t i = 0; i < N_ROWS; i++)
        printf("  %s%s%s\n      %s\n", rows[i].name, rows[i].value != NULL ? " " : "",
               rows[i].value != NULL ? rows[i].value : "", rows[i].help);
    puts("workloads, and what their keys are by default:");
    for (size_t i = 0; workload_kind_name(i) != NULL; i++) {
        char keys[160];

        workload_kind_keys(i, keys, sizeof keys);
        printf("  %-19s  %s\n", workload_kind_name(i), keys);
    }
}

static bool read_one(struct state *s, int argc, char **argv, int *at)
{
    const char *name = argv[*at];

    for (size_t i = 0; i < N_ROWS; i++) {
        const size_t length = strlen(rows[i].name);

        if (strncmp(rows[i].name, name, length) != 0)
            continue;
        if (rows[i].value != NULL && name[length] == '=')
            return rows[i].take(s, name + length + 1);
        if (name[length] != '\0')
            continue;
        if (rows[i].value == NULL)
            return rows[i].take(s, NULL);
        if (*at + 1 < argc)
            return rows[i].take(s, argv[++*at]);
        snprintf(s->error, sizeof s->error, "%s wants a value: %s", name, rows[i].value);
        return false;
    }
    if (name[0] != '-')
        return take_workload(s, name);
    snprintf(s->error, sizeof s->error, "unknown argument \"%.80s\" (see --help)", name);
    return false;
}

/* Defaults, and what the options must be to each other. */
static bool complete(struct state *s)
{
    struct options *out = s->out;
    int length = 0;

    if (s->isa != NULL && s->device != NULL && strcmp(s->device, "cpu") != 0
        && (strncmp(s->device, "cpu:", 4) != 0 || strcmp(s->device + 4, s->isa) != 0)) {
        snprintf(s->error, sizeof s->error, "--isa names the device cpu:%.40s; --device %.60s "
                 "contradicts it", s->isa, s->device);
        return false;
    }
    if ((out->vs != NULL) + (out->peer != NULL) + (out->plugin != NULL) > 1) {
        snprintf(s->error, sizeof s->error, "--vs, --peer and --plugin exclude each other");
        return false;
    }
    if (s->isa != NULL)
        length = snprintf(out->device, sizeof out->device, "cpu:%s", s->isa);
    else if (s->device != NULL)
        length = snprintf(out->device, sizeof out->device, "%s", s->device);
    if (length >= (int)sizeof out->device) {
        snprintf(s->error, sizeof s->error, "no device has a name that long");
        return false;
    }
    if (out->peer != NULL && out->n_loads != 1) {
        snprintf(s->error, sizeof s->error, "--peer wants exactly one --workload: the peer's");
        return false;
    }
    for (size_t i = 0; out->n_loads == i && workload_default(i) != NULL; i++) {
        if (!take_workload(s, workload_default(i)))
            return false;
    }
    return true;
}

bool options_read(int argc, char **argv, struct options *out, int *code)
{
    struct state s = { .out = out };
    bool good = true;

    *out = (struct options){ .threads = 1, .pairs = OPTIONS_PAIRS_LEAST };
    for (int i = 1; good && i < argc; i++)
        good = read_one(&s, argc, argv, &i);
    if (good && s.help) {
        print_help();
        *code = EXIT_DONE;
        return false;
    }
    if (good)
        good = complete(&s);
    if (!good)
        fprintf(stderr, "heed-bench: %s\n", s.error);
    *code = EXIT_USAGE;
    return good;
}
