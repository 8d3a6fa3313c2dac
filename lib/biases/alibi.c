/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * ALIBI: a slope for each head times the distance (Press et al. 2022, section 3).
 */
#include "biases.h"

static const struct heed_use use_t = {
    HEED_BATCH_ONE, HEED_SET_FLOATS, 1, { 0, 0, HEED_AXIS_HEADS }, NULL
};

const struct heed_bias_kind heed_bias_alibi = {
    .kind = HEED_BIAS_ALIBI,
    .name = "ALIBI",
    .positional = true,
    .slots = {
        [HEED_BIAS_T] = { HEED_NEED_MUST, &use_t },
        [HEED_BIAS_Q_COORD] = { HEED_NEED_MAY, &heed_use_q_coord },
        [HEED_BIAS_K_COORD] = { HEED_NEED_MAY, &heed_use_k_coord },
    },
};
