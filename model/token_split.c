/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pre-tokenizers: each splits a piece of a text into smaller ones.
 */
#include "tokens.h"

#include <string.h>

enum behaviour { REMOVED, ISOLATED, WITH_BEFORE, WITH_BEHIND, CONTIGUOUS };
static const char *const behaviours[] = { "Removed", "Isolated", "MergedWithPrevious",
                                          "MergedWithNext", "Contiguous", NULL };

/* Matches and what lies between them come in here, one after another; pieces come out. */
struct cutter {
    enum behaviour behaviour;
    const char *text;
    size_t begin, end, origin; /* what is held back; nothing where both are equal */
    bool matched;              /* was the last one a match? */
    struct pieces *out;
};

static void put(struct cutter *c, size_t begin, size_t end)
{
    pieces_put(c->out, c->text + begin, end - begin, begin < c->origin ? c->origin - begin : 0);
}

static void flush(struct cutter *c)
{
    put(c, c->begin, c->end);
    c->begin = c->end;
}

static void cut(struct cutter *c, size_t begin, size_t end, bool match)
{
    bool joined = false;

    if (begin == end)
        return;
    switch (c->behaviour) {
        case REMOVED:
            if (!match)
                put(c, begin, end);
            return;
        case ISOLATED: put(c, begin, end); return;
        case WITH_BEFORE: joined = match && !c->matched; break;
        case WITH_BEHIND: joined = !match && c->matched; break;
        case CONTIGUOUS: joined = match == c->matched; break;
    }
    if (!joined) {
        flush(c);
        c->begin = begin;
    }
    c->end = end;
    c->matched = match;
}

static struct cutter cutter_of(enum behaviour behaviour, const char *text, struct piece piece,
                               struct pieces *out)
{
    return (struct cutter){ behaviour, text + piece.begin, 0, 0, piece.origin, false, out };
}

/* Characters of a kind are the matches. */
static void cut_characters(struct cutter *c, size_t bytes, bool (*is)(uint32_t code))
{
    size_t from = 0;
    uint32_t code;

    for (size_t i = 0, n; i < bytes; i += n) {
        n = utf8_next(c->text + i, &code);
        if (!is(code))
            continue;
        cut(c, from, i, false);
        cut(c, i, i + n, true);
        from = i + n;
    }
    cut(c, from, bytes, false);
    flush(c);
}

static void cut_pattern(struct cutter *c, size_t bytes, const struct step *step, bool invert)
{
    const char *const end = c->text + bytes;
    size_t from = 0;
    struct span match;

    while (step->pattern.find(step, c->text + from, end, &match)) {
        const size_t at = (size_t)(match.at - c->text);

        cut(c, from, at, invert);
        cut(c, at, at + match.bytes, !invert);
        from = at + match.bytes;
    }
    cut(c, from, bytes, invert);
    flush(c);
}

static void split_white(const struct step *step, const char *text, struct piece piece,
                        struct pieces *out)
{
    struct cutter c = cutter_of(REMOVED, text, piece, out);

    (void)step;
    cut_characters(&c, piece.end - piece.begin, unicode_white);
}

/* White characters go, and each character of punctuation is a piece. */
static void split_bert(const struct step *step, const char *text, struct piece piece,
                       struct pieces *out)
{
    const char *const at = text + piece.begin;
    const size_t bytes = piece.end - piece.begin;
    struct cutter c = cutter_of(ISOLATED, text, piece, out);
    size_t from = 0;
    uint32_t code;

    (void)step;
    for (size_t i = 0, n; i < bytes; i += n) {
        n = utf8_next(at + i, &code);
        if (!unicode_white(code) && !unicode_punctuation(code))
            continue;
        put(&c, from, i);
        if (!unicode_white(code))
            put(&c, i, i + n);
        from = i + n;
    }
    put(&c, from, bytes);
}

static void split_punctuation(const struct step *step, const char *text, struct piece piece,
                              struct pieces *out)
{
    struct cutter c = cutter_of((enum behaviour)step->choice, text, piece, out);

    cut_characters(&c, piece.end - piece.begin, unicode_punctuation);
}

static void split_digits(const struct step *step, const char *text, struct piece piece,
                         struct pieces *out)
{
    struct cutter c = cutter_of(step->flags[0] ? ISOLATED : CONTIGUOUS, text, piece, out);

    cut_characters(&c, piece.end - piece.begin, unicode_number);
}

static void split_pattern(const struct step *step, const char *text, struct piece piece,
                          struct pieces *out)
{
    struct cutter c = cutter_of((enum behaviour)step->choice, text, piece, out);

    cut_pattern(&c, piece.end - piece.begin, step, step->flags[0]);
}

static void split_character(const struct step *step, const char *text, struct piece piece,
                            struct pieces *out)
{
    struct cutter c = cutter_of(REMOVED, text, piece, out);
    const size_t bytes = piece.end - piece.begin;
    size_t from = 0;
    uint32_t code;

    for (size_t i = 0, n; i < bytes; i += n) {
        n = utf8_next(c.text + i, &code);
        if (code != step->character)
            continue;
        put(&c, from, i);
        from = i + n;
    }
    put(&c, from, bytes);
}

/* Runs of characters of words, and runs of what is neither those nor white. */
static void split_words(const struct step *step, const char *text, struct piece piece,
                        struct pieces *out)
{
    struct cutter c = cutter_of(ISOLATED, text, piece, out);
    const size_t bytes = piece.end - piece.begin;
    size_t from = 0;
    int before = 0;
    uint32_t code;

    (void)step;
    for (size_t i = 0, n; i < bytes; i += n) {
        int kind;

        n = utf8_next(c.text + i, &code);
        kind = unicode_word(code) ? 1 : unicode_white(code) ? 0 : 2;
        if (kind != before) {
            if (before != 0)
                put(&c, from, i);
            from = i;
            before = kind;
        }
    }
    if (before != 0)
        put(&c, from, bytes);
}

enum scheme { FIRST, NEVER, ALWAYS };
static const char *const schemes[] = { "first", "never", "always", NULL };
enum { PREFIX, SPLIT };

/* Older files say add_prefix_space instead of a scheme; if both are there, they agree. */
static bool prepare_metaspace(struct tokenizer *t, struct step *step)
{
    if (step->maybes[PREFIX] == 0 && step->choice >= 0 && step->choice != NEVER)
        return read_fail(t, HEED_E_VALUE, "prepend_scheme", "add_prefix_space says otherwise");
    if (step->choice < 0)
        step->choice = step->maybes[PREFIX] == 0 ? NEVER : ALWAYS;
    step->flags[SPLIT] = step->maybes[SPLIT] != 0;
    return true;
}

/* Spaces become the character that stands for them, and a piece begins at each. */
static void split_metaspace(const struct step *step, const char *text, struct piece piece,
                            struct pieces *out)
{
    const char *const at = text + piece.begin;
    const size_t bytes = piece.end - piece.begin;
    const bool split = step->flags[SPLIT];
    struct buffer *const work = &out->work;
    size_t origin = piece.origin;
    uint32_t code;

    work->bytes = 0;
    (void)utf8_next(at, &code);
    if (code != ' ' && code != step->character &&
        (step->choice == ALWAYS || (step->choice == FIRST && piece.origin > 0))) {
        buffer_code(work, step->character);
        origin += origin > 0 ? work->bytes : 0;
    }
    for (size_t i = 0, n; i < bytes && !work->failed; i += n) {
        n = utf8_next(at + i, &code);
        if ((code == ' ' || code == step->character) && split && work->bytes > 0) {
            pieces_put(out, work->at, work->bytes, origin);
            origin = 0;
            work->bytes = 0;
        }
        buffer_code(work, code == ' ' ? step->character : code);
    }
    pieces_put(out, work->at, work->bytes, origin);
}

enum { SPACED, AS_WORDS };

static bool prepare_bytes(struct tokenizer *t, struct step *step)
{
    (void)t;
    step->flags[AS_WORDS] = step->maybes[0] != 0;
    return pattern_read(&step->pattern, true,
                        (struct span){ gpt2_expression, strlen(gpt2_expression) });
}

/* The bytes of the text as characters; words as GPT-2's expression has them, or the whole. */
static void split_bytes(const struct step *step, const char *text, struct piece piece,
                        struct pieces *out)
{
    const char *at = text + piece.begin, *end = text + piece.end;
    struct buffer *const work = &out->work;
    struct buffer spaced = { 0 };
    size_t origin = piece.origin;
    struct span match;

    if (step->flags[SPACED] && *at != ' ') {
        buffer_put(&spaced, " ", 1);
        buffer_put(&spaced, at, (size_t)(end - at));
        if (spaced.failed)
            out->failed = true;
        at = spaced.at;
        end = at + spaced.bytes;
    }
    while (at < end) {
        match = (struct span){ at, (size_t)(end - at) };
        if (step->flags[AS_WORDS])
            step->pattern.find(step, at, end, &match);
        work->bytes = 0;
        bytes_as_codes(at, match.bytes, work);
        pieces_put(out, work->at, work->bytes, origin > 0 ? work->bytes : 0);
        origin = 0;
        at += match.bytes;
    }
    buffer_finish(&spaced);
}

#define AT(member) offsetof(struct step, member)
static const struct field no_fields[] = { { .name = NULL } },
    byte_fields[] = { { "add_prefix_space", FIELD_BOOL, true, AT(flags[SPACED]), NULL },
                      { "use_regex", FIELD_MAYBE, false, AT(maybes[0]), NULL },
                      { .name = NULL } },
    metaspace_fields[] = { { "replacement", FIELD_CHARACTER, true, AT(character), NULL },
                           { "add_prefix_space", FIELD_MAYBE, false, AT(maybes[PREFIX]), NULL },
                           { "split", FIELD_MAYBE, false, AT(maybes[SPLIT]), NULL },
                           { "prepend_scheme", FIELD_CHOICE, false, AT(choice), schemes },
                           { .name = NULL } },
    punctuation_fields[] = { { "behavior", FIELD_CHOICE, false, AT(choice), behaviours },
                             { .name = NULL } },
    digit_fields[] = { { "individual_digits", FIELD_BOOL, true, AT(flags[0]), NULL },
                       { .name = NULL } },
    split_fields[] = { { "pattern", FIELD_PATTERN, true, AT(pattern), NULL },
                       { "behavior", FIELD_CHOICE, true, AT(choice), behaviours },
                       { "invert", FIELD_BOOL, true, AT(flags[0]), NULL },
                       { .name = NULL } },
    character_fields[] = { { "delimiter", FIELD_CHARACTER, true, AT(character), NULL },
                           { .name = NULL } };

static bool prepare_punctuation(struct tokenizer *t, struct step *step)
{
    (void)t;
    if (step->choice < 0)
        step->choice = ISOLATED;
    return true;
}

const struct step_kind splitter_kinds[] = {
    { "BertPreTokenizer", no_fields, .split = split_bert },
    { "ByteLevel", byte_fields, .split = split_bytes, .prepare = prepare_bytes },
    { "Metaspace", metaspace_fields, .split = split_metaspace, .prepare = prepare_metaspace },
    { "WhitespaceSplit", no_fields, .split = split_white },
    { "Whitespace", no_fields, .split = split_words },
    { "Punctuation", punctuation_fields, .split = split_punctuation,
      .prepare = prepare_punctuation },
    { "Digits", digit_fields, .split = split_digits },
    { "Split", split_fields, .split = split_pattern },
    { "CharDelimiterSplit", character_fields, .split = split_character },
    { .name = NULL }
};
