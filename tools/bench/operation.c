/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The operations beside attention, each a descriptor and a list of arrays. Floats have variance 1.
 */
#include "bench/operation.h"

#include "common/types.h"

static const struct contents output = { CONTENTS_NONE, 0, 0 };
static const struct contents uniform = { CONTENTS_UNIFORM, 1, 0 };

static heed_tensor rows_of(const struct workload *load, int64_t heads, int64_t rows, int64_t width)
{
    return heed_array4(load->dtype, NULL, load->b, heads, rows, width).t;
}

static heed_tensor axes(uint32_t dtype, uint32_t ndim, int64_t a, int64_t b, int64_t c)
{
    const int64_t extents[] = { a, b, c };

    return heed_array_dense(dtype, NULL, ndim, extents).t;
}

static struct operation_array array(const heed_tensor *t, struct contents what, heed_buf *at)
{
    return (struct operation_array){ *t, what, at };
}

/* Moved rows: as they are, by a shuffled list of sources or places, or into shuffled pages. */
static heed_status plan_copy(struct contender *c, const struct workload *load,
                             struct operation_array *arrays, heed_report *report)
{
    const int64_t pages = load->page > 0 ? (load->n - 1) / load->page + 1 : 0;
    const struct contents shuffled = { CONTENTS_SHUFFLED, 0, load->n };
    const struct contents shuffled_pages = { CONTENTS_SHUFFLED, 0, load->b * pages };
    heed_copy_args *const args = &c->args.copy;
    heed_copy_desc desc = {
        .size = sizeof desc, .numerics = c->numerics,
        .x = rows_of(load, load->h, load->n, load->d),
        .y = rows_of(load, load->h, load->n, load->d),
    };

    if (load->kind == WORKLOAD_COPY_GATHER)
        desc.from = axes(HEED_I32, 3, load->b, 1, load->n);
    if (load->kind == WORKLOAD_COPY_SCATTER)
        desc.to = axes(HEED_I32, 3, load->b, 1, load->n);
    if (load->kind == WORKLOAD_COPY_PAGED) {
        desc.table = axes(HEED_I32, 2, load->b, pages, 0);
        desc.y = heed_array4(load->dtype, NULL, load->b * pages, load->h, load->page, load->d).t;
    }
    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.x, uniform, &args->x);
    arrays[1] = array(&desc.y, output, &args->y);
    arrays[2] = array(&desc.from, shuffled, &args->from);
    arrays[3] = array(&desc.to, shuffled, &args->to);
    arrays[4] = array(&desc.table, shuffled_pages, &args->table);
    return c->lib->copy_plan(c->device, &desc, &c->plan, report);
}

static uint32_t pool_kind(const struct workload *load)
{
    static const uint32_t kinds[] = {
        [WORKLOAD_POOL_SUM] = HEED_POOL_SUM, [WORKLOAD_POOL_MEAN] = HEED_POOL_MEAN,
        [WORKLOAD_POOL_MAX] = HEED_POOL_MAX, [WORKLOAD_POOL_LINEAR] = HEED_POOL_LINEAR,
        [WORKLOAD_POOL_WEIGHTED] = HEED_POOL_WEIGHTED,
        [WORKLOAD_POOL_DYNAMIC] = HEED_POOL_DYNAMIC, [WORKLOAD_POOL_BUCKET] = HEED_POOL_BUCKET,
    };

    return kinds[load->kind];
}

static heed_status plan_pool(struct contender *c, const struct workload *load,
                             struct operation_array *arrays, heed_report *report)
{
    const bool by_id = load->kind == WORKLOAD_POOL_BUCKET;
    const int64_t rows = by_id ? ((load->n - 1) / load->block + 1) * load->buckets
                               : workload_pool_rows(load);
    const struct contents ids = { CONTENTS_BELOW, 0, load->buckets };
    heed_pool_args *const args = &c->args.pool;
    heed_pool_desc desc = {
        .size = sizeof desc, .numerics = c->numerics, .kind = pool_kind(load),
        .kernel = load->kernel, .stride = load->stride,
        .block = load->block, .buckets = load->buckets,
        .x = rows_of(load, load->h, load->n, load->d),
        .y = rows_of(load, load->h, rows, load->d),
    };

    if (by_id)
        desc.ids = axes(HEED_I32, 3, load->b, load->h, load->n);
    if (load->kind == WORKLOAD_POOL_LINEAR || load->kind == WORKLOAD_POOL_WEIGHTED)
        desc.weights = axes(load->dtype, 3, load->b, load->h, load->n);
    if (load->kind == WORKLOAD_POOL_DYNAMIC)
        desc.weights = rows_of(load, load->h, rows, load->kernel);
    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.x, uniform, &args->x);
    arrays[1] = array(&desc.y, output, &args->y);
    arrays[2] = array(&desc.weights, uniform, &args->weights);
    arrays[3] = array(&desc.ids, ids, &args->ids);
    return c->lib->pool_plan(c->device, &desc, &c->plan, report);
}

/* Round 0 of a hash has as many candidates as a block has tokens, the last one as there are
 * buckets. */
static heed_status plan_select(struct contender *c, const struct workload *load,
                               struct operation_array *arrays, heed_report *report)
{
    heed_select_args *const args = &c->args.select;
    heed_select_desc desc = {
        .size = sizeof desc, .numerics = c->numerics, .block = load->block, .count = load->count,
        .x = rows_of(load, load->hk > 0 ? load->hk : load->h, load->n, load->d),
    };

    if (load->kind == WORKLOAD_SELECT_NORM) {
        desc.kind = HEED_SELECT_NORM;
        desc.y = axes(HEED_I32, 3, load->b, load->h,
                      ((load->n - 1) / load->block + 1) * load->count);
    }
    if (load->kind == WORKLOAD_SELECT_TOPK) {
        desc.kind = HEED_SELECT_TOPK;
        desc.q = rows_of(load, load->h, load->queries, load->d);
        desc.y = heed_array4(HEED_I32, NULL, load->b, load->h, load->queries, load->count).t;
    }
    if (load->kind == WORKLOAD_SELECT_HASH) {
        desc.kind = HEED_SELECT_HASH;
        desc.rounds[0] = axes(HEED_F32, 3, load->h, load->d, load->block / 2);
        desc.rounds[1] = axes(HEED_F32, 3, load->h, load->d, load->buckets / 2);
        desc.y = axes(HEED_I32, 3, load->b, load->h, load->n);
    }
    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.x, uniform, &args->x);
    arrays[1] = array(&desc.q, uniform, &args->q);
    arrays[2] = array(&desc.rounds[0], uniform, &args->rounds[0]);
    arrays[3] = array(&desc.rounds[1], uniform, &args->rounds[1]);
    arrays[4] = array(&desc.y, output, &args->y);
    return c->lib->select_plan(c->device, &desc, &c->plan, report);
}

/* The memory is full from the beginning, so that each push throws out as many rows as it takes. */
static heed_status plan_push(struct contender *c, const struct workload *load,
                             struct operation_array *arrays, heed_report *report)
{
    const struct contents zero = { CONTENTS_VALUE, 0, 0 };
    const struct contents full = { CONTENTS_VALUE, 0, load->rows };
    heed_push_args *const args = &c->args.push;
    heed_push_desc desc = {
        .size = sizeof desc, .numerics = c->numerics,
        .rows = rows_of(load, load->h, load->rows, load->d),
        .head = axes(HEED_I64, 1, load->b, 0, 0), .len = axes(HEED_I64, 1, load->b, 0, 0),
        .x = rows_of(load, load->h, load->n, load->d),
        .out = rows_of(load, load->h, load->n, load->d),
    };

    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.rows, uniform, &args->rows);
    arrays[1] = array(&desc.head, zero, &args->head);
    arrays[2] = array(&desc.len, full, &args->len);
    arrays[3] = array(&desc.x, uniform, &args->x);
    arrays[4] = array(&desc.out, output, &args->out);
    return c->lib->push_plan(c->device, &desc, &c->plan, report);
}

static heed_status plan_merge(struct contender *c, const struct workload *load,
                              struct operation_array *arrays, heed_report *report)
{
    const int64_t parts[] = { load->parts, load->b, load->h, load->n, load->d };
    heed_merge_args *const args = &c->args.merge;
    heed_merge_desc desc = {
        .size = sizeof desc, .numerics = c->numerics,
        .parts = heed_array_dense(load->dtype, NULL, 5, parts).t,
        .parts_lse = heed_array_dense(HEED_F32, NULL, 4, parts).t,
        .o = rows_of(load, load->h, load->n, load->d),
        .lse = axes(HEED_F32, 3, load->b, load->h, load->n),
    };

    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.parts, uniform, &args->parts);
    arrays[1] = array(&desc.parts_lse, uniform, &args->parts_lse);
    arrays[2] = array(&desc.o, output, &args->o);
    arrays[3] = array(&desc.lse, output, &args->lse);
    return c->lib->merge_plan(c->device, &desc, &c->plan, report);
}

static heed_status plan_state(struct contender *c, const struct workload *load,
                              struct operation_array *arrays, heed_report *report)
{
    const int64_t width = HEED_STATE_SUMS + load->d;
    const int64_t states[] = { load->parts, load->b, load->h, load->n, width };
    const struct contents left = { CONTENTS_STATES, 0, width };
    heed_state_args *const args = &c->args.state;
    heed_state_desc desc = {
        .size = sizeof desc,
        .numerics = c->numerics,
        .states = heed_array_dense(HEED_F32, NULL, 5, states).t,
        .o = rows_of(load, load->h, load->n, load->d),
        .lse = axes(HEED_F32, 3, load->b, load->h, load->n),
    };

    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.states, left, &args->states);
    arrays[1] = array(&desc.o, output, &args->o);
    arrays[2] = array(&desc.lse, output, &args->lse);
    return c->lib->state_plan(c->device, &desc, &c->plan, report);
}

/* With a residual, as between two layers, or alone. */
static heed_status plan_norm(struct contender *c, const struct workload *load,
                             struct operation_array *arrays, heed_report *report)
{
    heed_norm_args *const args = &c->args.norm;
    heed_norm_desc desc = {
        .size = sizeof desc,
        .numerics = c->numerics,
        .kind = load->kind == WORKLOAD_NORM_RMS ? HEED_NORM_RMS : HEED_NORM_LAYER,
        .eps = 1e-5,
        .x = rows_of(load, load->h, load->n, load->d),
        .weight = axes(HEED_F32, 1, load->d, 0, 0),
        .y = rows_of(load, load->h, load->n, load->d),
    };

    if (load->residual)
        desc.residual = desc.sum = desc.x;
    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.x, uniform, &args->x);
    arrays[1] = array(&desc.residual, uniform, &args->residual);
    arrays[2] = array(&desc.weight, uniform, &args->weight);
    arrays[3] = array(&desc.y, output, &args->y);
    arrays[4] = array(&desc.sum, output, &args->sum);
    return c->lib->norm_plan(c->device, &desc, &c->plan, report);
}

static heed_status plan_rope(struct contender *c, const struct workload *load,
                             struct operation_array *arrays, heed_report *report)
{
    heed_rope_args *const args = &c->args.rope;
    heed_rope_desc desc = {
        .size = sizeof desc,
        .numerics = c->numerics,
        .kind = load->kind == WORKLOAD_ROPE_ADJACENT ? HEED_ROPE_ADJACENT : HEED_ROPE_HALVES,
        .x = rows_of(load, load->h, load->n, load->d),
        .cos = axes(HEED_F32, 2, load->n, load->d / 2, 0),
        .sin = axes(HEED_F32, 2, load->n, load->d / 2, 0),
        .y = rows_of(load, load->h, load->n, load->d),
    };

    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.x, uniform, &args->x);
    arrays[1] = array(&desc.cos, uniform, &args->cos);
    arrays[2] = array(&desc.sin, uniform, &args->sin);
    arrays[3] = array(&desc.y, output, &args->y);
    return c->lib->rope_plan(c->device, &desc, &c->plan, report);
}

/* A gated unit, or the function alone. */
static heed_status plan_act(struct contender *c, const struct workload *load,
                            struct operation_array *arrays, heed_report *report)
{
    heed_act_args *const args = &c->args.act;
    heed_act_desc desc = {
        .size = sizeof desc,
        .numerics = c->numerics,
        .kind = load->kind == WORKLOAD_ACT_GELU ? HEED_ACT_GELU : HEED_ACT_SILU,
        .x = rows_of(load, load->h, load->n, load->d),
        .y = rows_of(load, load->h, load->n, load->d),
    };

    if (load->gated)
        desc.factor = desc.x;
    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.x, uniform, &args->x);
    arrays[1] = array(&desc.factor, uniform, &args->factor);
    arrays[2] = array(&desc.y, output, &args->y);
    return c->lib->act_plan(c->device, &desc, &c->plan, report);
}

/* Factors stay below 1, and keys are about 1 long, as models have them: else the state leaves
 * binary32. */
static heed_status plan_recur(struct contender *c, const struct workload *load,
                              struct operation_array *arrays, heed_report *report)
{
    const bool delta = load->kind == WORKLOAD_RECUR_DELTA;
    const struct contents factors = { CONTENTS_UNIFORM, 0.5f, 0 };
    const struct contents keys = { CONTENTS_UNIFORM, 0.08f, 0 };
    heed_recur_args *const args = &c->args.recur;
    heed_recur_desc desc = {
        .size = sizeof desc,
        .flags = delta ? HEED_RECUR_DELTA : 0,
        .numerics = c->numerics,
        .q = rows_of(load, load->hk, load->n, load->d),
        .k = rows_of(load, load->hk, load->n, load->d),
        .v = rows_of(load, load->h, load->n, load->d),
        .decay = axes(HEED_F32, 3, load->b, load->h, load->n),
        .state = heed_array4(HEED_F32, NULL, load->b, load->h, load->d, load->d).t,
        .o = rows_of(load, load->h, load->n, load->d),
    };

    if (delta)
        desc.beta = axes(HEED_F32, 3, load->b, load->h, load->n);
    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.q, uniform, &args->q);
    arrays[1] = array(&desc.k, keys, &args->k);
    arrays[2] = array(&desc.v, uniform, &args->v);
    arrays[3] = array(&desc.decay, factors, &args->decay);
    arrays[4] = array(&desc.state, uniform, &args->state);
    arrays[5] = array(&desc.o, output, &args->o);
    arrays[6] = array(&desc.beta, factors, &args->beta);
    return c->lib->recur_plan(c->device, &desc, &c->plan, report);
}

/* Tokens alone, or with positions and types. */
static heed_status plan_embed(struct contender *c, const struct workload *load,
                              struct operation_array *arrays, heed_report *report)
{
    const struct contents ids = { CONTENTS_BELOW, 0, load->rows };
    const struct contents types = { CONTENTS_BELOW, 0, 2 };
    heed_embed_args *const args = &c->args.embed;
    heed_embed_desc desc = {
        .size = sizeof desc,
        .numerics = c->numerics,
        .table = axes(load->dtype, 2, load->rows, load->d, 0),
        .ids = axes(HEED_I32, 3, load->b, 1, load->n),
        .y = rows_of(load, load->h, load->n, load->d),
    };

    if (load->kind == WORKLOAD_EMBED_SUM) {
        desc.positions = axes(load->dtype, 2, load->n, load->d, 0);
        desc.types = axes(load->dtype, 2, 2, load->d, 0);
        desc.type_ids = axes(HEED_I32, 3, load->b, 1, load->n);
    }
    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.table, uniform, &args->table);
    arrays[1] = array(&desc.ids, ids, &args->ids);
    arrays[2] = array(&desc.positions, uniform, &args->positions);
    arrays[3] = array(&desc.types, uniform, &args->types);
    arrays[4] = array(&desc.type_ids, types, &args->type_ids);
    arrays[5] = array(&desc.y, output, &args->y);
    return c->lib->embed_plan(c->device, &desc, &c->plan, report);
}

static heed_status plan_order(struct contender *c, const struct workload *load,
                              struct operation_array *arrays, heed_report *report)
{
    const struct contents ids = { CONTENTS_BELOW, 0, load->buckets };
    heed_order_args *const args = &c->args.order;
    heed_order_desc desc = {
        .size = sizeof desc,
        .numerics = c->numerics,
        .count = load->buckets,
        .ids = axes(HEED_I32, 3, load->b, load->h, load->n),
        .order = axes(HEED_I32, 3, load->b, load->h, load->n),
        .place = axes(HEED_I32, 3, load->b, load->h, load->n),
        .starts = axes(HEED_I32, 3, load->b, load->h, load->buckets + 1),
    };

    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.ids, ids, &args->ids);
    arrays[1] = array(&desc.order, output, &args->order);
    arrays[2] = array(&desc.place, output, &args->place);
    arrays[3] = array(&desc.starts, output, &args->starts);
    return c->lib->order_plan(c->device, &desc, &c->plan, report);
}

/* Blocks are of weights alone. */
static heed_status plan_linear(struct contender *c, const struct workload *load,
                               struct operation_array *arrays, heed_report *report)
{
    const uint32_t rows = type_elements(load->dtype) > 1 ? HEED_F32 : load->dtype;
    heed_linear_args *const args = &c->args.linear;
    heed_linear_desc desc = {
        .size = sizeof desc,
        .numerics = c->numerics,
        .x = heed_array4(rows, NULL, load->b, load->h, load->n, load->d).t,
        .w = axes(load->dtype, 2, load->out, load->d, 0),
        .bias = axes(HEED_F32, 1, load->out, 0, 0),
        .y = heed_array4(rows, NULL, load->b, load->h, load->n, load->out).t,
    };

    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.x, uniform, &args->x);
    arrays[1] = array(&desc.w, uniform, &args->w);
    arrays[2] = array(&desc.bias, uniform, &args->bias);
    arrays[3] = array(&desc.y, output, &args->y);
    return c->lib->linear_plan(c->device, &desc, &c->plan, report);
}

static heed_status plan_gate(struct contender *c, const struct workload *load,
                             struct operation_array *arrays, heed_report *report)
{
    heed_gate_args *const args = &c->args.gate;
    heed_gate_desc desc = {
        .size = sizeof desc,
        .numerics = c->numerics,
        .memory = rows_of(load, load->h, load->n, load->d),
        .update = rows_of(load, load->h, load->n, load->d),
        .gate = rows_of(load, load->h, load->n, load->d),
        .y = rows_of(load, load->h, load->n, load->d),
    };

    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = array(&desc.memory, uniform, &args->memory);
    arrays[1] = array(&desc.update, uniform, &args->update);
    arrays[2] = array(&desc.gate, uniform, &args->gate);
    arrays[3] = array(&desc.y, output, &args->y);
    return c->lib->gate_plan(c->device, &desc, &c->plan, report);
}

#define RUN(NAME, name)                                                                            \
    static heed_status run_##name(struct contender *c, heed_report *report)                        \
    {                                                                                              \
        return c->lib->name##_run(c->plan, c->queue, &c->args.name, NULL, report);                 \
    }
BENCH_OPERATIONS(RUN)

const struct operation *operation_of(const struct workload *load)
{
    static const struct operation operations[] = {
#define ROW(NAME, name) [OPERATION_##NAME] = { #name, plan_##name, run_##name, NULL },
        BENCH_OPERATIONS(ROW)
#undef ROW
    };
    const enum workload_operation id = workload_operation(load);

    if (id == OPERATION_LSG || id == OPERATION_POOLINGFORMER)
        return id == OPERATION_LSG ? &operation_lsg : &operation_poolingformer;
    return id == OPERATION_ATTN ? &operation_attn : &operations[id];
}
