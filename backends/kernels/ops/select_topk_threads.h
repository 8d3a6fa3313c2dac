/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by scores for the threads of a work-group: each has a query row of its own, so that they
 * wait for nothing, and all read the same token.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_TOPK_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_TOPK_THREADS_H

#define HK_ABREAST 4            /* tokens at a time: so many chains hide the latency of fma */

/* The next present tokens of [*token, end); how many. */
HK_FN hk_i64 hk_topk_abreast(const struct hk_tokens *tokens, hk_i64 *token, hk_i64 end,
                             hk_i64 *index)
{
    hk_i64 n = 0;

    for (; *token < end && n < HK_ABREAST; ++*token) {
        if (hk_token_present(tokens, *token))
            index[n++] = *token;
    }
    return n;
}

/* Tokens [token, end) for one query row. */
HK_INLINE void hk_topk_tokens(hk_u32 dtype, const struct hk_topk *topk, hk_i64 column,
                              hk_i64 token, hk_i64 end)
{
    HK_GLOBAL const float *q = topk->columns + column;
    const hk_i64 channel = topk->tokens.rows.channel;
    hk_i64 index[HK_ABREAST], n, t;
    int i;

    while ((n = hk_topk_abreast(&topk->tokens, &token, end, index)) > 0) {
        HK_GLOBAL const char *rows[HK_ABREAST];
        float sums[HK_ABREAST];

        HK_UNROLL
        for (i = 0; i < HK_ABREAST; i++) {
            rows[i] = hk_token_row(&topk->tokens, index[i < n ? i : 0]);
            sums[i] = 0.0f;
        }
        for (t = 0; t < topk->select->d; t++) {
            const float a = q[t * HK_THREADS];

            HK_UNROLL
            for (i = 0; i < HK_ABREAST; i++)
                sums[i] = hk_fma(hk_element(dtype, rows[i], t * channel), a, sums[i]);
        }
        for (i = 0; i < n; i++) {
            if (hk_not_less(sums[i], topk->bars[column]))
                hk_topk_add(topk, column, sums[i], index[i]);
        }
    }
}

HK_FN void hk_topk_begin(const struct hk_topk *topk)
{
    HK_THREAD_ID(id);

    HK_EACH(id)
        if (id < topk->n) {
            hk_topk_start(topk, id);
            hk_topk_column(topk, id, topk->columns + id, HK_THREADS);
        }
}

HK_FN void hk_topk_part(const struct hk_topk *topk, hk_i64 part)
{
    const hk_i64 first = part * topk->select->part_tokens;
    const hk_i64 end = hk_min(first + topk->select->part_tokens, topk->tokens.end);
    HK_THREAD_ID(id);

    HK_EACH(id)
        if (id < topk->n) {
#define HK_TOKENS(type) hk_topk_tokens(type, topk, id, first, end)
            HK_BY_NUMBER(topk->tokens.rows.dtype, HK_TOKENS);
#undef HK_TOKENS
        }
}

HK_FN void hk_topk_end(const struct hk_topk *topk, hk_i64 first, hk_i64 step)
{
    HK_THREAD_ID(id);

    HK_EACH(id)
        if (id < topk->n)
            hk_topk_finish(topk, id, first, step, topk->select->parts);
}

#endif
