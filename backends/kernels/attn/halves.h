/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels for FAST, of processors that multiply pairs of bf16 (docs/numerics.md section 11):
 * a block of 64 keys for all rows of a strip. Q, K and V stay bf16, and weights become bf16 before
 * they meet V. A tile is finished before the next one begins: its scores and weights stay in the
 * first level of the caches. What the unit's words mean: simd/halves.h.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_HALVES_H
#define HEED_BACKENDS_KERNELS_ATTN_HALVES_H

#include "bias_lanes.h"

/* Of 2^f on [0, 1], after 1: within 2^-18 of it. */
#define HK_HALF_EXP_1 0x1.62d6c6p-1f
#define HK_HALF_EXP_2 0x1.ee2452p-3f
#define HK_HALF_EXP_3 0x1.abf868p-5f
#define HK_HALF_EXP_4 0x1.b7f734p-7f

#ifndef HK_HALVES_HEADER
#define HK_HALVES_HEADER "../simd/halves.h"
#endif
#include HK_HALVES_HEADER

#define HK_HALVES_TILES 8 /* whose weights wait for their values together, at most */
typedef char hk_halves_fit[HK_R == 16 && HK_PANEL == 64 ? 1 : -1];

/* ---- Q: rows of hk_halves_pitch(d) halves, zeros behind channel d ---- */

HK_FN hk_u16 *hk_halves_q(const struct hk_strip *st, hk_i64 i)
{
    return (hk_u16 *)(void *)st->q_copy + i * hk_halves_pitch(st->call->plan->d);
}

/* Channels of row i of m, which is there, and zeros. */
HK_FN void hk_halves_read(const struct hk_matrix *m, hk_i64 i, hk_i64 d, hk_u16 *to)
{
    const hk_i64 pitch = hk_halves_pitch(d);
    const hk_u16 *from;
    hk_i64 t = 0;

    if (d == 0)                         /* there may be no array */
        return;
    from = (const hk_u16 *)(const void *)hk_row_at(m, i);
    if (m->channel == 1) {
        hk_move((char *)to, (const char *)from, d * 2);
        t = d;
    }
    for (; t < d; t++)
        to[t] = from[t * m->channel];
    for (; t < pitch; t++)
        to[t] = 0;
}

HK_FN void hk_halves_clear(hk_i64 d, hk_u16 *to)
{
    hk_i64 t;

    for (t = 0; t < hk_halves_pitch(d); t++)
        to[t] = 0;
}

/* ---- K and V of a block: of the keys that some row sees, zeros for others ---- */

/* Words of pairs: [64 / 16][pitch / 2][16 keys]. */
HK_NOINLINE void hk_halves_pack_k(const struct hk_strip *st, const hk_i64 *keys)
{
    const struct hk_matrix *k = &st->k_rows;
    const hk_i64 d = st->call->plan->d, pitch = hk_halves_pitch(d);
    const int direct = k->channel == 1 && pitch == d;
    float *out = st->k;
    int i, r;

    for (i = 0; i < HK_BLOCK && d > 0; i += HKV_PACK) {
        float *to = out + i / 16 * (pitch * 8) + i % 16;
        const float *rows[HKV_PACK];
        hk_i64 t;

        for (r = 0; r < HKV_PACK; r++) {
            hk_u16 *row = (hk_u16 *)(void *)st->temp + r * pitch;

            rows[r] = (const float *)(const void *)row;
            if (keys[i + r] < 0)
                hk_halves_clear(d, row);
            else if (direct)
                rows[r] = (const float *)(const void *)hk_row_at(k, keys[i + r]);
            else
                hk_halves_read(k, keys[i + r], d, row);
        }
        for (t = 0; t < pitch / 2; t += HKV_PACK)
            hkv_pack(rows, t, to + t * 16, 16);
    }
}

/* Elements of V that are no numbers become zeros: the unit must not multiply them. */
HK_NOINLINE hk_u64 hk_halves_clean(hk_u32 *words, hk_i64 groups)
{
    hk_u64 bad = 0;
    hk_i64 g, i;
    int j;

    for (g = 0; g < groups; g++) {
        for (i = 0; i < HKV_HALVES_COLUMNS; i++) {
            hk_u32 *word = words + g * HKV_HALVES_COLUMNS + i;

            for (j = 0; j < 2; j++) {
                if ((*word >> 16 * j & 0x7f80u) != 0x7f80u)
                    continue;
                *word &= 0xffff0000u >> 16 * j;
                bad |= (hk_u64)1 << (i / 16 * 2 + j);
            }
        }
    }
    return bad;
}

/* Words of pairs: [W / 16][64 / 2][16 channels]. Which keys have an element that is no number. */
HK_NOINLINE hk_u64 hk_halves_pack_v(const struct hk_strip *st, const hk_i64 *keys)
{
    const struct hk_matrix *v = &st->v_rows;
    const hk_i64 d = st->call->plan->d_v, groups = hk_parts(d, HK_PANEL) * (HK_PANEL / 16);
    hk_u32 *out = (hk_u32 *)(void *)st->v, bad = 0;
    int i, r;

    for (i = 0; i < HK_BLOCK && d > 0; i += 2) {
        const hk_u16 *rows[2];
        hk_i64 t;

        for (r = 0; r < 2; r++) {
            hk_u16 *row = (hk_u16 *)(void *)st->temp + r * hk_halves_pitch(d);

            rows[r] = 0;
            if (keys[i + r] < 0)
                continue;
            rows[r] = row;
            if (v->channel == 1)
                rows[r] = (const hk_u16 *)(const void *)hk_row_at(v, keys[i + r]);
            else
                hk_halves_read(v, keys[i + r], d, row);
        }
        for (t = 0; t < groups * 16; t += 32)
            bad |= hkv_halves_pair(rows[0] && t < d ? rows[0] + t : 0,
                                   rows[1] && t < d ? rows[1] + t : 0,
                                   (int)hk_max(hk_min(d - t, 32), 0),
                                   out + t / 16 * HKV_HALVES_COLUMNS + i / 2 * 16);
    }
    return bad ? hk_halves_clean(out, groups) : 0;
}

/* ---- a tile ---- */

/* Products of a V that is not finite, for the rows that see its key; the unit has the others. */
HK_NOINLINE void hk_halves_careful(const struct hk_strip *st, const struct hk_tile *tile,
                                   const hk_u16 *p, const hk_i64 *keys, hk_u64 bad)
{
    const struct hk_matrix *v = &st->v_rows;
    hk_i64 i, t;

    for (i = 0; i < tile->rows; i++) {
        hk_u64 left;

        for (left = bad & tile->masks[i]; left != 0; left &= left - 1) {
            const int key = hk_first_bit(left);
            const hk_u16 *row = (const hk_u16 *)(const void *)hk_row_at(v, keys[key]);

            for (t = 0; t < st->call->plan->d_v; t++) {
                float *o = tile->o + i * HK_PANEL + hk_o_at(t);
                const hk_u16 x = row[t * v->channel];

                if ((x & 0x7f80u) == 0x7f80u)
                    *o = hk_fma(hk_from_bf16(p[i * HK_BLOCK + key]), hk_from_bf16(x), *o);
            }
        }
    }
}

/* Scores times factor, -Inf where a row does not see the key. */
HK_NOINLINE void hk_halves_mask(const struct hk_tile *tile, float factor)
{
    const hk_vec c = hkv_set(factor), none = hkv_set(-HK_INFINITY);
    hk_i64 i;
    int n;

    for (i = 0; i < tile->rows; i++) {
        float *s = tile->s + i * HK_BLOCK;

        HK_UNROLL_BLOCK
        for (n = 0; n < HK_BLOCK; n += HKV_LANES) {
            const hk_vmask seen = hkv_bits(hk_lanes_of(tile->masks[i], n));

            hkv_store(s + n, hkv_select(seen, hkv_mul(hkv_load(s + n), c), none));
        }
    }
}

/* Keys of which the score is -Inf count as removed. */
HK_NOINLINE void hk_halves_remain(const struct hk_tile *tile)
{
    const hk_vec none = hkv_set(-HK_INFINITY);
    hk_i64 i;
    int n;

    for (i = 0; i < tile->rows; i++) {
        hk_u64 rest = 0;

        for (n = 0; n < HK_BLOCK; n += HKV_LANES) {
            const hk_vec s = hkv_load(tile->s + i * HK_BLOCK + n);

            rest |= (hk_u64)hkv_word(hkv_not_equal(s, none)) << n;
        }
        tile->masks[i] &= rest;
    }
}

HK_FN void hk_halves_row(const struct hk_tile *tile, hk_i64 i, float c, float m, hk_u16 *p)
{
    hkv_halves_softmax(tile->s + i * HK_BLOCK, c, m, p + i * HK_BLOCK,
                       tile->partials + i * HK_PARTIALS);
}

/* Rows one by one: some are not there, or have no larger y than -Inf. Such a one has no key, or NaN
 * alone. */
HK_NOINLINE void hk_halves_rows(const struct hk_tile *tile, const float top[HK_R], float c,
                                hk_u16 *p)
{
    hk_i64 i;

    for (i = 0; i < tile->rows; i++) {
        if (top[i] == -HK_INFINITY) {
            hk_softmax_part(tile, i, c, tile->masks[i]);
            hkv_halves_weigh(tile->s + i * HK_BLOCK, p + i * HK_BLOCK);
            continue;
        }
        hk_row_raise(tile, i, hk_mul(top[i], c));
        hk_halves_row(tile, i, c, tile->state[i].m, p);
    }
}

/* Weights of a tile from its scores. Whatever the other rows of the tile see, and whether V is
 * finite, a row's arithmetic is the same: tiles are cut by the number of workers. */
HK_FN void hk_halves_weights(const struct hk_tile *tile, float c, int full, hk_u64 bad, hk_u16 *p)
{
    float top[HK_R], before[HK_R], most[HK_R];
    int raised;
    hk_i64 i;

    if (!(c > 0.0f)) {
        hk_halves_mask(tile, c);
        c = 1.0f;
    } else if (!full) {
        hk_halves_mask(tile, 1.0f);
    }
    if (bad != 0)
        hk_halves_remain(tile);
    hkv_halves_tops(tile->s, top);
    raised = tile->rows == HK_R ? hkv_halves_raise(top, c, tile->state, before, most) : -1;
    if (raised < 0) {
        hk_halves_rows(tile, top, c, p);
        return;
    }
    for (; raised != 0; raised &= raised - 1) {
        i = hk_first_bit((hk_u64)raised);
        hk_row_rescale(tile->partials + i * HK_PARTIALS, tile->o + i * HK_PANEL, tile->width,
                       hk_power(hk_sub(before[i], most[i])));
    }
    for (i = 0; i < HK_R; i++)
        hk_halves_row(tile, i, c, most[i], p);
}

/* Weights of tile m, which sees something of the block. */
HK_FN void hk_halves_tile(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                          const struct hk_sub_view *view, hk_i64 block, hk_i64 m,
                          const hk_i64 *keys, hk_u64 bad, hk_u16 *p)
{
    const hk_i64 pitch = hk_halves_pitch(st->call->plan->d);
    const hk_u32 *k = (const hk_u32 *)(const void *)st->k;
    const int plain = hk_logits_plain(st);
    struct hk_tile tile = hk_strip_tile(st, m);
    hk_i64 i;

    if (plain)
        tile.s = st->s;
    hk_tile_begin(st, m);
    hkv_halves_scores(hk_halves_q(st, m * HK_R), pitch, k, tile.s);
#if !HK_PLAIN
    if (!plain)
        hk_score_rows(st, sub, view, &tile, m * HK_R, block);
#endif
    hk_halves_weights(&tile, plain ? st->call->plan->c : 1.0f, plain && st->full[m], bad, p);
    for (i = tile.rows * HK_BLOCK; i < HK_R * HK_BLOCK; i++)
        p[i] = 0;
    if (bad != 0)
        hk_halves_careful(st, &tile, p, keys, bad);
    (void)sub, (void)view, (void)block;
}

/* Weights of tiles first to end - 1, then their values: K stays in the first level of the caches
 * for the ones, V for the others. */
HK_FN void hk_halves_tiles(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                           const struct hk_sub_view *view, hk_i64 block, hk_i64 first, hk_i64 end,
                           const hk_i64 *keys, hk_u64 bad)
{
    const hk_u32 *v = (const hk_u32 *)(const void *)st->v;
    const hk_i64 span = hk_o_span(st->width);
    _Alignas(64) hk_u16 p[HK_HALVES_TILES * HK_R * HK_BLOCK];
    hk_i64 m, t;

    for (m = first; m < end; m++) {
        if (st->tile_masks[m])
            hk_halves_tile(st, sub, view, block, m, keys, bad, p + (m - first) * HK_R * HK_BLOCK);
    }
    for (t = 0; t < st->width; t += HK_PANEL) {
        for (m = first; m < end; m++) {
            if (st->tile_masks[m])
                hkv_halves_values(p + (m - first) * HK_R * HK_BLOCK,
                                  v + t / 16 * HKV_HALVES_COLUMNS, st->o + m * span + hk_o_at(t));
        }
    }
}

/* A block of which rows see `visible`; inside: all rows see all of it. */
HK_FN void hk_halves_attend(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                            const struct hk_sub_view *view, hk_i64 block, hk_u64 visible,
                            int inside)
{
    HK_COPY(struct hk_reach, reach, st->reach[0]);
    /* Up to 64 channels both K and V stay there, whatever the order. */
    const hk_i64 group = st->call->plan->d + st->call->plan->d_v > 128 ? HK_HALVES_TILES : 1;
    hk_i64 keys[HK_BLOCK], m;
    hk_u64 bad;
    int i;

    for (i = 0; i < HK_BLOCK; i++) {
        const hk_i64 ordinal = block * HK_BLOCK + i;

        keys[i] = -1;                   /* what lies behind a list is none of its entries */
        if (visible >> i & 1)
            keys[i] = hk_block_aligned(sub) ? ordinal : hk_key(sub, view, reach, ordinal);
    }
    if (inside)
        hk_block_fill(st);
    hk_halves_pack_k(st, keys);
    bad = hk_halves_pack_v(st, keys);
    for (m = 0; m < st->tiles; m += group)
        hk_halves_tiles(st, sub, view, block, m, hk_min(m + group, st->tiles), keys, bad);
}

#endif
