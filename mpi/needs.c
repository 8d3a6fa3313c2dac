/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who needs what of whom: a rank finds the pages of keys that its rows may see and the ranks that
 * hold them, and asks; so every rank learns what others ask of it. Nobody computes the needs of
 * another rank.
 */
#include "ranks.h"

#include <limits.h>
#include <string.h>

static heed_status no_memory(heed_report *report)
{
    return heed_mpi_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the needs of ranks");
}

/* ---- who holds what ---- */

struct needs {
    struct heed_mpi_plan *plan;
    const struct heed_mpi_call *call;
    struct heed_mpi_memory scratch;
    struct heed_mpi_held *held; /* [ranks] */
    struct heed_mpi_owners owners[HEED_MPI_SOURCES];
    heed_source *sources; /* of the descriptor, without biases */
    uint8_t *seen;        /* [small pages of the longest source] */
    int *counts;          /* [4][ranks]: asked, from where; wanted, from where */
    int64_t n_pages;      /* that rows see */
    bool rows_may;        /* travel */
};

static bool is_own(const struct needs *n, int64_t s, int64_t key)
{
    const struct heed_mpi_source *source = &n->plan->sources[s];

    return key >= source->first && key < source->first + source->count;
}

/* The rank itself if it holds the key, else the lowest one that does. */
static int holder_find(const struct needs *n, int64_t s, int64_t key)
{
    return is_own(n, s, key) ? n->plan->team.rank : heed_mpi_owner(&n->owners[s], key);
}

static heed_status memory_take(struct needs *n, heed_report *report)
{
    struct heed_mpi_plan *plan = n->plan;
    const int64_t ranks = plan->team.ranks;
    int64_t most = 0;

    for (int64_t s = 0; s < plan->n_sources; s++)
        most = plan->sources[s].n_k > most ? plan->sources[s].n_k : most;
    n->held = heed_mpi_take(&n->scratch, ranks, sizeof *n->held, false);
    n->counts = heed_mpi_take(&n->scratch, 4 * ranks, sizeof *n->counts, false);
    n->sources = heed_mpi_take(&n->scratch, HEED_MPI_SOURCES, sizeof *n->sources, false);
    n->seen = heed_mpi_take(&n->scratch, most / HEED_MPI_SMALL_PAGE + 1, 1, false);
    if (!n->held || !n->counts || !n->sources || !n->seen)
        return no_memory(report);
    memcpy(n->sources, n->call->sources, sizeof n->call->sources);
    for (int64_t s = 0; s < plan->n_sources; s++)
        n->sources[s].n_biases = 0; /* they take no part, and their slots may have no memory */
    return HEED_OK;
}

/* ---- what the rank's rows see ---- */

static void page_set(struct heed_mpi_source *source, int64_t page)
{
    source->page = page;
    source->n_pages = source->n_k / page + (source->n_k % page > 0);
}

/* Looks at the source in pages of so many keys; foreign: keys of those that other ranks hold. */
static heed_status seen_find(struct needs *n, int64_t s, int64_t page, int64_t *foreign,
                             heed_report *report)
{
    const heed_mpi_parts *parts = &n->call->parts;
    struct heed_mpi_source *source = &n->plan->sources[s];
    heed_attn_desc desc = n->call->desc;
    heed_status status;

    page_set(source, page);
    desc.sources = n->sources;
    report->size = sizeof *report;
    status = heed_attn_blocks(&desc, NULL, parts->first_row, parts->n_rows, (uint32_t)s, page,
                              n->seen, report);
    *foreign = 0;
    for (int64_t i = 0; i < source->n_pages && status >= 0; i++) {
        if (n->seen[i] && !is_own(n, s, i * page))
            *foreign += heed_mpi_page_keys(source, i);
    }
    return status;
}

static heed_status pages_choose(struct needs *n, int64_t s, heed_report *report)
{
    struct heed_mpi_source *source = &n->plan->sources[s];
    struct heed_mpi_foreign in = { 0, 0, 0 };
    heed_status status;

    if (source->n_k / HEED_MPI_SMALL_PAGE >= INT32_MAX)
        return heed_mpi_fill(report, HEED_E_OVERFLOW, "sources", INT32_MAX,
                             source->n_k / HEED_MPI_SMALL_PAGE, "too many pages of keys");
    status = seen_find(n, s, HEED_MPI_SMALL_PAGE, &in.small, report);

    if (status >= 0)
        status = seen_find(n, s, HEED_MPI_BLOCK_PAGE, &in.block, report);
    if (status >= 0)
        status = seen_find(n, s, HEED_CHUNK, &in.chunks, report);
    n->plan->rows_move = status >= 0 && n->rows_may &&
                         heed_mpi_rows_cheaper(n->plan, n->call, heed_mpi_min(in.small, in.chunks));
    if (status >= 0 && !n->plan->rows_move && heed_mpi_page_of(&in) != HEED_CHUNK)
        status = seen_find(n, s, heed_mpi_page_of(&in), &in.small, report);
    if (status < 0)
        return status;
    source->slot = heed_mpi_take(&n->plan->memory, source->n_pages, sizeof *source->slot, true);
    if (!source->slot)
        return no_memory(report);
    source->in_place = !n->plan->rows_move &&
                       (in.chunks == 0 || heed_mpi_may_split(n->call, s)) &&
                       heed_mpi_may_stay(source->packed, source->items, source->count,
                                         source->n_k);
    source->splits = source->in_place && source->count < source->n_k &&
                     heed_mpi_may_split(n->call, s);
    for (int64_t i = 0; i < source->n_pages; i++) {
        const bool own = source->in_place && is_own(n, s, i * source->page);
        const int64_t place = own ? (i * source->page - source->first) / HEED_CHUNK
                                  : source->n_seen;

        source->slot[i] = n->seen[i] ? (int32_t)place : -1;
        source->n_seen += n->seen[i] && !(own && source->splits);
        n->n_pages += n->seen[i];
    }
    return HEED_OK;
}

/* ---- asking ---- */

/* The next keys from page *page on that another rank is asked for; false: there are no more. */
static bool parcel_next(struct needs *n, int64_t s, int64_t *page, struct heed_mpi_parcel *parcel)
{
    const struct heed_mpi_source *source = &n->plan->sources[s];

    *parcel = (struct heed_mpi_parcel){
        .source = (int32_t)s,
        .page = source->page,
        .rows_move = n->plan->rows_move,
        .first_row = n->call->parts.first_row,
        .n_rows = n->call->parts.n_rows,
    };
    for (; *page < source->n_pages; ++*page) {
        const int64_t key = *page * source->page;
        const int rank = source->slot[*page] < 0 ? n->plan->team.rank : holder_find(n, s, key);

        if (parcel->n > 0 && rank != parcel->rank)
            break;
        if (rank == n->plan->team.rank)
            continue;
        if (parcel->n == 0) {
            parcel->rank = rank;
            parcel->key = key;
        }
        parcel->n += heed_mpi_page_keys(source, *page);
    }
    return parcel->n > 0;
}

/* Counts what is asked of each rank, and where each one's begin. */
static heed_status ask_count(struct needs *n, heed_report *report)
{
    const int ranks = n->plan->team.ranks;
    struct heed_mpi_parcel parcel;
    int64_t total = 0;

    if (n->n_pages > INT_MAX)
        return heed_mpi_fill(report, HEED_E_OVERFLOW, "parts", INT_MAX, n->n_pages,
                             "the rank's rows see too many pages of keys");
    for (int64_t s = 0; s < n->plan->n_sources; s++) {
        for (int64_t page = 0; parcel_next(n, s, &page, &parcel);)
            n->counts[parcel.rank]++;
    }
    for (int rank = 0; rank < ranks; rank++) {
        n->counts[ranks + rank] = (int)total;
        total += n->counts[rank];
    }
    n->plan->in = heed_mpi_take(&n->plan->memory, total, sizeof *n->plan->in, false);
    n->plan->n_in = total;
    return n->plan->in ? HEED_OK : no_memory(report);
}

/* Fills the list, rank after rank; `from` moves to where the next rank's begins, and back. */
static void ask_fill(struct needs *n)
{
    const int ranks = n->plan->team.ranks;
    int *from = n->counts + ranks;
    struct heed_mpi_parcel parcel;

    for (int64_t s = 0; s < n->plan->n_sources; s++) {
        for (int64_t page = 0; parcel_next(n, s, &page, &parcel);)
            n->plan->in[from[parcel.rank]++] = parcel;
    }
    for (int rank = 0; rank < ranks; rank++)
        from[rank] -= n->counts[rank];
}

static heed_status wanted_take(struct needs *n, heed_report *report)
{
    const int ranks = n->plan->team.ranks;
    const int *wanted = n->counts + 2 * ranks;
    int *from = n->counts + 3 * ranks;
    int64_t total = 0;

    for (int rank = 0; rank < ranks && total <= INT_MAX; rank++) {
        from[rank] = (int)total;
        total += wanted[rank];
    }
    if (total > INT_MAX)
        return heed_mpi_fill(report, HEED_E_OVERFLOW, "parts", INT_MAX, total,
                             "the ranks ask for too many pages");
    n->plan->out = heed_mpi_take(&n->plan->memory, total, sizeof *n->plan->out, false);
    n->plan->n_out = total;
    return n->plan->out ? HEED_OK : no_memory(report);
}

/* What ranks ask of each other. What comes is named for who is to get it. */
static heed_status parcels_exchange(struct needs *n, heed_report *report)
{
    const int ranks = n->plan->team.ranks;
    int *asked = n->counts, *asked_from = asked + ranks;
    int *wanted = asked_from + ranks, *wanted_from = wanted + ranks;
    MPI_Datatype type;
    int code = MPI_Type_contiguous(sizeof(struct heed_mpi_parcel), MPI_BYTE, &type);

    if (code == MPI_SUCCESS)
        code = MPI_Type_commit(&type);
    if (code != MPI_SUCCESS)
        return heed_mpi_result(report, code, "MPI_Type_contiguous");
    code = MPI_Alltoallv(n->plan->in, asked, asked_from, type, n->plan->out, wanted, wanted_from,
                         type, n->plan->team.comm);
    MPI_Type_free(&type);
    for (int rank = 0; rank < ranks && code == MPI_SUCCESS; rank++) {
        for (int i = 0; i < wanted[rank]; i++)
            n->plan->out[wanted_from[rank] + i].rank = rank;
    }
    return heed_mpi_result(report, code, "MPI_Alltoallv");
}

static heed_status ask(struct needs *n, heed_report *report)
{
    const struct heed_mpi_team *team = &n->plan->team;
    heed_status status = ask_count(n, report);

    if (status >= 0)
        ask_fill(n);
    status = heed_mpi_agree(team, status, report);
    if (status >= 0)
        status = heed_mpi_result(report,
                                 MPI_Alltoall(n->counts, 1, MPI_INT, n->counts + 2 * team->ranks, 1,
                                              MPI_INT, team->comm),
                                 "MPI_Alltoall");
    if (status >= 0)
        status = heed_mpi_agree(team, wanted_take(n, report), report);
    return status < 0 ? status : parcels_exchange(n, report);
}

/* ---- together ---- */

static heed_status held_gather(struct needs *n, heed_report *report)
{
    const struct heed_mpi_team *team = &n->plan->team;
    struct heed_mpi_held mine = { { 0 }, { 0 } };

    for (int64_t s = 0; s < n->plan->n_sources; s++) {
        mine.first[s] = n->plan->sources[s].first;
        mine.count[s] = n->plan->sources[s].count;
    }
    return heed_mpi_result(
        report,
        MPI_Allgather(&mine, sizeof mine, MPI_BYTE, n->held, sizeof mine, MPI_BYTE, team->comm),
        "MPI_Allgather");
}

static heed_status find(struct needs *n, heed_report *report)
{
    const struct heed_mpi_team *team = &n->plan->team;
    heed_status status = heed_mpi_agree(team, memory_take(n, report), report);

    if (status >= 0)
        status = held_gather(n, report);
    if (status < 0)
        return status;
    for (int64_t s = 0; s < n->plan->n_sources && status >= 0; s++)
        status = heed_mpi_owners_find(&n->scratch, n->held, team->ranks, s, n->plan->sources[s].n_k,
                                      &n->owners[s], report);
    for (int64_t s = 0; s < n->plan->n_sources && status >= 0; s++)
        status = pages_choose(n, s, report);
    status = heed_mpi_agree(team, status, report);
    if (status < 0)
        return status;
    status = heed_mpi_result(report,
                             MPI_Allreduce(&n->plan->rows_move, &n->plan->any_rows_move, 1,
                                           MPI_C_BOOL, MPI_LOR, team->comm),
                             "MPI_Allreduce");
    return status < 0 ? status : ask(n, report);
}

heed_status heed_mpi_needs(struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                           heed_report *report)
{
    struct needs n = { .plan = plan, .call = call, .scratch = { .device = plan->device } };
    heed_status status;

    n.rows_may = heed_mpi_rows_may(call);
    status = find(&n, report);

    heed_mpi_release(&n.scratch);
    return status;
}
