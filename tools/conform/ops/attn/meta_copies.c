/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs that have the bits of another one: lists, pages and rings those of the gathered copy, rows
 * of bytes those of their numbers.
 */
#include "kinds.h"
#include "meta.h"

#include "conform/engine/session.h"

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

/* The row of element `from` becomes that of element `to` of an array of the same type. */
static void row_copy(struct array *to, int64_t to_at, const struct array *from, int64_t from_at)
{
    if (from->shape[3] > 0)
        memcpy(cf_array_piece(to, to_at), cf_array_piece(from, from_at),
               (size_t)cf_array_along(from) * cf_dtype_size(from->dtype));
}

static void scale_copy(struct problem *to, int to_slot, int64_t b, int64_t i,
                       const struct problem *from, int from_slot, int64_t item, int64_t row)
{
    struct array *const x = &to->slot[to_slot - 1].a;
    const struct array *const y = &from->slot[from_slot - 1].a;

    for (int64_t h = 0; h < cf_scale_heads(x); h++) {
        for (int64_t e = 0; e < cf_scale_entries(x); e++)
            cf_array_set(x, cf_scale_at(x, b, h, i, e),
                         cf_array_bits(y, cf_scale_at(y, item, h, row, e)));
    }
}

/* Key e of the list's item becomes key i of the copy's. */
static void key_copy(const struct problem *list, struct problem *p, int64_t b, int64_t i, int64_t e)
{
    struct source_data *to = &p->source[0];
    const struct source_data *from = &list->source[0];

    for (int64_t h = 0; h < to->heads; h++) {
        row_copy(&to->k, cf_array_at(&to->k, b, h, i, 0), &from->k,
                 cf_array_at(&from->k, b, h, e, 0));
        row_copy(&to->v, cf_array_at(&to->v, b, h, i, 0), &from->v,
                 cf_array_at(&from->v, b, h, e, 0));
    }
    if (to->k_scale)
        scale_copy(p, to->k_scale, b, i, list, from->k_scale, b, e);
    if (to->v_scale)
        scale_copy(p, to->v_scale, b, i, list, from->v_scale, b, e);
}

/* Copies what the lists name into a DENSE source; absent places are masked. */
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
    p = cf_problem_make(&c, NULL, 0, true);
    for (int64_t b = 0; p && b < p->n_items; b++) {
        struct array *mask = &p->slot[p->source[0].mask - 1].a;
        struct item_view view;

        cf_item_view(list, b, &view);
        for (int64_t i = 0; i < named; i++) {
            const int64_t e = cf_list_entry(list, &view, 0, 0, 0, i);

            cf_array_set(mask, cf_array_at(mask, b, 0, 0, i), e >= 0);
            if (e >= 0)
                key_copy(list, p, b, i, e);
        }
    }
    return p;
}

void cf_meta_listed(const struct subject *s, const struct problem *p)
{
    struct subject list_of = *s;
    struct cs c;
    struct problem *list, *copy = NULL;

    list_case(p, &c);
    list = cf_problem_make(&c, NULL, 0, true);
    if (list)
        copy = gathered(list);
    list_of.problem = list;
    list_of.got = list && copy ? cf_job_make(s->op->families, list, &s->bench->one, 0, c.seed + 82)
                               : NULL;
    if (!list_of.got)
        cf_fail(s->v, "no memory for a list and its copy");
    else if (cf_run_ok(list_of.got, s->v, "a list"))
        cf_relate(&list_of, copy, "a list against the gathered copy");
    job_drop(list_of.got);
    cf_problem_free(list);
    cf_problem_free(copy);
}

/* ---- rows that lie apart, and their gathered copies ---------------------------- */

static bool gathers(const struct problem *p, int s)
{
    const struct cf_layout *const layout = cf_layout_of(&p->c, s);
    const int len = p->source[s].len;

    /* Of packed rows there may be fewer than the length says: each item has its own. */
    return layout->find ||
           (layout->packed && len && p->slot[len - 1].a.shape[0] == p->n_items);
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
    memset(to->data, 0xff, cf_array_bytes(to)); /* of floats and of scales NaN */
    for (int64_t b = 0; b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        for (int64_t i = 0; i < view.k_n[s] * src->heads; i++) {
            const int64_t key = i / src->heads, h = i % src->heads;
            int64_t item, row;

            if (!cf_key_there(p, &view, s, key))
                continue;
            row = cf_key_row(p, &view, s, key, &item);
            row_copy(to, cf_array_at(to, b, h, key, 0), from, cf_array_at(from, item, h, row, 0));
        }
    }
    return true;
}

/* Scales of k or v in the order of the keys; slot 0: there are none. */
static bool scales_gather(const struct problem *p, int s, int from, struct problem *to, int slot)
{
    struct array *const a = slot ? &to->slot[slot - 1].a : NULL;

    if (!slot)
        return true;
    free(a->data);
    *a = a->trailing == 3
             ? (struct array){ .dtype = a->dtype,
                               .trailing = 3,
                               .batched = true,
                               .shape = { p->n_items, a->shape[1], p->source[s].n_k, a->shape[3] } }
             : (struct array){ .dtype = a->dtype,
                               .trailing = 2,
                               .batched = true,
                               .shape = { p->n_items, 1, a->shape[2], p->source[s].n_k } };
    if (!cf_array_alloc(a))
        return false;
    memset(a->data, 0xff, cf_array_bytes(a));
    for (int64_t b = 0; b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        for (int64_t key = 0; key < view.k_n[s]; key++) {
            int64_t item, row;

            if (!cf_key_there(p, &view, s, key))
                continue;
            row = cf_key_row(p, &view, s, key, &item);
            scale_copy(to, slot, b, key, p, from, item, row);
        }
    }
    return true;
}

/* Is there a key within the length of an item that has no page? */
static bool any_absent(const struct problem *p, int s)
{
    for (int64_t b = 0; b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        for (int64_t key = 0; key < view.k_n[s]; key++) {
            if (!cf_key_there(p, &view, s, key))
                return true;
        }
    }
    return false;
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

/* Keys without a page are masked, an item without a ring has the length 0, a sequence of packed
 * rows the length that it has room for. */
static void source_cut(const struct problem *p, struct problem *to, int s)
{
    const struct source_data *src = &to->source[s];
    struct array *const mask = src->mask ? &to->slot[src->mask - 1].a : NULL;
    struct array *const length = &to->slot[src->len - 1].a;

    for (int64_t b = 0; b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        if (view.k_n[s] == 0 || cf_layout_of(&p->c, s)->packed)
            cf_array_set_int(length, cf_array_at(length, b, 0, 0, 0), view.k_n[s]);
        for (int64_t i = 0; mask && i < src->n_k * mask->shape[2]; i++) {
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
    ok = scales_gather(p, s, p->source[s].k_scale, to, src->k_scale) &&
         scales_gather(p, s, p->source[s].v_scale, to, src->v_scale) &&
         (!any_absent(p, s) || mask_have(to, s));
    if (ok)
        source_cut(p, to, s);
    to->c.v[cf_at_source(s) + S_LAY] = LAY_DENSE;
    src->index = 0;
    src->total = src->n_k;
    return ok;
}

/* Slots whose entries share memory cannot be cut one by one. */
static bool any_gathers(const struct problem *p)
{
    bool any = false;

    for (int i = 0; i < p->n_sources; i++)
        any = any || gathers(p, i);
    return any && cf_g(&p->c, G_SS) < LAID_ZERO;
}

struct problem *cf_cache_gathered(const struct problem *p)
{
    struct problem *const copy = any_gathers(p) ? cf_problem_make(&p->c, NULL, 0, true) : NULL;
    bool ok = copy;

    for (int i = 0; i < p->n_sources && ok; i++)
        ok = !gathers(p, i) || source_gather(p, copy, i);
    if (ok)
        return copy;
    cf_problem_free(copy);
    return NULL;
}

void cf_meta_cached(const struct subject *s, const struct problem *p)
{
    struct problem *const copy = cf_cache_gathered(p);

    if (copy)
        cf_relate(s, copy, "a cache against the gathered copy");
    else if (any_gathers(p))
        cf_fail(s->v, "no memory for the gathered copy of a cache");
    cf_problem_free(copy);
}

/* ---- bytes and blocks ----------------------------------------------------- */

/* Scales of rows join their numbers after the sum: no other type has the bits of that. */
static bool widens(const struct array *a, int scale)
{
    return !scale && (type_find(a->dtype)->bytes == 1 || type_elements(a->dtype) > 1);
}

void cf_meta_quantised(const struct subject *s, const struct problem *p)
{
    struct problem *wide;
    bool any = false;

    for (int i = 0; i < p->n_sources; i++)
        any = any || widens(&p->source[i].k, p->source[i].k_scale) ||
              widens(&p->source[i].v, p->source[i].v_scale);
    if (!any)
        return;
    wide = cf_problem_make(&p->c, NULL, 0, true);
    if (wide && cf_rows_widen(wide))
        cf_relate(s, wide, "rows against those of a wider type");
    else
        cf_fail(s->v, "no memory for rows of a wider type");
    cf_problem_free(wide);
}

/* ---- items that share keys ------------------------------------------------------- */

/* Of all items the same, where slots are not. */
static void slots_leave(struct cs *c, int s)
{
    const int at = cf_at_source(s);

    c->v[at + S_LEN] = c->v[at + S_MASK] = c->v[at + S_RMASK] = c->v[at + S_NB] = 0;
    for (int t = 0; t < cf_s(c, s, S_NT); t++) {
        if (cf_t(c, s, t, T_KIND) != HEED_TERM_WINDOW)
            c->v[cf_at_term(s, t) + T_KIND] = HEED_TERM_ALL;
    }
}

/* A case like this one of few rows, whose items read the same keys of the first source. */
static void shared_case(const struct problem *p, struct cs *c)
{
    enum { BATCH_3 = 2, BATCH_2X2 = 5 };
    static const int64_t lengths[] = { 130, 257, 1030, 2100 };

    *c = p->c;
    c->v[G_BATCH] = c->seed & 8 ? BATCH_3 : BATCH_2X2;
    c->v[G_NQ] = 1 + (int64_t)(c->seed / 16 % 4);
    c->v[G_QL] = LAY_DENSE;
    for (int s = 0; s < cf_g(c, G_NS); s++) {
        const int at = cf_at_source(s);

        c->v[at + S_LAY] = LAY_DENSE;
        c->v[at + S_KB] = s == 0;
        c->v[at + S_NK] = s == 0 ? lengths[c->seed / 64 % 4] : cf_s(c, s, S_NK) % 200;
    }
    if (cf_g(c, G_SHARE) == 0)
        slots_leave(c, 0);
    cf_case_normalize(c);
}

void cf_meta_shared(const struct subject *s, const struct problem *p)
{
    struct subject wanted = *s;
    struct problem *shared;
    struct cs c;

    shared_case(p, &c);
    shared = cf_problem_make(&c, NULL, 0, true);
    wanted.problem = shared;
    wanted.got = shared ? cf_job_make(s->op->families, shared, &s->session->reference, 0,
                                      c.seed + 85)
                        : NULL;
    if (!wanted.got)
        cf_fail(s->v, "no memory for items that share keys");
    else if (wanted.got->check(s->session->reference.device, wanted.got->desc, NULL) >= 0 &&
             cf_run_ok(wanted.got, s->v, "items that share keys"))
        cf_compare(&wanted, s->seed & 32 ? &s->bench->two : &s->bench->one, shared, 0,
                   &(struct relation){ .what = "items that share keys" });
    job_drop(wanted.got);
    cf_problem_free(shared);
}
