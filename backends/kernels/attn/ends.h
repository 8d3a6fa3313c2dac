/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: the ends of chunks and of rows (docs/numerics.md steps 8 to 12), in the kernel
 * that attends or, where strips are cut by keys, in the one that joins.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_ENDS_H
#define HEED_BACKENDS_KERNELS_ATTN_ENDS_H

#include "alike.h"
#include "finish.h"
#include "state.h"
#include "strip.h"

/* ---- chunks ---- */

/* Where the chunks of task `task` lie, a strip that is cut. */
HK_FN HK_GLOBAL char *hk_strip_chunks(const struct hk_call *call, hk_i64 task)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;

    return call->work + plan->chunks_at + task * plan->chunks * plan->chunk_bytes;
}

/* Chunk number `chunk` of the strip: its sums and states take the place of the
 * worker's. */
HK_FN void hk_chunk_open(struct hk_strip *st, hk_i64 chunk)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    HK_GLOBAL char *at = st->chunks + chunk * plan->chunk_bytes;
    struct hk_chunk_layout layout;

    hk_chunk_find(plan, &layout);
    st->o = (HK_GLOBAL float *)(at + layout.o);
    st->partials = (HK_GLOBAL float *)(at + layout.partials);
    st->state = (HK_GLOBAL struct hk_row_state *)(at + layout.state);
}

HK_FN void hk_swap(HK_GLOBAL float **a, HK_GLOBAL float **b)
{
    HK_GLOBAL float *const keep = *a;

    *a = *b;
    *b = keep;
}

HK_FN void hk_chunk_copy(const struct hk_tile *chunk, hk_i64 i, HK_GLOBAL float *partials,
                         HK_GLOBAL float *o)
{
    hk_i64 t;

    for (t = 0; t < HK_PARTIALS; t += HKV_LANES)
        hkv_store(partials + t, hkv_load(chunk->partials + i * HK_PARTIALS + t));
    for (t = 0; t < chunk->width; t += HKV_LANES)
        hkv_store(o + hk_o_at(t), hkv_load(chunk->o + i * HK_PANEL + hk_o_at(t)));
}

/* Where the sums of row `row` of a strip lie among those of all rows. */
HK_FN hk_i64 hk_row_o(const struct hk_strip *st, hk_i64 row)
{
    return row / HK_R * hk_o_span(st->width) + row % HK_R * HK_PANEL;
}

/* Step 8. A chunk without a remaining key does not exist. The first chunk of a strip becomes what
 * it has as it lies, unless it is one of some rows alone. */
HK_FN void hk_chunk_end(struct hk_strip *st)
{
    const int swaps = !st->any_partial && !st->shares;
    hk_i64 m, i;

    if (swaps) {
        hk_swap(&st->o, &st->acc_o);
        hk_swap(&st->partials, &st->acc_partials);
    }
    for (m = 0; m < st->tiles; m++) {
        const struct hk_tile chunk = hk_strip_tile(st, m);

        for (i = 0; i < chunk.rows; i++) {
            const hk_i64 row = st->base + m * HK_R + i;
            HK_GLOBAL float *partials = st->acc_partials + row * HK_PARTIALS;
            HK_GLOBAL float *o = st->acc_o + hk_row_o(st, row);

            if (chunk.state[i].empty)
                continue;
            if (st->has_partial[row]) {
                hk_row_merge(st->acc_m + row, partials, o, &chunk, i);
                continue;
            }
            if (!swaps)
                hk_chunk_copy(&chunk, i, partials, o);
            st->acc_m[row] = chunk.state[i].m;
            st->has_partial[row] = 1;
        }
    }
    st->any_partial = 1;
}

/* ---- rows ---- */

/* Steps 10 and 11 of a vector of sums, but for the rounding. */
HK_FN hk_vec hk_out(HK_GLOBAL const float *o, hk_vec sink, hk_vec factor)
{
    hk_vec x = hkv_mul(hkv_mul(hkv_load(o), sink), factor);

    x = hkv_add(x, hkv_set(0.0f));
    return hkv_select(hkv_ordered(x), x, hkv_set(hk_float(HK_NAN_WORD)));
}

/* o, a row's sums, times sink and factor to its place. */
HK_FN void hk_row_write(const struct hk_strip *st, HK_GLOBAL float *o, float sink, float factor,
                        hk_i64 to)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    const hk_vec a = hkv_set(sink), b = hkv_set(factor);
    const hk_i64 channel = plan->o.stride[5], n = plan->d_v, width = st->width;
    const hk_u32 dtype = plan->o.dtype;
    HK_GLOBAL char *out = hk_o(st->call);
    hk_i64 t = 0, u;

    if (dtype == HK_F32 && channel == 1) {
        for (; t + HKV_LANES <= n; t += HKV_LANES)
            hkv_store((HK_GLOBAL float *)out + to + t, hk_out(o + hk_o_at(t), a, b));
    }
    for (; dtype != HK_F32 && channel == 1 && t + HKV_LANES <= n; t += HKV_LANES)
        hk_vec_put(dtype, out + to * hk_size(dtype), t, hk_out(o + hk_o_at(t), a, b));
    for (u = t; u < width; u += HKV_LANES)
        hkv_store(o + hk_o_at(u), hk_out(o + hk_o_at(u), a, b));
    for (; t < n; t++)
        hk_put(dtype, out, to + t * channel, o[hk_o_at(t)]);
}

/* What a state has before the sums of o, of row i to its place. */
HK_FN void hk_row_stop(const struct hk_strip *st, hk_i64 i, hk_i64 to)
{
    const hk_i64 channel = st->call->plan->o.stride[5];
    HK_GLOBAL float *out = (HK_GLOBAL float *)hk_o(st->call) + to;
    const int joined = st->has_partial[i] != 0;
    hk_i64 t;

    out[0] = joined ? hk_canonical(st->acc_m[i]) : -HK_INFINITY;
    for (t = 0; t < HK_PARTIALS; t++)
        out[(HK_STATE_AT_L + t) * channel] =
            joined ? hk_canonical(st->acc_partials[i * HK_PARTIALS + t]) : 0.0f;
    out[HK_STATE_AT_JOINED * channel] = joined ? 1.0f : 0.0f;
}

/* Row i begins from its state, if that holds anything. */
HK_FN void hk_row_begin(struct hk_strip *st, const struct hk_task *task, hk_i64 i)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    const hk_i64 channel = plan->state.stride[5];
    HK_GLOBAL const float *from = hk_state_row(st->call, st->query[i].b, st->query[i].head,
                                               task->o_begin + st->query[i].index);
    HK_GLOBAL float *o = st->acc_o + hk_row_o(st, i);
    hk_i64 t;

    if (from[HK_STATE_AT_JOINED * channel] == 0.0f)
        return;
    st->acc_m[i] = from[0];
    for (t = 0; t < HK_PARTIALS; t++)
        st->acc_partials[i * HK_PARTIALS + t] = from[(HK_STATE_AT_L + t) * channel];
    for (t = 0; t < st->width; t++)
        o[hk_o_at(t)] = t < plan->d_v ? from[(HK_STATE_AT_O + t) * channel] : 0.0f;
    st->has_partial[i] = 1;
    st->any_partial = 1;
}

/* The rows at hand, before their first key. */
HK_FN void hk_rows_begin(struct hk_strip *st, const struct hk_task *task)
{
    hk_i64 i;

    for (i = 0; i < st->tiles * HK_R; i++)
        st->has_partial[i] = 0;
    st->any_partial = 0;
    for (i = 0; i < st->n_rows && st->call->plan->state.dtype; i++)
        hk_row_begin(st, task, i);
}

/* Where row i of the rows at hand goes. */
HK_FN hk_i64 hk_row_to(const struct hk_strip *st, const struct hk_task *task,
                       HK_GLOBAL const hk_i64 *stride, hk_i64 i)
{
    HK_GLOBAL const struct hk_worker_query *query = st->query + i;

    return query->head * stride[3] + (task->o_begin + query->index) * stride[4];
}

/* Steps 9 to 12 of n rows from row i on, HK_R at most; o_at and lse_at: where the task's row 0 of
 * head 0 is. Step by step, for the chain of one row is long. */
HK_FN void hk_rows_end(struct hk_strip *st, const struct hk_task *task, hk_i64 i, hk_i64 n,
                       hk_i64 o_at, hk_i64 lse_at)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    float l[HK_R], sink[HK_R], factor[HK_R], lse[HK_R];
    hk_i64 r, t;

    for (r = 0; r < n; r++) {
        HK_GLOBAL float *o = st->acc_o + hk_row_o(st, i + r);

        l[r] = hk_partials_sum(st->acc_partials + (i + r) * HK_PARTIALS);
        for (t = 0; t < st->width && !st->has_partial[i + r]; t += HKV_LANES)
            hkv_store(o + hk_o_at(t), hkv_set(0.0f));
    }
    for (r = 0; r < n; r++)
        factor[r] = hk_row_end(st->call, st->query[i + r].head, st->has_partial[i + r] != 0,
                               st->acc_m[i + r], l[r], &sink[r], &lse[r]);
    for (r = 0; r < n; r++)
        hk_row_write(st, st->acc_o + hk_row_o(st, i + r), sink[r], factor[r],
                     o_at + hk_row_to(st, task, plan->o.stride, i + r));
    for (r = 0; r < n && plan->lse.dtype; r++)
        hk_lse_out(st->call)[lse_at + hk_row_to(st, task, plan->lse.stride, i + r)] = lse[r];
}

/* Row i becomes a state. */
HK_FN void hk_row_keep(struct hk_strip *st, const struct hk_task *task, hk_i64 i, hk_i64 o_at)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    HK_GLOBAL float *o = st->acc_o + hk_row_o(st, i);
    const hk_i64 to = o_at + hk_row_to(st, task, plan->o.stride, i);
    hk_i64 t;

    for (t = 0; t < st->width && !st->has_partial[i]; t += HKV_LANES)
        hkv_store(o + hk_o_at(t), hkv_set(0.0f));
    hk_row_stop(st, i, to);
    hk_row_write(st, o, 1.0f, 1.0f, to + HK_STATE_AT_O * plan->o.stride[5]);
}

/* The rows at hand. */
HK_FN void hk_rows_finish(struct hk_strip *st, const struct hk_task *task)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    hk_i64 b, o_at, lse_at, i, n;

    for (i = 0; i < st->n_rows; i += n) {
        b = st->query[i].b;
        o_at = hk_batch_offset(st->call, plan->o.stride, b);
        lse_at = plan->lse.dtype ? hk_batch_offset(st->call, plan->lse.stride, b) : 0;
        for (n = 1; n < HK_R && i + n < st->n_rows && st->query[i + n].b == b;)
            n++;
        if (plan->flags & HK_PLAN_STOPS) {
            n = 1;
            hk_row_keep(st, task, i, o_at);
        } else {
            hk_rows_end(st, task, i, n, o_at, lse_at);
        }
    }
}

/* The task's rows of its item into the strip, from row n on; where they end. */
HK_FN hk_i64 hk_item_fill(struct hk_strip *st, const struct hk_task *task, hk_i64 n)
{
    const struct hk_call *call = st->call;
    hk_i64 i, g;

    for (i = 0; i < task->count; i++) {
        struct hk_query query;

        if (!hk_query_get(call, task, i, &query))
            continue;
        for (g = 0; g < call->plan->strips.stack; g++, n++) {
            st->query[n].b = task->b;
            st->query[n].index = query.index;
            st->query[n].head = query.head + g;
            st->query[n].q = query.q;
            st->query[n].all = query.all;
            st->query[n].absent = query.absent;
        }
    }
    return n;
}

/* The rows of the task into the strip, of all items that share it; how many. */
HK_FN hk_i64 hk_strip_fill(struct hk_strip *st, const struct hk_task *task)
{
    const hk_i64 end = hk_items_end(st->call, task->b);
    hk_i64 n = hk_item_fill(st, task, 0), b;

    for (b = task->b + 1; b < end; b++) {
        struct hk_task_place at;
        struct hk_task other;

        at.strip = 0;
        at.b = b;
        at.group = task->group;
        at.row_list = -1;
        hk_task_open(st->call, &at, &other);
        n = hk_item_fill(st, &other, n);
    }
    return n;
}

/* Keys of an item that a source's chunks are numbered for: where items share a strip but not the
 * source, as many as an item may have. */
HK_FN hk_i64 hk_chunks_length(const struct hk_call *call, HK_GLOBAL const struct hk_source *source,
                              hk_i64 b)
{
    return call->plan->items > 1 && !source->common ? source->n_k
                                                    : hk_keys_cut(call, source, b).len;
}

#endif
