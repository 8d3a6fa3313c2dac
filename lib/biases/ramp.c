/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * RAMP: a slope for each head times the key's index.
 */
#include "biases.h"

static const struct heed_use use_t = {
    HEED_BATCH_ONE, HEED_SET_FLOATS, 1, { 0, 0, HEED_AXIS_HEADS }, NULL
};

const struct heed_bias_kind heed_bias_ramp = {
    .kind = HEED_BIAS_RAMP,
    .name = "RAMP",
    .implemented = true,
    .slots = { [HEED_BIAS_T] = { HEED_NEED_MUST, &use_t } },
};
