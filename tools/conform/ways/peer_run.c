/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run of heed-conform with --peer: what the peer takes, and cases, each computed twice, with
 * arrays in other files and other poison. The files are in memory where the system has a place for
 * that.
 */
#define _XOPEN_SOURCE 700

#include "failure.h"
#include "peer.h"
#include "conform/engine/run.h"
#include "conform/engine/tap.h"

#include "common/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Hangs and crashes in a row, then the run is given up; of a peer that has never answered. */
enum { MAX_LOST = 5, MAX_MUTE = 2 };
enum { FOLDER = 3072 }; /* names of folders below it, and of files in those, have 4096 */

struct peer_session {
    struct session *session;
    struct peer peer;
    char folder[FOLDER]; /* of arrays; "" before there is one */
    int64_t reached;
    int lost; /* in a row */
    bool gone; /* given up */
    char why[400]; /* the last one was */
    int64_t number;
    uint64_t seed; /* of the case at work */
};

/* ---- files ---------------------------------------------------------------------- */

static bool folder_make(struct peer_session *run)
{
    const char *const places[] = { getenv("TMPDIR"), "/dev/shm", "/tmp" };

    for (int i = 0; i < 3; i++) {
        const char *place = places[i] && places[i][0] ? places[i] : NULL;
        const size_t n = place ? strlen(place) : 0;

        if (!place || n + sizeof "/heed-XXXXXX" > sizeof run->folder)
            continue;
        snprintf(run->folder, sizeof run->folder, "%s/heed-XXXXXX", place);
        if (mkdtemp(run->folder))
            return true;
    }
    run->folder[0] = '\0';
    return false;
}

/* Takes away whatever is in the folder: plain files, none of which is followed. */
static void folder_empty(const char *folder)
{
    DIR *files = opendir(folder);

    for (const struct dirent *file; files && (file = readdir(files));)
        unlinkat(dirfd(files), file->d_name, 0);
    if (files)
        closedir(files);
}

/* ---- a case ----------------------------------------------------------------------- */

/* The case as a line, to be freed. */
static char *case_text(const struct plain *plain, const char *folder, bool ask)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (!to)
        return NULL;
    plain_print(plain, folder, ask, to);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

static void answer_get(struct peer_session *run, const struct plain *plain, const char *folder,
                       bool ask, struct peer_answer *answer)
{
    char *text = case_text(plain, folder, ask);

    *answer = (struct peer_answer){ .status = STATUS_LOST };
    if (!text || !peer_alive(&run->peer))
        snprintf(answer->why, sizeof answer->why, "exit: the peer cannot be started");
    else
        peer_ask(&run->peer, text, answer);
    run->lost = answer->status == STATUS_LOST ? run->lost + 1 : 0;
    if (run->lost)
        memcpy(run->why, answer->why, sizeof run->why);
    free(text);
}

/* Writes the arrays, asks, and reads the outputs. false: there is nothing to judge. */
static bool exchange(struct peer_session *run, const struct plain *plain, struct verdict *v,
                     struct peer_answer *answer)
{
    char folder[FOLDER + 32], why[320];

    snprintf(folder, sizeof folder, "%s/%lld", run->folder, (long long)run->number++);
    if (mkdir(folder, 0700) || !plain_write(plain, folder, false) ||
        !plain_write(plain, folder, true)) {
        cf_fail(v, "no memory for the arrays");
    } else {
        answer_get(run, plain, folder, false, answer);
        if (answer->status == STATUS_LOST)
            cf_fail(v, "%s", answer->why);
        else if (answer->status == STATUS_ERROR)
            cf_fail(v, "error: %s", answer->why);
        else if (answer->status == STATUS_UNKNOWN)
            cf_fail(v, "rubbish: the peer answers 'unknown' to a case with arrays");
        else if (!plain_inputs_same(plain, folder, why, sizeof why) ||
                 (answer->status == STATUS_OK && !plain_read(plain, folder, why, sizeof why)))
            cf_fail(v, "%s", why);
    }
    folder_empty(folder);
    rmdir(folder);
    return !v->failed && answer->status == STATUS_OK;
}

/* One of the two runs of a case. */
static bool compute(struct peer_session *run, struct peer_case *k, int which, struct verdict *v,
                    struct peer_answer *answer)
{
    peer_poison(k->job[which], cf_mix(run->seed + 1 + (uint64_t)which));
    return exchange(run, &k->plain[which], v, answer);
}

static void refusal_count(struct session *session, const struct peer_answer *answer)
{
    heed_report report = { .size = sizeof report, .status = HEED_E_UNSUPPORTED };

    snprintf(report.field, sizeof report.field, "%s", answer->field);
    cf_refusal_add(&session->refusals, &report);
}

/* Returns why the case is left out, or NULL. */
static const char *case_run(struct peer_session *run, struct peer_case *k, struct verdict *v)
{
    static char why[REFUSAL_SKIP + 400];
    struct session *session = run->session;
    const bool once = session->o.once;
    struct peer_answer answer = { .status = STATUS_LOST };

    if (!compute(run, k, 0, v, &answer)) {
        run->reached += v->failed;
        if (v->failed)
            return NULL;
        refusal_count(session, &answer);
        snprintf(why, sizeof why, "refused: %s: %.300s", answer.field, answer.why);
        return why;
    }
    session->refusals.accepted++;
    run->reached++;
    if (once || compute(run, k, 1, v, &answer))
        peer_case_judge(session, k, !once, v);
    else if (!v->failed)
        cf_fail(v, "repeat: refused what it had taken");
    return NULL;
}

static bool form_exchange(void *context, const struct peer_form *form, struct verdict *v)
{
    struct peer_session *const run = context;
    struct peer_answer answer = { .status = STATUS_LOST };
    const bool there = exchange(run, &form->plain, v, &answer);

    if (!form->form->name[0]) {
        run->reached += there || v->failed;
        run->session->refusals.accepted += there;
    }
    if (answer.status == STATUS_REFUSED && !form->form->name[0])
        refusal_count(run->session, &answer);
    return there;
}

static void peer_case(struct peer_session *run, const struct cs *c)
{
    struct session *session = run->session;
    struct form_runner forms = { .session = session, .c = c, .exchange = form_exchange,
                                 .context = run };
    struct peer_case k = { 0 };
    struct verdict v = { 0 };
    const char *skip = NULL;
    char line[LINE];

    cf_case_print(c, line);
    run->seed = c->seed;
    if (session->o.families == FAMILY_INVARIANCE)
        skip = peer_invariance(&forms, &v);
    else if (peer_case_make(session, &k, c, &skip))
        skip = case_run(run, &k, &v);
    else if (!skip)
        cf_fail(&v, "no memory");
    peer_case_finish(&k);
    if (run->peer.missing) /* the case is not to blame */
        return;
    cf_tell_case(&session->tally, "peer", "case", line, skip ? skip : "", &v);
}

/* A case tried again counts for nothing in the summary. */
static bool again(struct session *session, const struct cs *c)
{
    struct peer_session *run = session->again_of;
    struct session *const own = run->session;
    const int64_t reached = run->reached;

    run->session = session;
    peer_case(run, c);
    run->session = own;
    run->reached = reached;
    return true;
}

/* ---- what it takes ------------------------------------------------------------------ */

/* By asking, if it understands that, else by computing the case. */
static bool takes(void *context, const struct cs *c)
{
    struct peer_session *run = context;
    struct peer_case k;
    struct verdict v = { 0 };
    struct peer_answer answer = { .status = run->session->o.ask ? STATUS_LOST : STATUS_UNKNOWN };
    const char *skip;

    run->seed = c->seed;
    if (peer_case_make(run->session, &k, c, &skip)) {
        if (run->session->o.ask)
            answer_get(run, &k.plain[0], NULL, true, &answer);
        if (answer.status == STATUS_UNKNOWN)
            compute(run, &k, 0, &v, &answer);
    }
    peer_case_finish(&k);
    if (answer.status == STATUS_REFUSED)
        refusal_count(run->session, &answer);
    return answer.status != STATUS_REFUSED;
}

static bool stop(void *context)
{
    struct peer_session *run = context;
    const int most = run->peer.answers ? MAX_LOST : MAX_MUTE;

    return child_interrupted() || run->peer.missing || run->lost >= most ||
           (!run->peer.command && run->peer.child.from < 0);
}

/* Shows the line of a case, if it is taken. */
static void line_show(struct peer_session *run, const struct cs *c)
{
    char line[LINE];

    if (!takes(run, c))
        return;
    cf_case_print(c, line);
    printf("%s\n", line);
    run->reached++;
}

/* One that answers nothing has failed, though no case reached it. */
static void given_up(struct peer_session *run)
{
    struct session *const session = run->session;

    if (child_interrupted())
        printf("# given up: interrupted\n");
    else if (session->o.lines)
        fprintf(stderr, "heed-conform: --peer: given up: %s\n", run->why);
    else
        cf_tap(&session->tally, false, NULL, "peer", "given up", "", run->why);
    run->gone = true;
}

static void cases_draw(struct peer_session *run)
{
    const struct options *o = &run->session->o;
    struct peer_taken taken = { .context = run, .takes = takes, .stop = stop };
    struct rng r = rng_of(cf_mix2((uint64_t)o->seed, 4242));

    if (peer_learn(run->session, &taken)) {
        for (int64_t i = 0; i < o->cases * 4 && run->reached < o->cases && !stop(run); i++) {
            struct cs c;

            if (!peer_draw(run->session, &taken, &r, i, &c))
                continue;
            if (o->lines)
                line_show(run, &c);
            else
                peer_case(run, &c);
        }
    }
    run->session->drawn = run->session->tally.number;
    if (stop(run) && !run->peer.missing)
        given_up(run);
    peer_taken_free(&taken);
}

/* ---- all ---------------------------------------------------------------------------- */

static void peer_work(struct peer_session *run)
{
    struct session *session = run->session;
    char why[128] = "";
    struct cs c;

    if (!session->o.text)
        cases_draw(run);
    else if (cf_case_parse(session->o.text, &c, why)) /* peer_run has said so if it is wrong */
        peer_case(run, &c);
}

/* The exit status. */
static int peer_judge(struct peer_session *run, int argc, char **argv)
{
    struct session *session = run->session;
    struct follower *follower;
    int status = EXIT_FAILED;

    if (!folder_make(run)) {
        fprintf(stderr, "heed-conform: there is no place for temporary files\n");
        return status;
    }
    session->again = again;
    session->again_of = run;
    follower = follow(session, argc, argv);
    if (follower) {
        peer_work(run);
        status = run->peer.missing   ? EXIT_USAGE
                 : !session->o.lines ? walk_summary(session, "peer")
                 : run->gone         ? EXIT_FAILED
                 : run->reached > 0  ? EXIT_DONE
                                     : EXIT_VAIN;
        if (!follow_end(session, follower))
            status = EXIT_FAILED;
    }
    if (run->peer.missing)
        fprintf(stderr, "heed-conform: --peer %.80s: cannot be started: %s\n",
                session->o.peer, run->peer.missing);
    peer_close(&run->peer);
    rmdir(run->folder);
    return status;
}

int peer_run(struct session *session, int argc, char **argv)
{
    const struct options *o = &session->o;
    heed_report report = { .size = sizeof report };
    struct peer_session *run;
    int status = EXIT_FAILED;
    char why[128] = "";
    struct cs c;

    cf_op_use(cf_op_find(o->op ? o->op : cf_ops[0]->name));
    if (o->text && !cf_case_parse(o->text, &c, why)) {
        fprintf(stderr, "heed-conform: wrong case: %s\n", why);
        return EXIT_USAGE;
    }
    run = calloc(1, sizeof *run);
    if (!run)
        return status;
    run->session = session;
    if (o->peer && !peer_open(&run->peer, o->peer, o->timeout)) {
        fprintf(stderr, "heed-conform: --peer %s: wanted a command, or fd:IN,OUT\n", o->peer);
        free(run);
        return EXIT_USAGE;
    }
    if (!cf_target_open(&session->reference, "reference", 1, &report))
        text_failure("heed-conform", "reference", report.status, &report);
    else if (o->peer)
        status = peer_judge(run, argc, argv);
    else
        status = o->dump ? folder_dump(session) : folder_judge(session);
    cf_target_close(&session->reference);
    free(run);
    return status;
}
