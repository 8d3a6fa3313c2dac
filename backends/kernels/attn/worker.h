/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: where the arrays of a worker lie in its scratch, which is part of the workspace.
 * The host asks for `bytes`, the kernel for the rest. There is room for the widest vocabulary
 * (simd/), so that the host need not know which one a kernel is compiled with.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_WORKER_H
#define HEED_BACKENDS_KERNELS_ATTN_WORKER_H

#include "blob.h"

#define HK_WORKER_ALIGN 64
#define HK_TILE_ROWS_MAX 16
#define HK_PANEL_MAX 64
#define HK_PACK_MAX 16
#define HK_BAND_MAX 272         /* columns of a band that a block wants at most */
#define HK_BAND_KEPT 384        /* and those that are kept beside them */
#define HK_BAND_WORDS ((HK_BAND_MAX + HK_BAND_KEPT) / 64 + 2)
#define HK_FEW_MAX 32 /* rows of few, with room for a whole tile at the end */
#define HK_STRETCH_MAX 256

/* What a bias gives to keys at distances first .. first + count - 1 from a row (bias_lanes.h). */
struct hk_stretch {
    hk_i64 bias, b, head;               /* bias: its place in the blob; negative: none is kept */
    hk_i64 first, count;
    hk_i64 removes;                     /* not 0: -Inf is among them */
    float values[HK_STRETCH_MAX];
};

/* Which columns a band has: those at distances first, first + step, ... of a table (band.h). */
struct hk_band_kept {
    hk_i64 dot, b, head;                /* dot: its place in the blob; negative: nothing is kept */
    hk_i64 first, step, count;
    hk_u32 by_key, whole;               /* whole: all are entries of the table */
    hk_u64 valid[HK_BAND_WORDS];        /* else: which */
};

struct hk_worker_query {
    hk_i64 b, index, head, q;
    hk_i64 chunk;               /* of an item's first row: with which it goes on, of the source at
                                 * hand */
    hk_u32 all, absent;
};

/* The reach of a tile's rows, range by range: what some row sees and what all see. */
struct hk_tile_reach {
    hk_i64 lo[HK_RANGES], hi[HK_RANGES], in_lo[HK_RANGES], in_hi[HK_RANGES];
};

/* A row within a chunk; its partial sums and o lie in their own arrays. */
struct hk_row_state {
    float m;                            /* row_max: docs/numerics.md step 5 */
    hk_u32 empty;                       /* 1: no remaining key yet; the sums are zero */
};

/* A block that lies packed in a worker's ring: of batch item, key head and block. As long as a line
 * of the cache, so that the panels behind the tags begin with one. */
struct hk_ring_tag {
    hk_i64 number;                      /* -1: none */
    hk_u32 finite, reserved[13];        /* 1: all of V is */
};

/* Halves of a row of Q or K where they stay such (halves.h). */
HK_FN hk_i64 hk_halves_pitch(hk_i64 d)
{
    return (d + 31) / 32 * 32;
}

#define HK_RING_BYTES(blocks, rows) ((blocks) * (HK_WORKER_ALIGN + 64 * (rows)*4))

/* Floats unless said otherwise. P: rows, with room for a whole tile at the end; W: d_v, with room
 * for a whole panel; acc: over the chunks that are finished. */
struct hk_worker_layout {
    hk_i64 q;                           /* [P][d] */
    hk_i64 s;                           /* [P][64] */
    hk_i64 o, acc_o;                    /* [P][W], within a tile [panels][R][panel] */
    hk_i64 partials, acc_partials;      /* [P][16] */
    hk_i64 acc_m;                       /* [P] */
    hk_i64 has_partial;                 /* [P] hk_u32: 1, the row has a finished chunk */
    hk_i64 state;                       /* [P] struct hk_row_state */
    hk_i64 max;                         /* [P][lanes of a vector] */
    hk_i64 k;                           /* [panels][panel_rows][panel] of a block */
    hk_i64 v;                           /* [64][W] */
    hk_i64 temp;                        /* [HK_PACK_MAX][d or d_v] */
    hk_i64 values;                      /* [64] of a bias */
    hk_i64 stretches;                   /* [stretches] struct hk_stretch */
    hk_i64 zeros;                       /* [d or d_v]: a row that is not there, of any type */
    /* Where rows have scales: scores of a group, [HK_FEW_MAX][64]; weights times scales,
     * [2][HK_TILE_ROWS_MAX][64]; of V [groups][64]; sums of q over groups, [P][groups]; K as it is
     * widened. */
    hk_i64 part, scaled, v_scales, sums, wide;
    hk_i64 bands;                       /* [bands] struct hk_band_kept */
    hk_i64 band;                        /* [bands][d][columns] of tables of DOT */
    hk_i64 masks, tile_masks;           /* [P], [tiles] hk_u64 */
    hk_i64 full, begun;                 /* [tiles] hk_u32 */
    hk_i64 reach;                       /* [P] struct hk_reach */
    hk_i64 tile_reach;                  /* [tiles] struct hk_tile_reach */
    hk_i64 queries;                     /* [P] struct hk_worker_query */
    hk_i64 bytes;
};

HK_FN hk_i64 hk_worker_take(hk_i64 *at, hk_i64 bytes)
{
    const hk_i64 start = *at;

    *at += (bytes + HK_WORKER_ALIGN - 1) / HK_WORKER_ALIGN * HK_WORKER_ALIGN;
    return start;
}

/* What comes of one chunk for the rows of a strip that is cut, of all items that share it, laid out
 * as in a worker. */
struct hk_chunk_layout {
    hk_i64 o, partials, state, bytes;
};

/* Channels of o, with those in which minima are summed; d_v is even where there are such. */
HK_FN hk_i64 hk_sum_width(HK_GLOBAL const struct hk_plan *plan)
{
    return (plan->d_v + plan->minima + HK_PANEL_MAX - 1) / HK_PANEL_MAX * HK_PANEL_MAX;
}

HK_FN void hk_chunk_find(HK_GLOBAL const struct hk_plan *plan, struct hk_chunk_layout *out)
{
    const hk_i64 rows =
        hk_min(plan->strips.rows, plan->n_q * plan->items) * plan->strips.stack;
    const hk_i64 f = 4, p = rows + HK_TILE_ROWS_MAX - 1, w = hk_sum_width(plan);
    hk_i64 at = 0;

    out->o = hk_worker_take(&at, p * w * f);
    out->partials = hk_worker_take(&at, p * 16 * f);
    out->state = hk_worker_take(&at, p * (hk_i64)sizeof(struct hk_row_state));
    out->bytes = at;
}

HK_FN void hk_worker_find(HK_GLOBAL const struct hk_plan *plan, struct hk_worker_layout *out)
{
    const hk_i64 d = plan->d, rows = plan->strips.rows * plan->strips.stack;
    const hk_i64 f = 4, p = rows + HK_TILE_ROWS_MAX - 1, w = hk_sum_width(plan);
    const hk_i64 scales = plan->v_groups > 0 || plan->panel_rows > d;
    const hk_i64 words = plan->halves * (hk_halves_pitch(hk_max(d, plan->d_v)) / 2);
    hk_i64 at = 0;

    out->q = hk_worker_take(&at, p * hk_max(d, words) * f);
    out->s = hk_worker_take(&at, p * 64 * f);
    out->o = hk_worker_take(&at, p * w * f);
    out->acc_o = hk_worker_take(&at, p * w * f);
    out->partials = hk_worker_take(&at, p * 16 * f);
    out->acc_partials = hk_worker_take(&at, p * 16 * f);
    out->acc_m = hk_worker_take(&at, p * f);
    out->has_partial = hk_worker_take(&at, p * 4);
    out->state = hk_worker_take(&at, p * (hk_i64)sizeof(struct hk_row_state));
    out->max = hk_worker_take(&at, p * 16 * f);
    out->k = hk_worker_take(&at, 64 * hk_max(plan->panel_rows, words) * f);
    out->v = hk_worker_take(&at, 64 * w * f);
    out->temp = hk_worker_take(&at, HK_PACK_MAX * hk_max(hk_max(d, w), words) * f);
    out->values = hk_worker_take(&at, 64 * f);
    out->zeros = hk_worker_take(&at, hk_max(d, plan->d_v) * f);
    out->part = hk_worker_take(&at, scales * HK_FEW_MAX * 64 * f);
    out->scaled = hk_worker_take(&at, scales * 2 * HK_TILE_ROWS_MAX * 64 * f);
    out->v_scales = hk_worker_take(&at, plan->v_groups * 64 * f);
    out->sums = hk_worker_take(&at, p * plan->k_sums * f);
    out->wide = hk_worker_take(&at, plan->wide * f);
    out->stretches = hk_worker_take(&at, plan->stretches * (hk_i64)sizeof(struct hk_stretch));
    out->bands = hk_worker_take(&at, plan->bands * (hk_i64)sizeof(struct hk_band_kept));
    out->band = hk_worker_take(&at, plan->bands * plan->band * d * f);
    out->masks = hk_worker_take(&at, p * 8);
    out->tile_masks = hk_worker_take(&at, p * 8);
    out->full = hk_worker_take(&at, p * 4);
    out->begun = hk_worker_take(&at, p * 4);
    out->reach = hk_worker_take(&at, p * (hk_i64)sizeof(struct hk_reach));
    out->tile_reach = hk_worker_take(&at, p * (hk_i64)sizeof(struct hk_tile_reach));
    out->queries = hk_worker_take(&at, p * (hk_i64)sizeof(struct hk_worker_query));
    out->bytes = at;
}

#endif
