/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The words of dialect.h in OpenCL C 1.2 and later. No built-in function here but fma, rint, those
 * on bits and memory: the others are only nearly right, and differ between implementations. No
 * division of floats either.
 */
#ifndef HEED_BACKENDS_KERNELS_DIALECT_DIALECT_OPENCL_H
#define HEED_BACKENDS_KERNELS_DIALECT_DIALECT_OPENCL_H

#pragma OPENCL FP_CONTRACT OFF

typedef int hk_i32;
typedef uint hk_u32;
typedef long hk_i64;
typedef ulong hk_u64;
typedef char hk_i8;
typedef uchar hk_u8;
typedef ushort hk_u16;

#define HK_GLOBAL __global
#define HK_LOCAL __local
/* A call would move what a thread keeps from registers to memory. HK_CALLS: Oclgrind does not know
 * what the compiler makes of restrict and of an inlined function that returns a struct. */
#if HK_THREADS > 1 && !HK_PROCESSOR && !defined HK_CALLS
#define HK_FN __attribute__((always_inline)) static inline
#else
#define HK_FN static inline
#endif
#ifdef HK_CALLS
#define HK_INLINE static inline
#define HK_RESTRICT
#else
#define HK_INLINE __attribute__((always_inline)) static inline
#define HK_RESTRICT restrict
#endif
/* PoCL 3.1 keeps the number of a thread in variables of the program: a function that is not inlined
 * may read there what another group, on another processor, has just written. */
#if HK_PROCESSOR && HK_THREADS > 1
#define HK_NOINLINE static inline
#else
#define HK_NOINLINE __attribute__((noinline)) static
#endif
/* A part of the work between two barriers. On processors not inlined: what an thread keeps beyond a
 * barrier must then lie in memory, for PoCL 3.1 makes wrong code, or falls over, when it meets sums
 * that live in registers across barriers. */
#if HK_PROCESSOR
#define HK_PIECE __attribute__((noinline)) static
#else
#define HK_PIECE HK_FN
#endif
/* AMD's compiler knows which registers a function takes, and keeps what lives out of them. */
#if defined __AMDGCN__
#define HK_RARE __attribute__((noinline)) static
#endif
#define HK_UNROLL _Pragma("unroll")
#define HK_UNROLL_FEW _Pragma("unroll 4")
#define HK_NO_UNROLL _Pragma("unroll 1")
#if HK_THREADS > 1
#define HK_SLOW_DIVISION 1      /* GPUs make one of 64 bits of some hundred instructions */
#endif
#define HK_INFINITY INFINITY
#define HK_PREFETCH(p) ((void)(p))
#define HK_PREFETCH_NEAR(p) ((void)(p))
#define HK_COPY(type, name, from)                                                                  \
    const type name##_kept = (from);                                                               \
    const type *const name = &name##_kept
/* What stands before is not mixed with what comes behind, so that fewer registers are in use. */
#if defined __AMDGCN__ && defined __has_builtin
#if __has_builtin(__builtin_amdgcn_sched_barrier)
#define HK_ORDER() __builtin_amdgcn_sched_barrier(0)
#endif
#endif
#define HK_SELDOM(x) __builtin_expect((x) != 0, 0)
#define HK_UNREACHABLE() ((void)0)

/* ---- threads of a group ---- */

#ifndef HK_THREADS
#define HK_THREADS 1
#endif
#define HK_MINE 1
#define HK_OWN(id) 0
/* What follows from a thread's number is found again in each part of a step: held over the whole
 * walk it would take most of the registers. */
#if (HK_IN_REGISTERS || HK_MANY_SUMS) && defined __AMDGCN__
#define HK_FORGET(id) __asm__ volatile("" : "+v"(id))
#elif (HK_IN_REGISTERS || HK_MANY_SUMS) && HK_LEAST_LANES
#define HK_FORGET(id) __asm__ volatile("" : "+rw"(id))
#else
#define HK_FORGET(id) ((void)0)
#endif
HK_FN hk_i32 hk_thread(void)
{
    hk_i32 id = (hk_i32)get_local_id(0);

    HK_FORGET(id);
    return id & (HK_THREADS - 1);
}
#define HK_THREAD_ID(id) const hk_i32 id = hk_thread()
#define HK_EACH(id)
#define HK_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define HK_BARRIER_ALL() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

HK_FN void hk_local_or(HK_LOCAL hk_u32 *to, hk_u32 bits)
{
    atomic_or(to, bits);
}

/* The next number of a counter that all groups share. */
HK_FN hk_i32 hk_take(HK_GLOBAL hk_i32 *counter)
{
    return atomic_inc(counter);
}

/* ---- one float ---- */

#define hk_add(a, b) ((a) + (b))
#define hk_sub(a, b) ((a) - (b))
#define hk_mul(a, b) ((a) * (b))
#define hk_fma(a, b, c) fma(a, b, c)
#define hk_rint(a) rint(a)
#if !HK_PROCESSOR
#define HK_HAS_MAX_NUMBER 1
#define hk_max_number(a, b) fmax(a, b)
#endif
#define hk_word(a) as_uint(a)
#define hk_float(w) as_float(w)
#define hk_from_i64(i) convert_float_rte(i)

/* There is no correctly rounded division: steps.h divides by Newton's method, from this seed, with
 * this correction. */
#define HK_SOFT_RECIP 1
#define hk_negate(a) (-(a))
#define hk_recip_seed(a) as_float(0x7ef311c7u - as_uint(a))

HK_FN float hk_recip_end(float x, float a)
{
    return a == a && (as_uint(a) & 0x7fffffu) == 0x7fffffu ? as_float(as_uint(x) + 1) : x;
}

HK_FN float hk_load_f16(HK_GLOBAL const hk_u16 *p)
{
    return vload_half(0, (HK_GLOBAL const half *)p);
}

HK_FN float hk_from_f16(hk_u16 x)
{
    return vload_half(0, (const half *)&x);
}

/* 2 or 4 words at a multiple of their bytes, and back; likewise 4 floats of local memory. */
HK_FN void hk_load_words(HK_GLOBAL const char *p, const int n, hk_u32 *to)
{
    if (n == 4) {
        const uint4 x = *(HK_GLOBAL const uint4 *)p;

        to[0] = x.x;
        to[1] = x.y;
        to[2] = x.z;
        to[3] = x.w;
    } else {
        const uint2 x = *(HK_GLOBAL const uint2 *)p;

        to[0] = x.x;
        to[1] = x.y;
    }
}

HK_FN void hk_store_words(HK_GLOBAL char *p, const int n, const hk_u32 *from)
{
    if (n == 4)
        *(HK_GLOBAL uint4 *)p = (uint4)(from[0], from[1], from[2], from[3]);
    else
        *(HK_GLOBAL uint2 *)p = (uint2)(from[0], from[1]);
}

HK_FN void hk_local_get4(HK_LOCAL const float *p, float *to)
{
    const float4 x = *(HK_LOCAL const float4 *)p;

    to[0] = x.x;
    to[1] = x.y;
    to[2] = x.z;
    to[3] = x.w;
}

HK_FN void hk_local_put4(HK_LOCAL float *p, const float *from)
{
    *(HK_LOCAL float4 *)p = (float4)(from[0], from[1], from[2], from[3]);
}

#define hk_address(p) ((hk_u64)(p))

/* Bytes from memory to memory, which do not overlap; faster where all is even. */
HK_FN void hk_move(HK_GLOBAL char *to, HK_GLOBAL const char *from, hk_i64 bytes)
{
    HK_GLOBAL hk_u16 *const out = (HK_GLOBAL hk_u16 *)to;
    HK_GLOBAL const hk_u16 *const in = (HK_GLOBAL const hk_u16 *)from;
    const hk_i64 n = ((hk_address(to) | hk_address(from) | (hk_u64)bytes) & 1) ? 0 : bytes / 2;
    hk_i64 i = 0;

    for (; i + 16 <= n; i += 16)
        vstore16(vload16(0, in + i), 0, out + i);
    for (; i < n; i++)
        out[i] = in[i];
    for (i = 2 * n; i < bytes; i++)
        to[i] = from[i];
}

/* Lowest set bit of a word that has one. */
HK_FN hk_i32 hk_first_bit(hk_u64 word)
{
    return 63 - (hk_i32)clz(word & (~word + 1));
}

#define HK_HAS_VECTORS 1

/* ---- the entry point (entry.h) ---- */

struct hk_offsets {
#if HK_LARGE
    hk_u64 work, n_operands;
#else
    hk_u64 at[29];
#endif
    hk_u64 group;               /* the first of this launch */
};

#define HK_ARGUMENT(n) __global char *b##n
#define HK_GIVEN(n) b##n
#define HK_GIVEN_LAST HK_LAST(HK_GIVEN)

#if HK_LARGE
#define HK_ENTRY_PLACES ((__global const ulong *)(HK_GIVEN_LAST + offsets.work))
#define HK_ENTRY_OFFSET(i)                                                                         \
    ((i) == HK_BUFFERS - 1              ? offsets.work                                             \
     : (hk_u64)(i) < offsets.n_operands ? HK_ENTRY_PLACES[i]                                       \
                                        : 0)
#else
#define HK_ENTRY_OFFSET(i) offsets.at[i]
#endif

#if HK_IN_REGISTERS
#define HK_ENTRY_BUFFERS(call, given, shared)                                                      \
    if (get_local_id(0) == 0) {                                                                    \
        HK_UNROLL                                                                                  \
        for (int i = 0; i < HK_BUFFERS; i++)                                                       \
            shared->buffer[i] = given[i] + HK_ENTRY_OFFSET(i);                                     \
    }                                                                                              \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
    call.buffer = shared->buffer;                                                                \
    call.item = shared->item;                                                                      \
    call.value = shared->value
#elif HK_LOCAL_BUFFERS
#define HK_ENTRY_BUFFERS(call, given, shared)                                                      \
    call.buffer = HK_TABLE(shared);                                                                \
    if (get_local_id(0) == 0) {                                                                    \
        HK_UNROLL                                                                                  \
        for (int i = 0; i < HK_BUFFERS; i++)                                                       \
            call.buffer[i] = given[i] + HK_ENTRY_OFFSET(i);                                        \
    }                                                                                              \
    barrier(CLK_LOCAL_MEM_FENCE)
#else
#define HK_ENTRY_BUFFERS(call, given, shared)                                                      \
    for (int i = 0; i < HK_BUFFERS; i++)                                                           \
        call.buffer[i] = given[i] + HK_ENTRY_OFFSET(i)
#endif

/* Wider sub-groups would share the same registers (Intel's compiler would choose them).
 * HK_MANY_SUMS 1 (defined before): a thread needs many. */
#if HK_LEAST_LANES && (HK_IN_REGISTERS || HK_MANY_SUMS)
#define HK_ENTRY_LANES __attribute__((intel_reqd_sub_group_size(HK_LEAST_LANES)))
#else
#define HK_ENTRY_LANES
#endif

/* The kernel's local memory: what it shares, and the table of buffers behind it. */
#define HK_POOL_UNITS ((sizeof(HK_SHARED) + 15) / 16)
#if HK_LOCAL_BUFFERS
#define HK_TABLE(shared) ((__global char *__local *)((__local ulong2 *)(shared) + HK_POOL_UNITS))
#define HK_TABLE_UNITS ((HK_BUFFERS + 1) / 2)
#else
#define HK_TABLE_UNITS 0
#endif

/* PoCL gives each of its threads a copy of the variables of local memory that a kernel names, but
 * not of those that a function names which the kernel calls. Optimizers make such functions, where
 * an argument has one value only; groups then share the variable. What is volatile has no value
 * that they know. */
#if HK_PROCESSOR && HK_THREADS > 1
#define HK_POOL(shared, pool)                                                                      \
    __local HK_SHARED *volatile hidden = (__local HK_SHARED *)pool;                                \
    __local HK_SHARED *shared = hidden
#else
#define HK_POOL(shared, pool) __local HK_SHARED *shared = (__local HK_SHARED *)pool
#endif

#define HK_ENTRY_POINT                                                                             \
    HK_ENTRY_LANES                                                                                 \
    __kernel __attribute__((reqd_work_group_size(HK_THREADS, 1, 1))) void heed_kernel(             \
        __global const char *blob, const struct hk_offsets offsets, HK_EVERY(HK_ARGUMENT))         \
    {                                                                                              \
        __local ulong2 pool[HK_POOL_UNITS + HK_TABLE_UNITS];                                       \
        HK_POOL(shared, pool);                                                                     \
        __global char *const given[HK_BUFFERS] = { HK_EVERY(HK_GIVEN) };                           \
        struct hk_call call;                                                                       \
                                                                                                   \
        call.blob = blob;                                                                          \
        HK_ENTRY_BUFFERS(call, given, shared);                                                     \
        hk_call_open(&call);                                                                       \
        HK_MAIN(&call, (hk_i64)(offsets.group + get_group_id(0)), shared);                         \
    }

#endif
