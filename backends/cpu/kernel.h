/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of a 64-key block: register tiles for scores and values, softmax of a row, end of
 * a row. Included by tile.c after a vector vocabulary. Vectors hold different keys (scores) or
 * different channels (values), never terms of one sum, so the order is that of docs/numerics.md
 * section 3, whose steps are cited.
 */
#ifndef HEED_BACKENDS_CPU_KERNEL_H
#define HEED_BACKENDS_CPU_KERNEL_H

#include "tile.h"

#define BLOCK HEED_CPU_BLOCK
#define LANES HEED_CPU_LANES
#define PANEL (VL * TILE_VECS)

/* Before loops over the vectors of a block: 64 turns without vectors are no straight code. */
#if VL > 1
#define UNROLL_BLOCK HEED_UNROLL
#else
#define UNROLL_BLOCK
#endif

/* log2 e, ln 2, 2^f on [-1/2, 1/2], tanh, log2. */
static const float log2_e = 0x1.715476p+0f, ln_2 = 0x1.62e43p-1f;
static const float exp_c[7] = { 1.0f,           0.693147182f,   0.240226463f,   0.0555032864f,
                                0.00961834379f, 0.00133962662f, 0.000154013524f };
static const float tanh_c[5] = { -0x1.555534p-2f, 0x1.11076cp-3f, -0x1.b844a2p-5f, 0x1.5258cap-6f,
                                 -0x1.76b3ccp-8f };
static const float log_c[9] = { 0x1.715474p+0f, -0x1.71546ap-1f, 0x1.ec76eep-2f, -0x1.7160e2p-2f,
                                0x1.269004p-2f, -0x1.e87dcep-3f, 0x1.bd2a42p-3f, -0x1.aeac5ap-3f,
                                0x1.00e03ap-3f };

/* A row within a chunk; lanes and o lie in their own arrays. */
struct row_state {
    float reference;            /* M */
    uint32_t fresh;             /* 1: no remaining key in this chunk yet; lanes and o are zero */
};

/* The sums o of a tile's rows lie [panels][TILE_ROWS][PANEL], so that a register tile finds its own
 * at constant offsets. Floats of a tile; row i of an array of tiles; channel t of a row. */
HEED_INLINE int64_t o_span(int64_t width)
{
    return (width + PANEL - 1) / PANEL * PANEL * TILE_ROWS;
}

HEED_INLINE float *o_row(float *o, int64_t i, int64_t width)
{
    return o + i / TILE_ROWS * o_span(width) + i % TILE_ROWS * PANEL;
}

HEED_INLINE int64_t o_at(int64_t t)
{
    return t / PANEL * (PANEL * TILE_ROWS) + t % PANEL;
}

/* The inner loops take STEPS terms at a time: shorter loops, whose ends the processor predicts. */
#define STEPS 2

HEED_INLINE void score_step(const float *q, const float *k, int64_t d, vf acc[TILE_ROWS][TILE_VECS],
                            const int vecs)
{
    vf b[TILE_VECS];

    HEED_UNROLL
    for (int u = 0; u < vecs; u++)
        b[u] = v_load(k + u * VL);
    HEED_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        const vf a = v_set(q[i * d]);

        HEED_UNROLL
        for (int u = 0; u < vecs; u++)
            acc[i][u] = v_fma(a, b[u], acc[i][u]);
    }
}

/* acc[i][u] = q row i . keys of a panel, one fma chain over d per score (step 3). q:
 * [TILE_ROWS][d]. */
HEED_INLINE void score_sums(const float *HEED_RESTRICT q, const float *HEED_RESTRICT k, int64_t d,
                            vf acc[TILE_ROWS][TILE_VECS], const int vecs)
{
    int64_t t = 0;

    HEED_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        HEED_UNROLL
        for (int u = 0; u < vecs; u++)
            acc[i][u] = v_zero();
    }
    for (; t + STEPS <= d; t += STEPS) {
        HEED_UNROLL
        for (int x = 0; x < STEPS; x++)
            score_step(q + t + x, k + (t + x) * PANEL, d, acc, vecs);
    }
    for (; t < d; t++)
        score_step(q + t, k + t * PANEL, d, acc, vecs);
}

HEED_INLINE void score_tile(const float *q, const float *k, int64_t d, float *s, const int vecs)
{
    vf acc[TILE_ROWS][TILE_VECS];

    score_sums(q, k, d, acc, vecs);
    HEED_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        HEED_UNROLL
        for (int u = 0; u < vecs; u++)
            v_store(s + i * BLOCK + u * VL, acc[i][u]);
    }
}

/* The register tiles are functions of their own: inlined into their callers' loops they lose
 * registers to them. Their loops over tiles let the end of one tile overlap the beginning of the
 * next. */
static HEED_NOINLINE void score_tiles_full(const float *q, const float *k, int64_t d, float *s,
                                           int64_t tiles)
{
    for (int64_t m = 0; m < tiles; m++, q += TILE_ROWS * d, s += TILE_ROWS * BLOCK)
        score_tile(q, k, d, s, TILE_VECS);
}

static HEED_NOINLINE void score_tiles_half(const float *q, const float *k, int64_t d, float *s,
                                           int64_t tiles)
{
    for (int64_t m = 0; m < tiles; m++, q += TILE_ROWS * d, s += TILE_ROWS * BLOCK)
        score_tile(q, k, d, s, TILE_VECS / 2);
}

/* As score_tiles_full, then y = s * c in place of s, and each row's largest y over the panels so
 * far, lane by lane, in most (first: over this one only). Saves a pass over the scores. */
static HEED_NOINLINE void score_tiles_most(const float *q, const float *k, int64_t d, float *s,
                                           int64_t tiles, float factor, float *most, bool first)
{
    const vf c = v_set(factor);

    for (int64_t m = 0; m < tiles;
         m++, q += TILE_ROWS * d, s += TILE_ROWS * BLOCK, most += TILE_ROWS * VL) {
        vf acc[TILE_ROWS][TILE_VECS];

        score_sums(q, k, d, acc, TILE_VECS);
        HEED_UNROLL
        for (int i = 0; i < TILE_ROWS; i++) {
            vf top = first ? v_set(-INFINITY) : v_load(most + i * VL);

            HEED_UNROLL
            for (int u = 0; u < TILE_VECS; u++) {
                const vf y = v_mul(acc[i][u], c);

                top = v_max(y, top);
                v_store(s + i * BLOCK + u * VL, y);
            }
            v_store(most + i * VL, top);
        }
    }
}

/* Scores of `tiles` tiles with the panel that begins at key n of the block, or with the half of it
 * that word asks for. Halves pay where they still hold enough accumulators to hide the latency of
 * fma. */
static void score_panel(const float *q, const float *k, int64_t d, float *s, int n, int64_t tiles,
                        uint64_t word)
{
    const uint64_t half = ~UINT64_C(0) >> (64 - PANEL / 2);
    const bool low = (word >> n & half) != 0, high = (word >> (n + PANEL / 2) & half) != 0;

    if (TILE_VECS < 4 || (low && high))
        score_tiles_full(q, k + n * d, d, s + n, tiles);
    else if (low)
        score_tiles_half(q, k + n * d, d, s + n, tiles);
    else
        score_tiles_half(q, k + n * d + PANEL / 2, d, s + n + PANEL / 2, tiles);
}

HEED_INLINE void value_step(const float *p, const float *v, vf acc[TILE_ROWS][TILE_VECS],
                            const int vecs)
{
    vf b[TILE_VECS];

    HEED_UNROLL
    for (int u = 0; u < vecs; u++)
        b[u] = v_loadu(v + u * VL);
    HEED_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        const vf a = v_set(p[i * BLOCK]);

        HEED_UNROLL
        for (int u = 0; u < vecs; u++)
            acc[i][u] = v_fma(a, b[u], acc[i][u]);
    }
}

/* o[i][0 .. vecs * VL) = fma over keys [first, end) of p[i][key] * v[key] (step 7). */
HEED_INLINE void value_tile(const float *HEED_RESTRICT p, const float *HEED_RESTRICT v,
                            int64_t v_row, int first, int end, float *HEED_RESTRICT o,
                            const int vecs)
{
    vf acc[TILE_ROWS][TILE_VECS];
    int t = first;

    HEED_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        HEED_UNROLL
        for (int u = 0; u < vecs; u++)
            acc[i][u] = v_load(o + i * PANEL + u * VL);
    }
    v += first * v_row;
    for (; t + STEPS <= end; t += STEPS) {
        HEED_UNROLL
        for (int x = 0; x < STEPS; x++, v += v_row)
            value_step(p + t + x, v, acc, vecs);
    }
    for (; t < end; t++, v += v_row)
        value_step(p + t, v, acc, vecs);
    HEED_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        HEED_UNROLL
        for (int u = 0; u < vecs; u++)
            v_store(o + i * PANEL + u * VL, acc[i][u]);
    }
}

static HEED_NOINLINE void value_tiles_full(const float *p, const float *v, int64_t v_row, int first,
                                           int end, float *o, int64_t width)
{
    for (int64_t t = 0; t + PANEL <= width; t += PANEL)
        value_tile(p, v + t, v_row, first, end, o + o_at(t), TILE_VECS);
}

static HEED_NOINLINE void value_tiles_rest(const float *p, const float *v, int64_t v_row, int first,
                                           int end, float *o, int64_t width)
{
    int64_t t = width / PANEL * PANEL;

    for (; TILE_VECS > 2 && t + PANEL / 2 <= width; t += PANEL / 2)
        value_tile(p, v + t, v_row, first, end, o + o_at(t), TILE_VECS / 2);
    for (; t + VL <= width; t += VL)
        value_tile(p, v + t, v_row, first, end, o + o_at(t), 1);
}

/* One panel of channels of all tiles with all 64 keys: that panel of V stays in the first level. */
static HEED_NOINLINE void value_column(const float *p, const float *v, int64_t v_row, float *o,
                                       int64_t span, int64_t tiles)
{
    for (int64_t m = 0; m < tiles; m++)
        value_tile(p + m * TILE_ROWS * BLOCK, v, v_row, 0, BLOCK, o + m * span, TILE_VECS);
}

static void value_tiles(const float *p, const float *v, int64_t v_row, int first, int end, float *o,
                        int64_t width)
{
    value_tiles_full(p, v, v_row, first, end, o, width);
    if (width % PANEL != 0)
        value_tiles_rest(p, v, v_row, first, end, o, width);
}

/* One row, keys in word only: for tiles where the V of a removed key is not finite. */
static void value_row(const float *p, const float *v, int64_t v_row, uint64_t word, float *o,
                      int64_t width)
{
    for (; word != 0; word &= word - 1) {
        const int t = heed_first_bit(word);

        for (int64_t c = 0; c < width; c += VL)
            v_store(o + o_at(c),
                    v_fma(v_set(p[t]), v_loadu(v + t * v_row + c), v_load(o + o_at(c))));
    }
}

/* Are the V rows in word finite? 0 * x is NaN where x is not. */
static bool values_finite(const float *v, int64_t v_row, uint64_t word, int64_t width)
{
    vf sum = v_zero(), more = v_zero();

    for (; word != 0; word &= word - 1) {
        const float *row = v + heed_first_bit(word) * v_row;
        int64_t c = 0;

        for (; c + 2 * VL <= width; c += 2 * VL) {
            sum = v_fma(v_loadu(row + c), v_zero(), sum);
            more = v_fma(v_loadu(row + c + VL), v_zero(), more);
        }
        for (; c < width; c += VL)
            sum = v_fma(v_loadu(row + c), v_zero(), sum);
    }
    return v_word(v_ordered(v_add(sum, more))) == v_word(v_ordered(v_zero()));
}

/* The weights of one tile with V: the V of a removed key (word bit off) must not touch its row
 * (step 6). A finite one may: its weight is +0 and fma(+0, v, o) changes at most the sign of a
 * zero, which step 11 removes. */
static void tile_values(const float *p, const float *v, int64_t v_row, const uint64_t *words,
                        int64_t rows, float *o, int64_t width, bool finite)
{
    uint64_t any = 0, all = ~UINT64_C(0);

    for (int64_t i = 0; i < rows; i++) {
        any |= words[i];
        all &= words[i];
    }
    if (!finite && (any & ~all) != 0 && !values_finite(v, v_row, any & ~all, width)) {
        for (int64_t i = 0; i < rows; i++)
            value_row(p + i * BLOCK, v, v_row, words[i], o + i * PANEL, width);
        return;
    }
    while (any != 0) {
        const int first = heed_first_bit(any), end = first + heed_first_bit(~(any >> first));
        const int last = end > BLOCK ? BLOCK : end;

        value_tiles(p, v, v_row, first, last, o, width);
        any = last == BLOCK ? 0 : any >> last << last;
    }
}

/* W: 2^x for integer-valued x >= -100, else 0 (NaN too). */
HEED_INLINE float power(float x)
{
    return x >= -100.0f ? heed_float((uint32_t)(127 + (int32_t)x) << 23) : 0.0f;
}

HEED_INLINE vf exp_poly(vf f)
{
    vf p = v_set(exp_c[6]);

    HEED_UNROLL
    for (int i = 5; i >= 0; i--)
        p = v_fma(p, f, v_set(exp_c[i]));
    return p;
}

/* 2^(y - reference) of a remaining score (step 6). */
HEED_INLINE vf weight(vf y, vf reference)
{
    const vf r = v_rint(y), g = v_sub(r, reference);

    return v_keep(v_not_less(g, v_set(-100.0f)), v_scale2(exp_poly(v_sub(y, r)), g));
}

/* The same for TILE_WEIGHTS vectors from y on, step by step: a chain of dependent operations is
 * long, and processors look ahead only so far. */
HEED_INLINE void weights(const float *y, vf reference, vf p[TILE_WEIGHTS])
{
    vf f[TILE_WEIGHTS], g[TILE_WEIGHTS];

    HEED_UNROLL
    for (int j = 0; j < TILE_WEIGHTS; j++) {
        const vf x = v_load(y + j * VL), r = v_rint(x);

        f[j] = v_sub(x, r);
        g[j] = v_sub(r, reference);
        p[j] = v_set(exp_c[6]);
    }
    HEED_UNROLL
    for (int i = 5; i >= 0; i--) {
        HEED_UNROLL
        for (int j = 0; j < TILE_WEIGHTS; j++)
            p[j] = v_fma(p[j], f[j], v_set(exp_c[i]));
    }
    HEED_UNROLL
    for (int j = 0; j < TILE_WEIGHTS; j++)
        p[j] = v_keep(v_not_less(g[j], v_set(-100.0f)), v_scale2(p[j], g[j]));
}

/* Raises the reference of a row to e and brings its sums along (step 5). */
static void row_rescale(struct row_state *row, float e, float *lanes, float *o, int64_t width)
{
    const vf w = v_set(power(row->reference - e));

    for (int i = 0; i < LANES; i += VL)
        v_store(lanes + i, v_mul(v_load(lanes + i), w));
    for (int64_t t = 0; t < width; t += VL)
        v_store(o + o_at(t), v_mul(v_load(o + o_at(t)), w));
}

HEED_INLINE void row_raise(struct row_state *row, float most, float *lanes, float *o, int64_t width)
{
    const float e = rintf(most) + 1.0f;

    if (e > row->reference) {
        if (!row->fresh)
            row_rescale(row, e, lanes, o, width);
        row->reference = e;
    }
    row->fresh = 0;
}

/* Softmax of the visible part of a block: s holds scores that times factor are y; word says which.
 * Leaves the weights in s, +0 where removed, and returns the remaining keys: visible and y not
 * -Inf. */
static uint64_t softmax_part(float *s, float factor, uint64_t word, struct row_state *row,
                             float *lanes, float *o, int64_t width)
{
    const uint32_t some = VL == 32 ? ~0u : (1u << VL) - 1;
    const vf none = v_set(-INFINITY), c = v_set(factor);
    vf most = none, reference;
    uint64_t rest = 0;

    for (int u = 0; u < BLOCK / VL; u++) {
        const uint32_t bits = (uint32_t)(word >> (u * VL)) & some;

        if (bits == 0)
            continue;
        const vf y = v_select(v_bits(bits), v_mul(v_load(s + u * VL), c), none);

        rest |= (uint64_t)v_word(v_not_equal(y, none)) << (u * VL);
        most = v_max(y, most);
        v_store(s + u * VL, y);
    }
    if (rest != 0)
        row_raise(row, v_max_across(most), lanes, o, width);
    reference = v_set(row->reference);
    for (int u = 0; u < BLOCK / VL; u++) {
        const uint32_t bits = (uint32_t)(rest >> (u * VL)) & some;
        float *lane = lanes + u * VL % LANES;

        if (bits == 0) {
            v_store(s + u * VL, v_zero());
            continue;
        }
        const vf p = v_keep(v_bits(bits), weight(v_load(s + u * VL), reference));

        v_store(lane, v_add(v_load(lane), p));
        v_store(s + u * VL, p);
    }
    return rest;
}

/* Step 6 and 7 of a row that sees the whole block; s holds y. */
HEED_INLINE void softmax_row(float *s, const struct row_state *row, float *lanes)
{
    const vf reference = v_set(row->reference);
    vf sum[LANES / VL];

    UNROLL_BLOCK
    for (int l = 0; l < LANES / VL; l++)
        sum[l] = v_load(lanes + l * VL);
    UNROLL_BLOCK
    for (int u = 0; u < BLOCK / VL; u += TILE_WEIGHTS) {
        vf p[TILE_WEIGHTS];

        weights(s + u * VL, reference, p);
        HEED_UNROLL
        for (int j = 0; j < TILE_WEIGHTS; j++) {
            sum[(u + j) % (LANES / VL)] = v_add(sum[(u + j) % (LANES / VL)], p[j]);
            v_store(s + (u + j) * VL, p[j]);
        }
    }
    UNROLL_BLOCK
    for (int l = 0; l < LANES / VL; l++)
        v_store(lanes + l * VL, sum[l]);
}

/* Softmax of a tile whose rows see the whole block of a finite V; s holds y, most the rows' largest
 * y lane by lane. With a finite V it does not matter whether a key with y = -Inf counts as removed,
 * for its weight is +0; unless all keys of the row are. */
static HEED_NOINLINE void softmax_tile_finite(float *s, const float *most, struct row_state *row,
                                              float *lanes, float *o, int64_t width, int rows)
{
    float top[TILE_ROWS];

    for (int i = 0; i < rows; i++)
        top[i] = v_max_across(v_load(most + i * VL));
    for (int i = 0; i < rows; i++) {
        if (top[i] == -INFINITY)
            softmax_part(s + i * BLOCK, 1.0f, ~UINT64_C(0), &row[i], lanes + i * LANES,
                         o + i * PANEL, width);
        else
            row_raise(&row[i], top[i], lanes + i * LANES, o + i * PANEL, width);
    }
    for (int i = 0; i < rows; i++) {
        if (top[i] != -INFINITY)
            softmax_row(s + i * BLOCK, &row[i], lanes + i * LANES);
    }
}

/* Softmax of a tile; s holds scores. finite: V is; then words say what the rows see. Else all rows
 * see all 64 keys, and words become what remains. (finite is a constant at every call.) */
HEED_INLINE void softmax_tile(float *s, float factor, struct row_state *row, float *lanes, float *o,
                              int64_t width, uint64_t *words, int rows, const bool finite)
{
    const vf c = v_set(factor), none = v_set(-INFINITY);
    float top[TILE_ROWS];
    bool part[TILE_ROWS];

    for (int i = 0; i < rows; i++) {
        vf most = none, least = v_set(INFINITY);

        UNROLL_BLOCK
        for (int u = 0; u < BLOCK / VL; u++) {
            vf y = v_mul(v_load(s + i * BLOCK + u * VL), c);

            if (finite)
                y = v_select(v_bits((uint32_t)(words[i] >> (u * VL))), y, none);
            else
                least = v_min(y, least);
            most = v_max(y, most);
            v_store(s + i * BLOCK + u * VL, y);
        }
        top[i] = v_max_across(most);
        part[i] = top[i] == -INFINITY || (!finite && v_min_across(least) == -INFINITY);
    }
    for (int i = 0; i < rows; i++) {
        if (!part[i])
            row_raise(&row[i], top[i], lanes + i * LANES, o + i * PANEL, width);
        else
            words[i] = softmax_part(s + i * BLOCK, 1.0f, words[i], &row[i], lanes + i * LANES,
                                    o + i * PANEL, width);
    }
    for (int i = 0; i < rows; i++) {
        if (!part[i])
            softmax_row(s + i * BLOCK, &row[i], lanes + i * LANES);
    }
}

static HEED_NOINLINE void softmax_tile_whole(float *s, float factor, struct row_state *row,
                                             float *lanes, float *o, int64_t width, uint64_t *words,
                                             int rows)
{
    softmax_tile(s, factor, row, lanes, o, width, words, rows, false);
}

static HEED_NOINLINE void softmax_tile_masked(float *s, float factor, struct row_state *row,
                                              float *lanes, float *o, int64_t width,
                                              uint64_t *words, int rows)
{
    softmax_tile(s, factor, row, lanes, o, width, words, rows, true);
}

/* Softcap (Gemma Team 2024): TANH of step 3. */
HEED_INLINE vf cap_tanh(vf x)
{
    const vf a = v_abs(x), z = v_mul(x, x);
    vf small = v_set(tanh_c[4]), y, r, e, big;

    HEED_UNROLL
    for (int i = 3; i >= 0; i--)
        small = v_fma(small, z, v_set(tanh_c[i]));
    small = v_fma(v_mul(x, z), small, x);
    y = v_mul(v_min(a, v_set(10.0f)), v_set(2 * log2_e));
    r = v_rint(y);
    e = v_scale2(exp_poly(v_sub(y, r)), r);
    big = v_fma(v_set(-2.0f), v_div(v_set(1.0f), v_add(e, v_set(1.0f))), v_set(1.0f));
    big = v_sign(big, x);
    return v_select(v_ordered(x), v_select(v_less(a, v_set(0.625f)), small, big), x);
}

/* Joins a chunk into the row's total (step 8): reference, lanes, o. */
static void row_fold(float *reference, float *lanes, float *o, const struct row_state *row,
                     const float *row_lanes, const float *row_o, int64_t width)
{
    const float m = row->reference > *reference ? row->reference : *reference;
    const vf w1 = v_set(power(*reference - m)), w2 = v_set(power(row->reference - m));

    for (int i = 0; i < LANES; i += VL)
        v_store(lanes + i, v_fma(v_load(row_lanes + i), w2, v_mul(v_load(lanes + i), w1)));
    for (int64_t t = 0; t < width; t += VL)
        v_store(o + o_at(t), v_fma(v_load(row_o + o_at(t)), w2, v_mul(v_load(o + o_at(t)), w1)));
    *reference = m;
}

#endif
