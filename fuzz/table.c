/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What operations of the conformance kit's table add: the numbers of their descriptors, and the
 * kit's oracle for cases that are legal.
 */
#include "fuzz.h"
#include "own.h"

#include "conform/engine/table.h"

#include <string.h>

static struct fixed_call *call_of(const struct job *job)
{
    return (struct fixed_call *)(uintptr_t)job;
}

static bool heavy(const struct fuzz_arrays *a)
{
    double most = 1, second = 1;

    for (int i = 0; i < a->c->job->n; i++) {
        const double n = (double)fuzz_elements(&a->at[i]);

        second = n > most ? most : n > second ? n : second;
        most = n > most ? n : most;
    }
    return most * second >= 1 << 26;
}

static void spoil(struct job *job, struct rng *b)
{
    const uint8_t which = fuzz_byte(b);
    const int64_t value = fuzz_number(b);

    memcpy(fixed_number(call_of(job), which / 2), &value, which % 2 ? 4 : 8);
}

static void confuse(struct job *job, uint32_t which)
{
    if (which % 2)
        fixed_run(call_of(job))->reserved = 1;
    else
        fixed_run(call_of(job))->n_wait = 1;
}

/* Bytes that several rows of a copy go to may be those of any; of what no case says, nobody
 * knows. */
static void loose_set(struct fuzz_array *x, const struct said *said)
{
    const int64_t n = fuzz_elements(x);

    if (!x->wanted)
        return;
    x->loose = fuzz_copy(NULL, (size_t)n);
    for (int64_t e = 0; e < n; e++)
        x->loose[e] = !said || said[e].kind == SAID_ANY;
}

/* Of elements before the run and after it. */
static void oracle_compare(struct fuzz_arrays *a, const struct answer *answer)
{
    struct verdict v = { .failed = false };
    char line[LINE];

    for (int i = 0; i < a->c->job->n; i++) {
        const struct fuzz_array *const x = &a->at[i];

        if (!x->writes || !x->x->out)
            continue;
        fuzz_elements_take(x->t, x->origin, x->x->out->data);
        fuzz_elements_take(x->t, x->before + (x->origin - x->place), x->x->old->data);
    }
    cf_case_print(&a->c->cs, line);
    fixed_judge(a->c->job->problem, answer, call_of(a->c->job), FAMILY_EXACT | FAMILY_BOUND, &v);
    FUZZ_REQUIRE(!v.failed, "%s: %s", line, v.why);
}

/* Contents are those of the case unless a place has two arrays. */
static void judge(struct fuzz_arrays *a, bool first)
{
    const bool plain = !a->c->strange && a->c->guest == a->c->host;
    struct answer answer = { .p = NULL };

    FUZZ_REQUIRE(!plain || answer_make(&answer, a->c->job->problem), "no memory for the target");
    if (plain)
        oracle_compare(a, &answer);
    for (int i = 0; first && i < a->c->job->n; i++) {
        if (plain ? answer.said[i] != NULL : fixed_of(cf_op)->open)
            loose_set(&a->at[i], answer.said[i]);
    }
    answer_finish(&answer);
}

const struct fuzz_own fuzz_table = {
    .heavy = heavy, .spoil = spoil, .confuse = confuse, .judge = judge,
};
