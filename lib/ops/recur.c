/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent memories.
 */
#include "arrays.h"

#include "../core/error.h"

#include <heed/memory.h>

#include <float.h>

/* clang-format off */
static const struct heed_array_row recur_arrays[] = {
    [HK_RECUR_Q] = HEED_ARRAY_ROW(recur, q, "BGNK", IN, FLOATS, 0),
    [HK_RECUR_K] = HEED_ARRAY_ROW(recur, k, "BGNK", IN, FLOATS, 1),
    [HK_RECUR_V] = HEED_ARRAY_ROW(recur, v, "BHND", IN, FLOATS, 1),
    [HK_RECUR_DECAY] = HEED_ARRAY_ROW(recur, decay, "BHN", IN, FLOATS, 0),
    [HK_RECUR_BETA] = HEED_ARRAY_ROW(recur, beta, "BHN", IN, FLOATS, 0),
    [HK_RECUR_LEN] = HEED_ARRAY_ROW(recur, len, "B", IN, INTS, 0),
    [HK_RECUR_STATE] = HEED_ARRAY_ROW(recur, state, "BHKD", STATE, F32, 1),
    [HK_RECUR_O] = HEED_ARRAY_ROW(recur, o, "BHND", OUT, FLOATS, 0),
};
/* clang-format on */

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 856, ARGS_V1 = 176 };
_Static_assert(sizeof(heed_recur_desc) == DESC_V1, "heed_recur_desc may only grow");
_Static_assert(sizeof(heed_recur_args) == ARGS_V1, "heed_recur_args may only grow");

static const struct heed_array_table arrays =
    HEED_ARRAY_TABLE(recur, DESC_V1, ARGS_V1, HEED_RECUR_DELTA | HEED_RECUR_CHANNELS,
                     offsetof(heed_recur_desc, reserved));

#define CHANNELS_MAX ((int64_t)1 << 40)
/* Floats that a row of scratch is a multiple of; channels that a strip has at least. */
enum { VECTOR = 16, STRIP_MIN = 32 };
/* The launches of operations.def whose work-groups hold the state in registers. */
enum { KERNEL_DELTA = 1, KERNEL_LINE };
/* Of a work-group: channels of k that are held are a multiple of one of these; threads that share a
 * column at most, with so many channels each at least where they could be more; threads that a unit
 * of a device wants. */
enum { HELD_STEP = 4, DELTA_STEP = 16, THREADS_MOST = 8, PART_FEW = 16, UNIT_THREADS = 512 };

static heed_status numbers_check(const struct heed_arrays *a, const heed_recur_desc *d)
{
    heed_status status =
        heed_arrays_want(a, HK_RECUR_Q, heed_arrays_has(a, HK_RECUR_O), "q and o go together");

    if (status >= 0 && (d->flags & HEED_RECUR_CHANNELS))
        status = heed_arrays_want(a, HK_RECUR_DECAY, true, "HEED_RECUR_CHANNELS says so");
    if (status >= 0 && !(d->scale >= -(double)FLT_MAX && d->scale <= (double)FLT_MAX))
        status = heed_where_fail(&a->where, HEED_E_VALUE, "scale", 0, 0,
                                 "scale is finite, and binary32 has it");
    return status;
}

static heed_status extents_check(const struct heed_arrays *a)
{
    const int64_t heads = heed_arrays_extent(a, 'H'), groups = heed_arrays_extent(a, 'G');

    if (groups == 0 ? heads != 0 : heads % groups != 0)
        return heed_arrays_axis(a, HK_RECUR_V, 3, groups, "a multiple of the heads of k");
    if (heed_arrays_extent(a, 'K') > CHANNELS_MAX)
        return heed_where_fail(&a->where, HEED_E_UNSUPPORTED, "k.shape", CHANNELS_MAX,
                               heed_arrays_extent(a, 'K'), "more channels than are supported");
    return HEED_OK;
}

static void numbers_fill(const struct heed_arrays *a, const heed_recur_desc *d)
{
    const int64_t heads = heed_arrays_extent(a, 'H'), groups = heed_arrays_extent(a, 'G');
    struct hk_recur *recur = a->numbers;

    recur->n = heed_arrays_extent(a, 'N');
    recur->d_k = heed_arrays_extent(a, 'K');
    recur->share = heads > 0 ? heads / groups : 1;
    recur->scale = d->scale == 0 ? 1.0f : (float)d->scale;
    recur->delta = (d->flags & HEED_RECUR_DELTA) != 0;
    recur->channels = (d->flags & HEED_RECUR_CHANNELS) != 0;
}

/* Channels of v to a task: less where there would be too few tasks for all workers. */
static int64_t strip_find(const struct heed_arrays *a, int64_t channels)
{
    const double heads = (double)a->form->n_batch * (double)heed_arrays_extent(a, 'H');
    const double workers = a->plan->device ? (double)a->plan->device->props.width : 1;
    int64_t strip = HK_RECUR_STRIP;

    while (strip > STRIP_MIN && strip / 2 < channels &&
           heads * (double)((channels - 1) / strip + 1) < workers)
        strip /= 2;
    return strip;
}

/* Threads of a work-group to a column of the state, 0: it is not held in registers. With DELTA
 * there can be one alone; else as many as it takes, and more of them, for shorter chains, where
 * there would be too few groups for a device. */
static uint32_t threads_find(const struct heed_arrays *a, int64_t channels)
{
    const struct hk_recur *recur = a->numbers;
    const double columns = (double)a->form->n_batch * (double)heed_arrays_extent(a, 'H') *
                           (double)channels;
    const double width = a->plan->device ? (double)a->plan->device->props.width : 1;
    uint32_t threads = 1;

    if (recur->d_k == 0 || recur->d_k > HK_RECUR_HELD_MOST ||
        recur->d_k % (recur->delta ? DELTA_STEP : HELD_STEP) != 0)
        return 0;
    while (!recur->delta && threads < THREADS_MOST &&
           (recur->d_k > threads * HK_RECUR_HELD_PART ||
            (columns * threads < width * UNIT_THREADS && recur->d_k > threads * PART_FEW)))
        threads *= 2;
    return threads;
}

/* A worker holds the state of its channels, and beside it rows of a token. */
static heed_status tasks_find(struct heed_arrays *a)
{
    struct hk_recur *recur = a->numbers;
    const int64_t some = recur->d_k > 0 ? recur->d_k : 1; /* scratch has an address */
    const int64_t rows = (some + VECTOR - 1) / VECTOR * VECTOR;
    const bool nothing = recur->d_k == 0 && !heed_arrays_has(a, HK_RECUR_O);
    const int64_t channels = nothing ? 0 : heed_arrays_extent(a, 'D');
    const int64_t strip = strip_find(a, channels);

    recur->threads = threads_find(a, channels);
    if (recur->threads > 0) {
        a->form->lanes_alone = true;
        a->form->kernel = recur->delta ? KERNEL_DELTA : KERNEL_LINE;
        a->form->shares[0] =
            ((channels < strip ? channels : strip) * recur->threads - 1) / HK_RECUR_STRIP + 1;
    }
    a->form->scratch = rows * (HK_RECUR_STRIP + HK_RECUR_ROWS) * (int64_t)sizeof(float);
    return heed_arrays_strips(a, heed_arrays_extent(a, 'H'), channels, 1, strip);
}

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_recur_desc desc;
    struct heed_arrays a;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = numbers_check(&a, &desc);
    if (status < 0)
        return status;
    if (desc.flags & HEED_RECUR_CHANNELS)
        a.axes[HK_RECUR_DECAY] = "BHNK";
    status = heed_arrays_lay(&a);
    if (status >= 0)
        status = extents_check(&a);
    if (status < 0)
        return status;
    numbers_fill(&a, &desc);
    return tasks_find(&a);
}

/* For each token an element of the state takes 2 for k, 2 for q, 1 for the decay, 2 for DELTA. */
static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    const struct hk_recur *recur = heed_form_of(plan)->numbers;
    const bool decays = plan->operands[HK_RECUR_DECAY].view.dtype != 0;
    const bool reads = plan->operands[HK_RECUR_O].view.dtype != 0;
    const double each = 2 + (decays ? 1 : 0) + (reads ? 2 : 0) + (recur->delta ? 2 : 0);
    const double state = heed_arrays_elements(plan, HK_RECUR_STATE);

    *flops = heed_arrays_whole(each * (double)recur->n * state);
    *bytes = heed_arrays_whole((double)heed_arrays_once(plan) +
                               heed_arrays_bytes(plan, HK_RECUR_STATE, state));
}

const struct heed_op heed_op_recur = {
    .id = HEED_OP_RECUR,
    .name = "recur",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_recur_check(heed_device *device, const heed_recur_desc *desc, heed_report *report)
{
    return heed_op_check(&heed_op_recur, device, desc, report);
}

heed_status heed_recur_plan(heed_device *device, const heed_recur_desc *desc, heed_plan **out,
                            heed_report *report)
{
    return heed_op_plan(&heed_op_recur, device, desc, out, report);
}

heed_status heed_recur_run(const heed_plan *plan, heed_queue *queue, const heed_recur_args *args,
                           heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_recur, plan, queue, args, event, report);
}
