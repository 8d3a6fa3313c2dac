/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who needs what of whom: a rank finds the chunks that its rows may see and the ranks that hold
 * them, and asks; so it learns what others ask of it. Nobody computes the needs of another rank.
 */
#include "ranks.h"

#include <limits.h>
#include <string.h>

static heed_status no_memory(heed_report *report)
{
    return heed_mpi_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the needs of ranks");
}

/* ---- who holds what ---- */

struct held {
    int64_t first[HEED_MPI_SOURCES], count[HEED_MPI_SOURCES];
};

struct needs {
    struct heed_mpi_plan *plan;
    const struct heed_mpi_call *call;
    struct heed_mpi_memory scratch;
    struct held *held;       /* [ranks] */
    uint8_t *seen;           /* [chunks of the longest source] */
    int *counts;             /* [4][ranks]: asked, from where; wanted, from where */
    int64_t *asked, *wanted; /* chunk * HEED_MPI_SOURCES + source */
    int64_t n_asked, n_wanted;
};

static bool holds(const struct held *held, int64_t s, int64_t chunk)
{
    const int64_t key = chunk * HEED_CHUNK;

    return held->count[s] > 0 && key >= held->first[s] && key < held->first[s] + held->count[s];
}

/* The rank itself if it holds the chunk, else the first that does; -1: nobody. */
static int holder(const struct needs *n, int64_t s, int64_t chunk)
{
    const struct heed_mpi_team *team = &n->plan->team;

    if (holds(&n->held[team->rank], s, chunk))
        return team->rank;
    for (int rank = 0; rank < team->ranks; rank++) {
        if (holds(&n->held[rank], s, chunk))
            return rank;
    }
    return -1;
}

/* Every key is held by somebody: from key to key, the farthest that a range reaches. */
static heed_status coverage_check(const struct needs *n, int64_t s, heed_report *report)
{
    const int64_t n_k = n->plan->sources[s].n_k;
    int64_t key = 0;

    while (key < n_k) {
        int64_t reached = key;

        for (int rank = 0; rank < n->plan->team.ranks; rank++) {
            const struct held *held = &n->held[rank];
            const int64_t end = held->first[s] + held->count[s];

            if (held->first[s] <= key && end > reached)
                reached = end;
        }
        if (reached == key)
            return heed_mpi_fill(report, HEED_E_SHAPE, "parts.keys", n_k, key,
                                 "source %d: no rank holds key %lld", (int)s, (long long)key);
        key = reached;
    }
    return HEED_OK;
}

/* ---- what the rank's rows see ---- */

static int64_t n_chunks_most(const struct heed_mpi_plan *plan)
{
    int64_t most = 0;

    for (int64_t s = 0; s < plan->n_sources; s++)
        most = plan->sources[s].n_chunks > most ? plan->sources[s].n_chunks : most;
    return most;
}

static heed_status memory_take(struct needs *n, heed_report *report)
{
    struct heed_mpi_plan *plan = n->plan;
    const int64_t ranks = plan->team.ranks, most = n_chunks_most(plan);

    n->held = heed_mpi_take(&n->scratch, ranks, sizeof *n->held, false);
    n->counts = heed_mpi_take(&n->scratch, 4 * ranks, sizeof *n->counts, false);
    n->seen = heed_mpi_take(&n->scratch, most, 1, false);
    n->asked = NULL;
    if (!n->held || !n->counts || !n->seen)
        return no_memory(report);
    for (int64_t s = 0; s < plan->n_sources; s++) {
        struct heed_mpi_source *source = &plan->sources[s];

        source->slot = heed_mpi_take(&plan->memory, source->n_chunks, sizeof *source->slot, false);
        if (!source->slot)
            return no_memory(report);
    }
    return HEED_OK;
}

/* Chunks that rows may see. Biases take no part, and their slots may have no memory yet. */
static heed_status seen_find(struct needs *n, heed_source *sources, int64_t s, heed_report *report)
{
    const heed_mpi_parts *parts = &n->call->parts;
    struct heed_mpi_source *source = &n->plan->sources[s];
    heed_attn_desc desc = n->call->desc;
    heed_status status;

    desc.sources = sources;
    report->size = sizeof *report;
    status = heed_attn_chunks(&desc, NULL, parts->first_row, parts->n_rows, (uint32_t)s, n->seen,
                              report);
    if (status < 0)
        return status;
    for (int64_t i = 0; i < source->n_chunks; i++) {
        source->slot[i] = n->seen[i] ? (int32_t)source->n_seen++ : -1;
        n->n_asked += n->seen[i];
    }
    return HEED_OK;
}

static heed_status all_seen_find(struct needs *n, heed_report *report)
{
    heed_source *sources = heed_mpi_take(&n->scratch, HEED_MPI_SOURCES, sizeof *sources, false);
    heed_status status = HEED_OK;

    if (!sources)
        return no_memory(report);
    memcpy(sources, n->call->sources, sizeof n->call->sources);
    for (int64_t s = 0; s < n->plan->n_sources; s++)
        sources[s].n_biases = 0;
    for (int64_t s = 0; s < n->plan->n_sources && status >= 0; s++)
        status = n->plan->sources[s].n_chunks > INT32_MAX
                     ? heed_mpi_fill(report, HEED_E_OVERFLOW, "sources", INT32_MAX,
                                     n->plan->sources[s].n_chunks, "too many chunks of keys")
                     : seen_find(n, sources, s, report);
    return status;
}

/* ---- asking ---- */

/* Counts what is asked of each rank, the rank itself apart. */
static heed_status ask_count(struct needs *n, heed_report *report)
{
    int64_t total = 0;

    if (n->n_asked > INT_MAX)
        return heed_mpi_fill(report, HEED_E_OVERFLOW, "parts", INT_MAX, n->n_asked,
                             "the rank's rows see too many chunks");
    n->asked = heed_mpi_take(&n->scratch, n->n_asked, sizeof *n->asked, false);
    n->plan->in = heed_mpi_take(&n->plan->memory, n->n_asked, sizeof *n->plan->in, false);
    if (!n->asked || !n->plan->in)
        return no_memory(report);
    for (int64_t s = 0; s < n->plan->n_sources; s++) {
        for (int64_t c = 0; c < n->plan->sources[s].n_chunks; c++) {
            const int rank = n->plan->sources[s].slot[c] < 0 ? -1 : holder(n, s, c);

            if (rank >= 0 && rank != n->plan->team.rank)
                n->counts[rank]++;
        }
    }
    for (int rank = 0; rank < n->plan->team.ranks; rank++) {
        n->counts[n->plan->team.ranks + rank] = (int)total;
        total += n->counts[rank];
    }
    n->plan->n_in = total;
    return HEED_OK;
}

/* Fills the list, rank after rank; `from` moves to where the next rank's begins, and back. */
static void ask_fill(struct needs *n)
{
    const int ranks = n->plan->team.ranks;
    int *from = n->counts + ranks;

    for (int64_t s = 0; s < n->plan->n_sources; s++) {
        for (int64_t c = 0; c < n->plan->sources[s].n_chunks; c++) {
            const int rank = n->plan->sources[s].slot[c] < 0 ? -1 : holder(n, s, c);

            if (rank < 0 || rank == n->plan->team.rank)
                continue;
            n->plan->in[from[rank]] = (struct heed_mpi_parcel){ rank, (int32_t)s, c };
            n->asked[from[rank]++] = c * HEED_MPI_SOURCES + s;
        }
    }
    for (int rank = 0; rank < ranks; rank++)
        from[rank] -= n->counts[rank];
}

static heed_status wanted_take(struct needs *n, heed_report *report)
{
    const int ranks = n->plan->team.ranks;
    int *wanted = n->counts + 2 * ranks, *from = n->counts + 3 * ranks;

    for (int rank = 0; rank < ranks; rank++) {
        if (n->n_wanted > INT_MAX)
            break;
        from[rank] = (int)n->n_wanted;
        n->n_wanted += wanted[rank];
    }
    if (n->n_wanted > INT_MAX)
        return heed_mpi_fill(report, HEED_E_OVERFLOW, "parts", INT_MAX, n->n_wanted,
                             "the ranks ask for too many chunks");
    n->wanted = heed_mpi_take(&n->scratch, n->n_wanted, sizeof *n->wanted, false);
    n->plan->out = heed_mpi_take(&n->plan->memory, n->n_wanted, sizeof *n->plan->out, false);
    n->plan->n_out = n->n_wanted;
    return n->wanted && n->plan->out ? HEED_OK : no_memory(report);
}

static void wanted_read(struct needs *n)
{
    const int ranks = n->plan->team.ranks;
    const int *wanted = n->counts + 2 * ranks, *from = n->counts + 3 * ranks;

    for (int rank = 0; rank < ranks; rank++) {
        for (int i = from[rank]; i < from[rank] + wanted[rank]; i++)
            n->plan->out[i] =
                (struct heed_mpi_parcel){ rank, (int32_t)(n->wanted[i] % HEED_MPI_SOURCES),
                                          n->wanted[i] / HEED_MPI_SOURCES };
    }
}

static heed_status ask(struct needs *n, heed_report *report)
{
    const struct heed_mpi_team *team = &n->plan->team;
    int *asked = n->counts, *asked_from = asked + team->ranks;
    int *wanted = asked_from + team->ranks, *wanted_from = wanted + team->ranks;
    heed_status status = ask_count(n, report);

    if (status >= 0)
        ask_fill(n);
    status = heed_mpi_agree(team, status, report);
    if (status < 0)
        return status;
    status = heed_mpi_result(
        report, MPI_Alltoall(asked, 1, MPI_INT, wanted, 1, MPI_INT, team->comm), "MPI_Alltoall");
    if (status < 0)
        return status;
    status = heed_mpi_agree(team, wanted_take(n, report), report);
    if (status < 0)
        return status;
    status = heed_mpi_result(report,
                             MPI_Alltoallv(n->asked, asked, asked_from, MPI_INT64_T, n->wanted,
                                           wanted, wanted_from, MPI_INT64_T, team->comm),
                             "MPI_Alltoallv");
    if (status >= 0)
        wanted_read(n);
    return status;
}

/* ---- together ---- */

static heed_status held_gather(struct needs *n, heed_report *report)
{
    const struct heed_mpi_team *team = &n->plan->team;
    struct held mine = { { 0 }, { 0 } };

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
        status = coverage_check(n, s, report);
    if (status >= 0)
        status = all_seen_find(n, report);
    status = heed_mpi_agree(team, status, report);
    return status < 0 ? status : ask(n, report);
}

heed_status heed_mpi_needs(struct heed_mpi_plan *plan, const struct heed_mpi_call *call,
                           heed_report *report)
{
    struct needs n = { .plan = plan, .call = call, .scratch = { .device = plan->device } };
    const heed_status status = find(&n, report);

    heed_mpi_release(&n.scratch);
    return status;
}
