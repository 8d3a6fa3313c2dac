/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * embed: rows of tables, summed (heed/nn.h; docs/numerics.md, section 16).
 */
#include "array.h"
#include "operations.h"

#include <math.h>

struct embed {
    struct heed_ref_arrays arrays;
    const struct hk_embed *numbers;
    int64_t head, row;             /* at hand */
    int64_t token, position, type; /* rows of the tables */
};

static int64_t id_of(const struct embed *e, uint32_t operand, int64_t otherwise)
{
    if (!heed_ref_has(&e->arrays, operand))
        return otherwise;
    return heed_ref_int(&e->arrays, operand, 0, e->head, e->row);
}

/* The three rows; false: one of them is not there. */
static bool row_find(struct embed *e)
{
    const struct hk_embed *n = e->numbers;
    bool found = true;

    e->token = id_of(e, HK_EMBED_IDS, 0);
    e->position = id_of(e, HK_EMBED_POS, n->pos0 + e->row);
    e->type = id_of(e, HK_EMBED_TYPE_IDS, 0);
    if (e->token < 0 || e->token >= n->tokens)
        found = false;
    if (heed_ref_has(&e->arrays, HK_EMBED_POSITIONS) &&
        (e->position < 0 || e->position >= n->positions))
        found = false;
    if (heed_ref_has(&e->arrays, HK_EMBED_TYPES) && (e->type < 0 || e->type >= n->types))
        found = false;
    return found;
}

static float entry_of(const struct embed *e, uint32_t operand, int64_t row, int64_t t)
{
    return heed_ref_float(&e->arrays, operand, heed_ref_offset(&e->arrays, operand, 0, row, t));
}

static float channel_of(const struct embed *e, int64_t t)
{
    float sum = entry_of(e, HK_EMBED_TABLE, e->token, t) * e->numbers->scale;

    if (heed_ref_has(&e->arrays, HK_EMBED_POSITIONS))
        sum += entry_of(e, HK_EMBED_POSITIONS, e->position, t);
    if (heed_ref_has(&e->arrays, HK_EMBED_TYPES))
        sum += entry_of(e, HK_EMBED_TYPES, e->type, t);
    return sum;
}

static void row_run(struct embed *e)
{
    const bool found = row_find(e);
    const bool alone = e->numbers->scale == 1 && !heed_ref_has(&e->arrays, HK_EMBED_POSITIONS) &&
                       !heed_ref_has(&e->arrays, HK_EMBED_TYPES);
    const int64_t y = heed_ref_offset(&e->arrays, HK_EMBED_Y, e->head, e->row, 0);
    const int64_t channel = e->arrays.operands[HK_EMBED_Y].view.stride[5];

    if (found && alone) {
        heed_ref_copy_row(&e->arrays, HK_EMBED_TABLE,
                          heed_ref_offset(&e->arrays, HK_EMBED_TABLE, 0, e->token, 0), HK_EMBED_Y,
                          y, e->numbers->d);
        return;
    }
    for (int64_t t = 0; t < e->numbers->d; t++)
        heed_ref_put(&e->arrays, HK_EMBED_Y, y + t * channel, found ? channel_of(e, t) : NAN);
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct embed e = { .arrays = heed_ref_arrays_of(plan, launch), .numbers = form->numbers };
    const struct hk_strip_form *strip = &e.numbers->strip;

    for (int64_t item = 0; item < form->n_batch && strip->heads > 0; item++) {
        heed_ref_arrays_item(&e.arrays, form, item);
        for (e.head = 0; e.head < strip->heads; e.head++) {
            for (e.row = 0; e.row < strip->rows && e.numbers->d > 0; e.row++)
                row_run(&e);
        }
    }
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

const struct heed_impl heed_ref_embed = {
    .op = HEED_OP_EMBED,
    .name = "scalar",
    .prepare = heed_ref_prepare_nothing,
    .run = run,
};
