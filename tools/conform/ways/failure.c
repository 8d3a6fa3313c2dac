/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases are tried again in a session like the first one, of one device, whose results nobody sees
 * but this file.
 */
#define _POSIX_C_SOURCE 200809L    /* clock_gettime */
#include "failure.h"

#include "plugin.h"
#include "repro.h"
#include "conform/engine/invariance.h"
#include "conform/engine/shrink.h"
#include "conform/ops/attn/symptoms.h"
#include "conform/report.h"

#include "common/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of one failure; and seconds of all together, which cases that hang use up. */
enum { SHRINK_TRIES = 300, SHRINK_SECONDS = 20, SHRINK_SECONDS_ALL = 40 };
/* Of cases that are not made smaller, as --shrink 0 has it. */
enum { PROGRAMS_WHOLE = 5 };

struct follower {
    struct listener listener;
    struct session *session;
    struct session *scratch;
    struct notes notes; /* of the scratch: what is tried is no result */
    const char *program;
    struct report *report; /* NULL: none */
    int64_t shrunk, programs; /* failures that were, and that have one */
    double spent;          /* seconds, on shrinking */
    double last;           /* when the result before was there */
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- a case tried again --------------------------------------------------------------- */

struct trial_listener {
    struct listener listener;
    bool failed;
    struct failure *failure;
};

static void trial_hear(struct listener *listener, struct tally *tally, const struct told *told)
{
    struct trial_listener *const trial = (struct trial_listener *)(void *)listener;

    (void)tally;
    if (told->ok || trial->failed)
        return;
    trial->failed = true;
    memcpy(trial->failure->word, told->word, sizeof told->word);
    snprintf(trial->failure->why, sizeof trial->failure->why, "%s", told->why);
    trial->failure->worst = told->worst;
}

static bool tried(void *context, const struct cs *c, struct failure *failure)
{
    struct session *const scratch = ((struct follower *)context)->scratch;
    struct trial_listener trial = { .listener = { trial_hear }, .failure = failure };

    scratch->tally = (struct tally){ .quiet = true, .listener = &trial.listener };
    scratch->again(scratch, c);
    return trial.failed;
}

/* The session again, with no device but the one named; the reference is in every one. */
static void scratch_set(struct follower *f, const char *device)
{
    struct session *const scratch = f->scratch;

    *scratch = *f->session;
    scratch->o.quiet = true;
    scratch->notes = &f->notes;
    scratch->n = 0;
    for (int i = 0; i < f->session->n; i++) {
        if (!strcmp(f->session->bench[i].one.name, device))
            scratch->bench[scratch->n++] = f->session->bench[i];
    }
}

/* A property that is broken is all that is tried again. */
static void property_set(struct session *scratch, const char *word)
{
    for (int i = 0; i < cf_n_properties && scratch->o.families & FAMILY_INVARIANCE; i++) {
        if (!strcmp(cf_properties[i].name, word))
            scratch->o.properties = 1u << i;
    }
}

/* ---- what comes of a failure ------------------------------------------------------------ */

struct texts {
    char line[LINE];
    struct buffer repeat, program;
    struct shrink shrink;
};

static bool shrink_it(struct follower *f, const struct told *told, struct texts *t)
{
    struct failure failure = { .worst = told->worst };
    const double start = now();
    char why[128];
    struct cs c;

    if (strcmp(told->what, "case") || !f->session->again || f->spent >= SHRINK_SECONDS_ALL ||
        f->shrunk >= f->session->o.shrink || !cf_case_parse(told->line, &c, why))
        return false;
    f->shrunk++;
    memcpy(failure.word, told->word, sizeof failure.word);
    snprintf(failure.why, sizeof failure.why, "%s", told->why);
    t->shrink = (struct shrink){ .fails = tried, .context = f,
                                 .reference = f->session->reference.device,
                                 .most = SHRINK_TRIES,
                                 .luck = f->session->o.families & FAMILY_INVARIANCE,
                                 .seconds = fmin(SHRINK_SECONDS, SHRINK_SECONDS_ALL - f->spent) };
    scratch_set(f, told->device);
    property_set(f->scratch, told->word);
    cf_shrink(&t->shrink, &c, &failure);
    f->spent += now() - start;
    cf_case_print(&t->shrink.best, t->line);
    return true;
}

static void number_print(struct buffer *b, const char *option, int64_t value, int64_t otherwise)
{
    if (value != otherwise)
        buffer_print(b, " %s %lld", option, (long long)value);
}

/* A command line for a shell that runs the case alone. */
static void repeat_make(const struct follower *f, const struct told *told, const char *line,
                        struct buffer *b)
{
    const struct options *o = &f->session->o;
    const char *const family = options_family_name(o->families);

    buffer_shell(b, f->program);
    if (o->plugin) {
        buffer_print(b, " --plugin ");
        buffer_shell(b, o->plugin);
        if (o->device)
            buffer_print(b, " --device %s", o->device);
        number_print(b, "--timeout", o->timeout, TIMEOUT_DEFAULT);
        number_print(b, "--memory", o->memory, MEMORY_DEFAULT);
    } else if (o->peer) {
        buffer_print(b, " --claim %s --peer ", text_numerics(o->claim));
        buffer_shell(b, o->peer);
        number_print(b, "--timeout", o->timeout, TIMEOUT_DEFAULT);
    } else if (o->device || f->scratch->n == 1) {
        buffer_print(b, " --device ");
        buffer_shell(b, o->device ? o->device : told->device);
        buffer_print(b, "%s", o->partial ? " --partial" : "");
        number_print(b, "--threads", o->threads, THREADS_DEFAULT);
    }
    if (family)
        buffer_print(b, " --family %s", family);
    for (int i = 0; i < cf_n_properties && o->families & FAMILY_INVARIANCE; i++) {
        if (!strcmp(cf_properties[i].name, told->word))
            buffer_print(b, " --property %s", cf_properties[i].name);
    }
    buffer_print(b, " --case ");
    buffer_shell(b, line);
}

/* Of cases that were made smaller; of as many as they are where none is. */
static bool program_due(struct follower *f, const struct told *told, const struct aftermath *after)
{
    const bool whole = f->session->o.shrink == 0 && f->programs < PROGRAMS_WHOLE;

    const bool on_device = f->session->plugin && f->session->plugin->memory;

    if (f->session->o.peer || on_device || f->session->o.families & FAMILY_INVARIANCE ||
        strcmp(told->what, "case") ||
        !(after->shrunk || whole))
        return false;
    f->programs++;
    return true;
}

/* The shrunk case, else the one that failed. */
static void program_make(const struct follower *f, const struct told *told, struct texts *t)
{
    const struct session *session = f->session;
    const bool shrunk = t->line[0] != '\0';
    char why[128];
    struct cs c;
    const struct repro repro = {
        .folder = session->o.repro,
        .number = f->programs,
        .line = shrunk ? t->line : told->line,
        .word = told->word,
        .why = shrunk ? t->shrink.failure.why : told->why,
        .repeat = buffer_text(&t->repeat),
        .reference = &session->reference,
        .device = session->o.plugin ? NULL
                  : f->scratch->n   ? &f->scratch->bench[0].one
                                    : &session->reference,
        .plugin = session->plugin_path,
        .numerics = session->claim,
        .weights = session->weights,
        .threads = session->o.threads,
    };

    if (cf_case_parse(repro.line, &c, why))
        cf_repro_write(&repro, &c, &t->program);
}

static void comment(const struct tally *tally, const char *what, const char *text)
{
    if (!tally->quiet && text)
        printf("# %s%s\n", what, text);
}

/* A peer that has started this process cannot be named on a command line. */
static bool is_descriptors(const char *peer)
{
    return peer && strncmp(peer, "fd:", 3) == 0;
}

static void failure_follow(struct follower *f, struct tally *tally, const struct told *told,
                           struct texts *t, struct aftermath *after)
{
    scratch_set(f, told->device);
    if (shrink_it(f, told, t)) {
        after->shrunk = t->line;
        after->shrunk_why = t->shrink.failure.why;
        after->tries = t->shrink.tries;
        if (!tally->quiet)
            printf("# shrunk, %lld tries: %s\n", (long long)after->tries, t->line);
        comment(tally, "", after->shrunk_why);
    }
    if (!is_descriptors(f->session->o.peer)) {
        repeat_make(f, told, after->shrunk ? after->shrunk : told->line, &t->repeat);
        after->repeat = buffer_text(&t->repeat);
        comment(tally, "repeat: ", after->repeat);
    }
    if (f->session->o.repro && program_due(f, told, after)) {
        program_make(f, told, t);
        after->program = buffer_text(&t->program);
        comment(tally, "program: ", after->program);
    }
}

/* ---- all -------------------------------------------------------------------------------- */

/* What the line is about; other families name what they do to a case of the operation in use. */
static const char *op_of(const struct told *told, char room[32])
{
    if (sscanf(told->line, "op=%31s", room) == 1)
        return room;
    return strcmp(told->what, "mechanism") ? cf_op->name : "mechanisms";
}

static bool repeatable(const struct told *told)
{
    return !strcmp(told->what, "case") || !strcmp(told->what, "mechanism");
}

static void hear(struct listener *listener, struct tally *tally, const struct told *told)
{
    struct follower *const f = (struct follower *)(void *)listener;
    const double seconds = now() - f->last;
    const bool wanted = !tally->quiet || f->report || f->session->o.repro;
    struct texts *const t = told->ok || !wanted ? NULL : calloc(1, sizeof *t);
    struct aftermath after = { 0 };
    char room[32];

    if (t && repeatable(told))
        failure_follow(f, tally, told, t, &after);
    if (f->report)
        report_add(f->report, told, op_of(told, room), seconds > 0 ? seconds : 0, &after);
    if (t) {
        buffer_free(&t->repeat);
        buffer_free(&t->program);
    }
    free(t);
    f->last = now();
}

static struct report *files_open(struct session *session, int argc, char **argv)
{
    heed_device_props props = { .size = sizeof props };
    heed_device *device;
    struct run_facts facts = {
        .arguments = (const char *const *)argv + 1, .n_arguments = argc - 1,
        .build = heed_build_text(), .plugin = session->o.plugin, .seed = session->o.seed,
    };

    if (heed_device_find(session->reference.runtime, "cpu", &device, NULL) >= 0 &&
        heed_device_info(device, &props) >= 0)
        facts.processor = props.description;
    return report_open(session->o.json, session->o.junit, &facts);
}

struct follower *follow(struct session *session, int argc, char **argv)
{
    struct follower *f = calloc(1, sizeof *f);
    const bool files = session->o.json || session->o.junit;

    if (f)
        f->scratch = calloc(1, sizeof *f->scratch);
    if (!f || !f->scratch) {
        fprintf(stderr, "heed-conform: no memory\n");
        free(f);
        return NULL;
    }
    f->listener.hear = hear;
    f->session = session;
    f->program = argv[0];
    if (files)
        f->report = files_open(session, argc, argv);
    if (files && !f->report) {
        free(f->scratch);
        free(f);
        return NULL;
    }
    f->last = now();
    session->tally.listener = &f->listener;
    return f;
}

bool follow_end(struct session *session, struct follower *f)
{
    bool good;

    if (!f)
        return true;
    good = report_close(f->report, &session->tally);
    if (!good)
        fprintf(stderr, "heed-conform: the files of results are not whole\n");
    session->tally.listener = NULL;
    free(f->scratch);
    free(f);
    return good;
}
