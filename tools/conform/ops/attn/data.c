/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a case to the contents of its tensors. A value depends on the seed, the tensor and the index
 * alone, never on extents, so the same item, alone or with keys appended, has the same data.
 */
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

void cf_batch_axes(const struct cs *c, int *axes, int64_t extent[3])
{
    static const int64_t table[][4] = { { 1, 2 }, { 1, 1 },    { 1, 3 },   { 1, 0 },
                                        { 0 },    { 2, 2, 2 }, { 2, 1, 3 } };
    const int64_t *row = table[cf_g(c, G_BATCH)];

    *axes = (int)row[0];
    for (int i = 0; i < 3; i++)
        extent[i] = i < *axes ? row[1 + i] : 1;
}

int64_t cf_batch_count(const struct cs *c)
{
    int axes;
    int64_t extent[3];

    cf_batch_axes(c, &axes, extent);
    return extent[0] * extent[1] * extent[2];
}

int64_t cf_case_work(const struct cs *c)
{
    const int64_t rows = cf_batch_count(c) * cf_g(c, G_H) * (cf_g(c, G_NQ) + 1);
    int64_t keys = 1, products = 1;

    for (int s = 0; s < cf_g(c, G_NS); s++) {
        for (int b = 0; b < cf_s(c, s, S_NB); b++)
            products += cf_bias_kinds[cf_b(c, s, b, B_KIND)].join ? 2 : 0;
        keys += cf_s(c, s, S_NK) + cf_s(c, s, S_PAD) +
                (cf_layout_of(c, s)->lists ? 80 * cf_s(c, s, S_RUN) : 0);
    }
    return cf_times(rows * keys,
                    products * cf_g(c, G_D) + cf_g(c, G_DV) + 8 + 4 * cf_g(c, G_NS));
}

/* ---- values ------------------------------------------------------------- */

enum { ROLE_Q = 1, ROLE_K, ROLE_V = 8 };

static const float infinity = (float)(1e300 * 1e300);

static uint32_t special_bits(uint32_t dtype, uint64_t hash)
{
    switch (hash % 5) {
    case 0:
        return cf_encode(dtype, infinity - infinity);
    case 1:
        return cf_encode(dtype, infinity);
    default:
        return cf_encode(dtype, -infinity);
    }
}

/* q and k of a fill that steers the logits through channel 0. */
static bool steered(const struct cs *c, uint32_t dtype, bool key, uint64_t row, int64_t j,
                    int64_t channel, uint32_t *out)
{
    const int64_t fill = cf_g(c, G_FILL);
    const uint64_t pick = cf_mix(row);
    const float sign = cf_g(c, G_SCALE) == SCALE_NEGATIVE ? -1 : 1;
    float x = 0;

    switch (fill) {
    case FILL_SPECIAL:
        if (channel || pick % (key ? 40 : 16))
            return false;
        *out = key ? special_bits(dtype, pick >> 8)
                   : cf_encode(dtype, pick & 256 ? infinity : infinity - infinity);
        return true;
    case FILL_EXACT:
        if (!key && channel)
            return false;
        if (!key)
            x = 64;
        else if (!channel && cf_g(c, G_CAP) == 0 && pick % 3 == 0)
            x = -64 * sign;
        break;
    case FILL_RISE:
        if (channel && key)
            return false;
        x = channel ? 0 : key ? (float)j * 0.25f : 2;
        break;
    case FILL_EDGE:
        if (channel && key)
            return false;
        x = channel ? 0 : key ? (float)((int64_t)(pick % 2048) - 1792) * 0.125f : 4;
        break;
    default:
        return false;
    }
    *out = cf_encode(dtype, x);
    return true;
}

/* Element of q, k or v; row: hash of all indices but the channel. */
static uint32_t value_at(const struct cs *c, uint32_t dtype, int role, uint64_t row, int64_t j,
                         int64_t channel)
{
    const int64_t fill = cf_g(c, G_FILL);
    const uint64_t h = cf_mix(row + (uint64_t)channel * UINT64_C(0x2545f4914f6cdd1d));
    const bool half = dtype == HEED_F16;
    uint32_t bits;

    if (dtype == HEED_I8)
        return cf_byte_at(c, role == ROLE_K, h, cf_mix(row), channel);
    if (role < ROLE_V && steered(c, dtype, role == ROLE_K, row, j, channel, &bits))
        return bits;
    switch (fill) {
    case FILL_TIES:
        return cf_encode(dtype, (float)((int)(h >> 33 & 3) - 1));
    case FILL_HUGE:
        return cf_small(dtype, h, role >= ROLE_V ? 0x1p10f : 0x1p6f);
    case FILL_OVER:
        return cf_small(dtype, h, half ? 0x1p8f : role >= ROLE_V ? 0x1p100f : 0x1p61f);
    case FILL_SUBNORMAL:
        return role == ROLE_Q ? cf_small(dtype, h, 1) : cf_subnormal(dtype, h);
    case FILL_SPECIAL:          /* with scores that are -Inf, too */
    case FILL_EDGE:             /* infinite where a weight of 0 and the least one differ most */
    case FILL_SPECIALV:
        if (role >= ROLE_V && h % 200 == 0)
            return special_bits(dtype, h >> 8);
        return cf_small(dtype, h, 1);
    case FILL_EXACT:
        return cf_encode(dtype, (float)((int)(h >> 33 & 15) - 8));
    default:
        return cf_small(dtype, h, 1);
    }
}

/* items NULL: the array is shared by all items. */
static void tensor_fill(const struct cs *c, struct array *a, int role, int s, const int64_t *items)
{
    const uint64_t base = cf_mix2(c->seed, (uint64_t)(role * 16 + s));
    const bool zb = a->zero & 1, zx = a->zero & 2, zy = a->zero & 4, zz = a->zero & 8;
    int64_t at = 0;

    for (int64_t b = 0; b < a->shape[0]; b++) {
        const int64_t item = items ? items[b] : b;
        const uint64_t hb = cf_mix2(base, zb ? 0 : (uint64_t)item);

        for (int64_t x = 0; x < a->shape[1]; x++) {
            const uint64_t hx = cf_mix2(hb, zx ? 0 : (uint64_t)x);

            for (int64_t y = 0; y < a->shape[2]; y++) {
                const uint64_t hy = cf_mix2(hx, zy ? 0 : (uint64_t)y);

                if (type_elements(a->dtype) > 1) {
                    cf_blocks_fill(c, a, at, role < ROLE_V, hy, zy ? 0 : y);
                    at += a->shape[3];
                    continue;
                }
                for (int64_t z = 0; z < a->shape[3]; z++)
                    cf_array_set(a, at++, value_at(c, a->dtype, role, hy, zy ? 0 : y, zz ? 0 : z));
            }
        }
    }
}

/* ---- extents ------------------------------------------------------------- */

/* Which axes of an input laid out with stride 0 repeat: one or two of four. */
static int zero_axes(const struct cs *c, int laid, int number)
{
    static const int choices[] = { 1, 2, 4, 8, 3, 6, 5 };

    return laid == LAID_ZERO ? choices[cf_mix2(c->seed, (uint64_t)number + 77) % 7] : 0;
}

static struct array tensor4(uint32_t dtype, int64_t b, int64_t h, int64_t n, int64_t d, int laid,
                            int zero)
{
    return (struct array){ .dtype = dtype,
                           .trailing = 3,
                           .batched = true,
                           .shape = { b, h, n, d },
                           .zero = type_elements(dtype) > 1 ? zero & 7 : zero,
                           .laid = laid };
}

/* Packed room for the sequences of a packed tensor: queries must not overlap, keys may. */
static int64_t packed_total(const struct cs *c, int64_t n, bool query)
{
    return query ? cf_batch_count(c) * (n + 2) + 2 : cf_batch_count(c) * (n + 3) / 2 + n / 2 + 3;
}

/* Pages in memory: none, fewer than the items name, so that they share some, or more. */
static int64_t pages_count(const struct cs *c, int s, int64_t pages)
{
    const uint64_t h = cf_mix2(c->seed, (uint64_t)s + 606);

    return h % 16 == 0 ? 0 : 1 + (int64_t)((h >> 8) % (uint64_t)(cf_batch_count(c) * pages + 2));
}

static void source_extents(struct problem *p, int s)
{
    struct source_data *src = &p->source[s];
    const struct cs *c = &p->c;
    const bool packed = cf_layout_of(c, s)->packed, paged = cf_layout_of(c, s)->pages;
    const int64_t hk = cf_s(c, s, S_HK), nk = cf_s(c, s, S_NK), page = cf_s(c, s, S_PAGE);
    const int64_t pages = (nk + page - 1) / page;
    const bool one = packed || cf_s(c, s, S_KB) == 1;
    const int64_t b = paged ? pages_count(c, s, pages) : one ? 1 : p->n_items;

    src->heads = hk == 1 ? 1 : hk == 2 && p->heads % 2 == 0 ? p->heads / 2 : p->heads;
    src->ext = paged ? pages * page : nk + cf_s(c, s, S_PAD);
    src->total = packed ? packed_total(c, nk, false) : paged ? page : src->ext;
    src->n_k = packed ? src->total : src->ext;
    src->k = tensor4(type_nth(TYPE_KEYS, cf_s(c, s, S_K)), b, src->heads, src->total, p->d,
                     (int)cf_s(c, s, S_KS), zero_axes(c, (int)cf_s(c, s, S_KS), 2 * s + 1));
    src->v = tensor4(type_nth(TYPE_KEYS, cf_s(c, s, S_V)), b, src->heads, src->total, p->dv,
                     (int)cf_s(c, s, S_VS), zero_axes(c, (int)cf_s(c, s, S_VS), 2 * s + 2));
    src->k.pages = src->v.pages = paged;
}

static void globals_set(struct problem *p, const struct cs *c)
{
    const bool packed = cf_queries_packed(c);

    p->heads = cf_g(c, G_H);
    p->d = cf_g(c, G_D);
    p->dv = cf_g(c, G_DV);
    p->q_ext = cf_g(c, G_NQ);
    p->q_total = packed ? packed_total(c, p->q_ext, true) : p->q_ext;
    /* Fewer rows than q has, or more; all items fit. */
    p->o_total =
        cf_g(c, G_OBEG) ? p->q_total - 2 + (int64_t)(cf_mix2(c->seed, 909) % 7) : p->q_total;
    p->n_q = p->o_total < p->q_total ? p->o_total : p->q_total;
    p->n_sources = p->part.end = (int)cf_g(c, G_NS);
    p->softcap = (double)cf_g(c, G_CAP);
    switch (cf_g(c, G_SCALE)) {
    case SCALE_GIVEN:
        p->scale = 0.28;
        break;
    case SCALE_NEGATIVE:
        p->scale = -0.21;
        break;
    default:
        p->scale = 0;
        break;
    }
    p->q = tensor4(type_nth(TYPE_FLOATS, cf_g(c, G_Q)), packed ? 1 : p->n_items, p->heads,
                   p->q_total, p->d, (int)cf_g(c, G_QS), zero_axes(c, (int)cf_g(c, G_QS), 0));
}

static bool sinks_make(struct problem *p)
{
    const struct cs *c = &p->c;
    const int64_t kind = cf_g(c, G_SINK);

    p->sinks = (struct array){
        .dtype = type_nth(TYPE_FLOATS, cf_g(c, G_SINKT)),
        .trailing = 1,
        .shape = { 1, 1, 1, p->heads },
        .laid = (int)cf_g(c, G_SS),
        .step = { 1, 1, 1, -1 },
    };
    if (kind == SINK_NONE)
        return true;
    if (!cf_array_alloc(&p->sinks))
        return false;
    for (int64_t h = 0; h < p->heads; h++) {
        const uint64_t hash = cf_mix2(c->seed, (uint64_t)h + 4711);
        float z = (float)((int)(hash % 64) - 32) * 0.125f;

        if (cf_g(c, G_FILL) == FILL_EXACT)
            z = hash & 1 ? 0.0f : -200.0f;
        if (kind == SINK_HUGE)
            z = hash & 1 ? -3e30f : 2000.5f;
        if (hash % 3 == 0)
            z = kind == SINK_NEGINF ? -infinity
                : kind == SINK_NAN  ? infinity - infinity
                : kind == SINK_INF  ? infinity
                                    : z;
        /* a NaN with a payload, which no output may show */
        cf_array_set(&p->sinks, h, cf_encode(p->sinks.dtype, z) | (z == z ? 0 : 0x2a));
    }
    return true;
}

static bool tensors_make(struct problem *p)
{
    if (!cf_array_alloc(&p->q))
        return false;
    tensor_fill(&p->c, &p->q, ROLE_Q, 0, cf_queries_packed(&p->c) ? NULL : p->item);
    for (int s = 0; s < p->n_sources; s++) {
        struct source_data *src = &p->source[s];
        const bool one = src->k.pages || cf_layout_of(&p->c, s)->packed ||
                         cf_s(&p->c, s, S_KB) == 1;

        if (!cf_array_alloc(&src->k) || !cf_array_alloc(&src->v))
            return false;
        tensor_fill(&p->c, &src->k, ROLE_K, s, one ? NULL : p->item);
        tensor_fill(&p->c, &src->v, ROLE_V, s, one ? NULL : p->item);
    }
    return true;
}

/* Slots of some items whose elements share memory are those of the problem of all items. */
static bool slots_lay(struct problem *p, bool some)
{
    struct problem *all = NULL;
    bool ok;

    if (some && cf_g(&p->c, G_SS) >= LAID_ZERO) {
        all = cf_problem_make(&p->c, NULL, 0, !p->shapes_only);
        if (!all)
            return false;
    }
    ok = cf_slots_lay(p, all);
    cf_problem_free(all);
    return ok;
}

struct problem *cf_problem_make(const struct cs *c, const int64_t *items, int n, bool data)
{
    struct problem *p = calloc(1, sizeof *p);
    bool ok;

    if (!p)
        return NULL;
    p->c = *c;
    p->shapes_only = !data;
    p->n_items = items ? n : (int)cf_batch_count(c);
    for (int i = 0; i < p->n_items; i++)
        p->item[i] = items ? items[i] : i;
    globals_set(p, c);
    for (int s = 0; s < p->n_sources; s++)
        source_extents(p, s);
    ok = sinks_make(p) && cf_slots_make(p) && slots_lay(p, items != NULL) &&
         (!data || tensors_make(p));
    if (ok)
        return p;
    cf_problem_free(p);
    return NULL;
}

void cf_problem_free(struct problem *p)
{
    if (!p)
        return;
    free(p->q.data);
    free(p->sinks.data);
    for (int s = 0; s < MAX_SOURCES; s++) {
        free(p->source[s].k.data);
        free(p->source[s].v.data);
    }
    for (int i = 0; i < p->n_slots; i++)
        free(p->slot[i].a.data);
    free(p);
}
