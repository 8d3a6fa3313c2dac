/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear: maps of rows and of windows of rows (heed/nn.h; docs/numerics.md, section 15). The terms
 * of a sum are counted through, channels of a tap before the next tap.
 */
#include "array.h"
#include "numerics.h"
#include "operations.h"

#include <math.h>

enum { BLOCK = 256 }; /* terms of a chain */

struct linear {
    struct heed_ref_arrays arrays;
    const struct hk_linear *numbers;
    int64_t head, row, output; /* at hand */
};

static float weight_of(const struct linear *l, int64_t tap, int64_t channel)
{
    const struct heed_view *w = &l->arrays.operands[HK_LINEAR_W].view;
    const int head = l->numbers->tapped ? 2 : 3;
    int64_t at = l->output * w->stride[head + 1];

    if (w->shape[head] != 1)
        at += l->head * w->stride[head];
    if (l->numbers->tapped)
        at += tap * w->stride[4];
    return heed_ref_channel(&l->arrays, HK_LINEAR_W, at, channel);
}

/* The terms of one block, if any is there. */
static bool block_sum(const struct linear *l, int64_t first, int64_t end, float *sum)
{
    bool any = false;

    *sum = 0;
    for (int64_t u = first; u < end; u++) {
        const int64_t tap = u / l->numbers->in, channel = u % l->numbers->in;
        const int64_t row = l->row * l->numbers->stride - l->numbers->before + tap;

        if (row < 0 || row >= l->numbers->n)
            continue;
        any = true;
        *sum = fmaf(weight_of(l, tap, channel),
                    heed_ref_float(&l->arrays, HK_LINEAR_X,
                                   heed_ref_offset(&l->arrays, HK_LINEAR_X, l->head, row, channel)),
                    *sum);
    }
    return any;
}

static float output_of(const struct linear *l)
{
    const int64_t terms = l->numbers->taps * l->numbers->in;
    bool any = false;
    float s = 0, more;

    for (int64_t first = 0; first < terms; first += BLOCK) {
        if (!block_sum(l, first, first + BLOCK < terms ? first + BLOCK : terms, &more))
            continue;
        s = any ? s + more : more;
        any = true;
    }
    if (heed_ref_has(&l->arrays, HK_LINEAR_BIAS))
        s += heed_ref_float(&l->arrays, HK_LINEAR_BIAS,
                            l->output * l->arrays.operands[HK_LINEAR_BIAS].view.stride[5]);
    if (heed_ref_has(&l->arrays, HK_LINEAR_ADD))
        s += heed_ref_float(
            &l->arrays, HK_LINEAR_ADD,
            heed_ref_offset(&l->arrays, HK_LINEAR_ADD, l->head, l->row, l->output));
    s += 0.0f; /* zeros lose their sign */
    return heed_ref_activate(l->numbers->act, s);
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct linear l = { .arrays = heed_ref_arrays_of(plan, launch), .numbers = form->numbers };
    const struct hk_strip_form *strip = &l.numbers->lanes.strip;

    for (int64_t item = 0; item < form->n_batch && strip->heads > 0; item++) {
        heed_ref_arrays_item(&l.arrays, form, item);
        for (l.head = 0; l.head < strip->heads; l.head++) {
            for (l.row = 0; l.row < strip->rows && l.numbers->out > 0; l.row++) {
                for (l.output = 0; l.output < l.numbers->out; l.output++)
                    heed_ref_put(
                        &l.arrays, HK_LINEAR_Y,
                        heed_ref_offset(&l.arrays, HK_LINEAR_Y, l.head, l.row, l.output),
                        output_of(&l));
            }
        }
    }
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

const struct heed_impl heed_ref_linear = {
    .op = HEED_OP_LINEAR,
    .name = "scalar",
    .prepare = heed_ref_prepare_nothing,
    .run = run,
};
