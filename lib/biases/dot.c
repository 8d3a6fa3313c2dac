/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * DOT: products of the query with a row of one table and of the key with a row of another, by
 * clamped distance or by what a map makes of it (He et al. 2021, section 3.1; Dai et al. 2019,
 * section 3.3). They join the score, not the logit.
 */
#include "biases.h"

static const struct heed_use use_rows = {
    HEED_BATCH_ONE, HEED_SET_FLOATS, 3,
    { HEED_AXIS_HEADS | HEED_AXIS_ONE, HEED_AXIS_ANY, HEED_AXIS_CHANNELS },
    NULL
};

const struct heed_bias_kind heed_bias_dot = {
    .kind = HEED_BIAS_DOT,
    .name = "DOT",
    .zero = true,
    .positional = true,
    .in_score = true,
    .slots = {
        [HEED_BIAS_T] = { HEED_NEED_MAY, &use_rows },
        [HEED_BIAS_U] = { HEED_NEED_MAY, &use_rows },
        [HEED_BIAS_MAP] = { HEED_NEED_MAY, &heed_use_map },
        [HEED_BIAS_Q_COORD] = { HEED_NEED_MAY, &heed_use_q_coord },
        [HEED_BIAS_K_COORD] = { HEED_NEED_MAY, &heed_use_k_coord },
    },
};
