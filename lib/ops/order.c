/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tokens sorted by an id.
 */
#include "arrays.h"

#include <heed/pool.h>

/* clang-format off */
static const struct heed_array_row order_arrays[] = {
    [HK_ORDER_IDS] = HEED_ARRAY_ROW(order, ids, "BhN", IN, INTS, 1),
    [HK_ORDER_LEN] = HEED_ARRAY_ROW(order, len, "B", IN, INTS, 0),
    [HK_ORDER_ORDER] = HEED_ARRAY_ROW(order, order, "BHN", OUT, INTS, 0),
    [HK_ORDER_PLACE] = HEED_ARRAY_ROW(order, place, "BHN", OUT, INTS, 0),
    [HK_ORDER_STARTS] = HEED_ARRAY_ROW(order, starts, "BHS", OUT, INTS, 0),
};
/* clang-format on */

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 544, ARGS_V1 = 128 };
_Static_assert(sizeof(heed_order_desc) == DESC_V1, "heed_order_desc may only grow");
_Static_assert(sizeof(heed_order_args) == ARGS_V1, "heed_order_args may only grow");

static const struct heed_array_table arrays =
    HEED_ARRAY_TABLE(order, DESC_V1, ARGS_V1, 0, offsetof(heed_order_desc, reserved));

/* PIECES: threads of a group on GPUs. COUNTS: entries of scratch, unless one piece needs more. */
enum { COUNT_MAX = 1 << 30, PIECES = 64, COUNTS = 1 << 20 };

static heed_status outputs_check(const struct heed_arrays *a, const heed_order_desc *d)
{
    heed_status status = heed_arrays_limit(a, "count", d->count, 1, COUNT_MAX, "from 1 to 2^30");

    if (status >= 0 && !heed_arrays_has(a, HK_ORDER_PLACE) && !heed_arrays_has(a, HK_ORDER_STARTS))
        status = heed_arrays_want(a, HK_ORDER_ORDER, true, "there is no output");
    return status;
}

static heed_status extents_check(const struct heed_arrays *a, const heed_order_desc *d)
{
    const int64_t n = heed_arrays_extent(a, 'N');
    heed_status status = HEED_OK;

    if (heed_arrays_has(a, HK_ORDER_STARTS))
        status = heed_arrays_axis(a, HK_ORDER_STARTS, 5, d->count + 1, "count + 1 starts");
    if (status >= 0 && n > INT32_MAX)
        status = heed_where_fail(&a->where, HEED_E_UNSUPPORTED, "ids.shape", INT32_MAX, n,
                                 "tokens are numbered below 2^31");
    return status;
}

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_order_desc desc;
    struct heed_arrays a;
    struct hk_order *order;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = outputs_check(&a, &desc);
    if (status >= 0)
        status = heed_arrays_lay(&a);
    if (status >= 0)
        status = extents_check(&a, &desc);
    if (status < 0)
        return status;
    order = a.numbers;
    order->n = heed_arrays_extent(&a, 'N');
    order->count = desc.count;
    order->pieces = COUNTS / (desc.count + 1);
    order->pieces = order->pieces < 1 ? 1 : order->pieces > PIECES ? PIECES : order->pieces;
    a.form->scratch = order->pieces * (desc.count + 1) * (int64_t)sizeof(int32_t);
    return heed_arrays_strips(&a, heed_arrays_extent(&a, 'H'), 1, 0, 0);
}

static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    *flops = 0;
    *bytes = heed_arrays_once(plan);
}

const struct heed_op heed_op_order = {
    .id = HEED_OP_ORDER,
    .name = "order",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_order_check(heed_device *device, const heed_order_desc *desc, heed_report *report)
{
    return heed_op_check(&heed_op_order, device, desc, report);
}

heed_status heed_order_plan(heed_device *device, const heed_order_desc *desc, heed_plan **out,
                            heed_report *report)
{
    return heed_op_plan(&heed_op_order, device, desc, out, report);
}

heed_status heed_order_run(const heed_plan *plan, heed_queue *queue, const heed_order_args *args,
                           heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_order, plan, queue, args, event, report);
}
