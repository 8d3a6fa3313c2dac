/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From parcels to messages. All pages that go from one rank to another are one message for K and
 * one for V, cut where it would be too long; a page that the end of the keys cuts is one of its
 * own. Types of MPI say where pages lie on both sides, so nothing is packed by heed. Both ranks cut
 * by the same rule: what they know is the list of pages and the longest message.
 */
#include "ranks.h"

#include <limits.h>

/* A list of places of pages that grows to one message after the other. */
struct cutter {
    struct heed_mpi_plan *plan;
    struct heed_mpi_messages *to; /* message NULL: they are counted */
    const struct heed_mpi_source *source;
    const struct heed_mpi_rows *rows;
    const struct heed_mpi_parcel *first, *end; /* of one rank and source */
    bool out;
    int v, axis; /* axis: 0 all items and heads at once, 4 one of them */
    MPI_Aint *places;
    int64_t n, most;
    int code;
};

int64_t heed_mpi_groups(const struct heed_mpi_view *view)
{
    return view->shape[0] * view->shape[1] * view->shape[2] * view->shape[3];
}

int64_t heed_mpi_group_offset(const struct heed_mpi_view *view, int64_t group)
{
    int64_t offset = 0;

    for (int i = 3; i >= 0; i--) {
        offset += group % view->shape[i] * view->stride[i];
        group /= view->shape[i];
    }
    return offset;
}

/* Axes [first, 6) of a view with so many keys, elements of `size` bytes. */
static int page_type(const struct heed_mpi_view *view, int first, int64_t keys, int64_t size,
                     MPI_Datatype *out)
{
    int64_t dense = size; /* bytes without a gap so far; 0: there are gaps */
    int code = MPI_Type_contiguous((int)size, MPI_BYTE, out);

    for (int i = 5; i >= first && code == MPI_SUCCESS; i--) {
        const int64_t n = i == 4 ? keys : view->shape[i];
        MPI_Datatype inner = *out;

        if (n == 1)
            continue;
        if (view->stride[i] == dense)
            code = MPI_Type_contiguous((int)n, inner, out);
        else
            code = MPI_Type_create_hvector((int)n, 1, (MPI_Aint)view->stride[i], inner, out);
        dense = view->stride[i] == dense ? dense * n : 0;
        MPI_Type_free(&inner);
    }
    return code;
}

/* Ends the message of the pages so far, each of so many keys. */
static void cut(struct cutter *c, int64_t keys, int64_t group)
{
    const struct heed_mpi_view *view = c->out ? &c->rows->held : &c->rows->page;
    struct heed_mpi_message message = {
        .rank = c->first->rank,
        .source = c->first->source,
        .v = c->v,
        .offset = c->axis == 0 ? 0 : heed_mpi_group_offset(view, group),
    };
    MPI_Datatype page;

    if (c->n == 0 || c->code != MPI_SUCCESS)
        return;
    if (c->to->message) {
        c->code = page_type(view, c->axis, keys, c->rows->size, &page);
        if (c->code == MPI_SUCCESS)
            c->code = MPI_Type_create_hindexed_block((int)c->n, 1, c->places, page, &message.type);
        if (c->code == MPI_SUCCESS)
            c->code = MPI_Type_commit(&message.type);
        if (c->code != MPI_SUCCESS)
            return;
        MPI_Type_free(&page);
        c->to->message[c->to->n] = message;
        c->to->bytes += c->n * keys * view->shape[5] * c->rows->size *
                        (c->axis == 0 ? heed_mpi_groups(view) : 1);
    }
    c->to->n++;
    c->n = 0;
}

/* The pages of the parcels, for all items and heads or one of them. */
static void pages_cut(struct cutter *c, int64_t group)
{
    const int64_t n_k = c->source->n_k;
    int64_t page = 0;

    for (const struct heed_mpi_parcel *p = c->first; p < c->end; p++) {
        page = p->page;
        for (int64_t key = p->key; key < p->key + p->n; key += page) {
            if (key + page > n_k)
                cut(c, page, group);
            if (c->to->message)
                c->places[c->n] =
                    (MPI_Aint)(c->out ? (key - c->source->first) * c->rows->held.stride[4]
                                      : c->source->slot[key / page] * c->rows->slot_bytes);
            c->n++;
            if (key + page > n_k)
                cut(c, n_k - key, group);
            else if (c->n == c->most)
                cut(c, page, group);
        }
    }
    cut(c, page, group);
}

static void rows_cut(struct cutter *c)
{
    const int64_t groups = heed_mpi_groups(&c->rows->held);
    const int64_t one = c->first->page * c->rows->held.shape[5] * c->rows->size;

    if (one == 0 || groups == 0)
        return;
    c->axis = one <= c->plan->message_bytes / groups ? 0 : 4;
    c->most = c->plan->message_bytes / (c->axis == 0 ? one * groups : one);
    c->most = c->most < 1 ? 1 : c->most;
    for (int64_t group = 0; group < (c->axis == 0 ? 1 : groups); group++)
        pages_cut(c, group);
}

/* Counts the messages, or makes them. */
static int messages_cut(struct cutter *c, const struct heed_mpi_parcel *parcels, int64_t n)
{
    const struct heed_mpi_parcel *const end = parcels + n;

    c->to->n = 0;
    for (c->first = parcels; c->first < end; c->first = c->end) {
        for (c->end = c->first + 1;
             c->end < end && c->end->rank == c->first->rank && c->end->source == c->first->source;)
            c->end++;
        c->source = &c->plan->sources[c->first->source];
        for (c->v = 0; c->v < 2 && !c->first->rows_move; c->v++) {
            c->rows = &c->source->rows[c->v];
            rows_cut(c);
        }
    }
    return c->code;
}

heed_status heed_mpi_messages_make(struct heed_mpi_plan *plan, bool out, heed_report *report)
{
    struct heed_mpi_memory scratch = { .device = plan->device };
    const struct heed_mpi_parcel *parcels = out ? plan->out : plan->in;
    const int64_t n = out ? plan->n_out : plan->n_in;
    struct heed_mpi_messages *to = out ? &plan->messages_out : &plan->messages_in;
    struct cutter c = { .plan = plan, .to = to, .out = out, .code = MPI_SUCCESS };
    struct heed_mpi_message *message;
    int64_t pages = 0;
    int code;

    for (int64_t i = 0; i < n; i++)
        pages += (parcels[i].n + parcels[i].page - 1) / parcels[i].page;
    messages_cut(&c, parcels, n);
    message = heed_mpi_take(&plan->memory, to->n, sizeof *message, false);
    c.places = heed_mpi_take(&scratch, pages, sizeof *c.places, true);
    if (!message || !c.places) {
        to->n = 0;
        heed_mpi_release(&scratch);
        return heed_mpi_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for messages");
    }
    to->message = message;
    code = messages_cut(&c, parcels, n);
    heed_mpi_release(&scratch);
    return heed_mpi_result(report, code, "MPI_Type_create_hindexed_block");
}

void heed_mpi_messages_finish(struct heed_mpi_messages *messages)
{
    for (int64_t i = 0; messages->message && i < messages->n; i++)
        MPI_Type_free(&messages->message[i].type);
}
