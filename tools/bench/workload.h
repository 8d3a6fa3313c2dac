/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The workloads heed-bench knows, and how much each has to do and to move at least.
 */
#ifndef HEED_TOOLS_BENCH_WORKLOAD_H
#define HEED_TOOLS_BENCH_WORKLOAD_H

#include "patterns/pattern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum workload_kind {
    WORKLOAD_DENSE, WORKLOAD_CAUSAL, WORKLOAD_WINDOW, WORKLOAD_DECODE, WORKLOAD_PREFILL_CHUNK,
    WORKLOAD_RAGGED,
    WORKLOAD_COPY, WORKLOAD_COPY_GATHER, WORKLOAD_COPY_SCATTER, WORKLOAD_COPY_PAGED,
    WORKLOAD_POOL_SUM, WORKLOAD_POOL_MEAN, WORKLOAD_POOL_MAX, WORKLOAD_POOL_LINEAR,
    WORKLOAD_POOL_WEIGHTED, WORKLOAD_POOL_DYNAMIC, WORKLOAD_POOL_BUCKET,
    WORKLOAD_SELECT_NORM, WORKLOAD_SELECT_TOPK, WORKLOAD_SELECT_HASH,
    WORKLOAD_PUSH, WORKLOAD_MERGE,
    WORKLOAD_LSG_NORM, WORKLOAD_LSG_POOLING, WORKLOAD_LSG_LSH, WORKLOAD_LSG_BOS,
    WORKLOAD_POOLINGFORMER2, WORKLOAD_POOLINGFORMER2_FIXED, WORKLOAD_POOLINGFORMER2_MAX,
    WORKLOAD_POOLINGFORMER2_LDCONV,
    WORKLOAD_MECHANISM                  /* one of the patterns, by its name */
};

/* The one list of operations beside attention and programs: numbers, calls, arguments, runs. */
#define BENCH_OPERATIONS(ROW)                                                                      \
    ROW(COPY, copy) ROW(POOL, pool) ROW(SELECT, select) ROW(PUSH, push) ROW(MERGE, merge)

#define OPERATION_NUMBER(NAME, name) OPERATION_##NAME,
enum workload_operation {
    OPERATION_ATTN,
    BENCH_OPERATIONS(OPERATION_NUMBER) OPERATION_LSG,
    OPERATION_POOLINGFORMER
};
#undef OPERATION_NUMBER

/* b documents of n positions: h heads (those of queries, where hk heads of keys serve them, h a
 * multiple of hk), width d, elements of dtype (HEED_F32, ...). The other numbers belong to some
 * kinds and are 0 for the rest. */
struct workload {
    enum workload_kind kind;
    uint32_t dtype;
    int64_t n, h, hk, d, b;
    int64_t w;                          /* window: reach to each side; prefill-chunk: back */
    int64_t keys, token;                /* caches: rows of the longest item; 1: token-major */
    int64_t panels;                     /* caches: 1: pages of K lie channel after channel */
    int64_t kernel, stride;             /* pools over windows: tokens */
    int64_t page;                       /* rows of a page; decode, ragged, 0: no pages */
    int64_t block, buckets;             /* pool-bucket, select-norm, select-hash: tokens, rows */
    int64_t queries, count;             /* select-topk: rows of q; selections: places */
    int64_t rows;                       /* push: capacity of the memory */
    int64_t parts;                      /* merge */
    int64_t window, factor, sparse, globals;    /* programs, as in heed/programs.h */
    struct pattern_choice pattern;      /* mechanisms: with the numbers above, and its own */
    char text[160];                     /* canonical: reads back to the same workload */
};

/* Reads "NAME[:key=value,...]". False: `error` holds one line that says why not. */
bool workload_parse(const char *text, struct workload *out, char *error, size_t error_size);

const char *workload_name(const struct workload *);
const char *workload_dtype(const struct workload *);
bool workload_bytes(const struct workload *); /* keys of a byte: queries are f32 */
enum workload_operation workload_operation(const struct workload *);
bool workload_is_program(const struct workload *);  /* several operations */

/* The number `index` of those that its kind takes, and its key; NULL behind the last one. */
const char *workload_number(const struct workload *, size_t index, int64_t *value);

/* The name of kind `index`, and the keys it takes with what they are by default ("n=4096,hk":
 * a key without a value follows another one). NULL behind the last one. Mechanisms come last. */
const char *workload_kind_name(size_t index);
void workload_kind_keys(size_t index, char *to, size_t room);

/* What is measured when nothing is asked for; NULL behind the last one. */
const char *workload_default(size_t index);

/* Rows that a window pool makes of n tokens. */
int64_t workload_pool_rows(const struct workload *);

/* Length of one of `count` ragged items: the first has `longest`, the others steadily fewer. */
int64_t workload_ragged(int64_t longest, int64_t count, int64_t item);

/* Rows of an item of the workload `ragged`, whose prefills have n; and of all items before it. */
int64_t workload_rows(int64_t n, int64_t item);
int64_t workload_rows_before(int64_t n, int64_t item);

struct workload_cost {
    double flops;                       /* the work's own operations: 4 d for each (query, key) that
                                           is attended, 2 d for a score or a hash; 0: memory alone
                                           counts, or plans say it (mechanisms, programs) */
    double read, written;               /* bytes that must be, each once */
};
struct workload_cost workload_cost(const struct workload *);

#endif
