/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention for processors: as C the CPU backend, compiled once per instruction set, as OpenCL C
 * what processors' OpenCL runs. A group is a worker with scratch of its own in the workspace,
 * which takes strips of query rows until none is left; a strip owns its output rows, so neither
 * the number of workers nor their order changes a bit. Where strips are few and read their keys
 * once, a worker takes some chunks of a strip, and attend_join.cl joins them in order. No barriers,
 * no local memory, explicit vectors (simd/). Sums restart at chunk borders.
 */
#define HK_THREADS 1
#define HK_VECTORS 1
#define HK_SUB_SPACE HK_GLOBAL
#include "lists.h"

/* ---- sources ---- */

/* Sub-source i, as far as it belongs to the part at hand. */
HK_FN void hk_sub_attend(struct hk_strip *st, hk_u32 i)
{
    HK_GLOBAL const struct hk_sub *sub = hk_subs(st->call, st->source) + i;
    const struct hk_sub_view *view = &st->views[i];
    const struct hk_chunks chunks = hk_chunks_get(st->call, st->source, i, st->len);
    const hk_i64 first = hk_max(st->first_chunk - chunks.first, 0);
    const hk_i64 end = hk_min(st->end_chunk - chunks.first, chunks.count);
    hk_i64 chunk = -1, block;

    if (first >= end)
        return;
    hk_chunks_clear(st, chunks.first + first, chunks.first + end);
    hk_reach_rows(st, sub, view);
    hk_reach_strip(st);
    hk_ahead_open(st, sub, view);
    for (block = hk_strip_next(st, sub, view, first * HK_CHUNK); block < end * HK_CHUNK;
         block = hk_strip_next(st, sub, view, block + 1)) {
        if (block / HK_CHUNK != chunk) {
            if (chunk >= 0)
                hk_chunk_leave(st, chunks.first + chunk);
            chunk = block / HK_CHUNK;
            hk_chunk_enter(st, chunks.first + chunk);
        }
        hk_block_attend(st, sub, view, block);
    }
    if (chunk >= 0)
        hk_chunk_leave(st, chunks.first + chunk);
}

/* A LISTED source whose lists have many rows or few. */
HK_FN void hk_lists_attend(struct hk_strip *st)
{
    struct hk_lists lists;
    hk_i64 at, last;

    hk_lists_open(st, &lists);
    if (hk_lists_few(st, &lists)) {
        hk_chunks_clear(st, lists.chunk + hk_quotient(lists.first, HK_CHUNK),
                        lists.chunk + hk_parts(hk_max(lists.end, 0), HK_CHUNK));
        hk_lists_walk(st, &lists);
        return;
    }
    for (at = 0; at < lists.n; at = last) {
        last = hk_list_last(st, &lists, at);
        hk_list_rows(st, &lists, at, last);
        hk_sub_attend(st, 0);
    }
    hk_list_rows(st, &lists, 0, lists.n);
}

/* Where the panels of source s lie, of an item's key head. */
HK_FN void hk_panels_open(struct hk_strip *st, hk_u32 s, hk_i64 key_head)
{
    const struct hk_call *call = st->call;
    HK_GLOBAL const struct hk_source *source = call->sources + s;
    const hk_i64 block = source->shared ? key_head * source->blocks : st->first_block;

    st->packed = (HK_GLOBAL const float *)(call->work + source->packed_at) +
                 block * HK_BLOCK * source->panel_rows;
    st->finite = (HK_GLOBAL const hk_u32 *)(call->work + source->finite_at) + block;
}

HK_FN void hk_source_walk(struct hk_strip *st, hk_u32 s)
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
    st->k_rows = hk_keys_get(call, source, &source->k, &source->k_scale, &source->k_scaling,
                             hk_k(call, s), st->b, key_head, &keys);
    st->v_rows = hk_keys_get(call, source, &source->v, &source->v_scale, &source->v_scaling,
                             hk_v(call, s), st->b, key_head, &keys);
    if (st->k_rows.minima)
        hk_sums_fill(st);
    st->row_masks = source->row_mask.slot ? hk_aux_of(call, &source->row_mask, st->b) : 0;
    st->packed = 0;
    st->tags = 0;
    st->first_block = (st->b * source->heads + key_head) * source->blocks;
    if (source->packs) {
        hk_panels_open(st, s, key_head);
    } else if (source->like && hk_k(call, s) == hk_k(call, source->like - 1) &&
               hk_v(call, s) == hk_v(call, source->like - 1)) {
        hk_panels_open(st, source->like - 1, key_head);
    } else if (source->ring > 0) {
        st->tags = hk_ring_tags(source, st->scratch);
        st->ring = (HK_GLOBAL float *)(st->tags + source->ring);
    }
    for (i = 0; i < source->n_subs; i++)
        hk_sub_view_get(call, s, i, st->b, head, st->query[0].index, keys.len, &st->views[i]);
    if (hk_subs(call, source)->kind == HK_SUB_GATHER) {
        hk_lists_attend(st);
        return;
    }
    for (i = 0; i < source->n_subs; i++)
        hk_sub_attend(st, i);
}

/* ---- items that share a strip ---- */

/* No row at hand has a key in the source's chunks of the part at hand, until it is found. */
HK_FN void hk_source_clear(struct hk_strip *st, HK_GLOBAL const struct hk_source *source)
{
    hk_u32 i;

    for (i = 0; i < source->n_subs; i++) {
        const struct hk_chunks chunks = hk_chunks_get(
            st->call, source, i, hk_chunks_length(st->call, source, st->query[0].b));

        hk_chunks_clear(st, hk_max(st->first_chunk, chunks.first),
                        hk_min(st->end_chunk, chunks.first + chunks.count));
    }
}

/* The rows from `at` on, those of one item, are at hand. */
HK_FN void hk_items_take(struct hk_strip *st, HK_GLOBAL struct hk_worker_query *query,
                         HK_GLOBAL const float *q, hk_i64 at, hk_i64 rows)
{
    st->query = query + at;
    st->q = q + at * st->call->plan->d;
    st->n_rows = rows;
    st->tiles = (rows + HK_R - 1) / HK_R;
    st->base = at;
}

/* Rows that take a source together, and the chunks of it that they take. */
struct hk_turn {
    hk_i64 at, rows;
    hk_i64 first, end;
};

/* The turn of all n rows, or the first of items with `rows` rows each. */
HK_FN void hk_turn_first(HK_GLOBAL struct hk_worker_query *query, hk_i64 n, hk_i64 rows,
                         struct hk_turn *turn)
{
    hk_i64 i;

    for (i = 0; i < n; i += rows)
        query[i].chunk = 0;
    turn->at = turn->rows = 0;
    turn->first = turn->end = 0;
}

/* The next turn: the first item that has chunks left takes them with those behind it whose tables
 * go on like its own, as long as all of theirs do. 0: there is none. */
HK_FN int hk_turn_next(const struct hk_strip *st, HK_GLOBAL const struct hk_source *source,
                       HK_GLOBAL struct hk_worker_query *query, hk_i64 n, hk_i64 rows,
                       struct hk_turn *turn)
{
    hk_i64 at = turn->at, last, i;

    while (at < n && query[at].chunk == HK_ALIKE_ALL)
        at += rows;
    if (at >= n)
        return 0;
    turn->at = at;
    turn->first = query[at].chunk;
    turn->end = HK_ALIKE_ALL;
    for (last = at + rows; source->alike_at && last < n; last += rows) {
        const hk_i64 chunks = *hk_alike(st->call, source, query[last - 1].b);

        if (chunks <= turn->first)
            break;
        turn->end = hk_min(turn->end, chunks);
    }
    turn->rows = last - at;
    for (i = at; i < last; i += rows)
        query[i].chunk = turn->end;
    return 1;
}

/* All rows at once or, of a source of which each item has keys of its own, item after item, with
 * the sums of the other rows untouched; where tables name the same pages, some items at once.
 * (One call of the walk: PoCL makes a copy for each.) */
HK_FN void hk_source_attend(struct hk_strip *st, hk_u32 s)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    HK_GLOBAL const struct hk_source *source = st->call->sources + s;
    HK_GLOBAL struct hk_worker_query *const query = st->query;
    HK_GLOBAL const float *const q = st->q;
    const hk_i64 n = st->n_rows, b = st->b, first = st->first_chunk, end = st->end_chunk;
    const int each = plan->items > 1 && !source->common;
    const hk_i64 rows = each ? plan->n_q * plan->strips.stack : n;
    struct hk_turn turn;

    if (each)
        hk_source_clear(st, source);
    hk_turn_first(query, n, rows, &turn);
    while (hk_turn_next(st, source, query, n, rows, &turn)) {
        if (each) {
            hk_items_take(st, query, q, turn.at, turn.rows);
            st->shares = turn.rows != n;
            st->b = st->query[0].b;
        }
        if (source->alike_at) {
            const hk_i64 before = hk_chunks_get(st->call, source, 0, 0).first;

            st->first_chunk = hk_max(first, before + turn.first);
            st->end_chunk = hk_min(end, before + turn.end);
        }
        hk_source_walk(st, s);
    }
    if (each) {
        hk_items_take(st, query, q, 0, n);
        st->shares = 0;
        st->b = b;
        st->first_chunk = first;
        st->end_chunk = end;
    }
}

/* ---- rows ---- */

#if HK_BY_HALVES
/* Row i of Q, from its first row in memory. */
HK_FN void hk_q_read(const struct hk_strip *st, const struct hk_matrix *rows, hk_i64 i)
{
    hk_halves_read(rows, st->query[i].index, st->call->plan->d, hk_halves_q(st, i));
}

HK_FN void hk_q_clear(const struct hk_strip *st, hk_i64 i)
{
    hk_halves_clear(st->call->plan->d, hk_halves_q(st, i));
}
#else
HK_FN void hk_q_read(const struct hk_strip *st, const struct hk_matrix *rows, hk_i64 i)
{
    const hk_i64 d = st->call->plan->d;

    hk_row_read(rows, st->query[i].index, d, d, st->q_copy + i * d);
}

HK_FN void hk_q_clear(const struct hk_strip *st, hk_i64 i)
{
    const hk_i64 d = st->call->plan->d;
    hk_i64 t;

    for (t = 0; t < d; t++)
        st->q_copy[i * d + t] = 0.0f;
}
#endif

/* May Q of the task's rows, all of which are at hand, be read where it lies: rows side by side, and
 * no source that takes tiles from elsewhere than every HK_R rows? */
HK_FN int hk_q_in_place(const struct hk_strip *st, const struct hk_task *task)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    hk_u32 s;

    if (plan->q.dtype != HK_F32 || plan->q.stride[5] != 1 || plan->d == 0 ||
        plan->q.stride[4] * task->step != plan->d || plan->strips.stack > 1 || plan->items > 1 ||
        task->row_list >= 0 || st->n_rows != task->count || st->n_rows <= HK_FEW_ROWS)
        return 0;
    for (s = 0; s < plan->n_sources; s++) {
        HK_GLOBAL const struct hk_source *source = st->call->sources + s;

        if (source->k_scaling.group > 0 || hk_subs(st->call, source)->kind == HK_SUB_GATHER)
            return 0;
    }
    return 1;
}

/* Q of the strip's rows: a copy, unless they lie in memory as it does. Behind those that are there
 * it has zeros. */
HK_FN void hk_strip_read(struct hk_strip *st, const struct hk_task *task)
{
    const struct hk_call *call = st->call;
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    struct hk_matrix rows = hk_matrix_get(call, &plan->q, hk_q(call), st->b, 0, task->begin);
    const hk_i64 size = hk_size(rows.dtype);
    hk_i64 b = st->b, i = 0;

    st->q = st->q_copy;
    st->q_tiles = HK_NO_BLOCK;
    if (hk_q_in_place(st, task)) {
        st->q_tiles = st->n_rows / HK_R;
        i = st->q_tiles * HK_R;
        st->q = (HK_GLOBAL const float *)hk_byte(
            rows.base, (st->query[0].head * plan->q.stride[3] +
                        st->query[0].index * plan->q.stride[4]) * size);
    }
    for (; i < st->tiles * HK_R; i++) {
        if (i < st->n_rows) {
            struct hk_matrix row;

            if (st->query[i].b != b) {
                b = st->query[i].b;
                rows = hk_matrix_get(call, &plan->q, hk_q(call), b, 0, task->begin);
            }
            row = rows;
            row.base = hk_byte(row.base, st->query[i].head * plan->q.stride[3] * size);
            hk_q_read(st, &row, i);
        } else {
            hk_q_clear(st, i);
        }
    }
    if (st->chunks)
        return;                         /* attend_join.cl has what rows begin from */
    hk_rows_begin(st, task);
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
    hk_i64 n, size, at;
    hk_u32 s;

    st->b = task->b;
    n = hk_strip_fill(st, task);
    size = hk_residues_agree(st, n) ? n : 1;
    hk_ahead_begin(st, st->next);
    for (at = 0; at < n; at += size, st->query += size) {
        st->n_rows = size;
        st->tiles = (size + HK_R - 1) / HK_R;
        hk_strip_read(st, task);
        for (s = 0; s < plan->n_sources; s++)
            hk_source_attend(st, s);
        if (!st->chunks)
            hk_rows_finish(st, task);
    }
    st->query = query;
}

/* Does the item have a key in the part at hand? */
HK_FN int hk_part_works(const struct hk_strip *st, hk_i64 b)
{
    const struct hk_call *call = st->call;
    hk_u32 s, i;

    for (s = 0; s < call->plan->n_sources; s++) {
        HK_GLOBAL const struct hk_source *source = call->sources + s;
        const hk_i64 len = hk_chunks_length(call, source, b);

        for (i = 0; i < source->n_subs; i++) {
            const struct hk_chunks chunks = hk_chunks_get(call, source, i, len);

            if (hk_max(chunks.first, st->first_chunk) <
                hk_min(chunks.first + chunks.count, st->end_chunk))
                return 1;
        }
    }
    return 0;
}

/* Task `number`, of the parts of all strips where they are cut. */
HK_FN void hk_part_attend(struct hk_strip *st, hk_i64 number)
{
    const struct hk_call *call = st->call;
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    struct hk_task task;

    hk_task_get(call, number / plan->parts, &task);
    if (task.count <= 0 || hk_item_follows(call, task.b))
        return;
    if (plan->parts > 1) {
        st->first_chunk = number % plan->parts * plan->part_chunks;
        st->end_chunk = st->first_chunk + plan->part_chunks;
        st->chunks = hk_strip_chunks(call, number / plan->parts);
        if (!hk_part_works(st, task.b))
            return;
    }
    hk_task_attend(st, &task);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_GLOBAL hk_i32 *counter = (HK_GLOBAL hk_i32 *)(call->work + plan->counter_at);
    const hk_i64 tasks = plan->tasks * plan->parts;
    struct hk_strip st;
    hk_i64 number;

    hk_strip_open(&st, call, call->work + plan->workers_at + group * plan->worker_bytes);
    hk_kept_clear(&st);
#if HK_BY_HALVES
    hkv_halves_open();
#endif
    while ((number = hk_take(counter) * plan->run) < tasks) {
        const hk_i64 end = hk_min(number + plan->run, tasks);

        for (; number < end; number++) {
            const int known = number + 1 < end || plan->workers == 1;

            st.next = known && plan->parts == 1 && number + 1 < tasks ? number + 1 : -1;
            hk_part_attend(&st, number);
        }
    }
#if HK_BY_HALVES
    hkv_halves_close();
#endif
}

#include "../entry.h"
