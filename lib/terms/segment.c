/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * SEGMENT: a range of key indices for every `block` query rows, loaded from the slot.
 */
#include "terms.h"

static void lower(const struct heed_checked_term *term, const struct heed_checked_source *source,
                  struct heed_term_form *out)
{
    (void)source;
    *out = (struct heed_term_form) {
        .has_range = true,
        .pairs = true,
        .range = { .block = term->block, .kind = HK_RANGE_PAIRS },
    };
}

/* Constant ranges lie in [0, n_k], begin before end; run-time ones may be empty or reversed. */
static heed_status range_entry(const struct heed_entries *e, const struct heed_entry *entry,
                               struct heed_fault *fault)
{
    const int64_t n_k = e->source->n_k;

    if (entry->first && entry->value < 0)
        *fault = (struct heed_fault){ .wanted = 0, .why = "the range begins before the first key" };
    else if (!entry->first && entry->value > n_k)
        *fault = (struct heed_fault){ .wanted = n_k, .why = "the range ends after the last key" };
    else if (!entry->first && entry->value < entry->before && e->constant)
        *fault = (struct heed_fault){ .wanted = entry->before,
                                      .why = "the range ends before it begins" };
    else
        return HEED_OK;
    return HEED_E_INDEX;
}

static bool sees(const struct heed_look *look, const struct heed_checked_term *term, int64_t key)
{
    const int64_t rows = look->row / term->block;

    return key >= heed_look_entry(look, &term->slot, 0, rows, 0) &&
           key < heed_look_entry(look, &term->slot, 0, rows, 1);
}

static const struct heed_use use_ranges = {
    HEED_BATCH_MAY, HEED_SET_I32, 2, { 0, HEED_AXIS_BLOCKS, HEED_AXIS_TWO },
    range_entry
};

const struct heed_term_kind heed_term_segment = {
    .kind = HEED_TERM_SEGMENT,
    .name = "SEGMENT",
    .fields = HEED_FIELD_BLOCK,
    .slots = { { HEED_NEED_MUST, &use_ranges } },
    .lower = lower,
    .sees = sees,
};
