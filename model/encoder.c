/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "encoder.h"

#include "past.h"
#include "say.h"

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

static struct view part_of(const struct sketch *s, uint32_t array, int64_t n)
{
    return view_rows(array, 1, n, s->stack->heads * s->stack->head_dim);
}

/* Norms of rows of the encoder's own and of the text. */
static void first_norms(struct sketch *s, struct view rows, int64_t own, struct view x)
{
    const bool apart = s->stack->names->parts[ROLE_SIDE_NORM] != NULL;
    const int64_t n = rows.t.shape[2] - own;

    if (own > 0)
        layer_norm(s, apart ? ROLE_SIDE_NORM : ROLE_NORM, view_part(rows, 0, own),
                   view_part(x, 0, own));
    layer_norm(s, ROLE_NORM, view_part(rows, own, n), view_part(x, own, n));
}

/* Queries, keys and values of all rows. Returns the rows that they are maps of. */
static struct view front(struct sketch *s, const struct attention *a, struct view rows)
{
    const bool first = s->p->family->traits & TRAIT_NORM_FIRST;
    const int64_t n = rows.t.shape[2];
    const struct view x = first ? view_rows(T_NORM, 1, n, s->p->config.model) : rows;

    if (first)
        first_norms(s, rows, a->rows, x);
    layer_map(s, ROLE_Q, x, HEED_ACT_NONE, NO_VIEW, part_of(s, ARG_Q, n));
    layer_map(s, ROLE_K, x, HEED_ACT_NONE, NO_VIEW, part_of(s, ARG_K, n));
    layer_map(s, ROLE_V, x, HEED_ACT_NONE, NO_VIEW, part_of(s, ARG_V, n));
    return x;
}

static void back(struct sketch *s, const struct past *past, struct view rows)
{
    const int64_t n = rows.t.shape[2];

    layer_map(s, ROLE_O, part_of(s, ARG_O, n), HEED_ACT_NONE, rows, rows);
    if (!(s->p->family->traits & TRAIT_NORM_FIRST))
        layer_norm(s, ROLE_NORM, rows, rows);
    if (past)
        past_read(s, past, rows);
    layer_hidden(s, rows);
    if (past)
        past_keep(s, past, n);
}

/* A layer is one plan, or where its keys are computed what stands before, that, what follows. */
struct plans {
    heed_plan *front, *apart, *back;
    int64_t form;
};

static void drop(struct plans *plans)
{
    heed_plan_drop(plans->front);
    heed_plan_drop(plans->apart);
    heed_plan_drop(plans->back);
    *plans = (struct plans){ .form = -1 };
}

/* `past`: of the layers that keep something; NULL. */
static heed_status plan_layer(const struct parameters *p, const struct attention *a,
                              const struct past *past, const struct texts *texts, int64_t form,
                              int64_t n, struct plans *plans, heed_report *report)
{
    struct sketch s = { .p = p, .stack = &p->encoder, .weights = ARG_WEIGHTS,
                        .temps = { T_SLICE, T_UP, T_GATE }, .texts = texts };
    const struct view rows = view_rows(ARG_X, 1, n, p->config.model);
    heed_status status = HEED_OK;
    struct view x;

    draft_begin(&s.draft, ARGS, T_END - ARGS, report);
    x = front(&s, a, rows);
    if (sees_apart(a, n)) {
        status = draft_plan(&s.draft, p->device, &plans->front);
        if (status >= 0)
            status = see_apart_plan(p, a, n, &plans->apart, report);
        if (status < 0)
            return status;
        draft_begin(&s.draft, ARGS, T_END - ARGS, report);
    }
    if (past)
        past_see(&s, past, a, x);
    else
        see(&s, a, form, x);
    back(&s, past, rows);
    return draft_plan(&s.draft, p->device, plans->apart ? &plans->back : &plans->front);
}

static heed_status run_layer(const struct parameters *p, const struct attention *a,
                             const struct plans *plans, heed_queue *queue, const heed_buf *at,
                             heed_report *report)
{
    heed_status status = heed_plan_run(plans->front, queue, at, ARGS, NULL, NULL, report);

    if (status >= 0 && plans->apart)
        status = see_apart_run(p, a, plans->apart, queue, at, report);
    if (status >= 0 && plans->apart)
        status = heed_plan_run(plans->back, queue, at, ARGS, NULL, NULL, report);
    return status;
}

/* What layers differ in: one side of Longformer's window; every second one of blocks has some that
 * begin elsewhere; the last ones may keep something. Layers of one form share their plans. */
static int64_t form_of(const struct parameters *p, const struct attention *a,
                       const struct past *past, int64_t which)
{
    const struct config *const c = &p->config;

    if (past_has(past, which))
        return 1;
    if (a->mechanism == SEES_PEGASUS_X)
        return which % 2 == 1 && c->stagger;
    if (a->mechanism != SEES_LONGFORMER)
        return 0;
    if (a->window > 0)
        return a->window;
    return c->window[which < c->n_windows ? which : c->n_windows - 1] / 2;
}

/* ---- all layers ---- */

enum { FORMS = 2, ATTENDED = 4 };

/* The rows of one text, or of several, and what attention reads and writes. */
struct pass {
    const struct parameters *p;
    const struct attention *a;
    heed_queue *queue;
    struct past *past;         /* NULL: a text alone. */
    const struct texts *texts; /* NULL: one text. */
    int64_t n;                 /* Tokens. */
    heed_buf x, attended[ATTENDED], states;
    heed_report *report;
};

static heed_status run_layers(const struct pass *pass)
{
    const struct parameters *const p = pass->p;
    struct plans plans[FORMS] = { { .form = -1 }, { .form = -1 } };
    heed_status status = HEED_OK;
    int last = 0;

    for (int64_t i = 0; i < p->encoder.n_layers && status >= 0; i++) {
        const int64_t form = form_of(p, pass->a, pass->past, i);
        const struct past *const past = past_has(pass->past, i) ? pass->past : NULL;
        heed_buf at[ARGS] = { [ARG_X] = pass->x };
        int which = !last;              /* the one that was not used last makes room */

        for (int k = 0; k < FORMS; k++)
            which = plans[k].form == form ? k : which;
        for (int k = 0; k < ATTENDED; k++)
            at[ARG_Q + k] = pass->attended[k];
        at[ARG_TABLE] = p->encoder.of[ROLE_TABLE].weight.buf;
        at[ARG_SIDE_TABLE] = p->encoder.of[ROLE_SIDE_TABLE].weight.buf;
        at[ARG_PLACES] = p->encoder.of[ROLE_PLACES].weight.buf;
        at[ARG_PLACES_NORM] = p->encoder.of[ROLE_PLACES_NORM].weight.buf;
        at[ARG_PLACES_BIAS] = p->encoder.of[ROLE_PLACES_NORM].bias.buf;
        if (past)
            past_bind(past, i, at);
        layer_bind(&p->encoder.layers[i], at + ARG_WEIGHTS);
        if (plans[which].form != form) {
            drop(&plans[which]);
            status = plan_layer(p, pass->a, past, pass->texts, form, pass->a->rows + pass->n,
                                &plans[which], pass->report);
            plans[which].form = form;
        }
        if (status >= 0)
            status = run_layer(p, pass->a, &plans[which], pass->queue, at, pass->report);
        last = which;
    }
    for (int i = 0; i < FORMS; i++)
        drop(&plans[i]);
    return status;
}

/* ---- tokens ---- */

/* Embeds `n` ids at the rows from `first` on, at positions of their own or, with `places` NULL, at
 * those of a text. */
static heed_status embed(const struct pass *pass, const int32_t *ids, const int32_t *places,
                         int64_t first, int64_t n)
{
    const struct parameters *const p = pass->p;
    const struct stack *const e = &p->encoder;
    const uint64_t bytes = (uint64_t)n * sizeof *ids;
    heed_buf at[BEGIN_ARGS] = {
        [BEGIN_X] = pass->x, [BEGIN_TOKENS] = e->of[ROLE_TOKENS].weight.buf,
        [BEGIN_POSITIONS] = e->of[ROLE_POSITIONS].weight.buf,
        [BEGIN_TYPES] = e->of[ROLE_TYPES].weight.buf,
        [BEGIN_NORM] = e->of[ROLE_FIRST_NORM].weight.buf,
        [BEGIN_NORM_BIAS] = e->of[ROLE_FIRST_NORM].bias.buf,
    };
    heed_plan *plan = NULL;
    heed_status status;

    at[BEGIN_X].offset += 4 * (uint64_t)(first * p->config.model);
    status = heed_buf_create(p->device, bytes, &at[BEGIN_IDS], pass->report);
    if (status >= 0 && places)
        status = heed_buf_create(p->device, bytes, &at[BEGIN_POS], pass->report);
    if (status >= 0)
        status = heed_buf_write(pass->queue, at[BEGIN_IDS], ids, bytes, pass->report);
    if (status >= 0 && places)
        status = heed_buf_write(pass->queue, at[BEGIN_POS], places, bytes, pass->report);
    if (status >= 0)
        status = stack_begin(p, e, p->device, 1, n, places ? -1 : p->family->first_position,
                             &plan, pass->report);
    if (status >= 0)
        status = heed_plan_run(plan, pass->queue, at, BEGIN_ARGS, NULL, NULL, pass->report);
    if (status >= 0)
        status = heed_queue_wait(pass->queue, pass->report);
    heed_plan_drop(plan);
    heed_buf_destroy(p->device, at[BEGIN_IDS]);
    heed_buf_destroy(p->device, at[BEGIN_POS]);
    return status;
}

/* Ids of texts, whose positions begin anew where there are no more. */
static heed_status embed_texts(const struct pass *pass, const int32_t *ids)
{
    const int64_t room = weights_positions(pass->p, &pass->p->encoder);
    heed_status status;
    int32_t *places;
    int64_t text = 0, begin = 0;

    if (!pass->p->encoder.of[ROLE_POSITIONS].weight.t.ndim || (!pass->texts && pass->n <= room))
        return embed(pass, ids, NULL, pass->a->rows, pass->n);
    places = malloc((size_t)pass->n * sizeof *places);
    if (!places)
        return say_no_memory(pass->report, pass->n * (int64_t)sizeof *places);
    for (int64_t i = 0; i < pass->n; i++) {
        for (; pass->texts && text < pass->texts->n && pass->texts->begins[text] <= i; text++)
            begin = pass->texts->begins[text];
        places[i] = (int32_t)(pass->p->family->first_position + (i - begin) % room);
    }
    status = embed(pass, ids, places, pass->a->rows, pass->n);
    free(places);
    return status;
}

/* ---- rows of the encoder's own ---- */

/* The one step of a draft. */
static heed_status run_draft(const struct pass *pass, struct draft *draft, const heed_buf *at)
{
    const uint32_t n = draft->n_args;
    heed_status status;
    heed_plan *plan;

    status = draft_plan(draft, pass->p->device, &plan);
    if (status < 0)
        return status;
    status = heed_plan_run(plan, pass->queue, at, n, NULL, NULL, pass->report);
    heed_plan_drop(plan);
    return status;
}

/* Rows to where they are wanted, in f32, by a map that changes nothing. */
static heed_status move_rows(const struct pass *pass, uint32_t dtype, heed_buf from, int64_t n,
                             heed_buf to)
{
    struct view x = view_rows(0, 1, n, pass->p->config.model);
    const struct view y = view_rows(1, 1, n, pass->p->config.model);
    const heed_buf at[2] = { from, to };
    struct draft draft;

    x.t.dtype = dtype;
    draft_begin(&draft, 2, 0, pass->report);
    draft_act(&draft, HEED_ACT_NONE, x, NO_VIEW, NO_VIEW, y);
    return run_draft(pass, &draft, at);
}

/* Rows of a table, which LSG gives the norm of embedded tokens. */
static heed_status own_from_table(const struct pass *pass)
{
    const struct param *const table = &pass->p->encoder.of[ROLE_GLOBALS].weight;
    const struct pair *const norm = &pass->p->encoder.of[ROLE_FIRST_NORM];
    const struct view rows = view_rows(0, 1, pass->a->rows, pass->p->config.model);
    const heed_buf at[3] = { pass->x, norm->weight.buf, norm->bias.buf };
    struct draft draft;
    heed_status status;

    if (pass->a->rows > table->t.shape[0])
        return say(pass->report, HEED_E_VALUE, "num_global_tokens", table->t.shape[0],
                   pass->a->rows, "more rows than the table has");
    status = move_rows(pass, table->t.dtype, table->buf, pass->a->rows, pass->x);
    if (status < 0 || norm->weight.t.ndim == 0)
        return status;
    draft_begin(&draft, 3, 0, pass->report);
    draft_norm(&draft, HEED_NORM_LAYER, pass->p->config.eps, rows, view_param(&norm->weight, 1),
               view_param(&norm->bias, 2), rows);
    return run_draft(pass, &draft, at);
}

/* Rows that a checkpoint does not have: tokens at every 64th position. */
static heed_status own_made(const struct pass *pass)
{
    int32_t ids[OWN_ROWS], places[OWN_ROWS];
    const int64_t room = weights_positions(pass->p, &pass->p->encoder);

    for (int64_t i = 0; i < pass->a->rows; i++) {
        const int64_t place = i * OWN_STEP;

        ids[i] = i ? pass->a->mask : pass->a->first;
        places[i] = (int32_t)(pass->p->family->first_position +
                              (place % room + place / room) % room);
    }
    return embed(pass, ids, pass->p->encoder.of[ROLE_POSITIONS].weight.t.ndim ? places : NULL, 0,
                 pass->a->rows);
}

int64_t encoder_shown(const struct attention *attention)
{
    return attention->shown ? attention->rows : 0;
}

/* ---- behind the last layer ---- */

/* The first row of the text becomes the first of the encoder's own. */
static heed_status pool(const struct pass *pass)
{
    heed_buf to = pass->x;

    to.offset += 4 * (uint64_t)(pass->a->rows * pass->p->config.model);
    return move_rows(pass, HEED_F32, pass->x, 1, to);
}

/* The norm behind the last layer, where a family has one, of rows that are shown; else these. */
static heed_status run_end(const struct pass *pass)
{
    const struct parameters *const p = pass->p;
    const struct pair *const norm = &p->encoder.of[ROLE_FINAL_NORM];
    const int64_t hidden = pass->a->rows - encoder_shown(pass->a);
    const int64_t n = pass->n + encoder_shown(pass->a);
    const bool moved = pass->x.handle != pass->states.handle;
    const struct view rows = view_rows(0, 1, n, p->config.model);
    heed_buf at[4] = { pass->x, norm->weight.buf, norm->bias.buf, pass->states };
    struct draft draft;

    at[0].offset += 4 * (uint64_t)(hidden * p->config.model);
    if (norm->weight.t.ndim == 0)
        return moved ? move_rows(pass, HEED_F32, at[0], n, pass->states) : HEED_OK;
    draft_begin(&draft, moved ? 4 : 3, 0, pass->report);
    draft_norm(&draft, p->family->traits & TRAIT_RMS ? HEED_NORM_RMS : HEED_NORM_LAYER,
               p->config.eps, rows, view_param(&norm->weight, 1), view_param(&norm->bias, 2),
               view_rows(moved ? 3 : 0, 1, n, p->config.model));
    return run_draft(pass, &draft, at);
}

/* ---- all of it ---- */

heed_status encoder_check(const struct parameters *p, const struct attention *attention,
                          const int32_t *ids, int64_t n, heed_report *report)
{
    const int64_t room = attention->repeated ? TOKENS_MOST : weights_positions(p, &p->encoder);

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

static heed_status through(const struct pass *pass, const int32_t *ids)
{
    heed_status status = embed_texts(pass, ids);

    if (status >= 0 && pass->a->rows > 0)
        status = pass->a->made ? own_made(pass) : own_from_table(pass);
    if (status >= 0)
        status = run_layers(pass);
    if (status >= 0 && pass->a->pooled)
        status = pool(pass);
    if (status >= 0)
        status = run_end(pass);
    return status >= 0 ? heed_queue_wait(pass->queue, pass->report) : status;
}

bool encoder_joins(const struct attention *attention)
{
    return attention->mechanism == SEES_ALL && attention->rows == 0;
}

heed_status encoder_run(const struct parameters *p, heed_queue *queue,
                        const struct attention *attention, struct past *past,
                        const struct texts *texts, const int32_t *ids, int64_t n, heed_buf states,
                        heed_report *report)
{
    const uint64_t rows = (uint64_t)(attention->rows + n);
    const uint64_t inner = (uint64_t)(p->encoder.heads * p->encoder.head_dim);
    struct pass pass = { .p = p, .a = attention, .past = past, .texts = texts, .queue = queue,
                         .n = n, .x = states, .states = states, .report = report };
    heed_status status = HEED_OK;

    if (attention->rows > encoder_shown(attention))
        status = heed_buf_create(p->device, 4 * rows * (uint64_t)p->config.model, &pass.x, report);
    for (int i = 0; i < ATTENDED && status >= 0; i++)
        status = heed_buf_create(p->device, 4 * rows * inner, &pass.attended[i], report);
    if (status >= 0)
        status = through(&pass, ids);
    if (status >= 0 && past)
        past_count(past, n);
    for (int i = 0; i < ATTENDED; i++)
        heed_buf_destroy(p->device, pass.attended[i]);
    if (pass.x.handle != states.handle)
        heed_buf_destroy(p->device, pass.x);
    return status;
}
