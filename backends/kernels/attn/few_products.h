/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for few rows: products of queries and keys, by a thread for each key, and of weights
 * and values, by a thread for a channel of half of the rows (docs/numerics.md steps 3 and 7).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_FEW_PRODUCTS_H
#define HEED_BACKENDS_KERNELS_ATTN_FEW_PRODUCTS_H

#include "few_stage.h"

/* Where scores, y and weights of a row and a place lie: by two rows, for threads have two or four
 * of them. */
HK_FN HK_LOCAL float *hk_few_place(const struct hk_group *g, hk_i32 row, hk_i32 place)
{
    return g->shared->p + (row / 2 * HK_PLACES + place) * 2 + row % 2;
}

/* ---- scores ---- */

/* Number j of a unit in local memory. */
HK_FN float hk_word_number(const hk_u32 *word, const hk_i32 j)
{
#if HK_HALVES
    return hk_unit_get(word, j);
#else
    return hk_float(word[j]);
#endif
}

/* Step 3: a unit of the key's channels and n rows; q: those of the first row. */
HK_FN void hk_few_unit(const hk_u32 *word, HK_LOCAL const float *q, const hk_i32 n, float *sum)
{
    hk_i32 j, r, i;

    HK_UNROLL
    for (j = 0; j < HK_UNIT; j++) {
        const float k = hk_word_number(word, j);

        HK_UNROLL
        for (r = 0; r < n; r += 4) {
            float a[4];

            hk_local_get4(q + j * HK_Q_LINE + r, a);
            HK_UNROLL
            for (i = 0; i < 4; i++)
                sum[r + i] = hk_fma(a[i], k, sum[r + i]);
        }
    }
}

#if HK_SCALES
/* What channels sum to in n rows of Q joins sums over the group at hand. */
HK_FN void hk_few_query(HK_LOCAL const float *q, hk_i32 channels, const hk_i32 n, float *sum)
{
    hk_i32 t, r, i;

    HK_NO_UNROLL
    for (t = 0; t < channels; t++, q += HK_Q_LINE) {
        HK_UNROLL
        for (r = 0; r < n; r += 4) {
            float a[4];

            hk_local_get4(q + r, a);
            HK_UNROLL
            for (i = 0; i < 4; i++)
                sum[r + i] = hk_add(sum[r + i], a[i]);
        }
    }
}

/* A group of n rows joins their scores. */
HK_FN void hk_few_group(const hk_i32 n, float scale, float low, const int minima,
                        struct hk_mine *me)
{
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < n; r++) {
        me->k[r] = hk_fma(me->part[r], scale, me->k[r]);
        me->k[r] = minima ? hk_fma(me->sum[r], low, me->k[r]) : me->k[r];
        me->part[r] = me->sum[r] = 0.0f;
    }
}
#endif

#if HK_KV
/* Unit u of a slab: its products, and what is behind the next slab is fetched in its place. */
HK_FN void hk_few_unit_turn(HK_LOCAL const float *q, const hk_i32 n, hk_i32 d, hk_i32 t0,
                            const hk_i32 h, const hk_i32 u, struct hk_mine *me)
{
    if (t0 + u * HK_UNIT < d)
        hk_few_unit(me->next[h] + 4 * u, q + u * HK_UNIT * HK_Q_LINE, n, me->k);
    hk_fetch_unit(me, t0 + 2 * HK_SLAB + u * HK_UNIT, me->next[h] + 4 * u);
}

/* Channels t0 on, the h-th slab that was fetched, of the thread's key and n rows from `row` on. Its
 * units one by one: Intel's compiler does not unroll a loop of so much, and would put what comes in
 * to memory. */
HK_FN void hk_few_scores(const struct hk_group *g, hk_i32 row, const hk_i32 n, hk_i32 d, hk_i32 t0,
                         const hk_i32 h, struct hk_mine *me)
{
    HK_LOCAL const float *q = g->shared->q + t0 % HK_KEPT * HK_Q_LINE + row;

    HK_MARK(qk);
    hk_few_unit_turn(q, n, d, t0, h, 0, me);
    hk_few_unit_turn(q, n, d, t0, h, 1, me);
    hk_few_unit_turn(q, n, d, t0, h, 2, me);
    hk_few_unit_turn(q, n, d, t0, h, 3, me);
}
#else
HK_FN void hk_few_local(HK_LOCAL const float *from, HK_LOCAL const float *q, const hk_i32 n,
                        float *sum)
{
    hk_u32 word[4];
    float x[4];
    hk_i32 j;

    hk_local_get4(from, x);
    HK_UNROLL
    for (j = 0; j < 4; j++)
        word[j] = hk_word(x[j]);
    hk_few_unit(word, q, n, sum);
}

/* Channels t0 to `end` of the key at a place, n rows from `row` on. Groups end where slabs do. */
HK_FN void hk_few_scores(const struct hk_group *g, hk_i32 place, hk_i32 row, const hk_i32 n,
                         hk_i32 t0, hk_i32 end, struct hk_mine *me)
{
    HK_LOCAL const float *q = g->shared->q + t0 % HK_KEPT * HK_Q_LINE + row;
    hk_i32 u;
#if HK_SCALES
    HK_LOCAL const struct hk_matrix *m = &g->shared->k_rows;
    const hk_i64 at = g->shared->k_at[place], scales = g->shared->scales.k_at[place];
    const hk_u32 group = (hk_u32)hk_key_group(g->shared, g->call->plan->d);
    const int ends = (hk_u32)end % group == 0, minima = hk_has_minima(m);
    float *sum = me->part;
    hk_u32 scale[2] = { 0, 0 };
#else
    float *sum = me->k;
#endif

    HK_MARK(qk);
#if HK_SCALES
    if (at == HK_NO_ROW)
        return;
    if (ends)
        hk_scales_load(m, at, scales, end - 1, scale);
    if (minima)
        hk_few_query(q, end - t0, n, me->sum);
#endif
    if (end - t0 == HK_SLAB) {
        HK_UNROLL
        for (u = 0; u < 4; u++)
            hk_few_local(hk_k_unit(g, place, u), q + u * HK_UNIT * HK_Q_LINE, n, sum);
    } else {
        HK_MARK(cold);
        HK_NO_UNROLL
        for (u = 0; t0 + u * HK_UNIT < end; u++)
            hk_few_local(hk_k_unit(g, place, u), q + u * HK_UNIT * HK_Q_LINE, n, sum);
    }
#if HK_SCALES
    if (ends)
        hk_few_group(n, hk_scale_widen(m, scale[0], 0), hk_scale_widen(m, scale[1], 1), minima,
                     me);
#endif
}
#endif

/* ---- values ---- */

/* A weight of the row, with the scale of its channels, joins a sum; careful: a removed key does
 * not. */
#if HK_SCALES
HK_FN void hk_few_value(const hk_i32 r, float weight, float value, float scale, float low,
                        const int careful, struct hk_mine *me)
{
    const float sum = hk_fma(hk_mul(weight, scale), value, me->o[r]);
    const float lows = hk_fma(weight, low, me->low[r]);
    const int seen = !careful || hk_word(weight) != HK_REMOVED;

    me->o[r] = seen ? sum : me->o[r];
    me->low[r] = seen ? lows : me->low[r];
}
#else
HK_FN void hk_few_value(const hk_i32 r, float weight, float value, const int careful,
                        struct hk_mine *me)
{
    const float sum = hk_fma(weight, value, me->o[r]);

    me->o[r] = careful && hk_word(weight) == HK_REMOVED ? me->o[r] : sum;
}
#endif

enum { HK_TURN = 4 };           /* keys that a turn takes */

/* The thread's channel of these keys, the first of which is number k in the slab. */
HK_FN void hk_few_take_v(const struct hk_group *g, hk_i32 id, hk_i32 k, float *to)
{
    HK_LOCAL const float *v = g->shared->in.slab + k / HK_V_TOGETHER * HK_WIDTH +
                             hk_v_place(id % HK_WIDTH);
    hk_i32 u;

    HK_UNROLL
    for (u = 0; u < HK_TURN; u++) {
        const hk_u32 word = hk_word(v[u / HK_V_TOGETHER * HK_WIDTH]);

        to[u] = hk_word_number(&word, u % HK_V_TOGETHER);
    }
}

/* Step 7 of the thread's channel and n rows, keys from number k in the slab on; p: where the
 * weights of the first row begin. */
HK_FN void hk_few_turn(const struct hk_group *g, hk_i32 id, hk_i32 k, HK_LOCAL const float *p,
                       const hk_i32 n, const int careful, struct hk_mine *me)
{
    float value[HK_TURN], weight[HK_ROWS / 2][HK_TURN];
    hk_i32 u, r;
#if HK_SCALES
    const hk_i32 at = id % HK_WIDTH / HK_BLOCK_CHANNELS * HK_SLAB_KEYS + k;
    float scale[HK_TURN], low[HK_TURN];

    hk_local_get4(g->shared->scales.v + at, scale);
    hk_local_get4(g->shared->scales.v_low + at, low);
#endif
    hk_few_take_v(g, id, k, value);
    HK_UNROLL
    for (r = 0; r < n; r += 2) {
        hk_local_get4(p + 2 * k + r * HK_PLACES, weight[r]);
        hk_local_get4(p + 2 * k + r * HK_PLACES + 4, weight[r + 1]);
    }
    HK_UNROLL
    for (u = 0; u < HK_TURN; u++) {
        HK_UNROLL
        for (r = 0; r < n; r++)
            hk_few_value(r, weight[r / 2 * 2 + u / 2][u % 2 * 2 + r % 2], value[u],
#if HK_SCALES
                         scale[u], low[u],
#endif
                         careful, me);
    }
}

/* The keys of the slab from place k0 on; careful: removed ones are left out. Else each is there for
 * no row, and stands for 0. */
HK_FN void hk_few_values(const struct hk_group *g, hk_i32 id, hk_i32 k0, const hk_i32 n,
                         const int careful, struct hk_mine *me)
{
    HK_LOCAL const float *p = hk_few_place(g, id / HK_WIDTH * n, k0);
    hk_i32 k;

    HK_MARK(pv);
    if (careful) {
        HK_MARK(cold);
        HK_NO_UNROLL
        for (k = 0; k < HK_SLAB_KEYS; k += HK_TURN)
            hk_few_turn(g, id, k, p, n, 1, me);
    } else {
        HK_UNROLL_FEW
        for (k = 0; k < HK_SLAB_KEYS; k += HK_TURN)
            hk_few_turn(g, id, k, p, n, 0, me);
    }
}

#endif
