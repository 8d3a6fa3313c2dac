/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The auxiliary arrays of layouts: begins, lists, tables of pages, heads of rings.
 */
#include "slots.h"

#include <stdlib.h>

/* Begins of packed sequences: one after the other, each of its nominal length, with gaps, all
 * within `total`. The B entries of a shared slot would overlap, so begins are always per item. */
int cf_begins_make(struct problem *p, int number, int64_t have, int64_t n, int64_t total)
{
    const int slot = slot_add(p, index_dtype(p), true, 0, 1, 1, 1, have == SLOT_CONST);
    const int64_t count = cf_batch_count(&p->c);
    int64_t begin[MAX_BATCH] = { 0 }, at = 0;

    if (slot <= 0)
        return slot;
    free(slot_of(p, slot)->data);
    slot_of(p, slot)->shape[0] = p->n_items;
    if (!cf_array_alloc(slot_of(p, slot)))
        return -1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t length = nominal_length(&p->c, number, cf_g(&p->c, G_SHARE) ? 0 : i, n);
        struct rng r = rng_of(cf_mix2(p->c.seed, (uint64_t)(number * 64 + i + 3000)));

        begin[i] = at + length <= total ? at : total - length > 0 && number ? total - length : 0;
        at = begin[i] + length + rng_below(&r, 3);
        if (have == SLOT_HOSTILE && rng_below(&r, 2))
            begin[i] = nonsense(&r, total);
        else if (have == SLOT_RT && rng_below(&r, 6) == 0)
            begin[i] = total - rng_below(&r, 3);
    }
    for (int64_t b = 0; b < slot_of(p, slot)->shape[0]; b++)
        cf_array_set_int(slot_of(p, slot), b, begin[p->item[b]]);
    return slot;
}

/* One of n names; now and then, or of hostile arrays always, perhaps none. */
static int64_t name_draw(struct rng *r, int64_t have, int64_t rarely, int64_t n)
{
    const bool odd = have == SLOT_HOSTILE || (have == SLOT_RT && rng_below(r, rarely) == 0);

    return odd ? nonsense(r, n) : rng_below(r, n);
}

int cf_listed_make(struct problem *p, int s)
{
    struct source_data *src = &p->source[s];
    const struct cs *c = &p->c;
    const int64_t kind = cf_s(c, s, S_LH), run = cf_s(c, s, S_RUN), rows = cf_s(c, s, S_ROWS);
    const int64_t heads = kind == HEADS_HK ? src->heads : kind == HEADS_H ? p->heads : 1;
    const int64_t blocks = (p->n_q + rows - 1) / rows, names = (src->n_k + run - 1) / run;
    const uint64_t h = cf_mix2(c->seed, (uint64_t)s + 808);
    int64_t runs = h % 4 == 0 ? 70 : (int64_t)((h >> 8) % 7);
    const int64_t have = cf_s(c, s, S_IDX);
    int slot;

    if (names == 0 && have == SLOT_CONST)
        runs = 0;
    slot = slot_add(p, HEED_I32, true, 3, heads, blocks, runs, have == SLOT_CONST);
    for (int64_t b = 0; wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        for (int64_t x = 0; x < heads; x++) {
            for (int64_t y = 0; y < blocks; y++) {
                struct rng r = rng_of(cf_mix2(item_hash(p, slot_of(p, slot), b, 30 + s),
                                         (uint64_t)(x * 4099 + y)));

                for (int64_t z = 0; z < runs; z++)
                    cf_array_set_int(slot_of(p, slot), cf_array_at(slot_of(p, slot), b, x, y, z),
                                     name_draw(&r, have, 4, names));
            }
        }
    }
    return slot;
}

/* A page for each `total` keys; constant tables have holes of -1. */
int cf_table_make(struct problem *p, int s)
{
    const struct source_data *src = &p->source[s];
    const int64_t have = cf_s(&p->c, s, S_IDX), n = src->k.shape[0], pages = src->n_k / src->total;
    const int slot = slot_add(p, HEED_I32, true, 1, 1, 1, pages, have == SLOT_CONST);

    for (int64_t b = 0; wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        struct rng r = rng_of(item_hash(p, slot_of(p, slot), b, 80 + s));

        for (int64_t i = 0; i < pages; i++) {
            const bool hole = (n == 0 && have == SLOT_CONST) || rng_below(&r, 9) == 0;

            cf_array_set_int(slot_of(p, slot), cf_array_at(slot_of(p, slot), b, 0, 0, i),
                             hole ? -1 : name_draw(&r, have, 6, n));
        }
    }
    return slot;
}

int cf_heads_make(struct problem *p, int s)
{
    const int64_t have = cf_s(&p->c, s, S_IDX), n = p->source[s].total;
    const int slot = slot_add(p, index_dtype(p), true, 0, 1, 1, 1, have == SLOT_CONST);

    for (int64_t b = 0; wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        struct rng r = rng_of(item_hash(p, slot_of(p, slot), b, 90 + s));

        cf_array_set_int(slot_of(p, slot), b, name_draw(&r, have, 8, n));
    }
    return slot;
}
