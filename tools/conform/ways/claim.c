/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Claims about outputs. The first word of a reason is the verdict.
 */
#include "claim.h"
#include "conform/engine/subject.h"

#include <string.h>

/* The families that judge numbers of a kernel; all of them where only lines are wanted. */
static uint32_t families_of(const struct session *session)
{
    const uint32_t judged = FAMILY_EXACT | FAMILY_BITS | FAMILY_BOUND;

    return session->o.families & judged ? session->o.families & judged : judged;
}

/* The judge's word comes first in the reason. */
static void oracle_judge(const struct subject *s, struct job *job, uint32_t families)
{
    struct subject own = *s;
    struct verdict v = { 0 };
    size_t n;

    own.v = &v;
    own.op->families->judge(&own, job, families);
    s->v->exact += v.exact;
    s->v->judged += v.judged;
    s->v->skipped += v.skipped;
    s->v->worst = v.worst > s->v->worst ? v.worst : s->v->worst;
    if (!v.failed)
        return;
    n = strlen(v.word);
    if (!strncmp(v.why, v.word, n) && v.why[n] == ':')
        cf_fail(s->v, "%s", v.why);
    else
        cf_fail(s->v, "%s: %.400s", v.word, v.why);
}

static void outputs_judge(struct subject *s, struct claim claim, struct job *again)
{
    const struct cf_families *const f = s->op->families;
    const uint32_t families = families_of(s->session);
    const bool bits = families & FAMILY_BITS;
    const uint32_t judged = families & (FAMILY_EXACT | FAMILY_BOUND);

    if (bits)
        cf_against_reference(s, "bits: against the reference");
    if (!s->v->failed)
        oracle_judge(s, s->got, judged);
    if (!s->v->failed && again && claim.numerics == HEED_NUMERICS_FAST)
        oracle_judge(s, again, judged); /* which may have other bits */
    if (s->v->failed && f->explain)
        f->explain(s);
    session_count(s->session, s->v);
    if (f->note)
        f->note(s);
}

void claim_judge(struct session *session, struct claim claim, struct job *job, struct job *again,
                 struct verdict *v)
{
    const struct cf_families *const f = cf_op->families;
    void *const answer = f->answer ? f->answer(job->problem) : NULL;
    struct subject s = { .session = session,
                         .op = cf_op,
                         .problem = job->problem,
                         .answer = answer,
                         .got = job,
                         .v = v };
    struct job *ref = NULL;

    session->claim = claim.numerics;
    if (f->answer && !answer) {
        cf_fail(v, "no memory");
        return;
    }
    f->claim(job->problem, answer, claim.numerics, claim.weights);
    job->numerics = claim.numerics;
    if (again) {
        again->numerics = claim.numerics;
        f->unwritten(&s, again);
    }
    if (again && !v->failed && claim.numerics != HEED_NUMERICS_FAST &&
        families_of(session) & FAMILY_BITS)
        f->same(&s, job->problem, again,
                &(struct relation){ .what = "repeat: second runs, in another process and place" });
    if (!v->failed) {
        s.ref = ref = cf_job_make(f, job->problem, &session->reference, 0, 1);
        if (!ref)
            cf_fail(v, "no memory");
        else if (cf_run_ok(ref, v, "reference"))
            outputs_judge(&s, claim, again);
    }
    job_drop(ref);
    if (f->answer)
        f->answer_free(answer);
}
