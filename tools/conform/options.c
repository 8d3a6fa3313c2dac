/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Options are rows of a table: name, what follows it, where its value goes, and what it is for.
 */
#include "options.h"

#include "cover.h"
#include "plugin.h"

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
    { "mechanisms", FAMILY_MECHANISMS },
};

static bool family_parse(const char *name, struct options *o)
{
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

/* A line as it is printed has other words in front. */
static bool case_parse(const char *text, struct options *o)
{
    const char *mechanism = strstr(text, "mechanism="), *op = strstr(text, "op=");

    o->text = mechanism ? mechanism : op ? op : text;
    return true;
}

static bool op_parse(const char *name, struct options *o)
{
    o->op = name;
    return cf_op_find(name) != NULL;
}

static const char *const claims[] = { [HEED_NUMERICS_EXACT] = "exact",
                                      [HEED_NUMERICS_REPEAT] = "repeat",
                                      [HEED_NUMERICS_FAST] = "fast" };

const char *options_claim_name(uint32_t claim)
{
    return claims[claim];
}

static bool claim_parse(const char *name, struct options *o)
{
    o->claim = 0;
    for (uint32_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        if (claims[i] && !strcmp(name, claims[i]))
            o->claim = i;
    }
    return o->claim != 0;
}

/* `text` and `number`: where a value goes as it is; `take`: what makes something of it. A row
 * without a value is a flag. */
struct row {
    const char *name, *value, *help;
    size_t at;
    enum { FLAG, TEXT, NUMBER, TAKEN } kind;
    int64_t low, high;
    bool (*take)(const char *value, struct options *);
};

#define AT(member) offsetof(struct options, member)

static const struct row rows[] = {
    { "--device", "NAME", "only this device (default: every usable, exact one)", AT(device), TEXT,
      0, 0, NULL },
    { "--op", "NAME", "only this operation, of those named below", AT(op), TAKEN, 0, 0, op_parse },
    { "--cases", "N", "how many cases to draw (default 4000), half of them of attention",
      AT(cases), NUMBER, 0, 10000000, NULL },
    { "--seed", "S", "another set of cases (default 1)", AT(seed), NUMBER, 0, INT64_MAX, NULL },
    { "--case", "TEXT", "only the case of this line", AT(text), TAKEN, 0, 0, case_parse },
    { "--family", "NAME", "only exact, bits, bound, meta, error, check, named or mechanisms",
      AT(families), TAKEN, 0, 0, family_parse },
    { "--partial", NULL,
      "the device (--device) may refuse legal cases with HEED_E_UNSUPPORTED\n"
      "and the first field that it does not take; cases are drawn from what it\n"
      "takes, as its refusals show, until N are accepted",
      AT(partial), FLAG, 0, 0, NULL },
    { "--only", "TEXT", "only drawn cases at these levels, as --list names them: 'q=f32,f16 ns=1'",
      AT(only), TEXT, 0, 0, NULL },
    { "--threads", "N", "threads of the second run of a case (default 2)", AT(threads), NUMBER, 1,
      1024, NULL },
    { "--plugin", "FILE",
      "a kernel of somebody else (heed/plugin.h), on attention; cases are drawn\n"
      "from what it takes; with --only, --case, --cases, --seed, --quiet and the\n"
      "families exact, bits, bound and named",
      AT(plugin), TEXT, 0, 0, NULL },
    { "--peer", "COMMAND",
      "a program that computes attention, in any language; or fd:IN,OUT,\n"
      "descriptors of its answers and questions", AT(peer), TEXT, 0, 0, NULL },
    { "--ask", NULL, "it understands questions without arrays", AT(ask), FLAG, 0, 0, NULL },
    { "--once", NULL, "it computes each case once, not twice", AT(once), FLAG, 0, 0, NULL },
    { "--lines", NULL, "only print lines of cases that it takes", AT(lines), FLAG, 0, 0, NULL },
    { "--dump", "DIR", "write a folder of arrays for each case of attention", AT(dump), TEXT, 0, 0,
      NULL },
    { "--judge", "DIR", "judge the o.npy and lse.npy that were written into these folders",
      AT(judge), TEXT, 0, 0, NULL },
    { "--claim", "NAME", "what is claimed of a peer or of folders: exact, repeat or fast (default)",
      AT(claim), TAKEN, 0, 0, claim_parse },
    { "--timeout", "S", "seconds that a case may take a plug-in or a peer (default 10)",
      AT(timeout), NUMBER, 1, 86400, NULL },
    { "--memory", "MIB", "memory that a plug-in may have (default 1024; 0: any)", AT(memory),
      NUMBER, 0, 1 << 20, NULL },
    { "--shrink", "N", "how many failed cases are made smaller (default 5; 0: none)", AT(shrink),
      NUMBER, 0, 10000000, NULL },
    { "--repro", "DIR", "a C program for each failed case of attention that was made smaller;\n"
      "with --shrink 0 for the first five as they are",
      AT(repro), TEXT, 0, 0, NULL },
    { "--json", "FILE", "results as JSON, one object a line; -: standard output, then no TAP",
      AT(json), TEXT, 0, 0, NULL },
    { "--junit", "FILE", "results as JUnit's XML; -: standard output, then no TAP", AT(junit),
      TEXT, 0, 0, NULL },
    { "--verbose", NULL, "also pairs of features that cannot go together, and worst errors",
      AT(verbose), FLAG, 0, 0, NULL },
    { "--quiet", NULL, "only the summary", AT(quiet), FLAG, 0, 0, NULL },
    { "--list", NULL, "print the axes that cases of an operation (attn) are drawn from", AT(list),
      FLAG, 0, 0, NULL },
    { "--help", NULL, "this text", AT(help), FLAG, 0, 0, NULL },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* The first column is as wide as in "  --family NAME   ". */
static void row_print(const struct row *row, FILE *to)
{
    const char *line = row->help;
    const int width = fprintf(to, "  %s%s%s", row->name, row->value ? " " : "",
                              row->value ? row->value : "");

    fprintf(to, "%*s", width < 17 ? 18 - width : 1, "");
    while (line) {
        const size_t n = strcspn(line, "\n");

        fprintf(to, "%.*s\n", (int)n, line);
        line = line[n] ? line + n + 1 : NULL;
        if (line)
            fprintf(to, "%18s", "");
    }
}

void options_usage(FILE *to)
{
    fputs("usage: heed-conform [options]\n"
          "Tests every device against the reference and against the definitions of the\n"
          "operations.\n", to);
    for (int i = 0; i < N_ROWS; i++)
        row_print(&rows[i], to);
    fputs("exit status: 0 all passed; 1 something failed, or a device or a file cannot be had;\n"
          "2 wrong options; 3 nothing failed, but what was asked for was not judged, as the lines\n"
          "before the last one say\n"
          "examples:\n"
          "  heed-conform --device cpu --op pool --cases 500 --junit results.xml\n"
          "  heed-conform --plugin ./mykernel.so --json results.jsonl --repro programs\n"
          "  heed-conform --plugin ./mykernel.so --case 'op=attn nq=33 s0.causal=yes seed=5'\n",
          to);
    fputs("operations:", to);
    for (int i = 0; i < cf_n_ops; i++)
        fprintf(to, " %s", cf_ops[i]->name);
    fputc('\n', to);
}

static const struct row *row_find(const char *name)
{
    for (int i = 0; i < N_ROWS; i++) {
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    }
    return NULL;
}

/* value NULL: the command line ends there. */
static bool row_take(const struct row *row, const char *value, struct options *o)
{
    void *const at = (char *)o + row->at;

    if (row->kind != FLAG && !value)
        return false;
    switch (row->kind) {
    case FLAG:
        memcpy(at, &(bool){ true }, sizeof(bool));
        return true;
    case TEXT:
        memcpy(at, &value, sizeof value);
        return true;
    case NUMBER:
        return text_integer(value, row->low, row->high, at);
    case TAKEN:
        return row->take(value, o);
    }
    return false;
}

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
        fprintf(stderr, "heed-conform: --only: %s\n", why);
        return false;
    }
    if (o->families == FAMILY_ALL)
        o->families &= ~options_families_apart();
    return true;
}

/* What the options must be to each other. */
static bool complete(struct options *o)
{
    if (o->only && !o->op)
        o->op = cf_op_attn.name;
    if (o->only && !only_good(o))
        return false;
    if (o->plugin && !plugin_options_good(o))
        return false;
    if (o->partial && !o->device) {
        fprintf(stderr, "heed-conform: --partial goes with --device NAME\n");
        return false;
    }
    if (o->json && o->junit && !strcmp(o->json, o->junit)) {
        fprintf(stderr, "heed-conform: --json and --junit name one file\n");
        return false;
    }
    return true;
}

bool options_parse(int argc, char **argv, struct options *o)
{
    *o = (struct options){ .cases = 4000,
                           .seed = 1,
                           .threads = THREADS_DEFAULT,
                           .families = FAMILY_ALL,
                           .timeout = TIMEOUT_DEFAULT,
                           .memory = MEMORY_DEFAULT,
                           .claim = HEED_NUMERICS_FAST,
                           .shrink = 5 };
    for (int i = 1; i < argc; i++) {
        const struct row *const row = row_find(argv[i]);
        const char *const value = i + 1 < argc ? argv[i + 1] : NULL;

        if (!row || !row_take(row, value, o)) {
            fprintf(stderr, "heed-conform: wrong or incomplete option %s %s\n", argv[i],
                    value ? value : "");
            options_usage(stderr);
            return false;
        }
        i += row->kind != FLAG;
    }
    return complete(o);
}
