/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sentences to vectors: words and pairs of neighbouring words, weighted by TF-IDF
 * within the document (Salton and Buckley 1988), hashed with a sign into a fixed
 * width (Weinberger et al. 2009, section 2) and scaled to unit length.
 * Deterministic: no locale, no seed.
 */
#include "summarize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMON_FROM = 40               /* sentences; below, no word is too common */
};
static const double common_share = 0.2;    /* a word in more sentences says nothing */
static const double pair_weight = 0.5;
/* A word of that share of the sentences, and of so many of them, is of the document's topic. */
static const double topic_share = 0.01;
static const double topic_from = 3;

struct term {
    uint64_t key;
    float count;                   /* pairs count half */
    bool pair;
};

/* The terms of all sentences, and how many sentences have each: open addressing. */
struct terms {
    struct term *list;
    int64_t n, capacity;
    int64_t *row;                  /* [sentences + 1] */
    uint64_t *keys;
    int64_t *sentences;
    uint64_t slots, used;          /* slots: a power of two */
};

/* ---- terms --------------------------------------------------------------- */

static bool terms_push(struct terms *t, struct term term)
{
    if (t->n == t->capacity) {
        const int64_t capacity = t->capacity ? t->capacity * 2 : 4096;
        struct term *const grown = realloc(t->list, (size_t)capacity * sizeof(*grown));

        if (!grown)
            return false;
        t->list = grown;
        t->capacity = capacity;
    }
    t->list[t->n++] = term;
    return true;
}

static int compare_terms(const void *a, const void *b)
{
    const uint64_t x = ((const struct term *)a)->key, y = ((const struct term *)b)->key;

    return (x > y) - (x < y);
}

/* Where `key` is or would be. */
static uint64_t terms_slot(const struct terms *t, uint64_t key)
{
    uint64_t slot = key & (t->slots - 1);

    while (t->keys[slot] != 0 && t->keys[slot] != key)
        slot = (slot + 1) & (t->slots - 1);
    return slot;
}

static bool terms_grow(struct terms *t)
{
    struct terms bigger = *t;

    bigger.slots = t->slots ? t->slots * 2 : 4096;
    bigger.keys = calloc((size_t)bigger.slots, sizeof(*bigger.keys));
    bigger.sentences = calloc((size_t)bigger.slots, sizeof(*bigger.sentences));
    if (!bigger.keys || !bigger.sentences) {
        free(bigger.keys);
        free(bigger.sentences);
        return false;
    }
    for (uint64_t i = 0; i < t->slots; i++) {
        if (t->keys[i] != 0) {
            const uint64_t slot = terms_slot(&bigger, t->keys[i]);

            bigger.keys[slot] = t->keys[i];
            bigger.sentences[slot] = t->sentences[i];
        }
    }
    free(t->keys);
    free(t->sentences);
    *t = bigger;
    return true;
}

/* Joins equal terms of the row that starts at `begin`. */
static void terms_join(struct terms *t, int64_t begin)
{
    int64_t n = begin;

    if (t->n > begin)
        qsort(t->list + begin, (size_t)(t->n - begin), sizeof(*t->list), compare_terms);
    for (int64_t i = begin; i < t->n; i++) {
        if (n > begin && t->list[n - 1].key == t->list[i].key)
            t->list[n - 1].count += t->list[i].count;
        else
            t->list[n++] = t->list[i];
    }
    t->n = n;
}

/* The same, and counts the row for each. */
static bool terms_close_row(struct terms *t, int64_t begin)
{
    terms_join(t, begin);
    for (int64_t i = begin; i < t->n; i++) {
        uint64_t slot;

        if (t->used * 2 >= t->slots && !terms_grow(t))
            return false;
        slot = terms_slot(t, t->list[i].key);
        if (t->keys[slot] == 0) {
            t->keys[slot] = t->list[i].key;
            t->used++;
        }
        t->sentences[slot]++;
    }
    return true;
}

static void terms_finish(struct terms *t)
{
    free(t->list);
    free(t->row);
    free(t->keys);
    free(t->sentences);
}

/* Terms of a range, as they come, and how it speaks. */
static bool terms_read(struct terms *t, const struct language *language, const char *text,
                       size_t begin, size_t end, struct manner_count *manner)
{
    struct word word;
    uint64_t before = 0;
    size_t at = begin;

    *manner = (struct manner_count){ .words = 0 };
    while (word_next(language, text, &at, end, &word)) {
        const struct term pair = {
            word_mix(before * 31 + word.key) | 1u, (float)pair_weight, true
        };

        manner_hear(manner, &word);
        if (word.key && !terms_push(t, (struct term){ word.key, 1.0f, false }))
            return false;
        if (word.key && before && !terms_push(t, pair))
            return false;
        before = word.key;
    }
    return true;
}

/* Terms of every sentence; how it speaks goes to v. */
static bool terms_build(struct terms *t, struct vectors *v, const struct document *doc)
{
    for (int64_t i = 0; i < doc->n; i++) {
        const struct sentence *const s = &doc->sentences[i];
        struct manner_count manner;

        t->row[i] = t->n;
        if (!terms_read(t, doc->language, doc->text, s->begin, s->end, &manner))
            return false;
        v->manner[i] = manner_of(&manner);
        if (!terms_close_row(t, t->row[i]))
            return false;
    }
    t->row[doc->n] = t->n;
    return true;
}

/* ---- vectors ------------------------------------------------------------- */

/* How much of row i is of the document's topic: different words, not pairs, among all words. */
static float topic_of(const struct terms *t, int64_t i, const struct document *doc)
{
    const double share = topic_share * (double)doc->n;
    const double from = share > topic_from ? share : topic_from;
    const int64_t words = doc->sentences[i].words;
    int64_t found = 0;

    for (int64_t k = t->row[i]; k < t->row[i + 1]; k++)
        found += !t->list[k].pair &&
                 (double)t->sentences[terms_slot(t, t->list[k].key)] >= from;
    return (float)found / (float)(words > 0 ? words : 1);
}

/* TF-IDF row i into `dense`, of unit length unless it is zero; returns the entries. */
static int64_t weigh(const struct terms *t, int64_t i, int64_t n, float *dense)
{
    double sum[VECTOR_WIDTH] = { 0 }, square = 0;
    int64_t entries = 0;

    for (int64_t k = t->row[i]; k < t->row[i + 1]; k++) {
        const uint64_t key = t->list[k].key, hash = word_mix(key);
        const double count = t->list[k].count;
        const double with = (double)t->sentences[terms_slot(t, key)];
        const double tf = count >= 1 ? 1 + log(count) : count;
        const double weight = with > 0 ? tf * log((double)(n + 1) / with) : 0;

        if (n >= COMMON_FROM && with > common_share * (double)n)
            continue;
        sum[hash % VECTOR_WIDTH] += hash >> 63 ? weight : -weight;
    }
    for (int k = 0; k < VECTOR_WIDTH; k++)
        square += sum[k] * sum[k];
    for (int k = 0; k < VECTOR_WIDTH; k++) {
        dense[k] = square > 0 ? (float)(sum[k] / sqrt(square)) : 0.0f;
        entries += dense[k] != 0;
    }
    return entries;
}

bool vectors_build(struct vectors *v, const struct document *doc)
{
    const size_t rows = (size_t)doc->n;
    struct terms t = { .row = calloc(rows + 1, sizeof(*t.row)) };
    float dense[VECTOR_WIDTH];
    int64_t n = 0;
    bool good = false;

    *v = (struct vectors){ .n = doc->n };
    v->row = calloc(rows + 1, sizeof(*v->row));
    v->manner = calloc(rows + 1, sizeof(*v->manner));
    if (!t.row || !v->row || !v->manner || !terms_build(&t, v, doc))
        goto done;
    /* A row has no more entries than terms. */
    v->column = malloc(((size_t)t.n + 1) * sizeof(*v->column));
    v->value = malloc(((size_t)t.n + 1) * sizeof(*v->value));
    if (!v->column || !v->value)
        goto done;
    for (int64_t i = 0; i < doc->n; i++) {
        v->row[i] = n;
        v->manner[i].topic = topic_of(&t, i, doc);
        if (weigh(&t, i, doc->n, dense) == 0)
            continue;
        for (int k = 0; k < VECTOR_WIDTH; k++) {
            if (dense[k] != 0) {
                v->column[n] = (uint16_t)k;
                v->value[n++] = dense[k];
            }
        }
    }
    v->row[doc->n] = n;
    good = true;
done:
    terms_finish(&t);
    if (!good)
        vectors_finish(v);
    return good;
}

/* Counts in how many sentences of the document each term of t is. */
static bool count_sentences(struct terms *t, const struct document *doc)
{
    struct terms one = { .row = NULL };
    bool good = true;

    for (uint64_t i = 0; i < t->slots; i++)
        t->sentences[i] = 0;
    for (int64_t i = 0; i < doc->n && good; i++) {
        const struct sentence *const s = &doc->sentences[i];
        struct manner_count manner;

        one.n = 0;
        good = terms_read(&one, doc->language, doc->text, s->begin, s->end, &manner);
        terms_join(&one, 0);
        for (int64_t k = 0; k < one.n; k++) {
            const uint64_t slot = terms_slot(t, one.list[k].key);

            t->sentences[slot] += t->keys[slot] != 0;
        }
    }
    terms_finish(&one);
    return good;
}

bool vectors_ask(struct asked *asked, const struct document *doc, const char *text, size_t size)
{
    struct terms t = { .row = calloc(2, sizeof(*t.row)) };
    struct manner_count manner;
    bool good = t.row && terms_read(&t, doc->language, text, 0, size, &manner) &&
                terms_close_row(&t, 0);

    *asked = (struct asked){ .terms = t.n };
    if (good && t.n > 0) {
        t.row[1] = t.n;
        good = count_sentences(&t, doc);
        for (int64_t k = 0; k < t.n && good; k++)
            asked->known += t.sentences[terms_slot(&t, t.list[k].key)] > 0;
        if (good)
            weigh(&t, 0, doc->n, asked->vector);
    }
    terms_finish(&t);
    return good;
}

const struct embedder embedder_tfidf = { "tf-idf", vectors_build, vectors_ask };

void vectors_finish(struct vectors *v)
{
    free(v->row);
    free(v->column);
    free(v->value);
    free(v->manner);
    *v = (struct vectors){ 0 };
}

void vectors_expand(const struct vectors *v, int64_t i, float *dense)
{
    memset(dense, 0, VECTOR_WIDTH * sizeof(*dense));
    for (int64_t k = v->row[i]; k < v->row[i + 1]; k++)
        dense[v->column[k]] = v->value[k];
}

float vectors_dot(const struct vectors *v, int64_t i, const float *dense)
{
    float sum = 0;

    for (int64_t k = v->row[i]; k < v->row[i + 1]; k++)
        sum += v->value[k] * dense[v->column[k]];
    return sum;
}

void vectors_add(const struct vectors *v, int64_t i, double *sum)
{
    for (int64_t k = v->row[i]; k < v->row[i + 1]; k++)
        sum[v->column[k]] += (double)v->value[k];
}

double vectors_dot_sum(const struct vectors *v, int64_t i, const double *sum)
{
    double dot = 0;

    for (int64_t k = v->row[i]; k < v->row[i + 1]; k++)
        dot += (double)v->value[k] * sum[v->column[k]];
    return dot;
}
