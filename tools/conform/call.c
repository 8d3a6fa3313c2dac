/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a problem to a descriptor, arguments and memory on a device; one run; what it wrote.
 */
#include "kinds.h"
#include "place.h"

#include "common/cache.h"
#include "common/compiling.h"

#include <stdlib.h>
#include <string.h>

bool cf_target_open(struct target *t, const char *name, uint32_t width, heed_report *report)
{
    return cf_target_open_with(t, name, width, NULL, report);
}

bool cf_target_open_with(struct target *t, const char *name, uint32_t width,
                         const heed_allocator *allocator, heed_report *report)
{
    const heed_executor executor = { .size = sizeof executor, .width = width };
    char room[CACHE_ROOM];
    const heed_runtime_desc desc = {
        .size = sizeof desc,
        .allocator = allocator,
        .executor = &executor,
        .logger = compiling_logger(),
        .cache_dir = cache_folder(room),
    };

    *t = (struct target){ .width = width };
    snprintf(t->name, sizeof t->name, "%s", name);
    if (heed_runtime_create(&desc, &t->runtime, report) < 0)
        return false;
    if (heed_device_find(t->runtime, name, &t->device, report) >= 0 &&
        heed_queue_create(t->device, 0, &t->queue, report) >= 0)
        return true;
    cf_target_close(t);
    return false;
}

void cf_target_close(struct target *t)
{
    heed_queue_destroy(t->queue);
    heed_runtime_destroy(t->runtime);
    t->queue = NULL;
    t->runtime = NULL;
    t->device = NULL;
}

/* 0 means 1 in fields of this sort: every other case says it so. */
static int64_t one_or_zero(const struct cs *c, int64_t value)
{
    return value == 1 && c->seed % 2 == 0 ? 0 : value;
}

static void term_set(const struct problem *p, int s, int t, heed_term *term)
{
    static const uint32_t phases[] = { 0, HEED_TERM_PHASE_HEAD, HEED_TERM_PHASE_QUERY,
                                       HEED_TERM_PHASE_HEAD | HEED_TERM_PHASE_QUERY };
    static const uint32_t globals[] = { 0, HEED_TERM_KEYS, HEED_TERM_ROWS,
                                        HEED_TERM_KEYS | HEED_TERM_ROWS };
    const struct cs *c = &p->c;
    const int64_t kind = cf_t(c, s, t, T_KIND), step = cf_t(c, s, t, T_STEP);

    *term = (heed_term){ .kind = (uint32_t)kind, .slot = (uint32_t)p->source[s].term[t] };
    if (cf_term_takes(kind, T_LEFT))
        term->left = cf_t(c, s, t, T_LEFT);
    if (cf_term_takes(kind, T_RIGHT))
        term->right = cf_t(c, s, t, T_RIGHT);
    if (cf_term_takes(kind, T_GF))
        term->flags = globals[cf_t(c, s, t, T_GF)];
    if (cf_term_takes(kind, T_BLOCK) && (cf_term_kinds[kind].slot_must || !term->slot))
        term->block = (int32_t)one_or_zero(c, cf_t(c, s, t, T_BLOCK));
    if (cf_term_takes(kind, T_STEP) && step > 1) {
        term->step = step;
        term->phase = (int32_t)cf_t(c, s, t, T_PHASE);
        term->flags |= phases[cf_t(c, s, t, T_PH)];
    }
}

static void bias_set(const struct problem *p, int s, int b, heed_bias *bias)
{
    const struct bias_data *data = &p->source[s].bias[b];

    *bias = (heed_bias){
        .kind = cf_bias_kinds[cf_b(&p->c, s, b, B_KIND)].kind,
        .zero = cf_b(&p->c, s, b, B_ZERO),
        .t = (uint32_t)data->t,
        .u = (uint32_t)data->u,
        .map = (uint32_t)data->map,
        .q_coord = (uint32_t)data->q_coord,
        .k_coord = (uint32_t)data->k_coord,
    };
}

static void source_set(struct call *call, const struct problem *p, int s)
{
    static const uint32_t layouts[] = { HEED_LAYOUT_DENSE, HEED_LAYOUT_RAGGED, HEED_LAYOUT_LISTED,
                                        HEED_LAYOUT_PAGED, HEED_LAYOUT_RING };
    const struct source_data *src = &p->source[s];
    const struct cs *c = &p->c;
    const bool listed = cf_s(c, s, S_LAY) == LAY_LISTED;

    call->source[s] = (heed_source){
        .k = call->k[s].t,
        .v = call->v[s].t,
        .pos0 = cf_s(c, s, S_POS0),
        .pos_step = (int32_t)one_or_zero(c, cf_s(c, s, S_PSTEP)),
        .pos_span = (int32_t)one_or_zero(c, cf_s(c, s, S_PSPAN)),
        .layout = layouts[cf_s(c, s, S_LAY)],
        .slot = (uint32_t)src->index,
        .len_slot = (uint32_t)src->len,
        .mask_slot = (uint32_t)src->mask,
        .k_scale_slot = (uint32_t)src->k_scale,
        .v_scale_slot = (uint32_t)src->v_scale,
        .run = listed                           ? (int32_t)one_or_zero(c, cf_s(c, s, S_RUN))
               : src->k.pages && c->seed % 3 == 0 ? (int32_t)src->total
                                                  : 0,
        .rows = listed ? (int32_t)one_or_zero(c, cf_s(c, s, S_ROWS)) : 0,
        .flags = (cf_s(c, s, S_CAUSAL) ? (uint32_t)HEED_SOURCE_CAUSAL : 0) |
                 (cf_s(c, s, S_END) ? (uint32_t)HEED_SOURCE_END : 0),
        .terms = call->term[s],
        .n_terms = (uint32_t)cf_s(c, s, S_NT),
        .term_size = sizeof(heed_term),
        .biases = call->bias[s],
        .n_biases = (uint32_t)cf_s(c, s, S_NB),
        .bias_size = sizeof(heed_bias),
    };
    for (int t = 0; t < cf_s(c, s, S_NT); t++)
        term_set(p, s, t, &call->term[s][t]);
    for (int b = 0; b < cf_s(c, s, S_NB); b++)
        bias_set(p, s, b, &call->bias[s][b]);
}

static void desc_set(struct call *call, const struct problem *p)
{
    static const uint32_t aligns[] = { HEED_ATTN_ALIGN_START, HEED_ATTN_ALIGN_END, 0 };
    static const uint32_t numerics[] = { HEED_NUMERICS_EXACT, HEED_NUMERICS_BEST,
                                         HEED_NUMERICS_REPEAT, HEED_NUMERICS_FAST };
    static const uint32_t layouts[] = { HEED_LAYOUT_DENSE, HEED_LAYOUT_RAGGED, HEED_LAYOUT_LISTED };
    const struct cs *c = &p->c;

    call->desc = (heed_attn_desc){
        .size = sizeof(heed_attn_desc),
        .flags = aligns[cf_g(c, G_ALIGN)] |
                 (cf_g(c, G_SCALE) ? (uint32_t)HEED_ATTN_SCALE_GIVEN : 0) |
                 (cf_g(c, G_LSE) == LSE_SINK ? (uint32_t)HEED_ATTN_LSE_WITH_SINK : 0) |
                 (cf_g(c, G_WS) ? (uint32_t)HEED_PLAN_OWN_WORKSPACE : 0),
        .q = call->q.t,
        .o = call->o.t,
        .lse = call->lse.t,
        .sinks = call->sinks.t,
        .q_pos0 = cf_g(c, G_QPOS0),
        .q_pos_step = (int32_t)one_or_zero(c, cf_g(c, G_QSTEP)),
        .q_pos_slot = (uint32_t)p->q_pos,
        .q_layout = layouts[cf_g(c, G_QL)],
        .q_slot = (uint32_t)p->q_begin,
        .q_len_slot = (uint32_t)p->q_len,
        .sources = call->source,
        .n_sources = (uint32_t)p->n_sources,
        .source_size = sizeof(heed_source),
        .slots = call->slot,
        .n_slots = (uint32_t)p->n_slots,
        .slot_size = sizeof(heed_slot),
        .scale = p->scale,
        .softcap = p->softcap,
        .numerics = numerics[cf_g(c, G_NUM)],
    };
    for (int s = 0; s < p->n_sources; s++)
        source_set(call, p, s);
}

/* The arrays' places; outputs get their logical shape here. */
static bool places_make(struct call *call, const struct problem *p, unsigned flags)
{
    static const uint32_t dtypes[] = { HEED_F32, HEED_F16, HEED_BF16 };
    const bool ragged = cf_g(&p->c, G_QL) == LAY_RAGGED;
    const int64_t b = ragged ? 1 : p->n_items;
    bool ok;

    call->has_lse = cf_g(&p->c, G_LSE) != LSE_NONE;
    call->out = (struct array){ .dtype = dtypes[cf_g(&p->c, G_O)],
                                .trailing = 3,
                                .batched = true,
                                .shape = { b, p->heads, p->q_total, p->dv },
                                .laid = (int)cf_g(&p->c, G_OS) };
    call->out_lse = (struct array){ .dtype = HEED_F32,
                                    .trailing = 2,
                                    .batched = true,
                                    .shape = { b, 1, p->heads, p->q_total },
                                    .laid = (int)cf_g(&p->c, G_LS) };
    call->old = call->out;
    call->old_lse = call->out_lse;
    ok = place_make(&call->q, p, &p->q, 1, flags) && place_make(&call->o, p, &call->out, 2, flags);
    if (ok && call->has_lse)
        ok = place_make(&call->lse, p, &call->out_lse, 3, flags);
    if (ok && p->sinks.data)
        ok = place_make(&call->sinks, p, &p->sinks, 4, flags);
    for (int s = 0; s < p->n_sources && ok; s++) {
        ok = place_make(&call->k[s], p, &p->source[s].k, 5 + 2 * s, flags) &&
             place_make(&call->v[s], p, &p->source[s].v, 6 + 2 * s, flags);
    }
    for (int i = 0; i < p->n_slots && ok; i++) {
        ok = place_make(&call->aux[i], p, &p->slot[i].a, 20 + i, flags);
        if (!ok)
            break;
        call->slot[i].t = call->aux[i].t;
        if (!p->shapes_only)
            place_pattern(&call->aux[i], cf_mix2(p->c.seed, (uint64_t)i));
        if (!p->shapes_only || p->slot[i].constant)
            place_store(&call->aux[i], &p->slot[i].a);
        if (p->slot[i].constant)
            call->slot[i].data = call->aux[i].snapshot + call->aux[i].buf.offset;
    }
    return ok;
}

bool cf_call_describe(struct call *call, const struct problem *p, unsigned flags)
{
    memset(call, 0, sizeof *call);
    call->n_sources = p->n_sources;
    call->n_slots = p->n_slots;
    if (!places_make(call, p, flags))
        return false;
    desc_set(call, p);
    return true;
}

static bool input_upload(struct call *call, struct place *place, const struct array *a,
                         uint64_t seed)
{
    if (a) {
        place_pattern(place, seed);
        place_store(place, a);
    }
    return place_upload(place, call->on);
}

static bool output_upload(struct call *call, struct place *place, struct array *out,
                          struct array *old, uint64_t poison)
{
    place_pattern(place, poison);
    if (!cf_array_alloc(out) || !cf_array_alloc(old))
        return false;
    place_load(place, place->snapshot, old);
    return place_upload(place, call->on);
}

static void args_set(struct call *call)
{
    call->args = (heed_attn_args){
        .size = sizeof(heed_attn_args),
        .kv_size = sizeof(heed_kv_bufs),
        .q = call->q.buf,
        .o = call->o.buf,
        .lse = call->lse.buf,
        .sinks = call->sinks.buf,
        .kv = call->kv,
        .slots = call->slot_buf,
        .n_slots = (uint32_t)call->n_slots,
    };
    for (int s = 0; s < call->n_sources; s++)
        call->kv[s] = (heed_kv_bufs){ call->k[s].buf, call->v[s].buf };
    for (int i = 0; i < call->n_slots; i++)
        call->slot_buf[i] = call->aux[i].buf;
}

bool cf_call_make(struct call *call, const struct target *on, const struct problem *p,
                  unsigned flags, uint64_t poison)
{
    const uint64_t seed = cf_mix(p->c.seed);
    bool ok = cf_call_describe(call, p, flags);

    call->on = on;
    ok = ok && input_upload(call, &call->q, &p->q, seed + 1) &&
         output_upload(call, &call->o, &call->out, &call->old, poison);
    if (ok && call->has_lse)
        ok = output_upload(call, &call->lse, &call->out_lse, &call->old_lse, poison + 99);
    if (ok && p->sinks.data)
        ok = input_upload(call, &call->sinks, &p->sinks, seed + 2);
    for (int s = 0; s < p->n_sources && ok; s++) {
        ok = input_upload(call, &call->k[s], &p->source[s].k, seed + 3) &&
             input_upload(call, &call->v[s], &p->source[s].v, seed + 4);
    }
    for (int i = 0; i < p->n_slots && ok; i++)
        ok = p->slot[i].constant || input_upload(call, &call->aux[i], NULL, 0);
    args_set(call);
    return ok;
}

heed_status cf_call_plan(struct call *call, heed_plan **plan, heed_report *report)
{
    return heed_attn_plan(call->on->device, &call->desc, plan, report);
}

heed_status cf_workspace_make(struct workspace *w, const struct target *on, const heed_plan *plan,
                              int garbage)
{
    heed_plan_props props = { .size = sizeof props };
    heed_device_props device = { .size = sizeof device };
    heed_status status = heed_plan_info(plan, &props);
    const uint64_t dirty = props.workspace_size < 1u << 20 ? props.workspace_size : 1u << 20;
    unsigned char *bytes;

    *w = (struct workspace){ .numerics = props.numerics };
    memcpy(w->runs, props.implementation, sizeof w->runs);
    if (status >= 0)
        status = heed_device_info(on->device, &device);
    if (status < 0 || props.workspace_size == 0)
        return status;
    status = heed_buf_create(on->device, props.workspace_size + props.workspace_align, &w->made,
                             NULL);
    if (status < 0)
        return status;
    /* A cl_mem is no address: its own beginning is aligned. */
    const uint64_t rest =
        device.kind == HEED_DEVICE_OPENCL ? 0
                                          : (uint64_t)(uintptr_t)w->made.handle %
                                                props.workspace_align;

    w->at = w->made;
    w->at.offset = rest ? props.workspace_align - rest : 0;
    w->size = props.workspace_size;
    bytes = malloc((size_t)dirty);
    if (!bytes)
        return HEED_E_NOMEM;
    memset(bytes, garbage, (size_t)dirty);
    status = heed_buf_write(on->queue, w->at, bytes, dirty, NULL);
    free(bytes);
    return status;
}

void cf_workspace_finish(struct workspace *w, const struct target *on)
{
    heed_buf_destroy(on->device, w->made);
}

heed_status cf_call_run(struct call *call, heed_report *report)
{
    heed_plan *plan = NULL;
    struct workspace work;
    heed_status status = cf_call_plan(call, &plan, report);

    if (status < 0)
        return status;
    status = cf_workspace_make(&work, call->on, plan, 0xa5 ^ (int)(call->o.snapshot[0] & 15));
    call->numerics = work.numerics;
    call->loose = work.numerics == HEED_NUMERICS_FAST;
    memcpy(call->ran, work.runs, sizeof call->ran);
    call->args.workspace = work.at;
    call->args.workspace_size = work.size;
    if (status >= 0)
        status = heed_attn_run(plan, call->on->queue, &call->args, NULL, report);
    if (status >= 0)
        status = heed_queue_wait(call->on->queue, NULL);
    heed_plan_drop(plan);
    cf_workspace_finish(&work, call->on);
    if (status < 0)
        return status;
    if (!place_download(&call->o, call->on) ||
        (call->has_lse && !place_download(&call->lse, call->on)))
        return HEED_E_DEVICE;
    place_load(&call->o, call->o.after, &call->out);
    if (call->has_lse)
        place_load(&call->lse, call->lse.after, &call->out_lse);
    return status;
}

static bool input_same(struct call *call, struct place *place, const char *name, char why[128])
{
    if (place->buf.handle == NULL)
        return true;
    if (place_download(place, call->on) && !memcmp(place->snapshot, place->after, place->bytes))
        return true;
    snprintf(why, 128, "%s was written to", name);
    return false;
}

bool cf_call_memory_same(struct call *call, char why[128])
{
    bool same =
        input_same(call, &call->q, "q", why) && input_same(call, &call->sinks, "sinks", why);

    for (int s = 0; s < call->n_sources && same; s++)
        same = input_same(call, &call->k[s], "k", why) && input_same(call, &call->v[s], "v", why);
    for (int i = 0; i < call->n_slots && same; i++)
        same = call->slot[i].data || input_same(call, &call->aux[i], "a slot", why);
    if (same && !place_gaps_same(&call->o, &call->out, &call->old)) {
        snprintf(why, 128, "memory between or around the elements of o was written to");
        return false;
    }
    if (same && call->has_lse && !place_gaps_same(&call->lse, &call->out_lse, &call->old_lse)) {
        snprintf(why, 128, "memory between or around the elements of lse was written to");
        return false;
    }
    return same;
}

bool cf_call_outputs_same(struct call *call, char why[128])
{
    return input_same(call, &call->o, "o", why) && input_same(call, &call->lse, "lse", why);
}

void cf_call_finish(struct call *call)
{
    place_finish(&call->q, call->on);
    place_finish(&call->o, call->on);
    place_finish(&call->lse, call->on);
    place_finish(&call->sinks, call->on);
    for (int s = 0; s < call->n_sources; s++) {
        place_finish(&call->k[s], call->on);
        place_finish(&call->v[s], call->on);
    }
    for (int i = 0; i < call->n_slots; i++)
        place_finish(&call->aux[i], call->on);
    free(call->out.data);
    free(call->old.data);
    free(call->out_lse.data);
    free(call->old_lse.data);
    memset(call, 0, sizeof *call);
}
