/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: products of a few rows with the columns of a panel (docs/numerics.md step 3). A
 * vector holds different columns, never terms of one sum; a panel is [d][HK_PANEL].
 */
#ifndef HEED_BACKENDS_KERNELS_PRODUCTS_H
#define HEED_BACKENDS_KERNELS_PRODUCTS_H

#include "dialect.h"

#define HK_PANEL (HKV_LANES * HKV_TILE)
#define HK_R HK_TILE_ROWS
#define HK_ALL_LANES ((hk_u32)(0xffffu >> (16 - HKV_LANES)))
#define HK_STEPS 2      /* terms at a time: shorter loops, whose ends the processor predicts */

HK_INLINE void hk_product_step(HK_GLOBAL const float *x, hk_i64 x_row,
                               HK_GLOBAL const float *panel, hk_vec acc[HK_R][HKV_TILE],
                               const int vecs)
{
    hk_vec b[HKV_TILE];
    int i, u;

    HK_UNROLL
    for (u = 0; u < vecs; u++)
        b[u] = hkv_load(panel + u * HKV_LANES);
    HK_UNROLL
    for (i = 0; i < HK_R; i++) {
        const hk_vec a = hkv_set(x[i * x_row]);

        HK_UNROLL
        for (u = 0; u < vecs; u++)
            acc[i][u] = hkv_fma(a, b[u], acc[i][u]);
    }
}

HK_INLINE void hk_product_zero(hk_vec acc[HK_R][HKV_TILE], const int vecs)
{
    int i, u;

    HK_UNROLL
    for (i = 0; i < HK_R; i++) {
        HK_UNROLL
        for (u = 0; u < vecs; u++)
            acc[i][u] = hkv_set(0.0f);
    }
}

/* The next d terms of the products. */
HK_INLINE void hk_product_more(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 x_row,
                               HK_GLOBAL const float *HK_RESTRICT panel, hk_i64 d,
                               hk_vec acc[HK_R][HKV_TILE], const int vecs)
{
    hk_i64 t = 0;
    int s;

    for (; t + HK_STEPS <= d; t += HK_STEPS) {
        HK_UNROLL
        for (s = 0; s < HK_STEPS; s++)
            hk_product_step(x + t + s, x_row, panel + (t + s) * HK_PANEL, acc, vecs);
    }
    for (; t < d; t++)
        hk_product_step(x + t, x_row, panel + t * HK_PANEL, acc, vecs);
}

/* acc[i][u] = row i of x . columns of the panel, one fma chain over d per product. x_row: floats
 * from row to row. */
HK_INLINE void hk_product_sums(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 x_row,
                               HK_GLOBAL const float *HK_RESTRICT panel, hk_i64 d,
                               hk_vec acc[HK_R][HKV_TILE], const int vecs)
{
    hk_product_zero(acc, vecs);
    hk_product_more(x, x_row, panel, d, acc, vecs);
}

#endif
