/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A plan as kernels read it: one block of memory that begins with struct hk_plan and holds all that
 * bind knew, constant slots included. Written by backends/device/blob.c. Every struct has the same
 * layout for all compilers: 8-byte members first, 4-byte ones in pairs. "at" members are byte
 * offsets into the blob, or where it says so into the workspace.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_BLOB_H
#define HEED_BACKENDS_KERNELS_ATTN_BLOB_H

#include "../dtypes.h"
#include "../spans.h"

/* Kinds of bias that have a value, which joins the logit (step 4), numbered as HEED_BIAS_*. A bias
 * that joins the score (step 3) is a struct hk_dot and has no number. */
#define HK_BIAS_KINDS(ROW) ROW(DENSE, 1) ROW(ALIBI, 2) ROW(TABLE, 3)
#define HK_NUMBER(name, number) HK_BIAS_##name = number,
enum { HK_BIAS_KINDS(HK_NUMBER) };
#undef HK_NUMBER

/* A tensor: dtype 0 if absent; batch axes 0..2, head, position, channel; strides in elements. */
struct hk_view {
    hk_i64 stride[6];
    hk_i64 length;              /* of the position axis */
    hk_i64 page;                /* stride of pages, which are no item's; 0: there are none */
    hk_u32 dtype, reserved;
};

/* A slot at one place of use (struct heed_aux). at: its constant copy in the blob; 0: it is a
 * buffer. */
struct hk_aux {
    hk_i64 shape[3];            /* of the trailing axes x, y, z */
    hk_i64 stride[6];
    hk_i64 at;
    hk_u32 slot, dtype;         /* slot: 1 + number of its buffer; 0: absent */
};

/* How a key's distance from a row is found, and the index that it gives. */
struct hk_lookup {
    hk_i64 zero;
    struct hk_aux map, q_coord, k_coord;
};

struct hk_bias {
    struct hk_lookup from;
    struct hk_aux t, u; /* u: DENSE: a factor for each head; absent: 1 */
    hk_u32 kind, reserved;
};

/* DOT: rows of t times the query, of u times the key. */
struct hk_dot {
    struct hk_lookup from;
    struct hk_aux t, u;         /* one may be absent */
};

struct hk_sub_slots {
    struct hk_aux list, pairs[HK_RANGES];
    hk_i64 first_chunk;         /* number of its chunk 0 among those of all sub-sources */
};

/* Groups of channels that share a scale. step: of scales that lie apart, elements from entry to
 * entry of a row: scales, or each a scale and its minimum in turn. */
struct hk_scaling {
    hk_i64 group; /* channels; 0: there are no scales */
    hk_i64 step;
    hk_u32 minima, reserved; /* 1: a group has a minimum, too */
};

struct hk_source {
    struct hk_view k, v;
    struct hk_aux index, len, mask;     /* index: what says where rows lie */
    struct hk_aux row_mask;             /* x: head, y: query row, z: key or word of 32 keys */
    struct hk_aux k_scale, v_scale;     /* of rows whose scales lie apart; axis 3 counts pages, if
                                         * there are any */
    struct hk_aux keys, rows;           /* lists of GLOBAL keys and rows */
    struct hk_scaling k_scaling, v_scaling;
    hk_i64 panel_rows; /* of K in panels: channels, then scales and minima of groups */
    hk_i64 heads, n_k, list_rows;       /* list_rows: GATHER, rows that share a list */
    hk_i64 pages, shift;                /* pages in memory; the rows of one are 2^shift, -1: no
                                         * power of two */
    hk_i64 rows_first_n;                 /* GLOBAL rows: the first so many */
    hk_i64 blocks, row_words;           /* 64-key blocks of n_k; words of a bit set over rows */
    hk_i64 row_parts;                   /* strips that the rows list takes, of one b and group */
    hk_i64 pack_tasks;                  /* blocks of K packed beforehand; 0: none */
    hk_i64 ring, ring_at;               /* blocks of K that a worker keeps packed, 0: none; place of
                                         * struct hk_ring_tag[ring] and then the panels in its
                                         * scratch */
    /* In the workspace: bit sets over keys and rows of each item; lanes kernels: packed K panels
     * [item or 1][H_k][blocks][64 / panel][panel_rows][panel] and a word per block: 1 where all
     * of V is finite. */
    hk_i64 keys_at, rows_at, packed_at, finite_at;
    hk_i64 alike_at;                    /* lanes: of each item the chunks that it begins with and
                                         * the next item, too (alike.h); 0: nobody looks */
    hk_u32 layout, gaps;                /* HK_LAYOUT_*; 1: keys within the length may be absent */
    hk_u32 packed, value;               /* 1: items lie in one tensor; 1: index has a number
                                         * for each: where it begins, or which row is key 0 */
    hk_u32 packs, shared;               /* shared 1: one packed copy serves all items */
    hk_u32 common, apart;               /* common 1: and all else is the same for all items, too;
                                         * apart 1: workgroup: a strip has many lists (listed.h) */
    hk_u32 like, reserved;              /* like: a list of whole blocks finds them in the panels of
                                         * source like - 1, if K and V are its; 0: of none */
    hk_u32 first_sub, n_subs;
    hk_u32 first_bias, n_biases;        /* with a value */
    hk_u32 first_dot, n_dots;
};

/* Scales and minima of a row of n channels in groups; 0: there are none. */
HK_FN hk_i64 hk_scale_rows(hk_i64 group, int minima, hk_i64 n)
{
    return group > 0 ? n / group * (minima ? 2 : 1) : 0;
}

enum {
    HK_PLAN_PACKED = 1u,        /* query rows begin where q_begin says */
    HK_PLAN_ALIGN_END = 2u,
    HK_PLAN_LSE_WITH_SINK = 4u,
    HK_PLAN_CAPPED = 8u,
    HK_PLAN_END_LAST = 16u,     /* the last source counts positions from its end */
    HK_PLAN_STOPS = 32u,        /* rows end as states: o has those */
    HK_PLAN_LEADS = 64u         /* every item has tasks, and those of an item take the ones behind
                                 * it along whose tables begin like its own (alike.h) */
};

#define HK_KEEP_ROWS 16         /* rows of a group of keep.cl */
/* Of attend_few.cl and few_join.cl: rows of a strip, threads of a group, channels of a pass. */
#define HK_PART_ROWS 8
#define HK_PART_THREADS 256
#define HK_PART_WIDTH 128
#define HK_CUT_TASKS(group_rows) ((group_rows) / HK_PART_ROWS)

/* What a work-group keeps of a state: M, and whether anything is joined. */
struct hk_kept {
    float m, joined;
};

/* How query rows form strips: rows r0 + row_step * i that stay within `group` rows, which share
 * their lists, where that is not 0, times `stack` heads that see the same keys. */
struct hk_strips {
    hk_i64 rows, stack, row_step, group;
};

struct hk_plan {
    hk_i64 batch[3];
    hk_i64 n_batch, heads, d, d_v, n_q;
    hk_i64 q_pos0, q_pos_step;
    struct hk_view q, o, lse, sinks, state;     /* state: what rows begin from */
    struct hk_aux q_pos, q_begin, q_len;
    struct hk_aux o_begin;      /* of rows of o and lse; absent: they begin where those of q do */
    struct hk_strips strips;
    hk_i64 groups;              /* of `stack` heads */
    /* Lanes: items that share a strip, one behind the other, which then has all rows of each (1:
     * every item has strips of its own); and into how many such groups the items fall. */
    hk_i64 items, item_groups;
    hk_i64 batch_strips;         /* strips of n_q rows */
    hk_i64 tasks;               /* strips of all items and groups, then those of the row lists */
    hk_i64 list_tasks;          /* of them, the latter */
    hk_i64 passes;              /* workgroup: groups that share a strip, each with other channels */
    hk_i64 pack_tasks;
    hk_i64 sources_at, subs_at, slots_at, biases_at, dots_at;   /* in the blob */
    hk_i64 constants_at;
    hk_i64 kept_at;             /* workspace: workgroup: struct hk_kept of [item or 1][head][row of
                                 * o], where another group may write over states; 0: none is kept */
    hk_i64 counts_at;           /* workspace: entries of [item][source][2: keys, rows] lists */
    hk_i64 counter_at;          /* workspace: lanes: the next task, and the next block to
                                 * pack or strip to join */
    hk_i64 workers_at, worker_bytes;    /* workspace: lanes: scratch of each worker */
    /* Few rows: a strip is cut into `parts` tasks of part_chunks chunks of keys each. What comes of
     * a chunk lies in the workspace [task][chunks] until all are joined. chunk_bytes 0: no strip is
     * cut. */
    hk_i64 parts, part_chunks, chunks, chunks_at, chunk_bytes;
    /* Workgroup, few rows: items whose rows a group takes together, one item behind the other, of
     * parts all of whose chunks are among these, which all items share; 1: each has its own. */
    hk_i64 together, common_first, common_end;
    /* Workgroup: only strips that are far longer than others are cut so (tasks.h): those of the row
     * lists and of every item's strips the first and the last so many. Each takes chunks as
     * HK_CUT_TASKS tasks of HK_PART_ROWS rows would. cut_tasks: strips that are cut; 0: none. */
    hk_i64 cut_first, cut_last, cut_tasks;
    hk_i64 run;                         /* lanes: tasks in a row that a worker takes at a time */
    hk_i64 band, bands;                 /* lanes: columns of a band (dot_lanes.h), 0: no DOT; bands
                                         * of a worker */
    hk_i64 stretches;                   /* lanes: those of a worker (bias_lanes.h); 0: no biases */
    /* Lanes, the most that a source asks for: rows of a panel of K; groups of V; channels behind
     * those of o in which minima of V are summed, a multiple of 16; groups of a K with minima;
     * floats of K that is widened for DOT. */
    hk_i64 panel_rows, v_groups, minima, k_sums, wide;
    hk_i64 bytes;               /* of the blob */
    float c, c1, c2, reserved_f;
    hk_u32 n_sources, flags;
    hk_u32 n_biases, n_dots;
    hk_u32 workers;             /* lanes: at most as many as there are tasks */
    hk_u32 halves;              /* lanes: 1: rows stay halves (halves.h) */
};

/* Rows that a strip of few rows has at most. */
HK_FN hk_i64 hk_part_rows(HK_GLOBAL const struct hk_plan *plan)
{
    return plan->strips.stack * hk_min(plan->strips.rows, plan->n_q);
}

#endif
