/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Element types as kinds: what the library knows of a type is one row of the table in types.c.
 */
#ifndef HEED_LIB_TYPES_TYPES_H
#define HEED_LIB_TYPES_TYPES_H

#include "../core/compiler.h"

#include <heed/heed.h>

#include <stdbool.h>

/* What operands may have: sets that a type belongs to. */
enum {
    HEED_SET_F32 = 1,
    HEED_SET_FLOATS = 2, /* numbers that every operation reads and writes */
    HEED_SET_U8 = 4,
    HEED_SET_I32 = 8,
    HEED_SET_I64 = 16,
    HEED_SET_INTS = 32, /* I32 and I64 */
    HEED_SET_ROWS = 64, /* rows of keys and values, in attention and in what writes caches */
    HEED_SET_SCALES = 128,
    HEED_SET_NUMBERS = 256,    /* rows that every operation reads: they need no scales */
    HEED_SET_BLOCKS = 512,     /* keys and values with a scale beside each block of elements */
    HEED_SET_QUANTISED = 1024, /* blocks that floats become */
    HEED_SET_NIBBLES = 4096,   /* keys and values in halves of bytes */
    HEED_SET_CACHED = HEED_SET_ROWS | HEED_SET_BLOCKS, /* rows that copy and push write */
    HEED_SET_KEYS = HEED_SET_CACHED | HEED_SET_NIBBLES,
    HEED_SET_MOVED = HEED_SET_NUMBERS | HEED_SET_BLOCKS, /* rows that copy and push read */
    HEED_SET_WEIGHTS = HEED_SET_FLOATS | HEED_SET_BLOCKS,
    HEED_SET_MASKS = 2048 /* of query rows and keys: a byte each, or a bit of a word */
};

/* Where the scale of a row of a type is: nowhere; in an array of its own, which must or may be
 * there; or beside the elements of each block, which then has more of them than one. */
enum heed_scale { HEED_SCALE_NONE, HEED_SCALE_MUST, HEED_SCALE_MAY, HEED_SCALE_WITHIN };

struct heed_type {
    uint32_t dtype, elements, bytes;    /* of a block: elements, and bytes that hold them */
    const char *name;                   /* "bf16" */
    uint32_t sets;                      /* HEED_SET_* */
    enum heed_scale scale;
};

/* NULL: no such type. */
const struct heed_type *heed_type_find(uint32_t dtype);
/* The type of row i of the table; NULL: there is no such row. */
const struct heed_type *heed_type_at(uint32_t i);

/* May an operand of these sets have the type? */
bool heed_dtype_in(uint32_t dtype, uint32_t sets);
/* May rows of the type be with an array of scales; may they be without one? */
bool heed_dtype_scaled(uint32_t dtype, bool with);
/* Bytes of what strides count: an element, or a block of them; 0: no such type. */
uint32_t heed_dtype_size(uint32_t dtype);
/* Elements of a block along the last axis; 1: of a type without blocks, or no type. */
uint32_t heed_dtype_elements(uint32_t dtype);
/* Addresses are multiples of so many bytes; 0: no such type. */
uint32_t heed_dtype_align(uint32_t dtype);
const char *heed_dtype_name(uint32_t dtype); /* "?": no such type */

/* One element of U8, I32 or I64. Any alignment. */
int64_t heed_dtype_load_i64(uint32_t dtype, const void *from);

#endif
