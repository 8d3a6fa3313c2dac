/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which sources have K in panels, on processors and kernels of lanes: beforehand, in a ring of each
 * worker, or in the panels of another source.
 */
#include "../kernels/attn/worker.h"
#include "blob.h"

#include <math.h>
#include <string.h>

/* Blocks that a strip reaches at most of the keys of unit step, if that follows from the windows;
 * else infinite. */
static double reach_blocks(const struct heed_plan *plan, uint32_t s, const struct hk_plan *to)
{
    const struct heed_lowered_source *source = &heed_lowered_of(plan)->sources[s];
    const double rows = (double)to->strips.rows * (double)to->strips.row_step;
    double blocks = 0;

    for (uint32_t i = source->first; i < source->first + source->n; i++) {
        const struct hk_sub *sub = &heed_lowered_of(plan)->subs[i];

        for (uint32_t r = 0; r < sub->n_ranges && sub->kind == HK_SUB_KEYS; r++) {
            const struct hk_range *range = &sub->range[r];
            const bool ends = !(range->open & HK_OPEN_HI) || (sub->flags & HK_CAUSAL);
            const double hi = range->open & HK_OPEN_HI ? 0 : (double)range->hi;

            if (range->kind != HK_RANGE_AFFINE || (range->open & HK_OPEN_LO) || !ends)
                return INFINITY;
            blocks += (rows * (double)to->q_pos_step + hi - (double)range->lo +
                       (double)range->block) / (double)sub->pos_step / 64 + 2;
        }
    }
    return blocks;
}

/* Are K and V of both taken for the same, if their buffers are? */
static bool same_keys(const struct heed_plan *plan, uint32_t s, uint32_t t)
{
    const struct heed_lowered_source *a = &heed_lowered_of(plan)->sources[s];
    const struct heed_lowered_source *b = &heed_lowered_of(plan)->sources[t];
    const struct heed_checked_source *x = &heed_attn_of(plan)->sources[s];
    const struct heed_checked_source *y = &heed_attn_of(plan)->sources[t];

    return a->layout == HK_LAYOUT_EVEN && b->layout == HK_LAYOUT_EVEN && a->items == b->items &&
           a->items != HEED_ITEMS_PACKED && !a->value && !b->value && a->shared == b->shared &&
           x->heads == y->heads && x->n_k == y->n_k && x->len.slot == 0 && y->len.slot == 0 &&
           x->k_scale.slot == 0 && y->k_scale.slot == 0 && x->v_scale.slot == 0 &&
           y->v_scale.slot == 0 && memcmp(&x->k, &y->k, sizeof(x->k)) == 0 &&
           memcmp(&x->v, &y->v, sizeof(x->v)) == 0;
}

/* 1 + number of the source before s, all of whose K lies in panels, that a list of whole
 * blocks of the same keys finds them in; 0: there is none. */
static uint32_t like_find(const struct heed_plan *plan, uint32_t s, const struct hk_source *sources)
{
    const struct hk_sub *sub = &heed_lowered_of(plan)->subs[sources[s].first_sub];

    for (uint32_t t = 0; t < s && heed_source_listed(plan, s) && sub->run % 64 == 0; t++) {
        if (sources[t].packs && same_keys(plan, s, t))
            return t + 1;
    }
    return 0;
}

/* Where more than one strip reads K, all of it is packed beforehand; unless no strip reaches far:
 * then every worker keeps what its strips reach, which is faster, too. */
void heed_panels_find(const struct heed_plan *plan, const struct heed_device_traits *traits,
                      uint32_t s, struct hk_plan *to, struct hk_source *source,
                      struct heed_room *w)
{
    const struct heed_checked_source *from = &heed_attn_of(plan)->sources[s];
    const double items = source->shared ? 1 : (double)heed_attn_of(plan)->n_batch;
    const double blocks = items * (double)from->heads * (double)source->blocks;
    const double ring = reach_blocks(plan, s, to);

    source->like = like_find(plan, s, source - s);
    if (source->packed || from->heads == 0 || !heed_lowered_of(plan)->sources[s].has_keys ||
        heed_attn_of(plan)->n_q <= to->strips.rows)
        return;
    if (ring * traits->workers < blocks / 2) {
        source->ring = (int64_t)ring;
        source->ring_at = to->worker_bytes;
        to->worker_bytes += HK_RING_BYTES(source->ring, source->panel_rows);
        to->worker_bytes = (to->worker_bytes + HEED_WORK_ALIGN - 1) / HEED_WORK_ALIGN *
                           HEED_WORK_ALIGN;
        return;
    }
    source->packs = 1;
    source->packed_at = heed_room_place(w, blocks * 64 * (double)source->panel_rows, sizeof(float));
    source->finite_at = heed_room_place(w, blocks, sizeof(uint32_t));
    source->pack_tasks = w->ok ? (int64_t)blocks : 0;
    to->pack_tasks += source->pack_tasks;
}
