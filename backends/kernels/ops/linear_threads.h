/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear for the threads of a work-group: tiles of HK_TILE rows and as many outputs, a slice of
 * terms at a time, which all threads bring into shared memory; each thread has HK_OWN_SUMS rows and
 * as many outputs of the tile, whose sums stay in its registers. A slice is two steps with a
 * barrier behind each: it comes, its products are made.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_LINEAR_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_LINEAR_THREADS_H

#define HK_HAS_SHARED 1

#define HK_TILE 32              /* rows, and outputs */
#define HK_SLICE 32             /* terms */
#define HK_OWN_SUMS 4           /* rows, and outputs, of a thread */
#define HK_ACROSS (HK_TILE / HK_OWN_SUMS)

#if HK_ACROSS * HK_ACROSS != HK_THREADS
#error "threads share the sums of a tile"
#endif

/* Lines are of an odd length, so that threads write different banks of the memory. */
struct hk_shared {
    float x[HK_SLICE][HK_TILE + 1], w[HK_SLICE][HK_TILE + 1];
};

/* What a thread keeps from step to step: the sums of a block, and those of the blocks before. */
struct hk_linear_sums {
    float chain[HK_OWN_SUMS][HK_OWN_SUMS], total[HK_OWN_SUMS][HK_OWN_SUMS];
};

/* A slice of a tile: its first row and output, counted in those of the task, its terms. */
struct hk_linear_slice {
    hk_i64 row, output, first, end;
};

/* Rows and outputs of a thread in its tile. */
HK_FN hk_i64 hk_own_row(hk_i64 id, int i)
{
    return id / HK_ACROSS * HK_OWN_SUMS + i;
}

HK_FN hk_i64 hk_own_output(hk_i64 id, int k)
{
    return id % HK_ACROSS + (hk_i64)k * HK_ACROSS;
}

/* ---- a slice comes ---- */

/* A term of row i of y; +0 where the tap is absent. */
HK_FN float hk_linear_x(const struct hk_linear_task *task, hk_i64 i,
                        const struct hk_linear_run *run)
{
    const hk_i64 row = i * task->numbers->stride - task->numbers->before + run->tap;

    if (row < 0 || row >= task->numbers->n)
        return 0.0f;
    return hk_element(task->x.dtype, hk_row(&task->x, row), run->channel * task->x.channel);
}

HK_FN float hk_linear_w(const struct hk_linear_task *task, hk_i64 o,
                        const struct hk_linear_run *run)
{
    return hk_element(task->w_dtype, task->w,
                      o * task->w_out + run->tap * task->w_tap + run->channel * task->w_channel);
}

HK_FN void hk_linear_bring(const struct hk_linear_task *task, const struct hk_linear_slice *slice,
                           hk_i64 id, HK_LOCAL struct hk_shared *shared)
{
    hk_i64 e;

    for (e = id; e < HK_TILE * HK_SLICE; e += HK_THREADS) {
        const hk_i64 line = e / HK_SLICE, t = e % HK_SLICE;
        float x = 0.0f, w = 0.0f;

        if (slice->first + t < slice->end) {
            const struct hk_linear_run run =
                hk_linear_run_get(task->numbers, slice->first + t, slice->end);

            if (slice->row + line < task->strip.count)
                x = hk_linear_x(task, task->strip.first + slice->row + line, &run);
            if (slice->output + line < task->outs)
                w = hk_linear_w(task, task->at + slice->output + line, &run);
        }
        shared->x[t][line] = x;
        shared->w[t][line] = w;
    }
}

/* ---- its products ---- */

/* masked: some row lacks taps for some terms. */
HK_INLINE void hk_linear_products(const struct hk_linear_slice *slice, hk_i64 id,
                                  const struct hk_linear_span *spans, const int masked,
                                  HK_LOCAL const struct hk_shared *shared,
                                  struct hk_linear_sums *sums)
{
    const hk_i64 n = slice->end - slice->first;
    hk_i64 t;
    int i, k;

    for (t = 0; t < n; t++) {
        const hk_i64 u = slice->first + t;

        HK_UNROLL
        for (i = 0; i < HK_OWN_SUMS; i++) {
            const float x = shared->x[t][hk_own_row(id, i)];

            HK_UNROLL
            for (k = 0; k < HK_OWN_SUMS; k++) {
                const float s =
                    hk_fma(shared->w[t][hk_own_output(id, k)], x, sums->chain[i][k]);

                if (!masked || (u >= spans[i].first && u < spans[i].end))
                    sums->chain[i][k] = s;
            }
        }
    }
}

/* A block ends: where a row has a term of it, its sum joins those before. */
HK_FN void hk_linear_block_end(const struct hk_linear_slice *slice,
                               const struct hk_linear_span *spans, struct hk_linear_sums *sums)
{
    const hk_i64 begin = (slice->end - 1) / HK_LINEAR_BLOCK * HK_LINEAR_BLOCK;
    int i, k;

    HK_UNROLL
    for (i = 0; i < HK_OWN_SUMS; i++) {
        const int some = spans[i].first < slice->end && spans[i].end > begin;

        HK_UNROLL
        for (k = 0; k < HK_OWN_SUMS; k++) {
            if (some)
                sums->total[i][k] = hk_add(sums->total[i][k], sums->chain[i][k]);
            sums->chain[i][k] = 0.0f;
        }
    }
}

/* Sums of nothing: -0, to which a block's is added without a rounding. */
HK_FN void hk_linear_start(struct hk_linear_sums *sums)
{
    int i, k;

    HK_UNROLL
    for (i = 0; i < HK_OWN_SUMS; i++) {
        HK_UNROLL
        for (k = 0; k < HK_OWN_SUMS; k++) {
            sums->chain[i][k] = 0.0f;
            sums->total[i][k] = -0.0f;
        }
    }
}

HK_FN void hk_linear_multiply(const struct hk_linear_task *task,
                              const struct hk_linear_slice *slice, hk_i64 id,
                              HK_LOCAL const struct hk_shared *shared, struct hk_linear_sums *sums)
{
    const hk_i64 last = task->strip.count - 1; /* of what is behind it nothing is written */
    struct hk_linear_span spans[HK_OWN_SUMS];
    int masked = 0, i;

    if (slice->first >= slice->end)
        return;
    HK_UNROLL
    for (i = 0; i < HK_OWN_SUMS; i++) {
        spans[i] = hk_linear_span_get(
            task->numbers, task->strip.first + hk_min(slice->row + hk_own_row(id, i), last));
        masked |= spans[i].first > slice->first || spans[i].end < slice->end;
    }
    if (masked)
        hk_linear_products(slice, id, spans, 1, shared, sums);
    else
        hk_linear_products(slice, id, spans, 0, shared, sums);
    if (slice->end % HK_LINEAR_BLOCK == 0 || slice->end == task->terms)
        hk_linear_block_end(slice, spans, sums);
}

/* ---- the way out ---- */

HK_FN void hk_linear_write(const struct hk_linear_task *task, hk_i64 row, hk_i64 output, float s)
{
    const hk_i64 i = task->strip.first + row, o = task->at + output;

    if (row >= task->strip.count || output >= task->outs)
        return;
    if (task->bias)
        s = hk_add(s, hk_element(task->bias_dtype, task->bias, o * task->bias_step));
    if (task->add.base)
        s = hk_add(s, hk_element(task->add.dtype, hk_row(&task->add, i), o * task->add.channel));
    hk_put(task->y.dtype, hk_row(&task->y, i), o * task->y.channel,
           hk_linear_act(task, s));
}

HK_FN void hk_linear_leave(const struct hk_linear_task *task, const struct hk_linear_slice *slice,
                           hk_i64 id, const struct hk_linear_sums *sums)
{
    int i, k;

    HK_UNROLL
    for (i = 0; i < HK_OWN_SUMS; i++) {
        HK_UNROLL
        for (k = 0; k < HK_OWN_SUMS; k++)
            hk_linear_write(task, slice->row + hk_own_row(id, i),
                            slice->output + hk_own_output(id, k), sums->total[i][k]);
    }
}

/* ---- tasks ---- */

/* Slices of a tile, and tiles of a task, the same for all tasks. */
struct hk_linear_steps {
    hk_i64 slices, across, all;
};

HK_FN struct hk_linear_steps hk_linear_steps_get(HK_GLOBAL const struct hk_linear *numbers)
{
    struct hk_linear_steps steps;

    steps.slices = hk_max((numbers->taps * numbers->in + HK_SLICE - 1) / HK_SLICE, 1);
    steps.across = (numbers->width + HK_TILE - 1) / HK_TILE;
    steps.all = (numbers->strip.run + HK_TILE - 1) / HK_TILE * steps.across * steps.slices * 2;
    return steps;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    const struct hk_linear_steps steps = hk_linear_steps_get(HK_NUMBERS(call, struct hk_linear));
    struct hk_linear_sums mine[HK_MINE];
    struct hk_steps at;
    HK_THREAD_ID(id);

    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        const hk_i64 n = at.step / 2 % steps.slices, tile = at.step / 2 / steps.slices;
        struct hk_linear_task task;
        struct hk_linear_slice slice;

        hk_linear_open(call, at.task, &task);
        slice.row = tile / steps.across * HK_TILE;
        slice.output = tile % steps.across * HK_TILE;
        slice.first = n * HK_SLICE;
        slice.end = hk_min(slice.first + HK_SLICE, task.terms);
        HK_EACH(id)
        {
            if (at.step % 2 == 0) {
                if (n == 0)
                    hk_linear_start(&mine[HK_OWN(id)]);
                hk_linear_bring(&task, &slice, id, shared);
            } else {
                hk_linear_multiply(&task, &slice, id, shared, &mine[HK_OWN(id)]);
                if (n == steps.slices - 1)
                    hk_linear_leave(&task, &slice, id, &mine[HK_OWN(id)]);
            }
        }
        HK_BARRIER();
        at = hk_steps_next(call, at, steps.all);
    }
}

#endif
