/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by scores for the threads of a work-group: how a task begins, goes from step to step and
 * ends.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_TOPK_TASKS_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_TOPK_TASKS_H

/* What a task goes through: what it is, its rows, the first slice; then each tile's slices, and a
 * step that fills lists; then what has been chosen. All threads keep the same. */
enum { HK_TOPK_FIND, HK_TOPK_ROWS, HK_TOPK_BRING, HK_TOPK_SLICE, HK_TOPK_TAKE, HK_TOPK_END };

struct hk_topk_walk {
    hk_i64 task, tile, slice, number; /* number: of the slice, counted over all tiles */
    hk_i32 state;
};

/* Behind a barrier. */
HK_FN struct hk_topk_walk hk_topk_next(const struct hk_call *call,
                                       HK_LOCAL const struct hk_shared *shared,
                                       struct hk_topk_walk at)
{
    const hk_i64 tiles = hk_topk_tiles(shared);

    switch (at.state) {
    case HK_TOPK_FIND:
        at.tile = at.slice = at.number = 0;
        at.state = HK_TOPK_ROWS;
        break;
    case HK_TOPK_ROWS:
        at.state = HK_TOPK_BRING;
        break;
    case HK_TOPK_BRING:
        at.state = tiles > 0 ? HK_TOPK_SLICE : HK_TOPK_END;
        break;
    case HK_TOPK_SLICE:
        at.number++;
        at.slice++;
        if (at.slice == hk_topk_slices(&shared->topk))
            at.state = HK_TOPK_TAKE;
        break;
    case HK_TOPK_TAKE:
        at.slice = 0;
        at.tile++;
        at.state = at.tile < tiles ? HK_TOPK_SLICE : HK_TOPK_END;
        break;
    case HK_TOPK_END:
        at.task += call->op->groups[HK_PASS];
        at.state = HK_TOPK_FIND;
        break;
    }
    return at;
}

HK_FN void hk_topk_find(const struct hk_call *call, hk_i64 group, hk_i64 task,
                        HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_select *select = HK_NUMBERS(call, struct hk_select);
    const hk_i64 first = task % select->parts * select->part_tokens;
    struct hk_rows q;
    struct hk_topk topk;

    hk_topk_open(call, group, task / select->parts, &topk);
    q = hk_rows_get(call, HK_SELECT_Q, topk.b, topk.head);
    shared->x = hk_quads_get(&topk.tokens.rows, topk.tokens.d);
    q.row |= call->arrays[HK_SELECT_Q].stride[3] * hk_size(q.dtype); /* where all rows lie */
    shared->of_q = hk_quads_get(&q, topk.tokens.d);
    topk.call = 0;                      /* its memory is the thread's */
    shared->topk = topk;
    shared->first = first;
    shared->end = hk_min(first + select->part_tokens, topk.tokens.end);
    shared->full[0] = shared->full[1] = 0;
}

/* Nothing is too small yet; a column without a row takes nothing but NaN. */
HK_FN void hk_topk_begin(const struct hk_call *call, HK_LOCAL struct hk_shared *shared, hk_i32 id,
                         struct hk_topk_mine *mine)
{
    struct hk_topk topk = shared->topk;

    topk.call = call;                   /* each thread has its own */
    mine->held = 0;
    mine->bar = -HK_INFINITY;
    shared->bars[id] = id < topk.n ? -HK_INFINITY : HK_INFINITY;
    shared->wanted[id][0] = shared->wanted[id][1] = 0;
    shared->q[id] = id < topk.n ? hk_topk_row(&topk, HK_SELECT_Q, id) : 0;
}

/* A slice, which lies in a place by turns; the next one comes. */
HK_FN void hk_topk_slice(HK_LOCAL struct hk_shared *shared, const struct hk_topk_walk *at,
                         hk_i32 id, struct hk_topk_mine *mine)
{
    const int last = at->slice + 1 == hk_topk_slices(&shared->topk);
    const int more = !last || at->tile + 1 < hk_topk_tiles(shared);
    struct hk_topk_brought brought;

    if (more)
        hk_topk_load(shared, last ? at->tile + 1 : at->tile, last ? 0 : at->slice + 1, id,
                     &brought);
    if (at->slice == 0)
        hk_tile_clear(&mine->sums);
    hk_tile_add(&shared->slice[at->number % 2], id, shared->topk.n, &mine->sums);
    if (more)
        hk_topk_store(shared, id, &brought, &shared->slice[(at->number + 1) % 2]);
    if (last)
        hk_topk_leave(shared, at->tile, id, &mine->sums);
    if (at->slice == 0 && id == 0)
        shared->full[(at->tile + 1) % 2] = 0;
}

/* The keys of a row, to where its parts are joined, or what it has chosen. */
HK_FN void hk_topk_end(const struct hk_call *call, HK_LOCAL const struct hk_shared *shared,
                       hk_i64 task, hk_i32 row, const struct hk_topk_mine *mine)
{
    struct hk_topk topk = shared->topk;
    const struct hk_topk_list list = hk_topk_list_get(&shared->topk, row);
    const hk_i64 count = topk.select->count, parts = topk.select->parts;
    HK_GLOBAL hk_i64 *const to = topk.chosen + (row * parts + task % parts) * count;
    const hk_i32 n = (hk_i32)mine->held;
    struct hk_topk_cut cut = hk_topk_cut_find(&list, n, count, count);
    struct hk_indices y;
    hk_i64 place = 0;
    hk_i32 i, j;

    topk.call = call;
    y.base = (HK_GLOBAL hk_i32 *)hk_topk_row(&topk, HK_SELECT_Y, row);
    y.step = topk.call->arrays[HK_SELECT_Y].stride[5];
    for (i = 0; i < n; i += HK_TOPK_BATCH) {
        hk_i32 order[HK_TOPK_BATCH], token[HK_TOPK_BATCH];

        hk_topk_batch(&list, list.orders, i, n, order);
        hk_topk_batch(&list, list.tokens, i, n, token);
        HK_UNROLL
        for (j = 0; j < HK_TOPK_BATCH; j++) {
            if (i + j >= n || !hk_topk_stays(&cut, order[j]))
                continue;
            if (parts == 1)
                y.base[place * y.step] = token[j];
            else
                to[place] = hk_key_of(order[j], token[j]);
            place++;
        }
    }
    for (; place < count; place++) {
        if (parts == 1)
            y.base[place * y.step] = -1;
        else
            to[place] = HK_NO_KEY;
    }
}

HK_PIECE void hk_topk_step(const struct hk_call *call, hk_i64 group, const struct hk_topk_walk *at,
                           HK_LOCAL struct hk_shared *shared, hk_i32 id, struct hk_topk_mine *mine)
{
    if (at->state == HK_TOPK_FIND) {
        if (id == 0)
            hk_topk_find(call, group, at->task, shared);
    } else if (at->state == HK_TOPK_ROWS) {
        hk_topk_begin(call, shared, id, mine);
    } else if (at->state == HK_TOPK_BRING) {
        struct hk_topk_brought brought;

        hk_topk_load(shared, 0, 0, id, &brought);
        hk_topk_store(shared, id, &brought, &shared->slice[0]);
    } else if (at->state == HK_TOPK_SLICE) {
        hk_topk_slice(shared, at, id, mine);
    } else if (at->state == HK_TOPK_TAKE) {
        hk_topk_take(shared, at->tile, id, mine);
    } else if (id < shared->topk.n) {
        hk_topk_end(call, shared, at->task, id, mine);
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    struct hk_topk_mine mine[HK_MINE];
    struct hk_topk_walk at;
    HK_THREAD_ID(id);

    at.task = group;
    at.tile = at.slice = at.number = 0;
    at.state = HK_TOPK_FIND;
    while (at.task < call->op->tasks[HK_PASS]) {
        HK_EACH(id) {
            hk_topk_step(call, group, &at, shared, id, &mine[HK_OWN(id)]);
        }
        HK_BARRIER();
        at = hk_topk_next(call, shared, at);
    }
}

#endif
