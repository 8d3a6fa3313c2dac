/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: scores of few rows with keys that the caller's cache keeps in panels: pages of 16
 * keys, channel after channel, the keys of a channel side by side. A panel is what K is transposed
 * into otherwise, so it goes into the sums as it lies, widened in registers. The order of every sum
 * is that of tiles.h (docs/numerics.md step 3).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_PANELS_H
#define HEED_BACKENDS_KERNELS_ATTN_PANELS_H

#include "few.h"

#define HK_CACHE_PANEL 16       /* keys */

/* Does K, of d channels, lie in panels, and has a row one scale at most? */
HK_FN int hk_panels_fit(const struct hk_matrix *k, hk_i64 d)
{
    return k->layout.kind == HK_LAYOUT_PAGED && k->layout.rows == HK_CACHE_PANEL && k->row == 1 &&
           k->channel == HK_CACHE_PANEL && (k->group == 0 || k->group == d);
}

/* A block's panels as 64 pieces in the order of addresses, which are fetched like rows. All of its
 * keys, from `first` on, are there. */
HK_FN void hk_panels_list(const struct hk_matrix *k, hk_i64 first, hk_i64 d,
                          struct hk_block_rows *out)
{
    const hk_i64 piece = d * hk_size(k->dtype);
    hk_i64 i;

    out->dtype = k->dtype;
    out->keys = HK_BLOCK;
    for (i = 0; i < HK_BLOCK; i++)
        out->at[i] = hk_row_at(k, first + i / HK_CACHE_PANEL * HK_CACHE_PANEL) +
                     i % HK_CACHE_PANEL * piece;
    out->group = k->group;
    out->of = k;
    if (hk_scales_apart(k->dtype, k->group))
        hk_scales_list(k, first, out->scale_at);
}

/* s[i][n] = x[i] . k[n] of keys `key` on, as many as `vecs` vectors hold. */
HK_INLINE void hk_panel_product(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 d,
                                const struct hk_block_rows *k, const hk_u32 dtype, int key,
                                HK_GLOBAL float *HK_RESTRICT s, struct hk_fetch *ahead,
                                const int rows, const int vecs)
{
    struct hk_fetch next = *ahead;
    HK_GLOBAL const char *at[HK_TILE_VECS];
    hk_vec acc[HK_R][HK_TILE_VECS], b[HK_TILE_VECS];
    hk_i64 t;
    int i, u;

    HK_UNROLL
    for (u = 0; u < vecs; u++) {
        const int n = key + u * HKV_LANES;

        at[u] = k->at[n / HK_CACHE_PANEL * HK_CACHE_PANEL] + n % HK_CACHE_PANEL * hk_size(dtype);
        HK_UNROLL
        for (i = 0; i < rows; i++)
            acc[i][u] = hkv_set(0.0f);
    }
    for (t = 0; t < d; t++) {
        if (t % HK_FETCH_EVERY == 0)
            hk_fetch_step(&next);
        HK_UNROLL
        for (u = 0; u < vecs; u++)
            b[u] = hk_vec_load(dtype, at[u], t * HK_CACHE_PANEL);
        HK_UNROLL
        for (i = 0; i < rows; i++) {
            const hk_vec a = hkv_set(x[i * d + t]);

            HK_UNROLL
            for (u = 0; u < vecs; u++)
                acc[i][u] = hkv_fma(a, b[u], acc[i][u]);
        }
    }
    HK_UNROLL
    for (i = 0; i < rows; i++) {
        HK_UNROLL
        for (u = 0; u < vecs; u++)
            hkv_store(s + i * HK_BLOCK + key + u * HKV_LANES, acc[i][u]);
    }
    *ahead = next;
}

HK_INLINE void hk_panel_keys(HK_GLOBAL const float *x, hk_i64 d, const struct hk_block_rows *k,
                             const hk_u32 dtype, HK_GLOBAL float *s, struct hk_fetch *ahead,
                             const int rows)
{
    const int vecs = HK_VECS_OF(rows);
    int key;

    for (key = 0; key < HK_BLOCK; key += vecs * HKV_LANES)
        hk_panel_product(x, d, k, dtype, key, s, ahead, rows, vecs);
}

#define HK_TYPED(type) hk_panel_keys(x, d, k, type, s, ahead, tile_rows)
#define HK_PANEL_PRODUCTS(name, rows)                                                              \
    HK_NOINLINE void hk_panel_products_##name(HK_GLOBAL const float *x, hk_i64 d,                  \
                                              const struct hk_block_rows *k, HK_GLOBAL float *s,   \
                                              struct hk_fetch *ahead)                              \
    {                                                                                              \
        const int tile_rows = rows;                                                                \
                                                                                                   \
        HK_BY(HK_ROW_TYPES, k->dtype, HK_TYPED);                                                   \
    }
HK_FEW_TILES(HK_PANEL_PRODUCTS)
#undef HK_PANEL_PRODUCTS
#undef HK_TYPED

/* Scores of all tiles with the panels k. Meanwhile the block's V is fetched. */
HK_FN void hk_panel_scores(const struct hk_strip *st, const struct hk_block_rows *k,
                           const struct hk_block_rows *v)
{
    const hk_i64 d = st->call->plan->d;
    const hk_i64 across = HK_BLOCK / HKV_LANES / hk_vecs_of(hk_min(st->n_rows, HK_R));
    const hk_i64 steps = st->tiles * across * ((d + HK_FETCH_EVERY - 1) / HK_FETCH_EVERY);
    struct hk_fetch ahead;
    hk_i64 m;

    hk_fetch_begin(&ahead, v, 0, st->call->plan->d_v, steps);
    for (m = 0; m < st->tiles; m++) {
        HK_GLOBAL const float *x = st->q + m * HK_R * d;
        HK_GLOBAL float *s = st->s + m * HK_R * HK_BLOCK;

#define HK_CALL(name) hk_panel_products_##name(x, d, k, s, &ahead)
        HK_BY_TILE(hk_min(st->n_rows - m * HK_R, HK_R), HK_CALL);
#undef HK_CALL
    }
    if (k->group > 0)
        hk_few_join(st, k, 0, st->s);
}

/* The next block, if all of its keys are there. */
HK_FN int hk_next_panels(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                         hk_i64 block, struct hk_block_rows *out)
{
    const hk_i64 first = (block + 1) * HK_BLOCK;
    hk_i64 i;

    if (!hk_block_aligned(sub) || first + HK_BLOCK > st->len)
        return 0;
    for (i = 0; i < HK_BLOCK; i += HK_CACHE_PANEL) {
        if (!hk_row_present(&st->k_rows.layout, first + i))
            return 0;
    }
    hk_panels_list(&st->k_rows, first, st->call->plan->d, out);
    return 1;
}

#endif
