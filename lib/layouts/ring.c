/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * RING: key 0 lies in the row that the head names, and behind the last row comes row 0 (Jiang et
 * al. 2023, section 2).
 */
#include "layouts.h"

static heed_status head_entry(const struct heed_entries *e, const struct heed_entry *entry,
                              struct heed_fault *fault)
{
    const int64_t rows = e->source->k.shape[4];

    if (entry->value >= 0 && entry->value < rows)
        return HEED_OK;
    fault->wanted = entry->value < 0 ? 0 : rows - 1;
    fault->why = "no such row: the ring would be empty";
    return HEED_E_INDEX;
}

static int64_t cut(const struct heed_look *look, const struct heed_aux *index, int64_t rows,
                   int64_t n)
{
    const int64_t head = heed_look_entry(look, index, 0, 0, 0);

    return head >= 0 && head < rows ? n : 0;
}

static const struct heed_use use_heads = { HEED_BATCH_MAY, HEED_SET_INTS, 0, { 0 }, head_entry };

const struct heed_layout heed_layout_ring = {
    .kind = HEED_LAYOUT_RING,
    .name = "RING",
    .items = HEED_ITEMS_BATCH,
    .lowered = HK_LAYOUT_RING,
    .source = {
        [HEED_SOURCE_SLOT] = { HEED_NEED_MUST, &use_heads },
        HEED_SOURCE_SLOTS_OF(HEED_NEED_MUST, &heed_use_scales),
    },
    .cut = cut,
};
