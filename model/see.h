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
    ARG_TABLE,                 /* Of relative positions. */
    ARG_SIDE_TABLE,
    ARG_PLACES,                /* Rows for relative positions, and their norm. */
    ARG_PLACES_NORM,
    ARG_PLACES_BIAS,
    ARG_WEIGHTS,
    ARGS = ARG_WEIGHTS + LAYER_ARGS
};
enum {
    T_NORM = ARGS,
    T_Q,
    T_K,
    T_V,
    T_O,
    T_SIDE,                    /* Sums of tokens or rows of positions, and what */
    T_SIDE_K,                  /* keys and values, or queries, they are. */
    T_SIDE_V,
    T_SLICE,
    T_UP,
    T_GATE,
    T_END
};

/* Steps that fill T_O from T_Q, T_K and T_V, which are the maps of x: the rows of the text behind
 * `g` rows of the encoder's own. `form` is what layers of one plan have in common (encoder.c). */
void see(struct sketch *s, const struct attention *a, int64_t form, int64_t g, struct view x);

#endif
