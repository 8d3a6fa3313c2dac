/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The words of dialect.h in C17 (spans.h also in C++): the CPU backend, the host's side of the
 * self-test, and kernels of work-groups under sanitizers, where a group is a loop.
 */
#ifndef HEED_BACKENDS_KERNELS_DIALECT_DIALECT_C17_H
#define HEED_BACKENDS_KERNELS_DIALECT_DIALECT_C17_H

#include "dialect_types.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#if !defined __cplusplus
#include <stdatomic.h>
#endif

#define HK_GLOBAL
#define HK_LOCAL
#define HK_FN static inline
#define HK_PIECE HK_FN
#define HK_INFINITY INFINITY
/* name: a pointer to what is read a few times, in memory of any kind. */
#define HK_COPY(type, name, from) const type *const name = &(from)
#if defined __GNUC__
#define HK_SELDOM(x) __builtin_expect((x) != 0, 0)
#else
#define HK_SELDOM(x) ((x) != 0)
#endif
#if defined NDEBUG && defined __GNUC__
#define HK_UNREACHABLE() __builtin_unreachable()
#else
#define HK_UNREACHABLE() assert(0)
#endif

#if defined HK_INLINE           /* the build says */
#elif defined __GNUC__
#define HK_INLINE static inline __attribute__((always_inline))
#else
#define HK_INLINE static inline
#endif
#if defined __GNUC__
#define HK_NOINLINE static __attribute__((noinline, unused))
#define HK_FETCHES 1
#define HK_PREFETCH(p) __builtin_prefetch((p), 0, 2)        /* into the second level */
#define HK_PREFETCH_NEAR(p) __builtin_prefetch((p), 0, 3)   /* into the first */
#else
#define HK_NOINLINE static
#define HK_PREFETCH(p) ((void)(p))
#define HK_PREFETCH_NEAR(p) ((void)(p))
#endif
#if defined __cplusplus
#define HK_RESTRICT
#else
#define HK_RESTRICT restrict
#endif
#if defined HK_UNROLL           /* the build says */
#elif defined __clang__
#define HK_UNROLL _Pragma("clang loop unroll(full)")
#elif defined __GNUC__
#define HK_UNROLL _Pragma("GCC unroll 64")
#else
#define HK_UNROLL
#endif
#define HK_UNROLL_FEW
#define HK_NO_UNROLL

/* ---- threads of a group ---- */

#define HK_MINE HK_THREADS
#define HK_OWN(id) (id)
#define HK_THREAD_ID(id) hk_i32 id
#define HK_FORGET(id) ((void)0)
#define HK_EACH(id) for (id = 0; id < HK_THREADS; id++)
#define HK_BARRIER() ((void)0)
#define HK_BARRIER_ALL() ((void)0)

HK_FN void hk_local_or(hk_u32 *to, hk_u32 bits)
{
    *to |= bits;
}

#if defined __cplusplus
hk_i32 hk_take(hk_i32 *counter);
#else
HK_FN hk_i32 hk_take(hk_i32 *counter)
{
    return atomic_fetch_add_explicit((_Atomic hk_i32 *)counter, 1, memory_order_relaxed);
}
#endif

/* Where it lies, as a number. */
#define hk_address(p) ((hk_u64)(uintptr_t)(p))

/* ---- one float ---- */

HK_FN float hk_add(float a, float b)
{
    return a + b;
}

HK_FN float hk_sub(float a, float b)
{
    return a - b;
}

HK_FN float hk_mul(float a, float b)
{
    return a * b;
}

HK_FN float hk_fma(float a, float b, float c)
{
    return fmaf(a, b, c);
}

HK_FN float hk_rint(float a)
{
    return rintf(a);
}

HK_FN hk_u32 hk_word(float a)
{
    hk_u32 word;

    memcpy(&word, &a, sizeof word);
    return word;
}

HK_FN float hk_float(hk_u32 word)
{
    float a;

    memcpy(&a, &word, sizeof a);
    return a;
}

HK_FN float hk_from_i64(hk_i64 i)
{
    return (float)i;
}

HK_FN float hk_recip(float a)
{
    return 1.0f / a;
}

HK_FN float hk_load_f16(const hk_u16 *p)
{
    const hk_u32 sign = (hk_u32)(*p & 0x8000u) << 16, magnitude = *p & 0x7fffu;

    if (magnitude >= 0x7c00u)
        return hk_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x400u)
        return hk_float(sign | ((magnitude << 13) + 0x38000000u));
    return hk_float(hk_word((float)magnitude / 16777216.0f) | sign);
}

HK_FN float hk_from_f16(hk_u16 x)
{
    return hk_load_f16(&x);
}

/* HK_WORDS_READ: a thread's counter of them, for tests. */
#ifdef HK_WORDS_READ
extern _Thread_local hk_u64 HK_WORDS_READ;
#define HK_COUNT_WORDS(n) (HK_WORDS_READ += (hk_u64)(n))
#else
#define HK_COUNT_WORDS(n) ((void)0)
#endif

/* 2 or 4 words at a multiple of their bytes, and back; likewise 4 floats of local memory. */
HK_FN void hk_load_words(const char *p, const int n, hk_u32 *to)
{
    HK_COUNT_WORDS(n);
    assert(hk_address(p) % ((hk_u64)n * 4) == 0);
    memcpy(to, p, (size_t)n * sizeof *to);
}

HK_FN void hk_store_words(char *p, const int n, const hk_u32 *from)
{
    assert(hk_address(p) % ((hk_u64)n * 4) == 0);
    memcpy(p, from, (size_t)n * sizeof *from);
}

HK_FN void hk_local_get4(const float *p, float *to)
{
    assert(hk_address(p) % 16 == 0);
    memcpy(to, p, 4 * sizeof *to);
}

HK_FN void hk_local_put4(float *p, const float *from)
{
    assert(hk_address(p) % 16 == 0);
    memcpy(p, from, 4 * sizeof *p);
}


/* bytes from memory to memory, which do not overlap. */
HK_FN void hk_move(char *to, const char *from, hk_i64 bytes)
{
    memcpy(to, from, (size_t)bytes);
}

/* Lowest set bit of a word that has one. */
HK_FN hk_i32 hk_first_bit(hk_u64 word)
{
    hk_i32 i = 0;

#if defined __GNUC__
    return __builtin_ctzll(word);
#endif
    for (; i < 63 && !(word >> i & 1); i++)
        continue;
    return i;
}

#define HK_HAS_VECTORS 1
#ifndef HK_SIMD_HEADER
#define HK_SIMD_HEADER "../simd/scalar.h"
#endif

/* ---- the entry point (entry.h) ---- */

#if HK_IN_REGISTERS
#define HK_ENTRY_BUFFERS(call, buffers, shared)                                                    \
    memcpy(shared.buffer, buffers, sizeof shared.buffer);                                          \
    memset(shared.item, 0, sizeof shared.item);                                                    \
    call.buffer = shared.buffer;                                                                 \
    call.item = shared.item;                                                                       \
    call.value = shared.value
#elif HK_LOCAL_BUFFERS
#define HK_ENTRY_BUFFERS(call, buffers, shared)                                                    \
    char *table[HK_BUFFERS];                                                                       \
    memcpy(table, buffers, sizeof table);                                                          \
    call.buffer = table
#else
#define HK_ENTRY_BUFFERS(call, buffers, shared) memcpy(call.buffer, buffers, sizeof call.buffer)
#endif

#define HK_ENTRY_POINT                                                                             \
    void HK_KERNEL_NAME(const char *blob, char *const *buffers, int64_t group);                   \
    void HK_KERNEL_NAME(const char *blob, char *const *buffers, int64_t group)                    \
    {                                                                                              \
        _Alignas(16) HK_SHARED shared;                                                             \
        struct hk_call call;                                                                       \
                                                                                                   \
        call.blob = blob;                                                                        \
        HK_ENTRY_BUFFERS(call, buffers, shared);                                                   \
        hk_call_open(&call);                                                                       \
        HK_MAIN(&call, group, &shared);                                                            \
    }

#endif
