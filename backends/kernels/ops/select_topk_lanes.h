/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by scores for processors: register tiles of a few tokens and a panel of query rows. Scores
 * are compared with the bars of their rows where they are, in registers, and leave them only if
 * some row wants one.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_TOPK_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_TOPK_LANES_H

#if HK_SELECT_QUERIES % HK_PANEL != 0 || HK_SELECT_TOKENS % HK_R != 0
#error "strips are whole panels, chunks are whole tiles"
#endif

/* Nothing is too small yet; a column without a row takes nothing but NaN. */
HK_FN void hk_topk_start(const struct hk_topk *topk, hk_i64 column)
{
    topk->bars[column] = column < topk->n ? -HK_INFINITY : HK_INFINITY;
    if (column < topk->n)
        topk->held[column] = 0;
}

HK_FN void hk_topk_add(const struct hk_topk *topk, hk_i64 column, float score, hk_i64 token)
{
    const hk_i64 room = topk->select->room, count = topk->select->count;
    HK_GLOBAL hk_i64 *keys = topk->keys + column * room;
    hk_i64 n = topk->held[column];

    keys[n++] = hk_key(score, token);
    if (n == room) {
        topk->bars[column] = hk_key_bar(hk_keys_cut(keys, n, count));
        n = count;
    }
    topk->held[column] = n;
}

/* The keys of a row to where its parts are joined: those of the parts that the group had. */
HK_FN void hk_topk_spread(const struct hk_topk *topk, hk_i64 column, hk_i64 first, hk_i64 step,
                          hk_i64 end)
{
    HK_GLOBAL const struct hk_select *select = topk->select;
    HK_GLOBAL hk_i64 *keys = topk->keys + column * select->room;
    HK_GLOBAL hk_i64 *to = topk->chosen + column * select->parts * select->count;
    hk_i64 n = topk->held[column], i = 0, part, place;

    if (n > select->count) {
        hk_keys_cut(keys, n, select->count);
        n = select->count;
    }
    for (part = first; part < end; part += step) {
        for (place = 0; place < select->count; place++) {
            const int mine = i < n && hk_key_index(keys[i]) < (part + 1) * select->part_tokens;

            to[part * select->count + place] = mine ? keys[i] : HK_NO_KEY;
            i += mine;
        }
    }
}

/* first, step, end: the parts that the group had. */
HK_FN void hk_topk_finish(const struct hk_topk *topk, hk_i64 column, hk_i64 first, hk_i64 step,
                          hk_i64 end)
{
    if (topk->select->parts == 1)
        hk_topk_write(topk, column, topk->keys + column * topk->select->room, topk->held[column]);
    else
        hk_topk_spread(topk, column, first, step, end);
}

/* Channels of query row `column` into its column; line: floats from channel to channel. */
HK_FN void hk_topk_column(const struct hk_topk *topk, hk_i64 column, HK_GLOBAL float *to,
                          hk_i64 line)
{
    HK_GLOBAL const struct hk_array *q = topk->call->arrays + HK_SELECT_Q;
    HK_GLOBAL const char *row = hk_topk_row(topk, HK_SELECT_Q, column);
    hk_i64 t;

    for (t = 0; t < topk->select->d; t++)
        to[t * line] = hk_element(q->dtype, row, t * q->stride[5]);
}

#define HK_AHEAD 48             /* tokens */

/* Tokens against one panel of query rows. */
struct hk_topk_panel {
    const struct hk_topk *topk;
    HK_GLOBAL const float *columns, *bars;
    HK_GLOBAL float *scores;            /* [HK_R][HK_PANEL] */
    hk_i64 first, n;                    /* query rows of the strip */
    hk_i64 ahead;                       /* the token that is asked for with the chunk's first */
};

/* Adds what is wanted of a tile: wanted[i], the query rows that want the score of token i. */
HK_NOINLINE void hk_topk_take(const struct hk_topk_panel *panel, const hk_i32 *tokens, hk_i64 rows,
                              const hk_u64 *wanted)
{
    const hk_u64 there = ~(hk_u64)0 >> (64 - panel->n);
    hk_u64 some = 0;
    hk_i64 i;

    for (i = 0; i < rows; i++)
        some |= (hk_u64)((wanted[i] & there) != 0) << i;
    for (; some != 0; some &= some - 1) {
        hk_u64 columns;

        i = hk_first_bit(some);
        for (columns = wanted[i] & there; columns != 0; columns &= columns - 1) {
            const hk_i64 column = hk_first_bit(columns);

            hk_topk_add(panel->topk, panel->first + column, panel->scores[i * HK_PANEL + column],
                        tokens[i]);
        }
    }
}

/* wanted[i]: the columns that want the score of token i; whether there are any. */
HK_INLINE int hk_topk_sieve(HK_GLOBAL const float *bars, hk_vec acc[HK_R][HK_TILE_VECS],
                            hk_u64 *wanted, const int vecs)
{
    hk_u64 any = 0;
    int i, u;

    HK_UNROLL
    for (i = 0; i < HK_R; i++) {
        wanted[i] = 0;
        HK_UNROLL
        for (u = 0; u < vecs; u++) {
            const hk_vec bar = hkv_load(bars + u * HKV_LANES);

            wanted[i] |= (hk_u64)hkv_word(hkv_not_less(acc[i][u], bar)) << (u * HKV_LANES);
        }
        any |= wanted[i];
    }
    return any != 0;
}

/* Tiles of the rows of x, of which the first n count. */
HK_INLINE void hk_topk_tiles(const struct hk_topk_panel *panel, HK_GLOBAL const float *x,
                             hk_i64 x_row, const hk_i32 *tokens, hk_i64 n, const int vecs)
{
    const hk_i64 d = panel->topk->select->d;
    hk_i64 at;

    for (at = 0; at < n; at += HK_R, x += HK_R * x_row) {
        struct hk_ahead ahead = hk_ahead_get(&panel->topk->tokens, panel->ahead + at);
        hk_vec acc[HK_R][HK_TILE_VECS];
        hk_u64 wanted[HK_R];

        if (panel->first != 0)
            ahead.bytes = 0;
        hk_product_sums_ahead(x, x_row, panel->columns, d, &ahead, acc, vecs);
        if (!hk_topk_sieve(panel->bars, acc, wanted, vecs))
            continue;
        hk_product_store(acc, panel->scores, HK_PANEL, HK_R, vecs);
        hk_topk_take(panel, tokens + at, hk_min(HK_R, n - at), wanted);
    }
}

HK_NOINLINE void hk_topk_whole(const struct hk_topk_panel *panel, HK_GLOBAL const float *x,
                               hk_i64 x_row, const hk_i32 *tokens, hk_i64 n)
{
    hk_topk_tiles(panel, x, x_row, tokens, n, HKV_TILE);
}

#if HKV_TILE >= 4
HK_NOINLINE void hk_topk_half(const struct hk_topk_panel *panel, HK_GLOBAL const float *x,
                              hk_i64 x_row, const hk_i32 *tokens, hk_i64 n)
{
    hk_topk_tiles(panel, x, x_row, tokens, n, HKV_TILE / 2);
}
#endif

#if HKV_TILE > 1
HK_NOINLINE void hk_topk_one(const struct hk_topk_panel *panel, HK_GLOBAL const float *x,
                             hk_i64 x_row, const hk_i32 *tokens, hk_i64 n)
{
    hk_topk_tiles(panel, x, x_row, tokens, n, 1);
}
#endif

/* As many vectors as there are query rows in the panel. */
HK_FN void hk_topk_rows(const struct hk_topk_panel *panel, HK_GLOBAL const float *x, hk_i64 x_row,
                        const hk_i32 *tokens, hk_i64 n)
{
#if HKV_TILE > 1
    if (panel->n <= HKV_LANES) {
        hk_topk_one(panel, x, x_row, tokens, n);
        return;
    }
#endif
#if HKV_TILE >= 4
    if (panel->n <= HK_PANEL / 2) {
        hk_topk_half(panel, x, x_row, tokens, n);
        return;
    }
#endif
    hk_topk_whole(panel, x, x_row, tokens, n);
}

/* ahead: the token that is asked for with the first of the chunk. */
HK_FN void hk_topk_chunk(const struct hk_topk *topk, const struct hk_chunk *chunk,
                         HK_GLOBAL const float *copies, hk_i64 ahead)
{
    HK_GLOBAL const struct hk_select *select = topk->select;
    struct hk_topk_panel panel;
    hk_i64 at;

    panel.topk = topk;
    panel.ahead = ahead;
    panel.scores = (HK_GLOBAL float *)(topk->scratch + select->scratch_at[HK_SCRATCH_PRODUCTS]);
    for (at = 0; at < topk->n; at += HK_PANEL) {
        panel.first = at;
        panel.n = hk_min(topk->n - at, HK_PANEL);
        panel.columns = topk->columns + at * select->d;
        panel.bars = topk->bars + at;
        hk_topk_rows(&panel, chunk->x, chunk->x_row, chunk->index, chunk->in_place);
        hk_topk_rows(&panel, copies + chunk->in_place * select->width, select->width,
                     chunk->index + chunk->in_place, chunk->n - chunk->in_place);
    }
}

/* Query rows into panels; columns without one are zeros. */
HK_FN void hk_topk_begin(const struct hk_topk *topk)
{
    const hk_i64 d = topk->select->d, end = (topk->n + HK_PANEL - 1) / HK_PANEL * HK_PANEL;
    hk_i64 column, t;

    for (column = 0; column < end; column++) {
        HK_GLOBAL float *to = topk->columns + column / HK_PANEL * HK_PANEL * d + column % HK_PANEL;

        hk_topk_start(topk, column);
        if (column < topk->n)
            hk_topk_column(topk, column, to, HK_PANEL);
        for (t = 0; t < d && column >= topk->n; t++)
            to[t * HK_PANEL] = 0.0f;
    }
}

HK_FN void hk_topk_part(const struct hk_topk *topk, hk_i64 part)
{
    HK_GLOBAL const struct hk_select *select = topk->select;
    HK_GLOBAL float *copies =
        (HK_GLOBAL float *)(topk->scratch + select->scratch_at[HK_SCRATCH_ROWS]);
    hk_i64 i = part * select->part_tokens;
    const hk_i64 end = hk_min(i + select->part_tokens, topk->tokens.end);

    for (; i < end; i += HK_SELECT_TOKENS) {
        struct hk_chunk chunk;

        hk_chunk_get(&topk->tokens, i, hk_min(i + HK_SELECT_TOKENS, end), copies, select->width,
                     &chunk);
        hk_topk_chunk(topk, &chunk, copies, i + HK_AHEAD);
    }
}

HK_FN void hk_topk_end(const struct hk_topk *topk, hk_i64 first, hk_i64 step)
{
    hk_i64 i;

    for (i = 0; i < topk->n; i++)
        hk_topk_finish(topk, i, first, step, topk->select->parts);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    const hk_i64 parts = HK_NUMBERS(call, struct hk_select)->parts;
    const hk_i64 step = call->op->groups[HK_PASS], tasks = call->op->tasks[HK_PASS];
    hk_i64 task = group;

    while (task < tasks) {
        const hk_i64 strip = task / parts, first = task % parts;
        struct hk_topk topk;

        hk_topk_open(call, group, strip, &topk);
        hk_topk_begin(&topk);
        for (; task < tasks && task / parts == strip; task += step)
            hk_topk_part(&topk, task % parts);
        hk_topk_end(&topk, first, step);
    }
}

#endif
