/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * HKV_WIDE vectors side by side, and the words of a vector for them. The steps of a function wait
 * for each other: with those of several vectors in turn a processor has something to do meanwhile,
 * which it does not find by itself where a function has more steps than its queue has places. A
 * vocabulary that defines HKV_WIDE has these words. The bits are those of the vectors.
 */
#ifndef HEED_BACKENDS_KERNELS_WIDE_H
#define HEED_BACKENDS_KERNELS_WIDE_H

#include "numerics.h"

#ifdef HKV_WIDE

#define HKW_LANES (HKV_WIDE * HKV_LANES)

typedef struct {
    hk_vec v[HKV_WIDE];
} hk_wide;

typedef struct {
    hk_vmask v[HKV_WIDE];
} hk_wide_mask;

#define HKW_EACH(type, expression)                                                                 \
    type out;                                                                                      \
    int i;                                                                                         \
                                                                                                   \
    HK_UNROLL                                                                                      \
    for (i = 0; i < HKV_WIDE; i++)                                                                 \
        out.v[i] = expression;                                                                     \
    return out

HK_INLINE hk_wide hkw_set(float x) { HKW_EACH(hk_wide, hkv_set(x)); }

#define HKW_ONE(name)                                                                              \
    HK_INLINE hk_wide hkw_##name(hk_wide a) { HKW_EACH(hk_wide, hkv_##name(a.v[i])); }
#define HKW_TWO(name)                                                                              \
    HK_INLINE hk_wide hkw_##name(hk_wide a, hk_wide b)                                             \
    {                                                                                              \
        HKW_EACH(hk_wide, hkv_##name(a.v[i], b.v[i]));                                             \
    }
#define HKW_COMPARE(name)                                                                          \
    HK_INLINE hk_wide_mask hkw_##name(hk_wide a, hk_wide b)                                        \
    {                                                                                              \
        HKW_EACH(hk_wide_mask, hkv_##name(a.v[i], b.v[i]));                                        \
    }
HKW_ONE(rint)
HKW_ONE(abs_f)
HKW_ONE(recip)
HKW_TWO(add)
HKW_TWO(sub)
HKW_TWO(mul)
HKW_TWO(max_f)
HKW_TWO(min_f)
HKW_TWO(sign_f)
HKW_TWO(scale2)
HKW_COMPARE(less)
HKW_COMPARE(not_less)
#undef HKW_ONE
#undef HKW_TWO
#undef HKW_COMPARE

HK_INLINE hk_wide hkw_fma(hk_wide a, hk_wide b, hk_wide c)
{
    HKW_EACH(hk_wide, hkv_fma(a.v[i], b.v[i], c.v[i]));
}

HK_INLINE hk_wide_mask hkw_ordered(hk_wide a) { HKW_EACH(hk_wide_mask, hkv_ordered(a.v[i])); }

HK_INLINE hk_wide hkw_select(hk_wide_mask m, hk_wide a, hk_wide b)
{
    HKW_EACH(hk_wide, hkv_select(m.v[i], a.v[i], b.v[i]));
}

HK_INLINE hk_wide hkw_keep(hk_wide_mask m, hk_wide a)
{
    HKW_EACH(hk_wide, hkv_keep(m.v[i], a.v[i]));
}
#undef HKW_EACH

#define HK_STEP HK_INLINE
#define HK_T hk_wide
#define HK_OP(name) hkw_##name
#include "steps.h"
#undef HK_STEP
#undef HK_T
#undef HK_OP

#endif

#endif
