/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs that have the bits of another one: lists, pages and rings those of the gathered copy, rows
 * of bytes those of their numbers.
 */
#include "kinds.h"
#include "meta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a list and its gathered copy ------------------------------------------ */

static void list_case(const struct problem *p, struct cs *c)
{
    const int at = cf_at_source(0);

    *c = p->c;
    c->v[G_NS] = 1;
    c->v[G_SHARE] = c->v[G_SS] = 0;
    c->v[at + S_LAY] = LAY_LISTED;
    c->v[at + S_LH] = HEADS_1;
    c->v[at + S_IDX] = SLOT_RT;
    c->v[at + S_RUN] = 1 + (int64_t)(c->seed % 3);
    c->v[at + S_ROWS] = 4096;
    c->v[at + S_KB] = 0;
    c->v[G_QL] = LAY_DENSE;
    c->v[G_QBEG] = c->v[G_OBEG] = 0;
    c->v[at + S_LEN] = c->v[at + S_MASK] = c->v[at + S_RMASK] = c->v[at + S_CAUSAL] =
        c->v[at + S_NT] = c->v[at + S_NB] = 0;
    c->v[at + S_KS] = c->v[at + S_VS] = LAID_NATURAL;
    cf_case_normalize(c);
}

/* The case with k and v in bytes as f32. */
static struct problem *widened(const struct cs *c)
{
    struct problem *p = cf_problem_make(c, NULL, 0, true);

    if (!p || cf_rows_widen(p))
        return p;
    cf_problem_free(p);
    return NULL;
}

/* Copies what the lists name into a DENSE source, bytes as f32; absent places are masked. */
static struct problem *gathered(const struct problem *list)
{
    const int at = cf_at_source(0);
    struct cs c = list->c;
    struct problem *p;
    const struct array *index = &list->slot[list->source[0].index - 1].a;
    const int64_t n = index->shape[3] * cf_s(&c, 0, S_RUN);
    const int64_t named = index->shape[2] > 0 ? n : 0;  /* without rows there is no list */

    c.v[at + S_LAY] = LAY_DENSE;
    c.v[at + S_NK] = n;
    c.v[at + S_MASK] = HEADS_1;
    c.v[at + S_MSLOT] = SLOT_RT;
    cf_case_normalize(&c);
    p = widened(&c);
    for (int64_t b = 0; p && b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(list, b, &view);
        for (int64_t i = 0; i < named; i++) {
            const int64_t e = cf_list_entry(list, &view, 0, 0, 0, i);
            struct source_data *to = &p->source[0];
            const struct source_data *from = &list->source[0];
            struct array *mask = &p->slot[to->mask - 1].a;

            cf_array_set(mask, cf_array_at(mask, b, 0, 0, i), e >= 0);
            for (int64_t h = 0; e >= 0 && h < to->heads; h++) {
                for (int64_t t = 0; t < p->d; t++)
                    cf_array_set(&to->k, cf_array_at(&to->k, b, h, i, t),
                                 cf_array_bits(&from->k, cf_array_at(&from->k, b, h, e, t)));
                for (int64_t t = 0; t < p->dv; t++)
                    cf_array_set(&to->v, cf_array_at(&to->v, b, h, i, t),
                                 cf_array_bits(&from->v, cf_array_at(&from->v, b, h, e, t)));
            }
        }
    }
    return p;
}

void cf_meta_listed(const struct subject *s, const struct problem *p)
{
    struct subject list_of = *s;
    struct cs c;
    struct problem *list, *wide, *copy = NULL;

    list_case(p, &c);
    list = cf_problem_make(&c, NULL, 0, true);
    wide = widened(&c);
    if (wide)
        copy = gathered(wide);
    list_of.problem = list;
    list_of.got = list && copy ? cf_job_make(s->op->families, list, &s->bench->one, 0, c.seed + 82)
                               : NULL;
    if (!list_of.got)
        cf_fail(s->v, "no memory for a list and its copy");
    else if (cf_run_ok(list_of.got, s->v, "a list"))
        cf_relate(&list_of, copy, "a list against the gathered copy");
    job_drop(list_of.got);
    cf_problem_free(list);
    cf_problem_free(wide);
    cf_problem_free(copy);
}

/* ---- rows that lie apart, and their gathered copies ---------------------------- */

static bool gathers(const struct problem *p, int s)
{
    return cf_layout_of(&p->c, s)->find != NULL;
}

/* One of k and v in the order of the keys; what nobody has is NaN. */
static bool array_gather(const struct problem *p, int s, const struct array *from,
                         struct array *to)
{
    const struct source_data *src = &p->source[s];

    *to = (struct array){ .dtype = from->dtype,
                          .trailing = 3,
                          .batched = true,
                          .shape = { p->n_items, src->heads, src->n_k, from->shape[3] } };
    if (!cf_array_alloc(to))
        return false;
    for (int64_t i = 0; i < cf_array_count(to); i++)
        cf_array_set(to, i, cf_encode(to->dtype, (float)INFINITY - (float)INFINITY));
    for (int64_t b = 0; b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        for (int64_t i = 0; i < view.k_n[s] * src->heads; i++) {
            const int64_t key = i / src->heads, h = i % src->heads;
            int64_t item, row;

            if (!cf_key_there(p, &view, s, key))
                continue;
            row = cf_key_row(p, &view, s, key, &item);
            for (int64_t t = 0; t < from->shape[3]; t++)
                cf_array_set(to, cf_array_at(to, b, h, key, t),
                             cf_array_bits(from, cf_array_at(from, item, h, row, t)));
        }
    }
    return true;
}

/* A byte mask that shows everything, where there is none. */
static bool mask_have(struct problem *to, int s)
{
    struct source_data *src = &to->source[s];
    struct array *a = &to->slot[to->n_slots].a;

    if (src->mask)
        return true;
    if (to->n_slots == MAX_SLOTS)
        return false;
    *a = (struct array){ .dtype = HEED_U8,
                         .trailing = 2,
                         .batched = true,
                         .shape = { to->n_items, 1, 1, src->n_k } };
    if (!cf_array_alloc(a))
        return false;
    memset(a->data, 1, (size_t)cf_array_count(a));
    src->mask = ++to->n_slots;
    return true;
}

/* Keys without a page are masked, an item without a ring has the length 0. */
static void source_cut(const struct problem *p, struct problem *to, int s)
{
    const struct source_data *src = &to->source[s];
    struct array *mask = &to->slot[src->mask - 1].a, *length = &to->slot[src->len - 1].a;

    for (int64_t b = 0; b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        if (view.k_n[s] == 0)
            cf_array_set_int(length, cf_array_at(length, b, 0, 0, 0), 0);
        for (int64_t i = 0; i < src->n_k * mask->shape[2]; i++) {
            if (!cf_key_there(p, &view, s, i / mask->shape[2]))
                cf_array_set(mask,
                             cf_array_at(mask, b, 0, i % mask->shape[2], i / mask->shape[2]), 0);
        }
    }
}

static bool source_gather(const struct problem *p, struct problem *to, int s)
{
    struct source_data *src = &to->source[s];
    struct array k, v;
    bool ok = array_gather(p, s, &p->source[s].k, &k);

    if (!ok)
        return false;
    free(src->k.data);
    src->k = k;
    ok = array_gather(p, s, &p->source[s].v, &v);
    if (!ok)
        return false;
    free(src->v.data);
    src->v = v;
    ok = mask_have(to, s);
    if (ok)
        source_cut(p, to, s);
    to->c.v[cf_at_source(s) + S_LAY] = LAY_DENSE;
    src->index = 0;
    src->total = src->n_k;
    return ok;
}

/* Slots whose entries share memory cannot be cut one by one. */
void cf_meta_cached(const struct subject *s, const struct problem *p)
{
    struct problem *copy, *wide;
    bool any = false, ok = true;

    for (int i = 0; i < p->n_sources; i++)
        any = any || gathers(p, i);
    if (!any || cf_g(&p->c, G_SS) >= LAID_ZERO)
        return;
    copy = widened(&p->c);
    wide = widened(&p->c);
    for (int i = 0; i < p->n_sources && copy && wide && ok; i++)
        ok = !gathers(p, i) || source_gather(wide, copy, i);
    if (!copy || !wide || !ok)
        cf_fail(s->v, "no memory for the gathered copy of a cache");
    else
        cf_relate(s, copy, "a cache against the gathered copy");
    cf_problem_free(copy);
    cf_problem_free(wide);
}

/* ---- bytes ---------------------------------------------------------------- */

void cf_meta_quantised(const struct subject *s, const struct problem *p)
{
    struct problem *wide;
    bool any = false;

    for (int i = 0; i < p->n_sources; i++)
        any = any || type_find(p->source[i].k.dtype)->bytes == 1 ||
              type_find(p->source[i].v.dtype)->bytes == 1;
    if (!any)
        return;
    wide = widened(&p->c);
    cf_relate(s, wide, "rows of bytes against their numbers");
    cf_problem_free(wide);
}
