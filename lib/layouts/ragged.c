/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * RAGGED: items of any length behind each other in one tensor, each from its begin on.
 */
#include "layouts.h"

static heed_status begin_entry(const struct heed_entries *e, const struct heed_entry *entry,
                               struct heed_fault *fault)
{
    const struct heed_view *packed = e->source                           ? &e->source->k
                                     : e->site->aux == &e->attn->o_begin ? &e->attn->o
                                                                         : &e->attn->q;
    const int64_t total = packed->shape[4];

    if (entry->value >= 0 && entry->value <= total)
        return HEED_OK;
    fault->wanted = entry->value < 0 ? 0 : total;
    fault->why = "no such row: the sequence would be empty";
    return HEED_E_INDEX;
}

static int64_t cut(const struct heed_look *look, const struct heed_aux *index, int64_t rows,
                   int64_t n)
{
    const int64_t begin = heed_look_entry(look, index, 0, 0, 0);

    if (begin < 0 || begin > rows)
        return 0;
    return n > rows - begin ? rows - begin : n;
}

static const struct heed_use use_begins = { HEED_BATCH_MAY, HEED_SET_INTS, 0, { 0 }, begin_entry };
/* Every item is its own sequence. */
static const struct heed_use use_q_begins = { HEED_BATCH_ALL, HEED_SET_INTS, 0, { 0 },
                                              begin_entry };
static const struct heed_use use_scales = {
    HEED_BATCH_ONE, HEED_SET_SCALES, 2, { 0, HEED_AXIS_SCALE_HEADS, HEED_AXIS_STORED }, NULL
};

const struct heed_layout heed_layout_ragged = {
    .kind = HEED_LAYOUT_RAGGED,
    .name = "RAGGED",
    .items = HEED_ITEMS_PACKED,
    .lowered = HK_LAYOUT_EVEN,
    .for_queries = true,
    .desc = {
        [HEED_DESC_Q_POS] = { HEED_NEED_MAY, &heed_use_q_pos },
        [HEED_DESC_BEGIN] = { HEED_NEED_MUST, &use_q_begins },
        [HEED_DESC_LEN] = { HEED_NEED_MUST, &heed_use_lengths },
        [HEED_DESC_O_BEGIN] = { HEED_NEED_MAY, &use_q_begins },
    },
    .source = {
        [HEED_SOURCE_SLOT] = { HEED_NEED_MUST, &use_begins },
        HEED_SOURCE_SLOTS_OF(HEED_NEED_MUST, &use_scales),
    },
    .cut = cut,
};
