/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The elementwise steps of docs/numerics.md for one element type: numerics.h includes this once for
 * float and once for vectors; HK_T: the type, HK_OP(name): its words, HK_STEP: functions. No guard.
 */

/* 2^f on [-1/2, 1/2] (step 6). */
HK_STEP HK_T HK_OP(exp_poly)(HK_T f)
{
    HK_T p = HK_OP(set)(HK_EXP_6);

    p = HK_OP(fma)(p, f, HK_OP(set)(HK_EXP_5));
    p = HK_OP(fma)(p, f, HK_OP(set)(HK_EXP_4));
    p = HK_OP(fma)(p, f, HK_OP(set)(HK_EXP_3));
    p = HK_OP(fma)(p, f, HK_OP(set)(HK_EXP_2));
    p = HK_OP(fma)(p, f, HK_OP(set)(HK_EXP_1));
    return HK_OP(fma)(p, f, HK_OP(set)(1.0f));
}

/* 2^(y - m) of a remaining score (step 6): NaN stays, below 2^-100 is +0. */
HK_STEP HK_T HK_OP(weight)(HK_T y, HK_T m)
{
    const HK_T r = HK_OP(rint)(y), g = HK_OP(sub)(r, m);
    const HK_T p = HK_OP(exp_poly)(HK_OP(sub)(y, r));

    return HK_OP(keep)(HK_OP(not_less)(g, HK_OP(set)(-100.0f)), HK_OP(scale2)(p, g));
}

/* RNE(1 / a) for a in [2^-3, 2^64), or NaN (step 10). Where there is no correctly rounded division:
 * Newton from an integer seed, right but for one mantissa, where it is one unit low. */
HK_STEP HK_T HK_OP(inverse)(HK_T a)
{
#ifdef HK_SOFT_RECIP
    HK_T x = HK_OP(recip_seed)(a);
    const HK_T one = HK_OP(set)(1.0f), minus = HK_OP(negate)(a);

    x = HK_OP(fma)(x, HK_OP(fma)(minus, x, one), x);
    x = HK_OP(fma)(x, HK_OP(fma)(minus, x, one), x);
    x = HK_OP(fma)(x, HK_OP(fma)(minus, x, one), x);
    x = HK_OP(fma)(x, HK_OP(fma)(minus, x, one), x);
    return HK_OP(recip_end)(x, a);
#else
    return HK_OP(recip)(a);
#endif
}

/* Softcap (Gemma Team 2024): TANH of step 3. */
HK_STEP HK_T HK_OP(cap_tanh)(HK_T x)
{
    const HK_T a = HK_OP(abs_f)(x), z = HK_OP(mul)(x, x), one = HK_OP(set)(1.0f);
    HK_T near = HK_OP(set)(-0x1.76b3ccp-8f), far, y, r;

    near = HK_OP(fma)(near, z, HK_OP(set)(0x1.5258cap-6f));
    near = HK_OP(fma)(near, z, HK_OP(set)(-0x1.b844a2p-5f));
    near = HK_OP(fma)(near, z, HK_OP(set)(0x1.11076cp-3f));
    near = HK_OP(fma)(near, z, HK_OP(set)(-0x1.555534p-2f));
    near = HK_OP(fma)(HK_OP(mul)(x, z), near, x);
    y = HK_OP(mul)(HK_OP(min_f)(a, HK_OP(set)(10.0f)), HK_OP(set)(2 * HK_LOG2_E));
    r = HK_OP(rint)(y);
    far = HK_OP(scale2)(HK_OP(exp_poly)(HK_OP(sub)(y, r)), r);
    far = HK_OP(fma)(HK_OP(set)(-2.0f), HK_OP(inverse)(HK_OP(add)(far, one)), one);
    far = HK_OP(sign_f)(far, x);
    return HK_OP(select)(HK_OP(ordered)(x),
                         HK_OP(select)(HK_OP(less)(a, HK_OP(set)(0.625f)), near, far), x);
}
