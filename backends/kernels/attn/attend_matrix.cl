/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention for GPUs with matrix units (dialect_mma.h), for FAST: halves, one range of keys a row,
 * d at most HK_WIDTH. A group takes one strip of query rows and up to HK_WIDTH channels of V. Q
 * stays in registers, if there are enough; K and V of a block lie in local memory as halves.
 * Scores, weights and outputs stay where the unit leaves and wants them (FlashAttention-2: Dao
 * 2023). Other than in version 1 the order of sums is the unit's and there are no chunks:
 * docs/numerics.md section 11.
 */
#define HK_MATRIX 1
#ifndef HK_MMA
#define HK_MMA 0
#endif
#include "../dialect/mma.h"
#define HK_THREADS (HK_GROUP_ROWS * HK_MMA_SHARE(HK_MMA))

#include "mma_block.h"
#include "mma_out.h"
#include "walk.h"

/* ---- a block ---- */

/* Which keys the block's places are and what every row sees of them. */
HK_FN void hk_block_look(const struct hk_group *g, struct hk_mine *mine)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_THREAD_ID(id);

    HK_MARK(walk);
    HK_EACH(id) {
        if (shared->works && id < HK_BLOCK && hk_place_open(g, id))
            hk_local_or(&shared->available[id / 32], 1u << id % 32);
#if HK_THREADS < HK_BLOCK
        if (shared->works && hk_place_open(g, id + HK_THREADS))
            hk_local_or(&shared->available[1], 1u << (id + HK_THREADS) % 32);
#endif
    }
    hk_block_masks(g, mine);
}

/* Products of channels 16 * t on. */
HK_FN void hk_scores_step(const struct hk_group *g, struct hk_mine *mine, const hk_i32 t)
{
    hk_i32 n;
    HK_THREAD_ID(id);

    HK_MARK(qk);
#if !HK_MMA_KEEPS_Q
    HK_EACH(id) {
        hk_get_q(g, id, t, &mine[HK_OWN(id)]);
    }
#endif
    HK_UNROLL
    for (n = 0; n < HK_BLOCK / HK_MMA_N; n++) {
        HK_EACH(id) {
            hk_mma_get_keys(g->shared->in.k + t * 8, HK_K_LINE, id % HK_MMA_LANES, n,
                            &mine[HK_OWN(id)].b);
        }
        HK_MMA_RUN(mine, HK_Q_STEP(t), b, s[n]);
    }
    HK_ORDER();
}

/* K and V to local memory, scores to registers. No loop over steps, here as over those of V: a
 * compiler that leaves it one keeps in memory what is found by their number. */
HK_FN void hk_block_scores(const struct hk_group *g, struct hk_mine *mine, hk_u64 any)
{
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_stage_k(g, id, any);
        hk_stage_v(g, id, any);
        hk_scores_clear(&mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    if (any != 0) {
        hk_scores_step(g, mine, 0);
        hk_scores_step(g, mine, 1);
        hk_scores_step(g, mine, 2);
        hk_scores_step(g, mine, 3);
#if HK_WIDTH > 64
        hk_scores_step(g, mine, 4);
        hk_scores_step(g, mine, 5);
        hk_scores_step(g, mine, 6);
        hk_scores_step(g, mine, 7);
#endif
    }
}

/* Scores become y, rows rise to the largest of them. */
HK_FN void hk_block_rise(const struct hk_group *g, struct hk_mine *mine)
{
    hk_i32 step;
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_scores_end(g, id, &mine[HK_OWN(id)]);
    }
    HK_UNROLL
    for (step = HK_MMA_NEAR; step < HK_MMA_FAR; step *= 2) {
        HK_MMA_TRADE(mine, sent, got, HK_MMA_HELD, step);
        HK_EACH(id) {
            hk_top_join(&mine[HK_OWN(id)]);
        }
    }
    HK_EACH(id) {
        hk_rows_rise(&mine[HK_OWN(id)]);
    }
}

/* What the unit may not multiply. */
HK_FN void hk_block_poison(const struct hk_group *g, struct hk_mine *mine)
{
    HK_THREAD_ID(id);

    HK_MARK(cold);
    HK_BARRIER();
    HK_EACH(id) {
        hk_scores_put(g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_values_careful(g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_values_clean(g, id);
    }
    HK_BARRIER();
}

/* Products of keys 16 * t on with channels 64 * part on. */
HK_FN void hk_values_part(const struct hk_group *g, struct hk_mine *mine, const hk_i32 t,
                          const hk_i32 part)
{
    hk_i32 n;
    HK_THREAD_ID(id);

    HK_MARK(pv);
    HK_UNROLL
    for (n = part * (64 / HK_MMA_N); n < (part + 1) * (64 / HK_MMA_N); n++) {
        HK_EACH(id) {
            hk_mma_get_b(g->shared->mma.v + n * HK_MMA_N * HK_V_LINE + t * 8, HK_V_LINE,
                         id % HK_MMA_LANES, &mine[HK_OWN(id)].b);
        }
        HK_MMA_RUN(mine, a, b, o[n]);
    }
    HK_ORDER();
}

/* Weights of keys 16 * t on, and their products with V. */
HK_FN void hk_values_step(const struct hk_group *g, struct hk_mine *mine, const hk_i32 t)
{
    HK_THREAD_ID(id);

    HK_MARK(pv);
    HK_EACH(id) {
        hk_weigh(&mine[HK_OWN(id)], t);
    }
#if HK_MMA_TWICE == 2
    HK_MMA_TRADE(mine, sent, got, HK_MMA_OWN_WORDS, HK_MMA_NEAR);
#endif
    HK_EACH(id) {
        hk_mma_turn(id % HK_MMA_LANES, mine[HK_OWN(id)].sent, mine[HK_OWN(id)].got,
                    &mine[HK_OWN(id)].a);
    }
    hk_values_part(g, mine, t, 0);
#if HK_WIDTH > 64
    hk_values_part(g, mine, t, 1);
#endif
}

HK_FN void hk_block_values(const struct hk_group *g, struct hk_mine *mine)
{
    hk_values_step(g, mine, 0);
    hk_values_step(g, mine, 1);
    hk_values_step(g, mine, 2);
    hk_values_step(g, mine, 3);
}

HK_FN void hk_block_attend(const struct hk_group *g, struct hk_mine *mine)
{
    hk_u64 any;

    hk_block_look(g, mine);
    any = hk_joined(g->shared->any);
    hk_block_scores(g, mine, any);
    if (any != 0) {
        hk_block_rise(g, mine);
        if (g->shared->poison)
            hk_block_poison(g, mine);
        hk_block_values(g, mine);
    }
}

/* A step has nothing beside: there are no chunks, and what a row reaches lies in local memory. */
HK_FN void hk_step_row(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    (void)g, (void)id, (void)me;
}

HK_FN void hk_step_reach(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    (void)g, (void)id, (void)me;
}

HK_FN void hk_step_chunk(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    (void)g, (void)id, (void)me;
}

/* ---- all ---- */

/* Before the first step. */
HK_FN void hk_rows_begin(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    hk_i32 r, n, i;

    if (id < HK_ROWS)
        hk_row_open(g, id);
    HK_UNROLL
    for (r = 0; r < HK_MMA_HELD; r++) {
        me->m[r] = -HK_INFINITY;
        me->l[r] = 0.0f;
    }
    HK_UNROLL
    for (n = 0; n < HK_WIDTH / HK_MMA_N; n++) {
        HK_UNROLL
        for (i = 0; i < HK_MMA_ITEMS; i++)
            me->o[n].x[i] = 0.0f;
    }
}

/* Q to registers, and the walk to its beginning. */
HK_FN void hk_strip_begin(const struct hk_group *g, struct hk_mine *mine)
{
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_rows_begin(g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id == 0)
            hk_walk_begin(g);
        hk_stage_q(g, id);
    }
    HK_BARRIER();
#if HK_MMA_KEEPS_Q
    HK_EACH(id) {
        hk_keep_q(g, id, &mine[HK_OWN(id)]);
    }
#endif
}

/* Sums of weights over the threads of a row. */
HK_FN void hk_rows_join(struct hk_mine *mine)
{
    hk_i32 step;
    HK_THREAD_ID(id);

    HK_UNROLL
    for (step = HK_MMA_NEAR; step < HK_MMA_FAR; step *= 2) {
        HK_EACH(id) {
            hk_sums_send(&mine[HK_OWN(id)]);
        }
        HK_MMA_TRADE(mine, sent, got, HK_MMA_HELD, step);
        HK_EACH(id) {
            hk_sums_join(&mine[HK_OWN(id)]);
        }
    }
    (void)id;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    const hk_u32 passes = (hk_u32)call->plan->passes;
    struct hk_mine mine[HK_MINE];
    struct hk_group g;
    hk_i32 part;
    HK_THREAD_ID(id);

    hk_group_open(call, (hk_u32)group / passes, (hk_u32)group % passes * HK_WIDTH, shared, &g);
    hk_strip_begin(&g, mine);
    do {
        hk_step(&g, mine);
    } while (!shared->done);
    HK_BARRIER();
    hk_rows_join(mine);
    HK_EACH(id) {
        hk_sums_put(&g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id < HK_ROWS)
            hk_row_finish(&g, id);
    }
    HK_UNROLL
    for (part = 0; part < HK_WIDTH / 64; part++) {
        HK_BARRIER();
        HK_EACH(id) {
            hk_out_put(&g, id, part, &mine[HK_OWN(id)]);
        }
        HK_BARRIER();
        HK_EACH(id) {
            hk_out_store(&g, id, part);
        }
    }
}

#include "../entry.h"
