/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The auxiliary arrays of a case: lengths, begins, lists, masks; biases have slots_bias.c. Constant
 * ones are valid; run-time ones hold some entries that must be absent; hostile ones hold mostly
 * nonsense.
 */
#include "slots.h"

#include <stdlib.h>

uint64_t slot_hash(const struct problem *p, const struct array *a, int64_t b, int number)
{
    const int64_t item = a->batched && a->shape[0] > 1                                ? p->item[b]
                         : cf_g(&p->c, G_SHARE) == 0 && a->batched && p->n_items == 1 ? p->item[0]
                                                                                      : 0;

    return cf_mix2(cf_mix2(p->c.seed, (uint64_t)number * 131 + 5), (uint64_t)item);
}

int slot_add(struct problem *p, uint32_t dtype, bool batched, int trailing, int64_t x, int64_t y,
             int64_t z, bool constant)
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

struct array *slot_of(struct problem *p, int slot)
{
    return &p->slot[slot - 1].a;
}

bool slot_wanted(const struct problem *p, int slot)
{
    return slot > 0 && (!p->shapes_only || p->slot[slot - 1].constant);
}

int64_t slot_nonsense(struct rng *r, int64_t n)
{
    const int64_t odd[] = { -1,        -5,        n,         n + 1, n + 7, INT32_MAX,
                            INT32_MIN, INT64_MAX, INT64_MIN, n - 1, 0,     1 };

    return rng_below(r, 3) == 0 ? rng_below(r, n) : odd[rng_below(r, 12)];
}

uint32_t slot_int(const struct problem *p)
{
    return cf_g(&p->c, G_INT) ? HEED_I64 : HEED_I32;
}

static int64_t nominal_length(const struct cs *c, int number, int64_t item, int64_t n)
{
    const uint64_t h = cf_mix2(cf_mix2(c->seed, (uint64_t)number + 900), (uint64_t)item);

    return h % 4 == 0 ? n : (int64_t)((h >> 8) % (uint64_t)(n + 1));
}

/* Lengths of number `number` (0: queries, 1 + s: source s). */
static int lengths_make(struct problem *p, int number, int64_t have, int64_t n)
{
    const int slot =
        have == HAVE_NONE ? 0 : slot_add(p, slot_int(p), true, 0, 1, 1, 1, have == HAVE_CONST);

    for (int64_t b = 0; slot_wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        const int64_t item =
            slot_of(p, slot)->shape[0] > 1 || cf_g(&p->c, G_SHARE) == 0 ? p->item[b] : 0;
        struct rng r = rng_of(slot_hash(p, slot_of(p, slot), b, number));

        cf_array_set_int(slot_of(p, slot), b,
                         have == HAVE_HOSTILE ? slot_nonsense(&r, n)
                                              : nominal_length(&p->c, number, item, n));
    }
    return slot;
}

/* Keys appended by `pad` lie beyond every length. */
static int lengths_padded(struct problem *p, int s)
{
    const int slot = slot_add(p, slot_int(p), true, 0, 1, 1, 1, true);

    for (int64_t b = 0; slot_wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++)
        cf_array_set_int(slot_of(p, slot), b, cf_s(&p->c, s, S_NK));
    return slot;
}

/* Begins of packed sequences: one after the other, each of its nominal length, with gaps, all
 * within `total`. The B entries of a shared slot would overlap, so begins are always per item. */
static int begins_make(struct problem *p, int number, int64_t have, int64_t n, int64_t total)
{
    const int slot = slot_add(p, slot_int(p), true, 0, 1, 1, 1, have == SLOT_CONST);
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
            begin[i] = slot_nonsense(&r, total);
        else if (have == SLOT_RT && rng_below(&r, 6) == 0)
            begin[i] = total - rng_below(&r, 3);
    }
    for (int64_t b = 0; b < slot_of(p, slot)->shape[0]; b++)
        cf_array_set_int(slot_of(p, slot), b, begin[p->item[b]]);
    return slot;
}

static int positions_make(struct problem *p)
{
    const int64_t have = cf_g(&p->c, G_QPOS);
    const int slot =
        have == HAVE_NONE ? 0 : slot_add(p, HEED_I64, true, 0, 1, 1, 1, have == HAVE_CONST);

    for (int64_t b = 0; slot_wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        struct rng r = rng_of(slot_hash(p, slot_of(p, slot), b, 501));

        cf_array_set_int(slot_of(p, slot), b,
                         have == HAVE_HOSTILE ? slot_nonsense(&r, 40) : rng_below(&r, 40) - 10);
    }
    return slot;
}

static int mask_make(struct problem *p, int s)
{
    struct source_data *src = &p->source[s];
    const int64_t kind = cf_s(&p->c, s, S_MASK);
    const int64_t heads = kind == HEADS_HK ? src->heads : kind == HEADS_H ? p->heads : 1;
    int slot;

    if (kind == HEADS_NONE)
        return 0;
    slot = slot_add(p, HEED_U8, true, 2, 1, heads, src->ext, cf_s(&p->c, s, S_MSLOT) == SLOT_CONST);
    for (int64_t b = 0; slot > 0 && !p->shapes_only && b < slot_of(p, slot)->shape[0]; b++) {
        for (int64_t h = 0; h < heads; h++) {
            const uint64_t base = cf_mix2(slot_hash(p, slot_of(p, slot), b, 60 + s), (uint64_t)h);
            const uint64_t part = base % 4;

            for (int64_t j = 0; j < src->ext; j++) {
                const uint64_t run = cf_mix2(base, (uint64_t)(j >> 6)),
                               one = cf_mix2(base, (uint64_t)j + 99);
                const bool keep = part == 0 || (run % 3 && one % 4 < 1 + part);

                cf_array_set(slot_of(p, slot), cf_array_at(slot_of(p, slot), b, 0, h, j),
                             keep ? (uint32_t)(1 + one % 255) : 0);
            }
        }
    }
    return slot;
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
    for (int64_t b = 0; slot_wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        for (int64_t x = 0; x < heads; x++) {
            for (int64_t y = 0; y < blocks; y++) {
                struct rng r = rng_of(cf_mix2(slot_hash(p, slot_of(p, slot), b, 30 + s),
                                         (uint64_t)(x * 4099 + y)));

                for (int64_t z = 0; z < runs; z++) {
                    const bool odd =
                        have == SLOT_HOSTILE || (have == SLOT_RT && rng_below(&r, 4) == 0);

                    cf_array_set_int(slot_of(p, slot), cf_array_at(slot_of(p, slot), b, x, y, z),
                                     odd ? slot_nonsense(&r, names) : rng_below(&r, names));
                }
            }
        }
    }
    return slot;
}

static int other_index(struct problem *p, int s)
{
    const int slot = slot_add(p, HEED_I32, true, cf_s(&p->c, s, S_LAY) == LAY_PAGED ? 1 : 0, 1, 1,
                              1, cf_s(&p->c, s, S_IDX) == SLOT_CONST);

    return slot;
}

/* ---- terms --------------------------------------------------------------- */

int cf_global_make(struct problem *p, int s, int t, int64_t have)
{
    const struct cs *c = &p->c;
    const int64_t gf = cf_t(c, s, t, T_GF), number = 200 + s * 8 + t;
    const int64_t keys = p->source[s].n_k - cf_s(c, s, S_PAD), rows = p->n_q;
    const int64_t n = gf == GF_ROWS ? rows : gf == GF_BOTH && rows < keys ? rows : keys;
    struct rng size = rng_of(cf_mix2(c->seed, (uint64_t)number));
    int64_t most = rng_below(&size, 4) == 0 ? 70 : 1 + rng_below(&size, 6);
    int slot;

    if (most > n && have == HAVE_CONST)
        most = n;
    slot = slot_add(p, HEED_I32, true, 1, 1, 1, most, have == HAVE_CONST);
    if (slot > 0 && have == HAVE_CONST)
        p->slot[slot - 1].ordered = n;
    for (int64_t b = 0; slot_wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        struct rng r = rng_of(slot_hash(p, slot_of(p, slot), b, (int)number));
        int64_t last = -1;

        for (int64_t i = 0; i < most; i++) {
            const int64_t room = n - last - 1 - (most - i - 1);
            int64_t value = last + 1 + (room > 1 ? rng_below(&r, room < 9 ? room : 9) : 0);

            last = value;
            if (have == HAVE_CONST && rng_below(&r, 12) == 0 && i + 1 == most)
                value = -1;
            else if ((have == HAVE_RT && rng_below(&r, 12) == 0) ||
                     (have == HAVE_HOSTILE && rng_below(&r, 3) == 0))
                value = slot_nonsense(&r, n);
            cf_array_set_int(slot_of(p, slot), cf_array_at(slot_of(p, slot), b, 0, 0, i), value);
        }
    }
    return slot;
}

int cf_segment_make(struct problem *p, int s, int t, int64_t have)
{
    const int64_t block = cf_t(&p->c, s, t, T_BLOCK), blocks = (p->n_q + block - 1) / block;
    const int64_t n = p->source[s].n_k - cf_s(&p->c, s, S_PAD);
    const int slot = slot_add(p, HEED_I32, true, 2, 1, blocks, 2, have == HAVE_CONST);

    if (slot > 0 && have == HAVE_CONST)
        p->slot[slot - 1].ordered = n + 1;
    for (int64_t b = 0; slot_wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        struct rng r = rng_of(slot_hash(p, slot_of(p, slot), b, 300 + s * 8 + t));

        for (int64_t y = 0; y < blocks; y++) {
            const int64_t at = cf_array_at(slot_of(p, slot), b, 0, y, 0);
            const bool odd = have == HAVE_HOSTILE || (have == HAVE_RT && rng_below(&r, 5) == 0);
            int64_t begin = rng_below(&r, n + 1),
                    end = begin + rng_below(&r, (n - begin < 70 ? n - begin : 70) + 1);

            if (odd) {
                begin = slot_nonsense(&r, n);
                end = slot_nonsense(&r, n);
            }
            cf_array_set_int(slot_of(p, slot), at, begin);
            cf_array_set_int(slot_of(p, slot), at + 1, end);
        }
    }
    return slot;
}

/* ---- all ------------------------------------------------------------------ */

static bool bias_has(const struct problem *p, int s, int b, int extent)
{
    const int *has = cf_bias_kinds[cf_b(&p->c, s, b, B_KIND)].extent;

    return has[0] == extent || has[1] == extent || has[2] == extent;
}

/* RAGGED: extents of arrays along rows and keys bound the lengths (a broadcast extent 1 does not).
 */
static void bounds_find(struct problem *p)
{
    for (int s = 0; s < p->n_sources; s++) {
        struct source_data *src = &p->source[s];
        bool cut = cf_s(&p->c, s, S_MASK) != HEADS_NONE;

        for (int b = 0; b < cf_s(&p->c, s, S_NB); b++) {
            const int64_t coord = cf_b(&p->c, s, b, B_COORD);

            cut = cut || (bias_has(p, s, b, EXTENT_KEYS) && !cf_b(&p->c, s, b, B_K) &&
                          src->ext != 1);
            cut = cut || coord == COORD_K || coord == COORD_BOTH;
            if (((bias_has(p, s, b, EXTENT_ROWS) && !cf_b(&p->c, s, b, B_Q) && p->q_ext != 1) ||
                 coord == COORD_Q || coord == COORD_BOTH) &&
                p->q_ext < p->n_q)
                p->n_q = p->q_ext;
        }
        if (cut && src->ext < src->n_k)
            src->n_k = src->ext;
    }
}

static bool source_make(struct problem *p, int s)
{
    struct source_data *src = &p->source[s];
    const struct cs *c = &p->c;
    const int64_t lay = cf_s(c, s, S_LAY), nk = cf_s(c, s, S_NK);
    bool ok;

    src->len = cf_s(c, s, S_PAD) && cf_s(c, s, S_LEN) == HAVE_NONE
                   ? lengths_padded(p, s)
                   : lengths_make(p, 1 + s, cf_s(c, s, S_LEN), nk);
    src->index = lay == LAY_RAGGED   ? begins_make(p, 1 + s, cf_s(c, s, S_IDX), nk, src->total)
                 : lay == LAY_LISTED ? listed_make(p, s)
                 : lay == LAY_DENSE  ? 0
                                     : other_index(p, s);
    src->mask = mask_make(p, s);
    ok = src->len >= 0 && src->index >= 0 && src->mask >= 0;
    for (int t = 0; t < cf_s(c, s, S_NT) && ok; t++) {
        const int64_t have = cf_t(c, s, t, T_SLOT);

        if (have == HAVE_NONE)
            continue;
        src->term[t] = cf_term_kinds[cf_t(c, s, t, T_KIND)].slot_make(p, s, t, have);
        ok = src->term[t] > 0;
    }
    for (int b = 0; b < cf_s(c, s, S_NB) && ok; b++)
        ok = slot_biases(p, s, b);
    return ok;
}

bool cf_slots_make(struct problem *p)
{
    const struct cs *c = &p->c;
    bool ok = true;

    bounds_find(p);
    p->q_len = lengths_make(p, 0, cf_g(c, G_QLEN), p->q_ext);
    p->q_begin =
        cf_g(c, G_QL) == LAY_RAGGED ? begins_make(p, 0, cf_g(c, G_QBEG), p->q_ext, p->q_total) : 0;
    p->q_pos = positions_make(p);
    ok = p->q_len >= 0 && p->q_begin >= 0 && p->q_pos >= 0;
    for (int s = 0; s < p->n_sources && ok; s++)
        ok = source_make(p, s);
    return ok;
}
