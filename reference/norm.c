/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * norm: rows over their deviation or their root mean square (heed/nn.h; docs/numerics.md, section
 * 12). Channel t is a term of partial sum t mod 16.
 */
#include "array.h"
#include "numerics.h"
#include "operations.h"

#include <math.h>

struct norm {
    struct heed_ref_arrays arrays;
    const struct hk_norm *numbers;
    int64_t head, row; /* at hand */
};

static float channel_of(const struct norm *n, int64_t t)
{
    float x = heed_ref_float(&n->arrays, HK_NORM_X,
                             heed_ref_offset(&n->arrays, HK_NORM_X, n->head, n->row, t));

    if (heed_ref_has(&n->arrays, HK_NORM_RESIDUAL))
        x += heed_ref_float(&n->arrays, HK_NORM_RESIDUAL,
                            heed_ref_offset(&n->arrays, HK_NORM_RESIDUAL, n->head, n->row, t));
    return x;
}

/* A number of a vector [d], or what stands for it. */
static float vector_of(const struct norm *n, uint32_t operand, int64_t t, float absent)
{
    if (!heed_ref_has(&n->arrays, operand))
        return absent;
    return heed_ref_float(&n->arrays, operand, t * n->arrays.operands[operand].view.stride[5]);
}

/* The tree of steps 9, times 1 / d. */
static float mean_of(const struct norm *n, float partial[HEED_REF_LANES])
{
    const float d = (float)n->numbers->d;

    for (int half = HEED_REF_LANES / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++)
            partial[i] += partial[i + half];
    }
    return partial[0] * heed_ref_recip(d);
}

/* The mean of the channels. */
static float centre_of(const struct norm *n)
{
    float partial[HEED_REF_LANES] = { 0 };

    if (n->numbers->kind == HK_NORM_RMS)
        return 0;
    for (int64_t t = 0; t < n->numbers->d; t++)
        partial[t % HEED_REF_LANES] += channel_of(n, t);
    return mean_of(n, partial);
}

/* The channel as far as it is from the centre: of RMS, itself. */
static float distance_of(const struct norm *n, float centre, int64_t t)
{
    const float x = channel_of(n, t);

    return n->numbers->kind == HK_NORM_RMS ? x : x - centre;
}

static float factor_of(const struct norm *n, float centre)
{
    float partial[HEED_REF_LANES] = { 0 }, mean;

    for (int64_t t = 0; t < n->numbers->d; t++) {
        const float c = distance_of(n, centre, t);
        float *to = &partial[t % HEED_REF_LANES];

        *to = fmaf(c, c, *to);
    }
    mean = mean_of(n, partial);
    mean += n->numbers->eps;
    return heed_ref_rsqrt(mean);
}

static void channel_write(const struct norm *n, float centre, float factor, int64_t t)
{
    const float sum = channel_of(n, t); /* y may lie where x does */
    const float scaled = distance_of(n, centre, t) * factor;
    const float weight = vector_of(n, HK_NORM_WEIGHT, t, 1);
    const float y = n->numbers->kind == HK_NORM_RMS
                        ? scaled * weight
                        : fmaf(scaled, weight, vector_of(n, HK_NORM_BIAS, t, 0));

    heed_ref_put(&n->arrays, HK_NORM_Y,
                 heed_ref_offset(&n->arrays, HK_NORM_Y, n->head, n->row, t), y);
    if (heed_ref_has(&n->arrays, HK_NORM_SUM))
        heed_ref_put(&n->arrays, HK_NORM_SUM,
                     heed_ref_offset(&n->arrays, HK_NORM_SUM, n->head, n->row, t),
                     sum);
}

static void row_run(const struct norm *n)
{
    const float centre = centre_of(n);
    const float factor = factor_of(n, centre);

    for (int64_t t = 0; t < n->numbers->d; t++)
        channel_write(n, centre, factor, t);
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct norm n = { .arrays = heed_ref_arrays_of(plan, launch), .numbers = form->numbers };
    const struct hk_strip_form *strip = &n.numbers->strip;

    for (int64_t item = 0; item < form->n_batch && strip->heads > 0; item++) {
        heed_ref_arrays_item(&n.arrays, form, item);
        for (n.head = 0; n.head < strip->heads; n.head++) {
            for (n.row = 0; n.row < strip->rows && n.numbers->d > 0; n.row++)
                row_run(&n);
        }
    }
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

const struct heed_impl heed_ref_norm = {
    .op = HEED_OP_NORM,
    .name = "scalar",
    .prepare = heed_ref_prepare_nothing,
    .run = run,
};
