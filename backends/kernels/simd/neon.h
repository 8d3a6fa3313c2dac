/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vector vocabulary of AArch64's Advanced SIMD: 4 lanes, a tile of 6 rows x 16 columns (24
 * accumulators, 4 operands). The words are those of scalar.h.
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_NEON_H
#define HEED_BACKENDS_KERNELS_SIMD_NEON_H

#include <arm_neon.h>

#define HKV_LANES 4
#define HK_TILE_ROWS 6
#define HKV_TILE 4
#define HKV_WEIGHTS 4

typedef float32x4_t hk_vec;
typedef uint32x4_t hk_vmask;    /* all ones or zero */

HK_INLINE hk_vec hkv_set(float x) { return vdupq_n_f32(x); }
HK_INLINE hk_vec hkv_load(const float *p) { return vld1q_f32(p); }
HK_INLINE void hkv_store(float *p, hk_vec a) { vst1q_f32(p, a); }
HK_INLINE hk_vec hkv_add(hk_vec a, hk_vec b) { return vaddq_f32(a, b); }
HK_INLINE hk_vec hkv_sub(hk_vec a, hk_vec b) { return vsubq_f32(a, b); }
HK_INLINE hk_vec hkv_mul(hk_vec a, hk_vec b) { return vmulq_f32(a, b); }
HK_INLINE hk_vec hkv_fma(hk_vec a, hk_vec b, hk_vec c) { return vfmaq_f32(c, a, b); }
HK_INLINE hk_vec hkv_recip(hk_vec a) { return vdivq_f32(vdupq_n_f32(1.0f), a); }
HK_INLINE hk_vec hkv_rint(hk_vec a) { return vrndnq_f32(a); }
HK_INLINE hk_vec hkv_abs_f(hk_vec a) { return vabsq_f32(a); }
HK_INLINE hk_vmask hkv_less(hk_vec a, hk_vec b) { return vcltq_f32(a, b); }
HK_INLINE hk_vmask hkv_not_less(hk_vec a, hk_vec b) { return vmvnq_u32(vcltq_f32(a, b)); }
HK_INLINE hk_vmask hkv_not_equal(hk_vec a, hk_vec b) { return vmvnq_u32(vceqq_f32(a, b)); }
HK_INLINE hk_vmask hkv_ordered(hk_vec a) { return vceqq_f32(a, a); }
HK_INLINE hk_vec hkv_select(hk_vmask m, hk_vec a, hk_vec b) { return vbslq_f32(m, a, b); }
HK_INLINE float hkv_max_across(hk_vec a) { return vmaxvq_f32(a); }
HK_INLINE float hkv_min_across(hk_vec a) { return vminvq_f32(a); }

HK_INLINE float hkv_add_across(hk_vec a)
{
    const float32x2_t b = vadd_f32(vget_low_f32(a), vget_high_f32(a));

    return vget_lane_f32(vpadd_f32(b, b), 0);
}

/* b if either is NaN: not what vmaxq_f32 does. */
HK_INLINE hk_vec hkv_max_f(hk_vec a, hk_vec b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
HK_INLINE hk_vec hkv_min_f(hk_vec a, hk_vec b) { return vbslq_f32(vcltq_f32(a, b), a, b); }

HK_INLINE hk_vec hkv_sign_f(hk_vec a, hk_vec from)
{
    const uint32x4_t sign = vandq_u32(vreinterpretq_u32_f32(from), vdupq_n_u32(0x80000000u));

    return vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(a), sign));
}

HK_INLINE hk_vec hkv_keep(hk_vmask m, hk_vec a)
{
    return vreinterpretq_f32_u32(vandq_u32(m, vreinterpretq_u32_f32(a)));
}

HK_INLINE hk_vec hkv_scale2(hk_vec a, hk_vec g)
{
    const int32x4_t shift = vshlq_n_s32(vcvtq_s32_f32(g), 23);

    return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(a), shift));
}

HK_INLINE hk_vmask hkv_bits(hk_u32 word)
{
    const uint32x4_t lane = { 1, 2, 4, 8 };

    return vtstq_u32(vdupq_n_u32(word), lane);
}

HK_INLINE hk_u32 hkv_word(hk_vmask m)
{
    const uint32x4_t lane = { 1, 2, 4, 8 };

    return vaddvq_u32(vandq_u32(m, lane));
}

HK_INLINE hk_u32 hkv_equals(const hk_i32 *p, hk_i32 x)
{
    return hkv_word(vceqq_s32(vld1q_s32(p), vdupq_n_s32(x)));
}

HK_INLINE hk_u32 hkv_bytes(const hk_u8 *p)
{
    const uint32x4_t bytes = { p[0], p[1], p[2], p[3] };

    return hkv_word(vtstq_u32(bytes, bytes));
}

HK_INLINE hk_vec hkv_load_f16(const hk_u16 *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

HK_INLINE hk_vec hkv_load_bf16(const hk_u16 *p)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}

HK_INLINE hk_vec hkv_load_i8(const hk_i8 *p)
{
    const int32x4_t bytes = { p[0], p[1], p[2], p[3] };

    return vcvtq_f32_s32(bytes);
}

HK_INLINE hk_vec hkv_load_codes(const hk_u8 *p, const int upper, hk_u64 low, hk_u64 high)
{
    const float32x4_t codes = { hk_from_code(p[0], upper, low, high),
                                hk_from_code(p[1], upper, low, high),
                                hk_from_code(p[2], upper, low, high),
                                hk_from_code(p[3], upper, low, high) };

    return codes;
}

HK_INLINE hk_vec hkv_load_nibbles(const hk_u8 *p, const int upper, hk_u64 low, hk_u64 high)
{
    const float32x4_t codes = { hk_from_code(p[0], 0, low, high), hk_from_code(p[0], 1, low, high),
                                hk_from_code(p[1], 0, low, high),
                                hk_from_code(p[1], 1, low, high) };

    (void)upper; /* 0 */
    return codes;
}

HK_INLINE hk_vec hkv_load_half_bytes(const hk_u8 *p, const int up)
{
    const int16x4_t bytes = { (hk_i8)p[0], (hk_i8)p[1], (hk_i8)p[2], (hk_i8)p[3] };
    const int16x4_t kept = vdup_n_s16((short)(0x8000 | 0x7f << up));
    const int16x4_t halves = vand_s16(vshl_s16(bytes, vdup_n_s16((short)up)), kept);

    return vcvt_f32_f16(vreinterpret_f16_s16(halves));
}

HK_INLINE void hkv_load_pairs_bf16(const hk_u16 *p, hk_vec out[2])
{
    const uint32x4_t words = vreinterpretq_u32_u16(vld1q_u16(p));

    out[0] = vreinterpretq_f32_u32(vshlq_n_u32(words, 16));
    out[1] = vreinterpretq_f32_u32(vandq_u32(words, vdupq_n_u32(0xffff0000u)));
}

HK_INLINE void hkv_part_pairs(hk_vec a[2])
{
    const hk_vec b = vuzp1q_f32(a[0], a[1]);

    a[1] = vuzp2q_f32(a[0], a[1]);
    a[0] = b;
}

HK_INLINE void hkv_join_pairs(hk_vec a[2])
{
    const hk_vec b = vzip1q_f32(a[0], a[1]);

    a[1] = vzip2q_f32(a[0], a[1]);
    a[0] = b;
}

HK_INLINE void hk_transpose_4(float32x4_t r[4])
{
    const float32x4_t a0 = vzip1q_f32(r[0], r[2]), a1 = vzip2q_f32(r[0], r[2]);
    const float32x4_t b0 = vzip1q_f32(r[1], r[3]), b1 = vzip2q_f32(r[1], r[3]);

    r[0] = vzip1q_f32(a0, b0);
    r[1] = vzip2q_f32(a0, b0);
    r[2] = vzip1q_f32(a1, b1);
    r[3] = vzip2q_f32(a1, b1);
}

#define HKV_PACK 4
HK_INLINE void hkv_pack(const float *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    float32x4_t r[4];
    int i;

    HK_UNROLL
    for (i = 0; i < 4; i++)
        r[i] = vld1q_f32(rows[i] + t);
    hk_transpose_4(r);
    HK_UNROLL
    for (i = 0; i < 4; i++)
        vst1q_f32(out + i * pitch, r[i]);
}

#define HKV_PACK_F16 4
HK_INLINE void hkv_pack_f16(const hk_u16 *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    float32x4_t r[4];
    int i;

    HK_UNROLL
    for (i = 0; i < 4; i++)
        r[i] = hkv_load_f16(rows[i] + t);
    hk_transpose_4(r);
    HK_UNROLL
    for (i = 0; i < 4; i++)
        vst1q_f32(out + i * pitch, r[i]);
}

/* Two channels are a word, whose transposition costs half as much as theirs. */
#define HKV_PACK_BF16 8
HK_INLINE void hkv_pack_bf16(const hk_u16 *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    float32x4_t r[4];
    int i;

    HK_UNROLL
    for (i = 0; i < 4; i++)
        r[i] = vreinterpretq_f32_u16(vld1q_u16(rows[i] + t));
    hk_transpose_4(r);
    HK_UNROLL
    for (i = 0; i < 4; i++) {
        const uint32x4_t words = vreinterpretq_u32_f32(r[i]);
        const uint32x4_t odd = vandq_u32(words, vdupq_n_u32(0xffff0000u));

        vst1q_f32(out + 2 * i * pitch, vreinterpretq_f32_u32(vshlq_n_u32(words, 16)));
        vst1q_f32(out + (2 * i + 1) * pitch, vreinterpretq_f32_u32(odd));
    }
}

#define HKV_PACK_I8 4
HK_INLINE void hkv_pack_i8(const hk_i8 *const *rows, hk_i64 t, float *out, hk_i64 pitch)
{
    float32x4_t r[4];
    int i;

    HK_UNROLL
    for (i = 0; i < 4; i++)
        r[i] = hkv_load_i8(rows[i] + t);
    hk_transpose_4(r);
    HK_UNROLL
    for (i = 0; i < 4; i++)
        vst1q_f32(out + i * pitch, r[i]);
}

/* Halves on their way out: zeros lose their sign, NaN is the canonical one. */
HK_INLINE void hk_store_halves(hk_u16 *p, hk_vec a, uint16x4_t halves, hk_u16 nan)
{
    const uint16x4_t numbers = vmovn_u32(vceqq_f32(a, a));

    halves = vbic_u16(halves, vceq_u16(halves, vdup_n_u16(0x8000)));
    vst1_u16(p, vbsl_u16(numbers, halves, vdup_n_u16(nan)));
}

HK_INLINE void hkv_store_f16(hk_u16 *p, hk_vec a)
{
    hk_store_halves(p, a, vreinterpret_u16_f16(vcvt_f16_f32(a)), 0x7e00);
}

HK_INLINE void hkv_store_bf16(hk_u16 *p, hk_vec a)
{
    const uint32x4_t word = vreinterpretq_u32_f32(a);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(word, 16), vdupq_n_u32(1));
    const uint32x4_t half = vaddq_u32(odd, vdupq_n_u32(0x7fff));

    hk_store_halves(p, a, vshrn_n_u32(vaddq_u32(word, half), 16), 0x7fc0);
}

HK_INLINE void hkv_store_i8(hk_i8 *p, hk_vec a)
{
    const int16x4_t halves = vmovn_s32(vcvtq_s32_f32(a));
    const int8x8_t bytes = vmovn_s16(vcombine_s16(halves, halves));
    const uint32_t word = vget_lane_u32(vreinterpret_u32_s8(bytes), 0);

    memcpy(p, &word, sizeof word);
}

#endif
