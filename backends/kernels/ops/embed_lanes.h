/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * embed for processors: row by row, while the next ones are asked for.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_EMBED_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_EMBED_LANES_H

#define HK_AHEAD 512      /* bytes: rows of tokens are far apart, and asked for early */

struct hk_embed_row {
    HK_GLOBAL const char *token, *position, *type; /* NULL: there is no table */
    HK_GLOBAL const char *next_token, *next_position; /* of the row to be asked for */
    HK_GLOBAL char *y;
    int found; /* 0: a table has no such row */
};

HK_FN struct hk_embed_row hk_embed_row_get(const struct hk_embed_strip *embed, hk_i64 i,
                                           hk_i64 next)
{
    struct hk_embed_row row;

    row.token = hk_embed_find(&embed->token, i);
    row.position = hk_embed_find(&embed->position, i);
    row.type = hk_embed_find(&embed->type, i);
    row.next_token = hk_embed_find(&embed->token, next);
    row.next_position = hk_embed_find(&embed->position, next);
    if (!row.next_token)
        row.next_token = row.token;
    if (!row.next_position)
        row.next_position = row.position;
    row.y = hk_row(&embed->y, i);
    row.found = row.token && (row.position || !embed->position.rows.dtype) &&
                (row.type || !embed->type.rows.dtype);
    return row;
}

/* A row of tokens, or its beginning, comes sooner when it is asked for. */
HK_INLINE void hk_embed_ask(const struct hk_embed_strip *embed, hk_i64 i, hk_i64 bytes)
{
    HK_GLOBAL const char *const row = hk_embed_find(&embed->token, i);
    hk_i64 at;

    for (at = 0; row && at < bytes; at += 64)
        HK_PREFETCH_NEAR(row + at);
}

HK_FN void hk_embed_nowhere(const struct hk_embed_strip *embed, const struct hk_embed_row *row)
{
    const hk_i64 d = embed->numbers->d;
    hk_i64 t;

    for (t = 0; t < d; t += HKV_LANES)
        hk_channels_write(embed->y.dtype, row->y, embed->y.channel, t, d,
                          hkv_set(hk_float(HK_NAN_WORD)));
}

/* Channels t .. of the sum. */
HK_INLINE hk_vec hk_embed_at(hk_u32 dtype, const struct hk_embed_strip *embed,
                             const struct hk_embed_row *row, hk_i64 t)
{
    const struct hk_rows *const position = &embed->position.rows, *const type = &embed->type.rows;
    const hk_i64 d = embed->numbers->d;
    hk_vec x = hkv_mul(hk_channels_read(dtype, row->token, embed->token.rows.channel, t, d),
                       hkv_set(embed->numbers->scale));

    if (row->position)
        x = hkv_add(x, hk_channels_read(position->dtype, row->position, position->channel, t, d));
    if (row->type)
        x = hkv_add(x, hk_channels_read(type->dtype, row->type, type->channel, t, d));
    return x;
}

#if HKV_LANES > 1
/* Whole vectors of plain rows, while the next rows are asked for; answers where the first one is
 * that was not written. position, type: are there such rows? */
HK_INLINE hk_i64 hk_embed_plain(hk_u32 dtype, hk_u32 to, const int position, const int type,
                                const struct hk_embed_strip *embed, const struct hk_embed_row *row)
{
    const hk_vec scale = hkv_set(embed->numbers->scale);
    const hk_i64 d = embed->numbers->d, size = hk_size(dtype);
    HK_GLOBAL const char *const tokens = row->token, *const positions = row->position;
    HK_GLOBAL const char *const types = row->type;
    HK_GLOBAL char *const y = row->y;
    hk_i64 t;

    for (t = 0; t + HKV_LANES <= d; t += HKV_LANES) {
        hk_vec x = hkv_mul(hk_vec_load(dtype, tokens, t), scale);

        HK_PREFETCH_NEAR(row->next_token + t * size);
        if (position) {
            HK_PREFETCH_NEAR(row->next_position + t * size);
            x = hkv_add(x, hk_vec_load(dtype, positions, t));
        }
        if (type)
            x = hkv_add(x, hk_vec_load(dtype, types, t));
        hk_vec_put(to, y, t, x);
    }
    return t;
}

HK_INLINE hk_i64 hk_embed_begin(hk_u32 dtype, hk_u32 to, const struct hk_embed_strip *embed,
                                const struct hk_embed_row *row)
{
    if (!embed->plain)
        return 0;
    if (row->position)
        return row->type ? hk_embed_plain(dtype, to, 1, 1, embed, row)
                         : hk_embed_plain(dtype, to, 1, 0, embed, row);
    return row->type ? hk_embed_plain(dtype, to, 0, 1, embed, row)
                     : hk_embed_plain(dtype, to, 0, 0, embed, row);
}
#else
#define hk_embed_begin(dtype, to, embed, row) 0
#endif

/* to: the type of y, a constant if it is that of the tables. */
HK_INLINE void hk_embed_sum(hk_u32 dtype, hk_u32 to, const struct hk_embed_strip *embed,
                            const struct hk_embed_row *row)
{
    const hk_i64 channel = embed->y.channel, d = embed->numbers->d;
    const hk_i64 begin = hk_embed_begin(dtype, to, embed, row);
    hk_i64 t;

    for (t = begin; t < d; t += HKV_LANES)
        hk_channels_write(to, row->y, channel, t, d, hk_embed_at(dtype, embed, row, t));
}

HK_FN void hk_embed_row_run(const struct hk_embed_strip *embed, const struct hk_embed_row *row)
{
    const hk_u32 dtype = embed->token.rows.dtype, to = embed->y.dtype;
    const hk_i64 channel = embed->token.rows.channel;

    if (!row->found) {
        hk_embed_nowhere(embed, row);
    } else if (embed->alone && embed->plain) {
        hk_run_move(hk_size(dtype), row->token, row->y, embed->numbers->d, embed->y.past);
    } else if (embed->alone) {
        hk_row_move(hk_size(dtype), row->token, channel, row->y, embed->y.channel,
                    embed->numbers->d);
    } else if (dtype == to) {
#define HK_ROW(type) hk_embed_sum(type, type, embed, row)
        HK_BY(HK_FLOAT_TYPES, dtype, HK_ROW);
#undef HK_ROW
    } else {
#define HK_ROW(type) hk_embed_sum(type, to, embed, row)
        HK_BY(HK_FLOAT_TYPES, dtype, HK_ROW);
#undef HK_ROW
    }
}

HK_FN void hk_embed_strip_run(const struct hk_embed_strip *embed, hk_i64 first, hk_i64 count)
{
    const hk_i64 bytes = hk_channel_bytes(embed->token.rows.dtype, embed->numbers->d);
    const hk_i64 ahead = hk_max(HK_AHEAD / bytes, 1), end = first + count;
    hk_i64 i;

    for (i = first; i < end; i++) {
        const struct hk_embed_row row = hk_embed_row_get(embed, i, hk_min(i + 1, end - 1));

        if (embed->alone)
            hk_embed_ask(embed, hk_min(i + ahead, end - 1), hk_min(bytes, HK_AHEAD));
        hk_embed_row_run(embed, &row);
    }
}

#endif
