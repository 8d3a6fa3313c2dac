/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vector vocabulary of four lanes for the threads of work-groups in every dialect (HK_FOUR_LANES):
 * what a thread asks of memory at one time, 16 bytes of floats. A GPU computes with each lane by
 * itself, so a vector is four floats and a word the word of scalar.h four times. The words are
 * those of scalar.h. Addresses are those of floats, not of vectors: what lies at a multiple of a
 * vector's bytes is asked for by batch.h.
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_FOUR_H
#define HEED_BACKENDS_KERNELS_SIMD_FOUR_H

#define HKV_LANES 4
#define HKV_TILE 1
#define HKV_WEIGHTS 1

typedef struct {
    float x, y, z, w;
} hk_vec;

typedef struct {
    int x, y, z, w;
} hk_vmask;

HK_INLINE hk_vec hkv_four(float x, float y, float z, float w)
{
    hk_vec out;

    out.x = x;
    out.y = y;
    out.z = z;
    out.w = w;
    return out;
}

HK_INLINE hk_vmask hkv_four_masks(int x, int y, int z, int w)
{
    hk_vmask out;

    out.x = x;
    out.y = y;
    out.z = z;
    out.w = w;
    return out;
}

/* Functions of a lane as functions of vectors. */
#define HKV_FOUR_1(name)                                                                           \
    HK_INLINE hk_vec hkv_##name(hk_vec a)                                                          \
    {                                                                                              \
        return hkv_four(hk_##name(a.x), hk_##name(a.y), hk_##name(a.z), hk_##name(a.w));           \
    }
#define HKV_FOUR_2(name)                                                                           \
    HK_INLINE hk_vec hkv_##name(hk_vec a, hk_vec b)                                                \
    {                                                                                              \
        return hkv_four(hk_##name(a.x, b.x), hk_##name(a.y, b.y), hk_##name(a.z, b.z),             \
                        hk_##name(a.w, b.w));                                                      \
    }
#define HKV_FOUR_MASKS(name, lane)                                                                 \
    HK_INLINE hk_vmask hkv_##name(hk_vec a, hk_vec b)                                              \
    {                                                                                              \
        return hkv_four_masks(lane(a.x, b.x), lane(a.y, b.y), lane(a.z, b.z), lane(a.w, b.w));     \
    }
#define HKV_NOT_EQUAL(a, b) ((a) != (b))

HK_INLINE hk_vec hkv_set(float a) { return hkv_four(a, a, a, a); }
#define hkv_load(p) hkv_four((p)[0], (p)[1], (p)[2], (p)[3])
#define hkv_store(p, a)                                                                            \
    do {                                                                                           \
        const hk_vec hkv_stored = (a);                                                             \
                                                                                                   \
        (p)[0] = hkv_stored.x;                                                                     \
        (p)[1] = hkv_stored.y;                                                                     \
        (p)[2] = hkv_stored.z;                                                                     \
        (p)[3] = hkv_stored.w;                                                                     \
    } while (0)
HKV_FOUR_2(add)
HKV_FOUR_2(sub)
HKV_FOUR_2(mul)
HKV_FOUR_1(rint)
HKV_FOUR_2(max_f)
HKV_FOUR_2(min_f)
HKV_FOUR_1(abs_f)
HKV_FOUR_2(sign_f)
HKV_FOUR_2(scale2)
HKV_FOUR_MASKS(less, hk_less)
HKV_FOUR_MASKS(not_less, hk_not_less)
HKV_FOUR_MASKS(not_equal, HKV_NOT_EQUAL)
#ifdef HK_SOFT_RECIP            /* steps.h */
HKV_FOUR_1(negate)
HKV_FOUR_1(recip_seed)
HKV_FOUR_2(recip_end)
#else
HKV_FOUR_1(recip)
#endif

HK_INLINE hk_vec hkv_fma(hk_vec a, hk_vec b, hk_vec c)
{
    return hkv_four(hk_fma(a.x, b.x, c.x), hk_fma(a.y, b.y, c.y), hk_fma(a.z, b.z, c.z),
                    hk_fma(a.w, b.w, c.w));
}

HK_INLINE hk_vmask hkv_ordered(hk_vec a)
{
    return hkv_four_masks(hk_ordered(a.x), hk_ordered(a.y), hk_ordered(a.z), hk_ordered(a.w));
}

HK_INLINE hk_vec hkv_select(hk_vmask m, hk_vec a, hk_vec b)
{
    return hkv_four(m.x ? a.x : b.x, m.y ? a.y : b.y, m.z ? a.z : b.z, m.w ? a.w : b.w);
}

HK_INLINE hk_vec hkv_keep(hk_vmask m, hk_vec a)
{
    return hkv_four(m.x ? a.x : 0.0f, m.y ? a.y : 0.0f, m.z ? a.z : 0.0f, m.w ? a.w : 0.0f);
}

HK_INLINE hk_vmask hkv_bits(hk_u32 word)
{
    return hkv_four_masks((int)(word & 1), (int)(word & 2), (int)(word & 4), (int)(word & 8));
}

HK_INLINE hk_u32 hkv_word(hk_vmask m)
{
    return (m.x ? 1u : 0) | (m.y ? 2u : 0) | (m.z ? 4u : 0) | (m.w ? 8u : 0);
}

HK_INLINE float hkv_max_across(hk_vec a)
{
    return hk_max_f(hk_max_f(a.x, a.z), hk_max_f(a.y, a.w));
}

HK_INLINE float hkv_min_across(hk_vec a)
{
    return hk_min_f(hk_min_f(a.x, a.z), hk_min_f(a.y, a.w));
}

HK_INLINE float hkv_add_across(hk_vec a)
{
    return hk_add(hk_add(a.x, a.z), hk_add(a.y, a.w));
}

HK_INLINE hk_u32 hkv_equals(HK_GLOBAL const hk_i32 *p, hk_i32 x)
{
    if (hk_address(p) % 16 == 0) {
        hk_u32 word[4];

        hk_load_words((HK_GLOBAL const char *)p, 4, word);
        return hkv_word(hkv_four_masks(word[0] == (hk_u32)x, word[1] == (hk_u32)x,
                                       word[2] == (hk_u32)x, word[3] == (hk_u32)x));
    }
    return hkv_word(hkv_four_masks(p[0] == x, p[1] == x, p[2] == x, p[3] == x));
}

HK_INLINE hk_u32 hkv_bytes(HK_GLOBAL const hk_u8 *p)
{
    return hkv_word(hkv_four_masks(p[0] != 0, p[1] != 0, p[2] != 0, p[3] != 0));
}

HK_INLINE hk_vec hkv_load_f16(HK_GLOBAL const hk_u16 *p)
{
    return hkv_four(hk_from_f16(p[0]), hk_from_f16(p[1]), hk_from_f16(p[2]), hk_from_f16(p[3]));
}

HK_INLINE hk_vec hkv_load_bf16(HK_GLOBAL const hk_u16 *p)
{
    return hkv_four(hk_from_bf16(p[0]), hk_from_bf16(p[1]), hk_from_bf16(p[2]),
                    hk_from_bf16(p[3]));
}

HK_INLINE hk_vec hkv_load_i8(HK_GLOBAL const hk_i8 *p)
{
    return hkv_four(hk_from_i8(p[0]), hk_from_i8(p[1]), hk_from_i8(p[2]), hk_from_i8(p[3]));
}

HK_INLINE hk_vec hkv_load_codes(HK_GLOBAL const hk_u8 *p, const int upper, hk_u64 low, hk_u64 high)
{
    return hkv_four(hk_from_code(p[0], upper, low, high), hk_from_code(p[1], upper, low, high),
                    hk_from_code(p[2], upper, low, high), hk_from_code(p[3], upper, low, high));
}

HK_INLINE hk_vec hkv_load_nibbles(HK_GLOBAL const hk_u8 *p, const int upper, hk_u64 low,
                                  hk_u64 high)
{
    (void)upper; /* 0 */
    return hkv_four(hk_from_code(p[0], 0, low, high), hk_from_code(p[0], 1, low, high),
                    hk_from_code(p[1], 0, low, high), hk_from_code(p[1], 1, low, high));
}

HK_INLINE hk_vec hkv_load_half_bytes(HK_GLOBAL const hk_u8 *p, const int up)
{
    return hkv_four(hk_from_half_byte(p[0], up), hk_from_half_byte(p[1], up),
                    hk_from_half_byte(p[2], up), hk_from_half_byte(p[3], up));
}

HK_INLINE void hkv_part_pairs(hk_vec *a)
{
    const hk_vec even = hkv_four(a[0].x, a[0].z, a[1].x, a[1].z);

    a[1] = hkv_four(a[0].y, a[0].w, a[1].y, a[1].w);
    a[0] = even;
}

HK_INLINE void hkv_join_pairs(hk_vec *a)
{
    const hk_vec low = hkv_four(a[0].x, a[1].x, a[0].y, a[1].y);

    a[1] = hkv_four(a[0].z, a[1].z, a[0].w, a[1].w);
    a[0] = low;
}

HK_INLINE void hkv_load_pairs_bf16(HK_GLOBAL const hk_u16 *p, hk_vec *out)
{
    out[0] = hkv_load_bf16(p);
    out[1] = hkv_load_bf16(p + 4);
    hkv_part_pairs(out);
}

#define HKV_STORE_EACH(lane, p, a)                                                                 \
    do {                                                                                           \
        const hk_vec hkv_stored = (a);                                                             \
                                                                                                   \
        (p)[0] = lane(hkv_stored.x);                                                               \
        (p)[1] = lane(hkv_stored.y);                                                               \
        (p)[2] = lane(hkv_stored.z);                                                               \
        (p)[3] = lane(hkv_stored.w);                                                               \
    } while (0)
#define HKV_TO_BF16(x) hk_to_bf16(hk_add(x, 0.0f))
#define HKV_TO_I8(x) (hk_i8)(hk_i32)(x)
#define hkv_store_f16(p, a) HKV_STORE_EACH(hk_to_f16, p, a)
#define hkv_store_bf16(p, a) HKV_STORE_EACH(HKV_TO_BF16, p, a)
#define hkv_store_i8(p, a) HKV_STORE_EACH(HKV_TO_I8, p, a)

#endif
