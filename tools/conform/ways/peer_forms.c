/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Forms of a case as dense arrays, for peers and folders.
 */
#include "peer.h"

#include <string.h>

static struct job *described(const struct form *f)
{
    struct job *const job = cf_op->families->describe(f->problem, CALL_NATURAL);

    if (job && job_outputs_make(job))
        return job;
    job_drop(job);
    return NULL;
}

static bool exchanged(struct form_runner *own, const struct form *f, struct job *job,
                      struct verdict *v)
{
    struct peer_form form = { .form = f, .job = job };
    bool there = false;

    cf_case_print(own->c, form.line);
    if (!plain_make(&form.plain, job)) {
        cf_fail(v, "no memory");
    } else {
        form.plain.line = form.line;
        form.plain.form = f->name[0] ? f->name : NULL;
        peer_poison(job, f->how.poison);
        there = own->exchange(own->context, &form, v);
        job->numerics = own->session->o.claim;
    }
    plain_finish(&form.plain);
    return there && !v->failed;
}

static struct job *compute(struct runner *runner, const struct form *f, struct verdict *v)
{
    struct form_runner *const own = (struct form_runner *)(void *)runner;
    struct job *const job = described(f);

    if (!job)
        cf_fail(v, "no memory");
    else if (job->check(own->session->reference.device, job->desc, NULL) >= 0 &&
             exchanged(own, f, job, v))
        return job;
    job_drop(job);
    return NULL;
}

const char *peer_invariance(struct form_runner *own, struct verdict *v)
{
    const struct cf_families *const f = cf_op->families;
    void *const problem = f->problem(own->c, true);
    void *const answer = problem && f->answer ? f->answer(problem) : NULL;
    const struct subject s = { .session = own->session, .op = cf_op, .problem = problem,
                               .answer = answer, .seed = own->c->seed,
                               .families = FAMILY_INVARIANCE, .v = v };
    const char *skip = NULL;

    own->runner = (struct runner){ .properties = cf_properties_without_workers(),
                                   .claims = true, .dense = true,
                                   .compute = compute, .absent = own->absent };
    if (!problem || (f->answer && !answer))
        cf_fail(v, "no memory");
    else
        skip = cf_invariance(&s, &own->runner);
    if (f->answer)
        f->answer_free(answer);
    if (problem)
        f->problem_free(problem);
    return skip;
}
