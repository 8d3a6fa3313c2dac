/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Greedy: whole parts of a case are left out, fields go to their plainest values in bundles, alone,
 * together with those like them, and in pairs, numbers by halves and by ones, until nothing of it
 * fails; then small seeds are tried. (Zeller and Hildebrandt 2002 delete bundles so.)
 */
#define _POSIX_C_SOURCE 200809L    /* clock_gettime */
#include "shrink.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct work {
    struct shrink *s;
    struct cs goal;   /* each field at its plainest */
    bool legal;
    double end;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool over(const struct work *w)
{
    return w->s->tries >= w->s->most || now() > w->end;
}

/* Does the line of the case make it again? */
static bool has_line(const struct cs *c)
{
    struct cs again;
    char line[LINE], why[128];

    cf_case_print(c, line);
    return cf_case_parse(line, &again, why) && again.seed == c->seed &&
           !memcmp(again.v, c->v, (size_t)cf_n_fields * sizeof *c->v);
}

/* Takes the case if it is another one and fails like the first. */
static bool take(struct work *w, struct cs *c)
{
    struct shrink *const s = w->s;
    struct failure failure = { .worst = -1 };

    cf_case_normalize(c);
    if ((c->seed == s->best.seed &&
         !memcmp(c->v, s->best.v, (size_t)cf_n_fields * sizeof *c->v)) ||
        over(w) || !has_line(c) || (cf_check(s->reference, c, NULL) >= 0) != w->legal)
        return false;
    s->tries++;
    if (!s->fails(s->context, c, &failure) || strcmp(failure.word, s->failure.word))
        return false;
    s->best = *c;
    s->failure = failure;
    return true;
}

/* ---- goals -------------------------------------------------------------------------- */

/* Of a number that is positive by default the least positive level, else the level next to 0. */
static int64_t number_goal(int field)
{
    const struct field *f = &cf_fields[field];
    const bool positive = f->level[0] > 0;
    int64_t goal = f->level[0];

    for (int l = 0; l < f->n_levels; l++) {
        const int64_t x = f->level[l];

        if (!cf_op->empties(field, x) && llabs(x) < llabs(goal) &&
            (x > 0 || !positive))
            goal = x;
    }
    return goal;
}

static void goals_set(struct cs *goal)
{
    cf_op->smallest(goal);
    for (int i = 0; i < cf_n_fields; i++) {
        if (!cf_fields[i].words)
            goal->v[i] = number_goal(i);
    }
}

/* Fields that have a meaning and are not at their goals. */
static int open_fields(const struct work *w, int *fields)
{
    const struct cs *best = &w->s->best;
    int n = 0;

    for (int i = 0; i < cf_n_fields; i++) {
        if (best->v[i] != w->goal.v[i] && cf_field_active(best, i))
            fields[n++] = i;
    }
    return n;
}

/* ---- steps; each says whether the case became smaller --------------------------------- */

static bool leave_out(struct work *w)
{
    bool done = false;
    struct cs c;

    for (int i = 0; cf_op->without && cf_op->without(&w->s->best, i, &c);) {
        const bool taken = take(w, &c);

        done |= taken;
        i += !taken;
    }
    return done;
}

static bool bundles(struct work *w)
{
    int fields[MAX_FIELDS], n = open_fields(w, fields);
    bool done = false;

    for (int size = n; size > 1; size /= 2) {
        for (int from = 0; from < n; from += size) {
            struct cs c = w->s->best;

            for (int i = from; i < n && i < from + size; i++)
                c.v[fields[i]] = w->goal.v[fields[i]];
            done |= take(w, &c);
        }
    }
    return done;
}

/* The field, or it and all that have the same kind of value and the same value, become `value`. */
static bool become(struct work *w, int field, int64_t value, bool alike)
{
    const int64_t old = w->s->best.v[field];
    const char *words = cf_fields[field].words;
    struct cs c = w->s->best;
    int changed = 0;

    for (int i = 0; i < cf_n_fields; i++) {
        const char *theirs = cf_fields[i].words;
        const bool same = alike && c.v[i] == old && !words == !theirs &&
                          (!words || !strcmp(words, theirs)) && cf_field_active(&w->s->best, i);

        if (i == field || same) {
            c.v[i] = value;
            changed++;
        }
    }
    return (!alike || changed > 1) && take(w, &c);
}

/* Halves the distance to the goal, or goes by ever smaller steps where that does not fail. */
static bool approach(struct work *w, int field, bool alike)
{
    const int64_t goal = w->goal.v[field];
    bool done = false;

    if (w->s->best.v[field] == HEED_FAR)
        return false;
    for (int64_t step = (w->s->best.v[field] - goal) / 2; step != 0 && !over(w);) {
        const int64_t rest = w->s->best.v[field] - goal;

        if (llabs(step) <= llabs(rest) && become(w, field, w->s->best.v[field] - step, alike))
            done = true;
        else
            step /= 2;
    }
    return done;
}

/* Plainer ones than the value: of numbers nearer to the goal, of words earlier ones. */
static bool plainer(const struct work *w, int field, int64_t value)
{
    const int64_t old = w->s->best.v[field], goal = w->goal.v[field];

    if (cf_fields[field].words)
        return value < old && value != goal;
    return value != goal && llabs(value - goal) < llabs(old - goal);
}

static bool one(struct work *w, int field, bool alike)
{
    const struct field *f = &cf_fields[field];
    bool done = become(w, field, w->goal.v[field], alike);

    for (int l = 0; l < f->n_levels && !done; l++)
        done = plainer(w, field, f->level[l]) && become(w, field, f->level[l], alike);
    if (!f->words)
        done |= approach(w, field, alike);
    return done;
}

static bool each(struct work *w, bool alike)
{
    int fields[MAX_FIELDS];
    const int n = open_fields(w, fields);
    bool done = false;

    for (int i = 0; i < n && !over(w); i++) {
        if (w->s->best.v[fields[i]] != w->goal.v[fields[i]] &&
            cf_field_active(&w->s->best, fields[i]))
            done |= one(w, fields[i], alike);
    }
    return done;
}

static bool pairs(struct work *w)
{
    int fields[MAX_FIELDS];
    const int n = open_fields(w, fields);

    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n && !over(w); j++) {
            struct cs c = w->s->best;

            c.v[fields[i]] = w->goal.v[fields[i]];
            c.v[fields[j]] = w->goal.v[fields[j]];
            if (take(w, &c))
                return true;
        }
    }
    return false;
}

static void rounds(struct work *w)
{
    bool done = true;

    while (done && !over(w)) {
        done = leave_out(w);
        done |= bundles(w);
        done |= each(w, true);
        done |= each(w, false);
        done = done || pairs(w);
    }
}

enum { SEEDS = 8 };

static void small_seed(struct work *w)
{
    for (uint64_t seed = 1; seed <= SEEDS && w->s->best.seed > SEEDS; seed++) {
        struct cs c = w->s->best;

        c.seed = seed;
        take(w, &c);
    }
}

/* Each field at its goal, or a number one less, with other data. */
static bool lucky(struct work *w)
{
    int fields[MAX_FIELDS];
    const int n = open_fields(w, fields);

    for (int i = 0; i < 2 * n && w->s->luck; i++) {
        const int field = fields[i / 2];
        const int64_t goal = w->goal.v[field], old = w->s->best.v[field];
        const bool number = !cf_fields[field].words && llabs(old - goal) > 1;

        if (i % 2 && !number)
            continue;
        for (uint64_t seed = 1; seed <= SEEDS && !over(w); seed++) {
            struct cs c = w->s->best;

            c.v[field] = i % 2 == 0 ? goal : old > goal ? old - 1 : old + 1;
            c.seed = seed;
            if (take(w, &c))
                return true;
        }
    }
    return false;
}

void cf_shrink(struct shrink *s, const struct cs *from, const struct failure *failure)
{
    struct work w = { .s = s, .end = now() + s->seconds };

    s->best = *from;
    s->failure = *failure;
    s->tries = 0;
    w.legal = cf_check(s->reference, from, NULL) >= 0;
    goals_set(&w.goal);
    rounds(&w);
    small_seed(&w);
    rounds(&w);
    while (lucky(&w))
        rounds(&w);
}
