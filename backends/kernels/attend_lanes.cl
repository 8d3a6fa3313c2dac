/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention for processors: as C the CPU backend, compiled once per instruction set, as OpenCL C
 * what processors' OpenCL runs. A group is a worker with scratch of its own in the workspace, which
 * takes strips of query rows until none is left; a strip owns its output rows, so neither the
 * number of workers nor their order changes a bit. No barriers, no local memory, explicit vectors
 * (simd/). Sums restart at chunk borders.
 */
#define HK_THREADS 1
#define HK_VECTORS 1
#define HK_SUB_SPACE HK_GLOBAL
#include "block.h"
#include "finish.h"

/* ---- chunks ---- */

HK_FN void hk_chunk_begin(const struct hk_strip *st)
{
    const hk_i64 floats = st->tiles * hk_o_span(st->width), p = st->tiles * HK_R;
    const hk_vec zero = hkv_set(0.0f);
    hk_i64 i;

    for (i = 0; i < floats; i += HKV_LANES)
        hkv_store(st->o + i, zero);
    for (i = 0; i < p * HK_PARTIALS; i += HKV_LANES)
        hkv_store(st->partials + i, zero);
    for (i = 0; i < p; i++) {
        st->state[i].m = -HK_INFINITY;
        st->state[i].empty = 1;
    }
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

/* Step 8. A chunk without a remaining key does not exist. The first chunk of a strip becomes what
 * it has as it lies. */
HK_FN void hk_chunk_end(struct hk_strip *st)
{
    const hk_i64 span = hk_o_span(st->width);
    hk_i64 m, i;

    if (!st->any_partial) {
        hk_swap(&st->o, &st->acc_o);
        hk_swap(&st->partials, &st->acc_partials);
    }
    for (m = 0; m < st->tiles; m++) {
        const struct hk_tile chunk = hk_strip_tile(st, m);

        for (i = 0; i < chunk.rows; i++) {
            const hk_i64 row = m * HK_R + i;
            HK_GLOBAL float *partials = st->acc_partials + row * HK_PARTIALS;
            HK_GLOBAL float *o = st->acc_o + m * span + i * HK_PANEL;

            if (chunk.state[i].empty)
                continue;
            if (st->has_partial[row]) {
                hk_row_merge(st->acc_m + row, partials, o, &chunk, i);
                continue;
            }
            if (st->any_partial)
                hk_chunk_copy(&chunk, i, partials, o);
            st->acc_m[row] = chunk.state[i].m;
            st->has_partial[row] = 1;
        }
    }
    st->any_partial = 1;
}

HK_FN void hk_sub_attend(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                         const struct hk_sub_view *view)
{
    hk_i64 chunk = -1, block;

    hk_reach_rows(st, sub, view);
    hk_reach_strip(st);
    for (block = hk_strip_next(st, sub, view, 0); block != HK_NO_BLOCK;
         block = hk_strip_next(st, sub, view, block + 1)) {
        if (block / HK_CHUNK != chunk) {
            if (chunk >= 0)
                hk_chunk_end(st);
            hk_chunk_begin(st);
            chunk = block / HK_CHUNK;
        }
        hk_block_attend(st, sub, view, block);
    }
    if (chunk >= 0)
        hk_chunk_end(st);
}

/* ---- sources ---- */

HK_FN void hk_source_attend(struct hk_strip *st, hk_u32 s)
{
    const struct hk_call *call = st->call;
    HK_GLOBAL const struct hk_source *source = call->sources + s;
    const struct hk_cut keys = hk_keys_cut(call, source, st->b);
    const hk_i64 head = st->query[0].head;
    hk_i64 key_head;
    hk_u32 i;

    if (source->heads == 0 || keys.len == 0)
        return;
    st->source = source;
    st->number = s;
    st->len = keys.len;
    key_head = hk_key_head(call, source, head);
    st->k_rows = hk_keys_get(call, source, &source->k, &source->k_scale, hk_k(call, s), st->b,
                             key_head, &keys);
    st->v_rows = hk_keys_get(call, source, &source->v, &source->v_scale, hk_v(call, s), st->b,
                             key_head, &keys);
    st->packed = 0;
    st->tags = 0;
    st->first_block = (st->b * source->heads + key_head) * source->blocks;
    if (source->packs) {
        const hk_i64 block = source->shared ? key_head * source->blocks : st->first_block;

        st->packed = (HK_GLOBAL const float *)(call->work + source->packed_at) +
                     block * HK_BLOCK * call->plan->d;
        st->finite = (HK_GLOBAL const hk_u32 *)(call->work + source->finite_at) + block;
    } else if (source->ring > 0) {
        st->tags = hk_ring_tags(source, st->scratch);
        st->ring = (HK_GLOBAL float *)(st->tags + source->ring);
    }
    for (i = 0; i < source->n_subs; i++)
        hk_sub_view_get(call, s, i, st->b, head, st->query[0].index, keys.len, &st->views[i]);
    for (i = 0; i < source->n_subs; i++)
        hk_sub_attend(st, hk_subs(call, source) + i, &st->views[i]);
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
    for (u = t; u < width; u += HKV_LANES)
        hkv_store(o + hk_o_at(u), hk_out(o + hk_o_at(u), a, b));
    for (; t < n; t++)
        hk_put(dtype, out, to + t * channel, o[hk_o_at(t)]);
}

/* Steps 9 to 12 of row i; o_at and lse_at: where the task's row 0 of head 0 is. */
HK_FN void hk_row_finish(struct hk_strip *st, const struct hk_task *task, hk_i64 i, hk_i64 o_at,
                         hk_i64 lse_at)
{
    const struct hk_call *call = st->call;
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const hk_i64 at = task->begin + st->query[i].index, head = st->query[i].head;
    HK_GLOBAL float *o = st->acc_o + i / HK_R * hk_o_span(st->width) + i % HK_R * HK_PANEL;
    const int has_partial = st->has_partial[i] != 0;
    float sink, lse, factor;
    hk_i64 t;

    for (t = 0; t < st->width && !has_partial; t += HKV_LANES)
        hkv_store(o + hk_o_at(t), hkv_set(0.0f));
    factor = hk_row_end(call, head, has_partial, st->acc_m[i],
                        has_partial ? hk_partials_sum(st->acc_partials + i * HK_PARTIALS) : 0.0f,
                        &sink, &lse);
    hk_row_write(st, o, sink, factor,
                 o_at + head * plan->o.stride[3] + at * plan->o.stride[4]);
    if (plan->lse.dtype)
        hk_lse_out(call)[lse_at + head * plan->lse.stride[3] + at * plan->lse.stride[4]] = lse;
}

/* The rows of the task into the strip; how many. */
HK_FN hk_i64 hk_strip_fill(struct hk_strip *st, const struct hk_task *task)
{
    const struct hk_call *call = st->call;
    hk_i64 i, g, n = 0;

    for (i = 0; i < task->count; i++) {
        struct hk_query query;

        if (!hk_query_get(call, task, i, &query))
            continue;
        for (g = 0; g < call->plan->strips.stack; g++, n++) {
            st->query[n].index = query.index;
            st->query[n].head = query.head + g;
            st->query[n].q = query.q;
            st->query[n].all = query.all;
            st->query[n].absent = query.absent;
        }
    }
    return n;
}

/* Q of the strip's rows. */
HK_FN void hk_strip_read(struct hk_strip *st, const struct hk_task *task)
{
    const struct hk_call *call = st->call;
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const struct hk_matrix rows = hk_matrix_get(call, &plan->q, hk_q(call), st->b, 0, task->begin);
    const hk_i64 size = hk_size(rows.dtype);
    hk_i64 i, t;

    for (i = 0; i < st->tiles * HK_R; i++) {
        HK_GLOBAL float *to = st->q + i * plan->d;

        if (i < st->n_rows) {
            struct hk_matrix row = rows;

            row.base = hk_byte(row.base, st->query[i].head * plan->q.stride[3] * size);
            hk_row_read(&row, st->query[i].index, plan->d, plan->d, to);
        } else {
            for (t = 0; t < plan->d; t++)
                to[t] = 0.0f;
        }
        st->has_partial[i] = 0;
    }
    st->any_partial = 0;
}

/* Do all rows share the residue of every STRIDED term that follows the query? */
HK_FN int hk_residues_agree(const struct hk_strip *st, hk_i64 n)
{
    hk_i64 i;

    for (i = 1; i < n && st->call->plan->strips.row_step > 1; i++) {
        if ((st->query[i].q - st->query[0].q) % st->call->plan->strips.row_step != 0)
            return 0;
    }
    return 1;
}

HK_FN void hk_task_attend(struct hk_strip *st, const struct hk_task *task)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    HK_GLOBAL struct hk_worker_query *query = st->query;
    const hk_i64 o_at = hk_batch_offset(st->call, plan->o.stride, task->b);
    const hk_i64 lse_at =
        plan->lse.dtype ? hk_batch_offset(st->call, plan->lse.stride, task->b) : 0;
    hk_i64 n, size, at, i;
    hk_u32 s;

    st->b = task->b;
    n = hk_strip_fill(st, task);
    size = hk_residues_agree(st, n) ? n : 1;
    for (at = 0; at < n; at += size, st->query += size) {
        st->n_rows = size;
        st->tiles = (size + HK_R - 1) / HK_R;
        hk_strip_read(st, task);
        for (s = 0; s < plan->n_sources; s++)
            hk_source_attend(st, s);
        for (i = 0; i < st->n_rows; i++)
            hk_row_finish(st, task, i, o_at, lse_at);
    }
    st->query = query;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_GLOBAL hk_i32 *counter = (HK_GLOBAL hk_i32 *)(call->work + plan->counter_at);
    struct hk_strip st;
    hk_i64 number;

    hk_strip_open(&st, call, call->work + plan->workers_at + group * plan->worker_bytes);
    hk_rings_clear(&st);
    while ((number = hk_take(counter) * plan->run) < plan->tasks) {
        const hk_i64 end = hk_min(number + plan->run, plan->tasks);

        for (; number < end; number++) {
            struct hk_task task;

            hk_task_get(call, number, &task);
            if (task.count > 0)
                hk_task_attend(&st, &task);
        }
    }
}

#include "entry.h"
