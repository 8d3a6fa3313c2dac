/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What programs read: one JSON object (RFC 8259), valid UTF-8 whatever the input.
 * Offsets are bytes of the file. Sentences, segments and turns (paragraphs, or what
 * one speaker says at a time) count from 0.
 */
#include "read.h"

#include <math.h>
#include <string.h>

/* What a terminal would obey stays what it is, in ASCII. */
static void put_code(FILE *to, uint32_t code)
{
    char bytes[4];

    if (utf8_is_hidden(code) && code >= 0x10000) {
        fprintf(to, "\\u%04x\\u%04x", (unsigned)(0xD7C0 + (code >> 10)),
                (unsigned)(0xDC00 | (code & 0x3FF)));
    } else if (utf8_is_hidden(code)) {
        fprintf(to, "\\u%04x", (unsigned)code);
    } else {
        if (code == '"' || code == '\\')
            fputc('\\', to);
        fwrite(bytes, 1, utf8_put(code, bytes), to);
    }
}

/* The inside of a string. White space of any sort becomes one space. */
static void put_range(FILE *to, const char *text, size_t begin, size_t end)
{
    bool space = false, any = false;
    size_t taken;

    for (size_t i = begin; i < end; i += taken) {
        const uint32_t code = utf8_next(text + i, text + end, &taken);

        if (utf8_is_space(code)) {
            space = any;
            continue;
        }
        if (space)
            fputc(' ', to);
        put_code(to, code);
        space = false;
        any = true;
    }
}

/* A name as it is, with all its blanks. What is no UTF-8 becomes U+FFFD. */
void output_json_string(FILE *to, const char *text)
{
    const char *const end = text + strlen(text);
    size_t taken;

    fputc('"', to);
    for (; text < end; text += taken)
        put_code(to, utf8_next(text, end, &taken));
    fputc('"', to);
}

static void put_number(FILE *to, const char *name, double x)
{
    if (isfinite(x))
        fprintf(to, "\"%s\": %.6g", name, x + 0.0);       /* without the sign of -0 */
    else
        fprintf(to, "\"%s\": null", name);
}

/* Why a sentence was chosen: its rank, and what its score is the sum of. */
static void put_reasons(FILE *to, const struct report *r, int64_t i)
{
    if (r->summary->chosen[i])
        fprintf(to, "\"rank\": %lld, ", (long long)r->summary->rank[i]);
    if (!r->parts)
        return;
    fputs("\"reasons\": {", to);
    for (int k = 0; k < SALIENCE_PARTS; k++) {
        put_number(to, salience_names[k], (double)r->parts[i][k]);
        fputs(k + 1 < SALIENCE_PARTS ? ", " : "", to);
    }
    if (r->relevance) {
        fputs(", ", to);
        put_number(to, "query", (double)r->relevance[i]);
    }
    if (r->summary->chosen[i]) {
        fputs(", ", to);
        put_number(to, "likeness", -(double)r->summary->likeness[i]);
    }
    fputs("}, ", to);
}

static void put_looks(FILE *to, const struct report *r, int64_t i)
{
    if (!r->looks)
        return;
    fputs("\"looks_at\": [", to);
    for (int k = 0; k < LOOKS && r->looks[i][k] >= 0; k++)
        fprintf(to, "%s%lld", k > 0 ? ", " : "", (long long)r->looks[i][k]);
    fputs("], ", to);
}

/* Offsets of one file after another are asked for in ascending order. */
struct place {
    int64_t file;
    struct walk walk;
};

static void put_sentence(FILE *to, const struct report *r, int64_t i, int64_t before,
                         struct place *place)
{
    const struct document *const doc = r->doc;
    const struct sentence *const s = &doc->sentences[i];
    const bool cut = r->summary->chosen[i] && r->summary->cut > 0;
    const size_t end = summary_end(r->summary, doc, s);
    const int64_t file = inputs_file(r->inputs, s->begin);
    size_t from;

    if (file != place->file)
        *place = (struct place){ .file = file };
    from = inputs_origin(r->inputs, file, s->begin, &place->walk);
    fprintf(to, "    {\"index\": %lld, ", (long long)i);
    if (r->inputs->n > 1)
        fprintf(to, "\"file\": %lld, ", (long long)file);
    if (r->sections && r->sections->n > 0)
        fprintf(to, "\"section\": %lld, ", (long long)sections_of(r->sections, i));
    fprintf(to, "\"begin\": %zu, \"end\": %zu, \"segment\": %lld, "
            "\"turn\": %lld, \"words\": %lld, ", from,
            inputs_end(r->inputs, file, end, &place->walk),
            (long long)s->segment, (long long)s->turn,
            (long long)(cut ? r->summary->words : s->words));
    put_number(to, "mass", (double)r->mass[i]);
    fputs(", ", to);
    put_number(to, "score", (double)r->score[i]);
    fprintf(to, ", \"chosen\": %s, ", r->summary->chosen[i] ? "true" : "false");
    if (r->all)
        fprintf(to, "\"candidate\": %s, \"item\": %s, \"needs\": %d, ",
                s->candidate ? "true" : "false", s->item ? "true" : "false", s->needs);
    if (s->label_words > 0) {
        fputs("\"speaker\": \"", to);
        put_range(to, doc->text, s->label_begin, s->label_end);
        fprintf(to, "\", \"named\": %s, ",
                r->summary->chosen[i] && !cut && summary_names_speaker(doc, i, before)
                ? "true" : "false");
    }
    put_reasons(to, r, i);
    put_looks(to, r, i);
    fputs("\"text\": \"", to);
    put_range(to, doc->text, s->begin, end);
    fputs(cut && end < s->end ? "\xE2\x80\xA6\"}" : "\"}", to);
}

/* One file is "document" itself; several are listed. */
static void put_files(FILE *to, const struct report *r)
{
    fputs(",\n  \"files\": [", to);
    for (int64_t k = 0; k < r->inputs->n; k++) {
        const struct reading *const one = &r->inputs->list[k].reading;

        fputs(k > 0 ? ",\n    {\"file\": " : "\n    {\"file\": ", to);
        output_json_string(to, r->inputs->list[k].name);
        fprintf(to, ", \"bytes\": %zu, \"bad_bytes\": %zu, \"format\": \"%s\", "
                "\"encoding\": \"%s\"}", one->size, one->bad, one->format->name,
                encoding_name(one->encoding));
    }
    fputs("\n  ]", to);
}

static void put_document(FILE *to, const struct report *r)
{
    const struct document *const doc = r->doc;
    const struct reading *const all = r->reading;

    fprintf(to, ",\n  \"document\": {\"bytes\": %zu, \"bad_bytes\": %zu, ", all->size, all->bad);
    if (r->inputs->n == 1)
        fprintf(to, "\"format\": \"%s\", \"encoding\": \"%s\", ", all->format->name,
                encoding_name(all->encoding));
    fprintf(to, "\"language\": \"%s\", \"words\": %lld, \"sentences\": %lld, "
            "\"segments\": %lld}", language_code(doc->language, NULL), (long long)doc->words,
            (long long)doc->n, (long long)doc->n_segments);
}

/* Sentences [begin, end) of each; a heading is what stands before them. */
static void put_sections(FILE *to, const struct report *r)
{
    const struct document *const doc = r->doc;

    fputs(",\n  \"sections\": [", to);
    for (int64_t k = 0; k < r->sections->n; k++) {
        const struct section *const s = &r->sections->list[k];

        fprintf(to, "%s\n    {\"begin\": %lld, \"end\": %lld, ", k > 0 ? "," : "",
                (long long)s->begin, (long long)s->end);
        put_number(to, "share", s->share);
        fputs(", \"heading\": ", to);
        if (s->begin > s->heading) {
            fputc('"', to);
            put_range(to, doc->text, doc->sentences[s->heading].begin,
                      doc->sentences[s->begin - 1].end);
            fputs("\"}", to);
        } else {
            fputs("null}", to);
        }
    }
    fputs("\n  ]", to);
}

static void put_keywords(FILE *to, const struct report *r)
{
    fputs(",\n  \"keywords\": [", to);
    for (int64_t k = 0; k < r->keywords->n; k++) {
        const struct keyword *const one = &r->keywords->list[k];

        fputs(k > 0 ? ",\n    {\"text\": \"" : "\n    {\"text\": \"", to);
        put_range(to, r->doc->text, one->begin, one->end);
        fprintf(to, "\", \"count\": %lld, ", (long long)one->count);
        put_number(to, "score", one->score);
        fputc('}', to);
    }
    fputs("\n  ]", to);
}

void output_json(FILE *to, const struct report *r)
{
    const struct document *const doc = r->doc;
    struct place place = { .file = 0 };
    int64_t before = -1;
    bool first = true;

    fputs("{\n  \"file\": ", to);
    output_json_string(to, r->file);
    fputs(",\n  \"device\": ", to);
    output_json_string(to, r->device);
    fprintf(to, ",\n  \"length\": \"%lld%c\",\n  \"words\": %lld", (long long)r->length.number,
            length_units[r->length.unit], (long long)r->summary->words);
    put_document(to, r);
    if (r->inputs->n > 1)
        put_files(to, r);
    if (r->sections && r->sections->n > 0)
        put_sections(to, r);
    if (r->keywords)
        put_keywords(to, r);
    fputs(",\n  \"sentences\": [", to);
    for (int64_t i = 0; i < doc->n; i++) {
        if (!r->summary->chosen[i] && !r->all)
            continue;
        fputs(first ? "\n" : ",\n", to);
        first = false;
        put_sentence(to, r, i, before, &place);
        if (r->summary->chosen[i])
            before = i;
    }
    fputs(first ? "]\n}\n" : "\n  ]\n}\n", to);
}
