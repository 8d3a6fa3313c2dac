/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Moving keys and values into pages: what other ranks hold comes in messages, and what the rank
 * holds itself is copied meanwhile.
 */
#include "ranks.h"

#include <limits.h>
#include <string.h>

static heed_status no_memory(heed_report *report)
{
    return heed_mpi_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the keys of ranks");
}

/* ---- pages ---- */

static void view_make(const heed_tensor *t, int64_t size, struct heed_mpi_view *view)
{
    for (uint32_t i = 0; i < 6; i++) {
        const bool there = i + t->ndim >= 6;

        view->shape[i] = there ? t->shape[i + t->ndim - 6] : 1;
        view->stride[i] = there ? t->stride[i + t->ndim - 6] * size : 0;
    }
}

static heed_status rows_make(struct heed_mpi_plan *plan, const struct heed_mpi_source *s,
                             const heed_tensor *t, struct heed_mpi_rows *rows, heed_report *report)
{
    struct heed_mpi_view *page = &rows->page;
    int64_t slots = plan->rows_move || (s->in_place && !s->splits) ? 0 : s->n_seen;

    rows->size = heed_mpi_size_of(t->dtype);
    view_make(t, rows->size, &rows->held);
    *page = rows->held;
    page->shape[4] = s->page;
    page->stride[5] = rows->size;
    for (int i = 4; i >= 0; i--)
        page->stride[i] = page->stride[i + 1] * page->shape[i + 1];
    rows->page_bytes = rows->slot_bytes = page->stride[0] * page->shape[0];
    if (s->packed) {
        rows->slot_bytes = page->stride[3];
        for (int i = 3; i >= 0; i--)
            page->stride[i] = page->stride[4] * heed_mpi_heap_keys(s); /* of heads: no item */
        slots += 2;
    }
    for (int i = 0; i < 6; i++) {
        if (page->shape[i] > INT_MAX / 4 / HEED_CHUNK) /* counts of MPI, and bytes of a head */
            return heed_mpi_fill(report, HEED_E_UNSUPPORTED, "sources", INT_MAX / 4 / HEED_CHUNK,
                                 page->shape[i], "too many channels, heads or items");
    }
    rows->heap = heed_mpi_take(&plan->memory, slots, (size_t)rows->page_bytes, true);
    if (!rows->heap)
        return no_memory(report);
    rows->pages = rows->heap + (s->packed ? rows->slot_bytes : 0);
    return HEED_OK;
}

heed_status heed_mpi_exchange_pages(struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                                    heed_report *report)
{
    heed_status status = HEED_OK;

    for (int64_t i = 0; i < plan->n_sources && status >= 0; i++) {
        struct heed_mpi_source *s = &plan->sources[i];

        status = rows_make(plan, s, &call->keys[i].k, &s->rows[0], report);
        if (status >= 0)
            status = rows_make(plan, s, &call->keys[i].v, &s->rows[1], report);
    }
    return status;
}

/* ---- what a run will move ---- */

static void source_count(const struct heed_mpi_source *s, heed_mpi_props *props)
{
    props->keys_held += (uint64_t)s->count;
    for (int64_t p = 0; p < s->n_pages; p++) {
        const int64_t keys = heed_mpi_page_keys(s, p);

        props->keys_seen += s->slot[p] < 0 ? 0 : (uint64_t)keys;
        for (int v = 0; v < 2 && !props->rows_move && !s->in_place && heed_mpi_is_own(s, p); v++)
            props->bytes_copied += (uint64_t)(s->rows[v].page_bytes / s->page * keys);
    }
}

heed_status heed_mpi_exchange_prepare(struct heed_mpi_plan *plan, heed_report *report)
{
    heed_mpi_props *props = &plan->props;
    heed_status status = heed_mpi_messages_make(plan, false, report);
    int64_t n;

    if (status >= 0)
        status = heed_mpi_messages_make(plan, true, report);
    if (status < 0)
        return status;
    n = plan->messages_in.n + plan->messages_out.n;
    if (n > INT_MAX)
        return heed_mpi_fill(report, HEED_E_OVERFLOW, "parts", INT_MAX, n,
                             "too many messages at a time");
    plan->requests = heed_mpi_take(&plan->memory, n, sizeof *plan->requests, false);
    if (!plan->requests)
        return no_memory(report);
    props->messages_in = (uint64_t)plan->messages_in.n;
    props->messages_out = (uint64_t)plan->messages_out.n;
    props->bytes_in = (uint64_t)plan->messages_in.bytes;
    props->bytes_out = (uint64_t)plan->messages_out.bytes;
    props->rows_move = plan->rows_move;
    for (int64_t i = 0; i < plan->n_sources; i++)
        source_count(&plan->sources[i], props);
    return HEED_OK;
}

/* ---- a run ---- */

static const char *held_at(const heed_kv_bufs *held, int v)
{
    const heed_buf buf = v ? held->v : held->k;

    return (const char *)buf.handle + buf.offset;
}

/* The keys of one item and head. */
static void keys_copy(const struct heed_mpi_rows *rows, char *to, const char *from, int64_t keys)
{
    const int64_t channels = rows->page.shape[5], size = rows->size;

    for (int64_t k = 0; k < keys; k++) {
        char *row = to + k * rows->page.stride[4];
        const char *given = from + k * rows->held.stride[4];

        if (rows->held.stride[5] == size) {
            memcpy(row, given, (size_t)(channels * size));
            continue;
        }
        for (int64_t c = 0; c < channels; c++)
            memcpy(row + c * size, given + c * rows->held.stride[5], (size_t)size);
    }
}

static void own_copy(const struct heed_mpi_source *s, const heed_kv_bufs *held, int64_t page)
{
    for (int v = 0; v < 2; v++) {
        const struct heed_mpi_rows *rows = &s->rows[v];
        const int64_t groups = rows->page_bytes == 0 ? 0 : heed_mpi_groups(&rows->page);
        const int64_t key = page * s->page - s->first;

        for (int64_t g = 0; g < groups; g++)
            keys_copy(rows,
                      rows->pages + s->slot[page] * rows->slot_bytes +
                          heed_mpi_group_offset(&rows->page, g),
                      held_at(held, v) + key * rows->held.stride[4] +
                          heed_mpi_group_offset(&rows->held, g),
                      heed_mpi_page_keys(s, page));
    }
}

static int post_in(struct heed_mpi_plan *plan)
{
    int code = MPI_SUCCESS;

    for (int64_t i = 0; i < plan->messages_in.n && code == MPI_SUCCESS; i++) {
        const struct heed_mpi_message *m = &plan->messages_in.message[i];

        code = MPI_Irecv(plan->sources[m->source].rows[m->v].pages + m->offset, 1, m->type, m->rank,
                         0, plan->team.comm, &plan->requests[i]);
    }
    return code;
}

static int post_out(struct heed_mpi_plan *plan, const heed_kv_bufs *held)
{
    int code = MPI_SUCCESS;

    for (int64_t i = 0; i < plan->messages_out.n && code == MPI_SUCCESS; i++) {
        const struct heed_mpi_message *m = &plan->messages_out.message[i];

        code = MPI_Isend(held_at(&held[m->source], m->v) + m->offset, 1, m->type, m->rank, 0,
                         plan->team.comm, &plan->requests[plan->messages_in.n + i]);
    }
    return code;
}

heed_status heed_mpi_exchange(struct heed_mpi_plan *plan, const heed_kv_bufs *held,
                              heed_report *report)
{
    heed_status status = heed_mpi_result(report, post_in(plan), "MPI_Irecv");

    if (status >= 0)
        status = heed_mpi_result(report, post_out(plan, held), "MPI_Isend");
    if (status < 0)
        return status;
    for (int64_t i = 0; i < plan->n_sources; i++) {
        const struct heed_mpi_source *s = &plan->sources[i];

        for (int64_t p = 0; p < s->n_pages && !plan->rows_move && !s->in_place; p++) {
            if (heed_mpi_is_own(s, p))
                own_copy(s, &held[i], p);
        }
    }
    return heed_mpi_result(report,
                           MPI_Waitall((int)(plan->messages_in.n + plan->messages_out.n),
                                       plan->requests, MPI_STATUSES_IGNORE),
                           "MPI_Waitall");
}
