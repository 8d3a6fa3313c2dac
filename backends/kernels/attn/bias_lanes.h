/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: softcap and biases of a row before a block of 64 keys (docs/numerics.md steps 3
 * and 4). SIMD lanes are keys. Where keys follow each other, a row of DENSE lies in memory as it is
 * wanted, and what other kinds give depends on the distance alone: a **stretch** has it for all
 * distances between the block and the rows of a strip, so that most rows find theirs there.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_BIAS_LANES_H
#define HEED_BACKENDS_KERNELS_ATTN_BIAS_LANES_H

#include "bias.h"
#include "strip.h"

#if !HK_PLAIN

/* ---- stretches ---- */

/* TABLE: entries at distances first on; what is no entry is 0. */
HK_FN void hk_stretch_table(const struct hk_call *call, HK_GLOBAL const struct hk_bias *bias,
                            HK_GLOBAL struct hk_stretch *to)
{
    HK_GLOBAL const struct hk_lookup *from = &bias->from;
    HK_GLOBAL const struct hk_aux *t = &bias->t;
    const hk_i64 entries = t->shape[2], length = hk_lookup_length(from, entries);
    const hk_i64 at = to->head * t->stride[4], step = t->stride[5];
    HK_GLOBAL const char *table, *map = 0;
    hk_i64 j;

    if (entries == 0 || length == 0) {  /* then there may be no address */
        for (j = 0; j < to->count; j++)
            to->values[j] = 0.0f;
        return;
    }
    table = hk_aux_of(call, t, to->b);
    if (from->map.slot)
        map = hk_aux_of(call, &from->map, to->b);
    for (j = 0; j < to->count; j++) {
        const hk_i64 i = hk_lookup_entry(from, map, length, entries, to->first + j);

        to->values[j] = i < 0 ? 0.0f : hk_element(t->dtype, table, at + i * step);
    }
}

HK_FN void hk_stretch_alibi(HK_GLOBAL struct hk_stretch *to)
{
    hk_i64 j;

    for (j = 0; j < to->count; j++)
        to->values[j] = hk_bias_alibi(to->first + j);
}

HK_NOINLINE void hk_stretch_fill(const struct hk_call *call, HK_GLOBAL const struct hk_bias *bias,
                                 HK_GLOBAL struct hk_stretch *to)
{
    hk_i64 j;

    switch (bias->kind) {
    case HK_BIAS_TABLE:
        hk_stretch_table(call, bias, to);
        break;
    case HK_BIAS_ALIBI:
        hk_stretch_alibi(to);
        break;
    default:                    /* DENSE asks for a key, not for a distance */
        HK_UNREACHABLE();
    }
    to->removes = 0;
    for (j = 0; j < to->count; j++)
        to->removes |= to->values[j] == -HK_INFINITY;
}

HK_FN int hk_stretch_holds(HK_GLOBAL const struct hk_stretch *s, hk_i64 delta)
{
    return delta >= s->first && delta + HK_BLOCK <= s->first + s->count;
}

/* That with values for 64 keys on end, the first of them at distance `delta` from row i of the
 * strip. The rows behind it are nearer to the keys, or their distances are less. */
HK_FN HK_GLOBAL const struct hk_stretch *hk_stretch_get(const struct hk_strip *st,
                                                        HK_GLOBAL const struct hk_bias *bias,
                                                        hk_u32 number, hk_i64 i, hk_i64 delta)
{
    const struct hk_call *call = st->call;
    const hk_i64 stack = call->plan->strips.stack;
    const hk_i64 id = (HK_GLOBAL const char *)bias - call->blob, head = st->query[i].head;
    HK_GLOBAL struct hk_stretch *s =
        st->stretches + (number * stack + i % stack) % call->plan->stretches;

    if (s->bias != id || s->b != st->b || s->head != head || !hk_stretch_holds(s, delta)) {
        const hk_i64 last = st->n_rows - 1;
        const hk_i64 more =
            hk_lookup_query(call, &bias->from, st->b, st->query[last].index, st->query[last].q) -
            hk_lookup_query(call, &bias->from, st->b, st->query[i].index, st->query[i].q);
        const hk_i64 back = hk_max(hk_min(more, HK_STRETCH_MAX - HK_BLOCK), 0);

        s->bias = id;
        s->b = st->b;
        s->head = head;
        s->first = delta - back;
        s->count = HK_BLOCK + back;
        hk_stretch_fill(call, bias, s);
    }
    return s;
}

/* Does what the bias gives to keys of a block depend on their distance alone? */
HK_FN int hk_stretch_serves(HK_GLOBAL const struct hk_sub *sub,
                            HK_GLOBAL const struct hk_bias *bias)
{
    return hk_block_aligned(sub) && sub->pos_step == 1 && !bias->from.k_coord.slot &&
           (bias->kind == HK_BIAS_TABLE || bias->kind == HK_BIAS_ALIBI);
}

/* ---- rows ---- */

/* DENSE with a factor for each head: a block of t times it. */
HK_FN HK_GLOBAL const float *hk_dense_scale(const struct hk_strip *st, float u,
                                            HK_GLOBAL const float *t)
{
    const hk_vec none = hkv_set(-HK_INFINITY), factor = hkv_set(u);
    int n;

    for (n = 0; n < HK_BLOCK; n += HKV_LANES) {
        const hk_vec x = hkv_load(t + n);

        hkv_store(st->values + n, hkv_select(hkv_not_equal(x, none), hkv_mul(x, factor), none));
    }
    return st->values;
}

/* DENSE, keys `base` on; `mask` says which of them there are. Those between them are there, too. */
HK_FN HK_GLOBAL const float *hk_dense_get(const struct hk_strip *st,
                                          HK_GLOBAL const struct hk_bias *bias,
                                          const struct hk_place *at, hk_i64 base, hk_u64 mask)
{
    HK_GLOBAL const hk_i64 *stride = bias->t.stride;
    const int first = hk_first_bit(mask);
    const hk_i64 start = at->head * stride[3] + at->index * stride[4] + (base + first) * stride[5];
    const struct hk_matrix row =
        hk_matrix_even(hk_byte(hk_aux_of(st->call, &bias->t, at->b),
                               start * hk_size(bias->t.dtype)),
                       0, stride[5], bias->t.dtype);
    int end = HK_BLOCK;

    if (mask == ~(hk_u64)0)
        return hk_row_f32(&row, 0, HK_BLOCK, st->values);
    while (!(mask >> (end - 1) & 1))
        end--;
    hk_row_read(&row, 0, end - first, end - first, st->values + first);
    return st->values;
}

/* What a bias gives to the keys of a block that are in `mask`; others have any values. */
HK_FN HK_GLOBAL const float *hk_bias_get(const struct hk_strip *st,
                                         HK_GLOBAL const struct hk_sub *sub,
                                         const struct hk_sub_view *view,
                                         const struct hk_place *at, hk_u32 number, hk_i64 i,
                                         hk_i64 block, hk_u64 mask)
{
    HK_GLOBAL const struct hk_bias *bias = hk_biases(st->call, st->source) + number;
    HK_COPY(struct hk_reach, reach, st->reach[i]);

    if (hk_block_aligned(sub) && bias->kind == HK_BIAS_DENSE) {
        HK_GLOBAL const float *t = hk_dense_get(st, bias, at, block * HK_BLOCK, mask);

        return bias->u.slot ? hk_dense_scale(st, hk_bias_scale(st->call, bias, at->b, at->head), t)
                            : t;
    }
    if (hk_stretch_serves(sub, bias)) {
        const hk_i64 delta = hk_lookup_delta(st->call, &bias->from, at, block * HK_BLOCK);
        HK_GLOBAL const struct hk_stretch *near = hk_stretch_get(st, bias, number, i, delta);

        return near->values + (delta - near->first);
    }
    for (; mask != 0; mask &= mask - 1) {
        const int key = hk_first_bit(mask);
        float value = 0.0f;

        hk_bias_value(st->call, bias, at, hk_key(sub, view, reach, block * HK_BLOCK + key), &value);
        st->values[key] = value;
    }
    return st->values;
}

HK_FN void hk_score_scale(HK_GLOBAL const struct hk_plan *plan, HK_GLOBAL float *s)
{
    const hk_vec c = hkv_set(plan->c), c1 = hkv_set(plan->c1), c2 = hkv_set(plan->c2);
    int n;

    if (plan->flags & HK_PLAN_CAPPED) {
        for (n = 0; n < HK_BLOCK; n += HKV_LANES)
            hkv_store(s + n, hkv_mul(hkv_cap_tanh(hkv_mul(hkv_load(s + n), c1)), c2));
    } else {
        for (n = 0; n < HK_BLOCK; n += HKV_LANES)
            hkv_store(s + n, hkv_mul(hkv_load(s + n), c));
    }
}

/* Raw scores of row i to y for the keys in mask; returns those that no bias removed. With biases
 * max becomes the row's largest y, lane by lane, of all 64 places. */
HK_NOINLINE hk_u64 hk_score_row(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                                const struct hk_sub_view *view, hk_i64 i, hk_i64 block, hk_u64 mask)
{
    HK_GLOBAL float *s = st->s + i * HK_BLOCK;
    const hk_vec none = hkv_set(-HK_INFINITY), c = hkv_set(st->call->plan->c);
    const int capped = (st->call->plan->flags & HK_PLAN_CAPPED) != 0;
    struct hk_place at;
    hk_u32 b;
    int n;

    at.sub = sub;
    at.b = st->b;
    at.len = st->len;
    at.index = st->query[i].index;
    at.head = st->query[i].head;
    at.q = st->query[i].q;
    if (capped || st->source->n_biases == 0)
        hk_score_scale(st->call->plan, s);
    for (b = 0; b < st->source->n_biases && mask != 0; b++) {
        const hk_vec factor =
            hkv_set(hk_bias_factor(st->call, hk_biases(st->call, st->source) + b, &at));
        HK_GLOBAL const float *values = hk_bias_get(st, sub, view, &at, b, i, block, mask);
        hk_vec top = none;
        hk_u64 left = 0;

        for (n = 0; n < HK_BLOCK; n += HKV_LANES) {
            const hk_vec x = hkv_load(values + n);

            hk_vec y = hkv_load(s + n);

            if (b == 0 && !capped)      /* what hk_score_scale does, without a pass of its own */
                y = hkv_mul(y, c);
            left |= (hk_u64)hkv_word(hkv_not_equal(x, none)) << n;
            y = hkv_fma(x, factor, y);
            top = hkv_max_f(y, top);
            hkv_store(s + n, y);
        }
        hkv_store(st->max + i * HKV_LANES, top);
        mask &= left;
    }
    return mask;
}

/* The same of a row to which one bias gives `values`, and nothing else happens to its scores. */
HK_INLINE hk_u64 hk_score_join(HK_GLOBAL float *s, HK_GLOBAL const float *values, hk_vec c,
                               hk_vec factor, HK_GLOBAL float *max, const int removes)
{
    const hk_vec none = hkv_set(-HK_INFINITY);
    hk_u64 left = removes ? 0 : ~(hk_u64)0;
    hk_vec top = none;
    int n;

    for (n = 0; n < HK_BLOCK; n += HKV_LANES) {
        const hk_vec x = hkv_load(values + n), y = hkv_fma(x, factor, hkv_mul(hkv_load(s + n), c));

        if (removes)
            left |= (hk_u64)hkv_word(hkv_not_equal(x, none)) << n;
        top = hkv_max_f(y, top);
        hkv_store(s + n, y);
    }
    hkv_store(max, top);
    return left;
}

/* hk_score_row for a tile whose first row is `row` of the strip, with one bias that depends on the
 * distance: what rows share is asked for once. */
HK_NOINLINE void hk_score_near(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                               const struct hk_tile *tile, hk_i64 row, hk_i64 block)
{
    HK_GLOBAL const struct hk_bias *bias = hk_biases(st->call, st->source);
    const hk_i64 key =
        hk_lookup_key(st->call, &bias->from, sub, st->b, st->len, block * HK_BLOCK);
    const hk_vec c = hkv_set(st->call->plan->c);
    HK_GLOBAL const struct hk_stretch *near = 0;
    hk_vec factor = c;
    struct hk_place at;
    hk_i64 i;

    at.sub = sub;
    at.b = st->b;
    at.len = st->len;
    at.index = at.q = 0;        /* no factor asks for them */
    at.head = -1;
    for (i = 0; i < tile->rows; i++) {
        HK_GLOBAL const struct hk_worker_query *query = st->query + row + i;
        HK_GLOBAL float *s = tile->s + i * HK_BLOCK, *max = tile->max + i * HKV_LANES;
        HK_GLOBAL const float *values;
        hk_i64 delta;

        if (tile->masks[i] == 0)
            continue;
        delta = key - hk_lookup_query(st->call, &bias->from, st->b, query->index, query->q);
        if (query->head != at.head) {
            at.head = query->head;
            factor = hkv_set(hk_bias_factor(st->call, bias, &at));
            near = 0;
        }
        if (!near || !hk_stretch_holds(near, delta))
            near = hk_stretch_get(st, bias, 0, row + i, delta);
        values = near->values + (delta - near->first);
        if (near->removes)
            tile->masks[i] &= hk_score_join(s, values, c, factor, max, 1);
        else
            hk_score_join(s, values, c, factor, max, 0);
    }
}

/* Raw scores of a tile's rows, the first of which is `row` of the strip, to y; keys that a bias
 * removed leave the masks. What all rows see then. */
HK_FN hk_u64 hk_score_rows(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                           const struct hk_sub_view *view, const struct hk_tile *tile, hk_i64 row,
                           hk_i64 block)
{
    const int alone = st->source->n_biases == 1 && !(st->call->plan->flags & HK_PLAN_CAPPED) &&
                      hk_stretch_serves(sub, hk_biases(st->call, st->source));
    hk_u64 all = ~(hk_u64)0;
    hk_i64 i;

    if (alone)
        hk_score_near(st, sub, tile, row, block);
    for (i = 0; i < tile->rows; i++) {
        if (!alone && tile->masks[i] != 0)
            tile->masks[i] = hk_score_row(st, sub, view, row + i, block, tile->masks[i]);
        all &= tile->masks[i];
    }
    return all;
}

#endif

#endif
