/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * pool for processors: tokens of a row into a tile of its channels, and the way out of it.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_POOL_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_POOL_LANES_H

/* The tokens of a word, of which bit 0 is token `first`; p: their weights, of TAPS. */
HK_INLINE void hk_pool_tokens(const struct hk_tile tile, const struct hk_rows *x, hk_i64 first,
                              hk_u64 word, const float *p, hk_vec *sum)
{
    HK_GLOBAL const char *base = hk_row(x, first);
    const hk_i64 step = x->row;
    int v;

    for (; word != 0; word &= word - 1) {
        const int i = hk_first_bit(word);
        HK_GLOBAL const char *row = base + i * step;
        const hk_vec weight = hkv_set(tile.way == HK_WAY_TAPS ? p[i] : 0.5f);

        HK_UNROLL
        for (v = 0; v < tile.wide; v++) {
            const hk_i64 t = tile.t + v * HKV_LANES;

            sum[v] = hk_pool_add(tile.way, sum[v],
                                 tile.direct ? hk_vec_load(tile.dtype, row, t)
                                             : hk_channels_read(tile.dtype, row, x->channel, t,
                                                                tile.d),
                                 weight);
        }
    }
}

HK_NOINLINE void hk_pool_put(const struct hk_rows *to, HK_GLOBAL char *y, hk_i64 t, hk_i64 d,
                             hk_vec x)
{
    hk_channels_write(to->dtype, y, to->channel, t, d, x);
}

/* The way out of a tile. */
HK_INLINE void hk_pool_write(const struct hk_tile tile, const struct hk_rows *to,
                             HK_GLOBAL char *y, const hk_vec *sum)
{
    int v;

    if (tile.direct && to->dtype == HK_F32 && to->channel == 1) {
        HK_UNROLL
        for (v = 0; v < tile.wide; v++)
            hkv_store((HK_GLOBAL float *)y + tile.t + v * HKV_LANES, hkv_canonical(sum[v]));
        return;
    }
    HK_UNROLL
    for (v = 0; v < tile.wide; v++)
        hk_pool_put(to, y, tile.t + v * HKV_LANES, tile.d, sum[v]);
}

#endif
