/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The auxiliary arrays of a case: lengths, masks, positions, lists of terms; those of layouts and
 * biases have files of their own. Constant ones are valid; run-time ones hold some entries that
 * must be absent; hostile ones hold mostly nonsense.
 */
#include "slots.h"

#include <string.h>

/* Lengths of number `number` (0: queries, 1 + s: source s). */
static int lengths_make(struct problem *p, int number, int64_t have, int64_t n)
{
    const int slot =
        have == HAVE_NONE ? 0 : slot_add(p, index_dtype(p), true, 0, 1, 1, 1, have == HAVE_CONST);

    for (int64_t b = 0; wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        const int64_t item =
            slot_of(p, slot)->shape[0] > 1 || cf_g(&p->c, G_SHARE) == 0 ? p->item[b] : 0;
        struct rng r = rng_of(item_hash(p, slot_of(p, slot), b, number));

        cf_array_set_int(slot_of(p, slot), b,
                         have == HAVE_HOSTILE ? nonsense(&r, n)
                                              : nominal_length(&p->c, number, item, n));
    }
    return slot;
}

/* Keys appended by `pad` lie beyond every length. */
static int lengths_padded(struct problem *p, int s)
{
    const int slot = slot_add(p, index_dtype(p), true, 0, 1, 1, 1, true);

    for (int64_t b = 0; wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++)
        cf_array_set_int(slot_of(p, slot), b, cf_s(&p->c, s, S_NK));
    return slot;
}

static int positions_make(struct problem *p)
{
    const int64_t have = cf_g(&p->c, G_QPOS);
    const int slot =
        have == HAVE_NONE ? 0 : slot_add(p, HEED_I64, true, 0, 1, 1, 1, have == HAVE_CONST);

    for (int64_t b = 0; wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        struct rng r = rng_of(item_hash(p, slot_of(p, slot), b, 501));

        cf_array_set_int(slot_of(p, slot), b,
                         have == HAVE_HOSTILE ? nonsense(&r, 40) : rng_below(&r, 40) - 10);
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
            const uint64_t base = cf_mix2(item_hash(p, slot_of(p, slot), b, 60 + s), (uint64_t)h);
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

/* Does a row keep a key? Blocks of keys go as a whole, from all rows or from some. */
static bool row_keeps(uint64_t head, int64_t row, int64_t key)
{
    const uint64_t block = cf_mix2(head, (uint64_t)(key >> 6) + 7),
                   own = cf_mix2(head, (uint64_t)row + 1000),
                   one = cf_mix2(cf_mix2(own, (uint64_t)key), 3);

    if (head % 4 == 0 || (block % 3 == 0 && own % 8))
        return head % 4 == 0 && block % 3;
    return own % 4 == 0 || one % 4 >= own % 4;
}

/* What the row has for 32 keys; of keys beyond the last one, anything. */
static uint32_t row_word(uint64_t head, int64_t row, int64_t word)
{
    uint32_t out = 0;

    for (int64_t i = 0; i < 32; i++)
        out |= (uint32_t)row_keeps(head, row, 32 * word + i) << i;
    return out;
}

static int row_mask_make(struct problem *p, int s)
{
    struct source_data *src = &p->source[s];
    const int64_t kind = cf_s(&p->c, s, S_RMASK);
    const bool bits = kind == ROWS_BITS_1 || kind == ROWS_BITS_H;
    const int64_t heads = kind == ROWS_BYTES_H || kind == ROWS_BITS_H ? p->heads : 1,
                  entries = bits ? (src->ext + 31) / 32 : src->ext;
    int slot;

    if (kind == ROWS_NONE)
        return 0;
    slot = slot_add(p, bits ? HEED_I32 : HEED_U8, true, 3, heads, p->q_ext, entries,
                    p->c.seed / 2 % 2);
    for (int64_t b = 0; slot > 0 && !p->shapes_only && b < slot_of(p, slot)->shape[0]; b++) {
        for (int64_t i = 0; i < heads * p->q_ext * entries; i++) {
            const int64_t h = i / entries / p->q_ext, row = i / entries % p->q_ext,
                          at = i % entries;
            const uint64_t base =
                cf_mix2(item_hash(p, slot_of(p, slot), b, 80 + s), (uint64_t)h + 17);

            cf_array_set(slot_of(p, slot), cf_array_at(slot_of(p, slot), b, h, row, at),
                         bits ? row_word(base, row, at) : row_keeps(base, row, at) * 129u);
        }
    }
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
    for (int64_t b = 0; wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        struct rng r = rng_of(item_hash(p, slot_of(p, slot), b, (int)number));
        int64_t last = -1;

        for (int64_t i = 0; i < most; i++) {
            const int64_t room = n - last - 1 - (most - i - 1);
            int64_t value = last + 1 + (room > 1 ? rng_below(&r, room < 9 ? room : 9) : 0);

            last = value;
            if (have == HAVE_CONST && rng_below(&r, 12) == 0 && i + 1 == most)
                value = -1;
            else if ((have == HAVE_RT && rng_below(&r, 12) == 0) ||
                     (have == HAVE_HOSTILE && rng_below(&r, 3) == 0))
                value = nonsense(&r, n);
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
    for (int64_t b = 0; wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        struct rng r = rng_of(item_hash(p, slot_of(p, slot), b, 300 + s * 8 + t));

        for (int64_t y = 0; y < blocks; y++) {
            const int64_t at = cf_array_at(slot_of(p, slot), b, 0, y, 0);
            const bool odd = have == HAVE_HOSTILE || (have == HAVE_RT && rng_below(&r, 5) == 0);
            int64_t begin = rng_below(&r, n + 1),
                    end = begin + rng_below(&r, (n - begin < 70 ? n - begin : 70) + 1);

            if (odd) {
                begin = nonsense(&r, n);
                end = nonsense(&r, n);
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

/* Words of bits have room for whole 32 keys. */
static void row_mask_bounds(struct problem *p, int s)
{
    struct source_data *src = &p->source[s];
    const int64_t kind = cf_s(&p->c, s, S_RMASK),
                  keys = kind < ROWS_BITS_1 ? src->ext : (src->ext + 31) / 32 * 32;

    if (kind != ROWS_NONE && keys < src->n_k)
        src->n_k = keys;
    if (kind != ROWS_NONE && p->q_ext < p->n_q)
        p->n_q = p->q_ext;
}

/* Packed rows: extents of arrays along rows and keys bound the lengths (a broadcast extent 1 does
 * not). */
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
        row_mask_bounds(p, s);
    }
}

static bool source_make(struct problem *p, int s)
{
    struct source_data *src = &p->source[s];
    const struct cs *c = &p->c;
    const struct cf_layout *layout = cf_layout_of(c, s);
    const int64_t n = layout->pages ? src->n_k : cf_s(c, s, S_NK);
    bool ok;

    src->len = cf_s(c, s, S_PAD) && cf_s(c, s, S_LEN) == HAVE_NONE
                   ? lengths_padded(p, s)
                   : lengths_make(p, 1 + s, cf_s(c, s, S_LEN), n);
    src->index = layout->index_make ? layout->index_make(p, s) : 0;
    src->mask = mask_make(p, s);
    src->row_mask = row_mask_make(p, s);
    src->k_scale = cf_scales_make(p, s, true);
    src->v_scale = cf_scales_make(p, s, false);
    ok = src->len >= 0 && src->index >= 0 && src->mask >= 0 && src->row_mask >= 0 &&
         src->k_scale >= 0 && src->v_scale >= 0;
    for (int t = 0; t < cf_s(c, s, S_NT) && ok; t++) {
        const int64_t have = cf_t(c, s, t, T_SLOT);

        if (have == HAVE_NONE)
            continue;
        src->term[t] = cf_term_kinds[cf_t(c, s, t, T_KIND)].slot_make(p, s, t, have);
        ok = src->term[t] > 0;
    }
    for (int b = 0; b < cf_s(c, s, S_NB) && ok; b++)
        ok = cf_bias_make(p, s, b);
    return ok;
}

bool cf_slots_make(struct problem *p)
{
    const struct cs *c = &p->c;
    bool ok = true;

    bounds_find(p);
    p->q_len = lengths_make(p, 0, cf_g(c, G_QLEN), p->q_ext);
    p->q_begin = cf_queries_packed(c) ? cf_begins_make(p) : 0;
    p->o_begin = cf_g(c, G_OBEG) ? cf_o_begins_make(p) : 0;
    p->q_pos = positions_make(p);
    ok = p->q_len >= 0 && p->q_begin >= 0 && p->o_begin >= 0 && p->q_pos >= 0;
    for (int s = 0; s < p->n_sources && ok; s++)
        ok = source_make(p, s);
    return ok;
}

/* ---- elements that share memory ------------------------------------------------------ */

/* What an item holds depends on the other items then, so a problem of some items takes its arrays
 * from the problem of all.
 *
 * Axes that repeat: any of more than one element, but not the one along which entries ascend. Items
 * that lie one after another keep their lengths apart. */
static int zero_of(const struct slot *s, uint64_t hash, bool packed)
{
    int zero = (int)(hash % 16);

    if (s->ordered)
        zero &= 7;
    if (s->a.trailing == 0 && packed)
        zero &= ~1;
    return s->a.batched ? zero : zero & ~1;
}

static bool rows_take(struct problem *p, struct problem *all)
{
    for (int i = 0; i < p->n_slots; i++) {
        struct array *a = &p->slot[i].a;
        const struct array *from = &all->slot[i].a;
        const size_t row = (size_t)(cf_array_count(from) / (from->shape[0] ? from->shape[0] : 1)) *
                           cf_dtype_size(a->dtype);

        for (int64_t b = 0; b < a->shape[0] && row; b++) {
            const int64_t item = from->shape[0] == 1 ? 0 : a->pages ? b : p->item[b];

            memcpy((char *)a->data + (size_t)b * row,
                   (const char *)from->data + (size_t)item * row, row);
        }
    }
    return true;
}

bool cf_slots_lay(struct problem *p, struct problem *all)
{
    const int64_t laid = cf_g(&p->c, G_SS);
    bool packed = p->q_begin != 0, ok = true;

    if (laid < LAID_ZERO)
        return true;
    for (int s = 0; s < p->n_sources; s++)
        packed = packed || cf_layout_of(&p->c, s)->packed;
    for (int i = 0; i < p->n_slots && ok; i++) {
        struct slot *s = &p->slot[i];
        const uint64_t hash = cf_mix2(p->c.seed, (uint64_t)i + 5150);
        const int way = p->n_items > 1 && p->item[1] < p->item[0] ? -1 : 1;

        for (int axis = 0; axis < 4; axis++)
            s->a.step[axis] = hash >> (8 + axis) & 1 ? -1 : 1;
        if (laid == LAID_ZERO)
            s->a.zero = zero_of(s, hash, packed);
        if (all) {
            s->a.step[0] *= s->a.pages ? 1 : way;
        } else {
            ok = laid == LAID_ZERO ? cf_array_share(&s->a, LAID_ZERO)
                                   : cf_array_overlap(&s->a, s->ordered);
        }
    }
    return ok && (!all || rows_take(p, all));
}
