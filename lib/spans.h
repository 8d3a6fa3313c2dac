/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Waist 1: the lowered form of an attention, which is all that the fast backends see of a pattern.
 * Each source becomes a few sub-sources (backends/kernels/spans.h) in the order in which their keys
 * enter the softmax; the reference never reads this.
 */
#ifndef HEED_LIB_SPANS_H
#define HEED_LIB_SPANS_H

#include "plan.h"

#include "../backends/kernels/spans.h"

#include <stdbool.h>

/* Where a sub-source finds its slots. */
struct heed_sub_slots {
    const struct heed_aux *list;                /* LIST, GATHER */
    const struct heed_aux *pairs[HK_RANGES];
};

/* Where the rows of a batch item are. */
enum heed_items {
    HEED_ITEMS_BATCH,   /* the tensor has the batch axes */
    HEED_ITEMS_PACKED,  /* one tensor without batch axes: a begin and a length cut an item out of
                         * it, and the extents of slots bound the lengths */
    HEED_ITEMS_PAGES    /* [P][H_k][page][d], pages of no item; view axis 2 counts them */
};

struct heed_lowered_source {
    uint32_t first, n;                          /* its sub-sources */
    const struct heed_aux *keys;                /* GLOBAL keys from a list, else NULL */
    const struct heed_aux *rows;                /* GLOBAL rows from a list, else NULL */
    int64_t rows_first_n;                        /* GLOBAL rows: the first so many */
    uint32_t has_keys;                          /* 1: one sub-source is of unit step */
    uint32_t shared;                            /* 1: all batch items read the same K and V, */
    uint32_t common;                            /* and all else of the source is the same, too */
    uint32_t tables;                            /* 1: pages and lengths are all that items differ
                                                 * by, and keys come in order */
    uint32_t layout;                            /* HK_LAYOUT_* */
    enum heed_items items;
    uint32_t gaps;                              /* 1: keys within the length may be absent */
    const struct heed_aux *index;               /* what says where rows lie; NULL: nothing does */
    uint32_t value;                             /* 1: that is one number for an item */
};

struct heed_lowered {
    uint32_t n_subs, n_sources;
    const struct hk_sub *subs;
    const struct heed_sub_slots *slots;         /* one per sub-source */
    const struct heed_lowered_source *sources;
    int64_t row_step;                           /* rows of a strip: r0 + row_step * i; 1 or the
                                                 * PHASE_QUERY step */
    int64_t stack;                              /* query heads that may share a strip: same key
                                                 * heads, same keys seen */
    int64_t group;                              /* a strip stays within so many rows, which share a
                                                 * list; 0: no such border */
    uint32_t q_packed;                          /* 1: query rows of an item begin where its begin
                                                 * says */
    uint32_t capped;                            /* 1: softcap */
    float c, c1, c2;                            /* numerics.md step 1 */
};

/* numerics.md step 1. */
struct heed_constants {
    double scale;                               /* the default one resolved */
    bool capped;                                /* softcap: c1 and c2 count, else c */
    float c, c1, c2;
};
struct heed_constants heed_constants_find(const struct heed_checked *);

/* For plans of attention. */
static inline const struct heed_lowered *heed_lowered_of(const struct heed_plan *plan)
{
    return plan->params;
}

struct heed_arena;

/* HEED_E_UNSUPPORTED (a sub-source needs more than 4 ranges; the report names the term),
 * HEED_E_NOMEM. */
heed_status heed_spans_build(const struct heed_checked *, struct heed_arena *,
                             const struct heed_lowered **out, heed_report *);

/* Useful floating-point operations and compulsory bytes of one run at the planned bounds: 2 d + 2
 * d_v per pair that the ranges admit; masks, run-time lengths and lists count at their bound. */
void heed_spans_work(const struct heed_checked *, const struct heed_lowered *, uint64_t *flops,
                     uint64_t *bytes);

/* Multiply-adds of one query row of a head, likewise. */
double heed_spans_row(const struct heed_checked *, const struct heed_lowered *, int64_t row);

#endif
