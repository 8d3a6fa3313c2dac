/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The cases: a 2-way covering array over the levels of all axes, grown pair by pair, then random
 * cases; and which pairs the executed cases covered. Which pairs are legal is asked of the
 * operation's check on the reference, not stated here.
 */
#include "cover.h"

#include <stdlib.h>
#include <string.h>

static void add(struct cover *cover, const struct cs *c)
{
    int levels[MAX_FIELDS];
    const int n = cf_levels_of(c, levels);

    cover->cases[cover->n++] = *c;
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            if (cf_op->telling(c, cover->owner[levels[i]], cover->owner[levels[j]]))
                cover->state[cf_pair(levels[i], levels[j])] = PLANNED;
        }
    }
}

/* One kind of contents after the other, of those that are taken. */
static void fill_next(const struct cover *cover, struct cs *c)
{
    const struct field *f = &cf_fields[cf_op->fill];
    const int64_t level = cover->n % f->n_levels;

    if (f->allowed >> level & 1)
        c->v[cf_op->fill] = f->level[level];
}

/* A case at random, with edges. */
static bool draw_one(struct cover *cover, struct cs *c)
{
    static const int64_t all[] = { 8, 15, 25, 45 }, taken[] = { 25, 45, 65, 85 };
    const int64_t *const densities = cover->taker ? taken : all;
    const int64_t limit = rng_below(&cover->r, 12) == 0 ? cf_limit_big : cf_limit_small;
    heed_status status;
    bool possible, found = false;

    for (int i = 0; i < TRIES_RANDOM && !found; i++) {
        cf_draw_random(cover, c, densities[rng_below(&cover->r, 4)]);
        if (cover->taker && cf_op->fill)
            fill_next(cover, c);
        found = cf_draw_repair(cover, c, NULL, 0, limit, &status, &possible);
    }
    if (found && cf_op->edges)
        cf_draw_edges(cover, c, limit);
    return found;
}

/* About cases that are taken so much is drawn that it often hides all keys: then another one is. */
static bool add_random(struct cover *cover)
{
    struct cs c;
    bool found = draw_one(cover, &c);

    for (int i = 0; i < 4 && found && cover->taker && cf_op->idle && cf_op->idle(&c); i++)
        found = draw_one(cover, &c);
    if (found)
        add(cover, &c);
    return found;
}

/* Legal alone? */
static void judge_level(struct cover *cover, int level)
{
    struct cs c;
    heed_status status;
    bool possible = false;

    if (!cf_draw_plain(cover, &c, &level, 1, &status, &possible))
        cover->level_why[level] = status ? status : HEED_E_INTERNAL;
}

/* A level that is not legal takes all its pairs along. */
static void level_close(struct cover *cover, int level)
{
    for (int other = 0; other < cf_n_levels; other++) {
        cover->state[cf_pair(level, other)] = ILLEGAL;
        cover->why[cf_pair(level, other)] = cover->level_why[level];
    }
}

/* Does level a need a parent's level, none of which goes with b? Then the pair follows from those.
 */
static bool follows(struct cover *cover, int a, int b)
{
    const struct field *f = &cf_fields[cover->owner[a]];

    for (int i = 0; i < 2 && f->parent[i] >= 0; i++) {
        const struct field *parent = &cf_fields[f->parent[i]];
        bool none = f->parent[i] != cover->owner[b];
        heed_status why = 0;

        for (int l = 0; l < parent->n_levels && none; l++) {
            if (!(f->mask[i] >> l & 1))
                continue;
            none = cover->state[cf_pair(parent->first + l, b)] >= ILLEGAL;
            if (cover->why[cf_pair(parent->first + l, b)])
                why = cover->why[cf_pair(parent->first + l, b)];
        }
        if (none) {
            cover->state[cf_pair(a, b)] = why ? FOLLOWS : EXCLUDED;
            cover->why[cf_pair(a, b)] = why;
            return true;
        }
    }
    return false;
}

static int64_t gain(const struct cover *cover, const struct cs *c)
{
    int levels[MAX_FIELDS];
    const int n = cf_levels_of(c, levels);
    int64_t sum = 0;

    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++)
            sum += cover->state[cf_pair(levels[i], levels[j])] == NEW &&
                   cf_op->telling(c, cover->owner[levels[i]], cover->owner[levels[j]]);
    }
    return sum;
}

/* Covers the pair with a new case, the best of a few, or finds out why there is none. */
static void cover_pair(struct cover *cover, int a, int b)
{
    const int pins[2] = { a, b };
    struct cs c, best;
    heed_status status;
    bool possible = false;
    int64_t most = -1;

    for (int i = 0; i < 5 && (i < 3 || most < 0); i++) {
        const int64_t limit = i < 3 && rng_below(&cover->r, 6) ? cf_limit_small : cf_limit_big;

        if (cf_draw_greedy(cover, &c, pins, 2, limit) &&
            cf_draw_repair(cover, &c, pins, 2, limit, &status, &possible) &&
            gain(cover, &c) > most) {
            most = gain(cover, &c);
            best = c;
        }
    }
    if (most < 0 && cf_draw_plain(cover, &c, pins, 2, &status, &possible)) {
        most = 0;
        best = c;
    }
    if (most >= 0) {
        add(cover, &best);
        return;
    }
    cover->state[cf_pair(a, b)] = possible ? ILLEGAL : EXCLUDED;
    cover->why[cf_pair(a, b)] = possible ? status : 0;
}

static struct cover *cover_alloc(int64_t cases)
{
    struct cover *cover = calloc(1, sizeof *cover);
    const size_t levels = (size_t)cf_n_levels;

    if (!cover)
        return NULL;
    cover->cases = calloc((size_t)cases + 1, sizeof *cover->cases);
    cover->state = calloc(levels * levels, 1);
    cover->executed = calloc(levels * levels, 1);
    cover->why = calloc(levels * levels, sizeof *cover->why);
    cover->level_why = calloc(levels, sizeof *cover->level_why);
    cover->open = calloc(levels, sizeof *cover->open);
    cover->owner = calloc(levels, sizeof *cover->owner);
    cover->judged = calloc(levels, 1);
    cover->taken = calloc(levels, 1);
    cover->homes = calloc(MAX_HOMES, sizeof *cover->homes);
    if (cover->cases && cover->state && cover->executed && cover->why && cover->level_why &&
        cover->open && cover->owner && cover->judged && cover->taken && cover->homes) {
        for (int i = 0; i < cf_n_fields; i++) {
            for (int l = 0; l < cf_fields[i].n_levels; l++)
                cover->owner[cf_fields[i].first + l] = i;
        }
        return cover;
    }
    cf_cover_free(cover);
    return NULL;
}

/* Levels of fields with one level, and pairs within a field, are nothing to cover. */
static void mark_trivial(struct cover *cover)
{
    for (int i = 0; i < cf_n_fields; i++) {
        for (int l = 0; l < cf_fields[i].n_levels; l++) {
            const int level = cf_fields[i].first + l;

            for (int other = 0; other < cf_n_levels; other++) {
                if (cf_fields[i].n_levels < 2 || !(cf_fields[i].allowed >> l & 1) ||
                    (other >= cf_fields[i].first &&
                     other < cf_fields[i].first + cf_fields[i].n_levels))
                    cover->state[cf_pair(level, other)] = EXCLUDED;
            }
        }
    }
}

/* The levels of the fields that matter most, before there are pairs. */
static void cover_vital(struct cover *cover, int64_t cases)
{
    unsigned char *const has = calloc((size_t)cf_n_levels, 1);
    int levels[MAX_FIELDS];

    for (int l = 0; has && l < cf_n_levels && cover->n < cases; l++) {
        struct cs c;
        heed_status status;
        bool possible, found = false;

        if (!cf_op->vital(cover->owner[l]) || !cover->taken[l] || has[l])
            continue;
        for (int i = 0; i < 4 && !found; i++)
            found = cf_draw_greedy(cover, &c, &l, 1, cf_limit_small) &&
                    cf_draw_repair(cover, &c, &l, 1, cf_limit_small, &status, &possible);
        if (!found && !cf_draw_plain(cover, &c, &l, 1, &status, &possible))
            continue;
        add(cover, &c);
        for (int i = cf_levels_of(&c, levels); i > 0; i--)
            has[levels[i - 1]] = 1;
    }
    free(has);
}

/* Pairs of levels, as long as there is room. */
static void cover_pairs(struct cover *cover, int64_t cases)
{
    int64_t tries = 0;

    mark_trivial(cover);
    for (int l = 0; l < cf_n_levels; l++) {
        const struct field *f = &cf_fields[cover->owner[l]];

        if (f->n_levels > 1 && f->allowed >> (l - f->first) & 1 &&
            cf_subset_reaches(cover->owner[l]) && !cover->taker) /* who was asked about each */
            judge_level(cover, l);
    }
    for (int l = 0; l < cf_n_levels; l++) {
        if (cover->level_why[l])
            level_close(cover, l);
    }
    cf_cover_open(cover);
    if (cover->taker && cf_op->vital)
        cover_vital(cover, cover->room);
    /* The rarely used fields first: any case has the global ones. */
    for (int i = 0; i < cf_n_levels && cover->n < cases; i++) {
        const int a = (cf_fields[cf_op->first()].first + i) % cf_n_levels;

        for (int b = a + 1; b < cf_n_levels && cover->n < cases; b++) {
            if (cover->state[cf_pair(a, b)] != NEW || follows(cover, a, b) || follows(cover, b, a))
                continue;
            cover_pair(cover, a, b);
            if (tries++ % 16 == 0)
                cf_cover_open(cover);
        }
    }
}

struct cover *cf_cover_make(heed_device *reference, const struct taker *taker,
                            struct refusals *refusals, int64_t cases, uint64_t seed)
{
    struct cover *cover = cover_alloc(cases);
    bool more = true;

    if (!cover)
        return NULL;
    cover->reference = reference;
    cover->r = rng_of(seed);
    cover->room = cases;
    if (taker) {
        cover->refusals = refusals;
        if (!cf_learn(cover, taker)) {
            cf_cover_free(cover);
            return NULL;
        }
        cover->taker = taker;
        more = cover->n_homes > 0;
    }
    if (more)
        cover_pairs(cover, taker          ? cases - cases / 2
                           : cf_op->edges ? cases - cases / EDGE_SHARE
                                          : cases);
    while (more && cover->n < cases)
        more = add_random(cover);
    return cover;
}

int64_t cf_cover_count(const struct cover *cover)
{
    return cover->n;
}

const struct cs *cf_cover_case(const struct cover *cover, int64_t i)
{
    return &cover->cases[i];
}

void cf_cover_executed(struct cover *cover, const struct cs *c)
{
    int levels[MAX_FIELDS];
    const int n = cf_levels_of(c, levels);

    for (int i = 0; i < n; i++) {
        cover->judged[levels[i]] = 1;
        for (int j = i + 1; j < n; j++) {
            if (cf_op->telling(c, cover->owner[levels[i]], cover->owner[levels[j]]))
                cover->executed[cf_pair(levels[i], levels[j])] = 1;
        }
    }
}

static void level_name(const struct cover *cover, int level, char name[64])
{
    char value[32];

    cf_value_print(cover->owner[level], cf_cover_value(cover, level), value, sizeof value);
    snprintf(name, 64, "%s=%s", cf_fields[cover->owner[level]].name, value);
}

int cf_cover_unjudged(const struct cover *cover, FILE *to)
{
    char name[64];
    int n = 0;

    for (int l = 0; l < cf_n_levels && cf_op->vital; l++) {
        if (!cf_op->vital(cover->owner[l]) || !cover->taken[l] || cover->judged[l])
            continue;
        level_name(cover, l, name);
        if (to)
            fprintf(to, " %s", name);
        n++;
    }
    return n;
}

/* Not executed and not yet judged: is there a legal case at all? Who takes only some is not asked
 * about each pair that there was no room for. */
static bool pair_legal(struct cover *cover, int a, int b)
{
    const int pins[2] = { a, b };
    struct cs c;
    heed_status status;
    bool possible = false;

    if (cover->taker || cf_draw_plain(cover, &c, pins, 2, &status, &possible))
        return true;
    cover->state[cf_pair(a, b)] = possible ? ILLEGAL : EXCLUDED;
    cover->why[cf_pair(a, b)] = possible ? status : 0;
    return false;
}

static void pair_print(const struct cover *cover, int a, int b, const char *what, FILE *to)
{
    char one[64], two[64];

    level_name(cover, a, one);
    level_name(cover, b, two);
    fprintf(to, "# pair %s %s: %s\n", one, two, what);
}

/* TOO_BIG and OUTSIDE are no statuses of heed's. */
static const char *why_text(heed_status why)
{
    return why == TOO_BIG   ? "more work than a case may take"
           : why == OUTSIDE ? "not among the levels wanted"
                            : heed_status_name(why);
}

/* Levels of two fields that have several. */
static bool pair_counts(const struct cover *cover, int a, int b)
{
    return cover->owner[a] != cover->owner[b] && cf_fields[cover->owner[a]].n_levels > 1 &&
           cf_fields[cover->owner[b]].n_levels > 1;
}

/* Neither drawn nor found to be illegal. */
static bool pair_open(struct cover *cover, int a, int b)
{
    return !cover->executed[cf_pair(a, b)] && cover->state[cf_pair(a, b)] == NEW &&
           !follows(cover, a, b) && !follows(cover, b, a);
}

/* A pair is looked into by draws, which take longer than a case: more pairs than the run has cases
 * are only counted, but where each is to be named. */
static bool looks_into_pairs(struct cover *cover, bool list)
{
    int64_t open = 0;

    for (int a = 0; a < cf_n_levels; a++) {
        for (int b = a + 1; b < cf_n_levels; b++)
            open += pair_counts(cover, a, b) && pair_open(cover, a, b);
    }
    return list || open <= cover->n;
}

enum pair_outcome { PAIR_COVERED, PAIR_UNCOVERED, PAIR_UNKNOWN, PAIR_EXCLUDED, PAIR_ILLEGAL };
enum { PAIR_OUTCOMES = PAIR_ILLEGAL + 1 };

static enum pair_outcome pair_judge(struct cover *cover, int a, int b, bool look)
{
    if (cover->executed[cf_pair(a, b)])
        return PAIR_COVERED;
    if (cover->state[cf_pair(a, b)] == PLANNED)
        return PAIR_UNCOVERED;
    if (pair_open(cover, a, b)) {
        if (!look)
            return PAIR_UNKNOWN;
        if (pair_legal(cover, a, b))
            return PAIR_UNCOVERED;
    }
    return cover->state[cf_pair(a, b)] == EXCLUDED ? PAIR_EXCLUDED : PAIR_ILLEGAL;
}

static void pair_list(const struct cover *cover, int a, int b, enum pair_outcome outcome, FILE *to)
{
    if (outcome == PAIR_UNCOVERED)
        pair_print(cover, a, b, "legal but not covered", to);
    else if (outcome == PAIR_EXCLUDED)
        pair_print(cover, a, b, "cannot go together", to);
    else if (outcome == PAIR_ILLEGAL && !cover->level_why[a] && !cover->level_why[b])
        pair_print(cover, a, b, why_text(cover->why[cf_pair(a, b)]), to);
}

static void levels_list(const struct cover *cover, FILE *to)
{
    char one[64];

    for (int l = 0; l < cf_n_levels; l++) {
        if (!cover->level_why[l])
            continue;
        level_name(cover, l, one);
        fprintf(to, "# pair %s with anything: %s\n", one, why_text(cover->level_why[l]));
    }
}

void cf_cover_report(struct cover *cover, FILE *to, bool list)
{
    const bool look = looks_into_pairs(cover, list);
    int64_t n[PAIR_OUTCOMES] = { 0 };

    if (list)
        levels_list(cover, to);
    for (int a = 0; a < cf_n_levels; a++) {
        for (int b = a + 1; b < cf_n_levels; b++) {
            enum pair_outcome outcome;

            if (!pair_counts(cover, a, b))
                continue;
            outcome = pair_judge(cover, a, b, look);
            n[outcome]++;
            if (list)
                pair_list(cover, a, b, outcome, to);
        }
    }
    fprintf(to, "# pairs of levels: %lld covered, ", (long long)n[PAIR_COVERED]);
    if (n[PAIR_UNKNOWN] > 0)
        fprintf(to, "%lld that the cases had no room for, ", (long long)n[PAIR_UNKNOWN]);
    fprintf(
        to,
        "%lld legal but not covered, %lld illegal or unsupported, %lld that cannot go together%s\n",
        (long long)n[PAIR_UNCOVERED], (long long)n[PAIR_ILLEGAL], (long long)n[PAIR_EXCLUDED],
        n[PAIR_UNCOVERED] + n[PAIR_UNKNOWN] > 0 && !list ? " (--verbose names them)" : "");
}

void cf_cover_free(struct cover *cover)
{
    if (!cover)
        return;
    free(cover->cases);
    free(cover->state);
    free(cover->executed);
    free(cover->why);
    free(cover->level_why);
    free(cover->owner);
    free(cover->open);
    free(cover->judged);
    free(cover->taken);
    free(cover->homes);
    free(cover);
}
