/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The cases of an operation one after another, and the end of a run. A run in which something that
 * looks tested was not is no success: its exit status is that of nothing judged.
 */
#include "cover.h"
#include "invariance.h"
#include "run.h"

#include "common/text.h"

/* ---- cases --------------------------------------------------------------------- */

void walk_lines(struct session *session, walk_case *run_case)
{
    const char *line;

    for (int i = 0; (line = cf_op->line(i)) != NULL; i++) {
        struct cs c;
        char why[128] = "";

        if (!cf_case_parse(line, &c, why))
            cf_tap(&session->tally, false, NULL, "all", "corner", line, why);
        else if (cf_subset_holds(&c))
            run_case(session, &c);
    }
}

static void drawn_run(struct session *session, struct cover *cover, walk_case *run_case)
{
    const int64_t n = cf_cover_count(cover), before = session->tally.number;

    for (int64_t i = 0; i < n && !session->given_up; i++) {
        if (i % 8 == 0)
            text_progress("cases", (double)i / (double)n);
        if (run_case(session, cf_cover_case(cover, i)))
            cf_cover_executed(cover, cf_cover_case(cover, i));
    }
    session->drawn += session->tally.number - before;
    text_progress_clear();
}

static void taken_print(const struct taker *taker)
{
    printf("# op=%s: %s takes (as --only has it):", cf_op->name, taker->name);
    cf_subset_print(stdout);
    printf("\n");
}

static void cover_report(struct session *session, const struct taker *taker, struct cover *cover)
{
    printf("# op=%s, %lld cases\n", cf_op->name, (long long)cf_cover_count(cover));
    if (cf_cover_count(cover) > 0)
        cf_cover_report(cover, stdout, session->o.verbose && !session->o.quiet);
    if (taker && cf_cover_unjudged(cover, NULL) > 0) {
        printf("# not judged: no case that reached %s has", taker->name);
        session->unjudged += cf_cover_unjudged(cover, stdout);
        printf(", which it takes (more --cases?)\n");
    }
}

bool walk_cover(struct session *session, const struct taker *taker, int64_t cases,
                walk_case *run_case)
{
    struct cover *cover;

    walk_lines(session, run_case);
    text_progress("drawing cases", 0);
    cover = cf_cover_make(session->reference.device, taker, &session->refusals, cases,
                          (uint64_t)session->o.seed);
    text_progress_clear();
    if (!cover)
        return false;
    if (taker && cover->n_homes > 0)
        taken_print(taker);
    if (taker && cover->n_homes == 0)
        printf("# op=%s: no case was found that %s takes\n", cf_op->name, taker->name);
    else if (cf_cover_count(cover) < cases)
        printf("# op=%s: %lld of %lld cases: then %d draws in a row were refused\n", cf_op->name,
               (long long)cf_cover_count(cover), (long long)cases, TRIES_RANDOM);
    drawn_run(session, cover, run_case);
    cover_report(session, taker, cover);
    cf_cover_free(cover);
    return true;
}

/* ---- the end ------------------------------------------------------------------- */

/* Why a run in which nothing failed has shown nothing; NULL: it has. */
static const char *vacuous(const struct session *session, const char *taker)
{
    const uint32_t judged = FAMILY_EXACT | FAMILY_BITS;
    const char *why = NULL;

    if (taker && session->refusals.accepted == 0)
        return "no case was accepted, so nothing was judged";
    if (session->tally.passed == 0)
        return "nothing was judged";
    if (cf_invariance_vain(session))
        return cf_invariance_vain(session);
    if (session->claim && session->o.families & judged && !(session->o.families & FAMILY_BOUND) &&
        session->exact == 0 &&
        !(session->claim == HEED_NUMERICS_EXACT && session->o.families & FAMILY_BITS))
        return session->claim == HEED_NUMERICS_EXACT
                   ? "no result of these cases is known exactly: the family bits compares all"
                   : "no value was compared: the family bound does it for what claims no bits";
    if (session->o.text || session->o.families & FAMILY_INVARIANCE)
        return NULL;
    for (int i = 0; i < cf_n_ops && !why; i++)
        why = cf_ops[i]->vain ? cf_ops[i]->vain(session) : NULL;
    if (why)
        return why;
    if (session->unjudged > 0)
        return "types or widths that are taken were not judged";
    return NULL;
}

int walk_summary(struct session *session, const char *taker)
{
    const char *const why = vacuous(session, taker);

    if (session->judged)
        printf("# bound: largest error/bound %.4f, %lld elements judged, %lld out of its range\n",
               session->worst, (long long)session->judged, (long long)session->skipped);
    if (session->exact)
        printf("# exact: %lld elements judged\n", (long long)session->exact);
    cf_invariance_summary(session);
    for (int i = 0; i < cf_n_ops; i++) {
        if (cf_ops[i]->summary)
            cf_ops[i]->summary(session);
    }
    for (int i = 0; session->o.verbose && i < MAX_KERNELS && session->ran[i].device; i++)
        printf("# %s ran %lld cases with %s\n", session->ran[i].device,
               (long long)session->ran[i].cases, session->ran[i].kernel);
    if (taker)
        cf_refusals_print(&session->refusals, taker, stdout);
    if (why && session->tally.failed == 0)
        printf("# no success: %s\n", why);
    if (session->drawn)
        printf("# results: %lld of drawn cases, %lld of cases written down and other tests\n",
               (long long)session->drawn, (long long)(session->tally.number - session->drawn));
    printf("1..%lld\n", (long long)session->tally.number);
    printf("%lld passed, %lld failed, %lld skipped\n", (long long)session->tally.passed,
           (long long)session->tally.failed, (long long)session->tally.skipped);
    return session->tally.failed ? EXIT_FAILED : why ? EXIT_VAIN : EXIT_DONE;
}
