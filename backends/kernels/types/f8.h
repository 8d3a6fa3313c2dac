/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Floating-point numbers of a byte: what their types share. They are widened by way of binary16
 * (hk_from_half_byte), whose exponents have 5 bits: where theirs have 4, the half is 2^-8 of them.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_F8_H
#define HEED_BACKENDS_KERNELS_TYPES_F8_H

/* To nearest even; what is larger becomes the largest number, NaN the canonical one, zeros +0. A
 * type has `fraction` bits of fraction, and exponents that are `above` lower than those of
 * binary32. On integers, but for what is subnormal, which a sum rounds. */
HK_FN hk_u8 hk_to_f8(float x, const int fraction, const hk_u32 above, const hk_u32 largest,
                     const hk_u32 nan)
{
    const int cut = 23 - fraction;
    const hk_u32 word = hk_word(x), magnitude = word & 0x7fffffffu, one = (above + 1) << 23;
    /* whose last place is the smallest number */
    const float places = hk_float(one + ((hk_u32)cut << 23));
    hk_u32 out;

    if (!(x == x))
        return (hk_u8)nan;
    if (magnitude >= one)
        out = (magnitude - (above << 23) + ((1u << (cut - 1)) - 1) + (magnitude >> cut & 1)) >> cut;
    else
        out = hk_word(hk_add(hk_float(magnitude), places)) - hk_word(places);
    out = out < largest ? out : largest;
    return (hk_u8)(out == 0 ? 0 : out | (word >> 24 & 0x80u));
}

#if HK_VECTORS
/* A vector's lanes one by one, to neighbours. */
#define HKV_PUT_EACH(put, p, a)                                                                    \
    do {                                                                                           \
        float hkv_part[HKV_LANES];                                                                 \
        int hkv_lane;                                                                              \
                                                                                                   \
        hkv_store(hkv_part, a);                                                                    \
        for (hkv_lane = 0; hkv_lane < HKV_LANES; hkv_lane++)                                       \
            put((p) + hkv_lane, hkv_part[hkv_lane]);                                               \
    } while (0)
#endif

#endif
