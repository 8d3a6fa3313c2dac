/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * TABLE: an entry of a table by clamped distance, or by what a map makes of it (Raffel et al. 2020,
 * section 2.1).
 */
#include "biases.h"

static const struct heed_use use_t = {
    HEED_BATCH_ONE, HEED_SET_FLOATS, 2, { 0, HEED_AXIS_HEADS | HEED_AXIS_ONE, HEED_AXIS_ANY },
    NULL
};

const struct heed_bias_kind heed_bias_table = {
    .kind = HEED_BIAS_TABLE,
    .name = "TABLE",
    .zero = true,
    .positional = true,
    .slots = {
        [HEED_BIAS_T] = { HEED_NEED_MUST, &use_t },
        [HEED_BIAS_MAP] = { HEED_NEED_MAY, &heed_use_map },
        [HEED_BIAS_Q_COORD] = { HEED_NEED_MAY, &heed_use_q_coord },
        [HEED_BIAS_K_COORD] = { HEED_NEED_MAY, &heed_use_k_coord },
    },
};
