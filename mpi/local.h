/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The descriptor of one rank's attention while it is made.
 */
#ifndef HEED_MPI_LOCAL_H
#define HEED_MPI_LOCAL_H

#include "ranks.h"

enum { HEED_MPI_LOCAL_TERMS = HEED_MPI_TERMS + 2 };

struct heed_mpi_local {
    struct heed_mpi_plan *plan;
    const struct heed_mpi_call *call;
    struct heed_mpi_memory *memory; /* of slots; it goes when the rank's plan has been made */
    heed_attn_desc desc;
    heed_source sources[HEED_MPI_SOURCES];
    heed_slot slots[HEED_MPI_SLOTS];
    heed_term terms[HEED_MPI_SOURCES][HEED_MPI_LOCAL_TERMS];
    int64_t lengths[HEED_MPI_SOURCES];
    int64_t keys[HEED_MPI_SOURCES]; /* that an item of the rank's source may have */
    heed_source parts[HEED_MPI_SOURCES];    /* of these the rank's attention consists */
    uint32_t n_parts;
    int64_t first, n;               /* rows of q */
    int64_t batch[3]; /* items that have rows of their own: RAGGED ones; else 1 */
    int64_t most;     /* rows that an item has at the rank */
};

/* Of an item, the rows before those of the rank and the rank's. */
struct heed_mpi_rows_of {
    int64_t before, n;
};

/* ---- local.c ---- */

/* Memory of a constant slot more, filled by the caller; NULL: the report says why. */
void *heed_mpi_local_slot(struct heed_mpi_local *, heed_tensor, uint32_t *slot, heed_report *);
struct heed_mpi_rows_of heed_mpi_local_rows(const struct heed_mpi_local *, const int64_t at[3]);

/* [slot][item] pages of [H_k][page][channels], or the keys of the rank as they lie. */
void heed_mpi_pages_describe(const struct heed_mpi_source *, bool in_place, const heed_tensor *held,
                             heed_tensor *);

/* ---- split.c ---- */

/* From all sources to `parts`. */
heed_status heed_mpi_split(struct heed_mpi_local *, heed_report *);

/* ---- local_terms.c ---- */

/* The terms of a source, whose slots count the rank's rows and the keys that its items may have. */
heed_status heed_mpi_local_terms(struct heed_mpi_local *, uint32_t source, heed_report *);

#endif
