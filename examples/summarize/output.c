/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What people read: the summary as wrapped text, and the table behind it. Every
 * character that came from the document is decoded and put out again, so that bytes
 * that are not UTF-8, control characters and direction marks never reach a terminal.
 */
#include "summarize.h"

#include <string.h>

enum {
    LINE_COLUMNS = 79,
    TEXT_COLUMNS = 40,             /* of the table's last column */
    WORD_BYTES = 4096              /* longer words are put out in parts */
};

/* Words of a line, wrapped between words and beside ideographs. */
struct line {
    FILE *to;
    char word[WORD_BYTES + 8];
    size_t bytes;
    int columns, used;             /* of the word, of the line so far */
    bool spaced;                   /* a space comes before the word */
};

static void put_word(struct line *l)
{
    const int gap = l->spaced && l->used > 0 ? 1 : 0;

    if (l->bytes == 0)
        return;
    if (l->used > 0 && l->used + gap + l->columns > LINE_COLUMNS) {
        fputc('\n', l->to);
        l->used = 0;
    } else if (gap) {
        fputc(' ', l->to);
        l->used++;
    }
    fwrite(l->word, 1, l->bytes, l->to);
    l->used += l->columns;
    l->bytes = 0;
    l->columns = 0;
    l->spaced = false;
}

static void add_code(struct line *l, uint32_t code)
{
    if (l->bytes >= WORD_BYTES)
        put_word(l);
    l->bytes += utf8_put(code, l->word + l->bytes);
    l->columns += utf8_columns(code);
}

/* Adds the text of a range as words, at most `limit` of them; false if it has more. */
static bool add_range(struct line *l, const char *text, size_t begin, size_t end, int64_t limit)
{
    int64_t words = 0;
    bool inside = false;
    size_t taken;

    for (size_t i = begin; i < end; i += taken) {
        const uint32_t code = utf8_next(text + i, text + end, &taken);
        const bool ideograph = utf8_is_ideograph(code);

        if (utf8_is_space(code)) {
            put_word(l);
            l->spaced = true;
            inside = false;
            continue;
        }
        if (!inside || ideograph) {
            if (words == limit)
                return false;
            words++;
        }
        if (ideograph)
            put_word(l);
        inside = !ideograph;
        add_code(l, code);
    }
    return true;
}

static void end_line(struct line *l)
{
    put_word(l);
    if (l->used > 0)
        fputc('\n', l->to);
    l->used = 0;
    l->spaced = false;
}

/* Scripts without spaces have none between sentences. */
static bool wide_between(const struct document *doc, int64_t before, const struct sentence *s)
{
    size_t end, taken;

    if (before < 0 || !utf8_is_wide(utf8_next(doc->text + s->begin, doc->text + s->end, &taken)))
        return false;
    end = doc->sentences[before].end;
    return end >= 3 && utf8_is_wide(utf8_next(doc->text + end - 3, doc->text + end, &taken));
}

void output_text(FILE *to, const struct report *r)
{
    const struct document *const doc = r->doc;
    int64_t before = -1;
    struct line l = { .to = to };

    for (int64_t i = 0; i < doc->n; i++) {
        const struct sentence *const s = &doc->sentences[i];
        const int64_t limit = r->summary->cut > 0 ? r->summary->cut : INT64_MAX;

        if (!r->summary->chosen[i])
            continue;
        /* A speaker begins a line; what follows another speaker's turn does too. */
        if (before >= 0 && (s->label_words > 0 || doc->sentences[before].label_words > 0) &&
            doc->sentences[before].turn != s->turn)
            end_line(&l);
        if (r->summary->cut == 0 && summary_names_speaker(doc, i, before)) {
            add_range(&l, doc->text, s->label_begin, s->label_end, INT64_MAX);
            add_code(&l, ':');
        }
        put_word(&l);
        l.spaced = !wide_between(doc, before, s);
        if (!add_range(&l, doc->text, s->begin, s->end, limit)) {
            if (l.bytes == 0)
                l.spaced = false;
            add_code(&l, 0x2026);
        }
        before = i;
    }
    end_line(&l);
}

/* The start of a sentence in at most TEXT_COLUMNS columns. */
static void put_start(FILE *to, const struct document *doc, const struct sentence *s)
{
    int used = 0;
    bool space = false;
    size_t taken;

    for (size_t i = s->begin; i < s->end; i += taken) {
        const uint32_t code = utf8_next(doc->text + i, doc->text + s->end, &taken);
        char bytes[4];

        if (utf8_is_space(code)) {
            space = true;
            continue;
        }
        if (used + space + utf8_columns(code) > TEXT_COLUMNS) {
            fputs("...", to);
            break;
        }
        if (space)
            fputc(' ', to);
        used += space + utf8_columns(code);
        space = false;
        fwrite(bytes, 1, utf8_put(code, bytes), to);
    }
}

/* The sentences that sentence i gives most weight to, in 20 columns or more. */
static void put_looks(FILE *to, const struct report *r, int64_t i)
{
    int used = 0;

    for (int k = 0; k < LOOKS && r->looks && r->looks[i][k] >= 0; k++)
        used += fprintf(to, "%s%lld", k > 0 ? " " : "", (long long)r->looks[i][k] + 1);
    fprintf(to, "%*s  ", used < 20 ? 20 - used : 0, "");
}

void output_table(FILE *to, const struct report *r)
{
    const struct document *const doc = r->doc;

    fprintf(to, "  %8s %8s %6s %9s %9s  %-20s  %s\n", "sentence", "segment", "words", "mass",
            "score", "looks at", "text");
    for (int64_t i = 0; i < doc->n; i++) {
        const struct sentence *const s = &doc->sentences[i];

        fprintf(to, "%c %8lld %8lld %6lld %9.4f %9.4f  ", r->summary->chosen[i] ? '*' : ' ',
                (long long)i + 1, (long long)s->segment + 1, (long long)s->words,
                (double)r->mass[i], (double)r->score[i]);
        put_looks(to, r, i);
        put_start(to, doc, s);
        fputc('\n', to);
    }
}
