/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How a finished row leaves: one rounding to the output type, NaN canonical, no negative zero.
 * Included by tile.c.
 */
#ifndef HEED_BACKENDS_CPU_STORE_H
#define HEED_BACKENDS_CPU_STORE_H

#include "kernel.h"

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
