/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The call of a kernel of attention: the plan's blob and the buffers of one run, and what follows
 * from them for a batch item: lengths, positions, slots. The entry point that every kernel has is
 * made at the end of the file that defines it, by entry.h.
 *
 * HK_THREADS: threads of a group, defined before this is included.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_CALL_H
#define HEED_BACKENDS_KERNELS_ATTN_CALL_H

#include "blob.h"
#include "../buffers.h"

#if HK_LARGE
#define HK_SUBS 66              /* sub-sources of a source */
#else
#define HK_SUBS 4
#endif
#ifndef HK_ONE_RANGE
#define HK_ONE_RANGE 0
#endif
#ifndef HK_KV
#define HK_KV 0
#endif
enum { HK_BUF_Q, HK_BUF_O, HK_BUF_LSE, HK_BUF_SINKS, HK_BUF_STATE, HK_BUF_KV };

struct hk_call {
    HK_GLOBAL const char *blob;
    HK_GLOBAL const struct hk_plan *plan;
    HK_GLOBAL const struct hk_source *sources;
    HK_GLOBAL char *work;
#if HK_IN_REGISTERS           /* GPUs index no registers: tables in local memory */
    HK_GLOBAL char *HK_LOCAL *buffer;
    HK_LOCAL const hk_u32 *item;        /* the group's batch item by its three axes */
    HK_LOCAL hk_i64 *value;             /* of its slots: hk_values_read */
#else
    HK_GLOBAL char *buffer[HK_BUFFERS];
#endif
};

HK_FN void hk_call_open(struct hk_call *call)
{
    call->plan = (HK_GLOBAL const struct hk_plan *)call->blob;
    call->sources = (HK_GLOBAL const struct hk_source *)(call->blob + call->plan->sources_at);
    call->work = call->buffer[HK_BUF_WORK];
}

/* ---- the buffers: nothing else knows their numbers ---- */

HK_FN HK_GLOBAL const char *hk_q(const struct hk_call *call)
{
    return call->buffer[HK_BUF_Q];
}

HK_FN HK_GLOBAL char *hk_o(const struct hk_call *call)
{
    return call->buffer[HK_BUF_O];
}

HK_FN HK_GLOBAL float *hk_lse_out(const struct hk_call *call)
{
    return (HK_GLOBAL float *)call->buffer[HK_BUF_LSE];
}

HK_FN HK_GLOBAL const char *hk_sinks(const struct hk_call *call)
{
    return call->buffer[HK_BUF_SINKS];
}

HK_FN HK_GLOBAL const float *hk_state(const struct hk_call *call)
{
    return (HK_GLOBAL const float *)call->buffer[HK_BUF_STATE];
}

HK_FN HK_GLOBAL const char *hk_k(const struct hk_call *call, hk_u32 source)
{
    return call->buffer[HK_BUF_KV + 2 * source];
}

HK_FN HK_GLOBAL const char *hk_v(const struct hk_call *call, hk_u32 source)
{
    return call->buffer[HK_BUF_KV + 2 * source + 1];
}

/* slot: as in struct hk_aux. */
HK_FN HK_GLOBAL const char *hk_slot(const struct hk_call *call, hk_u32 slot)
{
    return call->buffer[slot - 1];
}

/* ---- slots ---- */

#if HK_IN_REGISTERS
/* Of one thread, with a barrier behind it. */
HK_FN void hk_item_set(HK_GLOBAL const struct hk_plan *plan, hk_i64 b, HK_LOCAL hk_u32 *item)
{
    const hk_u32 y = (hk_u32)plan->batch[1], z = (hk_u32)plan->batch[2];

    item[0] = (hk_u32)b / z / y;
    item[1] = (hk_u32)b / z % y;
    item[2] = (hk_u32)b % z;
}

HK_FN hk_i64 hk_item_at(HK_LOCAL const hk_u32 *item, HK_GLOBAL const hk_i64 *stride)
{
    hk_i64 at = 0;
    hk_i32 i;

    HK_NO_UNROLL                        /* products of 64 bits are long */
    for (i = 0; i < 3; i++)
        at += item[i] * stride[i];
    return at;
}
#endif

HK_FN hk_i64 hk_batch_offset(const struct hk_call *call, HK_GLOBAL const hk_i64 *stride, hk_i64 b)
{
#if HK_IN_REGISTERS
    return b == 0 ? 0 : hk_item_at(call->item, stride);     /* 0 also for pages, no item's */
#else
    return hk_item_offset(call->plan->batch, stride, b);
#endif
}

#if HK_IN_REGISTERS
HK_RARE HK_GLOBAL const char *hk_aux_find(HK_GLOBAL const char *blob,
                                          HK_GLOBAL char *HK_LOCAL *buffer,
                                          HK_LOCAL const hk_u32 *item,
                                          HK_GLOBAL const struct hk_aux *aux)
{
    HK_GLOBAL const char *base = aux->at ? blob + aux->at : buffer[aux->slot - 1];

    return hk_byte(base, hk_item_at(item, aux->stride) * hk_size(aux->dtype));
}

HK_FN HK_GLOBAL const char *hk_aux_of(const struct hk_call *call,
                                      HK_GLOBAL const struct hk_aux *aux, hk_i64 b)
{
    (void)b;
    return hk_aux_find(call->blob, call->buffer, call->item, aux);
}
#else
HK_FN HK_GLOBAL const char *hk_aux_of(const struct hk_call *call,
                                        HK_GLOBAL const struct hk_aux *aux, hk_i64 b)
{
    HK_GLOBAL const char *base = aux->at ? call->blob + aux->at : hk_slot(call, aux->slot);

    return hk_byte(base, hk_batch_offset(call, aux->stride, b) * hk_size(aux->dtype));
}
#endif

HK_FN hk_i64 hk_aux_value(const struct hk_call *call, HK_GLOBAL const struct hk_aux *aux, hk_i64 b)
{
    return hk_integer(aux->dtype, hk_aux_of(call, aux, b), 0);
}

/* Values of slots that an item has one of, by number: those of its query rows, then two of each
 * source, begin or ring's head and length. */
enum { HK_VALUE_POS, HK_VALUE_BEGIN, HK_VALUE_LEN, HK_VALUE_O_BEGIN, HK_VALUE_SOURCES };

HK_FN hk_u32 hk_value_of_source(const struct hk_call *call,
                                HK_GLOBAL const struct hk_source *source)
{
    return HK_VALUE_SOURCES + 2 * (hk_u32)(source - call->sources);
}

#if HK_IN_REGISTERS
/* The slot of a value; 0: there is none. */
HK_FN HK_GLOBAL const struct hk_aux *hk_value_slot(const struct hk_call *call, hk_u32 i)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_GLOBAL const struct hk_aux *aux;

    if (i < HK_VALUE_SOURCES) {
        aux = i == HK_VALUE_POS     ? &plan->q_pos
              : i == HK_VALUE_BEGIN ? &plan->q_begin
              : i == HK_VALUE_LEN   ? &plan->q_len
                                    : &plan->o_begin;
    } else {
        HK_GLOBAL const struct hk_source *source = call->sources + (i - HK_VALUE_SOURCES) / 2;

        aux = i % 2 == HK_VALUE_SOURCES % 2 ? &source->index : &source->len;
        if (aux == &source->index && !source->value)
            return 0;
    }
    return aux->slot ? aux : 0;
}

/* By the threads of the group, side by side, for what would else be read at many places. */
HK_FN void hk_values_read(const struct hk_call *call, hk_i32 id, hk_i64 b)
{
    const hk_u32 n = HK_VALUE_SOURCES + 2 * call->plan->n_sources;
    hk_u32 i;

    HK_NO_UNROLL
    for (i = (hk_u32)id; i < n; i += HK_THREADS) {
        HK_GLOBAL const struct hk_aux *aux = hk_value_slot(call, i);

        if (aux)
            call->value[i] = hk_aux_value(call, aux, b);
    }
}
#endif

/* Number n, whose slot is there. */
HK_FN hk_i64 hk_value(const struct hk_call *call, HK_GLOBAL const struct hk_aux *aux, hk_i64 b,
                      hk_u32 n)
{
#if HK_IN_REGISTERS
    (void)aux;
    (void)b;
    return call->value[n];
#else
    (void)n;
    return hk_aux_value(call, aux, b);
#endif
}

/* ---- lengths and positions of an item ---- */

struct hk_cut {
    hk_i64 begin, len;
};

/* Lengths are cut to [0, bound], a begin outside the packed rows empties the item. n: number of the
 * begin's value, before that of the length. */
HK_FN struct hk_cut hk_cut_get(const struct hk_call *call, HK_GLOBAL const struct hk_aux *begin,
                               hk_u32 packed, HK_GLOBAL const struct hk_aux *len, hk_i64 b,
                               hk_i64 bound, hk_i64 total, hk_u32 n)
{
    struct hk_cut out;

    out.begin = 0;
    out.len = bound;
    if (len->slot)
        out.len = hk_max(hk_min(hk_value(call, len, b, n + 1), bound), 0);
    if (packed) {
        out.begin = hk_value(call, begin, b, n);
        if (out.begin < 0 || out.begin > total) {
            out.begin = 0;
            out.len = 0;
        }
        out.len = hk_min(out.len, total - out.begin);
    }
    return out;
}

/* begin: of packed keys; or the row of key 0, and one that is not there empties the item. */
HK_FN struct hk_cut hk_keys_cut(const struct hk_call *call,
                                HK_GLOBAL const struct hk_source *source, hk_i64 b)
{
    const hk_u32 n = hk_value_of_source(call, source);
    struct hk_cut out =
        hk_cut_get(call, &source->index, source->packed, &source->len, b, source->n_k,
                   source->k.length, n);

    if (source->value && !source->packed) {
        out.begin = hk_value(call, &source->index, b, n);
        if (out.begin < 0 || out.begin >= source->n_k) {
            out.begin = 0;
            out.len = 0;
        }
    }
    return out;
}

/* Query rows; o_begin: where those of o and lse begin, which may be fewer. */
HK_FN struct hk_cut hk_rows_cut(const struct hk_call *call, hk_i64 b, hk_i64 *o_begin)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    struct hk_cut out = hk_cut_get(call, &plan->q_begin, plan->flags & HK_PLAN_PACKED, &plan->q_len,
                                   b, plan->n_q, plan->q.length, HK_VALUE_BEGIN);

    *o_begin = out.begin;
    if (plan->o_begin.slot) {
        *o_begin = hk_value(call, &plan->o_begin, b, HK_VALUE_O_BEGIN);
        if (*o_begin < 0 || *o_begin > plan->o.length)
            *o_begin = out.len = 0;
        out.len = hk_min(out.len, plan->o.length - *o_begin);
    }
    return out;
}

/* Position of query row 0; len: rows of the item. */
HK_FN hk_i64 hk_row_origin(const struct hk_call *call, hk_i64 b, hk_i64 len)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    hk_i64 q = plan->q_pos0;

    if (plan->q_pos.slot)
        q += hk_clamp(hk_value(call, &plan->q_pos, b, HK_VALUE_POS));
    if ((plan->flags & HK_PLAN_ALIGN_END) && plan->n_sources > 0) {
        HK_GLOBAL const struct hk_source *last = call->sources + plan->n_sources - 1;
        HK_GLOBAL const struct hk_sub *sub =
            (HK_GLOBAL const struct hk_sub *)(call->blob + plan->subs_at) + last->first_sub;
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

/* Which sources name the row in a GLOBAL ROWS term; *by_list: those whose list does. */
HK_FN hk_u32 hk_row_all(const struct hk_call *call, hk_i64 b, hk_i64 row, hk_u32 *by_list)
{
    hk_u32 all = 0, s;

    *by_list = 0;
    for (s = 0; s < call->plan->n_sources; s++) {
        HK_GLOBAL const struct hk_source *source = call->sources + s;

        if (row < source->rows_first_n)
            all |= 1u << s;
        if (source->rows.slot &&
            (hk_words(call, source->rows_at, b, source->row_words)[row >> 6] >> (row & 63) & 1))
            *by_list |= 1u << s;
    }
    return all | *by_list;
}

/* ---- sub-sources of an item ---- */

HK_FN HK_GLOBAL const struct hk_sub *hk_subs(const struct hk_call *call,
                                             HK_GLOBAL const struct hk_source *source)
{
    return (HK_GLOBAL const struct hk_sub *)(call->blob + call->plan->subs_at) + source->first_sub;
}

HK_FN HK_GLOBAL const struct hk_bias *hk_biases(const struct hk_call *call,
                                                HK_GLOBAL const struct hk_source *source)
{
    return (HK_GLOBAL const struct hk_bias *)(call->blob + call->plan->biases_at) +
           source->first_bias;
}

HK_FN HK_GLOBAL const struct hk_dot *hk_dots(const struct hk_call *call,
                                             HK_GLOBAL const struct hk_source *source)
{
    return (HK_GLOBAL const struct hk_dot *)(call->blob + call->plan->dots_at) + source->first_dot;
}

/* Heads of k and v that a query head reads. */
HK_FN hk_i64 hk_key_head(const struct hk_call *call, HK_GLOBAL const struct hk_source *source,
                         hk_i64 head)
{
    return hk_quotient(head * source->heads, call->plan->heads);        /* a multiple of those */
}

/* Sub-source i of source s (heads > 0) for one item, head and row. */
HK_FN void hk_sub_view_get(const struct hk_call *call, hk_u32 s, hk_u32 i, hk_i64 b, hk_i64 head,
                       hk_i64 row, hk_i64 len, HK_VIEW_SPACE struct hk_sub_view *view)
{
    HK_GLOBAL const struct hk_source *source = call->sources + s;
    HK_GLOBAL const struct hk_sub *sub = hk_subs(call, source) + i;
    HK_GLOBAL const struct hk_sub_slots *slots =
        (HK_GLOBAL const struct hk_sub_slots *)(call->blob + call->plan->slots_at) +
        source->first_sub + i;
    const hk_i64 key_head = hk_key_head(call, source, head);
    hk_u32 r;

    view->len = len;
    view->n_list = view->list_stride = view->mask_stride = 0;
    view->list = 0;
    view->mask = 0;
    view->globals = 0;
    if (slots->list.slot) {
        hk_i64 at = 0;

        if (sub->kind == HK_SUB_GATHER)
            at = (slots->list.shape[0] == source->heads ? key_head : head) * slots->list.stride[3] +
                 hk_quotient(row, source->list_rows) * slots->list.stride[4];
        view->list = (HK_GLOBAL const hk_i32 *)hk_byte(hk_aux_of(call, &slots->list, b), at * 4);
        view->list_stride = slots->list.stride[5];
        view->n_list = sub->kind == HK_SUB_GATHER ? slots->list.shape[2] : hk_counts(call, b, s)[0];
    }
    if (source->keys.slot)
        view->globals = hk_words(call, source->keys_at, b, source->blocks);
    HK_NO_UNROLL
    for (r = 0; r < sub->n_ranges; r++) {       /* others are not looked at */
        HK_GLOBAL const struct hk_aux *pairs = &slots->pairs[r];
        const int given = pairs->slot != 0;

        view->pairs[r] = given ? (HK_GLOBAL const hk_i32 *)hk_aux_of(call, pairs, b) : 0;
        view->pair_stride[r] = given ? pairs->stride[4] : 0;
        view->pair_end[r] = given ? pairs->stride[5] : 0;
    }
    if (source->mask.slot) {
        const hk_i64 mask_head = source->mask.shape[1] == source->heads ? key_head : head;

        view->mask = (HK_GLOBAL const hk_u8 *)hk_byte(hk_aux_of(call, &source->mask, b),
                                                      mask_head * source->mask.stride[4]);
        view->mask_stride = source->mask.stride[5];
    }
}

#endif
