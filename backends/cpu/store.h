/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The end of a row: its sum over the lanes, its LSE, and how it leaves: one rounding to the output
 * type, NaN canonical, no negative zero. Included by tile.c.
 */
#ifndef HEED_BACKENDS_CPU_STORE_H
#define HEED_BACKENDS_CPU_STORE_H

#include "kernel.h"

static void swap(float **a, float **b)
{
    float *const keep = *a;

    *a = *b;
    *b = keep;
}

static float row_sum(float *lanes)
{
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    }
    return lanes[0];
}

/* ln of 2^reference * l (step 12). */
static float row_lse(float reference, float l)
{
    uint32_t word = heed_word(l), k;
    float x, g = log_c[8];

    if (l != l)
        return heed_float(0x7fc00000u);
    k = word - 0x3f3504f3u;                     /* sqrt(1/2) */
    k = k >> 23 | (k >> 31 ? 0xfffffe00u : 0);
    x = heed_float(word - (k << 23)) - 1.0f;
    for (int i = 7; i >= 0; i--)
        g = fmaf(g, x, log_c[i]);
    /* One rounding a statement: some compilers evaluate nested float expressions in double. */
    g = g * x;
    x = reference + (float)(int32_t)k;
    x = x + g;
    return x * ln_2;
}

static float weight_one(float y, float reference)
{
    float p[VL];

    v_storeu(p, weight(v_set(y), v_set(reference)));
    return p[0];
}

/* Step 11. NaN canonical, -0 to +0. */
static void row_store(const struct heed_checked *attn, const struct heed_cpu_row *row,
                      const float *o, float factor)
{
    const int64_t channel = attn->o.stride[5], n = attn->d_v;
    int64_t t = 0;

    if (attn->o.dtype == HEED_F32 && channel == 1) {
        float *to = (float *)(void *)row->to;

        for (; t + VL <= n; t += VL) {
            const vf x = v_add(v_mul(v_load(o + o_at(t)), v_set(factor)), v_zero());

            v_storeu(to + t, v_select(v_ordered(x), x, v_set(heed_float(0x7fc00000u))));
        }
    }
    for (; t < n; t++) {
        const float x = o[o_at(t)] * factor + 0.0f;
        uint16_t half;

        if (attn->o.dtype == HEED_F32) {
            const float out = x == x ? x : heed_float(0x7fc00000u);

            memcpy(row->to + t * channel * 4, &out, sizeof out);
            continue;
        }
        half = attn->o.dtype == HEED_F16 ? heed_to_f16(x) : heed_to_bf16(x);
        memcpy(row->to + t * channel * 2, &half, sizeof half);
    }
}

static float canonical(float x)
{
    return x == x ? x + 0.0f : heed_float(0x7fc00000u);
}

#endif
