/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-conform: walks devices and cases, prints TAP, a summary of the pairs of features covered,
 * and as its last line "N passed, N failed, N skipped".
 */
#include "conform/engine/cover.h"
#include "conform/engine/devices.h"
#include "conform/engine/errors.h"
#include "conform/engine/invariance.h"
#include "conform/engine/run.h"
#include "conform/ops/attn/mechanisms.h"
#include "conform/ops/attn/symptoms.h"
#include "conform/ways/failure.h"
#include "conform/ways/peer.h"
#include "conform/ways/plugin.h"

#include "common/command.h"
#include "common/streams.h"
#include "common/terminal.h"
#include "common/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- devices ------------------------------------------------------------------ */

static void bench_close(struct bench *bench)
{
    cf_target_close(&bench->one);
    cf_target_close(&bench->two);
    for (int i = 0; i < MAX_CREWS; i++)
        cf_target_close(&bench->crew[i]);
}

/* The crews of a device of the host's processor: it has the executor's workers. */
static bool crews_open(struct session *session, struct bench *bench, heed_report *report)
{
    static const uint32_t widths[MAX_CREWS] = { 2, 3, WORKERS_MOST };
    heed_device_props props = { .size = sizeof props };
    bool ok = true;

    if (!(session->o.families & FAMILY_INVARIANCE) ||
        heed_device_info(bench->one.device, &props) < 0 || props.kind != HEED_DEVICE_CPU)
        return true;
    for (int i = 0; i < MAX_CREWS && ok; i++) {
        const heed_executor executor = { .size = sizeof executor, .width = widths[i],
                                         .context = session->workers,
                                         .parallel = workers_parallel };

        ok = cf_target_open_on(&bench->crew[i], bench->one.name, &executor, NULL, report);
        bench->crew[i].partial = session->o.partial;
    }
    return ok;
}

static bool bench_open(struct session *session, const char *name, heed_report *report)
{
    struct bench *bench = &session->bench[session->n];

    if (session->n == MAX_DEVICES || !cf_target_open(&bench->one, name, 1, report))
        return false;
    if (!cf_target_open(&bench->two, name, (uint32_t)session->o.threads, report) ||
        !crews_open(session, bench, report)) {
        bench_close(bench);
        return false;
    }
    bench->one.partial = bench->two.partial = session->o.partial;
    session->n++;
    return true;
}

/* Is the device what its family's plain name (cpu) stands for? */
static bool plain_is(const struct session *session, const heed_device_props *props, size_t family)
{
    for (int i = 0; i < session->n; i++) {
        heed_device_props plain = { .size = sizeof plain };

        if (heed_device_info(session->bench[i].one.device, &plain) >= 0
            && strlen(plain.name) == family && !memcmp(plain.name, props->name, family))
            return cf_same_kernels(plain.description, props->description);
    }
    return false;
}

/* A model of a unit for matrices: where bits are promised, its kernels are another model's or the
 * processor's. */
static bool unit_is(const heed_device_props *props)
{
    return strncmp(props->name, "emulate:", 8) == 0 &&
           strcmp(props->name, "emulate:workgroup") != 0;
}

/* Why a usable device is only tested when it is named; NULL: it need not be. */
static const char *passed_over(const struct session *session, const heed_device_props *props)
{
    const char *const first = strchr(props->name, ':');

    if (unit_is(props))
        return "differs from emulate:workgroup or cpu:scalar where no bits are promised";
    if (first && strchr(first + 1, ':'))
        return "another form of a device that is tested";
    if (first && plain_is(session, props, (size_t)(first - props->name)))
        return "tested by the name without its instruction set";
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
        session->code = command_device("heed-conform", "--device", session->reference.runtime,
                                       session->o.device, report.status, &report);
        return false;
    }
    for (uint32_t i = 0; i < heed_device_count(session->reference.runtime); i++) {
        heed_device_props props = { .size = sizeof props };
        heed_device *device = heed_device_get(session->reference.runtime, i);

        if (heed_device_info(device, &props) < 0 || props.kind == HEED_DEVICE_REFERENCE)
            continue;
        if (props.usable < 0)
            printf("# device %s: %s\n", props.name, props.reason);
        else if (passed_over(session, &props))
            printf("# device %s passed over: %s\n", props.name, passed_over(session, &props));
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
    for (int i = 0; i < session->n; i++)
        bench_close(&session->bench[i]);
    cf_target_close(&session->reference);
}

/* ---- all ------------------------------------------------------------------------ */

static bool run_cover(struct session *session, int64_t cases)
{
    struct target *const one = &session->bench[0].one;
    const struct taker partial = { one->name, cf_target_refuses, one };

    return walk_cover(session, session->o.partial ? &partial : NULL, cases, cf_case);
}

/* Faults are put into one legal case: a partial device that refuses it has no family of errors. */
static bool base_refused(struct session *session, const char *base)
{
    const struct target *const on = &session->bench[0].one;
    heed_report report = { .size = sizeof report };
    struct cs c;
    char why[128];

    if (!on->partial || !cf_case_parse(base, &c, why) ||
        !cf_refused(on, cf_check(on->device, &c, &report), &report))
        return false;
    snprintf(why, sizeof why, "refused: %s", report.field);
    cf_tap(&session->tally, true, why, on->name, "error", base, "");
    return true;
}

static void run_apart(struct session *session, int64_t cases)
{
    const uint32_t wanted = session->o.families;
    const uint64_t seed = (uint64_t)session->o.seed;
    struct target targets[MAX_DEVICES + 1];
    const int n = 1 + session->n;

    targets[0] = session->reference;
    for (int i = 0; i < session->n; i++)
        targets[1 + i] = session->bench[i].one;
    if (wanted & FAMILY_NAMED && cf_op->named)
        cf_op->named(targets, n, &session->tally);
    if (wanted & FAMILY_ERROR && !base_refused(session, cf_op->errors->base()))
        cf_family_error(targets, n, &session->tally);
    if (wanted & FAMILY_CHECK)
        cf_family_check(targets, n, cases / 4, seed, &session->tally);
}

/* Attention has half of the cases, the other operations share the other half; programs, which have
 * fields enough for as many, come on top with a share of their own. */
static int64_t cases_of(const struct cf_op *op, int64_t all)
{
    int64_t others = 0;

    for (int i = 0; i < cf_n_ops; i++)
        others += i > 0 && cf_ops[i]->share == 0;
    if (op == cf_ops[0])
        return all - all / 2;
    return op->share > 0 ? all * op->share / 100 : all / 2 / others;
}

static void run_op(struct session *session, const struct cf_op *op)
{
    const int64_t all = session->o.cases;
    const int64_t cases = session->o.op ? all : cases_of(op, all);

    cf_op_use(op);
    if (session->o.families & ~options_families_apart() && !run_cover(session, cases))
        cf_tap(&session->tally, false, NULL, "all", "cover", "", "no memory for the cases");
    run_apart(session, cases);
}

/* What is behind "mechanism=", NULL: it is no such line. */
static const char *mechanism_of(const char *text)
{
    return text && strncmp(text, "mechanism=", 10) == 0 ? text + 10 : NULL;
}

/* Of so many cases one of each builder. */
enum { MECHANISM_SHARE = 500 };

static int run(struct session *session, int argc, char **argv)
{
    struct follower *follower;
    struct cs c;
    char why[128] = "";
    int exit_code;
    const char *const mechanism = mechanism_of(session->o.text);

    if (session->o.text && !(mechanism ? mechanism_known(mechanism, why, sizeof why)
                                       : cf_case_parse(session->o.text, &c, why))) {
        fprintf(stderr, "heed-conform: wrong case: %s\n", why);
        return EXIT_USAGE;
    }
    session->code = EXIT_FAILED;
    if (!devices_open(session)) {
        devices_close(session);
        return session->code;
    }
    session->again = cf_case;
    follower = follow(session, argc, argv);
    if (!follower) {
        devices_close(session);
        return EXIT_FAILED;
    }
    if (mechanism)
        mechanism_case(session, mechanism);
    else if (session->o.text)
        (void)cf_case(session, &c);
    for (int i = 0; i < cf_n_ops && !session->o.text; i++) {
        if (!session->o.op || cf_op_find(session->o.op) == cf_ops[i])
            run_op(session, cf_ops[i]);
    }
    if (!session->o.text && !session->o.op && session->o.families & FAMILY_MECHANISMS)
        family_mechanisms(session, session->o.cases / MECHANISM_SHARE + 1);
    exit_code = walk_summary(session, session->o.partial ? session->o.device : NULL);
    if (!follow_end(session, follower))
        exit_code = EXIT_FAILED;
    devices_close(session);
    return exit_code;
}

static int work(int argc, char **argv)
{
    struct session *session;
    struct options o;
    int exit_code;

    setvbuf(stdout, NULL, _IOLBF, 1 << 16); /* who reads along sees each case at once */
    cf_op_use(cf_ops[0]);
    if (!options_parse(argc, argv, &o, &exit_code))
        return exit_code;
    if (o.op)
        cf_op_use(cf_op_find(o.op));
    if (o.list) {
        cf_axes_print(stdout);
        return EXIT_DONE;
    }
    session = calloc(1, sizeof *session);
    if (!session)
        return EXIT_FAILED;
    session->notes = calloc(1, sizeof *session->notes);
    session->workers = calloc(1, sizeof *session->workers);
    if (!session->notes || !session->workers) {
        free(session->workers);
        free(session->notes);
        free(session);
        return EXIT_FAILED;
    }
    session->o = o;
    session->tally.verbose = o.verbose;
    session->tally.quiet = o.quiet;
    if (o.quiet)
        terminal_hide();
    exit_code = o.plugin                      ? plugin_run(session, argc, argv)
                : o.peer || o.dump || o.judge ? peer_run(session, argc, argv)
                                              : run(session, argc, argv);
    free(session->workers);
    free(session->notes);
    free(session);
    return exit_code;
}

int main(int argc, char **argv)
{
    streams_keep();
    return text_end("heed-conform", work(argc, argv));
}
