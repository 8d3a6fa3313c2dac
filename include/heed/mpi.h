/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention over rows and keys that the ranks of an MPI program hold between them, with the bits
 * that one machine has. Needs mpi.h of an MPI 3 library; link with libheed-mpi (pkg-config
 * heed-mpi) beside libheed. Beside <heed/attn.h> it includes <mpi.h>.
 */
#ifndef HEED_MPI_H
#define HEED_MPI_H

#include <heed/attn.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file mpi.h
 *
 * @section ranks What ranks do
 *
 * Every rank describes the same, whole attention: all rows, all keys, as if one machine held them.
 * Beside it a rank says which rows it wants and which keys it holds. The plan reads from the
 * pattern which keys its rows may see, and asks the ranks that hold them for exactly those, in
 * pages of HEED_CHUNK keys or, where most of these would be moved for nothing, of 16. So a window
 * becomes an exchange with neighbours, global keys become a broadcast, full attention gathers
 * everything. A run moves keys and values and then computes the rows of the rank alone.
 *
 * The rank's attention sees them as pages (HEED_LAYOUT_PAGED), of which those are absent that no
 * row sees; indices and positions stay those of the whole. So the bits of a row are those of one
 * heed_attn_run() over everything, for any number of ranks and any cut, wherever that promises bits
 * (HEED_NUMERICS_EXACT; docs/numerics.md).
 *
 * RAGGED queries and sources are cut as the packed tensors that they are, wherever items begin: a
 * rank has rows and keys of q's and k's tensors, which may be parts of several items, and every
 * rank says the begins and lengths of all. Rows outside every item are not written.
 *
 * Where a rank has few rows that see many keys, as in decoding, the rows travel in place of the
 * keys, if these are more bytes: ranks that hold the keys compute a state for each of their chunks,
 * and the rank joins these in order, as heed_state_run() does, with the same bits. That is so for
 * DENSE queries and one DENSE source without lengths, whose terms are windows of block 1 or
 * everything, two batch axes at most, no q_pos_slot, and messages that need not be cut.
 *
 * @code
 * // Rank r of p: rows and keys [first, first + n) of n_all, float [1][heads][n][64], dense.
 * heed_source source = { .k = heed_array4(HEED_F32, NULL, 1, heads, n_all, 64).t,
 *                        .v = heed_array4(HEED_F32, NULL, 1, heads, n_all, 64).t };
 * heed_term see = { .kind = HEED_TERM_WINDOW, .left = 512, .right = 512 };
 * heed_attn_desc all = { .size = sizeof all, .q = source.k, .o = source.k,
 *                        .sources = &source, .n_sources = 1, .source_size = sizeof source };
 * heed_mpi_keys keys = { .first = first, .count = n };
 * heed_mpi_parts mine = { .size = sizeof mine, .first_row = first, .n_rows = n, .keys = &keys,
 *                         .n_keys = 1, .keys_size = sizeof keys };
 * heed_kv_bufs kv = { { k_data, 0 }, { v_data, 0 } };
 * heed_attn_args args = { .size = sizeof args, .kv_size = sizeof kv, .q = { q_data, 0 },
 *                         .o = { o_data, 0 }, .kv = &kv };
 * heed_mpi_plan *ranks = NULL;
 *
 * source.terms = &see, source.n_terms = 1, source.term_size = sizeof see;
 * if (heed_mpi_attn_plan(MPI_COMM_WORLD, device, &all, &mine, &ranks, &why) < 0 ||
 *     heed_mpi_attn_run(ranks, queue, &args, &why) < 0)
 *     fprintf(stderr, "%s: %s\n", why.field, why.message);
 * heed_mpi_plan_destroy(ranks);
 * @endcode
 *
 * @section together Calls of all ranks together
 *
 * heed_mpi_attn_plan(), heed_mpi_attn_run() and heed_mpi_plan_destroy() are collective: every rank
 * of the communicator calls them, in the same order, after MPI_Init and before MPI_Finalize,
 * neither of which heed calls. heed talks over a duplicate of its own of the communicator, so
 * messages of the caller's are never mistaken for heed's, and gives that back in destroy. Calls of
 * one plan are not made at the same time; two threads need MPI_THREAD_MULTIPLE and a communicator
 * each.
 *
 * A mistake of one rank is that of all: before anything is moved the ranks agree, all of them
 * return the same status and the same report, and its message begins with the rank that was first
 * to be found at fault, "rank 3: ...". What an MPI library reports through a return value becomes
 * HEED_E_DEVICE, with its code in `native_code` and its text in the message; then ranks may
 * return different statuses or wait for each other, as after any failure of MPI.
 *
 * @section not_yet What is not implemented yet
 *
 * HEED_E_UNSUPPORTED, the report naming the field: devices that are not the host's; lengths of
 * DENSE queries, begins of o apart from those of q, states; sources but DENSE and RAGGED ones, with
 * masks, row masks, scales, types of integers and blocks, or k and v of different batch axes; DENSE
 * biases and coordinates; begins, lengths, q_pos_slot and slots of terms that are not constant; a
 * RAGGED source of which a rank sees 2^31 keys or more; no room among the 64 slots for tables of
 * pages and for what counts the rank's rows.
 */

#if defined _WIN32
#define HEED_MPI_API
#elif defined __GNUC__
#define HEED_MPI_API __attribute__((visibility("default")))
#else
#define HEED_MPI_API
#endif

/** A plan of one rank, which is a part of the plan of all. */
typedef struct heed_mpi_plan heed_mpi_plan;

/** The keys of one source that a rank holds: [first, first + count) of the source's n_k, or of a
 * RAGGED source of its packed keys.
 * Invariants: both >= 0; with a count, first is a multiple of HEED_CHUNK, and count too or the last
 * key is among them. */
typedef struct heed_mpi_keys {
    int64_t first, count;
    /** How the rank's k and v lie: types and extents are the source's, but for `count` in place of
     * n_k; any strides. Absent (ndim 0): without gaps, the last axis the fastest. */
    heed_tensor k, v;
} heed_mpi_keys;

/** Flags of parts. */
enum {
    /** Keys come to the rank's rows, also where its rows would be fewer bytes. */
    HEED_MPI_MOVE_KEYS = 1u
};

/** What a rank wants and holds. Zero is the default everywhere. */
typedef struct heed_mpi_parts {
    uint32_t size, flags; /**< flags: HEED_MPI_*. */
    /** Rows [first_row, first_row + n_rows) are computed here, of RAGGED queries of their packed
     * rows. Several ranks or none may want a row. */
    int64_t first_row, n_rows;
    heed_tensor q, o, lse; /**< How they lie, n_rows of them; absent: without gaps. */
    /** One entry for each source. Every key is held by a rank; of several that hold it the rank
     * itself is asked, or else the lowest of them. */
    const heed_mpi_keys *keys;
    uint32_t n_keys, keys_size; /**< keys_size: sizeof (heed_mpi_keys). */
    /** Bytes of a message at most: longer ones are cut, to the keys of one head at least. 0, the
     * most: 2^31 - 1. */
    int64_t message_bytes;
} heed_mpi_parts;

/** What a plan of ranks moves and holds. The caller sets `size`; no more bytes than that are
 * written. All of one rank and, but for memory, of one run. */
typedef struct heed_mpi_props {
    uint32_t size, rows_move;     /**< rows_move: 1: the rank's rows travel, else keys do. */
    int32_t rank, ranks;          /**< This one, and how many there are. */
    uint64_t bytes_in, bytes_out; /**< From and to other ranks, without headers. */
    uint64_t messages_in, messages_out; /**< Those that bring and take these bytes. */
    uint64_t bytes_copied; /**< Of the rank's own keys and values into pages; 0 if they stay. */
    uint64_t keys_seen, keys_held; /**< Of all sources: with pages around them, and held. */
    uint64_t host_bytes;           /**< Memory of the plan, pages and workspace included. */
} heed_mpi_props;

/**
 * Plans the attention `desc` of all ranks, of which the calling one holds `parts`. Collective.
 *
 * Shapes: those of heed_attn_desc and heed_source, of the whole; strides of q, o, lse, k and v in
 * `desc` must be legal, and mean nothing else. Slots and sinks are held by every rank, whole. The
 * ranks' descriptors are equal: extents, types, terms, biases, flags, numbers, and the entries of
 * constant slots; so is `message_bytes`. Devices may differ. Nothing of the caller's is kept.
 * Memory comes from the runtime's allocator, some of it, during the call, by malloc, and what the
 * MPI library takes.
 *
 * @param comm   an intracommunicator of the ranks; it stays the caller's and may go afterwards.
 * @param device a host device; it and its runtime outlive the plan.
 * @param out    receives the plan, which heed_mpi_plan_destroy() ends.
 * @param report may be NULL.
 * @return HEED_OK, or the same failure on every rank, and nothing is written but the report:
 *   HEED_E_NULL comm is MPI_COMM_NULL (only the calling rank knows: the others wait for it);
 *     device, desc, parts, out or parts.keys is NULL;
 *   HEED_E_VALUE MPI has not begun or is over, or comm has two groups (neither is agreed on); rows
 *     or keys that do not exist, or a number of `keys` that is not that of the sources;
 *   HEED_E_SIZE, HEED_E_NEWER, HEED_E_FLAG of parts;
 *   HEED_E_SHAPE keys that are not cut at multiples of HEED_CHUNK; a key that no rank holds; a
 *     tensor of parts that has other extents than the rank's part;
 *   HEED_E_DTYPE a tensor of parts of another type than the descriptor's;
 *   HEED_E_MISMATCH a rank's descriptor, library or numerics version differs from those of rank 0;
 *   HEED_E_OVERFLOW more than 2^31 - 1 pages or messages of a rank; strides of a tensor of parts
 *     that reach over more than 2^50 elements;
 *   HEED_E_UNSUPPORTED see "What is not implemented yet";
 *   HEED_E_DEVICE the MPI library failed: the report has its code and text;
 *   else as heed_attn_plan() of the whole or of the rank's part.
 */
HEED_MPI_API HEED_MUST_CHECK heed_status heed_mpi_attn_plan(MPI_Comm comm, heed_device *device,
                                                            const heed_attn_desc *desc,
                                                            const heed_mpi_parts *parts,
                                                            heed_mpi_plan **out,
                                                            heed_report *report);

/**
 * Moves keys and values to where rows see them, and computes the rank's rows. Collective; done on
 * return. Allocates nothing but what the MPI library does.
 *
 * @param queue  of the plan's device; ranks may have different ones.
 * @param args   the rank's memory, as parts describe it: q, o, lse, and one entry of `kv` for each
 *   source; sinks and slots as for heed_attn_run(). No workspace and no events to wait for
 *   (HEED_E_VALUE). k and v are only read, and may be written again on return.
 * @param report may be NULL.
 * @return HEED_OK; of all ranks, and nothing was moved or written:
 *   HEED_E_NULL plan, queue, args or memory with elements is NULL;
 *   HEED_E_SIZE, HEED_E_NEWER, HEED_E_VALUE of args;
 *   HEED_E_MISMATCH the queue is of another device than the plan;
 *   HEED_E_ALIGN k or v is not at a multiple of its element's size;
 *   of this rank alone, whose o and lse are as they were: what else heed_attn_run() or
 *   heed_state_run() say of q, o, lse, sinks and slots; HEED_E_DEVICE the MPI library failed.
 *   plan NULL: HEED_E_NULL on this rank alone, and the others wait for it.
 */
HEED_MPI_API HEED_MUST_CHECK heed_status heed_mpi_attn_run(heed_mpi_plan *plan, heed_queue *queue,
                                                           const heed_attn_args *args,
                                                           heed_report *report);

/**
 * Says what a run of this rank moves and what the plan holds. Not collective. Any thread.
 *
 * @return HEED_OK; HEED_E_NULL an argument is NULL; HEED_E_SIZE `size` is below the first
 *   version's.
 */
HEED_MPI_API HEED_MUST_CHECK heed_status heed_mpi_plan_info(const heed_mpi_plan *plan,
                                                            heed_mpi_props *props);

/**
 * What plans of so many ranks would say of themselves, without ranks, keys or a network: for
 * choosing how many machines a document needs, and which. Not collective, and MPI need not have
 * begun. The figures are those of heed_mpi_plan_info(), but for `host_bytes`, which counts pages
 * and states alone. A pattern of windows, global keys and steps over 2^30 rows takes less than a
 * second for 4,096 ranks, and memory of some bytes for each rank and a bit for every 16 keys.
 *
 * @param device a host device, whose runtime gives the memory.
 * @param desc   as for heed_mpi_attn_plan().
 * @param parts  [ranks] what each rank would give to heed_mpi_attn_plan(); all have the size of the
 *   first.
 * @param ranks  at least 1.
 * @param props  [ranks] of each rank. Only `size` of the first is read: it is that of all.
 * @param report may be NULL.
 * @return HEED_OK, or a failure, and nothing is written but the report:
 *   HEED_E_NULL device, desc, parts or props is NULL; HEED_E_VALUE no rank; HEED_E_SIZE a size that
 *     no version has, or parts of several sizes; HEED_E_NOMEM;
 *   HEED_E_MISMATCH `message_bytes` differs between ranks;
 *   else as heed_mpi_attn_plan() of the ranks.
 */
HEED_MPI_API HEED_MUST_CHECK heed_status heed_mpi_model(heed_device *device,
                                                        const heed_attn_desc *desc,
                                                        const heed_mpi_parts *parts, int32_t ranks,
                                                        heed_mpi_props *props, heed_report *report);

/** Ends a plan. Collective, as it gives back the duplicate of the communicator. NULL: does
 * nothing. */
HEED_MPI_API void heed_mpi_plan_destroy(heed_mpi_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
