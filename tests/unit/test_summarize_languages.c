/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The demo's languages: where their sentences end, by tests/summarize/sentences.txt, and their stop
 * words.
 */
#include "examples/summarize/language.h"
#include "examples/summarize/read.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024, LANGUAGES = 10, BOUNDARIES = 400, EACH = 30 };

/* Sentences of `text` with bars between, as sentence_end() cuts them. */
static void cut(const struct language *language, const char *text, char *to)
{
    const size_t size = strlen(text);
    size_t begin = 0, used = 0;

    while (begin < size) {
        bool part;
        const size_t end = sentence_end(language, text, begin, size, &part);

        used += (size_t)sprintf(to + used, "%s%.*s", begin > 0 ? "|" : "", (int)(end - begin),
                                text + begin);
        begin = end;
    }
    to[used] = '\0';
}

/* The text of a line: a bar stands for a space, but beside signs of scripts that have none. */
static void plain_of(const char *line, bool spaced, char *text, char *wanted)
{
    size_t t = 0, w = 0;

    for (const char *c = line; *c; c++) {
        if (*c == '|' && spaced)
            text[t++] = ' ';
        else if (*c != '|')
            text[t++] = *c;
        wanted[w++] = *c;
        if (*c == '|' && spaced)
            wanted[w++] = ' ';
    }
    text[t] = wanted[w] = '\0';
}

static const char *code_of(const char *line)
{
    static char code[8];

    snprintf(code, sizeof(code), "%.2s", line + 3);
    return code;
}

/* Calls `see` for every line of the file that is no comment. */
static void each_line(void (*see)(const struct language *, const char *, void *), void *context)
{
    FILE *const file = fopen(SENTENCES_FILE, "rb");
    const struct language *language = NULL;
    char line[LINE];

    ck_assert_msg(file != NULL, "%s", SENTENCES_FILE);
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "== ", 3) == 0) {
            language = language_named(code_of(line));
            ck_assert_msg(language != NULL, "%s", line);
        } else if (*line && *line != '#') {
            see(language, line, context);
        }
    }
    fclose(file);
}

struct tally {
    int wrong, boundaries;
    int64_t of[LANGUAGES];
};

static size_t index_of(const struct language *language)
{
    size_t i = 0;

    while (language_at(i) != language)
        i++;
    return i;
}

static void judge(const struct language *language, const char *line, void *context)
{
    struct tally *const tally = context;
    char text[2 * LINE], wanted[2 * LINE], got[4 * LINE];
    const bool spaced = index_of(language) < 8;     /* Chinese and Japanese are the last ones */

    plain_of(line, spaced, text, wanted);
    cut(language, text, got);
    for (const char *c = line; *c; c++) {
        tally->boundaries += *c == '|';
        tally->of[index_of(language)] += *c == '|';
    }
    if (strcmp(got, wanted) != 0) {
        printf("# %s: wanted %s\n#     got    %s\n", language->code, wanted, got);
        tally->wrong++;
    }
}

TEST(sentences_of_ten_languages_end_where_their_writers_end_them)
{
    struct tally tally = { .wrong = 0 };

    each_line(judge, &tally);
    ck_assert_int_eq(tally.wrong, 0);
    ck_assert_int_ge(tally.boundaries, BOUNDARIES);
    for (size_t i = 0; i < LANGUAGES; i++)
        ck_assert_int_ge(tally.of[i], EACH);
}

/* All lines of a language as one text. */
struct texts {
    char *of[LANGUAGES];
};

static void gather(const struct language *language, const char *line, void *context)
{
    struct texts *const texts = context;
    char **const text = &texts->of[index_of(language)];
    const size_t length = *text ? strlen(*text) : 0;

    *text = realloc(*text, length + strlen(line) + 2);
    ck_assert_ptr_nonnull(*text);
    sprintf(*text + length, "%s ", line);
}

TEST(the_language_is_found_from_the_text)
{
    struct texts texts = { .of = { NULL } };

    each_line(gather, &texts);
    for (size_t i = 0; i < LANGUAGES; i++) {
        const size_t size = strlen(texts.of[i]), part = size / 4;

        for (size_t at = 0; at + part <= size; at += part) {
            const size_t range[2] = { at, at + part };

            ck_assert_str_eq(language_code(language_find(texts.of[i], &range, 1), NULL),
                             language_at(i)->code);
        }
        free(texts.of[i]);
    }
}

/* As bsearch() needs them: sorted, and in lower case. */
static void check_list(const struct word_list *list)
{
    for (size_t k = 0; k < list->n; k++) {
        const char *const word = list->words[k], *const end = word + strlen(word);
        size_t taken;

        ck_assert_msg(k == 0 || strcmp(list->words[k - 1], word) < 0, "%s: %s", list->code, word);
        for (const char *c = word; c < end; c += taken) {
            const uint32_t code = utf8_next(c, end, &taken);

            ck_assert_msg(code != UTF8_BAD && !utf8_is_upper(code), "%s", word);
        }
    }
}

TEST(stop_words_are_sorted_and_in_lower_case)
{
    const struct language *language;

    for (size_t i = 0; (language = language_at(i)) != NULL; i++) {
        const struct word_list *const list = word_list_of(stop_words, language->code);

        ck_assert_ptr_nonnull(list);
        check_list(list);
        for (size_t k = 0; k < list->n; k++)
            ck_assert(language_is_stop(language, list->words[k]));
        ck_assert(!language_is_stop(language, "heed"));
    }
}

/* A word is read as one word, and it is not in both lists. */
TEST(common_words_are_sorted_and_no_stop_words)
{
    const struct language *language;
    size_t lists = 0;

    for (size_t i = 0; (language = language_at(i)) != NULL; i++) {
        const struct word_list *const list = word_list_of(common_words, language->code);

        ck_assert(!language_is_common(language, "heed"));
        if (!list)
            continue;
        lists++;
        check_list(list);
        for (size_t k = 0; k < list->n; k++) {
            const char *const word = list->words[k];
            char spelt[WORD_BYTES];
            size_t at = 0;

            ck_assert_msg(language_is_common(language, word) && !language_is_stop(language, word),
                          "%s: %s", list->code, word);
            ck_assert_msg(word_spell(word, &at, strlen(word), spelt) && strcmp(word, spelt) == 0,
                          "%s: %s", list->code, word);
        }
    }
    ck_assert_uint_eq(lists, 8);
}

int main(void)
{
    return suite_run("summarize_languages", 0, NULL, NULL);
}
