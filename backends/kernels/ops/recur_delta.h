/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * recur with the state in registers and DELTA: what a thread, which has a column, does with a tile
 * of tokens (recur_held.h).
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_RECUR_DELTA_H
#define HEED_BACKENDS_KERNELS_OPS_RECUR_DELTA_H

#define HK_RECUR_SECTION 16 /* channels of k that are left out together */

/* Four channels of a pass: of the token that is written and answered, and of the next one. */
struct hk_recur_four {
    float key[HK_QUAD], query[HK_QUAD], next[HK_QUAD], decay[HK_QUAD];
};

HK_INLINE void hk_recur_four_get(const int channels, const struct hk_recur_lines *lines,
                                 hk_i32 line, const int c, struct hk_recur_four *four)
{
    hk_local_get4(lines->key + c, four->key);
    hk_local_get4(lines->key + line + c, four->next);
    hk_local_get4(lines->query + c, four->query);
    if (channels)
        hk_local_get4(lines->decay + c, four->decay);
}

/* A token writes w and is answered in o, then the state decays and answers the next one in r. What
 * four channels need is asked for while the four before are worked on. */
HK_INLINE void hk_recur_pass(const int channels, const struct hk_recur_seat *seat,
                             const struct hk_recur_lines *lines, float factor, float w,
                             struct hk_recur_held *mine, float *answer)
{
    struct hk_recur_four four[2];
    float o = 0.0f, r = 0.0f;
    int c, i, j;

    hk_recur_four_get(channels, lines, seat->line, 0, &four[0]);
    HK_UNROLL
    for (c = 0; c < HK_RECUR_HELD_MOST; c += HK_RECUR_SECTION) {
        if (c >= seat->count)
            continue;
        HK_UNROLL
        for (i = c; i < c + HK_RECUR_SECTION; i += HK_QUAD) {
            const struct hk_recur_four *const at = &four[i / HK_QUAD % 2];

            hk_recur_four_get(channels, lines, seat->line, i + HK_QUAD,
                              &four[(i / HK_QUAD + 1) % 2]);
            HK_UNROLL
            for (j = 0; j < HK_QUAD; j++) {
                float x = hk_fma(at->key[j], w, mine->s[i + j]);

                o = hk_fma(at->query[j], x, o);
                x = hk_mul(channels ? at->decay[j] : factor, x);
                r = hk_fma(at->next[j], x, r);
                mine->s[i + j] = x;
            }
        }
    }
    mine->r = r;
    *answer = o;
}

/* Pass j of a tile, between tokens asks - 1 and asks. */
HK_INLINE void hk_recur_pass_run(const int channels, HK_LOCAL const struct hk_recur_strip *strip,
                                 const struct hk_recur_seat *seat, hk_i64 asks, hk_i32 j,
                                 HK_LOCAL const struct hk_recur_tile *tile,
                                 struct hk_recur_held *mine)
{
    const struct hk_recur_lines lines = hk_recur_lines_get(seat, tile, j);
    const hk_u32 v = hk_recur_value_load(strip, seat, asks);
    float w = 0.0f, o;

    if (asks > 0)
        w = hk_mul(tile->beta[j], hk_sub(hk_bits_get(strip->v.dtype, mine->v[0]), mine->r));
    hk_recur_pass(channels, seat, &lines, tile->factor[j], w, mine, &o);
    mine->v[0] = v;
    if (asks > 0)
        hk_recur_put(strip, asks - 1, seat->channel, hk_mul(o, strip->numbers->scale));
}

/* A step: the passes of a tile, and beside each a part of the next one's rows. */
HK_PIECE void hk_recur_held_step(HK_LOCAL const struct hk_recur_strip *strip, hk_i64 step,
                                 hk_i32 id, HK_LOCAL struct hk_recur_tile *tiles,
                                 struct hk_recur_held *mine)
{
    const struct hk_recur_seat seat = hk_recur_seat_get(strip, id);
    const hk_i64 at = step - 1, first = at * HK_RECUR_TILE, next = first + HK_RECUR_TILE;
    const int brings = strip->tokens > 0 && step < hk_recur_tiles(strip);
    struct hk_recur_brought brought;
    hk_i32 j;

    if (brings)
        hk_recur_factors_load(1, strip, &seat, next, &brought);
    HK_NO_UNROLL
    for (j = 0; j < HK_RECUR_TILE; j++) {
        if (brings)
            hk_recur_load(1, strip, &seat, next, j, 1, &brought);
        if (at >= 0 && first + j <= strip->tokens && strip->numbers->channels)
            hk_recur_pass_run(1, strip, &seat, first + j, j, &tiles[(step + 1) % 2], mine);
        else if (at >= 0 && first + j <= strip->tokens)
            hk_recur_pass_run(0, strip, &seat, first + j, j, &tiles[(step + 1) % 2], mine);
        if (brings)
            hk_recur_store(1, strip, &seat, next, j, 1, &brought, &tiles[step % 2]);
    }
    if (brings)
        hk_recur_factors_store(1, strip, &seat, next, &brought, &tiles[step % 2]);
}

#endif
