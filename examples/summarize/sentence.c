/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where sentences end: after . ! ? and their relatives, unless the mark belongs to an abbreviation,
 * an initial, an ordinal, an enumeration or a number, or the text goes on in lower case. What is a
 * word before the mark and what may follow it hangs on the language (language.c). A run without
 * marks is cut, so that no sentence is unbounded.
 */
#include "language.h"

#include <string.h>

enum {
    MAX_WORDS = 100,               /* a longer run is cut */
    SOFT_WORDS = 50,               /* from here on a comma will do */
    MAX_WORD_BYTES = 1000,
    ORDINAL_DIGITS = 2
};

struct cursor {
    const struct language *language;
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

static uint32_t code_at(const struct cursor *c, size_t at, size_t *taken)
{
    *taken = 0;
    return at < c->end ? utf8_next(c->text + at, c->text + c->end, taken) : 0;
}

static size_t skip_space(const struct cursor *c, size_t at)
{
    size_t taken;

    while (at < c->end && utf8_is_space(code_at(c, at, &taken)))
        at += taken;
    return at;
}

/* ---- signs ----------------------------------------------------------------- */

static bool is_wide_mark(uint32_t code)    /* needs no space behind */
{
    return code == 0x3002 || code == 0xFF01 || code == 0xFF0E || code == 0xFF1F ||
           code == 0xFF61;
}

bool sentence_is_mark(uint32_t code)
{
    return code == '.' || code == '!' || code == '?' || code == 0x2026 || code == 0x203D ||
           code == 0x61F || code == 0x6D4 || code == 0x964 || is_wide_mark(code);
}

bool sentence_is_closer(uint32_t code)
{
    return code == '"' || code == '\'' || code == ')' || code == ']' || code == '*' ||
           code == '_' || code == 0xBB || code == 0xAB || code == 0x203A || code == 0x2039 ||
           code == 0x2019 || code == 0x201D || code == 0x201C || code == 0x300D ||
           code == 0x300F || code == 0x3011 || code == 0xFF09;
}

static bool is_opener(uint32_t code)
{
    return code == '"' || code == '\'' || code == '(' || code == '[' || code == '*' ||
           code == '_' || code == 0xAB || code == 0xBB || code == 0x2039 || code == 0x203A ||
           code == 0x2018 || code == 0x2019 || code == 0x201C || code == 0x201D ||
           code == 0x201E || code == 0x201A || code == 0x300C || code == 0x300E ||
           code == 0xBF || code == 0xA1;
}

static bool is_dash(uint32_t code)
{
    return code == 0x2014 || code == 0x2013;
}

/* ---- the word before a full stop -------------------------------------------- */

/* In lower case, without what opens it or an article with an apostrophe; "" if it is too long. */
static void word_before(const struct cursor *c, size_t begin, size_t stop, char word[WORD_BYTES],
                        size_t *from)
{
    size_t at = stop, length = 0, taken;

    word[0] = '\0';
    while (at > begin && (unsigned char)c->text[at - 1] > ' ' && stop - at < WORD_BYTES - 8)
        at--;
    for (size_t i = at; i < stop; i += taken) {
        const uint32_t code = utf8_next(c->text + i, c->text + stop, &taken);

        /* A space of a sort that is no single byte, or an opener, or what an apostrophe ends. */
        if (utf8_is_space(code) || is_opener(code) || code == ',' || code == 0x2026)
            at = i + taken;
    }
    for (size_t i = at; i < stop; i += taken) {
        const uint32_t code = utf8_lower(utf8_next(c->text + i, c->text + stop, &taken));

        if (length + 5 >= WORD_BYTES) {
            word[0] = '\0'; /* bytes that are no text have grown */
            return;
        }
        length += utf8_put(code, word + length);
    }
    word[length] = '\0';
    *from = at;
}

/* "3", and "3.1" too; "10.15" is a time. */
static bool is_digits(const char *word)
{
    const size_t length = strlen(word);

    return *word >= '0' && *word <= '9' && strspn(word, "0123456789.") == length &&
           (!strchr(word, '.') || word[length - 2] == '.');
}

static bool is_roman(const char *word)
{
    return strlen(word) >= 1 && strspn(word, "ivxlc") == strlen(word);
}

/* Letters one by one with dots between: "u.s", "a.m". */
static bool is_dotted(const char *word)
{
    const char *const end = word + strlen(word);
    size_t taken;
    int letters = 0;

    for (const char *at = word; at < end;) {
        if (!utf8_is_word(utf8_next(at, end, &taken)))
            return false;
        letters++;
        at += taken;
        if (at < end && *at++ != '.')
            return false;
    }
    return letters > 1;
}

static size_t letters_of(const char *word)
{
    size_t n = 0;

    for (; *word; word++)
        n += ((unsigned char)*word & 0xC0) != 0x80;
    return n;
}

/* Whether what begins at `at` is a stop word, so that its capital begins a sentence. */
static bool begins_sentence(const struct cursor *c, size_t at)
{
    char word[WORD_BYTES];

    return word_spell(c->text, &at, c->end, word) && language_is_stop(c->language, word) &&
           !(letters_of(word) == 1 && at < c->end && c->text[at] == '.');
}

/* Whether a single letter with a full stop begins at `at`, as in "a. C.". */
static bool is_letter_of_many(const struct cursor *c, size_t at)
{
    size_t taken;

    return utf8_is_upper(code_at(c, at, &taken)) && at + taken < c->end &&
           c->text[at + taken] == '.';
}

/* Before a number: "p. 12", "Goethestr. 12". */
static bool is_numbered(const struct language *l, const char *word)
{
    const size_t length = strlen(word);

    return language_has(l->numbered, word) ||
           (length > 3 && strcmp(word + length - 3, "str") == 0 &&
            language_has(l->numbered, "-str"));
}

/* Whether the number that begins at `from` is the first after a colon: "rules: 1. Be kind." */
static bool is_listed(const struct cursor *c, size_t begin, size_t from)
{
    while (from > begin && c->text[from - 1] == ' ')
        from--;
    return from > begin && c->text[from - 1] == ':';
}

/* Whether the single full stop at `stop`, in a sentence from `begin`, belongs to the word before
 * it. At `after` the text goes on with `next`, openers left out. */
static bool stop_is_part_of_word(const struct cursor *c, size_t begin, size_t stop, size_t after,
                                 uint32_t next)
{
    const struct language *const l = c->language;
    const bool digit = next >= '0' && next <= '9';
    char word[WORD_BYTES];
    size_t from = stop, taken;

    word_before(c, begin, stop, word, &from);
    if (!*word)
        return false;
    if (is_digits(word)) {
        if (from == skip_space(c, begin) || is_listed(c, begin, from))
            return true;                   /* "3. Item" */
        return l->ordinals && letters_of(word) <= ORDINAL_DIGITS && !digit &&
               !begins_sentence(c, after);
    }
    if (language_has(l->letters, word))
        return is_letter_of_many(c, after);
    if (language_has(l->never, word))
        return true;
    if (digit)
        return is_numbered(l, word);
    if (language_has(l->maybe, word))
        return !begins_sentence(c, after);
    if (letters_of(word) == 1 && utf8_is_word(utf8_next(word, word + strlen(word), &taken)))
        return !begins_sentence(c, after); /* an initial */
    if (l->ordinals && is_roman(word) && utf8_is_upper(utf8_next(c->text + from,
                                                                c->text + stop, &taken)))
        return !begins_sentence(c, after);
    if (is_dotted(word))                   /* "5 p.m. The" ends, "U.S. Army" does not */
        return !(word[strlen(word) - 1] == 'm' && word[0] != 'u' && utf8_is_upper(next)) &&
               !begins_sentence(c, after);
    return false;
}

/* ---- ends of sentences ------------------------------------------------------ */

/* Behind the marks at c->at; `wide`: one of them needs no space. */
static bool skip_marks(struct cursor *c)
{
    bool wide = false;
    size_t taken;

    while (more(c)) {
        const uint32_t code = peek(c, &taken);

        if (is_wide_mark(code))
            wide = true;
        else if (!sentence_is_mark(code))
            break;
        c->at += taken;
    }
    return wide;
}

/* Behind "[12]" at c->at, a note's number. */
static bool skip_note(struct cursor *c)
{
    size_t at = c->at + 1;

    if (c->text[c->at] != '[')
        return false;
    while (at < c->end && at - c->at < 5 && c->text[at] >= '0' && c->text[at] <= '9')
        at++;
    if (at == c->at + 1 || at >= c->end || c->text[at] != ']')
        return false;
    c->at = at + 1;
    return true;
}

/* Behind closing quotes, brackets and notes; one sign closes in German and opens in scripts whose
 * marks are wide. Also a quote of French, with a space before it. */
static bool skip_closers(struct cursor *c, bool wide)
{
    const size_t first = c->at;
    size_t taken, after;
    uint32_t code;

    while (more(c)) {
        if (skip_note(c))
            continue;
        code = peek(c, &taken);
        if (!sentence_is_closer(code) || (wide && code == 0x201C))
            break;
        c->at += taken;
    }
    after = skip_space(c, c->at);
    if (after > c->at && code_at(c, after, &taken) == 0xBB) {
        const size_t behind = after + taken;
        const uint32_t next = code_at(c, behind, &taken);

        if (next == 0 || utf8_is_space(next) || next == '.' || next == ',')
            c->at = behind;
    }
    return c->at > first;
}

/* What is said behind a closing quote goes on with it: "said he" in Chinese and Japanese. */
static bool quote_goes_on(const struct cursor *c)
{
    size_t at = c->at, taken;

    for (int i = 0; i < 4 && at < c->end; i++, at += taken) {
        const uint32_t code = code_at(c, at, &taken);

        if ((i == 0 && (code == 0x3068 || code == 0x3063 || code == 0xFF0C || code == 0x3001)) ||
            code == 0x8BF4 || code == 0x9053 || code == 0x95EE || code == 0x558A || code == 0x7B54)
            return true;
        if (!utf8_is_ideograph(code))
            break;
    }
    return false;
}

/* Where the text goes on behind space, dashes and openers. */
static size_t skip_openers(const struct cursor *c, size_t at)
{
    size_t taken;

    for (;;) {
        const uint32_t code = code_at(c, at, &taken);

        if (is_opener(code))
            at += taken;
        else if (is_dash(code) && utf8_is_space(code_at(c, at + taken, &taken)))
            at = skip_space(c, at + 3);
        else
            return at;
    }
}

/* "iPhone" and "'s Morgens" begin sentences though their first letter is small. */
static bool is_odd_start(const struct cursor *c, size_t at)
{
    size_t taken, second;
    uint32_t next;

    (void)code_at(c, at, &taken);
    second = at + taken;
    next = code_at(c, second, &taken);
    if (utf8_is_upper(next))
        return true;
    return at > 0 && (c->text[at - 1] == '\'' || (unsigned char)c->text[at - 1] == 0x99) &&
           next == ' ' && utf8_is_upper(code_at(c, second + 1, &taken));
}

/* At a mark: moves behind it, its relatives and closing quotes, and says whether the sentence that
 * began at `begin` ends there. */
static bool ends_here(struct cursor *c, size_t begin)
{
    const size_t first = c->at;
    const bool wide = skip_marks(c), lone = c->at == first + 1 && c->text[first] == '.';
    const bool closed = skip_closers(c, wide);
    size_t after = skip_space(c, c->at), taken;
    uint32_t next;

    if (after == c->end)
        return true;
    if (wide)
        return !(closed && after == c->at && quote_goes_on(c));
    if (after == c->at)                    /* no space: 3.14, example.org */
        return false;
    after = skip_space(c, skip_openers(c, after));
    next = code_at(c, after, &taken);
    if ((utf8_is_lower(next) && !is_odd_start(c, after)) || next == ',' || next == ';')
        return false;
    return !lone || !stop_is_part_of_word(c, begin, first, after, next);
}

/* ---- the breaker ------------------------------------------------------------ */

static bool is_pause(uint32_t code)
{
    return code == ',' || code == ';' || code == ':' || code == 0x2014 || code == 0x3001 ||
           code == 0xFF0C;
}

size_t sentence_end(const struct language *language, const char *text, size_t begin, size_t end,
                    bool *cut)
{
    struct cursor c = { language, text, begin, end };
    int64_t words = 0;
    size_t word_begin = begin, pause = begin, taken;
    bool inside = false;

    *cut = false;
    while (more(&c)) {
        const uint32_t code = peek(&c, &taken);

        if (sentence_is_mark(code)) {
            if (ends_here(&c, begin))
                return c.at;
            continue;
        }
        c.at += taken;
        if (utf8_is_space(code)) {
            inside = false;
            *cut = words >= MAX_WORDS;
        } else {
            if (!inside || utf8_is_ideograph(code)) {
                words++;
                word_begin = c.at - taken;
                inside = true;
            }
            if (is_pause(code) && words >= SOFT_WORDS)
                pause = c.at;
            *cut = c.at - word_begin >= MAX_WORD_BYTES ||
                   (words >= MAX_WORDS && utf8_is_ideograph(code));
        }
        if (*cut)
            return pause > begin ? pause : c.at;
    }
    return end;
}
