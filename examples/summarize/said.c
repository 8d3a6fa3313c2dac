/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a summary says already. A sentence of which more than COMMON_WORDS of 100 content words are
 * in a chosen one says it again. One that has a short chosen one in it, and says more, does not.
 */
#include "said.h"

#include <stdlib.h>
#include <string.h>

enum {
    COMMON_WORDS = 60,             /* of 100 content words */
    MOST_KEYS = 256                /* content words of a sentence that are compared */
};

static int64_t in_common(const uint64_t *a, int64_t n, const uint64_t *b, int64_t m)
{
    int64_t common = 0;

    for (int64_t i = 0, j = 0; i < n && j < m;) {
        const bool same = a[i] == b[j];

        common += same;
        if (same || a[i] < b[j])
            i++;
        else
            j++;
    }
    return common;
}

/* Whether the content words were said before; if not, they are from now on. NULL: no memory. */
static const bool *says_again(struct said *said, const uint64_t *keys, int64_t n)
{
    static const bool yes = true, no = false;

    if (!said->keys || said->capacity - said->n < n) {
        const int64_t capacity = 2 * said->capacity + MOST_KEYS;
        uint64_t *const grown = realloc(said->keys, (size_t)capacity * sizeof(*grown));

        if (!grown)
            return NULL;
        said->keys = grown;
        said->capacity = capacity;
    }
    for (int64_t i = 0; i < said->sentences; i++) {
        const int64_t begin = i > 0 ? said->end[i - 1] : 0, m = said->end[i] - begin;

        if (in_common(keys, n, said->keys + begin, m) * 100 > n * COMMON_WORDS)
            return &yes;
    }
    if (n > 0)
        memcpy(said->keys + said->n, keys, (size_t)n * sizeof(*keys));
    said->n += n;
    said->end[said->sentences++] = said->n;
    return &no;
}

bool said_add(struct said *said, const struct document *doc, int64_t i, bool *again)
{
    uint64_t keys[MOST_KEYS];
    const bool *const found = says_again(said, keys, words_of_content(doc, i, keys, MOST_KEYS));

    if (found)
        *again = *found;
    return found != NULL;
}

void said_back(struct said *said, const struct said *before)
{
    said->n = before->n;
    said->sentences = before->sentences;
}
