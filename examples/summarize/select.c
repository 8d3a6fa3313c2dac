/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which sentences are printed: greedily the one of highest score less its
 * likeness to what is chosen already, as long as it fits (maximal marginal
 * relevance, Carbonell and Goldstein 1998). The budget counts every printed word,
 * speakers included.
 *
 * Of a long document only some candidates are looked at, those of highest score among the
 * sentences that fit. As likeness and crowding lower a score and never raise it, no other
 * sentence is worth more than the lowest score of a candidate, the floor. The winner is above it,
 * or more candidates are asked for, so the choice is that among all sentences.
 *
 * Crowding: of two sentences of like worth the one from a segment with fewer chosen words is taken.
 *
 * A sentence that needs those before it (cohesion.c) is taken together with them or not at all.
 *
 * What says again what was said is not taken (said.c).
 */
#include "said.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORTEST = 6,                  /* words of a sentence worth choosing */
    LONGEST = 80,
    USUAL = 20                     /* words of a sentence */
};
static const double likeness_weight = 2, crowding_weight = 0.4;
static const double free_shares = 2;       /* of words, before a segment is crowded */

bool summary_names_speaker(const struct document *doc, int64_t i, int64_t before)
{
    return doc->sentences[i].label_words > 0 &&
           (before < 0 || doc->sentences[before].turn != doc->sentences[i].turn);
}

size_t summary_end(const struct summary *summary, const struct document *doc,
                   const struct sentence *s)
{
    size_t end = s->begin, taken;

    if (summary->cut == 0 || !summary->chosen[s - doc->sentences])
        return s->end;
    for (size_t i = s->begin; i < s->end; i += taken) {
        utf8_next(doc->text + i, doc->text + s->end, &taken);
        if (utf8_count_words(doc->text, s->begin, i + taken) > summary->cut)
            break;
        end = i + taken;
    }
    return end;
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

const char length_units[LENGTH_UNITS] = {
    [LENGTH_WORDS] = 'w', [LENGTH_SENTENCES] = 's', [LENGTH_PERCENT] = '%'
};

struct budget length_budget(struct length length, const struct document *doc)
{
    struct budget budget = { .words = INT64_MAX, .sentences = INT64_MAX };

    switch (length.unit) {
    case LENGTH_WORDS:
        budget.words = length.number;
        break;
    case LENGTH_SENTENCES:
        budget.sentences = length.number;
        budget.whole = true;
        break;
    case LENGTH_PERCENT:
        budget.words = (int64_t)((double)doc->words * (double)length.number / 100);
        budget.whole = true;
        break;
    case LENGTH_UNITS:
        assert(length.unit < LENGTH_UNITS);
    }
    return budget;
}

/* ---- candidates ------------------------------------------------------------ */

struct choice {
    struct attend *attend;
    const struct document *doc;
    const struct vectors *vectors;
    const float *score;
    const bool *chosen;            /* [doc->n] */
    bool *usable, *fits;           /* [doc->n] */
    float *likeness;               /* to the first known[i] that were chosen, [doc->n] */
    int64_t *known;
    int64_t *picks, n_picks;       /* what was chosen, in that order */
    int64_t *spent;                /* words chosen of each segment */
    double even;                   /* words of a segment if all have the same share */
    int64_t first, end;            /* the sentences that are asked for */
    struct said *said;
    int32_t *candidates;           /* ascending, [doc->n] */
    int64_t n_candidates, most;    /* most: how many are asked for next */
    double floor;                  /* no sentence that fits and is no candidate is worth more */
};

static void choice_finish(struct choice *c)
{
    free(c->usable);
    free(c->fits);
    free(c->likeness);
    free(c->known);
    free(c->picks);
    free(c->spent);
    free(c->candidates);
}

/* From here on sentences [first, end) are asked for. */
static void choice_limit(struct choice *c, int64_t first, int64_t end)
{
    c->first = first;
    c->end = end;
    c->n_candidates = 0;
    c->most = attend_limits(c->attend)->candidates;
    c->floor = HUGE_VAL;
}

static bool choice_create(struct choice *c, struct budget budget)
{
    const size_t n = (size_t)c->doc->n, segments = (size_t)c->doc->n_segments;
    const double words = budget.words < INT64_MAX ? (double)budget.words
                                                  : (double)budget.sentences * USUAL;

    c->usable = calloc(n, sizeof(*c->usable));
    c->fits = calloc(n, sizeof(*c->fits));
    c->likeness = calloc(n, sizeof(*c->likeness));
    c->known = calloc(n, sizeof(*c->known));
    c->picks = calloc(n, sizeof(*c->picks));
    c->candidates = calloc(n, sizeof(*c->candidates));
    c->spent = calloc(segments + 1, sizeof(*c->spent));
    if (!c->usable || !c->fits || !c->likeness || !c->known || !c->picks || !c->candidates ||
        !c->spent)
        return false;
    c->even = fmax(words / (double)(segments + !segments), USUAL / 2);
    for (int64_t i = 0; i < c->doc->n; i++) {
        const struct sentence *const s = &c->doc->sentences[i];

        c->usable[i] = s->candidate && s->needs >= 0 && s->words >= SHORTEST &&
                       s->words <= LONGEST && vectors_has(c->vectors, i);
    }
    choice_limit(c, 0, c->doc->n);
    return true;
}

/* The likeness of the candidates takes in the chosen sentence `pick`. */
static void liken(struct choice *c, int64_t pick)
{
    float dense[VECTOR_MOST];

    vectors_expand(c->vectors, c->picks[pick], dense);
    for (int64_t i = 0; i < c->n_candidates; i++) {
        const int64_t j = c->candidates[i];
        float alike;

        if (!c->usable[j] || c->known[j] > pick)
            continue;
        alike = vectors_dot(c->vectors, j, dense);
        if (alike > c->likeness[j])
            c->likeness[j] = alike;
        c->known[j] = pick + 1;
    }
}

/* What is left of the budget. */
struct room {
    int64_t words, sentences;
};

/* Whether sentence i fits, with those it needs that are not chosen yet. */
static bool fits(const struct choice *c, int64_t i, struct room room)
{
    for (int64_t j = i - c->doc->sentences[i].needs; j <= i; j++) {
        room.sentences -= !c->chosen[j];
        room.words -= c->chosen[j] ? 0 : words_of(c->doc, j);
    }
    return room.words >= 0 && room.sentences >= 0;
}

/* New candidates, among the sentences that fit. */
static bool ask(struct choice *c, struct room room, struct failure *why)
{
    const int64_t n = c->end - c->first, most = c->most < n ? c->most : n;
    int64_t found = 0;

    for (int64_t i = c->first; i < c->end; i++)
        c->fits[i] = c->usable[i] && fits(c, i, room);
    if (!attend_best(c->attend, c->score + c->first, c->fits + c->first, n, most, c->candidates,
                     why))
        return false;
    c->floor = HUGE_VAL;
    for (; found < most && c->candidates[found] >= 0; found++) {
        const int32_t i = c->candidates[found] + (int32_t)c->first;
        const double score = (double)c->score[i];

        c->candidates[found] = i;
        c->floor = score < c->floor ? score : c->floor;
    }
    if (found < most || most == n)         /* there are no others */
        c->floor = -HUGE_VAL;
    c->n_candidates = found;
    c->most = 2 * most;
    for (int64_t i = 0; i < c->n_picks; i++)
        liken(c, i);
    return true;
}

/* The best candidate that fits, or -1, and what it is worth. */
static int64_t best(const struct choice *c, struct room room, double *worth)
{
    int64_t found = -1;

    *worth = -HUGE_VAL;
    for (int64_t i = 0; i < c->n_candidates; i++) {
        const int64_t j = c->candidates[i];
        const double likeness = likeness_weight * (double)c->likeness[j];
        const double shares = (double)c->spent[c->doc->sentences[j].segment] / c->even;
        const double crowding = crowding_weight * fmax(shares - free_shares, 0);
        const double here = (double)c->score[j] - likeness - crowding;

        if (c->usable[j] && here > *worth && fits(c, j, room)) {
            *worth = here;
            found = j;
        }
    }
    return found;
}

static void pick(struct summary *s, struct choice *c, int64_t i, double worth)
{
    c->usable[i] = false;
    s->chosen[i] = true;
    s->rank[i] = (int32_t)c->n_picks;
    s->likeness[i] = (float)((double)c->score[i] - worth);
    c->picks[c->n_picks] = i;
    c->spent[c->doc->sentences[i].segment] += c->doc->sentences[i].words;
    liken(c, c->n_picks++);
}

/* Says sentence i and those it needs that are not chosen; nothing if one of them was said. */
static bool say_all(struct choice *c, int64_t i, bool *again)
{
    const struct said before = *c->said;

    *again = false;
    for (int64_t j = i - c->doc->sentences[i].needs; j <= i && !*again; j++) {
        if (!c->chosen[j] && !said_add(c->said, c->doc, j, again))
            return false;
    }
    if (*again)
        said_back(c->said, &before);
    return true;
}

/* Takes sentences as long as they fit; `room`: what the first one may have at least. *left is what
 * remains of the words. */
static bool choose(struct summary *s, struct choice *c, int64_t *left, int64_t room,
                   int64_t most_picks, struct failure *why)
{
    while (c->n_picks < most_picks) {
        const struct room all = { room > *left ? room : *left, most_picks - c->n_picks };
        double worth;
        const int64_t i = best(c, all, &worth);
        bool again;

        if (worth <= c->floor && c->floor > -HUGE_VAL) {
            if (!ask(c, all, why))
                return false;
            continue;
        }
        if (i < 0)
            break;
        c->usable[i] = false;
        if (!say_all(c, i, &again))
            return false;
        for (int64_t j = i - c->doc->sentences[i].needs; j <= i && !again; j++) {
            if (c->chosen[j])
                continue;
            *left -= words_of(c->doc, j);
            pick(s, c, j, worth - (double)(c->score[i] - c->score[j]));
        }
        room = again ? room : 0;
    }
    return true;
}

/* So much of `all` when this share of it is due. */
static int64_t due(int64_t all, double share)
{
    return all == INT64_MAX ? all : (int64_t)((double)all * (share < 1 ? share : 1) + 0.5);
}

/* Section after section has what is due by then. One that is due a sentence has one, even if it is
 * longer; the sections behind it pay. */
static bool choose_sections(struct summary *s, struct choice *c, struct budget budget,
                            const struct sections *sections, struct failure *why)
{
    const int64_t mean = c->doc->words / (c->doc->n > 0 ? c->doc->n : 1);
    double share = 0;
    int64_t spent = 0;

    for (int64_t k = 0; k < sections->n; k++) {
        const struct section *const section = &sections->list[k];
        int64_t left, words, room;

        share += section->share;
        words = due(budget.words, share) - spent;
        room = due(budget.words, section->share) >= mean ? budget.words - spent : 0;
        choice_limit(c, section->begin, section->end);
        left = words;
        if (section->end > section->begin &&
            !choose(s, c, &left, room, due(budget.sentences, share), why))
            return false;
        spent += words - left;
    }
    return true;
}

static bool choose_parts(struct summary *s, struct choice *c, struct budget budget,
                         const struct sections *sections, struct failure *why)
{
    int64_t left = budget.words;
    bool good;

    if (sections && sections->n > 0)
        good = choose_sections(s, c, budget, sections, why);
    else
        good = choose(s, c, &left, 0, budget.sentences, why);
    s->words = printed_words(c->doc, s->chosen);
    return good;
}

struct ranked {
    float score;
    int64_t i;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *const x = a, *const y = b;

    return x->score != y->score ? (x->score < y->score) - (x->score > y->score)
                                : (x->i > y->i) - (x->i < y->i);
}

/* The chosen ones, of what says the same the one of highest score. */
static bool say_once(struct summary *s, const struct document *doc, struct said *said,
                     const float *score)
{
    struct ranked *const ranked = malloc(((size_t)doc->n + 1) * sizeof(*ranked));
    bool good = ranked != NULL, again = false;
    int64_t n = 0;
    int32_t rank = 0;

    for (int64_t i = 0; i < doc->n && good; i++) {
        if (s->chosen[i])
            ranked[n++] = (struct ranked){ score[i], i };
    }
    if (good)
        qsort(ranked, (size_t)n, sizeof(*ranked), compare_ranked);
    for (int64_t k = 0; k < n && good; k++) {
        good = said_add(said, doc, ranked[k].i, &again);
        s->chosen[ranked[k].i] = !again;
        s->rank[ranked[k].i] = again ? 0 : rank++;
    }
    free(ranked);
    return good;
}

/* All candidates, if they keep to the budget: the document is its own summary. */
static bool choose_all(struct summary *s, const struct document *doc, struct budget budget)
{
    int64_t found = 0;

    for (int64_t i = 0; i < doc->n; i++) {
        s->chosen[i] = doc->sentences[i].candidate;
        found += s->chosen[i];
    }
    if (found <= budget.sentences && printed_words(doc, s->chosen) <= budget.words)
        return true;
    for (int64_t i = 0; i < doc->n; i++)
        s->chosen[i] = false;
    return false;
}

static bool may_stand(const struct document *doc, int64_t i)
{
    return doc->sentences[i].candidate && doc->sentences[i].needs == 0;
}

/* Nothing fits: the best sentence will be cut, if it may be. */
static void choose_cut(struct summary *s, const struct document *doc, const float *score,
                       struct budget budget)
{
    int64_t found = 0;

    for (int64_t i = 1; i < doc->n; i++) {
        const bool here = may_stand(doc, i), there = may_stand(doc, found);

        if (here > there || (here == there && score[i] > score[found]))
            found = i;
    }
    s->chosen[found] = true;
    s->cut = budget.whole ? 0 : budget.words;
    s->words = budget.whole ? printed_words(doc, s->chosen) : budget.words;
}

bool summary_choose(struct summary *s, struct attend *a, const struct document *doc,
                    const struct vectors *v, const float *score, struct budget budget,
                    const struct sections *sections, struct failure *why)
{
    struct said said = { .end = malloc(((size_t)doc->n + 1) * sizeof(*said.end)) };
    struct choice c = { .attend = a, .doc = doc, .vectors = v, .score = score, .said = &said };
    bool good = true;

    *s = (struct summary){
        .chosen = calloc((size_t)doc->n + 1, sizeof(*s->chosen)),
        .rank = calloc((size_t)doc->n + 1, sizeof(*s->rank)),
        .likeness = calloc((size_t)doc->n + 1, sizeof(*s->likeness))
    };
    snprintf(why->text, sizeof(why->text), "not enough memory for the choice");
    if (!s->chosen || !s->rank || !s->likeness || !said.end) {
        good = false;
    } else if (choose_all(s, doc, budget)) {
        good = say_once(s, doc, &said, score);
        s->words = printed_words(doc, s->chosen);
    } else {
        c.chosen = s->chosen;
        good = choice_create(&c, budget) && choose_parts(s, &c, budget, sections, why);
        if (good && s->words == 0)
            choose_cut(s, doc, score, budget);
    }
    choice_finish(&c);
    free(said.keys);
    free(said.end);
    if (!good)
        summary_finish(s);
    return good;
}

void summary_finish(struct summary *s)
{
    free(s->chosen);
    free(s->rank);
    free(s->likeness);
    *s = (struct summary){ 0 };
}
