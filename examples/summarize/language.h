/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a language: its stop and common words, and where a full stop ends no sentence.
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_LANGUAGE_H
#define HEED_EXAMPLES_SUMMARIZE_LANGUAGE_H

#include "summarize.h"

/* Words of one language. */
struct word_list {
    const char *code;
    const char *const *words;          /* sorted, lower case, UTF-8 */
    size_t n;
};
#define WORD_LIST(code) { #code, code##_words, sizeof(code##_words) / sizeof(*code##_words) }

/* The lists end with one without a code. */
extern const struct word_list stop_words[];        /* stopwords.c: they say nothing */
extern const struct word_list common_words[];      /* commonwords.c: they are no keywords */
/* NULL: there is none for the language. */
const struct word_list *word_list_of(const struct word_list *lists, const char *code);

/* Lists of words are strings with a space before and behind each word, in lower case. */
/* What a sentence begins with. */
enum start_kind {
    START_POINTS,                      /* back: "this", "however" */
    START_JOINS,                       /* "but", "it": back, and in talk only on */
    START_SELF,                        /* behind "this", the text itself: "document" */
    START_EXAMPLE,                     /* behind a preposition: "for example" */
    START_ORDINAL,                     /* behind an article: "the third" */
    START_SENDS,                       /* elsewhere: "see" */
    START_MORE,                        /* the same behind a preposition: "for more" */
    START_KINDS
};

struct language {
    const char *code, *name;
    const char *never;                 /* before a full stop that ends no sentence */
    const char *maybe;                 /* ends one only before a stop word with a capital */
    const char *numbered;              /* no end before a number */
    const char *letters;               /* words of one letter, which are no initials */
    const char *of_kind[WORD_KINDS];   /* words that tell how a sentence speaks */
    const char *starts[START_KINDS];   /* words with which sentences begin */
    bool ordinals;                     /* "3." is third */
};

enum { WORD_BYTES = 48 };              /* longest word that can be in a list, and the NUL */

bool language_has(const char *list, const char *word);
bool language_is_stop(const struct language *language, const char *word);
bool language_is_common(const struct language *language, const char *word);

#endif
