/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * DENSE: a value for every head, row and key; any axis may have extent 1. u: a factor for every
 * head or for all.
 */
#include "biases.h"

static const struct heed_use use_t = {
    HEED_BATCH_MAY, HEED_SET_FLOATS, 3,
    { HEED_AXIS_HEADS | HEED_AXIS_ONE, HEED_AXIS_ROWS | HEED_AXIS_ONE,
      HEED_AXIS_KEYS | HEED_AXIS_ONE },
    NULL
};

static const struct heed_use use_u = {
    HEED_BATCH_ONE, HEED_SET_FLOATS, 1, { 0, 0, HEED_AXIS_HEADS | HEED_AXIS_ONE }, NULL
};

const struct heed_bias_kind heed_bias_dense = {
    .kind = HEED_BIAS_DENSE,
    .name = "DENSE",
    .slots = {
        [HEED_BIAS_T] = { HEED_NEED_MUST, &use_t },
        [HEED_BIAS_U] = { HEED_NEED_MAY, &use_u },
    },
};
