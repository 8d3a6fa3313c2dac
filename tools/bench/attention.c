/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Self-attention. Contents have variance 1, those of Q variance 4, so that the softmax has
 * something to do.
 */
#include "bench/operation.h"

#include <string.h>

/* [b][heads][rows][d]; token-major: a row of all heads follows the other. */
static heed_tensor shape(const struct workload *load, uint32_t dtype, int64_t heads, int64_t rows)
{
    heed_tensor t = heed_array4(dtype, NULL, load->b, heads, rows, load->d).t;

    if (load->token) {
        t.stride[1] = load->d;
        t.stride[2] = heads * load->d;
    }
    return t;
}

/* Q and O; beside keys of a byte they are f32. Those of `ragged` are [h][rows of all items][d]. */
static heed_tensor query_shape(const struct workload *load)
{
    const uint32_t dtype = workload_bytes(load) ? HEED_F32 : load->dtype;
    const int64_t packed[] = { load->h, workload_rows_before(load->n, load->b), load->d };

    if (load->kind == WORKLOAD_RAGGED)
        return heed_array_dense(dtype, NULL, 3, packed).t;
    return shape(load, dtype, load->h, load->n > 0 ? load->n : 1);
}

static int64_t key_rows(const struct workload *load)
{
    return load->keys > 0 ? load->keys : load->n;
}

static int64_t pages_of(const struct workload *load, int64_t keys)
{
    return load->page > 0 ? (keys + load->page - 1) / load->page : 0;
}

/* Entries of an item's table. */
static int64_t page_count(const struct workload *load)
{
    const int64_t own = load->kind == WORKLOAD_PREFIX ? load->own : 0;

    return pages_of(load, load->keys) + pages_of(load, own);
}

/* K or V: rows of items, or [pages][hk][page][d] shared by all of them; in panels it lies
 * [pages][hk][d][page]. */
static heed_tensor cache_shape(const struct workload *load, bool panels)
{
    heed_tensor t;
    struct workload pages = *load;

    if (load->page == 0)
        return shape(load, load->dtype, load->hk, key_rows(load));
    pages.b *= page_count(load);
    t = shape(&pages, load->dtype, load->hk, load->page);
    if (panels) {
        t.stride[2] = 1;
        t.stride[3] = load->page;
    }
    return t;
}

enum {
    SLOT_LENGTHS, SLOT_PAGES, SLOT_K_SCALE, SLOT_V_SCALE, SLOT_ROWS, SLOT_BEGINS, N_SLOTS,
    SLOT_LISTS = SLOT_LENGTHS
};

/* Bytes of the magnitudes that CONTENTS_UNIFORM gives them become numbers of variance 1. */
static const float scale_deviation = 1 / 73.3f;

/* Ragged caches, of `ragged` also queries: slots of their lengths, of the tables of their pages and
 * of the scales of bytes; those that are not needed are one number. */
static void describe_caches(const struct workload *load, heed_attn_desc *desc, heed_source *source,
                            heed_slot slots[N_SLOTS])
{
    const int64_t table[] = { load->b, page_count(load) };

    const int64_t scales[] = { source->k.shape[0], load->hk, source->k.shape[2] };

    slots[SLOT_LENGTHS].t = heed_array_dense(HEED_I64, NULL, 1, &load->b).t;
    desc->flags = HEED_ATTN_ALIGN_END;
    desc->slots = slots;
    desc->n_slots = 1;
    desc->slot_size = sizeof *slots;
    source->len_slot = 1 + SLOT_LENGTHS;
    if (load->page > 0) {
        slots[SLOT_PAGES].t = heed_array_dense(HEED_I32, NULL, 2, table).t;
        desc->n_slots = 1 + SLOT_PAGES;
        source->layout = HEED_LAYOUT_PAGED;
        source->slot = 1 + SLOT_PAGES;
    }
    if (workload_scaled(load)) {
        slots[SLOT_K_SCALE].t = heed_array_dense(HEED_F32, NULL, 3, scales).t;
        slots[SLOT_V_SCALE].t = slots[SLOT_K_SCALE].t;
        desc->n_slots = 1 + SLOT_V_SCALE;
        source->k_scale_slot = 1 + SLOT_K_SCALE;
        source->v_scale_slot = 1 + SLOT_V_SCALE;
    }
    if (load->kind == WORKLOAD_RAGGED) {
        slots[SLOT_ROWS].t = slots[SLOT_BEGINS].t = slots[SLOT_LENGTHS].t;
        desc->n_slots = N_SLOTS;
        desc->q_layout = HEED_LAYOUT_RAGGED;
        desc->q_slot = 1 + SLOT_BEGINS;
        desc->q_len_slot = 1 + SLOT_ROWS;
    }
}

/* Lists of a key head each, for every `rows` rows. */
static void describe_lists(const struct workload *load, heed_attn_desc *desc, heed_source *source,
                           heed_slot *list)
{
    list->t = heed_array4(HEED_I32, NULL, load->b, load->hk, (load->n - 1) / load->rows + 1,
                          load->count).t;
    desc->slots = list;
    desc->n_slots = 1;
    desc->slot_size = sizeof *list;
    source->layout = HEED_LAYOUT_LISTED;
    source->slot = 1;
    source->run = (int32_t)load->run;
    source->rows = (int32_t)load->rows;
}

/* Keys of all items, then those that each has of its own, which may be none; both on the pages that
 * tables name, if there are pages. */
static void describe_prefix(const struct workload *load, heed_attn_desc *desc,
                            heed_source source[2], heed_slot slots[N_SLOTS])
{
    if (load->page > 0) {
        describe_caches(load, desc, source, slots);
        return;
    }
    source[1].k = source[1].v = heed_array4(load->dtype, NULL, load->b, load->hk, load->own,
                                            load->d).t;
    source[0].k = source[0].v = heed_array4(load->dtype, NULL, 1, load->hk, load->keys, load->d).t;
    desc->n_sources = load->own > 0 ? 2 : 1;
}

/* Rows and keys of a pattern. Its constants go into the plan. */
static heed_status plan_mechanism(struct contender *c, const struct workload *load,
                                  struct operation_array *arrays, heed_report *report)
{
    static const struct contents queries = { CONTENTS_UNIFORM, 2, 0 };
    static const struct contents keys = { CONTENTS_UNIFORM, 1, 0 }, none = { CONTENTS_NONE, 0, 0 };
    heed_attn_args *const args = &c->args.attn;
    struct pattern pattern;
    heed_status status = pattern_make(&load->pattern, &pattern, report);

    if (status < 0)
        return status;
    c->n_sources = pattern.m.desc.n_sources;
    memcpy(c->set, pattern.m.keys, sizeof c->set);
    args->n_slots = pattern.m.desc.n_slots;
    arrays[0] = (struct operation_array){ pattern.m.desc.q, queries, &args->q };
    arrays[1] = (struct operation_array){ pattern.m.desc.o, none, &args->o };
    for (uint32_t i = 0; i < pattern.n_sets; i++) {
        arrays[2 + 2 * i] = (struct operation_array){ pattern.sets[i], keys, &c->pairs[i].k };
        arrays[3 + 2 * i] = (struct operation_array){ pattern.sets[i], keys, &c->pairs[i].v };
    }
    pattern.m.desc.numerics = c->numerics;
    status = c->lib->attn_plan(c->device, &pattern.m.desc, &c->plan, report);
    pattern_free(&pattern);
    return status;
}

/* What the queries see. */
static void describe(const struct workload *load, heed_attn_desc *desc, heed_source *source,
                     heed_term *window)
{
    if (load->kind == WORKLOAD_CAUSAL || load->kind == WORKLOAD_PREFILL_CHUNK
        || load->kind == WORKLOAD_RAGGED)
        source->flags = HEED_SOURCE_CAUSAL;
    if (load->kind == WORKLOAD_WINDOW || load->kind == WORKLOAD_PREFILL_CHUNK) {
        source->terms = window;
        source->n_terms = 1;
        source->term_size = sizeof *window;
    }
    if (load->kind == WORKLOAD_PREFILL_CHUNK)
        desc->flags = HEED_ATTN_ALIGN_END;
}

static heed_status plan(struct contender *c, const struct workload *load,
                        struct operation_array *arrays, heed_report *report)
{
    const struct contents ragged = { CONTENTS_RAGGED, 0, load->keys };
    const struct contents rows = { CONTENTS_ROWS, 0, load->n };
    const struct contents before = { CONTENTS_ROWS_BEFORE, 0, load->n };
    const struct contents keys = { CONTENTS_UNIFORM, 1, 0 };
    const struct contents scales = { CONTENTS_UNIFORM, scale_deviation, 0 };
    const struct contents lists = { CONTENTS_BELOW, 0, load->run > 0 ? load->keys / load->run : 1 };
    const struct contents shuffled = { CONTENTS_SHUFFLED, 0, load->b * page_count(load) };
    const struct contents prefix = { CONTENTS_PREFIX, 0, pages_of(load, load->keys) };
    const struct contents all = { CONTENTS_VALUE, 0, load->keys + load->own };
    const bool shares = load->kind == WORKLOAD_PREFIX;
    heed_term window = {
        .kind = HEED_TERM_WINDOW, .left = load->w,
        .right = load->kind == WORKLOAD_WINDOW ? load->w : 0,
    };
    heed_slot slots[N_SLOTS] = { { .data = NULL } };
    heed_source source[2] = { {
        .k = cache_shape(load, load->panels != 0), .v = cache_shape(load, false),
    } };
    heed_attn_desc desc = {
        .size = sizeof desc, .numerics = c->numerics, .flags = HEED_ATTN_ALIGN_START,
        .q = query_shape(load), .o = query_shape(load),
        .sources = source, .n_sources = 1, .source_size = sizeof *source,
    };
    heed_attn_args *const args = &c->args.attn;

    *args = (heed_attn_args){
        .size = sizeof *args, .kv = c->kv, .kv_size = sizeof *c->kv, .slots = c->slots,
    };
    if (load->kind == WORKLOAD_MECHANISM)
        return plan_mechanism(c, load, arrays, report);
    describe(load, &desc, &source[0], &window);
    if (load->kind == WORKLOAD_DECODE || load->kind == WORKLOAD_RAGGED)
        describe_caches(load, &desc, &source[0], slots);
    if (load->kind == WORKLOAD_LISTED)
        describe_lists(load, &desc, &source[0], &slots[SLOT_LISTS]);
    if (load->kind == WORKLOAD_PREFIX)
        describe_prefix(load, &desc, source, slots);
    c->n_sources = desc.n_sources;
    c->set[1] = 1;
    args->n_slots = desc.n_slots;
    arrays[0] = (struct operation_array){ desc.q, { CONTENTS_UNIFORM, 2, 0 }, &args->q };
    arrays[1] = (struct operation_array){ source[0].k, keys, &c->pairs[0].k };
    arrays[2] = (struct operation_array){ source[0].v, keys, &c->pairs[0].v };
    arrays[3] = (struct operation_array){ desc.o, { CONTENTS_NONE, 0, 0 }, &args->o };
    arrays[4] = (struct operation_array){ slots[SLOT_LENGTHS].t,
                                          load->kind == WORKLOAD_LISTED ? lists
                                          : shares                      ? all
                                                                        : ragged,
                                          &c->slots[SLOT_LENGTHS] };
    arrays[5] = (struct operation_array){ slots[SLOT_PAGES].t, shares ? prefix : shuffled,
                                          &c->slots[SLOT_PAGES] };
    arrays[6] = (struct operation_array){ slots[SLOT_K_SCALE].t, scales, &c->slots[SLOT_K_SCALE] };
    arrays[7] = (struct operation_array){ slots[SLOT_V_SCALE].t, scales, &c->slots[SLOT_V_SCALE] };
    arrays[8] = (struct operation_array){ slots[SLOT_ROWS].t, rows, &c->slots[SLOT_ROWS] };
    arrays[9] = (struct operation_array){ slots[SLOT_BEGINS].t, before, &c->slots[SLOT_BEGINS] };
    arrays[10] = (struct operation_array){ source[1].k, keys, &c->pairs[1].k };
    arrays[11] = (struct operation_array){ source[1].v, keys, &c->pairs[1].v };
    return c->lib->attn_plan(c->device, &desc, &c->plan, report);
}

static heed_status run(struct contender *c, heed_report *report)
{
    for (uint32_t i = 0; i < c->n_sources; i++)
        c->kv[i] = c->pairs[c->set[i]];
    c->args.attn.workspace = c->workspace;
    c->args.attn.workspace_size = c->plan_props.workspace_size;
    return c->lib->attn_run(c->plan, c->queue, &c->args.attn, NULL, report);
}

const struct operation operation_attn = { "attn", plan, run, NULL };
