/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How elements are read and written, whatever their type: every choice by type that kernels make
 * for keys, values and floats. What a type is stands in types/x.h, in these words:
 *
 *   hk_stored_x            what an element is stored as
 *   hk_get_x(p)            the element as f32, exactly
 *   hk_put_x(p, x)         the way out of a value (docs/numerics.md, steps 10 and 11); of types
 *                          that may have scales, of a quotient (section 5, step 4)
 *   hkv_get_x, hkv_put_x   the same of vectors of HKV_LANES neighbours
 *   HK_STEP_X              of types that may have scales: RNE32(1 / the largest number)
 *   HKV_CHANNELS_X, hkv_columns_x(rows, t, out, pitch)
 *                          channels t .. t + HKV_CHANNELS_X - 1 of HKV_PACK rows, transposed to
 *                          out[channel][row] and widened
 *
 * Types of blocks (blocks.h) have in their place, for a row that begins at `row`:
 *
 *   hk_in_x(row, t)        the integer of channel t as f32
 *   hkv_in_x(row, t)       those of HKV_LANES neighbours of a block
 *   hkv_pair_x(row, t, out) two vectors of neighbours from t on, a multiple of 2 * HKV_LANES
 *   HKV_CHANNELS_X, hkv_columns_x
 *                          as above, of one block
 *   hkv_bytes_x(rows, g, out)      where HKV_BYTES is defined: the
 *                          numbers of block g of HKV_LANES rows to bytes out[channel][row]
 *
 * Halves of bytes (i4.h) have the first four of these.
 *
 * Threads of work-groups read four neighbours, t on, in two steps, so that they need not wait for
 * memory between them (attn/few_units.h), for which there are
 *
 *   HK_HEAD_X              blocks: bytes before the numbers
 *   HK_NAUGHT_X            numbers of a few bits, in order: which of them stands for 0
 *   hk_four_x(word, t, j)  others: of four neighbours as they lie the one number j, as f32
 *
 *   HK_ZERO_X(k)           half k of a block whose elements are 0, or next to it
 *   HK_UNIT_X, hk_pack_x   of those that numbers become: see ops/quantise_blocks.h
 *
 * No word takes a scale: scales join products, not elements (docs/numerics.md section 4, steps 3
 * and 7).
 *
 * Where a type is a constant, only its own branch is left.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_H
#define HEED_BACKENDS_KERNELS_TYPES_H

#include "dtypes.h"
#include "numerics.h"

#if HK_VECTORS
/* Step 11, in a vector. */
HK_INLINE hk_vec hkv_canonical(hk_vec x)
{
    return hkv_select(hkv_ordered(x), hkv_add(x, hkv_set(0.0f)), hkv_set(hk_float(HK_NAN_WORD)));
}
#endif

#include "types/bf16.h"
#include "types/blocks.h"
#include "types/f16.h"
#include "types/f32.h"
#include "types/f8.h"
#include "types/f8e4m3.h"
#include "types/f8e5m2.h"
#include "types/i4.h"
#include "types/i8.h"
#include "types/iq4_nl.h"
#include "types/q4_0.h"
#include "types/q4_1.h"
#include "types/q5_0.h"
#include "types/q5_1.h"
#include "types/q8_0.h"

/* call(HK_X) with the type as a constant, for one of a list. */
#define HK_BY_CASE(NAME, name, number, elements, bytes, call)                                      \
    if (hk_by_type == HK_##NAME) {                                                                 \
        call(HK_##NAME);                                                                           \
    } else
#define HK_BY(LIST, dtype, call)                                                                   \
    do {                                                                                           \
        const hk_u32 hk_by_type = (dtype);                                                         \
                                                                                                   \
        LIST(HK_BY_CASE, call)                                                                     \
        HK_UNREACHABLE();                                                                          \
    } while (0)
#define HK_BY_NUMBER(dtype, call) HK_BY(HK_NUMBER_TYPES, dtype, call)
#define HK_BY_KV(dtype, call) HK_BY(HK_KV_TYPES, dtype, call)

/* Two bits a type, of the logarithm of its bytes, and a byte for those of a block; nothing to jump
 * by. */
#define HK_LOG_BYTES(bytes) ((bytes) == 8 ? 3 : (bytes) == 4 ? 2 : (bytes) == 2 ? 1 : 0)
#define HK_SHIFT(NAME, name, number, elements, bytes, arg)                                         \
    | (hk_u64)HK_LOG_BYTES(bytes) << 2 * (number)
#define HK_BYTES(NAME, name, number, elements, bytes, arg)                                         \
    | (hk_u64)(bytes) << 8 * ((number)-HK_FIRST_BLOCK)
/* Bytes of an element, or of a block. */
HK_FN hk_i64 hk_size(hk_u32 dtype)
{
    const hk_u64 shifts =
        0 HK_ROW_TYPES(HK_SHIFT, 0) HK_TYPE_I4(HK_SHIFT, 0) HK_INDEX_TYPES(HK_SHIFT, 0);
    const hk_u64 blocks = 0 HK_BLOCK_TYPES(HK_BYTES, 0);

    return HK_IN_BLOCKS(dtype) ? (hk_i64)(blocks >> 8 * (dtype - HK_FIRST_BLOCK) & 255)
                               : (hk_i64)1 << (shifts >> 2 * dtype & 3);
}
#undef HK_SHIFT
#undef HK_LOG_BYTES
#undef HK_BYTES

/* Of a block: bytes before the numbers, and of numbers of a few bits the one that stands for 0. */
#define HK_HEAD(NAME, name, number, elements, bytes, arg)                                          \
    | (hk_u64)HK_HEAD_##NAME << 8 * ((number)-HK_FIRST_BLOCK)
HK_FN hk_i32 hk_block_head_bytes(hk_u32 dtype)
{
    const hk_u64 heads = 0 HK_BLOCK_TYPES(HK_HEAD, 0);

    return (hk_i32)(heads >> 8 * (dtype - HK_FIRST_BLOCK) & 255);
}
#undef HK_HEAD

#define HK_NAUGHT(NAME, name, number, elements, bytes, arg)                                        \
    | (hk_u64)HK_NAUGHT_##NAME << 8 * ((number)-HK_FIRST_BLOCK)
HK_FN hk_i32 hk_naught(hk_u32 dtype)
{
    const hk_u64 naughts = 0 HK_DIGIT_TYPES(HK_NAUGHT, 0);

    return (hk_i32)(naughts >> 8 * (dtype - HK_FIRST_BLOCK) & 255);
}
#undef HK_NAUGHT

/* Bytes of n channels of a row, side by side. */
HK_FN hk_i64 hk_channel_bytes(hk_u32 dtype, hk_i64 n)
{
    if (HK_IN_BLOCKS(dtype))
        return n / HK_BLOCK_CHANNELS * hk_size(dtype);
    return (HK_IN_PIECES(dtype) ? n / 2 : n) * hk_size(dtype); /* i4 */
}

/* An element, without its scale: of an array, or of pieces channel `index` of a row. */
HK_FN float hk_element(hk_u32 dtype, HK_GLOBAL const char *base, hk_i64 index)
{
#define HK_GET(NAME, name, number, elements, bytes, arg)                                           \
    if (dtype == HK_##NAME)                                                                        \
        return hk_get_##name((HK_GLOBAL const hk_stored_##name *)base + index);
    HK_ROW_TYPES(HK_GET, 0)
#undef HK_GET
#define HK_GET(NAME, name, number, elements, bytes, arg)                                           \
    if (dtype == HK_##NAME)                                                                        \
        return hk_in_##name(base, index);
    HK_PIECE_TYPES(HK_GET, 0)
#undef HK_GET
    HK_UNREACHABLE();
    return 0.0f;
}

/* Steps 10 and 11: the way out of a value. */
HK_FN void hk_put(hk_u32 dtype, HK_GLOBAL char *base, hk_i64 index, float x)
{
#define HK_PUT(NAME, name, number, elements, bytes, arg)                                           \
    if (dtype == HK_##NAME)                                                                        \
        hk_put_##name((HK_GLOBAL hk_stored_##name *)base + index, x);                              \
    else
    HK_FLOAT_TYPES(HK_PUT, 0)
#undef HK_PUT
    HK_UNREACHABLE();
}

#if HK_VECTORS

/* Neighbours t .. t + HKV_LANES - 1 of a row, without their scales. */
HK_INLINE hk_vec hk_vec_load(hk_u32 dtype, HK_GLOBAL const char *row, hk_i64 t)
{
#define HK_GET(NAME, name, number, elements, bytes, arg)                                           \
    if (dtype == HK_##NAME)                                                                        \
        return hkv_get_##name((HK_GLOBAL const hk_stored_##name *)row + t);
    HK_ROW_TYPES(HK_GET, 0)
#undef HK_GET
#define HK_GET(NAME, name, number, elements, bytes, arg)                                           \
    if (dtype == HK_##NAME)                                                                        \
        return hkv_in_##name(row, t);
    HK_PIECE_TYPES(HK_GET, 0)
#undef HK_GET
    HK_UNREACHABLE();
    return hkv_set(0.0f);
}

/* HKV_PACK channels, from t on, of as many rows of any type to out[channel][row]. */
HK_INLINE void hk_columns_wide(hk_u32 dtype, HK_GLOBAL const char *const *rows, hk_i64 t,
                               HK_GLOBAL float *out, hk_i64 pitch)
{
#if HKV_PACK == 1
    (void)pitch;
    *out = hk_element(dtype, rows[0], t);
#else
    float wide[HKV_PACK][HKV_PACK];
    const float *at[HKV_PACK];
    int r, i;

    HK_UNROLL
    for (r = 0; r < HKV_PACK; r++) {
        at[r] = wide[r];
        HK_UNROLL
        for (i = 0; i < HKV_PACK; i += HKV_LANES)
            hkv_store(wide[r] + i, hk_vec_load(dtype, rows[r], t + i));
    }
    hkv_pack(at, 0, out, pitch);
#endif
}

/* The way out of neighbours t .. t + HKV_LANES - 1 (step 11). */
HK_INLINE void hk_vec_put(hk_u32 dtype, HK_GLOBAL char *row, hk_i64 t, hk_vec x)
{
#define HK_PUT(NAME, name, number, elements, bytes, arg)                                           \
    if (dtype == HK_##NAME)                                                                        \
        hkv_put_##name((HK_GLOBAL hk_stored_##name *)row + t, x);                                  \
    else
    HK_FLOAT_TYPES(HK_PUT, 0)
#undef HK_PUT
    HK_UNREACHABLE();
}

#endif

#endif
