/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention for GPUs where a strip has few rows, the second half: a group joins the chunks of one
 * row in the order that docs/numerics.md step 8 wants, and ends the row. A thread has some channels
 * of its outputs, each for itself.
 */
#define HK_FEW 1
#define HK_THREADS 128
#define HK_WIDTH 128
#define HK_KV 0
#define HK_PLAIN 0
#include "group_end.h"

#if HK_THREADS != HK_PART_THREADS
#error "the host starts groups of HK_PART_THREADS"
#endif

#define HK_JOIN_AHEAD 4         /* chunks in flight */

/* A sum over the chunks that are joined, and their reference. */
struct hk_joint {
    float m, sum;
    hk_u32 some;
};

HK_FN void hk_joint_add(struct hk_joint *to, struct hk_kept kept, float sum)
{
    float m;

    if (kept.joined == 0.0f)
        return;
    if (!to->some) {
        to->m = kept.m;
        to->sum = sum;
        to->some = 1;
        return;
    }
    m = kept.m > to->m ? kept.m : to->m;
    to->sum = hk_fma(sum, hk_power(hk_sub(kept.m, m)), hk_mul(to->sum, hk_power(hk_sub(to->m, m))));
    to->m = m;
}

/* Where a row's sum lies in a chunk: partial sum or channel number t. */
HK_FN HK_GLOBAL const float *hk_joint_at(const struct hk_call *call, HK_GLOBAL char *chunk,
                                         hk_i32 row, hk_i64 t, int channel)
{
    return channel ? hk_few_o(call, chunk, row) + t : hk_few_l(chunk, row) + t;
}

/* All chunks of one sub-source. */
HK_FN void hk_sub_join(const struct hk_call *call, HK_GLOBAL char *chunk, hk_i64 count, hk_i32 row,
                       hk_i64 t, int channel, struct hk_joint *to)
{
    const hk_i64 bytes = call->plan->chunk_bytes;
    hk_i64 i;
    hk_i32 j;

    HK_NO_UNROLL
    for (i = 0; i < count; i += HK_JOIN_AHEAD) {
        struct hk_kept kept[HK_JOIN_AHEAD];
        float sum[HK_JOIN_AHEAD];

        HK_UNROLL
        for (j = 0; j < HK_JOIN_AHEAD; j++) {
            HK_GLOBAL char *at = chunk + hk_min(i + j, count - 1) * bytes;

            kept[j] = hk_few_kept(at)[row];
            sum[j] = *hk_joint_at(call, at, row, t, channel);   /* anything, if it is not joined */
        }
        HK_UNROLL
        for (j = 0; j < HK_JOIN_AHEAD; j++) {
            if (i + j < count)
                hk_joint_add(to, kept[j], sum[j]);
        }
    }
}

/* What the row has of all chunks, beginning from its state. */
HK_FN void hk_row_chunks(const struct hk_group *g, hk_i64 task, hk_i32 row, hk_i64 t, int channel,
                         struct hk_joint *to)
{
    const struct hk_call *call = g->call;
    HK_GLOBAL char *chunks = hk_few_chunks(call, task);
    hk_u32 s, i;

    HK_NO_UNROLL
    for (s = 0; s < call->plan->n_sources; s++) {
        HK_GLOBAL const struct hk_source *source = call->sources + s;
        const hk_i64 len = hk_keys_cut(call, source, g->task->b).len;

        HK_NO_UNROLL
        for (i = 0; i < source->n_subs; i++) {
            const struct hk_chunks at = hk_chunks_get(call, source, i, len);

            hk_sub_join(call, chunks + at.first * call->plan->chunk_bytes, at.count, row, t,
                        channel, to);
        }
    }
}

/* The state that the row begins from; 0: it begins from nothing. What all of the row's threads want
 * of it is read before any of them writes. */
HK_FN HK_GLOBAL const float *hk_state_begin(const struct hk_group *g, hk_i32 row,
                                            struct hk_joint *to)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_GLOBAL const float *from;

    to->m = -HK_INFINITY;
    to->sum = 0.0f;
    to->some = 0;
    if (!plan->state.dtype)
        return 0;
    from = hk_state_row(g->call, g->task->b, g->shared->head[row],
                        g->task->o_begin + g->shared->index[row]);
    if (from[HK_STATE_AT_JOINED * plan->state.stride[5]] == 0.0f)
        return 0;
    to->m = from[0];
    to->some = 1;
    return from;
}

/* Channel t of the row's outputs. */
HK_FN void hk_channel_end(const struct hk_group *g, hk_i64 task, hk_i32 row, hk_i64 t,
                          struct hk_joint begin, HK_GLOBAL const float *state)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i64 at = plan->flags & HK_PLAN_STOPS ? t + HK_STATE_AT_O : t;

    if (state)
        begin.sum = state[(HK_STATE_AT_O + t) * plan->state.stride[5]];
    hk_row_chunks(g, task, row, t, 1, &begin);
    hk_put(plan->o.dtype, hk_o(g->call),
           hk_batch_offset(g->call, plan->o.stride, g->task->b) +
               shared->head[row] * plan->o.stride[3] +
               (g->task->o_begin + shared->index[row]) * plan->o.stride[4] +
               at * plan->o.stride[5],
           hk_mul(hk_mul(begin.sum, shared->w[2 * row]), shared->w[2 * row + 1]));
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    const hk_u32 task = (hk_u32)group / HK_ROWS;
    const hk_i32 row = (hk_i32)((hk_u32)group % HK_ROWS);
    struct hk_joint begin[HK_MINE];
    HK_GLOBAL const float *state[HK_MINE];
    struct hk_mine mine[HK_MINE];
    struct hk_group g;
    hk_i64 t;
    HK_THREAD_ID(id);

    hk_group_open(call, task, 0, shared, &g);
    HK_EACH(id) {
        if (id < HK_ROWS)
            hk_row_open(&g, id);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (shared->active[row]) {
            struct hk_joint joint;

            state[HK_OWN(id)] = hk_state_begin(&g, row, &begin[HK_OWN(id)]);
            joint = begin[HK_OWN(id)];
            if (id < HK_PARTIALS) {
                if (state[HK_OWN(id)])
                    joint.sum =
                        state[HK_OWN(id)][(HK_STATE_AT_L + id) * call->plan->state.stride[5]];
                hk_row_chunks(&g, task, row, id, 0, &joint);
                shared->out.red[row * HK_RED_LINE + id] = joint.sum;
            }
            mine[HK_OWN(id)].acc_m = joint.m;
            mine[HK_OWN(id)].has_partial = joint.some;
        }
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id == row && shared->active[row])
            hk_row_finish(&g, row, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        HK_NO_UNROLL
        for (t = id; shared->active[row] && t < call->plan->d_v; t += HK_THREADS)
            hk_channel_end(&g, task, row, t, begin[HK_OWN(id)], state[HK_OWN(id)]);
    }
}

#include "../entry.h"
