/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel's call: the plan's image and the buffers of one run, and what follows from them for a
 * batch item: lengths, positions, slots. The entry point that every kernel has is made at the end
 * of the file that defines it, by entry.h.
 *
 * HK_ITEMS: work-items of a group, defined before this is included.
 */
#ifndef HEED_BACKENDS_KERNELS_CALL_H
#define HEED_BACKENDS_KERNELS_CALL_H

#include "image.h"
#include "numerics.h"
#include "strips.h"

/* Buffer i is operand i of the plan (lib/plan.h); the last one is the workspace. */
#if HK_LARGE
#define HK_SUBS 66              /* sub-sources of a source */
#define HK_BUFFERS 101
#else
#define HK_SUBS 4
#define HK_BUFFERS 29
#endif
enum { HK_BUF_Q, HK_BUF_O, HK_BUF_LSE, HK_BUF_SINKS, HK_BUF_KV, HK_BUF_WORK = HK_BUFFERS - 1 };
#define HK_BUF_K(source) (HK_BUF_KV + 2 * (source))
#define HK_BUF_V(source) (HK_BUF_KV + 2 * (source) + 1)

struct hk_call {
    HK_GLOBAL const char *image;
    HK_GLOBAL const struct hk_plan *plan;
    HK_GLOBAL const struct hk_source *sources;
    HK_GLOBAL char *work;
    HK_GLOBAL char *buffer[HK_BUFFERS];
};

HK_FN void hk_call_open(struct hk_call *call)
{
    call->plan = (HK_GLOBAL const struct hk_plan *)call->image;
    call->sources = (HK_GLOBAL const struct hk_source *)(call->image + call->plan->sources_at);
    call->work = call->buffer[HK_BUF_WORK];
}

/* ---- reading ---- */

HK_FN hk_i64 hk_size(hk_u32 dtype)
{
    switch (dtype) {
    case HK_F32:
    case HK_I32:
        return 4;
    case HK_I64:
        return 8;
    case HK_U8:
        return 1;
    default:
        return 2;
    }
}

HK_FN hk_i64 hk_integer(hk_u32 dtype, HK_GLOBAL const char *base, hk_i64 index)
{
    if (dtype == HK_I32)
        return ((HK_GLOBAL const hk_i32 *)base)[index];
    return ((HK_GLOBAL const hk_i64 *)base)[index];
}

HK_FN float hk_element(hk_u32 dtype, HK_GLOBAL const char *base, hk_i64 index)
{
    if (dtype == HK_F32)
        return ((HK_GLOBAL const float *)base)[index];
    if (dtype == HK_F16)
        return hk_load_f16((HK_GLOBAL const hk_u16 *)base + index);
    return hk_from_bf16(((HK_GLOBAL const hk_u16 *)base)[index]);
}

/* Steps 10 and 11: the way out of a value. */
HK_FN void hk_put(hk_u32 dtype, HK_GLOBAL char *base, hk_i64 index, float x)
{
    if (dtype == HK_F32)
        ((HK_GLOBAL float *)base)[index] = hk_canonical(x);
    else
        ((HK_GLOBAL hk_u16 *)base)[index] =
            dtype == HK_F16 ? hk_to_f16(hk_add(x, 0.0f)) : hk_to_bf16(hk_add(x, 0.0f));
}

HK_FN hk_i64 hk_batch_offset(const struct hk_call *call, HK_GLOBAL const hk_i64 *stride, hk_i64 b)
{
    HK_GLOBAL const hk_i64 *batch = call->plan->batch;

    return b / (batch[1] * batch[2]) * stride[0] + b / batch[2] % batch[1] * stride[1] +
           b % batch[2] * stride[2];
}

HK_FN HK_GLOBAL const char *hk_aux_item(const struct hk_call *call,
                                        HK_GLOBAL const struct hk_aux *aux, hk_i64 b)
{
    HK_GLOBAL const char *base =
        aux->at ? call->image + aux->at : call->buffer[aux->slot - 1];

    return base + hk_batch_offset(call, aux->stride, b) * hk_size(aux->dtype);
}

HK_FN hk_i64 hk_aux_value(const struct hk_call *call, HK_GLOBAL const struct hk_aux *aux, hk_i64 b)
{
    return hk_integer(aux->dtype, hk_aux_item(call, aux, b), 0);
}

HK_FN hk_i64 hk_clamp(hk_i64 x)
{
    return hk_max(hk_min(x, HK_POSITION_MAX), -HK_POSITION_MAX);
}

/* ---- lengths and positions of an item ---- */

struct hk_cut {
    hk_i64 begin, len;
};

/* Lengths are cut to [0, bound], a begin outside the packed rows empties the item. */
HK_FN struct hk_cut hk_cut_get(const struct hk_call *call, HK_GLOBAL const struct hk_aux *begin,
                               hk_u32 ragged, HK_GLOBAL const struct hk_aux *len, hk_i64 b,
                               hk_i64 bound, hk_i64 total)
{
    struct hk_cut out;

    out.begin = 0;
    out.len = bound;
    if (len->slot)
        out.len = hk_max(hk_min(hk_aux_value(call, len, b), bound), 0);
    if (ragged) {
        out.begin = hk_aux_value(call, begin, b);
        if (out.begin < 0 || out.begin > total) {
            out.begin = 0;
            out.len = 0;
        }
        out.len = hk_min(out.len, total - out.begin);
    }
    return out;
}

HK_FN struct hk_cut hk_keys_cut(const struct hk_call *call,
                                HK_GLOBAL const struct hk_source *source, hk_i64 b)
{
    return hk_cut_get(call, &source->index, source->ragged, &source->len, b, source->n_k,
                      source->k.length);
}

HK_FN struct hk_cut hk_rows_cut(const struct hk_call *call, hk_i64 b)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;

    return hk_cut_get(call, &plan->q_begin, plan->flags & HK_PLAN_RAGGED, &plan->q_len, b,
                      plan->n_q, plan->q.length);
}

/* Position of query row 0; len: rows of the item. */
HK_FN hk_i64 hk_row_origin(const struct hk_call *call, hk_i64 b, hk_i64 len)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    hk_i64 q = plan->q_pos0;

    if (plan->q_pos.slot)
        q += hk_clamp(hk_aux_value(call, &plan->q_pos, b));
    if ((plan->flags & HK_PLAN_ALIGN_END) && plan->n_sources > 0) {
        HK_GLOBAL const struct hk_source *last = call->sources + plan->n_sources - 1;
        HK_GLOBAL const struct hk_sub *sub =
            (HK_GLOBAL const struct hk_sub *)(call->image + plan->subs_at) + last->first_sub;
        const hk_i64 keys = hk_keys_cut(call, last, b).len;
        const hk_i64 origin =
            plan->flags & HK_PLAN_END_LAST ? sub->pos0 - keys * sub->pos_step : sub->pos0;

        q += origin + (keys - 1) * sub->pos_step + sub->pos_span - 1 - (len - 1) * plan->q_pos_step;
    }
    return q;
}

/* ---- lists ---- */

/* Entries in use of the keys (which 0) or rows (which 1) list of an item. */
HK_FN HK_GLOBAL hk_i64 *hk_counts(const struct hk_call *call, hk_i64 b, hk_u32 s)
{
    return (HK_GLOBAL hk_i64 *)(call->work + call->plan->counts_at) +
           (b * call->plan->n_sources + s) * 2;
}

HK_FN HK_GLOBAL hk_u64 *hk_words(const struct hk_call *call, hk_i64 at, hk_i64 b, hk_i64 words)
{
    return (HK_GLOBAL hk_u64 *)(call->work + at) + b * words;
}

/* Which sources name the row in a GLOBAL ROWS term; *listed: those whose list does. */
HK_FN hk_u32 hk_row_all(const struct hk_call *call, hk_i64 b, hk_i64 row, hk_u32 *listed)
{
    hk_u32 all = 0, s;

    *listed = 0;
    for (s = 0; s < call->plan->n_sources; s++) {
        HK_GLOBAL const struct hk_source *source = call->sources + s;

        if (row < source->rows_prefix)
            all |= 1u << s;
        if (source->rows.slot &&
            (hk_words(call, source->rows_at, b, source->row_words)[row >> 6] >> (row & 63) & 1))
            *listed |= 1u << s;
    }
    return all | *listed;
}

/* ---- sub-sources of an item ---- */

HK_FN HK_GLOBAL const struct hk_sub *hk_subs(const struct hk_call *call,
                                             HK_GLOBAL const struct hk_source *source)
{
    return (HK_GLOBAL const struct hk_sub *)(call->image + call->plan->subs_at) + source->first_sub;
}

HK_FN HK_GLOBAL const struct hk_bias *hk_biases(const struct hk_call *call,
                                                HK_GLOBAL const struct hk_source *source)
{
    return (HK_GLOBAL const struct hk_bias *)(call->image + call->plan->biases_at) +
           source->first_bias;
}

/* Heads of k and v that a query head reads. */
HK_FN hk_i64 hk_key_head(const struct hk_call *call, HK_GLOBAL const struct hk_source *source,
                         hk_i64 head)
{
    return head / (call->plan->heads / source->heads);
}

/* Sub-source i of source s (heads > 0) for one item, head and row. */
HK_FN void hk_item_get(const struct hk_call *call, hk_u32 s, hk_u32 i, hk_i64 b, hk_i64 head,
                       hk_i64 row, hk_i64 len, HK_ITEM_SPACE struct hk_item *item)
{
    HK_GLOBAL const struct hk_source *source = call->sources + s;
    HK_GLOBAL const struct hk_sub *sub = hk_subs(call, source) + i;
    HK_GLOBAL const struct hk_sub_slots *slots =
        (HK_GLOBAL const struct hk_sub_slots *)(call->image + call->plan->slots_at) +
        source->first_sub + i;
    const hk_i64 key_head = hk_key_head(call, source, head);
    hk_u32 r;

    item->len = len;
    item->n_list = item->list_stride = item->mask_stride = 0;
    item->list = 0;
    item->mask = 0;
    item->listed = 0;
    if (slots->list.slot) {
        hk_i64 at = 0;

        if (sub->kind == HK_SUB_RUNS)
            at = (slots->list.shape[0] == source->heads ? key_head : head) * slots->list.stride[3] +
                 row / source->list_rows * slots->list.stride[4];
        item->list = (HK_GLOBAL const hk_i32 *)hk_aux_item(call, &slots->list, b) + at;
        item->list_stride = slots->list.stride[5];
        item->n_list = sub->kind == HK_SUB_RUNS ? slots->list.shape[2] : hk_counts(call, b, s)[0];
    }
    if (source->keys.slot)
        item->listed = hk_words(call, source->keys_at, b, source->blocks);
    for (r = 0; r < HK_RANGES; r++) {
        HK_GLOBAL const struct hk_aux *pairs = &slots->pairs[r];
        const int given = pairs->slot != 0;

        item->pairs[r] = given ? (HK_GLOBAL const hk_i32 *)hk_aux_item(call, pairs, b) : 0;
        item->pair_stride[r] = given ? pairs->stride[4] : 0;
        item->pair_end[r] = given ? pairs->stride[5] : 0;
    }
    if (source->mask.slot) {
        const hk_i64 mask_head = source->mask.shape[1] == source->heads ? key_head : head;

        item->mask = (HK_GLOBAL const hk_u8 *)hk_aux_item(call, &source->mask, b) +
                     mask_head * source->mask.stride[4];
        item->mask_stride = source->mask.stride[5];
    }
}

/* ---- a matrix: element (i, t) at base + (i * row + t * channel) elements ---- */

struct hk_matrix {
    HK_GLOBAL const char *base;
    hk_i64 row, channel;
    hk_u32 dtype, reserved;
};

HK_FN struct hk_matrix hk_matrix_get(const struct hk_call *call,
                                     HK_GLOBAL const struct hk_view *view,
                                     HK_GLOBAL const char *base, hk_i64 b, hk_i64 head,
                                     hk_i64 begin)
{
    struct hk_matrix out;
    const hk_i64 at = hk_batch_offset(call, view->stride, b) + head * view->stride[3] +
                      begin * view->stride[4];

    out.base = base + at * hk_size(view->dtype);
    out.row = view->stride[4];
    out.channel = view->stride[5];
    out.dtype = view->dtype;
    out.reserved = 0;
    return out;
}

/* ---- strips ---- */

/* What a task is: some query rows of one item, all heads of one group. */
struct hk_task {
    hk_i64 b, group;
    hk_i64 first, step, count;          /* rows first + step * i; of a list: entries */
    hk_i64 begin, len, origin;          /* of the item's rows */
    hk_i64 bound;                       /* rows that the item has in memory */
    hk_i64 listed_by;                   /* -1, or the source whose list the rows come from */
};

/* Task number `task`, the last strips first: under causality they are the longest. count 0: there
 * is nothing to do. */
HK_FN void hk_task_get(const struct hk_call *call, hk_i64 task, struct hk_task *out)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const hk_i64 strips = plan->tasks - plan->list_tasks;
    hk_i64 n, strip = 0;
    struct hk_cut rows;
    hk_u32 s;

    out->listed_by = -1;
    out->first = 0;
    out->step = 1;
    out->count = 0;
    if (task < strips) {
        const hk_i64 at =
            plan->item_strips * plan->n_batch - 1 - task % (plan->item_strips * plan->n_batch);

        out->group = task / (plan->item_strips * plan->n_batch);
        out->b = at / plan->item_strips;
        strip = at % plan->item_strips;
    } else {
        task -= strips;
        for (s = 0; s < plan->n_sources; s++) {
            n = call->sources[s].row_parts * plan->groups * plan->n_batch;
            if (task < n)
                break;
            task -= n;
        }
        out->listed_by = s;
        out->group = task / call->sources[s].row_parts % plan->groups;
        out->b = task / call->sources[s].row_parts / plan->groups;
        strip = task % call->sources[s].row_parts;
    }
    rows = hk_rows_cut(call, out->b);
    out->begin = rows.begin;
    out->len = rows.len;
    out->origin = hk_row_origin(call, out->b, rows.len);
    out->bound = plan->flags & HK_PLAN_RAGGED ? rows.len : plan->n_q;
    if (out->listed_by < 0) {
        struct hk_strip_rows at;

        if (strip >= hk_strips_count(plan->strips.rows, plan->strips.row_step, plan->strips.group,
                                     out->bound))
            return;
        hk_strips_rows(plan->strips.rows, plan->strips.row_step, plan->strips.group, out->bound,
                       strip, &at);
        out->first = at.first;
        out->step = at.step;
        out->count = at.count;
    } else {
        const hk_i64 size =
            plan->strips.row_step > 1 || plan->strips.group > 0 ? 1 : plan->strips.rows;

        n = hk_counts(call, out->b, (hk_u32)out->listed_by)[1];
        out->first = strip * size;
        out->count = hk_max(hk_min(n - out->first, size), 0);
    }
}

/* A query row. */
struct hk_query {
    hk_i64 index, head, q;
    hk_u32 all;                 /* bit s: named by a GLOBAL ROWS term of source s */
    hk_u32 absent;              /* 1: beyond the item's length, sees nothing */
};

/* Row i of the task, for the first head of its group; 0: it belongs to another task. Rows named by
 * an earlier list, or by any when the task is of no list, do. */
HK_FN int hk_query_get(const struct hk_call *call, const struct hk_task *task, hk_i64 i,
                       struct hk_query *out)
{
    hk_i64 index = task->first + task->step * i;
    hk_u32 listed;

    if (task->listed_by >= 0) {
        HK_GLOBAL const struct hk_aux *list = &call->sources[task->listed_by].rows;

        index = hk_integer(HK_I32, hk_aux_item(call, list, task->b), index * list->stride[5]);
        if (index >= task->bound)
            return 0;
    }
    out->index = index;
    out->head = task->group * call->plan->strips.stack;
    out->q = hk_clamp(task->origin + index * call->plan->q_pos_step);
    out->all = hk_row_all(call, task->b, index, &listed);
    out->absent = index >= task->len ? 1 : 0;
    if (task->listed_by < 0)
        return listed == 0;
    return (listed & ((1u << task->listed_by) - 1)) == 0;
}

/* ---- biases ---- */

/* A row and a block of one sub-source, for biases. */
struct hk_place {
    HK_SUB_SPACE const struct hk_sub *sub;
    hk_i64 b, len;              /* item, its keys in this source */
    hk_i64 index, head, q;      /* the row */
};

/* Coordinate of the key minus that of the query. */
HK_FN hk_i64 hk_bias_delta(const struct hk_call *call, HK_GLOBAL const struct hk_bias *bias,
                           const struct hk_place *at, hk_i64 key)
{
    hk_i64 k = hk_origin(at->sub, at->len) + key * at->sub->pos_step, q = at->q;

    if (bias->k_coord.slot)
        k = hk_clamp(hk_integer(bias->k_coord.dtype, hk_aux_item(call, &bias->k_coord, at->b),
                                key * bias->k_coord.stride[5]));
    if (bias->q_coord.slot)
        q = hk_clamp(hk_integer(bias->q_coord.dtype, hk_aux_item(call, &bias->q_coord, at->b),
                                at->index * bias->q_coord.stride[5]));
    return k - q;
}

/* Index into the table of a TABLE bias; negative: the key gets nothing. */
HK_FN hk_i64 hk_bias_index(const struct hk_call *call, HK_GLOBAL const struct hk_bias *bias,
                           hk_i64 b, hk_i64 delta)
{
    const hk_i64 entries = bias->t.shape[2];
    const hk_i64 length = bias->map.slot ? bias->map.shape[2] : entries;
    hk_i64 i = delta + bias->zero;

    if (length == 0)
        return -1;
    i = hk_max(hk_min(i, length - 1), 0);
    if (bias->map.slot)
        i = hk_integer(HK_I32, hk_aux_item(call, &bias->map, b), i * bias->map.stride[5]);
    return i >= entries ? -1 : i;
}

/* y with the bias (step 4); 0: the bias removes the key. */
HK_FN int hk_bias_add(const struct hk_call *call, HK_GLOBAL const struct hk_bias *bias,
                      const struct hk_place *at, hk_i64 key, float *y)
{
    HK_GLOBAL const char *t = hk_aux_item(call, &bias->t, at->b);
    HK_GLOBAL const hk_i64 *stride = bias->t.stride;
    hk_i64 index, delta;
    float value, slope;

    switch (bias->kind) {
    case HK_BIAS_DENSE:
        value = hk_element(bias->t.dtype, t,
                           at->head * stride[3] + at->index * stride[4] + key * stride[5]);
        break;
    case HK_BIAS_TABLE:
        index = hk_bias_index(call, bias, at->b, hk_bias_delta(call, bias, at, key));
        value = index < 0 ? 0.0f
                          : hk_element(bias->t.dtype, t, at->head * stride[4] + index * stride[5]);
        break;
    default:
        delta = hk_bias_delta(call, bias, at, key);
        slope = hk_element(bias->t.dtype, t, at->head * stride[5]);
        *y = hk_fma(-hk_mul(slope, HK_LOG2_E), hk_from_i64(delta < 0 ? -delta : delta), *y);
        return 1;
    }
    *y = hk_fma(value, HK_LOG2_E, *y);
    return !(value == -HK_INFINITY);
}

/* Steps 3 and 4 after the score: y, 0 if the key is removed. */
HK_FN int hk_score(const struct hk_call *call, HK_GLOBAL const struct hk_source *source,
                   const struct hk_place *at, hk_i64 key, float s, float *y)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_GLOBAL const struct hk_bias *bias = hk_biases(call, source);
    hk_u32 i;

    *y = plan->flags & HK_PLAN_CAPPED ? hk_mul(hk_cap_tanh(hk_mul(s, plan->c1)), plan->c2)
                                      : hk_mul(s, plan->c);
    for (i = 0; i < source->n_biases; i++) {
        if (!hk_bias_add(call, bias + i, at, key, y))
            return 0;
    }
    return !(*y == -HK_INFINITY);
}

/* ---- the end of a row ---- */

/* Steps 9, 10 and 12: from the row's total (started: it has a chunk) to the factor that its sums
 * over V are multiplied by, twice: first by *sink, then by the result; and its LSE. */
HK_FN float hk_row_end(const struct hk_call *call, hk_i64 head, int started, float reference,
                       float l, float *sink, float *lse)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const int with_sink = (plan->flags & HK_PLAN_LSE_WITH_SINK) != 0;
    float z = -HK_INFINITY;

    *sink = 1.0f;
    if (plan->sinks.dtype)
        z = hk_element(plan->sinks.dtype, call->buffer[HK_BUF_SINKS], head * plan->sinks.stride[5]);
    if (!started) {
        *lse = with_sink ? hk_canonical(z) : -HK_INFINITY;
        return 0.0f;
    }
    *lse = hk_lse(reference, l);
    if (!(z == -HK_INFINITY)) {
        const float y = hk_mul(z, HK_LOG2_E), e = hk_reference(y);
        const float m = e > reference ? e : reference;

        *sink = hk_power(hk_sub(reference, m));
        l = hk_fma(l, *sink, hk_weight(y, m));
        if (with_sink)
            *lse = hk_lse(m, l);
    }
    *lse = hk_canonical(*lse);
    return hk_inverse(l);
}

#endif
