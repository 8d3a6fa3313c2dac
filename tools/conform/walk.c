/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The cases of an operation one after another, and the end of a run. A run in which something that
 * looks tested was not is no success: its exit status is that of nothing judged.
 */
#include "walk.h"
#include "cover.h"

#include "common/text.h"

/* ---- evidence ---------------------------------------------------------------- */

void session_evidence(struct session *session, const struct problem *p)
{
    session->evidence[cf_most_keys(p)]++;
}

/* ---- cases --------------------------------------------------------------------- */

static void lines_run(struct session *session, const char *const *lines, int n, walk_case *run_case)
{
    for (int i = 0; i < n; i++) {
        struct cs c;
        char why[128] = "";

        if (!cf_case_parse(lines[i], &c, why))
            cf_tap(&session->tally, false, NULL, "all", "corner", lines[i], why);
        else if (cf_subset_holds(&c))
            run_case(session, &c);
    }
}

void walk_lines(struct session *session, walk_case *run_case)
{
    const struct fixed *fixed = fixed_of(cf_op);

    if (fixed)
        lines_run(session, fixed->named, fixed->n_named, run_case);
    else
        lines_run(session, cf_corners, cf_n_corners, run_case);
}

static void drawn_run(struct session *session, struct cover *cover, walk_case *run_case)
{
    const int64_t n = cf_cover_count(cover);

    for (int64_t i = 0; i < n && !session->given_up; i++) {
        if (i % 8 == 0)
            text_progress("cases", (double)i / (double)n);
        if (run_case(session, cf_cover_case(cover, i)))
            cf_cover_executed(cover, cf_cover_case(cover, i));
    }
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
        cf_cover_report(cover, stdout,
                        session->o.quiet     ? PAIRS_COUNTED
                        : session->o.verbose ? PAIRS_ALL
                                             : PAIRS_SOME);
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
    const int64_t *const seen = session->evidence;

    if (taker && session->refusals.accepted == 0)
        return "no case was accepted, so nothing was judged";
    if (session->tally.passed == 0)
        return "nothing was judged";
    if (session->o.text)
        return NULL;
    if (seen[0] + seen[1] > 0 && seen[2] == 0)
        return "in no case of attention a row saw two keys";
    if (session->unjudged > 0)
        return "types or widths that are taken were not judged";
    return NULL;
}

int walk_summary(struct session *session, const char *taker)
{
    const int64_t *const seen = session->evidence;
    const char *const why = vacuous(session, taker);

    if (session->judged)
        printf("# bound: largest error/bound %.4f, %lld elements judged, %lld out of its range\n",
               session->worst, (long long)session->judged, (long long)session->skipped);
    if (session->exact)
        printf("# exact: %lld elements judged\n", (long long)session->exact);
    cf_where_print(&session->where, stdout);
    if (seen[0] + seen[1] + seen[2] > 0)
        printf("# attention judged: %lld cases with a row that sees two keys, %lld with one key, "
               "%lld without\n",
               (long long)seen[2], (long long)seen[1], (long long)seen[0]);
    for (int i = 0; session->o.verbose && i < MAX_KERNELS && session->ran[i].device; i++)
        printf("# %s ran %lld cases with %s\n", session->ran[i].device,
               (long long)session->ran[i].cases, session->ran[i].kernel);
    if (taker)
        cf_refusals_print(&session->refusals, taker, stdout);
    if (why && session->tally.failed == 0)
        printf("# no success: %s\n", why);
    printf("1..%lld\n", (long long)session->tally.number);
    printf("%lld passed, %lld failed, %lld skipped\n", (long long)session->tally.passed,
           (long long)session->tally.failed, (long long)session->tally.skipped);
    return session->tally.failed ? EXIT_FAILED : why ? EXIT_VAIN : EXIT_DONE;
}
