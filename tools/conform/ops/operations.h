/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The operations with fixed arrays, each in a file of its name; and rows of floats that become
 * bytes with a scale, for the oracles of copy and push (quantise.c).
 */
#ifndef HEED_TOOLS_CONFORM_OPS_OPERATIONS_H
#define HEED_TOOLS_CONFORM_OPS_OPERATIONS_H

#include "conform/engine/table.h"

/* The one list of them, programs last. */
#define FIXED_OPERATIONS(ROW)                                                                      \
    ROW(copy)                                                                                      \
    ROW(pool)                                                                                      \
    ROW(select)                                                                                    \
    ROW(push)                                                                                      \
    ROW(merge)                                                                                     \
    ROW(state)                                                                                     \
    ROW(norm)                                                                                      \
    ROW(rope)                                                                                      \
    ROW(act)                                                                                       \
    ROW(recur)                                                                                     \
    ROW(embed)                                                                                     \
    ROW(order)                                                                                     \
    ROW(linear)                                                                                    \
    ROW(gate)                                                                                      \
    ROW(lsg)                                                                                       \
    ROW(poolingformer2)

#define FIXED_DECLARE(name) extern const struct fixed fixed_##name;
FIXED_OPERATIONS(FIXED_DECLARE)
#undef FIXED_DECLARE

/* What a row of d numbers, from element `from` on, becomes as bytes of a type, with scales of
 * another (0: without scales). */
struct cf_scaled {
    uint32_t dtype;
    int64_t bits; /* of its scale */
    double scale; /* 0: all bytes are 0 */
};
struct cf_scaled cf_scaled_of(const struct array *x, int64_t from, int64_t d, uint32_t dtype,
                              uint32_t scale);
int64_t cf_byte_of(const struct cf_scaled *, float x); /* its bits */
/* Bits of channel c of the row of x that begins with element `from`, in blocks of a type that
 * numbers become; and of a row of zeros, of any type. */
int64_t cf_block_of(const struct array *x, int64_t from, uint32_t dtype, int64_t c);
int64_t cf_zero_of(uint32_t dtype);

#endif
