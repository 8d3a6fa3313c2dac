/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The encoder of a model: a text's ids to a row of states for each.
 */
#ifndef MODEL_ENCODER_H
#define MODEL_ENCODER_H

#include "attention.h"

struct past;
struct texts;

/* HEED_E_VALUE an id that the model does not have, or more tokens than it has positions. */
heed_status encoder_check(const struct parameters *p, const struct attention *attention,
                          const int32_t *ids, int64_t n, heed_report *report);

/* Rows that stand before the text's in the states. */
int64_t encoder_shown(const struct attention *attention);

/* Can rows of several texts go through the layers together? */
bool encoder_joins(const struct attention *attention);

/* States [shown + n][model] of `ids`, which have been checked, f32, into memory of the device. The
 * layers see and keep what `past` has of segments before; NULL: nothing. The ids are those of
 * `texts`, where encoder_joins(); NULL: of one text. */
heed_status encoder_run(const struct parameters *p, heed_queue *queue,
                        const struct attention *attention, struct past *past,
                        const struct texts *texts, const int32_t *ids, int64_t n, heed_buf states,
                        heed_report *report);

/* Rows before the first layer of either stack: tokens, positions, types, their norm. `first` is the
 * position of the first one. */
heed_status stack_begin(const struct parameters *p, const struct stack *stack, heed_device *device,
                        int64_t batch, int64_t n, int64_t first, heed_plan **plan,
                        heed_report *report);

enum { BEGIN_X, BEGIN_IDS, BEGIN_POS, BEGIN_TOKENS, BEGIN_POSITIONS, BEGIN_TYPES, BEGIN_TYPE_IDS,
       BEGIN_NORM, BEGIN_NORM_BIAS, BEGIN_ARGS };

#endif
