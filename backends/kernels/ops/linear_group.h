/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear for the threads of a work-group: tiles of rows and outputs, HK_SLICE terms of them at a
 * time. A thread loads its part of the next slice while it makes the products of the one before,
 * which lies in shared memory, widened and transposed; there are two of them, so that a slice is
 * one step with one barrier. Each thread has HK_OWN_X rows and HK_OWN_W outputs, four and four side
 * by side, whose sums stay in its registers.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_LINEAR_GROUP_H
#define HEED_BACKENDS_KERNELS_OPS_LINEAR_GROUP_H

#define HK_HAS_SHARED 1

/* Pass 0 has tiles as large as registers allow, passes 1 and 3 have small ones, of which there are
 * more. Intel's registers are of sub-groups, and fewer. */
#if HK_GROUP_SUMS < 32 || HK_LEAST_LANES
#define HK_OWN_X 4
#define HK_OWN_W 4
#elif HK_PASS == 1 || HK_PASS == 3
#define HK_OWN_X 8
#define HK_OWN_W 4
#elif HK_GROUP_SUMS < 64
#define HK_OWN_X 4
#define HK_OWN_W 8
#else
#define HK_OWN_X 8
#define HK_OWN_W 8
#endif

#define HK_SIDE_W 16            /* threads along a row of a tile */
#define HK_SIDE_X (HK_THREADS / HK_SIDE_W)
#define HK_TILE_X (HK_SIDE_X * HK_OWN_X)
#define HK_TILE_W (HK_SIDE_W * HK_OWN_W)
#define HK_SLICE 16             /* terms */
#define HK_HALF_SLICE (HK_SLICE / 2)
#define HK_SUMS (HK_OWN_X * HK_OWN_W)
#define HK_BLOCK_SLICES (HK_LINEAR_BLOCK / HK_SLICE)

/* Stretches of four terms that a thread brings. */
#define HK_QUADS_X (HK_TILE_X * HK_SLICE / HK_QUAD / HK_THREADS)
#define HK_QUADS_W (HK_TILE_W * HK_SLICE / HK_QUAD / HK_THREADS)

#if HK_THREADS != 256 && HK_THREADS != 128
#error "bits of threads' numbers are parted for so many"
#endif

/* Lines of terms, with a gap so that the threads of a wave write different banks. */
struct hk_shared {
    float x[2][HK_SLICE][HK_TILE_X + HK_QUAD], w[2][HK_SLICE][HK_TILE_W + HK_QUAD];
    struct hk_linear_task task;
};

/* What a thread keeps from step to step. */
struct hk_linear_mine {
    float chain[HK_SUMS], total[HK_SUMS];       /* sums of a block; of those before */
    struct hk_linear_raw x[HK_QUADS_X], w[HK_QUADS_W];  /* stretches on their way */
    HK_GLOBAL const char *x_at, *w_at;          /* the first of each, in the next slice */
    hk_i64 plain;               /* slices, from the first on, that are loaded at once */
    hk_i64 x_first, x_end;      /* those of which x has rows */
};

/* What is the same for all tasks. */
struct hk_linear_sizes {
    hk_i64 slices, taps;
    hk_u32 x_dtype, w_dtype, whole;
};

/* Where a group is: in a task the tile that begins at a row and an output, counted in those of the
 * task. Step 0 finds it and step 1 brings slice 0. Then slice n has step n + 2, which makes its
 * products and brings the next slice; and the last step writes the sums. */
struct hk_linear_walk {
    hk_i64 task, row, output, step;
};

#include "linear_group_slice.h"

/* ---- products of a slice ---- */

/* Term t of a slice. masks: terms that rows have, if some lack any. */
HK_INLINE void hk_linear_products(HK_LOCAL const float *x_from, HK_LOCAL const float *w_from,
                                  const hk_u32 *masks, hk_i32 t, const int masked, float *chain)
{
    float x[HK_OWN_X], w[HK_OWN_W];
    int i, k;

    HK_UNROLL
    for (i = 0; i < HK_OWN_X; i += 4)
        hk_local_get4(x_from + i / 4 * (HK_SIDE_X * 4), x + i);
    HK_UNROLL
    for (k = 0; k < HK_OWN_W; k += 4)
        hk_local_get4(w_from + k / 4 * (HK_SIDE_W * 4), w + k);
    HK_UNROLL
    for (i = 0; i < HK_OWN_X; i++) {
        HK_UNROLL
        for (k = 0; k < HK_OWN_W; k++) {
            const float s = hk_fma(w[k], x[i], chain[i * HK_OWN_W + k]);

            if (!masked || (masks[i] >> t & 1))
                chain[i * HK_OWN_W + k] = s;
        }
    }
}

/* Terms of the slice that row i of y has, a bit each. */
HK_FN hk_u32 hk_linear_mask(const struct hk_linear_task *task, hk_i64 i, hk_i64 u)
{
    const struct hk_linear_span span = hk_linear_span_get(task->numbers, i);
    const hk_i64 first = hk_max(span.first - u, 0), end = hk_min(span.end - u, HK_SLICE);

    if (first >= end)
        return 0;
    return (((hk_u32)1 << end) - 1) & ~(((hk_u32)1 << first) - 1);
}

/* Products of a slice in which some rows lack taps. */
HK_INLINE void hk_linear_multiply_masked(HK_LOCAL const struct hk_shared *shared,
                                         const struct hk_linear_walk *at, hk_i32 id,
                                         float *chain)
{
    const struct hk_linear_task task = shared->task;
    const hk_i64 slice = at->step - 2;
    hk_u32 masks[HK_OWN_X];
    int i;
    hk_i32 t;

    HK_UNROLL
    for (i = 0; i < HK_OWN_X; i++)
        masks[i] = hk_linear_mask(&task,
                                  task.strip.first + hk_min(at->row + hk_own_x(id, i),
                                                            task.strip.count - 1),
                                  slice * HK_SLICE);
    HK_NO_UNROLL
    for (t = 0; t < HK_SLICE; t++)
        hk_linear_products(&shared->x[slice & 1][t][hk_own_x(id, 0)],
                           &shared->w[slice & 1][t][hk_own_w(id, 0)], masks, t, 1, chain);
}

/* Half of a slice. */
HK_INLINE void hk_linear_multiply(HK_LOCAL const struct hk_shared *shared,
                                  const struct hk_linear_walk *at, hk_i32 id, hk_i32 first,
                                  float *chain)
{
    const hk_i32 part = (hk_i32)at->step & 1;
    HK_LOCAL const float *x = &shared->x[part][first][hk_own_x(id, 0)];
    HK_LOCAL const float *w = &shared->w[part][first][hk_own_w(id, 0)];
    hk_i32 t;

    HK_UNROLL
    for (t = 0; t < HK_HALF_SLICE; t++)
        hk_linear_products(x + t * (HK_TILE_X + HK_QUAD), w + t * (HK_TILE_W + HK_QUAD), 0, t, 0,
                           chain);
}

/* Have all rows of the tile all terms of the step's slice? Spans move on from row to row. */
HK_FN int hk_linear_full(HK_LOCAL const struct hk_shared *shared, const struct hk_linear_walk *at)
{
    const struct hk_linear_task task = shared->task;
    const hk_i64 u = (at->step - 2) * HK_SLICE, end = hk_min(u + HK_SLICE, task.terms);
    const hk_i64 first = task.strip.first + at->row;
    const hk_i64 last = task.strip.first + hk_min(at->row + HK_TILE_X, task.strip.count) - 1;

    return hk_linear_span_get(task.numbers, first).first <= u &&
           hk_linear_span_get(task.numbers, last).end >= end;
}

/* What was loaded, of a slice, goes to shared memory; the next one is asked for. */
HK_FN void hk_linear_bring(HK_LOCAL struct hk_shared *shared, const struct hk_linear_sizes *sizes,
                           const struct hk_linear_walk *at, hk_i64 slice, hk_i32 id,
                           struct hk_linear_mine *mine)
{
    if (slice < sizes->slices)
        hk_linear_put(shared, sizes, slice, id, mine);
    if (slice + 1 < sizes->slices)
        hk_linear_load(shared, sizes, at, slice + 1, id, mine);
}

/* The first step of a tile that has slices. */
HK_PIECE void hk_linear_first(HK_LOCAL struct hk_shared *shared,
                              const struct hk_linear_sizes *sizes,
                              const struct hk_linear_walk *at, hk_i32 id,
                              struct hk_linear_mine *mine)
{
    hk_linear_start(shared, at, id, mine);
    if (sizes->slices > 0)
        hk_linear_load(shared, sizes, at, 0, id, mine);
    hk_linear_bring(shared, sizes, at, 0, id, mine);
}

/* A slice. Between its halves, whose products hide how long that takes, the next one goes to shared
 * memory; the one behind that is on its way till then. One text for both halves: so much of it
 * stays near a multiprocessor. */
HK_PIECE void hk_linear_slice(HK_LOCAL struct hk_shared *shared,
                              const struct hk_linear_sizes *sizes,
                              const struct hk_linear_walk *at, hk_i32 id,
                              struct hk_linear_mine *mine)
{
    const int full = sizes->whole || hk_linear_full(shared, at);
    const hk_i64 next = at->step - 1;
    hk_i32 first;
    int i;

    HK_NO_UNROLL
    for (first = 0; first < HK_SLICE; first += HK_HALF_SLICE) {
        if (first > 0)
            hk_linear_bring(shared, sizes, at, next, id, mine);
        if (full)
            hk_linear_multiply(shared, at, id, first, mine->chain);
        else if (first == 0)
            hk_linear_multiply_masked(shared, at, id, mine->chain);
    }
    if (next % HK_BLOCK_SLICES == 0 || next == sizes->slices) {
        HK_UNROLL
        for (i = 0; i < HK_SUMS; i++) {
            mine->total[i] = hk_add(mine->total[i], mine->chain[i]);
            mine->chain[i] = 0.0f;
        }
    }
}

/* ---- the way out ---- */

/* Elements of one row, or of the bias, for a thread's outputs; those behind the last are 0. */
HK_INLINE void hk_linear_own_read(hk_u32 dtype, HK_GLOBAL const char *base, hk_i64 step,
                                  const struct hk_linear_task *task, hk_i64 first, hk_i32 id,
                                  float *out)
{
    int k;

    HK_UNROLL
    for (k = 0; k < HK_OWN_W; k++) {
        const hk_i64 output = first + hk_own_w(id, k);

        out[k] = 0.0f;
        if (output < task->outs)
            out[k] = hk_element(dtype, base, (task->at + output) * step);
    }
}

HK_FN void hk_linear_bias(const struct hk_linear_task *task, hk_i64 first, hk_i32 id, float *total)
{
    float bias[HK_OWN_W];
    int i, k;

#define HK_READ(type)                                                                              \
    hk_linear_own_read(type, task->bias, task->bias_step, task, first, id, bias)
    HK_BY(HK_FLOAT_TYPES, task->bias_dtype, HK_READ);
#undef HK_READ
    HK_UNROLL
    for (i = 0; i < HK_OWN_X; i++) {
        HK_UNROLL
        for (k = 0; k < HK_OWN_W; k++)
            total[i * HK_OWN_W + k] = hk_add(total[i * HK_OWN_W + k], bias[k]);
    }
}

/* The sums of the thread's first row go behind those of the last. */
HK_FN void hk_linear_turn(float *total)
{
    float first[HK_OWN_W];
    int k;

    HK_UNROLL
    for (k = 0; k < HK_OWN_W; k++)
        first[k] = total[k];
    HK_UNROLL
    for (k = 0; k < HK_SUMS - HK_OWN_W; k++)
        total[k] = total[k + HK_OWN_W];
    HK_UNROLL
    for (k = 0; k < HK_OWN_W; k++)
        total[HK_SUMS - HK_OWN_W + k] = first[k];
}

HK_FN void hk_linear_addend(const struct hk_linear_task *task, const struct hk_linear_walk *at,
                            hk_i32 id, float *total)
{
    hk_i32 i;
    int k;

    HK_NO_UNROLL
    for (i = 0; i < HK_OWN_X; i++) {
        const hk_i64 row = hk_min(at->row + hk_own_x(id, i), task->strip.count - 1);
        float add[HK_OWN_W];

#define HK_READ(type)                                                                              \
    hk_linear_own_read(type, hk_row(&task->add, task->strip.first + row), task->add.channel, task, \
                       at->output, id, add)
        HK_BY(HK_FLOAT_TYPES, task->add.dtype, HK_READ);
#undef HK_READ
        HK_UNROLL
        for (k = 0; k < HK_OWN_W; k++)
            total[k] = hk_add(total[k], add[k]);
        hk_linear_turn(total);
    }
}

/* Loops stand for one row each, whose sums are in front: an index of what lies in registers must be
 * known. */
HK_PIECE void hk_linear_leave(HK_LOCAL const struct hk_shared *shared,
                              const struct hk_linear_walk *at, hk_i32 id,
                              struct hk_linear_mine *mine)
{
    const struct hk_linear_task task = shared->task;
    hk_i32 i, q;
    int k;

    if (task.bias)
        hk_linear_bias(&task, at->output, id, mine->total);
    if (task.add.base)
        hk_linear_addend(&task, at, id, mine->total);
    HK_NO_UNROLL
    for (i = 0; i < HK_OWN_X; i++) {
        const hk_i64 row = at->row + hk_own_x(id, i);

        HK_NO_UNROLL
        for (q = 0; q < HK_OWN_W; q += 4) {
            const hk_i64 output = at->output + hk_own_w(id, q);

            HK_UNROLL
            for (k = 0; k < 4; k++) {
                if (row < task.strip.count && output + k < task.outs)
                    hk_put(task.y.dtype, hk_row(&task.y, task.strip.first + row),
                           (task.at + output + k) * task.y.channel,
                           hk_linear_act(&task, mine->total[k]));
            }
            HK_UNROLL
            for (k = 0; k < HK_SUMS - 4; k++)
                mine->total[k] = mine->total[k + 4];
        }
    }
}

/* ---- tasks ---- */

HK_FN struct hk_linear_walk hk_linear_next(const struct hk_call *call, struct hk_linear_walk at,
                                           hk_i64 steps)
{
    HK_GLOBAL const struct hk_linear_cut *cut = &HK_NUMBERS(call, struct hk_linear)->groups;

    at.step++;
    if (at.step < steps)
        return at;
    at.step = 0;
    at.output += HK_TILE_W;
    if (at.output < cut->width)
        return at;
    at.output = 0;
    at.row += HK_TILE_X;
    if (at.row < cut->strip.run)
        return at;
    at.row = 0;
    at.task += call->op->groups[HK_PASS];
    return at;
}

HK_FN void hk_linear_task_find(const struct hk_call *call, hk_i64 at,
                               HK_LOCAL struct hk_shared *shared)
{
    struct hk_linear_task task;

    hk_linear_open(call, at, &task);
    shared->task = task;
}

HK_FN struct hk_linear_sizes hk_linear_sizes_get(const struct hk_call *call)
{
    HK_GLOBAL const struct hk_linear *numbers = HK_NUMBERS(call, struct hk_linear);
    struct hk_linear_sizes sizes;

    sizes.slices = (numbers->taps * numbers->in + HK_SLICE - 1) / HK_SLICE;
    sizes.taps = numbers->taps;
    sizes.x_dtype = call->arrays[HK_LINEAR_X].dtype;
    sizes.w_dtype = call->arrays[HK_LINEAR_W].dtype;
    if (HK_IN_BLOCKS(sizes.w_dtype))
        sizes.w_dtype = HK_F32;
    sizes.whole = numbers->whole;
    return sizes;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    const struct hk_linear_sizes sizes = hk_linear_sizes_get(call);
    struct hk_linear_mine mine[HK_MINE];
    struct hk_linear_walk at;
    HK_THREAD_ID(id);

    at.task = group;
    at.row = at.output = at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        HK_EACH(id)
        {
            if (at.step > sizes.slices + 1)
                hk_linear_leave(shared, &at, id, &mine[HK_OWN(id)]);
            else if (at.step > 1)
                hk_linear_slice(shared, &sizes, &at, id, &mine[HK_OWN(id)]);
            else if (at.step == 1)
                hk_linear_first(shared, &sizes, &at, id, &mine[HK_OWN(id)]);
            else if (id == 0)
                hk_linear_task_find(call, at.task, shared);
        }
        HK_BARRIER();
        at = hk_linear_next(call, at, sizes.slices + 3);
    }
}

#endif
