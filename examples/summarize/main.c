/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-summarize: prints the sentences of a document that the rest of it attends
 * to. Command line, reading, the progress bar, and the order of the steps. Inside
 * heed's tree meson builds it; anywhere else, against an installed heed:
 * cc -std=c17 -O2 *.c -o heed-summarize $(pkg-config --cflags --libs heed) -lm
 */
#define _POSIX_C_SOURCE 200809L    /* isatty */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LONG_INPUT = 4096,             /* sentences; from here on a progress bar */
    BAR_CELLS = 40
};

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

static bool show_progress(void *context, int64_t done, int64_t all)
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
    return true;
}

/* ---- the steps ----------------------------------------------------------- */

struct work {
    struct reading reading;
    struct document doc;
    struct vectors vectors;
    struct summary summary;
    struct attend *attend;
    float *mass, *score, *query;
    float (*parts)[SALIENCE_PARTS];
    int64_t (*looks)[LOOKS];
};

/* What people call a file. */
static const char *title(const char *file)
{
    return strcmp(file, "-") == 0 ? "standard input" : file;
}

static int read_blocks(struct work *w, const struct options *o, const char *text, size_t size)
{
    const char *const name = title(o->files[0]);
    struct failure why = { .usage = false };

    w->reading.format = o->format;
    if (!reading_do(&w->reading, text, size, o->files[0], &why))
        return complain(why.usage ? EXIT_USAGE : EXIT_FAILURE, name, why.text);
    if (w->reading.bad > 0)
        fprintf(stderr, "heed-summarize: %zu bytes are not UTF-8 and are read as U+FFFD\n",
                w->reading.bad);
    if (w->reading.format == format_named("markdown") && markdown_remark())
        complain(0, name, markdown_remark());
    return 0;
}

/* Scores take in the query. */
static int ask(struct work *w, const struct options *o)
{
    struct failure why = { .usage = false };

    switch (query_add(w->attend, &w->doc, &w->vectors, &embedder_tfidf, o->query,
                      strlen(o->query), w->query, w->score, &why)) {
    case QUERY_GOOD:
        return 0;
    case QUERY_FAILED:
        return complain(EXIT_FAILURE, why.text, NULL);
    case QUERY_EMPTY:
        return complain_of("--query", "a text with a word that says something", o->query);
    case QUERY_NOT_FOUND:
        return complain(EXIT_NOT_FOUND, title(o->files[0]),
                        "no sentence has a word of the query; nothing is printed");
    }
    return EXIT_FAILURE;
}

static int analyse(struct work *w, const struct options *o)
{
    struct failure why = { .usage = false };
    const bool bar = isatty(STDERR_FILENO) != 0;
    int status;

    if (!document_split(&w->doc, &w->reading.stream, o->language) ||
        !vectors_build(&w->vectors, &w->doc) || !document_segment(&w->doc, &w->vectors))
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    w->mass = calloc((size_t)w->doc.n + 1, sizeof(*w->mass));
    w->score = calloc((size_t)w->doc.n + 1, sizeof(*w->score));
    w->looks = o->explain ? malloc(((size_t)w->doc.n + 1) * sizeof(*w->looks)) : NULL;
    w->parts = o->json ? malloc(((size_t)w->doc.n + 1) * sizeof(*w->parts)) : NULL;
    w->query = o->query ? calloc((size_t)w->doc.n + 1, sizeof(*w->query)) : NULL;
    if (!w->mass || !w->score || (o->explain && !w->looks) || (o->json && !w->parts) ||
        (o->query && !w->query))
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    w->attend = attend_open(o->device, &why);
    if (w->attend)
        attend_tell_looks(w->attend, w->looks);
    if (!w->attend || !attend_look_by(w->attend, o->attention, &why) ||
        !attend_mass(w->attend, &w->doc, &w->vectors,
                     bar && w->doc.n >= LONG_INPUT ? show_progress : NULL, NULL, w->mass, &why))
        return complain(why.usage ? EXIT_USAGE : EXIT_FAILURE, why.text, NULL);
    salience_score(&w->doc, &w->vectors, w->mass, w->score, w->parts);
    if (o->query) {
        status = ask(w, o);
        if (status != 0)
            return status;
    }
    if (!summary_choose(&w->summary, w->attend, &w->doc, &w->vectors, w->score,
                        length_budget(o->length, &w->doc), &why))
        return complain(why.usage ? EXIT_USAGE : EXIT_FAILURE, why.text, NULL);
    return 0;
}

static int print(const struct work *w, const struct options *o)
{
    const struct report report = {
        .doc = &w->doc, .summary = &w->summary, .mass = w->mass, .score = w->score,
        .looks = (const int64_t(*)[LOOKS])w->looks,
        .file = o->files[0], .device = attend_device(w->attend), .length = o->length,
        .reading = &w->reading, .all = o->explain
    };

    if (o->json) {
        output_json(stdout, &report);
    } else {
        output_text(stdout, &report);
        if (o->explain) {
            fputc('\n', stdout);
            output_table(stdout, &report);
        }
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain(EXIT_FAILURE, "cannot write the result", strerror(errno));
    return 0;
}

int main(int argc, char **argv)
{
    struct options o;
    struct work w = { .attend = NULL };
    char *text = NULL;
    size_t size = 0;
    int status;

    if (!options_read(&o, argc, argv, &status))
        return status;
    status = read_text(o.files[0], &text, &size);
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
    free(w.mass);
    free(w.score);
    free(w.query);
    free(w.parts);
    free(w.looks);
    free(text);
    return status;
}
