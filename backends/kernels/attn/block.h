/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes kernels: one block of 64 keys for all rows of a strip: scores of every tile with the K
 * panels, softmax of each row, the weights against V, so that K and V of a block are read once per
 * strip. What no row of a tile sees is skipped, down to K panels and runs of V rows; masks are
 * formed only for tiles that are neither empty nor full.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_BLOCK_H
#define HEED_BACKENDS_KERNELS_ATTN_BLOCK_H

#include "ahead.h"
#include "bias_lanes.h"
#include "dot_lanes.h"
#include "packed.h"
#include "panels.h"
#include "spread.h"

#define HK_FINITE_TILES 4

/* 1: K of every block lies in panels already, or in a ring (device/prepare.c). */
#ifndef HK_PACKED
#define HK_PACKED 0
#endif
/* 1: rows stay bf16 and are multiplied by a unit of the processor (halves.h). */
#ifndef HK_BY_HALVES
#define HK_BY_HALVES 0
#endif

/* K panels of a block that does not lie packed. visible: ordinals that some row sees. */
HK_FN HK_GLOBAL const float *hk_block_gather(const struct hk_strip *st,
                                             HK_GLOBAL const struct hk_sub *sub,
                                             const struct hk_sub_view *view, hk_i64 block,
                                             hk_u64 visible)
{
    const hk_i64 d = st->call->plan->d;
    HK_COPY(struct hk_reach, reach, st->reach[0]);
    hk_i64 keys[HK_BLOCK];
    int i;

    for (i = 0; i < HK_BLOCK; i++)
        keys[i] = visible >> i & 1 ? hk_key(sub, view, reach, block * HK_BLOCK + i) : -1;
    hk_keys_pack(&st->k_rows, keys, d, st->k, st->temp);
    return st->k;
}

/* Of ordinals that the terms leave (hk_block_mask), those that are there. */
HK_NOINLINE hk_u64 hk_block_present(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                                    const struct hk_sub_view *view, hk_i64 block, hk_u64 mask)
{
    HK_COPY(struct hk_reach, reach, st->reach[0]);
    const struct hk_layout *k = &st->k_rows.layout;
    const hk_i64 base = block * HK_BLOCK;
    hk_u64 left;

    if (hk_block_aligned(sub)) {        /* by runs of rows */
        const hk_i64 end = hk_min(base + HK_BLOCK, view->len);
        hk_i64 key, next;

        for (key = base; key < end; key = next) {
            next = hk_min(key + hk_rows_run(k, key), end);
            if (!hk_row_present(k, key))
                mask &= ~hk_bits(key - base, next - base);
        }
        return mask;
    }
    for (left = mask; left != 0; left &= left - 1) {
        const int i = hk_first_bit(left);
        const hk_i64 key = hk_key(sub, view, reach, base + i);

        if (key < view->len && !hk_row_present(k, key))
            mask &= ~((hk_u64)1 << i);
    }
    return mask;
}

/* May V be read in place, from the row of ordinal 0 of the block on? */
HK_FN int hk_block_in_place(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                            const struct hk_sub_view *view, hk_i64 block, hk_u64 visible)
{
    HK_COPY(struct hk_reach, reach, st->reach[0]);
    int last = 63;

    if (st->width != st->call->plan->d_v || st->width == 0 || !hk_matrix_plain(&st->v_rows) ||
        sub->kind == HK_SUB_LIST || (sub->kind == HK_SUB_GATHER && sub->run % HK_BLOCK != 0))
        return 0;
    if (st->v_rows.layout.kind == HK_LAYOUT_EVEN)
        return 1;
    while (!(visible >> last & 1))
        last--;
    return hk_rows_even(&st->v_rows.layout, hk_key(sub, view, reach, block * HK_BLOCK),
                        hk_key(sub, view, reach, block * HK_BLOCK + last));
}

/* V rows of the block: in place where they are f32 rows of whole vectors at one stride, else
 * converted. V without channels may have no address, to which nothing may be added. */
HK_FN HK_GLOBAL const float *hk_block_values(const struct hk_strip *st,
                                             HK_GLOBAL const struct hk_sub *sub,
                                             const struct hk_sub_view *view, hk_i64 block,
                                             hk_u64 visible, hk_i64 *v_row)
{
    const hk_i64 d_v = st->call->plan->d_v;
    const struct hk_matrix *v = &st->v_rows;
    HK_COPY(struct hk_reach, reach, st->reach[0]);

    if (hk_block_in_place(st, sub, view, block, visible)) {
        *v_row = sub->kind == HK_SUB_STRIDED ? v->row * sub->step : v->row;
        return (HK_GLOBAL const float *)hk_byte(
            v->base, hk_row_offset(v, hk_key(sub, view, reach, block * HK_BLOCK)) * 4);
    }
    for (; visible != 0; visible &= visible - 1) {
        const int i = hk_first_bit(visible);

        const hk_i64 key = hk_key(sub, view, reach, block * HK_BLOCK + i);

        hk_row_read(v, key, d_v, st->width, st->v + i * st->width);
        if (v->group > 0)
            hk_value_scales(st, key, i);
    }
    *v_row = st->width;
    return st->v;
}

/* ---- every row sees every key ---- */

/* Weights of a tile whose rows see all of a block, where nothing but scores enters and V is finite:
 * no masks needed. */
HK_FN void hk_tile_whole(const struct hk_strip *st, HK_GLOBAL const float *k, hk_i64 m)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    const struct hk_tile tile = hk_strip_tile(st, m);

    if (st->k_rows.group > 0) {
        hk_scaled_scores(st, k, m, ~(hk_u64)0);
        hk_scores_end(&tile, plan->c);
        hk_softmax_finite(&tile);
        return;
    }
    hk_score_block(hk_tile_q(st, m), k, plan->d, tile.s, &plan->c, tile.max);
    hk_softmax_finite(&tile);
}

/* The commonest block by far: all tiles are like that. */
HK_FN void hk_block_whole(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub, hk_i64 block,
                          HK_GLOBAL const float *k, HK_GLOBAL const float *v, hk_i64 v_row)
{
    struct hk_next next;
    hk_i64 m;

#if HK_FETCHES
    if (hk_spread_serves(st, sub, block)) {
        hk_spread_whole(st, block, k, v, v_row);
        return;
    }
#endif
    next = hk_next_get(st, sub, block);
    for (m = 0; m < st->tiles; m++) {
        hk_next_fetch(&next, m);
        hk_tile_whole(st, k, m);
    }
    for (m = 0; m < st->tiles; m++)
        hk_tile_begin(st, m);
    for (m = 0; st->v_rows.group > 0 && m < st->tiles; m++) {
        const struct hk_tile tile = hk_strip_tile(st, m);

        hk_scaled_values(st, &tile, 0, HK_BLOCK);
    }
    if (st->v_rows.group == 0)
        hk_value_block(st->s, v, v_row, st->o, st->width, st->tiles);
}

/* ---- any block ---- */

/* Scores of tile m. */
HK_FN void hk_tile_scores(const struct hk_strip *st, HK_GLOBAL const float *k, hk_i64 m)
{
    const hk_i64 d = st->call->plan->d;
    int n;

    if (st->k_rows.group > 0) {
        hk_scaled_scores(st, k, m, st->tile_masks[m]);
        return;
    }
    for (n = 0; n < HK_BLOCK; n += HK_PANEL) {
        const hk_u64 mask = st->tile_masks[m] & (~(hk_u64)0 >> (64 - HK_PANEL)) << n;

        if (mask != 0)
            hk_score_panel(hk_tile_q(st, m), k, d, st->s + m * HK_R * HK_BLOCK, n, mask);
    }
}

/* Is y = s * c for all keys, and s = q.k? */
HK_FN int hk_source_plain(const struct hk_strip *st)
{
#if HK_PLAIN
    (void)st;
    return 1;
#else
    return hk_logits_plain(st) && st->source->n_dots == 0;
#endif
}

HK_FN void hk_tile_softmax(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                           const struct hk_sub_view *view, hk_i64 block, hk_i64 m, int finite)
{
    const struct hk_tile tile = hk_strip_tile(st, m);
    const int plain = hk_logits_plain(st);
    const float c = plain ? st->call->plan->c : 1.0f;
    hk_i64 i;

    if (plain && st->full[m]) {
        hk_softmax_full(&tile, c);
        return;
    }
#if !HK_PLAIN
    if (!plain && hk_score_rows(st, sub, view, &tile, m * HK_R, block) == ~(hk_u64)0 && finite &&
        st->source->n_biases > 0) {
        hk_softmax_finite(&tile);
        return;
    }
#endif
    if (finite) {
        hk_softmax_masked(&tile, c, st->tile_masks[m]);
        return;
    }
    for (i = 0; i < tile.rows; i++)
        tile.masks[i] = hk_softmax_part(&tile, i, c, tile.masks[i]);
    (void)sub;
    (void)view;
    (void)block;
}

/* The weights of one tile with V: the V of a removed key (mask bit off) must not touch its row
 * (step 6). A finite one may: its weight is +0 and fma(+0, v, o) changes at most the sign of a
 * zero, which step 11 removes. */
HK_FN void hk_tile_values(const struct hk_strip *st, hk_i64 m, HK_GLOBAL const float *v,
                          hk_i64 v_row, int finite)
{
    const struct hk_tile tile = hk_strip_tile(st, m);
    const int scales = st->v_rows.group > 0;
    hk_u64 any = 0, all = ~(hk_u64)0;
    hk_i64 i;

    for (i = 0; i < tile.rows; i++) {
        any |= tile.masks[i];
        all &= tile.masks[i];
    }
    if (!finite && (any & ~all) != 0 && st->width > 0 &&
        (!hk_values_finite(v, v_row, any & ~all, st->width) ||
         (scales && !hk_value_scales_finite(st, any & ~all)))) {
        for (i = 0; i < tile.rows; i++) {
            if (scales)
                hk_scaled_row(st, &tile, i, tile.masks[i]);
            else
                hk_value_row(tile.s + i * HK_BLOCK, v, v_row, tile.masks[i], tile.o + i * HK_PANEL,
                             st->width);
        }
        return;
    }
    while (any != 0 && st->width > 0) {
        const int start = hk_first_bit(any), end = hk_run_end(any, start);

        if (scales)
            hk_scaled_values(st, &tile, start, end);
        else
            hk_value_tiles(tile.s, v, v_row, start, end, tile.o, st->width);
        any = end == HK_BLOCK ? 0 : any >> end << end;
    }
}

HK_FN void hk_block_softmax(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                            const struct hk_sub_view *view, hk_i64 block, int finite)
{
    hk_i64 m;

    for (m = 0; m < st->tiles; m++) {
        if (st->tile_masks[m])
            hk_tile_softmax(st, sub, view, block, m, finite);
    }
}

/* Scores and weights of all tiles; a tile's scores stay in the first level of the caches, and its
 * softmax overlaps with the products of the next. */
HK_FN void hk_block_weights(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                            const struct hk_sub_view *view, hk_i64 block,
                            HK_GLOBAL const float *k, int finite, const struct hk_next *next)
{
    const int whole = finite && hk_source_plain(st);
    hk_i64 m;

#if !HK_PLAIN
    if (st->source->n_dots != 0) {
        for (m = 0; m < st->tiles; m++)
            hk_tile_scores(st, k, m);
        hk_block_dots(st, sub, view, block, k, st->k_rows.group > 0 && st->call->plan->wide > 0);
        hk_block_softmax(st, sub, view, block, finite);
        return;
    }
#endif
    for (m = 0; m < st->tiles; m++) {
        hk_next_fetch(next, m);
        if (st->tile_masks[m] == 0)
            continue;
        if (whole && st->full[m]) {
            hk_tile_whole(st, k, m);
            continue;
        }
        hk_tile_scores(st, k, m);
        hk_tile_softmax(st, sub, view, block, m, finite);
    }
}

/* The weights of all tiles with V, whose rows are v. */
HK_FN void hk_block_values_add(const struct hk_strip *st, HK_GLOBAL const float *v, hk_i64 v_row,
                               int finite)
{
    hk_i64 m;

    for (m = 0; m < st->tiles; m++) {
        if (st->tile_masks[m]) {
            hk_tile_begin(st, m);
            hk_tile_values(st, m, v, v_row, finite);
        }
    }
}

HK_FN void hk_block_weigh(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                          const struct hk_sub_view *view, hk_i64 block, hk_u64 visible)
{
    hk_i64 v_row = 0;
    HK_GLOBAL const float *v = hk_block_values(st, sub, view, block, visible, &v_row);

    hk_block_values_add(st, v, v_row, 0);
}

/* K in the caller's panels, all of whose keys are there. */
HK_FN void hk_block_few_panels(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                               const struct hk_sub_view *view, hk_i64 block)
{
    const struct hk_block_rows *ahead;
    struct hk_block_rows k, v, next;

    ahead = hk_next_panels(st, sub, block, &next) ? &next : 0;
    hk_panels_list(&st->k_rows, block * HK_BLOCK, st->call->plan->d, &k);
    hk_block_rows_get(st, &st->v_rows, sub, view, block, ~(hk_u64)0,
                      (HK_GLOBAL const char *)st->zeros, &v);
    hk_panel_scores(st, &k, &v);
    hk_block_softmax(st, sub, view, block, 0);
    if (hk_tiles_agree(st))
        hk_few_weigh(st, &v, ahead, ahead, 0);
    else
        hk_block_weigh(st, sub, view, block, ~(hk_u64)0);
}

/* A block of a source that does not lie packed, for few rows. */
HK_FN void hk_block_few(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                        const struct hk_sub_view *view, hk_i64 block, hk_u64 visible)
{
    const hk_i64 shift = hk_next_block(st, sub, block);
    const struct hk_block_rows *ahead;
    struct hk_block_rows k, v, next;

    hk_block_rows_get(st, &st->k_rows, sub, view, block, visible,
                      (HK_GLOBAL const char *)st->zeros, &k);
    hk_block_rows_get(st, &st->v_rows, sub, view, block, visible,
                      (HK_GLOBAL const char *)st->zeros, &v);
    hk_few_scores(st, &k, &v, &v);
    hk_block_softmax(st, sub, view, block, 0);
    if (!hk_tiles_agree(st)) {
        hk_block_weigh(st, sub, view, block, visible);
        return;
    }
    ahead = shift != 0 ? &k : hk_next_rows(st, sub, block, &next) ? &next : 0;
    hk_few_weigh(st, &v, ahead, ahead, shift); /* one call: PoCL makes a copy for each */
}

/* Is V of a block finite that does not lie packed? Worth a pass over it where tiles are many. */
HK_FN int hk_block_finite(const struct hk_strip *st, HK_GLOBAL const float *v, hk_i64 v_row,
                          hk_u64 visible)
{
    return st->tiles >= HK_FINITE_TILES && st->v_rows.group == 0 && st->width > 0 &&
           hk_values_finite(v, v_row, visible, st->width);
}

#if HK_BY_HALVES
#include "halves.h"
#endif

HK_FN void hk_block_attend(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                           const struct hk_sub_view *view, hk_i64 block)
{
    HK_COPY(struct hk_reach, reach, st->reach[0]);
    hk_u64 available = hk_block_mask(sub, view, reach, block);
    struct hk_panels panels;
    struct hk_next next;
    HK_GLOBAL const float *v, *k;
    hk_i64 v_row = 0;
    hk_u64 visible;
    int inside, finite;

    if (st->k_rows.layout.gaps)
        available = hk_block_present(st, sub, view, block, available);
    inside = hk_block_inside(st, sub, block, available);
    visible = inside ? available : hk_block_masks(st, sub, view, block, available);
    if (visible == 0)
        return;
#if HK_BY_HALVES
    hk_halves_attend(st, sub, view, block, visible, inside);
    return;
#endif
    panels = hk_block_panels(st, sub, view, block);
    k = panels.k;
    if (inside && panels.finite && hk_source_plain(st)) {
        v = hk_block_values(st, sub, view, block, available, &v_row);
        hk_block_whole(st, sub, block, k, v, v_row);
        return;
    }
    if (inside)
        hk_block_fill(st);
#if !HK_PACKED
    if (!k && hk_few_fits(st) && st->k_rows.channel == 1) {
        hk_block_few(st, sub, view, block, visible);
        return;
    }
    if (!k && hk_few_fits(st) && hk_panels_fit(&st->k_rows, st->call->plan->d) &&
        hk_block_aligned(sub) && visible == ~(hk_u64)0) {
        hk_block_few_panels(st, sub, view, block);
        return;
    }
    if (!k)
        k = hk_block_gather(st, sub, view, block, visible);
#endif
    v = hk_block_values(st, sub, view, block, visible, &v_row);
    finite = panels.k ? panels.finite : hk_block_finite(st, v, v_row, visible);
    if (inside && finite && hk_source_plain(st)) {
        hk_block_whole(st, sub, block, k, v, v_row);
        return;
    }
    next = hk_next_get(st, sub, block);
    hk_block_weights(st, sub, view, block, k, finite, &next);
    hk_block_values_add(st, v, v_row, finite);
}

#endif
