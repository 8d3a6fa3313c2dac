/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operations with a fixed list of arrays: which operand is which, and the numbers of a plan, as the
 * descriptor has them, defaults resolved. Data only: the library, the kernels and the reference
 * read it, and what follows from the numbers each works out for itself.
 */
#ifndef HEED_BACKENDS_KERNELS_FORMS_H
#define HEED_BACKENDS_KERNELS_FORMS_H

#ifndef HK_GLOBAL               /* a kernel has its dialect by now */
#include "dialect/dialect_types.h"
#endif

/* How tasks are numbered: (item, head, strip of `run` rows), the strip fastest. Of every form the
 * first member. */
struct hk_strip_form {
    hk_i64 heads, rows;         /* of an item, of a head */
    hk_i64 run, strips;         /* rows of a strip, strips of a head */
};

enum {
    HK_COPY_X, HK_COPY_Y, HK_COPY_FROM, HK_COPY_TO, HK_COPY_AT, HK_COPY_HEAD, HK_COPY_TABLE,
    HK_COPY_LEN, HK_COPY_Y_SCALE
};

struct hk_copy {
    struct hk_strip_form strip; /* rows: n, the i of heed/memory.h */
    hk_i64 d;
    hk_i64 x_rows, y_rows;      /* y_rows: of y, or of a page */
    hk_i64 n_pages, bound;      /* pages of y; t from here on is nowhere */
    hk_u32 zero, layout;        /* 1: rows without a source become +0; HK_LAYOUT_* */
    hk_u32 endless, reserved;   /* 1: t from the bound on counts from row 0 again */
};

enum { HK_PUSH_ROWS, HK_PUSH_HEAD, HK_PUSH_LEN, HK_PUSH_X, HK_PUSH_X_LEN, HK_PUSH_OUT,
       HK_PUSH_OUT_LEN, HK_PUSH_ROWS_SCALE };

struct hk_push {
    struct hk_strip_form strip; /* rows: L, those of x */
    hk_i64 d, capacity;
};

enum { HK_MERGE_PARTS, HK_MERGE_PARTS_LSE, HK_MERGE_SINKS, HK_MERGE_O, HK_MERGE_LSE };

struct hk_merge {
    struct hk_strip_form strip; /* rows: n */
    hk_i64 d, parts;
    hk_u32 lse_with_sink, reserved;
};

enum { HK_STATE_STATES, HK_STATE_SINKS, HK_STATE_O, HK_STATE_LSE, HK_STATE_STATE };

struct hk_state {
    struct hk_strip_form strip; /* rows: n */
    hk_i64 d, parts;            /* d: channels of o; parts: P */
    hk_u32 lse_with_sink, reserved;
};

enum { HK_POOL_X, HK_POOL_Y, HK_POOL_MASK, HK_POOL_LEN, HK_POOL_RANGES, HK_POOL_WEIGHTS,
       HK_POOL_IDS, HK_POOL_Y_MASK, HK_POOL_Y_LEN };

/* As HEED_POOL_*, HEED_TAIL_*. */
enum { HK_POOL_SUM, HK_POOL_MEAN, HK_POOL_MAX, HK_POOL_LINEAR, HK_POOL_WEIGHTED, HK_POOL_DYNAMIC,
       HK_POOL_BUCKET };
enum { HK_TAIL_FLOOR, HK_TAIL_CEIL, HK_TAIL_CENTRE, HK_TAIL_JOIN, HK_TAIL_END };

/* Where the tokens of a row come from. */
enum { HK_POOL_WINDOWS, HK_POOL_RANGED, HK_POOL_BUCKETS };

struct hk_pool {
    struct hk_strip_form strip; /* rows: M */
    hk_i64 d, n;                /* n: N, tokens */
    hk_i64 window, stride, left;        /* window: `kernel`, which is a word of OpenCL C */
    hk_i64 block, buckets;
    hk_u32 kind, tail;          /* HK_POOL_SUM, ...; HK_TAIL_FLOOR, ... */
    hk_u32 tokens, reserved;    /* HK_POOL_WINDOWS, ... */
};

enum { HK_SELECT_X, HK_SELECT_Q, HK_SELECT_Y, HK_SELECT_MASK, HK_SELECT_LEN, HK_SELECT_ROUNDS };

/* What a worker of select keeps in its scratch: the keys of choices (choice.h); for every query row
 * what it wants of a score and how many keys it holds; rows of x that are not read in place;
 * products; columns of q or of a round's matrix; of HASH the sums of a round's buckets and where
 * the buckets go. What rows have chosen from each part of tokens, all workers share. */
enum {
    HK_SCRATCH_KEYS, HK_SCRATCH_BARS, HK_SCRATCH_HELD, HK_SCRATCH_ROWS,
    HK_SCRATCH_PRODUCTS, HK_SCRATCH_COLUMNS, HK_SCRATCH_SUMS = HK_SCRATCH_COLUMNS + 4,
    HK_SCRATCH_BUCKETS = HK_SCRATCH_SUMS + 3, HK_SCRATCHES = HK_SCRATCH_BUCKETS + 3
};

#define HK_SELECT_QUERIES 64    /* TOPK: rows of a strip at most */
#define HK_SELECT_TOKENS 96     /* rows of x that are looked at at one time */
#define HK_SELECT_NORMS 64      /* NORM: tokens at a time */
#define HK_SELECT_MORE 64       /* TOPK: keys that work-groups have room for beyond `room` */

struct hk_select {
    struct hk_strip_form strip; /* rows: NORM, HASH: blocks; TOPK: n_q, but run and strips count the
                                 * rows of all heads that choose from one head of x */
    hk_i64 d, n;                /* n: N, tokens */
    hk_i64 block, count, pad_front, pad_back;
    hk_i64 groups;              /* G: heads of x */
    hk_i64 candidates[4];       /* HASH: 2m of each round */
    hk_i64 parts, part_tokens;  /* TOPK: parts of the tokens, tokens of a part */
    hk_i64 room;                /* keys, NORM: of a block, TOPK: of a row */
    hk_i64 width;               /* floats from row to row in scratch */
    hk_i64 scratch_at[HK_SCRATCHES];      /* bytes: where each begins */
    hk_u32 kind, n_rounds;      /* HEED_SELECT_* */
};

enum { HK_NORM_X, HK_NORM_RESIDUAL, HK_NORM_WEIGHT, HK_NORM_BIAS, HK_NORM_Y, HK_NORM_SUM };
enum { HK_NORM_LAYER, HK_NORM_RMS }; /* as HEED_NORM_* */

struct hk_norm {
    struct hk_strip_form strip; /* rows: n */
    hk_i64 d;
    float eps;
    hk_u32 kind; /* HK_NORM_* */
};

enum { HK_ROPE_X, HK_ROPE_COS, HK_ROPE_SIN, HK_ROPE_POS, HK_ROPE_Y };
enum { HK_ROPE_HALVES, HK_ROPE_ADJACENT }; /* as HEED_ROPE_* */

struct hk_rope {
    struct hk_strip_form strip; /* rows: n */
    hk_i64 d, pairs;
    hk_i64 positions, pos0; /* positions: rows of the tables */
    hk_u32 kind, reserved;  /* HK_ROPE_* */
};

enum { HK_ACT_X, HK_ACT_FACTOR, HK_ACT_ADD, HK_ACT_Y };
enum { /* as HEED_ACT_* */
    HK_ACT_NONE,
    HK_ACT_RELU,
    HK_ACT_GELU,
    HK_ACT_GELU_TANH,
    HK_ACT_SILU,
    HK_ACT_TANH,
    HK_ACT_SIGMOID,
    HK_ACT_EXP,
    HK_ACT_ELU_PLUS_ONE,
    HK_ACT_INVERSE
};

struct hk_act {
    struct hk_strip_form strip; /* rows: n */
    hk_i64 d;
    hk_u32 kind, reserved; /* HK_ACT_* */
};

enum {
    HK_RECUR_Q,
    HK_RECUR_K,
    HK_RECUR_V,
    HK_RECUR_DECAY,
    HK_RECUR_BETA,
    HK_RECUR_LEN,
    HK_RECUR_STATE,
    HK_RECUR_O
};

#define HK_RECUR_STRIP 64 /* channels of v that a task has at most */
#define HK_RECUR_ROWS 6   /* rows of d_k channels, rounded up to 16, beside a strip */
#define HK_RECUR_HELD_MOST 128 /* channels of k whose state work-groups hold in registers */
#define HK_RECUR_HELD_PART 16  /* those that a thread has, where threads can share a column */

struct hk_recur {
    struct hk_strip_form strip; /* rows: channels of v */
    hk_i64 n, d_k;
    hk_i64 share; /* heads of v to a head of k */
    float scale;
    hk_u32 delta, channels; /* 1: the flag of that name */
    hk_u32 threads; /* GPUs: to a column of the state, 8 at most; 0: it lies in scratch */
};

enum {
    HK_EMBED_TABLE,
    HK_EMBED_IDS,
    HK_EMBED_POSITIONS,
    HK_EMBED_POS,
    HK_EMBED_TYPES,
    HK_EMBED_TYPE_IDS,
    HK_EMBED_Y
};

struct hk_embed {
    struct hk_strip_form strip; /* rows: n */
    hk_i64 d;
    hk_i64 tokens, positions, types; /* rows of each table */
    hk_i64 pos0;
    float scale;
    hk_u32 reserved;
};

enum { HK_ORDER_IDS, HK_ORDER_LEN, HK_ORDER_ORDER, HK_ORDER_PLACE, HK_ORDER_STARTS };

/* A group's scratch: i32 counts of each id, and of those that are none, [count + 1][pieces]. */
struct hk_order {
    struct hk_strip_form strip; /* rows: 1, an item's head is one task */
    hk_i64 n, count;
    hk_i64 pieces; /* of the tokens of a task, one a thread; processors have one */
};

enum { HK_LINEAR_X, HK_LINEAR_W, HK_LINEAR_BIAS, HK_LINEAR_ADD, HK_LINEAR_Y };

#define HK_LINEAR_BLOCK 256 /* terms of a chain: docs/numerics.md, section 15 */
#define HK_LINEAR_WIDTH 64  /* outputs that tasks are cut at, and of the widest panel */
/* Groups with few rows: most rows of a task; chains of a row, which are blocks times outputs; rows
 * times blocks of a task at most. */
#define HK_LINEAR_ROWS 8
#define HK_LINEAR_CHAINS 128
#define HK_LINEAR_SLABS 64

/* How tasks are cut. */
struct hk_linear_cut {
    struct hk_strip_form strip; /* rows: m */
    hk_i64 width, parts;        /* outputs of a task; tasks that share the rows of a strip */
};

struct hk_linear {
    struct hk_linear_cut lanes, groups;
    hk_i64 in, out, n;          /* n: rows of x */
    hk_i64 taps, stride;
    hk_i64 before;              /* tap t of row i is row i * stride - before + t of x */
    hk_i64 room;                /* rows of a task of lanes that scratch has room for */
    hk_u32 act, tapped;         /* HEED_ACT_*; 1: w has an axis of taps */
    hk_u32 whole;               /* 1: every row has all of its taps */
    hk_u32 apart;               /* of linear_end.cl, 1: sums lie in the workspace, not in y */
};

enum { HK_GATE_MEMORY, HK_GATE_UPDATE, HK_GATE_GATE, HK_GATE_Y };

struct hk_gate {
    struct hk_strip_form strip; /* rows: n */
    hk_i64 d;
    hk_u32 keeps, reserved; /* keeps: HEED_GATE_KEEPS */
};

#endif
