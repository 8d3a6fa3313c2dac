/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The attention of one rank's rows, as heed_attn_plan() takes it: positions go on from the first
 * row, what counts rows counts those of the rank, and every source is one of pages. Indices and
 * positions of keys are those of the whole, so the order of the sums is, too.
 */
#include "ranks.h"

#include <string.h>

enum { MAX_TERMS = HEED_MPI_TERMS + 2 };

struct local {
    struct heed_mpi_plan *plan;
    const struct heed_mpi_call *call;
    heed_attn_desc desc;
    heed_source sources[HEED_MPI_SOURCES];
    heed_slot slots[HEED_MPI_SLOTS];
    heed_term terms[HEED_MPI_SOURCES][MAX_TERMS];
    int64_t lengths[HEED_MPI_SOURCES];
    int64_t first, n; /* rows */
};

static heed_status no_memory(heed_report *report)
{
    return heed_mpi_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the plan of a rank");
}

/* A constant slot more; 0: there is no room. */
static uint32_t slot_add(struct local *l, heed_tensor t, const void *data)
{
    if (l->desc.n_slots == HEED_MPI_SLOTS)
        return 0;
    l->slots[l->desc.n_slots] = (heed_slot){ t, data };
    return ++l->desc.n_slots;
}

static heed_status slot_full(heed_report *report)
{
    return heed_mpi_fill(report, HEED_E_UNSUPPORTED, "n_slots", HEED_MPI_SLOTS, HEED_MPI_SLOTS + 1,
                         "tables of pages and rows of the rank need more slots than %d",
                         HEED_MPI_SLOTS);
}

/* ---- what counts rows ---- */

/* Walks over the batch items of a slot of i32: the address of its next one, NULL after the last. */
struct walk {
    const heed_tensor *t;
    uint32_t axes; /* those of the batch */
    int64_t at[6];
    const int32_t *data;
    bool over;
};

static const int32_t *walk_next(struct walk *w)
{
    const int32_t *at = w->data;
    uint32_t i = w->axes;

    if (w->over)
        return NULL;
    for (uint32_t j = 0; j < w->axes; j++)
        at += w->at[j] * w->t->stride[j];
    while (i > 0 && ++w->at[i - 1] == w->t->shape[i - 1])
        w->at[--i] = 0;
    w->over = i == 0;
    return at;
}

static int64_t items_of(const heed_tensor *t, uint32_t axes)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < axes; i++)
        n *= t->shape[i];
    return n;
}

/* A list of GLOBAL rows, those of the rank alone and counted from its first one. */
static heed_status rows_list(struct local *l, uint32_t slot, uint32_t *out, heed_report *report)
{
    const heed_slot *from = &l->call->slots[slot - 1];
    const uint32_t axes = from->t.ndim - 1;
    const int64_t entries = from->t.shape[axes], stride = from->t.stride[axes];
    const int64_t items = items_of(&from->t, axes);
    struct walk walk = { .t = &from->t, .axes = axes, .data = from->data, .over = items == 0 };
    heed_tensor t;
    int32_t *list;

    t = heed_array_dense(HEED_I32, NULL, from->t.ndim, from->t.shape).t;
    list = heed_mpi_take(&l->plan->memory, items * entries + 1, sizeof *list, true);
    if (!list)
        return no_memory(report);
    *out = slot_add(l, t, list);
    for (const int32_t *at = walk_next(&walk); at; at = walk_next(&walk), list += entries) {
        int64_t n = 0;

        for (int64_t i = 0; i < entries; i++) {
            const int64_t row = at[i * stride] - l->first;

            if (at[i * stride] >= 0 && row >= 0 && row < l->n)
                list[n++] = (int32_t)row;
        }
        while (n < entries)
            list[n++] = -1;
    }
    return *out ? HEED_OK : slot_full(report);
}

/* SEGMENT ranges, one for each row of the rank. */
static heed_status rows_ranges(struct local *l, uint32_t slot, int64_t block, uint32_t *out,
                               heed_report *report)
{
    const heed_slot *from = &l->call->slots[slot - 1];
    const uint32_t axes = from->t.ndim - 2;
    const int64_t items = items_of(&from->t, axes);
    struct walk walk = { .t = &from->t, .axes = axes, .data = from->data, .over = items == 0 };
    int64_t shape[6];
    int32_t *pairs;

    memcpy(shape, from->t.shape, sizeof shape);
    shape[axes] = l->n;
    pairs = heed_mpi_take(&l->plan->memory, items * l->n * 2 + 1, sizeof *pairs, true);
    if (!pairs)
        return no_memory(report);
    *out = slot_add(l, heed_array_dense(HEED_I32, NULL, from->t.ndim, shape).t, pairs);
    for (const int32_t *at = walk_next(&walk); at; at = walk_next(&walk)) {
        for (int64_t i = 0; i < l->n; i++, pairs += 2) {
            const int32_t *pair = at + (l->first + i) / block * from->t.stride[axes];

            pairs[0] = pair[0];
            pairs[1] = pair[from->t.stride[axes + 1]];
        }
    }
    return *out ? HEED_OK : slot_full(report);
}

/* GLOBAL rows apart from GLOBAL keys: the former count from the rank's first row. */
static heed_status global_rows(struct local *l, heed_source *source, heed_term term,
                               heed_term *terms, heed_report *report)
{
    const int64_t block = term.block == 0 ? 1 : term.block;
    heed_status status = HEED_OK;

    if (term.flags & HEED_TERM_KEYS) {
        terms[source->n_terms] = term;
        terms[source->n_terms++].flags = HEED_TERM_KEYS;
    }
    term.flags = HEED_TERM_ROWS;
    if (term.slot) {
        status = rows_list(l, term.slot, &term.slot, report);
    } else {
        if (block <= l->first) /* none of them is here */
            return HEED_OK;
        term.block = (int32_t)(block - l->first);
    }
    terms[source->n_terms++] = term;
    return status;
}

static heed_status terms_make(struct local *l, uint32_t s, heed_report *report)
{
    const heed_source *whole = &l->call->sources[s];
    heed_source *source = &l->sources[s];
    heed_term *terms = l->terms[s];
    heed_status status = HEED_OK;

    source->n_terms = 0;
    for (uint32_t i = 0; i < whole->n_terms && status >= 0; i++) {
        heed_term term = { 0 };

        memcpy(&term, (const char *)whole->terms + (size_t)i * whole->term_size,
               whole->term_size < sizeof term ? whole->term_size : sizeof term);
        if (term.kind == HEED_TERM_GLOBAL && (term.flags & HEED_TERM_ROWS)) {
            status = global_rows(l, source, term, terms, report);
            continue;
        }
        if (term.kind == HEED_TERM_SEGMENT) {
            status =
                rows_ranges(l, term.slot, term.block == 0 ? 1 : term.block, &term.slot, report);
            term.block = 1;
        }
        terms[source->n_terms++] = term;
    }
    /* No term would mean everything: a window whose ends have crossed shows nothing. */
    if (source->n_terms == 0 && whole->n_terms > 0)
        terms[source->n_terms++] = (heed_term){ .kind = HEED_TERM_WINDOW, .left = -1, .right = -1 };
    source->terms = terms;
    source->term_size = sizeof *terms;
    return status;
}

/* ---- pages ---- */

/* [slot][item] pages of [H_k][page][channels]. */
static void pages_describe(const struct heed_mpi_source *s, heed_tensor *t)
{
    const int64_t shape[4] = { s->n_seen * s->items, t->ndim > 2 ? t->shape[t->ndim - 3] : 1,
                               s->page, t->shape[t->ndim - 1] };

    *t = heed_array_dense(t->dtype, NULL, 4, shape).t;
}

static heed_status pages_make(struct local *l, uint32_t s, heed_report *report)
{
    const struct heed_mpi_source *from = &l->plan->sources[s];
    heed_source *source = &l->sources[s];
    const uint32_t axes = source->k.ndim > 3 ? source->k.ndim - 3 : 0;
    heed_tensor table = { .dtype = HEED_I32, .ndim = axes + 1 };
    int32_t *pages;

    if (from->n_k == 0) /* no page, no table: dense as it was, without memory */
        return HEED_OK;
    memcpy(table.shape, source->k.shape, axes * sizeof(int64_t));
    table.shape[axes] = from->n_pages;
    table = heed_array_dense(HEED_I32, NULL, axes + 1, table.shape).t;
    pages = heed_mpi_take(&l->plan->memory, from->items * from->n_pages + 1, sizeof *pages, true);
    if (!pages)
        return no_memory(report);
    if (from->n_seen * from->items > INT32_MAX)
        return heed_mpi_fill(report, HEED_E_UNSUPPORTED, "sources", INT32_MAX,
                             from->n_seen * from->items, "the rank sees too many pages of keys");
    for (int64_t i = 0; i < from->items * from->n_pages; i++) {
        const int32_t slot = from->slot[i % from->n_pages];

        pages[i] = slot < 0 ? -1 : (int32_t)(slot * from->items + i / from->n_pages);
    }
    source->layout = HEED_LAYOUT_PAGED;
    source->slot = slot_add(l, table, pages);
    if (!source->slot)
        return slot_full(report);
    if (!source->len_slot) {
        l->lengths[s] = from->n_k;
        source->len_slot = slot_add(l, (heed_tensor){ HEED_I64, 1, { 1 }, { 1 } }, &l->lengths[s]);
        if (!source->len_slot)
            return slot_full(report);
    }
    pages_describe(from, &source->k);
    pages_describe(from, &source->v);
    return HEED_OK;
}

/* ---- the descriptor ---- */

/* The last row of the rank lies so many steps before the last one of all. */
static void positions_make(struct local *l)
{
    heed_attn_desc *desc = &l->desc;
    const int64_t step = desc->q_pos_step == 0 ? 1 : desc->q_pos_step;

    if (desc->flags & HEED_ATTN_ALIGN_END) {
        desc->q_pos0 -= (l->call->n_q - l->first - l->n) * step;
    } else {
        desc->flags |= HEED_ATTN_ALIGN_START;
        desc->q_pos0 += l->first * step;
    }
}

static heed_status local_plan(struct local *l, heed_report *report)
{
    const heed_mpi_parts *parts = &l->call->parts;
    heed_plan_props props = { .size = sizeof props };
    heed_status status = HEED_OK;

    l->desc = l->call->desc;
    l->desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    l->desc.q = parts->q;
    l->desc.o = parts->o;
    l->desc.lse = parts->lse;
    l->desc.sources = l->sources;
    l->desc.slots = l->slots;
    memcpy(l->sources, l->call->sources, sizeof l->sources);
    memcpy(l->slots, l->call->slots, sizeof l->slots);
    positions_make(l);
    for (uint32_t s = 0; s < l->desc.n_sources && status >= 0; s++) {
        status = terms_make(l, s, report);
        if (status >= 0)
            status = pages_make(l, s, report);
    }
    l->plan->n_local_slots = l->desc.n_slots;
    report->size = sizeof *report;
    if (status >= 0)
        status = heed_attn_plan_info(l->plan->device, &l->desc, &l->plan->local, &props, report);
    l->plan->props.host_bytes += props.host_bytes;
    return status;
}

heed_status heed_mpi_local(struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                           heed_report *report)
{
    struct heed_mpi_memory scratch = { .device = plan->device };
    struct heed_mpi_memory kept = plan->memory;
    struct local *l = heed_mpi_take(&scratch, 1, sizeof *l, false);
    heed_status status;

    if (!l)
        return no_memory(report);
    plan->memory = scratch; /* heed_attn_plan() keeps copies of constant slots */
    l->plan = plan;
    l->call = call;
    l->first = call->parts.first_row;
    l->n = call->parts.n_rows;
    status = local_plan(l, report);
    heed_mpi_release(&plan->memory);
    plan->memory = kept;
    return status;
}
