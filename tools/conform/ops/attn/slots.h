/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the makers of auxiliary arrays share (slots.c, layouts.c, slots_bias.c): a slot of the
 * problem, and numbers that depend on the seed and the item alone.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_ATTN_SLOTS_H
#define HEED_TOOLS_CONFORM_OPS_ATTN_SLOTS_H

#include "kinds.h"

/* Where in the batch a slot's row 0, 1, ... comes from: the same item has the same entries in any
 * batch. */
static inline uint64_t item_hash(const struct problem *p, const struct array *a, int64_t b,
                                 int number)
{
    const int64_t item = a->batched && a->shape[0] > 1                                ? p->item[b]
                         : cf_g(&p->c, G_SHARE) == 0 && a->batched && p->n_items == 1 ? p->item[0]
                                                                                      : 0;

    return cf_mix2(cf_mix2(p->c.seed, (uint64_t)number * 131 + 5), (uint64_t)item);
}

static inline int slot_add(struct problem *p, uint32_t dtype, bool batched, int trailing, int64_t x,
                    int64_t y, int64_t z, bool constant)
{
    struct slot *slot;
    const bool one = cf_g(&p->c, G_SHARE) == 1;

    if (p->n_slots == MAX_SLOTS)
        return 0;
    slot = &p->slot[p->n_slots++];
    slot->constant = constant;
    slot->a = (struct array){ .dtype = dtype,
                              .trailing = trailing,
                              .batched = batched,
                              .shape = { batched && !one ? p->n_items : 1, x, y, z },
                              .laid = (int)cf_g(&p->c, G_SS) };
    return cf_array_alloc(&slot->a) ? p->n_slots : -1;
}

static inline struct array *slot_of(struct problem *p, int slot)
{
    return &p->slot[slot - 1].a;
}

/* Has the slot entries that someone will read? */
static inline bool wanted(const struct problem *p, int slot)
{
    return slot > 0 && (!p->shapes_only || p->slot[slot - 1].constant);
}

static inline int64_t nonsense(struct rng *r, int64_t n)
{
    const int64_t odd[] = { -1,        -5,        n,         n + 1, n + 7, INT32_MAX,
                            INT32_MIN, INT64_MAX, INT64_MIN, n - 1, 0,     1 };

    return rng_below(r, 3) == 0 ? rng_below(r, n) : odd[rng_below(r, 12)];
}

static inline uint32_t index_dtype(const struct problem *p)
{
    return cf_g(&p->c, G_INT) ? HEED_I64 : HEED_I32;
}

/* Any, often all, at times about the end of a block. */
static inline int64_t nominal_length(const struct cs *c, int number, int64_t item, int64_t n)
{
    const uint64_t h = cf_mix2(cf_mix2(c->seed, (uint64_t)number + 900), (uint64_t)item);
    struct rng r = rng_of(h);

    if (h % 8 == 1 && n >= 16)
        return cf_edge(&r, n);
    return h % 4 == 0 ? n : (int64_t)((h >> 8) % (uint64_t)(n + 1));
}

/* Begins of packed queries (layouts.c); < 0: no memory. */
int cf_begins_make(struct problem *);
int cf_o_begins_make(struct problem *);
/* The arrays of a bias (slots_bias.c); false: no memory. */
bool cf_bias_make(struct problem *, int s, int b);
/* scales.c: of k or v, 0: they are not of bytes. */
int cf_scales_make(struct problem *, int s, bool key);

#endif
