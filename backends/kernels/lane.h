/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Shape A: where the arrays of a lane lie in its scratch, which is part of the workspace. The host
 * asks for `bytes`, the kernel for the rest.
 */
#ifndef HEED_BACKENDS_KERNELS_LANE_H
#define HEED_BACKENDS_KERNELS_LANE_H

#include "image.h"

#define HK_LANE_ALIGN 64

struct hk_lane_query {
    hk_i64 index, head, q;
    hk_u32 all, absent;
};

/* The reach of a tile's rows, range by range: what some row sees and what all see. */
struct hk_tile_reach {
    hk_i64 lo[HK_RANGES], hi[HK_RANGES], in_lo[HK_RANGES], in_hi[HK_RANGES];
};

/* Floats unless said otherwise; P: rows rounded up to whole tiles of R, width: d_v to whole
 * vectors. Sums over V lie [tiles][width / 16][R][16]. */
struct hk_lane_layout {
    hk_i64 rows, tiles, width;
    hk_i64 q;                           /* [P][d] */
    hk_i64 s;                           /* [P][64] */
    hk_i64 o, total_o;                  /* [P][width] */
    hk_i64 lanes, total_lanes;          /* [P][16] */
    hk_i64 k;                           /* [4][d][16] */
    hk_i64 v;                           /* [64][width] */
    hk_i64 most;                        /* [P][16] */
    hk_i64 reference, total;            /* [P] */
    hk_i64 fresh, started;              /* [P] hk_u32 */
    hk_i64 words, tile_words;           /* [P], [tiles] hk_u64 */
    hk_i64 reach;                       /* [P] struct hk_reach */
    hk_i64 tile_reach;                  /* [tiles] struct hk_tile_reach */
    hk_i64 queries;                     /* [P] struct hk_lane_query */
    hk_i64 full;                        /* [tiles] hk_u32 */
    hk_i64 bytes;
};

HK_FN hk_i64 hk_lane_take(hk_i64 *at, hk_i64 bytes)
{
    const hk_i64 start = *at;

    *at += (bytes + HK_LANE_ALIGN - 1) / HK_LANE_ALIGN * HK_LANE_ALIGN;
    return start;
}

HK_FN void hk_lane_find(hk_i64 rows, hk_i64 tile_rows, hk_i64 d, hk_i64 d_v,
                        struct hk_lane_layout *out)
{
    const hk_i64 f = 4;
    hk_i64 at = 0, p;

    out->tiles = (rows + tile_rows - 1) / tile_rows;
    out->rows = p = out->tiles * tile_rows;
    out->width = (d_v + 15) / 16 * 16;
    out->q = hk_lane_take(&at, p * d * f);
    out->s = hk_lane_take(&at, p * 64 * f);
    out->o = hk_lane_take(&at, p * out->width * f);
    out->total_o = hk_lane_take(&at, p * out->width * f);
    out->lanes = hk_lane_take(&at, p * 16 * f);
    out->total_lanes = hk_lane_take(&at, p * 16 * f);
    out->k = hk_lane_take(&at, 64 * d * f);
    out->v = hk_lane_take(&at, 64 * out->width * f);
    out->most = hk_lane_take(&at, p * 16 * f);
    out->reference = hk_lane_take(&at, p * f);
    out->total = hk_lane_take(&at, p * f);
    out->fresh = hk_lane_take(&at, p * f);
    out->started = hk_lane_take(&at, p * f);
    out->words = hk_lane_take(&at, p * 8);
    out->tile_words = hk_lane_take(&at, out->tiles * 8);
    out->reach = hk_lane_take(&at, p * (hk_i64)sizeof(struct hk_reach));
    out->tile_reach = hk_lane_take(&at, out->tiles * (hk_i64)sizeof(struct hk_tile_reach));
    out->queries = hk_lane_take(&at, p * (hk_i64)sizeof(struct hk_lane_query));
    out->full = hk_lane_take(&at, out->tiles * f);
    out->bytes = at;
}

#endif
