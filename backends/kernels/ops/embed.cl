/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/nn.h, embed: rows of tables, summed (docs/numerics.md, section 16). A task is a strip of
 * rows of one item and head. A row that is a token's alone is moved as copy moves it.
 */
#define HK_SCALES 0 /* numbers alone */
#include "channels.h"
#include "moves.h"

#define HK_FAR (1u << 25) /* bytes, of all tasks: so many leave the caches alone */
#define HK_AHEAD 512      /* bytes: rows of tokens are far apart, and asked for early */

/* A table, and which of its rows row i of y has: what `ids` says, or first + i * step. */
struct hk_embed_table {
    struct hk_rows rows; /* dtype 0: there is no table */
    struct hk_entries ids;
    hk_i64 n, first, step;
    hk_u32 ids_dtype, listed;
};

struct hk_embed_strip {
    HK_GLOBAL const struct hk_embed *numbers;
    struct hk_embed_table token, position, type;
    struct hk_rows y;
    int alone; /* 1: rows of y are a token's, bits as they are */
    int plain; /* 1: channels of all rows adjoin, and the tables are of one type */
};

HK_FN struct hk_embed_table hk_embed_table_get(const struct hk_call *call, hk_u32 array,
                                               hk_u32 ids, const struct hk_strip_task *strip,
                                               hk_i64 n)
{
    struct hk_embed_table table;

    table.rows = hk_rows_get(call, array, 0, 0);
    table.ids = hk_entries_get(call, ids, strip->b, strip->head);
    table.ids_dtype = call->arrays[ids].dtype;
    table.listed = (hk_u32)hk_has(call, ids);
    table.n = n;
    table.first = table.step = 0;
    return table;
}

/* Are there no rows, or such whose channels adjoin? */
HK_FN int hk_embed_adjoins(const struct hk_embed_table *table, hk_u32 dtype)
{
    return !table->rows.dtype || (table->rows.channel == 1 && table->rows.dtype == dtype);
}

HK_FN void hk_embed_open(const struct hk_call *call, const struct hk_strip_task *strip,
                         struct hk_embed_strip *embed)
{
    HK_GLOBAL const struct hk_embed *numbers = HK_NUMBERS(call, struct hk_embed);
    hk_u32 dtype;

    embed->numbers = numbers;
    embed->token =
        hk_embed_table_get(call, HK_EMBED_TABLE, HK_EMBED_IDS, strip, numbers->tokens);
    embed->position =
        hk_embed_table_get(call, HK_EMBED_POSITIONS, HK_EMBED_POS, strip, numbers->positions);
    embed->position.first = numbers->pos0;
    embed->position.step = 1;
    embed->type =
        hk_embed_table_get(call, HK_EMBED_TYPES, HK_EMBED_TYPE_IDS, strip, numbers->types);
    embed->y = hk_rows_get(call, HK_EMBED_Y, strip->b, strip->head);
    embed->y.past = (hk_u64)call->op->n_batch * (hk_u64)numbers->strip.heads *
                        (hk_u64)numbers->strip.rows *
                        (hk_u64)hk_channel_bytes(embed->y.dtype, numbers->d) >=
                    HK_FAR;
    dtype = embed->token.rows.dtype;
    embed->alone = numbers->scale == 1.0f && embed->y.dtype == dtype &&
                   !embed->position.rows.dtype && !embed->type.rows.dtype;
    embed->plain = embed->y.channel == 1 && hk_embed_adjoins(&embed->token, dtype) &&
                   hk_embed_adjoins(&embed->position, dtype) &&
                   hk_embed_adjoins(&embed->type, dtype);
}

/* ---- a row ---- */

struct hk_embed_row {
    HK_GLOBAL const char *token, *position, *type; /* NULL: there is no table */
    HK_GLOBAL const char *next_token, *next_position; /* of the row to be asked for */
    HK_GLOBAL char *y;
    int found; /* 0: a table has no such row */
};

/* NULL: it is not in the table, or there is none. */
HK_FN HK_GLOBAL const char *hk_embed_find(const struct hk_embed_table *table, hk_i64 i)
{
    hk_i64 id = table->first + i * table->step;

    if (!table->rows.dtype)
        return 0;
    if (table->listed)
        id = hk_integer(table->ids_dtype, table->ids.base, i * table->ids.step);
    return id >= 0 && id < table->n ? hk_row(&table->rows, id) : 0;
}

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
    HK_THREAD_ID(id);
    hk_i64 t;

    HK_CHANNELS(id, t, d)
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

#if HK_THREADS == 1 && HKV_LANES > 1
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
    HK_THREAD_ID(id);
    hk_i64 t;

    HK_EACH(id)
        for (t = begin + (hk_i64)id * HKV_LANES; t < d; t += (hk_i64)HK_THREADS * HKV_LANES)
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

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task, i;

    HK_TASKS(call, group, task)
    {
        const struct hk_strip_task strip =
            hk_strip_get(&HK_NUMBERS(call, struct hk_embed)->strip, task);
        const hk_i64 end = strip.first + strip.count;
        struct hk_embed_strip embed;
        hk_i64 bytes, ahead;

        if (HK_NUMBERS(call, struct hk_embed)->d == 0) /* any number of rows */
            continue;
        hk_embed_open(call, &strip, &embed);
        bytes = hk_channel_bytes(embed.token.rows.dtype, embed.numbers->d);
        ahead = hk_max(HK_AHEAD / bytes, 1);
        for (i = strip.first; i < end; i++) {
            const struct hk_embed_row row = hk_embed_row_get(&embed, i, hk_min(i + 1, end - 1));

            if (embed.alone)
                hk_embed_ask(&embed, hk_min(i + ahead, end - 1), hk_min(bytes, HK_AHEAD));
            hk_embed_row_run(&embed, &row);
        }
    }
#if HK_THREADS == 1
    hk_move_past_end();
#endif
}

#include "../entry.h"
