/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * order: the place of a token is the number of tokens that come before it (heed/pool.h;
 * docs/numerics.md, section 17).
 */
#include "array.h"
#include "operations.h"

struct order {
    struct heed_ref_arrays arrays;
    const struct hk_order *numbers;
    int64_t head, len; /* at hand */
};

/* `count` where a token has none. */
static int64_t id_of(const struct order *o, int64_t token)
{
    const int64_t id = heed_ref_int(&o->arrays, HK_ORDER_IDS, 0, o->head, token);

    return id >= 0 && id < o->numbers->count ? id : o->numbers->count;
}

static void put(const struct order *o, uint32_t operand, int64_t at, int64_t value)
{
    if (heed_ref_has(&o->arrays, operand))
        heed_ref_put_int(&o->arrays, operand, 0, o->head, at, value);
}

static void token_run(const struct order *o, int64_t token)
{
    const int64_t id = id_of(o, token);
    int64_t place = 0;

    for (int64_t i = 0; i < o->len; i++) {
        const int64_t other = id_of(o, i);

        if (other < id || (other == id && i < token))
            place++;
    }
    put(o, HK_ORDER_PLACE, token, place);
    put(o, HK_ORDER_ORDER, place, token);
}

static void starts_run(const struct order *o)
{
    for (int64_t id = 0; id <= o->numbers->count; id++) {
        int64_t before = 0;

        for (int64_t i = 0; i < o->len; i++)
            before += id_of(o, i) < id;
        put(o, HK_ORDER_STARTS, id, before);
    }
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct order o = { .arrays = heed_ref_arrays_of(plan, launch), .numbers = form->numbers };

    for (int64_t item = 0; item < form->n_batch; item++) {
        heed_ref_arrays_item(&o.arrays, form, item);
        o.len = heed_ref_length(&o.arrays, HK_ORDER_LEN, o.numbers->n);
        for (o.head = 0; o.head < o.numbers->strip.heads; o.head++) {
            for (int64_t token = 0; token < o.len; token++)
                token_run(&o, token);
            for (int64_t token = o.len; token < o.numbers->n; token++) {
                put(&o, HK_ORDER_PLACE, token, -1);
                put(&o, HK_ORDER_ORDER, token, -1);
            }
            if (heed_ref_has(&o.arrays, HK_ORDER_STARTS))
                starts_run(&o);
        }
    }
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

const struct heed_impl heed_ref_order = {
    .op = HEED_OP_ORDER,
    .name = "scalar",
    .prepare = heed_ref_prepare_nothing,
    .run = run,
};
