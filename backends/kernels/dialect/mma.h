/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The shapes of matrix units by their numbers (dialect_mma.h), for kernels, which define HK_MMA
 * before, and for those who launch them.
 */
#ifndef HEED_BACKENDS_KERNELS_DIALECT_MMA_H
#define HEED_BACKENDS_KERNELS_DIALECT_MMA_H

#define HK_MMA_UNITS 7

/* Rows and columns of C, and lanes over rows. */
#define HK_MMA_ROWS(unit) ((unit) == 0 ? 1 : (unit) >= 5 ? 8 : 16)
#define HK_MMA_COLUMNS(unit) ((unit) <= 1 || (unit) == 5 ? 8 : 16)
#define HK_MMA_SHARE(unit) ((unit) == 2 ? 4 : (unit) == 0 || (unit) == 5 ? 1 : 2)

/* A thread holds items of so many rows of C. Those that hold items of one row differ in the bits of
 * their lanes from the first of these to before the second. */
#define HK_MMA_HELD_ROWS(unit) ((unit) == 1 ? 2 : (unit) >= 5 ? 8 : 1)
#define HK_MMA_NEAREST(unit) ((unit) >= 2 && (unit) <= 4 ? 16 : 1)
#define HK_MMA_FARTHEST(unit)                                                                      \
    ((unit) == 0 ? 1 : (unit) == 1 ? 4 : (unit) == 5 ? 8 : (unit) == 6 ? 16 : (unit) == 2 ? 64 : 32)

#if defined HK_MMA
#if HK_MMA < 0 || HK_MMA >= HK_MMA_UNITS
#error "there is no such matrix unit"
#endif
#define HK_MMA_M HK_MMA_ROWS(HK_MMA)
#define HK_MMA_N HK_MMA_COLUMNS(HK_MMA)
#define HK_MMA_LANES (HK_MMA_M * HK_MMA_SHARE(HK_MMA))
#define HK_MMA_HELD HK_MMA_HELD_ROWS(HK_MMA)
#define HK_MMA_NEAR HK_MMA_NEAREST(HK_MMA)
#define HK_MMA_FAR HK_MMA_FARTHEST(HK_MMA)
#define HK_MMA_KEEPS_Q (HK_MMA != 5)    /* in registers: are there enough? */
#define HK_MMA_TWICE (HK_MMA == 3 ? 2 : 1)      /* how often a wave holds A and B */
#endif

#endif
