/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors of operations with fixed arrays: what can be wrong with any array follows from the table,
 * what can be wrong with the numbers is in it.
 */
#include "errors.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

struct faults {
    const struct fixed *op;
    const struct fixed_problem *p;
    struct fault *faults;
    int n;
};

static void add(struct faults *f, int where, const char *field, size_t offset, int type,
                int64_t value, heed_status status)
{
    if (f->n < MAX_FAULTS)
        f->faults[f->n++] =
            (struct fault){ field, NULL, where, offset, type, value, status };
}

/* An axis that has several elements, -1: there is none. */
static int long_axis(const heed_tensor *t)
{
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] > 1)
            return (int)i;
    }
    return -1;
}

static void tensor_faults(struct faults *f, struct fixed_call *base, int i)
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

static void buf_faults(struct faults *f, int i)
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

static void list_make(struct faults *f, struct fixed_call *base)
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

static struct fixed_call *call_of(struct job *job)
{
    return (struct fixed_call *)(void *)job;
}

static int list(struct job *job, struct fault *faults)
{
    struct faults f = { call_of(job)->op, job->problem, faults, 0 };

    list_make(&f, call_of(job));
    return f.n;
}

static const char *base(void)
{
    return fixed_of(cf_op)->base;
}

static void *place(struct job *job, int where)
{
    return where == IN_DESC ? job->desc : call_of(job)->args.bytes;
}

static bool at_run(int where)
{
    return where == IN_ARGS;
}

/* An array that is absent or of the wrong shape has no other faults. */
static bool same_place(const struct job *job, const struct fault *a, const struct fault *b)
{
    const struct fixed *const op = ((const struct fixed_problem *)job->problem)->op;

    for (int i = 0; i < op->n_arrays && a->where == IN_DESC; i++) {
        const size_t at = op->arrays[i].tensor;

        if (a->offset >= at && a->offset < at + sizeof(heed_tensor) && b->offset >= at &&
            b->offset < at + sizeof(heed_tensor))
            return true;
    }
    return false;
}

static void *args(struct job *job)
{
    return call_of(job)->args.bytes;
}

static void workspace(struct job *job, heed_buf at, uint64_t size)
{
    fixed_run(call_of(job))->workspace = at;
    fixed_run(call_of(job))->workspace_size = size;
}

/* ---- cases that are refused ---------------------------------------------------------- */

static void refusal_try(const struct fixed *op, const struct fixed_refusal *refusal,
                        const struct target *targets, int n, struct tally *tally)
{
    struct fixed_call *call = calloc(1, sizeof *call);
    struct fixed_problem *p = NULL;
    struct verdict v = { 0 };
    char why[128] = "no memory";
    struct cs c;

    if (call && cf_case_parse(refusal->line, &c, why)) {
        if (refusal->field)
            c.v[refusal->field] = refusal->value;
        p = fixed_problem_make(&c, false);
    }
    for (int i = 0; p && i < n; i++) {
        struct rng r = rng_of(1); /* the same descriptor for each */
        heed_status status;

        fixed_call_vast(call, p, &r);
        status = op->check(targets[i].device, call->desc.bytes, NULL);
        if (status != refusal->status)
            cf_fail(&v, "%s: wanted %s, got %s", targets[i].name,
                    heed_status_name(refusal->status), heed_status_name(status));
        cf_check_and_plan(&call->job, targets[i].device, &v);
    }
    cf_tap(tally, p && !v.failed, NULL, "all", "error", refusal->line, p ? v.why : why);
    fixed_problem_free(p);
    free(call);
}

static void more(const void *problem, const struct target *targets, int n, struct tally *tally,
                 struct reached *reached)
{
    const struct fixed *const op = ((const struct fixed_problem *)problem)->op;

    (void)reached;
    for (int i = 0; i < op->n_refusals; i++)
        refusal_try(op, &op->refusals[i], targets, n, tally);
}

/* ---- descriptors of any size ------------------------------------------------------------- */

static const int64_t vast_counts[] = {
    33, 1 << 12, 1 << 20, INT64_C(1) << 31, (INT64_C(1) << 31) + 1, INT64_C(1) << 33,
    INT64_C(1) << 40, INT64_C(1) << 60, INT64_C(1) << 62, INT64_MAX, 0, 1,
};

/* Any levels, legal or not; of the fields that may be vast one or two are. */
static void vast_draw(struct rng *r, const struct fixed *op, struct cs *c)
{
    const int64_t n = (int64_t)(sizeof vast_counts / sizeof *vast_counts);

    cf_case_default(c);
    for (int i = 0; i < cf_n_fields; i++) {
        if (rng_below(r, 3) == 0)
            c->v[i] = cf_fields[i].level[rng_below(r, cf_fields[i].n_levels)];
    }
    for (int i = 0; i < op->n_specs; i++) {
        if (op->vast >> i & 1 && rng_below(r, 3) == 0)
            c->v[F_OWN + i] = vast_counts[rng_below(r, n)];
    }
    cf_case_normalize(c);
    c->seed = rng_next(r) >> 24;
}

static struct job *vast_job(struct rng *r, int64_t number, bool host, char line[LINE])
{
    struct fixed_call *const call = calloc(1, sizeof *call);
    struct fixed_problem *p;
    struct cs c;

    (void)number;
    vast_draw(r, fixed_of(cf_op), &c);
    if (!host)
        c.v[F_WS] = 0; /* only what the runtime's allocator gives may be the plan's own */
    cf_case_print(&c, line);
    p = fixed_problem_make(&c, false);
    if (call && p) {
        fixed_call_vast(call, p, r);
        fixed_problem_free(p);
        return &call->job;
    }
    fixed_problem_free(p);
    free(call);
    return NULL;
}

const struct cf_errors fixed_errors = {
    .base = base,
    .list = list,
    .place = place,
    .at_run = at_run,
    .same_place = same_place,
    .args = args,
    .workspace = workspace,
    .more = more,
    .vast = vast_job,
};
