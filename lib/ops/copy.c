/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Copies of rows.
 */
#include "../layouts/layouts.h"
#include "arrays.h"

#include <heed/memory.h>

/* clang-format off */
static const struct heed_array_row copy_arrays[] = {
    [HK_COPY_X] = HEED_ARRAY_ROW(copy, x, "BHSD", IN, MOVED, 1),
    [HK_COPY_Y] = HEED_ARRAY_ROW(copy, y, "BHTD", STATE, CACHED, 1),
    [HK_COPY_FROM] = HEED_ARRAY_ROW(copy, from, "BhN", IN, I32, 0),
    [HK_COPY_TO] = HEED_ARRAY_ROW(copy, to, "BhN", IN, I32, 0),
    [HK_COPY_AT] = HEED_ARRAY_ROW(copy, at, "B", IN, INTS, 0),
    [HK_COPY_HEAD] = HEED_ARRAY_ROW(copy, head, "B", IN, INTS, 0),
    [HK_COPY_TABLE] = HEED_ARRAY_ROW(copy, table, "BK", IN, I32, 0),
    [HK_COPY_LEN] = HEED_ARRAY_ROW(copy, len, "B", IN, INTS, 0),
    [HK_COPY_Y_SCALE] = HEED_ARRAY_ROW(copy, y_scale, "BHT", STATE, SCALES, 0),
};
/* clang-format on */

/* Sizes of the first version, which ends before y_scale, and of this one: both may only grow. */
enum { DESC_V1 = 848, ARGS_V1 = 176, DESC = 952, ARGS = 192 };
_Static_assert(offsetof(heed_copy_desc, y_scale) == DESC_V1, "the first version is frozen");
_Static_assert(offsetof(heed_copy_args, y_scale) == ARGS_V1, "the first version is frozen");
_Static_assert(sizeof(heed_copy_desc) == DESC, "heed_copy_desc may only grow");
_Static_assert(sizeof(heed_copy_args) == ARGS, "heed_copy_args may only grow");

static const struct heed_array_table arrays =
    HEED_ARRAY_TABLE(copy, DESC_V1, ARGS_V1, HEED_COPY_ZERO, offsetof(heed_copy_desc, reserved));

/* A strip moves about so many bytes: enough to begin with, and many for every worker. */
enum { STRIP_BYTES = 131072 };

static heed_status exclude(const struct heed_arrays *a)
{
    heed_status status = HEED_OK;

    if (heed_arrays_has(a, HK_COPY_TO))
        status = heed_arrays_want(a, HK_COPY_AT, false, "rows go to `to` or to `at` on");
    if (status >= 0 && heed_arrays_has(a, HK_COPY_HEAD))
        status = heed_arrays_want(a, HK_COPY_TABLE, false, "y is a ring or it has pages");
    return status;
}

/* How the rows of y lie, by the array that says so; y itself is always there. */
static const struct way {
    uint32_t array, layout;
    bool endless;
    const char *y, *y_scale;            /* axes */
} ways[] = {
    { HK_COPY_TABLE, HEED_LAYOUT_PAGED, false, "PHGD", "PHG" },
    { HK_COPY_HEAD, HEED_LAYOUT_RING, true, "BHTD", "BHT" },
    { HK_COPY_Y, HEED_LAYOUT_DENSE, false, "BHTD", "BHT" },
};

static const struct way *way_of(const struct heed_arrays *a)
{
    const struct way *way = ways;

    while (!heed_arrays_has(a, way->array))
        way++;
    return way;
}

/* Rows of so many pages; 2^62 stands for more. */
static int64_t rows_of(int64_t rows, int64_t pages)
{
    const int64_t most = INT64_C(1) << 62;

    return rows > 0 && pages > most / rows ? most : pages * rows;
}

/* Blocks are moved, or become floats; floats become some of them. */
static heed_status types_check(const struct heed_arrays *a, uint32_t x, uint32_t y)
{
    const bool from = heed_dtype_in(x, HEED_SET_BLOCKS), to = heed_dtype_in(y, HEED_SET_BLOCKS);
    uint32_t wanted = x;

    if (x == y || (!from && !to) || (!from && heed_dtype_in(y, HEED_SET_QUANTISED)) ||
        (!to && heed_dtype_in(y, HEED_SET_FLOATS)))
        return HEED_OK;
    if (!from)
        wanted = HEED_Q8_0;
    return heed_where_fail(&a->where, HEED_E_DTYPE, "y.dtype", wanted, y,
                           "rows of %s do not become %s", heed_dtype_name(x), heed_dtype_name(y));
}

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_copy_desc desc;
    struct heed_arrays a;
    struct hk_copy *copy;
    const struct way *way = NULL;
    bool listed;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = exclude(&a);
    if (status < 0)
        return status;
    way = way_of(&a);
    a.axes[HK_COPY_Y] = way->y;
    a.axes[HK_COPY_Y_SCALE] = way->y_scale;
    status = heed_arrays_lay(&a);
    if (status >= 0)
        status = heed_arrays_scaled(&a, HK_COPY_Y_SCALE, desc.y.dtype);
    if (status >= 0)
        status = types_check(&a, desc.x.dtype, desc.y.dtype);
    if (status < 0)
        return status;
    copy = a.numbers;
    listed = heed_arrays_has(&a, HK_COPY_FROM) || heed_arrays_has(&a, HK_COPY_TO);
    copy->d = heed_arrays_extent(&a, 'D');
    copy->x_rows = heed_arrays_extent(&a, 'S');
    copy->y_rows = a.operands[HK_COPY_Y].view.shape[4];
    copy->layout = heed_layout_find(way->layout)->lowered;
    copy->endless = way->endless;
    copy->n_pages = heed_arrays_extent(&a, 'P');
    copy->bound = rows_of(copy->y_rows, heed_arrays_extent(&a, 'K'));
    copy->zero = (desc.flags & HEED_COPY_ZERO) != 0;
    return heed_arrays_strips(&a, heed_arrays_extent(&a, 'H'),
                              heed_arrays_extent(&a, listed ? 'N' : 'S'),
                              heed_arrays_row_bytes(copy->d, desc.x.dtype), STRIP_BYTES);
}

/* Every row is read and written once, and so is its scale. */
static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    const struct heed_form *form = heed_form_of(plan);
    const struct hk_copy *copy = form->numbers;
    const double rows =
        (double)form->n_batch * (double)copy->strip.heads * (double)copy->strip.rows;
    const double elements = rows * (double)copy->d;

    *flops = 0;
    *bytes = heed_arrays_whole(heed_arrays_bytes(plan, HK_COPY_X, elements) +
                               heed_arrays_bytes(plan, HK_COPY_Y, elements) +
                               heed_arrays_bytes(plan, HK_COPY_Y_SCALE, rows));
}

const struct heed_op heed_op_copy = {
    .id = HEED_OP_COPY,
    .name = "copy",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_copy_check(heed_device *device, const heed_copy_desc *desc, heed_report *report)
{
    return heed_op_check(&heed_op_copy, device, desc, report);
}

heed_status heed_copy_plan(heed_device *device, const heed_copy_desc *desc, heed_plan **out,
                           heed_report *report)
{
    return heed_op_plan(&heed_op_copy, device, desc, out, report);
}

heed_status heed_copy_run(const heed_plan *plan, heed_queue *queue, const heed_copy_args *args,
                          heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_copy, plan, queue, args, event, report);
}
