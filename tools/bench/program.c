/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The programs: sparse keys are computed, and then attended to. Contents are those of attention.
 */
#include "bench/operation.h"

static const struct contents output = { CONTENTS_NONE, 0, 0 };
static const struct contents queries = { CONTENTS_UNIFORM, 2, 0 };
static const struct contents uniform = { CONTENTS_UNIFORM, 1, 0 };

static heed_tensor rows_of(const struct workload *load, int64_t heads, int64_t rows, int64_t width)
{
    return heed_array4(load->dtype, NULL, load->b, heads, rows, width).t;
}

static heed_keys keys_of(const struct workload *load, int64_t rows)
{
    const heed_tensor t = rows_of(load, load->hk, rows, load->d);

    return rows > 0 ? (heed_keys){ .k = t, .v = t } : (heed_keys){ .k = { .ndim = 0 } };
}

/* The arrays that all have; returns how many. */
static size_t common(struct contender *c, const heed_tensor *q, const heed_keys *text,
                     struct operation_array *arrays)
{
    heed_program_args *const args = &c->args.program;

    args->size = sizeof *args;
    c->run = &args->run;
    arrays[0] = (struct operation_array){ *q, queries, &args->q };
    arrays[1] = (struct operation_array){ *q, output, &args->o };
    arrays[2] = (struct operation_array){ text->k, uniform, &args->text.k };
    arrays[3] = (struct operation_array){ text->v, uniform, &args->text.v };
    return 4;
}

/* LSH: a round with as many hashes as a block has tokens, and one with as many as sparse keys. */
static heed_status plan_lsg(struct contender *c, const struct workload *load,
                            struct operation_array *arrays, heed_report *report)
{
    static const uint32_t kinds[] = {
        [WORKLOAD_LSG_NORM] = HEED_LSG_NORM, [WORKLOAD_LSG_POOLING] = HEED_LSG_POOLING,
        [WORKLOAD_LSG_LSH] = HEED_LSG_LSH, [WORKLOAD_LSG_BOS] = HEED_LSG_BOS_POOLING,
    };
    const int64_t unit = load->sparse < load->block ? load->sparse : load->block;
    const int64_t first[] = { load->hk, load->d, unit / 2 };
    const int64_t last[] = { load->hk, load->d, unit / load->factor / 2 };
    heed_lsg_program_desc desc = {
        .size = sizeof desc, .numerics = c->numerics, .sparsity = kinds[load->kind],
        .q = rows_of(load, load->h, load->n, load->d),
        .o = rows_of(load, load->h, load->n, load->d),
        .text = keys_of(load, load->n), .globals = keys_of(load, load->globals),
        .block = load->block, .factor = load->factor, .sparse_block = load->sparse,
    };
    heed_program_args *const args = &c->args.program;
    size_t n = common(c, &desc.q, &desc.text, arrays);

    if (load->kind == WORKLOAD_LSG_LSH) {
        desc.rounds[0] = heed_array_dense(HEED_F32, NULL, 3, first).t;
        desc.rounds[1] = heed_array_dense(HEED_F32, NULL, 3, last).t;
    }
    arrays[n++] = (struct operation_array){ desc.globals.k, uniform, &args->globals.k };
    arrays[n++] = (struct operation_array){ desc.globals.v, uniform, &args->globals.v };
    arrays[n++] = (struct operation_array){ desc.rounds[0], uniform, &args->rounds[0] };
    arrays[n++] = (struct operation_array){ desc.rounds[1], uniform, &args->rounds[1] };
    return c->lib->lsg_program_plan(c->device, &desc, &c->plan, report);
}

static heed_status plan_poolingformer(struct contender *c, const struct workload *load,
                                      struct operation_array *arrays, heed_report *report)
{
    static const uint32_t kinds[] = {
        [WORKLOAD_POOLINGFORMER2] = HEED_POOLINGFORMER_MEAN,
        [WORKLOAD_POOLINGFORMER2_FIXED] = HEED_POOLINGFORMER_MEAN,
        [WORKLOAD_POOLINGFORMER2_MAX] = HEED_POOLINGFORMER_MAX,
        [WORKLOAD_POOLINGFORMER2_LDCONV] = HEED_POOLINGFORMER_LDCONV,
    };
    heed_program_args *const args = &c->args.program;
    heed_poolingformer_level2_desc desc = {
        .size = sizeof desc, .numerics = c->numerics, .pooling = kinds[load->kind],
        .flags = load->kind == WORKLOAD_POOLINGFORMER2_FIXED
                     ? (uint32_t)HEED_POOLINGFORMER_FIXED_GRID : 0,
        .q = rows_of(load, load->h, load->n, load->d),
        .o = rows_of(load, load->h, load->n, load->d),
        .text = keys_of(load, load->n),
        .window = load->window, .kernel = load->kernel, .stride = load->stride,
    };
    size_t n = common(c, &desc.q, &desc.text, arrays);

    if (load->kind == WORKLOAD_POOLINGFORMER2_LDCONV)
        desc.taps_k = desc.taps_v = rows_of(load, load->hk, load->n, load->kernel);
    arrays[n++] = (struct operation_array){ desc.taps_k, uniform, &args->taps_k };
    arrays[n++] = (struct operation_array){ desc.taps_v, uniform, &args->taps_v };
    return c->lib->poolingformer_level2_plan(c->device, &desc, &c->plan, report);
}

static heed_status run(struct contender *c, heed_report *report)
{
    return c->lib->program_run(c->plan, c->queue, &c->args.program, NULL, report);
}

const struct operation operation_lsg = { "lsg_program", plan_lsg, run, "program" };
const struct operation operation_poolingformer = {
    "poolingformer_level2", plan_poolingformer, run, "program"
};
