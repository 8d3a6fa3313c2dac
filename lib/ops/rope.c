/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rotary positions.
 */
#include "arrays.h"

#include <heed/nn.h>

#include <stdio.h>

/* clang-format off */
static const struct heed_array_row rope_arrays[] = {
    [HK_ROPE_X] = HEED_ARRAY_ROW(rope, x, "BHND", IN, FLOATS, 1),
    [HK_ROPE_COS] = HEED_ARRAY_ROW(rope, cos, "TR", IN, F32, 1),
    [HK_ROPE_SIN] = HEED_ARRAY_ROW(rope, sin, "TR", IN, F32, 1),
    [HK_ROPE_POS] = HEED_ARRAY_ROW(rope, pos, "BhN", IN, INTS, 0),
    [HK_ROPE_Y] = HEED_ARRAY_ROW(rope, y, "BHND", OUT, FLOATS, 1),
};
/* clang-format on */

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 544, ARGS_V1 = 128 };
_Static_assert(sizeof(heed_rope_desc) == DESC_V1, "heed_rope_desc may only grow");
_Static_assert(sizeof(heed_rope_args) == ARGS_V1, "heed_rope_args may only grow");

static const struct heed_array_table arrays = HEED_ARRAY_TABLE(rope, DESC_V1, ARGS_V1, 0, 0);

static const int64_t position_max = INT64_C(1) << 62;

static heed_status numbers_check(const struct heed_arrays *a, const heed_rope_desc *d)
{
    const int64_t most = heed_arrays_has(a, HK_ROPE_POS) ? 0 : position_max;
    const heed_status status =
        heed_arrays_limit(a, "kind", d->kind, HEED_ROPE_HALVES, HEED_ROPE_ADJACENT,
                          "a kind of pairs is wanted");

    return status < 0 ? status
                      : heed_arrays_limit(a, "pos0", d->pos0, -most, most,
                                          most ? "positions lie within 2^62"
                                               : "`pos` has the positions");
}

/* The channels of all pairs are there. */
static heed_status pairs_check(const struct heed_arrays *a, const heed_rope_desc *d)
{
    char name[HEED_CHECK_NAME];

    if (heed_arrays_extent(a, 'R') <= heed_arrays_extent(a, 'D') / 2)
        return HEED_OK;
    snprintf(name, sizeof(name), "cos.shape[%u]", (unsigned)(d->cos.ndim - 1));
    return heed_where_fail(&a->where, HEED_E_SHAPE, name, heed_arrays_extent(a, 'D') / 2,
                           heed_arrays_extent(a, 'R'), "a pair has two channels of x");
}

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_rope_desc desc;
    struct heed_arrays a;
    struct hk_rope *rope;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = numbers_check(&a, &desc);
    if (status >= 0)
        status = heed_arrays_lay(&a);
    if (status >= 0)
        status = pairs_check(&a, &desc);
    if (status < 0)
        return status;
    heed_arrays_in_place(&a, HK_ROPE_Y, HK_ROPE_X);
    rope = a.numbers;
    rope->d = heed_arrays_extent(&a, 'D');
    rope->pairs = heed_arrays_extent(&a, 'R');
    rope->positions = heed_arrays_extent(&a, 'T');
    rope->pos0 = desc.pos0;
    rope->kind = desc.kind;
    return heed_arrays_row_strips(&a, rope->d, desc.x.dtype);
}

static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    *flops = heed_arrays_whole(3 * heed_arrays_elements(plan, HK_ROPE_Y));
    *bytes = heed_arrays_once(plan);
}

const struct heed_op heed_op_rope = {
    .id = HEED_OP_ROPE,
    .name = "rope",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_rope_check(heed_device *device, const heed_rope_desc *desc, heed_report *report)
{
    return heed_op_check(&heed_op_rope, device, desc, report);
}

heed_status heed_rope_plan(heed_device *device, const heed_rope_desc *desc, heed_plan **out,
                           heed_report *report)
{
    return heed_op_plan(&heed_op_rope, device, desc, out, report);
}

heed_status heed_rope_run(const heed_plan *plan, heed_queue *queue, const heed_rope_args *args,
                          heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_rope, plan, queue, args, event, report);
}
