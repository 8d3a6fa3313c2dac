/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks to sentences, and which of them a summary may have: whole sentences of paragraphs, turns
 * and lists. Headings are read as context and never printed; quotes, code, tables and furniture are
 * not read. Where that would leave nothing, the next best is taken: text that knows no marks, then
 * headings, then whatever there is.
 */
#include "language.h"
#include "read.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER(x)  #x
#define IN_WORDS(x) NUMBER(x)
const char text_crowded[] = "this is no text: of its parts " IN_WORDS(TEXT_CROWDED)
                            " have fewer than " IN_WORDS(TEXT_BYTES) " bytes each";
#undef IN_WORDS
#undef NUMBER

/* How much a kind of block says to the reader of a summary. */
enum { PROSE = 2, CONTEXT = 1, LEFT_OUT = 0 };

static const int worth_of[BLOCK_KINDS] = {
    [BLOCK_PARAGRAPH] = PROSE, [BLOCK_TURN] = PROSE, [BLOCK_ITEM] = PROSE,
    [BLOCK_HEADING] = CONTEXT, [BLOCK_QUOTE] = LEFT_OUT, [BLOCK_CODE] = LEFT_OUT,
    [BLOCK_TABLE] = LEFT_OUT, [BLOCK_FURNITURE] = LEFT_OUT
};

static bool add_sentence(struct document *doc, struct sentence s)
{
    s.begin = (size_t)(line_skip_space(doc->text + s.begin, doc->text + s.end) - doc->text);
    s.end = (size_t)(line_trim(doc->text + s.begin, doc->text + s.end) - doc->text);
    if (s.begin >= s.end)
        return true;
    if (doc->n >= TEXT_CROWDED && s.begin / TEXT_BYTES < (size_t)doc->n) {
        doc->crowded = true;
        return false;
    }
    if (doc->n == INT32_MAX - 1)
        return false;
    if (doc->n == doc->capacity) {
        const int64_t capacity = doc->capacity ? doc->capacity * 2 : 256;
        struct sentence *const grown =
            realloc(doc->sentences, (size_t)capacity * sizeof(*grown));

        if (!grown)
            return false;
        doc->sentences = grown;
        doc->capacity = capacity;
    }
    s.words = (int32_t)utf8_count_words(doc->text, s.begin, s.end);
    s.label_words = (int32_t)utf8_count_words(doc->text, s.label_begin, s.label_end);
    doc->words += s.words;
    doc->sentences[doc->n++] = s;
    return true;
}

static bool split_block(struct document *doc, const struct block *b, int32_t turn)
{
    struct sentence s = {
        .begin = b->text_begin, .label_begin = b->label_begin, .label_end = b->label_end,
        .turn = turn, .worth = (int8_t)worth_of[b->kind], .first = b->first,
        .item = b->kind == BLOCK_ITEM,
        .spoken = b->kind == BLOCK_TURN || b->label_end > b->label_begin
    };
    bool cut = false, before;

    while (s.begin < b->end) {
        before = cut;
        s.end = sentence_end(doc->language, doc->text, s.begin, b->end, &cut);
        s.part = cut || before;
        s.marked = line_ends_sentence(doc->text + s.begin, doc->text + s.end);
        if (!add_sentence(doc, s))
            return false;
        s.begin = s.end;
    }
    return true;
}

/* The language of the blocks that are worth most. */
static bool find_language(struct document *doc, const struct stream *s, int least)
{
    size_t (*const ranges)[2] = malloc(((size_t)s->n + 1) * sizeof(*ranges));
    int64_t n = 0;

    if (!ranges)
        return false;
    for (int64_t i = 0; i < s->n; i++) {
        if (worth_of[s->blocks[i].kind] >= least) {
            ranges[n][0] = s->blocks[i].text_begin;
            ranges[n++][1] = s->blocks[i].end;
        }
    }
    doc->language = language_find(doc->text, (const size_t(*)[2])ranges, n);
    free(ranges);
    return true;
}

/* Whether a text has few marks, so that sentences are none by them: lists, which often have none,
 * are not asked unless they are nearly all. */
static bool has_few_marks(const struct document *doc)
{
    int64_t prose[2] = { 0 }, marked[2] = { 0 };

    for (int64_t i = 0; i < doc->n; i++) {
        const struct sentence *const s = &doc->sentences[i];

        prose[s->item] += s->worth == PROSE;
        marked[s->item] += s->worth == PROSE && s->marked;
    }
    if (prose[false] * 8 > prose[true])
        return marked[false] * 4 < prose[false];
    return (marked[false] + marked[true]) * 4 < prose[false] + prose[true];
}

/* Marks sentences as candidates. */
static void find_candidates(struct document *doc)
{
    const bool few = has_few_marks(doc);
    int64_t found = 0;

    for (int64_t i = 0; i < doc->n; i++) {
        struct sentence *const s = &doc->sentences[i];

        s->candidate = s->worth == PROSE && (few || (s->marked && !s->part));
        found += s->candidate;
    }
    for (int least = PROSE; least >= LEFT_OUT && found == 0; least--) {
        for (int64_t i = 0; i < doc->n; i++) {
            doc->sentences[i].candidate = doc->sentences[i].worth >= least;
            found += doc->sentences[i].candidate;
        }
    }
}

bool document_split(struct document *doc, const struct stream *stream,
                    const struct language *language)
{
    size_t label = SIZE_MAX;
    int32_t turn = -1;
    int least = CONTEXT;
    bool good = false, crowded;

    *doc = (struct document){ .text = stream->text, .size = stream->size, .language = language };
    for (int64_t i = 0; i < stream->n && !good; i++)
        good = worth_of[stream->blocks[i].kind] >= CONTEXT;
    if (!good)
        least = LEFT_OUT;
    good = language || find_language(doc, stream, least);
    for (int64_t i = 0; i < stream->n && good; i++) {
        const struct block *const b = &stream->blocks[i];

        if (worth_of[b->kind] < least)
            continue;
        /* Blocks that point to one and the same name are one turn. */
        if (b->label_end == b->label_begin || b->label_begin != label)
            turn++;
        label = b->label_begin;
        good = split_block(doc, b, turn);
    }
    crowded = doc->crowded;
    if (good) {
        find_candidates(doc);
        document_judge(doc);
    } else {
        document_finish(doc);
    }
    doc->crowded = crowded;
    return good;
}

void document_finish(struct document *doc)
{
    free(doc->sentences);
    free(doc->segments);
    *doc = (struct document){ 0 };
}
