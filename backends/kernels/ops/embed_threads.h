/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * embed for the threads of a work-group, which share the vectors of all rows of a strip.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_EMBED_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_EMBED_THREADS_H

/* Rows of a token, of a position and of a type: NULL where there is no table. */
struct hk_embed_row {
    HK_GLOBAL const char *token, *position, *type;
    int found; /* 0: a table has no such row */
};

HK_FN struct hk_embed_row hk_embed_row_get(const struct hk_embed_strip *embed, hk_i64 i)
{
    struct hk_embed_row row;

    row.token = hk_embed_find(&embed->token, i);
    row.position = hk_embed_find(&embed->position, i);
    row.type = hk_embed_find(&embed->type, i);
    row.found = row.token && (row.position || !embed->position.rows.dtype) &&
                (row.type || !embed->type.rows.dtype);
    return row;
}

/* The sum of vectors of them. */
HK_INLINE hk_vec hk_embed_sum(const struct hk_embed_row *row, float scale, hk_vec token,
                              hk_vec position, hk_vec type)
{
    hk_vec x = hkv_mul(token, hkv_set(scale));

    if (row->position)
        x = hkv_add(x, position);
    return row->type ? hkv_add(x, type) : x;
}

/* Strips as batches have them. */
struct hk_embed_streams {
    struct hk_stream token, position, type, y;
};

/* A vector of a row of a table; zeros without one. */
HK_INLINE struct hk_raw hk_embed_raw(const struct hk_stream *table, HK_GLOBAL const char *row,
                                     hk_i32 unit)
{
    struct hk_raw raw;

    raw.word[0] = raw.word[1] = raw.word[2] = raw.word[3] = 0;
    if (row && table->size == 4)
        raw = hk_raw_whole(4, row + (hk_i64)unit * (4 * HKV_LANES));
    else if (row)
        raw = hk_raw_whole(2, row + (hk_i64)unit * (2 * HKV_LANES));
    return raw;
}

HK_FN void hk_embed_batches(const struct hk_embed_strip *embed, const struct hk_embed_streams *of,
                            hk_i64 first, hk_i64 count)
{
    const float scale = embed->numbers->scale;
    const int alone = embed->alone;
    HK_THREAD_ID(id);
    int k;

    HK_EACH(id)
    {
        struct hk_walk walk = hk_walk_begin(id, count, embed->numbers->d / HKV_LANES);
        struct hk_embed_row row[HK_BATCH];
        struct hk_raw token[HK_BATCH], position[HK_BATCH], type[HK_BATCH];

        while (hk_walk_next(&walk)) {
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++)
                row[k] = hk_embed_row_get(embed, first + walk.at[k].row);
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++) {
                token[k] = hk_embed_raw(&of->token, row[k].token, walk.at[k].unit);
                position[k] = hk_embed_raw(&of->position, row[k].position, walk.at[k].unit);
                type[k] = hk_embed_raw(&of->type, row[k].type, walk.at[k].unit);
            }
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++) {
                if (alone && row[k].found && walk.there[k])
                    hk_store_words(hk_stream_at(&of->y, walk.at[k]), of->y.size == 4 ? 4 : 2,
                                   token[k].word);
                else
                    hk_batch_put(&of->y, &walk, k,
                                 row[k].found
                                     ? hk_embed_sum(row + k, scale,
                                                    hk_raw_vector(&of->token, token + k),
                                                    hk_raw_vector(&of->position, position + k),
                                                    hk_raw_vector(&of->type, type + k))
                                     : hkv_set(hk_float(HK_NAN_WORD)));
            }
        }
    }
}

/* Channel t of a row of a table; 0 without one. */
HK_INLINE hk_vec hk_embed_single(const struct hk_embed_table *table, HK_GLOBAL const char *row,
                                 hk_i64 t)
{
    return hkv_set(row ? hk_channel_read(table->rows.dtype, row, t * table->rows.channel) : 0.0f);
}

HK_FN void hk_embed_singles(const struct hk_embed_strip *embed, hk_i64 first, hk_i64 count)
{
    const hk_i64 size = hk_size(embed->y.dtype);
    HK_THREAD_ID(id);
    hk_i64 i, t;

    HK_SINGLES(id, i, t, first, count, embed->numbers->d)
    {
        const struct hk_embed_row row = hk_embed_row_get(embed, i);
        hk_vec x = hkv_set(hk_float(HK_NAN_WORD));

        if (row.found)
            x = hk_embed_sum(&row, embed->numbers->scale,
                             hk_embed_single(&embed->token, row.token, t),
                             hk_embed_single(&embed->position, row.position, t),
                             hk_embed_single(&embed->type, row.type, t));
        if (embed->alone && row.found)
            hk_element_move(size, row.token, t * embed->token.rows.channel, hk_row(&embed->y, i),
                            t * embed->y.channel);
        else
            hk_single_put(&embed->y, i, t, x);
    }
}

HK_FN void hk_embed_strip_run(const struct hk_embed_strip *embed, hk_i64 first, hk_i64 count)
{
    const hk_i64 d = embed->numbers->d;
    struct hk_embed_streams of;

    if (hk_stream_open(&embed->token.rows, 0, 1, d, &of.token) &&
        hk_stream_open(&embed->position.rows, 0, 1, d, &of.position) &&
        hk_stream_open(&embed->type.rows, 0, 1, d, &of.type) &&
        hk_stream_open(&embed->y, first, count, d, &of.y))
        hk_embed_batches(embed, &of, first, count);
    else
        hk_embed_singles(embed, first, count);
}

#endif
