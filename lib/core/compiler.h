/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The few compiler extensions in use.
 */
#ifndef HEED_LIB_COMPILER_H
#define HEED_LIB_COMPILER_H

#if defined __GNUC__
#if defined __clang__
#define HEED_PRINTF(string, first) __attribute__((format(printf, string, first)))
#else /* "printf" would be what the system takes, which need not be what C has */
#define HEED_PRINTF(string, first) __attribute__((format(gnu_printf, string, first)))
#endif
#define HEED_INLINE static inline __attribute__((always_inline))
#else
#define HEED_PRINTF(string, first)
#define HEED_INLINE static inline
#endif

#endif
