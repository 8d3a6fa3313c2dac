/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors of operations with fixed arrays that no single field makes: longer descriptors, aliasing,
 * the workspace, plans and queues that do not go together, memory that runs out.
 */
#include "errors.h"
#include "fixed.h"

#include <stdlib.h>
#include <string.h>

struct point {
    const struct fixed *op;
    const struct fixed_problem *p;
    const struct target *on;
    struct tally *tally;
};

static void expect(const struct point *t, const char *what, heed_status wanted, heed_status got)
{
    char why[160], line[200];

    snprintf(line, sizeof line, "op=%s: %s", t->op->op.name, what);
    snprintf(why, sizeof why, "wanted %s, got %s", heed_status_name(wanted), heed_status_name(got));
    cf_tap(t->tally, wanted == got, NULL, t->on->name, "error", line, why);
}

static void newer(const struct point *t)
{
    struct {
        unsigned char desc[FIXED_DESC];
        uint64_t tail[2];
    } longer;
    struct fixed_call *call = calloc(1, sizeof *call);
    uint32_t size = (uint32_t)t->op->desc_size + 8;

    if (call && fixed_call_describe(call, t->p, 0)) {
        memset(&longer, 0, sizeof longer);
        memcpy(longer.desc, call->desc.bytes, t->op->desc_size);
        memcpy(longer.desc, &size, sizeof size);
        expect(t, "a longer descriptor, zero", HEED_OK,
               t->op->check(t->on->device, longer.desc, NULL));
        longer.desc[t->op->desc_size + 7] = 0x80;
        expect(t, "a longer descriptor, not zero", HEED_E_NEWER,
               t->op->check(t->on->device, longer.desc, NULL));
        expect(t, "no descriptor", HEED_E_NULL, t->op->check(t->on->device, NULL, NULL));
        expect(t, "no device", HEED_E_NULL, t->op->check(NULL, call->desc.bytes, NULL));
        expect(t, "nowhere to put the plan", HEED_E_NULL,
               t->op->plan(t->on->device, call->desc.bytes, NULL, NULL));
    }
    if (call)
        fixed_call_finish(call);
    free(call);
}

static void expect_run(const struct point *t, struct fixed_call *call, const heed_plan *plan,
                       heed_queue *queue, const void *args, const char *what, heed_status wanted)
{
    char why[128] = "", line[200];

    expect(t, what, wanted, t->op->run(plan, queue, args, NULL, NULL));
    snprintf(line, sizeof line, "op=%s: %s", t->op->op.name, what);
    cf_tap(t->tally, fixed_call_outputs_same(call, why), NULL, t->on->name, "error, outputs", line,
           why);
}

/* Every output and state at the place of every other array whose addresses fit. */
static void aliases(const struct point *t, struct fixed_call *call, const heed_plan *plan)
{
    for (int i = 0; i < t->op->n_arrays; i++) {
        const heed_buf own = *fixed_buf(call, i);
        const size_t size = cf_dtype_size(t->p->part[i].a.dtype);

        for (int j = 0; j < t->op->n_arrays && fixed_writes(t->p, i); j++) {
            const heed_buf other = *fixed_buf(call, j);
            char what[80];

            if (i == j || !part_is(&t->p->part[j]) || other.offset % size != 0)
                continue;
            snprintf(what, sizeof what, "%s is %s", t->op->arrays[i].name, t->op->arrays[j].name);
            *fixed_buf(call, i) = other;
            expect_run(t, call, plan, t->on->queue, call->args.bytes, what, HEED_E_ALIAS);
            *fixed_buf(call, i) = own;
        }
    }
}

static void workspaces(const struct point *t, struct fixed_call *call, const heed_plan *plan)
{
    heed_run *run = fixed_run(call);
    const heed_run saved = *run;

    if (run->workspace_size == 0)
        return;
    run->workspace_size--;
    expect_run(t, call, plan, t->on->queue, call->args.bytes, "workspace one byte short",
               HEED_E_WORKSPACE);
    run->workspace = (heed_buf){ 0 };
    run->workspace_size = 0;
    expect_run(t, call, plan, t->on->queue, call->args.bytes, "no workspace", HEED_E_WORKSPACE);
    *run = saved;
    run->workspace.offset++;
    run->workspace_size++;
    expect_run(t, call, plan, t->on->queue, call->args.bytes, "workspace at an odd address",
               HEED_E_ALIGN);
    *run = saved;
}

/* A plan of each other operation of the table; all programs are one. */
static void strangers(const struct point *t, struct fixed_call *call)
{
    for (int i = 0; i < cf_n_ops; i++) {
        const struct fixed *other = fixed_of(cf_ops[i]);
        struct fixed_call *theirs = calloc(1, sizeof *theirs);
        struct fixed_problem *p = NULL;
        heed_report report = { .size = sizeof report };
        heed_plan *plan = NULL;
        struct cs c;
        char why[128];

        if (theirs && other && other->run != t->op->run && cf_case_parse(other->base, &c, why))
            p = fixed_problem_make(&c, false);
        if (p && fixed_call_describe(theirs, p, 0) &&
            other->plan(t->on->device, theirs->desc.bytes, &plan, NULL) >= 0) {
            expect(t, "a plan of another operation", HEED_E_MISMATCH,
                   t->op->run(plan, t->on->queue, call->args.bytes, NULL, &report));
            cf_tap(t->tally, strcmp(report.field, "plan") == 0, NULL, t->on->name, "error",
                   "a plan of another operation: the field", report.field);
        }
        heed_plan_drop(plan);
        if (theirs)
            fixed_call_finish(theirs);
        free(theirs);
        fixed_problem_free(p);
    }
    cf_op_use(&t->op->op);
}

static void runs(const struct point *t, const struct target *other)
{
    struct fixed_call *call = calloc(1, sizeof *call);
    struct workspace work = { .size = 0 };
    heed_plan *plan = NULL;
    const struct {
        unsigned char args[FIXED_ARGS];
    } nothing = { { 0 } };

    if (call && fixed_call_make(call, t->on, t->p, 0, 3) &&
        t->op->plan(t->on->device, call->desc.bytes, &plan, NULL) >= 0 &&
        cf_workspace_make(&work, t->on, plan, 7) >= 0) {
        fixed_run(call)->workspace = work.at;
        fixed_run(call)->workspace_size = work.size;
        aliases(t, call, plan);
        workspaces(t, call, plan);
        strangers(t, call);
        expect_run(t, call, NULL, t->on->queue, call->args.bytes, "run without plan", HEED_E_NULL);
        expect_run(t, call, plan, NULL, call->args.bytes, "run without queue", HEED_E_NULL);
        expect_run(t, call, plan, t->on->queue, NULL, "run without arguments", HEED_E_NULL);
        expect_run(t, call, plan, t->on->queue, &nothing, "arguments of nothing", HEED_E_SIZE);
        if (other != t->on)
            expect_run(t, call, plan, other->queue, call->args.bytes, "a queue of another device",
                       HEED_E_MISMATCH);
    } else {
        cf_tap(t->tally, false, NULL, t->on->name, "error", "run arguments",
               "the legal case failed");
    }
    cf_workspace_finish(&work, t->on);
    heed_plan_drop(plan);
    if (call)
        fixed_call_finish(call);
    free(call);
}

/* ---- memory that runs out ---------------------------------------------------- */

struct planned {
    const struct fixed *op;
    const struct fixed_call *call;
};

static heed_status plan_of(void *context, heed_device *device, heed_plan **plan)
{
    const struct planned *planned = context;

    return planned->op->plan(device, planned->call->desc.bytes, plan, NULL);
}

static void scarce(const struct point *t)
{
    struct fixed_call *call = calloc(1, sizeof *call);
    struct planned planned = { t->op, call };

    if (call && fixed_call_describe(call, t->p, 0)) {
        struct reached reached = { { 0 } };

        cf_errors_scarce(t->on->name, plan_of, &planned, t->tally, &reached);
    }
    if (call)
        fixed_call_finish(call);
    free(call);
}

void fixed_errors_run(const struct fixed *op, const struct fixed_problem *p,
                      const struct target *targets, int n, struct tally *tally)
{
    for (int i = 0; i < n; i++) {
        const struct point t = { op, p, &targets[i], tally };

        newer(&t);
        runs(&t, &targets[(i + 1) % n]);
        scarce(&t);
    }
}
