/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * PAGED: pages of equally many rows, in the order that an item's table gives them (Kwon et al.
 * 2023, section 4.1).
 */
#include "layouts.h"

#include "../core/error.h"
#include "../ops/attn/check_state.h"

/* A negative entry leaves its keys out: constant ones are -1. */
static heed_status page_entry(const struct heed_entries *e, const struct heed_entry *entry,
                              struct heed_fault *fault)
{
    const int64_t last = e->source->k.shape[2] - 1;

    if (entry->value <= last && (entry->value >= -1 || !e->constant))
        return HEED_OK;
    fault->wanted = entry->value < 0 ? -1 : last;
    fault->why = "entries name a page of k and v, or are -1";
    return HEED_E_INDEX;
}

/* The table says how many keys there are. */
static heed_status check(struct heed_check *c, uint32_t s)
{
    const heed_source *source = &c->sources[s];
    const heed_tensor *table = &c->slots[source->slot - 1].t;
    struct heed_checked_source *to = &c->to[s];
    const int64_t pages = table->shape[table->ndim - 1], page = to->k.shape[4];

    if (source->run != 0 && source->run != page)
        return heed_check_fail(c, HEED_E_VALUE, "run", page, source->run,
                               "must be 0 or the rows of a page");
    if (heed_mul_i64(pages, page, &to->n_k))
        return HEED_OK;
    return heed_check_fail(c, HEED_E_OVERFLOW, "slot", INT64_MAX / page, pages,
                           "pages times rows of a page leave 63 bits");
}

static bool there(const struct heed_look *look, int64_t key)
{
    const struct heed_checked_source *source = look->source;
    const int64_t page = heed_look_entry(look, &source->index, 0, 0, key / source->k.shape[4]);

    return page >= 0 && page < source->k.shape[2];
}

static const struct heed_use use_table = {
    HEED_BATCH_MAY, HEED_SET_I32, 1, { 0, 0, HEED_AXIS_ANY }, page_entry
};
static const struct heed_use use_scales = {
    HEED_BATCH_ONE, HEED_SET_SCALES, 3,
    { HEED_AXIS_PAGES, HEED_AXIS_SCALE_HEADS, HEED_AXIS_STORED }, NULL
};

const struct heed_layout heed_layout_paged = {
    .kind = HEED_LAYOUT_PAGED,
    .name = "PAGED",
    .items = HEED_ITEMS_PAGES,
    .lowered = HK_LAYOUT_PAGED,
    .takes_run = true,
    .source = {
        [HEED_SOURCE_SLOT] = { HEED_NEED_MUST, &use_table },
        HEED_SOURCE_SLOTS_OF(HEED_NEED_MUST, &use_scales),
    },
    .check = check,
    .there = there,
};
