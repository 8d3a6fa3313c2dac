/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A memory of fixed size: rows are pushed in, and what falls out is returned.
 */
#include "arrays.h"

#include <heed/memory.h>

/* clang-format off */
static const struct heed_array_row push_arrays[] = {
    [HK_PUSH_ROWS] = HEED_ARRAY_ROW(push, rows, "BHCD", STATE, CACHED, 1),
    [HK_PUSH_HEAD] = HEED_ARRAY_ROW(push, head, "B", STATE, I64, 1),
    [HK_PUSH_LEN] = HEED_ARRAY_ROW(push, len, "B", STATE, I64, 1),
    [HK_PUSH_X] = HEED_ARRAY_ROW(push, x, "BHLD", IN, MOVED, 1),
    [HK_PUSH_X_LEN] = HEED_ARRAY_ROW(push, x_len, "B", IN, INTS, 0),
    [HK_PUSH_OUT] = HEED_ARRAY_ROW(push, out, "BHLD", OUT, CACHED, 0),
    [HK_PUSH_OUT_LEN] = HEED_ARRAY_ROW(push, out_len, "B", OUT, I64, 0),
    [HK_PUSH_ROWS_SCALE] = HEED_ARRAY_ROW(push, rows_scale, "BHC", STATE, SCALES, 0),
};
/* clang-format on */

/* Sizes of the first version, which ends before rows_scale, and of this one: both may only grow. */
enum { DESC_V1 = 744, ARGS_V1 = 160, DESC = 848, ARGS = 176 };
_Static_assert(offsetof(heed_push_desc, rows_scale) == DESC_V1, "the first version is frozen");
_Static_assert(offsetof(heed_push_args, rows_scale) == ARGS_V1, "the first version is frozen");
_Static_assert(sizeof(heed_push_desc) == DESC, "heed_push_desc may only grow");
_Static_assert(sizeof(heed_push_args) == ARGS, "heed_push_args may only grow");

static const struct heed_array_table arrays =
    HEED_ARRAY_TABLE(push, DESC_V1, ARGS_V1, 0, offsetof(heed_push_desc, reserved));

/* A strip moves about so many bytes. */
enum { STRIP_BYTES = 32768 };

/* Bits are copied, so that all rows are of one type, but for those that are quantised. */
static heed_status type_check(const struct heed_arrays *a, uint32_t array, const char *field,
                              uint32_t wanted)
{
    const uint32_t dtype = a->operands[array].view.dtype;

    if (dtype == 0 || dtype == wanted)
        return HEED_OK;
    return heed_where_fail(&a->where, HEED_E_DTYPE, field, wanted, dtype,
                           "%s, but the rows of the memory are %s", heed_dtype_name(dtype),
                           heed_dtype_name(wanted));
}

/* Is there no other way between the types of x and of the rows than bits? */
static bool moves(const struct heed_arrays *a, uint32_t rows)
{
    return heed_dtype_in(a->operands[HK_PUSH_X].view.dtype, HEED_SET_BLOCKS) ||
           (heed_dtype_in(rows, HEED_SET_BLOCKS) && !heed_dtype_in(rows, HEED_SET_QUANTISED));
}

static heed_status types_check(const struct heed_arrays *a, uint32_t rows)
{
    const bool may = !heed_dtype_in(rows, HEED_SET_FLOATS);
    const bool quantised = heed_arrays_has(a, HK_PUSH_ROWS_SCALE) ||
                           (may && a->operands[HK_PUSH_X].view.dtype != rows);
    heed_status status = heed_arrays_scaled(a, HK_PUSH_ROWS_SCALE, rows);

    if (status >= 0 && (!may || moves(a, rows)))
        status = type_check(a, HK_PUSH_X, "x.dtype", rows);
    if (status >= 0)
        status = type_check(a, HK_PUSH_OUT, "out.dtype", rows);
    if (status >= 0 && quantised && heed_arrays_has(a, HK_PUSH_OUT))
        return heed_where_fail(&a->where, HEED_E_UNSUPPORTED, "out", 0, 0,
                               "quantised rows of %s do not come out of a memory",
                               heed_dtype_name(rows));
    return status;
}

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_push_desc desc;
    struct heed_arrays a;
    struct hk_push *push;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = heed_arrays_lay(&a);
    if (status >= 0)
        status = types_check(&a, desc.rows.dtype);
    if (status < 0)
        return status;
    push = a.numbers;
    push->d = heed_arrays_extent(&a, 'D');
    push->capacity = heed_arrays_extent(&a, 'C');
    status = heed_arrays_strips(&a, heed_arrays_extent(&a, 'H'), heed_arrays_extent(&a, 'L'),
                                heed_arrays_row_bytes(push->d, desc.x.dtype), STRIP_BYTES);
    return status < 0 ? status : heed_arrays_pass(&a, a.form->n_batch);
}

/* Each new row is read and written once, with its scale, and so is each row that falls out. */
static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    const struct hk_push *push = heed_form_of(plan)->numbers;
    const double rows = heed_arrays_elements(plan, HK_PUSH_X);

    *flops = 0;
    *bytes = heed_arrays_whole(
        heed_arrays_bytes(plan, HK_PUSH_X, rows) + heed_arrays_bytes(plan, HK_PUSH_ROWS, rows) +
        heed_arrays_bytes(plan, HK_PUSH_ROWS_SCALE, rows / (double)(push->d > 0 ? push->d : 1)) +
        heed_arrays_bytes(plan, HK_PUSH_OUT, 2 * heed_arrays_elements(plan, HK_PUSH_OUT)));
}

const struct heed_op heed_op_push = {
    .id = HEED_OP_PUSH,
    .name = "push",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_push_check(heed_device *device, const heed_push_desc *desc, heed_report *report)
{
    return heed_op_check(&heed_op_push, device, desc, report);
}

heed_status heed_push_plan(heed_device *device, const heed_push_desc *desc, heed_plan **out,
                           heed_report *report)
{
    return heed_op_plan(&heed_op_push, device, desc, out, report);
}

heed_status heed_push_run(const heed_plan *plan, heed_queue *queue, const heed_push_args *args,
                          heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_push, plan, queue, args, event, report);
}
