/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * recur with the state in registers and DELTA: what a thread, which has a column, does with a tile
 * of tokens (recur_held.h).
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_RECUR_DELTA_H
#define HEED_BACKENDS_KERNELS_OPS_RECUR_DELTA_H

#define HK_RECUR_QUADS 3    /* half of those of a tile's rows that a thread brings */
#define HK_RECUR_SECTION 16 /* channels of k that are left out together */

#if HK_RECUR_TILE < 2 * 3
#error "each array comes with two passes"
#endif

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
HK_INLINE void hk_recur_pass_run(const int channels, HK_LOCAL const struct hk_recur_task *task,
                                 const struct hk_recur_seat *seat, hk_i64 asks, hk_i32 j,
                                 HK_LOCAL const struct hk_recur_tile *tile,
                                 struct hk_recur_held *mine)
{
    const struct hk_recur_lines lines = hk_recur_lines_get(seat, tile, j);
    const float beta = tile->beta[j], factor = tile->factor[j];
    float w = 0.0f, o;
    hk_u32 v;

    hk_recur_values_load(task, seat, asks, 1, &v);
    if (asks > 0)
        w = hk_mul(beta, hk_sub(hk_bits_get(task->strip.v.dtype, mine->v[0]), mine->r));
    hk_recur_pass(channels, seat, &lines, factor, w, mine, &o);
    mine->v[0] = v;
    if (asks > 0)
        hk_recur_put(&task->strip, asks - 1, seat->channel, hk_mul(o, task->scale));
}

/* The next tile's rows come while passes go by: with each pass some quads of an array. */
HK_INLINE void hk_recur_bring(const int array, HK_LOCAL const struct hk_recur_task *task,
                              const struct hk_recur_seat *seat, hk_i64 first, hk_i32 from, int puts,
                              struct hk_quad *rows, HK_LOCAL struct hk_recur_tile *to)
{
    if (!hk_recur_has(task, array))
        return;
    if (puts)
        hk_recur_store(array, task, seat, from, HK_RECUR_QUADS, rows, to);
    else
        hk_recur_load(array, task, seat, first, from, HK_RECUR_QUADS, rows);
}

HK_INLINE void hk_recur_bring_any(hk_i32 j, HK_LOCAL const struct hk_recur_task *task,
                                  const struct hk_recur_seat *seat, hk_i64 first, int puts,
                                  struct hk_quad *rows, HK_LOCAL struct hk_recur_tile *to)
{
    const hk_i32 array = j / 2, from = j % 2 * HK_RECUR_QUADS;

    if (array == HK_RECUR_KEYS)
        hk_recur_bring(HK_RECUR_KEYS, task, seat, first, from, puts, rows, to);
    else if (array == HK_RECUR_QUERIES)
        hk_recur_bring(HK_RECUR_QUERIES, task, seat, first, from, puts, rows, to);
    else if (array == HK_RECUR_DECAYS)
        hk_recur_bring(HK_RECUR_DECAYS, task, seat, first, from, puts, rows, to);
}

/* A step: the passes of a tile, and beside them the next one's rows. */
HK_PIECE void hk_recur_held_step(HK_LOCAL const struct hk_recur_task *task, hk_i64 step,
                                 hk_i32 id, HK_LOCAL struct hk_recur_tile *tiles,
                                 struct hk_recur_held *mine)
{
    const struct hk_recur_seat seat = hk_recur_seat_get(task, id);
    const hk_i64 first = (step - 1) * HK_RECUR_TILE, next = first + HK_RECUR_TILE;
    const int brings = task->strip.tokens > 0 && step < hk_recur_tiles(task);
    const hk_i32 end =
        first < 0 ? 0 : (hk_i32)hk_min(task->strip.tokens + 1 - first, HK_RECUR_TILE);
    HK_LOCAL struct hk_recur_tile *const now = &tiles[(step + 1) % 2];
    HK_LOCAL struct hk_recur_tile *const then = &tiles[step % 2];
    struct hk_quad rows[HK_RECUR_QUADS];
    struct hk_recur_brought brought;
    hk_i32 j;

    if (brings)
        hk_recur_factors_load(1, task, &seat, next, &brought);
    HK_NO_UNROLL
    for (j = 0; j < HK_RECUR_TILE; j++) {
        if (brings)
            hk_recur_bring_any(j, task, &seat, next, 0, rows, then);
        if (j < end && task->channels)
            hk_recur_pass_run(1, task, &seat, first + j, j, now, mine);
        else if (j < end)
            hk_recur_pass_run(0, task, &seat, first + j, j, now, mine);
        if (brings)
            hk_recur_bring_any(j, task, &seat, next, 1, rows, then);
    }
    if (brings)
        hk_recur_factors_store(1, task, &seat, next, &brought, then);
}

#endif
