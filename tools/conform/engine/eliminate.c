/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is refused whatever goes with it, learned where no case is known that is taken. Each level
 * is put into a few legal cases drawn at random. A level whose cases were all refused for the same
 * field is left out if another level of its axis was refused for that field half as often at most:
 * else the field is some other axis's. Who looks at one field after the other shows the next ones
 * only then, so sweeps follow each other until one finds nothing.
 */
#include "cover.h"

#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 24, FEW = 12, MANY = 80 };

/* What the cases with a level were answered. */
struct answers {
    int asked;
    bool one_field; /* all were refused, for the same field */
    char field[64];
};

/* Who is asked, and where cases come from. */
struct lesson {
    struct cover *cover;
    const struct taker *taker;
};

static void ask(const struct lesson *lesson, int level, struct answers *a)
{
    struct cover *const cover = lesson->cover;
    heed_report report = { .size = sizeof report };
    heed_status status;
    bool possible = false;
    struct cs c;

    cf_draw_random(cover, &c, 15 + rng_below(&cover->r, 4) * 15);
    if (!cf_draw_repair(cover, &c, &level, 1, cf_limit_big, &status, &possible))
        return;
    if (lesson->taker->refuses(lesson->taker->who, &c, &report))
        cf_refusal_add(cover->refusals, &report);
    else
        report.field[0] = '\0';
    if (a->asked == 0) {
        memcpy(a->field, report.field, sizeof a->field);
        a->one_field = report.field[0] != '\0';
    }
    a->asked++;
    a->one_field = a->one_field && strcmp(a->field, report.field) == 0;
}

/* Is there a level that is refused for that field in half of its cases at most? */
static bool another_passes(const struct lesson *lesson, int owner, const struct answers *all,
                           const char *field)
{
    const struct field *f = &cf_fields[owner];

    for (int l = 0; l < f->n_levels; l++) {
        int times = 0, asked = 0;

        if (!(f->allowed >> l & 1) || (all[l].one_field && !strcmp(all[l].field, field)))
            continue;
        for (int i = 0; i < FEW; i++) {
            struct answers one = { 0 };

            ask(lesson, f->first + l, &one);
            asked += one.asked;
            times += one.one_field && !strcmp(one.field, field);
        }
        if (asked > 0 && times * 2 <= asked)
            return true;
    }
    return false;
}

/* Of the fields for which levels were always refused the one with most refusals: it is looked at
 * first, so the levels with another one passed it. -1: there is none that is due to a level. */
static int worst_level(const struct lesson *lesson, int owner, const struct answers *all)
{
    int64_t most = 0;
    int worst = -1;

    for (int l = 0; l < cf_fields[owner].n_levels; l++) {
        const int64_t times =
            all[l].one_field ? cf_refusals_of(lesson->cover->refusals, all[l].field) : 0;

        if (times > most && another_passes(lesson, owner, all, all[l].field)) {
            most = times;
            worst = l;
        }
    }
    return worst;
}

/* true: a level of the field is left out from now on. */
static bool field_learn(const struct lesson *lesson, int owner)
{
    struct field *f = &cf_fields[owner];
    struct answers all[MAX_LEVELS] = { 0 };
    int worst;

    for (int l = 0; l < f->n_levels; l++) {
        struct answers *a = &all[l];

        for (int i = 0; f->allowed >> l & 1 && i < MANY && (i == 0 || a->one_field); i++)
            ask(lesson, f->first + l, a);
    }
    worst = worst_level(lesson, owner, all);
    for (int l = 0; worst >= 0 && l < f->n_levels; l++) {
        if (all[l].one_field && !strcmp(all[l].field, all[worst].field))
            f->allowed &= ~(UINT32_C(1) << l);
    }
    return worst >= 0;
}

void cf_eliminate(struct cover *cover, const struct taker *taker)
{
    const struct lesson lesson = { cover, taker };
    bool learned = true;

    for (int sweep = 0; sweep < SWEEPS && learned; sweep++) {
        learned = false;
        for (int i = 0; i < cf_n_fields; i++) {
            const uint32_t allowed = cf_fields[i].allowed;

            if (allowed & (allowed - 1) && cf_subset_reaches(i)) /* there are two */
                learned |= field_learn(&lesson, i);
        }
    }
}
