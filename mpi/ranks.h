/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files of libheed-mpi share. The library stands on the public headers of heed alone.
 */
#ifndef HEED_MPI_RANKS_H
#define HEED_MPI_RANKS_H

#include <heed/mpi.h>

#include <stdbool.h>

/* Bytes of first versions. */
enum { HEED_MPI_PARTS_V1 = 360, HEED_MPI_PROPS_V1 = 80 };
enum { HEED_MPI_SOURCES = 16, HEED_MPI_SLOTS = 64, HEED_MPI_TERMS = 64 };

#if defined __GNUC__
#define HEED_MPI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HEED_MPI_PRINTF(text, first)
#endif

/* ---- ranks.c: reports, agreement, memory ---- */

/* The ranks, over a communicator of heed's own that returns its errors. */
struct heed_mpi_team {
    MPI_Comm comm;
    int rank, ranks;
};

/* Fills a report of full size and returns status. */
HEED_MPI_PRINTF(6, 7)
heed_status heed_mpi_fill(heed_report *, heed_status status, const char *field, int64_t wanted,
                          int64_t got, const char *format, ...);
/* What a function of MPI returned, as a status. */
heed_status heed_mpi_result(heed_report *, int code, const char *call);
/* A report as the caller's size has room for. */
heed_status heed_mpi_tell(heed_report *caller, const heed_report *);
/* Collective: the lowest status of all ranks, and in the report that of the lowest such rank. */
heed_status heed_mpi_agree(const struct heed_mpi_team *, heed_status mine, heed_report *);
/* A struct of the caller's that begins with its size, zero-extended; v1: the least it has. */
heed_status heed_mpi_sized(heed_report *, const void *given, uint32_t size, size_t v1, void *to,
                           size_t known, const char *field);

/* Blocks from the runtime's allocator that are given back together. */
struct heed_mpi_memory {
    heed_device *device;
    struct heed_mpi_block *blocks;
    uint64_t bytes;
};

/* Zeroed unless `raw`; NULL: no memory. */
void *heed_mpi_take(struct heed_mpi_memory *, int64_t count, size_t size, bool raw);
void heed_mpi_release(struct heed_mpi_memory *);

/* ---- the attention of all ---- */

/* Six axes, the last ones head, key and channel; missing ones have extent 1. Bytes. */
struct heed_mpi_view {
    int64_t shape[6], stride[6];
};

/* K or V of a source, as the rank holds it and as pages: [slot][item][H_k][page][d], or of a packed
 * source [H_k][slot][page][d], so that neighbours that are both there have no gap between them. */
struct heed_mpi_rows {
    int64_t size;              /* bytes of an element */
    struct heed_mpi_view held; /* the rank's keys */
    struct heed_mpi_view page; /* of one slot, all items */
    char *heap, *pages;        /* heap: of packed keys a page before slot 0 */
    int64_t page_bytes;        /* of all items and heads */
    int64_t slot_bytes;        /* from one slot to the next */
};

/* Keys of a page: few, so that few come for nothing; a block of kernels, whose rows they then read
 * where they lie; a chunk, so that tables are short. */
enum { HEED_MPI_SMALL_PAGE = 16, HEED_MPI_BLOCK_PAGE = 64 };

struct heed_mpi_source {
    int64_t n_k, items; /* packed: all keys, which are those of one item */
    bool packed;
    bool in_place;                /* the rank's keys are read where they lie: its rows see no */
    bool splits;                  /* others, or these are sources of their own (split.c) */
    int64_t first, count;         /* keys that the rank holds */
    int64_t page, n_pages;        /* keys of a page: HEED_CHUNK, or fewer where few are seen */
    int64_t n_seen;               /* pages */
    int32_t *slot;                /* [n_pages] where the page lies; -1: no row sees it */
    struct heed_mpi_rows rows[2]; /* K, V */
};

/* Keys [key, key + n) that go to a rank or come from it: neighbouring pages of whoever asks. */
struct heed_mpi_parcel {
    int64_t key, n, page;
    int64_t first_row, n_rows; /* rows_move: of the rank that asks, for states of the keys */
    int32_t rank, source, rows_move, reserved;
};

/* What a run sends or receives at once: `type`, from `offset` bytes behind the rank's keys or the
 * pages on. */
struct heed_mpi_message {
    int64_t offset;
    MPI_Datatype type;
    int32_t rank, source, v, reserved;
};

struct heed_mpi_messages {
    struct heed_mpi_message *message;
    int64_t n, bytes;
};

/* Chunks that the rank holds, of `keys` keys each, for rows of a rank. */
struct heed_mpi_serve {
    int32_t rank, last; /* last: behind it all states of a parcel are there */
    int64_t chunk, n, keys;
    heed_plan *plan;
    char *q, *states;
    int64_t bytes, sent, q_bytes; /* of its states, of those of the parcel, of the rows */
};

/* A source of the rank's attention: of which it is a part, and whose memory it has. */
struct heed_mpi_part {
    uint32_t source;
    bool in_place;
};

struct heed_mpi_plan {
    struct heed_mpi_team team;
    struct heed_mpi_memory memory;
    heed_device *device;
    heed_plan *local;
    heed_mpi_props props;
    int64_t n_rows, n_sources, message_bytes;
    uint32_t n_slots, n_local_slots;
    bool wants_q, wants_o, wants_lse, wants_sinks; /* memory of a run */
    bool wants_slot[HEED_MPI_SLOTS];
    struct heed_mpi_source sources[HEED_MPI_SOURCES];
    struct heed_mpi_part part[HEED_MPI_SOURCES]; /* those of `local` */
    uint32_t n_parts;
    struct heed_mpi_parcel *in, *out; /* by rank, source and key */
    int64_t n_in, n_out;
    struct heed_mpi_messages messages_in, messages_out;
    MPI_Request *requests; /* one for each message */
    /* Rows that travel: this rank's, any rank's. Own chunks are served first. */
    bool rows_move, any_rows_move;
    struct heed_mpi_serve *serves;
    int64_t n_serves, n_own_serves;
    struct heed_mpi_view q_view;
    int64_t q_size, q_bytes, state_bytes; /* state_bytes: of a chunk */
    char *q_packed, *states;
    MPI_Request *rows_requests;
    int64_t n_rows_requests;
};

/* The caller's structs, copied and zero-extended, and what follows from them. */
struct heed_mpi_call {
    heed_attn_desc desc;
    heed_source sources[HEED_MPI_SOURCES];
    heed_slot slots[HEED_MPI_SLOTS];
    heed_mpi_parts parts;
    heed_mpi_keys keys[HEED_MPI_SOURCES];
    int64_t n_q;
    bool used[HEED_MPI_SLOTS]; /* by a term, a bias, a length or positions */
};

/* Bytes of a number of the types that keys and rows may have (check.c). */
static inline int64_t heed_mpi_size_of(uint32_t dtype)
{
    return dtype == HEED_F32 ? 4 : dtype == HEED_F16 || dtype == HEED_BF16 ? 2 : 1;
}

static inline int64_t heed_mpi_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Keys of a page of the source. */
static inline int64_t heed_mpi_page_keys(const struct heed_mpi_source *s, int64_t page)
{
    return heed_mpi_min(s->n_k - page * s->page, s->page);
}

/* Keys that a heap of packed ones has room for, of one head: a page before and one behind those
 * that are seen. */
static inline int64_t heed_mpi_heap_keys(const struct heed_mpi_source *s)
{
    return (s->n_seen + 2) * s->page;
}

/* Keys of other ranks that come in pages of a size. */
struct heed_mpi_foreign {
    int64_t small, block, chunks;
};

/* Which pages a rank takes: smaller ones where half of what came in larger ones would be for
 * nothing. */
static inline int64_t heed_mpi_page_of(const struct heed_mpi_foreign *in)
{
    if (in->chunks == 0 || in->small > in->chunks / 2)
        return HEED_CHUNK;
    return in->small > in->block / 2 ? HEED_MPI_BLOCK_PAGE : HEED_MPI_SMALL_PAGE;
}

/* May the rank's keys be its pages, where they lie? It holds all n_k of them, so that it needs no
 * pages, or there is one item, and no page is cut. */
static inline bool heed_mpi_may_stay(bool packed, int64_t items, int64_t count, int64_t n_k)
{
    return !packed && count > 0 && (count == n_k || (items == 1 && count % HEED_CHUNK == 0));
}

/* Does the rank itself hold the page, which its rows see? */
static inline bool heed_mpi_is_own(const struct heed_mpi_source *s, int64_t page)
{
    const int64_t key = page * s->page;

    return s->slot[page] >= 0 && key >= s->first && key < s->first + s->count;
}

/* ---- items.c ---- */

/* Extents of batch axes of a tensor with `own` axes behind them, joined into those of others. */
void heed_mpi_batch_join(int64_t batch[3], const heed_tensor *, uint32_t own);
int64_t heed_mpi_batch_items(const int64_t batch[3]);
void heed_mpi_batch_at(const int64_t batch[3], int64_t item, int64_t at[3]);
/* [batch][extents], the last axis the fastest. */
heed_tensor heed_mpi_batch_array(uint32_t dtype, const int64_t batch[3], uint32_t own,
                                 const int64_t *extents);
/* From element [0]..[0] to an item's first one. */
int64_t heed_mpi_slot_offset(const heed_tensor *, uint32_t own, const int64_t at[3]);
/* The item's entry of a constant slot of begins, lengths or positions. */
int64_t heed_mpi_slot_get(const heed_slot *, const int64_t at[3]);

/* ---- check.c: what a rank was given ---- */

heed_status heed_mpi_check(heed_device *device, const heed_attn_desc *desc,
                           const heed_mpi_parts *parts, struct heed_mpi_call *, heed_report *);

/* ---- digest.c ---- */

/* Of all that ranks must have in common. */
uint64_t heed_mpi_digest(const struct heed_mpi_call *);

/* ---- local.c ---- */

/* The attention of the rank's rows over pages, of which slot[] says which are there, planned. */
heed_status heed_mpi_local(struct heed_mpi_plan *, const struct heed_mpi_call *, heed_report *);

/* ---- split.c ---- */

/* May a source become several, whatever rank it is? */
bool heed_mpi_may_split(const struct heed_mpi_call *, int64_t source);

/* ---- owners.c ---- */

/* The keys of each source that a rank holds. */
struct heed_mpi_held {
    int64_t first[HEED_MPI_SOURCES], count[HEED_MPI_SOURCES];
};

/* Keys [key, end), all held by the same ranks, of which this is the lowest. */
struct heed_mpi_segment {
    int64_t key, end;
    int32_t rank, reserved;
};

/* All keys of a source, ascending. */
struct heed_mpi_owners {
    struct heed_mpi_segment *segment;
    int64_t n;
};

/* HEED_E_SHAPE: nobody holds a key; HEED_E_NOMEM. */
heed_status heed_mpi_owners_find(struct heed_mpi_memory *, const struct heed_mpi_held *held,
                                 int ranks, int64_t source, int64_t n_k, struct heed_mpi_owners *,
                                 heed_report *);
/* The index of the segment that a key lies in. */
int64_t heed_mpi_segment_of(const struct heed_mpi_owners *, int64_t key);

static inline int heed_mpi_owner(const struct heed_mpi_owners *o, int64_t key)
{
    return o->segment[heed_mpi_segment_of(o, key)].rank;
}

/* ---- needs.c ---- */

/* Collective: finds what the rank's rows see, who holds it, and who wants what the rank holds. */
heed_status heed_mpi_needs(struct heed_mpi_plan *, const struct heed_mpi_call *, heed_report *);

/* ---- messages.c ---- */

/* Cuts parcels into messages, from what is held or into pages. Not collective. */
heed_status heed_mpi_messages_make(struct heed_mpi_plan *, bool out, heed_report *);
void heed_mpi_messages_finish(struct heed_mpi_messages *);
/* From element [0]..[0] to that of an item and head, the last axis the fastest. */
int64_t heed_mpi_group_offset(const struct heed_mpi_view *, int64_t group);
/* How many items and heads there are. */
int64_t heed_mpi_groups(const struct heed_mpi_view *);

/* ---- rows.c, rows_run.c ---- */

/* May rows travel at all, and are they fewer bytes than so many keys of other ranks? */
bool heed_mpi_rows_may(const struct heed_mpi_call *);
bool heed_mpi_rows_cheaper(const struct heed_mpi_plan *, const struct heed_mpi_call *,
                           int64_t foreign_keys);
/* Bytes of the states of a chunk for so many rows, and of the rows. */
int64_t heed_mpi_states_bytes(const struct heed_mpi_call *, int64_t rows);
int64_t heed_mpi_q_bytes(const struct heed_mpi_call *, int64_t rows);
/* What is computed for others and for the rank's own rows. Not collective. */
heed_status heed_mpi_rows_prepare(struct heed_mpi_plan *, const struct heed_mpi_call *,
                                  heed_report *);
void heed_mpi_rows_finish(struct heed_mpi_plan *);
/* Collective where any rank's rows move. */
heed_status heed_mpi_rows_exchange(struct heed_mpi_plan *, heed_queue *, const heed_attn_args *,
                                   const heed_kv_bufs *held, heed_report *);
heed_status heed_mpi_rows_join(const struct heed_mpi_plan *, heed_queue *, const heed_attn_args *,
                               heed_report *);

/* ---- exchange.c ---- */

/* Pages; messages and figures. Not collective. */
heed_status heed_mpi_exchange_pages(struct heed_mpi_plan *, const struct heed_mpi_call *,
                                    heed_report *);
heed_status heed_mpi_exchange_prepare(struct heed_mpi_plan *, heed_report *);
/* Fills the pages. */
heed_status heed_mpi_exchange(struct heed_mpi_plan *, const heed_kv_bufs *held, heed_report *);

#endif
