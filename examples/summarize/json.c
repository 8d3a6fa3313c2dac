/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What programs read: one JSON object (RFC 8259), valid UTF-8 whatever the input.
 * Offsets are bytes of the file. Sentences, segments and turns (paragraphs, or what
 * one speaker says at a time) count from 0.
 */
#include "read.h"

#include <math.h>

/* The inside of a string. White space of any sort becomes one space. */
static void put_range(FILE *to, const char *text, size_t begin, size_t end)
{
    bool space = false, any = false;
    size_t taken;

    for (size_t i = begin; i < end; i += taken) {
        const uint32_t code = utf8_next(text + i, text + end, &taken);
        char bytes[4];

        if (utf8_is_space(code)) {
            space = any;
            continue;
        }
        if (space)
            fputc(' ', to);
        if (code == '"' || code == '\\')
            fputc('\\', to);
        fwrite(bytes, 1, utf8_put(code, bytes), to);
        space = false;
        any = true;
    }
}

static void put_string(FILE *to, const char *text)
{
    size_t end = 0;

    while (text[end] != '\0')
        end++;
    fputc('"', to);
    put_range(to, text, 0, end);
    fputc('"', to);
}

static void put_number(FILE *to, const char *name, double x)
{
    if (isfinite(x))
        fprintf(to, "\"%s\": %.6g", name, x);
    else
        fprintf(to, "\"%s\": null", name);
}

/* The offset behind the first `words` words of a sentence. */
static size_t cut_end(const char *text, const struct sentence *s, int64_t words)
{
    size_t end = s->begin, taken;

    for (size_t i = s->begin; i < s->end; i += taken) {
        utf8_next(text + i, text + s->end, &taken);
        if (utf8_count_words(text, s->begin, i + taken) > words)
            break;
        end = i + taken;
    }
    return end;
}

static void put_sentence(FILE *to, const struct report *r, int64_t i, int64_t before,
                         struct walk *walk)
{
    const struct document *const doc = r->doc;
    const struct sentence *const s = &doc->sentences[i];
    const bool cut = r->summary->chosen[i] && r->summary->cut > 0;
    const size_t end = cut ? cut_end(doc->text, s, r->summary->cut) : s->end;
    const size_t from = reading_origin(r->reading, s->begin, walk);

    fprintf(to, "    {\"index\": %lld, \"begin\": %zu, \"end\": %zu, \"segment\": %lld, "
            "\"turn\": %lld, \"words\": %lld, ", (long long)i, from,
            reading_end(r->reading, end, walk),
            (long long)s->segment, (long long)s->turn,
            (long long)(cut ? r->summary->words : s->words));
    put_number(to, "mass", (double)r->mass[i]);
    fputs(", ", to);
    put_number(to, "score", (double)r->score[i]);
    fprintf(to, ", \"chosen\": %s, ", r->summary->chosen[i] ? "true" : "false");
    if (s->label_words > 0) {
        fputs("\"speaker\": \"", to);
        put_range(to, doc->text, s->label_begin, s->label_end);
        fprintf(to, "\", \"named\": %s, ",
                r->summary->chosen[i] && !cut && summary_names_speaker(doc, i, before)
                ? "true" : "false");
    }
    if (r->looks) {
        fputs("\"looks_at\": [", to);
        for (int k = 0; k < LOOKS && r->looks[i][k] >= 0; k++)
            fprintf(to, "%s%lld", k > 0 ? ", " : "", (long long)r->looks[i][k]);
        fputs("], ", to);
    }
    fputs("\"text\": \"", to);
    put_range(to, doc->text, s->begin, end);
    fputs(cut && end < s->end ? "\xE2\x80\xA6\"}" : "\"}", to);
}

void output_json(FILE *to, const struct report *r)
{
    const struct document *const doc = r->doc;
    struct walk walk = { 0 };
    int64_t before = -1;
    bool first = true;

    fputs("{\n  \"file\": ", to);
    put_string(to, r->file);
    fputs(",\n  \"device\": ", to);
    put_string(to, r->device);
    fprintf(to, ",\n  \"length\": \"%lld%c\",\n  \"words\": %lld,\n  \"document\": {"
            "\"bytes\": %zu, \"bad_bytes\": %zu, \"format\": \"%s\", "
            "\"encoding\": \"%s\", \"language\": \"%s\", \"words\": %lld, \"sentences\": %lld, "
            "\"segments\": %lld},\n  \"sentences\": [", (long long)r->length.number,
            length_units[r->length.unit],
            (long long)r->summary->words,
            r->reading->size, r->reading->bad, r->reading->format->name,
            encoding_name(r->reading->encoding), language_code(doc->language, NULL),
            (long long)doc->words, (long long)doc->n, (long long)doc->n_segments);
    for (int64_t i = 0; i < doc->n; i++) {
        if (!r->summary->chosen[i] && !r->all)
            continue;
        fputs(first ? "\n" : ",\n", to);
        first = false;
        put_sentence(to, r, i, before, &walk);
        if (r->summary->chosen[i])
            before = i;
    }
    fputs(first ? "]\n}\n" : "\n  ]\n}\n", to);
}
