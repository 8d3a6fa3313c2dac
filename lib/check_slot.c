/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Slots at their places of use: one table row per use says its axes and element types; shapes are
 * compared with it, and for RAGGED tensors, whose item lengths no extent gives, the extents of
 * slots bound the lengths.
 */
#include "check_state.h"

#include "core/dtype.h"

#include <stdio.h>

/* What an axis counts. */
enum axis {
    AXIS_NONE, /* not there */
    AXIS_ANY,
    AXIS_TWO,         /* 2 */
    AXIS_HEADS,       /* H */
    AXIS_HEAD_GROUPS, /* 1, H_k or H */
    AXIS_HEADS_OR_ONE,
    AXIS_ROWS,
    AXIS_ROWS_OR_ONE,
    AXIS_KEYS,
    AXIS_KEYS_OR_ONE,
    AXIS_BLOCKS /* row blocks */
};

/* BATCH: the batch axes may be B; else they are 1. */
enum { ONE = 0, BATCH = 1 };

static const struct use_row {
    uint32_t trailing, batch, set; /* axes after the batch, BATCH, element types */
    enum axis axes[3];             /* x, y, z: view axes 3, 4, 5 */
} use_rows[HEED_USE_COUNT] = {
    [HEED_USE_BEGINS] = { 0, BATCH, HEED_SET_INTS, { AXIS_NONE, AXIS_NONE, AXIS_NONE } },
    [HEED_USE_LENGTHS] = { 0, BATCH, HEED_SET_INTS, { AXIS_NONE, AXIS_NONE, AXIS_NONE } },
    [HEED_USE_Q_POS] = { 0, BATCH, HEED_SET_I64, { AXIS_NONE, AXIS_NONE, AXIS_NONE } },
    [HEED_USE_GLOBAL] = { 1, BATCH, HEED_SET_I32, { AXIS_NONE, AXIS_NONE, AXIS_ANY } },
    [HEED_USE_SEGMENT] = { 2, BATCH, HEED_SET_I32, { AXIS_NONE, AXIS_BLOCKS, AXIS_TWO } },
    [HEED_USE_LISTED] = { 3, BATCH, HEED_SET_I32, { AXIS_HEAD_GROUPS, AXIS_BLOCKS, AXIS_ANY } },
    [HEED_USE_MASK] = { 2, BATCH, HEED_SET_U8, { AXIS_NONE, AXIS_HEAD_GROUPS, AXIS_KEYS } },
    [HEED_USE_MAP] = { 1, ONE, HEED_SET_I32, { AXIS_NONE, AXIS_NONE, AXIS_ANY } },
    [HEED_USE_K_COORD] = { 1, BATCH, HEED_SET_INTS, { AXIS_NONE, AXIS_NONE, AXIS_KEYS } },
    [HEED_USE_Q_COORD] = { 1, BATCH, HEED_SET_INTS, { AXIS_NONE, AXIS_NONE, AXIS_ROWS } },
    [HEED_USE_DENSE] = { 3, BATCH, HEED_SET_FLOATS,
                         { AXIS_HEADS_OR_ONE, AXIS_ROWS_OR_ONE, AXIS_KEYS_OR_ONE } },
    [HEED_USE_ALIBI] = { 1, ONE, HEED_SET_FLOATS, { AXIS_NONE, AXIS_NONE, AXIS_HEADS } },
    [HEED_USE_TABLE] = { 2, ONE, HEED_SET_FLOATS, { AXIS_NONE, AXIS_HEADS_OR_ONE, AXIS_ANY } },
};

static const heed_tensor *tensor_of(const struct heed_check *c, const struct heed_check_use *use)
{
    return &c->slots[use->slot - 1].t;
}

heed_status heed_check_slots_axes(struct heed_check *c)
{
    for (uint32_t i = 0; i < c->n_uses; i++) {
        const struct heed_check_use *use = &c->uses[i];
        const uint32_t most = use_rows[use->kind].trailing + 3, ndim = tensor_of(c, use)->ndim;
        char path[HEED_CHECK_PATH];

        if (ndim > most)
            return heed_report_fill(c->report, HEED_E_VALUE,
                                    heed_check_at(c, "slots[%u].t.ndim", (unsigned)(use->slot - 1)),
                                    most, ndim, "%s takes at most %u axes",
                                    heed_check_use_path(use, path), (unsigned)most);
    }
    return HEED_OK;
}

static void lower_to(int64_t *bound, int64_t value)
{
    if (value < *bound)
        *bound = value;
}

static void cut_axis(struct heed_check *c, const struct heed_check_use *use, enum axis axis,
                     int64_t extent)
{
    const bool q_ragged = c->out->q_layout == HEED_LAYOUT_RAGGED;
    struct heed_checked_source *source = use->level == HEED_LEVEL_DESC ? NULL
                                                                       : c->sources[use->source].to;
    const bool k_ragged = source && source->layout == HEED_LAYOUT_RAGGED;
    int64_t rows;

    if ((axis == AXIS_ROWS_OR_ONE || axis == AXIS_KEYS_OR_ONE) && extent == 1)
        return;
    if (q_ragged && (axis == AXIS_ROWS || axis == AXIS_ROWS_OR_ONE))
        lower_to(&c->out->n_q, extent);
    if (q_ragged && axis == AXIS_BLOCKS && heed_mul_i64(extent, use->block, &rows))
        lower_to(&c->out->n_q, rows);
    if (k_ragged && (axis == AXIS_KEYS || axis == AXIS_KEYS_OR_ONE))
        lower_to(&source->n_k, extent);
}

void heed_check_slots_cut(struct heed_check *c)
{
    for (uint32_t i = 0; i < c->n_uses; i++) {
        const struct use_row *row = &use_rows[c->uses[i].kind];
        int64_t shape[6], stride[6];

        heed_check_place(tensor_of(c, &c->uses[i]), row->trailing, 6, shape, stride);
        for (int a = 0; a < 3; a++)
            cut_axis(c, &c->uses[i], row->axes[a], shape[3 + a]);
    }
}

/* One of up to three extents, or any (wanted[0] < 0). */
struct wish {
    int64_t extents[3];
    const char *why;
};

static struct wish wish_for(const struct heed_check *c, const struct heed_check_use *use,
                            enum axis axis)
{
    const struct heed_checked *out = c->out;
    const struct heed_checked_source *source = use->level == HEED_LEVEL_DESC
                                                   ? NULL
                                                   : c->sources[use->source].to;
    const bool any_row = out->q_layout == HEED_LAYOUT_RAGGED;
    const bool any_key = source && source->layout == HEED_LAYOUT_RAGGED;
    const int64_t rows = any_row ? -1 : out->n_q, keys = any_key || !source ? -1 : source->n_k;
    const int64_t key_heads = source ? source->heads : 1;
    int64_t blocks = rows;

    if (axis == AXIS_BLOCKS && rows > 0)
        blocks = (rows - 1) / use->block + 1;
    switch (axis) {
    case AXIS_NONE:
        return (struct wish){ { 1, 1, 1 }, "this use has no such axis" };
    case AXIS_TWO:
        return (struct wish){ { 2, 2, 2 }, "begin and end" };
    case AXIS_HEADS:
        return (struct wish){ { out->heads, out->heads, out->heads }, "heads of q" };
    case AXIS_HEAD_GROUPS:
        return (struct wish){ { out->heads, key_heads, 1 }, "1, the heads of k or those of q" };
    case AXIS_HEADS_OR_ONE:
        return (struct wish){ { out->heads, 1, 1 }, "1 or the heads of q" };
    case AXIS_ROWS:
        return (struct wish){ { rows, rows, rows }, "query rows" };
    case AXIS_ROWS_OR_ONE:
        return (struct wish){ { rows, 1, 1 }, "1 or the query rows" };
    case AXIS_KEYS:
        return (struct wish){ { keys, keys, keys }, "keys of the source" };
    case AXIS_KEYS_OR_ONE:
        return (struct wish){ { keys, 1, 1 }, "1 or the keys of the source" };
    case AXIS_BLOCKS:
        return (struct wish){ { blocks, blocks, blocks },
                              "blocks of query rows, the last may be short" };
    default:
        return (struct wish){ { -1, -1, -1 }, "any" };
    }
}

static bool granted(const struct wish *wish, int64_t extent)
{
    return wish->extents[0] < 0 || extent == wish->extents[0] || extent == wish->extents[1] ||
           extent == wish->extents[2];
}

/* Begins of queries are the batch: every item its own sequence. */
static bool is_query_begins(const struct heed_check_use *use)
{
    return use->kind == HEED_USE_BEGINS && use->level == HEED_LEVEL_DESC;
}

static heed_status use_shape(struct heed_check *c, const struct heed_check_use *use)
{
    const struct use_row *row = &use_rows[use->kind];
    const heed_tensor *t = tensor_of(c, use);
    char path[HEED_CHECK_PATH], slot[HEED_CHECK_PATH], why[128];
    int64_t shape[6], stride[6];

    heed_check_use_path(use, path);
    snprintf(slot, sizeof(slot), "slots[%u].t", (unsigned)(use->slot - 1));
    heed_check_place(t, row->trailing, 6, shape, stride);
    for (uint32_t a = 0; a < 3; a++) {
        const int64_t wanted = row->batch ? c->out->batch[a] : 1;

        if (shape[a] == wanted || (shape[a] == 1 && !is_query_begins(use)))
            continue;
        snprintf(why, sizeof(why), "batch axis of %s", path);
        return heed_check_shape_fail(c, slot, t, row->trailing, 6, a, wanted, why);
    }
    for (uint32_t a = 0; a < row->trailing; a++) {
        const uint32_t axis = 6 - row->trailing + a;
        const struct wish wish = wish_for(c, use, row->axes[axis - 3]);

        if (granted(&wish, shape[axis]))
            continue;
        snprintf(why, sizeof(why), "%s (%s)", wish.why, path);
        return heed_check_shape_fail(c, slot, t, row->trailing, 6, axis, wish.extents[0], why);
    }
    heed_check_slots_place(c, use, t);
    return HEED_OK;
}

heed_status heed_check_slots_shape(struct heed_check *c)
{
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < c->n_uses && status >= 0; i++)
        status = use_shape(c, &c->uses[i]);
    return status;
}

void heed_check_slots_place(const struct heed_check *c, const struct heed_check_use *use,
                            const heed_tensor *t)
{
    heed_check_place(t, use_rows[use->kind].trailing, 6, use->aux->shape, use->aux->stride);
    for (int a = 0; a < 3; a++) {
        if (use->aux->shape[a] == 1)
            use->aux->shape[a] = c->out->batch[a];
    }
}

heed_status heed_check_slots_dtype(struct heed_check *c)
{
    heed_status status = HEED_OK;

    for (uint32_t i = 0; i < c->n_uses && status >= 0; i++) {
        char slot[HEED_CHECK_PATH];

        snprintf(slot, sizeof(slot), "slots[%u].t", (unsigned)(c->uses[i].slot - 1));
        status = heed_check_dtype_in(c, slot, tensor_of(c, &c->uses[i])->dtype,
                                     use_rows[c->uses[i].kind].set);
    }
    return status;
}
