/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * GLOBAL: keys that every row sees, rows that see every key, or both (Beltagy et al. 2020; Zaheer
 * et al. 2020). From an ascending list in the slot, or the first `block` ones.
 */
#include "terms.h"

static void lower(const struct heed_checked_term *term, const struct heed_checked_source *source,
                  struct heed_term_form *out)
{
    (void)source;
    *out = (struct heed_term_form) {
        .keys = (term->flags & HEED_TERM_KEYS) != 0,
        .rows = (term->flags & HEED_TERM_ROWS) != 0,
    };
}

/* A list ascends below the bound up to its first negative entry; nothing but negative entries may
 * follow in a constant one. */
static heed_status list_entry(const struct heed_entries *e, const struct heed_entry *entry,
                              struct heed_fault *fault)
{
    int64_t bound = INT64_MAX;

    if (e->term->flags & HEED_TERM_KEYS)
        bound = e->source->n_k;
    if ((e->term->flags & HEED_TERM_ROWS) && e->attn->n_q < bound)
        bound = e->attn->n_q;
    if (entry->value < 0 || (entry->ended && !e->constant))
        return HEED_OK;
    if (entry->ended)
        *fault = (struct heed_fault){ .wanted = -1,
                                      .why = "a negative entry ended the list before" };
    else if (entry->value >= bound)
        *fault = (struct heed_fault){ .wanted = bound, .why = "no such key or row" };
    else if (entry->value <= entry->before)
        *fault = (struct heed_fault){ .wanted = entry->before + 1,
                                      .why = "the list must ascend strictly" };
    else
        return HEED_OK;
    return HEED_E_INDEX;
}

/* Does the list, up to its end, hold the index? */
static bool holds(const struct heed_look *look, const struct heed_checked_term *term,
                  int64_t index, int64_t bound)
{
    int64_t before = -1;

    if (!term->slot.slot)
        return index < term->block;
    for (int64_t i = 0; i < term->slot.shape[5]; i++) {
        const int64_t entry = heed_look_entry(look, &term->slot, 0, 0, i);

        if (entry >= bound || entry <= before)
            return false;
        if (entry == index)
            return true;
        before = entry;
    }
    return false;
}

static bool sees(const struct heed_look *look, const struct heed_checked_term *term, int64_t key)
{
    return ((term->flags & HEED_TERM_ROWS) && holds(look, term, look->row, look->attn->n_q)) ||
           ((term->flags & HEED_TERM_KEYS) && holds(look, term, key, look->source->n_k));
}

static const struct heed_use use_list = {
    HEED_BATCH_MAY, HEED_SET_I32, 1, { 0, 0, HEED_AXIS_ANY }, list_entry
};

const struct heed_term_kind heed_term_global = {
    .kind = HEED_TERM_GLOBAL,
    .name = "GLOBAL",
    .fields = HEED_FIELD_BLOCK,
    .flags = HEED_TERM_KEYS | HEED_TERM_ROWS,
    .default_flags = HEED_TERM_KEYS,
    .slots = { { HEED_NEED_MAY, &use_list } },
    .lower = lower,
    .sees = sees,
};
