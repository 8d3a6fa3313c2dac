/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The auxiliary arrays of biases: values, slopes, tables, rows of tables, maps, coordinates.
 */
#include "slots.h"

#include <assert.h>

static const float infinity = (float)(1e300 * 1e300);

static uint32_t bias_bits(const struct cs *c, uint32_t dtype, int64_t fill, uint64_t h)
{
    const bool exact = cf_g(c, G_FILL) == FILL_EXACT;

    if (fill == BFILL_INF && h % 8 == 0)
        return cf_encode(dtype, -infinity);
    if (fill == BFILL_SPECIAL && h % 40 == 0) {
        const float odd[] = { infinity, infinity - infinity, -infinity, -3e38f, 0x1p-140f };

        return cf_encode(dtype, odd[(h >> 16) % 5]);
    }
    if (exact)
        return cf_encode(dtype, h >> 20 & 3 ? 0.0f : -256.0f);
    return cf_small(dtype, h, 1);
}

/* Rows that are multiplied by q or k: at most one odd element each, lest all sums be NaN. EXACT: a
 * product with q or k is 0 or far below. */
static uint32_t row_bits(const struct cs *c, uint32_t dtype, int64_t fill, uint64_t row, int64_t z,
                         bool of_key)
{
    const uint64_t h = cf_mix2(row, (uint64_t)z);
    const float far_below = cf_g(c, G_SCALE) == SCALE_NEGATIVE || of_key ? 64.0f : -64.0f;

    if (fill != BFILL_NORMAL && z == 0)
        return bias_bits(c, dtype, fill, row);
    if (cf_g(c, G_FILL) != FILL_EXACT)
        return cf_small(dtype, h, 1);
    return cf_encode(dtype, z || cf_g(c, G_CAP) || row % 3 ? 0.0f : far_below);
}

static void bias_fill(struct problem *p, int slot, int s, int b_index, bool of_key)
{
    struct array *a = slot_of(p, slot);
    const int64_t fill = cf_b(&p->c, s, b_index, B_FILL);
    const struct cf_bias_kind *kind = &cf_bias_kinds[cf_b(&p->c, s, b_index, B_KIND)];
    const bool slopes = kind->slopes;

    for (int64_t b = 0; b < a->shape[0]; b++) {
        const uint64_t base = item_hash(p, a, b, 400 + s * 8 + b_index + (of_key ? 8000 : 0));

        for (int64_t x = 0; x < a->shape[1]; x++) {
            for (int64_t y = 0; y < a->shape[2]; y++) {
                const uint64_t row = cf_mix2(base, (uint64_t)(x * 65537 + y));

                for (int64_t z = 0; z < a->shape[3]; z++) {
                    uint32_t bits = bias_bits(&p->c, a->dtype, fill, cf_mix2(row, (uint64_t)z));

                    if (slopes && cf_g(&p->c, G_FILL) == FILL_EXACT && fill != BFILL_SPECIAL)
                        bits = cf_encode(a->dtype, cf_mix2(row, (uint64_t)z) & 1 ? 256.0f : 0.0f);
                    if (kind->join)
                        bits = row_bits(&p->c, a->dtype, fill, row, z, of_key);
                    cf_array_set(a, cf_array_at(a, b, x, y, z), bits);
                }
            }
        }
    }
}

static int coord_make(struct problem *p, int s, int b_index, int which)
{
    const int64_t have = cf_b(&p->c, s, b_index, B_CSLOT), n = which ? p->source[s].ext : p->q_ext;
    const int slot = slot_add(p, index_dtype(p), true, 1, 1, 1, n, have == SLOT_CONST);

    for (int64_t b = 0; wanted(p, slot) && b < slot_of(p, slot)->shape[0]; b++) {
        const uint64_t base =
            item_hash(p, slot_of(p, slot), b, 600 + (s * 8 + b_index) * 2 + which);

        for (int64_t i = 0; i < n; i++) {
            struct rng r = rng_of(cf_mix2(base, (uint64_t)i));

            cf_array_set_int(slot_of(p, slot), cf_array_at(slot_of(p, slot), b, 0, 0, i),
                             have == SLOT_HOSTILE ? nonsense(&r, 40) : rng_below(&r, 50) - 8);
        }
    }
    return slot;
}

static int map_make(struct problem *p, int s, int b_index, int64_t have)
{
    const int64_t len = cf_b(&p->c, s, b_index, B_LEN);
    struct rng r = rng_of(cf_mix2(p->c.seed, (uint64_t)(s * 8 + b_index + 700)));
    const int64_t n = rng_below(&r, 8) ? 1 + rng_below(&r, 60) : 0;
    const int slot = slot_add(p, HEED_I32, false, 1, 1, 1, n, have == HAVE_CONST);

    for (int64_t i = 0; wanted(p, slot) && i < n; i++) {
        const bool odd = have == HAVE_HOSTILE || (have == HAVE_RT && rng_below(&r, 6) == 0);

        cf_array_set_int(slot_of(p, slot), i, odd ? nonsense(&r, len) : rng_below(&r, len));
    }
    return slot;
}

/* Axes that a kind does not broadcast have their fields at the default. */
static int64_t bias_extent(const struct problem *p, int s, int b, int extent)
{
    const struct cs *c = &p->c;

    switch (extent) {
    case 0:
        return 1;
    case EXTENT_HEADS:
        return cf_b(c, s, b, B_H) ? 1 : p->heads;
    case EXTENT_ROWS:
        return cf_b(c, s, b, B_Q) ? 1 : p->q_ext;
    case EXTENT_KEYS:
        return cf_b(c, s, b, B_K) ? 1 : p->source[s].ext;
    case EXTENT_LEN:
        return cf_b(c, s, b, B_LEN);
    case EXTENT_CHANNELS:
        return p->d;
    }
    assert(false);
    return 0;
}

/* t, or u, whose type follows from that of t. */
static int rows_make(struct problem *p, int s, int b, bool of_key)
{
    const struct cs *c = &p->c;
    const struct cf_bias_kind *kind = &cf_bias_kinds[cf_b(c, s, b, B_KIND)];
    const uint32_t dtype = type_nth(
        TYPE_FLOATS, (cf_b(c, s, b, B_T) + (of_key ? (int64_t)(c->seed % 3) : 0)) % 3);
    const int slot =
        slot_add(p, dtype, kind->batched, kind->axes, bias_extent(p, s, b, kind->extent[0]),
                 bias_extent(p, s, b, kind->extent[1]), bias_extent(p, s, b, kind->extent[2]),
                 cf_b(c, s, b, B_SLOT) == SLOT_CONST);

    if (slot > 0 && !p->shapes_only)
        bias_fill(p, slot, s, b, of_key);
    return slot;
}

/* What a factor for each head may be. EXACT: the product is 0 or far below. */
static uint32_t factor_bits(const struct cs *c, uint32_t dtype, int64_t fill, uint64_t h)
{
    if (fill == BFILL_SPECIAL && h % 4 == 0)
        return bias_bits(c, dtype, fill, h / 4 * 40);
    if (fill != BFILL_NORMAL && h % 4 == 1)
        return 0;
    return cf_g(c, G_FILL) == FILL_EXACT ? cf_encode(dtype, h % 2 ? 1.0f : 2.0f)
                                         : cf_small(dtype, h, 1);
}

static int factor_make(struct problem *p, int s, int b)
{
    const int64_t n = cf_b(&p->c, s, b, B_FACTOR) == FACTOR_1 ? 1 : p->heads;
    const uint64_t seed = cf_mix2(p->c.seed, (uint64_t)(s * 8 + b + 9100));
    const uint32_t dtype = type_nth(TYPE_FLOATS, (int64_t)(seed % 3));
    const int slot = slot_add(p, dtype, false, 1, 1, 1, n, seed / 4 % 2);

    for (int64_t h = 0; wanted(p, slot) && h < n; h++)
        cf_array_set(
            slot_of(p, slot), h,
            factor_bits(&p->c, dtype, cf_b(&p->c, s, b, B_FILL), cf_mix2(seed, (uint64_t)h)));
    return slot;
}

bool cf_bias_make(struct problem *p, int s, int b)
{
    struct bias_data *bias = &p->source[s].bias[b];
    const struct cs *c = &p->c;
    const struct cf_bias_kind *kind = &cf_bias_kinds[cf_b(c, s, b, B_KIND)];
    const int64_t coord = cf_b(c, s, b, B_COORD), map = cf_b(c, s, b, B_MAP);
    const int64_t of = kind->join ? cf_b(c, s, b, B_OF) : OF_T;

    if (of != OF_U)
        bias->t = rows_make(p, s, b, false);
    if (of != OF_T)
        bias->u = rows_make(p, s, b, true);
    if (kind->fields >> B_FACTOR & 1 && cf_b(c, s, b, B_FACTOR))
        bias->u = factor_make(p, s, b);
    if (coord == COORD_K || coord == COORD_BOTH)
        bias->k_coord = coord_make(p, s, b, 1);
    if (coord == COORD_Q || coord == COORD_BOTH)
        bias->q_coord = coord_make(p, s, b, 0);
    if (map)
        bias->map = map_make(p, s, b, map);
    return bias->t + bias->u > 0 && bias->t >= 0 && bias->u >= 0 && bias->k_coord >= 0 &&
           bias->q_coord >= 0 && bias->map >= 0;
}
