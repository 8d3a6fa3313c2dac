/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The error family of operations with fixed arrays: what can be wrong with any array follows from
 * the table, what can be wrong with the numbers is in it. Each fault alone and those of descriptors
 * in pairs, on every device: the documented status, the same everywhere, in a report that names the
 * field; nothing is written.
 */
#include "fixed.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FAULTS = 400, RUN_AT = 8 };
enum { IN_DESC, IN_ARGS };

struct wrong {
    const char *field, *also; /* words that reports may have in place of each other; NULL: none */
    int where;
    struct fixed_fault f;
};

struct family {
    const struct fixed *op;
    const struct fixed_problem *p;
    const struct target *targets;
    int n_targets;
    struct tally *tally;
    struct wrong faults[MAX_FAULTS];
    int n;
};

static void add(struct family *f, int where, const char *field, size_t offset, int type,
                int64_t value, heed_status status)
{
    if (f->n < MAX_FAULTS)
        f->faults[f->n++] =
            (struct wrong){ field, NULL, where, { field, offset, type, value, status } };
}

/* ---- the list of faults --------------------------------------------------------- */

/* An axis that has several elements, -1: there is none. */
static int long_axis(const heed_tensor *t)
{
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] > 1)
            return (int)i;
    }
    return -1;
}

static void tensor_faults(struct family *f, struct fixed_call *base, int i)
{
    const struct fixed_array *a = &f->op->arrays[i];
    const heed_tensor *t = fixed_tensor(base, i);
    const size_t at = a->tensor, shape = at + offsetof(heed_tensor, shape),
                 stride = at + offsetof(heed_tensor, stride);
    const int axis = long_axis(t), first = f->n;

    add(f, IN_DESC, a->name, at + offsetof(heed_tensor, ndim), FAULT_U32, 7, HEED_E_VALUE);
    add(f, IN_DESC, a->name, shape + 8 * (t->ndim - 1), FAULT_I64, -1, HEED_E_VALUE);
    add(f, IN_DESC, a->name, at, FAULT_U32, 77, HEED_E_DTYPE);
    add(f, IN_DESC, a->name, at, FAULT_U32, 0, HEED_E_DTYPE);
    add(f, IN_DESC, a->name, at, FAULT_U32, t->dtype == HEED_U8 ? HEED_I32 : HEED_U8,
        HEED_E_DTYPE);
    if (a->role & MUST)
        add(f, IN_DESC, a->name, at + offsetof(heed_tensor, ndim), FAULT_U32, 0, HEED_E_NULL);
    if (axis >= 0)
        add(f, IN_DESC, a->name, stride + 8 * (size_t)axis, FAULT_I64, INT64_MAX, HEED_E_OVERFLOW);
    if (axis >= 0)
        add(f, IN_DESC, a->name, stride + 8 * (size_t)axis, FAULT_I64, INT64_MIN, HEED_E_OVERFLOW);
    if (axis >= 0 && fixed_writes(f->p, i))
        add(f, IN_DESC, a->name, stride + 8 * (size_t)axis, FAULT_I64, 0, HEED_E_STRIDE);
    for (int n = first; n < f->n; n++)
        f->faults[n].also = a->reports;
}

static void buf_faults(struct family *f, int i)
{
    const struct fixed_array *a = &f->op->arrays[i];
    const size_t offset = a->buf + offsetof(heed_buf, offset);

    if (cf_array_count(&f->p->part[i].a) == 0)
        return;
    add(f, IN_ARGS, a->name, a->buf + offsetof(heed_buf, handle), FAULT_I64, 0, HEED_E_NULL);
    add(f, IN_ARGS, a->name, offset, FAULT_I64, -8, HEED_E_OVERFLOW);
    if (cf_dtype_size(f->p->part[i].a.dtype) > 1)
        add(f, IN_ARGS, a->name, offset, FAULT_I64, 65, HEED_E_ALIGN);
}

static void list_make(struct family *f, struct fixed_call *base)
{
    const size_t run = offsetof(heed_copy_args, run);
    const size_t desc = f->op->desc_least ? f->op->desc_least : f->op->desc_size;
    const size_t args = f->op->args_least ? f->op->args_least : f->op->args_size;

    add(f, IN_DESC, "size", 0, FAULT_U32, 8, HEED_E_SIZE);
    add(f, IN_DESC, "size", 0, FAULT_U32, (int64_t)desc - 1, HEED_E_SIZE);
    add(f, IN_DESC, "flags", 4, FAULT_U32, 1 << 30, HEED_E_FLAG);
    add(f, IN_DESC, "numerics", 8, FAULT_U32, 4, HEED_E_VALUE);
    for (int i = 0; i < f->op->n_arrays; i++) {
        if (part_is(&f->p->part[i]))
            tensor_faults(f, base, i);
    }
    for (int i = 0; i < f->op->n_faults; i++) {
        const struct fixed_fault *own = &f->op->faults[i];

        add(f, IN_DESC, own->field, own->offset, own->type, own->value, own->status);
    }
    add(f, IN_ARGS, "args", 0, FAULT_U32, 8, HEED_E_SIZE);
    add(f, IN_ARGS, "args", 0, FAULT_U32, (int64_t)args - 1, HEED_E_SIZE);
    add(f, IN_ARGS, "reserved", 4, FAULT_U32, 1, HEED_E_VALUE);
    add(f, IN_ARGS, "wait", run + offsetof(heed_run, n_wait), FAULT_U32, 1, HEED_E_NULL);
    add(f, IN_ARGS, "reserved", run + offsetof(heed_run, reserved), FAULT_U32, 1, HEED_E_VALUE);
    for (int i = 0; i < f->op->n_arrays; i++) {
        if (part_is(&f->p->part[i]))
            buf_faults(f, i);
    }
}

/* ---- cases that are refused ---------------------------------------------------------- */

static void refusal_try(const struct family *f, const struct fixed_refusal *refusal)
{
    struct fixed_call *call = calloc(1, sizeof *call);
    struct fixed_problem *p = NULL;
    struct rng r = rng_of(1);
    struct verdict v = { 0 };
    char why[128] = "no memory";
    struct cs c;

    if (call && cf_case_parse(refusal->line, &c, why)) {
        if (refusal->field)
            c.v[refusal->field] = refusal->value;
        p = fixed_problem_make(&c, false);
    }
    for (int i = 0; p && i < f->n_targets; i++) {
        heed_status status;

        fixed_call_vast(call, p, &r);
        status = f->op->check(f->targets[i].device, call->desc.bytes, NULL);
        if (status != refusal->status)
            cf_fail(&v, "%s: wanted %s, got %s", f->targets[i].name,
                    heed_status_name(refusal->status), heed_status_name(status));
        fixed_check_and_plan(f->op, f->targets[i].device, call->desc.bytes, &v);
    }
    cf_tap(f->tally, p && !v.failed, NULL, "all", "error", refusal->line, p ? v.why : why);
    fixed_problem_free(p);
    free(call);
}

/* ---- one attempt ------------------------------------------------------------------ */

struct reply {
    heed_status status;
    char field[64];
    bool wrote; /* outputs, the plan's out-parameter; or the report is wrong */
};

static void fault_apply(struct fixed_call *call, const struct wrong *w)
{
    unsigned char *at = (w->where == IN_DESC ? call->desc.bytes : call->args.bytes) + w->f.offset;
    const uint32_t narrow = (uint32_t)w->f.value;
    const heed_tensor tensor = { HEED_I32, 1, { w->f.value }, { 1 } };

    if (w->f.type == FAULT_TENSOR)
        memcpy(at, &tensor, sizeof tensor);
    else if (w->f.type == FAULT_U32)
        memcpy(at, &narrow, 4);
    else
        memcpy(at, &w->f.value, 8);
}

static void attempt_run(struct fixed_call *call, const struct wrong *w, const heed_plan *plan,
                        struct reply *reply, heed_report *report)
{
    struct workspace work;
    char why[128];

    reply->status = cf_workspace_make(&work, call->on, plan, 0x33);
    fixed_run(call)->workspace = work.at;
    fixed_run(call)->workspace_size = work.size;
    if (w)
        fault_apply(call, w);
    if (reply->status >= 0)
        reply->status = call->op->run(plan, call->on->queue, call->args.bytes, NULL, report);
    cf_workspace_finish(&work, call->on);
    reply->wrote = reply->status < 0 && !fixed_call_outputs_same(call, why);
}

/* Plans and runs the base case with one fault or two; `also` and w may be NULL. */
static bool attempt(const struct family *f, const struct target *on, const struct wrong *w,
                    const struct wrong *also, struct reply *reply)
{
    static unsigned char untouched;
    heed_plan *const none = (heed_plan *)(void *)&untouched;
    heed_plan *plan = none;
    heed_report report = { .size = sizeof report };
    struct fixed_call *call = calloc(1, sizeof *call);
    const bool at_run = !w || w->where == IN_ARGS;
    const bool ok = call && (at_run ? fixed_call_make(call, on, f->p, 0, 99)
                                    : fixed_call_describe(call, f->p, 0));

    *reply = (struct reply){ 0 };
    if (ok) {
        call->on = at_run ? on : NULL;
        if (!at_run)
            fault_apply(call, w);
        if (also)
            fault_apply(call, also);
        reply->status = f->op->plan(on->device, call->desc.bytes, &plan, &report);
        if (reply->status >= 0 && at_run)
            attempt_run(call, w, plan, reply, &report);
        else
            reply->wrote = reply->status < 0 && plan != none;
        if (plan != none)
            heed_plan_drop(plan);
        memcpy(reply->field, report.field, sizeof reply->field);
        reply->wrote = reply->wrote || report.status != reply->status;
    }
    if (call)
        fixed_call_finish(call);
    free(call);
    return ok;
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

static bool says(const struct reply *reply, const struct wrong *w)
{
    return w && reply->status == w->f.status &&
           (names(reply, w->field) || (w->also && names(reply, w->also)));
}

static bool judge(const struct family *f, const struct wrong *w, const struct wrong *also,
                  char why[512])
{
    struct reply first = { 0 }, reply;

    for (int i = 0; i < f->n_targets; i++) {
        if (!attempt(f, &f->targets[i], w, also, &reply)) {
            snprintf(why, 512, "%s: no memory", f->targets[i].name);
            return false;
        }
        if (i == 0)
            first = reply;
        snprintf(why, 512, "%s: wanted %s in %s, got %s in '%s'%s; the first device: %s in '%s'",
                 f->targets[i].name, heed_status_name(w->f.status), w->field,
                 heed_status_name(reply.status), reply.field,
                 reply.wrote ? ", outputs written or report wrong" : "",
                 heed_status_name(first.status), first.field);
        if (reply.wrote || reply.status != first.status || strcmp(reply.field, first.field) ||
            !(says(&reply, w) || says(&reply, also)))
            return false;
    }
    return true;
}

static void faults_alone(const struct family *f)
{
    for (int i = 0; i < f->n; i++) {
        const struct wrong *w = &f->faults[i];
        char why[512] = "", line[160];
        const bool ok = judge(f, w, NULL, why);

        snprintf(line, sizeof line, "op=%s: %s in %s, fault %d", f->op->op.name,
                 heed_status_name(w->f.status), w->field, i);
        cf_tap(f->tally, ok, NULL, "all", "error", line, why);
    }
}

/* Do they change the same bytes? An array that is absent or of the wrong shape has no other faults.
 */
static bool same_place(const struct fixed *op, const struct wrong *a, const struct wrong *b)
{
    for (int i = 0; i < op->n_arrays; i++) {
        const size_t at = op->arrays[i].tensor;

        if (a->f.offset >= at && a->f.offset < at + sizeof(heed_tensor) && b->f.offset >= at &&
            b->f.offset < at + sizeof(heed_tensor))
            return true;
    }
    return a->f.offset == b->f.offset;
}

/* One point of the report for all pairs with the same first fault. */
static void faults_paired(const struct family *f)
{
    for (int i = 0; i < f->n && f->faults[i].where == IN_DESC; i++) {
        char why[512] = "", line[160], first[700] = "";
        int wrong = 0, tried = 0;

        for (int j = i + 1; j < f->n && f->faults[j].where == IN_DESC; j++) {
            const struct wrong *a = &f->faults[i], *b = &f->faults[j];

            if (same_place(f->op, a, b))
                continue;
            tried++;
            if (!judge(f, a, b, why) && wrong++ == 0)
                snprintf(first, sizeof first, "with %s in %s: %s", heed_status_name(b->f.status),
                         b->field, why);
        }
        snprintf(line, sizeof line, "op=%s: %s in %s, fault %d, paired with %d others",
                 f->op->op.name, heed_status_name(f->faults[i].f.status), f->faults[i].field, i,
                 tried);
        if (tried)
            cf_tap(f->tally, wrong == 0, NULL, "all", "error", line, first);
    }
}

void fixed_family_error(const struct fixed *op, const struct target *targets, int n,
                        struct tally *tally)
{
    struct family *f = calloc(1, sizeof *f);
    struct fixed_call *base = calloc(1, sizeof *base);
    struct fixed_problem *p = NULL;
    struct reply reply = { 0 };
    struct cs c;
    char why[128] = "";

    if (f && base && cf_case_parse(op->base, &c, why))
        p = fixed_problem_make(&c, true);
    if (p) {
        *f = (struct family){ .op = op, .p = p, .targets = targets, .n_targets = n,
                              .tally = tally };
    }
    if (!p || !fixed_call_describe(base, p, 0) || !attempt(f, &targets[0], NULL, NULL, &reply) ||
        reply.status < 0) {
        cf_tap(tally, false, NULL, "all", "error", op->base, p ? reply.field : why);
    } else {
        list_make(f, base);
        for (int i = 0; i < op->n_refusals; i++)
            refusal_try(f, &op->refusals[i]);
        faults_alone(f);
        faults_paired(f);
        fixed_errors_run(op, p, targets, n, tally);
    }
    if (base)
        fixed_call_finish(base);
    free(base);
    fixed_problem_free(p);
    free(f);
}
