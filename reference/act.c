/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * act: a function of each element (heed/nn.h; docs/numerics.md, section 14).
 */
#include "array.h"
#include "numerics.h"
#include "operations.h"

#include <math.h>

struct act {
    struct heed_ref_arrays arrays;
    const struct hk_act *numbers;
    int64_t head, row; /* at hand */
};

static float element_of(const struct act *a, uint32_t operand, int64_t t)
{
    return heed_ref_float(&a->arrays, operand,
                          heed_ref_offset(&a->arrays, operand, a->head, a->row, t));
}

static void element_run(const struct act *a, int64_t t)
{
    const bool factor = heed_ref_has(&a->arrays, HK_ACT_FACTOR);
    const bool add = heed_ref_has(&a->arrays, HK_ACT_ADD);
    float y = heed_ref_activate(a->numbers->kind, element_of(a, HK_ACT_X, t));

    if (factor && add)
        y = fmaf(y, element_of(a, HK_ACT_FACTOR, t), element_of(a, HK_ACT_ADD, t));
    else if (factor)
        y = y * element_of(a, HK_ACT_FACTOR, t);
    else if (add)
        y = y + element_of(a, HK_ACT_ADD, t);
    heed_ref_put(&a->arrays, HK_ACT_Y, heed_ref_offset(&a->arrays, HK_ACT_Y, a->head, a->row, t),
                 y);
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct act a = { .arrays = heed_ref_arrays_of(plan, launch), .numbers = form->numbers };
    const struct hk_strip_form *strip = &a.numbers->strip;

    for (int64_t item = 0; item < form->n_batch && strip->heads > 0; item++) {
        heed_ref_arrays_item(&a.arrays, form, item);
        for (a.head = 0; a.head < strip->heads; a.head++) {
            for (a.row = 0; a.row < strip->rows && a.numbers->d > 0; a.row++) {
                for (int64_t t = 0; t < a.numbers->d; t++)
                    element_run(&a, t);
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

const struct heed_impl heed_ref_act = {
    .op = HEED_OP_ACT,
    .name = "scalar",
    .prepare = heed_ref_prepare_nothing,
    .run = run,
};
