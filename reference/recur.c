/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * recur: a state that decays, takes tokens in and answers them (heed/memory.h; docs/numerics.md,
 * section 18). A channel of v has a column of the state and nothing to do with other channels, so
 * that all tokens are walked for one after the other.
 */
#include "array.h"
#include "operations.h"

#include <math.h>

struct recur {
    struct heed_ref_arrays arrays;
    const struct hk_recur *numbers;
    int64_t head, channel, token; /* at hand */
};

/* Channel c of a row of q or k. */
static float of_key(const struct recur *r, uint32_t operand, int64_t c)
{
    const int64_t head = r->head / r->numbers->share;

    return heed_ref_float(&r->arrays, operand,
                          heed_ref_offset(&r->arrays, operand, head, r->token, c));
}

static float decay_of(const struct recur *r, int64_t c)
{
    const int64_t at = r->numbers->channels
                           ? heed_ref_offset(&r->arrays, HK_RECUR_DECAY, r->head, r->token, c)
                           : heed_ref_offset(&r->arrays, HK_RECUR_DECAY, 0, r->head, r->token);

    return heed_ref_float(&r->arrays, HK_RECUR_DECAY, at);
}

static int64_t state_at(const struct recur *r, int64_t c)
{
    return heed_ref_offset(&r->arrays, HK_RECUR_STATE, r->head, c, r->channel);
}

static float state_of(const struct recur *r, int64_t c)
{
    return heed_ref_float(&r->arrays, HK_RECUR_STATE, state_at(r, c));
}

/* What is left between tokens has been through step 11: that changes the sign of a zero and the
 * payload of a NaN, on which nothing that follows depends. */
static void state_put(const struct recur *r, int64_t c, float x)
{
    heed_ref_put(&r->arrays, HK_RECUR_STATE, state_at(r, c), x);
}

/* The state's answer to a row of q or k. */
static float answer_of(const struct recur *r, uint32_t operand)
{
    float sum = 0;

    for (int64_t c = 0; c < r->numbers->d_k; c++)
        sum = fmaf(of_key(r, operand, c), state_of(r, c), sum);
    return sum;
}

static void token_in(const struct recur *r)
{
    const int64_t d_k = r->numbers->d_k;
    float u =
        heed_ref_float(&r->arrays, HK_RECUR_V,
                       heed_ref_offset(&r->arrays, HK_RECUR_V, r->head, r->token, r->channel));

    if (heed_ref_has(&r->arrays, HK_RECUR_DECAY)) {
        for (int64_t c = 0; c < d_k; c++)
            state_put(r, c, decay_of(r, c) * state_of(r, c));
    }
    if (r->numbers->delta)
        u -= answer_of(r, HK_RECUR_K);
    if (heed_ref_has(&r->arrays, HK_RECUR_BETA))
        u *= heed_ref_float(&r->arrays, HK_RECUR_BETA,
                            heed_ref_offset(&r->arrays, HK_RECUR_BETA, 0, r->head, r->token));
    for (int64_t c = 0; c < d_k; c++)
        state_put(r, c, fmaf(of_key(r, HK_RECUR_K, c), u, state_of(r, c)));
}

static void token_out(const struct recur *r, float o)
{
    heed_ref_put(&r->arrays, HK_RECUR_O,
                 heed_ref_offset(&r->arrays, HK_RECUR_O, r->head, r->token, r->channel), o);
}

static void channel_run(struct recur *r, int64_t length)
{
    const bool answers = heed_ref_has(&r->arrays, HK_RECUR_O);

    for (r->token = 0; r->token < r->numbers->n; r->token++) {
        if (r->token < length)
            token_in(r);
        if (answers)
            token_out(r, r->token < length ? answer_of(r, HK_RECUR_Q) * r->numbers->scale : 0);
    }
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct recur r = { .arrays = heed_ref_arrays_of(plan, launch), .numbers = form->numbers };
    const struct hk_strip_form *strip = &r.numbers->strip;

    for (int64_t item = 0; item < form->n_batch && strip->rows > 0; item++) {
        int64_t length;

        heed_ref_arrays_item(&r.arrays, form, item);
        length = heed_ref_length(&r.arrays, HK_RECUR_LEN, r.numbers->n);
        for (r.head = 0; r.head < strip->heads; r.head++) {
            for (r.channel = 0; r.channel < strip->rows; r.channel++)
                channel_run(&r, length);
        }
    }
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

const struct heed_impl heed_ref_recur = {
    .op = HEED_OP_RECUR,
    .name = "scalar",
    .prepare = heed_ref_prepare_nothing,
    .run = run,
};
