/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run of heed-conform with --plugin: what the plug-in says of itself, what it accepts, and cases,
 * each in two children, with arrays in other places and other poison.
 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE

#include "follow.h"
#include "plugin.h"
#include "tell.h"

#include "common/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_HANGS = 3 };

static void refused_count(struct plugin *plugin, const char *field)
{
    int i = 0;

    while (i < plugin->n_refused && strcmp(plugin->refused[i].field, field))
        i++;
    if (i == (int)(sizeof plugin->refused / sizeof *plugin->refused))
        return;
    if (i == plugin->n_refused) {
        snprintf(plugin->refused[i].field, sizeof plugin->refused[i].field, "%s", field);
        plugin->n_refused++;
    }
    plugin->refused[i].times++;
}

/* One child. false: there is nothing to judge: it failed, or the plug-in refused. */
static bool compute(struct plugin *plugin, struct trial *t, bool at_end, uint64_t poison,
                    struct verdict *v)
{
    struct outcome outcome;

    plugin_trial_fill(t, at_end, poison);
    outcome = plugin_fork(plugin, plugin_compute, t);
    plugin_judge_end(plugin, t, &outcome, v);
    plugin->hangs += outcome.ending == HUNG;
    return !v->failed && plugin->control->stage == STAGE_END;
}

/* Returns why the case is left out, or NULL. */
static const char *trials(struct session *session, struct plugin *plugin, struct trial *first,
                          struct trial *second, struct verdict *v)
{
    static char why[192];
    const uint64_t seed = first->p->c.seed;
    const heed_report *report = &plugin->control->report;
    const bool at_end = cf_mix(seed) & 1;
    heed_status status;

    first->call.desc.numerics = HEED_NUMERICS_EXACT;
    status = heed_attn_check(session->reference.device, &first->call.desc, NULL);
    if (status < 0)
        return heed_status_name(status);
    first->call.desc.numerics = second->call.desc.numerics = plugin->numerics;
    if (!compute(plugin, first, at_end, cf_mix(seed + 1), v)) {
        if (v->failed)
            return NULL;
        refused_count(plugin, report->field);
        snprintf(why, sizeof why, "refused: %s: %.100s", report->field, report->message);
        return why;
    }
    second->again = true;
    if (compute(plugin, second, !at_end, cf_mix(seed + 2), v))
        plugin_judge_outputs(session, plugin, first, second, v);
    else if (!v->failed)
        cf_fail(v, "repeat: query refused what it had accepted");
    plugin->reached++;
    return NULL;
}

static void plugin_case(struct session *session, struct plugin *plugin, const struct cs *c)
{
    struct problem *p = cf_problem_make(c, NULL, 0, true);
    struct trial *t = calloc(2, sizeof *t);
    const char *skip = NULL;
    struct verdict v = { 0 };
    char line[LINE];

    cf_case_print(c, line);
    if (p && t && plugin_trial_make(&t[0], p) && plugin_trial_make(&t[1], p))
        skip = trials(session, plugin, &t[0], &t[1], &v);
    else
        cf_fail(&v, "no memory");
    cf_tell_case(&session->tally, "plug-in", line, skip ? skip : "", &v);
    for (int i = 0; i < 2 && t; i++)
        plugin_trial_finish(&t[i]);
    free(t);
    cf_problem_free(p);
}

/* A case tried again counts for nothing in the summary. */
static bool again(struct session *session, const struct cs *c)
{
    struct plugin plugin = *(const struct plugin *)session->again_of;

    plugin_case(session, &plugin, c);
    return true;
}

static void cases_draw(struct session *session, struct plugin *plugin)
{
    struct rng r = rng_of(cf_mix2((uint64_t)session->o.seed, 4242));

    plugin_probe(session, plugin);
    for (int64_t i = 0; i < session->o.cases && plugin->hangs < MAX_HANGS; i++) {
        struct cs c;

        plugin_draw(session, plugin, &r, i, &c);
        plugin_case(session, plugin, &c);
    }
    if (plugin->hangs >= MAX_HANGS)
        printf("# given up after %d cases that hung\n", MAX_HANGS);
}

/* What the plug-in says of itself. */
static bool introduce(struct session *session, struct plugin *plugin)
{
    static const char *const claims[] = { [HEED_NUMERICS_EXACT] = "exact bits",
                                          [HEED_NUMERICS_REPEAT] = "repeatable bits",
                                          [HEED_NUMERICS_FAST] = "the bound" };
    const struct control *control = plugin->control;
    const struct outcome outcome = plugin_fork(plugin, NULL, NULL);
    struct verdict v = { 0 };

    if (outcome.ending != ENDED || control->numerics == 0) {
        plugin_judge_end(plugin, NULL, &outcome, &v);
        cf_tap(&session->tally, false, NULL, "plug-in", "load", plugin->path, v.why);
        return false;
    }
    plugin->numerics = session->claim = control->numerics;
    printf("# plug-in: %s (%s), which claims %s\n", control->name, control->build,
           claims[plugin->numerics]);
    return true;
}

static void summary(const struct session *session, const struct plugin *plugin)
{
    for (int i = 0; i < plugin->n_refused; i++)
        printf("# refused: %lld times by %s\n", (long long)plugin->refused[i].times,
               plugin->refused[i].field);
    printf("# %lld cases reached the kernel\n", (long long)plugin->reached);
    if (session->judged)
        printf("# bound: largest error/bound %.4f, %lld elements judged, %lld out of its range\n",
               session->worst, (long long)session->judged, (long long)session->skipped);
    printf("1..%lld\n", (long long)session->tally.number);
    printf("%lld passed, %lld failed, %lld skipped\n", (long long)session->tally.passed,
           (long long)session->tally.failed, (long long)session->tally.skipped);
}

/* false: the files of results cannot be had. */
static bool judge_all(struct session *session, struct plugin *plugin, const struct cs *c, int argc,
                      char **argv)
{
    struct follower *follower;

    session->again = again;
    session->again_of = plugin;
    follower = follow(session, argc, argv);
    if (!follower)
        return false;
    if (introduce(session, plugin) && session->o.text)
        plugin_case(session, plugin, c);
    else if (plugin->numerics)
        cases_draw(session, plugin);
    summary(session, plugin);
    return follow_end(session, follower);
}

static int run(struct session *session, const char *path, int argc, char **argv)
{
    bool good = false;
    struct plugin plugin = { .path = path,
                             .seconds = session->o.timeout,
                             .mebibytes = session->o.memory };
    heed_report report = { .size = sizeof report };
    char why[128] = "";
    struct cs c;

    session->plugin_path = path;
    cf_op_use(cf_op_find("attn"));
    if (session->o.text && !cf_case_parse(session->o.text, &c, why)) {
        fprintf(stderr, "heed-conform: wrong case: %s\n", why);
        return EXIT_USAGE;
    }
    if (!cf_target_open(&session->reference, "reference", 1, &report)) {
        text_failure("heed-conform", "reference", report.status, &report);
        return EXIT_FAILED;
    }
    plugin.control = mmap(NULL, sizeof *plugin.control, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (plugin.control == MAP_FAILED) {
        fprintf(stderr, "heed-conform: no memory\n");
    } else {
        good = judge_all(session, &plugin, &c, argc, argv);
        munmap(plugin.control, sizeof *plugin.control);
    }
    cf_target_close(&session->reference);
    return !good || session->tally.failed || plugin.reached == 0 ? EXIT_FAILED : EXIT_DONE;
}

/* A name without a folder would be looked for where libraries are. */
int plugin_run(struct session *session, int argc, char **argv)
{
    char *path = realpath(session->o.plugin, NULL);
    int exit_code = EXIT_USAGE;

    if (path)
        exit_code = run(session, path, argc, argv);
    else
        fprintf(stderr, "heed-conform: there is no file %s\n", session->o.plugin);
    free(path);
    return exit_code;
}
