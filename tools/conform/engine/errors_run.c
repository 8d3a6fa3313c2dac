/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors that no single field makes: longer descriptors, aliasing, the workspace, plans and queues
 * that do not go together, memory that runs out.
 */
#include "errors.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct point {
    const struct cf_op *op;
    const struct cf_errors *e;
    const void *p;
    const struct target *on;
    struct tally *tally;
    struct reached *reached;
};

/* The legal case on the device, with a plan and a workspace. */
struct ready {
    struct job *job;
    heed_plan *plan;
    struct workspace work;
};

static void expect(const struct point *t, const char *what, heed_status wanted, heed_status got)
{
    char why[160], line[200];

    cf_reach(t->reached, got);
    snprintf(line, sizeof line, "op=%s: %s", t->op->name, what);
    snprintf(why, sizeof why, "wanted %s, got %s", heed_status_name(wanted), heed_status_name(got));
    cf_tap(t->tally, wanted == got, NULL, t->on->name, "error", line, why);
}

static void newer(const struct point *t)
{
    struct job *job = t->op->families->describe(t->p, 0);
    unsigned char *longer = NULL;
    uint32_t size = 0;

    if (job) {
        memcpy(&size, job->desc, sizeof size);
        longer = calloc(1, size + 8);
    }
    if (longer) {
        memcpy(longer, job->desc, size);
        size += 8;
        memcpy(longer, &size, sizeof size);
        expect(t, "a longer descriptor, zero", HEED_OK, job->check(t->on->device, longer, NULL));
        longer[size - 1] = 0x80;
        expect(t, "a longer descriptor, not zero", HEED_E_NEWER,
               job->check(t->on->device, longer, NULL));
        expect(t, "no descriptor", HEED_E_NULL, job->check(t->on->device, NULL, NULL));
        expect(t, "no device", t->e->no_device ? HEED_OK : HEED_E_NULL,
               job->check(NULL, job->desc, NULL));
        expect(t, "nowhere to put the plan", HEED_E_NULL,
               job->plan(t->on->device, job->desc, NULL, NULL));
    }
    free(longer);
    job_drop(job);
}

/* A run that must not be: the status, and that the outputs are as before. */
static void expect_run(const struct point *t, struct ready *r, const char *what, heed_status wanted)
{
    char why[128] = "", line[200];

    expect(t, what, wanted, r->job->run(r->plan, t->on->queue, t->e->args(r->job), NULL, NULL));
    snprintf(line, sizeof line, "op=%s: %s", t->op->name, what);
    cf_tap(t->tally, job_outputs_same(r->job, why), NULL, t->on->name, "error, outputs", line, why);
}

static void workspace_give(const struct point *t, struct ready *r)
{
    t->e->workspace(r->job, r->work.at, r->work.size);
}

/* The operand lies at `there` for a run. */
static void alias(const struct point *t, struct ready *r, struct operand *x, heed_buf there,
                  const char *what)
{
    const heed_buf own = x->place->buf;

    if (there.offset % cf_dtype_align(x->place->t.dtype) != 0)
        return;
    x->place->buf = there;
    r->job->placed(r->job);
    workspace_give(t, r);
    x->place->buf = own;
    expect_run(t, r, what, HEED_E_ALIAS);
}

/* Every output and state at the place of every other array whose addresses fit; and each input
 * beside the first element of each. */
static void aliases(const struct point *t, struct ready *r)
{
    struct job *const job = r->job;

    for (int i = 0; i < job->n; i++) {
        for (int j = 0; j < job->n && job->operand[i].out; j++) {
            struct operand *const x = &job->operand[i], *const y = &job->operand[j];
            heed_buf there = x->place->buf;
            char what[120];

            if (i == j || y->constant)
                continue;
            snprintf(what, sizeof what, "%s is %s", x->name, y->name);
            if (x->may_be != j + 1)
                alias(t, r, x, y->place->buf, what);
            there.offset += cf_dtype_size(x->place->t.dtype);
            snprintf(what, sizeof what, "%s overlaps %s but for an element", y->name, x->name);
            if (!y->out && x->place->count > 1 && x->place->sz > 0)
                alias(t, r, y, there, what);
        }
    }
    job->placed(job);
    workspace_give(t, r);
}

static void workspaces(const struct point *t, struct ready *r)
{
    heed_buf odd = r->work.at;

    if (r->work.size == 0)
        return;
    t->e->workspace(r->job, r->work.at, r->work.size - 1);
    expect_run(t, r, "workspace one byte short", HEED_E_WORKSPACE);
    t->e->workspace(r->job, (heed_buf){ 0 }, 0);
    expect_run(t, r, "no workspace", HEED_E_WORKSPACE);
    odd.offset++;
    t->e->workspace(r->job, odd, r->work.size + 1);
    expect_run(t, r, "workspace at an odd address", HEED_E_ALIGN);
    workspace_give(t, r);
}

/* A plan of each other operation of the table; all programs are one. */
static void strangers(const struct point *t, struct ready *r)
{
    for (int i = 0; i < cf_n_ops; i++) {
        heed_report report = { .size = sizeof report };
        struct job *theirs = NULL;
        heed_plan *plan = NULL;
        struct cs c;
        char why[128];

        cf_op_use(cf_ops[i]);
        if (cf_case_parse(cf_op->errors->base(), &c, why))
            theirs = cf_open(&c, 0, false);
        if (theirs && theirs->run != r->job->run &&
            theirs->plan(t->on->device, theirs->desc, &plan, NULL) >= 0) {
            expect(t, "a plan of another operation", HEED_E_MISMATCH,
                   r->job->run(plan, t->on->queue, t->e->args(r->job), NULL, &report));
            cf_tap(t->tally, strcmp(report.field, "plan") == 0, NULL, t->on->name, "error",
                   "a plan of another operation: the field", report.field);
        }
        heed_plan_drop(plan);
        cf_close(theirs);
    }
    cf_op_use(t->op);
}

static void nothings(const struct point *t, struct ready *r, const struct target *other)
{
    static const union {
        unsigned char bytes[512];
        max_align_t align;
    } nothing;
    const void *const args = t->e->args(r->job);
    heed_queue *const queue = t->on->queue;

    expect(t, "run without plan", HEED_E_NULL, r->job->run(NULL, queue, args, NULL, NULL));
    expect(t, "run without queue", HEED_E_NULL, r->job->run(r->plan, NULL, args, NULL, NULL));
    expect(t, "run without arguments", HEED_E_NULL, r->job->run(r->plan, queue, NULL, NULL, NULL));
    expect(t, "arguments of nothing", HEED_E_SIZE,
           r->job->run(r->plan, queue, &nothing, NULL, NULL));
    if (other != t->on)
        expect(t, "a queue of another device", HEED_E_MISMATCH,
               r->job->run(r->plan, other->queue, args, NULL, NULL));
}

static void runs(const struct point *t, const struct target *other)
{
    struct ready r = { .job = cf_job_make(t->op->families, t->p, t->on, 0, 3) };
    char why[128] = "";

    if (r.job && r.job->plan(t->on->device, r.job->desc, &r.plan, NULL) >= 0 &&
        cf_workspace_make(&r.work, t->on, r.plan, 7) >= 0) {
        workspace_give(t, &r);
        aliases(t, &r);
        workspaces(t, &r);
        strangers(t, &r);
        nothings(t, &r, other);
        cf_tap(t->tally, job_outputs_same(r.job, why), NULL, t->on->name, "error, outputs",
               "runs that must not be", why);
    } else {
        cf_tap(t->tally, false, NULL, t->on->name, "error", "run arguments",
               "the legal case failed");
    }
    cf_workspace_finish(&r.work, t->on);
    heed_plan_drop(r.plan);
    job_drop(r.job);
}

/* ---- memory that runs out ---------------------------------------------------- */

static heed_status plan_of(void *context, heed_device *device, heed_plan **plan)
{
    const struct job *const job = context;

    return job->plan(device, job->desc, plan, NULL);
}

void cf_errors_run(const void *base, const struct target *targets, int n, struct tally *tally,
                   struct reached *reached)
{
    for (int i = 0; i < n; i++) {
        const struct point t = { cf_op, cf_op->errors, base, &targets[i], tally, reached };
        struct job *const job = cf_op->families->describe(base, 0);

        newer(&t);
        runs(&t, &targets[(i + 1) % n]);
        if (job)
            cf_errors_scarce(targets[i].name, plan_of, job, tally, reached);
        job_drop(job);
    }
}
