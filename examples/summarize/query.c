/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a reader asks for. The query is a vector among those of the sentences, and two attentions
 * find what has to do with it. In the first every sentence looks at the query alone: without a sum
 * of others in it, its LSE is the scaled cosine of the two. In the second a sentence looks at those
 * beside it, and takes most from the relevant ones: an answer stands beside its question and shares
 * few words with it. The sum of both, of which the highest is made 1, is added to the salience. A
 * query may name a speaker, whose sentences then count as a little relevant.
 */
#include "attend.h"

#include <stdlib.h>

enum {
    ROWS = 2048,                           /* sentences at a time */
    BESIDE = 6,                            /* to each side */
    MOST_NAMES = 64                        /* words of a query that may be names */
};
static const double speaker_weight = 0.2;  /* of a speaker that is named */
static const double beside_sharpness = 4;  /* of a relevance of 1, before the softmax */
static const double beside_weight = 1;
static const double query_weight = 6;

/* relevance[i] = cosine of the query and sentence i; less than 0 counts as 0. */
static bool look_at_query(struct attend *a, const struct vectors *v, const float *vector,
                          float *relevance, struct failure *why)
{
    const int64_t most = v->n < ROWS ? v->n + 1 : ROWS;
    float *const rows = malloc((size_t)(most * v->width) * sizeof(*rows));
    struct matrix x = { .rows = 0 }, query = { .rows = 0 }, lse = { .rows = 0 };
    bool good = rows && matrix_create(a, &x, most, v->width, why) &&
                matrix_create(a, &query, 1, v->width, why) &&
                matrix_create(a, &lse, most, 1, why) && matrix_write(a, &query, vector, why);

    for (int64_t at = 0; at < v->n && good; at += most) {
        const int64_t n = v->n - at < most ? v->n - at : most;
        const struct attention step = {
            .name = "attention to the query", .q = matrix_rows(x, 0, n),
            .o = matrix_no_channels(matrix_rows(x, 0, n)), .lse = matrix_rows(lse, 0, n),
            .keys = { { .k = query, .v = matrix_no_channels(query) } }, .n_keys = 1, .scale = 1
        };

        for (int64_t i = 0; i < n; i++)
            vectors_expand(v, at + i, rows + i * v->width);
        good = matrix_write(a, &step.q, rows, why) && call_attention(a, &step, why) &&
               matrix_read(a, relevance + at, &step.lse, why);
    }
    for (int64_t i = 0; i < v->n && good; i++)
        relevance[i] = relevance[i] > 0 ? relevance[i] : 0;
    matrix_destroy(a, &x);
    matrix_destroy(a, &query);
    matrix_destroy(a, &lse);
    free(rows);
    return good;
}

static void scale_to_one(float *x, int64_t n)
{
    float most = 0;

    for (int64_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < n && most > 0; i++)
        x[i] /= most;
}

/* Adds to the relevance of what a speaker says whose name has a word of the query; false: there is
 * no such speaker. */
static bool add_speakers(const struct document *doc, const char *text, size_t size,
                         float *relevance)
{
    uint64_t names[MOST_NAMES];
    struct word word;
    size_t at = 0;
    int64_t n = 0;
    bool any = false;

    while (n < MOST_NAMES && word_next(doc->language, text, &at, size, &word)) {
        if (word.key)
            names[n++] = word.key;
    }
    for (int64_t i = 0; i < doc->n; i++) {
        const struct sentence *const s = &doc->sentences[i];
        bool named = false;

        at = s->label_begin;
        while (at < s->label_end && word_next(doc->language, doc->text, &at, s->label_end, &word)) {
            for (int64_t k = 0; k < n && !named; k++)
                named = word.key == names[k];
        }
        relevance[i] += named ? (float)speaker_weight : 0;
        any = any || named;
    }
    return any;
}

/* spread[i]: the mean relevance of the sentences around i, the relevant ones first. */
static bool look_beside(struct attend *a, const float *relevance, float *spread, int64_t n,
                        struct failure *why)
{
    struct matrix ones = { .rows = 0 }, x = { .rows = 0 }, o = { .rows = 0 };
    bool good = matrix_create(a, &ones, n, 1, why) && matrix_create(a, &x, n, 1, why) &&
                matrix_create(a, &o, n, 1, why);

    for (int64_t i = 0; i < n; i++)
        spread[i] = 1;
    good = good && matrix_write(a, &ones, spread, why) && matrix_write(a, &x, relevance, why);
    if (good) {
        const struct attention step = {
            .name = "attention to neighbours", .q = ones, .o = o,
            .keys = { { .k = x, .v = x, .term = { .kind = HEED_TERM_WINDOW, .left = BESIDE,
                                                  .right = BESIDE } } },
            .n_keys = 1, .scale = beside_sharpness
        };

        good = call_attention(a, &step, why) && matrix_read(a, spread, &o, why);
    }
    matrix_destroy(a, &ones);
    matrix_destroy(a, &x);
    matrix_destroy(a, &o);
    return good;
}

enum query_end query_add(struct attend *a, const struct document *doc, const struct vectors *v,
                         struct embedding *embedding, const char *text, size_t size,
                         float *query, float *score, struct failure *why)
{
    struct asked asked;
    float *const spread = malloc(((size_t)v->n + 1) * sizeof(*spread));
    enum query_end end = QUERY_FAILED;
    bool named;

    snprintf(why->text, sizeof(why->text), "not enough memory for the query");
    if (!spread || !vectors_ask(&asked, doc, text, size) ||
        (embedding && !embedding_ask(embedding, &asked, text, size, why)))
        goto done;
    end = QUERY_EMPTY;
    if (asked.terms == 0)
        goto done;
    end = QUERY_FAILED;
    if (!look_at_query(a, v, asked.vector, query, why))
        goto done;
    scale_to_one(query, v->n);
    named = add_speakers(doc, text, size, query);
    end = QUERY_NOT_FOUND;
    if (asked.known == 0 && !embedding && !named)
        goto done;
    end = QUERY_FAILED;
    scale_to_one(query, v->n);
    if (!look_beside(a, query, spread, v->n, why))
        goto done;
    for (int64_t i = 0; i < v->n; i++)
        query[i] += (float)beside_weight * spread[i];
    scale_to_one(query, v->n);
    for (int64_t i = 0; i < v->n; i++) {
        query[i] *= (float)query_weight;
        score[i] += query[i];
    }
    end = QUERY_GOOD;
done:
    free(spread);
    return end;
}
