/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows of an operation that are a softmax over logits without scores: steps 5 to 12 of docs/
 * numerics.md, whose keys are entries of arrays. The file that includes this has defined
 *
 *     struct hk_logits;
 *     HK_FN hk_u64 hk_logits_get(const struct hk_logits *, hk_i64 first, hk_i64 count, float *y);
 *
 * which fills y[0 .. count - 1] with the logits of the ordinals first, first + 1, ..., times
 * log2 e, and answers a mask of those that are there (count is 64 at most). Ordinals run from 0 to
 * n - 1; the value of an ordinal is a row of the values' array.
 *
 * For each further tile of a row (sums.h) the weights are found again, unless one block is all
 * there is.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_WEIGH_H
#define HEED_BACKENDS_KERNELS_OPS_WEIGH_H

#include "sums.h"

#define HK_LANES_MASK (0xffffffffu >> (32 - HKV_LANES))

/* What a row is made of. */
struct hk_weigh_row {
    const struct hk_logits *logits;
    hk_i64 n, d;
    HK_GLOBAL const char *values;       /* of ordinal 0 */
    hk_i64 value_step, value_channel;   /* bytes from ordinal to ordinal; elements */
    struct hk_tile_out out;
    hk_u32 value_dtype;
    float sink;                         /* -Inf: none */
    hk_u32 with_sink, reserved;         /* 1: the LSE counts the sink */
};

/* ---- sums ---- */

/* Step 5: which of the entries that are there remain, and the largest logit. */
HK_FN hk_u64 hk_block_max(const float *y, hk_i64 count, hk_u64 there, float *max)
{
    const hk_vec none = hkv_set(-HK_INFINITY);
    hk_vec most = none;
    hk_u64 rest = 0;
    int i;

    for (i = 0; i < count; i += HKV_LANES) {
        const hk_vec x =
            hkv_select(hkv_bits((hk_u32)(there >> i) & HK_LANES_MASK), hkv_load(y + i), none);

        rest |= (hk_u64)hkv_word(hkv_not_equal(x, none)) << i;
        most = hkv_max_f(x, most);
    }
    *max = hkv_max_across(most);
    return rest;
}

/* Steps 5 to 7, less the channels: y[0 .. count - 1] become weights. Answers those that remain.
 * *scale: what the channels' sums are multiplied by before. */
HK_FN hk_u64 hk_block_weigh(float *y, hk_i64 count, hk_u64 there, struct hk_sums *sums,
                            float *scale)
{
    float m;
    const hk_u64 rest = hk_block_max(y, count, there, &m);
    int i;

    *scale = 1.0f;
    if (rest == 0)
        return 0;
    sums->any = 1;
    m = hk_row_max(m);
    if (m > sums->m) {
        *scale = hk_power(hk_sub(sums->m, m));
        for (i = 0; i < HK_SUMS; i++)
            sums->l[i] = hkv_mul(sums->l[i], hkv_set(*scale));
        sums->m = m;
    }
    for (i = 0; i < count; i += HKV_LANES) {
        const hk_u32 bits = (hk_u32)(rest >> i) & HK_LANES_MASK;
        const hk_vec p = hkv_weight(hkv_load(y + i), hkv_set(sums->m));
        hk_vec *const sum = sums->l + i / HKV_LANES % HK_SUMS;

        hkv_store(y + i, p);
        *sum = hkv_add(*sum, hkv_keep(hkv_bits(bits), p));
    }
    return rest;
}

/* ---- channels ---- */

/* Step 7: the weights p of a block's entries into the channels. */
HK_INLINE void hk_tile_add(hk_u32 dtype, const struct hk_weigh_row *row, hk_i64 first,
                           const float *p, hk_u64 rest, float scale, hk_i64 t0,
                           struct hk_weigh_tile *mine)
{
    HK_THREAD_ID(id);

    HK_EACH(id) {
        struct hk_weigh_tile tile = mine[HK_OWN(id)];
        hk_u64 left = rest;
        int v;

        HK_UNROLL
        for (v = 0; v < HK_WEIGH_TILE; v++)
            tile.o[v] = hkv_mul(tile.o[v], hkv_set(scale));
        for (; left != 0; left &= left - 1) {
            const int i = hk_first_bit(left);
            HK_GLOBAL const char *value = hk_byte(row->values, (first + i) * row->value_step);
            const hk_vec weight = hkv_set(p[i]);

            HK_UNROLL
            for (v = 0; v < HK_WEIGH_TILE; v++) {
                const hk_i64 t = HK_WEIGH_AT(id, v, t0);

                if (t < row->d)
                    tile.o[v] = hkv_fma(
                        weight, hk_channels_read(dtype, value, row->value_channel, t, row->d),
                        tile.o[v]);
            }
        }
        mine[HK_OWN(id)] = tile;
    }
}

/* ---- rows ---- */

/* Sums over all entries; y: 64 floats, in which the last block leaves its weights, *rest: its
 * entries. The first chunk that there is becomes the total; the others join it (step 8). */
HK_INLINE void hk_weigh_sum(hk_u32 dtype, const struct hk_weigh_row *row, hk_i64 t0, float *y,
                            hk_u64 *rest, struct hk_sums *total, struct hk_weigh_tile *mine)
{
    struct hk_weigh_tile tile[HK_MINE];
    struct hk_sums sums;
    hk_i64 first = 0;
    int i;

    hk_sums_begin(total);
    hk_tile_begin(mine);
    while (first < row->n) {
        const hk_i64 end = hk_min(first + HK_BLOCK * HK_CHUNK, row->n);
        const int joins = (int)total->any;
        struct hk_weigh_tile *const chunk = joins ? tile : mine;
        struct hk_sums *const to = joins ? &sums : total;
        float scale, w1, w2;

        if (joins) {
            hk_sums_begin(&sums);
            hk_tile_begin(tile);
        }
        for (; first < end; first += HK_BLOCK) {
            const hk_i64 count = hk_min(end - first, HK_BLOCK);
            const hk_u64 there = hk_logits_get(row->logits, first, count, y);

            *rest = hk_block_weigh(y, count, there, to, &scale);
            if (*rest != 0)
                hk_tile_add(dtype, row, first, y, *rest, scale, t0, chunk);
        }
        if (joins && sums.any) {
            hk_join(&total->m, sums.m, &w1, &w2);
            for (i = 0; i < HK_SUMS; i++)
                hk_sums_add(total, i, sums.l[i], w1, w2);
            hk_tile_join(mine, tile, w1, w2);
        }
    }
}

/* A row of `out`, and its LSE where `lse` is not NULL; dtype: a constant, row->value_dtype. */
HK_INLINE void hk_weigh_typed(hk_u32 dtype, const struct hk_weigh_row *row, float *lse)
{
    float y[HK_BLOCK], sink = 1.0f, factor = 0.0f, ends = 0.0f;
    struct hk_weigh_tile mine[HK_MINE];
    struct hk_sums total;
    hk_u64 rest = 0;
    hk_i64 t0;
    int i;

    hk_sums_begin(&total);
    for (i = 0; i < hk_min(row->n, HK_BLOCK); i += HKV_LANES)
        hkv_store(y + i, hkv_set(0.0f));
    for (t0 = 0; t0 == 0 || t0 < row->d; t0 += HK_WEIGH_STEP) {
        if (t0 > 0 && row->n <= HK_BLOCK) {
            hk_tile_begin(mine);
            hk_tile_add(dtype, row, 0, y, rest, 1.0f, t0, mine);
        } else {
            hk_weigh_sum(dtype, row, t0, y, &rest, &total, mine);
        }
        if (t0 == 0)
            factor = hk_end(row->sink, (int)row->with_sink, lse != 0, (int)total.any, total.m,
                            hk_sums_tree(&total), &sink, &ends);
        hk_tile_write(&row->out, mine, sink, factor, t0);
    }
    if (lse)
        *lse = ends;
}

HK_FN void hk_weigh(const struct hk_weigh_row *row, float *lse)
{
#define HK_TYPED(type) hk_weigh_typed(type, row, lse)
    HK_BY(HK_FLOAT_TYPES, row->value_dtype, HK_TYPED);
#undef HK_TYPED
}

#endif
