/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program of families, once for all operations.
 */
#include "invariance.h"
#include "session.h"
#include "subject.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* ---- jobs ---------------------------------------------------------------------- */

struct job *cf_job_make(const struct cf_families *f, const void *problem, const struct target *on,
                        unsigned flags, uint64_t poison)
{
    struct job *job = f->describe(problem, flags);

    if (!job)
        return NULL;
    job->on = on;
    if (job_upload(job, poison)) {
        job->placed(job);
        return job;
    }
    job_drop(job);
    return NULL;
}

struct job *cf_open(const struct cs *c, unsigned flags, bool data)
{
    void *const problem = cf_op->families->problem(c, data);
    struct job *const job = problem ? cf_op->families->describe(problem, flags) : NULL;

    if (job && job_outputs_make(job))
        return job;
    job_drop(job);
    cf_op->families->problem_free(problem);
    return NULL;
}

heed_status cf_check(heed_device *device, const struct cs *c, heed_report *report)
{
    void *const problem = cf_op->families->problem(c, false);
    struct job *const job = problem ? cf_op->families->describe(problem, 0) : NULL;
    const heed_status status = job ? job->check(device, job->desc, report) : HEED_E_NOMEM;

    job_drop(job);
    cf_op->families->problem_free(problem);
    return status;
}

void cf_close(struct job *job)
{
    void *const problem = job ? job->problem : NULL;

    job_drop(job);
    cf_op->families->problem_free(problem);
}

bool cf_run_ok(struct job *job, struct verdict *v, const char *what)
{
    heed_report report = { .size = sizeof report };
    char why[128];
    heed_status status = HEED_OK;

    if (job->on->partial)
        status = job->check(job->on->device, job->desc, &report);
    if (cf_refused(job->on, status, &report))
        return false;
    status = job_run(job, &report);
    if (status < 0) {
        cf_fail(v, "%s: check said yes, plan or run said %s: %s (%s)", what,
                heed_status_name(status), report.message, report.field);
    } else if (!job_memory_same(job, why)) {
        cf_step(v, "memory");
        cf_fail(v, "%s: %s", what, why);
    }
    return !v->failed;
}

void cf_check_and_plan(const struct job *job, heed_device *device, struct verdict *v)
{
    heed_report said = { .size = sizeof said }, did = { .size = sizeof did };
    heed_plan *plan = NULL;
    const heed_status check = job->check(device, job->desc, &said),
                      status = job->plan(device, job->desc, &plan, &did);

    heed_plan_drop(plan);
    if ((status < 0) != (plan == NULL))
        cf_fail(v, "plan answers %s and makes %s plan", heed_status_name(status),
                plan ? "a" : "no");
    if (check >= 0 && cf_may_fail(status))
        return;
    if (check != status || strcmp(said.field, did.field) != 0)
        cf_fail(v, "check says %s (%s: %s), plan %s (%s: %s)", heed_status_name(check), said.field,
                said.message, heed_status_name(status), did.field, did.message);
}

/* ---- counts -------------------------------------------------------------------- */

void session_count(struct session *session, const struct verdict *v)
{
    session->worst = v->worst > session->worst ? v->worst : session->worst;
    session->judged += v->judged;
    session->skipped += v->skipped;
    session->exact += v->exact;
}

/* Does a partial device refuse what the reference answers with `wanted`? Counts that, and says in
 * `skip` why a case is not judged; "": it is. */
static bool refused_by(struct session *session, const struct bench *bench, heed_status wanted,
                       heed_status status, const heed_report *report, char skip[REFUSAL_SKIP])
{
    const bool refused = cf_refused(&bench->one, status, report);

    if (wanted < 0 && (refused || wanted == status))
        snprintf(skip, REFUSAL_SKIP, "%s", heed_status_name(wanted));
    else if (refused)
        snprintf(skip, REFUSAL_SKIP, "refused: %s", report->field);
    if (refused && wanted >= 0)
        cf_refusal_add(&session->refusals, report);
    session->refusals.accepted += status >= 0 && wanted >= 0;
    return refused;
}

static void ran_count(struct session *session, const struct job *got)
{
    struct ran *ran = session->ran;
    int i = 0;

    while (i < MAX_KERNELS && ran[i].device &&
           (ran[i].device != got->on->name || strcmp(ran[i].kernel, got->ran) != 0))
        i++;
    if (i == MAX_KERNELS)
        return;
    ran[i].device = got->on->name;
    memcpy(ran[i].kernel, got->ran, sizeof ran[i].kernel);
    ran[i].cases++;
}

/* ---- families ------------------------------------------------------------------ */

void cf_compare(const struct subject *s, const struct target *on, const void *other, unsigned flags,
                const struct relation *r)
{
    struct job *const job =
        other ? cf_job_make(s->op->families, other, on, flags, s->seed + 77) : NULL;

    if (!job)
        cf_fail(s->v, "no memory: %s", r->what);
    else if ((!r->may_refuse || job->check(on->device, job->desc, NULL) != r->may_refuse) &&
             cf_run_ok(job, s->v, r->what))
        s->op->families->same(s, other, job, r);
    job_drop(job);
}

void cf_against_reference(const struct subject *s, const char *what)
{
    struct subject wanted = *s;

    if (!s->ref || s->got->numerics != HEED_NUMERICS_EXACT)
        return;
    wanted.got = (struct job *)(uintptr_t)s->ref;
    s->op->families->same(&wanted, s->problem, s->got, &(struct relation){ .what = what });
}

static void other_layout(const struct subject *s)
{
    const struct relation natural = { .what = "natural layout, aligned, other threads" };

    cf_step(s->v, "layout");
    if (!s->v->failed)
        cf_compare(s, &s->bench->two, s->problem, CALL_NATURAL, &natural);
}

static void compare_and_free(const struct subject *s, const struct target *on, void *other,
                             const struct relation *r)
{
    cf_compare(s, on, other, 0, r);
    s->op->families->problem_free(other);
}

static void alone(const struct subject *s)
{
    const struct cf_families *const f = s->op->families;
    const int64_t n = f->items(s->problem), item = n ? (int64_t)(s->seed % (uint64_t)n) : 0;
    const struct relation r = { .what = "a batch item alone", .items = &item };

    cf_step(s->v, "alone");
    if (!s->v->failed && n > 1 && f->apart(s->problem))
        compare_and_free(s, &s->bench->one, f->pick(s->problem, &item, 1, false), &r);
}

static void other_order(const struct subject *s)
{
    const struct cf_families *const f = s->op->families;
    const int64_t n = f->items(s->problem);
    struct relation r = { .what = "items in another order, heads reversed", .turned = true };
    int64_t order[MAX_BATCH];

    for (int64_t i = 0; i < n; i++)
        order[i] = n - 1 - i;
    r.items = f->apart(s->problem) ? order : NULL;
    compare_and_free(s, &s->bench->two, f->pick(s->problem, r.items, n, true), &r);
}

/* Returns why nothing was judged; NULL: it was. */
static const char *judge(const struct subject *s)
{
    const struct cf_families *const f = s->op->families;

    cf_step(s->v, "run");
    if (!cf_run_ok(s->got, s->v, "run")) {
        cf_fail(s->v, "check said yes, and no the second time");
        return NULL;
    }
    ran_count(s->session, s->got);
    if (s->families & FAMILY_INVARIANCE)
        return cf_invariance_of_device(s);
    cf_step(s->v, "bits");
    if (s->families & FAMILY_BITS) {
        cf_against_reference(s, "against the reference");
        other_layout(s);
        alone(s);
    }
    if (!s->v->failed)
        f->judge(s, s->got, s->families);
    cf_step(s->v, "meta");
    if (s->families & FAMILY_META && !s->v->failed && f->items(s->problem) > 0) {
        f->relate(s);
        if (!s->v->failed && s->seed & 1)
            other_order(s);
    }
    session_count(s->session, s->v);
    if (f->note)
        f->note(s);
    return NULL;
}

/* ---- a case -------------------------------------------------------------------- */

static bool device_case(struct subject s, heed_status wanted, const char *what, const char *line)
{
    struct verdict v = { .word = "check" };
    char skip[REFUSAL_SKIP] = "";
    const char *why = NULL;
    bool refused = false;

    s.v = &v;
    s.got = cf_job_make(s.op->families, s.problem, &s.bench->one, 0, s.seed + 1);
    if (!s.got) {
        cf_fail(&v, "no memory");
    } else {
        heed_report report = { .size = sizeof report };
        const heed_status status = s.got->check(s.bench->one.device, s.got->desc, &report);

        refused = refused_by(s.session, s.bench, wanted, status, &report, skip);
        if (!refused && status != wanted)
            cf_fail(&v, "check: the reference answers %s, this device %s%s%s",
                    heed_status_name(wanted), heed_status_name(status),
                    status == HEED_E_UNSUPPORTED ? " in " : "", report.field);
        else if (status < 0)
            cf_check_and_plan(s.got, s.bench->one.device, &v);
        else
            why = judge(&s);
        if (why)
            snprintf(skip, sizeof skip, "%s", why);
    }
    if (v.failed && s.got && s.op->families->explain)
        s.op->families->explain(&s);
    /* The exact family alone says nothing about other data. */
    if (!v.failed && !skip[0] && s.families == FAMILY_EXACT && v.exact == 0)
        snprintf(skip, sizeof skip, "the answer is not known to the last bit");
    cf_tell_case(&s.session->tally, s.bench->one.name, what, line, skip, &v);
    job_drop(s.got);
    return !refused;
}

bool cf_problem_case(struct session *session, const void *problem, uint64_t seed, uint32_t families,
                     const char *what, const char *line)
{
    const struct cf_families *const f = cf_op->families;
    struct verdict v = { .word = "run" };
    void *const answer = problem && f->answer ? f->answer(problem) : NULL;
    struct job *const ref = problem ? cf_job_make(f, problem, &session->reference, 0, seed) : NULL;
    struct subject s = { .session = session,
                         .op = cf_op,
                         .problem = problem,
                         .answer = answer,
                         .seed = seed,
                         .families = families,
                         .got = ref,
                         .ref = ref,
                         .v = &v };
    heed_status wanted = HEED_E_NOMEM;
    bool judged = false;

    if (!ref || (f->answer && !answer)) {
        cf_fail(&v, "no memory");
    } else {
        wanted = ref->check(session->reference.device, ref->desc, NULL);
        if (wanted >= 0 && cf_run_ok(ref, &v, "reference"))
            f->judge(&s, ref, families);
    }
    if (v.failed)
        cf_tell_case(&session->tally, "reference", what, line, "", &v);
    for (int i = 0; i < session->n && !v.failed; i++) {
        s.bench = &session->bench[i];
        judged |= device_case(s, wanted, what, line);
    }
    if (f->answer)
        f->answer_free(answer);
    job_drop(ref);
    return judged;
}

bool cf_case(struct session *session, const struct cs *c)
{
    void *const problem = cf_op->families->problem(c, true);
    char line[LINE];
    bool judged;

    cf_case_print(c, line);
    judged = cf_problem_case(session, problem, c->seed, session->o.families, "case", line);
    cf_op->families->problem_free(problem);
    return judged;
}
