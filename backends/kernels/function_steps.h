/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of docs/numerics.md section 14 for one element type: functions.h includes this once
 * for float and once for vectors; HK_T: the type, HK_OP(name): its words, HK_STEP: functions. (No
 * guard.) A max_f or min_f whose second operand is x keeps a NaN.
 */

HK_STEP HK_T HK_OP(minus)(HK_T x)
{
    return HK_OP(sub)(HK_OP(set)(-0.0f), x);
}

/* e^x: whole powers of two join in two halves, so that subnormals are rounded once. */
HK_STEP HK_T HK_OP(exp_e)(HK_T x)
{
    HK_T r, f, low;

    x = HK_OP(max_f)(HK_OP(set)(-104.0f), x);
    x = HK_OP(min_f)(HK_OP(set)(89.0f), x);
    r = HK_OP(rint)(HK_OP(mul)(x, HK_OP(set)(HK_LOG2_E)));
    f = HK_OP(fma)(x, HK_OP(set)(HK_LOG2_E), HK_OP(minus)(r));
    f = HK_OP(fma)(x, HK_OP(set)(HK_LOG2_E_REST), f);
    low = HK_OP(rint)(HK_OP(mul)(r, HK_OP(set)(0.5f)));
    f = HK_OP(scale2)(HK_OP(exp_poly)(f), low);
    return HK_OP(mul)(f, HK_OP(scale2)(HK_OP(set)(1.0f), HK_OP(sub)(r, low)));
}

/* 1 / (1 + e^-x), by the e^ that is at most 1. */
HK_STEP HK_T HK_OP(sigmoid)(HK_T x)
{
    const HK_T e = HK_OP(exp_e)(HK_OP(minus)(HK_OP(abs_f)(x)));
    const HK_T i = HK_OP(inverse)(HK_OP(add)(e, HK_OP(set)(1.0f)));

    return HK_OP(select)(HK_OP(less)(x, HK_OP(set)(0.0f)), HK_OP(mul)(e, i), i);
}

HK_STEP HK_T HK_OP(silu)(HK_T x)
{
    x = HK_OP(max_f)(HK_OP(set)(-104.0f), x);
    return HK_OP(mul)(x, HK_OP(sigmoid)(x));
}

HK_STEP HK_T HK_OP(gelu_tanh)(HK_T x)
{
    HK_T z;

    x = HK_OP(max_f)(HK_OP(set)(-16.0f), x);
    z = HK_OP(fma)(HK_OP(mul)(x, x), HK_OP(set)(0x1.2444f2p-4f), HK_OP(set)(0x1.988454p+0f));
    return HK_OP(mul)(x, HK_OP(sigmoid)(HK_OP(mul)(x, z)));
}

/* log2 of the share of the normal distribution above a, plus 1 and a^2 / 2 log2 e, over a. */
HK_STEP HK_T HK_OP(tail_poly)(HK_T a)
{
    const HK_T s = HK_OP(sub)(a, HK_OP(set)(3.0f));
    HK_T p = HK_OP(set)(0x1.6eb768p-29f);

    p = HK_OP(fma)(p, s, HK_OP(set)(-0x1.3c81a2p-26f));
    p = HK_OP(fma)(p, s, HK_OP(set)(0x1.3ed3d6p-25f));
    p = HK_OP(fma)(p, s, HK_OP(set)(0x1.01b484p-23f));
    p = HK_OP(fma)(p, s, HK_OP(set)(-0x1.5f0c9ap-19f));
    p = HK_OP(fma)(p, s, HK_OP(set)(0x1.e7bf14p-16f));
    p = HK_OP(fma)(p, s, HK_OP(set)(-0x1.070edap-12f));
    p = HK_OP(fma)(p, s, HK_OP(set)(0x1.efa8fep-10f));
    p = HK_OP(fma)(p, s, HK_OP(set)(-0x1.b1d08p-7f));
    p = HK_OP(fma)(p, s, HK_OP(set)(0x1.732832p-4f));
    return HK_OP(fma)(p, s, HK_OP(set)(-0x1.5c4c2ep-1f));
}

/* The square is exact, as q + e: its exponent is the large one. */
HK_STEP HK_T HK_OP(gelu)(HK_T x)
{
    const HK_T a = HK_OP(min_f)(HK_OP(abs_f)(x), HK_OP(set)(14.0f)), q = HK_OP(mul)(a, a);
    const HK_T e = HK_OP(fma)(a, a, HK_OP(minus)(q)), b = HK_OP(min_f)(a, HK_OP(set)(5.75f));
    const HK_T p = HK_OP(tail_poly)(b), by = HK_OP(set)(-0.5f * HK_LOG2_E);
    const HK_T r = HK_OP(rint)(HK_OP(fma)(q, by, HK_OP(mul)(b, p)));
    const HK_T g = HK_OP(sub)(r, HK_OP(set)(1.0f));
    HK_T f = HK_OP(fma)(q, by, HK_OP(minus)(r)), tail;

    f = HK_OP(fma)(q, HK_OP(set)(-0.5f * HK_LOG2_E_REST), f);
    f = HK_OP(fma)(e, by, f);
    f = HK_OP(fma)(b, p, f);
    tail = HK_OP(keep)(HK_OP(not_less)(g, HK_OP(set)(-100.0f)),
                       HK_OP(scale2)(HK_OP(exp_poly)(f), g));
    return HK_OP(mul)(HK_OP(max_f)(HK_OP(set)(-14.0f), x),
                      HK_OP(select)(HK_OP(less)(x, HK_OP(set)(0.0f)), tail,
                                    HK_OP(sub)(HK_OP(set)(1.0f), tail)));
}

/* 1 / x: powers of two bring it to where inverse() is defined, and join the result again. */
HK_STEP HK_T HK_OP(inverse_of_any)(HK_T x)
{
    const HK_T one = HK_OP(set)(1.0f), up = HK_OP(set)(0x1p64f), least = HK_OP(set)(0x1p-3f);
    const HK_T a = HK_OP(abs_f)(x);
    const HK_T f = HK_OP(select)(HK_OP(less)(a, least), up,
                                 HK_OP(select)(HK_OP(less)(a, up), one, HK_OP(set)(0x1p-64f)));
    const HK_T b = HK_OP(mul)(a, f), g = HK_OP(select)(HK_OP(less)(b, least), up, one);
    const HK_T c = HK_OP(mul)(b, g), h = HK_OP(select)(HK_OP(less)(c, least), up, one);
    HK_T r = HK_OP(inverse)(HK_OP(mul)(c, h));

    r = HK_OP(mul)(HK_OP(mul)(HK_OP(mul)(r, h), g), f);
    r = HK_OP(select)(HK_OP(less)(a, HK_OP(set)(HK_INFINITY)), r, HK_OP(set)(0.0f));
    r = HK_OP(select)(HK_OP(less)(HK_OP(set)(0.0f), a), r, HK_OP(set)(HK_INFINITY));
    return HK_OP(select)(HK_OP(ordered)(x), HK_OP(sign_f)(r, x), x);
}

/* kind: HK_ACT_*. */
HK_STEP HK_T HK_OP(activate)(hk_u32 kind, HK_T x)
{
    const HK_T zero = HK_OP(set)(0.0f);

    switch (kind) {
    case HK_ACT_RELU:
        return HK_OP(max_f)(zero, x);
    case HK_ACT_GELU:
        return HK_OP(gelu)(x);
    case HK_ACT_GELU_TANH:
        return HK_OP(gelu_tanh)(x);
    case HK_ACT_SILU:
        return HK_OP(silu)(x);
    case HK_ACT_TANH:
        return HK_OP(cap_tanh)(x);
    case HK_ACT_SIGMOID:
        return HK_OP(sigmoid)(x);
    case HK_ACT_EXP:
        return HK_OP(exp_e)(x);
    case HK_ACT_ELU_PLUS_ONE:
        return HK_OP(select)(HK_OP(less)(zero, x), HK_OP(add)(x, HK_OP(set)(1.0f)),
                             HK_OP(exp_e)(x));
    case HK_ACT_INVERSE:
        return HK_OP(inverse_of_any)(x);
    case HK_ACT_NONE:
        return x;
    }
    HK_UNREACHABLE();
    return x;
}
