/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Moving keys and values: a message for K and one for V of each chunk, or for each item and head of
 * it where those would be too long. Types of MPI describe how both ends lie, so that nothing is
 * packed by heed; a rank's own chunks are copied into its pages.
 */
#include "ranks.h"

#include <limits.h>
#include <string.h>

static heed_status no_memory(heed_report *report)
{
    return heed_mpi_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the keys of ranks");
}

/* ---- how keys lie ---- */

static int64_t size_of(uint32_t dtype)
{
    return dtype == HEED_F32 ? 4 : dtype == HEED_F16 || dtype == HEED_BF16 ? 2 : 1;
}

static void view_make(const heed_tensor *t, int64_t size, struct heed_mpi_view *view)
{
    for (uint32_t i = 0; i < 6; i++) {
        const bool there = i + t->ndim >= 6;

        view->shape[i] = there ? t->shape[i + t->ndim - 6] : 1;
        view->stride[i] = there ? t->stride[i + t->ndim - 6] * size : 0;
    }
}

/* Items and heads, and bytes of the keys of one of them; the last axes are keys and channels. */
static int64_t groups_of(const struct heed_mpi_view *view)
{
    return view->shape[0] * view->shape[1] * view->shape[2] * view->shape[3];
}

static bool rows_make(struct heed_mpi_plan *plan, const struct heed_mpi_source *s,
                      const heed_tensor *t, int64_t most, struct heed_mpi_rows *rows)
{
    struct heed_mpi_view *page = &rows->page;
    int64_t bytes;

    rows->size = size_of(t->dtype);
    view_make(t, rows->size, &rows->held);
    *page = rows->held;
    page->shape[4] = HEED_CHUNK;
    page->stride[5] = rows->size;
    for (int i = 4; i >= 0; i--)
        page->stride[i] = page->stride[i + 1] * page->shape[i + 1];
    rows->slot_bytes = page->stride[0] * page->shape[0];
    bytes = rows->slot_bytes;
    rows->pieces = bytes == 0 ? 0 : bytes <= most ? 1 : groups_of(page);
    rows->pages = heed_mpi_take(&plan->memory, s->n_seen, (size_t)bytes, true);
    return rows->pages != NULL;
}

heed_status heed_mpi_exchange_pages(struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                                    heed_report *report)
{
    const int64_t most = call->parts.message_bytes ? call->parts.message_bytes : INT_MAX;

    for (int64_t i = 0; i < plan->n_sources; i++) {
        struct heed_mpi_source *s = &plan->sources[i];

        if (!rows_make(plan, s, &call->keys[i].k, most, &s->rows[0]) ||
            !rows_make(plan, s, &call->keys[i].v, most, &s->rows[1]))
            return no_memory(report);
        for (int kv = 0; kv < 2; kv++) {
            const struct heed_mpi_view *page = &s->rows[kv].page;

            if (page->shape[5] > INT_MAX / 4 / HEED_CHUNK || page->shape[0] > INT_MAX ||
                page->shape[1] > INT_MAX || page->shape[2] > INT_MAX || page->shape[3] > INT_MAX)
                return heed_mpi_fill(report, HEED_E_UNSUPPORTED, "sources",
                                     INT_MAX / 4 / HEED_CHUNK, page->shape[5],
                                     "too many channels, heads or items");
        }
    }
    return HEED_OK;
}

/* ---- types of messages ---- */

/* Of the axes [first, 6) of a view with so many keys. */
static int type_make(const struct heed_mpi_view *view, int first, int64_t keys, int64_t size,
                     MPI_Datatype *out)
{
    int64_t dense = size; /* bytes without a gap so far; 0: there are gaps */
    MPI_Datatype type;
    int code = MPI_Type_contiguous((int)size, MPI_BYTE, &type);

    for (int i = 5; i >= first && code == MPI_SUCCESS; i--) {
        const int64_t n = i == 4 ? keys : view->shape[i];
        MPI_Datatype wider;

        if (n == 1)
            continue;
        if (view->stride[i] == dense)
            code = MPI_Type_contiguous((int)n, type, &wider);
        else
            code = MPI_Type_create_hvector((int)n, 1, (MPI_Aint)view->stride[i], type, &wider);
        dense = view->stride[i] == dense ? dense * n : 0;
        MPI_Type_free(&type);
        type = wider;
    }
    *out = type;
    return code == MPI_SUCCESS ? MPI_Type_commit(out) : code;
}

static heed_status types_make(const struct heed_mpi_source *s, struct heed_mpi_rows *rows,
                              heed_report *report)
{
    const int first = rows->pieces == 1 ? 0 : 4;
    heed_status status = HEED_OK;

    for (int cut = 0; cut < 2 && rows->pieces > 0 && status >= 0; cut++) {
        const int64_t keys = cut ? s->n_k % HEED_CHUNK : HEED_CHUNK;

        if (keys == 0 || (!cut && s->n_k < HEED_CHUNK))
            continue;
        status = heed_mpi_result(
            report, type_make(&rows->held, first, keys, rows->size, &rows->held_type[cut]),
            "MPI_Type_create_hvector");
        if (status >= 0)
            status = heed_mpi_result(
                report, type_make(&rows->page, first, keys, rows->size, &rows->page_type[cut]),
                "MPI_Type_create_hvector");
    }
    return status;
}

/* ---- what a run will move ---- */

static uint64_t parcel_bytes(const struct heed_mpi_source *s, int64_t chunk)
{
    uint64_t bytes = 0;

    for (int kv = 0; kv < 2; kv++)
        bytes += (uint64_t)(s->rows[kv].slot_bytes / HEED_CHUNK * heed_mpi_chunk_keys(s, chunk));
    return bytes;
}

static void parcels_count(const struct heed_mpi_plan *plan, const struct heed_mpi_parcel *parcels,
                          int64_t n, uint64_t *bytes, uint64_t *messages)
{
    for (int64_t i = 0; i < n; i++) {
        const struct heed_mpi_source *s = &plan->sources[parcels[i].source];

        *bytes += parcel_bytes(s, parcels[i].chunk);
        *messages += (uint64_t)(s->rows[0].pieces + s->rows[1].pieces);
    }
}

static bool is_own(const struct heed_mpi_source *s, int64_t chunk)
{
    const int64_t key = chunk * HEED_CHUNK;

    return s->slot[chunk] >= 0 && key >= s->first && key < s->first + s->count;
}

heed_status heed_mpi_exchange_prepare(struct heed_mpi_plan *plan, heed_report *report)
{
    heed_mpi_props *props = &plan->props;
    heed_status status = HEED_OK;

    parcels_count(plan, plan->in, plan->n_in, &props->bytes_in, &props->messages_in);
    parcels_count(plan, plan->out, plan->n_out, &props->bytes_out, &props->messages_out);
    for (int64_t i = 0; i < plan->n_sources; i++) {
        const struct heed_mpi_source *s = &plan->sources[i];

        props->chunks_seen += (uint64_t)s->n_seen;
        props->chunks_held += (uint64_t)((s->count + HEED_CHUNK - 1) / HEED_CHUNK);
        for (int64_t c = 0; c < s->n_chunks; c++)
            props->bytes_copied += is_own(s, c) ? parcel_bytes(s, c) : 0;
    }
    plan->requests =
        heed_mpi_take(&plan->memory, (int64_t)(props->messages_in + props->messages_out),
                      sizeof *plan->requests, false);
    if (!plan->requests)
        return no_memory(report);
    if (props->messages_in + props->messages_out > INT_MAX)
        return heed_mpi_fill(report, HEED_E_OVERFLOW, "parts", INT_MAX,
                             (int64_t)(props->messages_in + props->messages_out),
                             "too many messages at a time");
    for (int64_t i = 0; i < plan->n_sources; i++) {
        for (int kv = 0; kv < 2 && status >= 0; kv++)
            status = types_make(&plan->sources[i], &plan->sources[i].rows[kv], report);
    }
    return status;
}

void heed_mpi_exchange_finish(struct heed_mpi_plan *plan)
{
    for (int64_t i = 0; i < plan->n_sources; i++) {
        for (int kv = 0; kv < 2; kv++) {
            struct heed_mpi_rows *rows = &plan->sources[i].rows[kv];

            for (int cut = 0; cut < 2; cut++) {
                if (rows->held_type[cut] != MPI_DATATYPE_NULL)
                    MPI_Type_free(&rows->held_type[cut]);
                if (rows->page_type[cut] != MPI_DATATYPE_NULL)
                    MPI_Type_free(&rows->page_type[cut]);
            }
        }
    }
}

/* ---- a run ---- */

/* From element [0]..[0] to that of a piece: an item and head, the last axis the fastest. */
static int64_t piece_offset(const struct heed_mpi_view *view, int64_t piece)
{
    int64_t offset = 0;

    for (int i = 3; i >= 0; i--) {
        offset += piece % view->shape[i] * view->stride[i];
        piece /= view->shape[i];
    }
    return offset;
}

static const char *held_at(const struct heed_mpi_source *s, const heed_kv_bufs *held, int kv,
                           int64_t chunk)
{
    const heed_buf buf = kv ? held->v : held->k;

    return (const char *)buf.handle + buf.offset +
           (chunk * HEED_CHUNK - s->first) * s->rows[kv].held.stride[4];
}

static char *page_at(const struct heed_mpi_source *s, int kv, int64_t chunk)
{
    return s->rows[kv].pages + s->slot[chunk] * s->rows[kv].slot_bytes;
}

/* Posts the messages of a chunk. held NULL: they come. */
static int parcel_post(struct heed_mpi_plan *plan, const struct heed_mpi_parcel *p,
                       const heed_kv_bufs *held)
{
    const struct heed_mpi_source *s = &plan->sources[p->source];
    const int cut = heed_mpi_chunk_cut(s, p->chunk);
    int code = MPI_SUCCESS;

    for (int kv = 0; kv < 2; kv++) {
        const struct heed_mpi_rows *rows = &s->rows[kv];

        for (int64_t i = 0; i < rows->pieces && code == MPI_SUCCESS; i++) {
            MPI_Request *request = &plan->requests[plan->n_requests];

            if (held)
                code = MPI_Isend(held_at(s, &held[p->source], kv, p->chunk) +
                                     piece_offset(&rows->held, i),
                                 1, rows->held_type[cut], p->rank, 0, plan->team.comm, request);
            else
                code = MPI_Irecv(page_at(s, kv, p->chunk) + piece_offset(&rows->page, i), 1,
                                 rows->page_type[cut], p->rank, 0, plan->team.comm, request);
            plan->n_requests += code == MPI_SUCCESS;
        }
    }
    return code;
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

static void own_copy(const struct heed_mpi_source *s, const heed_kv_bufs *held, int64_t chunk)
{
    for (int kv = 0; kv < 2; kv++) {
        const struct heed_mpi_rows *rows = &s->rows[kv];
        const int64_t groups = rows->pieces == 0 ? 0 : groups_of(&rows->page);

        for (int64_t g = 0; g < groups; g++)
            keys_copy(rows, page_at(s, kv, chunk) + piece_offset(&rows->page, g),
                      held_at(s, held, kv, chunk) + piece_offset(&rows->held, g),
                      heed_mpi_chunk_keys(s, chunk));
    }
}

heed_status heed_mpi_exchange(struct heed_mpi_plan *plan, const heed_kv_bufs *held,
                              heed_report *report)
{
    int code = MPI_SUCCESS, waited;

    plan->n_requests = 0;
    for (int64_t i = 0; i < plan->n_in && code == MPI_SUCCESS; i++)
        code = parcel_post(plan, &plan->in[i], NULL);
    for (int64_t i = 0; i < plan->n_out && code == MPI_SUCCESS; i++)
        code = parcel_post(plan, &plan->out[i], held);
    for (int64_t i = 0; i < plan->n_sources; i++) {
        const struct heed_mpi_source *s = &plan->sources[i];

        for (int64_t c = 0; c < s->n_chunks; c++) {
            if (is_own(s, c))
                own_copy(s, &held[i], c);
        }
    }
    waited = code == MPI_SUCCESS
                 ? MPI_Waitall((int)plan->n_requests, plan->requests, MPI_STATUSES_IGNORE)
                 : code;
    return heed_mpi_result(report, waited, code == MPI_SUCCESS ? "MPI_Waitall" : "MPI_Isend");
}
