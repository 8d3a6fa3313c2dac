/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The matrix units of devices, in OpenCL C and CUDA: hk_mma adds the product of the fragments of
 * dialect_mma.h, hk_mma_pair is said there, hk_mma_other gives the word of the thread whose lane
 * differs by the bit `step`, hk_mma_get_b is that of units.h, where there is an instruction for it.
 */
#ifndef HEED_BACKENDS_KERNELS_DIALECT_DIALECT_UNITS_H
#define HEED_BACKENDS_KERNELS_DIALECT_DIALECT_UNITS_H

#if HK_MMA == 1

#if defined __CUDACC__          /* NVRTC knows no __asm__, OpenCL's compilers no asm */
#define HK_MMA_ASM asm
#else
#define HK_MMA_ASM __asm__
#endif

HK_FN void hk_mma(const struct hk_mma_a *a, const struct hk_mma_b *b, struct hk_mma_c *c)
{
#if HK_KV == 2
#define HK_MMA_TYPES "f32.f16.f16.f32"
#else
#define HK_MMA_TYPES "f32.bf16.bf16.f32"
#endif
    HK_MMA_ASM volatile("mma.sync.aligned.m16n8k16.row.col." HK_MMA_TYPES
                     " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c->x[0]), "+f"(c->x[1]), "+f"(c->x[2]), "+f"(c->x[3])
                     : "r"(a->word[0]), "r"(a->word[1]), "r"(a->word[2]), "r"(a->word[3]),
                       "r"(b->word[0]), "r"(b->word[1]));
#undef HK_MMA_TYPES
}

HK_FN hk_u32 hk_mma_pair(float x, float y)
{
    hk_u32 word;

#if HK_KV == 2
    HK_MMA_ASM("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(y), "f"(x));
#else
    HK_MMA_ASM("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(y), "f"(x));
#endif
    return word;
}

HK_FN hk_u32 hk_mma_other(hk_u32 x, hk_i32 step)
{
    hk_u32 word;

    HK_MMA_ASM volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                        : "=r"(word) : "r"(x), "r"(step));
    return word;
}

/* Lane i names line i % 8 of terms i / 8 % 2 * 8 on; lines begin at multiples of 16 bytes. */
#if defined __CUDACC__
#define HK_MMA_HAS_GET_B 1
HK_FN void hk_mma_get_b(const hk_u32 *from, hk_i32 line, hk_i32 lane, struct hk_mma_b *b)
{
    const hk_u32 *const at = from + lane % 8 * line + lane / 8 % 2 * 4;

    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b->word[0]), "=r"(b->word[1])
                 : "r"((hk_u32)__cvta_generic_to_shared(at)));
}
#endif

#elif HK_MMA >= 2 && HK_MMA <= 4

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef float hk_mma_f4 __attribute__((ext_vector_type(4)));
typedef float hk_mma_f8 __attribute__((ext_vector_type(8)));
typedef short hk_mma_s4 __attribute__((ext_vector_type(4)));
typedef short hk_mma_s8 __attribute__((ext_vector_type(8)));
typedef short hk_mma_s16 __attribute__((ext_vector_type(16)));
typedef half hk_mma_h4 __attribute__((ext_vector_type(4)));
typedef half hk_mma_h8 __attribute__((ext_vector_type(8)));
typedef half hk_mma_h16 __attribute__((ext_vector_type(16)));
typedef hk_u32 hk_mma_u2 __attribute__((ext_vector_type(2)));
typedef hk_u32 hk_mma_u4 __attribute__((ext_vector_type(4)));
typedef hk_u32 hk_mma_u8 __attribute__((ext_vector_type(8)));

#if HK_MMA == 2
#define HK_MMA_IN hk_mma_u2
#define HK_MMA_SUM hk_mma_f4
#if HK_KV == 2
#define HK_MMA_CALL(a, b, c)                                                                       \
    __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_astype(a, hk_mma_h4),                          \
                                          __builtin_astype(b, hk_mma_h4), c, 0, 0, 0)
#else
#define HK_MMA_CALL(a, b, c)                                                                       \
    __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_astype(a, hk_mma_s4),                      \
                                              __builtin_astype(b, hk_mma_s4), c, 0, 0, 0)
#endif
#elif HK_MMA == 3
#define HK_MMA_IN hk_mma_u8
#define HK_MMA_SUM hk_mma_f8
#if HK_KV == 2
#define HK_MMA_CALL(a, b, c)                                                                       \
    __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_astype(a, hk_mma_h16),                    \
                                               __builtin_astype(b, hk_mma_h16), c)
#else
#define HK_MMA_CALL(a, b, c)                                                                       \
    __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(__builtin_astype(a, hk_mma_s16),                   \
                                                __builtin_astype(b, hk_mma_s16), c)
#endif
#else
#define HK_MMA_IN hk_mma_u4
#define HK_MMA_SUM hk_mma_f8
#if HK_KV == 2
#define HK_MMA_CALL(a, b, c)                                                                       \
    __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(__builtin_astype(a, hk_mma_h8),               \
                                                     __builtin_astype(b, hk_mma_h8), c)
#else
#define HK_MMA_CALL(a, b, c)                                                                       \
    __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(__builtin_astype(a, hk_mma_s8),              \
                                                      __builtin_astype(b, hk_mma_s8), c)
#endif
#endif

HK_FN void hk_mma(const struct hk_mma_a *a, const struct hk_mma_b *b, struct hk_mma_c *c)
{
    HK_MMA_IN x, y;
    HK_MMA_SUM sum;
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < HK_MMA_A_WORDS; i++) {
        x[i] = a->word[i];
        y[i] = b->word[i];
    }
    HK_UNROLL
    for (i = 0; i < HK_MMA_ITEMS; i++)
        sum[i] = c->x[i];
    sum = HK_MMA_CALL(y, x, sum);
    HK_UNROLL
    for (i = 0; i < HK_MMA_ITEMS; i++)
        c->x[i] = sum[i];
}
#undef HK_MMA_CALL
#undef HK_MMA_IN
#undef HK_MMA_SUM

HK_FN hk_u32 hk_mma_pair(float x, float y)
{
#if HK_KV == 2
    return __builtin_astype((half2)((half)x, (half)y), hk_u32);
#else
    return hk_mma_bf16_pair(x, y);
#endif
}

HK_FN hk_u32 hk_mma_other(hk_u32 x, hk_i32 step)
{
#if HK_MMA == 2
    if (step == 32)
        return (hk_u32)__builtin_amdgcn_ds_bpermute(((hk_i32)get_local_id(0) % 64 ^ 32) * 4,
                                                    (hk_i32)x);
    return (hk_u32)__builtin_amdgcn_ds_swizzle((hk_i32)x, 16 << 10 | 31);
#else
    (void)step;
    return __builtin_amdgcn_permlanex16(x, x, 0x76543210u, 0xfedcba98u, 1, 0);
#endif
}

#elif HK_MMA >= 5

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#if HK_KV == 2
#define HK_MMA_NAME(rest) intel_sub_group_f16_f16_##rest
#else
#define HK_MMA_NAME(rest) intel_sub_group_bf16_bf16_##rest
#endif
#if HK_MMA == 5
#define HK_MMA_IN int8
#define HK_MMA_TO_IN(w) as_int8((uint8)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]))
#else
#define HK_MMA_IN short8
#define HK_MMA_TO_IN(w) as_short8((uint4)(w[0], w[1], w[2], w[3]))
#endif
float8 __attribute__((overloadable)) HK_MMA_NAME(matrix_mad_k16)(HK_MMA_IN a, int8 b, float8 c);

HK_FN void hk_mma(const struct hk_mma_a *a, const struct hk_mma_b *b, struct hk_mma_c *c)
{
    const hk_u32 *w = b->word;
    float *x = c->x;
    const float8 sum = HK_MMA_NAME(matrix_mad_k16)(
        HK_MMA_TO_IN(a->word), as_int8((uint8)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7])),
        (float8)(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]));

    x[0] = sum.s0;
    x[1] = sum.s1;
    x[2] = sum.s2;
    x[3] = sum.s3;
    x[4] = sum.s4;
    x[5] = sum.s5;
    x[6] = sum.s6;
    x[7] = sum.s7;
}
#undef HK_MMA_NAME
#undef HK_MMA_IN
#undef HK_MMA_TO_IN

HK_FN hk_u32 hk_mma_pair(float x, float y)
{
#if HK_KV == 2
    return as_uint(convert_half2_rte((float2)(x, y)));
#else
    return hk_mma_bf16_pair(x, y);
#endif
}

HK_FN hk_u32 hk_mma_other(hk_u32 x, hk_i32 step)
{
    return intel_sub_group_shuffle_xor(x, (hk_u32)step);
}

#else

HK_FN hk_u32 hk_mma_other(hk_u32 x, hk_i32 step)
{
    (void)step;
    return x;
}

#endif

HK_FN void hk_mma_trade(const hk_u32 *from, hk_u32 *to, hk_i32 n, hk_i32 step)
{
    hk_i32 w;

    HK_UNROLL
    for (w = 0; w < n; w++)
        to[w] = hk_mma_other(from[w], step);
}

#define HK_MMA_TRADE(mine, from, to, n, step)                                                      \
    hk_mma_trade((mine)[0].from, (mine)[0].to, n, step)
#define HK_MMA_RUN(mine, a, b, c) hk_mma(&(mine)[0].a, &(mine)[0].b, &(mine)[0].c)

#endif
