/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What people read: the summary as wrapped text, and the table behind it. Every
 * character that came from the document is decoded and put out again, so that bytes
 * that are not UTF-8, control characters and direction marks never reach a terminal.
 */
#include "read.h"

#include <string.h>

enum {
    LINE_COLUMNS = 79,
    TEXT_COLUMNS = 40,             /* of the table's last column */
    WORD_BYTES = 4096              /* longer words are put out in parts */
};

/* Words of a line, wrapped between words and beside ideographs. */
struct row {
    FILE *to;
    char word[WORD_BYTES + 8];
    size_t bytes;
    int columns, used;             /* of the word, of the line so far */
    bool spaced;                   /* a space comes before the word */
};

static void put_word(struct row *l)
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

static void add_code(struct row *l, uint32_t code)
{
    if (l->bytes >= WORD_BYTES)
        put_word(l);
    l->bytes += utf8_put(code, l->word + l->bytes);
    l->columns += utf8_columns(code);
}

/* Adds the text of a range as words, at most `limit` of them; false if it has more. */
static bool add_range(struct row *l, const char *text, size_t begin, size_t end, int64_t limit)
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

static void end_line(struct row *l)
{
    put_word(l);
    if (l->used > 0)
        fputc('\n', l->to);
    l->used = 0;
    l->spaced = false;
}

static void put_blank(struct row *l)
{
    end_line(l);
    fputc('\n', l->to);
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

/* What stands between two sentences that follow each other in the summary. */
enum gap { GAP_NONE, GAP_LEFT_OUT, GAP_LINE, GAP_BLANK };

/* Within a block what was left out is marked. A block is far away when a segment lies between. */
static enum gap gap_between(const struct document *doc, int64_t before, int64_t i)
{
    const struct sentence *const b = &doc->sentences[before], *const s = &doc->sentences[i];

    if (b->turn == s->turn)
        return i == before + 1 ? GAP_NONE : GAP_LEFT_OUT;
    if (s->segment - b->segment > 1)
        return GAP_BLANK;
    /* A speaker begins a line; what follows another speaker's turn does too. */
    return s->label_words > 0 || b->label_words > 0 ? GAP_LINE : GAP_NONE;
}

static void put_left_out(struct row *l)
{
    put_word(l);
    l->spaced = true;
    add_code(l, '[');
    add_code(l, 0x2026);
    add_code(l, ']');
    put_word(l);
}

/* A line of its own, "# a heading"; `any`: something stands above. */
static void put_heading(struct row *l, const char *mark, const char *text, size_t begin,
                        size_t end, bool any)
{
    end_line(l);
    if (any)
        fputc('\n', l->to);
    for (; *mark; mark++)
        add_code(l, (uint32_t)*mark);
    put_word(l);
    l->spaced = true;
    add_range(l, text, begin, end, INT64_MAX);
    end_line(l);
}

/* Headings of a file or a section that begins with sentence i; false: there are none. */
static bool put_headings(struct row *l, const struct report *r, int64_t before, int64_t i)
{
    const struct document *const doc = r->doc;
    const struct sentence *const list = doc->sentences;
    const int64_t file = r->named ? inputs_file(r->inputs, list[i].begin) : -1;
    const int64_t section = r->sections ? sections_of(r->sections, i) : -1;
    bool any = before >= 0, changed = false;

    if (file >= 0 && (before < 0 || inputs_file(r->inputs, list[before].begin) != file)) {
        const char *const name = r->inputs->list[file].name;

        put_heading(l, "#", name, 0, strlen(name), any);
        changed = true;
    }
    if (section >= 0 && (changed || before < 0 || sections_of(r->sections, before) != section)) {
        const struct section *const s = &r->sections->list[section];

        if (s->begin > s->heading)
            put_heading(l, "##", doc->text, list[s->heading].begin, list[s->begin - 1].end,
                        any || changed);
        else if (any && !changed)
            put_blank(l);
        changed = true;
    }
    return changed;
}

static void put_gap(struct row *l, enum gap gap, bool wide)
{
    if (gap == GAP_LEFT_OUT)
        put_left_out(l);
    if (gap == GAP_LINE)
        end_line(l);
    if (gap == GAP_BLANK)
        put_blank(l);
    put_word(l);
    l->spaced = !wide || gap == GAP_LEFT_OUT;
}

void output_keywords(FILE *to, const struct report *r)
{
    struct row l = { .to = to };

    if (r->named && r->inputs->n == 1)
        put_heading(&l, "#", r->file, 0, strlen(r->file), false);
    for (int64_t i = 0; i < r->keywords->n; i++) {
        add_range(&l, r->doc->text, r->keywords->list[i].begin, r->keywords->list[i].end,
                  INT64_MAX);
        end_line(&l);
    }
}

void output_text(FILE *to, const struct report *r)
{
    const struct document *const doc = r->doc;
    const int64_t limit = r->summary->cut > 0 ? r->summary->cut : INT64_MAX;
    int64_t before = -1;
    struct row l = { .to = to };

    for (int64_t i = 0; i < doc->n; i++) {
        const struct sentence *const s = &doc->sentences[i];
        bool headed;

        if (!r->summary->chosen[i])
            continue;
        headed = put_headings(&l, r, before, i);
        if (before >= 0 && !headed)
            put_gap(&l, gap_between(doc, before, i), wide_between(doc, before, s));
        if (r->summary->cut == 0 && summary_names_speaker(doc, i, before)) {
            add_range(&l, doc->text, s->label_begin, s->label_end, INT64_MAX);
            add_code(&l, ':');
            put_word(&l);
            l.spaced = true;
        }
        if (!add_range(&l, doc->text, s->begin, s->end, limit)) {
            if (l.bytes == 0)
                l.spaced = false;
            add_code(&l, 0x2026);
        }
        before = i;
    }
    end_line(&l);
}

void output_words(FILE *to, const char *text, size_t bytes)
{
    struct row l = { .to = to };

    add_range(&l, text, 0, bytes, INT64_MAX);
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
