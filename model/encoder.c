/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "encoder.h"

#include "say.h"
#include "see.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- a layer ---- */

/* Norms of rows of the encoder's own and of the text. */
static void first_norms(struct sketch *s, struct view rows, int64_t g, struct view x)
{
    const int64_t n = rows.t.shape[2] - g;

    if (g > 0)
        layer_norm(s, ROLE_SIDE_NORM, view_part(rows, 0, g), view_part(x, 0, g));
    layer_norm(s, ROLE_NORM, view_part(rows, g, n), view_part(x, g, n));
}

static struct view part_of(const struct sketch *s, uint32_t array, int64_t n)
{
    return view_rows(array, 1, n, s->stack->heads * s->stack->head_dim);
}

static void layer(struct sketch *s, const struct attention *a, int64_t form, int64_t g, int64_t n)
{
    const bool first = s->p->family->traits & TRAIT_NORM_FIRST;
    const struct view rows = view_rows(ARG_X, 1, n, s->p->config.model);
    const struct view x = first ? view_rows(T_NORM, 1, n, s->p->config.model) : rows;

    if (first)
        first_norms(s, rows, g, x);
    layer_map(s, ROLE_Q, x, HEED_ACT_NONE, NO_VIEW, part_of(s, T_Q, n));
    layer_map(s, ROLE_K, x, HEED_ACT_NONE, NO_VIEW, part_of(s, T_K, n));
    layer_map(s, ROLE_V, x, HEED_ACT_NONE, NO_VIEW, part_of(s, T_V, n));
    see(s, a, form, g, x);
    layer_map(s, ROLE_O, part_of(s, T_O, n), HEED_ACT_NONE, rows, rows);
    if (!first)
        layer_norm(s, ROLE_NORM, rows, rows);
    layer_hidden(s, rows);
}

static heed_status layer_plan(const struct parameters *p, heed_device *device,
                              const struct attention *a, int64_t form, int64_t g, int64_t n,
                              heed_plan **plan, heed_report *report)
{
    struct sketch s = { .p = p, .stack = &p->encoder, .weights = ARG_WEIGHTS,
                        .temps = { T_SLICE, T_UP, T_GATE } };

    draft_begin(&s.draft, ARGS, T_END - ARGS, report);
    layer(&s, a, form, g, n);
    return draft_plan(&s.draft, device, plan);
}

/* What layers differ in: one side of Longformer's window; every second one of Pegasus-X has blocks
 * that begin elsewhere. Layers of one form share a plan. */
static int64_t form_of(const struct parameters *p, const struct attention *a, int64_t which)
{
    const struct config *const c = &p->config;

    if (a->mechanism == SEES_PEGASUS_X)
        return which % 2 == 1 && c->stagger;
    if (a->mechanism != SEES_LONGFORMER)
        return 0;
    if (a->window > 0)
        return a->window;
    return c->window[which < c->n_windows ? which : c->n_windows - 1] / 2;
}

/* ---- all of it ---- */

enum { FORMS = 2 };

static heed_status run_layers(const struct parameters *p, heed_queue *queue,
                              const struct attention *a, int64_t g, int64_t n, heed_buf x,
                              heed_report *report)
{
    heed_plan *plans[FORMS] = { NULL };
    int64_t forms[FORMS] = { -1, -1 };
    heed_status status = HEED_OK;

    for (int64_t i = 0; i < p->encoder.n_layers && status >= 0; i++) {
        const int64_t form = form_of(p, a, i);
        const int which = forms[1] == form;
        heed_buf at[ARGS] = { [ARG_X] = x };

        at[ARG_TABLE] = p->encoder.of[ROLE_TABLE].weight.buf;
        at[ARG_SIDE_TABLE] = p->encoder.of[ROLE_SIDE_TABLE].weight.buf;
        at[ARG_PLACES] = p->encoder.of[ROLE_PLACES].weight.buf;
        at[ARG_PLACES_NORM] = p->encoder.of[ROLE_PLACES_NORM].weight.buf;
        at[ARG_PLACES_BIAS] = p->encoder.of[ROLE_PLACES_NORM].bias.buf;
        layer_bind(&p->encoder.layers[i], at + ARG_WEIGHTS);
        if (forms[which] != form) {     /* the one that was not used last makes room */
            heed_plan_drop(plans[0]);
            plans[0] = NULL;
            status = layer_plan(p, p->device, a, form, g, n, &plans[0], report);
            forms[0] = form;
        }
        if (status >= 0)
            status = heed_plan_run(plans[which], queue, at, ARGS, NULL, NULL, report);
        if (which == 0) {
            heed_plan *const used = plans[0];

            plans[0] = plans[1];
            plans[1] = used;
            forms[0] = forms[1];
            forms[1] = form;
        }
    }
    for (int i = 0; i < FORMS; i++)
        heed_plan_drop(plans[i]);
    return status;
}

/* The text's tokens behind the encoder's own rows. */
static heed_status run_begin(const struct parameters *p, heed_queue *queue, int64_t g, int64_t n,
                             heed_buf ids, heed_buf x, heed_report *report)
{
    const struct stack *const e = &p->encoder;
    heed_buf at[BEGIN_ARGS] = {
        [BEGIN_X] = x, [BEGIN_IDS] = ids, [BEGIN_TOKENS] = e->of[ROLE_TOKENS].weight.buf,
        [BEGIN_POSITIONS] = e->of[ROLE_POSITIONS].weight.buf,
        [BEGIN_TYPES] = e->of[ROLE_TYPES].weight.buf,
        [BEGIN_NORM] = e->of[ROLE_FIRST_NORM].weight.buf,
        [BEGIN_NORM_BIAS] = e->of[ROLE_FIRST_NORM].bias.buf,
    };
    heed_status status;
    heed_plan *plan;

    at[BEGIN_X].offset += 4 * (uint64_t)(g * p->config.model);
    status = stack_begin(p, e, p->device, 1, n, p->family->first_position, &plan, report);
    if (status < 0)
        return status;
    status = heed_plan_run(plan, queue, at, BEGIN_ARGS, NULL, NULL, report);
    heed_plan_drop(plan);
    return status;
}

/* One step of two or four arguments, of which the first is read and the second written. */
static heed_status run_step(struct draft *draft, heed_device *device, heed_queue *queue,
                            const heed_buf *at, heed_report *report)
{
    const uint32_t n = draft->n_args;
    heed_status status;
    heed_plan *plan;

    status = draft_plan(draft, device, &plan);
    if (status < 0)
        return status;
    status = heed_plan_run(plan, queue, at, n, NULL, NULL, report);
    heed_plan_drop(plan);
    return status;
}

/* Rows to where they are wanted, in f32, by a map that changes nothing. */
static heed_status move_rows(const struct parameters *p, heed_queue *queue, heed_tensor from,
                             heed_buf at_from, int64_t n, heed_buf to, heed_report *report)
{
    const struct view y = view_rows(1, 1, n, p->config.model);
    const heed_buf at[2] = { at_from, to };
    struct draft draft;

    from.ndim = 4;
    from.shape[0] = from.shape[1] = 1;
    from.shape[2] = n;
    from.shape[3] = from.stride[2] = p->config.model;
    from.stride[0] = from.stride[1] = 0;
    from.stride[3] = 1;
    draft_begin(&draft, 2, 0, report);
    draft_multiply(&draft, HEED_ACT_NONE, (struct view){ 0, 0, from }, NO_VIEW, y);
    return run_step(&draft, p->device, queue, at, report);
}

/* The norm behind the last layer, where a family has one, of the text's rows; else these rows. */
static heed_status run_end(const struct parameters *p, heed_queue *queue, int64_t g, int64_t n,
                           heed_buf x, heed_buf states, heed_report *report)
{
    const struct pair *const norm = &p->encoder.of[ROLE_FINAL_NORM];
    const struct view rows = view_rows(0, 1, n, p->config.model);
    const bool moved = x.handle != states.handle;
    const struct view to = view_rows(moved ? 3 : 0, 1, n, p->config.model);
    heed_buf at[4] = { x, norm->weight.buf, norm->bias.buf, states };
    struct draft draft;

    at[0].offset += 4 * (uint64_t)(g * p->config.model);
    if (norm->weight.t.ndim == 0)
        return moved ? move_rows(p, queue, rows.t, at[0], n, states, report) : HEED_OK;
    draft_begin(&draft, moved ? 4 : 3, 0, report);
    draft_norm(&draft, p->family->traits & TRAIT_RMS ? HEED_NORM_RMS : HEED_NORM_LAYER,
               p->config.eps, rows, view_param(&norm->weight, 1), view_param(&norm->bias, 2), to);
    return run_step(&draft, p->device, queue, at, report);
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

/* Tokens into x, and through all layers into states. */
static heed_status through(const struct parameters *p, heed_queue *queue,
                           const struct attention *attention, int64_t g, int64_t n,
                           heed_buf tokens, heed_buf x, heed_buf states, heed_report *report)
{
    const struct param *const own = &p->encoder.of[ROLE_GLOBALS].weight;
    heed_status status = run_begin(p, queue, g, n, tokens, x, report);

    if (status >= 0 && g > 0)
        status = move_rows(p, queue, own->t, own->buf, g, x, report);
    if (status >= 0)
        status = run_layers(p, queue, attention, g, g + n, x, report);
    if (status >= 0)
        status = run_end(p, queue, g, n, x, states, report);
    return status >= 0 ? heed_queue_wait(queue, report) : status;
}

heed_status encoder_run(const struct parameters *p, heed_queue *queue,
                        const struct attention *attention, const int32_t *ids, int64_t n,
                        heed_buf states, heed_report *report)
{
    const struct param *const own = &p->encoder.of[ROLE_GLOBALS].weight;
    const int64_t g = own->t.ndim ? own->t.shape[0] : 0;
    heed_buf tokens = { NULL, 0 }, x = states;
    heed_status status;

    status = heed_buf_create(p->device, (uint64_t)n * sizeof *ids, &tokens, report);
    if (status >= 0 && g > 0)
        status = heed_buf_create(p->device, 4 * (uint64_t)((g + n) * p->config.model), &x, report);
    if (status >= 0)
        status = heed_buf_write(queue, tokens, ids, (uint64_t)n * sizeof *ids, report);
    if (status >= 0)
        status = through(p, queue, attention, g, n, tokens, x, states, report);
    heed_buf_destroy(p->device, tokens);
    if (x.handle != states.handle)
        heed_buf_destroy(p->device, x);
    return status;
}
