/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What every kernel's call has, whatever the operation: how many buffers there are, and how an
 * element of any type is read and written.
 */
#ifndef HEED_BACKENDS_KERNELS_BUFFERS_H
#define HEED_BACKENDS_KERNELS_BUFFERS_H

#include "dtypes.h"
#include "numerics.h"

/* Buffer i is operand i of the plan (lib/plan.h); the last one is the workspace. */
#if HK_LARGE
#define HK_BUFFERS 101
#else
#define HK_BUFFERS 29
#endif
enum { HK_BUF_WORK = HK_BUFFERS - 1 };

/* An array without elements may have no address. */
HK_FN HK_GLOBAL const char *hk_byte(HK_GLOBAL const char *base, hk_i64 bytes)
{
    return base ? base + bytes : base;
}

/* Two bits a type, of the logarithm; nothing to jump by. */
HK_FN hk_i64 hk_size(hk_u32 dtype)
{
    const hk_u64 shifts = (hk_u64)2 << 2 * HK_F32 | (hk_u64)1 << 2 * HK_F16 |
                          (hk_u64)1 << 2 * HK_BF16 | (hk_u64)2 << 2 * HK_I32 |
                          (hk_u64)3 << 2 * HK_I64;

    return (hk_i64)1 << (shifts >> 2 * dtype & 3);
}

HK_FN hk_i64 hk_integer(hk_u32 dtype, HK_GLOBAL const char *base, hk_i64 index)
{
    if (dtype == HK_I32)
        return ((HK_GLOBAL const hk_i32 *)base)[index];
    return ((HK_GLOBAL const hk_i64 *)base)[index];
}

HK_FN float hk_element(hk_u32 dtype, HK_GLOBAL const char *base, hk_i64 index)
{
    if (dtype == HK_F32)
        return ((HK_GLOBAL const float *)base)[index];
    if (dtype == HK_F16)
        return hk_load_f16((HK_GLOBAL const hk_u16 *)base + index);
    if (dtype != HK_BF16)       /* bytes have scales: their callers widen them */
        HK_UNREACHABLE();
    return hk_from_bf16(((HK_GLOBAL const hk_u16 *)base)[index]);
}

/* Steps 10 and 11: the way out of a value. */
HK_FN void hk_put(hk_u32 dtype, HK_GLOBAL char *base, hk_i64 index, float x)
{
    if (dtype == HK_F32)
        ((HK_GLOBAL float *)base)[index] = hk_canonical(x);
    else
        ((HK_GLOBAL hk_u16 *)base)[index] =
            dtype == HK_F16 ? hk_to_f16(hk_add(x, 0.0f)) : hk_to_bf16(hk_add(x, 0.0f));
}

/* Elements from batch item 0 to item b, whose last axis is the fastest. */
HK_FN hk_i64 hk_item_offset(HK_GLOBAL const hk_i64 *batch, HK_GLOBAL const hk_i64 *stride,
                            hk_i64 b)
{
    return b / (batch[1] * batch[2]) * stride[0] + b / batch[2] % batch[1] * stride[1] +
           b % batch[2] * stride[2];
}

HK_FN hk_i64 hk_clamp(hk_i64 x)
{
    return hk_max(hk_min(x, HK_POSITION_MAX), -HK_POSITION_MAX);
}

#endif
