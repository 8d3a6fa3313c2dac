/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The shapes of matrix units by their numbers (dialect_mma.h), for kernels, which define HK_MMA
 * before, and for those who launch them.
 */
#ifndef HEED_BACKENDS_KERNELS_MMA_H
#define HEED_BACKENDS_KERNELS_MMA_H

#define HK_MMA_UNITS 7

/* Threads that share a row of C: lanes over rows. */
#define HK_MMA_SHARE(unit) ((unit) == 2 ? 4 : (unit) == 0 || (unit) == 5 ? 1 : 2)

#if defined HK_MMA
#define HK_MMA_TWICE 1          /* how often a wave holds A and B */
#if HK_MMA == 0
#define HK_MMA_M 1
#define HK_MMA_N 8
#define HK_MMA_LANES 1
#elif HK_MMA == 1
#define HK_MMA_M 16
#define HK_MMA_N 8
#define HK_MMA_LANES 32
#elif HK_MMA == 2
#define HK_MMA_M 16
#define HK_MMA_N 16
#define HK_MMA_LANES 64
#elif HK_MMA == 3
#undef HK_MMA_TWICE
#define HK_MMA_TWICE 2
#define HK_MMA_M 16
#define HK_MMA_N 16
#define HK_MMA_LANES 32
#elif HK_MMA == 4
#define HK_MMA_M 16
#define HK_MMA_N 16
#define HK_MMA_LANES 32
#elif HK_MMA == 5
#define HK_MMA_M 8
#define HK_MMA_N 8
#define HK_MMA_LANES 8
#elif HK_MMA == 6
#define HK_MMA_M 8
#define HK_MMA_N 16
#define HK_MMA_LANES 16
#else
#error "there is no such matrix unit"
#endif
#if HK_MMA_SHARE(HK_MMA) * HK_MMA_M != HK_MMA_LANES
#error "the threads of a row are not those of the unit"
#endif
#endif

#endif
