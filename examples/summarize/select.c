/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which sentences are printed: greedily the one of highest score less its
 * likeness to what is chosen already, as long as it fits (maximal marginal
 * relevance, Carbonell and Goldstein 1998). The budget counts every printed word,
 * speakers included.
 */
#include "summarize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORTEST = 6,                  /* words of a sentence worth choosing */
    LONGEST = 80
};
static const double likeness_weight = 1.0;

bool summary_names_speaker(const struct document *doc, int64_t i, int64_t before)
{
    return doc->sentences[i].label_words > 0 &&
           (before < 0 || doc->sentences[before].turn != doc->sentences[i].turn);
}

static int64_t words_of(const struct document *doc, int64_t i)
{
    return doc->sentences[i].words + doc->sentences[i].label_words;
}

/* Words of the chosen sentences as they are printed. */
static int64_t printed_words(const struct document *doc, const bool *chosen)
{
    int64_t words = 0, before = -1;

    for (int64_t i = 0; i < doc->n; i++) {
        if (!chosen[i])
            continue;
        words += doc->sentences[i].words;
        if (summary_names_speaker(doc, i, before))
            words += doc->sentences[i].label_words;
        before = i;
    }
    return words;
}

/* The best sentence that fits into `left` words, or -1. */
static int64_t best(const struct document *doc, const bool *usable, const float *score,
                    const float *likeness, int64_t left)
{
    double highest = -HUGE_VAL;
    int64_t found = -1;

    for (int64_t i = 0; i < doc->n; i++) {
        const double worth = (double)score[i] - likeness_weight * (double)likeness[i];

        if (usable[i] && words_of(doc, i) <= left && worth > highest) {
            highest = worth;
            found = i;
        }
    }
    return found;
}

/* Nothing fits: the best sentence will be cut. */
static void choose_cut(struct summary *s, const struct document *doc, const bool *usable,
                       const float *score, int64_t budget)
{
    int64_t found = 0;

    for (int64_t i = 1; i < doc->n; i++) {
        if (usable[i] > usable[found] ||
            (usable[i] == usable[found] && score[i] > score[found]))
            found = i;
    }
    s->chosen[found] = true;
    s->cut = budget;
    s->words = budget;
}

static void choose(struct summary *s, const struct document *doc, const struct vectors *v,
                   const float *score, int64_t budget, bool *usable, float *likeness)
{
    float dense[VECTOR_WIDTH];
    int64_t left = budget;

    for (;;) {
        const int64_t i = best(doc, usable, score, likeness, left);

        if (i < 0)
            break;
        s->chosen[i] = true;
        usable[i] = false;
        left -= words_of(doc, i);
        vectors_expand(v, i, dense);
        for (int64_t j = 0; j < doc->n; j++) {
            const float alike = usable[j] ? vectors_dot(v, j, dense) : 0;

            if (alike > likeness[j])
                likeness[j] = alike;
        }
    }
    s->words = printed_words(doc, s->chosen);
}

bool summary_choose(struct summary *s, const struct document *doc, const struct vectors *v,
                    const float *score, int64_t budget)
{
    const size_t n = (size_t)doc->n + 1;
    bool *const usable = calloc(n, sizeof(*usable));
    float *const likeness = calloc(n, sizeof(*likeness));
    bool good = false;

    *s = (struct summary){ .chosen = calloc(n, sizeof(*s->chosen)) };
    if (!usable || !likeness || !s->chosen)
        goto done;
    good = true;
    if (doc->n == 0)
        goto done;
    memset(s->chosen, true, (size_t)doc->n);
    s->words = printed_words(doc, s->chosen);
    if (s->words <= budget)                /* the document is its own summary */
        goto done;
    memset(s->chosen, false, (size_t)doc->n);
    for (int64_t i = 0; i < doc->n; i++)
        usable[i] = doc->sentences[i].words >= SHORTEST && doc->sentences[i].words <= LONGEST &&
                    v->row[i + 1] > v->row[i];
    choose(s, doc, v, score, budget, usable, likeness);
    if (s->words == 0)
        choose_cut(s, doc, usable, score, budget);
done:
    free(usable);
    free(likeness);
    if (!good)
        summary_finish(s);
    return good;
}

void summary_finish(struct summary *s)
{
    free(s->chosen);
    *s = (struct summary){ 0 };
}
