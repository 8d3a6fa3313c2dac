/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Calls that continue: one up to a state, on one device, and one from there on, on another, have
 * the bits of a single call. The cut is between two sources, or within one where a chunk ends. The
 * states of both devices are equal, too.
 */
#include "kinds.h"
#include "meta.h"

#include "conform/engine/session.h"


enum { CHUNK = 1024, BEYOND = 1 << 20 };

/* ---- two calls ----------------------------------------------------------------- */

static struct job *stop(const struct subject *s, const struct problem *first,
                        const struct target *on)
{
    struct job *const job = cf_job_make(s->op->families, first, on, 0, s->seed + 83);

    if (!job)
        cf_fail(s->v, "no memory for states");
    else if (cf_run_ok(job, s->v, "up to a state"))
        return job;
    job_drop(job);
    return NULL;
}

/* Both devices stop at the same words; then one of them has left what the other begins from. */
static void go_on(const struct subject *s, const struct problem *first, struct problem *second,
                  const char *what)
{
    const bool here = s->seed & 4;
    struct job *const wanted = stop(s, first, &s->session->reference);
    struct job *const got = wanted ? stop(s, first, &s->bench->one) : NULL;
    struct subject states = *s;

    states.problem = first;
    states.got = wanted;
    if (got)
        s->op->families->same(&states, first, got, &(struct relation){ .what = "states" });
    if (got && !s->v->failed) {
        second->part.begins = cf_call_of(here ? got : wanted)->out;
        second->part.begins.laid = (int)(s->seed / 8 % 4);
        cf_compare(s, here ? &s->bench->two : &s->bench->one, second, 0,
                   &(struct relation){ .what = what });
    }
    job_drop(got);
    job_drop(wanted);
}

/* ---- between sources ------------------------------------------------------------- */

/* How many sources the first call has. ALIGN_END counts positions from the last source of a call,
 * so one of the calls has all of them. */
static int sources_first(const struct problem *p, uint64_t hash)
{
    const int n = p->n_sources;

    if (cf_g(&p->c, G_ALIGN) == ALIGN_END)
        return hash % 2 ? n : 0;
    return (int)(hash % (uint64_t)(n + 1));
}

void cf_meta_continued(const struct subject *s, const struct problem *p)
{
    struct problem *const first = cf_problem_make(&p->c, NULL, 0, true);
    struct problem *const second = cf_problem_make(&p->c, NULL, 0, true);
    const int n = sources_first(p, cf_mix2(s->seed, 41));

    if (!first || !second) {
        cf_fail(s->v, "no memory for calls that continue");
    } else {
        first->part = (struct stretch){ .end = n, .stops = true };
        second->part = (struct stretch){ .first = n, .end = p->n_sources };
        go_on(s, first, second, "from a state between sources");
    }
    cf_problem_free(first);
    cf_problem_free(second);
}

/* ---- within a source --------------------------------------------------------------- */

static bool keep_slot(struct problem *p, int slot, int axis, int64_t from, int64_t n)
{
    return !slot || cf_array_keep(&p->slot[slot - 1].a, axis, from, n);
}

/* Of scales: those of groups have an axis behind that of rows. */
static int rows_axis(const struct problem *p, int slot)
{
    return slot && p->slot[slot - 1].a.trailing == 3 ? 2 : 3;
}

void cf_lengths_keep(struct problem *p, int slot, int64_t from, int64_t n)
{
    struct array *const a = slot ? &p->slot[slot - 1].a : NULL;

    for (int64_t i = 0; a && i < cf_array_count(a); i++) {
        const int64_t len = cf_array_int(a, i), rest = len > from ? len - from : 0;

        cf_array_set_int(a, i, rest < n ? rest : n);
    }
}

/* Keys [from, from + n) of source 0 are all that it has. */
static bool keys_keep(struct problem *p, int64_t from, int64_t n)
{
    struct source_data *const src = &p->source[0];
    const bool pages = cf_layout_of(&p->c, 0)->pages;
    const int64_t words = cf_s(&p->c, 0, S_RMASK) >= ROWS_BITS_1 ? 32 : 1;
    bool ok = keep_slot(p, src->mask, 3, from, n) &&
              keep_slot(p, src->row_mask, 3, from / words, (n + words - 1) / words);

    if (pages)
        ok = ok && keep_slot(p, src->index, 3, from / src->total,
                             (n + src->total - 1) / src->total);
    else
        ok = ok && cf_array_keep(&src->k, 2, from, n) && cf_array_keep(&src->v, 2, from, n) &&
             keep_slot(p, src->k_scale, rows_axis(p, src->k_scale), from, n) &&
             keep_slot(p, src->v_scale, rows_axis(p, src->v_scale), from, n);
    for (int b = 0; b < cf_s(&p->c, 0, S_NB) && ok; b++) {
        const struct cf_bias_kind *const kind = &cf_bias_kinds[cf_b(&p->c, 0, b, B_KIND)];

        ok = keep_slot(p, src->bias[b].k_coord, 3, from, n);
        for (int i = 0; i < 3 && ok; i++) {
            if (kind->extent[i] == EXTENT_KEYS)
                ok = keep_slot(p, src->bias[b].t, 4 - kind->axes + i, from, n);
        }
    }
    cf_lengths_keep(p, src->len, from, n);
    p->c.v[cf_at_source(0) + S_POS0] += from * cf_s(&p->c, 0, S_PSTEP);
    return ok;
}

/* A case like this one whose first source, the only one, has more than a chunk of keys in one
 * sub-source. */
static void long_case(const struct problem *p, struct cs *c)
{
    const int at = cf_at_source(0);

    *c = p->c;
    c->v[G_NS] = 1;
    c->v[G_BATCH] = c->v[G_H] = 1;
    c->v[G_NQ] = 1 + (int64_t)(c->seed % 5);
    c->v[G_ALIGN] = ALIGN_START;
    c->v[G_QL] = LAY_DENSE;
    c->v[G_SHARE] = 0;
    c->v[at + S_NK] = c->seed % 16 < 8 ? 1030 : 2100;
    c->v[at + S_HK] = c->v[at + S_END] = 0;
    if (c->v[at + S_LAY] != LAY_PAGED)
        c->v[at + S_LAY] = LAY_DENSE;
    c->v[at + S_PAGE] = 16;
    for (int t = 0; t < cf_s(c, 0, S_NT); t++) {
        const int term = cf_at_term(0, t);

        if (c->v[term + T_KIND] != HEED_TERM_WINDOW)
            c->v[term + T_KIND] = HEED_TERM_ALL;
        c->v[term + T_STEP] = 1;
    }
    cf_case_normalize(c);
}

void cf_meta_cut(const struct subject *s, const struct problem *p)
{
    struct subject whole = *s;
    struct problem *first, *second;
    struct cs c;
    int64_t cut;

    long_case(p, &c);
    whole.problem = cf_problem_make(&c, NULL, 0, true);
    first = cf_problem_make(&c, NULL, 0, true);
    second = cf_problem_make(&c, NULL, 0, true);
    whole.got = whole.problem && first && second
                    ? cf_job_make(s->op->families, whole.problem, &s->bench->one, 0, c.seed + 84)
                    : NULL;
    cut = c.seed % 16 < 12 ? CHUNK : 2 * CHUNK;
    if (!whole.got)
        cf_fail(s->v, "no memory for a source that is cut");
    else if (!keys_keep(first, 0, cut) || !keys_keep(second, cut, BEYOND))
        cf_fail(s->v, "no memory for the parts of a source");
    else if (cf_run_ok(whole.got, s->v, "a source that is cut")) {
        first->part.stops = true;
        go_on(&whole, first, second, "from a state within a source");
    }
    job_drop(whole.got);
    cf_problem_free(first);
    cf_problem_free(second);
    cf_problem_free((struct problem *)(uintptr_t)whole.problem);
}
