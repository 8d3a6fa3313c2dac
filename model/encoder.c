/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "encoder.h"

#include "layer.h"
#include "say.h"

#include <heed/pool.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Arrays of a layer's program. */
enum { ARG_X, ARG_TABLE, ARG_SIDE_TABLE, ARG_WEIGHTS, ARGS = ARG_WEIGHTS + LAYER_ARGS };
enum {
    T_NORM = ARGS,
    T_Q,
    T_K,
    T_V,
    T_O,
    T_SIDE,                    /* LongT5's sums, and what keys and values they are. */
    T_SIDE_K,
    T_SIDE_V,
    T_SLICE,
    T_UP,
    T_GATE,
    T_END
};

/* ---- before the first layer ---- */

heed_status stack_begin(const struct parameters *p, const struct stack *stack, heed_device *device,
                        int64_t batch, int64_t n, int64_t first, heed_plan **plan,
                        heed_report *report)
{
    const int64_t d = p->config.model, ids[3] = { batch, 1, n };
    const struct pair *const norm = &stack->of[ROLE_FIRST_NORM];
    const struct view x = view_rows(BEGIN_X, batch, n, d);
    heed_embed_args *args;
    heed_embed_desc *desc;
    struct draft draft;

    draft_begin(&draft, BEGIN_ARGS, 0, report);
    desc = draft_memory(&draft, sizeof *desc);
    args = draft_memory(&draft, sizeof *args);
    if (args) {
        *desc = (heed_embed_desc){ .size = sizeof *desc, .y = x.t,
                                   .scale = p->config.scale_embedding ? sqrt((double)d) : 1,
                                   .table = stack->of[ROLE_TOKENS].weight.t,
                                   .ids = heed_array_dense(HEED_I32, NULL, 3, ids).t,
                                   .positions = stack->of[ROLE_POSITIONS].weight.t,
                                   .types = stack->of[ROLE_TYPES].weight.t };
        if (desc->positions.ndim && first >= 0)
            desc->pos0 = first;
        else if (desc->positions.ndim)
            desc->pos = desc->ids;
        *args = (heed_embed_args){ .size = sizeof *args };
        args->table = heed_program_array(BEGIN_TOKENS, 0);
        args->ids = heed_program_array(BEGIN_IDS, 0);
        args->positions = heed_program_array(BEGIN_POSITIONS, 0);
        args->pos = heed_program_array(BEGIN_POS, 0);
        args->types = heed_program_array(BEGIN_TYPES, 0);
        args->y = heed_program_array(BEGIN_X, 0);
        draft_step(&draft, "embed", desc, args);
    }
    if (norm->weight.t.ndim)
        draft_norm(&draft, HEED_NORM_LAYER, p->config.eps, x,
                   view_param(&norm->weight, BEGIN_NORM), view_param(&norm->bias, BEGIN_NORM_BIAS),
                   x);
    return draft_plan(&draft, device, plan);
}

/* ---- what rows see ---- */

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
        .q = heads_of(s, T_Q, n), .k = heads_of(s, T_K, n), .v = heads_of(s, T_V, n),
        .o = heads_of(s, T_O, n), .table = NO_VIEW, .pages = NO_VIEW, .lengths = NO_VIEW,
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
    const struct view q = heads_of(s, T_Q, n), k = heads_of(s, T_K, n), v = heads_of(s, T_V, n);
    const struct view o = heads_of(s, T_O, n), keys[1][2] = { { k, v } };
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
    layer_map(s, ROLE_GLOBAL_Q, view_part(x, 0, g), HEED_ACT_NONE, NO_VIEW, part_of(s, T_Q, g));
    layer_map(s, ROLE_GLOBAL_K, x, HEED_ACT_NONE, NO_VIEW, part_of(s, T_K, n));
    layer_map(s, ROLE_GLOBAL_V, x, HEED_ACT_NONE, NO_VIEW, part_of(s, T_V, n));
    rows.q = heads_of(s, T_Q, g).t;
    mechanism(s, heed_global_rows(&rows, &m, s->draft.report), &m, heads_of(s, T_Q, g),
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
    const struct view q = heads_of(s, T_Q, n), k = heads_of(s, T_K, n), v = heads_of(s, T_V, n);
    const struct view table = table_of(s, ROLE_TABLE, ARG_TABLE);
    const struct view side_table = table_of(s, ROLE_SIDE_TABLE, ARG_SIDE_TABLE);
    const struct view o = heads_of(s, T_O, n);
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

/* ---- a layer ---- */

static void layer(struct sketch *s, const struct attention *a, int64_t window, int64_t n)
{
    const bool first = s->p->family->traits & TRAIT_NORM_FIRST;
    const struct view rows = view_rows(ARG_X, 1, n, s->p->config.model);
    const struct view x = first ? view_rows(T_NORM, 1, n, s->p->config.model) : rows;

    if (first)
        layer_norm(s, ROLE_NORM, rows, x);
    layer_map(s, ROLE_Q, x, HEED_ACT_NONE, NO_VIEW, part_of(s, T_Q, n));
    layer_map(s, ROLE_K, x, HEED_ACT_NONE, NO_VIEW, part_of(s, T_K, n));
    layer_map(s, ROLE_V, x, HEED_ACT_NONE, NO_VIEW, part_of(s, T_V, n));
    switch (a->mechanism) {
        case SEES_LONGFORMER: see_longformer(s, x, a, window); break;
        case SEES_LONGT5: see_longt5(s, x); break;
        default: see_all(s, n); break;
    }
    layer_map(s, ROLE_O, part_of(s, T_O, n), HEED_ACT_NONE, rows, rows);
    if (!first)
        layer_norm(s, ROLE_NORM, rows, rows);
    layer_hidden(s, rows);
}

static heed_status layer_plan(const struct parameters *p, heed_device *device,
                              const struct attention *a, int64_t window, int64_t n,
                              heed_plan **plan, heed_report *report)
{
    struct sketch s = { .p = p, .stack = &p->encoder, .weights = ARG_WEIGHTS,
                        .temps = { T_SLICE, T_UP, T_GATE } };

    draft_begin(&s.draft, ARGS, T_END - ARGS, report);
    layer(&s, a, window, n);
    return draft_plan(&s.draft, device, plan);
}

/* One side of the window of a layer. */
static int64_t window_of(const struct parameters *p, const struct attention *a, int64_t which)
{
    const struct config *const c = &p->config;

    if (a->mechanism != SEES_LONGFORMER)
        return 0;
    if (a->window > 0)
        return a->window;
    return c->window[which < c->n_windows ? which : c->n_windows - 1] / 2;
}

/* ---- all of it ---- */

static heed_status run_layers(const struct parameters *p, heed_queue *queue,
                              const struct attention *a, int64_t n, heed_buf x,
                              heed_report *report)
{
    heed_status status = HEED_OK;
    heed_plan *plan = NULL;
    int64_t planned = -1;

    for (int64_t i = 0; i < p->encoder.n_layers && status >= 0; i++) {
        const int64_t window = window_of(p, a, i);
        heed_buf at[ARGS] = { [ARG_X] = x };

        at[ARG_TABLE] = p->encoder.of[ROLE_TABLE].weight.buf;
        at[ARG_SIDE_TABLE] = p->encoder.of[ROLE_SIDE_TABLE].weight.buf;
        layer_bind(&p->encoder.layers[i], at + ARG_WEIGHTS);
        if (window != planned) {
            heed_plan_drop(plan);
            plan = NULL;
            status = layer_plan(p, p->device, a, window, n, &plan, report);
            planned = window;
        }
        if (status >= 0)
            status = heed_plan_run(plan, queue, at, ARGS, NULL, NULL, report);
    }
    heed_plan_drop(plan);
    return status;
}

static heed_status run_begin(const struct parameters *p, heed_queue *queue, int64_t n,
                             heed_buf ids, heed_buf x, heed_report *report)
{
    const struct stack *const e = &p->encoder;
    const heed_buf at[BEGIN_ARGS] = {
        [BEGIN_X] = x, [BEGIN_IDS] = ids, [BEGIN_TOKENS] = e->of[ROLE_TOKENS].weight.buf,
        [BEGIN_POSITIONS] = e->of[ROLE_POSITIONS].weight.buf,
        [BEGIN_TYPES] = e->of[ROLE_TYPES].weight.buf,
        [BEGIN_NORM] = e->of[ROLE_FIRST_NORM].weight.buf,
        [BEGIN_NORM_BIAS] = e->of[ROLE_FIRST_NORM].bias.buf,
    };
    heed_status status;
    heed_plan *plan;

    status = stack_begin(p, e, p->device, 1, n, p->family->first_position, &plan, report);
    if (status < 0)
        return status;
    status = heed_plan_run(plan, queue, at, BEGIN_ARGS, NULL, NULL, report);
    heed_plan_drop(plan);
    return status;
}

/* The norm behind the last layer, where a family has one. */
static heed_status run_end(const struct parameters *p, heed_queue *queue, int64_t n, heed_buf x,
                           heed_report *report)
{
    const struct pair *const norm = &p->encoder.of[ROLE_FINAL_NORM];
    const struct view rows = view_rows(0, 1, n, p->config.model);
    const heed_buf at[3] = { x, norm->weight.buf, norm->bias.buf };
    struct draft draft;
    heed_status status;
    heed_plan *plan;

    if (norm->weight.t.ndim == 0)
        return HEED_OK;
    draft_begin(&draft, 3, 0, report);
    draft_norm(&draft, p->family->traits & TRAIT_RMS ? HEED_NORM_RMS : HEED_NORM_LAYER,
               p->config.eps, rows, view_param(&norm->weight, 1), view_param(&norm->bias, 2), rows);
    status = draft_plan(&draft, p->device, &plan);
    if (status < 0)
        return status;
    status = heed_plan_run(plan, queue, at, 3, NULL, NULL, report);
    heed_plan_drop(plan);
    return status;
}

heed_status encoder_check(const struct parameters *p, const int32_t *ids, int64_t n,
                          heed_report *report)
{
    const struct param *const positions = &p->encoder.of[ROLE_POSITIONS].weight;
    const int64_t room = positions->t.ndim ? positions->t.shape[0] - p->family->first_position
                                           : INT32_MAX;

    if (n < 1 || n > room)
        return say(report, HEED_E_VALUE, "n", room, n,
                   "a text of %lld tokens: the model has positions for 1 to %lld", (long long)n,
                   (long long)room);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= p->config.vocab)
            return say(report, HEED_E_VALUE, "ids", p->config.vocab, ids[i],
                       "id %d of token %lld is none of the model's %lld", (int)ids[i],
                       (long long)i, (long long)p->config.vocab);
    return HEED_OK;
}

heed_status encoder_run(const struct parameters *p, heed_queue *queue,
                        const struct attention *attention, const int32_t *ids, int64_t n,
                        heed_buf states, heed_report *report)
{
    heed_status status;
    heed_buf tokens;

    status = heed_buf_create(p->device, (uint64_t)n * sizeof *ids, &tokens, report);
    if (status < 0)
        return status;
    status = heed_buf_write(queue, tokens, ids, (uint64_t)n * sizeof *ids, report);
    if (status >= 0)
        status = run_begin(p, queue, n, tokens, states, report);
    if (status >= 0)
        status = run_layers(p, queue, attention, n, states, report);
    if (status >= 0)
        status = run_end(p, queue, n, states, report);
    if (status >= 0)
        status = heed_queue_wait(queue, report);
    heed_buf_destroy(p->device, tokens);
    return status;
}
