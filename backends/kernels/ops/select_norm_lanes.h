/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by norms for processors (docs/numerics.md, section 7): vectors hold the partials of a
 * token; those of 16 tokens are transposed, and the tree adds vectors that hold different tokens.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_NORM_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_NORM_LANES_H

#define HK_AHEAD 32             /* tokens */
#define HK_VECS (HK_PARTIALS / HKV_LANES)

/* The partials of a row. */
HK_INLINE void hk_norm_partials(hk_u32 dtype, HK_GLOBAL const char *row, hk_i64 channel, hk_i64 d,
                                HK_GLOBAL float *to)
{
    hk_vec sums[HK_VECS];
    hk_i64 t = 0;
    int i;

    HK_UNROLL
    for (i = 0; i < HK_VECS; i++)
        sums[i] = hkv_set(0.0f);
    for (; channel == 1 && t + HK_PARTIALS <= d; t += HK_PARTIALS) {
        HK_UNROLL
        for (i = 0; i < HK_VECS; i++) {
            const hk_vec x = hk_vec_load(dtype, row, t + i * HKV_LANES);

            sums[i] = hkv_fma(x, x, sums[i]);
        }
    }
    for (; t < d; t += HK_PARTIALS) {
        for (i = 0; i < HK_VECS; i++) {
            const hk_vec x = hk_channels_read(dtype, row, channel, t + i * HKV_LANES, d);

            sums[i] = hkv_fma(x, x, sums[i]);
        }
    }
    HK_UNROLL
    for (i = 0; i < HK_VECS; i++)
        hkv_store(to + i * HKV_LANES, sums[i]);
}

/* Partials [token][partial] of 16 tokens to [partial][token]. */
HK_FN void hk_norm_turn(HK_GLOBAL const float *partials, HK_GLOBAL float *across)
{
    int r, p, t;

    for (r = 0; r < HK_PARTIALS; r += HKV_PACK) {
        HK_GLOBAL const float *rows[HKV_PACK];

        for (p = 0; p < HKV_PACK; p++)
            rows[p] = partials + (r + p) * HK_PARTIALS;
        for (t = 0; t < HK_PARTIALS; t += HKV_PACK)
            hkv_pack(rows, t, across + t * HK_PARTIALS + r, HK_PARTIALS);
    }
}

/* The tree: [partial][token] become norms in across[token]. */
HK_FN void hk_norm_tree(HK_GLOBAL float *across)
{
    hk_vec x[HK_PARTIALS];
    int span, i, u;

    for (u = 0; u < HK_PARTIALS; u += HKV_LANES) {
        HK_UNROLL
        for (i = 0; i < HK_PARTIALS; i++)
            x[i] = hkv_load(across + i * HK_PARTIALS + u);
        HK_UNROLL
        for (span = HK_PARTIALS / 2; span > 0; span /= 2) {
            HK_UNROLL
            for (i = 0; i < span; i++)
                x[i] = hkv_add(x[i], x[i + span]);
        }
        hkv_store(across + u, x[0]);
    }
}

/* Of the n tokens from `first` on, HK_SELECT_NORMS at most. all: all are present. What is stored is
 * loaded a while later, in vectors of another shape. */
HK_INLINE void hk_norm_keys_few(hk_u32 dtype, const struct hk_norms *norm,
                                const struct hk_tokens *tokens, hk_i64 first, hk_i64 n,
                                const int all)
{
    HK_GLOBAL hk_i64 *keys = norm->keys + (first - norm->first);
    HK_GLOBAL float *across = norm->partials + HK_SELECT_NORMS * HK_PARTIALS;
    const hk_i64 channel = tokens->rows.channel, d = tokens->d;
    hk_u64 present = 0;
    hk_i64 i, k;

    for (i = 0; i < n; i++) {
        hk_token_ahead(tokens, first + i + HK_AHEAD);
        if (!all && !hk_token_present(tokens, first + i))
            continue;
        present |= (hk_u64)1 << i;
        hk_norm_partials(dtype, hk_token_row(tokens, first + i), channel, d,
                         norm->partials + i * HK_PARTIALS);
    }
    for (i = 0; i < n; i += HK_PARTIALS)
        hk_norm_turn(norm->partials + i * HK_PARTIALS, across + i * HK_PARTIALS);
    for (i = 0; i < n; i += HK_PARTIALS)
        hk_norm_tree(across + i * HK_PARTIALS);
    for (i = 0; i < n; i += HK_PARTIALS) {
        for (k = 0; k < HK_PARTIALS && (all || i + k < n); k++)
            keys[i + k] = all || (present >> (i + k) & 1)
                              ? hk_key(across[i * HK_PARTIALS + k], first + i + k)
                              : HK_NO_KEY;
    }
}

HK_INLINE void hk_norm_keys(hk_u32 dtype, const struct hk_norms *norm,
                            const struct hk_tokens *tokens)
{
    const hk_i64 end = tokens->mask.base ? norm->first : hk_min(norm->end, tokens->end);
    hk_i64 i = norm->first;

    for (; i + HK_SELECT_NORMS <= end; i += HK_SELECT_NORMS)
        hk_norm_keys_few(dtype, norm, tokens, i, HK_SELECT_NORMS, 1);
    for (; i < norm->end; i += HK_SELECT_NORMS)
        hk_norm_keys_few(dtype, norm, tokens, i, hk_min(norm->end - i, HK_SELECT_NORMS), 0);
}

#endif
