/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One number per sentence: how much of the document's attention the sentence receives, as
 * LexRank's centrality (Erkan and Radev 2004, section 3.2) with attention as the walk, how the
 * sentence speaks (manner.c), and where it stands:
 *
 *   score = 0.4 mass + 0.5 topic + 0.4 relation + 0.1 names - 0.45 address - 0.3 stumbling
 *         + 0.4 min(words / 12, 1) + 0.17 log(1 + words of the turn) + 0.9 exp(-i / (n / 20))
 *         + 0.3 if a word says that something was settled ("decided")
 *         + expository (7 exp(-before / 200) + 1.5 exp(-within / 40)), an item instead of the last
 *           term -1
 *
 * before, within: words of candidates since the start of the document and of the section.
 *
 * mass       the logarithm of the attention received
 * topic      words that many sentences have say what the document is about (Luhn 1958)
 * relation   a sentence that reports has articles and prepositions; talk has few (the formality
 *            of Heylighen and Dewaele 1999, of which it has the half that closed lists can count)
 * names      who and what it is about
 * address    what is said to somebody in the text ("you", "we", "I") needs its setting, while a
 *            summary speaks from outside
 * stumbling  fillers, and words said again at once
 *
 * Those six are standard scores among the sentences that have a vector, so the weights need no
 * unit, and what a language has no list for is 0; a sentence without a vector, of mass 0, only
 * has the rest. Very short sentences say little, long turns and paragraphs more than short ones,
 * and what comes first introduces. One set of weights for every document and language:
 * docs/measurements/2026-11-23-choosing.md says how they were found and what each is worth,
 * 2026-11-27-summaries.md what came with the terms of expository text.
 */
#include "summarize.h"

#include <math.h>

/* Traits are standard scores; they come before the other parts. */
enum { TRAITS = PART_LENGTH };

static const double trait_weight[TRAITS] = {
    [PART_MASS] = 0.4, [PART_TOPIC] = 0.5, [PART_RELATION] = 0.4, [PART_NAMES] = 0.1,
    [PART_ADDRESS] = -0.45, [PART_STUMBLING] = -0.3
};
static const double length_weight = 0.4;
static const double full_length = 12;      /* words; longer gains nothing */
static const double turn_weight = 0.17;
static const double outcome_weight = 0.3;
static const double start_weight = 0.9;
static const double start_share = 0.05;    /* of the document: where the start fades */
/* What explains says first what it is about, as a whole and in each section; in words. */
static const double lead_weight = 7, lead_words = 200;
static const double section_weight = 1.5, section_words = 40;
static const double item_weight = 1;       /* what a list has is details */

const char *const salience_names[SALIENCE_PARTS] = {
    [PART_MASS] = "mass", [PART_TOPIC] = "topic", [PART_RELATION] = "relation",
    [PART_NAMES] = "names", [PART_ADDRESS] = "address", [PART_STUMBLING] = "stumbling",
    [PART_LENGTH] = "length", [PART_TURN] = "turn", [PART_POSITION] = "position",
    [PART_OUTCOME] = "outcome", [PART_LEAD] = "lead", [PART_SECTION] = "section",
    [PART_COMPANY] = "company"
};

struct moments {
    double mean, deviation;
};

static void traits_of(const struct manner *m, float mass, double *traits)
{
    traits[PART_MASS] = log((double)mass > 1e-30 ? (double)mass : 1e-30);
    traits[PART_TOPIC] = (double)m->topic;
    traits[PART_RELATION] = (double)m->relation;
    traits[PART_NAMES] = (double)m->names;
    traits[PART_ADDRESS] = (double)m->address;
    traits[PART_STUMBLING] = (double)m->stumbling;
}

/* Mean and deviation of n values, given by their sum and sum of squares. */
static struct moments moments_of(double sum, double squares, int64_t n)
{
    const double count = n > 0 ? (double)n : 1;
    const double mean = sum / count, variance = squares / count - mean * mean;

    return (struct moments){ mean, variance > 1e-18 ? sqrt(variance) : 1 };
}

/* Of each trait, among the sentences that have mass. */
static void find_moments(const struct vectors *v, const float *mass, struct moments *moments)
{
    double sum[TRAITS] = { 0 }, squares[TRAITS] = { 0 }, traits[TRAITS];
    int64_t n = 0;

    for (int64_t i = 0; i < v->n; i++) {
        if (mass[i] <= 0)
            continue;
        traits_of(&v->manner[i], mass[i], traits);
        for (int k = 0; k < TRAITS; k++) {
            sum[k] += traits[k];
            squares[k] += traits[k] * traits[k];
        }
        n++;
    }
    for (int k = 0; k < TRAITS; k++)
        moments[k] = moments_of(sum[k], squares[k], n);
}

/* The first sentence behind the turn that begins with sentence `begin`, and the turn's words. */
static int64_t turn_end(const struct document *doc, int64_t begin, int64_t *words)
{
    int64_t i = begin;

    for (*words = 0; i < doc->n && doc->sentences[i].turn == doc->sentences[begin].turn; i++)
        *words += doc->sentences[i].words;
    return i;
}

/* Words that a summary may have, before a sentence. */
struct place {
    int64_t before, within;                /* in the document; in its section */
};

/* What it adds to sentence i that little is before it. */
static void lead(const struct document *doc, int64_t i, double expository,
                 const struct place *at, double *part)
{
    const bool item = doc->sentences[i].item;

    part[PART_LEAD] = expository * lead_weight * exp(-(double)at->before / lead_words);
    part[PART_SECTION] = expository *
                         (item ? -item_weight
                               : section_weight * exp(-(double)at->within / section_words));
}

/* Moves behind sentence i. A heading begins a section, unless it is the name of an item. */
static void move_on(const struct document *doc, int64_t i, struct place *at)
{
    const struct sentence *const s = &doc->sentences[i];
    const bool heading = s->worth == 1 && !s->candidate;

    if (heading && i + 1 < doc->n && !s[1].item)
        at->within = 0;
    at->before += s->candidate && s->needs >= 0 ? s->words : 0;
    at->within += s->candidate && s->needs >= 0 ? s->words : 0;
    if (i + 1 < doc->n && s[1].first && !s->first)
        *at = (struct place){ 0 };
}

/* What length and place add to sentence i of n, in a turn of so many words. */
static void place(const struct document *doc, int64_t i, int64_t turn_words, double *part)
{
    const double words = (double)doc->sentences[i].words;

    part[PART_LENGTH] = length_weight * (words < full_length ? words / full_length : 1);
    part[PART_TURN] = turn_weight * log(1 + (double)turn_words);
    part[PART_POSITION] = start_weight * exp(-(double)i / (start_share * (double)doc->n));
}

/* A sentence that others come with is worth what they are worth together, by the mean. */
static void keep_company(const struct document *doc, float *score, float (*parts)[SALIENCE_PARTS])
{
    for (int64_t i = doc->n - 1; i >= 0; i--) {
        const int needs = doc->sentences[i].needs;
        const float alone = score[i];

        if (needs <= 0)
            continue;
        for (int k = 1; k <= needs; k++)
            score[i] += score[i - k];
        score[i] /= (float)(needs + 1);
        if (parts)
            parts[i][PART_COMPANY] = score[i] - alone;
    }
}

void salience_score(const struct document *doc, const struct vectors *v, const float *mass,
                    bool leads, float *score, float (*parts)[SALIENCE_PARTS])
{
    struct moments moments[TRAITS];
    const double expository = leads ? doc->expository : 0;
    struct place at = { 0 };
    int64_t end = 0, words = 0;

    find_moments(v, mass, moments);
    for (int64_t i = 0; i < doc->n; i++) {
        double part[SALIENCE_PARTS] = { 0 }, sum = 0;

        if (i == end)
            end = turn_end(doc, i, &words);
        place(doc, i, words, part);
        lead(doc, i, expository, &at, part);
        move_on(doc, i, &at);
        part[PART_OUTCOME] = v->manner[i].outcome > 0 ? outcome_weight : 0;
        if (mass[i] > 0) {
            traits_of(&v->manner[i], mass[i], part);
            for (int k = 0; k < TRAITS; k++)
                part[k] = trait_weight[k] * (part[k] - moments[k].mean) / moments[k].deviation;
        }
        for (int k = 0; k < SALIENCE_PARTS; k++) {
            sum += part[k];
            if (parts)
                parts[i][k] = (float)part[k];
        }
        score[i] = (float)sum;
    }
    keep_company(doc, score, parts);
}
