/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: weights times values (docs/numerics.md step 7).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_VALUES_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_VALUES_H

#include "group_scales.h"

#if HK_SCALES
/* Step 7 of a slice; careful: some V or scale of it is not finite; removed keys are left out. */
HK_PIECE void hk_value_keys(const struct hk_group *g, hk_i32 id, hk_i32 k0, const int careful,
                            struct hk_mine *me)
{
    HK_LOCAL const float *v = g->shared->in.v + id % 16 * 4;
    HK_LOCAL const float *p = g->shared->out.p + k0 % HK_GROUP_KEYS * HK_P_LINE + id / 16 * HK_TR;
    const hk_i32 n = careful && !g->shared->poison ? 0 : HK_KEYS; /* compilers unroll what they
                                                                     * can count */
    hk_i32 t, r, c;

    HK_NO_UNROLL
    for (t = 0; t < n; t++, v += HK_WIDTH, p += HK_P_LINE) {
        float a[HK_TR], b[HK_TC];

        HK_UNROLL
        for (r = 0; r < HK_TR; r += 4)
            hk_local_get4(p + r, a + r);
        HK_UNROLL
        for (c = 0; c < HK_TC; c += 4)
            hk_local_get4(v + c * 16, b + c);
        hk_value_scaled(g, id, t, a, b, careful, me);
    }
}

HK_PIECE void hk_value_slice(const struct hk_group *g, hk_i32 id, hk_i32 k0, struct hk_mine *me)
{
    HK_MARK(pv);
    hk_value_keys(g, id, k0, 0, me);
}

HK_PIECE void hk_value_slice_careful(const struct hk_group *g, hk_i32 id, hk_i32 k0,
                                     struct hk_mine *me)
{
    HK_MARK(cold);
    hk_value_keys(g, id, k0, 1, me);
}

#else

/* Step 7. A removed key's weight is -0, which a finite V leaves without effect (but for the sign of
 * a zero). */
HK_PIECE void hk_value_slice(const struct hk_group *g, hk_i32 id, hk_i32 k0, struct hk_mine *me)
{
    HK_LOCAL const float *v = g->shared->in.v + id % 16 * 4;
    HK_LOCAL const float *p = g->shared->out.p + k0 % HK_GROUP_KEYS * HK_P_LINE + id / 16 * HK_TR;
    hk_i32 t, u, r, c;

    HK_MARK(pv);
    HK_NO_UNROLL
    for (t = 0; t < HK_KEYS; t += HK_STEPS, v += HK_STEPS * HK_WIDTH, p += HK_STEPS * HK_P_LINE) {
        HK_UNROLL
        for (u = 0; u < HK_STEPS; u++) {
            float a[HK_TR], b[HK_TC];

            HK_UNROLL
            for (r = 0; r < HK_TR; r += 4)
                hk_local_get4(p + u * HK_P_LINE + r, a + r);
            HK_UNROLL
            for (c = 0; c < HK_TC; c += 4)
                hk_local_get4(v + u * HK_WIDTH + c * 16, b + c);
            HK_UNROLL
            for (r = 0; r < HK_TR; r++) {
                HK_UNROLL
                for (c = 0; c < HK_TC; c++)
                    me->o[r][c] = hk_fma(a[r], b[c], me->o[r][c]);
            }
        }
    }
}

/* The same where some V is not finite: removed keys are left out. */
HK_PIECE void hk_value_slice_careful(const struct hk_group *g, hk_i32 id, hk_i32 k0,
                                     struct hk_mine *me)
{
    HK_LOCAL const float *v = g->shared->in.v + id % 16 * 4;
    HK_LOCAL const float *p = g->shared->out.p + k0 % HK_GROUP_KEYS * HK_P_LINE + id / 16 * HK_TR;
    const hk_i32 n = g->shared->poison ? HK_KEYS : 0;   /* compilers unroll what they can count */
    hk_i32 t, r, c;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (t = 0; t < n; t++) {
        HK_UNROLL
        for (r = 0; r < HK_TR; r++) {
            const float a = p[t * HK_P_LINE + r];
            const int seen = hk_word(a) != HK_REMOVED;

            HK_UNROLL
            for (c = 0; c < HK_TC; c++) {
                const float o = hk_fma(a, v[t * HK_WIDTH + hk_channel(0, c)], me->o[r][c]);

                me->o[r][c] = seen ? o : me->o[r][c];
            }
        }
    }
}

#endif

#endif
