/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * rope for the threads of a work-group, which share the vectors of pairs of all rows of a strip.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_ROPE_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_ROPE_THREADS_H

/* Rows of a strip from x to y, as batches. */
struct hk_rope_streams {
    struct hk_stream x, y;
};

/* A table of f32 whose rows are `row` elements apart. */
HK_FN int hk_rope_table_whole(HK_GLOBAL const char *base, hk_i64 row, hk_i64 channel)
{
    const hk_u64 all = hk_address(base) | (hk_u64)(row * (hk_i64)hk_size(HK_F32));

    return channel == 1 && all % (HKV_LANES * 4) == 0;
}

/* 0: some vector does not lie at a multiple of its bytes. */
HK_FN int hk_rope_streams_open(const struct hk_rope_strip *rope, hk_i64 first, hk_i64 count,
                               struct hk_rope_streams *to)
{
    const hk_i64 d = rope->numbers->d;

    return rope->numbers->pairs % HKV_LANES == 0 &&
           hk_stream_open(&rope->x, first, count, d, &to->x) &&
           hk_stream_open(&rope->y, first, count, d, &to->y) &&
           hk_rope_table_whole(rope->cos, rope->cos_row, rope->cos_channel) &&
           hk_rope_table_whole(rope->sin, rope->sin_row, rope->sin_channel);
}

/* The vectors of a pair as they are read, and where they lie. */
struct hk_rope_pair {
    struct hk_raw x[2], cos, sin;
    struct hk_place at[2];
};

/* apart: units between the two. */
HK_INLINE void hk_rope_ask(const struct hk_rope_strip *rope, const struct hk_rope_streams *of,
                           hk_i64 first, struct hk_place place, const int halves, hk_i32 apart,
                           struct hk_rope_pair *pair)
{
    const struct hk_rope_row row = hk_rope_row_get(rope, first + place.row);
    const hk_i64 t = (hk_i64)place.unit * HKV_LANES;

    pair->at[0] = pair->at[1] = place;
    pair->at[0].unit = halves ? place.unit : 2 * place.unit;
    pair->at[1].unit = pair->at[0].unit + apart;
    pair->x[0] = hk_stream_ask(&of->x, pair->at[0]);
    pair->x[1] = hk_stream_ask(&of->x, pair->at[1]);
    pair->cos.word[0] = pair->cos.word[1] = pair->cos.word[2] = pair->cos.word[3] = HK_NAN_WORD;
    pair->sin = pair->cos;
    if (row.cos) {
        pair->cos = hk_raw_whole(4, row.cos + t * 4);
        pair->sin = hk_raw_whole(4, row.sin + t * 4);
    }
}

HK_INLINE void hk_rope_pair_put(const struct hk_rope_streams *of, const int halves,
                                const struct hk_rope_pair *pair)
{
    hk_vec x[2];

    x[0] = hk_raw_vector(&of->x, pair->x);
    x[1] = hk_raw_vector(&of->x, pair->x + 1);
    if (!halves)
        hkv_part_pairs(x);
    hk_rope_turn(hk_raw_floats(&pair->cos), hk_raw_floats(&pair->sin), &x[0], &x[1]);
    if (!halves)
        hkv_join_pairs(x);
    hk_vector_put(&of->y, hk_stream_at(&of->y, pair->at[0]), x[0]);
    hk_vector_put(&of->y, hk_stream_at(&of->y, pair->at[1]), x[1]);
}

/* The pairs of rows `first` on: one is asked for before the one at hand is turned. */
HK_FN void hk_rope_pairs(const struct hk_rope_strip *rope, const struct hk_rope_streams *of,
                         hk_i64 first, hk_i64 count)
{
    const hk_i64 pairs = rope->numbers->pairs;
    const int halves = rope->numbers->kind == HK_ROPE_HALVES;
    const hk_i32 apart = halves ? (hk_i32)pairs / HKV_LANES : 1;
    HK_THREAD_ID(id);

    HK_EACH(id)
    {
        struct hk_walk walk = hk_walk_begin(id, count, pairs / HKV_LANES);
        int more = hk_walk_next(&walk);
        struct hk_rope_pair next;

        hk_rope_ask(rope, of, first, walk.at[0], halves, apart, &next);
        while (more) {
            const struct hk_rope_pair pair = next;

            more = hk_walk_next(&walk);
            if (more)
                hk_rope_ask(rope, of, first, walk.at[0], halves, apart, &next);
            hk_rope_pair_put(of, halves, &pair);
        }
    }
}

/* The channels behind the pairs. */
HK_FN void hk_rope_rest(const struct hk_rope_strip *rope, const struct hk_rope_streams *of,
                        hk_i64 count)
{
    const hk_i64 turned = 2 * rope->numbers->pairs;
    struct hk_stream x = of->x, y = of->y;
    HK_THREAD_ID(id);

    if (turned == rope->numbers->d)
        return;
    x.base += turned * x.size;
    y.base += turned * y.size;
    HK_EACH(id)
    {
        struct hk_walk walk = hk_walk_begin(id, count, (rope->numbers->d - turned) / HKV_LANES);
        struct hk_raw raw[HK_BATCH];

        while (hk_walk_next(&walk)) {
            hk_batch_ask(&x, &walk, raw);
            hk_batch_put(&y, &walk, 0, hk_raw_vector(&x, raw));
        }
    }
}

/* Any rows, a pair or a channel behind the pairs at a time. */
HK_FN void hk_rope_singles(const struct hk_rope_strip *rope, hk_i64 first, hk_i64 count)
{
    const hk_i64 pairs = rope->numbers->pairs, turned = 2 * pairs;
    const int halves = rope->numbers->kind == HK_ROPE_HALVES;
    HK_THREAD_ID(id);
    hk_i64 i, t;

    HK_SINGLES(id, i, t, first, count, rope->numbers->d - pairs)
    {
        const struct hk_rope_row row = hk_rope_row_get(rope, i);
        const hk_i64 at = halves ? t : 2 * t, other = halves ? pairs + t : 2 * t + 1;
        hk_vec c = hkv_set(hk_float(HK_NAN_WORD)), s = c, a, b;

        if (t >= pairs) {
            const hk_i64 rest = turned + (t - pairs);

            hk_single_put(&rope->y, i, rest, hk_single_read(&rope->x, i, rest));
            continue;
        }
        if (row.cos) {
            c = hkv_set(hk_element(HK_F32, row.cos, t * rope->cos_channel));
            s = hkv_set(hk_element(HK_F32, row.sin, t * rope->sin_channel));
        }
        a = hk_single_read(&rope->x, i, at);
        b = hk_single_read(&rope->x, i, other);
        hk_rope_turn(c, s, &a, &b);
        hk_single_put(&rope->y, i, at, a);
        hk_single_put(&rope->y, i, other, b);
    }
}

HK_FN void hk_rope_strip_run(const struct hk_rope_strip *rope, hk_i64 first, hk_i64 count)
{
    struct hk_rope_streams of;

    if (hk_rope_streams_open(rope, first, count, &of)) {
        if (rope->numbers->pairs > 0)
            hk_rope_pairs(rope, &of, first, count);
        hk_rope_rest(rope, &of, count);
    } else {
        hk_rope_singles(rope, first, count);
    }
}

#endif
