/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Relations between runs that need no oracle: what removed keys hold changes nothing, nor do keys
 * beyond the length; items may trade places; V times a power of two is o times it; lists, pages and
 * rings have the bits of the gathered copy.
 */
#include "conform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Marks in hit [b][head of k][stored key] what some row consults, and in touched [b][h][row] who
 * consults a victim. */
struct map {
    unsigned char *hit[MAX_SOURCES], *touched;
    int64_t victim[MAX_SOURCES];
};

static int64_t stored(const struct problem *p, int s, const struct item_view *view, int64_t head,
                      int64_t key)
{
    const struct source_data *src = &p->source[s];
    const struct array *k = &src->k;
    int64_t b;
    const int64_t row = cf_key_row(p, view, s, key, &b);

    if (k->shape[0] == 1)
        b = 0;
    return (b * src->heads + head / (p->heads / src->heads)) * src->total + row;
}

static void consult(const struct problem *p, struct map *map, const struct item_view *view,
                    int64_t h, int64_t row, int s, int64_t key)
{
    double bias, size;
    const int64_t at = stored(p, s, view, h, key);

    if (!cf_biases(p, view, h, row, s, key, &bias, &size))
        return;
    map->hit[s][at] = 1;
    if (at == map->victim[s])
        map->touched[(view->b * p->heads + h) * p->n_q + row] = 1;
}

static void row_consults(const struct problem *p, struct map *map, const struct item_view *view,
                         int64_t h, int64_t row)
{
    for (int s = 0; s < p->n_sources; s++) {
        if (cf_s(&p->c, s, S_LAY) == LAY_LISTED) {
            for (int64_t i = 0, e; (e = cf_list_entry(p, view, h, row, s, i)) != -2; i++) {
                if (e >= 0)
                    consult(p, map, view, h, row, s, e);
            }
            continue;
        }
        for (int64_t key = 0; key < view->k_n[s]; key++) {
            if (cf_sees(p, view, h, row, s, key))
                consult(p, map, view, h, row, s, key);
        }
    }
}

static bool map_make(const struct problem *p, struct map *map)
{
    map->touched = calloc((size_t)(p->n_items * p->heads * p->n_q) + 1, 1);
    if (!map->touched)
        return false;
    for (int s = 0; s < p->n_sources; s++) {
        const struct source_data *src = &p->source[s];
        const int64_t n = src->k.shape[0] * src->heads * src->total;

        map->hit[s] = calloc((size_t)n + 1, 1);
        if (!map->hit[s])
            return false;
        map->victim[s] = n ? (int64_t)(cf_mix2(p->c.seed, (uint64_t)s + 31) % (uint64_t)n) : -1;
    }
    for (int64_t b = 0; b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        for (int64_t h = 0; h < p->heads; h++) {
            for (int64_t row = 0; row < view.q_n; row++)
                row_consults(p, map, &view, h, row);
        }
    }
    return true;
}

static void map_finish(struct map *map)
{
    free(map->touched);
    for (int s = 0; s < MAX_SOURCES; s++)
        free(map->hit[s]);
}

static void row_poison(struct array *a, int64_t row, uint64_t hash)
{
    const float inf = (float)INFINITY, values[] = { inf - inf, inf, -inf, 0x1p15f };

    for (int64_t c = 0; c < a->shape[3]; c++) {
        const uint64_t h = cf_mix2(hash, (uint64_t)c);

        cf_array_set(a, row * a->shape[3] + c,
                     a->dtype == HEED_I8 ? (uint32_t)(h & 255) : cf_encode(a->dtype, values[h % 4]));
    }
}

/* Where each row of k or v has a scale of its own. */
static void scale_poison(struct problem *p, const struct array *a, int slot, int64_t row)
{
    struct array *scale = slot ? &p->slot[slot - 1].a : NULL;

    if (scale && scale->shape[0] == a->shape[0] && scale->shape[2] == a->shape[1])
        cf_array_set(scale, row, cf_encode(scale->dtype, (float)INFINITY - (float)INFINITY));
}

/* K and V that no row consults, and one key that only some do, are overwritten. */
static void poisoned(const struct bench *bench, const struct problem *p, const struct call *got,
                     struct verdict *v)
{
    struct problem *dirty = cf_problem_make(&p->c, NULL, 0, true);
    struct call *call = calloc(1, sizeof *call);
    struct map map = { 0 };
    bool ok = dirty && call && map_make(p, &map);

    for (int s = 0; ok && s < p->n_sources; s++) {
        const struct source_data *src = &p->source[s];

        for (int64_t i = 0; i < src->k.shape[0] * src->heads * src->total; i++) {
            if (map.hit[s][i] && i != map.victim[s])
                continue;
            row_poison(&dirty->source[s].k, i, (uint64_t)i);
            row_poison(&dirty->source[s].v, i, (uint64_t)i + 7);
            scale_poison(dirty, &src->k, src->k_scale, i);
            scale_poison(dirty, &src->v, src->v_scale, i);
        }
    }
    if (!ok || !cf_call_make(call, &bench->one, dirty, CALL_NATURAL, p->c.seed + 79)) {
        cf_fail(v, "no memory for poisoned keys");
    } else if (cf_run_ok(call, v, "poisoned keys")) {
        for (int64_t b = 0; b < p->n_items; b++)
            cf_same_item(p, got, b, dirty, call, b, map.touched + b * p->heads * p->n_q,
                         "NaN and Inf in keys the row does not consult", v);
    }
    map_finish(&map);
    if (call)
        cf_call_finish(call);
    free(call);
    cf_problem_free(dirty);
}

/* Runs `other` and compares item by item; order NULL: the same order. A plan that cannot be is no
 * failure here when `may_refuse` is what it answers. */
static void compare_run(const struct bench *bench, const struct problem *p, const struct call *got,
                        const struct problem *other, const int64_t *order, heed_status may_refuse,
                        const char *what, struct verdict *v)
{
    struct call *call = calloc(1, sizeof *call);

    if (!call || !other || !cf_call_make(call, &bench->two, other, 0, p->c.seed + 80)) {
        cf_fail(v, "no memory: %s", what);
    } else if (!may_refuse || heed_attn_check(bench->two.device, &call->desc, NULL) != may_refuse) {
        if (cf_run_ok(call, v, what)) {
            for (int64_t b = 0; b < p->n_items; b++)
                cf_same_item(p, got, order ? order[b] : b, other, call, b, NULL, what, v);
        }
    }
    if (call)
        cf_call_finish(call);
    free(call);
}

/* What elements that share memory hold depends on the extents: these cases are left out. */
static void appended(const struct bench *bench, const struct problem *p, const struct call *got,
                     struct verdict *v)
{
    struct cs c = p->c;
    bool any = false;

    for (int s = 0; s < p->n_sources && cf_g(&c, G_SS) < LAID_ZERO; s++) {
        if (cf_s(&c, s, S_LAY) == LAY_DENSE && cf_s(&c, s, S_LEN) != HAVE_HOSTILE) {
            c.v[cf_at_source(s) + S_PAD] = 70;
            any = true;
        }
    }
    if (any) {
        struct problem *longer = cf_problem_make(&c, NULL, 0, true);

        compare_run(bench, p, got, longer, NULL, HEED_E_AMBIGUOUS,
                    "keys appended beyond the length", v);
        cf_problem_free(longer);
    }
}

static void permuted(const struct bench *bench, const struct problem *p, const struct call *got,
                     struct verdict *v)
{
    int64_t order[MAX_BATCH];
    struct problem *other;

    for (int i = 0; i < p->n_items; i++)
        order[i] = p->n_items - 1 - i;
    other = cf_problem_make(&p->c, order, p->n_items, true);
    compare_run(bench, p, got, other, order, 0, "batch items in another order", v);
    cf_problem_free(other);
}

static void times_eight(struct array *a)
{
    for (int64_t i = 0; i < cf_array_count(a); i++)
        cf_array_set(a, i, cf_encode(a->dtype, 8 * cf_decode(a->dtype, cf_array_bits(a, i))));
}

static void scaled_judge(const struct call *got, const struct call *call, struct verdict *v)
{
    for (int64_t i = 0; i < cf_array_count(&got->out); i++) {
        const float x = cf_decode(got->out.dtype, cf_array_bits(&got->out, i));
        const uint32_t want = cf_encode(got->out.dtype, 8 * x), is = cf_array_bits(&call->out, i);

        if (fabsf(x) > 0x1p-10f && fabsf(x) < 4096 && want != is) {
            cf_fail(v, "V times 8: o[%lld] wanted 0x%x got 0x%x", (long long)i, (unsigned)want,
                    (unsigned)is);
            return;
        }
    }
}

static void scaled(const struct bench *bench, const struct problem *p, const struct call *got,
                   struct verdict *v)
{
    struct problem *other = cf_problem_make(&p->c, NULL, 0, true);
    struct call *call = calloc(1, sizeof *call);

    for (int s = 0; other && s < p->n_sources; s++)
        times_eight(other->source[s].v_scale ? &other->slot[other->source[s].v_scale - 1].a
                                             : &other->source[s].v);
    if (!other || !call || !cf_call_make(call, &bench->one, other, 0, p->c.seed + 81))
        cf_fail(v, "no memory for scaled values");
    else if (!p->q_begin && cf_run_ok(call, v, "V times 8"))
        scaled_judge(got, call, v);
    if (call)
        cf_call_finish(call);
    free(call);
    cf_problem_free(other);
}

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
    c->v[G_QBEG] = 0;
    c->v[at + S_LEN] = c->v[at + S_MASK] = c->v[at + S_CAUSAL] = c->v[at + S_NT] = c->v[at + S_NB] =
        0;
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

static void listed(const struct bench *bench, const struct problem *p, struct verdict *v)
{
    struct cs c;
    struct problem *list, *wide, *copy = NULL;
    struct call *call = calloc(1, sizeof *call);

    list_case(p, &c);
    list = cf_problem_make(&c, NULL, 0, true);
    wide = widened(&c);
    if (wide)
        copy = gathered(wide);
    if (!list || !copy || !call || !cf_call_make(call, &bench->one, list, 0, c.seed + 82)) {
        cf_fail(v, "no memory for a list and its copy");
    } else if (cf_run_ok(call, v, "a list")) {
        compare_run(bench, list, call, copy, NULL, 0, "a list against the gathered copy", v);
    }
    if (call)
        cf_call_finish(call);
    free(call);
    cf_problem_free(list);
    cf_problem_free(wide);
    cf_problem_free(copy);
}

/* ---- pages and rings, and their gathered copies ---------------------------- */

static bool gathers(const struct problem *p, int s)
{
    return cf_s(&p->c, s, S_LAY) == LAY_PAGED || cf_s(&p->c, s, S_LAY) == LAY_RING;
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
static void cached(const struct bench *bench, const struct problem *p, const struct call *got,
                   struct verdict *v)
{
    struct problem *copy, *wide;
    bool any = false, ok = true;

    for (int s = 0; s < p->n_sources; s++)
        any = any || gathers(p, s);
    if (!any || cf_g(&p->c, G_SS) >= LAID_ZERO)
        return;
    copy = widened(&p->c);
    wide = widened(&p->c);
    for (int s = 0; s < p->n_sources && copy && wide && ok; s++)
        ok = !gathers(p, s) || source_gather(wide, copy, s);
    if (!copy || !wide || !ok)
        cf_fail(v, "no memory for the gathered copy of a cache");
    else
        compare_run(bench, p, got, copy, NULL, 0, "a cache against the gathered copy", v);
    cf_problem_free(copy);
    cf_problem_free(wide);
}

/* Bytes and scales against the f32 that they stand for. */
static void quantised(const struct bench *bench, const struct problem *p, const struct call *got,
                      struct verdict *v)
{
    struct problem *wide;
    bool any = false;

    for (int s = 0; s < p->n_sources; s++)
        any = any || p->source[s].k_scale || p->source[s].v_scale;
    if (!any)
        return;
    wide = widened(&p->c);
    compare_run(bench, p, got, wide, NULL, 0, "rows of i8 against their products", v);
    cf_problem_free(wide);
}

void cf_family_meta(const struct bench *bench, const struct problem *p, const struct call *got,
                    struct verdict *v)
{
    const int64_t fill = cf_g(&p->c, G_FILL);

    if (p->n_items == 0)
        return;
    poisoned(bench, p, got, v);
    cached(bench, p, got, v);
    quantised(bench, p, got, v);
    switch (p->c.seed % 4) {
    case 0:
        appended(bench, p, got, v);
        break;
    case 1:
        permuted(bench, p, got, v);
        break;
    case 2:
        if (fill == FILL_NORMAL || fill == FILL_TIES)
            scaled(bench, p, got, v);
        break;
    default:
        if (p->n_sources > 0)
            listed(bench, p, v);
        break;
    }
}
