/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Element types: one table row each, and single elements of integer arrays.
 */
#ifndef HEED_LIB_CORE_DTYPE_H
#define HEED_LIB_CORE_DTYPE_H

#include "compiler.h"

#include <heed/heed.h>

/* Sets of element types: bit i is row i of the table in dtype.c. */
enum {
    HEED_SET_F32 = 1,
    HEED_SET_FLOATS = 7,
    HEED_SET_U8 = 8,
    HEED_SET_I32 = 16,
    HEED_SET_I64 = 32,
    HEED_SET_INTS = 48,
    HEED_SET_ROWS = 71,             /* floats and I8: rows of k and v */
    HEED_SET_SCALES = 3             /* F32 and F16 */
};

uint32_t heed_dtype_size(uint32_t dtype);    /* bytes; 0: no such type */
const char *heed_dtype_name(uint32_t dtype); /* "bf16"; "?": no such type */
/* The type of row i of the table; 0: there is no such row. */
uint32_t heed_dtype_at(uint32_t i);

/* One element of U8, I32 or I64; 0 for the others. Any alignment. */
int64_t heed_dtype_load_i64(uint32_t dtype, const void *from);

#endif
