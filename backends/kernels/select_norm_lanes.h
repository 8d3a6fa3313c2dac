/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by norms for processors (docs/numerics.md, section 7): vectors hold the partials of a
 * token; those of 16 tokens are transposed, and the tree adds vectors that hold different tokens.
 */
#ifndef HEED_BACKENDS_KERNELS_SELECT_NORM_LANES_H
#define HEED_BACKENDS_KERNELS_SELECT_NORM_LANES_H

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

/* The tree: partials [token][partial] become norms in across[token]. */
HK_FN void hk_norm_trees(HK_GLOBAL const float *partials, HK_GLOBAL float *across)
{
    int r, p, t, span, i;

    for (r = 0; r < HK_PARTIALS; r += HKV_PACK) {
        HK_GLOBAL const float *rows[HKV_PACK];

        for (p = 0; p < HKV_PACK; p++)
            rows[p] = partials + (r + p) * HK_PARTIALS;
        for (t = 0; t < HK_PARTIALS; t += HKV_PACK)
            hkv_pack(rows, t, across + t * HK_PARTIALS + r, HK_PARTIALS);
    }
    for (span = HK_PARTIALS / 2; span > 0; span /= 2) {
        for (i = 0; i < span * HK_PARTIALS; i += HKV_LANES)
            hkv_store(across + i, hkv_add(hkv_load(across + i),
                                          hkv_load(across + i + span * HK_PARTIALS)));
    }
}

/* Of 16 tokens, or as many as are left, from `first` on. */
HK_INLINE void hk_norm_keys_few(hk_u32 dtype, const struct hk_norm *norm,
                                const struct hk_tokens *tokens, hk_i64 first, hk_i64 n)
{
    HK_GLOBAL hk_i64 *keys = norm->keys + (first - norm->first);
    HK_GLOBAL float *across = norm->partials + HK_PARTIALS * HK_PARTIALS;
    hk_u32 present = 0;
    hk_i64 i;

    for (i = 0; i < n; i++) {
        hk_token_ahead(tokens, first + i + HK_AHEAD);
        if (!hk_token_present(tokens, first + i))
            continue;
        present |= 1u << i;
        hk_norm_partials(dtype, hk_token_row(tokens, first + i), tokens->rows.channel, tokens->d,
                         norm->partials + i * HK_PARTIALS);
    }
    hk_norm_trees(norm->partials, across);
    for (i = 0; i < n; i++)
        keys[i] = present >> i & 1 ? hk_key(across[i], first + i) : HK_NO_KEY;
}

HK_INLINE void hk_norm_keys(hk_u32 dtype, const struct hk_norm *norm,
                            const struct hk_tokens *tokens)
{
    hk_i64 i;

    for (i = norm->first; i + HK_PARTIALS <= norm->end; i += HK_PARTIALS)
        hk_norm_keys_few(dtype, norm, tokens, i, HK_PARTIALS);
    if (i < norm->end)
        hk_norm_keys_few(dtype, norm, tokens, i, norm->end - i);
}

#endif
