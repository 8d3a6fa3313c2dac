/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sums of a row, of a chunk or of the chunks so far, how they are joined and how they leave: steps
 * 8 to 11 of docs/numerics.md. Each thread of a row has the partial sums of l, and HK_WEIGH_TILE
 * vectors of its channels at a time. (Groups walk their tiles themselves: merge_threads.h,
 * state_threads.h.)
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SUMS_H
#define HEED_BACKENDS_KERNELS_OPS_SUMS_H

#include "channels.h"

#if HK_THREADS > 1
#define HK_WEIGH_TILE 2
#elif HKV_LANES == 1
#define HK_WEIGH_TILE 8
#else
#define HK_WEIGH_TILE 4
#endif
#define HK_WEIGH_STEP ((hk_i64)HK_WEIGH_TILE * HK_THREADS * HKV_LANES)
#define HK_SUMS (HK_PARTIALS / HKV_LANES)

/* Sums over a chunk, or over the chunks so far. */
struct hk_sums {
    float m;
    hk_u32 any; /* 1: over some entry */
    hk_vec l[HK_SUMS];
};

/* ---- partial sums ---- */

HK_FN void hk_sums_begin(struct hk_sums *sums)
{
    int i;

    sums->m = -HK_INFINITY;
    sums->any = 0;
    for (i = 0; i < HK_SUMS; i++)
        sums->l[i] = hkv_set(0.0f);
}

/* Step 8 of M: *m joins m2; the factors of what there was and of what comes. */
HK_FN void hk_join(float *m, float m2, float *w1, float *w2)
{
    const float both = m2 > *m ? m2 : *m;

    *w1 = hk_power(hk_sub(*m, both));
    *w2 = hk_power(hk_sub(m2, both));
    *m = both;
}

/* Step 8 of vector i of the partial sums. */
HK_FN void hk_sums_add(struct hk_sums *total, int i, hk_vec l, float w1, float w2)
{
    total->l[i] = hkv_fma(l, hkv_set(w2), hkv_mul(total->l[i], hkv_set(w1)));
}

/* The sum of the 16 partial sums (step 9). */
HK_FN float hk_sums_tree(const struct hk_sums *sums)
{
    hk_vec l[HK_SUMS];
    int span, i;

    HK_UNROLL
    for (i = 0; i < HK_SUMS; i++)
        l[i] = sums->l[i];
    HK_UNROLL
    for (span = HK_SUMS / 2; span > 0; span /= 2) {
        HK_UNROLL
        for (i = 0; i < span; i++)
            l[i] = hkv_add(l[i], l[i + span]);
    }
    return hkv_add_across(l[0]);
}

/* ---- channels ---- */

/* Vector v of a thread in the tile at t0. */
#define HK_WEIGH_AT(id, v, t0) ((t0) + ((hk_i64)(v)*HK_THREADS + (id)) * HKV_LANES)

struct hk_weigh_tile {
    hk_vec o[HK_WEIGH_TILE];
};

/* Of the tile: a chunk begins. */
HK_FN void hk_tile_begin(struct hk_weigh_tile *mine)
{
    HK_THREAD_ID(id);
    int v;

    (void)id;
    HK_EACH(id) {
        HK_UNROLL
        for (v = 0; v < HK_WEIGH_TILE; v++)
            mine[HK_OWN(id)].o[v] = hkv_set(0.0f);
    }
}

/* Step 8 of the channels. */
HK_FN void hk_tile_join(struct hk_weigh_tile *total, const struct hk_weigh_tile *chunk, float w1,
                        float w2)
{
    HK_THREAD_ID(id);
    int v;

    (void)id;
    HK_EACH(id) {
        struct hk_weigh_tile *const to = total + HK_OWN(id);

        HK_UNROLL
        for (v = 0; v < HK_WEIGH_TILE; v++)
            to->o[v] = hkv_fma(chunk[HK_OWN(id)].o[v], hkv_set(w2), hkv_mul(to->o[v], hkv_set(w1)));
    }
}

/* Where channels of a row leave. */
struct hk_tile_out {
    HK_GLOBAL char *row;
    hk_i64 channel, d; /* elements from channel to channel; channels */
    hk_u32 dtype, reserved;
};

/* Steps 9 to 11 of the channels. */
HK_FN void hk_tile_write(const struct hk_tile_out *out, const struct hk_weigh_tile *mine,
                         float sink, float factor, hk_i64 t0)
{
    HK_THREAD_ID(id);
    int v;

    HK_EACH(id) {
        HK_UNROLL
        for (v = 0; v < HK_WEIGH_TILE; v++) {
            const hk_i64 t = HK_WEIGH_AT(id, v, t0);
            const hk_vec o = hkv_mul(mine[HK_OWN(id)].o[v], hkv_set(sink));

            if (t < out->d)
                hk_channels_write(out->dtype, out->row, out->channel, t, out->d,
                                  hkv_mul(o, hkv_set(factor)));
        }
    }
}

#endif
