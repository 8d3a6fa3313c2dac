/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Few rows and many keys: rows travel in place of keys. A rank that holds keys computes, for the
 * rows of another, one state for each of its chunks, all chunks at once as items of a batch; the
 * rank that wants the rows joins the states in the order of the chunks. States of one chunk each
 * that are joined in order have the bits of one call (docs/numerics.md, section 4, step 8).
 */
#include "ranks.h"

#include <string.h>

static heed_status no_memory(heed_report *report)
{
    return heed_mpi_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for rows of ranks");
}

/* Six axes of a tensor, missing ones with extent 1. */
static void axes_of(const heed_tensor *t, int64_t shape[6])
{
    for (uint32_t i = 0; i < 6; i++)
        shape[i] = i + t->ndim >= 6 ? t->shape[i + t->ndim - 6] : 1;
}

/* ---- may rows travel, and what would it cost ---- */

/* What rows see must depend on how far a key is, not on where it is, since chunks become items with
 * one position of key 0; and one axis of the batch must be free for them. */
bool heed_mpi_rows_may(const struct heed_mpi_call *call)
{
    const heed_source *source = &call->sources[0];
    bool may = call->desc.n_sources == 1 && call->desc.q_layout == HEED_LAYOUT_DENSE &&
               !source->len_slot && !call->desc.q_pos_slot && !(source->flags & HEED_SOURCE_END) &&
               call->desc.q.ndim <= 5 && source->k.ndim <= 5 &&
               call->desc.n_slots < HEED_MPI_SLOTS && !(call->parts.flags & HEED_MPI_MOVE_KEYS);

    for (uint32_t i = 0; i < source->n_terms && may; i++) {
        heed_term term = { 0 };

        memcpy(&term, (const char *)source->terms + (size_t)i * source->term_size,
               source->term_size < sizeof term ? source->term_size : sizeof term);
        may = (term.kind == HEED_TERM_ALL || term.kind == HEED_TERM_WINDOW) && term.step <= 1 &&
              term.block <= 1;
    }
    return may;
}

/* Too many to count: INT64_MAX / 4. */
int64_t heed_mpi_states_bytes(const struct heed_mpi_call *call, int64_t rows)
{
    const int64_t *d_v = &call->sources[0].v.shape[call->sources[0].v.ndim - 1];
    double bytes = 4.0 * (double)rows * (HEED_STATE_SUMS + (double)*d_v);
    int64_t axes[6];

    axes_of(&call->desc.o, axes);
    for (int i = 0; i < 4; i++)
        bytes *= (double)axes[i];
    return bytes < 0x1p60 ? (int64_t)bytes : INT64_MAX / 4;
}

int64_t heed_mpi_q_bytes(const struct heed_mpi_call *call, int64_t rows)
{
    double bytes = (double)(rows * heed_mpi_size_of(call->desc.q.dtype));
    int64_t axes[6];

    axes_of(&call->desc.q, axes);
    for (int i = 0; i < 6; i++)
        bytes *= i == 4 ? 1 : (double)axes[i];
    return bytes < 0x1p60 ? (int64_t)bytes : INT64_MAX / 4;
}

bool heed_mpi_rows_cheaper(const struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                           int64_t foreign_keys)
{
    const heed_source *source = &call->sources[0];
    const int64_t rows = call->parts.n_rows, chunks = foreign_keys / HEED_CHUNK + 1;
    const double states = (double)heed_mpi_states_bytes(call, rows),
                 q = (double)heed_mpi_q_bytes(call, rows);
    double keys = (double)foreign_keys * (double)plan->sources[0].items;
    int64_t axes[6];

    axes_of(&source->k, axes);
    keys *= (double)(axes[3] * axes[5] * (source->k.dtype == HEED_F32 ? 4 : 2)) +
            (double)(axes[3] * source->v.shape[source->v.ndim - 1] *
                     (source->v.dtype == HEED_F32 ? 4 : 2));
    return foreign_keys > 0 && rows > 0 && states > 0 && q > 0 &&
           states * (double)plan->sources[0].n_pages <= (double)plan->message_bytes &&
           q <= (double)plan->message_bytes &&
           q * (double)heed_mpi_min(chunks, plan->team.ranks) + states * (double)chunks < keys;
}

/* ---- what is computed for whom ---- */

/* Position of the first row, ALIGN_START. */
static int64_t first_position(const struct heed_mpi_call *call, int64_t first)
{
    const heed_attn_desc *desc = &call->desc;
    const heed_source *source = &call->sources[0];
    const int64_t step = desc->q_pos_step == 0 ? 1 : desc->q_pos_step;
    const int64_t key_step = source->pos_step == 0 ? 1 : source->pos_step;
    const int64_t span = source->pos_span == 0 ? 1 : source->pos_span;
    const int64_t n_k = source->k.shape[source->k.ndim - 2];

    if (!(desc->flags & HEED_ATTN_ALIGN_END))
        return desc->q_pos0 + first * step;
    return source->pos0 + (n_k - 1) * key_step + span - 1 - (call->n_q - 1 - first) * step +
           desc->q_pos0;
}

static heed_tensor view_tensor(uint32_t dtype, const struct heed_mpi_rows *rows)
{
    heed_tensor t = { .dtype = dtype, .ndim = 6 };

    for (int i = 0; i < 6; i++) {
        t.shape[i] = rows->held.shape[i];
        t.stride[i] = rows->held.stride[i] / rows->size;
    }
    return t;
}

/* Chunks [chunk, chunk + n) of `keys` keys each, which the rank holds, for rows of `p`. */
static heed_status serve_plan(struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                              const struct heed_mpi_parcel *p, struct heed_mpi_serve *serve,
                              heed_report *report)
{
    const struct heed_mpi_source *from = &plan->sources[0];
    struct heed_mpi_memory scratch = { .device = plan->device };
    int64_t *shift = heed_mpi_take(&scratch, serve->n, sizeof *shift, true);
    heed_attn_desc desc = call->desc;
    heed_source source = call->sources[0];
    heed_slot slots[HEED_MPI_SLOTS];
    heed_plan_props props = { .size = sizeof props };
    int64_t axes[6];
    heed_status status;

    if (!shift)
        return no_memory(report);
    for (int64_t i = 0; i < serve->n; i++)
        shift[i] = -(serve->chunk + i) * HEED_CHUNK * (source.pos_step == 0 ? 1 : source.pos_step);
    memcpy(slots, call->slots, sizeof slots);
    slots[desc.n_slots] = (heed_slot){ { HEED_I64, 3, { serve->n, 1, 1 }, { 1, 1, 1 } }, shift };
    source.k = view_tensor(source.k.dtype, &from->rows[0]);
    source.v = view_tensor(source.v.dtype, &from->rows[1]);
    source.k.shape[0] = source.v.shape[0] = serve->n;
    source.k.shape[4] = source.v.shape[4] = serve->keys;
    source.k.stride[0] = HEED_CHUNK * source.k.stride[4];
    source.v.stride[0] = HEED_CHUNK * source.v.stride[4];
    axes_of(&call->desc.q, axes);
    axes[4] = p->n_rows;
    desc.q = heed_array_dense(desc.q.dtype, NULL, 6, axes).t;
    axes_of(&call->desc.o, axes);
    axes[0] = serve->n;
    axes[4] = p->n_rows;
    axes[5] = HEED_STATE_SUMS + source.v.shape[5];
    desc.state_out = heed_array_dense(HEED_F32, NULL, 6, axes).t;
    desc.o.ndim = desc.lse.ndim = desc.sinks.ndim = 0;
    desc.q_pos0 = first_position(call, p->first_row);
    desc.flags =
        HEED_ATTN_ALIGN_START | HEED_PLAN_OWN_WORKSPACE | (desc.flags & HEED_ATTN_SCALE_GIVEN);
    desc.slots = slots;
    desc.slot_size = sizeof *slots;
    desc.q_pos_slot = ++desc.n_slots;
    desc.sources = &source;
    report->size = sizeof *report;
    status = heed_attn_plan_info(plan->device, &desc, &serve->plan, &props, report);
    plan->props.host_bytes += status < 0 ? 0 : props.host_bytes;
    heed_mpi_release(&scratch);
    return status;
}

/* The parcel in whole chunks and the cut one. states: where those of its first chunk go, or NULL
 * for memory of their own. */
static heed_status serves_add(struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                              const struct heed_mpi_parcel *p, char *q, char *states,
                              heed_report *report)
{
    const int64_t bytes = heed_mpi_states_bytes(call, p->n_rows);
    const int64_t n = (p->n + HEED_CHUNK - 1) / HEED_CHUNK, whole = p->n / HEED_CHUNK;
    heed_status status = HEED_OK;

    if (!states)
        states = heed_mpi_take(&plan->memory, n, (size_t)bytes, true);
    if (!states)
        return no_memory(report);
    for (int cut = 0; cut < 2 && status >= 0; cut++) {
        struct heed_mpi_serve *serve = &plan->serves[plan->n_serves];

        if ((cut ? n - whole : whole) == 0)
            continue;
        *serve = (struct heed_mpi_serve){
            .rank = p->rank,
            .chunk = p->key / HEED_CHUNK + (cut ? whole : 0),
            .n = cut ? 1 : whole,
            .keys = cut ? p->n % HEED_CHUNK : HEED_CHUNK,
            .q = q,
            .states = states + (cut ? whole * bytes : 0),
            .bytes = bytes * (cut ? 1 : whole),
            .q_bytes = heed_mpi_q_bytes(call, p->n_rows),
            .sent = n * bytes,
            .last = cut || n == whole,
        };
        status = serve_plan(plan, call, p, serve, report);
        plan->n_serves += status >= 0;
    }
    return status;
}

/* ---- the rank's own rows ---- */

/* Joins states of all chunks into o and lse. */
static heed_status join_plan(struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                             heed_report *report)
{
    const heed_tensor *v = &call->sources[0].v;
    heed_plan_props props = { .size = sizeof props };
    heed_state_desc desc = {
        .size = sizeof desc,
        .numerics = call->desc.numerics,
        .sinks = call->desc.sinks,
        .flags = (call->desc.flags & HEED_ATTN_LSE_WITH_SINK) | HEED_PLAN_OWN_WORKSPACE,
        .o = call->parts.o,
        .lse = call->parts.lse,
    };
    int64_t axes[6];
    heed_status status;

    axes_of(&call->desc.o, axes);
    axes[0] = plan->sources[0].n_pages;
    axes[4] = call->parts.n_rows;
    axes[5] = HEED_STATE_SUMS + v->shape[v->ndim - 1];
    desc.states = heed_array_dense(HEED_F32, NULL, 6, axes).t;
    report->size = sizeof *report;
    status = heed_state_plan(plan->device, &desc, &plan->local, report);
    if (status >= 0 && heed_plan_info(plan->local, &props) >= 0)
        plan->props.host_bytes += props.host_bytes;
    return status;
}

/* The rank's own chunks, as if it asked itself. */
static heed_status own_serves(struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                              heed_report *report)
{
    const struct heed_mpi_source *s = &plan->sources[0];
    heed_status status = HEED_OK;

    for (int64_t p = 0; p < s->n_pages && status >= 0; p++) {
        struct heed_mpi_parcel own = { .rank = plan->team.rank,
                                       .key = p * HEED_CHUNK,
                                       .n_rows = call->parts.n_rows,
                                       .first_row = call->parts.first_row };
        const int64_t first = p;

        for (; p < s->n_pages && heed_mpi_is_own(s, p); p++)
            own.n += heed_mpi_page_keys(s, p);
        if (own.n > 0)
            status = serves_add(plan, call, &own, plan->q_packed,
                                plan->states + first * plan->state_bytes, report);
    }
    return status;
}

static heed_status own_prepare(struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                               heed_report *report)
{
    const heed_tensor *q = &call->parts.q;
    const int64_t size = heed_mpi_size_of(q->dtype);

    plan->state_bytes = heed_mpi_states_bytes(call, call->parts.n_rows);
    plan->q_bytes = heed_mpi_q_bytes(call, call->parts.n_rows);
    plan->q_size = size;
    for (uint32_t i = 0; i < 6; i++) {
        const bool there = i + q->ndim >= 6;

        plan->q_view.shape[i] = there ? q->shape[i + q->ndim - 6] : 1;
        plan->q_view.stride[i] = there ? q->stride[i + q->ndim - 6] * size : 0;
    }
    /* A chunk that no row sees leaves a state without anything: zeros. */
    plan->states =
        heed_mpi_take(&plan->memory, plan->sources[0].n_pages, (size_t)plan->state_bytes, false);
    plan->q_packed = heed_mpi_take(&plan->memory, plan->q_bytes, 1, true);
    if (!plan->states || !plan->q_packed)
        return no_memory(report);
    const heed_status status = own_serves(plan, call, report);

    return status < 0 ? status : join_plan(plan, call, report);
}

/* Counts what comes in: states, and rows from ranks that have some. */
static void traffic_count(struct heed_mpi_plan *plan)
{
    heed_mpi_props *props = &plan->props;

    for (int64_t i = 0; i < plan->n_in && plan->rows_move; i++) {
        const struct heed_mpi_parcel *p = &plan->in[i];

        props->bytes_in += (uint64_t)((p->n + HEED_CHUNK - 1) / HEED_CHUNK * plan->state_bytes);
        props->messages_in++;
        if (i == 0 || p[-1].rank != p->rank) {
            props->bytes_out += (uint64_t)plan->q_bytes;
            props->messages_out++;
        }
    }
}

heed_status heed_mpi_rows_prepare(struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                                  heed_report *report)
{
    const int64_t own = plan->rows_move ? 2 * plan->sources[0].n_pages : 0;
    heed_status status = HEED_OK;
    char *q = NULL;

    plan->serves = heed_mpi_take(&plan->memory, own + 2 * plan->n_out, sizeof *plan->serves, false);
    plan->rows_requests =
        heed_mpi_take(&plan->memory, 2 * (plan->n_in + plan->n_out), sizeof(MPI_Request), false);
    if (!plan->serves || !plan->rows_requests)
        return no_memory(report);
    if (plan->rows_move)
        status = own_prepare(plan, call, report);
    plan->n_own_serves = plan->n_serves;
    for (int64_t i = 0; i < plan->n_out && status >= 0; i++) {
        const struct heed_mpi_parcel *p = &plan->out[i];
        const int64_t bytes = heed_mpi_q_bytes(call, p->n_rows);

        if (!p->rows_move)
            continue;
        if (i == 0 || p[-1].rank != p->rank) {
            q = heed_mpi_take(&plan->memory, bytes, 1, true);
            plan->props.bytes_in += (uint64_t)bytes;
            plan->props.messages_in++;
        }
        if (!q)
            return no_memory(report);
        status = serves_add(plan, call, p, q, NULL, report);
        plan->props.messages_out++;
        plan->props.bytes_out += (uint64_t)((p->n + HEED_CHUNK - 1) / HEED_CHUNK *
                                            heed_mpi_states_bytes(call, p->n_rows));
    }
    traffic_count(plan);
    return status;
}

void heed_mpi_rows_finish(struct heed_mpi_plan *plan)
{
    for (int64_t i = 0; i < plan->n_serves; i++)
        heed_plan_drop(plan->serves[i].plan);
}
