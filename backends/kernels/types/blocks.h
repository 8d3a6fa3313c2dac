/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of 32 neighbouring channels with a scale in front, and for some types a minimum behind the
 * scale, both binary16, as files of the GGUF family have them: what their types share. A block
 * begins at a multiple of two bytes. A row begins with a block. Numbers of four bits lie in 16
 * bytes: the lower halves are channels 0 to 15.
 */
#ifndef HEED_BACKENDS_KERNELS_TYPES_BLOCKS_H
#define HEED_BACKENDS_KERNELS_TYPES_BLOCKS_H

/* Byte `at` of the block of channel t. */
HK_INLINE HK_GLOBAL const hk_u8 *hk_block_byte(HK_GLOBAL const char *row, hk_i64 t, const int bytes,
                                               const int at)
{
    return (HK_GLOBAL const hk_u8 *)row + (hk_i64)((hk_u64)t / HK_BLOCK_CHANNELS) * bytes + at;
}

HK_INLINE int hk_in_block(hk_i64 t)
{
    return (int)((hk_u64)t % HK_BLOCK_CHANNELS);
}

/* Half number `at` of a block, whose bytes lie low first on every machine. */
HK_INLINE hk_u16 hk_block_bits(HK_GLOBAL const hk_u8 *block, const int at)
{
    return (hk_u16)(block[2 * at] | block[2 * at + 1] << 8);
}

HK_INLINE float hk_block_half(HK_GLOBAL const char *block, int at)
{
    return hk_from_f16(hk_block_bits((HK_GLOBAL const hk_u8 *)block, at));
}

/* Half a byte, of the 16 from `at` on, names an entry of a table (hk_from_code). */
HK_FN float hk_block_code(HK_GLOBAL const char *row, hk_i64 t, const int bytes, const int at,
                          hk_u64 low, hk_u64 high)
{
    const int in = hk_in_block(t);

    return hk_from_code(hk_block_byte(row, t, bytes, at)[in % 16], in >= 16, low, high);
}

/* The word of fifth bits from `at` on. */
HK_FN hk_u32 hk_block_word(HK_GLOBAL const char *row, hk_i64 t, const int bytes, const int at)
{
    HK_GLOBAL const hk_u8 *word = hk_block_byte(row, t, bytes, at);

    return (hk_u32)hk_block_bits(word, 1) << 16 | hk_block_bits(word, 0);
}

/* A number of five bits: the entry of its four lower ones, and 16 more for the fifth. The word of
 * fifth bits lies at `at`, the others behind it. */
HK_FN float hk_block_five(HK_GLOBAL const char *row, hk_i64 t, const int bytes, const int at,
                          hk_u64 low, hk_u64 high)
{
    const hk_u32 fifth = hk_block_word(row, t, bytes, at) >> hk_in_block(t) & 1;

    return hk_add(hk_block_code(row, t, bytes, at + 4, low, high), fifth ? 16.0f : 0.0f);
}

/* Four bytes from an even address on, the first one lowest. */
HK_FN hk_u32 hk_block_four(HK_GLOBAL const hk_u8 *at)
{
    HK_GLOBAL const hk_u16 *two = (HK_GLOBAL const hk_u16 *)at;

    return two[0] | (hk_u32)two[1] << 16;
}

#if HK_VECTORS
HK_INLINE hk_vec hkv_block_codes(HK_GLOBAL const char *row, hk_i64 t, const int bytes, const int at,
                                 hk_u64 low, hk_u64 high)
{
    const int in = hk_in_block(t);

    return hkv_load_codes(hk_block_byte(row, t, bytes, at) + in % 16, in >= 16, low, high);
}

/* Two vectors of neighbours. */
#define HKV_PAIR(in, row, t, out)                                                                  \
    ((out)[0] = in(row, t), (void)((out)[1] = in(row, (t) + HKV_LANES)))
HK_INLINE void hkv_block_pair(HK_GLOBAL const char *row, hk_i64 t, const int bytes, const int at,
                              hk_u64 low, hk_u64 high, hk_vec out[2])
{
#if defined HKV_HAS_CODE_PAIRS
    hkv_load_code_pair(hk_block_byte(row, t, bytes, at), hk_in_block(t), low, high, out);
#else
    out[0] = hkv_block_codes(row, t, bytes, at, low, high);
    out[1] = hkv_block_codes(row, t + HKV_LANES, bytes, at, low, high);
#endif
}

/* The fifth bits of a vector of neighbours. */
HK_INLINE hk_vec hkv_block_more(HK_GLOBAL const char *row, hk_i64 t, const int bytes, const int at)
{
    const hk_u32 lanes = 0xffffu >> (16 - HKV_LANES);
    const hk_u32 fifth = hk_block_word(row, t, bytes, at) >> hk_in_block(t) & lanes;

    return hkv_keep(hkv_bits(fifth), hkv_set(16.0f));
}

HK_INLINE hk_vec hkv_block_fives(HK_GLOBAL const char *row, hk_i64 t, const int bytes, const int at,
                                 hk_u64 low, hk_u64 high)
{
    return hkv_add(hkv_block_codes(row, t, bytes, at + 4, low, high),
                   hkv_block_more(row, t, bytes, at));
}

HK_INLINE void hkv_block_five_pair(HK_GLOBAL const char *row, hk_i64 t, const int bytes,
                                   const int at, hk_u64 low, hk_u64 high, hk_vec out[2])
{
    hkv_block_pair(row, t, bytes, at + 4, low, high, out);
    out[0] = hkv_add(out[0], hkv_block_more(row, t, bytes, at));
    out[1] = hkv_add(out[1], hkv_block_more(row, t + HKV_LANES, bytes, at));
}
#endif

#endif
