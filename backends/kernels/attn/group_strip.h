/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: the strip of a group, its rows, and the rows of K and V of the source at hand.
 * A part of group.h.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_STRIP_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_STRIP_H

/* Rows before those of the group, of a strip that is cut. */
HK_FN hk_i32 hk_rows_before(const struct hk_group *g)
{
#if HK_CUT_JOIN
    return g->rows_before;
#else
    (void)g;
    return 0;
#endif
}

#if HK_FEW
/* What opens a strip and its sources is a long chain of loads from the plan: the threads fetch it
 * side by side before. Nothing depends on what they find, which compilers must not know. */
HK_FN void hk_plan_touch(const struct hk_call *call, hk_i32 id, HK_LOCAL struct hk_shared *shared)
{
    const hk_i32 bytes = (hk_i32)hk_min(call->plan->bytes, 32 * 1024);
    hk_u32 all = 0;
    hk_i32 at;

    HK_NO_UNROLL
    for (at = 32 * id; at + 4 <= bytes; at += 32 * HK_THREADS)
        all |= *(HK_GLOBAL const hk_u32 *)(call->blob + at);
    if (HK_SELDOM(all == 0xa5a5a5a5u))
        hk_local_or(&shared->few.touched, 1);
}
#endif

/* Which strip task `task` is; the group takes the channels of V from `pass` on. */
HK_FN void hk_group_find(const struct hk_call *call, hk_u32 task, hk_u32 pass,
                         HK_LOCAL struct hk_shared *shared, struct hk_group *g,
                         struct hk_task_place *at)
{
    g->call = call;
    g->shared = shared;
    g->task = &shared->task;
    g->pass = pass;
#if HK_CUT_JOIN
    g->rows_before = (hk_i32)(task % HK_CUT_TASKS(HK_GROUP_ROWS)) * HK_ROWS;
    task = hk_task_cut(call, task / HK_CUT_TASKS(HK_GROUP_ROWS));
#endif
#if HK_FEW
    g->number = 0;
#endif
    hk_task_find(call, task, at);
}

/* That strip of item `b`. */
HK_FN void hk_group_item(const struct hk_group *g, const struct hk_task_place *place, hk_i64 b)
{
    const struct hk_call *call = g->call;
    HK_LOCAL struct hk_shared *shared = g->shared;
    struct hk_task_place at = *place;
    HK_THREAD_ID(id);

    at.b = b;
    HK_EACH(id) {
        if (id == 0)
            hk_item_set(call->plan, at.b, shared->item);
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_values_read(call, id, at.b);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id == 0) {
            struct hk_task opened;

            hk_task_open(call, &at, &opened);
            shared->task = opened;
        }
    }
    HK_BARRIER();
}

HK_FN void hk_group_open(const struct hk_call *call, hk_u32 task, hk_u32 pass,
                         HK_LOCAL struct hk_shared *shared, struct hk_group *g)
{
    struct hk_task_place at;
#if HK_FEW
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_plan_touch(call, id, shared);
    }
#endif
    hk_group_find(call, task, pass, shared, g, &at);
    hk_group_item(g, &at, at.b);
}

/* No row i, by thread i. */
HK_FN void hk_row_close(const struct hk_group *g, hk_i32 i)
{
    HK_LOCAL struct hk_shared *shared = g->shared;

    shared->active[i] = 0;
    shared->index[i] = shared->head[i] = shared->q_pos[i] = 0;
#if !HK_ONE_RANGE
    shared->all[i] = 0;
#endif
}

/* Row i of the group, by thread i, which is row n of its strip. */
HK_FN void hk_row_open_as(const struct hk_group *g, hk_i32 i, hk_i32 n)
{
    const hk_i32 stack = (hk_i32)g->call->plan->strips.stack, at = n / stack;
    HK_LOCAL struct hk_shared *shared = g->shared;
    struct hk_query query;

    hk_row_close(g, i);
    if (at >= g->task->count || !hk_query_get(g->call, g->task, at, &query))
        return;
    shared->active[i] = query.absent ? 1 : 2;
    shared->index[i] = query.index;
    shared->head[i] = query.head + n % stack;
    shared->q_pos[i] = query.q;
#if !HK_ONE_RANGE
    shared->all[i] = query.all;
#endif
}

HK_FN void hk_row_open(const struct hk_group *g, hk_i32 i)
{
    hk_row_open_as(g, i, i + hk_rows_before(g));
}

/* The first row there is, -1: none. */
HK_FN hk_i32 hk_rows_first(const struct hk_group *g)
{
    hk_i32 i;

    HK_NO_UNROLL
    for (i = 0; i < HK_ROWS; i++) {
        if (g->shared->active[i])
            return i;
    }
    return -1;
}

/* The type of rows of K or V, a constant where the kernel is for one. */
HK_FN hk_u32 hk_type_of(hk_u32 dtype)
{
    return HK_KV ? HK_KV : HK_OF ? HK_OF : dtype;
}

/* Do n channels of the rows lie in whole units at multiples of 16 bytes, or, where a unit may have
 * fewer, of those that it has? */
HK_FN hk_u32 hk_rows_wide(const struct hk_matrix *m, hk_i64 n)
{
    const hk_u32 dtype = hk_type_of(m->dtype);
    const hk_i64 size = hk_size(dtype);
#if HK_FEW && !HK_KV
    const hk_u64 least = HK_IN_PIECES(dtype) ? 2 : 4 * (hk_u64)size;
#else
    const hk_u64 least = 16;
#endif
    const int wants_scales = (int)HK_MAY_SCALE(m->dtype) * (1 - HK_FEW);

    return m->channel == 1 && wants_scales == 0 && n % HK_UNIT == 0 &&
           ((hk_address(m->base) | (hk_u64)(m->row * size) | (hk_u64)(m->page * size)) &
            (least - 1)) == 0;
}

/* K (which 0) or V (1) of the source at hand. */
HK_FN void hk_source_rows(const struct hk_group *g, hk_i32 which)
{
    const struct hk_call *call = g->call;
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_u32 s = shared->source;
    HK_GLOBAL const struct hk_source *source = call->sources + s;
    HK_LOCAL struct hk_matrix *to = which ? &shared->v_rows : &shared->k_rows;
    const hk_i64 key_head = hk_key_head(call, source, shared->head[shared->window_first]);
    struct hk_matrix rows;
    struct hk_cut keys;
    hk_u32 wide;

    keys.begin = shared->begin;
    keys.len = shared->len;
    rows = hk_keys_get(call, source, which ? &source->v : &source->k,
                       which ? &source->v_scale : &source->k_scale,
                       which ? &source->v_scaling : &source->k_scaling,
                       which ? hk_v(call, s) : hk_k(call, s), g->task->b, key_head, &keys);
    wide = hk_rows_wide(&rows, which ? call->plan->d_v : call->plan->d);
    *to = rows;
    if (which)
        shared->v_wide = wide;
    else
        shared->k_wide = wide;
}

#endif
