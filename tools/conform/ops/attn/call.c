/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a problem to a descriptor, arguments and memory on a device; one run; what it wrote.
 */
#include "kinds.h"

#include <stddef.h>
#include <string.h>

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
    const struct source_data *src = &p->source[s];
    const struct cs *c = &p->c;
    const struct cf_layout *layout = cf_layout_of(c, s);

    call->source[s] = (heed_source){
        .k = call->k[s].t,
        .v = call->v[s].t,
        .pos0 = cf_s(c, s, S_POS0),
        .pos_step = (int32_t)one_or_zero(c, cf_s(c, s, S_PSTEP)),
        .pos_span = (int32_t)one_or_zero(c, cf_s(c, s, S_PSPAN)),
        .layout = layout->kind,
        .slot = (uint32_t)src->index,
        .len_slot = (uint32_t)src->len,
        .mask_slot = (uint32_t)src->mask,
        .row_mask_slot = (uint32_t)src->row_mask,
        .k_scale_slot = (uint32_t)src->k_scale,
        .v_scale_slot = (uint32_t)src->v_scale,
        .run = layout->lists                       ? (int32_t)one_or_zero(c, cf_s(c, s, S_RUN))
               : layout->pages && c->seed % 3 == 0 ? (int32_t)src->total
                                                   : 0,
        .rows = layout->lists ? (int32_t)one_or_zero(c, cf_s(c, s, S_ROWS)) : 0,
        .flags = (cf_s(c, s, S_CAUSAL) ? (uint32_t)HEED_SOURCE_CAUSAL : 0) |
                 (cf_s(c, s, S_END) ? (uint32_t)HEED_SOURCE_END : 0) | cf_scale_flags(p, s),
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
    const struct cs *c = &p->c;

    call->desc = (heed_attn_desc){
        .size = sizeof(heed_attn_desc),
        .flags = aligns[cf_g(c, G_ALIGN)] |
                 (cf_g(c, G_SCALE) ? (uint32_t)HEED_ATTN_SCALE_GIVEN : 0) |
                 (cf_g(c, G_LSE) == LSE_SINK ? (uint32_t)HEED_ATTN_LSE_WITH_SINK : 0) |
                 (cf_g(c, G_WS) ? (uint32_t)HEED_PLAN_OWN_WORKSPACE : 0),
        .q = call->q.t,
        .o = p->part.stops ? (heed_tensor){ .ndim = 0 } : call->o.t,
        .lse = call->lse.t,
        .sinks = call->sinks.t,
        .q_pos0 = cf_g(c, G_QPOS0),
        .q_pos_step = (int32_t)one_or_zero(c, cf_g(c, G_QSTEP)),
        .q_pos_slot = (uint32_t)p->q_pos,
        .q_layout = cf_layouts[cf_g(c, G_QL)].kind,
        .q_slot = (uint32_t)p->q_begin,
        .q_len_slot = (uint32_t)p->q_len,
        .o_slot = (uint32_t)p->o_begin,
        .sources = call->source + p->part.first,
        .n_sources = (uint32_t)call->n_sources,
        .source_size = sizeof(heed_source),
        .slots = call->slot,
        .n_slots = (uint32_t)p->n_slots,
        .slot_size = sizeof(heed_slot),
        .scale = p->scale,
        .softcap = p->softcap,
        .numerics = numerics[cf_g(c, G_NUM)],
        .state_in = call->state.t,
        .state_out = p->part.stops ? call->o.t : (heed_tensor){ .ndim = 0 },
    };
    for (int s = p->part.first; s < p->part.end; s++)
        source_set(call, p, s);
}

/* Extents of the tensor: batch axes, then the trailing ones. Returns their number. */
static int dims_of(const struct problem *p, const struct array *a, struct place *place,
                   int64_t dims[6])
{
    int n = 0;

    if (a->pages) {
        dims[0] = place->extent[0] = a->shape[0];
        n = 1;
    } else if (a->batched) {
        cf_batch_axes(&p->c, &n, place->extent);
        if (n == 0 && a->trailing == 0)
            n = 1;
        for (int i = 0; i < n; i++) {
            if (a->shape[0] != cf_batch_count(&p->c) || a->shape[0] == 1)
                place->extent[i] = i + 1 < n ? 1 : a->shape[0];
        }
        n -= a->dropped;
        for (int i = 0; i < n; i++)
            dims[i] = place->extent[i] = place->extent[i + a->dropped];
    }
    place->batch_axes = n;
    for (int i = 0; i < a->trailing; i++)
        dims[n++] = a->shape[4 - a->trailing + i];
    return n;
}

static bool place_make(struct place *place, const struct problem *p, const struct array *a,
                       int number, unsigned flags)
{
    const uint64_t seed = cf_mix2(p->c.seed, (uint64_t)number + 12345);
    int64_t dims[6] = { 0 }, mis = cf_g(&p->c, G_MIS);
    int n, laid;

    memset(place, 0, sizeof *place);
    n = dims_of(p, a, place, dims);
    place_way(a, flags, seed, &laid, &mis);
    return place_lay(place, a, dims, n, laid, mis, seed);
}

static bool attn_add(struct call *call, const struct problem *p, const char *name,
                     const char *field, int number, unsigned flags, struct place *place,
                     heed_tensor *tensor, const struct array *a)
{
    struct operand *const x = job_add(&call->job, name, field, HEED_ROLE_IN, place);

    if (!x || !place_make(place, p, a, number, flags))
        return false;
    x->tensor = tensor;
    x->holds = a;
    x->around = cf_mix(p->c.seed) + (uint64_t)number;
    return true;
}

static bool output_add(struct call *call, const struct problem *p, const char *name, int number,
                       unsigned flags, struct place *place, heed_tensor *tensor, struct array *out,
                       struct array *old)
{
    struct operand *x;

    *old = *out;
    if (!attn_add(call, p, name, name, number, flags, place, tensor, out))
        return false;
    x = &call->job.operand[call->job.n - 1];
    x->role = HEED_ROLE_OUT;
    x->holds = NULL;
    x->out = out;
    x->old = old;
    return true;
}

/* A constant has its contents at once, for check. */
static bool slot_add(struct call *call, const struct problem *p, int i, unsigned flags)
{
    const struct slot *const slot = &p->slot[i];
    struct place *const place = &call->aux[i];
    char name[24], field[24];
    struct operand *x;

    snprintf(name, sizeof name, "slot%d", i + 1);
    snprintf(field, sizeof field, "slots[%d]", i);
    if (!attn_add(call, p, name, field, 20 + i, flags, place, &call->slot[i].t, &slot->a))
        return false;
    call->slot[i].t = place->t;
    if (!slot->constant)
        return true;
    x = &call->job.operand[call->job.n - 1];
    job_fill(x, 0);
    call->slot[i].data = place->snapshot + place->buf.offset;
    x->constant = &call->slot[i].data;
    return true;
}

/* The arrays' places; outputs get their logical shape here. */
static bool places_make(struct call *call, const struct problem *p, unsigned flags)
{
    const int64_t b = cf_queries_packed(&p->c) ? 1 : p->n_items;
    heed_attn_desc *const desc = &call->desc;
    char k[24], v[24], k_field[24], v_field[24];
    bool ok;

    call->has_lse = cf_g(&p->c, G_LSE) != LSE_NONE && !p->part.stops;
    call->out = (struct array){ .dtype = p->part.stops ? HEED_F32
                                                       : type_nth(TYPE_FLOATS, cf_g(&p->c, G_O)),
                                .trailing = 3,
                                .batched = true,
                                .shape = { b, p->heads, p->o_total,
                                           p->dv + (p->part.stops ? HEED_STATE_SUMS : 0) },
                                .laid = (int)cf_g(&p->c, G_OS) };
    call->out_lse = (struct array){ .dtype = HEED_F32,
                                    .trailing = 2,
                                    .batched = true,
                                    .shape = { b, 1, p->heads, p->o_total },
                                    .laid = (int)cf_g(&p->c, G_LS) };
    ok = attn_add(call, p, "q", "q", 1, flags, &call->q, &desc->q, &p->q) &&
         output_add(call, p, p->part.stops ? "state_out" : "o", 2, flags, &call->o,
                    p->part.stops ? &desc->state_out : &desc->o, &call->out, &call->old);
    call->job.operand[0].rows = true;
    if (ok && call->has_lse)
        ok = output_add(call, p, "lse", 3, flags, &call->lse, &desc->lse, &call->out_lse,
                        &call->old_lse);
    else if (ok && flags & CALL_ABSENT)
        job_add(&call->job, "lse", "lse", HEED_ROLE_OUT, &call->lse)->tensor = &desc->lse;
    if (ok && p->part.begins.data)
        ok = attn_add(call, p, "state_in", "state_in", 19, flags, &call->state, &desc->state_in,
                      &p->part.begins);
    if (ok && p->sinks.data && !p->part.stops)
        ok = attn_add(call, p, "sinks", "sinks", 4, flags, &call->sinks, &desc->sinks, &p->sinks);
    else if (ok && flags & CALL_ABSENT)
        job_add(&call->job, "sinks", "sinks", HEED_ROLE_IN, &call->sinks)->tensor = &desc->sinks;
    for (int s = p->part.first; s < p->part.end && ok; s++) {
        snprintf(k, sizeof k, "k%d", s);
        snprintf(v, sizeof v, "v%d", s);
        snprintf(k_field, sizeof k_field, "kv[%d].k", s - p->part.first);
        snprintf(v_field, sizeof v_field, "kv[%d].v", s - p->part.first);
        ok = attn_add(call, p, k, k_field, 5 + 2 * s, flags, &call->k[s], &call->source[s].k,
                      &p->source[s].k) &&
             attn_add(call, p, v, v_field, 6 + 2 * s, flags, &call->v[s], &call->source[s].v,
                      &p->source[s].v);
        for (int i = 1; i <= 2 && ok; i++)
            call->job.operand[call->job.n - i].rows = true;
    }
    for (int i = 0; i < p->n_slots && ok; i++)
        ok = slot_add(call, p, i, flags);
    return ok;
}

heed_status cf_attn_check(heed_device *device, const void *desc, heed_report *report)
{
    return heed_attn_check(device, desc, report);
}

heed_status cf_attn_plan(heed_device *device, const void *desc, heed_plan **out,
                         heed_report *report)
{
    return heed_attn_plan(device, desc, out, report);
}

static void args_set(struct job *job)
{
    struct call *const call = cf_call_of(job);
    const int first = (int)(call->desc.sources - call->source);

    call->args = (heed_attn_args){
        .size = sizeof(heed_attn_args),
        .kv_size = sizeof(heed_kv_bufs),
        .q = call->q.buf,
        .o = call->desc.state_out.ndim ? (heed_buf){ .handle = NULL } : call->o.buf,
        .lse = call->lse.buf,
        .sinks = call->sinks.buf,
        .kv = call->kv,
        .slots = call->slot_buf,
        .n_slots = (uint32_t)call->n_slots,
        .state_in = call->state.buf,
        .state_out = call->desc.state_out.ndim ? call->o.buf : (heed_buf){ .handle = NULL },
    };
    for (int s = 0; s < call->n_sources; s++)
        call->kv[s] = (heed_kv_bufs){ call->k[first + s].buf, call->v[first + s].buf };
    for (int i = 0; i < call->n_slots; i++)
        call->slot_buf[i] = call->aux[i].buf;
}

static heed_status run(const heed_plan *plan, heed_queue *queue, const void *args,
                       heed_event **done, heed_report *report)
{
    return heed_attn_run(plan, queue, args, done, report);
}

bool cf_call_describe(struct call *call, const struct problem *p, unsigned flags)
{
    memset(call, 0, sizeof *call);
    call->n_sources = p->part.end - p->part.first;
    call->n_slots = p->n_slots;
    call->job.problem = (void *)(uintptr_t)p;
    call->job.check = cf_attn_check;
    call->job.plan = cf_attn_plan;
    call->job.run = run;
    call->job.placed = args_set;
    call->job.desc = &call->desc;
    call->job.desc_bytes = offsetof(struct call, q) - offsetof(struct call, desc);
    call->job.numerics_wanted = &call->desc.numerics;
    if (!places_make(call, p, flags))
        return false;
    desc_set(call, p);
    return true;
}
