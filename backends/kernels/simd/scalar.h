/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vector vocabulary of one lane: for processors without a header of their own, for the threads of
 * work-groups in every dialect (HK_ONE_LANE), and what every other vocabulary has to be equal to.
 * (The other headers hold the same words.)
 *
 *   HKV_LANES      floats of a hk_vec: a divisor of 16
 *   HK_TILE_ROWS   rows of a register tile, 16 at most
 *   HKV_TILE       vectors across it: HKV_LANES * HKV_TILE is the width of a K panel, 64 at most
 *   HKV_WEIGHTS    vectors of weights formed side by side
 *   HKV_PACK       rows that hkv_pack transposes, and channels: a divisor of the panel's width, 16
 *                  at most
 *   HKV_PACK_F16, HKV_PACK_BF16, HKV_PACK_I8    channels that hkv_pack_f16 and so on transpose: 16
 *                  at most, 32 of I8
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_SCALAR_H
#define HEED_BACKENDS_KERNELS_SIMD_SCALAR_H

#define HKV_LANES 1
#ifndef HK_TILE_ROWS            /* GPUs have no register tiles */
#define HK_TILE_ROWS 4
#endif
#ifndef HKV_TILE
#define HKV_TILE 4
#endif
#define HKV_WEIGHTS 1

typedef float hk_vec;
typedef int hk_vmask;           /* one bit a lane, or all bits of a lane */

HK_INLINE hk_vec hkv_set(float x) { return x; }
#define hkv_load(p) (*(p))      /* from and to memory of any kind, of any float's alignment */
#define hkv_store(p, a) ((void)(*(p) = (a)))
HK_INLINE hk_vec hkv_add(hk_vec a, hk_vec b) { return hk_add(a, b); }
HK_INLINE hk_vec hkv_sub(hk_vec a, hk_vec b) { return hk_sub(a, b); }
HK_INLINE hk_vec hkv_mul(hk_vec a, hk_vec b) { return hk_mul(a, b); }
HK_INLINE hk_vec hkv_fma(hk_vec a, hk_vec b, hk_vec c) { return hk_fma(a, b, c); }
HK_INLINE hk_vec hkv_rint(hk_vec a) { return hk_rint(a); }
HK_INLINE hk_vec hkv_max_f(hk_vec a, hk_vec b) { return hk_max_f(a, b); } /* b if either is NaN */
HK_INLINE hk_vec hkv_min_f(hk_vec a, hk_vec b) { return hk_min_f(a, b); } /* b if either is NaN */
HK_INLINE hk_vec hkv_abs_f(hk_vec a) { return hk_abs_f(a); }
HK_INLINE hk_vec hkv_sign_f(hk_vec a, hk_vec from) { return hk_sign_f(a, from); }
HK_INLINE hk_vmask hkv_less(hk_vec a, hk_vec b) { return hk_less(a, b); }
HK_INLINE hk_vmask hkv_not_less(hk_vec a, hk_vec b) { return hk_not_less(a, b); }
HK_INLINE hk_vmask hkv_not_equal(hk_vec a, hk_vec b) { return a != b; }
HK_INLINE hk_vmask hkv_ordered(hk_vec a) { return hk_ordered(a); }
HK_INLINE hk_vec hkv_select(hk_vmask m, hk_vec a, hk_vec b) { return m ? a : b; }
HK_INLINE hk_vec hkv_keep(hk_vmask m, hk_vec a) { return m ? a : 0.0f; }

/* a * 2^g for integer g in [-100, 100]; anything for other g. */
HK_INLINE hk_vec hkv_scale2(hk_vec a, hk_vec g) { return hk_scale2(a, g); }

#ifdef HK_SOFT_RECIP            /* steps.h */
#define hkv_negate(a) hk_negate(a)
#define hkv_recip_seed(a) hk_recip_seed(a)
#define hkv_recip_end(x, a) hk_recip_end(x, a)
#else
HK_INLINE hk_vec hkv_recip(hk_vec a) { return hk_recip(a); }
#endif

/* The lowest HKV_LANES bits of a word as a mask, and back. */
HK_INLINE hk_vmask hkv_bits(hk_u32 word) { return (int)(word & 1); }
HK_INLINE hk_u32 hkv_word(hk_vmask m) { return (hk_u32)m; }

/* No NaN in a. */
HK_INLINE float hkv_max_across(hk_vec a) { return a; }
HK_INLINE float hkv_min_across(hk_vec a) { return a; }

/* The lanes added as a tree, its halves first (docs/numerics.md step 9). */
HK_INLINE float hkv_add_across(hk_vec a) { return a; }

/* Which of HKV_LANES integers are x, which of as many bytes are not 0: bits. */
HK_INLINE hk_u32 hkv_equals(HK_GLOBAL const hk_i32 *p, hk_i32 x) { return *p == x; }
HK_INLINE hk_u32 hkv_bytes(HK_GLOBAL const hk_u8 *p) { return *p != 0; }

HK_INLINE hk_vec hkv_load_f16(HK_GLOBAL const hk_u16 *p) { return hk_load_f16(p); }
HK_INLINE hk_vec hkv_load_bf16(HK_GLOBAL const hk_u16 *p) { return hk_from_bf16(*p); }
HK_INLINE hk_vec hkv_load_i8(HK_GLOBAL const hk_i8 *p) { return hk_from_i8(*p); }
/* Entries of a table of 16 signed bytes, the first eight in `low`, that halves of HKV_LANES bytes
 * name: the lower ones, or where `upper` is 1 the others. */
HK_INLINE hk_vec hkv_load_codes(HK_GLOBAL const hk_u8 *p, const int upper, hk_u64 low, hk_u64 high)
{
    return hk_from_code(*p, upper, low, high);
}
/* Entries that HKV_LANES halves name, two in a byte, the lower one first; of one lane the half that
 * `upper` says. */
HK_INLINE hk_vec hkv_load_nibbles(HK_GLOBAL const hk_u8 *p, const int upper, hk_u64 low,
                                  hk_u64 high)
{
    return hk_from_code(*p, upper, low, high);
}
#define hkv_load_half_bytes(p, up) hk_from_half_byte(*(p), up)

/* 2 * HKV_LANES halves, those with even and those with odd places; the same of two vectors of
 * floats, and back. */
HK_INLINE void hkv_load_pairs_bf16(HK_GLOBAL const hk_u16 *p, hk_vec *out)
{
    out[0] = hk_from_bf16(p[0]);
    out[1] = hk_from_bf16(p[1]);
}
HK_INLINE void hkv_part_pairs(hk_vec *a) { (void)a; }
HK_INLINE void hkv_join_pairs(hk_vec *a) { (void)a; }

/* Step 11: rounded to nearest even, NaN canonical, zeros +0. Memory of any kind. */
#define hkv_store_f16(p, a) ((void)(*(p) = hk_to_f16(a)))
#define hkv_store_bf16(p, a) ((void)(*(p) = hk_to_bf16(hk_add(a, 0.0f))))

/* Integers of [-127, 127]. */
#define hkv_store_i8(p, a) ((void)(*(p) = (hk_i8)(hk_i32)(a)))

#endif
