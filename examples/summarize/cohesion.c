/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What stands by itself. Talk and tales are told by marks that every language has: who speaks, and
 * quotation marks at ends of sentences. What is neither explains, describes or reports: it is
 * expository, and its sentences can be asked for more. None of a summary is a half (a bracket or a
 * quotation that is not closed, an end that begins with "of"), a title ("Use with the General
 * Public License."), a question or a copyright, has an address, or only sends elsewhere ("See the
 * manual.").
 *
 * A sentence leans on the one before if it begins with what points back: "this", "however", "the
 * third is"; of expository text also "it", "but", and brackets around all of it. "This document" is
 * at home.
 */
#include "language.h"
#include "read.h"

#include <math.h>
#include <string.h>

enum {
    FIRST_WORDS = 3,
    TITLE_WORDS = 14,
    MOST_TOGETHER = 3,             /* sentences that come with each other */
    LEAST_WORDS = 4                /* of a sentence to lean on */
};
static const double quoted_share = 0.1;    /* of sentences, from here on a tale is one */
static const double dashed_share = 0.4;    /* the same by dashes, which lists have too */
static const double least_expository = 0.5;

static uint32_t code_at(const char *at, const char *end)
{
    size_t taken;

    return at < end ? utf8_next(at, end, &taken) : 0;
}

/* ---- genre -------------------------------------------------------------------- */

/* A double one. */
static bool is_quote(uint32_t code)
{
    return code == '"' || code == 0xAB || code == 0xBB || (code >= 0x201C && code <= 0x201E) ||
           (code >= 0x300C && code <= 0x300F);
}

/* The dash that does the work of quotation marks at the start of what is said. */
static bool is_dash(uint32_t code)
{
    return code == 0x2013 || code == 0x2014;
}

static uint32_t last_code(const char *begin, const char *end)
{
    const char *at = end - 1;

    while (at > begin && ((unsigned char)*at & 0xC0) == 0x80 && end - at < 4)
        at--;
    return code_at(at, end);
}

static double expository_of(const struct document *doc)
{
    int64_t n = 0, spoken = 0, candidates = 0, opened = 0, closed = 0, dashed = 0;
    double quoted, share;

    for (int64_t i = 0; i < doc->n; i++) {
        const struct sentence *const s = &doc->sentences[i];
        const char *const begin = doc->text + s->begin, *const end = doc->text + s->end;
        const uint32_t first = code_at(begin, end);

        n++;
        spoken += s->spoken;
        if (!s->candidate)
            continue;
        candidates++;
        opened += is_quote(first);
        closed += is_quote(last_code(begin, end));
        dashed += is_dash(first);
    }
    if (candidates == 0)
        return 0;
    /* Definitions only begin with what they define. */
    quoted = (double)(opened < closed ? opened : closed) / quoted_share;
    share = fmax(quoted, (double)dashed / dashed_share) / (double)candidates;
    return share < 1 ? (1 - share) * (1 - (double)spoken / (double)n) : 0;
}

/* ---- first words ----------------------------------------------------------------- */

struct first_words {
    char list[FIRST_WORDS][WORD_BYTES];    /* "": there are no more */
    bool bracket;                          /* opens the sentence */
    bool sign;                             /* what opens it is no letter */
    bool small;                            /* begins with a small letter */
};

static struct first_words first_words_of(const struct document *doc, const struct sentence *s)
{
    struct first_words words = { .bracket = doc->text[s->begin] == '(' };
    const char *const end = doc->text + s->end;
    const char *c = doc->text + s->begin;
    size_t at = s->begin, taken;
    uint32_t code = utf8_next(c, end, &taken);

    while (c + taken < end && (is_quote(code) || strchr("([*_'`", (int)(code < 128 ? code : 'x')) ||
                               code == 0x2018 || code == 0xBF || code == 0xA1)) {
        c += taken;
        code = utf8_next(c, end, &taken);
    }
    words.sign = !utf8_is_word(code) || (code >= '0' && code <= '9');
    words.small = utf8_is_lower(code);
    for (int i = 0; i < FIRST_WORDS && word_spell(doc->text, &at, s->end, words.list[i]); i++)
        ;
    return words;
}

static bool is_in(const struct document *doc, enum start_kind kind, const char *word)
{
    return language_has(doc->language->starts[kind], word);
}

static bool is_relation(const struct document *doc, const char *word)
{
    return language_has(doc->language->of_kind[WORD_RELATION], word);
}

/* "This", "In this case", "The third is". */
static bool points_back(const struct document *doc, const struct first_words *w)
{
    const char *const first = w->list[0], *const second = w->list[1];

    if (is_in(doc, START_POINTS, first))
        return !is_in(doc, START_SELF, second);
    if (!is_relation(doc, first))
        return false;
    return (is_in(doc, START_POINTS, second) && !is_in(doc, START_SELF, w->list[2])) ||
           is_in(doc, START_EXAMPLE, second) ||
           (is_in(doc, START_ORDINAL, second) && language_is_stop(doc->language, w->list[2]));
}

/* "See", "Please see", "For more information". */
static bool sends_away(const struct document *doc, const struct first_words *w)
{
    return is_in(doc, START_SENDS, w->list[0]) ||
           is_in(doc, is_relation(doc, w->list[0]) ? START_MORE : START_SENDS, w->list[1]);
}

/* ---- halves ---------------------------------------------------------------------- */

/* Whether brackets or double quotes of the sentence are open at its end, or close nothing, or it
 * has signs of a syntax, an address or a copyright. */
static bool is_torn(const char *at, const char *end)
{
    int64_t round = 0, square = 0, straight = 0, curved = 0;
    bool torn = false;

    for (size_t taken; at < end; at += taken) {
        const uint32_t code = utf8_next(at, end, &taken);

        round += (code == '(') - (code == ')');
        square += (code == '[') - (code == ']');
        straight += code == '"';
        curved += code == 0x201C || code == 0x201D || code == 0x201E;
        torn = torn || code == '|' || code == 0xA9 || round < 0 || square < 0 ||
               (code == ':' && end - at > 2 && at[1] == '/' && at[2] == '/');
    }
    return torn || round != 0 || square != 0 || straight % 2 != 0 || curved % 2 != 0;
}

/* Whether all words but small ones, or four of five, begin with a capital; one such word behind the
 * first at least. */
static bool is_title(const struct document *doc, const struct sentence *s)
{
    struct word word;
    size_t at = s->begin;
    int words = 0, capitals = 0, others = 0;

    if (s->words > TITLE_WORDS)
        return false;
    while (word_next(doc->language, doc->text, &at, s->end, &word)) {
        if (word.ideograph)
            return false;
        capitals += word.key && word.capital && words > 0;
        others += word.key && !word.capital && words > 0;
        words++;
    }
    return capitals > 0 && others * 4 <= capitals;
}

/* "B. Redistribute": the letter of an item, or an initial. */
static bool is_letter(const char *word, const char *begin, const char *end)
{
    return strlen(word) == 1 && end - begin > 1 && begin[1] == '.';
}

/* Ends with a question mark, whatever closes behind it. */
static bool is_question(const char *begin, const char *end)
{
    uint32_t last = 0;

    for (size_t taken; begin < end; begin += taken) {
        const uint32_t code = utf8_next(begin, end, &taken);

        last = sentence_is_closer(code) ? last : code;
    }
    return last == '?' || last == 0xFF1F || last == 0x61F;
}

/* Whether the last word is one that never ends a sentence: "e.g." before what is no text. */
static bool is_cut_off(const struct document *doc, const struct sentence *s)
{
    const char *const begin = doc->text + s->begin;
    const char *at = doc->text + s->end;
    char word[WORD_BYTES];
    size_t length;

    if (at == begin || at[-1] != '.')
        return false;
    at--;
    while (at > begin && (unsigned char)at[-1] > ' ' && at[-1] != '(')
        at--;
    length = (size_t)(doc->text + s->end - 1 - at);
    if (length >= sizeof(word))
        return false;
    memcpy(word, at, length);
    word[length] = '\0';
    return language_has(doc->language->never, word);
}

static bool is_whole(const struct document *doc, const struct sentence *s,
                     const struct first_words *w)
{
    const char *const begin = doc->text + s->begin, *const end = doc->text + s->end;

    if (w->small && (s->item || language_is_stop(doc->language, w->list[0])))
        return false;
    return !w->sign && !is_letter(w->list[0], begin, end) &&
           strcmp(w->list[0], "copyright") != 0 && !sends_away(doc, w) &&
           !is_question(begin, end) && !is_cut_off(doc, s) && !is_torn(begin, end) &&
           !is_title(doc, s);
}

/* How many sentences before sentence i must come with it; -1: it says nothing even with them. */
static int8_t needs_of(const struct document *doc, int64_t i, bool explains)
{
    const struct sentence *const s = &doc->sentences[i];
    const struct first_words words = first_words_of(doc, s);
    const bool inside = i > 0 && s[-1].turn == s->turn;

    if (explains && !is_whole(doc, s, &words))
        return -1;
    if (!(points_back(doc, &words) && (inside || explains)) &&
        !(explains && (words.bracket || is_in(doc, START_JOINS, words.list[0]))))
        return 0;
    if (!inside || !s[-1].candidate || s[-1].needs < 0 || s[-1].words < LEAST_WORDS ||
        s[-1].needs + 1 >= MOST_TOGETHER)
        return -1;
    return (int8_t)(s[-1].needs + 1);
}

void document_judge(struct document *doc)
{
    int64_t kept = 0;

    doc->expository = expository_of(doc);
    for (int64_t i = 0; i < doc->n; i++) {
        struct sentence *const s = &doc->sentences[i];

        s->needs = s->candidate ? needs_of(doc, i, doc->expository >= least_expository) : 0;
        kept += s->candidate && s->needs >= 0;
    }
    for (int64_t i = 0; i < doc->n && kept == 0; i++)
        doc->sentences[i].needs = 0;
}
