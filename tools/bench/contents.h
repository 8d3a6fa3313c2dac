/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the arrays of a workload hold, the same in each run.
 */
#ifndef HEED_TOOLS_BENCH_CONTENTS_H
#define HEED_TOOLS_BENCH_CONTENTS_H

#include <heed/heed.h>

#include <stddef.h>

enum contents_kind {
    CONTENTS_NONE,        /* an output: left alone */
    CONTENTS_UNIFORM,     /* floats of variance `deviation` squared, mean 0; bytes of
                                           all magnitudes */
    CONTENTS_SHUFFLED,    /* i32: each `limit` of them are 0 .. limit - 1 */
    CONTENTS_PREFIX,      /* i32: rows which begin with 0 .. limit - 1, all other numbers differ */
    CONTENTS_BELOW,       /* i32: 0 .. limit - 1, each as likely */
    CONTENTS_VALUE,       /* i64: limit */
    CONTENTS_RAGGED,      /* i64: workload_ragged of limit */
    CONTENTS_ROWS,        /* i64: workload_rows of limit */
    CONTENTS_ROWS_BEFORE, /* i64: workload_rows_before of limit */
    CONTENTS_STATES       /* f32: rows of `limit` channels that are states */
};

struct contents {
    enum contents_kind kind;
    float deviation;
    int64_t limit;
};

/* Bytes of a dense tensor, whose extents are positive. */
uint64_t contents_bytes(const heed_tensor *);

/* Fills the memory of a dense tensor. */
void contents_fill(void *to, const heed_tensor *, struct contents, uint64_t seed);

/* Memory of the host on large pages, where the system leaves that to the program: everybody who is
 * compared has the same kind. To be given back with free(). NULL: there is none. */
void *contents_memory(size_t bytes);

#endif
