/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/nn.h, embed: rows of tables, summed (docs/numerics.md, section 16). A task is a strip of
 * rows of one item and head. A row that is a token's alone is moved as copy moves it.
 */
#define HK_SCALES 0 /* numbers alone */
#include "batch.h"
#include "moves.h"


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

#if HK_THREADS == 1
#include "embed_lanes.h"
#else
#include "embed_threads.h"
#endif

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
    {
        const struct hk_strip_task strip =
            hk_strip_get(&HK_NUMBERS(call, struct hk_embed)->strip, task);
        struct hk_embed_strip embed;

        if (HK_NUMBERS(call, struct hk_embed)->d == 0) /* any number of rows */
            continue;
        hk_embed_open(call, &strip, &embed);
        hk_embed_strip_run(&embed, strip.first, strip.count);
    }
#if HK_THREADS == 1
    hk_move_past_end();
#endif
}

#include "../entry.h"
