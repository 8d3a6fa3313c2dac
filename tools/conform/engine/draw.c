/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Drawing legal cases: at random, or greedily around a pair of levels (the pair is fixed, each
 * other field takes the level that adds most pairs not covered yet; Cohen et al. 1997, AETG).
 */
#include "cover.h"

#include <stdlib.h>
#include <string.h>

int64_t cf_cover_value(const struct cover *cover, int level)
{
    const struct field *f = &cf_fields[cover->owner[level]];

    return f->level[level - f->first];
}

static heed_status case_status(const struct cover *cover, const struct cs *c, int64_t limit,
                               heed_report *report)
{
    heed_status status = cf_op->work(c) > limit ? TOO_BIG : HEED_OK;
    heed_report said = { .size = sizeof said };

    if (status != TOO_BIG)
        status = cf_check(cover->reference, c, report);
    if (status < 0 || status == TOO_BIG)
        return status;
    if (!cf_subset_holds(c))
        return OUTSIDE;
    if (!cover->taker || !cover->taker->refuses(cover->taker->who, c, &said))
        return status;
    cf_refusal_add(cover->refusals, &said);
    if (report)
        *report = said;
    return HEED_E_UNSUPPORTED;
}

/* What fields are taken back to. */
static int64_t home_value(const struct cover *cover, int field)
{
    return cover->home ? cover->home->v[field] : cf_fields[field].level[0];
}

/* Begins with a case that is taken and has as many of the pins as any, one of those at random.
 * false: there is none. */
static bool home_choose(struct cover *cover, struct cs *c, const int *pins, int n)
{
    int most = -1;

    cover->home = NULL;
    for (int i = 0, ties = 0; i < cover->n_homes; i++) {
        const struct cs *const home = &cover->homes[i];
        int has = 0;

        for (int k = 0; k < n; k++)
            has += cf_field_active(home, cover->owner[pins[k]]) &&
                   home->v[cover->owner[pins[k]]] == cf_cover_value(cover, pins[k]);
        ties = has > most ? 1 : ties + (has == most);
        if (has > most || (has == most && rng_below(&cover->r, ties) == 0))
            cover->home = home;
        most = has > most ? has : most;
    }
    if (cover->home)
        *c = *cover->home;
    return cover->home != NULL;
}

static bool fits(heed_status status)
{
    return status >= 0 && status != TOO_BIG && status != OUTSIDE;
}

/* Sets a field and whatever it needs to have a meaning. */
static void force(struct cover *cover, struct cs *c, int field, int64_t value)
{
    const struct field *f = &cf_fields[field];

    c->v[field] = value;
    for (int i = 0; i < 2 && f->parent[i] >= 0; i++) {
        const struct field *parent = &cf_fields[f->parent[i]];
        int level = cf_level_of(f->parent[i], c->v[f->parent[i]]);

        if (level < 0 || !(f->mask[i] >> level & 1))
            level = cf_subset_pick(&cover->r, f->parent[i], f->mask[i]);
        force(cover, c, f->parent[i], parent->level[level]);
    }
}

static bool pin(struct cover *cover, struct cs *c, const int *pins, int n)
{
    for (int i = 0; i < n; i++)
        force(cover, c, cover->owner[pins[i]], cf_cover_value(cover, pins[i]));
    cf_case_normalize(c);
    for (int i = 0; i < n; i++) {
        if (c->v[cover->owner[pins[i]]] != cf_cover_value(cover, pins[i]) ||
            !cf_field_active(c, cover->owner[pins[i]]))
            return false;
    }
    return true;
}

/* Is the field one of the pins', or one that gives such a field its meaning? */
static bool needed(int field, int by)
{
    for (int i = 0; i < 2 && cf_fields[by].parent[i] >= 0; i++) {
        if (cf_fields[by].parent[i] == field || needed(field, cf_fields[by].parent[i]))
            return true;
    }
    return field == by;
}

bool cf_draw_pinned(const struct cover *cover, const int *pins, int n, int field)
{
    for (int i = 0; i < n; i++) {
        if (needed(field, cover->owner[pins[i]]))
            return true;
    }
    return false;
}

bool cf_draw_repair(struct cover *cover, struct cs *c, const int *pins, int n, int64_t limit,
                    heed_status *status, bool *possible)
{
    for (int round = 0; round < 14; round++) {
        heed_report report = { .size = sizeof report };
        int from, to;

        if (!pin(cover, c, pins, n))
            return false;
        if (cf_op->wishes)
            cf_op->wishes(cover, c, pins, n);
        cf_subset_clamp(&cover->r, c);
        *possible = true;
        *status = case_status(cover, c, limit, &report);
        if (fits(*status))
            return true;
        from = 0;
        to = cf_n_fields;
        if (cf_op->blame && *status < 0 && round <= 9)
            cf_op->blame(cover, c, pins, n, &report, &from, &to);
        for (int i = from; i < to; i++) {
            if (rng_below(&cover->r, 2))
                c->v[i] = home_value(cover, i);
        }
        if (*status == TOO_BIG)
            cf_op->shrink(c);
    }
    return false;
}

void cf_draw_home(struct cover *cover, struct cs *c, const int *pins, int n)
{
    if (!home_choose(cover, c, pins, n))
        cf_op->smallest(c);
    c->seed = rng_next(&cover->r) >> 24;
}

/* New pairs that a level would add to the `n` chosen ones; -1: it is known not to go with one of
 * them. */
static int level_gain(const struct cover *cover, const int *chosen, int n, int level)
{
    int sum = 0;

    for (int i = 0; i < n; i++) {
        const unsigned char state = cover->state[cf_pair(chosen[i], level)];

        if (state >= ILLEGAL)
            return -1;
        sum += state == NEW;
    }
    return sum;
}

/* New pairs of the fields to which this level would give a meaning, and of those that these could.
 */
static int64_t promise(const struct cover *cover, int field, int level)
{
    int64_t sum = 0;

    for (int i = field + 1; i < cf_n_fields; i++) {
        for (int q = 0; q < 2 && cf_fields[i].parent[q] >= 0; q++) {
            int64_t later = 0;

            if (cf_fields[i].parent[q] != field || !(cf_fields[i].mask[q] >> level & 1))
                continue;
            for (int l = 0; l < cf_fields[i].n_levels; l++) {
                sum += cover->open[cf_fields[i].first + l];
                later += promise(cover, i, l);
            }
            sum += later / cf_fields[i].n_levels;
        }
    }
    return sum;
}

void cf_cover_open(struct cover *cover)
{
    memset(cover->open, 0, (size_t)cf_n_levels * sizeof *cover->open);
    for (int a = 0; a < cf_n_levels; a++) {
        for (int b = a + 1; b < cf_n_levels; b++) {
            if (cover->state[cf_pair(a, b)] == NEW) {
                cover->open[a]++;
                cover->open[b]++;
            }
        }
    }
}

static void choose_level(struct cover *cover, struct cs *c, int field, const int *chosen, int n,
                         int64_t limit)
{
    const struct field *f = &cf_fields[field];
    const int64_t old = c->v[field], start = rng_below(&cover->r, f->n_levels);
    int64_t best_gain = -2;
    int best = 0;

    for (int i = 0; i < f->n_levels; i++) {
        const int l = (int)((start + i) % f->n_levels);
        const bool vain = cf_op->empties(field, f->level[l]) || !cf_subset_has(field, f->level[l]);
        int64_t gain =
            cover->level_why[f->first + l] ? -1 : level_gain(cover, chosen, n, f->first + l);

        if (gain >= 0)
            gain += rng_below(&cover->r, promise(cover, field, l) / 4 + 1);

        if (vain || gain <= best_gain)
            continue;
        c->v[field] = f->level[l];
        if (cf_op->work(c) > limit)
            continue;
        best = l;
        best_gain = gain;
    }
    c->v[field] = best_gain == -2                                    ? old
                  : best_gain <= 0 && rng_below(&cover->r, 100) < 40 ? home_value(cover, field)
                                                                     : f->level[best];
}

/* Chooses all that the pins leave open, in random order but never before what gives it a meaning.
 */
bool cf_draw_greedy(struct cover *cover, struct cs *c, const int *pins, int n_pins, int64_t limit)
{
    int order[MAX_FIELDS], chosen[MAX_FIELDS], n = 0;
    bool done[MAX_FIELDS] = { false };

    cf_draw_home(cover, c, pins, n_pins);
    if (!pin(cover, c, pins, n_pins))
        return false;
    for (int i = 0; i < cf_n_fields; i++) {
        const int j = (int)rng_below(&cover->r, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < n_pins; i++) { /* the pins and what they need stay */
        for (int f = cover->owner[pins[i]]; f >= 0; f = cf_fields[f].parent[0]) {
            done[f] = true;
            if (cf_fields[f].parent[1] >= 0)
                done[cf_fields[f].parent[1]] = true;
        }
    }
    for (int pass = 0; pass < 6; pass++) {
        for (int i = 0; i < cf_n_fields; i++) {
            const int field = order[i];
            int level;

            if (!cf_field_active(c, field) || (pass && done[field]))
                continue;
            if (!done[field])
                choose_level(cover, c, field, chosen, n, limit);
            else if (pass)
                continue;
            done[field] = true;
            level = cf_level_of(field, c->v[field]);
            if (level >= 0 && cf_fields[field].n_levels > 1)
                chosen[n++] = cf_fields[field].first + level;
        }
    }
    return true;
}

/* About a case that is taken only what is taken, and seldom what leaves nothing to compute. */
static bool draw_worth(struct cover *cover, int field, int64_t level)
{
    const struct field *f = &cf_fields[field];

    return !cover->home || (f->allowed >> level & 1 && (!cf_op->empties(field, f->level[level]) ||
                                                         rng_below(&cover->r, 8) == 0));
}

/* Everything at random, from a case with the pins or from the defaults. */
static void draw_about(struct cover *cover, struct cs *c, const int *pins, int n, int64_t dense)
{
    if (!home_choose(cover, c, pins, n)) {
        if (dense)
            cf_case_default(c);
        else
            cf_op->smallest(c);
    }
    for (int i = 0; i < cf_n_fields; i++) {
        if (rng_below(&cover->r, 100) < dense) {
            const int64_t level = rng_below(&cover->r, cf_fields[i].n_levels);

            if (draw_worth(cover, i, level))
                c->v[i] = cf_fields[i].level[level];
        }
    }
    c->seed = rng_next(&cover->r) >> 24;
}

void cf_draw_random(struct cover *cover, struct cs *c, int64_t dense)
{
    draw_about(cover, c, NULL, 0, dense);
}

bool cf_draw_plain(struct cover *cover, struct cs *c, const int *pins, int n, heed_status *why,
                   bool *possible)
{
    *why = 0;
    for (int i = 0; i < 16; i++) {
        heed_status status = 0;

        draw_about(cover, c, pins, n, i < 4 ? 0 : i % 3 * 15);
        if (cf_draw_repair(cover, c, pins, n, cf_limit_big, &status, possible))
            return true;
        if (i == 0 || *why == TOO_BIG || *why == 0)
            *why = status;
    }
    return false;
}

bool cf_case_mend(struct rng *r, heed_device *reference, int64_t limit, struct cs *c)
{
    struct cover cover = { .reference = reference, .r = *r };
    heed_status status = 0;
    bool possible, legal;

    legal = cf_draw_repair(&cover, c, NULL, 0, limit, &status, &possible);
    *r = cover.r;
    return legal;
}

void cf_draw_edges(struct cover *cover, struct cs *c, int64_t limit)
{
    for (int i = 0; i < 4; i++) {
        struct cs edged = *c;

        cf_op->edges(&cover->r, &edged, limit);
        if (fits(case_status(cover, &edged, limit, NULL))) {
            *c = edged;
            return;
        }
    }
}

void cf_case_draw(struct rng *r, heed_device *reference, int64_t dense, int64_t limit, struct cs *c)
{
    struct cover cover = { .reference = reference, .r = *r };
    heed_status status;
    bool possible;
    struct cs varied;

    do
        cf_draw_random(&cover, c, dense);
    while (!cf_draw_repair(&cover, c, NULL, 0, limit, &status, &possible));
    varied = *c;
    if (cf_op->vary)
        cf_op->vary(&cover.r, &varied);
    status = case_status(&cover, &varied, limit, NULL);
    if (fits(status))
        *c = varied;
    *r = cover.r;
}
