/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a partial device or a plug-in takes, learned from its answers. First some cases that it
 * takes: from the kinds of case that kernels are made for (cf_op->single), else by leaving out
 * what it always refuses. Then each level of each field is put into such cases: alone, with
 * levels of the fields that a kernel may tie to it, and into those in which a field that belongs
 * to it was first taken. A kernel may take masks if their place is known at run time alone, so
 * that a mask of another kind is taken in a case that has such a place already. What is taken
 * makes more cases to begin with; a level that is in none of them is left out.
 */
#include "cover.h"

#include <stdlib.h>
#include <string.h>

/* Cases looked for among the kinds; random cases asked at last; cases that a level is put into. */
enum { ENOUGH = 8, AT_RANDOM = 2000, HOSTS = 4 };

/* A field of which a level was first taken in that case. */
struct first {
    int field, home;
};

struct lesson {
    struct cover *cover;
    const struct taker *taker;
    struct first *firsts; /* of each level one at most */
    int n_firsts;
    int *heard;           /* by level: so many firsts it has been put into */
};

int cf_levels_of(const struct cs *c, int levels[MAX_FIELDS])
{
    int n = 0;

    for (int i = 0; i < cf_n_fields; i++) {
        const int level = cf_level_of(i, c->v[i]);

        if (level >= 0 && cf_fields[i].n_levels > 1 && cf_field_active(c, i))
            levels[n++] = cf_fields[i].first + level;
    }
    return n;
}

/* A case that is taken is one to begin with if there is room. */
static void home_add(struct lesson *lesson, const struct cs *c)
{
    struct cover *const cover = lesson->cover;
    const bool room = cover->n_homes < MAX_HOMES;
    int levels[MAX_FIELDS];

    for (int i = cf_levels_of(c, levels); i > 0; i--) {
        const int level = levels[i - 1];

        if (room && !cover->taken[level])
            lesson->firsts[lesson->n_firsts++] =
                (struct first){ cover->owner[level], cover->n_homes };
        cover->taken[level] = 1;
    }
    if (room)
        cover->homes[cover->n_homes++] = *c;
}

/* Asks about a legal case. */
static bool takes(struct lesson *lesson, const struct cs *c)
{
    heed_report report = { .size = sizeof report };

    if (lesson->taker->refuses(lesson->taker->who, c, &report)) {
        cf_refusal_add(lesson->cover->refusals, &report);
        return false;
    }
    home_add(lesson, c);
    return true;
}

/* ---- the first cases ------------------------------------------------------- */

static bool legal(const struct cover *cover, const struct cs *c)
{
    return cf_subset_holds(c) && cf_op->work(c) <= cf_limit_big &&
           cf_check(cover->reference, c, NULL) >= 0;
}

static void single_ask(struct lesson *lesson, int64_t number)
{
    struct cs c;

    if (cf_op->single(number, &c) && legal(lesson->cover, &c))
        takes(lesson, &c);
}

/* The simple kinds, all of them; then, if none is taken, the others until some are. */
static void singles_ask(struct lesson *lesson)
{
    int64_t simple;
    const int64_t others = cf_op->singles(&simple) - simple;

    for (int64_t i = 0; i < simple; i++)
        single_ask(lesson, i);
    if (lesson->cover->n_homes > 0)
        return;
    for (int64_t i = 0; i < others && lesson->cover->n_homes < ENOUGH; i++)
        single_ask(lesson, simple + i * 7919 % others); /* a prime: all, scattered */
}

static bool random_ask(struct lesson *lesson, int64_t dense)
{
    struct cover *const cover = lesson->cover;
    heed_status status;
    bool possible;
    struct cs c;

    cf_draw_random(cover, &c, dense);
    return cf_draw_repair(cover, &c, NULL, 0, cf_limit_big, &status, &possible) &&
           takes(lesson, &c);
}

/* Without kinds: the plainest case, and a few others. */
static void homes_find(struct lesson *lesson)
{
    random_ask(lesson, 0);
    if (cf_op->single)
        singles_ask(lesson);
    for (int i = 0; i < 64 && lesson->cover->n_homes == 0; i++)
        random_ask(lesson, i % 4 * 8);
    if (lesson->cover->n_homes > 0)
        return;
    cf_eliminate(lesson->cover, lesson->taker);
    for (int i = 0; i < AT_RANDOM && lesson->cover->n_homes < ENOUGH; i++)
        random_ask(lesson, 10 + i % 4 * 15);
}

/* ---- levels ------------------------------------------------------------------ */

/* The pinned levels in a case that is taken. */
static bool pins_ask(struct lesson *lesson, const int *pins, int n)
{
    struct cover *const cover = lesson->cover;
    heed_status status;
    bool possible;
    struct cs c;

    cf_draw_home(cover, &c, pins, n);
    return cf_draw_repair(cover, &c, pins, n, cf_limit_big, &status, &possible) &&
           takes(lesson, &c);
}

/* With each level of the fields that a kernel may tie to that of this one. */
static bool tied_ask(struct lesson *lesson, int level)
{
    int fields[MAX_TIES];
    const int n = cf_op->ties ? cf_op->ties(lesson->cover->owner[level], fields) : 0;

    for (int i = 0; i < n; i++) {
        const struct field *f = &cf_fields[fields[i]];

        for (int l = 0; l < f->n_levels; l++) {
            if (f->allowed >> l & 1 && pins_ask(lesson, (int[]){ level, f->first + l }, 2))
                return true;
        }
    }
    return false;
}

static bool is_parent(int field, int of)
{
    return cf_fields[of].parent[0] == field || cf_fields[of].parent[1] == field;
}

/* One gives the other its meaning, or both have theirs from the same one. */
static bool belong(int a, int b)
{
    const int parent = cf_fields[a].parent[0];

    return a == b || is_parent(a, b) || is_parent(b, a) || (parent >= 0 && is_parent(parent, b));
}

/* In the cases where fields that belong to it were first taken, each of them once. */
static bool firsts_ask(struct lesson *lesson, int level)
{
    struct cover *const cover = lesson->cover;
    int asked = -1;

    while (lesson->heard[level] < lesson->n_firsts) {
        const struct first first = lesson->firsts[lesson->heard[level]++];
        heed_status status;
        bool possible;
        struct cs c;

        if (first.home == asked || !belong(first.field, cover->owner[level]))
            continue;
        asked = first.home;
        cover->home = &cover->homes[first.home];
        c = *cover->home;
        if (cf_draw_repair(cover, &c, &level, 1, cf_limit_big, &status, &possible) &&
            takes(lesson, &c))
            return true;
    }
    return false;
}

static bool level_ask(struct lesson *lesson, int level)
{
    for (int i = 0; i < HOSTS; i++) {
        if (pins_ask(lesson, &level, 1))
            return true;
    }
    return firsts_ask(lesson, level) || tied_ask(lesson, level);
}

/* What is taken may let other levels in. */
static void levels_ask(struct lesson *lesson)
{
    const struct cover *const cover = lesson->cover;
    bool more = true;

    for (int sweep = 0; sweep < 3 && more; sweep++) {
        more = false;
        for (int level = 0; level < cf_n_levels; level++) {
            const struct field *f = &cf_fields[cover->owner[level]];

            if (!cover->taken[level] && f->allowed >> (level - f->first) & 1 &&
                cf_subset_reaches(cover->owner[level]))
                more = level_ask(lesson, level) || more;
        }
    }
}

/* Fields that are in no case keep their levels: nothing is known of them. */
static void subset_take(const struct cover *cover)
{
    for (int i = 0; i < cf_n_fields; i++) {
        struct field *f = &cf_fields[i];
        uint32_t taken = 0;

        for (int l = 0; l < f->n_levels; l++)
            taken |= (uint32_t)cover->taken[f->first + l] << l;
        if (taken & f->allowed)
            f->allowed &= taken;
    }
}

bool cf_learn(struct cover *cover, const struct taker *taker)
{
    struct lesson lesson = {
        .cover = cover,
        .taker = taker,
        .firsts = calloc((size_t)cf_n_levels, sizeof *lesson.firsts),
        .heard = calloc((size_t)cf_n_levels, sizeof *lesson.heard),
    };
    const bool memory = lesson.firsts && lesson.heard;

    if (memory)
        homes_find(&lesson);
    if (memory && cover->n_homes > 0) {
        levels_ask(&lesson);
        subset_take(cover);
    }
    free(lesson.firsts);
    free(lesson.heard);
    return memory;
}
