/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * rope: pairs of channels turned (heed/nn.h; docs/numerics.md, section 13).
 */
#include "array.h"
#include "operations.h"

#include <math.h>

struct rope {
    struct heed_ref_arrays arrays;
    const struct hk_rope *numbers;
    int64_t head, row, position; /* at hand */
};

static float channel_of(const struct rope *r, int64_t t)
{
    return heed_ref_float(&r->arrays, HK_ROPE_X,
                          heed_ref_offset(&r->arrays, HK_ROPE_X, r->head, r->row, t));
}

static void channel_put(const struct rope *r, int64_t t, float value)
{
    heed_ref_put(&r->arrays, HK_ROPE_Y,
                 heed_ref_offset(&r->arrays, HK_ROPE_Y, r->head, r->row, t), value);
}

static float table_of(const struct rope *r, uint32_t operand, int64_t pair)
{
    const int64_t *stride = r->arrays.operands[operand].view.stride;

    if (r->position < 0 || r->position >= r->numbers->positions)
        return NAN;
    return heed_ref_float(&r->arrays, operand, r->position * stride[4] + pair * stride[5]);
}

static void pair_turn(const struct rope *r, int64_t pair)
{
    const bool halves = r->numbers->kind == HK_ROPE_HALVES;
    const int64_t a = halves ? pair : 2 * pair, b = halves ? r->numbers->pairs + pair : a + 1;
    const float x_a = channel_of(r, a), x_b = channel_of(r, b);
    const float c = table_of(r, HK_ROPE_COS, pair), s = table_of(r, HK_ROPE_SIN, pair);
    const float of_b = x_b * s, of_a = x_a * s;

    channel_put(r, a, fmaf(x_a, c, -of_b));
    channel_put(r, b, fmaf(x_b, c, of_a));
}

static void row_run(struct rope *r)
{
    r->position = r->numbers->pos0 + r->row;
    if (heed_ref_has(&r->arrays, HK_ROPE_POS))
        r->position = heed_ref_int(&r->arrays, HK_ROPE_POS, 0, r->head, r->row);
    for (int64_t pair = 0; pair < r->numbers->pairs; pair++)
        pair_turn(r, pair);
    for (int64_t t = 2 * r->numbers->pairs; t < r->numbers->d; t++)
        channel_put(r, t, channel_of(r, t));
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct rope r = { .arrays = heed_ref_arrays_of(plan, launch), .numbers = form->numbers };
    const struct hk_strip_form *strip = &r.numbers->strip;

    for (int64_t item = 0; item < form->n_batch && strip->heads > 0; item++) {
        heed_ref_arrays_item(&r.arrays, form, item);
        for (r.head = 0; r.head < strip->heads; r.head++) {
            for (r.row = 0; r.row < strip->rows && r.numbers->d > 0; r.row++)
                row_run(&r);
        }
    }
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

const struct heed_impl heed_ref_rope = {
    .op = HEED_OP_ROPE,
    .name = "scalar",
    .prepare = heed_ref_prepare_nothing,
    .run = run,
};
