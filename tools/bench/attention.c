/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Self-attention. Contents have variance 1, those of Q variance 4, so that the softmax has
 * something to do.
 */
#include "bench/operation.h"

static heed_tensor shape(const struct workload *load, int64_t heads)
{
    return heed_array4(load->dtype, NULL, load->b, heads, load->n, load->d).t;
}

static heed_status plan(struct contender *c, const struct workload *load,
                        struct operation_array *arrays, heed_report *report)
{
    const heed_term window = { .kind = HEED_TERM_WINDOW, .left = load->w, .right = load->w };
    heed_source source = { .k = shape(load, load->hk), .v = shape(load, load->hk) };
    heed_attn_desc desc = {
        .size = sizeof desc, .flags = HEED_ATTN_ALIGN_START,
        .q = shape(load, load->h), .o = shape(load, load->h),
        .sources = &source, .n_sources = 1, .source_size = sizeof source,
    };
    heed_attn_args *const args = &c->args.attn;

    if (load->kind == WORKLOAD_CAUSAL)
        source.flags = HEED_SOURCE_CAUSAL;
    if (load->kind == WORKLOAD_WINDOW) {
        source.terms = &window;
        source.n_terms = 1;
        source.term_size = sizeof window;
    }
    *args = (heed_attn_args){ .size = sizeof *args, .kv = &c->kv, .kv_size = sizeof c->kv };
    arrays[0] = (struct operation_array){ desc.q, { CONTENTS_UNIFORM, 2, 0 }, &args->q };
    arrays[1] = (struct operation_array){ source.k, { CONTENTS_UNIFORM, 1, 0 }, &c->kv.k };
    arrays[2] = (struct operation_array){ source.v, { CONTENTS_UNIFORM, 1, 0 }, &c->kv.v };
    arrays[3] = (struct operation_array){ desc.o, { CONTENTS_NONE, 0, 0 }, &args->o };
    return c->lib->attn_plan(c->device, &desc, &c->plan, report);
}

static heed_status run(struct contender *c, heed_report *report)
{
    c->args.attn.workspace = c->workspace;
    c->args.attn.workspace_size = c->plan_props.workspace_size;
    return c->lib->attn_run(c->plan, c->queue, &c->args.attn, NULL, report);
}

const struct operation operation_attn = { "attn", plan, run };
