/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The family error: the faults of an operation's list, alone and in pairs.
 */
#include "errors.h"

#include <stdlib.h>
#include <string.h>

struct family {
    const struct cf_errors *e;
    const void *p;
    const struct target *targets;
    int n_targets;
    struct tally *tally;
    struct reached reached;
    struct job *base;
    struct fault faults[MAX_FAULTS];
    int n;
};

struct reply {
    heed_status status;
    char field[64];
    bool wrote; /* outputs, the plan's out-parameter; or the report is wrong */
};

/* ---- one attempt ------------------------------------------------------------------ */

static void fault_apply(const struct cf_errors *e, struct job *job, const struct fault *f)
{
    unsigned char *at = (unsigned char *)e->place(job, f->where) + f->offset;
    const uint32_t narrow = (uint32_t)f->value;
    const double real = (double)f->value;
    const heed_tensor tensor = { HEED_I32, 1, { f->value }, { 1 } };

    switch (f->type) {
    case FAULT_TENSOR:
        memcpy(at, &tensor, sizeof tensor);
        break;
    case FAULT_U32:
        memcpy(at, &narrow, 4);
        break;
    case FAULT_F64:
        memcpy(at, &real, 8);
        break;
    case FAULT_PTR:
        memset(at, 0, sizeof(void *));
        break;
    default:
        memcpy(at, &f->value, 8);
        break;
    }
}

static void attempt_run(const struct family *f, struct job *job, const struct fault *const *w,
                        const heed_plan *plan, struct reply *reply, heed_report *report)
{
    struct workspace work;
    char why[128];

    reply->status = cf_workspace_make(&work, job->on, plan, 0x33);
    f->e->workspace(job, work.at, work.size);
    for (int i = 0; i < 2; i++) {
        if (w[i])
            fault_apply(f->e, job, w[i]);
    }
    if (reply->status >= 0)
        reply->status = job->run(plan, job->on->queue, f->e->args(job), NULL, report);
    cf_workspace_finish(&work, job->on);
    reply->wrote = reply->status < 0 && !job_outputs_same(job, why);
}

/* Does check without a device say what plan has said of a fault? */
static bool agrees_alone(const struct job *job, heed_status status, const heed_report *report)
{
    heed_report alone = { .size = sizeof alone };

    return job->check(NULL, job->desc, &alone) == status && alone.status == status &&
           strcmp(alone.field, report->field) == 0;
}

/* Plans and runs the base case with no fault, one or two, which are found at the same time. */
static bool attempt(const struct family *f, const struct target *on, const struct fault *const *w,
                    struct reply *reply)
{
    static unsigned char untouched;
    heed_plan *const none = (heed_plan *)(void *)&untouched;
    heed_plan *plan = none;
    heed_report report = { .size = sizeof report };
    const bool at_run = !w[0] || f->e->at_run(w[0]->where);
    struct job *job =
        at_run ? cf_job_make(cf_op->families, f->p, on, 0, 99) : cf_op->families->describe(f->p, 0);

    *reply = (struct reply){ 0 };
    if (!job)
        return false;
    for (int i = 0; i < 2; i++) {
        if (w[i] && !at_run)
            fault_apply(f->e, job, w[i]);
    }
    reply->status = job->plan(on->device, job->desc, &plan, &report);
    if (!at_run && f->e->no_device)
        reply->wrote = !agrees_alone(job, reply->status, &report);
    if (reply->status >= 0 && at_run)
        attempt_run(f, job, w, plan, reply, &report);
    else
        reply->wrote = reply->wrote || (reply->status < 0 && plan != none);
    if (plan != none)
        heed_plan_drop(plan);
    memcpy(reply->field, report.field, sizeof reply->field);
    reply->wrote = reply->wrote || report.status != reply->status;
    job_drop(job);
    return true;
}

/* Is one of the words in the field of the report? */
static bool names(const struct reply *reply, const char *words)
{
    char word[64];

    for (size_t n; *words != '\0'; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        if (strstr(reply->field, word))
            return true;
    }
    return false;
}

static bool says(const struct reply *reply, const struct fault *w)
{
    return w && reply->status == w->status &&
           (names(reply, w->field) || (w->also && names(reply, w->also)));
}

static bool judge(struct family *f, const struct fault *w, const struct fault *also, char why[512])
{
    const struct fault *const both[2] = { w, also };
    struct reply first = { 0 }, reply;

    for (int i = 0; i < f->n_targets; i++) {
        if (!attempt(f, &f->targets[i], both, &reply)) {
            snprintf(why, 512, "%s: no memory", f->targets[i].name);
            return false;
        }
        if (i == 0)
            first = reply;
        cf_reach(&f->reached, reply.status);
        snprintf(why, 512, "%s: wanted %s in %s, got %s in '%s'%s; the first device: %s in '%s'",
                 f->targets[i].name, heed_status_name(w->status), w->field,
                 heed_status_name(reply.status), reply.field,
                 reply.wrote ? ", outputs written or report wrong" : "",
                 heed_status_name(first.status), first.field);
        if (reply.wrote || reply.status != first.status || strcmp(reply.field, first.field) ||
            !(says(&reply, w) || says(&reply, also)))
            return false;
    }
    return true;
}

static void faults_alone(struct family *f)
{
    for (int i = 0; i < f->n; i++) {
        const struct fault *w = &f->faults[i];
        char why[512] = "", line[160];
        const bool ok = judge(f, w, NULL, why);

        snprintf(line, sizeof line, "op=%s: %s in %s, fault %d", cf_op->name,
                 heed_status_name(w->status), w->field, i);
        cf_tap(f->tally, ok, NULL, "all", "error", line, why);
    }
}

/* Both are found by plan, or both by run; and they change other bytes. */
static bool go_together(const struct family *f, const struct fault *a, const struct fault *b)
{
    return f->e->at_run(a->where) == f->e->at_run(b->where) &&
           !(a->where == b->where && a->offset == b->offset) && !f->e->same_place(f->base, a, b);
}

/* One point of the report for all pairs with the same first fault. */
static void faults_paired(struct family *f)
{
    for (int i = 0; i < f->n; i++) {
        char why[512] = "", line[160], first[700] = "";
        int wrong = 0, tried = 0;

        for (int j = i + 1; j < f->n; j++) {
            const struct fault *a = &f->faults[i], *b = &f->faults[j];

            if (!go_together(f, a, b))
                continue;
            tried++;
            if (!judge(f, a, b, why) && wrong++ == 0)
                snprintf(first, sizeof first, "with %s in %s: %s", heed_status_name(b->status),
                         b->field, why);
        }
        snprintf(line, sizeof line, "op=%s: %s in %s, fault %d, paired with %d others", cf_op->name,
                 heed_status_name(f->faults[i].status), f->faults[i].field, i, tried);
        if (tried)
            cf_tap(f->tally, wrong == 0, NULL, "all", "error", line, first);
    }
}

void cf_family_error(const struct target *targets, int n, struct tally *tally)
{
    const struct fault *const none[2] = { NULL, NULL };
    const char *const base = cf_op->errors->base();
    struct family *f = calloc(1, sizeof *f);
    struct reply reply = { 0 };
    void *p = NULL;
    struct cs c;
    char why[128] = "";

    if (f && cf_case_parse(base, &c, why))
        p = cf_op->families->problem(&c, true);
    if (p) {
        *f = (struct family){
            .e = cf_op->errors, .p = p, .targets = targets, .n_targets = n, .tally = tally
        };
        f->base = cf_op->families->describe(p, 0);
    }
    if (!p || !f->base || !attempt(f, &targets[0], none, &reply) || reply.status < 0) {
        cf_tap(tally, false, NULL, "all", "error", base, p ? reply.field : why);
    } else {
        f->n = f->e->list(f->base, f->faults);
        faults_alone(f);
        faults_paired(f);
        cf_errors_run(p, targets, n, tally, &f->reached);
        if (f->e->more)
            f->e->more(p, targets, n, tally, &f->reached);
    }
    if (f)
        job_drop(f->base);
    cf_op->families->problem_free(p);
    free(f);
}
