/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fields that name slots, and the uses that belong to no kind of layout, term or bias alone.
 */
#include "use.h"

#include "validate.h"

#include <stdio.h>

#define FIELD(given_type, given_name, kept_type, kept_name)                                        \
    {                                                                                              \
        .name = #given_name, .given = offsetof(given_type, given_name),                            \
        .kept = offsetof(struct kept_type, kept_name)                                              \
    }

static const struct heed_slot_field desc_fields[HEED_DESC_SLOTS] = {
    [HEED_DESC_Q_POS] = FIELD(heed_attn_desc, q_pos_slot, heed_checked, q_pos),
    [HEED_DESC_BEGIN] = FIELD(heed_attn_desc, q_slot, heed_checked, q_begin),
    [HEED_DESC_LEN] = FIELD(heed_attn_desc, q_len_slot, heed_checked, q_len),
    [HEED_DESC_O_BEGIN] = FIELD(heed_attn_desc, o_slot, heed_checked, o_begin),
};

static const struct heed_slot_field source_fields[HEED_SOURCE_SLOTS] = {
    [HEED_SOURCE_SLOT] = FIELD(heed_source, slot, heed_checked_source, index),
    [HEED_SOURCE_LEN] = FIELD(heed_source, len_slot, heed_checked_source, len),
    [HEED_SOURCE_MASK] = FIELD(heed_source, mask_slot, heed_checked_source, mask),
    [HEED_SOURCE_ROW_MASK] = FIELD(heed_source, row_mask_slot, heed_checked_source, row_mask),
    [HEED_SOURCE_K_SCALE] = FIELD(heed_source, k_scale_slot, heed_checked_source, k_scale),
    [HEED_SOURCE_V_SCALE] = FIELD(heed_source, v_scale_slot, heed_checked_source, v_scale),
};

static const struct heed_slot_field term_fields[HEED_TERM_SLOTS] = {
    [HEED_TERM_SLOT] = FIELD(heed_term, slot, heed_checked_term, slot),
};

static const struct heed_slot_field bias_fields[HEED_BIAS_SLOTS] = {
    [HEED_BIAS_T] = FIELD(heed_bias, t, heed_checked_bias, t),
    [HEED_BIAS_U] = FIELD(heed_bias, u, heed_checked_bias, u),
    [HEED_BIAS_MAP] = FIELD(heed_bias, map, heed_checked_bias, map),
    [HEED_BIAS_Q_COORD] = FIELD(heed_bias, q_coord, heed_checked_bias, q_coord),
    [HEED_BIAS_K_COORD] = FIELD(heed_bias, k_coord, heed_checked_bias, k_coord),
};
#undef FIELD

const struct heed_slot_fields heed_slot_fields[HEED_LEVELS] = {
    [HEED_LEVEL_DESC] = { desc_fields, HEED_DESC_SLOTS },
    [HEED_LEVEL_SOURCE] = { source_fields, HEED_SOURCE_SLOTS },
    [HEED_LEVEL_TERM] = { term_fields, HEED_TERM_SLOTS },
    [HEED_LEVEL_BIAS] = { bias_fields, HEED_BIAS_SLOTS },
};

const char *heed_site_path(const struct heed_site *site, char path[HEED_SITE_PATH])
{
    const size_t room = HEED_SITE_PATH;

    if (site->level == HEED_LEVEL_DESC)
        snprintf(path, room, "%s", site->name);
    else if (site->level == HEED_LEVEL_SOURCE)
        snprintf(path, room, "sources[%u].%s", (unsigned)site->source, site->name);
    else
        snprintf(path, room, "sources[%u].%s[%u].%s", (unsigned)site->source,
                 site->level == HEED_LEVEL_TERM ? "terms" : "biases", (unsigned)site->index,
                 site->name);
    return path;
}

/* ---- rules of entries ---- */

static heed_status position_entry(const struct heed_entries *e, const struct heed_entry *entry,
                                  struct heed_fault *fault)
{
    (void)e;
    if (entry->value >= -HEED_POSITION_MAX && entry->value <= HEED_POSITION_MAX)
        return HEED_OK;
    fault->wanted = entry->value < 0 ? -HEED_POSITION_MAX : HEED_POSITION_MAX;
    fault->why = "positions lie within 2^60 of 0";
    return HEED_E_OVERFLOW;
}

static heed_status length_entry(const struct heed_entries *e, const struct heed_entry *entry,
                                struct heed_fault *fault)
{
    const int64_t bound = e->source ? e->source->n_k : e->attn->n_q;

    if (entry->value >= 0 && entry->value <= bound)
        return HEED_OK;
    fault->wanted = entry->value < 0 ? 0 : bound;
    fault->why = "lengths lie between 0 and the bound";
    return entry->value < 0 ? HEED_E_VALUE : HEED_E_INDEX;
}

/* ---- uses ---- */

const struct heed_use heed_use_lengths = { HEED_BATCH_MAY, HEED_SET_INTS, 0, { 0 }, length_entry };
const struct heed_use heed_use_q_pos = { HEED_BATCH_MAY, HEED_SET_I64, 0, { 0 }, position_entry };
const struct heed_use heed_use_mask = {
    HEED_BATCH_MAY, HEED_SET_U8, 2, { 0, HEED_AXIS_GROUPS, HEED_AXIS_KEYS }, NULL
};
/* Bytes of keys or bits, 32 in a word: what the last axis counts follows from the type. */
const struct heed_use heed_use_row_mask = {
    HEED_BATCH_MAY, HEED_SET_MASKS, 3,
    { HEED_AXIS_HEADS | HEED_AXIS_ONE, HEED_AXIS_ROWS, HEED_AXIS_KEYS_OR_WORDS }, NULL
};
/* By stored row, like k and v without their channels. Whether they must be there is said by the
 * type of the rows. */
const struct heed_use heed_use_scales = {
    HEED_BATCH_MAY, HEED_SET_SCALES, 2, { 0, HEED_AXIS_SCALE_HEADS, HEED_AXIS_STORED }, NULL
};
const struct heed_use heed_use_q_coord = {
    HEED_BATCH_MAY, HEED_SET_INTS, 1, { 0, 0, HEED_AXIS_ROWS },
    position_entry
};
const struct heed_use heed_use_k_coord = {
    HEED_BATCH_MAY, HEED_SET_INTS, 1, { 0, 0, HEED_AXIS_KEYS },
    position_entry
};
/* Entries outside the table add nothing, so any entry will do. */
const struct heed_use heed_use_map = {
    HEED_BATCH_ONE, HEED_SET_I32, 1, { 0, 0, HEED_AXIS_ANY }, NULL
};
