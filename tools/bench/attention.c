/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Self-attention. Contents have variance 1, those of Q variance 4, so that the softmax has
 * something to do.
 */
#include "bench/operation.h"

/* [b][heads][rows][d]; token-major: a row of all heads follows the other. */
static heed_tensor shape(const struct workload *load, int64_t heads, int64_t rows)
{
    heed_tensor t = heed_array4(load->dtype, NULL, load->b, heads, rows, load->d).t;

    if (load->token) {
        t.stride[1] = load->d;
        t.stride[2] = heads * load->d;
    }
    return t;
}

static int64_t query_rows(const struct workload *load)
{
    return load->n > 0 ? load->n : 1;
}

static int64_t key_rows(const struct workload *load)
{
    return load->keys > 0 ? load->keys : load->n;
}

/* What the queries see. */
static void describe(const struct workload *load, heed_attn_desc *desc, heed_source *source,
                     heed_term *window, heed_slot *lengths)
{
    if (load->kind == WORKLOAD_CAUSAL || load->kind == WORKLOAD_PREFILL_CHUNK)
        source->flags = HEED_SOURCE_CAUSAL;
    if (load->kind == WORKLOAD_WINDOW || load->kind == WORKLOAD_PREFILL_CHUNK) {
        source->terms = window;
        source->n_terms = 1;
        source->term_size = sizeof *window;
    }
    if (load->kind == WORKLOAD_PREFILL_CHUNK)
        desc->flags = HEED_ATTN_ALIGN_END;
    if (load->kind == WORKLOAD_DECODE) {
        lengths->t = heed_array_dense(HEED_I64, NULL, 1, &load->b).t;
        desc->flags = HEED_ATTN_ALIGN_END;
        desc->slots = lengths;
        desc->n_slots = 1;
        desc->slot_size = sizeof *lengths;
        source->len_slot = 1;
    }
}

static heed_status plan(struct contender *c, const struct workload *load,
                        struct operation_array *arrays, heed_report *report)
{
    const struct contents none = { CONTENTS_NONE, 0, 0 };
    const struct contents ragged = { CONTENTS_RAGGED, 0, load->keys };
    const int64_t keys = key_rows(load);
    heed_term window = {
        .kind = HEED_TERM_WINDOW, .left = load->w,
        .right = load->kind == WORKLOAD_WINDOW ? load->w : 0,
    };
    heed_slot lengths = { .data = NULL };
    heed_source source = { .k = shape(load, load->hk, keys), .v = shape(load, load->hk, keys) };
    heed_attn_desc desc = {
        .size = sizeof desc, .flags = HEED_ATTN_ALIGN_START,
        .q = shape(load, load->h, query_rows(load)), .o = shape(load, load->h, query_rows(load)),
        .sources = &source, .n_sources = 1, .source_size = sizeof source,
    };
    heed_attn_args *const args = &c->args.attn;

    describe(load, &desc, &source, &window, &lengths);
    *args = (heed_attn_args){
        .size = sizeof *args, .kv = &c->kv, .kv_size = sizeof c->kv, .n_slots = desc.n_slots,
        .slots = &c->slot,
    };
    arrays[0] = (struct operation_array){ desc.q, { CONTENTS_UNIFORM, 2, 0 }, &args->q };
    arrays[1] = (struct operation_array){ source.k, { CONTENTS_UNIFORM, 1, 0 }, &c->kv.k };
    arrays[2] = (struct operation_array){ source.v, { CONTENTS_UNIFORM, 1, 0 }, &c->kv.v };
    arrays[3] = (struct operation_array){ desc.o, none, &args->o };
    arrays[4] = (struct operation_array){ lengths.t, ragged, &c->slot };
    return c->lib->attn_plan(c->device, &desc, &c->plan, report);
}

static heed_status run(struct contender *c, heed_report *report)
{
    c->args.attn.workspace = c->workspace;
    c->args.attn.workspace_size = c->plan_props.workspace_size;
    return c->lib->attn_run(c->plan, c->queue, &c->args.attn, NULL, report);
}

const struct operation operation_attn = { "attn", plan, run };
