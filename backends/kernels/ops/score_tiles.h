/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of rows with columns for the threads of a work-group: tiles of 64 rows and 64 columns,
 * of which a thread has 8 of each, a slice of terms at a time from local memory. Each product is a
 * chain over its terms, as docs/numerics.md wants it (section 7). Rows and columns are 8 apart, so
 * that neighbouring threads read neighbouring banks.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SCORE_TILES_H
#define HEED_BACKENDS_KERNELS_OPS_SCORE_TILES_H

#include "quads.h"

#define HK_TILE 64       /* rows, and columns */
#define HK_TILE_OWN 8    /* of a thread */
#define HK_TILE_SLICE (HK_GROUP_ROWS < 64 ? 8 : 16) /* terms; two, and scores, fit 32 KiB */
#define HK_TILE_LINE (HK_TILE_SLICE + 4)
#define HK_TILE_QUADS (HK_TILE * HK_TILE_SLICE / HK_QUAD / HK_THREADS) /* a thread brings */
#define HK_TILE_LINES (HK_THREADS / (HK_TILE_SLICE / HK_QUAD)) /* between two of these */
#define HK_TILE_PITCH (HK_TILE + 4) /* of scores: floats from row to row */

#if HK_TILE / HK_TILE_OWN * (HK_TILE / HK_TILE_OWN) != HK_THREADS
#error "threads share the sums of a tile"
#endif

/* Terms of the rows, and of the columns; what is beyond the last term is 0. */
struct hk_tile_slice {
    float x[HK_TILE * HK_TILE_LINE], q[HK_TILE * HK_TILE_LINE];
};

struct hk_tile_sums {
    float of[HK_TILE_OWN][HK_TILE_OWN]; /* [row][column] */
};

/* The rows, and columns, of a thread: id / 8 or id % 8, and 8 more each time. */
HK_FN hk_i32 hk_tile_row(hk_i32 id, const int i)
{
    return id % (HK_TILE / HK_TILE_OWN) + i * (HK_TILE / HK_TILE_OWN);
}

HK_FN hk_i32 hk_tile_column(hk_i32 id, const int j)
{
    return id / (HK_TILE / HK_TILE_OWN) + j * (HK_TILE / HK_TILE_OWN);
}

/* Of the quads of a slice that a thread brings: the row or column, and the first term. */
HK_FN hk_i32 hk_tile_line(hk_i32 id, const int i)
{
    return id / (HK_TILE_SLICE / HK_QUAD) + i * HK_TILE_LINES;
}

HK_FN hk_i32 hk_tile_term(hk_i32 id)
{
    return id % (HK_TILE_SLICE / HK_QUAD) * HK_QUAD;
}

/* The quads that a thread brings, in local memory; dtype: a constant. */
HK_INLINE void hk_tile_put(hk_u32 dtype, hk_i32 id, const struct hk_quad *brought,
                           HK_LOCAL float *to)
{
    int i;

    HK_UNROLL
    for (i = 0; i < HK_TILE_QUADS; i++)
        hk_quad_put(dtype, &brought[i],
                    to + hk_tile_line(id, i) * HK_TILE_LINE + hk_tile_term(id));
}

HK_FN void hk_tile_clear(struct hk_tile_sums *sums)
{
    int i, j;

    HK_UNROLL
    for (i = 0; i < HK_TILE_OWN; i++) {
        HK_UNROLL
        for (j = 0; j < HK_TILE_OWN; j++)
            sums->of[i][j] = 0.0f;
    }
}

/* The terms of a slice, for so many of the thread's columns. */
HK_INLINE void hk_tile_add_to(const int columns, HK_LOCAL const struct hk_tile_slice *slice,
                              hk_i32 id, struct hk_tile_sums *sums)
{
    HK_LOCAL const float *const x = slice->x + hk_tile_row(id, 0) * HK_TILE_LINE;
    HK_LOCAL const float *const q = slice->q + hk_tile_column(id, 0) * HK_TILE_LINE;
    const int step = HK_TILE / HK_TILE_OWN * HK_TILE_LINE;
    int t, i, j, k;

    HK_NO_UNROLL
    for (t = 0; t < HK_TILE_SLICE; t += HK_QUAD) {
        float column[HK_TILE_OWN][HK_QUAD];

        HK_UNROLL
        for (j = 0; j < columns; j++)
            hk_local_get4(q + j * step + t, column[j]);
        HK_UNROLL
        for (i = 0; i < HK_TILE_OWN; i++) {
            float row[HK_QUAD];

            hk_local_get4(x + i * step + t, row);
            HK_UNROLL
            for (k = 0; k < HK_QUAD; k++) {
                HK_UNROLL
                for (j = 0; j < columns; j++)
                    sums->of[i][j] = hk_fma(row[k], column[j][k], sums->of[i][j]);
            }
        }
    }
}

/* columns: those of the tile that are there. */
HK_FN void hk_tile_add(HK_LOCAL const struct hk_tile_slice *slice, hk_i32 id, hk_i64 columns,
                       struct hk_tile_sums *sums)
{
    const int each = HK_TILE / HK_TILE_OWN;

    if (columns <= 2 * each)
        hk_tile_add_to(2, slice, id, sums);
    else if (columns <= 4 * each)
        hk_tile_add_to(4, slice, id, sums);
    else
        hk_tile_add_to(HK_TILE_OWN, slice, id, sums);
}

#endif
