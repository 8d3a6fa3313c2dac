/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What every kernel's call has, whatever the operation: how many buffers there are, and what lies
 * where in them.
 */
#ifndef HEED_BACKENDS_KERNELS_BUFFERS_H
#define HEED_BACKENDS_KERNELS_BUFFERS_H

#include "types.h"

/* Buffer i is operand i of the plan (lib/plan.h); the last one is the workspace. */
#if HK_LARGE
#define HK_BUFFERS 102
#else
#define HK_BUFFERS 29
#endif
enum { HK_BUF_WORK = HK_BUFFERS - 1 };

/* An array without elements may have no address. */
HK_FN HK_GLOBAL const char *hk_byte(HK_GLOBAL const char *base, hk_i64 bytes)
{
    return base ? base + bytes : base;
}

HK_FN hk_i64 hk_integer(hk_u32 dtype, HK_GLOBAL const char *base, hk_i64 index)
{
    if (dtype == HK_I32)
        return ((HK_GLOBAL const hk_i32 *)base)[index];
    if (dtype == HK_I64)
        return ((HK_GLOBAL const hk_i64 *)base)[index];
    HK_UNREACHABLE();
    return 0;
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
