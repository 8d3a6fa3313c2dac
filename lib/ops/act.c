/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Activations, and what is multiplied by them or added.
 */
#include "arrays.h"

#include <heed/nn.h>

/* clang-format off */
static const struct heed_array_row act_arrays[] = {
    [HK_ACT_X] = HEED_ARRAY_ROW(act, x, "BHND", IN, FLOATS, 1),
    [HK_ACT_FACTOR] = HEED_ARRAY_ROW(act, factor, "BHND", IN, FLOATS, 0),
    [HK_ACT_ADD] = HEED_ARRAY_ROW(act, add, "BHND", IN, FLOATS, 0),
    [HK_ACT_Y] = HEED_ARRAY_ROW(act, y, "BHND", OUT, FLOATS, 1),
};
/* clang-format on */

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 432, ARGS_V1 = 112 };
_Static_assert(sizeof(heed_act_desc) == DESC_V1, "heed_act_desc may only grow");
_Static_assert(sizeof(heed_act_args) == ARGS_V1, "heed_act_args may only grow");

/* Kernels have the kinds by their own names, in this order. */
_Static_assert((int)HK_ACT_NONE == (int)HEED_ACT_NONE && (int)HK_ACT_GELU == (int)HEED_ACT_GELU &&
                   (int)HK_ACT_TANH == (int)HEED_ACT_TANH &&
                   (int)HK_ACT_INVERSE == (int)HEED_ACT_INVERSE,
               "HK_ACT_* are HEED_ACT_*");

static const struct heed_array_table arrays = HEED_ARRAY_TABLE(act, DESC_V1, ARGS_V1, 0, 0);

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_act_desc desc;
    struct heed_arrays a;
    struct hk_act *act;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = heed_arrays_limit(&a, "kind", desc.kind, HEED_ACT_NONE, HEED_ACT_INVERSE,
                                   "a kind of activation is wanted");
    if (status >= 0)
        status = heed_arrays_lay(&a);
    if (status < 0)
        return status;
    heed_arrays_in_place(&a, HK_ACT_Y, HK_ACT_X);
    act = a.numbers;
    act->d = heed_arrays_extent(&a, 'D');
    act->kind = desc.kind;
    return heed_arrays_row_strips(&a, act->d, desc.x.dtype);
}

/* A function has about twenty steps. */
static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    *flops = heed_arrays_whole(20 * heed_arrays_elements(plan, HK_ACT_Y));
    *bytes = heed_arrays_once(plan);
}

const struct heed_op heed_op_act = {
    .id = HEED_OP_ACT,
    .name = "act",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_act_check(heed_device *device, const heed_act_desc *desc, heed_report *report)
{
    return heed_op_check(&heed_op_act, device, desc, report);
}

heed_status heed_act_plan(heed_device *device, const heed_act_desc *desc, heed_plan **out,
                           heed_report *report)
{
    return heed_op_plan(&heed_op_act, device, desc, out, report);
}

heed_status heed_act_run(const heed_plan *plan, heed_queue *queue, const heed_act_args *args,
                          heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_act, plan, queue, args, event, report);
}
