/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Relations between runs that need no oracle: what removed keys hold changes nothing, nor do keys
 * beyond the length; items may trade places; V times a power of two is o times it. meta_copies.c
 * has what has the bits of a copy.
 */
#include "meta.h"

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
                     a->dtype == HEED_I8 ? (uint32_t)(h & 255)
                                         : cf_encode(a->dtype, values[h % 4]));
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

void cf_compare_run(const struct bench *bench, const struct problem *p, const struct call *got,
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

        cf_compare_run(bench, p, got, longer, NULL, HEED_E_AMBIGUOUS,
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
    cf_compare_run(bench, p, got, other, order, 0, "batch items in another order", v);
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

void cf_family_meta(const struct bench *bench, const struct problem *p, const struct call *got,
                    struct verdict *v)
{
    const int64_t fill = cf_g(&p->c, G_FILL);

    if (p->n_items == 0)
        return;
    poisoned(bench, p, got, v);
    cf_meta_cached(bench, p, got, v);
    cf_meta_quantised(bench, p, got, v);
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
            cf_meta_listed(bench, p, v);
        break;
    }
}
