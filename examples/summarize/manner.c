/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How a sentence speaks, in shares of its words: to somebody, in relations ("the", "of"), of
 * names, of what was settled, and stumbling. One pass over its words; the lists of words are
 * language.c's.
 */
#include "summarize.h"

void manner_hear(struct manner_count *count, const struct word *word)
{
    const bool signs = word->ideograph;      /* a sign said again is no stumbling */

    for (int kind = 0; kind < WORD_KINDS; kind++)
        count->is[kind] += word->is[kind];
    count->names += word->capital && count->words > 0;
    for (int k = 0; k < 2; k++) {
        if (word->stem == count->before[k] && !signs) {
            count->repeated++;
            break;
        }
    }
    count->before[1] = count->before[0];
    count->before[0] = word->stem;
    count->words++;
}

struct manner manner_of(const struct manner_count *count)
{
    const float words = (float)(count->words > 0 ? count->words : 1);

    return (struct manner){
        .address = (float)count->is[WORD_ADDRESS] / words,
        .relation = (float)count->is[WORD_RELATION] / words,
        .outcome = (float)count->is[WORD_OUTCOME] / words,
        .stumbling = (float)(count->is[WORD_FILLER] + count->repeated) / words,
        .names = (float)count->names / words
    };
}
