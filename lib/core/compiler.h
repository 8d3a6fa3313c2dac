/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The few compiler extensions in use.
 */
#ifndef HEED_LIB_COMPILER_H
#define HEED_LIB_COMPILER_H

#if defined __GNUC__
#define HEED_PRINTF(string, first) __attribute__((format(printf, string, first)))
#define HEED_INLINE static inline __attribute__((always_inline))
#define HEED_NOINLINE __attribute__((noinline))
#define HEED_LIKELY(x) __builtin_expect(!!(x), 1)
#define HEED_RESTRICT restrict
#define HEED_ALIGNED(n) __attribute__((aligned(n)))
#define HEED_PREFETCH(p) __builtin_prefetch((p), 0, 2)      /* into the second level */
#else
#define HEED_PRINTF(string, first)
#define HEED_INLINE static inline
#define HEED_NOINLINE
#define HEED_LIKELY(x) (x)
#define HEED_RESTRICT
#define HEED_ALIGNED(n) _Alignas(n)
#define HEED_PREFETCH(p) ((void)(p))
#endif

/* Before a loop of constant trip count that must become straight code. */
#if defined __clang__
#define HEED_UNROLL _Pragma("clang loop unroll(full)")
#elif defined __GNUC__
#define HEED_UNROLL _Pragma("GCC unroll 64")
#else
#define HEED_UNROLL
#endif

#endif
