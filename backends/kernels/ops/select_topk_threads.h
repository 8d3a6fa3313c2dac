/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by scores for the threads of a work-group: tiles of 64 tokens and the query rows of a
 * strip (score_tiles.h), slice by slice. With the last slice each thread compares its scores with
 * the bars of their rows, and leaves those that reach them in local memory; then each row has a
 * thread that takes them up, in the order of their tokens.
 *
 * A row's list holds orders of scores (choice.h) and their tokens, a row beside the other. When it
 * is full all rows are cut, as neighbours then do the same: to `count` of the largest or some more.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_TOPK_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_TOPK_THREADS_H

#include "score_tiles.h"

#define HK_HAS_SHARED 1

#if HK_THREADS != HK_SELECT_QUERIES || HK_TILE != HK_THREADS
#error "each row has a thread"
#endif

struct hk_shared {
    struct hk_tile_slice slice[2];
    float scores[HK_TILE * HK_TILE_PITCH]; /* [token][row] */
    struct hk_topk topk;
    struct hk_quads x, of_q;               /* of_q: but for its base */
    hk_i64 first, end;                     /* tokens of the part */
    HK_GLOBAL const char *q[HK_TILE];      /* rows; NULL from n on */
    float bars[HK_TILE];
    hk_u32 wanted[HK_TILE][2];             /* of each row: tokens of a tile that reach its bar */
    hk_u32 full[2];                        /* by turns of tiles: a list wants to be cut */
};

/* What a thread keeps: its sums, and of its row how many keys there are, and the bar. */
struct hk_topk_mine {
    struct hk_tile_sums sums;
    hk_i64 held;
    float bar;
};

/* ---- lists ---- */

/* The list of a row: orders, then as many tokens, `step` apart. */
struct hk_topk_list {
    HK_GLOBAL hk_i32 *orders, *tokens;
    hk_i64 step;
};

HK_FN struct hk_topk_list hk_topk_list_get(HK_LOCAL const struct hk_topk *topk, hk_i32 row)
{
    struct hk_topk_list list;

    list.step = topk->select->strip.run;
    list.orders = (HK_GLOBAL hk_i32 *)topk->keys + row;
    list.tokens = list.orders + (topk->select->room + HK_SELECT_MORE) * list.step;
    return list;
}

/* Some of a list's keys at once, for each waits for memory: orders from i on, of those that are not
 * there the least. */
#define HK_TOPK_BATCH 16

HK_FN void hk_topk_batch(const struct hk_topk_list *list, HK_GLOBAL const hk_i32 *of, hk_i32 i,
                         hk_i32 n, hk_i32 *to)
{
    HK_GLOBAL const hk_i32 *const from = of + i * list->step;
    hk_i32 j;

    HK_UNROLL
    for (j = 0; j < HK_TOPK_BATCH; j++)
        to[j] = i + j < n ? from[j * list->step] : (hk_i32)0x80000000u;
}

/* Where a list is cut: all from `least` on stay, of those that are equal to it the first. */
struct hk_topk_cut {
    hk_i64 least, equal, found;
};

HK_FN hk_i64 hk_topk_from(const struct hk_topk_list *list, hk_i32 n, hk_i64 least)
{
    const hk_i32 border = (hk_i32)least;
    hk_i32 found = 0, i, j;

    for (i = 0; i < n; i += HK_TOPK_BATCH) {
        hk_i32 order[HK_TOPK_BATCH];

        hk_topk_batch(list, list->orders, i, n, order);
        HK_UNROLL
        for (j = 0; j < HK_TOPK_BATCH; j++)
            found += i + j < n && order[j] >= border ? 1 : 0;
    }
    return found;
}

/* The smallest and the largest of n orders; without any the largest is the less. */
HK_FN void hk_topk_ends(const struct hk_topk_list *list, hk_i32 n, hk_i32 *low, hk_i32 *high)
{
    hk_i32 i, j;

    *low = 0x7fffffff;
    *high = (hk_i32)0x80000000u;
    for (i = 0; i < n; i += HK_TOPK_BATCH) {
        hk_i32 order[HK_TOPK_BATCH];

        hk_topk_batch(list, list->orders, i, n, order);
        HK_UNROLL
        for (j = 0; j < HK_TOPK_BATCH; j++) {
            *high = order[j] > *high ? order[j] : *high;
            *low = i + j < n && order[j] < *low ? order[j] : *low;
        }
    }
}

/* Halves what lies between the smallest and the largest until `count` to `most` of n keys stay. */
HK_FN struct hk_topk_cut hk_topk_cut_find(const struct hk_topk_list *list, hk_i32 n, hk_i64 count,
                                          hk_i64 most)
{
    struct hk_topk_cut cut;
    hk_i64 high, above = 0;
    hk_i32 first, last;

    hk_topk_ends(list, n, &first, &last);
    cut.least = first;
    cut.found = cut.equal = n;
    high = (hk_i64)last + 1;            /* `above` keys are high or more */
    while (cut.found > most && high - cut.least > 1) {
        const hk_i64 middle = cut.least + (high - cut.least) / 2;
        const hk_i64 found = hk_topk_from(list, n, middle);

        if (found >= count) {
            cut.least = middle;
            cut.found = found;
        } else {
            high = middle;
            above = found;
        }
    }
    if (cut.found > most) {
        cut.found = count;
        cut.equal = count - above;
    }
    return cut;
}

/* Does a key stay? They are asked in their order. */
HK_FN int hk_topk_stays(struct hk_topk_cut *cut, hk_i32 order)
{
    if (order == cut->least)
        return cut->equal-- > 0;
    return order > cut->least;
}

HK_FN void hk_topk_cut_list(HK_LOCAL const struct hk_topk *topk, hk_i32 row,
                            struct hk_topk_mine *mine)
{
    const hk_i64 count = topk->select->count, spare = topk->select->room - count;
    const struct hk_topk_list list = hk_topk_list_get(topk, row);
    const hk_i32 n = (hk_i32)mine->held;
    struct hk_topk_cut cut;
    hk_i32 kept = 0, i, j;

    if (n <= count + spare / 4)
        return;
    cut = hk_topk_cut_find(&list, n, count, count + spare / 4);
    mine->bar = hk_order_bar((hk_i32)cut.least);
    for (i = 0; i < n; i += HK_TOPK_BATCH) {
        hk_i32 order[HK_TOPK_BATCH], token[HK_TOPK_BATCH];

        hk_topk_batch(&list, list.orders, i, n, order);
        hk_topk_batch(&list, list.tokens, i, n, token);
        HK_UNROLL
        for (j = 0; j < HK_TOPK_BATCH; j++) {
            if (i + j < n && hk_topk_stays(&cut, order[j])) {
                list.orders[kept * list.step] = order[j];
                list.tokens[kept * list.step] = token[j];
                kept++;
            }
        }
    }
    mine->held = kept;
}

/* ---- slices ---- */

struct hk_topk_brought {
    struct hk_quad x[HK_TILE_QUADS], q[HK_TILE_QUADS];
};

HK_FN hk_i64 hk_topk_slices(HK_LOCAL const struct hk_topk *topk)
{
    return hk_max((topk->select->d + HK_TILE_SLICE - 1) / HK_TILE_SLICE, 1);
}

HK_FN hk_i64 hk_topk_tiles(HK_LOCAL const struct hk_shared *shared)
{
    return hk_max((shared->end - shared->first + HK_TILE - 1) / HK_TILE, 0);
}

/* Quads of x of a slice of a tile; what is not there is 0. */
HK_INLINE void hk_topk_load_x(const int words, HK_LOCAL const struct hk_shared *shared, hk_i64 tile,
                              hk_i64 t, hk_i32 id, struct hk_quad *to)
{
    const struct hk_quads x = shared->x;
    const struct hk_entries mask = shared->topk.tokens.mask;
    const hk_i64 first = shared->first + tile * HK_TILE;
    const hk_i32 left = t < x.d ? (hk_i32)hk_min(shared->end - first, HK_TILE) : 0;
    HK_GLOBAL const char *const row = hk_byte(x.base, (first + hk_tile_line(id, 0)) * x.row);
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < HK_TILE_QUADS; i++) {
        const hk_i32 line = hk_tile_line(id, i);

        hk_quad_fill(&to[i], 0);
        if (line < left && (!mask.base || hk_entry_u8(&mask, first + line) != 0))
            hk_quad_load(words, &x, row + i * HK_TILE_LINES * x.row, t, &to[i]);
    }
}

/* The same of q. */
HK_INLINE void hk_topk_load_q(const int words, HK_LOCAL const struct hk_shared *shared, hk_i64 t,
                              hk_i32 id, struct hk_quad *to)
{
    const struct hk_quads q = shared->of_q;
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < HK_TILE_QUADS; i++) {
        HK_GLOBAL const char *const row = shared->q[hk_tile_line(id, i)];

        hk_quad_fill(&to[i], 0);
        if (t < q.d && row)
            hk_quad_load(words, &q, row, t, &to[i]);
    }
}

HK_FN void hk_topk_load(HK_LOCAL const struct hk_shared *shared, hk_i64 tile, hk_i64 slice,
                        hk_i32 id, struct hk_topk_brought *to)
{
    const hk_i64 t = slice * HK_TILE_SLICE + hk_tile_term(id);

#define HK_LOAD(words) hk_topk_load_x(words, shared, tile, t, id, to->x)
    HK_BY_WORDS(shared->x.words, HK_LOAD);
#undef HK_LOAD
#define HK_LOAD(words) hk_topk_load_q(words, shared, t, id, to->q)
    HK_BY_WORDS(shared->of_q.words, HK_LOAD);
#undef HK_LOAD
}

HK_FN void hk_topk_store(HK_LOCAL const struct hk_shared *shared, hk_i32 id,
                         const struct hk_topk_brought *brought, HK_LOCAL struct hk_tile_slice *to)
{
#define HK_STORE(type) hk_tile_put(type, id, brought->x, to->x)
    HK_BY_NUMBER(shared->x.dtype, HK_STORE);
#undef HK_STORE
#define HK_STORE(type) hk_tile_put(type, id, brought->q, to->q)
    HK_BY(HK_FLOAT_TYPES, shared->of_q.dtype, HK_STORE);
#undef HK_STORE
}

/* ---- scores ---- */

/* The thread's tokens of a tile that are there, a bit each. */
HK_FN hk_u32 hk_topk_there(HK_LOCAL const struct hk_shared *shared, hk_i64 tile, hk_i32 id)
{
    const struct hk_tokens tokens = shared->topk.tokens;
    hk_u32 there = 0;
    int i;

    HK_UNROLL
    for (i = 0; i < HK_TILE_OWN; i++) {
        const hk_i64 token = shared->first + tile * HK_TILE + hk_tile_row(id, i);

        if (token < shared->end && hk_token_present(&tokens, token))
            there |= 1u << i;
    }
    return there;
}

/* Scores that reach the bars of their rows, to where the rows' threads look for them. */
HK_FN void hk_topk_leave(HK_LOCAL struct hk_shared *shared, hk_i64 tile, hk_i32 id,
                         const struct hk_tile_sums *sums)
{
    const hk_u32 there = hk_topk_there(shared, tile, id);
    int i, j;

    HK_UNROLL
    for (j = 0; j < HK_TILE_OWN; j++) {
        const hk_i32 row = hk_tile_column(id, j);
        const float bar = shared->bars[row];
        hk_u32 any = 0, words[2] = { 0, 0 };

        HK_UNROLL
        for (i = 0; i < HK_TILE_OWN; i++)
            any |= hk_not_less(sums->of[i][j], bar) ? 1u << i : 0;
        any &= there;
        if (any == 0)
            continue;
        HK_UNROLL
        for (i = 0; i < HK_TILE_OWN; i++) {
            shared->scores[hk_tile_row(id, i) * HK_TILE_PITCH + row] = sums->of[i][j];
            words[i * 2 / HK_TILE_OWN] |= (any >> i & 1) << hk_tile_row(id, i) % 32;
        }
        if (words[0] != 0)
            hk_local_or(&shared->wanted[row][0], words[0]);
        if (words[1] != 0)
            hk_local_or(&shared->wanted[row][1], words[1]);
    }
}

/* Those of its row into its list. */
HK_FN void hk_topk_take(HK_LOCAL struct hk_shared *shared, hk_i64 tile, hk_i32 id,
                        struct hk_topk_mine *mine)
{
    const struct hk_topk_list list = hk_topk_list_get(&shared->topk, id);
    hk_u64 wanted = shared->wanted[id][0] | (hk_u64)shared->wanted[id][1] << 32;

    shared->wanted[id][0] = shared->wanted[id][1] = 0;
    if (id >= shared->topk.n)
        return;
    if (shared->full[tile % 2] != 0)
        hk_topk_cut_list(&shared->topk, id, mine);
    for (; wanted != 0; wanted &= wanted - 1) {
        const hk_i32 i = hk_first_bit(wanted);
        const float score = shared->scores[i * HK_TILE_PITCH + id];

        if (hk_not_less(score, mine->bar)) {
            list.orders[mine->held * list.step] = hk_order_of(score);
            list.tokens[mine->held * list.step] =
                (hk_i32)(shared->first + tile * HK_TILE + i);
            mine->held++;
        }
    }
    shared->bars[id] = mine->bar;
    if (mine->held > shared->topk.select->room)
        hk_local_or(&shared->full[(tile + 1) % 2], 1);
}

#include "select_topk_tasks.h"

#endif
