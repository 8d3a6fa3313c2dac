/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The words of dialect.h in C17 (spans.h also in C++): a work-group is a loop, a vector an array.
 * Slow; for tests under sanitizers and debuggers, and for the host's side of the self-test.
 */
#ifndef HEED_BACKENDS_KERNELS_DIALECT_C17_H
#define HEED_BACKENDS_KERNELS_DIALECT_C17_H

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef int32_t hk_i32;
typedef uint32_t hk_u32;
typedef int64_t hk_i64;
typedef uint64_t hk_u64;
typedef uint8_t hk_u8;
typedef uint16_t hk_u16;

#define HK_GLOBAL
#define HK_LOCAL
#define HK_FN static inline
/* Of 16 floats: never inlined, else sanitizers' code for them takes compilers minutes. */
#if defined __GNUC__
#define HK_VFN static __attribute__((noinline, unused))
#else
#define HK_VFN static inline
#endif
#define HK_NOINLINE static
#define HK_PIECE HK_FN
#define HK_UNROLL
#define HK_UNROLL_FEW
#define HK_RESTRICT
#define HK_INFINITY INFINITY

/* ---- items of a group ---- */

#define HK_MINE HK_ITEMS
#define HK_OWN(id) (id)
#define HK_ITEM_ID(id) hk_i32 id
#define HK_EACH(id) for (id = 0; id < HK_ITEMS; id++)
#define HK_BARRIER() ((void)0)

HK_FN void hk_local_or(hk_u32 *to, hk_u32 bits)
{
    *to |= bits;
}

HK_FN hk_i32 hk_take(hk_i32 *counter)
{
    return (*counter)++;
}

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

HK_FN hk_i32 hk_first_bit(hk_u64 word)
{
    hk_i32 i = 0;

    for (; i < 63 && !(word >> i & 1); i++)
        continue;
    return i;
}

/* ---- 16 floats ---- */

#define HK_HAS_VECTORS 1

typedef struct {
    float x[16];
} hk_vec;
typedef struct {
    hk_u32 x[16];               /* all ones or 0 */
} hk_vmask;

#define HK_V1(name, type, of, a_type, value)                                                       \
    HK_VFN type name(a_type a)                                                                     \
    {                                                                                              \
        type out;                                                                                  \
                                                                                                   \
        for (int i = 0; i < 16; i++)                                                               \
            out.x[i] = (of)(value);                                                                \
        return out;                                                                                \
    }
#define HK_V2(name, type, of, a_type, b_type, value)                                               \
    HK_VFN type name(a_type a, b_type b)                                                           \
    {                                                                                              \
        type out;                                                                                  \
                                                                                                   \
        for (int i = 0; i < 16; i++)                                                               \
            out.x[i] = (of)(value);                                                                \
        return out;                                                                                \
    }

HK_V1(hkv_set, hk_vec, float, float, a)
HK_V1(hkv_load, hk_vec, float, const float *, a[i])
HK_V2(hkv_add, hk_vec, float, hk_vec, hk_vec, a.x[i] + b.x[i])
HK_V2(hkv_sub, hk_vec, float, hk_vec, hk_vec, a.x[i] - b.x[i])
HK_V2(hkv_mul, hk_vec, float, hk_vec, hk_vec, a.x[i] * b.x[i])
HK_V1(hkv_recip, hk_vec, float, hk_vec, 1.0f / a.x[i])
HK_V1(hkv_rint, hk_vec, float, hk_vec, rintf(a.x[i]))
HK_V2(hkv_max_f, hk_vec, float, hk_vec, hk_vec, a.x[i] > b.x[i] ? a.x[i] : b.x[i])
HK_V2(hkv_min_f, hk_vec, float, hk_vec, hk_vec, a.x[i] < b.x[i] ? a.x[i] : b.x[i])
HK_V2(hkv_less, hk_vmask, hk_u32, hk_vec, hk_vec, a.x[i] < b.x[i] ? ~0u : 0u)
HK_V2(hkv_not_less, hk_vmask, hk_u32, hk_vec, hk_vec, a.x[i] < b.x[i] ? 0u : ~0u)
HK_V2(hkv_at_least, hk_vmask, hk_u32, hk_vec, hk_vec, a.x[i] >= b.x[i] ? ~0u : 0u)
HK_V2(hkv_not_equal, hk_vmask, hk_u32, hk_vec, hk_vec, a.x[i] != b.x[i] ? ~0u : 0u)
HK_V1(hkv_ordered, hk_vmask, hk_u32, hk_vec, a.x[i] == a.x[i] ? ~0u : 0u)
HK_V2(hkv_keep, hk_vec, float, hk_vmask, hk_vec, a.x[i] ? b.x[i] : 0.0f)
HK_V1(hkv_abs_f, hk_vec, float, hk_vec, hk_float(hk_word(a.x[i]) & 0x7fffffffu))
HK_V2(hkv_sign_f, hk_vec, float, hk_vec, hk_vec,
      hk_float(hk_word(a.x[i]) | (hk_word(b.x[i]) & 0x80000000u)))
HK_V2(hkv_scale2, hk_vec, float, hk_vec, hk_vec,
      hk_float(hk_word(a.x[i]) + ((hk_u32)(hk_i32)b.x[i] << 23)))
HK_V1(hkv_bits, hk_vmask, hk_u32, hk_u32, a >> i & 1 ? ~0u : 0u)
#undef HK_V1
#undef HK_V2

HK_VFN void hkv_store(float *p, hk_vec a)
{
    memcpy(p, a.x, sizeof a.x);
}

HK_VFN hk_vec hkv_fma(hk_vec a, hk_vec b, hk_vec c)
{
    hk_vec out;

    for (int i = 0; i < 16; i++)
        out.x[i] = fmaf(a.x[i], b.x[i], c.x[i]);
    return out;
}

HK_VFN hk_vec hkv_select(hk_vmask m, hk_vec a, hk_vec b)
{
    hk_vec out;

    for (int i = 0; i < 16; i++)
        out.x[i] = m.x[i] ? a.x[i] : b.x[i];
    return out;
}

HK_VFN hk_u32 hkv_word(hk_vmask m)
{
    hk_u32 word = 0;

    for (int i = 0; i < 16; i++)
        word |= (m.x[i] & 1) << i;
    return word;
}

HK_VFN float hkv_max_across(hk_vec a)
{
    float most = a.x[0];

    for (int i = 1; i < 16; i++)
        most = a.x[i] > most ? a.x[i] : most;
    return most;
}

HK_VFN float hkv_sum(hk_vec a)
{
    for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; i++)
            a.x[i] = a.x[i] + a.x[i + half];
    }
    return a.x[0];
}

/* ---- the entry point (entry.h) ---- */

#define HK_ENTRY_POINT                                                                             \
    void HK_KERNEL_NAME(const char *image, char *const *buffers, int64_t group);                   \
    void HK_KERNEL_NAME(const char *image, char *const *buffers, int64_t group)                    \
    {                                                                                              \
        struct hk_shared shared;                                                                   \
        struct hk_call call;                                                                       \
                                                                                                   \
        call.image = image;                                                                        \
        memcpy(call.buffer, buffers, sizeof call.buffer);                                          \
        hk_call_open(&call);                                                                       \
        hk_main(&call, group, &shared);                                                            \
    }

#endif
