/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by scores for the threads of a work-group: how a task begins, goes from step to step and
 * ends.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_TOPK_TASKS_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_TOPK_TASKS_H

/* Steps of a task: what it is, its rows, the first slice; then those of its tiles, each of which
 * ends with one that fills lists; then what has been chosen. */
enum { HK_TOPK_FIND, HK_TOPK_ROWS, HK_TOPK_BRING, HK_TOPK_TILES };

HK_FN hk_i64 hk_topk_steps(HK_LOCAL const struct hk_shared *shared, hk_i64 step)
{
    if (step == HK_TOPK_FIND)
        return HK_TOPK_TILES;
    return HK_TOPK_TILES + hk_topk_tiles(shared) * (hk_topk_slices(&shared->topk) + 1) + 1;
}

HK_FN void hk_topk_find(const struct hk_call *call, hk_i64 group, hk_i64 task,
                        HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_select *select = HK_NUMBERS(call, struct hk_select);
    const hk_i64 first = task % select->parts * select->part_tokens;
    struct hk_topk topk;

    hk_topk_open(call, group, task / select->parts, &topk);
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

/* Slice `number` of all of the part, which lies in a place by turns; the next one comes. */
HK_FN void hk_topk_slice(const struct hk_call *call, HK_LOCAL struct hk_shared *shared, hk_i64 tile,
                         hk_i64 slice, hk_i32 id, struct hk_topk_mine *mine)
{
    const hk_i64 slices = hk_topk_slices(&shared->topk), number = tile * slices + slice;
    const int last = slice + 1 == slices, more = !last || tile + 1 < hk_topk_tiles(shared);
    struct hk_topk_brought brought;

    if (more)
        hk_topk_load(call, shared, last ? tile + 1 : tile, last ? 0 : slice + 1, id, &brought);
    if (slice == 0)
        hk_tile_clear(&mine->sums);
    hk_tile_add(&shared->slice[number % 2], id, &mine->sums);
    if (more)
        hk_topk_store(call, shared, id, &brought, &shared->slice[(number + 1) % 2]);
    if (last)
        hk_topk_leave(shared, tile, id, &mine->sums);
    if (slice == 0 && id == 0)
        shared->full[(tile + 1) % 2] = 0;
}

/* The keys of a row, to where its parts are joined, or what it has chosen. */
HK_FN void hk_topk_end(const struct hk_call *call, HK_LOCAL const struct hk_shared *shared,
                       hk_i64 task, hk_i32 row, const struct hk_topk_mine *mine)
{
    struct hk_topk topk = shared->topk;
    const struct hk_topk_list list = hk_topk_list_get(&shared->topk, row);
    const hk_i64 count = topk.select->count, parts = topk.select->parts;
    HK_GLOBAL hk_i64 *const to = topk.chosen + (row * parts + task % parts) * count;
    struct hk_topk_cut cut = hk_topk_cut_find(&list, mine->held, count, count);
    struct hk_indices y;
    hk_i64 place = 0, i;

    topk.call = call;
    y.base = (HK_GLOBAL hk_i32 *)hk_topk_row(&topk, HK_SELECT_Y, row);
    y.step = topk.call->arrays[HK_SELECT_Y].stride[5];
    for (i = 0; i < mine->held; i++) {
        const hk_i32 order = list.orders[i * list.step], token = list.tokens[i * list.step];

        if (!hk_topk_stays(&cut, order))
            continue;
        if (parts == 1)
            y.base[place * y.step] = token;
        else
            to[place] = hk_key_of(order, token);
        place++;
    }
    for (; place < count; place++) {
        if (parts == 1)
            y.base[place * y.step] = -1;
        else
            to[place] = HK_NO_KEY;
    }
}

HK_PIECE void hk_topk_step(const struct hk_call *call, hk_i64 group, struct hk_steps at,
                           HK_LOCAL struct hk_shared *shared, hk_i32 id, struct hk_topk_mine *mine)
{
    if (at.step == HK_TOPK_FIND) {
        if (id == 0)
            hk_topk_find(call, group, at.task, shared);
    } else if (at.step == HK_TOPK_ROWS) {
        hk_topk_begin(call, shared, id, mine);
    } else if (at.step == HK_TOPK_BRING) {
        struct hk_topk_brought brought;

        hk_topk_load(call, shared, 0, 0, id, &brought);
        hk_topk_store(call, shared, id, &brought, &shared->slice[0]);
    } else if (at.step + 1 == hk_topk_steps(shared, at.step)) {
        if (id < shared->topk.n)
            hk_topk_end(call, shared, at.task, id, mine);
    } else {
        const hk_i64 slices = hk_topk_slices(&shared->topk), step = at.step - HK_TOPK_TILES;
        const hk_i64 tile = step / (slices + 1), slice = step % (slices + 1);

        if (slice < slices)
            hk_topk_slice(call, shared, tile, slice, id, mine);
        else
            hk_topk_take(shared, tile, id, mine);
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    struct hk_topk_mine mine[HK_MINE];
    struct hk_steps at;
    HK_THREAD_ID(id);

    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        HK_EACH(id)
            hk_topk_step(call, group, at, shared, id, &mine[HK_OWN(id)]);
        HK_BARRIER();
        at = hk_steps_next(call, at, hk_topk_steps(shared, at.step));
    }
}

#endif
