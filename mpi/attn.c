/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The calls of heed/mpi.h. Whatever a rank finds wrong waits until all ranks have agreed on it.
 */
#include "ranks.h"

#include <limits.h>
#include <string.h>

/* Sizes of first versions. */
enum { ARGS_V1 = 128, KV_V1 = 32 };

/* ---- plan ---- */

/* What cannot be agreed on, since there are no ranks to agree with. */
static heed_status comm_check(MPI_Comm comm, heed_report *report)
{
    int begun = 0, over = 0, inter = 0;
    heed_status status;

    MPI_Initialized(&begun);
    MPI_Finalized(&over);
    if (!begun || over)
        return heed_mpi_fill(report, HEED_E_VALUE, "comm", 1, begun - over,
                             "MPI_Init has not been called, or MPI_Finalize has");
    if (comm == MPI_COMM_NULL)
        return heed_mpi_fill(report, HEED_E_NULL, "comm", 0, 0, "comm is MPI_COMM_NULL");
    status = heed_mpi_result(report, MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
    if (status >= 0 && inter)
        return heed_mpi_fill(report, HEED_E_VALUE, "comm", 0, 1, "an intracommunicator is wanted");
    return status;
}

static heed_status team_make(MPI_Comm comm, struct heed_mpi_team *team, heed_report *report)
{
    heed_status status = comm_check(comm, report);

    team->comm = MPI_COMM_NULL;
    if (status >= 0)
        status = heed_mpi_result(report, MPI_Comm_dup(comm, &team->comm), "MPI_Comm_dup");
    if (status < 0)
        return status;
    MPI_Comm_set_errhandler(team->comm, MPI_ERRORS_RETURN);
    status = heed_mpi_result(report, MPI_Comm_rank(team->comm, &team->rank), "MPI_Comm_rank");
    if (status < 0)
        return status;
    return heed_mpi_result(report, MPI_Comm_size(team->comm, &team->ranks), "MPI_Comm_size");
}

/* Is the rank's descriptor that of rank 0? */
static heed_status same_check(const struct heed_mpi_team *team, const struct heed_mpi_call *call,
                              heed_status mine, heed_report *report)
{
    const uint64_t digest = mine < 0 ? 0 : heed_mpi_digest(call);
    uint64_t first[2] = { mine >= 0, digest };
    heed_report mpi;
    const heed_status status =
        heed_mpi_result(&mpi, MPI_Bcast(first, sizeof first, MPI_BYTE, 0, team->comm), "MPI_Bcast");

    if (status < 0) {
        *report = mpi;
        return status;
    }
    if (mine >= 0 && first[0] && first[1] != digest)
        mine = heed_mpi_fill(report, HEED_E_MISMATCH, "desc", 0, team->rank,
                             "descriptor, library or numerics version are not those of rank 0");
    return heed_mpi_agree(team, mine, report);
}

static void plan_begin(struct heed_mpi_plan *plan, heed_device *device,
                       const struct heed_mpi_call *call)
{
    const heed_attn_desc *desc = &call->desc;

    plan->device = plan->memory.device = device;
    plan->n_rows = call->parts.n_rows;
    plan->message_bytes = call->parts.message_bytes ? call->parts.message_bytes : INT_MAX;
    plan->n_sources = desc->n_sources;
    plan->n_slots = desc->n_slots;
    for (uint32_t i = 0; i < desc->n_slots; i++)
        plan->wants_slot[i] = call->used[i] && !call->slots[i].data;
    for (uint32_t s = 0; s < desc->n_sources; s++) {
        const heed_tensor *k = &call->sources[s].k;
        struct heed_mpi_source *to = &plan->sources[s];

        to->n_k = k->shape[k->ndim - 2];
        to->packed = call->sources[s].layout == HEED_LAYOUT_RAGGED;
        to->items = 1;
        for (uint32_t i = 0; i + 3 < k->ndim; i++)
            to->items *= k->shape[i];
        to->first = call->keys[s].first;
        to->count = call->keys[s].count;
    }
}

static bool has_elements(const heed_tensor *t)
{
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] == 0)
            return false;
    }
    return t->ndim > 0;
}

/* Everything behind the first agreement. */
static heed_status plan_make(struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                             heed_report *report)
{
    heed_status status = heed_mpi_needs(plan, call, report);

    if (status < 0)
        return status;
    plan->wants_q = has_elements(&call->parts.q);
    plan->wants_o = has_elements(&call->parts.o);
    plan->wants_lse = has_elements(&call->parts.lse);
    plan->wants_sinks = has_elements(&call->desc.sinks);
    status = heed_mpi_exchange_pages(plan, call, report);
    if (status >= 0 && !plan->rows_move)
        status = heed_mpi_local(plan, call, report);
    if (status >= 0)
        status = heed_mpi_exchange_prepare(plan, report);
    if (status >= 0 && plan->any_rows_move)
        status = heed_mpi_rows_prepare(plan, call, report);
    return heed_mpi_agree(&plan->team, status, report);
}

/* The plan in memory of its own: what it holds goes with it. */
static heed_status plan_keep(struct heed_mpi_plan *plan, heed_mpi_plan **out, heed_report *report)
{
    struct heed_mpi_plan *kept = heed_mpi_take(&plan->memory, 1, sizeof *kept, true);
    heed_status status = HEED_OK;

    if (!kept)
        status = heed_mpi_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the plan");
    status = heed_mpi_agree(&plan->team, status, report);
    if (status < 0)
        return status;
    plan->props.rank = plan->team.rank;
    plan->props.ranks = plan->team.ranks;
    plan->props.host_bytes += plan->memory.bytes;
    *kept = *plan;
    *out = kept;
    return HEED_OK;
}

static void plan_finish(struct heed_mpi_plan *plan)
{
    struct heed_mpi_memory memory = plan->memory;
    MPI_Comm comm = plan->team.comm;

    heed_mpi_rows_finish(plan);
    heed_mpi_messages_finish(&plan->messages_in);
    heed_mpi_messages_finish(&plan->messages_out);
    heed_plan_drop(plan->local);
    heed_mpi_release(&memory);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

static heed_status attn_plan(struct heed_mpi_plan *plan, struct heed_mpi_call *call, MPI_Comm comm,
                             heed_device *device, const heed_attn_desc *desc,
                             const heed_mpi_parts *parts, heed_mpi_plan **out, heed_report *report)
{
    heed_status status = team_make(comm, &plan->team, report);

    if (status < 0)
        return status;
    if (!out)
        status = heed_mpi_fill(report, HEED_E_NULL, "out", 0, 0, "out is NULL");
    else
        status = heed_mpi_check(device, desc, parts, call, report);
    status = same_check(&plan->team, call, status, report);
    if (status < 0)
        return status;
    plan_begin(plan, device, call);
    status = plan_make(plan, call, report);
    return status < 0 ? status : plan_keep(plan, out, report);
}

heed_status heed_mpi_attn_plan(MPI_Comm comm, heed_device *device, const heed_attn_desc *desc,
                               const heed_mpi_parts *parts, heed_mpi_plan **out,
                               heed_report *report)
{
    struct heed_mpi_call call = { .n_q = 0 }; /* without malloc: ranks must agree on NOMEM */
    struct heed_mpi_plan plan = { .team.comm = MPI_COMM_NULL };
    heed_report mine = { .size = sizeof mine };
    heed_status status;

    status = attn_plan(&plan, &call, comm, device, desc, parts, out, &mine);
    if (status < 0)
        plan_finish(&plan);
    else
        mine = (heed_report){ .size = sizeof mine };
    mine.status = status;
    heed_mpi_tell(report, &mine);
    return status;
}

void heed_mpi_plan_destroy(heed_mpi_plan *plan)
{
    if (plan)
        plan_finish(plan);
}

/* ---- info ---- */

heed_status heed_mpi_plan_info(const heed_mpi_plan *plan, heed_mpi_props *props)
{
    uint32_t size;

    if (!plan || !props)
        return HEED_E_NULL;
    size = props->size;
    if (size < HEED_MPI_PROPS_V1)
        return HEED_E_SIZE;
    memset(props, 0, size);
    memcpy(props, &plan->props, size < sizeof *props ? size : sizeof *props);
    props->size = size;
    return HEED_OK;
}

/* ---- run ---- */

static heed_status wanted(bool wants, heed_buf buf, const char *field, heed_report *report)
{
    if (!wants || buf.handle)
        return HEED_OK;
    return heed_mpi_fill(report, HEED_E_NULL, field, 0, 0, "%s has elements and no memory", field);
}

static heed_status kv_check(const struct heed_mpi_plan *plan, const heed_attn_args *args,
                            heed_kv_bufs *kv, heed_report *report)
{
    heed_status status = HEED_OK;

    if (plan->n_sources > 0 && !args->kv)
        return heed_mpi_fill(report, HEED_E_NULL, "kv", plan->n_sources, 0,
                             "one entry for each source is wanted");
    for (int64_t s = 0; s < plan->n_sources && status >= 0; s++) {
        const struct heed_mpi_source *source = &plan->sources[s];

        status = heed_mpi_sized(report, (const char *)args->kv + (size_t)s * args->kv_size,
                                args->kv_size, KV_V1, &kv[s], sizeof kv[s], "kv");
        for (int v = 0; v < 2 && status >= 0 && source->count > 0; v++) {
            const heed_buf buf = v ? kv[s].v : kv[s].k;
            const int64_t size = source->rows[v].size;

            status = wanted(source->rows[v].page_bytes > 0, buf, v ? "kv.v" : "kv.k", report);
            if (status >= 0 && ((uintptr_t)buf.handle + buf.offset) % (uint64_t)size != 0)
                status = heed_mpi_fill(report, HEED_E_ALIGN, v ? "kv.v" : "kv.k", size, 0,
                                       "source %d is not at a multiple of its element", (int)s);
        }
    }
    return status;
}

static heed_status slots_check(const struct heed_mpi_plan *plan, const heed_attn_args *args,
                               heed_report *report)
{
    heed_status status = HEED_OK;

    if (args->n_slots != plan->n_slots)
        return heed_mpi_fill(report, HEED_E_VALUE, "n_slots", plan->n_slots, args->n_slots,
                             "one entry for each slot of the descriptor is wanted");
    for (uint32_t i = 0; i < plan->n_slots && status >= 0; i++) {
        if (plan->wants_slot[i] && !args->slots)
            return heed_mpi_fill(report, HEED_E_NULL, "slots", plan->n_slots, 0,
                                 "slot %u is bound by run and there is no array", (unsigned)i + 1);
        status = plan->wants_slot[i] ? wanted(true, args->slots[i], "slots", report) : HEED_OK;
    }
    return status;
}

static heed_status args_check(const struct heed_mpi_plan *plan, const heed_queue *queue,
                              const heed_attn_args *given, heed_attn_args *args, heed_kv_bufs *kv,
                              heed_report *report)
{
    heed_status status;

    if (!queue || !given)
        return heed_mpi_fill(report, HEED_E_NULL, queue ? "args" : "queue", 0, 0, "%s is NULL",
                             queue ? "args" : "queue");
    if (heed_queue_device(queue) != plan->device)
        return heed_mpi_fill(report, HEED_E_MISMATCH, "queue", 0, 0,
                             "the queue is of another device than the plan");
    status = heed_mpi_sized(report, given, given->size, ARGS_V1, args, sizeof *args, "args");
    if (status < 0)
        return status;
    args->size = sizeof *args;
    if (args->n_wait)
        return heed_mpi_fill(report, HEED_E_VALUE, "n_wait", 0, args->n_wait,
                             "there are no events to wait for");
    if ((status = wanted(plan->wants_q, args->q, "q", report)) < 0 ||
        (status = wanted(plan->wants_o, args->o, "o", report)) < 0 ||
        (status = wanted(plan->wants_lse, args->lse, "lse", report)) < 0 ||
        (status = wanted(plan->wants_sinks, args->sinks, "sinks", report)) < 0 ||
        (status = kv_check(plan, args, kv, report)) < 0)
        return status;
    return slots_check(plan, args, report);
}

/* The rank's rows over its pages. */
static heed_status rows_run(const struct heed_mpi_plan *plan, heed_queue *queue,
                            heed_attn_args *args, const heed_kv_bufs *held, heed_report *report)
{
    heed_kv_bufs pages[HEED_MPI_SOURCES];
    heed_buf slots[HEED_MPI_SLOTS];

    memset(slots, 0, sizeof slots);
    if (args->slots)
        memcpy(slots, args->slots, plan->n_slots * sizeof *slots);
    for (uint32_t i = 0; i < plan->n_parts; i++) {
        const uint32_t s = plan->part[i].source;

        pages[i].k = (heed_buf){ plan->sources[s].rows[0].heap, 0 };
        pages[i].v = (heed_buf){ plan->sources[s].rows[1].heap, 0 };
        pages[i] = plan->part[i].in_place ? held[s] : pages[i];
    }
    args->kv = pages;
    args->kv_size = sizeof *pages;
    args->slots = slots;
    args->n_slots = plan->n_local_slots;
    report->size = sizeof *report;
    return heed_attn_run(plan->local, queue, args, NULL, report);
}

heed_status heed_mpi_attn_run(heed_mpi_plan *plan, heed_queue *queue, const heed_attn_args *args,
                              heed_report *report)
{
    heed_kv_bufs held[HEED_MPI_SOURCES] = { { { NULL, 0 }, { NULL, 0 } } };
    heed_report mine = { .size = sizeof mine };
    heed_attn_args own;
    heed_status status;

    if (!plan) {
        heed_mpi_fill(&mine, HEED_E_NULL, "plan", 0, 0, "plan is NULL");
        return heed_mpi_tell(report, &mine);
    }
    status = args_check(plan, queue, args, &own, held, &mine);
    status = heed_mpi_agree(&plan->team, status, &mine);
    if (status >= 0)
        status = heed_mpi_exchange(plan, held, &mine);
    if (status >= 0 && plan->any_rows_move)
        status = heed_mpi_rows_exchange(plan, queue, &own, held, &mine);
    if (status >= 0)
        status = plan->rows_move ? heed_mpi_rows_join(plan, queue, &own, &mine)
                                 : rows_run(plan, queue, &own, held, &mine);
    if (status >= 0)
        mine = (heed_report){ .size = sizeof mine, .status = status };
    heed_mpi_tell(report, &mine);
    return status;
}
