/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Waist 2, first half: what a checked attention is. check.c turns the public descriptor into this
 * form and nothing past it looks at the public one again. Defaults are resolved, element sizes are
 * gone, every tensor has six axes, every auxiliary array is described where it is used. The
 * reference reads this and only this; the lowered form that the fast backends read is in spans.h.
 */
#ifndef HEED_LIB_PLAN_H
#define HEED_LIB_PLAN_H

#include <heed/attn.h>

#include <stdbool.h>

/* |position|, |coordinate|, |reach| at most; run-time values are clamped. */
#define HEED_POSITION_MAX (INT64_C(1) << 60)

/* More than these: HEED_E_UNSUPPORTED. run binds on the stack, so its tables have a bound. Terms
 * and biases are counted per source. */
enum { HEED_MAX_SOURCES = 16, HEED_MAX_SLOTS = 64, HEED_MAX_TERMS = 64, HEED_MAX_BIASES = 16 };

/* A tensor as checked. Axes 0..2 are batch axes and 3..5 head, position, channel, right-aligned; an
 * absent axis has extent 1 and stride 0. Batch axes of inputs are expanded to the broadcast extents
 * in heed_checked.batch with stride 0 where the tensor has extent 1 (RAGGED tensors: always 0).
 * lse: channel axis 1; sinks: channel axis is the head. */
struct heed_view {
    uint32_t dtype;                     /* 0: tensor absent */
    uint32_t reserved;
    int64_t shape[6];
    int64_t stride[6]; /* in elements, or in blocks where the type has them */
};

/* An auxiliary array at one place of use. Batch axes 0..2 as in heed_view; the trailing axes of
 * that use, here written [x][y][z], right-aligned in 3..5, absent ones 1 with stride 0. Axes that
 * the use allows to broadcast keep extent 1 and have stride 0.
 *
 *     lengths, begins, heads of rings, q_pos      none
 *     GLOBAL                      z = entries
 *     SEGMENT                     y = row blocks, z = 2
 *     LISTED                      x = heads (1, H_k or H), y = row blocks, z = runs
 *     PAGED                       z = pages of an item
 *     mask                        y = heads (1, H_k or H), z = n_k
 *     row mask                    x = 1 or H, y = n_q, z = n_k or, of I32, words of 32 keys
 *     map, k_coord, q_coord       z = entries, keys, rows
 *     DENSE                       x = 1 or H, y = n_q or 1, z = n_k or 1
 *     DENSE u                     z = 1 or H
 *     ALIBI                       z = H
 *     TABLE                       y = 1 or H, z = len
 *     DOT                         x = 1 or H, y = len, z = d
 *     scales                      x = pages of a PAGED source, y = 1 or H_k, z = stored rows
 *
 * An array of scales of groups has an axis more, `inner`: x, or of PAGED sources batch axis 2,
 * which are free.
 */
struct heed_aux {
    uint32_t slot;                      /* from 1; 0: absent */
    uint32_t dtype;
    int64_t shape[6];
    int64_t stride[6];                  /* in elements; constants: of the plan's copy */
    uint32_t inner, reserved;           /* the axis that counts scales and minima; 0: none */
    /* Constant: element [0,...,0] of the plan's copy, which reaches from the lowest to the highest
     * offset that an index gives, and these may be negative. NULL: bound by run. */
    const void *data;
};

struct heed_checked_term {
    uint32_t kind;
    uint32_t flags;                     /* GLOBAL: KEYS set when neither was */
    int64_t left, right;                /* HEED_FAR or within HEED_POSITION_MAX */
    int64_t step, block;                /* at least 1 */
    int64_t phase;
    struct heed_aux slot;               /* GLOBAL, SEGMENT */
};

struct heed_checked_bias {
    uint32_t kind, in_score;            /* 1: joins q.k before the scale; 0: the logit after it */
    int64_t zero;
    struct heed_aux t, u, map, q_coord, k_coord;
};

struct heed_checked_source {
    /* Position axis: n_k, for RAGGED the packed total; for PAGED the rows of a page, and batch axis
     * 2 counts pages, which are no item's. */
    struct heed_view k, v;
    int64_t heads;                      /* H_k; head h reads key head h / (heads of q / H_k) */
    /* Bound on an item's length: keys, or for RAGGED the packed total cut to the extents of masks,
     * k_coord and the key axis of DENSE biases; for PAGED all rows that a table names. */
    int64_t n_k;
    int64_t pos0, pos_step, pos_span;
    uint32_t layout;
    uint32_t flags;                     /* HEED_SOURCE_* */
    int64_t run, rows;                  /* LISTED */
    struct heed_aux index;              /* RAGGED begins, PAGED table, RING head, LISTED runs */
    struct heed_aux len, mask, row_mask;
    struct heed_aux k_scale, v_scale;   /* present where k, v is of I8 or I4 */
    uint32_t n_terms;                   /* never 0: no term becomes one ALL. LISTED: one ALL */
    uint32_t n_biases;
    const struct heed_checked_term *terms;
    const struct heed_checked_bias *biases;
};

struct heed_site;                       /* ops/attn/use.h */

struct heed_checked {
    int64_t batch[3];                   /* the last axis of an item is the fastest */
    int64_t n_batch;                    /* their product */
    int64_t heads, d, d_v;
    int64_t n_q;                        /* bound on an item's rows; RAGGED: totals cut like n_k */
    struct heed_view q, o, lse, sinks;  /* o: with `stops` that of state_out, channels included */
    struct heed_view state_in;
    uint32_t q_layout;
    uint32_t flags;                     /* HEED_ATTN_*: one of ALIGN_START, ALIGN_END is set */
    int64_t q_pos0, q_pos_step;
    struct heed_aux q_pos, q_begin, q_len;
    struct heed_aux o_begin;            /* RAGGED begins of o and lse; absent: those of q */
    double scale;                       /* as given: 0 means 1 / sqrt(d) unless SCALE_GIVEN */
    double softcap;                     /* 0: none */
    uint32_t numerics;
    uint32_t stops;                     /* 1: rows end as states */
    uint32_t n_sources, reserved;
    const struct heed_checked_source *sources;
    const struct heed_site *sites;      /* every use of a slot, object after object */
    uint32_t n_sites;
    uint32_t n_slots;
};

/* ---- operands: the arrays of any operation ---- */

/* The one list of operations: numbers and the table (lib/ops/op.h, table.c). A PROGRAM has stages,
 * each a plan of one of the others: programs/. */
#define HEED_OPERATIONS(ROW)                                                                       \
    ROW(ATTN, attn)                                                                                \
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
    ROW(GATE, gate)                                                                                \
    ROW(PROGRAM, program)

#define HEED_OP_NUMBER(NAME, name) HEED_OP_##NAME,
enum { HEED_OP_NONE, HEED_OPERATIONS(HEED_OP_NUMBER) HEED_OP_END };
#undef HEED_OP_NUMBER

enum { HEED_MAX_OPERANDS = 5 + 2 * HEED_MAX_SOURCES + HEED_MAX_SLOTS };

/* One array of a plan. Kernels number their buffers as the plan numbers its operands. */
struct heed_plan_operand {
    struct heed_view view;          /* dtype 0: absent */
    uint32_t role;                  /* HEED_ROLE_* */
    uint32_t same_as;               /* 1 + the operand it may be, byte for byte; 0: none */
    const char *name;               /* in reports of run; "[]" stands for [index] */
    uint32_t index;
    uint32_t align;                 /* bytes; 0: what the type wants */
    const void *constant;           /* element [0,...,0] of the plan's copy; NULL: run brings it */
    int64_t low, high;              /* bytes [low, high) from element [0,...,0] on that elements
                                     * touch (heed_operands_measure); equal: there are none */
};

static inline bool heed_operand_has_elements(const struct heed_plan_operand *x)
{
    return x->high > x->low;
}

/* The operands of attention: q, o or state_out, lse, sinks, state_in, then k and v of every source,
 * then every slot. An unused slot is absent. */
enum { HEED_ATTN_Q, HEED_ATTN_O, HEED_ATTN_LSE, HEED_ATTN_SINKS, HEED_ATTN_STATE, HEED_ATTN_KV };

static inline uint32_t heed_attn_k(uint32_t source)
{
    return HEED_ATTN_KV + 2 * source;
}

static inline uint32_t heed_attn_v(uint32_t source)
{
    return HEED_ATTN_KV + 2 * source + 1;
}

/* slot: from 1, as heed_aux.slot counts. */
static inline uint32_t heed_attn_slot(const struct heed_checked *attn, uint32_t slot)
{
    return HEED_ATTN_KV + 2 * attn->n_sources + slot - 1;
}

/* ---- the plan ---- */

struct heed_lowered;                /* spans.h */
struct heed_backend;                /* backend.h */
struct heed_impl;
struct heed_op;                     /* ops/op.h */

struct heed_plan {
    const struct heed_op *op;
    const struct heed_backend *backend;
    const struct heed_impl *impl;
    heed_device *device;
    const void *checked;            /* what the operation's check made: heed_attn_of */
    const void *params;             /* what its lower made of that, for kernels: heed_lowered_of */
    const struct heed_plan_operand *operands;
    uint32_t n_operands;
    uint32_t numerics;              /* HEED_NUMERICS_* that was asked for */
    uint32_t own_workspace;         /* 1: the plan brings a workspace of its own */
    uint32_t loose;                 /* set by prepare: 1: other bits than those of EXACT (FAST) */
    const char *kernel;             /* set by prepare: which of its kernels attends; or NULL */
    void *state;                    /* the implementation's own, made by prepare */
    uint64_t workspace_size, workspace_align;   /* set by prepare */
    uint64_t state_bytes;           /* set by prepare: host memory that state takes */
    uint64_t device_bytes;          /* set by prepare: device memory that state takes */
    struct heed_plan_owned *owned;  /* owned.h: reference count, memory, own workspace */
};

/* Useful floating-point operations and compulsory bytes of one run, at planned sizes (ops/op.h). */
void heed_plan_work(const struct heed_plan *, uint64_t *flops, uint64_t *bytes);

/* For plans of attention. */
static inline const struct heed_checked *heed_attn_of(const struct heed_plan *plan)
{
    return plan->checked;
}

#endif
