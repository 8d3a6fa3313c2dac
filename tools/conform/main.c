/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-conform: walks devices and cases, prints TAP, a summary of the pairs of features covered,
 * and as its last line "N passed, N failed, N skipped".
 */
#include "conform.h"

#include "common/text.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 16 };

struct options {
    const char *device, *text;
    int64_t cases, seed, threads;
    uint32_t families;
    bool verbose, list, help;
};

struct family {
    const char *name;
    uint32_t bit;
};

static const struct family families[] = {
    { "exact", FAMILY_EXACT }, { "bits", FAMILY_BITS },   { "bound", FAMILY_BOUND },
    { "meta", FAMILY_META },   { "error", FAMILY_ERROR },
    { "check", FAMILY_CHECK }, { "named", FAMILY_NAMED },
};

static const char usage[] =
    "usage: heed-conform [options]\n"
    "Tests every device against the reference and against the definition of attention.\n"
    "  --device NAME   only this device (default: every usable, exact one)\n"
    "  --cases N       how many cases to draw (default 2000)\n"
    "  --seed S        another set of cases (default 1)\n"
    "  --case TEXT     only the case of this line\n"
    "  --family NAME   only exact, bits, bound, meta, error, check or named\n"
    "  --threads N     threads of the second run of a case (default 2)\n"
    "  --verbose       also pairs of features that cannot go together, and worst errors\n"
    "  --list          print the axes that cases are drawn from\n";

static bool family_parse(const char *name, uint32_t *bits)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (!strcmp(families[i].name, name)) {
            *bits = families[i].bit;
            return true;
        }
    }
    return false;
}

static bool options_parse(int argc, char **argv, struct options *o)
{
    *o = (struct options){ .cases = 2000, .seed = 1, .threads = 2, .families = FAMILY_ALL };
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        bool good = i + 1 < argc;

        if (!strcmp(name, "--verbose") || !strcmp(name, "--list") || !strcmp(name, "--help")) {
            o->verbose = o->verbose || name[2] == 'v';
            o->list = o->list || name[2] == 'l';
            o->help = o->help || name[2] == 'h';
            continue;
        }
        if (!strcmp(name, "--device"))
            o->device = value;
        else if (!strcmp(name, "--case"))
            o->text = strstr(value, "op=") ? strstr(value, "op=") : value; /* as printed, too */
        else if (!strcmp(name, "--cases"))
            good = good && text_integer(value, 0, 10000000, &o->cases);
        else if (!strcmp(name, "--seed"))
            good = good && text_integer(value, 0, INT64_MAX, &o->seed);
        else if (!strcmp(name, "--threads"))
            good = good && text_integer(value, 1, 1024, &o->threads);
        else if (!strcmp(name, "--family"))
            good = good && family_parse(value, &o->families);
        else
            good = false;
        if (!good) {
            fprintf(stderr, "heed-conform: wrong or incomplete option %s\n%s", name, usage);
            return false;
        }
        i++;
    }
    return true;
}

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

/* ---- one case --------------------------------------------------------------- */

struct session {
    struct options o;
    struct target reference;
    struct bench bench[MAX_DEVICES];
    int n;
    double worst;
    int64_t judged, skipped, exact;
    struct tally tally;
};

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
    session->worst = v->worst > session->worst ? v->worst : session->worst;
    session->judged += v->judged;
    session->skipped += v->skipped;
    session->exact += v->exact;
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

static void run_case(struct session *session, const struct cs *c)
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

/* ---- devices ------------------------------------------------------------------ */

static bool bench_open(struct session *session, const char *name, heed_report *report)
{
    struct bench *bench = &session->bench[session->n];

    if (session->n == MAX_DEVICES || !cf_target_open(&bench->one, name, 1, report))
        return false;
    if (!cf_target_open(&bench->two, name, (uint32_t)session->o.threads, report)) {
        cf_target_close(&bench->one);
        return false;
    }
    session->n++;
    return true;
}

/* Why a usable device is only tested when it is named; NULL: it need not be. */
static const char *passed_over(const heed_device_props *props)
{
    const char *const first = strchr(props->name, ':');

    if (first && strchr(first + 1, ':'))
        return "another form of a device that is tested";
    return props->exact ? NULL : props->reason;
}

static bool devices_open(struct session *session)
{
    heed_report report = { .size = sizeof report };

    if (!cf_target_open(&session->reference, "reference", 1, &report)) {
        text_failure("heed-conform", "reference", report.status, &report);
        return false;
    }
    if (session->o.device) {
        if (bench_open(session, session->o.device, &report))
            return true;
        text_failure("heed-conform", session->o.device, report.status, &report);
        return false;
    }
    for (uint32_t i = 0; i < heed_device_count(session->reference.runtime); i++) {
        heed_device_props props = { .size = sizeof props };
        heed_device *device = heed_device_get(session->reference.runtime, i);

        if (heed_device_info(device, &props) < 0 || props.kind == HEED_DEVICE_REFERENCE)
            continue;
        if (props.usable < 0)
            printf("# device %s: %s\n", props.name, props.reason);
        else if (passed_over(&props))
            printf("# device %s passed over: %s\n", props.name, passed_over(&props));
        else if (!bench_open(session, props.name, &report))
            text_failure("heed-conform", props.name, report.status, &report);
        else
            printf("# device %s: %s\n", props.name, props.description);
    }
    if (session->n == 0)
        fprintf(stderr, "heed-conform: no usable device beside the reference; name it with "
                        "--device to test it\n");
    return session->n > 0;
}

static void devices_close(struct session *session)
{
    for (int i = 0; i < session->n; i++) {
        cf_target_close(&session->bench[i].one);
        cf_target_close(&session->bench[i].two);
    }
    cf_target_close(&session->reference);
}

/* ---- all ------------------------------------------------------------------------ */

static void run_corners(struct session *session)
{
    for (int i = 0; i < cf_n_corners; i++) {
        struct cs c;
        char why[128] = "";

        if (cf_case_parse(cf_corners[i], &c, why))
            run_case(session, &c);
        else
            cf_tap(&session->tally, false, NULL, "all", "corner", cf_corners[i], why);
    }
}

static int64_t run_cover(struct session *session)
{
    struct cover *cover = NULL;
    int64_t uncovered = 0;

    run_corners(session);
    text_progress("drawing cases", 0);
    cover = cf_cover_make(session->reference.device, session->o.cases, (uint64_t)session->o.seed);
    if (!cover)
        return -1;
    for (int64_t i = 0; i < cf_cover_count(cover); i++) {
        if (i % 8 == 0)
            text_progress("cases", (double)i / (double)cf_cover_count(cover));
        run_case(session, cf_cover_case(cover, i));
        cf_cover_executed(cover, cf_cover_case(cover, i));
    }
    text_progress_clear();
    uncovered = cf_cover_report(cover, stdout, session->o.verbose);
    cf_cover_free(cover);
    return uncovered;
}

/* The families that draw no cases. */
static const uint32_t families_apart = FAMILY_ERROR | FAMILY_CHECK | FAMILY_NAMED;

static void run_apart(struct session *session)
{
    struct target targets[MAX_DEVICES + 1];

    targets[0] = session->reference;
    for (int i = 0; i < session->n; i++)
        targets[1 + i] = session->bench[i].one;
    if (session->o.families & FAMILY_NAMED)
        cf_family_named(targets, 1 + session->n, &session->tally);
    if (session->o.families & FAMILY_ERROR)
        cf_family_error(targets, 1 + session->n, &session->tally);
    if (session->o.families & FAMILY_CHECK)
        cf_family_check(targets, 1 + session->n, session->o.cases / 4, (uint64_t)session->o.seed,
                        &session->tally);
}

static int run(struct session *session)
{
    struct cs c;
    char why[128] = "";
    int exit_code;

    if (session->o.text && !cf_case_parse(session->o.text, &c, why)) {
        fprintf(stderr, "heed-conform: wrong case: %s\n", why);
        return EXIT_USAGE;
    }
    if (!devices_open(session)) {
        devices_close(session);
        return EXIT_FAILED;
    }
    if (session->o.text)
        run_case(session, &c);
    else if (session->o.families & ~families_apart && run_cover(session) < 0)
        cf_tap(&session->tally, false, NULL, "all", "cover", "", "no memory for the cases");
    if (!session->o.text)
        run_apart(session);
    if (session->judged)
        printf("# bound: largest error/bound %.4f, %lld elements judged, %lld out of its range\n",
               session->worst, (long long)session->judged, (long long)session->skipped);
    if (session->exact)
        printf("# exact: %lld elements judged\n", (long long)session->exact);
    printf("1..%lld\n", (long long)session->tally.number);
    printf("%lld passed, %lld failed, %lld skipped\n", (long long)session->tally.passed,
           (long long)session->tally.failed, (long long)session->tally.skipped);
    exit_code = session->tally.failed ? EXIT_FAILED : EXIT_DONE;
    devices_close(session);
    return exit_code;
}

int main(int argc, char **argv)
{
    struct session *session;
    struct options o;
    int exit_code;

    setvbuf(stdout, NULL, _IOLBF, 1 << 16); /* who reads along sees each case at once */
    cf_axes_init();
    if (!options_parse(argc, argv, &o))
        return EXIT_USAGE;
    if (o.help || o.list) {
        if (o.help)
            fputs(usage, stdout);
        else
            cf_axes_print(stdout);
        return EXIT_DONE;
    }
    session = calloc(1, sizeof *session);
    if (!session)
        return EXIT_FAILED;
    session->o = o;
    session->tally.verbose = o.verbose;
    exit_code = run(session);
    free(session);
    return exit_code;
}
