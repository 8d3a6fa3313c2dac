/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One case of an operation with fixed arrays on the reference and on every device: against the
 * oracle, against the reference, in another layout, with more threads, item by item, in another
 * order, shorter, and with inputs that nothing reads overwritten.
 */
#include "session.h"
#include "tell.h"

#include <stdlib.h>
#include <string.h>

/* One case at work. */
struct trial {
    const struct bench *bench;
    const struct fixed_problem *p;
    const struct answer *a;
    const struct fixed_call *got; /* the case's own run */
    struct verdict *v;
};

/* false without a failure: a partial device refuses it. */
static bool run_ok(struct fixed_call *call, struct verdict *v, const char *what)
{
    heed_report report = { .size = sizeof report };
    char why[128];
    heed_status status = HEED_OK;

    if (call->on->partial)
        status = call->op->check(call->on->device, call->desc.bytes, &report);
    if (cf_refused(call->on, status, &report))
        return false;
    status = fixed_call_run(call, &report);
    if (status < 0)
        cf_fail(v, "%s: check said yes, plan or run said %s: %s (%s)", what,
                heed_status_name(status), report.message, report.field);
    else if (!fixed_call_memory_same(call, why)) {
        cf_step(v, "memory");
        cf_fail(v, "%s: %s", what, why);
    }
    return !v->failed;
}

/* How a problem that must have the same results was made of the case's own one. */
struct relation {
    const char *what;
    const int64_t *items; /* NULL: all, in order */
    bool turned;          /* heads reversed */
};

static int64_t turn(const struct part *part, const struct relation *r, int axis, int64_t i)
{
    const int head = part->role & HEAD && r->turned ? 4 - part->a.trailing - part->headless : 0;

    return axis == head ? part->a.shape[axis] - 1 - i : i;
}

static int64_t bits_at(const struct array *a, int64_t i)
{
    return a->dtype == HEED_I64 ? cf_array_int(a, i) : (int64_t)cf_array_bits(a, i);
}

/* What an array of `other` has must be as in the case's own run. */
static void part_same(const struct trial *t, const struct fixed_problem *other,
                      const struct fixed_call *call, const struct relation *r, int i)
{
    const struct part *mine = &t->p->part[i], *theirs = &other->part[i];
    const int64_t items = mine->role & BATCH ? other->n_items : 1, *s = theirs->a.shape;

    for (int64_t n = 0; n < theirs->lead * items * s[1] * s[2] * s[3] && !t->v->failed; n++) {
        const int64_t z = n % s[3], y = n / s[3] % s[2], x = n / s[3] / s[2] % s[1];
        const int64_t b = n / s[3] / s[2] / s[1] % items, lead = n / s[3] / s[2] / s[1] / items;
        const int64_t at = part_lead_at(mine, lead, r->items ? r->items[b] : b, turn(mine, r, 1, x),
                                        turn(mine, r, 2, y), turn(mine, r, 3, z));
        const int64_t want = bits_at(&t->got->out[i], at);
        const int64_t got = bits_at(&call->out[i], part_lead_at(theirs, lead, b, x, y, z));

        if (want != got && t->a->said[i][at].kind != SAID_ANY)
            cf_fail(t->v,
                    "%s: %s differs first at b=%lld [%lld][%lld][%lld]: wanted 0x%llx got 0x%llx",
                    r->what, mine->table->name, (long long)b, (long long)x, (long long)y,
                    (long long)z, (unsigned long long)want, (unsigned long long)got);
    }
}

static void same(const struct trial *t, const struct fixed_problem *other,
                 const struct fixed_call *call, const struct relation *r)
{
    for (int i = 0; i < t->p->op->n_arrays; i++) {
        if (fixed_writes(other, i))
            part_same(t, other, call, r, i);
    }
}

/* Runs another problem, which may be NULL for want of memory, and compares. */
static void run_and_compare(const struct trial *t, const struct target *on,
                            const struct fixed_problem *other, unsigned flags,
                            const struct relation *r)
{
    struct fixed_call *call = calloc(1, sizeof *call);

    if (!other || !call || !fixed_call_make(call, on, other, flags, t->p->c.seed + 77))
        cf_fail(t->v, "no memory: %s", r->what);
    else if (run_ok(call, t->v, r->what))
        same(t, other, call, r);
    if (call)
        fixed_call_finish(call);
    free(call);
}

static void family_bits(const struct trial *t, const struct fixed_call *ref)
{
    const struct relation against = { .what = "against the reference" };
    const struct relation natural = { .what = "natural layout, aligned, other threads" };
    const int64_t item = t->p->n_items ? (int64_t)(t->p->c.seed % (uint64_t)t->p->n_items) : 0;
    const struct relation alone = { .what = "a batch item alone", .items = &item };

    if (t->got->numerics == HEED_NUMERICS_EXACT)
        same(t, t->p, ref, &against);
    cf_step(t->v, "layout");
    if (!t->v->failed)
        run_and_compare(t, &t->bench->two, t->p, CALL_NATURAL, &natural);
    cf_step(t->v, "alone");
    if (!t->v->failed && t->p->n_items > 1 && fixed_can_pick(t->p)) {
        struct fixed_problem *single = fixed_problem_pick(t->p, &item, 1, false);

        run_and_compare(t, &t->bench->one, single, 0, &alone);
        fixed_problem_free(single);
    }
}

/* ---- relations that need no oracle ------------------------------------------- */

static void meta_order(const struct trial *t)
{
    int64_t order[MAX_BATCH];
    struct relation r = { .what = "items in another order, heads reversed", .turned = true };
    struct fixed_problem *other;

    for (int64_t i = 0; i < t->p->n_items; i++)
        order[i] = t->p->n_items - 1 - i;
    if (fixed_can_pick(t->p)) {
        r.items = order;
        other = fixed_problem_pick(t->p, order, t->p->n_items, true);
    } else {
        other = fixed_problem_copy(t->p, true);
    }
    run_and_compare(t, &t->bench->two, other, 0, &r);
    fixed_problem_free(other);
}

static void meta_shorter(const struct trial *t)
{
    const int64_t item = (int64_t)(cf_mix(t->p->c.seed) % (uint64_t)t->p->n_items);
    const struct relation r = { .what = "an item as long as its length", .items = &item };
    struct fixed_problem *other;

    if (!t->p->op->shorten || !fixed_can_pick(t->p))
        return;
    other = fixed_problem_pick(t->p, &item, 1, false);
    if (!other || t->p->op->shorten(other))
        run_and_compare(t, &t->bench->one, other, 0, &r);
    fixed_problem_free(other);
}

static bool is_float(uint32_t dtype)
{
    return dtype == HEED_F32 || dtype == HEED_F16 || dtype == HEED_BF16;
}

/* Elements that the definition does not read hold NaN and infinities. */
static void meta_poisoned(const struct trial *t)
{
    const struct relation r = { .what = "NaN and infinities in what is not read" };
    struct fixed_problem *other = fixed_problem_copy(t->p, false);

    for (int i = 0; other && i < t->p->op->n_arrays; i++) {
        struct array *a = &other->part[i].a;

        for (int64_t e = 0; t->a->read[i] && is_float(a->dtype) && e < cf_array_count(a); e++) {
            if (!t->a->read[i][e])
                cf_array_set(a, e,
                             cf_encode(a->dtype, e % 3 ? (float)(e % 3 == 1 ? 1e300 * 1e300
                                                                            : -1e300 * 1e300)
                                                       : (float)(0 * (1e300 * 1e300))));
        }
    }
    run_and_compare(t, &t->bench->one, other, 0, &r);
    fixed_problem_free(other);
}

static void family_meta(const struct trial *t)
{
    if (t->p->n_items == 0)
        return;
    meta_poisoned(t);
    if (t->p->op->relate && !t->v->failed)
        t->p->op->relate(&t->bench->one, t->p, t->got, t->v);
    if (!t->v->failed && t->p->c.seed & 1)
        meta_order(t);
    else if (!t->v->failed)
        meta_shorter(t);
}

/* ---- a case -------------------------------------------------------------------- */

static void judge(struct session *session, const struct trial *t, struct fixed_call *got,
                  const struct fixed_call *ref)
{
    const uint32_t wanted = session->o.families;

    cf_step(t->v, "run");
    if (!run_ok(got, t->v, "run"))
        return;
    if (wanted & (FAMILY_EXACT | FAMILY_BOUND))
        fixed_judge(t->p, t->a, t->got, wanted, t->v);
    cf_step(t->v, "bits");
    if (wanted & FAMILY_BITS && !t->v->failed)
        family_bits(t, ref);
    cf_step(t->v, "meta");
    if (wanted & FAMILY_META && !t->v->failed)
        family_meta(t);
    session_count(session, t->v);
}

static bool device_case(struct session *session, const struct bench *bench,
                        const struct fixed_problem *p, const struct answer *a,
                        const struct fixed_call *ref, heed_status wanted, const char *line)
{
    struct fixed_call *got = calloc(1, sizeof *got);
    struct verdict v = { .word = "check" };
    char skip[REFUSAL_SKIP] = "";
    bool refused = false;

    if (!got || !fixed_call_make(got, &bench->one, p, 0, p->c.seed + 1)) {
        cf_fail(&v, "no memory");
    } else {
        const struct trial t = { bench, p, a, got, &v };
        heed_report report = { .size = sizeof report };
        const heed_status status = p->op->check(bench->one.device, got->desc.bytes, &report);

        refused = session_refused(session, bench, wanted, status, &report, skip);
        if (!refused && status != wanted)
            cf_fail(&v, "check: the reference answers %s, this device %s%s%s",
                    heed_status_name(wanted), heed_status_name(status),
                    status == HEED_E_UNSUPPORTED ? " in " : "", report.field);
        else if (status < 0)
            fixed_check_and_plan(p->op, bench->one.device, got->desc.bytes, &v);
        else
            judge(session, &t, got, ref);
    }
    cf_tell_case(&session->tally, bench->one.name, line, skip, &v);
    if (got)
        fixed_call_finish(got);
    free(got);
    return !refused;
}

bool fixed_case(struct session *session, const struct cs *c)
{
    struct fixed_problem *p = fixed_problem_make(c, true);
    struct fixed_call *ref = calloc(1, sizeof *ref);
    struct answer a = { 0 };
    struct verdict v = { .word = "run" };
    heed_status wanted = HEED_E_NOMEM;
    char line[LINE];
    bool judged = false;

    cf_case_print(c, line);
    if (!p || !ref || !answer_make(&a, p) ||
        !fixed_call_make(ref, &session->reference, p, 0, c->seed)) {
        cf_fail(&v, "no memory");
    } else {
        wanted = p->op->check(session->reference.device, ref->desc.bytes, NULL);
        if (wanted >= 0 && run_ok(ref, &v, "reference"))
            fixed_judge(p, &a, ref, session->o.families, &v);
    }
    if (v.failed)
        cf_tell_case(&session->tally, "reference", line, "", &v);
    for (int i = 0; i < session->n && !v.failed; i++)
        judged |= device_case(session, &session->bench[i], p, &a, ref, wanted, line);
    answer_finish(&a);
    if (ref)
        fixed_call_finish(ref);
    free(ref);
    fixed_problem_free(p);
    return judged;
}
