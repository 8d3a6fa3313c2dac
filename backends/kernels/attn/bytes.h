/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: scores of few rows with a block of 64 keys in blocks whose numbers are bytes, or
 * become bytes. A group of channels is transposed as bytes, a quarter of what floats take, and
 * widened on its way into the sums. The order of every sum is that of scales.h (docs/numerics.md
 * step 3).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_BYTES_H
#define HEED_BACKENDS_KERNELS_ATTN_BYTES_H

#include "scales.h"

/* Block g of the first `end` rows as bytes [end / HKV_LANES][32][HKV_LANES]. */
#define HK_BYTES_PACK(NAME, name, number, elements, bytes, arg)                                    \
    HK_NOINLINE void hk_bytes_pack_##name(const struct hk_block_rows *k, int end, hk_i64 g,        \
                                          HK_GLOBAL hk_i8 *out)                                    \
    {                                                                                              \
        int i;                                                                                     \
                                                                                                   \
        for (i = 0; i < end; i += HKV_LANES)                                                       \
            hkv_bytes_##name(k->at + i, g, out + i * HK_BLOCK_CHANNELS);                           \
    }
HK_BLOCK_TYPES(HK_BYTES_PACK, 0)
#undef HK_BYTES_PACK

/* What a group adds to scores: its bytes, scales and minima of the 64 keys. */
struct hk_byte_group {
    HK_GLOBAL const hk_i8 *bytes;
    HK_GLOBAL const float *scale;
    struct hk_minima minima;
    int end;   /* hk_keys_computed */
    int first; /* there was no group before */
};

/* s[i][key .. ] of `rows` rows and the keys of `vecs` vectors. */
HK_INLINE void hk_bytes_product(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 x_row,
                                const struct hk_byte_group *group, int key,
                                HK_GLOBAL float *HK_RESTRICT s, struct hk_fetch *ahead,
                                const int rows, const int vecs)
{
    HK_GLOBAL const hk_i8 *bytes = group->bytes + key * HK_BLOCK_CHANNELS;
    struct hk_fetch next = *ahead;
    hk_vec acc[HK_R][HK_TILE_VECS], b[HK_TILE_VECS];
    int t, u, i;

    hk_product_zero(acc, rows, vecs);
    for (t = 0; t < HK_BLOCK_CHANNELS; t++) {
        if (t % HK_FETCH_EVERY == 0)
            hk_fetch_step(&next);
        HK_UNROLL
        for (u = 0; u < vecs; u++)
            b[u] = hkv_load_i8(bytes + (u * HK_BLOCK_CHANNELS + t) * HKV_LANES);
        hk_product_add(x + t, x_row, b, acc, rows, vecs);
    }
    HK_UNROLL
    for (i = 0; i < rows; i++) {
        HK_UNROLL
        for (u = 0; u < vecs; u++) {
            HK_GLOBAL float *to = s + i * HK_BLOCK + key + u * HKV_LANES;
            const hk_vec before = group->first ? hkv_set(0.0f) : hkv_load(to);

            hkv_store(to, hk_group_join(acc[i][u], hkv_load(group->scale + key + u * HKV_LANES),
                                        before, &group->minima, i, key + u * HKV_LANES));
        }
    }
    *ahead = next;
}

#define HK_BYTES_PRODUCTS(name, rows)                                                              \
    HK_NOINLINE void hk_bytes_products_##name(HK_GLOBAL const float *x, hk_i64 x_row,              \
                                              const struct hk_byte_group *group,                   \
                                              HK_GLOBAL float *s, struct hk_fetch *ahead)          \
    {                                                                                              \
        const int step = HK_VECS_OF(rows) * HKV_LANES;                                             \
        int key;                                                                                   \
                                                                                                   \
        for (key = 0; key < group->end; key += step)                                               \
            hk_bytes_product(x, x_row, group, key, s, ahead, rows, HK_VECS_OF(rows));              \
    }
HK_FEW_TILES(HK_BYTES_PRODUCTS)
#undef HK_BYTES_PRODUCTS

/* Group g of K: its bytes to st->k, its scales and minima to st->scaled. */
HK_FN void hk_bytes_get(const struct hk_strip *st, const struct hk_block_rows *k, hk_i64 g,
                        struct hk_byte_group *out)
{
    HK_GLOBAL hk_i8 *bytes = (HK_GLOBAL hk_i8 *)st->k;

    out->bytes = bytes;
    out->scale = st->scaled;
    out->end = hk_keys_computed(st, k);
    out->first = g == 0;
#define HK_PACK_BYTES(NAME, name, number, elements, size, arg)                                     \
    if (k->dtype == HK_##NAME)                                                                     \
        hk_bytes_pack_##name(k, out->end, g, bytes);                                               \
    else
    HK_BLOCK_TYPES(HK_PACK_BYTES, 0)
#undef HK_PACK_BYTES
    HK_UNREACHABLE();
    hk_rows_scales(k, g, 0, st->scaled);
    if (HK_HAS_MINIMA(k->dtype))
        hk_rows_scales(k, g, 1, st->scaled + HK_BLOCK);
}

/* Scores of all tiles with the keys whose rows are given. Meanwhile the block's V is fetched. */
HK_FN void hk_bytes_scores(const struct hk_strip *st, const struct hk_block_rows *k,
                           const struct hk_block_rows *v)
{
    const hk_i64 d = st->call->plan->d, groups = d / HK_BLOCK_CHANNELS;
    const hk_i64 across =
        hk_keys_computed(st, k) / HKV_LANES / hk_vecs_of(hk_min(st->n_rows, HK_R));
    const hk_i64 steps = st->tiles * across * HK_BLOCK_CHANNELS / HK_FETCH_EVERY;
    struct hk_byte_group group;
    struct hk_fetch ahead;
    hk_i64 g, m;

    hk_fetch_begin(&ahead, v, 0, st->call->plan->d_v, groups * steps);
    for (g = 0; g < groups; g++) {
        hk_bytes_get(st, k, g, &group);
        for (m = 0; m < st->tiles; m++) {
            HK_GLOBAL const float *x = st->q + m * HK_R * d + g * HK_BLOCK_CHANNELS;
            HK_GLOBAL float *s = st->s + m * HK_R * HK_BLOCK;

            group.minima = hk_minima_of(st, m * HK_R, g, st->scaled + HK_BLOCK);
#define HK_CALL(name) hk_bytes_products_##name(x, d, &group, s, &ahead)
            HK_BY_TILE(hk_min(st->n_rows - m * HK_R, HK_R), HK_CALL);
#undef HK_CALL
        }
    }
}

#endif
