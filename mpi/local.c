/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The attention of one rank's rows, as heed_attn_plan() takes it: positions go on from the first
 * row, what counts rows counts those of the rank, and every source is one of pages. Indices and
 * positions of keys are those of the whole, so the order of the sums is, too.
 */
#include "local.h"

#include <string.h>

static heed_status no_memory(heed_report *report)
{
    return heed_mpi_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the plan of a rank");
}

void *heed_mpi_local_slot(struct heed_mpi_local *l, heed_tensor t, uint32_t *slot,
                          heed_report *report)
{
    const size_t size = t.dtype == HEED_I64 ? sizeof(int64_t) : sizeof(int32_t);
    int64_t elements = 1;
    void *data;

    if (l->desc.n_slots == HEED_MPI_SLOTS) {
        heed_mpi_fill(report, HEED_E_UNSUPPORTED, "n_slots", HEED_MPI_SLOTS, HEED_MPI_SLOTS + 1,
                      "tables of pages and rows of the rank need more slots than %d",
                      HEED_MPI_SLOTS);
        return NULL;
    }
    for (uint32_t i = 0; i < t.ndim; i++)
        elements *= t.shape[i];
    data = heed_mpi_take(l->memory, elements + 1, size, true);
    if (!data) {
        no_memory(report);
        return NULL;
    }
    l->slots[l->desc.n_slots] = (heed_slot){ t, data };
    *slot = ++l->desc.n_slots;
    return data;
}

/* ---- rows ---- */

struct heed_mpi_rows_of heed_mpi_local_rows(const struct heed_mpi_local *l, const int64_t at[3])
{
    const heed_attn_desc *desc = &l->call->desc;
    int64_t begin, low, high;

    if (desc->q_layout == HEED_LAYOUT_DENSE)
        return (struct heed_mpi_rows_of){ l->first, l->n };
    begin = heed_mpi_slot_get(&l->call->slots[desc->q_slot - 1], at);
    low = begin > l->first ? begin : l->first;
    high = heed_mpi_min(begin + heed_mpi_slot_get(&l->call->slots[desc->q_len_slot - 1], at),
                        l->first + l->n);
    return low < high ? (struct heed_mpi_rows_of){ low - begin, high - low }
                      : (struct heed_mpi_rows_of){ 0, 0 };
}

static void batch_find(struct heed_mpi_local *l)
{
    const heed_attn_desc *desc = &l->call->desc;

    l->batch[0] = l->batch[1] = l->batch[2] = 1;
    if (desc->q_layout == HEED_LAYOUT_RAGGED)
        heed_mpi_batch_join(l->batch, &l->call->slots[desc->q_slot - 1].t, 0);
    for (int64_t item = 0; item < heed_mpi_batch_items(l->batch); item++) {
        struct heed_mpi_rows_of rows;
        int64_t at[3];

        heed_mpi_batch_at(l->batch, item, at);
        rows = heed_mpi_local_rows(l, at);
        l->most = rows.n > l->most ? rows.n : l->most;
    }
}

/* The rank's part of each packed item, at positions that go on from the rows before it, or end
 * before the rows behind it. */
static heed_status queries_cut(struct heed_mpi_local *l, heed_report *report)
{
    const struct heed_mpi_call *call = l->call;
    const heed_tensor t = heed_mpi_batch_array(HEED_I64, l->batch, 0, NULL);
    const int64_t step = l->desc.q_pos_step == 0 ? 1 : l->desc.q_pos_step;
    int64_t *begins = heed_mpi_local_slot(l, t, &l->desc.q_slot, report);
    int64_t *lengths = begins ? heed_mpi_local_slot(l, t, &l->desc.q_len_slot, report) : NULL;
    int64_t *shifts = lengths ? heed_mpi_local_slot(l, t, &l->desc.q_pos_slot, report) : NULL;

    if (!shifts)
        return report->status;
    for (int64_t item = 0; item < heed_mpi_batch_items(l->batch); item++) {
        struct heed_mpi_rows_of rows;
        int64_t at[3], begin, behind;

        heed_mpi_batch_at(l->batch, item, at);
        rows = heed_mpi_local_rows(l, at);
        begin = heed_mpi_slot_get(&call->slots[call->desc.q_slot - 1], at) + rows.before - l->first;
        behind =
            heed_mpi_slot_get(&call->slots[call->desc.q_len_slot - 1], at) - rows.before - rows.n;
        begins[item] = rows.n > 0 ? begin : 0;
        lengths[item] = rows.n;
        shifts[item] = call->desc.q_pos_slot
                           ? heed_mpi_slot_get(&call->slots[call->desc.q_pos_slot - 1], at)
                           : 0;
        if (rows.n > 0)
            shifts[item] +=
                l->desc.flags & HEED_ATTN_ALIGN_END ? -behind * step : rows.before * step;
    }
    return HEED_OK;
}

/* The last row of the rank lies so many steps before the last one of all. */
static heed_status rows_describe(struct heed_mpi_local *l, heed_report *report)
{
    heed_attn_desc *desc = &l->desc;
    const int64_t step = desc->q_pos_step == 0 ? 1 : desc->q_pos_step;

    if (!(desc->flags & HEED_ATTN_ALIGN_END))
        desc->flags |= HEED_ATTN_ALIGN_START;
    if (desc->q_layout == HEED_LAYOUT_RAGGED)
        return queries_cut(l, report);
    if (desc->flags & HEED_ATTN_ALIGN_END)
        desc->q_pos0 -= (l->call->n_q - l->first - l->n) * step;
    else
        desc->q_pos0 += l->first * step;
    return HEED_OK;
}

/* ---- pages ---- */

static heed_status too_many(heed_report *report, int64_t pages)
{
    return heed_mpi_fill(report, HEED_E_UNSUPPORTED, "sources", INT32_MAX, pages,
                         "the rank sees too many pages of keys");
}

void heed_mpi_pages_describe(const struct heed_mpi_source *s, bool in_place,
                             const heed_tensor *held, heed_tensor *t)
{
    const int64_t *stride = held->stride + held->ndim;
    const int64_t shape[4] = { s->n_seen * s->items, t->ndim > 2 ? t->shape[t->ndim - 3] : 1,
                               in_place ? HEED_CHUNK : s->page, t->shape[t->ndim - 1] };

    *t = heed_array_dense(t->dtype, NULL, 4, shape).t;
    if (!in_place)
        return;
    t->shape[0] = s->count / HEED_CHUNK;
    t->stride[0] = HEED_CHUNK * stride[-2];
    t->stride[1] = held->ndim > 2 ? stride[-3] : 0;
    t->stride[2] = stride[-2];
    t->stride[3] = stride[-1];
}

/* One table for all items of the source's batch axes. */
static heed_status pages_make(struct heed_mpi_local *l, uint32_t s, heed_report *report)
{
    const struct heed_mpi_source *from = &l->plan->sources[s];
    heed_source *source = &l->sources[s];
    int64_t batch[3] = { 1, 1, 1 };
    int32_t *pages;

    if (from->n_seen * from->items > INT32_MAX)
        return too_many(report, from->n_seen * from->items);
    heed_mpi_batch_join(batch, &source->k, source->k.ndim < 3 ? source->k.ndim : 3);
    pages = heed_mpi_local_slot(l, heed_mpi_batch_array(HEED_I32, batch, 1, &from->n_pages),
                                &source->slot, report);
    if (!pages)
        return report->status;
    for (int64_t i = 0; i < from->items * from->n_pages; i++) {
        const int32_t slot = from->slot[i % from->n_pages];

        pages[i] = slot < 0 ? -1 : (int32_t)(slot * from->items + i / from->n_pages);
    }
    if (!source->len_slot) {
        int64_t *length = heed_mpi_local_slot(l, (heed_tensor){ HEED_I64, 1, { 1 }, { 1 } },
                                              &source->len_slot, report);

        if (!length)
            return report->status;
        *length = from->n_k;
    }
    heed_mpi_pages_describe(from, from->in_place, &l->call->keys[s].k, &source->k);
    heed_mpi_pages_describe(from, from->in_place, &l->call->keys[s].v, &source->v);
    return HEED_OK;
}

/* ---- pages of packed keys ---- */

/* Of the heap, where every key begins a page: the page whose first key is packed key `key`; -1: no
 * row sees any of it. The keys of a page lie in one packed page or in two neighbours, and of these
 * one may not be there: what lies in its place is seen by no row. */
static int32_t packed_page(const struct heed_mpi_source *s, int64_t key)
{
    const int64_t page = key / s->page, into = key % s->page;

    if (page < s->n_pages && s->slot[page] >= 0)
        return (int32_t)((s->slot[page] + 1) * s->page + into);
    if (into > 0 && page + 1 < s->n_pages && s->slot[page + 1] >= 0)
        return (int32_t)(s->slot[page + 1] * s->page + into);
    return -1;
}

/* Pages of [H_k][page][channels] of the heap, each from another key on, so that they overlap. */
static void packed_describe(const struct heed_mpi_source *s, heed_tensor *t)
{
    const int64_t heads = t->ndim > 2 ? t->shape[t->ndim - 3] : 1, d = t->shape[t->ndim - 1];
    const int64_t keys = heed_mpi_heap_keys(s);

    *t = (heed_tensor){
        t->dtype, 4, { keys - s->page + 1, heads, s->page, d }, { d, keys * d, d, 1 }
    };
}

/* A table of its own for each item. */
static heed_status packed_make(struct heed_mpi_local *l, uint32_t s, heed_report *report)
{
    const struct heed_mpi_source *from = &l->plan->sources[s];
    heed_source *source = &l->sources[s];
    const heed_slot *begins = &l->call->slots[source->slot - 1];
    const heed_slot *lengths = &l->call->slots[source->len_slot - 1];
    const int64_t n_pages = l->keys[s] / from->page;
    int64_t batch[3] = { 1, 1, 1 };
    int32_t *pages;

    if (heed_mpi_heap_keys(from) > INT32_MAX)
        return too_many(report, heed_mpi_heap_keys(from));
    heed_mpi_batch_join(batch, &begins->t, 0);
    heed_mpi_batch_join(batch, &lengths->t, 0);
    pages = heed_mpi_local_slot(l, heed_mpi_batch_array(HEED_I32, batch, 1, &n_pages),
                                &source->slot, report);
    if (!pages)
        return report->status;
    for (int64_t item = 0; item < heed_mpi_batch_items(batch); item++, pages += n_pages) {
        int64_t at[3], begin, length;

        heed_mpi_batch_at(batch, item, at);
        begin = heed_mpi_slot_get(begins, at);
        length = heed_mpi_slot_get(lengths, at);
        for (int64_t i = 0; i < n_pages; i++)
            pages[i] = i * from->page < length ? packed_page(from, begin + i * from->page) : -1;
    }
    packed_describe(from, &source->k);
    packed_describe(from, &source->v);
    return HEED_OK;
}

/* The keys that an item may have: of packed ones pages of the longest item, at least one. */
static int64_t keys_most(const struct heed_mpi_local *l, uint32_t s)
{
    const struct heed_mpi_source *from = &l->plan->sources[s];
    int64_t batch[3] = { 1, 1, 1 }, at[3], most = 1;
    const heed_slot *lengths;

    if (!from->packed)
        return from->n_k;
    lengths = &l->call->slots[l->call->sources[s].len_slot - 1];
    heed_mpi_batch_join(batch, &lengths->t, 0);
    for (int64_t item = 0; item < heed_mpi_batch_items(batch); item++) {
        heed_mpi_batch_at(batch, item, at);
        most = heed_mpi_slot_get(lengths, at) > most ? heed_mpi_slot_get(lengths, at) : most;
    }
    return (most + from->page - 1) / from->page * from->page;
}

/* ---- the descriptor ---- */

static heed_status source_make(struct heed_mpi_local *l, uint32_t s, heed_report *report)
{
    const struct heed_mpi_source *from = &l->plan->sources[s];
    heed_status status;

    l->keys[s] = keys_most(l, s);
    status = heed_mpi_local_terms(l, s, report);
    if (status < 0 || from->n_k == 0) /* no page, no table: as it was, without memory */
        return status;
    if (from->splits)
        return status;
    if (from->in_place && from->count == from->n_k) { /* the rank's memory for all of it */
        l->sources[s].k = l->call->keys[s].k;
        l->sources[s].v = l->call->keys[s].v;
        return status;
    }
    status = from->packed ? packed_make(l, s, report) : pages_make(l, s, report);
    l->sources[s].layout = HEED_LAYOUT_PAGED;
    return status;
}

static heed_status local_plan(struct heed_mpi_local *l, heed_report *report)
{
    const heed_mpi_parts *parts = &l->call->parts;
    heed_plan_props props = { .size = sizeof props };
    heed_status status;

    l->desc = l->call->desc;
    l->desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    l->desc.q = parts->q;
    l->desc.o = parts->o;
    l->desc.lse = parts->lse;
    l->desc.sources = l->sources;
    l->desc.slots = l->slots;
    memcpy(l->sources, l->call->sources, sizeof l->sources);
    memcpy(l->slots, l->call->slots, sizeof l->slots);
    batch_find(l);
    status = rows_describe(l, report);
    for (uint32_t s = 0; s < l->desc.n_sources && status >= 0; s++)
        status = source_make(l, s, report);
    if (status >= 0)
        status = heed_mpi_split(l, report);
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
    /* heed_attn_plan() keeps copies of constant slots. */
    struct heed_mpi_memory scratch = { .device = plan->device };
    struct heed_mpi_local *l = heed_mpi_take(&scratch, 1, sizeof *l, false);
    heed_status status;

    if (!l)
        return no_memory(report);
    l->plan = plan;
    l->call = call;
    l->memory = &scratch;
    l->first = call->parts.first_row;
    l->n = call->parts.n_rows;
    status = local_plan(l, report);
    heed_mpi_release(&scratch);
    return status;
}
