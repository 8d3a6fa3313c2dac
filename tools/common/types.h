/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The tools' one list of element types: names, sizes, and of numbers the widths of their fields, by
 * which they are decoded and encoded here. Nothing of it is the library's.
 */
#ifndef HEED_TOOLS_COMMON_TYPES_H
#define HEED_TOOLS_COMMON_TYPES_H

#include <heed/heed.h>

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words of types, in the order of options: floats, rows that need no scale, rows with scales, rows
 * of elements that lie alone, blocks, those that numbers become, what copy and push read and write,
 * halves of bytes, which have scales, and keys and values. "-s" behind a type: with scales, which
 * it may lack. */
#define TYPE_FLOATS "f32 f16 bf16"
#define TYPE_SMALL "f8e4m3 f8e5m2"
#define TYPE_NUMBERS TYPE_FLOATS " " TYPE_SMALL
#define TYPE_SCALED "i8 f8e4m3-s f8e5m2-s"
#define TYPE_ROWS TYPE_NUMBERS " " TYPE_SCALED
#define TYPE_BLOCKS "q8_0 q4_0 q4_1 q5_0 q5_1 iq4_nl"
#define TYPE_QUANTISED "q8_0 q4_0"
#define TYPE_MOVED TYPE_NUMBERS " " TYPE_BLOCKS
#define TYPE_CACHED TYPE_ROWS " " TYPE_BLOCKS
#define TYPE_NIBBLES "i4"
#define TYPE_KEYS TYPE_CACHED " " TYPE_NIBBLES
#define TYPE_APART TYPE_SCALED " " TYPE_NIBBLES /* scales lie apart */

struct type {
    uint32_t dtype;
    const char *name;               /* "bf16" */
    const char *constant;           /* "HEED_BF16" */
    uint32_t bytes;                 /* of an element, or of a block of them */
    uint32_t exponent, fraction;    /* bits; 0: no floating-point number */
    uint32_t over, infinity, nan;   /* what too large numbers become; 0: there is none; canonical */
    const char *npy[2];             /* codes of .npy without the byte order; the first is written */
    /* Of blocks, else 0: elements, and bytes of the block from which fields lie on: minimum and
     * bit 4 of the elements (0: there is none), digits; their bits; what a number is less than its
     * code. A block begins with its scale, where it does not begin with digits; scale and minimum
     * are F16. */
    struct {
        uint32_t elements, minimum, high, digits, width;
        int less;
        const int8_t *numbers; /* or the table of them by code */
    } block;
};

/* By dtype; where there is no such type, without a name. */
enum { TYPE_ROWS_END = HEED_I4 + 1 };
extern const struct type type_rows[TYPE_ROWS_END];

/* These are asked for each element of every array. */
static inline bool type_is(uint32_t dtype)
{
    return dtype < TYPE_ROWS_END && type_rows[dtype].name != NULL;
}

/* dtype is a type. */
static inline const struct type *type_find(uint32_t dtype)
{
    assert(dtype < TYPE_ROWS_END && type_is(dtype));
    return &type_rows[dtype];
}

/* Elements of a block; 1: of a type without. */
static inline uint32_t type_elements(uint32_t dtype)
{
    const struct type *const t = type_is(dtype) ? type_find(dtype) : NULL;

    return t && t->block.elements ? t->block.elements : 1;
}

/* Elements or blocks that hold n elements, a last block that is cut included. */
static inline int64_t type_pieces(uint32_t dtype, int64_t n)
{
    const int64_t elements = type_elements(dtype);

    return elements == 1 ? n : n / elements + (n % elements != 0);
}

/* NULL: there is no such name. */
const struct type *type_named(const char *name);
/* The type that word i of a list of words names. */
uint32_t type_nth(const char *words, int64_t i);
/* Is that word one of TYPE_APART? */
bool type_scaled(const char *words, int64_t i);
/* The first word of the list that names the type; it is among them. */
int64_t type_place(const char *words, uint32_t dtype);

/* The largest number that a row with scales may hold. */
float type_largest(uint32_t dtype);
/* A number of the type, of an integer the integer, without the scale of its row. */
float type_decode(uint32_t dtype, uint32_t bits);
/* To nearest, ties to even. */
uint32_t type_encode(uint32_t dtype, float x);

/* How many codes the elements of a block can have. */
uint32_t type_codes(uint32_t dtype);
/* Of a block: the code of element j and the number that it stands for, the scale and the minimum
 * (0: of a type without), as numbers. */
uint32_t type_code(uint32_t dtype, const void *block, uint32_t j);
int type_number(uint32_t dtype, uint32_t code);
uint32_t type_code_of_zero(uint32_t dtype); /* of 0, else of the least positive number */
float type_block_scale(uint32_t dtype, const void *block); /* 1: it lies apart */
float type_block_minimum(uint32_t dtype, const void *block);
/* Codes are cut to their bits. scale, minimum: bits of F16. */
void type_code_put(uint32_t dtype, void *block, uint32_t j, uint32_t code);
void type_block_put(uint32_t dtype, void *block, uint32_t scale, uint32_t minimum);
/* Bytes before those that hold codes: scale and minimum; 0: they lie apart. */
uint32_t type_block_head(uint32_t dtype);

#endif
