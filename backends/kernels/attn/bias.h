/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Softcap and biases: which entry of a table a key gets, and what every kind adds to a logit
 * (docs/numerics.md steps 3 and 4).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_BIAS_H
#define HEED_BACKENDS_KERNELS_ATTN_BIAS_H

#include "matrix.h"

/* A row and a block of one sub-source, for biases. */
struct hk_place {
    HK_SUB_SPACE const struct hk_sub *sub;
    hk_i64 b, len;              /* item, its keys in this source */
    hk_i64 index, head, q;      /* the row */
};

/* Coordinate i of a slot whose entries of the item begin at base. */
HK_FN hk_i64 hk_coordinate(HK_GLOBAL const struct hk_aux *slot, HK_GLOBAL const char *base,
                           hk_i64 i)
{
    return hk_clamp(hk_integer(slot->dtype, base, i * slot->stride[5]));
}

/* Coordinate of the query. */
HK_FN hk_i64 hk_lookup_query(const struct hk_call *call, HK_GLOBAL const struct hk_lookup *from,
                             hk_i64 b, hk_i64 index, hk_i64 q)
{
    if (!from->q_coord.slot)
        return q;
    return hk_coordinate(&from->q_coord, hk_aux_of(call, &from->q_coord, b), index);
}

/* Coordinate of a key of the item. */
HK_FN hk_i64 hk_lookup_key(const struct hk_call *call, HK_GLOBAL const struct hk_lookup *from,
                           HK_SUB_SPACE const struct hk_sub *sub, hk_i64 b, hk_i64 len, hk_i64 key)
{
    if (!from->k_coord.slot)
        return hk_origin(sub, len) + key * sub->pos_step;
    return hk_coordinate(&from->k_coord, hk_aux_of(call, &from->k_coord, b), key);
}

/* Coordinate of the key minus that of the query. */
HK_FN hk_i64 hk_lookup_delta(const struct hk_call *call, HK_GLOBAL const struct hk_lookup *from,
                             const struct hk_place *at, hk_i64 key)
{
    return hk_lookup_key(call, from, at->sub, at->b, at->len, key) -
           hk_lookup_query(call, from, at->b, at->index, at->q);
}

/* Entries of the map, without one of the table, which has `entries`. */
HK_FN hk_i64 hk_lookup_length(HK_GLOBAL const struct hk_lookup *from, hk_i64 entries)
{
    return from->map.slot ? from->map.shape[2] : entries;
}

/* Index into a table; negative: the key gets nothing. The length is not 0; map: its entries, if
 * there is one. */
HK_FN hk_i64 hk_lookup_entry(HK_GLOBAL const struct hk_lookup *from, HK_GLOBAL const char *map,
                             hk_i64 length, hk_i64 entries, hk_i64 delta)
{
    hk_i64 i = delta + from->zero;

    i = hk_max(hk_min(i, length - 1), 0);
    if (from->map.slot)
        i = hk_integer(HK_I32, map, i * from->map.stride[5]);
    return i >= entries ? -1 : i;
}

HK_FN hk_i64 hk_lookup_index(const struct hk_call *call, HK_GLOBAL const struct hk_lookup *from,
                             hk_i64 entries, hk_i64 b, hk_i64 delta)
{
    const hk_i64 length = hk_lookup_length(from, entries);

    if (length == 0)
        return -1;
    return hk_lookup_entry(from, from->map.slot ? hk_aux_of(call, &from->map, b) : 0, length,
                           entries, delta);
}

/* u of a head, which is there. */
HK_FN float hk_bias_scale(const struct hk_call *call, HK_GLOBAL const struct hk_bias *bias,
                          hk_i64 b, hk_i64 head)
{
    return hk_element(bias->u.dtype, hk_aux_of(call, &bias->u, b), head * bias->u.stride[5]);
}

/* An element of t times u: -Inf stays, lest 0 times it be a number of no use. */
HK_FN float hk_bias_scaled(float t, float u)
{
    return t == -HK_INFINITY ? t : hk_mul(t, u);
}

HK_FN float hk_bias_dense(const struct hk_call *call, HK_GLOBAL const struct hk_bias *bias,
                          const struct hk_place *at, hk_i64 key)
{
    HK_GLOBAL const hk_i64 *stride = bias->t.stride;
    const float t = hk_element(bias->t.dtype, hk_aux_of(call, &bias->t, at->b),
                               at->head * stride[3] + at->index * stride[4] + key * stride[5]);

    return bias->u.slot ? hk_bias_scaled(t, hk_bias_scale(call, bias, at->b, at->head)) : t;
}

HK_FN float hk_bias_table(const struct hk_call *call, HK_GLOBAL const struct hk_bias *bias,
                          const struct hk_place *at, hk_i64 key)
{
    HK_GLOBAL const hk_i64 *stride = bias->t.stride;
    const hk_i64 index = hk_lookup_index(call, &bias->from, bias->t.shape[2], at->b,
                                         hk_lookup_delta(call, &bias->from, at, key));

    return index < 0 ? 0.0f
                     : hk_element(bias->t.dtype, hk_aux_of(call, &bias->t, at->b),
                                  at->head * stride[4] + index * stride[5]);
}

HK_FN float hk_bias_alibi(hk_i64 delta)
{
    return hk_from_i64(delta < 0 ? -delta : delta);
}

/* Where t has a slope for each head. */
HK_FN float hk_bias_slope(const struct hk_call *call, HK_GLOBAL const struct hk_bias *bias,
                          const struct hk_place *at)
{
    return hk_element(bias->t.dtype, hk_aux_of(call, &bias->t, at->b),
                      at->head * bias->t.stride[5]);
}

/* What hk_bias_factor times joins y in one fma (step 4); 0: the bias removes the key. */
HK_FN int hk_bias_value(const struct hk_call *call, HK_GLOBAL const struct hk_bias *bias,
                        const struct hk_place *at, hk_i64 key, float *value)
{
    switch (bias->kind) {
    case HK_BIAS_DENSE:
        *value = hk_bias_dense(call, bias, at, key);
        return !(*value == -HK_INFINITY);
    case HK_BIAS_TABLE:
        *value = hk_bias_table(call, bias, at, key);
        return !(*value == -HK_INFINITY);
    case HK_BIAS_ALIBI:
        *value = hk_bias_alibi(hk_lookup_delta(call, &bias->from, at, key));
        return 1;
    }
    HK_UNREACHABLE();           /* the blob has no other kinds */
    return 0;
}

HK_FN float hk_bias_factor(const struct hk_call *call, HK_GLOBAL const struct hk_bias *bias,
                           const struct hk_place *at)
{
    switch (bias->kind) {
    case HK_BIAS_DENSE:
    case HK_BIAS_TABLE:
        return HK_LOG2_E;
    case HK_BIAS_ALIBI:
        return -hk_mul(hk_bias_slope(call, bias, at), HK_LOG2_E);
    }
    HK_UNREACHABLE();
    return 0.0f;
}

/* ---- DOT ---- */

HK_FN hk_i64 hk_dot_entries(HK_GLOBAL const struct hk_dot *dot)
{
    return dot->t.slot ? dot->t.shape[1] : dot->u.shape[1];
}

/* t or u of a query head, as a matrix of entries. */
HK_FN struct hk_matrix hk_dot_table(const struct hk_call *call,
                                    HK_GLOBAL const struct hk_aux *table, hk_i64 b, hk_i64 head)
{
    const hk_i64 at = head * table->stride[3];

    return hk_matrix_even(hk_byte(hk_aux_of(call, table, b), at * hk_size(table->dtype)),
                        table->stride[4], table->stride[5], table->dtype);
}

#endif
