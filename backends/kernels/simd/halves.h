/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A model of a unit that multiplies pairs of bf16, for tests: what the words of kernels with
 * HK_BY_HALVES (attn/halves.h) mean. Processors that have one have headers of the same words
 * (avx512bf16.h, amx.h). HK_TILE_ROWS is 16 in such kernels, and a panel has 64 columns.
 *
 *   HKV_HALVES_COLUMNS words from 16 channels of V to the next 16
 *   hkv_halves_open, _close  around all others, once a group
 *   hkv_halves_weigh   64 weights of a row become bf16, to nearest even
 *   hkv_halves_tops    largest of each of 16 rows of 64 scores, NaN aside; -Inf: there is none
 *   hkv_halves_raise   raises m of 16 rows to what top * c asks for, and says it to m; the rows, by
 *                      bits, whose sums have another m, which goes to before; or negative, and
 *                      nothing is done: a row has no y but -Inf
 *   hkv_halves_softmax weights 2^(s * c - m) of 64 scores as bf16, those below 2^-126 perhaps +0;
 *                      what they were before is added to the row's 16 partial sums, in an order
 *                      of the processor's own
 *   hkv_halves_pair    n channels, 32 at most, of two keys become words, the even key in the lower
 *                      half: 16 of them, and 16 more HKV_HALVES_COLUMNS on; zeros behind channel n
 *                      and for a key that is NULL. Not 0: one is NaN or infinite
 *   hkv_halves_scores  s[row][key] = q[row] . k[key] of 16 rows, `pitch` halves apart and long, a
 *                      multiple of 32, and 64 keys, k [4][pitch / 2][16] words
 *   hkv_halves_values  o[row][channel] += p[row] . v[channel] of 16 rows of 64 weights and 64
 *                      channels, 16 of which lie as [32][16] words
 *
 * Units may take a subnormal half for zero, and write +0 for a subnormal sum.
 */
#ifndef HEED_BACKENDS_KERNELS_SIMD_HALVES_H
#define HEED_BACKENDS_KERNELS_SIMD_HALVES_H

#define HKV_HALVES_COLUMNS 512

HK_FN void hkv_halves_open(void) {}
HK_FN void hkv_halves_close(void) {}

HK_FN void hkv_halves_weigh(const float *p, hk_u16 *to)
{
    int i;

    for (i = 0; i < 64; i++)
        to[i] = hk_to_bf16(p[i]);
}

HK_FN void hkv_halves_tops(const float *s, float top[16])
{
    int i;

    for (i = 0; i < 16 * 64; i++)
        top[i / 64] = hk_max_number(s[i], i % 64 ? top[i / 64] : -HK_INFINITY);
}

HK_FN int hkv_halves_raise(const float top[16], float c, struct hk_row_state *state,
                           float before[16], float m[16])
{
    int i, raised = 0;

    for (i = 0; i < 16; i++) {
        if (hk_mul(top[i], c) == -HK_INFINITY)
            return -1;
    }
    for (i = 0; i < 16; i++) {
        const float e = hk_row_max(hk_mul(top[i], c));

        before[i] = state[i].m;
        if (e > state[i].m) {
            raised |= !state[i].empty << i;
            state[i].m = e;
            state[i].empty = 0;
        }
        m[i] = state[i].m;
    }
    return raised;
}

HK_FN void hkv_halves_softmax(const float *s, float factor, float most, hk_u16 *p, float *partials)
{
    int i;

    for (i = 0; i < 64; i++) {
        const float z = hk_fma(s[i], factor, -most);
        float x = 0.0f;

        if (!(z < -126.0f)) {
            const float n = floorf(z), f = hk_sub(z, n);

            x = hk_fma(HK_HALF_EXP_4, f, HK_HALF_EXP_3);
            x = hk_fma(x, f, HK_HALF_EXP_2);
            x = hk_fma(x, f, HK_HALF_EXP_1);
            x = hk_fma(x, f, 1.0f);
            x = hk_scale2(x, n);
        }
        partials[i % 16] = hk_add(partials[i % 16], x);
        p[i] = hk_to_bf16(x);
    }
}

HK_FN hk_u32 hkv_halves_pair(const hk_u16 *even, const hk_u16 *odd, int n, hk_u32 *to)
{
    hk_u32 bad = 0;
    int i;

    for (i = 0; i < 32; i++) {
        const hk_u32 a = even && i < n ? even[i] : 0, b = odd && i < n ? odd[i] : 0;

        bad |= (a & 0x7f80u) == 0x7f80u || (b & 0x7f80u) == 0x7f80u;
        to[i / 16 * HKV_HALVES_COLUMNS + i % 16] = a | b << 16;
    }
    return bad;
}

/* A half that the unit takes for zero. */
HK_FN float hkv_halves_wide(hk_u32 x)
{
    return (x & 0x7f80u) == 0 ? 0.0f : hk_from_bf16((hk_u16)x);
}

/* sum + the products of n pairs. */
HK_FN float hkv_halves_sum(float sum, const hk_u16 *x, const hk_u32 *b, hk_i64 n)
{
    hk_i64 t;

    for (t = 0; t < n; t++) {
        const hk_u32 word = b[t * 16];

        sum = hk_fma(hkv_halves_wide(x[2 * t + 1]), hkv_halves_wide(word >> 16), sum);
        sum = hk_fma(hkv_halves_wide(x[2 * t]), hkv_halves_wide(word & 0xffffu), sum);
        if ((hk_word(sum) & 0x7f800000u) == 0)
            sum = 0.0f;
    }
    return sum;
}

HK_FN void hkv_halves_scores(const hk_u16 *q, hk_i64 pitch, const hk_u32 *k, float *s)
{
    int i, n;

    for (i = 0; i < 16; i++) {
        for (n = 0; n < 64; n++)
            s[i * 64 + n] =
                hkv_halves_sum(0.0f, q + i * pitch, k + n / 16 * (pitch * 8) + n % 16, pitch / 2);
    }
}

HK_FN void hkv_halves_values(const hk_u16 *p, const hk_u32 *v, float *o)
{
    int i, n;

    for (i = 0; i < 16; i++) {
        for (n = 0; n < 64; n++)
            o[i * 64 + n] = hkv_halves_sum(o[i * 64 + n], p + i * 64,
                                           v + n / 16 * HKV_HALVES_COLUMNS + n % 16, 32);
    }
}

#endif
