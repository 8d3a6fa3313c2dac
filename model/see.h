/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the rows of an encoder see: the mechanisms of the families, as steps of a layer's program.
 */
#ifndef MODEL_SEE_H
#define MODEL_SEE_H

#include "encoder.h"
#include "layer.h"

/* Arrays of a layer's program. */
enum {
    ARG_X,
    ARG_Q,                     /* What attention reads and writes. */
    ARG_K,
    ARG_V,
    ARG_O,
    ARG_TABLE,                 /* Of relative positions. */
    ARG_SIDE_TABLE,
    ARG_PLACES,                /* Rows for relative positions, and their norm. */
    ARG_PLACES_NORM,
    ARG_PLACES_BIAS,
    ARG_KEPT,                  /* What is kept of segments before: rows; the head and length of */
    ARG_KEPT_HEAD,             /* their ring; older ones. */
    ARG_KEPT_LEN,
    ARG_OLD_HEAD,
    ARG_OLD_LEN,
    ARG_OLD,
    ARG_WEIGHTS,
    ARGS = ARG_WEIGHTS + LAYER_ARGS
};
enum {
    T_NORM = ARGS,
    T_SIDE,                    /* Sums of tokens or rows of positions, and what */
    T_SIDE_K,                  /* keys and values, or queries, they are. */
    T_SIDE_V,
    T_SLICE,
    T_UP,
    T_GATE,
    T_KEPT_K,                  /* Keys and values of what is kept. */
    T_KEPT_V,
    T_OLD_K,
    T_OLD_V,
    T_FALLEN,                  /* What falls out of the newest rows, and means of it. */
    T_FALLEN_LEN,
    T_PACKED,
    T_PACKED_LEN,
    T_SELF,                    /* What attention gives, and what a memory answers. */
    T_ANSWER,
    T_END
};

/* Steps that fill ARG_O from ARG_Q, ARG_K and ARG_V, which are the maps of x: the rows of the text
 * behind a->rows of the encoder's own. `form` is what layers of one plan have in common. */
void see(struct sketch *s, const struct attention *a, int64_t form, struct view x);

/* Is there a mechanism whose keys are computed, a program of its own, for these rows? Then see()
 * has the steps of the encoder's own rows alone, and this the plan of the text's. */
bool sees_apart(const struct attention *a, int64_t rows);
heed_status see_apart_plan(const struct parameters *p, const struct attention *a, int64_t rows,
                           heed_plan **plan, heed_report *report);
heed_status see_apart_run(const struct parameters *p, const struct attention *a,
                          const heed_plan *plan, heed_queue *queue, const heed_buf *at,
                          heed_report *report);

#endif
