/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Text to sentences. First blocks: paragraphs end at a blank line; a speaker
 * ("Name: ..."), a list mark or a heading at the start of a line begins a block
 * too. Then sentences: a block is cut after . ! ? and their relatives, unless the
 * mark belongs to an abbreviation, an initial, an enumeration or a number, or the
 * text goes on in lower case. A run without marks is cut at MAX_WORDS, so that no
 * sentence is unbounded.
 */
#include "summarize.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_WORDS = 100,               /* a longer run is cut */
    SOFT_WORDS = 50,               /* from here on a comma will do */
    MAX_WORD_BYTES = 1000,
    MAX_LABEL_BYTES = 60,
    MAX_LABEL_WORDS = 5
};

/* Never the end of a sentence. */
static const char *const abbreviations[] = {
    "al", "capt", "cf", "col", "dr", "e.g", "gen", "hon", "i.e", "lt", "messrs", "mr", "mrs",
    "ms", "mt", "prof", "rep", "rev", "sen", "sgt", "st", "viz", "vs"
};

/* Not the end before a number. */
static const char *const numbered[] = {
    "apr", "art", "aug", "ch", "dec", "eq", "feb", "fig", "figs", "jan", "jul", "jun", "mar",
    "no", "nos", "nov", "oct", "p", "pp", "sec", "sep", "sept", "vol"
};

struct cursor {
    const char *text;
    size_t at, end;
};

static bool more(const struct cursor *c)
{
    return c->at < c->end;
}

static uint32_t peek(const struct cursor *c, size_t *taken)
{
    return utf8_next(c->text + c->at, c->text + c->end, taken);
}

static size_t skip_space(const char *text, size_t begin, size_t end)
{
    size_t taken;

    while (begin < end && utf8_is_space(utf8_next(text + begin, text + end, &taken)))
        begin += taken;
    return begin;
}

/* The end of [begin, end) without the white space behind. */
static size_t trim_end(const char *text, size_t begin, size_t end)
{
    size_t last = begin, taken;

    for (size_t i = begin; i < end; i += taken) {
        if (!utf8_is_space(utf8_next(text + i, text + end, &taken)))
            last = i + taken;
    }
    return last;
}

static bool add_sentence(struct document *doc, struct sentence s)
{
    s.begin = skip_space(doc->text, s.begin, s.end);
    s.end = trim_end(doc->text, s.begin, s.end);
    if (s.begin >= s.end)
        return true;
    if (doc->n == doc->capacity) {
        const int64_t capacity = doc->capacity ? doc->capacity * 2 : 256;
        struct sentence *const grown =
            realloc(doc->sentences, (size_t)capacity * sizeof(*grown));

        if (!grown)
            return false;
        doc->sentences = grown;
        doc->capacity = capacity;
    }
    s.words = utf8_count_words(doc->text, s.begin, s.end);
    s.label_words = utf8_count_words(doc->text, s.label_begin, s.label_end);
    doc->words += s.words;
    doc->sentences[doc->n++] = s;
    return true;
}

/* ---- blocks -------------------------------------------------------------- */

static bool is_name_sign(uint32_t code)
{
    return code == '.' || code == '\'' || code == '-' || code == '(' || code == ')' ||
           code == '_' || code == 0x2019;
}

/* Length of a "Name: " at the start of [begin, end), the colon not counted, or 0:
 * one to five words that begin with a capital or a digit, the first with a capital. */
static size_t label_length(const char *text, size_t begin, size_t end)
{
    int words = 0;
    bool fresh = true;
    size_t taken;

    for (size_t i = begin; i < end && i - begin <= MAX_LABEL_BYTES; i += taken) {
        const uint32_t code = utf8_next(text + i, text + end, &taken);

        if (code == ':') {
            const bool spaced = i + 1 == end || utf8_is_space((unsigned char)text[i + 1]);

            return words > 0 && spaced ? i - begin : 0;
        }
        if (code == ' ') {
            fresh = true;
            continue;
        }
        if (fresh) {
            const bool digit = code >= '0' && code <= '9';

            if (!utf8_is_upper(code) && !(words > 0 && (digit || code == '(')))
                return 0;
            if (++words > MAX_LABEL_WORDS)
                return 0;
            fresh = false;
        } else if (!utf8_is_word(code) && !is_name_sign(code)) {
            return 0;
        }
    }
    return 0;
}

static bool starts_item(const char *text, size_t begin, size_t end)
{
    size_t taken;
    const uint32_t code = utf8_next(text + begin, text + end, &taken);
    const bool mark = code == '-' || code == '*' || code == '+' || code == 0x2022;

    if (code == '#')
        return true;
    return mark && begin + taken < end && text[begin + taken] == ' ';
}

/* The end of the line that starts at `begin`, the newline not counted. */
static size_t line_end(const char *text, size_t begin, size_t size)
{
    const char *const newline = memchr(text + begin, '\n', size - begin);

    return newline ? (size_t)(newline - text) : size;
}

/* The end of the block that starts in the line at `begin`. */
static size_t block_end(const char *text, size_t begin, size_t size)
{
    size_t end = line_end(text, begin, size);

    if (text[begin] == '#')
        return end;
    while (end < size) {
        const size_t next = end + 1, stop = line_end(text, next, size);
        const size_t first = skip_space(text, next, stop);

        if (first == stop || label_length(text, first, stop) > 0 ||
            starts_item(text, first, stop))
            break;
        end = stop;
    }
    return end;
}

/* ---- ends of sentences --------------------------------------------------- */

static bool is_mark(uint32_t code)
{
    return code == '.' || code == '!' || code == '?' || code == 0x2026 || code == 0x203D ||
           code == 0x61F || code == 0x6D4 || code == 0x964;
}

static bool is_wide_mark(uint32_t code)    /* needs no space behind */
{
    return code == 0x3002 || code == 0xFF01 || code == 0xFF0E || code == 0xFF1F ||
           code == 0xFF61;
}

static bool is_closer(uint32_t code)
{
    return code == '"' || code == '\'' || code == ')' || code == ']' || code == '*' ||
           code == '_' || code == 0xBB || code == 0x2019 || code == 0x201D || code == 0x300D ||
           code == 0x300F || code == 0xFF09;
}

static bool is_opener(uint32_t code)
{
    return code == '"' || code == '\'' || code == '(' || code == '[' || code == '*' ||
           code == '_' || code == 0xAB || code == 0x2018 || code == 0x201C || code == 0x300C;
}

static bool in_list(const char *word, size_t length, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(list[i]) == length && memcmp(list[i], word, length) == 0)
            return true;
    }
    return false;
}

/* Single letters with dots between: "U.S", "a.m". */
static bool is_dotted(const char *word, size_t length)
{
    if (length < 3 || length % 2 == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (i % 2 ? word[i] != '.' : !utf8_is_word((unsigned char)word[i]))
            return false;
    }
    return true;
}

/* Whether the single full stop at `stop`, in a sentence from `begin`, belongs to the
 * word before it. `next` is the first character after the space behind it. */
static bool stop_is_part_of_word(const char *text, size_t begin, size_t stop, uint32_t next)
{
    char word[8];
    size_t from = stop, length, taken;
    bool digits = true;

    while (from > begin && (unsigned char)text[from - 1] > ' ' && stop - from < 16)
        from--;
    while (from < stop && is_opener(utf8_next(text + from, text + stop, &taken)))
        from += taken;
    length = stop - from;
    if (length == 0 || length > sizeof(word))
        return false;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[from + i];

        word[i] = (char)utf8_lower(c < 0x80 ? c : 'x');
        digits = digits && c >= '0' && c <= '9';
    }
    if (digits)                            /* "3. Item" */
        return from == skip_space(text, begin, stop);
    if (length == 1 && text[from] >= 'A' && text[from] <= 'Z' && text[from] != 'I')
        return true;                       /* an initial */
    if (in_list(word, length, abbreviations, sizeof(abbreviations) / sizeof(*abbreviations)))
        return true;
    if (next >= '0' && next <= '9')
        return in_list(word, length, numbered, sizeof(numbered) / sizeof(*numbered));
    if (is_dotted(word, length))           /* "5 p.m. The" ends, "U.S. Army" does not */
        return !(word[length - 1] == 'm' && utf8_is_upper(next));
    return false;
}

/* At a mark: moves behind it, its relatives and closing quotes, and says whether the
 * sentence that began at `begin` ends there. */
static bool ends_here(struct cursor *c, size_t begin)
{
    const size_t first = c->at;
    size_t taken, after;
    bool wide = false, lone = c->text[c->at] == '.';
    uint32_t next = 0;

    while (more(c)) {
        const uint32_t code = peek(c, &taken);

        if (is_wide_mark(code))
            wide = true;
        else if (!is_mark(code))
            break;
        c->at += taken;
    }
    lone = lone && c->at == first + 1;
    while (more(c) && is_closer(peek(c, &taken)))
        c->at += taken;
    after = skip_space(c->text, c->at, c->end);
    if (after == c->end || wide)
        return true;
    if (after == c->at)                    /* no space: 3.14, example.org */
        return false;
    while (after < c->end && is_opener(next = utf8_next(c->text + after, c->text + c->end,
                                                        &taken)))
        after += taken;
    if (utf8_is_lower(next))
        return false;
    return !lone || !stop_is_part_of_word(c->text, begin, first, next);
}

/* ---- sentences of a block ------------------------------------------------ */

static bool is_pause(uint32_t code)
{
    return code == ',' || code == ';' || code == ':' || code == 0x2014 || code == 0x3001 ||
           code == 0xFF0C;
}

/* Cuts [s.begin, end) into sentences. */
static bool split_block(struct document *doc, struct sentence s, size_t end)
{
    struct cursor c = { doc->text, s.begin, end };
    int64_t words = 0;
    size_t word_begin = 0, pause = 0, taken;
    bool inside = false;

    while (more(&c)) {
        const uint32_t code = peek(&c, &taken);
        size_t cut = 0;

        if (is_mark(code) || is_wide_mark(code)) {
            if (ends_here(&c, s.begin))
                cut = c.at;
        } else if (utf8_is_space(code)) {
            inside = false;
            c.at += taken;
            if (words >= MAX_WORDS)
                cut = pause > s.begin ? pause : c.at;
        } else {
            if (!inside || utf8_is_ideograph(code)) {
                words++;
                word_begin = c.at;
                inside = true;
            }
            c.at += taken;
            if (is_pause(code) && words >= SOFT_WORDS)
                pause = c.at;
            if (c.at - word_begin >= MAX_WORD_BYTES ||
                (words >= MAX_WORDS && utf8_is_ideograph(code)))
                cut = pause > s.begin ? pause : c.at;
        }
        if (cut) {
            s.end = cut;
            if (!add_sentence(doc, s))
                return false;
            s.begin = c.at = cut;
            words = 0;
            inside = false;
        }
    }
    s.end = end;
    return add_sentence(doc, s);
}

bool document_split(struct document *doc, const char *text, size_t size)
{
    struct sentence s = { 0 };
    size_t at = 0;

    *doc = (struct document){ .text = text, .size = size };
    while (at < size) {
        const size_t line = line_end(text, at, size);
        size_t end, label;

        at = skip_space(text, at, line);
        if (at == line) {
            at++;
            continue;
        }
        end = block_end(text, at, size);
        label = label_length(text, at, line);
        s.label_begin = s.label_end = s.begin = at;
        if (label > 0 && skip_space(text, at + label + 1, end) < end) {
            s.label_end = at + label;
            s.begin = at + label + 1;
        }
        if (!split_block(doc, s, end)) {
            document_finish(doc);
            return false;
        }
        s.turn++;
        at = end + 1;
    }
    return true;
}

void document_finish(struct document *doc)
{
    free(doc->sentences);
    free(doc->segments);
    *doc = (struct document){ 0 };
}
