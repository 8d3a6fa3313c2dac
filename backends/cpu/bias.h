/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Softcap and biases of one row of a block: turns raw scores into y (docs/numerics.md steps 3 and
 * 4), with -Inf where a key is removed. Included by tile.c. Bias values are gathered key by key;
 * they join the scores as vectors.
 */
#ifndef HEED_BACKENDS_CPU_BIAS_H
#define HEED_BACKENDS_CPU_BIAS_H

#include "kernel.h"

/* A row and a block of one sub-source. */
struct bias_at {
    const struct heed_cpu_row *row;
    const struct hk_sub *sub;
    const struct hk_item *item;
    const struct hk_reach *reach;
    int64_t base;               /* first ordinal */
};

HEED_INLINE int64_t position_clamp(int64_t x)
{
    return x < -HEED_POSITION_MAX  ? -HEED_POSITION_MAX
           : x > HEED_POSITION_MAX ? HEED_POSITION_MAX
                                   : x;
}

/* Coordinate of the key minus that of the query. */
static int64_t bias_delta(const struct heed_cpu_bias *bias, const struct bias_at *at, int64_t key)
{
    int64_t k, q;

    k = bias->k_coord
            ? position_clamp(heed_cpu_integer(bias->k_dtype, bias->k_coord, key * bias->k_stride))
            : hk_origin(at->sub, at->item->len) + key * at->sub->pos_step;
    q = bias->q_coord ? position_clamp(heed_cpu_integer(bias->q_dtype, bias->q_coord,
                                                        at->row->index * bias->q_stride))
                      : at->row->q;
    return k - q;
}

/* Index into the table of a TABLE bias; negative: the key gets nothing. */
static int64_t bias_index(const struct heed_cpu_bias *bias, int64_t delta)
{
    const int64_t length = bias->map ? bias->map_length : bias->length;
    int64_t i = delta + bias->zero;

    if (length == 0)
        return -1;
    i = i < 0 ? 0 : i > length - 1 ? length - 1 : i;
    if (bias->map)
        i = bias->map[i * bias->map_stride];
    return i >= bias->length ? -1 : i;
}

/* Values to be multiplied by the returned factor; what is in word and -Inf leaves word (DENSE,
 * TABLE). */
static float bias_gather(const struct heed_cpu_bias *bias, const struct bias_at *at, uint64_t *word,
                         float *value)
{
    const int64_t row = at->row->head * bias->head + at->row->index * bias->row;

    for (uint64_t left = *word; left != 0; left &= left - 1) {
        const int i = heed_first_bit(left);
        const int64_t key = hk_key(at->sub, at->item, at->reach, at->base + i);
        int64_t index, delta;

        switch (bias->kind) {
        case HEED_BIAS_DENSE:
            value[i] = heed_cpu_element(bias->dtype, bias->t, row + key * bias->key);
            break;
        case HEED_BIAS_TABLE:
            index = bias_index(bias, bias_delta(bias, at, key));
            value[i] = index < 0 ? 0.0f
                                 : heed_cpu_element(bias->dtype, bias->t,
                                                    at->row->head * bias->head + index * bias->key);
            break;
        default:
            delta = bias_delta(bias, at, key);
            value[i] = (float)(delta < 0 ? -delta : delta);
            continue;
        }
        if (value[i] == -INFINITY)
            *word &= ~(UINT64_C(1) << i);
    }
    if (bias->kind == HEED_BIAS_ALIBI)
        return -(heed_cpu_element(bias->dtype, bias->t, at->row->head * bias->head) * log2_e);
    return log2_e;
}

/* s: raw scores in, y out; returns the keys of word that no bias removed. */
static uint64_t score_row(float *s, const struct heed_lowered *lowered,
                          const struct heed_cpu_source *source, const struct bias_at *at,
                          uint64_t word)
{
    float value[BLOCK] HEED_ALIGNED(HEED_CPU_ALIGN) = { 0 };

    for (int u = 0; u < BLOCK; u += VL) {
        const vf x = v_load(s + u);

        v_store(s + u, lowered->capped
                           ? v_mul(cap_tanh(v_mul(x, v_set(lowered->c1))), v_set(lowered->c2))
                           : v_mul(x, v_set(lowered->c)));
    }
    for (uint32_t b = 0; b < source->n_biases; b++) {
        const vf factor = v_set(bias_gather(&source->biases[b], at, &word, value));

        for (int u = 0; u < BLOCK; u += VL)
            v_store(s + u, v_fma(v_load(value + u), factor, v_load(s + u)));
    }
    return word;
}

#endif
