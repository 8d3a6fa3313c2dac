/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Forms of a case computed by a plug-in, each in a process of its own. Arrays begin where a page
 * begins, but in forms that are about that.
 */
#include "plugin.h"

#include "conform/engine/place.h"

#include <stdlib.h>
#include <string.h>

struct plugin_runner {
    struct runner runner;
    struct session *session;
};

static struct job *described(const struct plugin_runner *own, const struct form *f)
{
    struct job *const job = cf_op->families->describe(f->problem, f->flags);

    if (job && job_outputs_make(job)) {
        *job->numerics_wanted = own->session->plugin->numerics;
        return job;
    }
    job_drop(job);
    return NULL;
}

/* What query refuses has not failed. */
static bool refused(const struct plugin *plugin)
{
    return plugin->copy.stage == STAGE_QUERY && plugin->copy.status == HEED_E_UNSUPPORTED;
}

/* The memory in which it ran is gone when it returns. */
static bool ran(const struct plugin_runner *own, const struct form *f, struct job *job,
                struct verdict *v)
{
    struct plugin *const plugin = own->session->plugin;
    struct outcome outcome;
    struct trial t;

    if (!plugin_trial_of(&t, job, plugin)) {
        cf_fail(v, "no memory");
        plugin_trial_unmap(&t);
        return false;
    }
    t.again = f->how.again;
    t.how = &f->how;
    plugin->width = f->how.width;
    t.memory.shifted = f->flags & CALL_SHIFTED;
    plugin_trial_fill(&t, f->how.other_ends, f->how.poison);
    outcome = plugin_fork(plugin, plugin_compute, &t);
    plugin->width = 0;
    plugin_judge_end(plugin, &t, &outcome, v);
    plugin->hangs += outcome.ending == HUNG;
    if (!v->failed && !refused(plugin))
        plugin_trial_read(&t, v);
    plugin_trial_unmap(&t);
    job->numerics = plugin->numerics;
    return !v->failed && !refused(plugin);
}

static struct job *compute(struct runner *runner, const struct form *f, struct verdict *v)
{
    const struct plugin_runner *const own = (struct plugin_runner *)(void *)runner;
    struct job *const job = described(own, f);

    if (!job)
        cf_fail(v, "no memory");
    else if (job->check(own->session->reference.device, job->desc, NULL) >= 0 &&
             ran(own, f, job, v))
        return job;
    job_drop(job);
    return NULL;
}

const char *plugin_invariance(struct session *session, const struct cs *c, struct verdict *v)
{
    const struct cf_families *const f = cf_op->families;
    void *const problem = f->problem(c, true);
    void *const answer = problem && f->answer ? f->answer(problem) : NULL;
    const uint32_t properties =
        session->plugin->memory ? cf_properties_without_workers() : UINT32_MAX;
    struct plugin_runner own = { { .compute = compute, .claims = true, .properties = properties },
                                 session };
    const struct subject s = { .session = session, .op = cf_op, .problem = problem,
                               .answer = answer, .seed = c->seed, .families = FAMILY_INVARIANCE,
                               .v = v };
    const char *skip = NULL;

    if (!problem || (f->answer && !answer))
        cf_fail(v, "no memory");
    else
        skip = cf_invariance(&s, &own.runner);
    if (f->answer)
        f->answer_free(answer);
    if (problem)
        f->problem_free(problem);
    return skip;
}
