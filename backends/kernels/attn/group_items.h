/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for many rows: a block's scores and all biases, one after the other: t and u of each
 * DOT bias, then what the scores are multiplied by, then the others (docs/numerics.md steps 3 and
 * 4). Which entry of a DOT bias's tables a score asks for lies in a stretch (group_stretch.h); a
 * thread forms the products of its scores from rows of tables and of K as they lie, 16 bytes at a
 * time: neighbours have neighbouring entries, which caches hold.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_ITEMS_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_ITEMS_H

#include "group_stretch.h"

#if HK_BIASES

/* One of them. Neither dot nor bias: scores end there and nothing follows. */
struct hk_item {
    HK_GLOBAL const struct hk_dot *dot;
    HK_GLOBAL const struct hk_bias *bias;
    HK_GLOBAL const struct hk_aux *table;
    HK_GLOBAL const char *base;         /* of the table */
    hk_i32 heads;                       /* stretches, one behind the other */
    int by_key, by_distance;
};

/* ---- DOT ---- */

/* Do rows of the table, and what they meet, lie in whole units? */
HK_FN int hk_item_wide(const struct hk_group *g, const struct hk_item *at)
{
    const hk_i64 size = hk_size(at->table->dtype), d = g->call->plan->d;

    return at->table->stride[5] == 1 && !HK_MAY_SCALE(at->table->dtype) && d % 4 == 0 &&
           (at->by_key ? g->shared->k_wide != 0 : d <= HK_KEPT) &&
           ((hk_address(at->base) | (hk_u64)(at->table->stride[3] * size) |
             (hk_u64)(at->table->stride[4] * size)) & 15) == 0;
}

/* Entries at all distances; negative: none. */
HK_FN void hk_entries_fill(const struct hk_group *g, hk_i32 id, const struct hk_item *of,
                           const struct hk_reached *at)
{
    HK_GLOBAL const struct hk_lookup *from = &of->dot->from;
    HK_GLOBAL const char *map = from->map.slot ? hk_aux_of(g->call, &from->map, g->task->b) : 0;
    hk_i32 i;

    HK_NO_UNROLL
    for (i = id; i < at->count; i += HK_THREADS)
        g->shared->out.entry[i] =
            (hk_i32)hk_reached_entry(from, map, hk_dot_entries(of->dot), at->first + i);
}

/* A key before an entry of u. */
HK_FN float hk_u_product(const struct hk_group *g, hk_u32 dtype, hk_i32 place,
                         HK_GLOBAL const char *a)
{
    HK_LOCAL const struct hk_matrix *m = &g->shared->k_rows;
    const hk_i64 step = 4 * hk_size(dtype), bytes = hk_element_bytes(m);
    HK_GLOBAL const char *k = hk_byte(m->base, g->shared->k_at[place] * bytes);
    float sum = 0.0f;
    hk_u32 left, j;

    HK_UNROLL_FEW
    for (left = (hk_u32)g->call->plan->d; left != 0; left -= 4) {
        hk_u32 x[4], y[4];

        hk_load_any(m->dtype, k, x);
        hk_load_any(dtype, a, y);
        HK_UNROLL
        for (j = 0; j < 4; j++)
            sum = hk_fma(hk_float(x[j]), hk_float(y[j]), sum);
        k = hk_byte(k, 4 * bytes);
        a = hk_byte(a, step);
    }
    return sum;
}

/* Two scores of a row, of keys at `place` and 16 behind: what entries `entry` of the head's table
 * add; negative: nothing, and nothing is read. */
HK_FN void hk_pair_join(const struct hk_group *g, const struct hk_item *of, hk_i32 row,
                        hk_i32 place, const hk_i32 *entry, float *score)
{
    const hk_u32 dtype = of->table->dtype;
    const hk_i64 size = hk_size(dtype), step = of->table->stride[4] * size;
    HK_GLOBAL const char *head = hk_byte(of->base,
                                         g->shared->head[row] * of->table->stride[3] * size);
    const hk_i32 some = entry[0] >= 0 ? entry[0] : entry[1];
    float sum[2] = { 0.0f, 0.0f };

    if (some < 0)
        return;
    if (of->by_key) {
        if (entry[0] >= 0)
            sum[0] = hk_u_product(g, dtype, place, hk_byte(head, entry[0] * step));
        if (entry[1] >= 0)
            sum[1] = hk_u_product(g, dtype, place + 16, hk_byte(head, entry[1] * step));
    } else {
        hk_two_products(g->shared->q + row, HK_Q_LINE, (hk_u32)g->call->plan->d, dtype,
                        hk_byte(head, some * step),
                        hk_byte(head, (entry[1] >= 0 ? entry[1] : some) * step), sum);
    }
    if (entry[0] >= 0)
        score[0] = hk_add(score[0], sum[0]);
    if (entry[1] >= 0)
        score[1] = hk_add(score[1], sum[1]);
}

/* Those of a word's keys x and x + 16. */
HK_FN void hk_dot_half(const struct hk_group *g, const struct hk_item *of, hk_i32 row, hk_i32 x,
                       const hk_i32 h, float *score)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_u32 word = shared->masks[2 * row + h] >> x;
    const hk_i32 place = x + 32 * h, from = shared->in.distances.from_row[row];
    hk_i32 entry[2], j;

    HK_UNROLL
    for (j = 0; j < 2; j++)
        entry[j] = word >> 16 * j & 1
                       ? shared->out.entry[from + shared->in.distances.to_key[place + 16 * j]]
                       : -1;
    hk_pair_join(g, of, row, place, entry, score);
}

/* t or u of a bias joins all scores of a thread. Halves one by one: as hk_listed_scores has it. */
HK_PIECE void hk_dot_take(const struct hk_group *g, hk_i32 id, const struct hk_item *of,
                          struct hk_mine *me)
{
    hk_i32 n, r, c;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (n = 0; n < HK_TR; n++) {
        const hk_i32 row = id / 16 * HK_TR + n;
        float score[4];

        HK_UNROLL
        for (c = 0; c < 4; c++)
            score[c] = me->s[0][c];
        hk_dot_half(g, of, row, id % 16, 0, score);
        hk_dot_half(g, of, row, id % 16, 1, score + 2);
        HK_UNROLL
        for (c = 0; c < 4; c++) {
            HK_UNROLL
            for (r = 0; r < HK_TR - 1; r++)     /* no index of a register is computed */
                me->s[r][c] = me->s[r + 1][c];
            me->s[HK_TR - 1][c] = score[c];
        }
    }
}

/* ---- all ---- */

/* Number i of a source. */
HK_FN void hk_item_get(const struct hk_group *g, HK_GLOBAL const struct hk_source *source,
                       hk_u32 i, struct hk_item *out)
{
    const hk_u32 dots = 2 * source->n_dots;

    out->dot = i < dots ? hk_dots(g->call, source) + i / 2 : 0;
    out->bias = i >= dots && i < dots + source->n_biases
                    ? hk_biases(g->call, source) + (i - dots)
                    : 0;
    out->by_key = (int)(i % 2);
    out->heads = 1;
    out->by_distance = 0;
    out->base = 0;
    out->table = 0;
    if (out->bias) {
        out->by_distance = out->bias->kind != HK_BIAS_DENSE;
        if (out->bias->kind == HK_BIAS_TABLE && out->bias->t.stride[4] != 0)
            out->heads = (hk_i32)g->call->plan->strips.stack;
        return;
    }
    if (out->dot)
        out->table = out->by_key ? &out->dot->u : &out->dot->t;
    if (out->dot && out->table->slot) {
        out->base = hk_aux_of(g->call, out->table, g->task->b);
        out->by_distance = hk_dot_entries(out->dot) <= 0x7fffffff && hk_item_wide(g, out);
    }
}

/* What scores are to meet, and by thread 0 how. */
HK_PIECE void hk_item_fill(const struct hk_group *g, hk_i32 id, const struct hk_item *of,
                           const struct hk_reached *at)
{
    HK_LOCAL hk_u32 *way = g->shared->way;
    const int is = of->dot ? of->table->slot != 0 : of->bias != 0, quickly = is && at->count > 0;

    if (id == 0) {
        way[HK_WAY_DOT] = quickly && of->dot ? 1 : 0;
        way[HK_WAY_STRETCH] = quickly && !of->dot ? 1 : 0;
        way[HK_WAY_SLOWLY] = is && !quickly ? 1 : 0;
    }
    if (at->count == 0)
        return;
    if (of->dot)
        hk_entries_fill(g, id, of, at);
    else
        hk_stretch_fill(g, id, of->bias, at, of->heads);
}

HK_FN void hk_item_join(const struct hk_group *g, hk_i32 id, const struct hk_item *of,
                        struct hk_mine *me)
{
    if (g->shared->way[HK_WAY_DOT])
        hk_dot_take(g, id, of, me);
    if (g->shared->way[HK_WAY_STRETCH])
        hk_stretch_join(g, id, me);
    if (g->shared->way[HK_WAY_SLOWLY])
        hk_item_slowly(g, id, of->dot, of->by_key, of->bias, me);
}

/* Steps 3, end, and 4 for all scores of a block: they become y, -Inf where a bias removes the key,
 * anything where the row does not see it. */
HK_FN void hk_block_biases(const struct hk_group *g, struct hk_mine *mine, hk_u64 any)
{
    HK_GLOBAL const struct hk_source *source = g->call->sources + g->shared->source;
    const hk_u32 dots = any != 0 ? 2 * source->n_dots : 0;
    const hk_u32 n = any != 0 ? dots + (source->n_biases > 0 ? source->n_biases : 1) : 0;
    struct hk_reached at;
    struct hk_item item;
    hk_u32 i;
    HK_THREAD_ID(id);

    HK_EACH(id) {
        mine[HK_OWN(id)].gone = 0;
    }
    HK_NO_UNROLL
    for (i = 0; i < n; i++) {
        hk_item_get(g, source, i, &item);
        hk_reached_find(g, item.dot ? &item.dot->from : item.bias ? &item.bias->from : 0,
                        item.by_distance ? any : 0, &at);
        if (at.count * item.heads > HK_STRETCH)
            at.count = 0;
        HK_EACH(id) {
            hk_item_fill(g, id, &item, &at);
        }
        HK_BARRIER();
        HK_EACH(id) {
            if (i == dots)
                hk_scores_end(g, &mine[HK_OWN(id)]);
            hk_item_join(g, id, &item, &mine[HK_OWN(id)]);
        }
    }
    HK_BARRIER();
}

#endif

#endif
