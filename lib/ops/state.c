/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * States of attention joined and ended.
 */
#include "arrays.h"

#include <heed/attn.h>

#include <stdio.h>

/* clang-format off */
static const struct heed_array_row state_arrays[] = {
    [HK_STATE_STATES] = HEED_ARRAY_ROW(state, states, "PBHNS", IN, F32, 1),
    [HK_STATE_SINKS] = HEED_ARRAY_ROW(state, sinks, "H", IN, FLOATS, 0),
    [HK_STATE_O] = HEED_ARRAY_ROW(state, o, "BHND", OUT, FLOATS, 0),
    [HK_STATE_LSE] = HEED_ARRAY_ROW(state, lse, "BHN", OUT, F32, 0),
    [HK_STATE_STATE] = HEED_ARRAY_ROW(state, state, "BHNS", OUT, F32, 0),
};
/* clang-format on */

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 536, ARGS_V1 = 128 };
_Static_assert(sizeof(heed_state_desc) == DESC_V1, "heed_state_desc may only grow");
_Static_assert(sizeof(heed_state_args) == ARGS_V1, "heed_state_args may only grow");

static const struct heed_array_table arrays = HEED_ARRAY_TABLE(
    state, DESC_V1, ARGS_V1, HEED_ATTN_LSE_WITH_SINK, offsetof(heed_state_desc, reserved));

/* A strip reads about so many bytes. */
enum { STRIP_BYTES = 32768 };

/* The axis of the states takes the place of one of the batch. */
static heed_status axes_check(const struct heed_arrays *a, const heed_state_desc *d)
{
    heed_status status = heed_arrays_limit(a, "o.ndim", d->o.ndim, 0, 5, "at most two batch axes");

    if (status >= 0)
        status = heed_arrays_limit(a, "lse.ndim", d->lse.ndim, 0, 4, "at most two batch axes");
    return status < 0
               ? status
               : heed_arrays_limit(a, "state.ndim", d->state.ndim, 0, 5, "at most two batch axes");
}

/* Some output; sinks where a row ends. */
static heed_status outputs_check(const struct heed_arrays *a)
{
    const bool ends = heed_arrays_has(a, HK_STATE_O) || heed_arrays_has(a, HK_STATE_LSE);

    if (!ends && heed_arrays_has(a, HK_STATE_SINKS))
        return heed_arrays_want(a, HK_STATE_SINKS, false, "sinks join rows that end: o or lse");
    return ends || heed_arrays_has(a, HK_STATE_STATE)
               ? HEED_OK
               : heed_arrays_want(a, HK_STATE_O, true, "there is no output");
}

/* d: the channels behind the sums. */
static heed_status channels_check(const struct heed_arrays *a, const heed_state_desc *desc,
                                  int64_t *d)
{
    char name[HEED_CHECK_NAME];
    heed_status status;

    snprintf(name, sizeof(name), "states.shape[%u]", (unsigned)(desc->states.ndim - 1));
    status = heed_arrays_limit(a, name, heed_arrays_extent(a, 'S'), HEED_STATE_SUMS, INT64_MAX,
                               "a state has 18 channels before those of o");
    *d = heed_arrays_extent(a, 'S') - HEED_STATE_SUMS;
    if (status < 0 || !heed_arrays_has(a, HK_STATE_O))
        return status;
    return heed_arrays_axis(a, HK_STATE_O, 5, *d, "a state has 18 channels more than o");
}

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_state_desc desc;
    struct heed_arrays a;
    struct hk_state *state;
    int64_t row;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = axes_check(&a, &desc);
    if (status >= 0)
        status = outputs_check(&a);
    if (status >= 0)
        status = heed_arrays_lay(&a);
    state = a.numbers;
    if (status >= 0)
        status = channels_check(&a, &desc, &state->d);
    if (status < 0)
        return status;
    state->parts = heed_arrays_extent(&a, 'P');
    state->lse_with_sink = (desc.flags & HEED_ATTN_LSE_WITH_SINK) != 0;
    if (!heed_mul_i64(heed_arrays_row_bytes(heed_arrays_extent(&a, 'S'), HEED_F32),
                      state->parts > 0 ? state->parts : 1, &row))
        row = STRIP_BYTES;
    return heed_arrays_strips(&a, heed_arrays_extent(&a, 'H'), heed_arrays_extent(&a, 'N'), row,
                              STRIP_BYTES);
}

static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    *flops = heed_arrays_whole(2 * heed_arrays_elements(plan, HK_STATE_STATES));
    *bytes = heed_arrays_once(plan);
}

const struct heed_op heed_op_state = {
    .id = HEED_OP_STATE,
    .name = "state",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_state_check(heed_device *device, const heed_state_desc *desc, heed_report *report)
{
    return heed_op_check(&heed_op_state, device, desc, report);
}

heed_status heed_state_plan(heed_device *device, const heed_state_desc *desc, heed_plan **out,
                            heed_report *report)
{
    return heed_op_plan(&heed_op_state, device, desc, out, report);
}

heed_status heed_state_run(const heed_plan *plan, heed_queue *queue, const heed_state_args *args,
                           heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_state, plan, queue, args, event, report);
}
