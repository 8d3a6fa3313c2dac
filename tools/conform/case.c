/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One case of attention on the reference and on every device; and the lines of TAP.
 */
#include "session.h"

#include <stdlib.h>

void cf_tap(struct tally *tally, bool ok, const char *skip, const char *device, const char *what,
            const char *line, const char *why)
{
    tally->number++;
    tally->passed += ok && !skip;
    tally->failed += !ok;
    tally->skipped += ok && skip;
    printf("%s %lld - %s %s %s%s%s\n", ok ? "ok" : "not ok", (long long)tally->number, device, what,
           line, skip ? " # SKIP " : "", skip ? skip : "");
    if (!ok)
        printf("# %s\n", why);
}

void session_count(struct session *session, const struct verdict *v)
{
    session->worst = v->worst > session->worst ? v->worst : session->worst;
    session->judged += v->judged;
    session->skipped += v->skipped;
    session->exact += v->exact;
}

static void judge(struct session *session, const struct bench *bench, const struct problem *p,
                  const struct call *ref, struct call *got, struct verdict *v)
{
    const uint32_t families_wanted = session->o.families;

    if (!cf_run_ok(got, v, "run"))
        return;
    if (families_wanted & FAMILY_BITS)
        cf_family_bits(bench, p, ref, got, v);
    if (families_wanted & FAMILY_EXACT && cf_g(&p->c, G_FILL) == FILL_EXACT && !v->failed)
        cf_judge_exact(p, got, v);
    if (families_wanted & FAMILY_BOUND && !v->failed)
        cf_judge_bound(p, got, v);
    if (families_wanted & FAMILY_META && !v->failed)
        cf_family_meta(bench, p, got, v);
    session_count(session, v);
}

/* The exact family alone says nothing about other data. */
static const char *not_of_family(const struct session *session, const struct problem *p)
{
    return session->o.families == FAMILY_EXACT && cf_g(&p->c, G_FILL) != FILL_EXACT
               ? "the answer is not known to the last bit"
               : NULL;
}

static void device_case(struct session *session, const struct bench *bench, const struct problem *p,
                        const struct call *ref, heed_status wanted, const char *line)
{
    struct call *got = calloc(1, sizeof *got);
    struct verdict v = { 0 };
    const char *skip = NULL;

    if (!got || !cf_call_make(got, &bench->one, p, 0, p->c.seed + 1)) {
        cf_fail(&v, "no memory");
    } else {
        const heed_status status = heed_attn_check(bench->one.device, &got->desc, NULL);

        if (status != wanted)
            cf_fail(&v, "check: the reference answers %s, this device %s", heed_status_name(wanted),
                    heed_status_name(status));
        else if (status >= 0)
            judge(session, bench, p, ref, got, &v);
        else if (session->o.families & FAMILY_CHECK)
            cf_check_and_plan(bench->one.device, &got->desc, &v);
    }
    if (!v.failed)
        skip = wanted < 0 ? heed_status_name(wanted) : not_of_family(session, p);
    cf_tap(&session->tally, !v.failed, skip, bench->one.name, "case", line, v.why);
    if (got)
        cf_call_finish(got);
    free(got);
}

void attn_case(struct session *session, const struct cs *c)
{
    struct problem *p = cf_problem_make(c, NULL, 0, true);
    struct call *ref = calloc(1, sizeof *ref);
    struct verdict v = { 0 };
    heed_status wanted = HEED_E_NOMEM;
    char line[LINE];

    cf_case_print(c, line);
    if (!p || !ref || !cf_call_make(ref, &session->reference, p, 0, c->seed)) {
        cf_fail(&v, "no memory");
    } else {
        wanted = heed_attn_check(session->reference.device, &ref->desc, NULL);
        if (wanted >= 0)
            cf_run_ok(ref, &v, "reference");
    }
    for (int i = 0; i < session->n && !v.failed; i++)
        device_case(session, &session->bench[i], p, ref, wanted, line);
    if (v.failed)
        cf_tap(&session->tally, false, NULL, "reference", "case", line, v.why);
    if (ref)
        cf_call_finish(ref);
    free(ref);
    cf_problem_free(p);
}
