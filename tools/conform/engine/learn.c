/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a partial device or a plug-in takes, learned from its answers. First some cases that it
 * takes: from the kinds of case that kernels are made for (cf_op->single), else by leaving out what
 * it always refuses. Then each level of each field is put into such cases, alone and with levels of
 * the fields that a kernel may tie to it. What is taken makes more cases to begin with; a level
 * that is in none of them is left out.
 */
#include "cover.h"

#include <stdlib.h>
#include <string.h>

/* Cases looked for among the kinds; random cases asked at last; cases that a level is put into. */
enum { ENOUGH = 8, AT_RANDOM = 2000, HOSTS = 4 };

struct lesson {
    struct cover *cover;
    const struct taker *taker;
};

/* A case that is taken is one to begin with if there is room. */
static void home_add(struct cover *cover, const struct cs *c)
{
    int levels[MAX_FIELDS];

    for (int i = cf_levels_of(c, levels); i > 0; i--)
        cover->taken[levels[i - 1]] = 1;
    if (cover->n_homes < MAX_HOMES)
        cover->homes[cover->n_homes++] = *c;
}

/* Asks about a legal case. */
static bool takes(const struct lesson *lesson, const struct cs *c)
{
    heed_report report = { .size = sizeof report };

    if (lesson->taker->refuses(lesson->taker->who, c, &report)) {
        cf_refusal_add(lesson->cover->refusals, &report);
        return false;
    }
    home_add(lesson->cover, c);
    return true;
}

/* ---- the first cases ------------------------------------------------------- */

static bool legal(const struct cover *cover, const struct cs *c)
{
    return cf_subset_holds(c) && cf_op->work(c) <= cf_limit_big &&
           cf_check(cover->reference, c, NULL) >= 0;
}

static void single_ask(const struct lesson *lesson, int64_t number)
{
    struct cs c;

    if (cf_op->single(number, &c) && legal(lesson->cover, &c))
        takes(lesson, &c);
}

/* The simple kinds, all of them; then, if none is taken, the others until some are. */
static void singles_ask(const struct lesson *lesson)
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

static bool random_ask(const struct lesson *lesson, int64_t dense)
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
static void homes_find(const struct lesson *lesson)
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
static bool pins_ask(const struct lesson *lesson, const int *pins, int n)
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
static bool tied_ask(const struct lesson *lesson, int level)
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

static bool level_ask(const struct lesson *lesson, int level)
{
    for (int i = 0; i < HOSTS; i++) {
        if (pins_ask(lesson, &level, 1))
            return true;
    }
    return tied_ask(lesson, level);
}

/* What is taken may let other levels in. */
static void levels_ask(const struct lesson *lesson)
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

void cf_learn(struct cover *cover, const struct taker *taker)
{
    const struct lesson lesson = { cover, taker };

    homes_find(&lesson);
    if (cover->n_homes == 0)
        return;
    levels_ask(&lesson);
    subset_take(cover);
}
