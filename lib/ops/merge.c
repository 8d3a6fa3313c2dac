/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Partial attentions joined.
 */
#include "arrays.h"

#include <heed/attn.h>

/* clang-format off */
static const struct heed_array_row merge_arrays[] = {
    [HK_MERGE_PARTS] = HEED_ARRAY_ROW(merge, parts, "PBHND", IN, FLOATS, 1),
    [HK_MERGE_PARTS_LSE] = HEED_ARRAY_ROW(merge, parts_lse, "PBHN", IN, F32, 1),
    [HK_MERGE_SINKS] = HEED_ARRAY_ROW(merge, sinks, "H", IN, FLOATS, 0),
    [HK_MERGE_O] = HEED_ARRAY_ROW(merge, o, "BHND", OUT, FLOATS, 1),
    [HK_MERGE_LSE] = HEED_ARRAY_ROW(merge, lse, "BHN", OUT, F32, 0),
};
/* clang-format on */

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 536, ARGS_V1 = 128 };
_Static_assert(sizeof(heed_merge_desc) == DESC_V1, "heed_merge_desc may only grow");
_Static_assert(sizeof(heed_merge_args) == ARGS_V1, "heed_merge_args may only grow");

static const struct heed_array_table arrays =
    HEED_ARRAY_TABLE(merge, DESC_V1, ARGS_V1, HEED_ATTN_LSE_WITH_SINK,
                     offsetof(heed_merge_desc, reserved));

/* A strip reads about so many bytes. */
enum { STRIP_BYTES = 32768 };

/* The axis of the parts takes the place of one of the batch. */
static heed_status axes_check(const struct heed_arrays *a, const heed_merge_desc *d)
{
    const heed_status status =
        heed_arrays_limit(a, "o.ndim", d->o.ndim, 0, 5, "at most two batch axes");

    return status < 0 ? status
                      : heed_arrays_limit(a, "lse.ndim", d->lse.ndim, 0, 4,
                                          "at most two batch axes");
}

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_merge_desc desc;
    struct heed_arrays a;
    struct hk_merge *merge;
    int64_t row;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = axes_check(&a, &desc);
    if (status >= 0)
        status = heed_arrays_lay(&a);
    if (status < 0)
        return status;
    merge = a.numbers;
    merge->d = heed_arrays_extent(&a, 'D');
    merge->parts = heed_arrays_extent(&a, 'P');
    merge->lse_with_sink = (desc.flags & HEED_ATTN_LSE_WITH_SINK) != 0;
    if (!heed_mul_i64(heed_arrays_row_bytes(merge->d, desc.parts.dtype),
                      merge->parts > 0 ? merge->parts : 1, &row))
        row = STRIP_BYTES;
    return heed_arrays_strips(&a, heed_arrays_extent(&a, 'H'), heed_arrays_extent(&a, 'N'), row,
                              STRIP_BYTES);
}

static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    *flops = heed_arrays_whole(2 * heed_arrays_elements(plan, HK_MERGE_PARTS));
    *bytes = heed_arrays_once(plan);
}

const struct heed_op heed_op_merge = {
    .id = HEED_OP_MERGE,
    .name = "merge",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_merge_check(heed_device *device, const heed_merge_desc *desc, heed_report *report)
{
    return heed_op_check(&heed_op_merge, device, desc, report);
}

heed_status heed_merge_plan(heed_device *device, const heed_merge_desc *desc, heed_plan **out,
                           heed_report *report)
{
    return heed_op_plan(&heed_op_merge, device, desc, out, report);
}

heed_status heed_merge_run(const heed_plan *plan, heed_queue *queue, const heed_merge_args *args,
                          heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_merge, plan, queue, args, event, report);
}
