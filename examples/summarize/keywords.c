/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The words and pairs of words that say most of a document: TF-IDF as in its vectors, each sentence
 * counted by its salience. The text is read three times: for the words, for the pairs of the best
 * words, and for the way in which the winners are spelt most often, so that what is kept does not
 * grow with the number of pairs. A pair stands for a word that occurs mostly in it. Signs of
 * scripts without spaces count as pairs only.
 */
#include "language.h"
#include "read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPARE = 4,                     /* words looked at for each one wanted, */
    SPARE_LEAST = 64,              /* and at least */
    PAIR_LEAST = 2,                /* occurrences of a pair */
    SHORTEST = 3,                  /* letters */
    ENDING = 2                     /* bytes */
};
static const double pair_share = 0.4;      /* of a word's occurrences: the pair stands for it */

static const double rare_power = 1.5;      /* of the logarithm; less: more common words */

/* A word or a pair: how often it occurs, in how many sentences, and their weight. */
struct entry {
    uint64_t key, first, second;   /* first, second: words of a pair; 0: a word */
    int64_t count, sentences, last;
    double weight, score;
    size_t begin, end;             /* as it is spelt most often */
    int64_t spelt;                 /* so often */
};

/* Open addressing. */
struct table {
    struct entry *list;
    uint64_t slots, used;          /* slots: a power of two */
};

/* ---- tables ------------------------------------------------------------------ */

static struct entry *table_at(const struct table *t, uint64_t key)
{
    uint64_t slot = key & (t->slots - 1);

    while (t->list[slot].key != 0 && t->list[slot].key != key)
        slot = (slot + 1) & (t->slots - 1);
    return &t->list[slot];
}

/* NULL: no memory. */
static struct entry *table_add(struct table *t, uint64_t key)
{
    struct entry *found;

    if (t->used * 2 >= t->slots) {
        struct table bigger = { .slots = t->slots ? t->slots * 2 : 1024, .used = t->used };

        bigger.list = calloc((size_t)bigger.slots, sizeof(*bigger.list));
        if (!bigger.list)
            return NULL;
        for (uint64_t i = 0; i < t->slots; i++) {
            if (t->list[i].key != 0)
                *table_at(&bigger, t->list[i].key) = t->list[i];
        }
        free(t->list);
        *t = bigger;
    }
    found = table_at(t, key);
    if (found->key == 0) {
        found->key = key;
        found->last = -1;
        t->used++;
    }
    return found;
}

/* ---- reading ----------------------------------------------------------------- */

/* A word where it stands; `close`: only a space or a hyphen lies before it. */
struct place {
    uint64_t key;
    size_t begin, end;
    bool sign, close;              /* sign: of a script without spaces */
};

static bool is_common(const struct document *doc, size_t at, size_t end)
{
    char spelt[WORD_BYTES];

    return word_spell(doc->text, &at, end, spelt) && language_is_common(doc->language, spelt);
}

/* Next word of sentence s behind *at; false: there is none. */
static bool next_place(const struct document *doc, const struct sentence *s, size_t *at,
                       struct place *place)
{
    const char *const text = doc->text;
    const size_t from = *at;
    struct word word;
    size_t taken;
    uint32_t code = 0;

    if (!word_next(doc->language, text, at, s->end, &word))
        return false;
    place->begin = from;
    while (!utf8_is_word(code = utf8_next(text + place->begin, text + s->end, &taken)))
        place->begin += taken;
    place->sign = utf8_is_ideograph(code);
    place->end = place->begin;
    place->key = code >= '0' && code <= '9' ? 0 : word.key;
    for (int letters = 0;; letters++) {    /* without what follows an apostrophe */
        code = place->end < *at ? utf8_next(text + place->end, text + s->end, &taken) : ' ';
        if (!utf8_is_word(code)) {
            place->key = letters < SHORTEST && !place->sign ? 0 : place->key;
            break;
        }
        place->end += taken;
    }
    if (place->key && is_common(doc, place->begin, place->end))
        place->key = 0;
    place->close = place->begin == from ||
                   (place->begin == from + 1 && (text[from] == ' ' || text[from] == '-'));
    return true;
}

static uint64_t pair_key(uint64_t first, uint64_t second)
{
    return word_mix(first * 31 + second) | 1u;
}

static void count(struct entry *e, int64_t sentence, double weight)
{
    e->count++;
    if (e->last != sentence) {
        e->last = sentence;
        e->sentences++;
        e->weight += weight;
    }
}

/* Of a standard score: near 0 for what says little, near 1 for what says much. */
static double weight_of(const float *score, int64_t i, double mean, double deviation)
{
    return 1 / (1 + exp(-((double)score[i] - mean) / deviation));
}

struct search {
    const struct document *doc;
    const float *score;
    double mean, deviation;        /* of the scores of candidates */
    struct table words, pairs;
};

typedef bool visit(struct search *s, int64_t sentence, const struct place *before,
                   const struct place *place);

/* Goes over the words of what a summary may have. */
static bool walk(struct search *s, visit *each)
{
    for (int64_t i = 0; i < s->doc->n; i++) {
        const struct sentence *const one = &s->doc->sentences[i];
        struct place before = { .key = 0 }, place;
        size_t at = one->begin;

        while (one->candidate && next_place(s->doc, one, &at, &place)) {
            if (place.key && !each(s, i, &before, &place))
                return false;
            before = place;
        }
    }
    return true;
}

static bool count_word(struct search *s, int64_t i, const struct place *before,
                       const struct place *place)
{
    struct entry *const e = table_add(&s->words, place->key);

    (void)before;
    if (!e)
        return false;
    count(e, i, place->sign ? 0 : weight_of(s->score, i, s->mean, s->deviation));
    return true;
}

static bool is_pair(const struct place *before, const struct place *place)
{
    return before->key != 0 && before->key != place->key && place->close &&
           before->sign == place->sign;
}

/* Signs are all looked at, as one of them has no score. */
static bool count_pair(struct search *s, int64_t i, const struct place *before,
                       const struct place *place)
{
    struct entry *e;

    if (!is_pair(before, place) || (!place->sign && (table_at(&s->words, before->key)->score <= 0 ||
                                                     table_at(&s->words, place->key)->score <= 0)))
        return true;
    e = table_add(&s->pairs, pair_key(before->key, place->key));
    if (!e)
        return false;
    e->first = before->key;
    e->second = place->key;
    count(e, i, weight_of(s->score, i, s->mean, s->deviation));
    return true;
}

/* ---- scores ------------------------------------------------------------------ */

static void moments(struct search *s)
{
    double sum = 0, squares = 0, n = 0;

    for (int64_t i = 0; i < s->doc->n; i++) {
        if (s->doc->sentences[i].candidate) {
            sum += (double)s->score[i];
            squares += (double)s->score[i] * (double)s->score[i];
            n++;
        }
    }
    s->mean = n > 0 ? sum / n : 0;
    s->deviation = n > 0 ? sqrt(fmax(squares / n - s->mean * s->mean, 0)) : 1;
    s->deviation = s->deviation > 1e-9 ? s->deviation : 1;
}

static void score_all(const struct search *s, const struct table *t)
{
    for (uint64_t i = 0; i < t->slots; i++) {
        struct entry *const e = &t->list[i];

        if (e->key != 0) {
            const double with = (double)e->sentences;
            const double rare = log(1 + (double)s->doc->n / with);

            /* What is said once is seldom what a text is about. */
            e->score = e->weight * with / (with + 1) * pow(rare, rare_power);
        }
    }
}

static int compare_scores(const void *a, const void *b)
{
    const struct entry *const x = *(struct entry *const *)a, *const y = *(struct entry *const *)b;

    if (x->score != y->score)
        return (x->score < y->score) - (x->score > y->score);
    return (x->key > y->key) - (x->key < y->key);
}

/* Entries of a score, the best first; NULL: no memory. */
static struct entry **ranked(const struct table *a, const struct table *b, int64_t *n)
{
    struct entry **const list = malloc((size_t)(a->used + b->used + 1) * sizeof(*list));

    *n = 0;
    for (uint64_t i = 0; list && i < a->slots + b->slots; i++) {
        struct entry *const e = i < a->slots ? &a->list[i] : &b->list[i - a->slots];

        if (e->key != 0 && e->score > 0)
            list[(*n)++] = e;
    }
    if (list && *n > 0)
        qsort(list, (size_t)*n, sizeof(struct entry *), compare_scores);
    return list;
}

/* Words far behind lose their score: no pair of theirs is looked at. */
static bool keep_best(struct search *s, int64_t most)
{
    const struct table none = { .slots = 0 };
    const int64_t kept = most * SPARE > SPARE_LEAST ? most * SPARE : SPARE_LEAST;
    int64_t n;
    struct entry **const list = ranked(&s->words, &none, &n);

    for (int64_t i = kept; list && i < n; i++)
        list[i]->score = 0;
    free(list);
    return list != NULL;
}

/* A pair takes the place, and the score, of the words that it stands for. */
static void join_pairs(struct search *s)
{
    for (uint64_t i = 0; i < s->pairs.slots; i++) {
        struct entry *const pair = &s->pairs.list[i];
        const uint64_t keys[] = { pair->first, pair->second };
        double score = 0;

        if (pair->key == 0)
            continue;
        for (int k = 0; k < 2 && pair->count >= PAIR_LEAST; k++) {
            const struct entry *const word = table_at(&s->words, keys[k]);

            if ((double)pair->count >= pair_share * (double)word->count)
                score = fmax(score, fmax(word->score, pair->score));
        }
        pair->score = score;
    }
    for (uint64_t i = 0; i < s->pairs.slots; i++) {
        const struct entry *const pair = &s->pairs.list[i];
        const uint64_t keys[] = { pair->first, pair->second };

        for (int k = 0; k < 2 && pair->key != 0 && pair->score > 0; k++) {
            struct entry *const word = table_at(&s->words, keys[k]);

            if ((double)pair->count >= pair_share * (double)word->count)
                word->score = 0;
        }
    }
}

/* ---- spelling ---------------------------------------------------------------- */

static bool same_text(const char *text, const struct entry *e, size_t begin, size_t end)
{
    const size_t size = end - begin;

    return e->end - e->begin == size && memcmp(text + e->begin, text + begin, size) == 0;
}

/* The majority vote of Boyer and Moore: what is spelt so in most cases wins; else it is one of the
 * spellings. */
static void vote(const char *text, struct entry *e, size_t begin, size_t end)
{
    if (e->spelt == 0) {
        e->begin = begin;
        e->end = end;
    }
    e->spelt += same_text(text, e, begin, end) ? 1 : -1;
}

static bool spell(struct search *s, int64_t i, const struct place *before,
                  const struct place *place)
{
    struct entry *e = table_at(&s->words, place->key);

    (void)i;
    if (e->score > 0)
        vote(s->doc->text, e, place->begin, place->end);
    if (!is_pair(before, place) || s->pairs.slots == 0)
        return true;
    e = table_at(&s->pairs, pair_key(before->key, place->key));
    if (e->key != 0 && e->score > 0)
        vote(s->doc->text, e, before->begin, place->end);
    return true;
}

/* "key" and "keys": one begins with the other and has an ending more, in bytes. */
static bool same_but_ending(const char *text, const struct entry *e, const struct keyword *k)
{
    const size_t n = e->end - e->begin, m = k->end - k->begin, fewer = n < m ? n : m;

    return n + m - 2 * fewer <= ENDING && line_same(text + e->begin, text + k->begin, fewer);
}

static void take_best(struct keywords *k, const struct document *doc, struct entry *const *best,
                      int64_t n, int64_t most)
{
    for (int64_t i = 0; i < n && k->n < most; i++) {
        bool again = false;

        for (int64_t j = 0; j < k->n && !again; j++)
            again = same_but_ending(doc->text, best[i], &k->list[j]);
        if (!again)
            k->list[k->n++] = (struct keyword){ best[i]->begin, best[i]->end, best[i]->count,
                                                best[i]->score };
    }
}

bool keywords_find(struct keywords *k, const struct document *doc, const float *score,
                   int64_t most)
{
    struct search s = { .doc = doc, .score = score };
    struct entry **best = NULL;
    int64_t n = 0;
    bool good = false;

    *k = (struct keywords){ .list = calloc((size_t)most, sizeof(*k->list)) };
    moments(&s);
    if (!k->list || !walk(&s, count_word))
        goto done;
    good = true;
    if (s.words.used == 0)
        goto done;
    score_all(&s, &s.words);
    good = keep_best(&s, most) && walk(&s, count_pair);
    if (!good)
        goto done;
    score_all(&s, &s.pairs);
    join_pairs(&s);
    good = walk(&s, spell) && (best = ranked(&s.words, &s.pairs, &n)) != NULL;
    if (good)
        take_best(k, doc, best, n, most);
done:
    free(best);
    free(s.words.list);
    free(s.pairs.list);
    if (!good)
        keywords_finish(k);
    return good;
}

void keywords_finish(struct keywords *k)
{
    free(k->list);
    *k = (struct keywords){ 0 };
}
