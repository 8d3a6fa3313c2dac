/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * pool for the threads of a work-group: tokens of a row into a thread's vectors of its channels,
 * and the way out of them. Of a few tokens all are asked for before the first is added.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_POOL_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_POOL_THREADS_H

/* Vector v of a tile of a row. direct: it lies at a multiple of its bytes. */
HK_INLINE struct hk_raw hk_pool_ask(const struct hk_tile tile, HK_GLOBAL const char *row,
                                    hk_i64 channel, int v)
{
    const hk_i64 t = tile.t + v * tile.step;
    struct hk_raw raw;

    raw.word[0] = raw.word[1] = raw.word[2] = raw.word[3] = 0;
    if (t >= tile.d)
        return raw;
    if (!tile.direct)
        return hk_raw_each(tile.dtype, row, channel, t, tile.d);
    return tile.dtype == HK_F32 ? hk_raw_whole(4, row + t * 4) : hk_raw_whole(2, row + t * 2);
}

HK_INLINE hk_vec hk_pool_vector(const struct hk_tile tile, const struct hk_raw *raw)
{
    struct hk_stream stream;

    stream.dtype = tile.direct ? tile.dtype : HK_F32;
    stream.size = stream.dtype == HK_F32 ? 4 : 2;
    return hk_raw_vector(&stream, raw);
}

/* The tokens of a word, of which bit 0 is token `first`; p: their weights, of TAPS. */
HK_INLINE void hk_pool_tokens(const struct hk_tile tile, const struct hk_rows *x, hk_i64 first,
                              hk_u64 word, const float *p, hk_vec *sum)
{
    HK_GLOBAL const char *base = hk_row(x, first);
    const int ahead = tile.direct ? 4 : 1;
    int k, v;

    while (word != 0) {
        struct hk_raw raw[4][HK_WIDE];
        int there[4], at[4] = { 0 };

        HK_UNROLL
        for (k = 0; k < ahead; k++) {
            there[k] = word != 0;
            at[k] = there[k] ? hk_first_bit(word) : at[0];
            word &= word - 1;
            HK_UNROLL
            for (v = 0; v < HK_WIDE; v++)
                raw[k][v] = hk_pool_ask(tile, base + at[k] * x->row, x->channel, v);
        }
        HK_UNROLL
        for (k = 0; k < ahead; k++) {
            const hk_vec weight = hkv_set(tile.way == HK_WAY_TAPS ? p[at[k]] : 0.5f);

            HK_UNROLL
            for (v = 0; v < HK_WIDE; v++) {
                const hk_vec value = hk_pool_vector(tile, &raw[k][v]);

                sum[v] = there[k] ? hk_pool_add(tile.way, sum[v], value, weight) : sum[v];
            }
        }
    }
}

/* The way out of a tile. */
HK_INLINE void hk_pool_write(const struct hk_tile tile, const struct hk_rows *to,
                             HK_GLOBAL char *y, const hk_vec *sum)
{
    struct hk_stream stream;
    int v;

    stream.dtype = to->dtype;
    stream.size = (int)hk_size(to->dtype);
    HK_UNROLL
    for (v = 0; v < HK_WIDE; v++) {
        const hk_i64 t = tile.t + v * tile.step;

        if (t >= tile.d)
            continue;
        if (tile.direct)
            hk_vector_put(&stream, y + t * stream.size, sum[v]);
        else
            hk_channels_write(to->dtype, y, to->channel, t, tile.d, sum[v]);
    }
}

#endif
