/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the kit knows of layouts: a row each, with the array in the slot and where the rows of keys
 * lie, from the definitions in heed/attn.h.
 */
#include "slots.h"

#include <assert.h>
#include <stdlib.h>

/* The numbers of the begins of q and o; those of source s have 1 + s. */
enum { BEGINS_Q = 0, BEGINS_O = -1 };

/* Begins of packed sequences: one after the other, each of its nominal length, with gaps, all
 * within `total`. Those of o lie in the opposite order. The B entries of a shared slot would
 * overlap, so begins are always per item. */
static int begins_make(struct problem *p, int number, int64_t have, int64_t n, int64_t total)
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
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = number == BEGINS_O ? count - 1 - k : k;
        const int64_t length =
            nominal_length(&p->c, number > 0 ? number : 0, cf_g(&p->c, G_SHARE) ? 0 : i, n);
        struct rng r = rng_of(cf_mix2(p->c.seed, (uint64_t)(number * 64 + i + 3000)));

        begin[i] = at + length <= total               ? at
                   : total - length > 0 && number > 0 ? total - length
                                                      : 0;
        at = begin[i] + length + rng_below(&r, 3);
        if (have == SLOT_HOSTILE && rng_below(&r, 2))
            begin[i] = nonsense(&r, total);
        else if (have == SLOT_RT && rng_below(&r, 6) == 0)
            begin[i] = total - rng_below(&r, 3);
    }
    /* Where o lies apart, queries may be those of several items. */
    if (number == BEGINS_Q && cf_g(&p->c, G_OBEG) && have == SLOT_CONST && p->c.seed % 3 == 0) {
        for (int64_t i = 1; i < count; i++)
            begin[i] = begin[0];
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

static int listed_make(struct problem *p, int s)
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

/* Entries that an item's table has in common with those of the other items: none, those it begins
 * with, or all. */
static int64_t entries_shared(const struct problem *p, int s, uint64_t item, int64_t pages)
{
    const int64_t tables = cf_s(&p->c, s, S_TAB);

    return tables == TABLES_OWN ? 0
           : tables == TABLES_ONE ? pages
                                  : (int64_t)(cf_mix2(item, 4711) % (uint64_t)(pages + 1));
}

/* A page for each `total` keys; constant tables have holes of -1. */
static int table_make(struct problem *p, int s)
{
    const struct source_data *src = &p->source[s];
    const int64_t have = cf_s(&p->c, s, S_IDX), n = src->k.shape[0], pages = src->n_k / src->total;
    const int slot = slot_add(p, HEED_I32, true, 1, 1, 1, pages, have == SLOT_CONST);

    for (int64_t b = 0; wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        const uint64_t item = item_hash(p, slot_of(p, slot), b, 80 + s);
        const int64_t shared = entries_shared(p, s, item, pages);
        struct rng own = rng_of(item), all = rng_of(cf_mix2(p->c.seed, (uint64_t)s + 81));

        for (int64_t i = 0; i < pages; i++) {
            struct rng *const r = i < shared ? &all : &own;
            const bool hole = (n == 0 && have == SLOT_CONST) || rng_below(r, 9) == 0;

            cf_array_set_int(slot_of(p, slot), cf_array_at(slot_of(p, slot), b, 0, 0, i),
                             hole ? -1 : name_draw(r, have, 6, n));
        }
    }
    return slot;
}

static int heads_make(struct problem *p, int s)
{
    const int64_t have = cf_s(&p->c, s, S_IDX), n = p->source[s].total;
    const int slot = slot_add(p, index_dtype(p), true, 0, 1, 1, 1, have == SLOT_CONST);

    for (int64_t b = 0; wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        struct rng r = rng_of(item_hash(p, slot_of(p, slot), b, 90 + s));

        cf_array_set_int(slot_of(p, slot), b, name_draw(&r, have, 8, n));
    }
    return slot;
}

int cf_begins_make(struct problem *p)
{
    return begins_make(p, BEGINS_Q, cf_g(&p->c, G_QBEG), p->q_ext, p->q_total);
}

int cf_o_begins_make(struct problem *p)
{
    const int64_t have = cf_g(&p->c, G_OBEG) - HAVE_CONST + SLOT_CONST;

    return begins_make(p, BEGINS_O, have, p->q_ext, p->o_total);
}

static int key_begins_make(struct problem *p, int s)
{
    return begins_make(p, 1 + s, cf_s(&p->c, s, S_IDX), cf_s(&p->c, s, S_NK), p->source[s].total);
}

static bool page_find(const struct problem *p, const struct item_view *view, int s, int64_t i,
                      int64_t *page, int64_t *row)
{
    const struct source_data *src = &p->source[s];

    *page = cf_slot_get(p, src->index, view->b, 0, 0, i / src->total);
    *row = i % src->total;
    return *page >= 0 && *page < src->k.shape[0];
}

static bool ring_find(const struct problem *p, const struct item_view *view, int s, int64_t i,
                      int64_t *page, int64_t *row)
{
    (void)page;
    *row = (view->k_begin[s] + i) % p->source[s].total;
    return true;
}

#define TAKES(field) (1u << S_##field)
const struct cf_layout cf_layouts[] = {
    [LAY_DENSE] = { .word = "dense", .kind = HEED_LAYOUT_DENSE, .fields = TAKES(KB) | TAKES(PAD),
                    .axes = -1 },
    [LAY_RAGGED] = { .word = "ragged", .kind = HEED_LAYOUT_RAGGED, .fields = TAKES(IDX),
                     .packed = true, .needs_len = true, .index_make = key_begins_make },
    [LAY_LISTED] = { .word = "listed", .kind = HEED_LAYOUT_LISTED,
                     .fields = TAKES(KB) | TAKES(IDX) | TAKES(RUN) | TAKES(ROWS) | TAKES(LH),
                     .axes = 3, .lists = true, .index_make = listed_make },
    [LAY_PAGED] = { .word = "paged", .kind = HEED_LAYOUT_PAGED,
                    .fields = TAKES(IDX) | TAKES(PAGE) | TAKES(TAB),
                    .axes = 1, .pages = true, .needs_len = true, .index_make = table_make,
                    .find = page_find },
    [LAY_RING] = { .word = "ring", .kind = HEED_LAYOUT_RING, .fields = TAKES(KB) | TAKES(IDX),
                   .needs_len = true, .index_make = heads_make, .find = ring_find },
};
#undef TAKES
const int cf_n_layouts = sizeof cf_layouts / sizeof *cf_layouts;

const struct cf_layout *cf_layout_of(const struct cs *c, int s)
{
    return &cf_layouts[cf_s(c, s, S_LAY)];
}

const struct cf_layout *cf_layout_kind(uint32_t kind)
{
    const struct cf_layout *layout = cf_layouts;

    while (layout->kind != kind) {
        layout++;
        assert(layout < cf_layouts + cf_n_layouts);
    }
    return layout;
}

bool cf_queries_packed(const struct cs *c)
{
    return cf_layouts[cf_g(c, G_QL)].packed;
}
