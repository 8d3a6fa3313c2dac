/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Matrix units: HK_MMA_LANES threads (a wave) add a product of matrices of halves (f16 or bf16:
 * HK_KV) to one of f32, C[M][N] += A[M][16] * B[16][N]. Every thread holds a fragment of each:
 * words of pairs of halves, neighbours in the direction of the sum, and elements of C. Which ones
 * is said here once, for the kernels, for the units of devices and for the model of a unit in C17.
 * HK_MMA says which unit the device has (device.h: traits.mma):
 *
 *   0  none: a thread alone, by fma; for compilers that are to see a kernel
 *   1  NVIDIA from sm_80 on: mma.sync.m16n8k16
 *   2  AMD CDNA: v_mfma_f32_16x16x16, 64 lanes
 *   3  AMD RDNA 3: v_wmma_f32_16x16x16, where both halves of a wave hold all of A and B
 *   4  AMD RDNA 4: the same, each half of a wave holds half
 *   5  Intel with sub-groups of 8: dpas.8x8
 *   6  Intel with sub-groups of 16: dpas.8x8
 *
 * AMD's units are given B first: what they leave is the product transposed, so that a thread has
 * items of one row only.
 *
 * Collectives of all threads of the group, outside of HK_EACH, on members of what threads keep:
 *
 *     HK_MMA_RUN(mine, a, b, c)   the product, in every wave
 *     HK_MMA_TRADE(mine, from, to, n, step)   words to[0] to to[n - 1] are what the thread whose
 *                                 lane differs by the one bit `step` has in `from`
 *
 * Where a weight stands among the sums of scores, there its thread wants it in A: rows of scores
 * are made to operands without a way through memory (hk_mma_turn). For this the columns of scores
 * are keys in an order of the unit's (hk_mma_key).
 *
 * What a unit may do to sums: docs/numerics.md section 11. Before: dialect.h, mma.h.
 */
#ifndef HEED_BACKENDS_KERNELS_DIALECT_DIALECT_MMA_H
#define HEED_BACKENDS_KERNELS_DIALECT_DIALECT_MMA_H

enum {
    HK_MMA_A_WORDS = HK_MMA_M * 8 / HK_MMA_LANES * HK_MMA_TWICE,
    HK_MMA_B_WORDS = HK_MMA_N * 8 / HK_MMA_LANES * HK_MMA_TWICE,
    HK_MMA_ITEMS = HK_MMA_M * HK_MMA_N / HK_MMA_LANES,
    HK_MMA_OF_ROW = HK_MMA_ITEMS / HK_MMA_HELD,         /* of them, in the order of rows */
    HK_MMA_TILES = 16 / HK_MMA_N,                       /* of scores, for one A of their weights */
    HK_MMA_OWN_WORDS = HK_MMA_A_WORDS / HK_MMA_TWICE,   /* of A, that a thread has the items of */
    HK_MMA_TRADED = HK_MMA_HELD > 4 ? HK_MMA_HELD : 4
};

struct hk_mma_a {
    hk_u32 word[HK_MMA_A_WORDS];
};
struct hk_mma_b {
    hk_u32 word[HK_MMA_B_WORDS];
};
struct hk_mma_c {
    float x[HK_MMA_ITEMS];
};

/* ---- what a lane holds ---- */

/* Word w of A holds row hk_mma_a_row and, of the 16 terms, hk_mma_a_term and the next one; but for
 * HK_MMA 6: one term of this row and of the next. */
HK_FN hk_i32 hk_mma_a_row(hk_i32 lane, hk_i32 w)
{
#if HK_MMA == 1
    return lane / 4 + w % 2 * 8;
#elif HK_MMA == 6
    (void)lane;
    return 2 * w;
#elif HK_MMA == 5
    (void)lane;
    return w;
#else
    (void)w;
    return lane % HK_MMA_M;
#endif
}

HK_FN hk_i32 hk_mma_a_term(hk_i32 lane, hk_i32 w)
{
#if HK_MMA == 1
    return lane % 4 * 2 + w / 2 * 8;
#elif HK_MMA == 6
    (void)w;
    return lane;
#elif HK_MMA == 5
    (void)w;
    return 2 * lane;
#elif HK_MMA == 2
    return lane / 16 * 4 + 2 * w;
#elif HK_MMA == 4
    return lane / 16 * 8 + 2 * w;
#else
    (void)lane;
    return 2 * w;
#endif
}

/* Word w of B holds column hk_mma_b_column, and of the 16 terms hk_mma_b_term and the next one. */
HK_FN hk_i32 hk_mma_b_column(hk_i32 lane, hk_i32 w)
{
#if HK_MMA == 1
    (void)w;
    return lane / 4;
#elif HK_MMA == 0
    (void)lane;
    return w / 8;
#else
    (void)w;
    return lane % HK_MMA_N;
#endif
}

HK_FN hk_i32 hk_mma_b_term(hk_i32 lane, hk_i32 w)
{
#if HK_MMA == 1
    return lane % 4 * 2 + w * 8;
#elif HK_MMA == 2
    return lane / 16 * 4 + 2 * w;
#elif HK_MMA == 4
    return lane / 16 * 8 + 2 * w;
#else
    (void)lane;
    return w % 8 * 2;
#endif
}

/* Item i of C. */
HK_FN hk_i32 hk_mma_row(hk_i32 lane, hk_i32 i)
{
#if HK_MMA == 1
    return lane / 4 + i / 2 * 8;
#elif HK_MMA == 0
    (void)lane;
    (void)i;
    return 0;
#elif HK_MMA >= 5
    (void)lane;
    return i;
#else
    (void)i;
    return lane % HK_MMA_M;
#endif
}

HK_FN hk_i32 hk_mma_column(hk_i32 lane, hk_i32 i)
{
#if HK_MMA == 1
    return lane % 4 * 2 + i % 2;
#elif HK_MMA == 2
    return lane / 16 * 4 + i;
#elif HK_MMA == 3
    return lane / 16 + 2 * i;
#elif HK_MMA == 4
    return lane / 16 * 8 + i;
#elif HK_MMA == 0
    (void)lane;
    return i;
#else
    (void)i;
    return lane % HK_MMA_N;
#endif
}

/* ---- scores and weights ---- */

/* The key of the block that a column of the n-th tile of scores belongs to. */
HK_FN hk_i32 hk_mma_key(hk_i32 n, hk_i32 column)
{
#if HK_MMA == 3
    return n * 16 + column % 2 * 8 + column / 2;
#elif HK_MMA == 5
    return n / 2 * 16 + column * 2 + n % 2;
#else
    return n * HK_MMA_N + column;
#endif
}

/* Half h of word w of those that a thread has of A: of the items of its scores of 16 keys, tile
 * after tile, this one. */
HK_FN hk_i32 hk_mma_item(hk_i32 w, hk_i32 h)
{
    return HK_MMA == 5 ? h * HK_MMA_ITEMS + w : 2 * w + h;
}

/* A of a thread: its own words and, where waves hold A twice, those that it has been given. */
HK_FN void hk_mma_turn(hk_i32 lane, const hk_u32 *own, const hk_u32 *given, struct hk_mma_a *a)
{
    hk_i32 w;

    HK_UNROLL
    for (w = 0; w < HK_MMA_OWN_WORDS; w++) {
#if HK_MMA_TWICE == 2
        a->word[w] = lane / 16 ? given[w] : own[w];
        a->word[HK_MMA_OWN_WORDS + w] = lane / 16 ? own[w] : given[w];
#else
        (void)lane;
        (void)given;
        a->word[w] = own[w];
#endif
    }
}

/* ---- fragments from local memory: matrices of `line` words a row, two terms in a word ---- */

HK_FN hk_u32 hk_mma_half(HK_LOCAL const hk_u32 *from, hk_i32 term)
{
    return from[term / 2] >> term % 2 * 16 & 0xffffu;
}

/* Rows from `from` on, 16 terms. */
HK_FN void hk_mma_get_a(HK_LOCAL const hk_u32 *from, hk_i32 line, hk_i32 lane, struct hk_mma_a *a)
{
    hk_i32 w;

    HK_UNROLL
    for (w = 0; w < HK_MMA_A_WORDS; w++) {
        HK_LOCAL const hk_u32 *row = from + hk_mma_a_row(lane, w) * line;
        const hk_i32 term = hk_mma_a_term(lane, w);

        a->word[w] = HK_MMA == 6 ? hk_mma_half(row, term) | hk_mma_half(row + line, term) << 16
                                 : row[term / 2];
    }
}

/* Two weights as a word, rounded to nearest even: no less than 0, of f16 below 65520. Of a NaN
 * anything, for its row is NaN by the sum of its weights. */
#if HK_KV == 3
HK_FN hk_u32 hk_mma_bf16_pair(float x, float y)
{
    const hk_u32 a = hk_word(x), b = hk_word(y);

    return (a + (a >> 16 & 1) + 0x7fffu) >> 16 | ((b + (b >> 16 & 1) + 0x7fffu) & 0xffff0000u);
}
#endif

HK_FN float hk_mma_wide(hk_u32 bits)
{
#if HK_KV == 2
    return hk_from_f16((hk_u16)bits);
#else
    return hk_from_bf16((hk_u16)bits);
#endif
}

#if HK_MMA == 0
/* A thread's row by eight columns. */
HK_FN void hk_mma(const struct hk_mma_a *a, const struct hk_mma_b *b, struct hk_mma_c *c)
{
    hk_i32 i, w;

    for (i = 0; i < HK_MMA_ITEMS; i++) {
        for (w = 0; w < 8; w++) {
            const hk_u32 x = a->word[w], y = b->word[i * 8 + w];

            c->x[i] = hk_fma(hk_mma_wide(x & 0xffffu), hk_mma_wide(y & 0xffffu), c->x[i]);
            c->x[i] = hk_fma(hk_mma_wide(x >> 16), hk_mma_wide(y >> 16), c->x[i]);
        }
    }
}
#endif

#if HK_MMA == 0 || HK_MINE > 1
HK_FN hk_u32 hk_mma_pair(float x, float y)
{
#if HK_KV == 2
    return hk_to_f16(x) | (hk_u32)hk_to_f16(y) << 16;
#else
    return hk_mma_bf16_pair(x, y);
#endif
}
#endif

#endif
