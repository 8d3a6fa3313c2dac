/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A row for each option says its name, its help and where its value goes. The form of --help is the
 * one that heed's other programs have, as manual pages and the completion of shells are made of it.
 */
#include "options.h"

#include "abstract.h"
#include "progress.h"

#include <heed/heed.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LENGTH = 1000000, MAX_KEYWORDS = 1000, HELP_COLUMN = 22 };
static const int64_t most_bytes = (int64_t)1 << 40, usual_bytes = (int64_t)1 << 28;

const char usual_attention[] = "window";

/* Takes a value; NULL, or what would be right. */
typedef const char *take_value(struct options *o, const char *value);

struct option {
    const char *name, *value;      /* value NULL: nothing follows */
    const char *help;              /* lines */
    take_value *take;              /* NULL: a bool or a text, which goes to `at` */
    size_t at;                     /* offset in struct options */
};

/* ---- mistakes -------------------------------------------------------------- */

/* Names come from outside too: nothing but printable ASCII reaches the terminal. */
static void put_safely(const char *text)
{
    for (const char *c = text; *c; c++)
        fputc(*c >= ' ' && *c < 0x7F ? *c : '?', stderr);
}

int complain(int status, const char *what, const char *why)
{
    progress_clear();
    fputs("heed-summarize: ", stderr);
    put_safely(what);
    if (why) {
        fputs(": ", stderr);
        put_safely(why);
    }
    fputc('\n', stderr);
    return status;
}

int complain_of(const char *what, const char *wanted, const char *got)
{
    enum { MOST = 80 };
    char start[MOST + 1];

    progress_clear();
    fprintf(stderr, "heed-summarize: %s: wanted %s, got ", what, wanted);
    if (got) {
        snprintf(start, sizeof(start), "%s", got);
        fputc('"', stderr);
        put_safely(start);
        fputs(strlen(got) > MOST ? "...\"\n" : "\"\n", stderr);
    } else {
        fputs("nothing\n", stderr);
    }
    return EXIT_USAGE;
}

/* ---- values ---------------------------------------------------------------- */

/* A whole number from 1 to `most` at *text, which is moved behind it; 0: there is none. */
static int64_t read_number(const char **text, int64_t most)
{
    int64_t value = 0;

    for (; **text >= '0' && **text <= '9'; ++*text) {
        value = value * 10 + (**text - '0');
        if (value > most)
            return 0;
    }
    return value;
}

static const char *take_words(struct options *o, const char *value)
{
    const int64_t number = read_number(&value, MAX_LENGTH);

    if (number == 0 || *value != '\0')
        return "a whole number from 1 to 1000000";
    o->length = (struct length){ number, LENGTH_WORDS };
    o->length_given = true;
    return NULL;
}

static const char *take_keywords(struct options *o, const char *value)
{
    o->keywords = read_number(&value, MAX_KEYWORDS);
    return o->keywords > 0 && *value == '\0' ? NULL : "a whole number from 1 to 1000";
}

/* Bytes, or so many K, M or G of them. */
static const char *take_bytes(struct options *o, const char *value)
{
    static const char units[] = "KMG";
    int64_t number = read_number(&value, most_bytes);
    const char *const unit = *value ? memchr(units, *value, sizeof(units) - 1) : NULL;

    for (const char *c = units; unit && c <= unit && number <= most_bytes; c++)
        number *= 1024;
    if (number == 0 || number > most_bytes || value[unit != NULL] != '\0')
        return "1 to 1024G bytes, such as 5000000, 64K or 2G";
    o->max_bytes = number;
    return NULL;
}

static const char *take_length(struct options *o, const char *value)
{
    const int64_t number = read_number(&value, MAX_LENGTH);
    const char *const unit = *value ? memchr(length_units, *value, LENGTH_UNITS) : NULL;

    if (number == 0 || !unit || value[1] != '\0' || (*unit == '%' && number > 100))
        return "1w to 1000000w, 1s to 1000000s or 1% to 100%";
    o->length = (struct length){ number, (enum length_unit)(unit - length_units) };
    o->length_given = true;
    return NULL;
}

static const char *take_device(struct options *o, const char *value)
{
    o->device = value;
    return *value ? NULL : "a name that heed-info lists";
}

static const char *take_query(struct options *o, const char *value)
{
    o->query = value;
    return *value ? NULL : "a text";
}

static const char *take_memory(struct options *o, const char *value)
{
    o->memory = value;
    return strcmp(value, "compressive") == 0 || strcmp(value, "attentive") == 0
         ? NULL : "compressive or attentive";
}

static const char *take_salient(struct options *o, const char *value)
{
    o->salient = value;
    return strcmp(value, "text") == 0 || strcmp(value, "kv") == 0 ? NULL : "text or kv";
}

static const char *take_format(struct options *o, const char *value)
{
    o->format = format_named(value);
    return o->format ? NULL : "a name that --help lists";
}

static const char *take_language(struct options *o, const char *value)
{
    o->language = language_named(value);
    return o->language ? NULL : "a code that --help lists";
}

/* ---- the table --------------------------------------------------------------- */

#define PUT(member) NULL, offsetof(struct options, member)
#define TAKE(function) function, 0

static const struct option table[] = {
    { "--length", "LENGTH", "at most so much: 150w words, 8s sentences, or 10% of the\n"
      "words (a sentence at least); default 200w", TAKE(take_length) },
    { "--words", "N", "the same as --length Nw", TAKE(take_words) },
    { "--query", "TEXT", "what is said about TEXT; exit status 3 and nothing where FILE has none\n"
      "of its words", TAKE(take_query) },
    { "--keywords", "N", "the N words and pairs of words that say most, a line each, instead of\n"
      "the summary; with --json beside it", TAKE(take_keywords) },
    { "--by-section", NULL, "below each heading its share of the length; a text without headings\n"
      "has a paragraph for each part of about 600 words", PUT(by_section) },
    { "--each", NULL, "of several files a summary each, instead of one of all of them",
      PUT(each) },
    { "--device", "DEVICE", "where heed computes: cpu (default), cpu:avx2, cpu:scalar,\n"
      "reference, ...; heed-info lists them", TAKE(take_device) },
    { "--attention", "ATTENTION", "which others a sentence sees at first, in parts of about 2048\n"
      "sentences; default window", PUT(attention) },
    { "--embedder", "DIR", "sentences are alike by what the encoder in DIR makes of them too, and\n"
      "not by words alone", PUT(embedder) },
    { "--model", "DIR", "what the encoder-decoder in DIR (config.json, model.safetensors,\n"
      "tokenizer.json) writes about FILE, instead of sentences of FILE; --attention\n"
      "then is the model's: full, block:512, longformer:512:1, bigbird:64,\n"
      "lsg:norm:128:128:2:1",
      PUT(model) },
    { "--segments", NULL, "with --model: a summary of each part of FILE that the model can read,\n"
      "however long FILE is, instead of one of its begin", PUT(segments) },
    { "--memory", "KIND", "with --segments: what the model keeps of the parts before, compressive\n"
      "or attentive, of constant size", TAKE(take_memory) },
    { "--salient", "FORM", "with --segments: to each part what says most in the others, as text\n"
      "or as keys and values (kv)", TAKE(take_salient) },
    { "--format", "FORMAT", "how FILE is read, by the list below; default what it looks like",
      TAKE(take_format) },
    { "--language", "CODE", "its language, by the list below; default what it looks like",
      TAKE(take_language) },
    { "--max-bytes", "SIZE", "what FILE, or all files of a summary together, may have; more is\n"
      "refused; default 256M", TAKE(take_bytes) },
    { "--json", NULL, "one JSON object with offsets and scores", PUT(json) },
    { "--explain", NULL, "also list every sentence with its segment and score, and those\n"
      "that it gives most weight to; with --model those that a sentence of the\n"
      "summary looked at", PUT(explain) },
    { "--html", "FILE", "also write a page with the summary, the document and what it attends to,\n"
      "or the model of --model; - is standard output, which then has nothing else", PUT(html) },
    { "--quiet", NULL, "print no summary: the page of --html has it", PUT(quiet) }
};

#undef PUT
#undef TAKE

enum { OPTIONS = sizeof(table) / sizeof(*table) };

/* ---- help -------------------------------------------------------------------- */

static const char help_start[] =
    "usage: heed-summarize [OPTION]... FILE...\n"
    "\n"
    "Prints the sentences of FILE (text or a document; - is standard input) that say most, or of\n"
    "several files together, below the name of each. UTF-8, UTF-16 and windows-1252 (Latin-1) are\n"
    "told apart.\n"
    "\n"
    "Options:\n";
static const char help_end[] =
    "\n"
    "Examples:\n"
    "  heed-summarize --length 60w docs/guide.txt\n"
    "      a long document in a few sentences\n"
    "  heed-summarize --query \"bits and threads\" --length 5s docs/guide.txt\n"
    "      what is said about that, in five sentences\n"
    "  heed-summarize --by-section --length 5% docs/numerics.md\n"
    "      each section's share of it, below its heading\n"
    "  heed-summarize --keywords 10 README.md docs/guide.txt\n"
    "      the words that say most in both\n"
    "  heed-summarize --each --length 1s README.md docs/guide.txt\n"
    "      one sentence of each\n"
    "  heed-summarize --attention longformer --explain docs/guide.txt\n"
    "      every sentence, and what it looks at\n"
    "  heed-summarize --quiet --html guide.html docs/guide.txt\n"
    "      a page for a browser, with links from the summary into the document\n"
    "  heed-summarize --json - <docs/guide.txt\n"
    "      standard input, for a program\n"
    "\n"
    "Exit status:\n"
    "  0 done, 1 out of memory or a failing device or output, 2 wrong usage or a file that\n"
    "  cannot be read or has no text, 3 FILE has no word of --query.\n";

/* "  --name VALUE  help": the help stands in its column, or below a long name. */
static void print_option(const char *name, const char *value, const char *help)
{
    int width = printf("  %s%s%s", name, value ? " " : "", value ? value : "");

    if (width > HELP_COLUMN - 2) {
        putchar('\n');
        width = 0;
    }
    printf("%*s", HELP_COLUMN - width, "");
    for (; *help; help++) {
        putchar(*help);
        if (*help == '\n')
            printf("%*s", HELP_COLUMN, "");
    }
    putchar('\n');
}

static void print_help(void)
{
    const char *what = NULL, *name;
    const struct format *format;
    const struct language *language;

    fputs(help_start, stdout);
    for (size_t i = 0; i < OPTIONS; i++)
        print_option(table[i].name, table[i].value, table[i].help);
    print_option("--version", NULL, "print name, version, how the library was built, and by which\n"
                 "libraries formats are read");
    print_option("-h, --help", NULL, "print this text");
    fputs("\nAttentions, by name, and what a sentence sees:\n", stdout);
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
    const struct format *format;

    printf("heed-summarize %u.%u.%u\n%s", v >> 16, v >> 8 & 255, v & 255, heed_build_text());
    printf("  %-12s %s\n", "models", abstract_library() ? abstract_library()
           : "not read: built without libheed-model");
    for (size_t i = 0; (format = format_at(i)) != NULL; i++) {
        if (format->library)
            printf("  %-12s %s\n", format->name, format->library() ? format->library()
                   : format->apart ? "not read: built without its libraries"
                   : "read as plain text: built without its library");
    }
}

/* ---- reading ------------------------------------------------------------------- */

/* Takes "--name", "--name value" or "--name=value" at argv[*i]; returns an exit status. */
static int take_option(struct options *o, int argc, char **argv, int *i)
{
    const char *const word = argv[*i], *const sign = strchr(word, '=');
    const size_t length = sign ? (size_t)(sign - word) : strlen(word);
    const struct option *row = NULL;
    const char *value = sign ? sign + 1 : NULL, *wanted;
    char *at;

    for (size_t k = 0; k < OPTIONS && !row; k++) {
        if (strlen(table[k].name) == length && strncmp(table[k].name, word, length) == 0)
            row = &table[k];
    }
    if (!row)
        return complain_of("option", "one that heed-summarize --help lists", word);
    at = (char *)o + row->at;
    if (!row->value) {
        if (value)
            return complain_of(row->name, "no value", value);
        *(bool *)(void *)at = true;
        return 0;
    }
    if (!value && *i + 1 < argc)
        value = argv[++*i];
    if (row->take) {
        wanted = row->take(o, value ? value : "");
        return wanted ? complain_of(row->name, wanted, value) : 0;
    }
    memcpy(at, &value, sizeof(value));
    return value && *value ? 0 : complain_of(row->name, row->value, value);
}

/* How often standard input is read. */
static int64_t inputs_of(const struct options *o)
{
    int64_t found = 0;

    for (int64_t i = 0; i < o->n_files; i++)
        found += strcmp(o->files[i], "-") == 0;
    return found;
}

/* What --help and --version print is a result like any other. */
static int told(void)
{
    return fflush(stdout) == 0 && !ferror(stdout)
               ? 0 : complain(EXIT_FAILURE, "cannot write the text", strerror(errno));
}

/* What chooses sentences, or shows how, has no meaning where a model writes. */
static int check_model(const struct options *o)
{
    const struct {
        const char *name;
        bool given;
    } others[] = { { "--query", o->query != NULL }, { "--keywords", o->keywords > 0 },
                   { "--by-section", o->by_section },
                   { "--length", o->length_given } };

    if (!o->model && o->segments)
        return complain_of("--segments", "--model DIR beside it", NULL);
    if (!o->segments && (o->memory || o->salient))
        return complain_of(o->memory ? "--memory" : "--salient", "--segments beside it", NULL);
    if (o->memory && o->salient && strcmp(o->salient, "kv") == 0)
        return complain_of("--memory", "no --salient kv beside it", o->memory);
    if (!o->model)
        return 0;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (others[i].given)
            return complain_of(others[i].name, "no --model beside it", o->model);
    return 0;
}

bool options_read(struct options *o, int argc, char **argv, int *status)
{
    bool only_files = false;

    *o = (struct options){
        .files = argv, .attention = usual_attention, .length = { 200, LENGTH_WORDS },
        .max_bytes = usual_bytes
    };
    *status = 0;
    for (int i = 1; i < argc && *status == 0; i++) {
        char *const word = argv[i];

        if (only_files || word[0] != '-' || strcmp(word, "-") == 0) {
            o->files[o->n_files++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_files = true;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            print_help();
            *status = told();
            return false;
        } else if (strcmp(word, "--version") == 0) {
            print_version();
            *status = told();
            return false;
        } else {
            *status = take_option(o, argc, argv, &i);
        }
    }
    if (*status == 0 && o->n_files == 0)
        *status = complain_of("FILE", "one, or - for standard input (see --help)", NULL);
    if (*status == 0 && inputs_of(o) > 1)
        *status = complain_of("FILE", "standard input once", "-");
    if (*status == 0 && o->html && strcmp(o->html, "-") == 0 && o->json)
        *status = complain_of("--html", "a file, as --json takes standard output", o->html);
    if (*status == 0 && o->quiet && !o->html)
        *status = complain_of("--quiet", "--html FILE beside it", NULL);
    if (*status == 0)
        *status = check_model(o);
    if (*status == 0 && o->html && o->each)
        *status = complain_of("--html", "one summary, without --each", o->html);
    return *status == 0;
}
