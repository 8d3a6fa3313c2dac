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
    switch (bias->kind) {
    case HK_BIAS_TABLE:
        hk_stretch_table(call, bias, to);
        return;
    case HK_BIAS_ALIBI:
        hk_stretch_alibi(to);
        return;
    }
    HK_UNREACHABLE();           /* DENSE asks for a key, not for a distance */
}

/* Values for 64 keys on end, the first of them at distance `delta` from row i of the strip. The
 * rows behind it are nearer to the keys, or their distances are less. */
HK_FN HK_GLOBAL const float *hk_stretch_get(const struct hk_strip *st,
                                            HK_GLOBAL const struct hk_bias *bias, hk_u32 number,
                                            hk_i64 i, hk_i64 delta)
{
    const struct hk_call *call = st->call;
    const hk_i64 stack = call->plan->strips.stack;
    const hk_i64 id = (HK_GLOBAL const char *)bias - call->blob, head = st->query[i].head;
    HK_GLOBAL struct hk_stretch *s =
        st->stretches + (number * stack + i % stack) % call->plan->stretches;

    if (s->bias != id || s->b != st->b || s->head != head || delta < s->first ||
        delta + HK_BLOCK > s->first + s->count) {
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
    return s->values + (delta - s->first);
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
    if (hk_block_aligned(sub) && sub->pos_step == 1 && !bias->from.k_coord.slot &&
        (bias->kind == HK_BIAS_TABLE || bias->kind == HK_BIAS_ALIBI))
        return hk_stretch_get(st, bias, number, i,
                              hk_lookup_delta(st->call, &bias->from, at, block * HK_BLOCK));
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

#endif

#endif
