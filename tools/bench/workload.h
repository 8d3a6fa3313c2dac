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

/* The one list of operations beside attention and programs: numbers, calls, arguments, runs. */
#define BENCH_OPERATIONS(ROW)                                                                      \
    ROW(COPY, copy)                                                                                \
    ROW(POOL, pool)                                                                                \
    ROW(SELECT, select)                                                                            \
    ROW(PUSH, push)                                                                                \
    ROW(MERGE, merge)                                                                              \
    ROW(STATE, state)                                                                              \
    ROW(NORM, norm)                                                                                \
    ROW(ROPE, rope)                                                                                \
    ROW(ACT, act)                                                                                  \
    ROW(RECUR, recur)                                                                              \
    ROW(EMBED, embed)                                                                              \
    ROW(ORDER, order)                                                                              \
    ROW(LINEAR, linear)                                                                            \
    ROW(GATE, gate)

#define OPERATION_NUMBER(NAME, name) OPERATION_##NAME,
enum workload_operation {
    OPERATION_ATTN,
    BENCH_OPERATIONS(OPERATION_NUMBER) OPERATION_LSG,
    OPERATION_POOLINGFORMER
};
#undef OPERATION_NUMBER

/* The one list of kinds: number, name, keys with their defaults (those that several share:
 * workload.c), operation, form of cost (cost.c). */
#define WORKLOAD_KINDS(ROW)                                                                        \
    ROW(DENSE, "dense", "n=4096,h=1,hk,d=64,b=1", ATTN, attention)                                 \
    ROW(CAUSAL, "causal", "n=4096,h=1,hk,d=64,b=1", ATTN, attention)                               \
    ROW(WINDOW, "window", "n=16384,h=1,hk,d=64,b=1,w=256", ATTN, attention)                        \
    ROW(DECODE, "decode", "h=32,hk=8,d=128,b=1,page=0,keys=8192,token=0,panels=0", ATTN, decode)   \
    ROW(PREFILL_CHUNK, "prefill-chunk", "n=512,h=32,hk=8,d=128,b=1,w=4096,keys=16896", ATTN,       \
        prefill_chunk)                                                                             \
    ROW(RAGGED, "ragged", "n=512,h=32,hk=8,d=128,b=8,page=0,keys=8192", ATTN, ragged)              \
    ROW(LISTED, "listed", "n=4096,h=1,hk,d=64,b=1,keys=65536,count=32,run=1,rows=1", ATTN, listed) \
    ROW(PREFIX, "prefix", "h=32,hk=8,d=128,b=16,page=0,keys=8192,own=512", ATTN, prefix)           \
    ROW(COPY, "copy", ROWS, COPY, copy)                                                            \
    ROW(COPY_GATHER, "copy-gather", ROWS, COPY, copy)                                              \
    ROW(COPY_SCATTER, "copy-scatter", ROWS, COPY, copy)                                            \
    ROW(COPY_PAGED, "copy-paged", ROWS ",page=16", COPY, copy)                                     \
    ROW(POOL_SUM, "pool-sum", ROWS ",kernel=4,stride", POOL, pool_window)                          \
    ROW(POOL_MEAN, "pool-mean", ROWS ",kernel=4,stride", POOL, pool_window)                        \
    ROW(POOL_MAX, "pool-max", ROWS ",kernel=4,stride", POOL, pool_window)                          \
    ROW(POOL_LINEAR, "pool-linear", ROWS ",kernel=4,stride", POOL, pool_window)                    \
    ROW(POOL_WEIGHTED, "pool-weighted", ROWS ",kernel=4,stride", POOL, pool_window)                \
    ROW(POOL_DYNAMIC, "pool-dynamic", ROWS ",kernel=4,stride", POOL, pool_window)                  \
    ROW(POOL_BUCKET, "pool-bucket", ROWS ",block=128,buckets=32", POOL, pool_bucket)               \
    ROW(SELECT_NORM, "select-norm", ROWS ",block=128,count=32", SELECT, norm)                      \
    ROW(SELECT_TOPK, "select-topk", "n=65536,h=1,hk,d=64,b=1,queries=64,count=32", SELECT, topk)   \
    ROW(SELECT_HASH, "select-hash", ROWS ",block=128,buckets=32", SELECT, hash)                    \
    ROW(PUSH, "push", ROWS ",rows", PUSH, push)                                                    \
    ROW(MERGE, "merge", ROWS ",parts=4", MERGE, merge)                                             \
    ROW(STATE, "state", ROWS ",parts=4", STATE, state)                                             \
    ROW(NORM_LAYER, "norm-layer", "n=4096,h=1,hk,d=1024,b=1,residual=1", NORM, rows_norm)          \
    ROW(NORM_RMS, "norm-rms", "n=4096,h=1,hk,d=1024,b=1,residual=1", NORM, rows_norm)              \
    ROW(ROPE_HALVES, "rope-halves", "n=4096,h=8,hk,d=128,b=1", ROPE, rope)                         \
    ROW(ROPE_ADJACENT, "rope-adjacent", "n=4096,h=8,hk,d=128,b=1", ROPE, rope)                     \
    ROW(ACT_GELU, "act-gelu", "n=4096,h=1,hk,d=1024,b=1,gated=1", ACT, act)                        \
    ROW(ACT_SILU, "act-silu", "n=4096,h=1,hk,d=1024,b=1,gated=1", ACT, act)                        \
    ROW(RECUR_LINEAR, "recur-linear", "n=2048,h=16,hk,d=64,b=1", RECUR, recur)                     \
    ROW(RECUR_DELTA, "recur-delta", "n=2048,h=16,hk,d=128,b=1", RECUR, recur)                      \
    ROW(EMBED, "embed", "n=4096,h=1,hk,d=1024,b=1,rows=32768", EMBED, embed)                       \
    ROW(EMBED_SUM, "embed-sum", "n=4096,h=1,hk,d=1024,b=1,rows=32768", EMBED, embed)               \
    ROW(ORDER, "order", "n=65536,h=8,hk,d=1,b=1,buckets=64", ORDER, order)                         \
    ROW(LINEAR_1024, "linear-1024", "n=1024,h=1,hk,d=1024,b=1,out=768", LINEAR, linear)            \
    ROW(LINEAR_DECODE, "linear-decode", "n=1,h=1,hk,d=4096,b=1,out=4096", LINEAR, linear)          \
    ROW(GATE, "gate", "n=4096,h=1,hk,d=1024,b=1", GATE, gate)                                      \
    ROW(LSG_NORM, "lsg-norm", LSG, LSG, program)                                                   \
    ROW(LSG_POOLING, "lsg-pooling", LSG, LSG, program)                                             \
    ROW(LSG_LSH, "lsg-lsh", LSG, LSG, program)                                                     \
    ROW(LSG_BOS, "lsg-bos-pooling", LSG, LSG, program)                                             \
    ROW(POOLINGFORMER2, "poolingformer2", LEVEL2, POOLINGFORMER, program)                          \
    ROW(POOLINGFORMER2_FIXED, "poolingformer2-fixed", LEVEL2, POOLINGFORMER, program)              \
    ROW(POOLINGFORMER2_MAX, "poolingformer2-max", LEVEL2, POOLINGFORMER, program)                  \
    ROW(POOLINGFORMER2_LDCONV, "poolingformer2-ldconv", LEVEL2, POOLINGFORMER, program)

#define WORKLOAD_NUMBER(NAME, name, keys, operation, cost) WORKLOAD_##NAME,
enum workload_kind {
    WORKLOAD_KINDS(WORKLOAD_NUMBER) WORKLOAD_MECHANISM /* one of the patterns, by its name */
};
#undef WORKLOAD_NUMBER

/* b documents of n positions: h heads (those of queries, where hk heads of keys serve them, h a
 * multiple of hk), width d, elements of dtype (HEED_F32, ...). The other numbers belong to some
 * kinds and are 0 for the rest. */
struct workload {
    enum workload_kind kind;
    uint32_t dtype;
    int64_t n, h, hk, d, b;
    int64_t w;                          /* window: reach to each side; prefill-chunk: back */
    int64_t keys, token;                /* caches: rows of the longest item; 1: token-major */
    int64_t own;                        /* prefix: keys of each item beside those of all */
    int64_t panels;                     /* caches: 1: pages of K lie channel after channel */
    int64_t kernel, stride;             /* pools over windows: tokens */
    int64_t page;                       /* rows of a page; caches, 0: no pages; prefix: all items'
                                           tables begin with the pages of `keys` */
    int64_t block, buckets;             /* pool-bucket, select-norm, select-hash: tokens, rows */
    int64_t queries, count;             /* select-topk: rows of q; selections: places */
    int64_t rows;                       /* push: capacity of the memory; listed: of a list */
    int64_t run;                        /* listed: keys that an entry of a list names */
    int64_t parts;                      /* merge, state */
    int64_t out;                        /* linear: channels of a row of y */
    int64_t residual, gated;            /* norms: 1: x has an addend, the sum is written, too;
                                           acts: 1: times a factor */
    int64_t window, factor, sparse, globals;    /* programs, as in heed/programs.h */
    struct pattern_choice pattern;      /* mechanisms: with the numbers above, and its own */
    char text[160];                     /* canonical: reads back to the same workload */
};

/* Reads "NAME[:key=value,...]". False: `error` holds one line that says why not. */
bool workload_parse(const char *text, struct workload *out, char *error, size_t error_size);

const char *workload_name(const struct workload *);
const char *workload_dtype(const struct workload *);
bool workload_bytes(const struct workload *); /* keys of a byte or in blocks: queries are f32 */
bool workload_scaled(const struct workload *); /* their rows have scales that lie apart */
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
