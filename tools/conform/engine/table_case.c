/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A case of an operation with fixed arrays at work: what the program of families asks.
 */
#include "subject.h"
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct array *fixed_out(const struct job *job, int array)
{
    return &((const struct fixed_call *)(const void *)job)->out[array];
}

/* ---- problems ------------------------------------------------------------------- */

static void *problem(const struct cs *c, bool data)
{
    return fixed_problem_make(c, data);
}

static void problem_free(void *p)
{
    fixed_problem_free(p);
}

static int64_t items_of(const void *p)
{
    return ((const struct fixed_problem *)p)->n_items;
}

static bool apart(const void *p)
{
    return fixed_can_pick(p);
}

static void *pick(const void *p, const int64_t *chosen, int64_t n, bool turned)
{
    return chosen ? fixed_problem_pick(p, chosen, n, turned) : fixed_problem_copy(p, turned);
}

static struct job *describe(const void *p, unsigned flags)
{
    struct fixed_call *const call = calloc(1, sizeof *call);

    if (call && fixed_call_describe(call, p, flags))
        return &call->job;
    job_drop(call ? &call->job : NULL);
    return NULL;
}

static void *answer(const void *p)
{
    struct answer *const a = calloc(1, sizeof *a);

    if (a && answer_make(a, p))
        return a;
    if (a)
        answer_finish(a);
    free(a);
    return NULL;
}

static void answer_free(void *a)
{
    if (a)
        answer_finish(a);
    free(a);
}

static void claim(void *p, void *a, uint32_t numerics, uint32_t weights)
{
    (void)p;
    (void)weights;
    if (numerics != HEED_NUMERICS_EXACT)
        answer_loosen(a);
}

/* ---- outputs -------------------------------------------------------------------- */

/* Did a run deliver FAST of an operation that has a bound of its own for it? */
static bool is_fast(const struct fixed_problem *p, const struct job *job)
{
    return job->loose && p->op->fast;
}

/* By the bound of FAST, which is another one than that of the case's answer. */
static void judge_fast(const struct subject *s, const struct fixed_call *call, uint32_t families)
{
    struct answer own;

    if (answer_make(&own, s->problem)) {
        answer_loosen(&own);
        fixed_judge(s->problem, &own, call, families, s->v);
    } else {
        cf_fail(s->v, "no memory");
    }
    answer_finish(&own);
}

static void judge(const struct subject *s, struct job *job, uint32_t families)
{
    const struct fixed_call *const call = (const struct fixed_call *)(const void *)job;

    if (!(families & (FAMILY_EXACT | FAMILY_BOUND)))
        return;
    if (is_fast(s->problem, job))
        judge_fast(s, call, families);
    else
        fixed_judge(s->problem, s->answer, call, families, s->v);
}

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
static void part_same(const struct subject *s, const struct fixed_problem *other,
                      const struct job *job, const struct relation *r, int i)
{
    const struct fixed_problem *const p = s->problem;
    const struct answer *const a = s->answer;
    const struct part *mine = &p->part[i], *theirs = &other->part[i];
    const int64_t items = mine->role & BATCH ? other->n_items : 1, *n_of = theirs->a.shape;
    const int64_t row = mine->role & ROWWISE ? r->row : 0;
    const int64_t last = mine->role & ROWWISE_LAST ? r->row : 0;
    const int64_t all = theirs->lead * items * n_of[1] * n_of[2] * n_of[3];

    for (int64_t n = 0; n < all && !s->v->failed; n++) {
        const int64_t z = n % n_of[3], y = n / n_of[3] % n_of[2];
        const int64_t x = n / n_of[3] / n_of[2] % n_of[1];
        const int64_t i_b = n / n_of[3] / n_of[2] / n_of[1];
        const int64_t b = i_b % items, lead = i_b / items;
        const int64_t at = part_lead_at(mine, lead, r->items ? r->items[b] : b, turn(mine, r, 1, x),
                                        turn(mine, r, 2, y + row), turn(mine, r, 3, z + last));
        const int64_t want = bits_at(fixed_out(s->got, i), at);
        const int64_t got = bits_at(fixed_out(job, i), part_lead_at(theirs, lead, b, x, y, z));

        if (want != got && a->said[i][at].kind != SAID_ANY) {
            char wanted[WORD_TEXT], is[WORD_TEXT];

            cf_word_print(mine->a.dtype, want, wanted);
            cf_word_print(mine->a.dtype, got, is);
            cf_fail(s->v, "%s: %s differs first at b=%lld [%lld][%lld][%lld]: wanted %s got %s",
                    r->what, mine->table->name, (long long)(r->items ? r->items[b] : b),
                    (long long)x, (long long)(y + row), (long long)(z + last), wanted, is);
        }
    }
}

static void same(const struct subject *s, const void *other, const struct job *job,
                 const struct relation *r)
{
    const struct fixed_problem *const p = other;

    if (is_fast(p, job) || is_fast(s->problem, s->got))
        return;
    for (int i = 0; i < p->op->n_arrays; i++) {
        if (fixed_writes(p, i))
            part_same(s, p, job, r, i);
    }
}

/* Does the element hold the poison of both runs? A byte that was written is that of both once in
 * 65,536: of bytes the next one must be, too. */
static bool poison_left(const struct fixed_call *x, const struct fixed_call *y, int i, int64_t e,
                        int64_t n)
{
    const int64_t more = cf_dtype_size(x->out[i].dtype) == 1 ? 2 : 1;
    bool left = e + more <= n;

    for (int64_t k = e; left && k < e + more; k++)
        left = bits_at(&x->out[i], k) == bits_at(&x->old[i], k) &&
               bits_at(&y->out[i], k) == bits_at(&y->old[i], k);
    return left;
}

/* An element that holds the poison of both runs was not written in either. */
static void unwritten(const struct subject *s, const struct job *again)
{
    const struct fixed_problem *const p = s->problem;
    const struct fixed_call *const x = (const struct fixed_call *)(const void *)s->got;
    const struct fixed_call *const y = (const struct fixed_call *)(const void *)again;
    const struct answer *const a = s->answer;

    for (int i = 0; i < p->op->n_arrays; i++) {
        const struct part *const part = &p->part[i];
        const bool asked = part->role & OUT && part_is(part) &&
                           type_elements(part->a.dtype) == 1; /* too few bits to tell */
        const int64_t n = asked ? cf_array_count(&part->a) : 0;

        for (int64_t e = 0; e < n && !s->v->failed; e++) {
            if (a->said[i][e].kind != SAID_ANY && poison_left(x, y, i, e, n))
                cf_fail(s->v, "unwritten: element %" PRId64 " of %s", e, part->table->name);
        }
    }
}

/* ---- relations ------------------------------------------------------------------ */

static bool is_float(uint32_t dtype)
{
    return dtype == HEED_F32 || dtype == HEED_F16 || dtype == HEED_BF16;
}

/* Elements that the definition does not read hold NaN and infinities. */
static void poisoned(const struct subject *s)
{
    const struct relation r = { .what = "NaN and infinities in what is not read" };
    const struct answer *const said = s->answer;
    struct fixed_problem *other = fixed_problem_copy(s->problem, false);

    for (int i = 0; other && i < other->op->n_arrays; i++) {
        struct array *a = &other->part[i].a;

        for (int64_t e = 0; said->read[i] && is_float(a->dtype) && e < cf_array_count(a); e++) {
            if (!said->read[i][e])
                cf_array_set(a, e,
                             cf_encode(a->dtype, e % 3 ? (float)(e % 3 == 1 ? 1e300 * 1e300
                                                                            : -1e300 * 1e300)
                                                       : (float)(0 * (1e300 * 1e300))));
        }
    }
    cf_compare(s, &s->bench->one, other, 0, &r);
    fixed_problem_free(other);
}

static void shorter(const struct subject *s)
{
    const struct fixed_problem *const p = s->problem;
    const int64_t item = (int64_t)(cf_mix(s->seed) % (uint64_t)p->n_items);
    const struct relation r = { .what = "an item as long as its length", .items = &item };
    struct fixed_problem *other;

    if (!p->op->shorten || !fixed_can_pick(p))
        return;
    other = fixed_problem_pick(p, &item, 1, false);
    if (!other || p->op->shorten(other))
        cf_compare(s, &s->bench->one, other, 0, &r);
    fixed_problem_free(other);
}

/* Outputs in the memory of inputs. */
static void in_place(const struct subject *s)
{
    const struct relation r = { .what = "outputs in place of inputs" };
    const struct fixed_problem *const p = s->problem;
    bool any = false;

    for (int i = 0; i < p->op->n_arrays; i++)
        any = any || fixed_guest(p, i) >= 0;
    if (any)
        cf_compare(s, &s->bench->one, p, CALL_IN_PLACE, &r);
}

static void relate(const struct subject *s)
{
    const struct fixed_problem *const p = s->problem;

    poisoned(s);
    if (!s->v->failed)
        in_place(s);
    if (p->op->relate && !s->v->failed)
        p->op->relate(&s->bench->one, p, (const struct fixed_call *)(const void *)s->got, s->v);
    if (!s->v->failed && !(s->seed & 1))
        shorter(s);
}

/* ---- rows ----------------------------------------------------------------------- */

static int rows_axis(const struct part *part)
{
    return !part_is(part) ? 0 : part->role & ROWWISE ? 2 : part->role & ROWWISE_LAST ? 3 : 0;
}

static int64_t rows(const void *given)
{
    const struct fixed_problem *const p = given;
    int64_t n = 0;

    for (int i = 0; i < p->op->n_arrays; i++) {
        const int axis = rows_axis(&p->part[i]);

        if (axis)
            n = p->part[i].a.shape[axis];
        else if (fixed_writes(p, i))
            return 0;
    }
    return p->op->rows_apart && !p->op->rows_apart(p) ? 0 : n;
}

static void *cut(const void *given, int64_t row, int64_t n)
{
    struct fixed_problem *const p = fixed_problem_copy(given, false);
    bool ok = p;

    for (int i = 0; ok && i < p->op->n_arrays; i++) {
        const int axis = rows_axis(&p->part[i]);

        ok = !axis || cf_array_keep(&p->part[i].a, axis, row, n);
    }
    if (ok && p->op->rows_first)
        p->c.v[p->op->rows_first] += row;
    if (ok)
        return p;
    fixed_problem_free(p);
    return NULL;
}

const struct cf_families fixed_families = {
    .problem = problem,
    .problem_free = problem_free,
    .items = items_of,
    .apart = apart,
    .pick = pick,
    .describe = describe,
    .answer = answer,
    .answer_free = answer_free,
    .claim = claim,
    .judge = judge,
    .same = same,
    .unwritten = unwritten,
    .relate = relate,
    .rows = rows,
    .cut = cut,
};
