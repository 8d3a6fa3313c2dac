/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "decoder.h"

#include "encoder.h"
#include "layer.h"
#include "say.h"

#include <heed/memory.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Arrays of a layer's program. */
enum {
    ARG_X,
    ARG_TABLE,                 /* Of relative positions. */
    ARG_PAGES,
    ARG_AT,
    ARG_LENGTHS,
    ARG_K,
    ARG_V,
    ARG_CROSS_K,
    ARG_CROSS_V,
    ARG_GROUPS,                /* Of the text's tokens, as values; what rows give them. */
    ARG_SHARES,
    ARG_WEIGHTS,
    ARGS = ARG_WEIGHTS + LAYER_ARGS
};
enum { T_NORM = ARGS, T_Q, T_K, T_V, T_O, T_SLICE, T_UP, T_GATE, T_END };
enum { END_X, END_NORM, END_NORM_BIAS, END_HEAD, END_BIAS, END_LOGITS, END_ARGS };
enum { CROSS_STATES, CROSS_OUT, CROSS_WEIGHTS, CROSS_ARGS = CROSS_WEIGHTS + LAYER_ARGS };

/* ---- a layer ---- */

static struct view index_view(uint32_t array, uint32_t ndim, int64_t first, int64_t second)
{
    const int64_t shape[2] = { first, second };

    return (struct view){ array, 0, heed_array_dense(HEED_I32, NULL, ndim, shape).t };
}

/* Pages of one row each: [pages][heads][1][d]. */
static struct view page_view(const struct decoder *dec, uint32_t array)
{
    const struct stack *const stack = &dec->p->decoder;

    return view_heads(view_rows(array, dec->batch * dec->most, 1, stack->heads * stack->head_dim),
                      stack->heads);
}

static struct view pages_of(const struct decoder *dec)
{
    return index_view(ARG_PAGES, 2, dec->batch, dec->most);
}

/* The rows of x to their pages. */
static void keep(struct sketch *s, const struct decoder *dec, struct view x, uint32_t array)
{
    heed_copy_desc *desc = draft_memory(&s->draft, sizeof *desc);
    heed_copy_args *args = draft_memory(&s->draft, sizeof *args);

    if (!args)
        return;
    *desc = (heed_copy_desc){ .size = sizeof *desc, .x = view_heads(x, s->stack->heads).t,
                              .y = page_view(dec, array).t,
                              .at = index_view(ARG_AT, 1, dec->batch, 0).t,
                              .table = pages_of(dec).t };
    *args = (heed_copy_args){ .size = sizeof *args, .x = heed_program_array(x.array, 0),
                              .y = heed_program_array(array, 0),
                              .at = heed_program_array(ARG_AT, 0),
                              .table = heed_program_array(ARG_PAGES, 0) };
    draft_step(&s->draft, "copy", desc, args);
}

static struct view part_of(const struct sketch *s, uint32_t array, struct view rows)
{
    return view_rows(array, rows.t.shape[0], rows.t.shape[2],
                     s->stack->heads * s->stack->head_dim);
}

static void see_tokens(struct sketch *s, const struct decoder *dec, struct view x)
{
    const struct view q = part_of(s, T_Q, x), k = part_of(s, T_K, x), v = part_of(s, T_V, x);
    struct seeing seeing = {
        .q = view_heads(q, s->stack->heads), .k = page_view(dec, ARG_K),
        .v = page_view(dec, ARG_V), .o = view_heads(part_of(s, T_O, x), s->stack->heads),
        .causal = true, .table = NO_VIEW, .pages = pages_of(dec),
        .lengths = index_view(ARG_LENGTHS, 1, dec->batch, 0),
    };

    layer_map(s, ROLE_Q, x, HEED_ACT_NONE, NO_VIEW, q);
    layer_map(s, ROLE_K, x, HEED_ACT_NONE, NO_VIEW, k);
    layer_map(s, ROLE_V, x, HEED_ACT_NONE, NO_VIEW, v);
    keep(s, dec, k, ARG_K);
    keep(s, dec, v, ARG_V);
    if (s->p->family->traits & TRAIT_RELATIVE) {
        seeing.table = view_param(&s->stack->of[ROLE_TABLE].weight, ARG_TABLE);
        seeing.map = layer_buckets(s, true, &seeing.map_length);
    }
    layer_attend(s, &seeing);
}

/* The text's keys are the same for all sequences: one batch item. */
static struct view text_view(const struct stack *stack, uint32_t array, int64_t n)
{
    return view_heads(view_rows(array, 1, n, stack->heads * stack->head_dim), stack->heads);
}

/* The same attention with other values: 1 in the channel of a token's group is what it gives to the
 * group. All heads have these values, and so do all layers. */
static void see_groups(struct sketch *s, const struct watch *watch, int64_t n,
                       const struct seeing *text)
{
    const int64_t heads = s->stack->heads, rows = text->q.t.shape[2];
    struct seeing seeing = *text;

    seeing.v = (struct view){ ARG_GROUPS, 0,
                              heed_array4(HEED_F32, NULL, 1, heads, n, watch->groups).t };
    seeing.v.t.stride[1] = 0;
    seeing.o = (struct view){ ARG_SHARES, 0,
                              heed_array4(HEED_F32, NULL, 1, heads, rows, watch->groups).t };
    layer_attend(s, &seeing);
}

static void see_text(struct sketch *s, const struct watch *watch, struct view x, int64_t n)
{
    const struct view q = part_of(s, T_Q, x);
    const struct seeing seeing = {
        .q = view_heads(q, s->stack->heads), .k = text_view(s->stack, ARG_CROSS_K, n),
        .v = text_view(s->stack, ARG_CROSS_V, n),
        .o = view_heads(part_of(s, T_O, x), s->stack->heads), .table = NO_VIEW, .pages = NO_VIEW,
        .lengths = NO_VIEW, .unscaled = s->p->family->traits & TRAIT_RELATIVE,
    };

    layer_map(s, ROLE_CROSS_Q, x, HEED_ACT_NONE, NO_VIEW, q);
    layer_attend(s, &seeing);
    if (watch)
        see_groups(s, watch, n, &seeing);
}

static void layer(struct sketch *s, const struct decoder *dec, int64_t n)
{
    const bool first = s->p->family->traits & TRAIT_NORM_FIRST;
    const struct view rows = view_rows(ARG_X, dec->batch, dec->rows, s->p->config.model);
    const struct view normed = view_rows(T_NORM, dec->batch, dec->rows, s->p->config.model);
    const struct view x = first ? normed : rows;

    if (first)
        layer_norm(s, ROLE_NORM, rows, x);
    see_tokens(s, dec, x);
    layer_map(s, ROLE_O, part_of(s, T_O, rows), HEED_ACT_NONE, rows, rows);
    layer_norm(s, first ? ROLE_CROSS_NORM : ROLE_NORM, rows, x);
    see_text(s, dec->watch, x, n);
    layer_map(s, ROLE_CROSS_O, part_of(s, T_O, rows), HEED_ACT_NONE, rows, rows);
    if (!first)
        layer_norm(s, ROLE_CROSS_NORM, rows, rows);
    layer_hidden(s, rows);
}

static heed_status plan_layer(struct decoder *dec, int64_t n, heed_report *report)
{
    struct sketch s = { .p = dec->p, .stack = &dec->p->decoder, .weights = ARG_WEIGHTS,
                        .temps = { T_SLICE, T_UP, T_GATE } };

    draft_begin(&s.draft, ARGS, T_END - ARGS, report);
    layer(&s, dec, n);
    return draft_plan(&s.draft, dec->p->device, &dec->layer);
}

/* ---- behind the last layer ---- */

static heed_status plan_end(struct decoder *dec, heed_report *report)
{
    const struct parameters *const p = dec->p;
    const struct pair *const norm = &p->decoder.of[ROLE_FINAL_NORM];
    const struct view x = view_rows(END_X, dec->batch, dec->rows, p->config.model);
    struct draft draft;

    draft_begin(&draft, END_ARGS, 0, report);
    if (norm->weight.t.ndim)
        draft_norm(&draft, p->family->traits & TRAIT_RMS ? HEED_NORM_RMS : HEED_NORM_LAYER,
                   p->config.eps, x, view_param(&norm->weight, END_NORM),
                   view_param(&norm->bias, END_NORM_BIAS), x);
    draft_linear(&draft, x, view_param(&p->head.weight, END_HEAD),
                 view_param(&p->head.bias, END_BIAS), HEED_ACT_NONE, NO_VIEW,
                 view_rows(END_LOGITS, dec->batch, dec->rows, p->config.vocab));
    return draft_plan(&draft, p->device, &dec->end);
}

/* ---- the text ---- */

/* Keys and values of the text, of one layer. */
static heed_status cross(struct decoder *dec, heed_buf states, int64_t n, heed_report *report)
{
    const struct stack *const stack = &dec->p->decoder;
    const struct view x = view_rows(CROSS_STATES, 1, n, dec->p->config.model);
    const struct view y = view_rows(CROSS_OUT, 1, n, stack->heads * stack->head_dim);
    heed_status status = HEED_OK;

    for (int part = 0; part < 2 && status >= 0; part++) {
        struct sketch s = { .p = dec->p, .stack = stack, .weights = CROSS_WEIGHTS };
        heed_plan *plan = NULL;

        draft_begin(&s.draft, CROSS_ARGS, 0, report);
        layer_map(&s, part ? ROLE_CROSS_V : ROLE_CROSS_K, x, HEED_ACT_NONE, NO_VIEW, y);
        status = draft_plan(&s.draft, dec->p->device, &plan);
        for (int64_t i = 0; i < stack->n_layers && status >= 0; i++) {
            heed_buf at[CROSS_ARGS] = { [CROSS_STATES] = states };

            at[CROSS_OUT] = dec->cross[2 * i + part];
            layer_bind(&stack->layers[i], at + CROSS_WEIGHTS);
            status = heed_plan_run(plan, dec->queue, at, CROSS_ARGS, NULL, NULL, report);
        }
        if (status >= 0)
            status = heed_queue_wait(dec->queue, report);
        heed_plan_drop(plan);
    }
    return status;
}

heed_status decoder_check(const struct parameters *p, const int32_t *ids, int64_t n,
                          heed_report *report)
{
    const int64_t room = weights_positions(p, &p->decoder);

    if (n < 1 || n > room)
        return say(report, HEED_E_VALUE, "m", room, n, "%lld tokens: 1 to %lld", (long long)n,
                   (long long)room);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= p->config.vocab)
            return say(report, HEED_E_VALUE, "next", p->config.vocab, ids[i],
                       "id %d of token %lld is none of the model's %lld", (int)ids[i],
                       (long long)i, (long long)p->config.vocab);
    return HEED_OK;
}

/* ---- memory ---- */

static heed_status buffers(struct decoder *dec, int64_t n, heed_report *report)
{
    const struct parameters *const p = dec->p;
    const int64_t inner = p->decoder.heads * p->decoder.head_dim, all = dec->batch * dec->rows;
    const struct {
        heed_buf *buf;
        int64_t elements;
    } wanted[] = { { &dec->x, all * p->config.model }, { &dec->ids, all }, { &dec->places, all },
                   { &dec->at, dec->batch }, { &dec->lengths, dec->batch },
                   { &dec->pages, dec->batch * dec->most },
                   { &dec->logits, all * p->config.vocab } };
    const int64_t layers = p->decoder.n_layers;
    heed_status status = HEED_OK;

    dec->cross = calloc((size_t)(2 * layers) + 1, sizeof *dec->cross);
    dec->caches = calloc((size_t)(2 * layers) + 1, sizeof *dec->caches);
    dec->table = calloc((size_t)(dec->batch * dec->most) + 1, sizeof *dec->table);
    if (!dec->cross || !dec->caches || !dec->table)
        return say_no_memory(report, dec->batch * dec->most * (int64_t)sizeof *dec->table);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status >= 0; i++)
        status = heed_buf_create(p->device, 4 * (uint64_t)wanted[i].elements, wanted[i].buf,
                                 report);
    for (int64_t i = 0; i < 2 * layers && status >= 0; i++) {
        status = heed_buf_create(p->device, 4 * (uint64_t)(n * inner), &dec->cross[i], report);
        if (status >= 0)
            status = heed_buf_create(p->device, 4 * (uint64_t)(dec->batch * dec->most * inner),
                                     &dec->caches[i], report);
    }
    return status;
}

heed_status decoder_open(struct decoder *dec, const struct parameters *p, heed_queue *queue,
                         heed_buf states, int64_t n, int64_t batch, int64_t rows, int64_t most,
                         struct watch *watch, heed_report *report)
{
    heed_status status;

    *dec = (struct decoder){ .p = p, .queue = queue, .batch = batch, .rows = rows, .most = most,
                             .watch = watch };
    if (batch > INT32_MAX / most)
        return say(report, HEED_E_OVERFLOW, "beams", INT32_MAX / most, batch,
                   "%lld sequences of %lld tokens", (long long)batch, (long long)most);
    status = buffers(dec, n, report);
    if (status >= 0)
        status = cross(dec, states, n, report);
    if (status >= 0)
        status = stack_begin(p, &p->decoder, p->device, batch, rows, -1, &dec->begin, report);
    if (status >= 0)
        status = plan_layer(dec, n, report);
    if (status >= 0)
        status = plan_end(dec, report);
    if (status < 0)
        decoder_close(dec);
    return status;
}

void decoder_close(struct decoder *dec)
{
    const heed_buf own[] = { dec->x, dec->ids, dec->places, dec->at, dec->lengths, dec->pages,
                             dec->logits };

    if (!dec->p)
        return;
    heed_plan_drop(dec->begin);
    heed_plan_drop(dec->layer);
    heed_plan_drop(dec->end);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        heed_buf_destroy(dec->p->device, own[i]);
    for (int64_t i = 0; i < 2 * dec->p->decoder.n_layers; i++) {
        if (dec->cross)
            heed_buf_destroy(dec->p->device, dec->cross[i]);
        if (dec->caches)
            heed_buf_destroy(dec->p->device, dec->caches[i]);
    }
    free(dec->cross);
    free(dec->caches);
    free(dec->table);
    *dec = (struct decoder){ .p = NULL };
}

/* ---- a step ---- */

/* Positions, places and pages of the next rows. */
static heed_status where(struct decoder *dec, const int32_t *ids, int64_t first,
                         heed_report *report)
{
    const int64_t rows = dec->rows, all = dec->batch * rows;
    int32_t *const numbers = malloc((size_t)(all + 2 * dec->batch) * sizeof *numbers);
    heed_status status;

    if (!numbers)
        return say_no_memory(report, (all + 2 * dec->batch) * (int64_t)sizeof *numbers);
    for (int64_t b = 0; b < dec->batch; b++) {
        for (int64_t i = 0; i < rows; i++) {
            numbers[b * rows + i] = (int32_t)(dec->p->family->first_position + first + i);
            dec->table[b * dec->most + first + i] = (int32_t)((first + i) * dec->batch + b);
        }
        numbers[all + b] = (int32_t)first;
        numbers[all + dec->batch + b] = (int32_t)(first + rows);
    }
    status = heed_buf_write(dec->queue, dec->places, numbers, (uint64_t)all * 4, report);
    if (status >= 0)
        status = heed_buf_write(dec->queue, dec->at, numbers + all, (uint64_t)dec->batch * 4,
                                report);
    if (status >= 0)
        status = heed_buf_write(dec->queue, dec->lengths, numbers + all + dec->batch,
                                (uint64_t)dec->batch * 4, report);
    if (status >= 0)
        status = heed_buf_write(dec->queue, dec->pages, dec->table,
                                (uint64_t)(dec->batch * dec->most) * 4, report);
    if (status >= 0)
        status = heed_buf_write(dec->queue, dec->ids, ids, (uint64_t)all * 4, report);
    free(numbers);
    return status;
}

static heed_status run_begin(struct decoder *dec, heed_report *report)
{
    const struct stack *const d = &dec->p->decoder;
    const heed_buf at[BEGIN_ARGS] = {
        [BEGIN_X] = dec->x, [BEGIN_IDS] = dec->ids, [BEGIN_POS] = dec->places,
        [BEGIN_TOKENS] = d->of[ROLE_TOKENS].weight.buf,
        [BEGIN_POSITIONS] = d->of[ROLE_POSITIONS].weight.buf,
        [BEGIN_NORM] = d->of[ROLE_FIRST_NORM].weight.buf,
        [BEGIN_NORM_BIAS] = d->of[ROLE_FIRST_NORM].bias.buf,
    };

    return heed_plan_run(dec->begin, dec->queue, at, BEGIN_ARGS, NULL, NULL, report);
}

static heed_status run_layers(struct decoder *dec, heed_report *report)
{
    const struct stack *const d = &dec->p->decoder;
    heed_status status = HEED_OK;

    for (int64_t i = 0; i < d->n_layers && status >= 0; i++) {
        heed_buf at[ARGS] = {
            [ARG_X] = dec->x, [ARG_TABLE] = d->of[ROLE_TABLE].weight.buf, [ARG_PAGES] = dec->pages,
            [ARG_AT] = dec->at, [ARG_LENGTHS] = dec->lengths, [ARG_K] = dec->caches[2 * i],
            [ARG_V] = dec->caches[2 * i + 1], [ARG_CROSS_K] = dec->cross[2 * i],
            [ARG_CROSS_V] = dec->cross[2 * i + 1],
        };

        if (dec->watch) {
            at[ARG_GROUPS] = dec->watch->values;
            at[ARG_SHARES] = dec->watch->shares;
        }
        layer_bind(&d->layers[i], at + ARG_WEIGHTS);
        status = heed_plan_run(dec->layer, dec->queue, at, ARGS, NULL, NULL, report);
        if (status >= 0 && dec->watch)
            status = watch_take(dec->watch, dec, report);
    }
    return status;
}

heed_status decoder_step(struct decoder *dec, const int32_t *ids, int64_t first, float *logits,
                         heed_report *report)
{
    const struct parameters *const p = dec->p;
    const struct pair *const norm = &p->decoder.of[ROLE_FINAL_NORM];
    const int64_t elements = dec->batch * dec->rows * p->config.vocab;
    const heed_buf at[END_ARGS] = { dec->x, norm->weight.buf, norm->bias.buf, p->head.weight.buf,
                                    p->head.bias.buf, dec->logits };
    heed_status status = where(dec, ids, first, report);

    if (status >= 0)
        status = run_begin(dec, report);
    if (status >= 0)
        status = run_layers(dec, report);
    if (status >= 0 && !logits)
        return heed_queue_wait(dec->queue, report);
    if (status >= 0)
        status = heed_plan_run(dec->end, dec->queue, at, END_ARGS, NULL, NULL, report);
    if (status >= 0)
        status = heed_buf_read(dec->queue, logits, dec->logits, (uint64_t)elements * 4, report);
    if (status >= 0 && p->tied && (p->family->traits & TRAIT_SCALED) && p->config.scale_outputs)
        for (int64_t i = 0; i < elements; i++)
            logits[i] *= (float)(1 / sqrt((double)p->config.model));
    return status;
}

heed_status decoder_choose(struct decoder *dec, const int32_t *parents, int64_t length,
                           heed_report *report)
{
    const size_t bytes = (size_t)(dec->batch * dec->most) * sizeof *dec->table;
    int32_t *const before = malloc(bytes);

    if (!before)
        return say_no_memory(report, (int64_t)bytes);
    memcpy(before, dec->table, bytes);
    for (int64_t b = 0; b < dec->batch; b++)
        memcpy(dec->table + b * dec->most, before + parents[b] * dec->most,
               (size_t)length * sizeof *before);
    free(before);
    return HEED_OK;
}
