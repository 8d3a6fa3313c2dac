/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The words in which device code is written: the one place that knows whether a file under kernels/
 * is being compiled as OpenCL C, as CUDA or as plain C17. Prefix hk_ (heed kernel); hkv_ for
 * vectors of HKV_LANES floats (hk_vec, masks hk_vmask), from simd/, for files that define
 * HK_VECTORS 1 before this; CUDA has none and takes that back. In C17 HK_SIMD_HEADER names the
 * header, scalar by default. HK_ONE_LANE 1: vectors of one lane in every dialect, so that a text
 * that is written with vectors serves the threads of a work-group as well. HK_FOUR_LANES 1: of
 * four, which a thread asks of memory at one time.
 *
 * Arithmetic is written with words throughout (hk_add, not +): CUDA's are intrinsics that are never
 * merged into an fma, OpenCL and C are told not to.
 *
 * A work-group in C17 is a loop over its threads: what lies between two barriers stands in
 * HK_EACH(id) { ... }, and what an thread keeps beyond a barrier in an array of HK_MINE entries, of
 * which HK_OWN(id) is its own. HK_BARRIER orders what lies in local memory, HK_BARRIER_ALL also
 * what the group's threads write to global memory for each other.
 */
#ifndef HEED_BACKENDS_KERNELS_DIALECT_DIALECT_H
#define HEED_BACKENDS_KERNELS_DIALECT_DIALECT_H

#if defined __OPENCL_VERSION__ || defined __OPENCL_C_VERSION__
#include "dialect_opencl.h"
#elif defined __CUDACC__ || defined __CUDACC_RTC__
#include "dialect_cuda.h"
#else
#include "dialect_c17.h"
#endif

/* Address spaces of what spans.h is given by pointer; a kernel defines them before its includes. */
#ifndef HK_SUB_SPACE
#define HK_SUB_SPACE
#endif
#ifndef HK_TASK_SPACE
#define HK_TASK_SPACE
#endif
#ifndef HK_VIEW_SPACE
#define HK_VIEW_SPACE
#endif

/* What is written at many places and seldom run: out of line where a call costs no memory. */
#ifndef HK_RARE
#define HK_RARE HK_FN
#endif

#ifndef HK_ORDER
#define HK_ORDER() ((void)0)
#endif

/* p, which came from local memory, is to global memory: for compilers that cannot see it. */
#ifndef HK_IS_GLOBAL
#define HK_IS_GLOBAL(p) ((void)0)
#endif

/* What the block in which this stands is for: qk, pv, softmax, stage_q, stage_k, stage_v, walk,
 * cold (tests/gpu/marks.py reads the text; compilers see nothing). */
#define HK_MARK(name) ((void)0)

/* Likewise: the block runs in `few` of `all` turns of the loop around it. */
#define HK_PART(few, all) ((void)0)

/* What all dialects have in common. */

HK_FN hk_i64 hk_min(hk_i64 a, hk_i64 b)
{
    return a < b ? a : b;
}

HK_FN hk_i64 hk_max(hk_i64 a, hk_i64 b)
{
    return a > b ? a : b;
}

/* Selects that keep NaN out (hk_max_f: b if a is NaN), as docs/numerics.md step 5 wants. */
HK_FN float hk_max_f(float a, float b)
{
    return a > b ? a : b;
}

HK_FN float hk_min_f(float a, float b)
{
    return a < b ? a : b;
}

/* hk_max_f of a b that is never NaN, where either zero will do: one operation of a GPU. */
#ifndef HK_HAS_MAX_NUMBER
#define hk_max_number(a, b) hk_max_f(a, b)
#endif

HK_FN int hk_less(float a, float b)
{
    return a < b;
}

HK_FN int hk_not_less(float a, float b)
{
    return !(a < b);
}

HK_FN int hk_ordered(float a)
{
    return a == a;
}

HK_FN float hk_select(int m, float a, float b)
{
    return m ? a : b;
}

HK_FN float hk_keep(int m, float a)
{
    return m ? a : 0.0f;
}

HK_FN float hk_set(float a)
{
    return a;
}

HK_FN float hk_abs_f(float a)
{
    return hk_float(hk_word(a) & 0x7fffffffu);
}

HK_FN float hk_sign_f(float a, float from)
{
    return hk_float(hk_word(a) | (hk_word(from) & 0x80000000u));
}

HK_FN float hk_from_bf16(hk_u16 x)
{
    return hk_float((hk_u32)x << 16);
}

/* A half whose lowest bits are 0: of a byte the sign, and what lies below it, `up` bits higher. */
HK_FN float hk_from_half_byte(hk_u8 x, const int up)
{
    return hk_from_f16((hk_u16)((x & 0x80u) << 8 | (x & 0x7fu) << up));
}

HK_FN float hk_from_i8(hk_i8 x)
{
    return (float)x;
}

/* A number of less than 2^22, less `zero`: the bits of 2^23 and more hold it, and no conversion is
 * needed, which GPUs are slow at. */
HK_FN float hk_from_digit(hk_u32 x, const hk_i32 zero)
{
    return hk_sub(hk_float(0x4b000000u | x), 8388608.0f + (float)zero);
}

/* The lowest byte as a signed number. */
HK_FN float hk_from_byte(hk_u32 x)
{
    return hk_from_digit((x ^ 128) & 255, 128);
}

/* The entry of a table of 16 signed bytes, the first eight in `low`, that half a byte names: the
 * lower one, or where `upper` is 1 the other. */
HK_FN float hk_from_code(hk_u8 x, const int upper, hk_u64 low, hk_u64 high)
{
    const hk_u32 of = upper ? (hk_u32)x >> 4 : (hk_u32)x & 15;

    return hk_from_i8((hk_i8)(hk_u8)((of < 8 ? low : high) >> of % 8 * 8 & 255));
}

/* a * 2^g for integer g in [-100, 100] and a in [1/2, 2]; NaN for NaN, anything for other g. */
HK_FN float hk_scale2(float a, float g)
{
    /* 3 * 2^22 + g has g in its lowest bits: no conversion, which GPUs are slow at. */
    const float sum = hk_add(g, 0x1.8p23f);

    return hk_mul(a, hk_float((hk_word(sum) << 23) + 0x3f800000u));
}

#if !defined HK_HAS_VECTORS && !HK_ONE_LANE && !HK_FOUR_LANES
#undef HK_VECTORS
#endif
#if HK_VECTORS
#if HK_ONE_LANE
#include "../simd/scalar.h"
#elif HK_FOUR_LANES
#include "../simd/four.h"
#elif defined __OPENCL_VERSION__ || defined __OPENCL_C_VERSION__
#include "../simd/opencl.h"
#else
#include HK_SIMD_HEADER
#endif
#ifndef HKV_PACK
#include "../simd/pack_one.h"
#endif
#endif

#if HK_VECTORS && !defined HKV_HAS_SCALE2_KEEP
#define hkv_scale2_keep(m, a, g) hkv_keep(m, hkv_scale2(a, g))
#endif

/* hk_move for more than caches hold: where a vocabulary has such stores (simd/x86.h), what is
 * written does not go through them. Others see it after hk_move_past_end. 0: nothing was moved,
 * because an ordinary move is better. */
#ifndef HK_HAS_MOVE_PAST
#define hk_move_past(to, from, bytes) 0
#define hk_move_past_end() ((void)0)
#endif

#endif
