/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What layers of encoders and decoders have in common, as steps of a draft. The tensors of a layer
 * are arguments of its program, by their roles: layers whose types are the same share a plan.
 */
#ifndef MODEL_LAYER_H
#define MODEL_LAYER_H

#include "draft.h"

enum { LAYER_ARGS = 2 * LAYER_ROLES, SLICE = 1024 };

/* Texts one behind another: the first row of each, and how many it has. */
struct texts {
    int64_t n;
    const int32_t *begins, *lengths;
};

struct sketch {
    struct draft draft;
    const struct parameters *p;
    const struct stack *stack;
    uint32_t weights;          /* The argument of the first role. */
    uint32_t temps[3];         /* A slice's norm, hidden rows and gates. */
    const struct texts *texts; /* NULL: the rows are one text. */
};

/* The view of a tensor that is argument or temporary number `array`. */
struct view view_param(const struct param *param, uint32_t array);

/* The buffers of a layer's tensors, in the order of its arguments. */
void layer_bind(const struct layer *layer, heed_buf at[LAYER_ARGS]);

/* y = the map of this role of x, and `add` (NO_VIEW: nothing). */
void layer_map(struct sketch *s, enum layer_role role, struct view x, uint32_t act,
               struct view add, struct view y);
void layer_norm(struct sketch *s, enum layer_role role, struct view x, struct view y);

/* x = x + hidden(x), with its norm before or behind, in slices of rows so that no temporary grows
 * with them. */
void layer_hidden(struct sketch *s, struct view x);

/* Attention in which every row sees all keys, or all up to its own. Views that are NO_VIEW are not
 * there. */
struct seeing {
    struct view q, k, v, o;    /* Heads. */
    bool causal;               /* The last row is at the last key. */
    struct view table;         /* Of relative positions, [buckets][heads]; with it scale is 1. */
    const int32_t *map;        /* Buckets of distances, `map_length` of them. */
    int64_t map_length;
    struct view pages, lengths; /* k and v are pages: the table, [batch][pages], and lengths. */
    bool unscaled;             /* The scores are q . k; so they are with a table. */
    const struct texts *texts; /* Rows and keys of each see only each other; NULL: one text. */
};
void layer_attend(struct sketch *s, const struct seeing *seeing);

/* A mechanism that a builder has filled: keys and values by sets, slots by their numbers. */
void layer_mechanism(struct sketch *s, const heed_mechanism *mechanism, struct view q,
                     struct view o, const struct view (*keys)[2],
                     const struct view slots[HEED_MECHANISM_SLOTS + 1]);

/* The buckets of T5 for distances up to the last one, in memory of the draft. */
const int32_t *layer_buckets(struct sketch *s, bool one_sided, int64_t *length);

#endif
