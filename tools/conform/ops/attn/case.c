/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A case of attention at work: what the program of families asks.
 */
#include "meta.h"
#include "symptoms.h"
#include "conform/engine/session.h"

#include <stdlib.h>
#include <string.h>

struct call *cf_call_of(const struct job *job)
{
    return (struct call *)(uintptr_t)job;
}

/* ---- problems -------------------------------------------------------------------- */

static void *problem(const struct cs *c, bool data)
{
    return cf_problem_make(c, NULL, 0, data);
}

static void problem_free(void *p)
{
    cf_problem_free(p);
}

static int64_t items_of(const void *p)
{
    return ((const struct problem *)p)->n_items;
}

static bool apart(const void *p)
{
    return !((const struct problem *)p)->was_read;
}

static void *pick(const void *p, const int64_t *items, int64_t n, bool turned)
{
    (void)turned;
    return cf_problem_make(&((const struct problem *)p)->c, items, (int)n, true);
}

static struct job *describe(const void *p, unsigned flags)
{
    struct call *const call = calloc(1, sizeof *call);

    if (call && cf_call_describe(call, p, flags))
        return &call->job;
    job_drop(call ? &call->job : NULL);
    return NULL;
}

static void claim(void *p, void *answer, uint32_t numerics, uint32_t weights)
{
    struct problem *const own = p;

    (void)answer;
    own->weights = weights;
    own->loose = numerics != HEED_NUMERICS_EXACT;
}

/* ---- outputs --------------------------------------------------------------------- */

static void judge(const struct subject *s, struct job *job, uint32_t families)
{
    const struct problem *const p = s->problem;
    const struct call *const call = cf_call_of(job);

    cf_step(s->v, "bits");
    if (families & FAMILY_BITS)
        cf_judge_unowned(p, call, s->v);
    cf_step(s->v, "exact");
    if (families & FAMILY_EXACT && cf_g(&p->c, G_FILL) == FILL_EXACT && !p->loose && !s->v->failed)
        cf_judge_exact(p, call, s->v);
    cf_step(s->v, "bound");
    if (families & FAMILY_BOUND && !s->v->failed)
        cf_judge_bound(p, call, s->v);
}

static void same(const struct subject *s, const void *other, const struct job *job,
                 const struct relation *r)
{
    const struct problem *const p = s->problem, *const o = other;

    for (int64_t i = 0; i < o->n_items; i++) {
        const int64_t b = r->items ? r->items[i] : i;

        if (!cf_same_item(p, cf_call_of(s->got), b, o, cf_call_of(job), i, r, s->v))
            return;
    }
}

/* An element that holds the poison of both runs was not written in either. */
static void array_unwritten(const struct problem *p, const struct array *x, const struct array *y,
                            const struct array *old_x, const struct array *old_y, const char *name,
                            struct verdict *v)
{
    const int64_t channels = x->trailing == 3 ? x->shape[3] : 1;
    struct item_view views[MAX_BATCH];

    for (int64_t i = 0; i < p->n_items; i++)
        cf_item_view(p, i, &views[i]);
    for (int64_t i = 0; i < p->n_items; i++) {
        for (int64_t h = 0; h < p->heads; h++) {
            for (int64_t row = 0; row < cf_rows_of(p, &views[i]); row++) {
                const int64_t place = views[i].o_begin + row;

                for (int64_t c = 0; c < channels && !cf_row_shared(p, views, i, place); c++) {
                    const int64_t at = x->trailing == 3 ? cf_array_at(x, i, h, place, c)
                                                        : cf_array_at(x, i, 0, h, place);

                    if (cf_array_bits(x, at) == cf_array_bits(old_x, at) &&
                        cf_array_bits(y, at) == cf_array_bits(old_y, at))
                        cf_fail(v, "unwritten: %s at b=%lld h=%lld row=%lld channel=%lld", name,
                                (long long)i, (long long)h, (long long)row, (long long)c);
                }
            }
        }
    }
}

static void unwritten(const struct subject *s, const struct job *again)
{
    const struct call *const x = cf_call_of(s->got), *const y = cf_call_of(again);

    array_unwritten(s->problem, &x->out, &y->out, &x->old, &y->old, "o", s->v);
    if (!s->v->failed && x->has_lse)
        array_unwritten(s->problem, &x->out_lse, &y->out_lse, &x->old_lse, &y->old_lse, "lse",
                        s->v);
    if (!s->v->failed)
        cf_judge_unowned(s->problem, x, s->v);
}

static bool is_nan(const struct array *a, int64_t at)
{
    const float x = cf_decode(a->dtype, cf_array_bits(a, at));

    return x != x;
}

static bool is_finite(const struct array *a, int64_t at)
{
    const float x = cf_decode(a->dtype, cf_array_bits(a, at));

    return x - x == 0;
}

static bool finite_row(const struct array *a, int64_t at)
{
    for (int64_t c = 0; c < a->shape[3]; c++) {
        if (!is_finite(a, at + c))
            return false;
    }
    return true;
}

/* Is there a key that the row does not see and that holds NaN or Inf? */
static bool poison_unseen(const struct problem *p, const struct item_view *view, int64_t head,
                          int64_t row)
{
    for (int s = 0; s < p->n_sources; s++) {
        const struct source_data *source = &p->source[s];
        const int64_t key_head = head / (p->heads / source->heads);

        for (int64_t key = 0; key < view->k_n[s]; key++) {
            int64_t b;
            const int64_t at = cf_key_row(p, view, s, key, &b);

            if (!cf_key_there(p, view, s, key) || cf_times_seen(p, view, head, row, s, key) ||
                !type_find(source->k.dtype)->exponent || !type_find(source->v.dtype)->exponent)
                continue;
            if (!finite_row(&source->k, cf_array_at(&source->k, b, key_head, at, 0)) ||
                !finite_row(&source->v, cf_array_at(&source->v, b, key_head, at, 0)))
                return true;
        }
    }
    return false;
}

/* NaN where the reference has a number, in a row that must not see what is NaN or Inf. That is said
 * of outputs that are wrong: beyond the range of the bound there are other reasons for NaN. */
static void nan_judge(const struct problem *p, const struct call *ref, const struct call *got,
                      struct verdict *v)
{
    for (int64_t b = 0; b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        for (int64_t h = 0; h < p->heads; h++) {
            for (int64_t row = 0; row < cf_rows_of(p, &view); row++) {
                const int64_t at = cf_array_at(&got->out, b, h, view.o_begin + row, 0);

                for (int64_t c = 0; c < p->dv && !v->failed; c++) {
                    if (is_nan(&got->out, at + c) && is_finite(&ref->out, at + c) &&
                        poison_unseen(p, &view, h, row))
                        cf_fail(v,
                                "nan: o at b=%lld h=%lld row=%lld channel=%lld is NaN, from keys "
                                "that the row does not see",
                                (long long)b, (long long)h, (long long)row, (long long)c);
                }
            }
        }
    }
}

static void note(const struct subject *s)
{
    s->session->notes->evidence[cf_most_keys(s->problem)]++;
}

/* Of a kernel of somebody else, which no bench runs, NaN has a verdict of its own. */
static void explain(const struct subject *s)
{
    const struct call *const got = cf_call_of(s->got);
    struct verdict nan = { 0 };

    if (!s->bench)
        nan_judge(s->problem, cf_call_of(s->ref), got, &nan);
    if (nan.failed)
        memcpy(s->v->why, nan.why, sizeof nan.why);
    if (!s->bench || got->o.after)
        cf_where_add(&s->session->notes->where, s->problem, cf_call_of(s->ref), got, s->v);
}

const struct cf_families cf_attn_families = {
    .problem = problem,
    .problem_free = problem_free,
    .items = items_of,
    .apart = apart,
    .pick = pick,
    .describe = describe,
    .claim = claim,
    .judge = judge,
    .same = same,
    .unwritten = unwritten,
    .relate = cf_attn_relate,
    .repeats = cf_attn_repeats,
    .rows = cf_attn_rows,
    .cut = cf_attn_cut,
    .alikes = cf_attn_alikes,
    .note = note,
    .explain = explain,
};
