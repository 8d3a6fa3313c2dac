/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The options of heed-conform as rows of the table that all tools have.
 */
#include "options.h"

#include "conform/engine/cover.h"
#include "conform/engine/invariance.h"
#include "conform/ways/plugin.h"

#include "common/command.h"
#include "common/text.h"

#include <stddef.h>
#include <string.h>

struct family {
    const char *name;
    uint32_t bit;
};

static const struct family families[] = {
    { "exact", FAMILY_EXACT }, { "bits", FAMILY_BITS },   { "bound", FAMILY_BOUND },
    { "meta", FAMILY_META },   { "error", FAMILY_ERROR },
    { "check", FAMILY_CHECK }, { "named", FAMILY_NAMED },
    { "mechanisms", FAMILY_MECHANISMS }, { "invariance", FAMILY_INVARIANCE },
};

static bool family_parse(void *state, const char *name, const char **wanted)
{
    struct options *const o = state;

    *wanted = "exact, bits, bound, meta, error, check, named, mechanisms or invariance";
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (!strcmp(families[i].name, name)) {
            o->families = families[i].bit;
            return true;
        }
    }
    return false;
}

const char *options_family_name(uint32_t bits)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (families[i].bit == bits)
            return families[i].name;
    }
    return NULL;
}

/* One property, or several between commas. */
static bool property_parse(void *state, const char *names, const char **wanted)
{
    struct options *const o = state;

    *wanted = "repeat, threads, batch, chunk or layout, with commas between them";
    while (*names) {
        const size_t n = strcspn(names, ",");
        int i = 0;

        while (i < cf_n_properties && (strlen(cf_properties[i].name) != n ||
                                       strncmp(cf_properties[i].name, names, n) != 0))
            i++;
        if (i == cf_n_properties)
            return false;
        o->properties |= 1u << i;
        names += n + (names[n] == ',' && names[n + 1] != '\0');
    }
    return o->properties != 0;
}

/* A line as it is printed has other words in front. */
static bool case_parse(void *state, const char *text, const char **wanted)
{
    struct options *const o = state;
    const char *mechanism = strstr(text, "mechanism="), *op = strstr(text, "op=");

    *wanted = "a case's line";
    o->text = mechanism ? mechanism : op ? op : text;
    return text[0] != '\0';
}

static bool op_parse(void *state, const char *name, const char **wanted)
{
    struct options *const o = state;

    *wanted = "one that heed-conform --help lists";
    o->op = name;
    return cf_op_find(name) != NULL;
}

static bool claim_parse(void *state, const char *name, const char **wanted)
{
    struct options *const o = state;

    *wanted = "exact, repeat or fast";
    o->claims = true;
    return text_numerics_read(name, &o->claim) && o->claim != HEED_NUMERICS_BEST;
}

#define AT(member) offsetof(struct options, member)

static const struct command_option rows[] = {
    { .name = "--device", .value = "DEVICE", .at = AT(device),
      .help = "only this device (default: every usable, exact one); with\n"
              "--plugin opencl:N or cuda:N, in whose memory it wants its arrays\n"
              "(default N: 0)" },
    { .name = "--op", .value = "OPERATION", .take = op_parse,
      .help = "only this operation, of those named below" },
    { .name = "--cases", .value = "N", .at = AT(cases), .low = 0, .high = 10000000,
      .help = "how many cases to draw (default 4000), half of them of attention" },
    { .name = "--seed", .value = "S", .at = AT(seed), .low = 0, .high = INT64_MAX,
      .help = "another set of cases (default 1)" },
    { .name = "--case", .value = "TEXT", .take = case_parse,
      .help = "only the case of this line" },
    { .name = "--family", .value = "exact|bits|bound|meta|error|check|named|mechanisms|invariance",
      .take = family_parse,
      .help = "only this family of tests; invariance: each case is computed again\n"
              "in forms that must have the same words, and is part of no other run" },
    { .name = "--property", .value = "NAME[,NAME]...", .take = property_parse,
      .help = "of invariance only these properties, of those named below" },
    { .name = "--partial", .at = AT(partial),
      .help = "the device (--device) may refuse legal cases with\n"
              "HEED_E_UNSUPPORTED and the first field that it does not take;\n"
              "cases are drawn from what it takes, as its refusals show, until N\n"
              "are accepted" },
    { .name = "--only", .value = "TEXT", .at = AT(only),
      .help = "only drawn cases at these levels, as --list names them: 'q=f32,f16\n"
              "ns=1'" },
    { .name = "--threads", .value = "N", .at = AT(threads), .low = 1, .high = 1024,
      .help = "threads of the second run of a case (default 2)" },
    { .name = "--plugin", .value = "FILE", .at = AT(plugin),
      .help = "a kernel of somebody else (heed/plugin.h); cases\n"
              "are drawn from what it takes; with --only, --case, --cases,\n"
              "--seed, --device, --quiet and the families exact, bits, bound,\n"
              "named and invariance" },
    { .name = "--peer", .value = "COMMAND", .at = AT(peer),
      .help = "a program that computes, in any language; or fd:IN,OUT,\n"
              "descriptors of its answers and questions" },
    { .name = "--ask", .at = AT(ask),
      .help = "it understands questions without arrays" },
    { .name = "--once", .at = AT(once),
      .help = "it computes each case once, not twice" },
    { .name = "--lines", .at = AT(lines),
      .help = "only print lines of cases that it takes" },
    { .name = "--dump", .value = "DIR", .at = AT(dump),
      .help = "write a folder of arrays for each case" },
    { .name = "--judge", .value = "DIR", .at = AT(judge),
      .help = "judge the outputs that were written into these folders" },
    { .name = "--claim", .value = "exact|repeat|fast", .take = claim_parse,
      .help = "what is claimed of a peer or of folders (default fast)" },
    { .name = "--timeout", .value = "S", .at = AT(timeout), .low = 1, .high = 86400,
      .help = "seconds that a case may take a plug-in or a peer (default 10)" },
    { .name = "--memory", .value = "MIB", .at = AT(memory), .low = 0, .high = 1 << 20,
      .help = "memory that a plug-in may have (default 1024; 0: any); of one on a\n"
              "device only its workspace" },
    { .name = "--shrink", .value = "N", .at = AT(shrink), .low = 0, .high = 10000000,
      .help = "how many failed cases are made smaller (default 5; 0: none)" },
    { .name = "--repro", .value = "DIR", .at = AT(repro),
      .help = "a C program for each failed case that was made\n"
              "smaller; with --shrink 0 for the first five as they are" },
    { .name = "--json", .value = "FILE", .at = AT(json),
      .help = "results as JSON, one object a line; -: standard output, then no\n"
              "TAP" },
    { .name = "--junit", .value = "FILE", .at = AT(junit),
      .help = "results as JUnit's XML; -: standard output, then no TAP" },
    { .name = "--verbose", .at = AT(verbose),
      .help = "also the pairs of features that no case has or can have, worst\n"
              "errors, kernels that ran" },
    { .name = "--quiet", .at = AT(quiet),
      .help = "only the summary" },
    { .name = "--list", .at = AT(list),
      .help = "print the axes that cases of an operation (attn) are drawn from" },
};

static void print_names(FILE *to)
{
    fputs("\nProperties:\n", to);
    for (int i = 0; i < cf_n_properties; i++)
        fprintf(to, "  %-8s %s\n", cf_properties[i].name, cf_properties[i].says);
    fputs("\nOperations:\n", to);
    for (int i = 0; i < cf_n_ops; i++)
        fprintf(to, "  %s\n", cf_ops[i]->name);
}

static const struct command command = {
    .name = "heed-conform",
    .usage = "heed-conform [OPTION]...\n",
    .what = "Tests every device against the reference and against the definitions of the\n"
            "operations. Prints TAP, and as its last line \"N passed, N failed, N skipped\".\n",
    .options = rows,
    .n_options = sizeof rows / sizeof *rows,
    .more = print_names,
    .examples = "  heed-conform --device cpu --family bits --cases 200 --quiet\n"
                "      the bits of one device, in a few seconds\n"
                "  heed-conform --device cpu --op pool --cases 500 --junit results.xml\n"
                "      one operation, with results for another program\n"
                "  heed-conform --device cpu --case 'op=attn seed=1'\n"
                "      one case again, as a failure has named it\n"
                "  heed-conform --plugin ./mykernel.so --cases 200 --repro programs\n"
                "      a kernel of your own, and a program for each case that fails\n"
                "  heed-conform --peer 'python3 examples/peer/peer.py' --ask --cases 100\n"
                "      a kernel in another language\n",
    .ends = "Exit status:\n"
            "  0 all passed; 1 something failed, or a device or a file that there is cannot be\n"
            "  used; 2 wrong usage, or a name of what there is not; 3 nothing failed, but what\n"
            "  was asked for was not judged, as the lines before the last one say.\n",
};

uint32_t options_families_apart(void)
{
    return FAMILY_ERROR | FAMILY_CHECK | FAMILY_NAMED | FAMILY_MECHANISMS;
}

/* Is that a subset of the operation's cases? The families that draw none are left out then. */
static bool only_good(struct options *o)
{
    char why[2048];

    cf_op_use(cf_op_find(o->op));
    if (!cf_subset_parse(o->only, why, sizeof why)) {
        fprintf(stderr, "heed-conform: --only: wanted AXIS=VALUE,... of --list: %s\n", why);
        return false;
    }
    if (o->families == FAMILY_ALL)
        o->families &= ~options_families_apart();
    return true;
}

/* A line without the word is of attention. */
static bool of_op(const char *line, const char *name)
{
    const char *const word = strstr(line, "op=");
    const size_t n = word ? strcspn(word + 3, " ") : 0;

    return word ? strlen(name) == n && strncmp(word + 3, name, n) == 0
                : strcmp(name, cf_ops[0]->name) == 0;
}

/* What is wrong with the options about kernels of somebody else; NULL: nothing. */
static const char *others_wrong(const struct options *o)
{
    const bool apart = o->peer || o->dump || o->judge;
    const int ways = !!o->plugin + !!o->peer + !!o->dump + !!o->judge;

    if (ways > 1)
        return "--plugin, --peer, --dump, --judge: wanted one of them, got several";
    if (o->plugin && o->claims)
        return "--claim does not go with --plugin: a plug-in says what it claims";
    if (o->plugin && o->threads != THREADS_DEFAULT)
        return "--threads does not go with --plugin: it is handed an executor of three";
    if (o->text && o->op && !of_op(o->text, o->op))
        return "--case and --op: wanted one operation, got two";
    if (o->text && o->only)
        return "--case and --only: wanted one of them, got both";
    if (o->properties && o->families != FAMILY_ALL && o->families != FAMILY_INVARIANCE)
        return "--property goes with --family invariance: wanted that, got another family";
    if ((o->ask || o->once || o->lines) && !o->peer)
        return "--ask, --once and --lines go with --peer: wanted one, got nothing";
    if (apart && (o->device || o->partial))
        return "--device and --partial do not go with --peer, --dump and --judge";
    if ((o->dump || o->judge) && (o->json || o->junit || o->repro))
        return "--json, --junit and --repro do not go with --dump and --judge";
    return NULL;
}

/* What the options must be to each other. */
static bool complete(struct options *o)
{
    const char *const wrong = others_wrong(o);

    if (wrong) {
        fprintf(stderr, "heed-conform: %s\n", wrong);
        return false;
    }
    if (o->properties)
        o->families = FAMILY_INVARIANCE;
    if (o->only && !o->op)
        o->op = cf_ops[0]->name;
    if (o->only && !only_good(o))
        return false;
    if (o->plugin && !plugin_options_good(o))
        return false;
    if (o->partial && !o->device) {
        fprintf(stderr, "heed-conform: --partial goes with --device: wanted one, got nothing\n");
        return false;
    }
    if (o->json && o->junit && !strcmp(o->json, o->junit)) {
        fprintf(stderr, "heed-conform: --json: wanted another file than that of --junit, got it\n");
        return false;
    }
    return true;
}

bool options_parse(int argc, char **argv, struct options *o, int *code)
{
    *o = (struct options){ .cases = 4000,
                           .seed = 1,
                           .threads = THREADS_DEFAULT,
                           .families = FAMILY_ALL,
                           .timeout = TIMEOUT_DEFAULT,
                           .memory = MEMORY_DEFAULT,
                           .claim = HEED_NUMERICS_FAST,
                           .shrink = 5 };
    if (!command_read(&command, argc, argv, o, code))
        return false;
    *code = EXIT_USAGE;
    return complete(o);
}
