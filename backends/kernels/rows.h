/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Shape A: rows of any storage type and stride as f32 of unit stride, and K transposed into panels
 * [4][d][16] of a 64-key block.
 */
#ifndef HEED_BACKENDS_KERNELS_ROWS_H
#define HEED_BACKENDS_KERNELS_ROWS_H

#include "call.h"

/* Element (i, t), f32. */
HK_FN float hk_matrix_element(const struct hk_matrix *m, hk_i64 i, hk_i64 t)
{
    return hk_element(m->dtype, m->base, i * m->row + t * m->channel);
}

HK_FN int hk_matrix_plain(const struct hk_matrix *m)
{
    return m->dtype == HK_F32 && m->channel == 1;
}

/* n channels of row i, then zeros up to width. */
HK_FN void hk_row_read(const struct hk_matrix *m, hk_i64 i, hk_i64 n, hk_i64 width,
                       HK_GLOBAL float *to)
{
    hk_i64 t = 0;

    if (hk_matrix_plain(m)) {
        HK_GLOBAL const float *from = (HK_GLOBAL const float *)m->base + i * m->row;

        for (; t + 16 <= n; t += 16)
            hkv_store(to + t, hkv_load(from + t));
    }
    for (; t < n; t++)
        to[t] = hk_matrix_element(m, i, t);
    for (; t < width; t++)
        to[t] = 0.0f;
}

/* Key i of a block (negative: zeros) into its column of a panel. */
HK_FN void hk_key_pack(const struct hk_matrix *k, hk_i64 key, hk_i64 d, HK_GLOBAL float *to)
{
    hk_i64 t;

    if (key < 0) {
        for (t = 0; t < d; t++)
            to[t * 16] = 0.0f;
    } else if (hk_matrix_plain(k)) {
        HK_GLOBAL const float *from = (HK_GLOBAL const float *)k->base + key * k->row;

        for (t = 0; t < d; t++)
            to[t * 16] = from[t];
    } else {
        for (t = 0; t < d; t++)
            to[t * 16] = hk_matrix_element(k, key, t);
    }
}

#endif
