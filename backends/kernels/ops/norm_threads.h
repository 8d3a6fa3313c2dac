/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * norm for the threads of a work-group: HK_NORM_TURN rows at a time, each by as many threads as
 * there are partial sums, so that neighbours read neighbouring channels and a thread's sum is a
 * partial one. A turn has three steps with a barrier behind each: the mean, the deviation, what is
 * written.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_NORM_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_NORM_THREADS_H

#define HK_HAS_SHARED 1

#define HK_NORM_TURN (HK_THREADS / HK_PARTIALS)

enum { HK_NORM_STEPS = 3 };

struct hk_shared {
    float sums[HK_NORM_TURN * HK_PARTIALS], squares[HK_NORM_TURN * HK_PARTIALS];
};

/* The tree over the partial sums of row r, over d. */
HK_FN float hk_norm_mean(const struct hk_rows_norm *norm, HK_LOCAL const float *sums, hk_i64 r)
{
    float part[HK_PARTIALS / 2];
    int i;

    /* Loops of constant length: sums stay in registers. */
    HK_UNROLL
    for (i = 0; i < HK_PARTIALS / 2; i++)
        part[i] = hk_add(sums[r * HK_PARTIALS + i], sums[r * HK_PARTIALS + i + HK_PARTIALS / 2]);
    HK_UNROLL
    for (i = 0; i < HK_PARTIALS / 4; i++)
        part[i] = hk_add(part[i], part[i + HK_PARTIALS / 4]);
    HK_UNROLL
    for (i = 0; i < HK_PARTIALS / 8; i++)
        part[i] = hk_add(part[i], part[i + HK_PARTIALS / 8]);
    part[0] = hk_add(part[0], part[1]);
    return hk_mul(part[0], norm->part);
}

HK_INLINE void hk_norm_step(hk_u32 dtype, const struct hk_rows_norm *norm, hk_i64 i, hk_i64 id,
                            hk_i64 step, HK_LOCAL struct hk_shared *shared)
{
    const struct hk_norm_row row = hk_norm_row_get(norm, i);
    const int rms = norm->numbers->kind == HK_NORM_RMS;
    float centre = 0.0f, factor = 0.0f, sum = 0.0f;
    hk_i64 t;

    if (step > 0 && !rms)
        centre = hk_norm_mean(norm, shared->sums, id / HK_PARTIALS);
    if (step == 2)
        factor = hk_inverse_root(hk_add(hk_norm_mean(norm, shared->squares, id / HK_PARTIALS),
                                        norm->numbers->eps));
    for (t = id % HK_PARTIALS; t < row.d && !(step == 0 && rms); t += HK_PARTIALS) {
        const float x = hk_norm_read(dtype, norm, &row, t);
        const float c = hk_norm_apart(norm, x, centre);

        if (step == 2)
            hk_norm_write(norm, i, x, centre, factor, t);
        else
            sum = step == 1 ? hk_fma(c, c, sum) : hk_add(sum, x);
    }
    if (step == 0)
        shared->sums[id] = sum;
    if (step == 1)
        shared->squares[id] = sum;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    const hk_i64 run = HK_NUMBERS(call, struct hk_norm)->strip.run;
    const hk_i64 steps = (run + HK_NORM_TURN - 1) / HK_NORM_TURN * HK_NORM_STEPS;
    struct hk_steps at;
    HK_THREAD_ID(id);

    if (HK_NUMBERS(call, struct hk_norm)->d == 0) /* any number of rows */
        return;
    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        struct hk_rows_norm norm;

        hk_norm_open(call, at.task, &norm);
        HK_EACH(id)
        {
            const hk_i64 i = at.step / HK_NORM_STEPS * HK_NORM_TURN + id / HK_PARTIALS;

#define HK_STEP(type)                                                                              \
    hk_norm_step(type, &norm, norm.strip.first + i, id, at.step % HK_NORM_STEPS, shared)
            if (i < norm.strip.count)
                HK_BY(HK_FLOAT_TYPES, norm.x.dtype, HK_STEP);
#undef HK_STEP
        }
        HK_BARRIER();
        at = hk_steps_next(call, at, steps);
    }
}

#endif
