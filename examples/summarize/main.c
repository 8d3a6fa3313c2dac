/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-summarize: prints the sentences of a document that the rest of it attends
 * to. Reading, and the order of the steps. Inside
 * heed's tree meson builds it; anywhere else, against an installed heed:
 * cc -std=c17 -O2 *.c -o heed-summarize $(pkg-config --cflags --libs heed) -lm
 */
#include "abstract.h"
#include "progress.h"
#include "system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ------------------------------------------------------------- */

/* What people call a file. */
static const char *title(const char *file)
{
    return strcmp(file, "-") == 0 ? "standard input" : file;
}

/* At most `most` bytes: a device or a pipe may have no end. */
static int read_all(FILE *from, const char *name, int64_t most, char **text, size_t *size)
{
    const uint64_t wanted = (uint64_t)most + 1;
    size_t capacity = 0, got = 1;

    while (got > 0 && *size < wanted) {
        if (*size == capacity) {
            char *grown;

            capacity = capacity ? capacity * 2 : (size_t)1 << 16;
            grown = capacity > *size ? realloc(*text, capacity) : NULL;
            if (!grown)
                return complain(EXIT_FAILURE, name, "not enough memory");
            *text = grown;
        }
        got = fread(*text + *size, 1, (capacity < wanted ? capacity : wanted) - *size, from);
        *size += got;
    }
    if (ferror(from))
        return complain(EXIT_USAGE, name, strerror(errno));
    if (*size == wanted)
        return complain(EXIT_USAGE, name, "more bytes than --max-bytes allows");
    return 0;
}

static int read_text(const char *name, int64_t most, char **text, size_t *size)
{
    FILE *file;
    int status;

    if (strcmp(name, "-") == 0)
        return read_all(stdin, title(name), most, text, size);
    file = fopen(name, "rb");
    if (!file)
        return complain(EXIT_USAGE, name, strerror(errno));
    status = read_all(file, name, most, text, size);
    fclose(file);
    return status;
}

/* ---- the steps ----------------------------------------------------------- */

struct work {
    struct inputs inputs;
    int64_t bytes;                     /* of all inputs */
    struct document doc;
    struct vectors vectors;
    struct sections sections;
    struct keywords keywords;
    struct summary summary;
    struct attend *attend;
    struct embedding *embedding;
    float *mass, *score, *relevance;
    float (*parts)[SALIENCE_PARTS];
    struct pattern pattern;
    int64_t (*looks)[LOOKS];
};

static void work_finish(struct work *w)
{
    summary_finish(&w->summary);
    sections_finish(&w->sections);
    keywords_finish(&w->keywords);
    attend_close(w->attend);
    embedding_close(w->embedding);
    vectors_finish(&w->vectors);
    document_finish(&w->doc);
    inputs_finish(&w->inputs);
    pattern_finish(&w->pattern);
    free(w->mass);
    free(w->score);
    free(w->relevance);
    free(w->parts);
    free(w->looks);
}

static int read_file(struct work *w, const struct options *o, const char *file)
{
    struct failure why = { .usage = false };
    const struct reading *reading;
    char *text = NULL;
    size_t size = 0;
    const int status = read_text(file, o->max_bytes - w->bytes, &text, &size);

    if (status != 0) {
        free(text);
        return status;
    }
    w->bytes += (int64_t)size;
    progress_enter(PROGRESS_READ);
    if (!inputs_add(&w->inputs, file, o->format, text, size, &why))
        return complain(why.usage ? EXIT_USAGE : EXIT_FAILURE, title(file), why.text);
    progress_clear();
    reading = &w->inputs.list[w->inputs.n - 1].reading;
    if (reading->bad > 0)
        fprintf(stderr, "heed-summarize: %zu bytes are not UTF-8 and are read as U+FFFD\n",
                reading->bad);
    if (reading->format == format_named("markdown") && markdown_remark())
        complain(0, title(file), markdown_remark());
    return 0;
}

/* All that is wrong is said; one wrong file is enough for no summary. */
static int read_files(struct work *w, const struct options *o, char **files, int64_t n)
{
    struct failure why = { .usage = false };
    int status = 0;

    for (int64_t i = 0; i < n && status != EXIT_FAILURE; i++) {
        const int one = read_file(w, o, files[i]);

        status = one ? one : status;
    }
    if (status == 0 && !inputs_join(&w->inputs, &why))
        status = complain(EXIT_FAILURE, why.text, NULL);
    return status;
}

/* Sentences, their vectors and segments. */
static int find_sentences(struct work *w, const struct options *o)
{
    struct failure why = { .usage = false };

    progress_enter(PROGRESS_SPLIT);
    if (!document_split(&w->doc, &w->inputs.all.stream, o->language)) {
        if (w->doc.crowded)
            return complain(EXIT_USAGE, title(w->inputs.list[0].name), text_crowded);
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    }
    progress_words(w->doc.words);
    progress_enter(PROGRESS_WEIGH);
    if (!vectors_build(&w->vectors, &w->doc))
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    if (o->embedder) {
        w->embedding = embedding_open(o->embedder, o->device, &why);
        if (!w->embedding || !embedding_add(w->embedding, &w->vectors, &w->doc, &why))
            return complain(why.usage ? EXIT_USAGE : EXIT_FAILURE, why.text, NULL);
    }
    if (!document_segment(&w->doc, &w->vectors))
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    progress_enter(PROGRESS_ATTEND);
    return 0;
}

/* Scores take in the query. */
static int ask(struct work *w, const struct options *o)
{
    struct failure why = { .usage = false };

    switch (query_add(w->attend, &w->doc, &w->vectors, w->embedding, o->query,
                      strlen(o->query), w->relevance, w->score, &why)) {
    case QUERY_GOOD:
        return 0;
    case QUERY_FAILED:
        return complain(EXIT_FAILURE, why.text, NULL);
    case QUERY_EMPTY:
        return complain_of("--query", "a text with a word that says something", o->query);
    case QUERY_NOT_FOUND:
        return complain(EXIT_NOT_FOUND, w->inputs.n == 1 ? title(w->inputs.list[0].name) : "FILE",
                        "no sentence has a word of the query, nothing is printed");
    }
    return EXIT_FAILURE;
}

static int analyse(struct work *w, const struct options *o)
{
    struct failure why = { .usage = false };
    int status = find_sentences(w, o);

    if (status != 0)
        return status;
    w->mass = calloc((size_t)w->doc.n + 1, sizeof(*w->mass));
    w->score = calloc((size_t)w->doc.n + 1, sizeof(*w->score));
    w->looks = o->explain ? malloc(((size_t)w->doc.n + 1) * sizeof(*w->looks)) : NULL;
    w->parts = o->json ? malloc(((size_t)w->doc.n + 1) * sizeof(*w->parts)) : NULL;
    w->relevance = o->query ? calloc((size_t)w->doc.n + 1, sizeof(*w->relevance)) : NULL;
    if (!w->mass || !w->score || (o->explain && !w->looks) || (o->json && !w->parts) ||
        (o->query && !w->relevance))
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    if (o->html && !o->model && !pattern_create(&w->pattern, w->doc.n))
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    w->attend = attend_open(o->device, &why);
    if (w->attend) {
        attend_tell_looks(w->attend, w->looks);
        attend_tell_pattern(w->attend, o->html && !o->model ? &w->pattern : NULL);
    }
    if (!w->attend ||
        !attend_look_by(w->attend, o->model ? usual_attention : o->attention, &why) ||
        !attend_mass(w->attend, &w->doc, &w->vectors,
                     progress_show, NULL, w->mass, &why))
        return complain(why.usage ? EXIT_USAGE : EXIT_FAILURE, why.text, NULL);
    salience_score(&w->doc, &w->vectors, w->mass, !o->query && o->keywords == 0, w->score,
                   w->parts);
    if (o->query) {
        status = ask(w, o);
        if (status != 0)
            return status;
    }
    if (o->keywords > 0 && !keywords_find(&w->keywords, &w->doc, w->score, o->keywords))
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    if (o->by_section && !sections_find(&w->sections, &w->doc, w->mass))
        return complain(EXIT_FAILURE, "not enough memory", NULL);
    if (!summary_choose(&w->summary, w->attend, &w->doc, &w->vectors, w->score,
                        length_budget(o->length, &w->doc), &w->sections, &why))
        return complain(why.usage ? EXIT_USAGE : EXIT_FAILURE, why.text, NULL);
    return 0;
}

/* Text or JSON; `again`: something was printed before. */
static void put_result(const struct report *r, const struct options *o, bool again)
{
    if (o->json) {
        output_json(stdout, r);
        return;
    }
    if (again)
        fputc('\n', stdout);
    if (o->keywords > 0) {
        output_keywords(stdout, r);
        return;
    }
    output_text(stdout, r);
    if (o->explain) {
        fputc('\n', stdout);
        output_table(stdout, r);
    }
}

/* The page, to where it is wanted. */
static int print_page(const struct report *report, const char *to)
{
    struct failure why = { .usage = false };

    if (strcmp(to, "-") == 0)
        return output_html(stdout, report) ? 0
                                           : complain(EXIT_FAILURE, "not enough memory", NULL);
    if (!output_html_file(to, report, &why))
        return complain(why.usage ? EXIT_USAGE : EXIT_FAILURE, to, why.text);
    return 0;
}

static int printed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return complain(EXIT_FAILURE, "cannot write the result", strerror(errno));
}

static int print(const struct work *w, const struct options *o, bool again)
{
    const struct report report = {
        .doc = &w->doc, .summary = &w->summary, .mass = w->mass, .score = w->score,
        .relevance = w->relevance, .parts = (const float(*)[SALIENCE_PARTS])w->parts,
        .looks = (const int64_t(*)[LOOKS])w->looks,
        .file = w->inputs.list[0].name, .device = attend_device(w->attend), .length = o->length,
        .inputs = &w->inputs, .reading = &w->inputs.all, .sections = &w->sections,
        .keywords = o->keywords > 0 ? &w->keywords : NULL,
        .all = o->explain, .named = o->n_files > 1,
        .pattern = o->html ? &w->pattern : NULL, .attention = o->attention,
        .query = o->query
    };
    const bool to_stdout = o->html && strcmp(o->html, "-") == 0;
    const int status = o->html ? print_page(&report, o->html) : 0;

    if (status == 0 && !to_stdout && !o->quiet)
        put_result(&report, o, again);
    return status ? status : printed();
}

/* The page of what a model wrote. */
static int print_written(const struct work *w, const struct options *o,
                         const struct written *written)
{
    const struct summary marked = {
        .chosen = written->chosen,
        .words = written->text ? utf8_count_words(written->text, 0, written->bytes) : 0
    };
    const struct report report = {
        .doc = &w->doc, .summary = &marked, .written = written, .mass = written->mass,
        .score = written->mass, .file = w->inputs.list[0].name, .device = o->device,
        .inputs = &w->inputs, .reading = &w->inputs.all, .sections = &w->sections,
        .named = o->n_files > 1, .attention = o->attention
    };

    return print_page(&report, o->html);
}

/* In words of its own, by a model. */
static int abstract(struct work *w, const struct options *o, bool again)
{
    int status = o->salient ? analyse(w, o) : find_sentences(w, o);
    struct written written = { .text = NULL };

    attend_close(w->attend);
    w->attend = NULL;
    if (status == 0 && (o->html || o->explain) && !written_begin(&written, w->doc.n))
        status = complain(EXIT_FAILURE, "not enough memory", NULL);
    if (status == 0 && again && !o->json)
        fputc('\n', stdout);
    if (status == 0)
        status = abstract_write(o, &w->doc, w->summary.chosen,
                                o->html || o->explain ? &written : NULL);
    if (status == 0 && o->html)
        status = print_written(w, o, &written);
    written_finish(&written);
    return status ? status : printed();
}

/* One summary of these files. */
static int summarize(const struct options *o, char **files, int64_t n, bool again)
{
    struct work w = { .attend = NULL };
    int status;

    progress_begin();
    status = read_files(&w, o, files, n);
    if (status == 0 && o->model)
        status = abstract(&w, o, again);
    else if (status == 0)
        status = analyse(&w, o);
    progress_end();
    if (status == 0 && !o->model)
        status = print(&w, o, again);
    work_finish(&w);
    return status;
}

/* One each. What is wrong with a file outlasts those that are right; a query need not be found in
 * every file. */
static int summarize_each(const struct options *o)
{
    int status = EXIT_NOT_FOUND;
    bool any = false;

    for (int64_t i = 0; i < o->n_files && status != EXIT_FAILURE; i++) {
        const int one = summarize(o, o->files + i, 1, any);

        any = any || one == 0;
        if (one == EXIT_FAILURE || (one == EXIT_USAGE && status != EXIT_FAILURE))
            status = one;
        else if (one == 0 && status == EXIT_NOT_FOUND)
            status = 0;
    }
    return status;
}

int main(int argc, char **argv)
{
    struct options o;
    int status;

    system_streams();
    if (!options_read(&o, argc, argv, &status))
        return status;
    return o.each ? summarize_each(&o) : summarize(&o, o.files, o.n_files, false);
}
