/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * pool: the weights of a row's tokens, block by block of 64: as they are, or their softmax
 * (docs/numerics.md, section 4, steps 5 to 10). What they do to the channels is pool.cl's affair.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_TAPS_H
#define HEED_BACKENDS_KERNELS_OPS_TAPS_H

#include "pool.h"

struct hk_taps {
    float p[HK_BLOCK];                  /* of the block's tokens: what they are multiplied by */
    float partials[HK_PARTIALS];        /* of the chunk (step 7) */
    float all_partials[HK_PARTIALS];    /* of the chunks before (step 8) */
    float m, all_m;
    hk_u64 word;                        /* the block's tokens that count */
    hk_i64 count;                       /* tokens of the row that count, so far */
    float rescale;                      /* what the chunk's sums are multiplied by before (5) */
    float before, added;                /* how sums are joined: fma(chunk, added, all * before) */
    float factor;                       /* what the row's sums are multiplied by in the end */
};

/* Private memory is not what hkv_load takes everywhere. */
#if HKV_LANES == 1
#define HK_TAPS_LOAD(p) (*(p))
#define HK_TAPS_STORE(p, a) (*(p) = (a))
#else
#define HK_TAPS_LOAD(p) hkv_load(p)
#define HK_TAPS_STORE(p, a) hkv_store(p, a)
#endif

/* ---- rows in one block ---- */

/* The weights from token first + i on, where bits of the word are; others as they come. */
HK_FN hk_vec hk_taps_vector(const struct hk_pool_item *item, const struct hk_pool_row *row, int i)
{
    const hk_i64 tap = row->first - row->tap0 + i, step = item->weights.channel;
    float part[HKV_LANES];
    int j;

    if (step == 1 && tap + HKV_LANES <= row->readable)
        return hk_vec_load(item->weights.dtype, row->weights, tap);
    for (j = 0; j < HKV_LANES; j++)
        part[j] = row->word >> i >> j & 1
                      ? hk_element(item->weights.dtype, row->weights, (tap + j) * step)
                      : 0.0f;
    return HK_TAPS_LOAD(part);
}

/* Steps 5 to 7, 9 and 10 of a short row: what remains, its weights by token from the first on, and
 * the factor. Partials are not where they belong but turned by the first token's place, all alike:
 * the tree adds the same pairs. */
HK_INLINE void hk_taps_short_softmax(const struct hk_pool_item *item,
                                     const struct hk_pool_row *row, struct hk_taps *taps)
{
    const int n = (int)(row->end - row->first);
    const hk_vec none = hkv_set(-HK_INFINITY);
    hk_vec sum[HK_PARTIALS / HKV_LANES], max = none, m;
    int i, j;

    for (i = 0; i < n; i += HKV_LANES) {
        const hk_vec y = hkv_select(hkv_bits((hk_u32)(row->word >> i)),
                                    hkv_mul(hk_taps_vector(item, row, i), hkv_set(HK_LOG2_E)),
                                    none);

        taps->word |= (hk_u64)hkv_word(hkv_not_equal(y, none)) << i;
        max = hkv_max_f(y, max);
        HK_TAPS_STORE(taps->p + i, y);
    }
    m = hkv_set(hk_row_max(hkv_max_across(max)));
    HK_UNROLL
    for (j = 0; j < HK_PARTIALS / HKV_LANES; j++)
        sum[j] = hkv_set(0.0f);
    for (i = 0; i < n; i += HK_PARTIALS) {
        HK_UNROLL
        for (j = 0; j < HK_PARTIALS / HKV_LANES; j++) {
            const int at = i + j * HKV_LANES;
            hk_vec p;

            if (at >= n)
                continue;
            p = hkv_keep(hkv_bits((hk_u32)(taps->word >> at)),
                         hkv_weight(HK_TAPS_LOAD(taps->p + at), m));
            sum[j] = hkv_add(sum[j], p);
            HK_TAPS_STORE(taps->p + at, p);
        }
    }
    for (i = HK_PARTIALS / HKV_LANES / 2; i > 0; i /= 2) {
        for (j = 0; j < i; j++)
            sum[j] = hkv_add(sum[j], sum[j + i]);
    }
    taps->factor = taps->word != 0 ? hk_inverse(hkv_add_across(sum[0])) : 0.0f;
}

HK_POOL_ASKED void hk_taps_short(const struct hk_pool_item *item, const struct hk_pool_row *row,
                               struct hk_taps *taps)
{
    int i;

    if (item->softmax) {
        hk_taps_short_softmax(item, row, taps);
        return;
    }
    for (i = 0; i < row->end - row->first; i += HKV_LANES)
        HK_TAPS_STORE(taps->p + i, hk_taps_vector(item, row, i));
    taps->word = row->word;
}

/* ---- longer rows, block by block ---- */

/* Nothing is summed yet. */
HK_FN void hk_taps_start(struct hk_taps *taps)
{
    int i;

    taps->m = taps->all_m = -HK_INFINITY;
    for (i = 0; i < HK_PARTIALS; i++)
        taps->partials[i] = taps->all_partials[i] = 0.0f;
}

/* The weights of the tokens low .. high - 1 of a block times scale, rounded once, into p; -Inf to
 * the others of the vectors that these touch. Weights of absent tokens are not read. */
HK_FN void hk_taps_read(const struct hk_pool_item *item, const struct hk_pool_row *row,
                        hk_i64 block, int low, int high, struct hk_taps *taps)
{
    const float scale = item->softmax ? HK_LOG2_E : 1.0f;
    const hk_i64 tap = block * HK_BLOCK - row->tap0, step = item->weights.channel;
    int i;

    for (i = low - low % HKV_LANES; i < high; i += HKV_LANES)
        HK_TAPS_STORE(taps->p + i, hkv_set(-HK_INFINITY));
    i = low;
    if (item->weights.dtype == HK_F32 && step == 1) {
        for (; i + HKV_LANES <= high; i += HKV_LANES)
            HK_TAPS_STORE(taps->p + i,
                          hkv_mul(hkv_load((HK_GLOBAL const float *)row->weights + tap + i),
                                  hkv_set(scale)));
    }
    for (; i < high; i++) {
        if (taps->word >> i & 1)
            taps->p[i] = hk_mul(hk_element(item->weights.dtype, row->weights, (tap + i) * step),
                                scale);
    }
}

/* Steps 5 to 7 of a block whose y are in p: what is -Inf is removed. */
HK_FN void hk_taps_softmax(struct hk_taps *taps, int low, int high)
{
    const hk_vec none = hkv_set(-HK_INFINITY);
    const int begin = low - low % HKV_LANES;
    hk_vec max = none, m;
    hk_u64 rest = 0;
    float e;
    int i;

    for (i = begin; i < high; i += HKV_LANES) {
        const hk_vec y = hkv_select(hkv_bits((hk_u32)(taps->word >> i)),
                                    HK_TAPS_LOAD(taps->p + i), none);

        rest |= (hk_u64)hkv_word(hkv_not_equal(y, none)) << i;
        max = hkv_max_f(y, max);
    }
    e = hk_row_max(hkv_max_across(max));
    if (e > taps->m) {
        taps->rescale = hk_power(hk_sub(taps->m, e));
        for (i = 0; i < HK_PARTIALS; i++)
            taps->partials[i] = hk_mul(taps->partials[i], taps->rescale);
        taps->m = e;
    }
    m = hkv_set(taps->m);
    for (i = begin; i < high; i += HKV_LANES) {
        float *partial = taps->partials + i % HK_PARTIALS;
        const hk_vec p = hkv_keep(hkv_bits((hk_u32)(rest >> i)),
                                  hkv_weight(HK_TAPS_LOAD(taps->p + i), m));

        HK_TAPS_STORE(partial, hkv_add(HK_TAPS_LOAD(partial), p));
        HK_TAPS_STORE(taps->p + i, p);
    }
    taps->word = rest;
}

/* Weights of the present tokens of a block. */
HK_POOL_ASKED void hk_taps_block(const struct hk_pool_item *item, const struct hk_pool_row *row,
                               hk_i64 block, struct hk_taps *taps)
{
    const int low = (int)hk_max(row->first - block * HK_BLOCK, 0);
    const int high = (int)hk_min(row->end - block * HK_BLOCK, HK_BLOCK);

    taps->word = hk_pool_block_word(item, row, block);
    taps->rescale = 1.0f;
    if (taps->word == 0)
        return;
    if (item->has_weights) {
        hk_taps_read(item, row, block, low, high, taps);
    } else {                            /* MEAN: the weights are 0 */
        int i;

        for (i = low - low % HKV_LANES; i < high; i += HKV_LANES)
            HK_TAPS_STORE(taps->p + i, hkv_set(0.0f));
    }
    if (item->softmax)
        hk_taps_softmax(taps, low, high);
    taps->count += hk_pool_count(taps->word);
}

/* Step 8: the chunk's sums are joined to those of the chunks before. A first chunk, a chunk
 * without a token and a row without one need no words of their own: W(NaN) = W(-Inf) = 0 makes
 * fma(chunk, added, all * before) a copy, or what there was. */
HK_FN void hk_taps_join(const struct hk_pool_item *item, struct hk_taps *taps)
{
    const float m = taps->m > taps->all_m ? taps->m : taps->all_m;
    int i;

    if (!item->softmax)
        return;
    taps->before = hk_power(hk_sub(taps->all_m, m));
    taps->added = hk_power(hk_sub(taps->m, m));
    for (i = 0; i < HK_PARTIALS; i++) {
        taps->all_partials[i] = hk_fma(taps->partials[i], taps->added,
                                       hk_mul(taps->all_partials[i], taps->before));
        taps->partials[i] = 0.0f;
    }
    taps->all_m = m;
    taps->m = -HK_INFINITY;
}

/* Steps 9 and 10, of the partials of the row. One whose tokens are all removed has sums of 0, and
 * stays so. */
HK_FN float hk_taps_end(const struct hk_pool_item *item, const struct hk_taps *taps,
                        float *partials)
{
    int span, i;

    if (taps->count == 0)
        return 0.0f;
    if (!item->softmax)
        return 1.0f;
    for (span = HK_PARTIALS / 2; span > 0; span /= 2) {
        for (i = 0; i < span; i++)
            partials[i] = hk_add(partials[i], partials[i + span]);
    }
    return hk_inverse(partials[0]);
}

#endif
