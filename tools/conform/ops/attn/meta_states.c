/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Calls that continue: the first sources up to a state, on one device, and the others from there
 * on, on another, have the bits of one call. The states of both devices are equal, too.
 */
#include "meta.h"

#include "conform/engine/session.h"

#include <string.h>

/* How many sources the first call has. ALIGN_END counts positions from the last source of a call,
 * so one of the calls has all of them. */
static int sources_first(const struct problem *p, uint64_t hash)
{
    const int n = p->n_sources;

    if (cf_g(&p->c, G_ALIGN) == ALIGN_END)
        return hash % 2 ? n : 0;
    return (int)(hash % (uint64_t)(n + 1));
}

static struct job *stop(const struct subject *s, const struct problem *first,
                        const struct target *on)
{
    struct job *const job = cf_job_make(s->op->families, first, on, 0, s->seed + 83);

    if (!job)
        cf_fail(s->v, "no memory for states");
    else if (cf_run_ok(job, s->v, "up to a state"))
        return job;
    job_drop(job);
    return NULL;
}

/* Both devices stop at the same words; then one of them has left what the other begins from. */
static void go_on(const struct subject *s, const struct problem *first, struct problem *second)
{
    const bool here = s->seed & 4;
    struct job *const wanted = stop(s, first, &s->session->reference);
    struct job *const got = wanted ? stop(s, first, &s->bench->one) : NULL;
    struct subject states = *s;

    states.problem = first;
    states.got = wanted;
    if (got)
        s->op->families->same(&states, first, got, &(struct relation){ .what = "states" });
    if (got && !s->v->failed) {
        second->part.begins = cf_call_of(here ? got : wanted)->out;
        second->part.begins.laid = (int)(s->seed / 8 % 4);
        cf_compare(s, here ? &s->bench->two : &s->bench->one, second, 0,
                   &(struct relation){ .what = here ? "from a state of its own"
                                                    : "from a state of the reference" });
    }
    job_drop(got);
    job_drop(wanted);
}

void cf_meta_continued(const struct subject *s, const struct problem *p)
{
    struct problem *const first = cf_problem_make(&p->c, NULL, 0, true);
    struct problem *const second = cf_problem_make(&p->c, NULL, 0, true);
    const int n = sources_first(p, cf_mix2(s->seed, 41));

    if (!first || !second) {
        cf_fail(s->v, "no memory for calls that continue");
    } else {
        first->part = (struct stretch){ .end = n, .stops = true };
        second->part = (struct stretch){ .first = n, .end = p->n_sources };
        go_on(s, first, second);
    }
    cf_problem_free(first);
    cf_problem_free(second);
}
