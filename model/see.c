/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "see.h"

#include <heed/pool.h>
#include <string.h>

static struct view part_of(const struct sketch *s, uint32_t array, int64_t n)
{
    return view_rows(array, 1, n, s->stack->heads * s->stack->head_dim);
}

static struct view heads_of(const struct sketch *s, uint32_t array, int64_t n)
{
    return view_heads(part_of(s, array, n), s->stack->heads);
}

static struct view table_of(const struct sketch *s, enum stack_role role, uint32_t array)
{
    return view_param(&s->stack->of[role].weight, array);
}

static void see_all(struct sketch *s, int64_t n)
{
    struct seeing seeing = {
        .q = heads_of(s, ARG_Q, n), .k = heads_of(s, ARG_K, n), .v = heads_of(s, ARG_V, n),
        .o = heads_of(s, ARG_O, n), .table = NO_VIEW, .pages = NO_VIEW, .lengths = NO_VIEW,
        .texts = s->texts,
    };

    if (s->p->family->traits & TRAIT_RELATIVE) {
        seeing.table = table_of(s, ROLE_TABLE, ARG_TABLE);
        seeing.map = layer_buckets(s, false, &seeing.map_length);
    }
    layer_attend(s, &seeing);
}

/* A mechanism over the text alone, and perhaps a second set of keys. */
static void mechanism(struct sketch *s, heed_status status, const heed_mechanism *m, struct view q,
                      struct view o, const struct view (*keys)[2], const struct view *slots)
{
    if (s->draft.status >= 0)
        s->draft.status = status;
    if (s->draft.status >= 0)
        layer_mechanism(s, m, q, o, keys, slots);
}

static void see_longformer(struct sketch *s, struct view x, const struct attention *a,
                           int64_t window)
{
    const int64_t n = x.t.shape[2], g = a->globals < n ? a->globals : n;
    const struct view q = heads_of(s, ARG_Q, n), k = heads_of(s, ARG_K, n);
    const struct view v = heads_of(s, ARG_V, n);
    const struct view o = heads_of(s, ARG_O, n), keys[1][2] = { { k, v } };
    const bool own = s->stack->names->parts[ROLE_GLOBAL_Q] != NULL;
    heed_longformer_desc desc = { .size = sizeof desc, .q = q.t, .o = o.t,
                                  .text = { .k = k.t, .v = v.t }, .window = window,
                                  .n_globals = g };
    heed_global_rows_desc rows = { .size = sizeof rows, .q = view_part(q, 0, g).t,
                                   .o = view_part(o, 0, g).t, .text = { .k = k.t, .v = v.t } };
    heed_mechanism m = { .size = sizeof m };

    desc.flags = own ? HEED_LONGFORMER_KEYS_ONLY : 0;
    mechanism(s, heed_longformer(&desc, &m, s->draft.report), &m, q, o, keys, NULL);
    if (!own || g == 0)
        return;
    /* Global tokens have projections of their own; their rows replace those that stand there. */
    layer_map(s, ROLE_GLOBAL_Q, view_part(x, 0, g), HEED_ACT_NONE, NO_VIEW, part_of(s, ARG_Q, g));
    layer_map(s, ROLE_GLOBAL_K, x, HEED_ACT_NONE, NO_VIEW, part_of(s, ARG_K, n));
    layer_map(s, ROLE_GLOBAL_V, x, HEED_ACT_NONE, NO_VIEW, part_of(s, ARG_V, n));
    rows.q = heads_of(s, ARG_Q, g).t;
    mechanism(s, heed_global_rows(&rows, &m, s->draft.report), &m, heads_of(s, ARG_Q, g),
              view_part(o, 0, g), keys, NULL);
}

/* ---- LongT5 ---- */

/* Sums of 16 tokens each, their norm, and what keys and values they are. */
static void side_keys(struct sketch *s, struct view x, int64_t sums)
{
    const int64_t block = s->p->config.side_block;
    const struct view side = view_rows(T_SIDE, 1, sums, s->p->config.model);
    heed_pool_desc *desc = draft_memory(&s->draft, sizeof *desc);
    heed_pool_args *args = draft_memory(&s->draft, sizeof *args);

    if (!args)
        return;
    *desc = (heed_pool_desc){ .size = sizeof *desc, .kind = HEED_POOL_SUM,
                              .tail = HEED_TAIL_JOIN, .kernel = block, .stride = block,
                              .x = x.t, .y = side.t };
    *args = (heed_pool_args){ .size = sizeof *args, .x = heed_program_array(x.array, x.offset),
                              .y = heed_program_array(T_SIDE, 0) };
    draft_step(&s->draft, "pool", desc, args);
    layer_norm(s, ROLE_SIDE_NORM, side, side);
    layer_map(s, ROLE_K, side, HEED_ACT_NONE, NO_VIEW, part_of(s, T_SIDE_K, sums));
    layer_map(s, ROLE_V, side, HEED_ACT_NONE, NO_VIEW, part_of(s, T_SIDE_V, sums));
}

/* Tables [buckets][heads], as a builder wants them: [heads][buckets]. */
static heed_tensor turned(const heed_tensor *t)
{
    heed_tensor other = *t;

    other.shape[0] = t->shape[1];
    other.shape[1] = t->shape[0];
    other.stride[0] = t->stride[1];
    other.stride[1] = t->stride[0];
    return other;
}

static void see_longt5(struct sketch *s, struct view x)
{
    const int64_t n = x.t.shape[2], block = s->p->config.side_block;
    const int64_t sums = s->stack->names->parts[ROLE_SIDE_NORM] ? n / block : 0;
    const struct view q = heads_of(s, ARG_Q, n), k = heads_of(s, ARG_K, n);
    const struct view v = heads_of(s, ARG_V, n);
    const struct view table = table_of(s, ROLE_TABLE, ARG_TABLE);
    const struct view side_table = table_of(s, ROLE_SIDE_TABLE, ARG_SIDE_TABLE);
    const struct view o = heads_of(s, ARG_O, n);
    struct view keys[2][2] = { { k, v }, { NO_VIEW, NO_VIEW } };
    struct view slots[HEED_MECHANISM_SLOTS + 1] = { NO_VIEW };
    heed_longt5_desc desc = { .size = sizeof desc, .q = q.t, .o = o.t,
                              .radius = s->p->config.radius, .text = { .k = k.t, .v = v.t },
                              .table = { turned(&table.t), NULL } };
    heed_mechanism m = { .size = sizeof m };
    int64_t length;
    int32_t *ids;

    desc.map.data = layer_buckets(s, false, &length);
    desc.map.t = heed_array_dense(HEED_I32, NULL, 1, &length).t;
    desc.zero = length / 2;
    slots[HEED_MECHANISM_TABLE] = table;
    if (sums > 0) {
        side_keys(s, x, sums);
        keys[1][0] = heads_of(s, T_SIDE_K, sums);
        keys[1][1] = heads_of(s, T_SIDE_V, sums);
        desc.side = (heed_keys){ .k = keys[1][0].t, .v = keys[1][1].t };
        desc.side_table.t = turned(&side_table.t);
        slots[HEED_MECHANISM_TABLE_2] = side_table;
        ids = draft_memory(&s->draft, (size_t)n * sizeof *ids);
        for (int64_t i = 0; ids && i < n; i++)
            ids[i] = (int32_t)(i / block < sums - 1 ? i / block : sums - 1);
        desc.block_ids = (heed_slot){ heed_array_dense(HEED_I32, NULL, 1, &n).t, ids };
    }
    if (s->draft.status >= 0)
        mechanism(s, heed_longt5(&desc, &m, s->draft.report), &m, q, o,
                  (const struct view(*)[2])keys, slots);
}

/* ---- rows of the encoder's own before the text ---- */

/* Views of an array's rows: all, the first ones and the text's. */
struct parts {
    struct view all, own, text;
};

static struct parts parts_of(const struct sketch *s, uint32_t array, int64_t own, int64_t rows)
{
    const struct view all = heads_of(s, array, rows);

    return (struct parts){ all, view_part(all, 0, own), view_part(all, own, rows - own) };
}

/* The encoder's own rows see all. */
static void see_from_own(struct sketch *s, int64_t own, int64_t rows)
{
    const struct parts q = parts_of(s, ARG_Q, own, rows), k = parts_of(s, ARG_K, own, rows);
    const struct parts v = parts_of(s, ARG_V, own, rows), o = parts_of(s, ARG_O, own, rows);
    const struct view keys[2][2] = { { k.text, v.text }, { k.own, v.own } };
    const heed_global_rows_desc desc = { .size = sizeof desc, .q = q.own.t, .o = o.own.t,
                                         .text = { .k = k.text.t, .v = v.text.t },
                                         .globals = { .k = k.own.t, .v = v.own.t } };
    heed_mechanism m = { .size = sizeof m };

    if (own > 0)
        mechanism(s, heed_global_rows(&desc, &m, s->draft.report), &m, q.own, o.own, keys, NULL);
}

static void see_blocks(struct sketch *s, const struct attention *a, int64_t rows, bool staggered)
{
    const int64_t own = a->rows;
    const struct parts q = parts_of(s, ARG_Q, own, rows), k = parts_of(s, ARG_K, own, rows);
    const struct parts v = parts_of(s, ARG_V, own, rows), o = parts_of(s, ARG_O, own, rows);
    const struct view keys[2][2] = { { k.text, v.text }, { k.own, v.own } };
    heed_pegasus_x_desc desc = { .size = sizeof desc, .q = q.text.t, .o = o.text.t,
                                 .flags = staggered ? HEED_PEGASUS_X_STAGGERED : 0,
                                 .block = a->block, .text = { .k = k.text.t, .v = v.text.t } };
    heed_mechanism m = { .size = sizeof m };

    if (own > 0)
        desc.globals = (heed_keys){ .k = k.own.t, .v = v.own.t };
    mechanism(s, heed_pegasus_x(&desc, &m, s->draft.report), &m, q.text, o.text, keys, NULL);
    see_from_own(s, own, rows);
}

/* ---- LSG ---- */

static bool lsg_is_full(const struct attention *a, int64_t rows)
{
    return rows - a->rows <= 2 * a->block;
}

static void see_lsg(struct sketch *s, const struct attention *a, int64_t rows)
{
    const int64_t own = a->rows, n = rows - own;
    const int64_t room = s->stack->heads * ((n + a->block - 1) / a->block) * 2 * a->factor *
                         (a->sparse_block / a->block + 1);
    const struct parts q = parts_of(s, ARG_Q, own, rows), k = parts_of(s, ARG_K, own, rows);
    const struct parts v = parts_of(s, ARG_V, own, rows), o = parts_of(s, ARG_O, own, rows);
    const struct view keys[2][2] = { { k.text, v.text }, { k.own, v.own } };
    heed_lsg_desc desc = { .size = sizeof desc, .q = q.text.t, .o = o.text.t,
                           .text = { .k = k.text.t, .v = v.text.t },
                           .globals = { .k = k.own.t, .v = v.own.t }, .sparsity = a->sparsity,
                           .block = a->block, .factor = a->factor,
                           .sparse_block = a->sparse_block };
    heed_mechanism m = { .size = sizeof m };

    if (lsg_is_full(a, rows)) {
        see_all(s, rows);
        return;
    }
    if (!sees_apart(a, rows)) {
        if (a->sparsity == HEED_LSG_BLOCK_STRIDE) {
            desc.list_room = room;
            desc.list = draft_memory(&s->draft, (size_t)room * sizeof *desc.list);
        }
        if (s->draft.status >= 0)
            mechanism(s, heed_lsg(&desc, &m, s->draft.report), &m, q.text, o.text, keys, NULL);
    }
    see_from_own(s, own, rows);
}

bool sees_apart(const struct attention *a, int64_t rows)
{
    return a->mechanism == SEES_LSG && a->sparsity >= HEED_LSG_NORM && !lsg_is_full(a, rows);
}

heed_status see_apart_plan(const struct parameters *p, const struct attention *a, int64_t rows,
                           heed_plan **plan, heed_report *report)
{
    const struct sketch s = { .p = p, .stack = &p->encoder };
    const struct parts x = parts_of(&s, ARG_Q, a->rows, rows);
    const heed_keys text = { .k = x.text.t, .v = x.text.t };
    const heed_keys own = { .k = x.own.t, .v = x.own.t };
    const heed_lsg_program_desc desc = {
        .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE, .q = x.text.t, .o = x.text.t,
        .sparsity = a->sparsity, .text = text, .globals = own, .block = a->block,
        .factor = a->factor, .sparse_block = a->sparse_block,
    };

    return heed_lsg_program_plan(p->device, &desc, plan, report);
}

static heed_buf behind(heed_buf buf, uint64_t bytes)
{
    buf.offset += bytes;
    return buf;
}

heed_status see_apart_run(const struct parameters *p, const struct attention *a,
                          const heed_plan *plan, heed_queue *queue, const heed_buf *at,
                          heed_report *report)
{
    const uint64_t own = 4 * (uint64_t)(a->rows * p->encoder.heads * p->encoder.head_dim);
    const heed_program_args args = {
        .size = sizeof args, .q = behind(at[ARG_Q], own), .o = behind(at[ARG_O], own),
        .text = { .k = behind(at[ARG_K], own), .v = behind(at[ARG_V], own) },
        .globals = { .k = at[ARG_K], .v = at[ARG_V] },
    };

    return heed_program_run(plan, queue, &args, NULL, report);
}

/* ---- DeBERTa ---- */

/* Entries of the tables for distances up to the last one, by j - i; the tables go by i - j. */
static int32_t *places_map(struct sketch *s, int64_t span, int64_t far)
{
    const struct config *const c = &s->p->config;
    const int64_t length = 2 * far + 1;
    int32_t *const map = draft_memory(&s->draft, (size_t)length * sizeof *map);

    if (map && c->position_buckets > 0)
        s->draft.status = heed_map_log(map, length, far, (int32_t)span, (int32_t)far,
                                       HEED_MAP_REVERSED);
    for (int64_t i = 0; map && c->position_buckets <= 0 && i < length; i++) {
        const int64_t entry = far - i + span;

        map[i] = (int32_t)(entry < 0 ? 0 : entry >= 2 * span ? 2 * span - 1 : entry);
    }
    return map;
}

/* Projected tables, as slots: [heads][entries][d]. */
static heed_slot places_slot(const struct sketch *s, uint32_t array, int64_t entries)
{
    heed_slot slot = { heads_of(s, array, entries).t, NULL };

    slot.t.ndim = 3;
    for (int i = 0; i < 3; i++) {
        slot.t.shape[i] = slot.t.shape[i + 1];
        slot.t.stride[i] = slot.t.stride[i + 1];
    }
    return slot;
}

static void see_deberta(struct sketch *s, int64_t n)
{
    const struct config *const c = &s->p->config;
    const bool c2p = strstr(c->relative, "c2p"), p2c = strstr(c->relative, "p2c");
    const struct param *const places = &s->stack->of[ROLE_PLACES].weight;
    const struct pair *const norm = &s->stack->of[ROLE_PLACES_NORM];
    const int64_t entries = places->t.shape[0], span = entries / 2;
    const int64_t far = c->relative_positions;
    const int64_t length = 2 * far + 1;
    const struct view q = heads_of(s, ARG_Q, n), k = heads_of(s, ARG_K, n);
    const struct view v = heads_of(s, ARG_V, n);
    const struct view o = heads_of(s, ARG_O, n), keys[1][2] = { { k, v } };
    struct view rows = view_rows(ARG_PLACES, 1, entries, c->model);
    struct view slots[HEED_MECHANISM_SLOTS + 1] = { NO_VIEW };
    heed_deberta_desc desc = { .size = sizeof desc, .q = q.t, .o = o.t, .zero = far,
                               .text = { .k = k.t, .v = v.t } };
    heed_mechanism m = { .size = sizeof m };

    rows.t.dtype = places->t.dtype;
    if (norm->weight.t.ndim) {
        const struct view normed = view_rows(T_SIDE, 1, entries, c->model);

        draft_norm(&s->draft, HEED_NORM_LAYER, c->eps, rows,
                   view_param(&norm->weight, ARG_PLACES_NORM),
                   view_param(&norm->bias, ARG_PLACES_BIAS), normed);
        rows = normed;
    }
    if (c2p) {
        layer_map(s, c->share_keys ? ROLE_K : ROLE_PLACES_K, rows, HEED_ACT_NONE, NO_VIEW,
                  part_of(s, T_SIDE_K, entries));
        desc.kr = places_slot(s, T_SIDE_K, entries);
        slots[HEED_MECHANISM_TABLE] = part_of(s, T_SIDE_K, entries);
    }
    if (p2c) {
        layer_map(s, c->share_keys ? ROLE_Q : ROLE_PLACES_Q, rows, HEED_ACT_NONE, NO_VIEW,
                  part_of(s, T_SIDE_V, entries));
        desc.qr = places_slot(s, T_SIDE_V, entries);
        slots[HEED_MECHANISM_TABLE_2] = part_of(s, T_SIDE_V, entries);
    }
    if (c2p || p2c)
        desc.map = (heed_slot){ heed_array_dense(HEED_I32, NULL, 1, &length).t,
                                places_map(s, span, far) };
    if (s->draft.status >= 0)
        mechanism(s, heed_deberta(&desc, &m, s->draft.report), &m, q, o, keys, slots);
}

/* ---- BigBird ---- */

/* Published code has no random blocks when it evaluates: their lists are zeros there, and the first
 * block counts as often. Texts that the blocks would cover see everything. */
static void see_bigbird(struct sketch *s, const struct attention *a, int64_t n)
{
    const int64_t blocks = (n + a->block - 1) / a->block, random = a->random;
    const int64_t extents[4] = { 1, 1, blocks, random };
    const struct view q = heads_of(s, ARG_Q, n), k = heads_of(s, ARG_K, n);
    const struct view v = heads_of(s, ARG_V, n);
    const struct view o = heads_of(s, ARG_O, n), keys[1][2] = { { k, v } };
    heed_bigbird_desc desc = { .size = sizeof desc, .q = q.t, .o = o.t, .block = a->block,
                               .text = { .k = k.t, .v = v.t } };
    heed_mechanism m = { .size = sizeof m };
    int32_t *list;

    if (n <= (5 + 2 * random) * a->block) {
        see_all(s, n);
        return;
    }
    list = draft_memory(&s->draft, (size_t)(blocks * random) * sizeof *list);
    for (int64_t i = 0; list && i < random; i++)
        list[i] = list[(blocks - 1) * random + i] = -1;
    if (random > 0)
        desc.random = (heed_slot){ heed_array_dense(HEED_I32, NULL, 4, extents).t, list };
    if (s->draft.status >= 0)
        mechanism(s, heed_bigbird(&desc, &m, s->draft.report), &m, q, o, keys, NULL);
}

/* ---- by name ---- */

void see(struct sketch *s, const struct attention *a, int64_t form, struct view x)
{
    const int64_t rows = x.t.shape[2];

    switch (a->mechanism) {
        case SEES_ALL: see_all(s, rows); break;
        case SEES_LONGFORMER: see_longformer(s, x, a, form); break;
        case SEES_LONGT5: see_longt5(s, x); break;
        case SEES_PEGASUS_X: see_blocks(s, a, rows, form == 1); break;
        case SEES_BIGBIRD: see_bigbird(s, a, rows); break;
        case SEES_LSG: see_lsg(s, a, rows); break;
        case SEES_DEBERTA: see_deberta(s, rows); break;
    }
}
