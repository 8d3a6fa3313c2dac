/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run in which rows travel: rows go out, states of chunks are computed and come back, and the
 * rank that wants the rows joins them.
 */
#include "ranks.h"

#include <string.h>

enum { TAG_Q = 1, TAG_STATES = 2 };

/* q of the rank, without gaps. */
static void q_pack(struct heed_mpi_plan *plan, heed_buf q)
{
    const struct heed_mpi_view *view = &plan->q_view;
    const int64_t rows = view->shape[4], channels = view->shape[5], size = plan->q_size;
    const int64_t groups = heed_mpi_groups(view);
    char *to = plan->q_packed;

    for (int64_t g = 0; g < groups; g++) {
        const char *from = (const char *)q.handle + q.offset + heed_mpi_group_offset(view, g);

        for (int64_t i = 0; i < rows * channels; i++, to += size)
            memcpy(to, from + i / channels * view->stride[4] + i % channels * view->stride[5],
                   (size_t)size);
    }
}

/* Rows of others and states of the rank's own rows will come; its rows go. */
static int begin(struct heed_mpi_plan *plan, int64_t *n)
{
    MPI_Request *next = plan->rows_requests;
    int code = MPI_SUCCESS;

    for (int64_t i = plan->n_own_serves; i < plan->n_serves && code == MPI_SUCCESS; i++) {
        const struct heed_mpi_serve *s = &plan->serves[i];

        if (i == plan->n_own_serves || s[-1].rank != s->rank)
            code =
                MPI_Irecv(s->q, (int)s->q_bytes, MPI_BYTE, s->rank, TAG_Q, plan->team.comm, next++);
    }
    *n = next - plan->rows_requests;
    for (int64_t i = 0; i < plan->n_in && plan->rows_move && code == MPI_SUCCESS; i++) {
        const struct heed_mpi_parcel *p = &plan->in[i];
        const int64_t chunks = (p->n + HEED_CHUNK - 1) / HEED_CHUNK;

        code = MPI_Irecv(plan->states + p->key / HEED_CHUNK * plan->state_bytes,
                         (int)(chunks * plan->state_bytes), MPI_BYTE, p->rank, TAG_STATES,
                         plan->team.comm, next++);
        if (code == MPI_SUCCESS && (i == 0 || p[-1].rank != p->rank))
            code = MPI_Isend(plan->q_packed, (int)plan->q_bytes, MPI_BYTE, p->rank, TAG_Q,
                             plan->team.comm, next++);
    }
    plan->n_rows_requests = next - plan->rows_requests;
    return code;
}

static heed_status serve_run(const struct heed_mpi_plan *plan, const struct heed_mpi_serve *s,
                             heed_queue *queue, const heed_attn_args *given,
                             const heed_kv_bufs *held, heed_report *report)
{
    const struct heed_mpi_source *source = &plan->sources[0];
    const int64_t key = s->chunk * HEED_CHUNK - source->first;
    const heed_kv_bufs kv = {
        { (char *)held->k.handle + held->k.offset + key * source->rows[0].held.stride[4], 0 },
        { (char *)held->v.handle + held->v.offset + key * source->rows[1].held.stride[4], 0 },
    };
    heed_buf slots[HEED_MPI_SLOTS];
    const heed_attn_args args = {
        .size = sizeof args,
        .kv_size = sizeof kv,
        .q.handle = s->q,
        .kv = &kv,
        .state_out.handle = s->states,
        .slots = slots,
        .n_slots = plan->n_slots + 1,
    };

    memset(slots, 0, sizeof slots);
    if (given->slots)
        memcpy(slots, given->slots, plan->n_slots * sizeof *slots);
    report->size = sizeof *report;
    return heed_attn_run(s->plan, queue, &args, NULL, report);
}

/* Others' states are sent also where they could not be computed: nobody waits for them in vain. */
static heed_status serve(struct heed_mpi_plan *plan, heed_queue *queue, const heed_attn_args *args,
                         const heed_kv_bufs *held, int64_t n_q, heed_report *report)
{
    heed_status status = HEED_OK;
    int code = MPI_SUCCESS;

    for (int64_t i = 0; i < plan->n_serves && code == MPI_SUCCESS; i++) {
        const struct heed_mpi_serve *s = &plan->serves[i];

        if (i == plan->n_own_serves)
            code = MPI_Waitall((int)n_q, plan->rows_requests, MPI_STATUSES_IGNORE);
        if (status >= 0)
            status = serve_run(plan, s, queue, args, held, report);
        if (i >= plan->n_own_serves && s->last && code == MPI_SUCCESS)
            code = MPI_Isend(s->states + s->bytes - s->sent, (int)s->sent, MPI_BYTE, s->rank,
                             TAG_STATES, plan->team.comm,
                             &plan->rows_requests[plan->n_rows_requests++]);
    }
    return code == MPI_SUCCESS ? status : heed_mpi_result(report, code, "MPI_Isend");
}

heed_status heed_mpi_rows_exchange(struct heed_mpi_plan *plan, heed_queue *queue,
                                   const heed_attn_args *args, const heed_kv_bufs *held,
                                   heed_report *report)
{
    heed_status status;
    int64_t n_q = 0;
    heed_report mpi;

    if (plan->rows_move)
        q_pack(plan, args->q);
    status = heed_mpi_result(report, begin(plan, &n_q), "MPI_Irecv");
    if (status >= 0)
        status = serve(plan, queue, args, held, n_q, report);
    if (status != HEED_E_DEVICE) {
        const heed_status waited = heed_mpi_result(
            &mpi, MPI_Waitall((int)plan->n_rows_requests, plan->rows_requests, MPI_STATUSES_IGNORE),
            "MPI_Waitall");

        if (status >= 0 && waited < 0) {
            *report = mpi;
            status = waited;
        }
    }
    return heed_mpi_agree(&plan->team, status, report);
}

heed_status heed_mpi_rows_join(const struct heed_mpi_plan *plan, heed_queue *queue,
                               const heed_attn_args *args, heed_report *report)
{
    const heed_state_args own = {
        .size = sizeof own,
        .states.handle = plan->states,
        .sinks = args->sinks,
        .o = args->o,
        .lse = args->lse,
    };

    report->size = sizeof *report;
    return heed_state_run(plan->local, queue, &own, NULL, report);
}
