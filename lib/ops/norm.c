/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Norms of rows.
 */
#include "arrays.h"

#include "../core/error.h"

#include <heed/nn.h>

#include <float.h>

/* clang-format off */
static const struct heed_array_row norm_arrays[] = {
    [HK_NORM_X] = HEED_ARRAY_ROW(norm, x, "BHND", IN, FLOATS, 1),
    [HK_NORM_RESIDUAL] = HEED_ARRAY_ROW(norm, residual, "BHND", IN, FLOATS, 0),
    [HK_NORM_WEIGHT] = HEED_ARRAY_ROW(norm, weight, "D", IN, FLOATS, 0),
    [HK_NORM_BIAS] = HEED_ARRAY_ROW(norm, bias, "D", IN, FLOATS, 0),
    [HK_NORM_Y] = HEED_ARRAY_ROW(norm, y, "BHND", OUT, FLOATS, 1),
    [HK_NORM_SUM] = HEED_ARRAY_ROW(norm, sum, "BHND", OUT, FLOATS, 0),
};
/* clang-format on */

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 648, ARGS_V1 = 144 };
_Static_assert(sizeof(heed_norm_desc) == DESC_V1, "heed_norm_desc may only grow");
_Static_assert(sizeof(heed_norm_args) == ARGS_V1, "heed_norm_args may only grow");

static const struct heed_array_table arrays = HEED_ARRAY_TABLE(norm, DESC_V1, ARGS_V1, 0, 0);

static heed_status numbers_check(const struct heed_arrays *a, const heed_norm_desc *d)
{
    heed_status status = heed_arrays_limit(a, "kind", d->kind, HEED_NORM_LAYER, HEED_NORM_RMS,
                                           "a kind of norm is wanted");

    if (status >= 0 && d->kind == HEED_NORM_RMS && heed_arrays_has(a, HK_NORM_BIAS))
        status = heed_arrays_want(a, HK_NORM_BIAS, false, "RMS has no bias");
    if (status >= 0 && !(d->eps >= 0 && d->eps <= (double)FLT_MAX))
        status = heed_where_fail(&a->where, HEED_E_VALUE, "eps", 0, 0,
                                 "eps is at least 0, and binary32 has it");
    return status;
}

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_norm_desc desc;
    struct heed_arrays a;
    struct hk_norm *norm;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = numbers_check(&a, &desc);
    if (status >= 0)
        status = heed_arrays_lay(&a);
    if (status < 0)
        return status;
    heed_arrays_in_place(&a, HK_NORM_Y, HK_NORM_X);
    heed_arrays_in_place(&a, HK_NORM_SUM, HK_NORM_RESIDUAL);
    norm = a.numbers;
    norm->d = heed_arrays_extent(&a, 'D');
    norm->eps = (float)desc.eps;
    norm->kind = desc.kind;
    return heed_arrays_row_strips(&a, norm->d, desc.x.dtype);
}

static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    *flops = heed_arrays_whole(6 * heed_arrays_elements(plan, HK_NORM_Y));
    *bytes = heed_arrays_once(plan);
}

const struct heed_op heed_op_norm = {
    .id = HEED_OP_NORM,
    .name = "norm",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_norm_check(heed_device *device, const heed_norm_desc *desc, heed_report *report)
{
    return heed_op_check(&heed_op_norm, device, desc, report);
}

heed_status heed_norm_plan(heed_device *device, const heed_norm_desc *desc, heed_plan **out,
                           heed_report *report)
{
    return heed_op_plan(&heed_op_norm, device, desc, out, report);
}

heed_status heed_norm_run(const heed_plan *plan, heed_queue *queue, const heed_norm_args *args,
                          heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_norm, plan, queue, args, event, report);
}
