/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pages of a source that a rank's rows see, counted without a table of pages for each rank.
 */
#ifndef HEED_MPI_MODEL_H
#define HEED_MPI_MODEL_H

#include "ranks.h"

/* Pages [first, end). */
struct heed_mpi_span {
    int64_t first, end;
};

/* Pages are seen for runs of neighbouring keys, which are spans, and for keys far apart, which are
 * bits. The latter are often those of the rank before, or these and more. */
struct heed_mpi_pages {
    struct heed_mpi_memory *memory;
    const struct heed_mpi_owners *owners;
    int64_t n_k, page, n_pages;
    int64_t *starts; /* [segments + 1]: their pages */
    struct heed_mpi_span *spans; /* ascending, apart */
    int64_t n_spans, most_spans;
    heed_key_run *combs;
    int64_t n_combs, most_combs;
    uint64_t *bits; /* [n_pages], NULL: there has been no comb */
    int64_t *teeth; /* bits of each segment */
};

heed_status heed_mpi_pages_make(struct heed_mpi_pages *, struct heed_mpi_memory *,
                                const struct heed_mpi_owners *, int64_t n_k, int64_t page,
                                heed_report *);
/* Makes the pages those of the runs, which it sorts. */
heed_status heed_mpi_pages_set(struct heed_mpi_pages *, heed_key_run *runs, int64_t n,
                               heed_report *);

/* A walk over the segments: how many pages of each are seen. */
struct heed_mpi_pages_walk {
    int64_t segment, span;
    int64_t pages, keys; /* keys: in them */
};

/* The next segment, from the first on; false: there are no more. */
bool heed_mpi_pages_next(const struct heed_mpi_pages *, struct heed_mpi_pages_walk *);

#endif
