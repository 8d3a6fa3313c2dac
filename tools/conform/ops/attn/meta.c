/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Relations between runs that need no oracle: what removed keys hold changes nothing, nor do keys
 * beyond the length; V times a power of two is o times it. meta_copies.c has what has the bits of a
 * copy.
 */
#include "kinds.h"
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
        if (cf_layout_of(&p->c, s)->lists) {
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

    if (type_elements(a->dtype) > 1) {
        cf_blocks_poison(a, row * a->shape[3], hash);
        return;
    }
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

    if (!scale || scale->shape[0] != a->shape[0] || cf_scale_heads(scale) != a->shape[1])
        return;
    for (int64_t e = 0; e < cf_scale_entries(scale); e++)
        cf_array_set(scale, row * cf_scale_entries(scale) + e,
                     cf_encode(scale->dtype, (float)INFINITY - (float)INFINITY));
}

/* K and V that no row consults, and one key that only some do, are overwritten. */
static void poisoned(const struct subject *s, const struct problem *p)
{
    struct problem *dirty = cf_problem_make(&p->c, NULL, 0, true);
    struct map map = { 0 };
    struct relation r = { .what = "NaN and Inf in keys the row does not consult" };
    const bool ok = dirty && map_make(p, &map);

    for (int i_s = 0; ok && i_s < p->n_sources; i_s++) {
        const struct source_data *src = &p->source[i_s];

        for (int64_t i = 0; i < src->k.shape[0] * src->heads * src->total; i++) {
            if (map.hit[i_s][i] && i != map.victim[i_s])
                continue;
            row_poison(&dirty->source[i_s].k, i, (uint64_t)i);
            row_poison(&dirty->source[i_s].v, i, (uint64_t)i + 7);
            scale_poison(dirty, &src->k, src->k_scale, i);
            scale_poison(dirty, &src->v, src->v_scale, i);
        }
    }
    r.skip = map.touched;
    if (ok)
        cf_compare(s, &s->bench->one, dirty, CALL_NATURAL, &r);
    else
        cf_fail(s->v, "no memory for poisoned keys");
    map_finish(&map);
    cf_problem_free(dirty);
}

void cf_relate(const struct subject *s, struct problem *other, const char *what)
{
    cf_compare(s, &s->bench->two, other, 0, &(struct relation){ .what = what });
}

/* What elements that share memory hold depends on the extents: these cases are left out. */
bool cf_cache_longer(struct cs *c)
{
    bool any = false;

    for (int i = 0; i < cf_g(c, G_NS) && cf_g(c, G_SS) < LAID_ZERO; i++) {
        if (cf_layout_of(c, i)->fields & 1u << S_PAD && cf_s(c, i, S_LEN) != HAVE_HOSTILE) {
            c->v[cf_at_source(i) + S_PAD] = 70;
            any = true;
        }
    }
    return any;
}

static void appended(const struct subject *s, const struct problem *p)
{
    const struct relation r = { .what = "keys appended beyond the length",
                                .may_refuse = HEED_E_AMBIGUOUS };
    struct cs c = p->c;

    if (cf_cache_longer(&c)) {
        struct problem *longer = cf_problem_make(&c, NULL, 0, true);

        cf_compare(s, &s->bench->two, longer, 0, &r);
        cf_problem_free(longer);
    }
}

static void times_eight(struct array *a)
{
    if (type_elements(a->dtype) > 1) {
        cf_blocks_multiply(a, 8);
        return;
    }
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

static void scaled(const struct subject *s, const struct problem *p)
{
    struct problem *other = cf_problem_make(&p->c, NULL, 0, true);
    struct job *job = NULL;

    for (int i = 0; other && i < p->n_sources; i++)
        times_eight(other->source[i].v_scale ? &other->slot[other->source[i].v_scale - 1].a
                                             : &other->source[i].v);
    if (other)
        job = cf_job_make(s->op->families, other, &s->bench->one, 0, s->seed + 81);
    if (!job)
        cf_fail(s->v, "no memory for scaled values");
    else if (!p->q_begin && cf_run_ok(job, s->v, "V times 8"))
        scaled_judge(cf_call_of(s->got), cf_call_of(job), s->v);
    job_drop(job);
    cf_problem_free(other);
}

void cf_attn_relate(const struct subject *s)
{
    const struct problem *const p = s->problem;
    const int64_t fill = cf_g(&p->c, G_FILL);

    poisoned(s, p);
    cf_meta_cached(s, p);
    cf_meta_quantised(s, p);
    cf_meta_continued(s, p);
    if (s->seed % 8 == 4 && p->n_sources > 0)
        cf_meta_shared(s, p);
    else if (s->seed % 4 == 0)
        appended(s, p);
    else if (s->seed % 4 == 2 && (fill == FILL_NORMAL || fill == FILL_TIES))
        scaled(s, p);
    else if (s->seed % 4 == 3 && p->n_sources > 0)
        cf_meta_listed(s, p);
    else if (s->seed % 4 == 1 && p->n_sources > 0)
        cf_meta_cut(s, p);
}
