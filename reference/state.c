/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * state: states of the same rows joined in order and ended (heed/attn.h; docs/numerics.md, section
 * 8). A state that holds anything takes the place of a chunk.
 */
#include "array.h"
#include "operations.h"
#include "softmax.h"

#include <math.h>

/* The channels of a state, as heed/attn.h lists them. */
enum { AT_M, AT_L, AT_ANY = AT_L + HEED_REF_LANES, AT_O };

struct states {
    struct heed_ref_arrays arrays;
    const struct hk_state *numbers;
    float *scratch;
    int64_t head, row; /* at hand */
};

/* Channel `at` of a row of states, whose parts lie along axis 0, or of the joined one (part 0). */
static int64_t place_of(const struct states *s, uint32_t operand, int64_t part, int64_t at)
{
    return heed_ref_offset(&s->arrays, operand, s->head, s->row, at) +
           part * s->arrays.operands[operand].view.stride[0];
}

static float number_of(const struct states *s, int64_t part, int64_t at)
{
    return heed_ref_float(&s->arrays, HK_STATE_STATES, place_of(s, HK_STATE_STATES, part, at));
}

/* Step 8. */
static void states_join(const struct states *s, struct heed_ref_softmax *softmax)
{
    struct heed_ref_part *chunk = &softmax->chunk;

    softmax->dtype = HEED_F32;
    for (int64_t p = 0; p < s->numbers->parts; p++) {
        if (number_of(s, p, AT_ANY) == 0.0f)
            continue;
        chunk->keys = 1; /* or more: how many does not matter */
        chunk->m = number_of(s, p, AT_M);
        for (int i = 0; i < HEED_REF_LANES; i++)
            chunk->l[i] = number_of(s, p, AT_L + i);
        for (int64_t t = 0; t < softmax->d; t++)
            chunk->o[t] = number_of(s, p, AT_O + t);
        heed_ref_softmax_join(softmax);
    }
}

static void state_write(const struct states *s, const struct heed_ref_part *total)
{
    const struct heed_ref_arrays *arrays = &s->arrays;

    if (!heed_ref_has(arrays, HK_STATE_STATE))
        return;
    heed_ref_put(arrays, HK_STATE_STATE, place_of(s, HK_STATE_STATE, 0, AT_M), total->m);
    for (int i = 0; i < HEED_REF_LANES; i++)
        heed_ref_put(arrays, HK_STATE_STATE, place_of(s, HK_STATE_STATE, 0, AT_L + i), total->l[i]);
    heed_ref_put(arrays, HK_STATE_STATE, place_of(s, HK_STATE_STATE, 0, AT_ANY),
                 total->keys > 0 ? 1.0f : 0.0f);
    for (int64_t t = 0; t < s->numbers->d; t++)
        heed_ref_put(arrays, HK_STATE_STATE, place_of(s, HK_STATE_STATE, 0, AT_O + t), total->o[t]);
}

/* -Inf: there is none. */
static float sink_of(const struct states *s)
{
    if (!heed_ref_has(&s->arrays, HK_STATE_SINKS))
        return -INFINITY;
    return heed_ref_float(&s->arrays, HK_STATE_SINKS,
                          s->head * s->arrays.operands[HK_STATE_SINKS].view.stride[5]);
}

/* Steps 9 to 12. */
static void row_end(const struct states *s, struct heed_ref_softmax *softmax)
{
    const bool with_sink = s->numbers->lse_with_sink, empty = softmax->total.keys == 0;
    const float sink = sink_of(s);
    float lse = with_sink ? sink : -INFINITY;

    if (!empty)
        lse = heed_ref_softmax_end(softmax, sink, with_sink);
    for (int64_t t = 0; heed_ref_has(&s->arrays, HK_STATE_O) && t < s->numbers->d; t++)
        heed_ref_put(&s->arrays, HK_STATE_O, place_of(s, HK_STATE_O, 0, t),
                     empty ? 0.0f : softmax->total.o[t]);
    if (heed_ref_has(&s->arrays, HK_STATE_LSE))
        heed_ref_put(&s->arrays, HK_STATE_LSE,
                     heed_ref_offset(&s->arrays, HK_STATE_LSE, 0, s->head, s->row), lse);
}

static void row_run(const struct states *s)
{
    struct heed_ref_softmax softmax;

    heed_ref_softmax_start(&softmax, s->numbers->d, s->scratch);
    states_join(s, &softmax);
    state_write(s, &softmax.total);
    row_end(s, &softmax);
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct states s = {
        .arrays = heed_ref_arrays_of(plan, launch),
        .numbers = form->numbers,
        .scratch = heed_address(launch->workspace),
    };
    const struct hk_strip_form *strip = &s.numbers->strip;

    for (int64_t item = 0; item < form->n_batch; item++) {
        heed_ref_arrays_item(&s.arrays, form, item);
        for (s.head = 0; s.head < strip->heads; s.head++) {
            for (s.row = 0; s.row < strip->rows; s.row++)
                row_run(&s);
        }
    }
}

static heed_status prepare(struct heed_plan *plan, const struct heed_services *services,
                           struct heed_error_detail *detail)
{
    (void)services;
    (void)detail;
    heed_ref_accumulators_prepare(plan, ((const struct hk_state *)heed_form_of(plan)->numbers)->d);
    return HEED_OK;
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

const struct heed_impl heed_ref_state = {
    .op = HEED_OP_STATE,
    .name = "scalar",
    .prepare = prepare,
    .run = run,
};
