/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by hashes for processors: register tiles of a few rows and a panel of a round's matrix,
 * whose panels are made once a strip. Columns that fill the last panel are zeros: their products
 * come last and are 0 or NaN, so that they exceed nothing that is the largest.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_HASH_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_HASH_LANES_H

#define HK_AHEAD 48             /* rows */

HK_FN HK_GLOBAL float *hk_hash_panels(const struct hk_hash *hash, hk_u32 round)
{
    return (HK_GLOBAL float *)(hash->scratch +
                               hash->select->scratch_at[HK_SCRATCH_COLUMNS + round]);
}

/* The matrix of a round into panels [panels][d][HK_PANEL]. */
HK_FN void hk_hash_pack(const struct hk_hash *hash, hk_u32 round)
{
    const struct hk_hash_matrix matrix = hk_hash_matrix_get(hash, round);
    HK_GLOBAL float *to = hk_hash_panels(hash, round);
    hk_i64 first, t, j;

    for (first = 0; first < matrix.columns; first += HK_PANEL) {
        for (t = 0; t < hash->select->d; t++, to += HK_PANEL) {
            HK_GLOBAL const float *from = matrix.base + t * matrix.row + first * matrix.column;

            for (j = 0; j < HK_PANEL; j++)
                to[j] = first + j < matrix.columns ? from[j * matrix.column] : 0.0f;
        }
    }
}

/* Products of a tile of rows with all columns: [HK_R][span]. */
HK_NOINLINE void hk_hash_products(HK_GLOBAL const float *x, hk_i64 x_row,
                                  HK_GLOBAL const float *panel, hk_i64 d, hk_i64 span,
                                  HK_GLOBAL float *to)
{
    hk_i64 j;

    for (j = 0; j < span; j += HK_PANEL, panel += d * HK_PANEL) {
        hk_vec acc[HK_R][HK_TILE_VECS];

        hk_product_sums(x, x_row, panel, d, acc, HKV_TILE);
        hk_product_store(acc, to + j, span, HK_R, HKV_TILE);
    }
}

/* The first of the columns whose product is s; `span` if there is none. */
HK_FN hk_i64 hk_hash_find(HK_GLOBAL const float *products, hk_i64 span, float s)
{
    const hk_vec wanted = hkv_set(s);
    hk_i64 j;

    for (j = 0; j < span; j += HKV_LANES) {
        const hk_u32 other = hkv_word(hkv_not_equal(hkv_load(products + j), wanted));

        if (other != HK_ALL_LANES)
            return j + hk_first_bit(~other);
    }
    return span;
}

/* The largest candidate is the largest |s_j|, NaN aside: the first s_j of that size if there is
 * one, else the first -s_j. NaN in place 0 stays. */
HK_FN hk_i32 hk_hash_bucket(HK_GLOBAL const float *products, hk_i64 span, hk_i64 columns)
{
    hk_vec top = hkv_set(0.0f);
    float largest;
    hk_i64 j;

    if (!hk_ordered(products[0]))
        return 0;
    for (j = 0; j < span; j += HKV_LANES)
        top = hkv_max_f(hkv_abs_f(hkv_load(products + j)), top);
    largest = hkv_max_across(top);
    j = hk_hash_find(products, span, largest);
    return (hk_i32)(j < span ? j : columns + hk_hash_find(products, span, hk_sub(0.0f, largest)));
}

HK_FN void hk_hash_tiles(const struct hk_hash *hash, const struct hk_hash_rows *rows, hk_u32 round,
                         HK_GLOBAL const float *x, hk_i64 x_row, const hk_i32 *index, hk_i64 n)
{
    HK_GLOBAL float *products =
        (HK_GLOBAL float *)(hash->scratch + hash->select->scratch_at[HK_SCRATCH_PRODUCTS]);
    HK_GLOBAL const float *panels = hk_hash_panels(hash, round);
    const hk_i64 columns = hash->select->candidates[round] / 2;
    const hk_i64 span = (columns + HK_PANEL - 1) / HK_PANEL * HK_PANEL;
    hk_i64 at, i;

    for (at = 0; at < n; at += HK_R) {
        for (i = at; i < at + HK_R; i++)
            hk_token_ahead(&rows->tokens, index[at] + (i - at) + HK_AHEAD);
        hk_hash_products(x + at * x_row, x_row, panels, hash->select->d, span, products);
        for (i = at; i < n && i < at + HK_R; i++)
            rows->bucket[index[i] * rows->step] =
                hk_hash_bucket(products + (i - at) * span, span, columns);
    }
}

HK_FN void hk_hash_rows(const struct hk_hash *hash, const struct hk_hash_rows *rows, hk_u32 round)
{
    const hk_i64 width = hash->select->width;
    HK_GLOBAL float *copies =
        (HK_GLOBAL float *)(hash->scratch + hash->select->scratch_at[HK_SCRATCH_ROWS]);
    hk_i64 at, i;

    if (hash->opens)
        hk_hash_pack(hash, round);
    for (at = rows->first; at < rows->end; at += HK_SELECT_TOKENS) {
        const hk_i64 end = hk_min(at + HK_SELECT_TOKENS, rows->end);
        struct hk_chunk chunk;

        hk_chunk_get(&rows->tokens, at, end, copies, width, &chunk);
        for (i = at; round == 0 && i < end; i++)
            rows->bucket[i * rows->step] = -1;
        hk_hash_tiles(hash, rows, round, chunk.x, chunk.x_row, chunk.index, chunk.in_place);
        hk_hash_tiles(hash, rows, round, copies + chunk.in_place * width, width,
                      chunk.index + chunk.in_place, chunk.n - chunk.in_place);
    }
}

/* Rows of a round into the sums of their buckets, by ascending row. */
HK_INLINE void hk_hash_sum(hk_u32 dtype, const struct hk_hash *hash,
                           const struct hk_hash_rows *rows, hk_u32 round)
{
    HK_GLOBAL float *sums = hk_hash_sums(hash, round);
    HK_GLOBAL hk_i32 *used = hk_hash_buckets(hash, round);
    const hk_i64 d = rows->tokens.d, channel = rows->tokens.rows.channel;
    HK_THREAD_ID(id);
    hk_i64 t, i;

    HK_EACH(id)
        for (i = rows->first; i < rows->end; i++) {
            const hk_i32 bucket = rows->bucket[i * rows->step];
            HK_GLOBAL const char *row = hk_token_row(&rows->tokens, i);
            HK_GLOBAL float *sum = sums + (bucket < 0 ? 0 : bucket) * hash->select->width;

            if (bucket < 0)
                continue;
            if (id == 0)
                used[bucket] = 0;
            for (t = (hk_i64)id * HKV_LANES; t < d; t += (hk_i64)HK_THREADS * HKV_LANES)
                hkv_store(sum + t,
                          hkv_add(hkv_load(sum + t), hk_channels_read(dtype, row, channel, t, d)));
        }
}

HK_FN void hk_hash_step(const struct hk_hash *hash, hk_i64 step)
{
    const hk_u32 round = (hk_u32)(step / 2), more = round + 1 < hash->select->n_rounds;
    const struct hk_hash_rows rows = hk_hash_rows_get(hash, round);

    if (step % 2 == 0) {
        hk_hash_rows(hash, &rows, round);
        if (more)
            hk_hash_clear(hash, round);
    } else if (more) {
#define HK_SUM(type) hk_hash_sum(type, hash, &rows, round)
        HK_BY_NUMBER(rows.tokens.rows.dtype, HK_SUM);
#undef HK_SUM
    } else {
        hk_hash_end(hash);
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    HK_GLOBAL const struct hk_select *select = HK_NUMBERS(call, struct hk_select);
    const hk_i64 of_block = 2 * (hk_i64)select->n_rounds;
    struct hk_steps at;

    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        struct hk_hash hash;

        hk_hash_open(call, group, at.task, at.step / of_block, &hash);
        hk_hash_step(&hash, at.step % of_block);
        HK_BARRIER_ALL();
        at = hk_steps_next(call, at, select->strip.run * of_block);
    }
}

#endif
