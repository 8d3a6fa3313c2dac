/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows of channels for the threads of a work-group (places.h), whose vectors are the units: a
 * thread asks memory for those of every array before it looks at the first.
 *
 *     if (hk_stream_open(&rows, strip.first, d, &x) && ... of all arrays)
 *         walk = hk_walk_begin(id, strip.count, d / HKV_LANES);
 *         while (hk_walk_next(&walk))
 *             hk_batch_ask(&x, &walk, raw);
 *             ... hk_batch_vector(&x, raw, k), hk_batch_put(&y, &walk, k, vector) for each k ...
 *
 * This is for rows whose vectors lie at multiples of their bytes. Channels of others are taken one
 * by one (HK_SINGLES), as vectors that hold one four times: compilers compute it once.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_BATCH_H
#define HEED_BACKENDS_KERNELS_OPS_BATCH_H

#include "channels.h"
#include "places.h"

#if HK_THREADS > 1

/* ---- what they hold ---- */

/* A vector as it was read: floats, or halves in the first two words. */
struct hk_raw {
    hk_u32 word[HKV_LANES];
};

/* Rows of a strip. */
struct hk_stream {
    HK_GLOBAL char *base; /* NULL: absent */
    hk_i64 row;           /* bytes from row to row */
    hk_u32 dtype;
    int size;             /* of an element: 4 or 2 */
};

/* Row `first` of `rows` and those behind it, of d channels; 0: some vector does not lie at a
 * multiple of its bytes, has no place, or is of bytes. */
HK_FN int hk_stream_open(const struct hk_rows *rows, hk_i64 first, hk_i64 count, hk_i64 d,
                         struct hk_stream *out)
{
    const hk_i64 size = hk_size(rows->dtype);
    const hk_u64 all = hk_address(rows->base) | (hk_u64)rows->row | (hk_u64)(d * size);

    out->base = hk_row(rows, first);
    out->row = rows->row;
    out->dtype = rows->dtype;
    out->size = (int)size;
    return !rows->base ||
           (rows->channel == 1 && size > 1 && all % (hk_u64)(HKV_LANES * size) == 0 &&
            d < HK_PLACES && count < HK_PLACES);
}

/* A vector whose elements have `size` bytes. */
HK_INLINE struct hk_raw hk_raw_whole(const int size, HK_GLOBAL const char *at)
{
    struct hk_raw raw;

    raw.word[2] = raw.word[3] = 0;
    hk_load_words(at, size, raw.word);
    return raw;
}

/* Channels t .. of a row of d, one by one; as floats. */
HK_INLINE struct hk_raw hk_raw_each(hk_u32 dtype, HK_GLOBAL const char *row, hk_i64 channel,
                                    hk_i64 t, hk_i64 d)
{
    struct hk_raw raw;
    int i;

    HK_UNROLL
    for (i = 0; i < HKV_LANES; i++)
        raw.word[i] = hk_word(t + i < d ? hk_channel_read(dtype, row, (t + i) * channel) : 0.0f);
    return raw;
}

HK_INLINE hk_vec hk_raw_floats(const struct hk_raw *raw)
{
    return hkv_four(hk_float(raw->word[0]), hk_float(raw->word[1]), hk_float(raw->word[2]),
                    hk_float(raw->word[3]));
}

HK_INLINE hk_vec hk_raw_vector(const struct hk_stream *from, const struct hk_raw *raw)
{
    const hk_u32 low = raw->word[0], high = raw->word[1];

    if (from->size == 4)
        return hk_raw_floats(raw);
    if (from->dtype == HK_F16)
        return hkv_four(hk_from_f16((hk_u16)low), hk_from_f16((hk_u16)(low >> 16)),
                        hk_from_f16((hk_u16)high), hk_from_f16((hk_u16)(high >> 16)));
    return hkv_four(hk_float(low << 16), hk_float(low & 0xffff0000u), hk_float(high << 16),
                    hk_float(high & 0xffff0000u));
}

/* Step 11 of two halves, one word. */
HK_INLINE hk_u32 hk_halves(hk_u32 dtype, float low, float high)
{
    return dtype == HK_F16 ? hk_to_f16(low) | (hk_u32)hk_to_f16(high) << 16
                           : HKV_TO_BF16(low) | (hk_u32)HKV_TO_BF16(high) << 16;
}

/* The way out (step 11). */
HK_INLINE void hk_vector_put(const struct hk_stream *to, HK_GLOBAL char *at, hk_vec x)
{
    struct hk_raw raw;

    if (to->size == 4) {
        x = hkv_canonical(x);
        raw.word[0] = hk_word(x.x);
        raw.word[1] = hk_word(x.y);
        raw.word[2] = hk_word(x.z);
        raw.word[3] = hk_word(x.w);
        hk_store_words(at, 4, raw.word);
        return;
    }
#if HK_HAS_ROUND_PAIR_F16
    if (to->dtype == HK_F16 && x.x == x.x && x.y == x.y && x.z == x.z && x.w == x.w) {
        raw.word[0] = hk_round_pair_f16(x.x, x.y);
        raw.word[1] = hk_round_pair_f16(x.z, x.w);
        hk_store_words(at, 2, raw.word);
        return;
    }
#endif
    raw.word[0] = hk_halves(to->dtype, x.x, x.y);
    raw.word[1] = hk_halves(to->dtype, x.z, x.w);
    hk_store_words(at, 2, raw.word);
}

/* ---- batches ---- */

/* Where a vector lies. */
HK_INLINE HK_GLOBAL char *hk_stream_at(const struct hk_stream *of, struct hk_place at)
{
    return of->base + at.row * of->row + (hk_i64)at.unit * (HKV_LANES * of->size);
}

HK_INLINE struct hk_raw hk_stream_ask(const struct hk_stream *from, struct hk_place at)
{
    return from->size == 4 ? hk_raw_whole(4, hk_stream_at(from, at))
                           : hk_raw_whole(2, hk_stream_at(from, at));
}

/* Zeros of rows that are not there. */
HK_INLINE void hk_batch_ask(const struct hk_stream *from, const struct hk_walk *walk,
                            struct hk_raw *raw)
{
    int k;

    if (!from->base) {
        HK_UNROLL
        for (k = 0; k < HK_BATCH; k++)
            raw[k].word[0] = raw[k].word[1] = raw[k].word[2] = raw[k].word[3] = 0;
    } else if (from->size == 4) {
        HK_UNROLL
        for (k = 0; k < HK_BATCH; k++)
            raw[k] = hk_raw_whole(4, hk_stream_at(from, walk->at[k]));
    } else {
        HK_UNROLL
        for (k = 0; k < HK_BATCH; k++)
            raw[k] = hk_raw_whole(2, hk_stream_at(from, walk->at[k]));
    }
}

HK_INLINE void hk_batch_put(const struct hk_stream *to, const struct hk_walk *walk, int k,
                            hk_vec x)
{
    if (walk->there[k])
        hk_vector_put(to, hk_stream_at(to, walk->at[k]), x);
}

/* ---- a few threads a row ---- */

/* Which of the threads of its row a thread is. */
struct hk_share {
    hk_i32 lane, lanes;
};

/* Threads of a row of d channels: so many that each has `vectors` of them; a power of two. */
HK_FN hk_i32 hk_share_lanes(hk_i64 d, const int vectors)
{
    hk_i32 lanes = 1;

    while (lanes < HK_THREADS && (hk_i64)lanes * (vectors * HKV_LANES) < d)
        lanes *= 2;
    return lanes;
}

/* Where the thread's vector v of a tile at t0 begins. */
HK_FN hk_i64 hk_share_at(struct hk_share own, int v, hk_i64 t0)
{
    return t0 + (hk_i64)(v * own.lanes + own.lane) * HKV_LANES;
}

/* ---- one by one ---- */

/* Needs HK_THREAD_ID(id) and hk_i64 i, t: the channels t of rows i of a strip. */
#define HK_SINGLES(id, i, t, first, count, d)                                                      \
    HK_EACH(id)                                                                                    \
        for (i = first; i < (first) + (count); i++)                                                \
            for (t = id; t < (d); t += HK_THREADS)

/* 0 of rows that are not there. */
HK_INLINE hk_vec hk_single_read(const struct hk_rows *rows, hk_i64 i, hk_i64 t)
{
    return hkv_set(rows->base ? hk_channel_read(rows->dtype, hk_row(rows, i), t * rows->channel)
                              : 0.0f);
}

HK_INLINE void hk_single_put(const struct hk_rows *rows, hk_i64 i, hk_i64 t, hk_vec x)
{
    hk_put(rows->dtype, hk_row(rows, i), t * rows->channel, x.x);
}

#endif

#endif
