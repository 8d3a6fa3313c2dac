/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * merge: partial attentions of the same queries joined into one (heed/attn.h; docs/numerics.md,
 * section 8). A part is a key, whose logit is its LSE and whose value is its output.
 */
#include "array.h"
#include "decode.h"
#include "operations.h"
#include "softmax.h"

#include <math.h>

struct merge {
    struct heed_ref_arrays arrays;
    const struct hk_merge *numbers;
    float *scratch;
};

/* Parts lie along axis 0, which no item counts. */
static int64_t part_offset(const struct merge *merge, uint32_t operand, int64_t p)
{
    return p * merge->arrays.operands[operand].view.stride[0];
}

/* -Inf: there is none. */
static float sink_of(const struct merge *merge, int64_t head)
{
    if (!heed_ref_has(&merge->arrays, HK_MERGE_SINKS))
        return -INFINITY;
    return heed_ref_float(&merge->arrays, HK_MERGE_SINKS,
                          head * merge->arrays.operands[HK_MERGE_SINKS].view.stride[5]);
}

static void lse_write(const struct merge *merge, int64_t head, int64_t row, float value)
{
    if (heed_ref_has(&merge->arrays, HK_MERGE_LSE))
        heed_ref_put(&merge->arrays, HK_MERGE_LSE,
                     heed_ref_offset(&merge->arrays, HK_MERGE_LSE, 0, head, row), value);
}

static void parts_add(const struct merge *merge, struct heed_ref_softmax *softmax, int64_t head,
                      int64_t row)
{
    const struct heed_view *view = &merge->arrays.operands[HK_MERGE_PARTS].view;
    const int64_t o_at = heed_ref_offset(&merge->arrays, HK_MERGE_PARTS, head, row, 0);
    const int64_t lse_at = heed_ref_offset(&merge->arrays, HK_MERGE_PARTS_LSE, 0, head, row);

    softmax->values = heed_address(merge->arrays.at[HK_MERGE_PARTS]);
    softmax->dtype = view->dtype;
    softmax->stride = view->stride[5];
    for (int64_t p = 0; p < merge->numbers->parts; p++) {
        float lse = heed_ref_float(&merge->arrays, HK_MERGE_PARTS_LSE,
                                   lse_at + part_offset(merge, HK_MERGE_PARTS_LSE, p));
        float y = lse * HEED_REF_LOG2E;

        heed_ref_softmax_add(softmax, y, p, o_at + part_offset(merge, HK_MERGE_PARTS, p), 0);
    }
    heed_ref_softmax_join(softmax);
}

static void row_run(const struct merge *merge, int64_t head, int64_t row)
{
    const int64_t d = merge->numbers->d, stride = merge->arrays.operands[HK_MERGE_O].view.stride[5];
    const int64_t o_at = heed_ref_offset(&merge->arrays, HK_MERGE_O, head, row, 0);
    const bool with_sink = merge->numbers->lse_with_sink;
    struct heed_ref_softmax softmax;
    float sink = sink_of(merge, head), lse;

    heed_ref_softmax_start(&softmax, d, merge->scratch);
    parts_add(merge, &softmax, head, row);
    if (softmax.total.keys == 0) {
        heed_ref_zero_row(&merge->arrays, HK_MERGE_O, o_at, d);
        lse_write(merge, head, row, with_sink ? sink : -INFINITY);
        return;
    }
    lse = heed_ref_softmax_end(&softmax, sink, with_sink);
    for (int64_t t = 0; t < d; t++)
        heed_ref_put(&merge->arrays, HK_MERGE_O, o_at + t * stride, softmax.total.o[t]);
    lse_write(merge, head, row, lse);
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct merge merge = {
        .arrays = heed_ref_arrays_of(plan, launch),
        .numbers = form->numbers,
        .scratch = heed_address(launch->workspace),
    };
    const struct hk_strip_form *strip = &merge.numbers->strip;

    for (int64_t item = 0; item < form->n_batch; item++) {
        heed_ref_arrays_item(&merge.arrays, form, item);
        for (int64_t head = 0; head < strip->heads; head++) {
            for (int64_t row = 0; row < strip->rows; row++)
                row_run(&merge, head, row);
        }
    }
}

static heed_status prepare(struct heed_plan *plan, const struct heed_services *services,
                           struct heed_error_detail *detail)
{
    (void)services;
    (void)detail;
    heed_ref_accumulators_prepare(plan, ((const struct hk_merge *)heed_form_of(plan)->numbers)->d);
    return HEED_OK;
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

const struct heed_impl heed_ref_merge = {
    .op = HEED_OP_MERGE,
    .name = "scalar",
    .prepare = prepare,
    .run = run,
};
