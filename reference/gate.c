/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * gate: each element of a memory between itself and an update (heed/memory.h; docs/numerics.md,
 * section 19).
 */
#include "array.h"
#include "numerics.h"
#include "operations.h"

#include <heed/nn.h>

#include <math.h>

struct gate {
    struct heed_ref_arrays arrays;
    const struct hk_gate *numbers;
    int64_t head, row; /* at hand */
};

static int64_t offset_of(const struct gate *g, uint32_t operand, int64_t t)
{
    return heed_ref_offset(&g->arrays, operand, g->head, g->row, t);
}

static float element_of(const struct gate *g, uint32_t operand, int64_t t)
{
    return heed_ref_float(&g->arrays, operand, offset_of(g, operand, t));
}

static void element_run(const struct gate *g, int64_t t)
{
    const float m = element_of(g, HK_GATE_MEMORY, t);
    const float u = heed_ref_activate(HEED_ACT_TANH, element_of(g, HK_GATE_UPDATE, t));
    const float share = heed_ref_activate(HEED_ACT_SIGMOID, element_of(g, HK_GATE_GATE, t));
    float y = 1.0f - share;

    if (g->numbers->keeps) {
        y *= u;
        y = fmaf(share, m, y);
    } else {
        y *= m;
        y = fmaf(share, u, y);
    }
    heed_ref_put(&g->arrays, HK_GATE_Y, offset_of(g, HK_GATE_Y, t), y);
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct gate g = { .arrays = heed_ref_arrays_of(plan, launch), .numbers = form->numbers };
    const struct hk_strip_form *strip = &g.numbers->strip;

    for (int64_t item = 0; item < form->n_batch && strip->heads > 0; item++) {
        heed_ref_arrays_item(&g.arrays, form, item);
        for (g.head = 0; g.head < strip->heads; g.head++) {
            for (g.row = 0; g.row < strip->rows && g.numbers->d > 0; g.row++) {
                for (int64_t t = 0; t < g.numbers->d; t++)
                    element_run(&g, t);
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

const struct heed_impl heed_ref_gate = {
    .op = HEED_OP_GATE,
    .name = "scalar",
    .prepare = heed_ref_prepare_nothing,
    .run = run,
};
