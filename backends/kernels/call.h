/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The call of a kernel of attention: the plan's blob and the buffers of one run, and what follows
 * from them for a batch item: lengths, positions, slots. The entry point that every kernel has is
 * made at the end of the file that defines it, by entry.h.
 *
 * HK_THREADS: threads of a group, defined before this is included.
 */
#ifndef HEED_BACKENDS_KERNELS_CALL_H
#define HEED_BACKENDS_KERNELS_CALL_H

#include "blob.h"
#include "buffers.h"

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
enum { HK_BUF_Q, HK_BUF_O, HK_BUF_LSE, HK_BUF_SINKS, HK_BUF_KV };

struct hk_call {
    HK_GLOBAL const char *blob;
    HK_GLOBAL const struct hk_plan *plan;
    HK_GLOBAL const struct hk_source *sources;
    HK_GLOBAL char *work;
#if HK_IN_REGISTERS           /* GPUs index no registers: tables in local memory */
    HK_GLOBAL char *HK_LOCAL *buffer;
    HK_LOCAL const hk_u32 *item;        /* the group's batch item by its three axes */
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
HK_FN hk_i64 hk_item_at(HK_LOCAL const hk_u32 *item, HK_GLOBAL const hk_i64 *stride)
{
    return item[0] * stride[0] + item[1] * stride[1] + item[2] * stride[2];
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

/* begin: of RAGGED keys; of a RING the row of key 0, and one outside of it empties the item. */
HK_FN struct hk_cut hk_keys_cut(const struct hk_call *call,
                                HK_GLOBAL const struct hk_source *source, hk_i64 b)
{
    struct hk_cut out =
        hk_cut_get(call, &source->index, source->layout == HK_LAYOUT_RAGGED, &source->len, b,
                   source->n_k, source->k.length);

    if (source->layout == HK_LAYOUT_RING) {
        out.begin = hk_aux_value(call, &source->index, b);
        if (out.begin < 0 || out.begin >= source->n_k) {
            out.begin = 0;
            out.len = 0;
        }
    }
    return out;
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
    return hk_quotient(head, hk_quotient(call->plan->heads, source->heads));
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
                 row / source->list_rows * slots->list.stride[4];
        view->list = (HK_GLOBAL const hk_i32 *)hk_byte(hk_aux_of(call, &slots->list, b), at * 4);
        view->list_stride = slots->list.stride[5];
        view->n_list = sub->kind == HK_SUB_GATHER ? slots->list.shape[2] : hk_counts(call, b, s)[0];
    }
    if (source->keys.slot)
        view->globals = hk_words(call, source->keys_at, b, source->blocks);
    for (r = 0; r < HK_RANGES; r++) {
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

/* ---- a matrix: element (i, t) at base + hk_row_offset(i) + t * channel, in elements ---- */

struct hk_matrix {
    HK_GLOBAL const char *base;
    hk_i64 row, channel;
    /* PAGED: entry t of the table is the page of rows t * page_rows on. */
    HK_GLOBAL const hk_i32 *table;
    hk_i64 table_stride, pages, page_rows, page_shift, page_stride;
    hk_i64 first, rows;         /* RING: row 0 is row `first` of so many */
    /* I8: the scale of row 0, or PAGED of the first row in memory; elements from row to row and
     * from page to page. */
    HK_GLOBAL const char *scale;
    hk_i64 scale_row, scale_page;
    hk_u32 dtype, layout;       /* layout: PAGED, RING, or DENSE: rows lie at one stride */
    hk_u32 scale_dtype, reserved;
};

/* Rows at one stride. */
HK_FN struct hk_matrix hk_matrix_even(HK_GLOBAL const char *base, hk_i64 row, hk_i64 channel,
                                      hk_u32 dtype)
{
    struct hk_matrix out;

    out.base = base;
    out.row = row;
    out.channel = channel;
    out.table = 0;
    out.table_stride = out.pages = out.page_rows = out.page_shift = out.page_stride = 0;
    out.first = out.rows = 0;
    out.scale = 0;
    out.scale_row = out.scale_page = 0;
    out.dtype = dtype;
    out.layout = HK_LAYOUT_DENSE;
    out.scale_dtype = out.reserved = 0;
    return out;
}

HK_FN struct hk_matrix hk_matrix_get(const struct hk_call *call,
                                     HK_GLOBAL const struct hk_view *view,
                                     HK_GLOBAL const char *base, hk_i64 b, hk_i64 head,
                                     hk_i64 begin)
{
    const hk_i64 at = hk_batch_offset(call, view->stride, b) + head * view->stride[3] +
                      begin * view->stride[4];

    return hk_matrix_even(hk_byte(base, at * hk_size(view->dtype)), view->stride[4],
                          view->stride[5], view->dtype);
}

/* Scales lie as their rows do. */
#if HK_IN_REGISTERS
HK_FN
#else
HK_NOINLINE
#endif
void hk_scales_get(const struct hk_call *call, HK_GLOBAL const struct hk_aux *scale,
                         hk_i64 b, hk_i64 head, hk_i64 begin, struct hk_matrix *m)
{
    const hk_i64 at = head * scale->stride[4] + begin * scale->stride[5];

    m->scale = hk_byte(hk_aux_of(call, scale, b), at * hk_size(scale->dtype));
    m->scale_row = scale->stride[5];
    m->scale_page = scale->stride[3];
    m->scale_dtype = scale->dtype;
}

/* K or V of an item's key head. */
HK_FN struct hk_matrix hk_keys_get(const struct hk_call *call,
                                   HK_GLOBAL const struct hk_source *source,
                                   HK_GLOBAL const struct hk_view *view,
                                   HK_GLOBAL const struct hk_aux *scale,
                                   HK_GLOBAL const char *base, hk_i64 b, hk_i64 head,
                                   const struct hk_cut *cut)
{
    const hk_u32 layout = source->layout;
    const hk_i64 begin = layout == HK_LAYOUT_RAGGED ? cut->begin : 0;
    struct hk_matrix out =
        hk_matrix_get(call, view, base, layout == HK_LAYOUT_PAGED ? 0 : b, head, begin);

    if (HK_KV == 0 && view->dtype == HK_I8)
        hk_scales_get(call, scale, b, head, begin, &out);
    if (layout == HK_LAYOUT_PAGED) {
        out.layout = HK_LAYOUT_PAGED;
        out.table = (HK_GLOBAL const hk_i32 *)hk_aux_of(call, &source->index, b);
        out.table_stride = source->index.stride[5];
        out.pages = source->pages;
        out.page_rows = source->page_rows;
        out.page_shift = source->page_shift;
        out.page_stride = view->stride[2];
    } else if (layout == HK_LAYOUT_RING) {
        out.layout = HK_LAYOUT_RING;
        out.first = cut->begin;
        out.rows = source->n_k;
    }
    return out;
}

/* PAGED: which entry of the table row i has. */
HK_FN hk_i64 hk_row_entry(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    return m->page_shift >= 0 ? i >> m->page_shift : hk_quotient(i, m->page_rows);
}

/* Rows of pages and of a ring, and any others: row i is row *in of page *page, if there are pages;
 * 0: it is not there. */
HK_FN int hk_row_find(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i, hk_i64 *page, hk_i64 *in)
{
    *page = 0;
    *in = i;
    if (m->layout == HK_LAYOUT_PAGED) {
        const hk_i64 entry = hk_row_entry(m, i);

        *page = m->table[entry * m->table_stride];
        *in = i - entry * m->page_rows;
        return *page >= 0 && *page < m->pages;
    }
    if (m->layout == HK_LAYOUT_RING)
        *in = i < m->rows - m->first ? i + m->first : i - (m->rows - m->first);
    return 1;
}

/* Is row i, which is within the length, there? A page outside [0, P) is not. */
HK_FN int hk_row_present(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    hk_i64 page, in;

    return hk_row_find(m, i, &page, &in);
}

/* Where row i of pages or of a ring lies, in memory with these strides. */
HK_FN hk_i64 hk_row_apart(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i, hk_i64 row,
                          hk_i64 page)
{
    hk_i64 at, in;

    hk_row_find(m, i, &at, &in);
    return at * page + in * row;
}

/* Elements from base to row i, which is there. */
HK_FN hk_i64 hk_row_offset(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    return m->layout == HK_LAYOUT_DENSE ? i * m->row
                                        : hk_row_apart(m, i, m->row, m->page_stride);
}

/* Where the scale of row i lies, which is there. */
HK_FN hk_i64 hk_scale_offset(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    return m->layout == HK_LAYOUT_DENSE ? i * m->scale_row
                                        : hk_row_apart(m, i, m->scale_row, m->scale_page);
}

/* The scale of row i, which is there: each of its bytes is multiplied by it. */
HK_FN float hk_row_scale(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    return hk_element(m->scale_dtype, m->scale, hk_scale_offset(m, i));
}

/* Rows from i on, which is there, that lie at one stride. */
HK_FN hk_i64 hk_rows_run(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i)
{
    const hk_i64 all = (hk_i64)1 << 62;

    if (m->layout == HK_LAYOUT_PAGED)
        return (hk_row_entry(m, i) + 1) * m->page_rows - i;
    return m->layout == HK_LAYOUT_RING && i < m->rows - m->first ? m->rows - m->first - i : all;
}

/* Do rows i to last lie at one stride? */
HK_FN int hk_rows_even(HK_VIEW_SPACE const struct hk_matrix *m, hk_i64 i, hk_i64 last)
{
    return last - i < hk_rows_run(m, i);
}

#endif
