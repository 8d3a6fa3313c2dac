/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sentences to vectors: words and pairs of neighbouring words, weighted by TF-IDF
 * within the document (Salton and Buckley 1988), hashed with a sign into a fixed
 * width (Weinberger et al. 2009, section 2) and scaled to unit length.
 * Deterministic: no locale, no seed.
 *
 * The text is read twice, to count in how many sentences each term is and to weigh, so that no
 * list of all terms is kept. The count has a bound: in a document of very many terms those that
 * few sentences have are forgotten, and count as seen once, as in the lossy counting of Manku and
 * Motwani (2002, section 4.2).
 */
#include "summarize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMON_FROM = 40,              /* sentences; below, no word is too common */
    MOST_SLOTS = 1 << 20           /* of the census */
};
static const double common_share = 0.2;    /* a word in more sentences says nothing */
static const double pair_weight = 0.5;
/* A word that so many sentences have, a share of them and at least a number, is of the topic. */
static const double topic_share = 0.01, topic_from = 3;

struct term {
    uint64_t key;
    float count;                   /* pairs count half */
    bool pair;
};

/* The terms of one sentence, in the order of their keys. */
struct terms {
    struct term *list;
    int64_t n, capacity;
    struct manner manner;
};

/* How many sentences have each term: open addressing. */
struct census {
    uint64_t *keys;
    uint32_t *sentences;
    uint64_t slots, used;          /* slots: a power of two */
};

/* ---- terms --------------------------------------------------------------- */

static bool terms_push(struct terms *t, struct term term)
{
    if (t->n == t->capacity) {
        const int64_t capacity = t->capacity ? t->capacity * 2 : 256;
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

static void terms_join(struct terms *t)
{
    int64_t n = 0;

    if (t->n > 0)
        qsort(t->list, (size_t)t->n, sizeof(*t->list), compare_terms);
    for (int64_t i = 0; i < t->n; i++) {
        if (n > 0 && t->list[n - 1].key == t->list[i].key)
            t->list[n - 1].count += t->list[i].count;
        else
            t->list[n++] = t->list[i];
    }
    t->n = n;
}

static bool terms_read(struct terms *t, const struct language *language, const char *text,
                       size_t begin, size_t end)
{
    struct word word;
    uint64_t before = 0;
    size_t at = begin;
    struct manner_count count = { .words = 0 };

    t->n = 0;
    while (word_next(language, text, &at, end, &word)) {
        const struct term pair = {
            word_mix(before * 31 + word.key) | 1u, (float)pair_weight, true
        };

        manner_hear(&count, &word);
        if (word.key && !terms_push(t, (struct term){ word.key, 1.0f, false }))
            return false;
        if (word.key && before && !terms_push(t, pair))
            return false;
        before = word.key;
    }
    t->manner = manner_of(&count);
    terms_join(t);
    return true;
}

static bool terms_read_sentence(struct terms *t, const struct document *doc, int64_t i)
{
    const struct sentence *const s = &doc->sentences[i];

    return terms_read(t, doc->language, doc->text, s->begin, s->end);
}

/* ---- the census ----------------------------------------------------------- */

/* Where `key` is or would be. */
static uint64_t slot_of(const struct census *c, uint64_t key)
{
    uint64_t slot = key & (c->slots - 1);

    while (c->keys[slot] != 0 && c->keys[slot] != key)
        slot = (slot + 1) & (c->slots - 1);
    return slot;
}

static void census_finish(struct census *c)
{
    free(c->keys);
    free(c->sentences);
}

static bool census_grow(struct census *c)
{
    struct census bigger = *c;

    bigger.slots = c->slots ? c->slots * 2 : 4096;
    bigger.keys = calloc((size_t)bigger.slots, sizeof(*bigger.keys));
    bigger.sentences = calloc((size_t)bigger.slots, sizeof(*bigger.sentences));
    if (!bigger.keys || !bigger.sentences) {
        census_finish(&bigger);
        return false;
    }
    for (uint64_t i = 0; i < c->slots; i++) {
        if (c->keys[i] != 0) {
            const uint64_t slot = slot_of(&bigger, c->keys[i]);

            bigger.keys[slot] = c->keys[i];
            bigger.sentences[slot] = c->sentences[i];
        }
    }
    census_finish(c);
    *c = bigger;
    return true;
}

/* Empties a slot; what it had kept from its place moves up. */
static void census_drop(struct census *c, uint64_t slot)
{
    const uint64_t mask = c->slots - 1;

    for (uint64_t next = (slot + 1) & mask; c->keys[next] != 0; next = (next + 1) & mask) {
        const uint64_t home = c->keys[next] & mask;

        if (((next - home) & mask) >= ((next - slot) & mask)) {
            c->keys[slot] = c->keys[next];
            c->sentences[slot] = c->sentences[next];
            slot = next;
        }
    }
    c->keys[slot] = 0;
    c->sentences[slot] = 0;
    c->used--;
}

/* Makes half of the slots free: what few sentences have goes first. */
static void census_thin(struct census *c)
{
    for (uint32_t few = 1; c->used * 2 > c->slots; few++) {
        for (uint64_t i = 0; i < c->slots; i++) {
            while (c->keys[i] != 0 && c->sentences[i] <= few)
                census_drop(c, i);
        }
    }
}

static bool census_add(struct census *c, uint64_t key)
{
    uint64_t slot;

    if (c->used * 4 >= c->slots * 3) {
        if (c->slots == MOST_SLOTS)
            census_thin(c);
        else if (!census_grow(c))
            return false;
    }
    slot = slot_of(c, key);
    if (c->keys[slot] == 0) {
        c->keys[slot] = key;
        c->used++;
    }
    c->sentences[slot]++;
    return true;
}

/* Sentences that have the term: one at least. */
static double sentences_with(const struct census *c, uint64_t key)
{
    const uint32_t found = c->sentences[slot_of(c, key)];

    return found > 0 ? (double)found : 1;
}

/* Counts all sentences; *entries: the terms of all of them. */
static bool census_take(struct census *c, struct terms *t, const struct document *doc,
                        int64_t *entries)
{
    *entries = 0;
    if (!census_grow(c))
        return false;
    for (int64_t i = 0; i < doc->n; i++) {
        if (!terms_read_sentence(t, doc, i))
            return false;
        for (int64_t k = 0; k < t->n; k++) {
            if (!census_add(c, t->list[k].key))
                return false;
        }
        *entries += t->n;
    }
    return *entries <= INT32_MAX;
}

/* ---- vectors ------------------------------------------------------------- */

/* A sentence of n as TF-IDF row `dense`, of unit length unless it is zero. */
static void weigh(const struct terms *t, const struct census *c, int64_t n, float *dense)
{
    double sum[VECTOR_WIDTH] = { 0 }, square = 0;

    for (int64_t k = 0; k < t->n; k++) {
        const uint64_t key = t->list[k].key, hash = word_mix(key);
        const double count = t->list[k].count;
        const double with = sentences_with(c, key);
        const double tf = count >= 1 ? 1 + log(count) : count;
        const double weight = tf * log((double)(n + 1) / with);

        if (n >= COMMON_FROM && with > common_share * (double)n)
            continue;
        sum[hash % VECTOR_WIDTH] += hash >> 63 ? weight : -weight;
    }
    for (int k = 0; k < VECTOR_WIDTH; k++)
        square += sum[k] * sum[k];
    for (int k = 0; k < VECTOR_WIDTH; k++)
        dense[k] = square > 0 ? (float)(sum[k] / sqrt(square)) : 0.0f;
}

/* How much of a sentence of n is of the topic: different words, not pairs, among all words. */
static float topic_of(const struct terms *t, const struct census *c, int64_t words, int64_t n)
{
    const double share = topic_share * (double)n;
    const double from = share > topic_from ? share : topic_from;
    int64_t found = 0;

    for (int64_t k = 0; k < t->n; k++)
        found += !t->list[k].pair && sentences_with(c, t->list[k].key) >= from;
    return (float)found / (float)(words > 0 ? words : 1);
}

static bool weigh_all(struct vectors *v, struct terms *t, const struct census *c,
                      const struct document *doc)
{
    float dense[VECTOR_WIDTH];
    int32_t n = 0;

    for (int64_t i = 0; i < doc->n; i++) {
        if (!terms_read_sentence(t, doc, i))
            return false;
        v->manner[i] = t->manner;
        v->manner[i].topic = topic_of(t, c, doc->sentences[i].words, doc->n);
        v->row[i] = n;
        if (t->n > 0)
            weigh(t, c, doc->n, dense);
        for (int k = 0; t->n > 0 && k < VECTOR_WIDTH; k++) {
            if (dense[k] != 0) {
                v->column[n] = (uint16_t)k;
                v->value[n++] = dense[k];
            }
        }
    }
    v->row[doc->n] = n;
    return true;
}

bool vectors_build(struct vectors *v, const struct document *doc)
{
    const size_t rows = (size_t)doc->n;
    struct terms t = { .n = 0 };
    struct census c = { .slots = 0 };
    int64_t entries;
    bool good = false;

    *v = (struct vectors){ .n = doc->n, .width = VECTOR_WIDTH };
    v->row = calloc(rows + 1, sizeof(*v->row));
    v->manner = calloc(rows + 1, sizeof(*v->manner));
    if (v->row && v->manner && census_take(&c, &t, doc, &entries)) {
        /* A row has no more entries than terms. */
        v->column = malloc(((size_t)entries + 1) * sizeof(*v->column));
        v->value = malloc(((size_t)entries + 1) * sizeof(*v->value));
        good = v->column && v->value && weigh_all(v, &t, &c, doc);
    }
    free(t.list);
    census_finish(&c);
    if (!good)
        vectors_finish(v);
    return good;
}

/* ---- what is asked --------------------------------------------------------- */

/* Counts the sentences of the document that have the terms which c has. */
static bool census_of_these(struct census *c, const struct document *doc)
{
    struct terms one = { .n = 0 };
    bool good = true;

    memset(c->sentences, 0, (size_t)c->slots * sizeof(*c->sentences));
    for (int64_t i = 0; i < doc->n && good; i++) {
        good = terms_read_sentence(&one, doc, i);
        for (int64_t k = 0; k < one.n && good; k++) {
            const uint64_t slot = slot_of(c, one.list[k].key);

            c->sentences[slot] += c->keys[slot] != 0;
        }
    }
    free(one.list);
    return good;
}

/* Leaves out what no sentence has. */
static void terms_keep_known(struct terms *t, const struct census *c)
{
    int64_t n = 0;

    for (int64_t k = 0; k < t->n; k++) {
        if (c->sentences[slot_of(c, t->list[k].key)] > 0)
            t->list[n++] = t->list[k];
    }
    t->n = n;
}

bool vectors_ask(struct asked *asked, const struct document *doc, const char *text, size_t size)
{
    struct terms t = { .n = 0 };
    struct census c = { .slots = 0 };
    bool good = terms_read(&t, doc->language, text, 0, size) && census_grow(&c);

    *asked = (struct asked){ .terms = t.n };
    for (int64_t k = 0; k < t.n && good; k++)
        good = census_add(&c, t.list[k].key);
    if (good && t.n > 0) {
        good = census_of_these(&c, doc);
        terms_keep_known(&t, &c);
        asked->known = t.n;
        weigh(&t, &c, doc->n, asked->vector);
    }
    free(t.list);
    census_finish(&c);
    return good;
}

void vectors_finish(struct vectors *v)
{
    free(v->row);
    free(v->column);
    free(v->value);
    free(v->dense);
    free(v->manner);
    *v = (struct vectors){ 0 };
}

bool vectors_has(const struct vectors *v, int64_t i)
{
    return v->row[i + 1] > v->row[i];
}

/* The channels of sentence i that are no words' ones. */
static const float *dense_of(const struct vectors *v, int64_t i)
{
    return v->dense + i * (v->width - VECTOR_WIDTH);
}

void vectors_expand(const struct vectors *v, int64_t i, float *dense)
{
    memset(dense, 0, VECTOR_WIDTH * sizeof(*dense));
    for (int64_t k = v->row[i]; k < v->row[i + 1]; k++)
        dense[v->column[k]] = v->value[k];
    if (v->dense)
        memcpy(dense + VECTOR_WIDTH, dense_of(v, i),
               (size_t)(v->width - VECTOR_WIDTH) * sizeof(*dense));
}

float vectors_dot(const struct vectors *v, int64_t i, const float *dense)
{
    float sum = 0;

    for (int64_t k = v->row[i]; k < v->row[i + 1]; k++)
        sum += v->value[k] * dense[v->column[k]];
    for (int64_t k = VECTOR_WIDTH; k < v->width; k++)
        sum += dense_of(v, i)[k - VECTOR_WIDTH] * dense[k];
    return sum;
}

void vectors_add(const struct vectors *v, int64_t i, double *sum)
{
    for (int64_t k = v->row[i]; k < v->row[i + 1]; k++)
        sum[v->column[k]] += (double)v->value[k];
    for (int64_t k = VECTOR_WIDTH; k < v->width; k++)
        sum[k] += (double)dense_of(v, i)[k - VECTOR_WIDTH];
}

double vectors_dot_sum(const struct vectors *v, int64_t i, const double *sum)
{
    double dot = 0;

    for (int64_t k = v->row[i]; k < v->row[i + 1]; k++)
        dot += (double)v->value[k] * sum[v->column[k]];
    for (int64_t k = VECTOR_WIDTH; k < v->width; k++)
        dot += (double)dense_of(v, i)[k - VECTOR_WIDTH] * sum[k];
    return dot;
}
