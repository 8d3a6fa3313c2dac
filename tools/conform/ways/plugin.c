/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run of heed-conform with --plugin: what the plug-in says of itself, what it accepts, and cases,
 * each in two children, with arrays in other places and other poison.
 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE

#include "failure.h"
#include "plugin.h"
#include "conform/engine/cover.h"
#include "conform/engine/run.h"
#include "conform/engine/tap.h"

#include "common/command.h"
#include "common/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_HANGS = 3, PLAIN_ASKED = 40, OTHERS_SHARE = 8 };

/* One child. false: it failed. What it wrote is read before there is another. */
static bool compute(struct plugin *plugin, struct trial *t, bool at_end, uint64_t poison,
                    struct verdict *v)
{
    struct outcome outcome;

    plugin_trial_fill(t, at_end, poison);
    outcome = plugin_fork(plugin, plugin_compute, t);
    plugin_judge_end(plugin, t, &outcome, v);
    plugin->hangs += outcome.ending == HUNG;
    if (!v->failed && plugin->copy.stage != STAGE_END)
        cf_fail(v, "repeat: query refused what it had accepted");
    if (!v->failed)
        plugin_trial_read(t, v);
    return !v->failed;
}

static void trials(struct session *session, struct plugin *plugin, struct trial *first,
                   struct trial *second, struct verdict *v)
{
    const struct claim claim = { plugin->numerics, plugin->weights };
    const uint64_t seed = first->c->seed;
    const bool at_end = cf_mix(seed) & 1;

    *first->job->numerics_wanted = *second->job->numerics_wanted = plugin->numerics;
    second->again = true;
    if (compute(plugin, first, at_end, cf_mix(seed + 1), v) &&
        compute(plugin, second, !at_end, cf_mix(seed + 2), v))
        claim_judge(session, claim, first->job, second->job, v);
}

/* Of two runs that differ the properties say more: which of them is broken, and how. */
static void repeat_explain(struct session *session, const struct cs *c, struct verdict *v)
{
    struct verdict broken = { 0 };
    size_t n = strlen(v->why);

    if (strncmp(v->why, "repeat: second runs", 19) != 0)
        return;
    if (session->plugin->memory && strstr(v->why, "(nan)"))
        snprintf(v->why + n, sizeof v->why - n, "; beside arrays one run had NaN");
    if (session->o.quiet)
        return;
    n = strlen(v->why);
    (void)plugin_invariance(session, c, &broken);
    if (broken.failed)
        snprintf(v->why + n, sizeof v->why - n, "; of invariance, %s", broken.why);
}

static void case_judge(struct session *session, const struct cs *c, const char *line)
{
    struct plugin *const plugin = session->plugin;
    struct trial *t = calloc(2, sizeof *t);
    struct verdict v = { 0 };
    const char *skip = NULL;

    plugin->n_said = 0;
    if (session->o.families == FAMILY_INVARIANCE)
        skip = plugin_invariance(session, c, &v);
    else if (t && plugin_trial_make(&t[0], c, plugin) && plugin_trial_make(&t[1], c, plugin))
        trials(session, plugin, &t[0], &t[1], &v);
    else
        cf_fail(&v, "no memory");
    repeat_explain(session, c, &v);
    cf_tell_case(&session->tally, "plug-in", "case", line, skip ? skip : "", &v);
    if ((v.failed || session->o.text) && !session->o.quiet)
        plugin_said_print(plugin, stdout);
    for (int i = 0; i < 2 && t; i++)
        plugin_trial_finish(&t[i]);
    free(t);
}

/* false: the reference or the plug-in refuses it. */
static bool plugin_case(struct session *session, const struct cs *c)
{
    const heed_status status = cf_check(session->reference.device, c, NULL);
    heed_report report = { .size = sizeof report };
    const bool refused = status >= 0 && plugin_refuses(session->plugin, c, &report);
    char line[LINE], skip[192];

    cf_case_print(c, line);
    if (status < 0)
        snprintf(skip, sizeof skip, "%s", heed_status_name(status));
    else if (refused)
        snprintf(skip, sizeof skip, "refused: %s: %.100s", report.field, report.message);
    if (status < 0 || refused) {
        cf_tap(&session->tally, true, skip, "plug-in", "case", line, "");
        if (status >= 0)
            cf_refusal_add(&session->refusals, &report);
        return false;
    }
    session->refusals.accepted++;
    case_judge(session, c, line);
    if (session->plugin->hangs >= MAX_HANGS && !session->given_up) {
        session->given_up = true;
        printf("# given up after %d cases that hung\n", MAX_HANGS);
    }
    return true;
}

/* A case tried again counts for nothing in the summary. */
static bool again(struct session *session, const struct cs *c)
{
    struct plugin *const plugin = session->plugin;
    struct session *const own = plugin->session;
    const int64_t hangs = plugin->hangs;

    plugin->session = session;
    plugin->hangs = 0;
    plugin_case(session, c);
    plugin->session = own;
    plugin->hangs = hangs;
    return true;
}

/* ---- a run ----------------------------------------------------------------------- */

/* Is there the device whose memory the plug-in wants, and is it the one that was named? Else says
 * why. */
static bool device_there(const struct session *session, struct plugin *plugin)
{
    const char *const named = session->o.device, *const word = device_word(plugin->copy.memory);
    const uint32_t kind = named ? device_named(named, &plugin->ordinal) : plugin->copy.memory;
    struct outcome outcome;

    if (kind != plugin->copy.memory) {
        fprintf(stderr, "heed-conform: --device: wanted %s%s, as the plug-in does, got %s\n",
                word ? word : "none", word ? ":N" : "", named);
        return false;
    }
    plugin->memory = kind;
    if (!kind)
        return true;
    outcome = plugin_fork(plugin, NULL, NULL);
    if (outcome.ending != ENDED || !plugin->copy.device_there) {
        fprintf(stderr, "heed-conform: %s%s:%lld cannot be used: %s\n",
                named ? "--device: " : "the plug-in's device ", word, (long long)plugin->ordinal,
                outcome.ending == ENDED ? plugin->copy.why : "the driver ended the process");
        return false;
    }
    printf("# memory of %s:%lld: %s\n", word, (long long)plugin->ordinal, plugin->copy.why);
    return true;
}

/* What the plug-in says of itself. */
static bool introduce(struct session *session, struct plugin *plugin)
{
    static const char *const claims[] = { [HEED_NUMERICS_EXACT] = "exact bits",
                                          [HEED_NUMERICS_REPEAT] = "repeatable bits",
                                          [HEED_NUMERICS_FAST] = "the bound" };
    const struct control *said = &plugin->copy;
    const struct outcome outcome = plugin_fork(plugin, NULL, NULL);
    struct verdict v = { 0 };

    if (outcome.ending != ENDED || said->numerics < HEED_NUMERICS_EXACT ||
        said->numerics > HEED_NUMERICS_FAST || said->weights > HEED_BF16) {
        plugin_judge_end(plugin, NULL, &outcome, &v);
        cf_tap(&session->tally, false, NULL, "plug-in", "load", plugin->path, v.why);
        plugin_said_print(plugin, stdout);
        return false;
    }
    session->claim = plugin->numerics = said->numerics;
    session->weights = plugin->weights = said->weights;
    printf("# plug-in: %s (%s), which claims %s%s%s\n", said->name, said->build,
           claims[plugin->numerics], plugin->weights > HEED_F32 ? ", weights rounded to " : "",
           plugin->weights > HEED_F32 ? type_find(plugin->weights)->name : "");
    return true;
}

/* The first value of the field stands for the plug-in's claim, whatever the case. */
static bool claims_itself(void)
{
    cf_fields[cf_op->numerics].allowed &= 1;
    return cf_fields[cf_op->numerics].allowed;
}

/* Does it take one of some plain cases of the operation in use, or refuse one for what the case
 * says? Else it knows no such operation. */
static bool knows(const struct session *session, struct plugin *plugin)
{
    struct rng r = rng_of((uint64_t)session->o.seed);
    bool known = false;

    for (int64_t i = 0; i < PLAIN_ASKED && !known && !session->given_up; i++) {
        heed_report report = { .size = sizeof report };
        struct cs c;

        cf_op->smallest(&c);
        if (i > 0)
            cf_case_draw(&r, session->reference.device, i / 4, cf_limit_small, &c);
        known = !plugin_refuses(plugin, &c, &report) ||
                (strcmp(report.field, "op") != 0 && strcmp(report.field, "query") != 0);
        if (!known)
            cf_refusal_add(&plugin->session->refusals, &report);
    }
    return known;
}

static void op_run(struct session *session, struct plugin *plugin, int64_t cases)
{
    const struct taker taker = { "plug-in", plugin_refuses, plugin };
    const uint32_t drawn = FAMILY_EXACT | FAMILY_BITS | FAMILY_BOUND | FAMILY_INVARIANCE;

    if (!(session->o.families & drawn))
        walk_lines(session, plugin_case);
    else if (!walk_cover(session, &taker, cases, plugin_case))
        cf_tap(&session->tally, false, NULL, "plug-in", "cover", "", "no memory for the cases");
}

/* Each operation that the plug-in knows, with fewer cases beside attention; or the one named. */
static void cases_run(struct session *session, struct plugin *plugin, const struct cs *c)
{
    int64_t cases = session->o.cases;

    if (session->o.text)
        plugin_case(session, c);
    for (int i = 0; i < cf_n_ops && !session->o.text && !session->given_up; i++) {
        const bool named = session->o.op && cf_op_find(session->o.op) == cf_ops[i];

        if (session->o.op && !named)
            continue;
        cf_op_use(cf_ops[i]);
        claims_itself();
        if (named || knows(session, plugin)) {
            op_run(session, plugin, cases);
            if (i == 0)
                cases = cases / OTHERS_SHARE + 1;
        }
        plugin_ask_end(plugin); /* who answers knows one operation */
    }
    plugin_ask_end(plugin);
}

static struct control *control_make(void)
{
    void *const at = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* Returns the exit status. */
static int judge_all(struct session *session, const struct cs *c, int argc, char **argv)
{
    struct plugin *const plugin = session->plugin;
    struct follower *follower;
    int exit_code;

    session->again = again;
    session->plugin_path = plugin->path;
    follower = follow(session, argc, argv);
    if (!follower)
        return EXIT_FAILED;
    if (introduce(session, plugin)) {
        if (!device_there(session, plugin))
            return follow_end(session, follower) ? EXIT_USAGE : EXIT_FAILED;
        cases_run(session, plugin, c);
    }
    exit_code = walk_summary(session, "plug-in");
    return follow_end(session, follower) ? exit_code : EXIT_FAILED;
}

static int plugin_open_run(struct session *session, const char *path, const struct cs *c, int argc,
                           char **argv)
{
    int exit_code;
    struct plugin plugin = { .path = path,
                             .seconds = session->o.timeout,
                             .mebibytes = session->o.memory,
                             .control = control_make(),
                             .asked_control = control_make(),
                             .session = session };

    session->plugin = &plugin;
    if (!plugin.control || !plugin.asked_control) {
        fprintf(stderr, "heed-conform: no memory\n");
        return EXIT_FAILED;
    }
    signal(SIGPIPE, SIG_IGN); /* of a child that is gone */
    kin_adopt();
    exit_code = judge_all(session, c, argc, argv);
    munmap(plugin.control, sizeof *plugin.control);
    munmap(plugin.asked_control, sizeof *plugin.asked_control);
    return exit_code;
}

static int run(struct session *session, const char *path, int argc, char **argv)
{
    heed_report report = { .size = sizeof report };
    char why[128] = "";
    struct cs c;
    int exit_code;

    if (session->o.text && !cf_case_parse(session->o.text, &c, why)) {
        fprintf(stderr, "heed-conform: wrong case: %s\n", why);
        return EXIT_USAGE;
    }
    if (!cf_target_open(&session->reference, "reference", 1, &report)) {
        text_failure("heed-conform", "reference", report.status, &report);
        return EXIT_FAILED;
    }
    exit_code = plugin_open_run(session, path, &c, argc, argv);
    cf_target_close(&session->reference);
    return exit_code;
}

bool plugin_options_good(const struct options *o)
{
    const uint32_t goes = FAMILY_EXACT | FAMILY_BITS | FAMILY_BOUND | FAMILY_NAMED |
                          FAMILY_INVARIANCE;
    int64_t ordinal;
    const char *const why =
        o->partial ? "--partial does not go with --plugin: a plug-in may always refuse"
        : o->device && !device_named(o->device, &ordinal)
            ? "--device goes with --plugin as opencl:N or cuda:N, in whose memory arrays lie"
        : !(o->families & goes)
            ? "--plugin goes with the families exact, bits, bound, named and invariance"
            : NULL;

    cf_op_use(cf_op_find(o->op ? o->op : cf_ops[0]->name));
    if (why)
        fprintf(stderr, "heed-conform: %s\n", why);
    else if (!claims_itself())
        fprintf(stderr, "heed-conform: --only: num is what the plug-in claims\n");
    return !why && claims_itself();
}

/* A name without a folder would be looked for where libraries are. */
int plugin_run(struct session *session, int argc, char **argv)
{
    char *path = realpath(session->o.plugin, NULL);
    int exit_code = EXIT_USAGE;

    if (path)
        exit_code = run(session, path, argc, argv);
    else
        command_wrong("heed-conform", "--plugin", "a file that there is", session->o.plugin);
    free(path);
    return exit_code;
}
