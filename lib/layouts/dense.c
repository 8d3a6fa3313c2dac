/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * DENSE: row i of batch item b is key i.
 */
#include "layouts.h"

const struct heed_layout heed_layout_dense = {
    .kind = HEED_LAYOUT_DENSE,
    .name = "DENSE",
    .items = HEED_ITEMS_BATCH,
    .lowered = HK_LAYOUT_EVEN,
    .for_queries = true,
    .desc = {
        [HEED_DESC_Q_POS] = { HEED_NEED_MAY, &heed_use_q_pos },
        [HEED_DESC_LEN] = { HEED_NEED_MAY, &heed_use_lengths },
    },
    .source = { HEED_SOURCE_SLOTS_OF(HEED_NEED_MAY, &heed_use_scales) },
};
