/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-summarize: prints the sentences of a document that the rest of it attends
 * to. Command line, reading, the progress bar, and the order of the steps. Inside
 * heed's tree meson builds it; anywhere else, against an installed heed:
 * cc -std=c17 -O2 *.c -o heed-summarize $(pkg-config --cflags --libs heed) -lm
 */
#define _POSIX_C_SOURCE 200809L    /* isatty */
#include "read.h"

#include <heed/heed.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EXIT_USAGE = 2,
    MAX_BUDGET = 1000000,
    LONG_INPUT = 4096,             /* sentences; from here on a progress bar */
    BAR_CELLS = 40
};

static const char help_text[] =
    "usage: heed-summarize [OPTION]... FILE|-\n"
    "\n"
    "Prints the sentences of FILE (text; - is standard input) that say most. UTF-8, UTF-16\n"
    "and windows-1252 (Latin-1) are told apart.\n"
    "\n"
    "Options:\n"
    "  --words N           at most N words, 1 to 1000000; default 200\n"
    "  --device DEVICE     where heed computes: cpu (default), cpu:avx2, cpu:scalar,\n"
    "                      reference, ...; heed-info lists them\n"
    "  --attention ATTENTION\n"
    "                      which others a sentence sees at first, in parts of about 2048\n"
    "                      sentences; default window\n"
    "  --format FORMAT     how FILE is read, by the list below; default what it looks like\n"
    "  --language CODE     its language, by the list below; default what it looks like\n"
    "  --json              one JSON object with offsets and scores\n"
    "  --html FILE         also a page with the summary, the document and its attention; -: it\n"
    "                      goes to standard output, and nothing else does\n"
    "  --quiet             print nothing where --html has a file\n"
    "  --explain           also list every sentence with its segment and score, and those\n"
    "                      that it gives most weight to\n"
    "  --version           print name, version and how the library was built\n"
    "  -h, --help          print this text\n"
    "\n"
    "Attentions, by name, and what a sentence sees:\n";
static const char help_end[] =
    "\n"
    "Examples:\n"
    "  heed-summarize --words 60 docs/guide.txt\n"
    "      a long document in a few sentences\n"
    "  heed-summarize --attention longformer --explain docs/guide.txt\n"
    "      every sentence, and what it looks at\n"
    "  heed-summarize --json - <docs/guide.txt\n"
    "      standard input, for a program\n"
    "\n"
    "Exit status:\n"
    "  0 done, 1 out of memory or a failing device or output, 2 wrong usage or a file that\n"
    "  cannot be read or is no text.\n";

static void print_help(void)
{
    const char *what = NULL, *name;
    const struct format *format;
    const struct language *language;

    fputs(help_text, stdout);
    for (size_t i = 0; (name = encoder_name(i, &what)) != NULL; i++)
        printf("  %-12s %s\n", name, what);
    fputs("\nFormats, by name:\n", stdout);
    for (size_t i = 0; (format = format_at(i)) != NULL; i++)
        printf("  %-12s %s\n", format->name, format->what);
    fputs("\nLanguages, by code:\n", stdout);
    for (size_t i = 0; (language = language_at(i)) != NULL; i++) {
        name = language_code(language, &what);
        printf("  %-12s %s\n", name, what);
    }
    fputs(help_end, stdout);
}

static void print_version(void)
{
    const unsigned v = (unsigned)heed_version();

    printf("heed-summarize %u.%u.%u\n%s", v >> 16, v >> 8 & 255, v & 255, heed_build_text());
}

struct options {
    const char *file, *device, *attention, *html;
    const struct format *format;   /* NULL: to be found */
    const struct language *language;
    int64_t words;
    bool json, explain, quiet, help, version;
};

/* Names come from outside too: nothing but printable ASCII reaches the terminal. */
static void put_safely(const char *text)
{
    for (const char *c = text; *c; c++)
        fputc(*c >= ' ' && *c < 0x7F ? *c : '?', stderr);
}

/* One line on stderr; `why` may be NULL. Returns `status`. */
static int complain(int status, const char *what, const char *why)
{
    fputs("heed-summarize: ", stderr);
    put_safely(what);
    if (why) {
        fputs(": ", stderr);
        put_safely(why);
    }
    fputc('\n', stderr);
    return status;
}

/* What was wanted of `what`, and what there is; "": nothing. Returns EXIT_USAGE. */
static int complain_of(const char *what, const char *wanted, const char *got)
{
    fprintf(stderr, "heed-summarize: %s: wanted %s, got ", what, wanted);
    if (*got) {
        fputc('"', stderr);
        put_safely(got);
        fputs("\"\n", stderr);
    } else {
        fputs("nothing\n", stderr);
    }
    return EXIT_USAGE;
}

/* ---- command line -------------------------------------------------------- */

static bool parse_words(const char *text, int64_t *words)
{
    int64_t value = 0;

    if (!*text)
        return false;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || value > MAX_BUDGET)
            return false;
        value = value * 10 + (*c - '0');
    }
    if (value < 1 || value > MAX_BUDGET)
        return false;
    *words = value;
    return true;
}

/* The value of option `name` at argv[*i], as "--name value" or "--name=value"; NULL if
 * argv[*i] is another. */
static const char *value_of(const char *name, int argc, char **argv, int *i)
{
    const size_t length = strlen(name);

    if (strncmp(argv[*i], name, length) != 0)
        return NULL;
    if (argv[*i][length] == '=')
        return argv[*i] + length + 1;
    if (argv[*i][length] != '\0')
        return NULL;
    return *i + 1 < argc ? argv[++*i] : "";
}

static int parse(struct options *o, int argc, char **argv)
{
    bool only_files = false;

    for (int i = 1; i < argc; i++) {
        const char *const word = argv[i];
        const char *value;

        if (only_files || word[0] != '-' || strcmp(word, "-") == 0) {
            if (o->file)
                return complain_of("FILE", "one, or - for standard input", word);
            o->file = word;
        } else if (strcmp(word, "--") == 0) {
            only_files = true;
        } else if (strcmp(word, "--json") == 0) {
            o->json = true;
        } else if (strcmp(word, "--quiet") == 0) {
            o->quiet = true;
        } else if ((value = value_of("--html", argc, argv, &i)) != NULL) {
            if (!*value)
                return complain_of("--html", "FILE, or - for standard output", value);
            o->html = value;
        } else if (strcmp(word, "--explain") == 0) {
            o->explain = true;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            o->help = true;
            return 0;
        } else if (strcmp(word, "--version") == 0) {
            o->version = true;
            return 0;
        } else if ((value = value_of("--words", argc, argv, &i)) != NULL) {
            if (!parse_words(value, &o->words))
                return complain_of("--words", "a whole number from 1 to 1000000", value);
        } else if ((value = value_of("--device", argc, argv, &i)) != NULL) {
            if (!*value)
                return complain_of("--device", "a name that heed-info lists", value);
            o->device = value;
        } else if ((value = value_of("--attention", argc, argv, &i)) != NULL) {
            o->attention = value;
        } else if ((value = value_of("--format", argc, argv, &i)) != NULL) {
            if ((o->format = format_named(value)) == NULL)
                return complain_of("--format", "a name that --help lists", value);
        } else if ((value = value_of("--language", argc, argv, &i)) != NULL) {
            if ((o->language = language_named(value)) == NULL)
                return complain_of("--language", "a code that --help lists", value);
        } else {
            return complain_of("option", "one that heed-summarize --help lists", word);
        }
    }
    if (!o->file)
        return complain_of("FILE", "one, or - for standard input (see --help)", "");
    if (o->html && strcmp(o->html, "-") == 0 && o->json)
        return complain_of("--html", "a file beside --json", o->html);
    return 0;
}

/* ---- reading ------------------------------------------------------------- */

static int read_all(FILE *from, const char *name, char **text, size_t *size)
{
    size_t capacity = 0;

    for (;;) {
        size_t got;

        if (*size == capacity) {
            char *grown;

            capacity = capacity ? capacity * 2 : (size_t)1 << 16;
            grown = capacity > *size ? realloc(*text, capacity) : NULL;
            if (!grown)
                return complain(EXIT_FAILURE, name, "not enough memory");
            *text = grown;
        }
        got = fread(*text + *size, 1, capacity - *size, from);
        *size += got;
        if (got == 0)
            break;
    }
    return ferror(from) ? complain(EXIT_USAGE, name, strerror(errno)) : 0;
}

static int read_text(const char *name, char **text, size_t *size)
{
    FILE *file;
    int status;

    if (strcmp(name, "-") == 0)
        return read_all(stdin, "standard input", text, size);
    file = fopen(name, "rb");
    if (!file)
        return complain(EXIT_USAGE, name, strerror(errno));
    status = read_all(file, name, text, size);
    fclose(file);
    return status;
}

/* ---- progress ------------------------------------------------------------ */

static void show_progress(void *context, int64_t done, int64_t all)
{
    const int cells = (int)(done * BAR_CELLS / all);

    (void)context;
    fputs("\r[", stderr);
    for (int i = 0; i < BAR_CELLS; i++)
        fputc(i < cells ? '#' : ' ', stderr);
    fprintf(stderr, "] %3d %%", (int)(done * 100 / all));
    if (done == all)
        fprintf(stderr, "\r%*s\r", BAR_CELLS + 8, "");
    fflush(stderr);
}

/* ---- the steps ----------------------------------------------------------- */

struct work {
    struct reading reading;
    struct document doc;
    struct vectors vectors;
    struct summary summary;
    struct attend *attend;
    float *mass, *score;
    struct pattern pattern;
    int64_t (*looks)[LOOKS];
};

static int read_blocks(struct work *w, const struct options *o, const char *text, size_t size)
{
    const char *const name = strcmp(o->file, "-") == 0 ? "standard input" : o->file;
    struct failure why = { .usage = false };

    w->reading.format = o->format;
    if (!reading_do(&w->reading, text, size, o->file, &why))
        return complain(why.usage ? EXIT_USAGE : EXIT_FAILURE, name, why.text);
    if (w->reading.bad > 0)
        fprintf(stderr, "heed-summarize: %zu bytes are not UTF-8 and are read as U+FFFD\n",
                w->reading.bad);
    if (w->reading.format == format_named("markdown") && markdown_remark())
        complain(0, name, markdown_remark());
    return 0;
}

static int analyse(struct work *w, const struct options *o)
{
    struct failure why = { .usage = false };
    const bool bar = isatty(STDERR_FILENO) != 0;

    if (!document_split(&w->doc, &w->reading.stream, o->language) ||
        !vectors_build(&w->vectors, &w->doc) || !document_segment(&w->doc, &w->vectors))
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    w->mass = calloc((size_t)w->doc.n + 1, sizeof(*w->mass));
    w->score = calloc((size_t)w->doc.n + 1, sizeof(*w->score));
    w->looks = o->explain ? malloc(((size_t)w->doc.n + 1) * sizeof(*w->looks)) : NULL;
    if (!w->mass || !w->score || (o->explain && !w->looks))
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    if (o->html && !pattern_create(&w->pattern, w->doc.n))
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    w->attend = attend_open(o->device, &why);
    if (w->attend) {
        attend_tell_looks(w->attend, w->looks);
        attend_tell_pattern(w->attend, o->html ? &w->pattern : NULL);
    }
    if (!w->attend || !attend_look_by(w->attend, o->attention, &why) ||
        !attend_mass(w->attend, &w->doc, &w->vectors,
                     bar && w->doc.n >= LONG_INPUT ? show_progress : NULL, NULL, w->mass, &why))
        return complain(why.usage ? EXIT_USAGE : EXIT_FAILURE, why.text, NULL);
    salience_score(&w->doc, &w->vectors, w->mass, w->score);
    if (!summary_choose(&w->summary, w->attend, &w->doc, &w->vectors, w->score, o->words, &why))
        return complain(why.usage ? EXIT_USAGE : EXIT_FAILURE, why.text, NULL);
    return 0;
}

/* Text or JSON. */
static void put_result(const struct report *r, const struct options *o)
{
    if (o->json) {
        output_json(stdout, r);
        return;
    }
    output_text(stdout, r);
    if (o->explain) {
        fputc('\n', stdout);
        output_table(stdout, r);
    }
}

static int print(const struct work *w, const struct options *o)
{
    const struct report report = {
        .doc = &w->doc, .summary = &w->summary, .mass = w->mass, .score = w->score,
        .looks = (const int64_t(*)[LOOKS])w->looks,
        .file = o->file, .device = attend_device(w->attend), .budget = o->words,
        .reading = &w->reading, .all = o->explain,
        .pattern = o->html ? &w->pattern : NULL, .attention = o->attention
    };
    const bool to_stdout = o->html && strcmp(o->html, "-") == 0;
    struct failure why = { .usage = false };

    if (o->html && !to_stdout && !output_html_file(o->html, &report, &why))
        return complain(why.usage ? EXIT_USAGE : EXIT_FAILURE, o->html, why.text);
    if (to_stdout && !output_html(stdout, &report))
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    if (!o->quiet && !to_stdout)
        put_result(&report, o);
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain(EXIT_FAILURE, "cannot write the result", strerror(errno));
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = { .words = 200, .attention = "window" };
    struct work w = { .attend = NULL };
    char *text = NULL;
    size_t size = 0;
    int status = parse(&o, argc, argv);

    if (status != 0)
        return status;
    if (o.help || o.version) {
        if (o.help)
            print_help();
        else
            print_version();
        return 0;
    }
    status = read_text(o.file, &text, &size);
    if (status == 0)
        status = read_blocks(&w, &o, text, size);
    if (status == 0)
        status = analyse(&w, &o);
    if (status == 0)
        status = print(&w, &o);

    summary_finish(&w.summary);
    attend_close(w.attend);
    vectors_finish(&w.vectors);
    document_finish(&w.doc);
    reading_finish(&w.reading);
    pattern_finish(&w.pattern);
    free(w.mass);
    free(w.score);
    free(w.looks);
    free(text);
    return status;
}
