/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Gated updates of a memory.
 */
#include "arrays.h"

#include <heed/memory.h>

#include <stddef.h>

/* clang-format off */
static const struct heed_array_row gate_arrays[] = {
    [HK_GATE_MEMORY] = HEED_ARRAY_ROW(gate, memory, "BHND", IN, FLOATS, 1),
    [HK_GATE_UPDATE] = HEED_ARRAY_ROW(gate, update, "BHND", IN, FLOATS, 1),
    [HK_GATE_GATE] = HEED_ARRAY_ROW(gate, gate, "BHND", IN, FLOATS, 1),
    [HK_GATE_Y] = HEED_ARRAY_ROW(gate, y, "BHND", OUT, FLOATS, 1),
};
/* clang-format on */

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 432, ARGS_V1 = 112 };
_Static_assert(sizeof(heed_gate_desc) == DESC_V1, "heed_gate_desc may only grow");
_Static_assert(sizeof(heed_gate_args) == ARGS_V1, "heed_gate_args may only grow");

static const struct heed_array_table arrays =
    HEED_ARRAY_TABLE(gate, DESC_V1, ARGS_V1, HEED_GATE_KEEPS, offsetof(heed_gate_desc, reserved));

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_gate_desc desc;
    struct heed_arrays a;
    struct hk_gate *gate;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = heed_arrays_lay(&a);
    if (status < 0)
        return status;
    heed_arrays_in_place(&a, HK_GATE_Y, HK_GATE_MEMORY);
    gate = a.numbers;
    gate->d = heed_arrays_extent(&a, 'D');
    gate->keeps = (desc.flags & HEED_GATE_KEEPS) != 0;
    return heed_arrays_row_strips(&a, gate->d, desc.memory.dtype);
}

/* Two functions have about twenty steps each. */
static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    *flops = heed_arrays_whole(40 * heed_arrays_elements(plan, HK_GATE_Y));
    *bytes = heed_arrays_once(plan);
}

const struct heed_op heed_op_gate = {
    .id = HEED_OP_GATE,
    .name = "gate",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_gate_check(heed_device *device, const heed_gate_desc *desc, heed_report *report)
{
    return heed_op_check(&heed_op_gate, device, desc, report);
}

heed_status heed_gate_plan(heed_device *device, const heed_gate_desc *desc, heed_plan **out,
                           heed_report *report)
{
    return heed_op_plan(&heed_op_gate, device, desc, out, report);
}

heed_status heed_gate_run(const heed_plan *plan, heed_queue *queue, const heed_gate_args *args,
                          heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_gate, plan, queue, args, event, report);
}
