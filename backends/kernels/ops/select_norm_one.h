/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by norms for processors with one lane, token by token (docs/numerics.md, section 7).
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_NORM_ONE_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_NORM_ONE_H

HK_INLINE float hk_square_norm(hk_u32 dtype, const struct hk_tokens *tokens, hk_i64 token)
{
    HK_GLOBAL const char *row = hk_token_row(tokens, token);
    float sums[HK_PARTIALS];
    hk_i64 t;
    int i, span;

    HK_UNROLL
    for (i = 0; i < HK_PARTIALS; i++)
        sums[i] = 0.0f;
    for (t = 0; t < tokens->d; t += HK_PARTIALS) {
        HK_UNROLL
        for (i = 0; i < HK_PARTIALS; i++) {
            if (t + i < tokens->d) {
                const float x = hk_element(dtype, row, (t + i) * tokens->rows.channel);

                sums[i] = hk_fma(x, x, sums[i]);
            }
        }
    }
    HK_UNROLL
    for (span = HK_PARTIALS / 2; span > 0; span /= 2) {
        HK_UNROLL
        for (i = 0; i < span; i++)
            sums[i] = hk_add(sums[i], sums[i + span]);
    }
    return sums[0];
}

HK_INLINE void hk_norm_keys(hk_u32 dtype, const struct hk_norms *norm,
                            const struct hk_tokens *tokens)
{
    hk_i64 i;

    for (i = norm->first; i < norm->end; i++)
        norm->keys[i - norm->first] =
            hk_token_present(tokens, i) ? hk_key(hk_square_norm(dtype, tokens, i), i) : HK_NO_KEY;
}

#endif
