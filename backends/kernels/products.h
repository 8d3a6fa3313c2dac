/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: the sums of register tiles, to which products of a few rows with vectors are added
 * (docs/numerics.md steps 3 and 7), of keys or columns, of channels, from wherever these come. A
 * vector never holds terms of one sum. And tiles of rows with the columns of a panel, which is
 * [d][HK_PANEL].
 */
#ifndef HEED_BACKENDS_KERNELS_PRODUCTS_H
#define HEED_BACKENDS_KERNELS_PRODUCTS_H

#include "numerics.h"

#define HK_PANEL (HKV_LANES * HKV_TILE)
#define HK_R HK_TILE_ROWS
#define HK_ALL_LANES ((hk_u32)(0xffffu >> (16 - HKV_LANES)))
#define HK_STEPS 2      /* terms at a time: shorter loops, whose ends the processor predicts */

/* Vectors across a tile of n rows, and across any: enough sums to hide the latency of fma. */
#define HK_VECS_MIN(a, b) ((a) < (b) ? (a) : (b))
#define HK_TILE_VECS HK_VECS_MIN(4 * HKV_TILE, HK_BLOCK / HKV_LANES)
#define HK_VECS_OF_TWO HK_VECS_MIN(2 * HKV_TILE, HK_BLOCK / HKV_LANES)
#define HK_VECS_OF(n) ((n) == 1 ? HK_TILE_VECS : (n) == 2 ? HK_VECS_OF_TWO : HKV_TILE)

/* ---- sums: of `rows` rows, `vecs` vectors across ---- */

HK_INLINE void hk_product_zero(hk_vec acc[HK_R][HK_TILE_VECS], const int rows, const int vecs)
{
    int i, u;

    HK_UNROLL
    for (i = 0; i < rows; i++) {
        HK_UNROLL
        for (u = 0; u < vecs; u++)
            acc[i][u] = hkv_set(0.0f);
    }
}

/* pitch: floats from row to row. */
HK_INLINE void hk_product_load(hk_vec acc[HK_R][HK_TILE_VECS], HK_GLOBAL const float *from,
                               hk_i64 pitch, const int rows, const int vecs)
{
    int i, u;

    HK_UNROLL
    for (i = 0; i < rows; i++) {
        HK_UNROLL
        for (u = 0; u < vecs; u++)
            acc[i][u] = hkv_load(from + i * pitch + u * HKV_LANES);
    }
}

HK_INLINE void hk_product_store(hk_vec acc[HK_R][HK_TILE_VECS], HK_GLOBAL float *to, hk_i64 pitch,
                                const int rows, const int vecs)
{
    int i, u;

    HK_UNROLL
    for (i = 0; i < rows; i++) {
        HK_UNROLL
        for (u = 0; u < vecs; u++)
            hkv_store(to + i * pitch + u * HKV_LANES, acc[i][u]);
    }
}

/* One term of all rows, x_row floats apart. */
HK_INLINE void hk_product_add(HK_GLOBAL const float *x, hk_i64 x_row, const hk_vec *b,
                              hk_vec acc[HK_R][HK_TILE_VECS], const int rows, const int vecs)
{
    int i, u;

    HK_UNROLL
    for (i = 0; i < rows; i++) {
        const hk_vec a = hkv_set(x[i * x_row]);

        HK_UNROLL
        for (u = 0; u < vecs; u++)
            acc[i][u] = hkv_fma(a, b[u], acc[i][u]);
    }
}

/* One term whose vectors lie side by side from `from` on. */
HK_INLINE void hk_product_step(HK_GLOBAL const float *x, hk_i64 x_row, HK_GLOBAL const float *from,
                               hk_vec acc[HK_R][HK_TILE_VECS], const int rows, const int vecs)
{
    hk_vec b[HK_TILE_VECS];
    int u;

    HK_UNROLL
    for (u = 0; u < vecs; u++)
        b[u] = hkv_load(from + u * HKV_LANES);
    hk_product_add(x, x_row, b, acc, rows, vecs);
}

/* ---- tiles of HK_R rows ---- */

/* The next n terms; row: floats from those of a term to those of the next. */
HK_INLINE void hk_product_more(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 x_row,
                               HK_GLOBAL const float *HK_RESTRICT b, hk_i64 row, hk_i64 n,
                               hk_vec acc[HK_R][HK_TILE_VECS], const int vecs)
{
    hk_i64 t = 0;
    int s;

    for (; t + HK_STEPS <= n; t += HK_STEPS) {
        HK_UNROLL
        for (s = 0; s < HK_STEPS; s++)
            hk_product_step(x + t + s, x_row, b + (t + s) * row, acc, HK_R, vecs);
    }
    for (; t < n; t++)
        hk_product_step(x + t, x_row, b + t * row, acc, HK_R, vecs);
}

/* acc[i][u] = row i of x . columns of the panel, one fma chain over d per product. x_row: floats
 * from row to row. */
HK_INLINE void hk_product_sums(HK_GLOBAL const float *HK_RESTRICT x, hk_i64 x_row,
                               HK_GLOBAL const float *HK_RESTRICT panel, hk_i64 d,
                               hk_vec acc[HK_R][HK_TILE_VECS], const int vecs)
{
    hk_product_zero(acc, HK_R, vecs);
    hk_product_more(x, x_row, panel, HK_PANEL, d, acc, vecs);
}

#endif
