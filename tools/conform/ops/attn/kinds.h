/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of layout, of term and of bias that the kit draws, describes, reads back and judges: a
 * row each in layouts.c and kinds.c, and no list of kinds elsewhere in the kit. The number of a row
 * is the value of the fields S_LAY, T_KIND and B_KIND.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_ATTN_KINDS_H
#define HEED_TOOLS_CONFORM_OPS_ATTN_KINDS_H

#include "attn.h"

struct cf_layout {          /* row LAY_X */
    const char *word;       /* in the line of a case */
    uint32_t kind;          /* HEED_LAYOUT_* */
    unsigned fields;        /* 1 << S_RUN, ...: those it takes */
    int axes;               /* trailing axes of its slot; -1: it has none */
    bool packed;            /* items lie in one tensor, where the slot says they begin */
    bool pages;             /* keys lie on pages, which are no item's */
    bool lists;             /* the slot lists the keys */
    bool needs_len;
    int (*index_make)(struct problem *, int s);
    /* Key i, which is within the length, is row *row of page *page; false: it is absent. NULL: rows
     * follow each other. */
    bool (*find)(const struct problem *, const struct item_view *, int s, int64_t i, int64_t *page,
                 int64_t *row);
};

/* A row before a key of a source, and their positions. */
struct meeting {
    const struct problem *p;
    const struct item_view *view;
    int64_t head, row, key, q_pos, k_pos;
    int s;
};

struct cf_term_kind {   /* row HEED_TERM_X */
    const char *word;   /* in the line of a case */
    unsigned fields;    /* 1 << T_LEFT, ...: those it takes */
    uint32_t slot_axes; /* trailing axes of its slot */
    bool slot_must;     /* else `block` may stand in its place */
    bool slot_rows;     /* axis 2 of its slot is of blocks of rows */
    bool (*by_row)(const struct cs *, int s, int t); /* NULL, or: is a row's own number asked? */
    int (*slot_make)(struct problem *, int s, int t, int64_t have);
    bool (*sees)(const struct meeting *, int t);
};

/* Extents of the trailing axes of a bias's t and u; 0: there is no such axis. */
enum { EXTENT_HEADS = 1, EXTENT_ROWS, EXTENT_KEYS, EXTENT_LEN, EXTENT_CHANNELS };

struct cf_bias_kind {
    const char *word;
    uint32_t kind;       /* HEED_BIAS_* */
    unsigned fields;     /* 1 << B_H, ... */
    bool batched;        /* t has batch axes */
    int axes, extent[3]; /* of t and u: how many from the right; EXTENT_* */
    bool slopes;         /* t is multiplied by a distance and subtracted */
    bool removes;        /* -Inf removes the key */
    /* One of the two: what it adds to the logit (false: nothing); what it adds to q.k and the sum
     * of the magnitudes. */
    bool (*value)(const struct meeting *, int b, double *value);
    void (*join)(const struct meeting *, int b, double *sum, double *size);
};

extern const struct cf_layout cf_layouts[];
extern const struct cf_term_kind cf_term_kinds[];
extern const struct cf_bias_kind cf_bias_kinds[];
extern const int cf_n_layouts, cf_n_term_kinds, cf_n_bias_kinds;

const struct cf_layout *cf_layout_of(const struct cs *, int s);
const struct cf_layout *cf_layout_kind(uint32_t kind); /* of HEED_LAYOUT_*, which there is */
bool cf_queries_packed(const struct cs *);
bool cf_term_takes(int64_t row, int field);
int cf_bias_row(uint32_t kind); /* -1: none */

/* visibility.c: an entry of a slot; a position or coordinate within what is allowed. */
int64_t cf_slot_get(const struct problem *, int number, int64_t b, int64_t x, int64_t y, int64_t z);
int64_t cf_position_clamp(int64_t x);

/* slots.c */
int cf_global_make(struct problem *, int s, int t, int64_t have);
int cf_segment_make(struct problem *, int s, int t, int64_t have);

#endif
