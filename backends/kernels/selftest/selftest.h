/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the self-test computes: every operation that docs/numerics.md allows and every function of
 * numerics.h, on inputs made by backends/device/selftest.c, which runs this as C17 and compares
 * with what selftest.cl wrote. With HK_VECTORS 1 (dialect.h) once more with vectors.
 */
#ifndef HEED_BACKENDS_KERNELS_SELFTEST_SELFTEST_H
#define HEED_BACKENDS_KERNELS_SELFTEST_SELFTEST_H

#include "../functions.h"
#include "../types.h"

enum { HK_TEST_LANES = 16 };

/* 16 sets of operands; half: a pattern of f16, or of bf16. */
struct hk_test_input {
    float a[16], b[16], c[16];
    float divisor[16];          /* numbers that recip is defined for */
    hk_u16 half_word[16];
    hk_i8 byte[16];
    float row[48];              /* of a, then others: rows of matrices begin at every second one */
    hk_u16 half_row[48];
};

/* Their order is that in which the self-test looks for a reason. */
enum {
    HK_TEST_FMA = 0,
    HK_TEST_ADD,
    HK_TEST_SUB,
    HK_TEST_MUL,
    HK_TEST_RINT,
    HK_TEST_COMPARE, /* a number of bits */
    HK_TEST_FROM_F16,
    HK_TEST_FROM_BF16,
    HK_TEST_FROM_I8,
#define HK_TEST_SMALL(NAME, name, number, elements, bytes, arg)                                    \
    HK_TEST_FROM_##NAME, HK_TEST_TO_##NAME,     /* the second is the pattern */
    HK_SMALL_TYPES(HK_TEST_SMALL, 0)
#undef HK_TEST_SMALL
        HK_TEST_TO_F16, /* the pattern */
    HK_TEST_TO_BF16,    /* the pattern */
    HK_TEST_FROM_I64,
    HK_TEST_CANONICAL,
    HK_TEST_POWER,
    HK_TEST_WEIGHT,
    HK_TEST_INVERSE,
    HK_TEST_TANH,
    HK_TEST_LSE,
    HK_TEST_INVERSE_ROOT,
    HK_TEST_EXP,
    HK_TEST_SIGMOID,
    HK_TEST_GELU,
    HK_TEST_STEPS
};
enum {
    HK_TEST_V_FMA = 0,
    HK_TEST_V_ADD,
    HK_TEST_V_SUB,
    HK_TEST_V_MUL,
    HK_TEST_V_RINT,
    HK_TEST_V_COMPARE,          /* a sum of selected numbers */
    HK_TEST_V_ACROSS,           /* largest, smallest, mask, mask of a mask; the others 0 */
    HK_TEST_V_FROM_F16,
    HK_TEST_V_FROM_BF16,
    HK_TEST_V_FROM_I8,
#define HK_TEST_SMALL(NAME, name, number, elements, bytes, arg)                                    \
    HK_TEST_V_FROM_##NAME, HK_TEST_V_TO_##NAME,
    HK_SMALL_TYPES(HK_TEST_SMALL, 0)
#undef HK_TEST_SMALL
    HK_TEST_V_TO_F16,
    HK_TEST_V_TO_BF16,
    HK_TEST_V_WEIGHT,
    HK_TEST_V_INVERSE,
    HK_TEST_V_TANH,
    HK_TEST_V_EXP,
    HK_TEST_V_SIGMOID,
    HK_TEST_V_GELU,
    HK_TEST_V_PAIRS,            /* halves, parted into even and odd places and joined again */
    HK_TEST_V_PACK,             /* 16 x 16, so 16 steps each */
    HK_TEST_V_PACK_F16 = HK_TEST_V_PACK + 16,
    HK_TEST_V_PACK_BF16 = HK_TEST_V_PACK_F16 + 16,
    HK_TEST_V_STEPS = HK_TEST_V_PACK_BF16 + 16
};

/* A group's output: HK_TEST_MARK + whether there are vectors; then lanes of each step, then lanes
 * of each vector step. */
#define HK_TEST_MARK 0x48454530u
#define HK_TEST_SCALARS 16
#define HK_TEST_VECTORS (HK_TEST_SCALARS + HK_TEST_STEPS * HK_TEST_LANES)
#define HK_TEST_WORDS (HK_TEST_VECTORS + HK_TEST_V_STEPS * HK_TEST_LANES)

HK_FN hk_u32 hk_test_compare(float a, float b)
{
    return (hk_u32)hk_less(a, b) | (hk_u32)hk_not_less(a, b) << 1 | (hk_u32)hk_ordered(a) << 3 |
           (hk_max_f(a, b) == a ? 16u : 0) |
           (hk_min_f(a, b) == a ? 32u : 0) | (a == b ? 64u : 0) | (a != b ? 128u : 0);
}

HK_FN hk_u32 hk_test_step(hk_u32 step, HK_GLOBAL const struct hk_test_input *in, hk_i32 lane)
{
    const float a = in->a[lane], b = in->b[lane], c = in->c[lane];
    const hk_u8 byte = (hk_u8)in->byte[lane];
    hk_u8 bits;

    switch (step) {
    case HK_TEST_FMA:
        return hk_word(hk_fma(a, b, c));
    case HK_TEST_ADD:
        return hk_word(hk_add(a, b));
    case HK_TEST_SUB:
        return hk_word(hk_sub(a, b));
    case HK_TEST_MUL:
        return hk_word(hk_mul(a, b));
    case HK_TEST_RINT:
        return hk_word(hk_rint(a));
    case HK_TEST_COMPARE:
        return hk_test_compare(a, b);
    case HK_TEST_FROM_F16:
        return hk_word(hk_load_f16(in->half_word + lane));
    case HK_TEST_FROM_BF16:
        return hk_word(hk_from_bf16(in->half_word[lane]));
    case HK_TEST_FROM_I8:
        return hk_word(hk_from_i8(in->byte[lane]));
#define HK_TEST_SMALL(NAME, name, number, elements, bytes, arg)                                    \
    case HK_TEST_FROM_##NAME:                                                                      \
        return hk_word(hk_get_##name(&byte));                                                      \
    case HK_TEST_TO_##NAME:                                                                        \
        hk_put_##name(&bits, a);                                                                   \
        return bits;
    HK_SMALL_TYPES(HK_TEST_SMALL, 0)
#undef HK_TEST_SMALL
    case HK_TEST_TO_F16:
        return hk_to_f16(hk_add(a, 0.0f));
    case HK_TEST_TO_BF16:
        return hk_to_bf16(hk_add(a, 0.0f));
    case HK_TEST_FROM_I64:
        return hk_word(hk_from_i64((hk_i64)(
            ((hk_u64)hk_word(a) << 32 | hk_word(b)) >> (2 + hk_word(c) % 60))));
    case HK_TEST_CANONICAL:
        return hk_word(hk_canonical(a));
    case HK_TEST_POWER:
        return hk_word(hk_power(hk_float(hk_word(hk_rint(a)) | 0x80000000u)));
    case HK_TEST_WEIGHT:
        return hk_word(hk_weight(a, hk_row_max(hk_max_f(a, b))));
    case HK_TEST_INVERSE:
        return hk_word(hk_inverse(in->divisor[lane]));
    case HK_TEST_TANH:
        return hk_word(hk_cap_tanh(a));
    case HK_TEST_LSE:
        return hk_word(hk_lse(hk_rint(b), in->divisor[lane]));
    case HK_TEST_INVERSE_ROOT:
        return hk_word(hk_inverse_root(a));
    default:
        return hk_word(hk_canonical(step == HK_TEST_EXP       ? hk_exp_e(a)
                                    : step == HK_TEST_SIGMOID ? hk_sigmoid(a)
                                                              : hk_gelu(a)));
    }
}

HK_FN void hk_test_scalars(HK_GLOBAL const struct hk_test_input *in, HK_GLOBAL hk_u32 *out)
{
    hk_u32 step;
    hk_i32 lane;

    for (step = 0; step < HK_TEST_STEPS; step++) {
        for (lane = 0; lane < HK_TEST_LANES; lane++)
            out[HK_TEST_SCALARS + step * HK_TEST_LANES + (hk_u32)lane] =
                hk_test_step(step, in, lane);
    }
}

#if HK_VECTORS

/* Two to the power of its place for every comparison that holds. */
HK_FN hk_vec hk_test_v_compare(hk_vec a, hk_vec b)
{
    hk_vec sum = hkv_keep(hkv_less(a, b), hkv_set(1.0f));

    sum = hkv_add(sum, hkv_keep(hkv_not_less(a, b), hkv_set(2.0f)));
    sum = hkv_add(sum, hkv_keep(hkv_ordered(a), hkv_set(8.0f)));
    sum = hkv_add(sum, hkv_keep(hkv_not_equal(hkv_max_f(a, b), a), hkv_set(16.0f)));
    sum = hkv_add(sum, hkv_keep(hkv_not_equal(hkv_min_f(a, b), a), hkv_set(32.0f)));
    return hkv_add(sum, hkv_select(hkv_not_equal(a, b), hkv_set(64.0f), hkv_set(0.0f)));
}

/* Across all 16, vector by vector. (The largest and the smallest may be a zero of either sign.) */
HK_FN void hk_test_across(HK_GLOBAL const struct hk_test_input *in, HK_GLOBAL hk_u32 *out)
{
    const hk_u32 bits = hk_word(in->c[0]);
    float max = -HK_INFINITY, min = HK_INFINITY;
    hk_i32 lane;

    for (lane = 2; lane < HK_TEST_LANES; lane++)
        out[lane] = 0;
    for (lane = 0; lane < HK_TEST_LANES; lane += HKV_LANES) {
        const hk_vec a = hkv_load(in->a + lane), b = hkv_load(in->b + lane);
        const hk_vec number = hkv_keep(hkv_ordered(b), b);

        max = hk_max_f(hkv_max_across(number), max);
        min = hk_min_f(hkv_min_across(number), min);
        out[2] |= hkv_word(hkv_less(a, b)) << lane;
        out[3] |= hkv_word(hkv_bits(bits >> lane & (0xffffu >> (16 - HKV_LANES)))) << lane;
    }
    out[0] = hk_word(hk_add(max, 0.0f));
    out[1] = hk_word(hk_add(min, 0.0f));
}

/* A half is a word of the output. */
HK_FN void hk_test_v_store(hk_u32 step, HK_GLOBAL const struct hk_test_input *in,
                           HK_GLOBAL hk_u32 *out)
{
    hk_u16 halves[HKV_LANES];
    hk_i32 lane, i;

    for (lane = 0; lane < HK_TEST_LANES; lane += HKV_LANES) {
        if (step == HK_TEST_V_TO_F16)
            hkv_store_f16(halves, hkv_load(in->a + lane));
        else
            hkv_store_bf16(halves, hkv_load(in->a + lane));
        for (i = 0; i < HKV_LANES; i++)
            out[lane + i] = halves[i];
    }
}

/* A type's byte is a word of the output; 0: the step is of no such type. */
HK_FN int hk_test_v_bytes(hk_u32 step, HK_GLOBAL const struct hk_test_input *in,
                          HK_GLOBAL hk_u32 *out)
{
    hk_u8 bytes[HKV_LANES];
    hk_i32 lane, i;

    for (lane = 0; lane < HK_TEST_LANES; lane += HKV_LANES) {
        const hk_vec a = hkv_load(in->a + lane);

        switch (step) {
#define HK_TEST_SMALL(NAME, name, number, elements, size, arg)                                     \
    case HK_TEST_V_TO_##NAME:                                                                      \
        hkv_put_##name(bytes, a);                                                                  \
        break;
            HK_SMALL_TYPES(HK_TEST_SMALL, 0)
#undef HK_TEST_SMALL
        default:
            return 0;
        }
        for (i = 0; i < HKV_LANES; i++)
            out[lane + i] = bytes[i];
    }
    return 1;
}

/* 16 rows of as many channels to columns. Row r begins at element 2 r of its array. */
HK_FN void hk_test_v_pack(hk_u32 step, HK_GLOBAL const struct hk_test_input *in,
                          HK_GLOBAL float *out)
{
    const hk_i64 channels = step == HK_TEST_V_PACK_BF16  ? HKV_PACK_BF16
                            : step == HK_TEST_V_PACK_F16 ? HKV_PACK_F16
                                                         : HKV_PACK;
    hk_i64 r, i, t;

    for (r = 0; r < HK_TEST_LANES; r += HKV_PACK) {
        HK_GLOBAL const float *rows[HKV_PACK];
        HK_GLOBAL const hk_u16 *halves[HKV_PACK];

        for (i = 0; i < HKV_PACK; i++) {
            rows[i] = in->row + 2 * (r + i);
            halves[i] = in->half_row + 2 * (r + i);
        }
        for (t = 0; t < HK_TEST_LANES; t += channels) {
            HK_GLOBAL float *to = out + t * HK_TEST_LANES + r;

            if (step == HK_TEST_V_PACK)
                hkv_pack(rows, t, to, HK_TEST_LANES);
            else if (step == HK_TEST_V_PACK_F16)
                hkv_pack_f16(halves, t, to, HK_TEST_LANES);
            else
                hkv_pack_bf16(halves, t, to, HK_TEST_LANES);
        }
    }
}

/* Halves as they lie, by way of even and odd places: two vectors at a time, one of 16 lanes. */
HK_FN void hk_test_v_pairs(HK_GLOBAL const struct hk_test_input *in, HK_GLOBAL float *out)
{
    hk_i32 lane;

    for (lane = 0; lane < HK_TEST_LANES; lane += 2 * HKV_LANES) {
        hk_vec a[2], b[2];

        hkv_load_pairs_bf16(in->half_row + lane, a);
        b[0] = a[0];
        b[1] = a[1];
        hkv_join_pairs(b);
        hkv_part_pairs(b);
        hkv_join_pairs(b);
        hkv_store(out + lane, b[0]);
        if (lane + HKV_LANES < HK_TEST_LANES)
            hkv_store(out + lane + HKV_LANES, b[1]);
    }
}

HK_FN hk_vec hk_test_v_step(hk_u32 step, HK_GLOBAL const struct hk_test_input *in, hk_i32 lane)
{
    const hk_vec a = hkv_load(in->a + lane), b = hkv_load(in->b + lane);
    const hk_vec m = hkv_add(hkv_rint(hkv_max_f(a, b)), hkv_set(1.0f));

    switch (step) {
    case HK_TEST_V_FMA:
        return hkv_fma(a, b, hkv_load(in->c + lane));
    case HK_TEST_V_ADD:
        return hkv_add(a, b);
    case HK_TEST_V_SUB:
        return hkv_sub(a, b);
    case HK_TEST_V_MUL:
        return hkv_mul(a, b);
    case HK_TEST_V_RINT:
        return hkv_rint(a);
    case HK_TEST_V_COMPARE:
        return hk_test_v_compare(a, b);
    case HK_TEST_V_FROM_F16:
        return hkv_load_f16(in->half_word + lane);
    case HK_TEST_V_FROM_BF16:
        return hkv_load_bf16(in->half_word + lane);
    case HK_TEST_V_FROM_I8:
        return hkv_load_i8(in->byte + lane);
#define HK_TEST_SMALL(NAME, name, number, elements, bytes, arg)                                    \
    case HK_TEST_V_FROM_##NAME:                                                                    \
        return hkv_get_##name((HK_GLOBAL const hk_u8 *)in->byte + lane);
    HK_SMALL_TYPES(HK_TEST_SMALL, 0)
#undef HK_TEST_SMALL
    case HK_TEST_V_WEIGHT:
        return hkv_weight(a, m);
    case HK_TEST_V_INVERSE:
        return hkv_inverse(hkv_load(in->divisor + lane));
    case HK_TEST_V_TANH:
        return hkv_cap_tanh(a);
    case HK_TEST_V_EXP:
        return hkv_canonical(hkv_exp_e(a));
    case HK_TEST_V_SIGMOID:
        return hkv_canonical(hkv_sigmoid(a));
    case HK_TEST_V_GELU:
        return hkv_canonical(hkv_gelu(a));
    }
    HK_UNREACHABLE();           /* ACROSS and what is stored have no vector of f32 */
    return a;
}

HK_FN void hk_test_vectors(HK_GLOBAL const struct hk_test_input *in, HK_GLOBAL hk_u32 *out)
{
    hk_u32 step;
    hk_i32 lane;

    out += HK_TEST_VECTORS;
    for (step = 0; step < HK_TEST_V_STEPS; step++, out += HK_TEST_LANES) {
        if (step == HK_TEST_V_ACROSS) {
            hk_test_across(in, out);
            continue;
        }
        if (step == HK_TEST_V_TO_F16 || step == HK_TEST_V_TO_BF16) {
            hk_test_v_store(step, in, out);
            continue;
        }
        if (hk_test_v_bytes(step, in, out))
            continue;
        if (step == HK_TEST_V_PAIRS) {
            hk_test_v_pairs(in, (HK_GLOBAL float *)out);
            continue;
        }
        if (step >= HK_TEST_V_PACK) {
            if ((step - HK_TEST_V_PACK) % 16 == 0)
                hk_test_v_pack(step, in, (HK_GLOBAL float *)out);
            continue;
        }
        for (lane = 0; lane < HK_TEST_LANES; lane += HKV_LANES)
            hkv_store((HK_GLOBAL float *)(out + lane), hk_test_v_step(step, in, lane));
    }
}

#endif

/* All of a group's output. */
HK_FN void hk_test_group(HK_GLOBAL const struct hk_test_input *in, HK_GLOBAL hk_u32 *out)
{
    hk_u32 mark = HK_TEST_MARK;

    hk_test_scalars(in, out);
#if HK_VECTORS
    hk_test_vectors(in, out);
    mark++;
#endif
    out[0] = mark;
}

#endif
