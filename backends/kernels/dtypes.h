/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What kernels and the library number and bound the same way: element types, positions. The lists
 * are the only ones: enums, sizes and every choice by type are made from them. A type is a row
 * ROW(NAME, name, number, elements, bytes, arg): HK_NAME has the number of HEED_NAME, a block of so
 * many elements so many bytes, and `arg` is what the user of a list hands through. How a type is
 * read and written stands in types/name.h.
 */
#ifndef HEED_BACKENDS_KERNELS_DTYPES_H
#define HEED_BACKENDS_KERNELS_DTYPES_H

/* 0: no row has a scale. Types that cannot do without one are then in no list that code is made of,
 * so a program that is compiled when a plan needs it has nothing of them. */
#ifndef HK_SCALES
#define HK_SCALES 1
#endif

#define HK_TYPE_F32(ROW, arg) ROW(F32, f32, 1, 1, 4, arg)
#define HK_TYPE_F16(ROW, arg) ROW(F16, f16, 2, 1, 2, arg)
#define HK_TYPE_BF16(ROW, arg) ROW(BF16, bf16, 3, 1, 2, arg)
#define HK_TYPE_F8E4M3(ROW, arg) ROW(F8E4M3, f8e4m3, 4, 1, 1, arg)
#define HK_TYPE_F8E5M2(ROW, arg) ROW(F8E5M2, f8e5m2, 5, 1, 1, arg)
#define HK_TYPE_U8(ROW, arg) ROW(U8, u8, 16, 1, 1, arg)
#define HK_TYPE_I32(ROW, arg) ROW(I32, i32, 17, 1, 4, arg)
#define HK_TYPE_I64(ROW, arg) ROW(I64, i64, 18, 1, 8, arg)
#define HK_TYPE_I8(ROW, arg) ROW(I8, i8, 19, 1, 1, arg)
#define HK_TYPE_Q8_0(ROW, arg) ROW(Q8_0, q8_0, 20, 32, 34, arg)
#define HK_TYPE_Q4_0(ROW, arg) ROW(Q4_0, q4_0, 21, 32, 18, arg)
#define HK_TYPE_Q4_1(ROW, arg) ROW(Q4_1, q4_1, 22, 32, 20, arg)
#define HK_TYPE_Q5_0(ROW, arg) ROW(Q5_0, q5_0, 23, 32, 22, arg)
#define HK_TYPE_Q5_1(ROW, arg) ROW(Q5_1, q5_1, 24, 32, 24, arg)
#define HK_TYPE_IQ4_NL(ROW, arg) ROW(IQ4_NL, iq4_nl, 25, 32, 18, arg)
#define HK_TYPE_I4(ROW, arg) ROW(I4, i4, 26, 2, 1, arg)

/* Of numbers that any operation reads and writes. */
#define HK_FLOAT_TYPES(ROW, arg) HK_TYPE_F32(ROW, arg) HK_TYPE_F16(ROW, arg) HK_TYPE_BF16(ROW, arg)

/* Numbers of a byte, which may have a scale a row. */
#define HK_SMALL_TYPES(ROW, arg) HK_TYPE_F8E4M3(ROW, arg) HK_TYPE_F8E5M2(ROW, arg)

/* Of rows that any operation reads: they need no scale. */
#define HK_NUMBER_TYPES(ROW, arg) HK_FLOAT_TYPES(ROW, arg) HK_SMALL_TYPES(ROW, arg)

/* Of rows that may have scales; copy and push quantise into them (quantise.h). */
#if HK_SCALES
#define HK_SCALED_TYPES(ROW, arg) HK_SMALL_TYPES(ROW, arg) HK_TYPE_I8(ROW, arg)
#else
#define HK_SCALED_TYPES(ROW, arg) HK_SMALL_TYPES(ROW, arg)
#endif

/* Of rows whose elements lie alone. */
#define HK_ROW_TYPES(ROW, arg) HK_FLOAT_TYPES(ROW, arg) HK_SCALED_TYPES(ROW, arg)

/* Of rows of blocks, which begin with a scale, in binary16; and with a minimum, which follows it.
 * The first number is HK_FIRST_BLOCK. */
#if HK_SCALES
#define HK_BLOCK_TYPES(ROW, arg)                                                                   \
    HK_TYPE_Q8_0(ROW, arg) HK_TYPE_Q4_0(ROW, arg) HK_TYPE_Q5_0(ROW, arg)                           \
    HK_MINIMUM_TYPES(ROW, arg) HK_TYPE_IQ4_NL(ROW, arg)
#define HK_MINIMUM_TYPES(ROW, arg) HK_TYPE_Q4_1(ROW, arg) HK_TYPE_Q5_1(ROW, arg)
#else
#define HK_BLOCK_TYPES(ROW, arg)
#define HK_MINIMUM_TYPES(ROW, arg)
#endif

/* Of rows whose channels lie side by side in pieces of several: blocks, and halves of bytes, whose
 * scales lie apart. */
#if HK_SCALES
#define HK_PIECE_TYPES(ROW, arg) HK_BLOCK_TYPES(ROW, arg) HK_TYPE_I4(ROW, arg)
#else
#define HK_PIECE_TYPES(ROW, arg)
#endif

/* Of rows of signed bytes; of numbers of a few bits, in order; of those with a word of fifth bits;
 * the others. */
#if HK_SCALES
#define HK_SIGNED_TYPES(ROW, arg) HK_TYPE_I8(ROW, arg) HK_TYPE_Q8_0(ROW, arg)
#define HK_DIGIT_TYPES(ROW, arg)                                                                   \
    HK_TYPE_Q4_0(ROW, arg) HK_TYPE_Q4_1(ROW, arg) HK_FIVE_TYPES(ROW, arg) HK_TYPE_I4(ROW, arg)
#define HK_FIVE_TYPES(ROW, arg) HK_TYPE_Q5_0(ROW, arg) HK_TYPE_Q5_1(ROW, arg)
#define HK_UNEVEN_TYPES(ROW, arg) HK_NUMBER_TYPES(ROW, arg) HK_TYPE_IQ4_NL(ROW, arg)
#else
#define HK_SIGNED_TYPES(ROW, arg)
#define HK_DIGIT_TYPES(ROW, arg)
#define HK_FIVE_TYPES(ROW, arg)
#define HK_UNEVEN_TYPES(ROW, arg) HK_NUMBER_TYPES(ROW, arg)
#endif

/* Of which two vectors of channels are loaded by parity: the even ones, the odd ones. */
#define HK_PARITY_TYPES(ROW, arg) HK_TYPE_BF16(ROW, arg) HK_TYPE_I4(ROW, arg)

/* Of blocks that copy and push quantise into (quantise_blocks.h). */
#define HK_QUANTISED_TYPES(ROW, arg) HK_TYPE_Q8_0(ROW, arg) HK_TYPE_Q4_0(ROW, arg)

/* Of rows that copy and push read. */
#define HK_MOVED_TYPES(ROW, arg) HK_NUMBER_TYPES(ROW, arg) HK_BLOCK_TYPES(ROW, arg)

/* Of rows of keys and values. */
#define HK_KV_TYPES(ROW, arg) HK_ROW_TYPES(ROW, arg) HK_PIECE_TYPES(ROW, arg)

/* Of masks, lengths and indices. */
#define HK_INDEX_TYPES(ROW, arg) HK_TYPE_U8(ROW, arg) HK_TYPE_I32(ROW, arg) HK_TYPE_I64(ROW, arg)

#define HK_TYPES(ROW, arg)                                                                         \
    HK_NUMBER_TYPES(ROW, arg) HK_TYPE_I8(ROW, arg) HK_TYPE_I4(ROW, arg)                            \
    HK_TYPE_Q8_0(ROW, arg) HK_TYPE_Q4_0(ROW, arg) HK_TYPE_Q4_1(ROW, arg)                           \
    HK_TYPE_Q5_0(ROW, arg) HK_TYPE_Q5_1(ROW, arg) HK_TYPE_IQ4_NL(ROW, arg)                         \
    HK_INDEX_TYPES(ROW, arg)

#define HK_NUMBER(NAME, name, number, elements, bytes, arg) HK_##NAME = number,
enum { HK_TYPES(HK_NUMBER, 0) HK_NO_TYPE = 0 };
#undef HK_NUMBER

#define HK_FIRST_BLOCK 20
#define HK_BLOCK_CHANNELS 32    /* of a block */

#define HK_TYPE_BIT(NAME, name, number, elements, bytes, arg) | 1u << (number)
/* Do rows need no scale? */
#define HK_IS_NUMBER(dtype) ((0u HK_NUMBER_TYPES(HK_TYPE_BIT, 0)) >> (dtype) & 1)
/* May rows have scales? */
#define HK_MAY_SCALE(dtype)                                                                        \
    ((0u HK_SCALED_TYPES(HK_TYPE_BIT, 0) HK_PIECE_TYPES(HK_TYPE_BIT, 0)) >> (dtype) & 1)
#define HK_IN_BLOCKS(dtype) ((0u HK_BLOCK_TYPES(HK_TYPE_BIT, 0)) >> (dtype) & 1)
#define HK_IN_PIECES(dtype) ((0u HK_PIECE_TYPES(HK_TYPE_BIT, 0)) >> (dtype) & 1)
#define HK_IN_SIGNED(dtype) ((0u HK_SIGNED_TYPES(HK_TYPE_BIT, 0)) >> (dtype) & 1)
#define HK_IN_DIGITS(dtype) ((0u HK_DIGIT_TYPES(HK_TYPE_BIT, 0)) >> (dtype) & 1)
#define HK_IN_FIVES(dtype) ((0u HK_FIVE_TYPES(HK_TYPE_BIT, 0)) >> (dtype) & 1)
#define HK_BY_PARITY(dtype) ((0u HK_PARITY_TYPES(HK_TYPE_BIT, 0)) >> (dtype) & 1)
#define HK_HAS_MINIMA(dtype) ((0u HK_MINIMUM_TYPES(HK_TYPE_BIT, 0)) >> (dtype) & 1)

#define HK_POSITION_MAX ((hk_i64)1 << 60)

#endif
