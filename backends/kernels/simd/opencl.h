/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vector vocabulary of OpenCL C: 16 lanes, which compilers for processors split or not; a tile of 6
 * rows for 256-bit vectors, of 12 for 512 (HK_TILE_ROWS, from the host). The words are those of
 * scalar.h.
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_OPENCL_H
#define HEED_BACKENDS_KERNELS_SIMD_OPENCL_H

#define HKV_LANES 16
#define HKV_TILE 1
#define HKV_WEIGHTS 1

typedef float16 hk_vec;
typedef int16 hk_vmask;

#define hkv_negate(a) as_float16(as_uint16(a) ^ 0x80000000u)
#define hkv_recip_seed(a) as_float16((uint16)(0x7ef311c7u) - as_uint16(a))

/* One unit up where a's mantissa is all ones, unless a is NaN: on integers alone, as Oclgrind 21.10
 * widens the conjunction of two comparisons of vectors wrongly. */
HK_FN hk_vec hkv_recip_end(hk_vec x, hk_vec a)
{
    const uint16 bits = as_uint16(a);
    const uint16 last = ((bits & 0x7fffffu) + 1u) >> 23u, odd = ((bits >> 23u & 0xffu) + 1u) >> 8u;

    return as_float16(as_uint16(x) + (last & ~odd));
}

#define hkv_set(a) ((float16)(a))
#define hkv_load(p) vload16(0, p)
#define hkv_store(p, a) vstore16(a, 0, p)
#define hkv_add(a, b) ((a) + (b))
#define hkv_sub(a, b) ((a) - (b))
#define hkv_mul(a, b) ((a) * (b))
#define hkv_fma(a, b, c) fma(a, b, c)
#define hkv_rint(a) rint(a)
#define hkv_less(a, b) ((a) < (b))
#define hkv_not_less(a, b) (~((a) < (b)))
#define hkv_not_equal(a, b) ((a) != (b))
#define hkv_ordered(a) ((a) == (a))
#define hkv_keep(m, a) as_float16(as_int16(a) & (m))
#define hkv_abs_f(a) as_float16(as_int16(a) & 0x7fffffff)
#define hkv_sign_f(a, from) as_float16(as_int16(a) | (as_int16(from) & (int)0x80000000))

HK_FN hk_vec hkv_select(hk_vmask m, hk_vec a, hk_vec b)
{
    return select(b, a, m);
}

HK_FN hk_vec hkv_max_f(hk_vec a, hk_vec b)
{
    return select(b, a, a > b);
}

HK_FN hk_vec hkv_min_f(hk_vec a, hk_vec b)
{
    return select(b, a, a < b);
}

HK_FN hk_vec hkv_scale2(hk_vec a, hk_vec g)
{
    return as_float16(as_uint16(a) + (as_uint16(convert_int16(g)) << 23u));
}

HK_FN hk_vmask hkv_bits(hk_u32 word)
{
    const int16 lane = (int16)(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
                               32768);

    return ((int16)((int)word) & lane) != 0;
}

HK_FN hk_u32 hkv_word(hk_vmask m)
{
    const int16 lane = (int16)(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
                               32768);
    const int16 b = m & lane;
    const int8 c = b.lo | b.hi;
    const int4 d = c.lo | c.hi;
    const int2 e = d.lo | d.hi;

    return (hk_u32)(e.x | e.y);
}

HK_FN float hkv_max_across(hk_vec a)
{
    const float8 b = fmax(a.lo, a.hi);
    const float4 c = fmax(b.lo, b.hi);
    const float2 d = fmax(c.lo, c.hi);

    return fmax(d.x, d.y);
}

HK_FN float hkv_min_across(hk_vec a)
{
    const float8 b = fmin(a.lo, a.hi);
    const float4 c = fmin(b.lo, b.hi);
    const float2 d = fmin(c.lo, c.hi);

    return fmin(d.x, d.y);
}

HK_FN float hkv_add_across(hk_vec a)
{
    const float8 b = a.lo + a.hi;
    const float4 c = b.lo + b.hi;
    const float2 d = c.lo + c.hi;

    return d.x + d.y;
}

HK_FN hk_u32 hkv_equals(HK_GLOBAL const hk_i32 *p, hk_i32 x)
{
    return hkv_word(vload16(0, p) == (int16)(x));
}

HK_FN hk_u32 hkv_bytes(HK_GLOBAL const hk_u8 *p)
{
    return hkv_word(convert_int16(vload16(0, p)) != (int16)(0));
}

HK_FN hk_vec hkv_load_f16(HK_GLOBAL const hk_u16 *p)
{
    return vload_half16(0, (HK_GLOBAL const half *)p);
}

HK_FN hk_vec hkv_load_bf16(HK_GLOBAL const hk_u16 *p)
{
    return as_float16(convert_uint16(vload16(0, p)) << 16u);
}

HK_FN hk_vec hkv_load_i8(HK_GLOBAL const hk_i8 *p)
{
    return convert_float16(vload16(0, p));
}

HK_FN hk_vec hkv_load_codes(HK_GLOBAL const hk_u8 *p, const int upper, hk_u64 low, hk_u64 high)
{
    const uchar16 bytes = vload16(0, p), of = upper ? bytes >> (uchar16)(4) : bytes & (uchar16)(15);
    const char16 table = as_char16((ulong2)(low, high));

    return convert_float16(shuffle(table, of));
}

HK_FN hk_vec hkv_load_nibbles(HK_GLOBAL const hk_u8 *p, const int upper, hk_u64 low, hk_u64 high)
{
    const uchar8 bytes = vload8(0, p);
    const char16 table = as_char16((ulong2)(low, high));
    uchar16 of;

    (void)upper; /* 0 */
    of.even = bytes & (uchar8)(15);
    of.odd = bytes >> (uchar8)(4);
    return convert_float16(shuffle(table, of));
}

HK_FN hk_vec hkv_load_half_bytes(HK_GLOBAL const hk_u8 *p, const int up)
{
    const ushort16 bytes = convert_ushort16(vload16(0, p)), places = (ushort16)((hk_u16)up);
    const ushort16 halves = (bytes & (ushort16)(0x80)) << (ushort16)(8) |
                            (bytes & (ushort16)(0x7f)) << places;

    return vload_half16(0, (const half *)&halves);
}

HK_FN void hkv_load_pairs_bf16(HK_GLOBAL const hk_u16 *p, hk_vec *out)
{
    const uint16 words = convert_uint16(vload16(0, p)), more = convert_uint16(vload16(1, p));

    out[0] = as_float16((uint16)(words.even, more.even) << 16u);
    out[1] = as_float16((uint16)(words.odd, more.odd) << 16u);
}

HK_FN void hkv_part_pairs(hk_vec *a)
{
    const hk_vec b = (float16)(a[0].even, a[1].even);

    a[1] = (float16)(a[0].odd, a[1].odd);
    a[0] = b;
}

HK_FN void hkv_join_pairs(hk_vec *a)
{
    hk_vec low, high;

    low.even = a[0].lo;
    low.odd = a[1].lo;
    high.even = a[0].hi;
    high.odd = a[1].hi;
    a[0] = low;
    a[1] = high;
}

/* On integers, as in numerics.h; what is subnormal in f16 is rounded by an exact sum. */
HK_FN ushort16 hkv_to_f16(hk_vec a)
{
    const uint16 word = as_uint16(a), magnitude = word & 0x7fffffffu;
    const uint16 normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13u & 1u)) >> 13u;
    const uint16 small = as_uint16(as_float16(magnitude) + 0.5f) - 0x3f000000u;
    uint16 out = select(small, normal, magnitude >= (uint16)(0x38800000u));

    out = select(out, (uint16)(0x7c00u), magnitude >= (uint16)(0x477ff000u));
    out = select(out | (word >> 16u & 0x8000u), (uint16)(0u), out == (uint16)(0u));
    return convert_ushort16(select(out, (uint16)(0x7e00u), magnitude > (uint16)(0x7f800000u)));
}

HK_FN ushort16 hkv_to_bf16(hk_vec a)
{
    const uint16 word = as_uint16(a);
    uint16 out = (word + 0x7fffu + (word >> 16u & 1u)) >> 16u;

    out = select(out, (uint16)(0u), out == (uint16)(0x8000u));
    return convert_ushort16(
        select(out, (uint16)(0x7fc0u), (word & 0x7fffffffu) > (uint16)(0x7f800000u)));
}

#define hkv_store_f16(p, a) vstore16(hkv_to_f16(a), 0, p)
#define hkv_store_bf16(p, a) vstore16(hkv_to_bf16(a), 0, p)

#define hkv_store_i8(p, a) vstore16(convert_char16(convert_int16(a)), 0, p)

#endif
