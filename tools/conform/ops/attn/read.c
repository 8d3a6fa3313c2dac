/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a caller's descriptor and arguments in host memory back to a problem, so that the oracle can
 * judge attentions that no line of a case describes: golden cases, and what fuzzers make.
 */
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

/* The attention that is read. */
struct reader {
    const heed_attn_desc *desc;
    const heed_attn_args *args;
    struct problem *p;
    int64_t batch[3];
    bool good;
};

/* Batch axes are aligned at the right: B is the union of those of q, k, v and the begins. */
static void batch_join(struct reader *r, const heed_tensor *t, uint32_t trailing)
{
    for (uint32_t i = 0; i + trailing < t->ndim; i++) {
        const uint32_t axis = 3 - (t->ndim - trailing) + i;

        r->good = r->good && axis < 3;
        if (r->good && t->shape[i] != 1)
            r->batch[axis] = t->shape[i];
    }
}

static int64_t shape_of(const heed_tensor *t, uint32_t from_right)
{
    return from_right <= t->ndim ? t->shape[t->ndim - from_right] : 1;
}

static int64_t stride_of(const heed_tensor *t, uint32_t from_right)
{
    return from_right <= t->ndim ? t->stride[t->ndim - from_right] : 0;
}

/* Where item b of the batch lies beside element [0]...[0]; rows: trailing axes. */
static int64_t item_offset(const struct reader *r, const heed_tensor *t, uint32_t rows, int64_t b)
{
    int64_t at = 0;

    for (uint32_t i = 0; i < 3; i++) {
        const int64_t extent = r->batch[2 - i], here = shape_of(t, rows + 1 + i);

        at += here > 1 ? b % extent * stride_of(t, rows + 1 + i) : 0;
        b /= extent > 0 ? extent : 1;
    }
    return at;
}

/* Copies a strided tensor; trailing: its axes beside those of the batch, which `batched` has. Of
 * PAGES it has one axis of pages in their place. */
enum { FIXED, BATCHED, PAGES };
static struct array array_of(struct reader *r, const heed_tensor *t, const void *origin,
                             uint32_t trailing, int batched)
{
    const size_t size = cf_dtype_size(t->dtype);
    bool one = true;
    struct array a = { .dtype = t->dtype,
                       .trailing = (int)trailing,
                       .batched = batched != FIXED,
                       .pages = batched == PAGES };
    unsigned char *to;
    int64_t pieces;

    for (uint32_t i = 0; batched && i + trailing < t->ndim; i++)
        one = one && t->shape[i] == 1;
    a.shape[0] = a.pages ? shape_of(t, trailing + 1) : one ? 1 : r->p->n_items;
    for (uint32_t i = 0; i < 3; i++)
        a.shape[3 - i] = i < trailing ? shape_of(t, i + 1) : 1;
    r->good = r->good && cf_array_count(&a) <= INT64_C(1) << 24 && cf_array_alloc(&a);
    if (!r->good || cf_array_count(&a) == 0)    /* where no element lies is nowhere */
        return a;
    to = a.data;
    pieces = cf_array_along(&a);
    for (int64_t b = 0; b < a.shape[0]; b++) {
        const int64_t item = a.pages   ? b * stride_of(t, trailing + 1)
                             : batched ? item_offset(r, t, trailing, b)
                                       : 0;

        for (int64_t i = 0; i < a.shape[1] * a.shape[2] * pieces; i++, to += size) {
            const int64_t z = i % pieces, y = i / pieces % a.shape[2], x = i / pieces / a.shape[2];
            const int64_t at = item + (trailing > 0 ? z * stride_of(t, 1) : 0) +
                               (trailing > 1 ? y * stride_of(t, 2) : 0) +
                               (trailing > 2 ? x * stride_of(t, 3) : 0);

            memcpy(to, (const char *)origin + at * (int64_t)size, size);
        }
    }
    return a;
}

static const void *address(heed_buf buf)
{
    return (const char *)buf.handle + buf.offset;
}

/* A slot at one place of use becomes a slot of the problem. */
static int slot_of(struct reader *r, uint32_t slot, uint32_t trailing, int batched)
{
    struct problem *p = r->p;
    const heed_slot *from = slot ? &r->desc->slots[slot - 1] : NULL;

    if (!from)
        return 0;
    r->good = r->good && p->n_slots < MAX_SLOTS;
    if (!r->good)
        return 0;
    p->slot[p->n_slots].constant = from->data != NULL;
    p->slot[p->n_slots].a =
        array_of(r, &from->t, from->data ? from->data : address(r->args->slots[slot - 1]), trailing,
                 batched);
    return ++p->n_slots;
}

static const struct array *slot_array(const struct problem *p, int slot)
{
    return &p->slot[slot - 1].a;
}

static int64_t one_if_zero(int64_t x)
{
    return x ? x : 1;
}

/* Extents along rows or keys bound the lengths of packed sequences. */
static void cut(int64_t *bound, int64_t extent, bool broadcasts)
{
    if (extent < *bound && !(broadcasts && extent == 1))
        *bound = extent;
}

static void term_read(struct reader *r, int s, int t, const heed_term *term)
{
    static const int64_t globals[] = { GF_NONE, GF_KEYS, GF_ROWS, GF_BOTH };
    static const int64_t phases[] = { PH_NONE, PH_HEAD, PH_QUERY, PH_BOTH };
    const int at = cf_at_term(s, t);
    int64_t *v = r->p->c.v;

    r->good = r->good && term->kind < (uint32_t)cf_n_term_kinds;
    if (!r->good)
        return;
    v[at + T_KIND] = term->kind;
    v[at + T_LEFT] = term->left;
    v[at + T_RIGHT] = term->right;
    v[at + T_BLOCK] = one_if_zero(term->block);
    v[at + T_STEP] = one_if_zero(term->step);
    v[at + T_PHASE] = term->phase;
    v[at + T_GF] = globals[term->flags & (HEED_TERM_KEYS | HEED_TERM_ROWS)];
    v[at + T_PH] = phases[term->flags / HEED_TERM_PHASE_HEAD & 3];
    r->p->source[s].term[t] = slot_of(r, term->slot, cf_term_kinds[term->kind].slot_axes, true);
}

static void bias_read(struct reader *r, int s, int b, const heed_bias *bias)
{
    const int at = cf_at_bias(s, b), row = cf_bias_row(bias->kind);
    const struct cf_bias_kind *kind = &cf_bias_kinds[row < 0 ? 0 : row];
    struct problem *p = r->p;
    struct bias_data *data = &p->source[s].bias[b];

    r->good = r->good && row >= 0;
    if (!r->good)
        return;
    p->c.v[at + B_KIND] = row;
    p->c.v[at + B_ZERO] = bias->zero;
    data->t = slot_of(r, bias->t, (uint32_t)kind->axes, kind->batched);
    data->u = kind->join ? slot_of(r, bias->u, (uint32_t)kind->axes, kind->batched)
                         : slot_of(r, bias->u, 1, false);
    data->map = slot_of(r, bias->map, 1, false);
    data->q_coord = slot_of(r, bias->q_coord, 1, true);
    data->k_coord = slot_of(r, bias->k_coord, 1, true);
    for (int i = 0; r->good && i < 3; i++) {
        if (kind->extent[i] == EXTENT_KEYS)
            cut(&p->source[s].n_k, slot_array(p, data->t)->shape[1 + i], true);
        if (kind->extent[i] == EXTENT_ROWS)
            cut(&p->n_q, slot_array(p, data->t)->shape[1 + i], true);
    }
    if (r->good && data->k_coord)
        cut(&p->source[s].n_k, slot_array(p, data->k_coord)->shape[3], false);
    if (r->good && data->q_coord)
        cut(&p->n_q, slot_array(p, data->q_coord)->shape[3], false);
}

static void source_read(struct reader *r, int s, const heed_source *from)
{
    struct source_data *src = &r->p->source[s];
    const struct cf_layout *layout = cf_layout_kind(from->layout);
    const int rows = layout->pages ? PAGES : BATCHED;
    int64_t *v = &r->p->c.v[cf_at_source(s)];

    v[S_LAY] = layout - cf_layouts;
    v[S_POS0] = from->pos0;
    v[S_PSTEP] = one_if_zero(from->pos_step);
    v[S_PSPAN] = one_if_zero(from->pos_span);
    v[S_RUN] = one_if_zero(from->run);
    v[S_ROWS] = one_if_zero(from->rows);
    v[S_CAUSAL] = (from->flags & HEED_SOURCE_CAUSAL) != 0;
    v[S_END] = (from->flags & HEED_SOURCE_END) != 0;
    v[S_NT] = from->n_terms;
    v[S_NB] = from->n_biases;
    r->good = r->good && from->n_terms <= MAX_TERMS && from->n_biases <= MAX_BIASES;
    src->k = array_of(r, &from->k, address(r->args->kv[s].k), 3, rows);
    src->v = array_of(r, &from->v, address(r->args->kv[s].v), 3, rows);
    src->heads = src->k.shape[1];
    src->n_k = src->total = src->k.shape[2];
    src->index = slot_of(r, from->slot, layout->axes < 0 ? 0 : (uint32_t)layout->axes, true);
    if (layout->pages && r->good)
        src->n_k = src->total * slot_array(r->p, src->index)->shape[3];
    src->len = slot_of(r, from->len_slot, 0, true);
    src->mask = slot_of(r, from->mask_slot, 2, true);
    if (r->good && src->mask)
        cut(&src->n_k, slot_array(r->p, src->mask)->shape[3], false);
    src->row_mask = slot_of(r, from->row_mask_slot, 3, true);
    if (r->good && src->row_mask) {
        const struct array *a = slot_array(r->p, src->row_mask);

        cut(&src->n_k, a->dtype == HEED_U8 ? a->shape[3] : 32 * a->shape[3], false);
        cut(&r->p->n_q, a->shape[2], false);
    }
    src->k_minima = (from->flags & HEED_SOURCE_K_MINIMA) != 0;
    src->v_minima = (from->flags & HEED_SOURCE_V_MINIMA) != 0;
    src->k_scale =
        slot_of(r, from->k_scale_slot, src->k_minima || from->flags & HEED_SOURCE_K_GROUPS ? 3 : 2,
                layout->packed ? FIXED : rows);
    src->v_scale =
        slot_of(r, from->v_scale_slot, src->v_minima || from->flags & HEED_SOURCE_V_GROUPS ? 3 : 2,
                layout->packed ? FIXED : rows);
    for (uint32_t t = 0; t < from->n_terms && r->good; t++)
        term_read(r, s, (int)t, &from->terms[t]);
    for (uint32_t b = 0; b < from->n_biases && r->good; b++)
        bias_read(r, s, (int)b, &from->biases[b]);
    src->ext = src->n_k;
}

static void query_read(struct reader *r)
{
    const heed_attn_desc *d = r->desc;
    struct problem *p = r->p;
    int64_t *v = p->c.v;

    v[G_ALIGN] = d->flags & HEED_ATTN_ALIGN_END ? ALIGN_END : ALIGN_START;
    v[G_SCALE] = d->scale != 0 || d->flags & HEED_ATTN_SCALE_GIVEN ? SCALE_GIVEN : SCALE_DEFAULT;
    v[G_LSE] = d->flags & HEED_ATTN_LSE_WITH_SINK ? LSE_SINK : LSE_PLAIN;
    v[G_QPOS0] = d->q_pos0;
    v[G_QSTEP] = one_if_zero(d->q_pos_step);
    p->scale = d->scale;
    p->softcap = d->softcap;
    p->q = array_of(r, &d->q, address(r->args->q), 3, true);
    p->heads = p->q.shape[1];
    p->n_q = p->q_ext = p->q_total = p->q.shape[2];
    p->d = p->q.shape[3];
    p->o_total = shape_of(&d->o, 2);
    p->n_q = p->o_total < p->n_q ? p->o_total : p->n_q;
    p->dv = shape_of(&d->o, 1);
    p->n_sources = p->part.end = (int)d->n_sources;
    if (d->sinks.ndim)
        p->sinks = array_of(r, &d->sinks, address(r->args->sinks), 1, false);
    p->q_begin = slot_of(r, d->q_slot, 0, true);
    p->o_begin = slot_of(r, d->o_slot, 0, true);
    p->q_len = slot_of(r, d->q_len_slot, 0, true);
    p->q_pos = slot_of(r, d->q_pos_slot, 0, true);
}

static void batch_read(struct reader *r)
{
    const heed_attn_desc *d = r->desc;

    for (int i = 0; i < 3; i++)
        r->batch[i] = 1;
    batch_join(r, &d->q, 3);
    if (d->q_slot)
        batch_join(r, &d->slots[d->q_slot - 1].t, 0);
    for (uint32_t s = 0; s < d->n_sources; s++) {
        const heed_source *source = &d->sources[s];
        const struct cf_layout *layout = cf_layout_kind(source->layout);

        if (!layout->pages) {
            batch_join(r, &source->k, 3);
            batch_join(r, &source->v, 3);
        }
        if (layout->pages || layout->packed)
            batch_join(r, &d->slots[source->slot - 1].t, (uint32_t)layout->axes);
    }
    r->good = r->good && r->batch[0] * r->batch[1] * r->batch[2] <= MAX_BATCH;
    r->p->n_items = r->good ? (int)(r->batch[0] * r->batch[1] * r->batch[2]) : 0;
}

struct problem *cf_problem_of(const heed_attn_desc *desc, const heed_attn_args *args,
                              struct call *ran)
{
    struct problem *p = calloc(1, sizeof *p);
    struct reader r = { .desc = desc, .args = args, .p = p, .good = p != NULL };

    memset(ran, 0, sizeof *ran);
    if (!p)
        return NULL;
    cf_case_default(&p->c);
    p->was_read = true;
    r.good = desc->n_sources <= MAX_SOURCES;
    batch_read(&r);
    query_read(&r);
    for (int s = 0; s < p->n_sources && r.good; s++)
        source_read(&r, s, &desc->sources[s]);
    ran->has_lse = desc->lse.ndim > 0;
    ran->out = array_of(&r, &desc->o, address(args->o), 3, true);
    job_add(&ran->job, "o", "o", HEED_ROLE_OUT, &ran->o)->out = &ran->out;
    ran->job.operand[0].old = &ran->old;
    if (ran->has_lse) {
        ran->out_lse = array_of(&r, &desc->lse, address(args->lse), 2, true);
        job_add(&ran->job, "lse", "lse", HEED_ROLE_OUT, &ran->lse)->out = &ran->out_lse;
        ran->job.operand[1].old = &ran->old_lse;
    }
    if (r.good)
        return p;
    job_finish(&ran->job);
    cf_problem_free(p);
    return NULL;
}
