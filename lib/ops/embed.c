/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows of tables by id, and their sum.
 */
#include "arrays.h"

#include "../core/error.h"

#include <heed/nn.h>

#include <float.h>

/* clang-format off */
static const struct heed_array_row embed_arrays[] = {
    [HK_EMBED_TABLE] = HEED_ARRAY_ROW(embed, table, "VD", IN, FLOATS, 1),
    [HK_EMBED_IDS] = HEED_ARRAY_ROW(embed, ids, "BhN", IN, INTS, 1),
    [HK_EMBED_POSITIONS] = HEED_ARRAY_ROW(embed, positions, "PD", IN, FLOATS, 0),
    [HK_EMBED_POS] = HEED_ARRAY_ROW(embed, pos, "BhN", IN, INTS, 0),
    [HK_EMBED_TYPES] = HEED_ARRAY_ROW(embed, types, "TD", IN, FLOATS, 0),
    [HK_EMBED_TYPE_IDS] = HEED_ARRAY_ROW(embed, type_ids, "BhN", IN, INTS, 0),
    [HK_EMBED_Y] = HEED_ARRAY_ROW(embed, y, "BHND", OUT, FLOATS, 1),
};
/* clang-format on */

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 760, ARGS_V1 = 160 };
_Static_assert(sizeof(heed_embed_desc) == DESC_V1, "heed_embed_desc may only grow");
_Static_assert(sizeof(heed_embed_args) == ARGS_V1, "heed_embed_args may only grow");

static const struct heed_array_table arrays =
    HEED_ARRAY_TABLE(embed, DESC_V1, ARGS_V1, 0, offsetof(heed_embed_desc, reserved));

static const int64_t position_max = INT64_C(1) << 62;

static heed_status numbers_check(const struct heed_arrays *a, const heed_embed_desc *d)
{
    const bool counted =
        heed_arrays_has(a, HK_EMBED_POSITIONS) && !heed_arrays_has(a, HK_EMBED_POS);
    const int64_t most = counted ? position_max : 0;

    if (!(d->scale >= -(double)FLT_MAX && d->scale <= (double)FLT_MAX))
        return heed_where_fail(&a->where, HEED_E_VALUE, "scale", 0, 0,
                               "scale is a number that binary32 has");
    return heed_arrays_limit(a, "pos0", d->pos0, -most, most,
                             counted ? "positions lie within 2^62"
                                     : "it is of `positions` without `pos`");
}

/* Ids need a table. */
static heed_status ids_check(const struct heed_arrays *a)
{
    heed_status status = HEED_OK;

    if (!heed_arrays_has(a, HK_EMBED_POSITIONS))
        status = heed_arrays_want(a, HK_EMBED_POS, false, "there is no `positions`");
    if (status >= 0 && !heed_arrays_has(a, HK_EMBED_TYPES))
        status = heed_arrays_want(a, HK_EMBED_TYPE_IDS, false, "there is no `types`");
    return status;
}

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_embed_desc desc;
    struct heed_arrays a;
    struct hk_embed *embed;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = ids_check(&a);
    if (status >= 0)
        status = numbers_check(&a, &desc);
    if (status >= 0)
        status = heed_arrays_lay(&a);
    if (status < 0)
        return status;
    embed = a.numbers;
    embed->d = heed_arrays_extent(&a, 'D');
    embed->tokens = heed_arrays_extent(&a, 'V');
    embed->positions = heed_arrays_extent(&a, 'P');
    embed->types = heed_arrays_extent(&a, 'T');
    embed->pos0 = desc.pos0;
    embed->scale = desc.scale == 0 ? 1.0f : (float)desc.scale;
    return heed_arrays_row_strips(&a, embed->d, desc.y.dtype);
}

/* Of a table at most the rows that it has. */
static double table_bytes(const struct heed_plan *plan, uint32_t array, double rows)
{
    const double all = heed_arrays_elements(plan, array);

    return heed_arrays_bytes(plan, array, rows < all ? rows : all);
}

static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    const double rows = heed_arrays_elements(plan, HK_EMBED_Y);
    double moved = heed_arrays_bytes(plan, HK_EMBED_Y, rows);

    for (uint32_t i = HK_EMBED_TABLE; i < HK_EMBED_Y; i++)
        moved += table_bytes(plan, i, rows);
    *flops = heed_arrays_whole(3 * rows);
    *bytes = heed_arrays_whole(moved);
}

const struct heed_op heed_op_embed = {
    .id = HEED_OP_EMBED,
    .name = "embed",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_embed_check(heed_device *device, const heed_embed_desc *desc, heed_report *report)
{
    return heed_op_check(&heed_op_embed, device, desc, report);
}

heed_status heed_embed_plan(heed_device *device, const heed_embed_desc *desc, heed_plan **out,
                            heed_report *report)
{
    return heed_op_plan(&heed_op_embed, device, desc, out, report);
}

heed_status heed_embed_run(const heed_plan *plan, heed_queue *queue, const heed_embed_args *args,
                           heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_embed, plan, queue, args, event, report);
}
