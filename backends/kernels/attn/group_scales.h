/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: rows whose channels share scales by groups, and may have minima
 * (docs/numerics.md section 4, steps 3 and 7). K and V lie in local memory as they are stored;
 * scales lie beside them. Kernels without HK_SCALES have none of it.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_SCALES_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_SCALES_H

#include "stage.h"

#if HK_SCALES

/* Has every group a minimum? */
HK_FN int hk_has_minima(HK_LOCAL const struct hk_matrix *m)
{
    return HK_IN_BLOCKS(HK_OF) ? (int)HK_HAS_MINIMA(HK_OF) : (int)m->minima;
}

/* Scale or, where `which` is 1, minimum of the group of channel t of the row that begins `row`
 * blocks from the base, or whose scales begin `at` elements from theirs. Without scales 1, without
 * minima 0. */
HK_FN float hk_scale_of(HK_LOCAL const struct hk_matrix *m, hk_i64 row, hk_i64 at, hk_i64 t,
                        int which)
{
    if (which && !m->minima)
        return 0.0f;
    if (HK_IN_BLOCKS(m->dtype))
        return hk_block_head(m->dtype, hk_byte(m->base, row * hk_size(m->dtype)),
                             t / HK_BLOCK_CHANNELS, which);
    return m->group > 0 ? hk_scale_at(m, at, t / m->group, which) : 1.0f;
}

#if HK_FEW
HK_FN hk_u32 hk_scale_word(HK_LOCAL const struct hk_matrix *m, hk_i64 at)
{
    return m->scale_dtype == HK_F32 ? ((HK_GLOBAL const hk_u32 *)m->scale)[at]
                                    : ((HK_GLOBAL const hk_u16 *)m->scale)[at];
}

/* Scale and minimum as they lie, for threads that widen them when they want them. */
HK_FN void hk_scales_load(HK_LOCAL const struct hk_matrix *m, hk_i64 row, hk_i64 at, hk_i64 t,
                          hk_u32 *to)
{
    if (HK_IN_BLOCKS(hk_type_of(m->dtype))) {
        HK_GLOBAL const hk_u16 *head = (HK_GLOBAL const hk_u16 *)hk_byte(
            m->base, (row + (hk_i64)((hk_u64)t / HK_BLOCK_CHANNELS)) * hk_element_bytes(m));

        to[0] = head[0];
        to[1] = hk_has_minima(m) ? head[1] : 0;
    } else if (m->group > 0) {
        const hk_i64 group = (hk_u32)t / (hk_u32)m->group;

        to[0] = hk_scale_word(m, at + hk_scale_entry(m, group, 0) * m->scale_step);
        if (hk_has_minima(m))
            to[1] = hk_scale_word(m, at + hk_scale_entry(m, group, 1) * m->scale_step);
    }
}

HK_FN float hk_scale_widen(HK_LOCAL const struct hk_matrix *m, hk_u32 word, int which)
{
    if (which && !hk_has_minima(m))
        return 0.0f;
    if (!HK_IN_BLOCKS(HK_OF) && m->group == 0)
        return 1.0f;
    if (HK_IN_BLOCKS(hk_type_of(m->dtype)) || m->scale_dtype == HK_F16)
        return hk_from_f16((hk_u16)word);
    if (m->scale_dtype == HK_BF16)
        return hk_from_bf16((hk_u16)word);
    if (m->scale_dtype == HK_F32)
        return hk_float(word);
    HK_UNREACHABLE();
    return 0.0f;
}
#endif

/* ---- K ---- */

/* Channels that one scale is for. */
HK_FN hk_i64 hk_key_group(HK_LOCAL const struct hk_shared *shared, hk_i64 d)
{
    return HK_IN_BLOCKS(HK_OF)        ? HK_BLOCK_CHANNELS
           : shared->k_rows.group > 0 ? shared->k_rows.group
                                      : d;
}

/* Channel t of the key at a place, widened. */
HK_FN float hk_key_widened(HK_LOCAL const struct hk_shared *shared, hk_i32 place, hk_i64 t)
{
    HK_LOCAL const struct hk_matrix *m = &shared->k_rows;
    const hk_i64 row = shared->k_at[place], at = shared->scales.k_at[place];
    const float z = hk_row_element(m, row, t), scale = hk_scale_of(m, row, at, t, 0);

    return m->minima ? hk_fma(z, scale, hk_scale_of(m, row, at, t, 1)) : hk_mul(z, scale);
}

#if !HK_FEW
/* The scales of the group that begins with channel t0. */
HK_FN void hk_put_k_scales(const struct hk_group *g, hk_i32 id, hk_i64 t0)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_matrix *m = &shared->k_rows;
    hk_i32 i;

    HK_NO_UNROLL
    for (i = id; i < HK_BLOCK; i += HK_THREADS) {
        const hk_i64 row = shared->k_at[i], at = shared->scales.k_at[i];

        if (row == HK_NO_ROW)
            continue;
        shared->scales.k[i] = hk_scale_of(m, row, at, t0, 0);
        shared->scales.k_low[i] = hk_scale_of(m, row, at, t0, 1);
    }
}

HK_PIECE void hk_totals_clear(struct hk_mine *me)
{
    hk_i32 r, c;

    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        me->sum[r] = 0.0f;
        HK_UNROLL
        for (c = 0; c < 4; c++)
            me->total[r][c] = 0.0f;
    }
}

/* The HK_SLICE channels of Q from t0 on, their place in local memory, join the sums over the group,
 * where it has minima. Behind the last channel they are 0. */
HK_PIECE void hk_query_sums(const struct hk_group *g, hk_i32 id, hk_i32 t0, struct hk_mine *me)
{
    HK_LOCAL const float *q = g->shared->q + t0 * HK_Q_LINE + id / 16 * HK_TR;
    hk_i32 t, r;

    HK_MARK(qk);
    if (!g->shared->k_rows.minima)
        return;
    HK_NO_UNROLL
    for (t = 0; t < HK_SLICE; t++, q += HK_Q_LINE) {
        HK_UNROLL
        for (r = 0; r < HK_TR; r++)
            me->sum[r] = hk_add(me->sum[r], q[r]);
    }
}

/* s, what a group sums to, joins the totals. */
HK_PIECE void hk_totals_join(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL const struct hk_group_scales *scales = &g->shared->scales;
    const int minima = (int)g->shared->k_rows.minima;
    hk_i32 r, c;

    HK_MARK(qk);
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const float sum = me->sum[r];

        HK_UNROLL
        for (c = 0; c < 4; c++) {
            const hk_i32 place = id % 16 + 16 * c;
            const float total = hk_fma(me->s[r][c], scales->k[place], me->total[r][c]);

            me->total[r][c] = minima ? hk_fma(sum, scales->k_low[place], total) : total;
            me->s[r][c] = 0.0f;
        }
        me->sum[r] = 0.0f;
    }
}

/* The score is the total. */
HK_PIECE void hk_totals_take(struct hk_mine *me)
{
    hk_i32 r, c;

    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        HK_UNROLL
        for (c = 0; c < 4; c++)
            me->s[r][c] = me->total[r][c];
    }
}

/* ---- V ---- */

/* The scales of HK_KEYS keys from place k0 on; NaN is returned where one is not finite. */
HK_FN float hk_put_v_scales(const struct hk_group *g, hk_i32 id, hk_i32 k0)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_matrix *m = &shared->v_rows;
    float good = 0.0f;
    hk_i32 i;

    HK_NO_UNROLL
    for (i = id; i < HK_KEYS * HK_V_GROUPS; i += HK_THREADS) {
        const hk_i32 key = k0 + i / HK_V_GROUPS;
        const hk_i64 row = shared->v_at[key], at = shared->scales.v_at[key];
        const hk_i64 t = g->pass + i % HK_V_GROUPS * HK_BLOCK_CHANNELS;
        float scale = 0.0f, low = 0.0f;

        if (row != HK_NO_ROW && t < g->call->plan->d_v) {
            scale = hk_scale_of(m, row, at, t, 0);
            low = hk_scale_of(m, row, at, t, 1);
        }
        good = hk_finite_so_far(low, hk_finite_so_far(scale, good));
        shared->scales.v[i] = scale;
        shared->scales.v_low[i] = low;
    }
    return good;
}

/* Of four channels of a thread, from c on: their group in scales.v of a key. */
HK_FN hk_i32 hk_value_group(hk_i32 id, hk_i32 c)
{
    return hk_channel(id % 16, c) / HK_BLOCK_CHANNELS;
}

/* Step 7 of one key of the slice at hand, number t, whose weights are a. */
HK_PIECE void hk_value_scaled(const struct hk_group *g, hk_i32 id, hk_i32 t, const float *a,
                              const float *b, const int careful, struct hk_mine *me)
{
    HK_LOCAL const struct hk_group_scales *scales = &g->shared->scales;
    hk_i32 r, c, j;

    HK_UNROLL
    for (c = 0; c < HK_TC; c += 4) {
        const hk_i32 n = t * HK_V_GROUPS + hk_value_group(id, c);
        const float scale = scales->v[n], low = scales->v_low[n];

        HK_UNROLL
        for (r = 0; r < HK_TR; r++) {
            const int seen = !careful || hk_word(a[r]) != HK_REMOVED;
            const float w = hk_mul(a[r], scale), sum = hk_fma(a[r], low, me->low[r][c / 4]);

            me->low[r][c / 4] = seen ? sum : me->low[r][c / 4];
            HK_UNROLL
            for (j = c; j < c + 4; j++) {
                const float o = hk_fma(w, b[j], me->o[r][j]);

                me->o[r][j] = seen ? o : me->o[r][j];
            }
        }
    }
}

/* Sums of minima begin with a chunk, follow their rows' references, and where the chunk ends join
 * the channels of their groups. */
HK_PIECE void hk_lows_clear(struct hk_mine *me)
{
    hk_i32 r, c;

    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        HK_UNROLL
        for (c = 0; c < HK_TC / 4; c++)
            me->low[r][c] = 0.0f;
    }
}

HK_PIECE void hk_lows_follow(hk_i32 r, float w, struct hk_mine *me)
{
    hk_i32 c;

    HK_UNROLL
    for (c = 0; c < HK_TC / 4; c++)
        me->low[r][c] = hk_mul(me->low[r][c], w);
}

HK_PIECE void hk_lows_join(struct hk_mine *me)
{
    hk_i32 r, c;

    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        HK_UNROLL
        for (c = 0; c < HK_TC; c++)
            me->o[r][c] = hk_add(me->o[r][c], me->low[r][c / 4]);
    }
}

#endif
#endif

#endif
