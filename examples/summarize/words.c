/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Words of a sentence, as vectors and comparisons take them: lower case, cut to their first
 * letters, which does the work of a stemmer without knowing the language, stop words told apart.
 */
#include "language.h"

#include <stdlib.h>
#include <string.h>

enum { STEM_LETTERS = 6 };

uint64_t word_mix(uint64_t x)      /* finaliser of splitmix64 */
{
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Reads the next word of [*at, end) and moves *at behind it; what follows an apostrophe belongs to
 * the word but is not looked at. Returns its letters, 0 when there is no word. */
static size_t read_word(const char *text, size_t *at, size_t end, char *spelt, struct word *word)
{
    size_t letters = 0, length = 0, taken;
    uint64_t stem = 0x9E3779B97F4A7C15u;
    bool tail = false;

    *word = (struct word){ .key = 0 };
    while (*at < end && !utf8_is_word(utf8_next(text + *at, text + end, &taken)))
        *at += taken;
    for (; *at < end; *at += taken) {
        const uint32_t written = utf8_next(text + *at, text + end, &taken);
        const uint32_t code = utf8_lower(written);

        if (code == '\'' || code == 0x2019) {
            tail = true;
            continue;
        }
        if (!utf8_is_word(code) || (utf8_is_ideograph(code) && letters > 0))
            break;
        if (tail)
            continue;
        if (letters < 2)
            word->capital = letters == 0 ? utf8_is_upper(written)
                                         : word->capital && !utf8_is_upper(written);
        if (length + 5 < WORD_BYTES)
            length += utf8_put(code, spelt + length);
        if (letters++ < STEM_LETTERS)
            stem = word_mix(stem + code);
        if (utf8_is_ideograph(code)) {
            word->ideograph = true;
            *at += taken;
            break;
        }
    }
    spelt[length] = '\0';
    word->capital = word->capital && letters > 1;
    word->stem = stem ? stem : 1;
    return letters;
}

bool word_spell(const char *text, size_t *at, size_t end, char *spelt)
{
    struct word word;

    return read_word(text, at, end, spelt, &word) > 0;
}

bool word_next(const struct language *language, const char *text, size_t *at, size_t end,
               struct word *word)
{
    char spelt[WORD_BYTES];
    const size_t letters = read_word(text, at, end, spelt, word);
    bool content = letters > 1 || word->ideograph;

    if (letters == 0)
        return false;
    for (int kind = 0; kind < WORD_KINDS; kind++) {
        word->is[kind] = language_has(language->of_kind[kind], spelt);
        content = content && !(word->is[kind] && kind < WORD_SMALL_KINDS);
    }
    if (content && !language_is_stop(language, spelt))
        word->key = word->stem;
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

int64_t words_of_content(const struct document *doc, int64_t i, uint64_t *keys, int64_t most)
{
    const struct sentence *const s = &doc->sentences[i];
    struct word word;
    size_t at = s->begin;
    uint64_t before = 0;
    int64_t n = 0, distinct = 0;

    while (n < most && word_next(doc->language, doc->text, &at, s->end, &word)) {
        /* One sign says little: two neighbours make a word. */
        if (word.key && !word.ideograph)
            keys[n++] = word.key;
        else if (word.key && before)
            keys[n++] = word_mix(before * 31 + word.key);
        before = word.key;
    }
    qsort(keys, (size_t)n, sizeof(*keys), compare_keys);
    for (int64_t k = 0; k < n; k++) {
        if (k == 0 || keys[k] != keys[distinct - 1])
            keys[distinct++] = keys[k];
    }
    return distinct;
}
