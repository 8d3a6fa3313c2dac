/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One case of attention on the reference and on every device.
 */
#include "session.h"
#include "tell.h"

#include <stdlib.h>
#include <string.h>

void session_count(struct session *session, const struct verdict *v)
{
    session->worst = v->worst > session->worst ? v->worst : session->worst;
    session->judged += v->judged;
    session->skipped += v->skipped;
    session->exact += v->exact;
}

bool session_refused(struct session *session, const struct bench *bench, heed_status wanted,
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

static void ran_count(struct session *session, const struct call *got)
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

static void judge(struct session *session, const struct bench *bench, const struct problem *p,
                  const struct call *ref, struct call *got, struct verdict *v)
{
    const uint32_t families_wanted = session->o.families;

    cf_step(v, "run");
    if (!cf_run_ok(got, v, "run")) {
        if (!v->failed)
            cf_fail(v, "check said yes, and no the second time");
        return;
    }
    ran_count(session, got);
    cf_step(v, "bits");
    if (families_wanted & FAMILY_BITS)
        cf_family_bits(bench, p, ref, got, v);
    cf_step(v, "exact");
    if (families_wanted & FAMILY_EXACT && cf_g(&p->c, G_FILL) == FILL_EXACT && !v->failed)
        cf_judge_exact(p, got, v);
    cf_step(v, "bound");
    if (families_wanted & FAMILY_BOUND && !v->failed)
        cf_judge_bound(p, got, v);
    cf_step(v, "meta");
    if (families_wanted & FAMILY_META && !v->failed)
        cf_family_meta(bench, p, got, v);
    session_count(session, v);
    session_evidence(session, p);
}

/* The exact family alone says nothing about other data. */
static const char *not_of_family(const struct session *session, const struct problem *p)
{
    return session->o.families == FAMILY_EXACT && cf_g(&p->c, G_FILL) != FILL_EXACT
               ? "the answer is not known to the last bit"
               : NULL;
}

static bool device_case(struct session *session, const struct bench *bench, const struct problem *p,
                        const struct call *ref, heed_status wanted, const char *line)
{
    struct call *got = calloc(1, sizeof *got);
    struct verdict v = { .word = "check" };
    char skip[REFUSAL_SKIP] = "";
    bool refused = false;

    if (!got || !cf_call_make(got, &bench->one, p, 0, p->c.seed + 1)) {
        cf_fail(&v, "no memory");
    } else {
        heed_report report = { .size = sizeof report };
        const heed_status status = heed_attn_check(bench->one.device, &got->desc, &report);

        refused = session_refused(session, bench, wanted, status, &report, skip);
        if (!refused && status != wanted)
            cf_fail(&v, "check: the reference answers %s, this device %s%s%s",
                    heed_status_name(wanted), heed_status_name(status),
                    status == HEED_E_UNSUPPORTED ? " in " : "", report.field);
        else if (status >= 0)
            judge(session, bench, p, ref, got, &v);
        else if (refused || session->o.families & FAMILY_CHECK)
            cf_check_and_plan(bench->one.device, &got->desc, &v);
    }
    if (v.failed && got && got->o.after)
        cf_where_add(&session->where, p, ref, got);
    if (!v.failed && !skip[0] && not_of_family(session, p))
        snprintf(skip, sizeof skip, "%s", not_of_family(session, p));
    cf_tell_case(&session->tally, bench->one.name, line, skip, &v);
    if (got)
        cf_call_finish(got);
    free(got);
    return !refused;
}

bool attn_case(struct session *session, const struct cs *c)
{
    struct problem *p = cf_problem_make(c, NULL, 0, true);
    struct call *ref = calloc(1, sizeof *ref);
    struct verdict v = { .word = "run" };
    heed_status wanted = HEED_E_NOMEM;
    char line[LINE];
    bool judged = false;

    cf_case_print(c, line);
    if (!p || !ref || !cf_call_make(ref, &session->reference, p, 0, c->seed)) {
        cf_fail(&v, "no memory");
    } else {
        wanted = heed_attn_check(session->reference.device, &ref->desc, NULL);
        if (wanted >= 0)
            cf_run_ok(ref, &v, "reference");
    }
    for (int i = 0; i < session->n && !v.failed; i++)
        judged |= device_case(session, &session->bench[i], p, ref, wanted, line);
    if (v.failed)
        cf_tell_case(&session->tally, "reference", line, "", &v);
    if (ref)
        cf_call_finish(ref);
    free(ref);
    cf_problem_free(p);
    return judged;
}
