/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The words of dialect.h in CUDA C++, by nvcc or NVRTC (which has no headers).
 */
#ifndef HEED_BACKENDS_KERNELS_DIALECT_DIALECT_CUDA_H
#define HEED_BACKENDS_KERNELS_DIALECT_DIALECT_CUDA_H

typedef int hk_i32;
typedef unsigned int hk_u32;
typedef long long hk_i64;
typedef unsigned long long hk_u64;
typedef signed char hk_i8;
typedef unsigned char hk_u8;
typedef unsigned short hk_u16;

#define HK_GLOBAL
#define HK_LOCAL
#define HK_FN static __device__ __forceinline__
#define HK_INLINE HK_FN
#define HK_NOINLINE static __device__ __noinline__
#define HK_PIECE HK_FN
#define HK_RARE static __device__ __noinline__
#define HK_UNROLL _Pragma("unroll")
#define HK_UNROLL_FEW _Pragma("unroll 4")
#define HK_NO_UNROLL _Pragma("unroll 1")
#define HK_SLOW_DIVISION 1
#define HK_RESTRICT __restrict__
#define HK_INFINITY __int_as_float(0x7f800000)
#define HK_PREFETCH(p) ((void)(p))
#define HK_PREFETCH_NEAR(p) ((void)(p))
#define HK_COPY(type, name, from)                                                                  \
    const type name##_kept = (from);                                                               \
    const type *const name = &name##_kept
#define HK_SELDOM(x) __builtin_expect((x) != 0, 0)
#define HK_UNREACHABLE() ((void)0)

/* ---- threads of a group ---- */

#ifndef HK_THREADS
#define HK_THREADS 1
#endif
/* Groups that a multiprocessor shall hold at once, which bounds registers. */
#ifndef HK_RESIDENT
#define HK_RESIDENT 1
#endif
#define HK_MINE 1
#define HK_OWN(id) 0
/* What follows from a thread's number is found again in each part of a step: held over the whole
 * walk it would take most of the registers. */
#define HK_FORGET(id) asm volatile("" : "+r"(id))
HK_FN hk_i32 hk_thread(void)
{
    hk_i32 id = (hk_i32)threadIdx.x;

#if HK_IN_REGISTERS
    HK_FORGET(id);
#endif
    return id & (HK_THREADS - 1);
}
#define HK_THREAD_ID(id) const hk_i32 id = hk_thread()
#define HK_EACH(id)
#define HK_BARRIER() __syncthreads()
#define HK_BARRIER_ALL() __syncthreads()

HK_FN void hk_local_or(hk_u32 *to, hk_u32 bits)
{
    atomicOr(to, bits);
}

HK_FN hk_i32 hk_take(hk_i32 *counter)
{
    return atomicAdd(counter, 1);
}

/* ---- one float ---- */

#define hk_add(a, b) __fadd_rn(a, b)
#define hk_sub(a, b) __fsub_rn(a, b)
#define hk_mul(a, b) __fmul_rn(a, b)
#define hk_fma(a, b, c) __fmaf_rn(a, b, c)
#define hk_rint(a) rintf(a)
#define HK_HAS_MAX_NUMBER 1
#define hk_max_number(a, b) fmaxf(a, b)
#define hk_word(a) __float_as_uint(a)
#define hk_float(w) __uint_as_float(w)
#define hk_from_i64(i) __ll2float_rn(i)
#define hk_recip(a) __frcp_rn(a)

HK_FN float hk_load_f16(const hk_u16 *p)
{
    float x;

    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(*p));
    return x;
}

HK_FN float hk_from_f16(hk_u16 bits)
{
    float x;

    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

/* Rounded; infinity beyond. */
#define HK_HAS_ROUND_F16 1
HK_FN hk_u16 hk_round_f16(float x)
{
    hk_u16 bits;

    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

/* Else what is loaded from there waits for stores to local memory. */
#define HK_IS_GLOBAL(p) __builtin_assume(__isGlobal(p))

#if __CUDA_ARCH__ >= 800
/* Two that are no NaN, `a` in the lower half of a word; zeros +0. */
#define HK_HAS_ROUND_PAIR_F16 1
HK_FN hk_u32 hk_round_pair_f16(float a, float b)
{
    hk_u32 word;

    asm("{ .reg .b32 pair; cvt.rn.f16x2.f32 pair, %2, %1; add.rn.f16x2 %0, pair, %3; }"
        : "=r"(word) : "f"(a), "f"(b), "r"(0));
    return word;
}
#endif

/* 2 or 4 words at a multiple of their bytes, and back; likewise 4 floats of local memory. */
HK_FN void hk_load_words(const char *p, const int n, hk_u32 *to)
{
    HK_IS_GLOBAL(p);
    if (n == 4) {
        const uint4 x = *(const uint4 *)p;

        to[0] = x.x;
        to[1] = x.y;
        to[2] = x.z;
        to[3] = x.w;
    } else {
        const uint2 x = *(const uint2 *)p;

        to[0] = x.x;
        to[1] = x.y;
    }
}

HK_FN void hk_store_words(char *p, const int n, const hk_u32 *from)
{
    if (n == 4)
        *(uint4 *)p = make_uint4(from[0], from[1], from[2], from[3]);
    else
        *(uint2 *)p = make_uint2(from[0], from[1]);
}

HK_FN void hk_local_get4(const float *p, float *to)
{
    const float4 x = *(const float4 *)p;

    to[0] = x.x;
    to[1] = x.y;
    to[2] = x.z;
    to[3] = x.w;
}

HK_FN void hk_local_put4(float *p, const float *from)
{
    *(float4 *)p = make_float4(from[0], from[1], from[2], from[3]);
}

#define hk_address(p) ((hk_u64)(p))

HK_FN void hk_move(char *to, const char *from, hk_i64 bytes)
{
    for (hk_i64 i = 0; i < bytes; i++)
        to[i] = from[i];
}

HK_FN hk_i32 hk_first_bit(hk_u64 word)
{
    return __ffsll((long long)word) - 1;
}

/* ---- the entry point (entry.h) ---- */

#if HK_IN_REGISTERS
#define HK_ENTRY_BUFFERS(call, given, shared)                                                      \
    for (int i = (int)threadIdx.x; i < HK_BUFFERS; i += HK_THREADS)                                \
        shared.buffer[i] = given.at[i];                                                            \
    __syncthreads();                                                                               \
    call.buffer = shared.buffer;                                                                 \
    call.item = shared.item;                                                                       \
    call.value = shared.value
#elif HK_LOCAL_BUFFERS
#define HK_ENTRY_BUFFERS(call, given, shared)                                                      \
    __shared__ char *table[HK_BUFFERS];                                                            \
    for (int i = (int)threadIdx.x; i < HK_BUFFERS; i += HK_THREADS)                                \
        table[i] = given.at[i];                                                                    \
    __syncthreads();                                                                               \
    call.buffer = table
#else
#define HK_ENTRY_BUFFERS(call, given, shared)                                                      \
    for (int i = 0; i < HK_BUFFERS; i++)                                                           \
        call.buffer[i] = given.at[i]
#endif

#define HK_ENTRY_POINT                                                                             \
    struct hk_pointers {                                                                           \
        char *at[HK_BUFFERS];                                                                      \
    };                                                                                             \
    extern "C" __global__ void __launch_bounds__(HK_THREADS, HK_RESIDENT)                          \
        heed_kernel(const char *blob, const struct hk_pointers given, const hk_u64 first)          \
    {                                                                                              \
        __shared__ __align__(16) HK_SHARED shared;                                                 \
        struct hk_call call;                                                                       \
                                                                                                   \
        call.blob = blob;                                                                          \
        HK_ENTRY_BUFFERS(call, given, shared);                                                     \
        hk_call_open(&call);                                                                       \
        HK_MAIN(&call, (hk_i64)(first + blockIdx.x), &shared);                                     \
    }

#endif
