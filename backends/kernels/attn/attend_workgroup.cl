/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention for GPUs: a group takes one strip of query rows and up to HK_WIDTH channels of V (wider
 * ones take several groups, which form the same scores again). Q lies in local memory, K and V pass
 * through it a slice at a time; scores, sums and outputs stay in registers.
 */
#if HK_WIDTH == 64 && (HK_PLAIN || HK_ONE_RANGE)
#define HK_RESIDENT 4 /* a fifth faster (H100), though sums over chunks lie in memory */
#elif HK_WIDTH == 64 && !HK_SCALES
#define HK_RESIDENT 3
#endif
#include "cuts.h"
#include "group_items.h"
#include "group_out.h"
#include "group_scores.h"
#include "group_values.h"
#include "listed.h"
#include "walk.h"

/* ---- a block ---- */

/* Of a block's scores: nothing yet, and where its K lies. */
HK_FN void hk_scores_begin(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
#if HK_SCALES
    hk_totals_clear(me);
#endif
    hk_scores_clear(me);
    hk_find_k(g, id, me);
    hk_fetch_k(g, id, 0, me);
}

/* The next slice is fetched while one is worked on. */
HK_FN void hk_block_scores(const struct hk_group *g, struct hk_mine *mine, hk_u64 any)
{
    const hk_i64 all = any != 0 ? g->call->plan->d : 0,
                 d = hk_is_apart(g) ? hk_min(all, 1) : all; /* then Q alone is staged */
    /* What does not change in a block is read once: barriers make compilers read it again. */
    const hk_u32 wide = g->shared->k_wide, q_stays = all <= HK_KEPT && g->shared->has_q;
#if HK_SCALES
    const hk_i64 group = any != 0 ? hk_key_group(g->shared, d) : 1;
#endif
    hk_i64 t0;
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_scores_begin(g, id, &mine[HK_OWN(id)]);
    }
    HK_NO_UNROLL
    for (t0 = 0; t0 < d; t0 += HK_SLICE) {
        if (HK_FLAT || t0 > 0)          /* nobody reads a slice before the first one */
            HK_BARRIER();
        HK_EACH(id) {
            hk_put_k(g, id, t0, wide, &mine[HK_OWN(id)]);
#if HK_SCALES
            if (t0 % group == 0)
                hk_put_k_scales(g, id, t0);
#endif
            if (t0 % HK_KEPT == 0 && !q_stays) {
                HK_MARK(cold);
                hk_stage_q(g, id, t0);
            }
        }
        HK_BARRIER();
        HK_EACH(id) {
            hk_fetch_k(g, id, t0 + HK_SLICE, &mine[HK_OWN(id)]);
            if (!hk_is_apart(g))
                hk_score_slice(g, id, g->shared->q + t0 % HK_KEPT * HK_Q_LINE,
                               &mine[HK_OWN(id)]);
#if HK_SCALES
            hk_query_sums(g, id, (hk_i32)(t0 % HK_KEPT), &mine[HK_OWN(id)]);
            if ((t0 + HK_SLICE) % group == 0 || t0 + HK_SLICE >= d)
                hk_totals_join(g, id, &mine[HK_OWN(id)]);
#endif
        }
    }
#if HK_LISTS
    HK_EACH(id) {
        if (all > 0 && hk_is_apart(g))
            hk_listed_scores(g, id, &mine[HK_OWN(id)]);
    }
#endif
#if HK_SCALES
    HK_EACH(id) {
        hk_totals_take(&mine[HK_OWN(id)]);
    }
#endif
}

/* The slices of V from place `from` on as long as all is finite: returns the place of the first one
 * that has a V that is not; it lies in local memory, as its weights do. */
HK_FN hk_i32 hk_block_finite(const struct hk_group *g, struct hk_mine *mine, hk_i32 from,
                             hk_i32 n)
{
    const hk_u32 wide = g->shared->v_wide;
    hk_i32 k0;
    HK_THREAD_ID(id);

    HK_NO_UNROLL
    for (k0 = from; k0 < n; k0 += HK_KEYS) {
        if (HK_FLAT || k0 > 0)
            HK_BARRIER();
        HK_EACH(id) {
#if HK_LISTS
            if (hk_is_apart(g))
                hk_listed_put(g, id, k0);
            else
#endif
                hk_put_v(g, id, k0, wide, &mine[HK_OWN(id)]);
            if (HK_KEYS % HK_GROUP_KEYS == 0 || k0 % HK_GROUP_KEYS == 0) {
                HK_PART(HK_KEYS, HK_GROUP_KEYS);
                hk_weigh(g, id, &mine[HK_OWN(id)]);
            }
        }
        HK_BARRIER();
        if (g->shared->poison)
            break;
        HK_EACH(id) {
            hk_fetch_v(g, id, k0 + HK_KEYS, &mine[HK_OWN(id)]);
#if HK_LISTS
            if (hk_is_apart(g))
                hk_listed_values(g, id, k0, &mine[HK_OWN(id)]);
#endif
            if (hk_is_staged(g))
                hk_value_slice(g, id, k0, &mine[HK_OWN(id)]);
        }
    }
    return k0;
}

/* What a thread fetched of K is of no use any more: said here, it takes no registers meanwhile.
 * Kernels with little between scores and values have enough. */
HK_FN void hk_values_begin(struct hk_mine *me)
{
#if HK_CUTS
    me->v_from = 0;
    hk_next_clear(me);
#else
    (void)me;
#endif
}

/* A slice whose V are not finite is left to another loop than that of the others, which so keeps
 * its sums where they are. */
HK_FN void hk_block_values(const struct hk_group *g, struct hk_mine *mine, hk_u64 any)
{
    /* What no row sees at the end of the block is left out. */
    const hk_i32 n = any >> 48 ? 64 : any >> 32 ? 48 : any >> 16 ? 32 : any ? 16 : 0;
    hk_i32 k0 = 0;
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_values_begin(&mine[HK_OWN(id)]);
        if (n > 0)              /* else there may be no source yet */
            hk_find_v(g, id, &mine[HK_OWN(id)]);
    }
    HK_NO_UNROLL
    while (k0 < n) {
        HK_EACH(id) {
            hk_fetch_v(g, id, k0, &mine[HK_OWN(id)]);
        }
        k0 = hk_block_finite(g, mine, k0, n);
        if (k0 < n) {
            HK_MARK(cold);
            HK_EACH(id) {
                hk_value_slice_careful(g, id, k0, &mine[HK_OWN(id)]);
            }
            k0 += HK_KEYS;
        }
    }
}

HK_FN void hk_block_attend(const struct hk_group *g, struct hk_mine *mine)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_u64 any;
    HK_THREAD_ID(id);

    hk_block_look(g, mine);
    any = hk_joined(shared->any);
    hk_block_scores(g, mine, any);
#if HK_BIASES
    hk_block_biases(g, mine, any);
#endif
    HK_EACH(id) {
        hk_score_end(g, id, &mine[HK_OWN(id)]);
        if (any != 0 && id == 0)
            shared->has_q = 1;
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id < HK_ROWS)
            hk_row_rise(g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_sums_follow(g, id, &mine[HK_OWN(id)]);
    }
    hk_block_values(g, mine, any);
}

/* ---- chunks ---- */

HK_PIECE void hk_chunk_begin(struct hk_mine *me)
{
    hk_i32 r, c;

    HK_MARK(cold);
    me->m = -HK_INFINITY;
    me->empty = 1;
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        me->l[r] = 0.0f;
        HK_UNROLL
        for (c = 0; c < HK_TC; c++)
            me->o[r][c] = 0.0f;
    }
#if HK_SCALES
    hk_lows_clear(me);
#endif
}

/* Step 8, by thread i for row i: what its sums over earlier chunks and over this one are multiplied
 * by. A chunk without a remaining key does not exist; the first one is taken as it is. */
HK_PIECE void hk_row_join(const struct hk_group *g, hk_i32 i, struct hk_mine *me)
{
    float w1 = 1.0f, w2 = 0.0f;

    HK_MARK(cold);
    if (!me->empty && me->has_partial) {
        const float m = me->m > me->acc_m ? me->m : me->acc_m;

        w1 = hk_power(hk_sub(me->acc_m, m));
        w2 = hk_power(hk_sub(me->m, m));
        me->acc_m = m;
    } else if (!me->empty) {
        w1 = 0.0f;
        w2 = 1.0f;
        me->acc_m = me->m;
        me->has_partial = 1;
    }
    g->shared->w[2 * i] = w1;
    g->shared->w[2 * i + 1] = w2;
}

HK_PIECE void hk_chunk_end(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    hk_i32 r, c;

    HK_MARK(cold);
#if HK_SCALES
    hk_lows_join(me);
#endif
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        HK_LOCAL const float *w = g->shared->w + 2 * (id / 16 * HK_TR + r);
        const float w1 = w[0], w2 = w[1];

        me->acc_l[r] = hk_fma(me->l[r], w2, hk_mul(me->acc_l[r], w1));
        HK_UNROLL
        for (c = 0; c < HK_TC; c++)
            me->acc_o[r][c] = hk_fma(me->o[r][c], w2, hk_mul(me->acc_o[r][c], w1));
    }
}

/* ---- a step ---- */

HK_FN void hk_step_row(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
#if HK_CUTS
    if (g->shared->ends && hk_is_cut(g)) {
        hk_cut_leave(g, id, me);
        return;
    }
#endif
    if (g->shared->ends && id < HK_ROWS)
        hk_row_join(g, id, me);
}

HK_FN void hk_step_reach(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    if (g->shared->opens)
        hk_reach_take(g, id, me);
}

HK_FN void hk_step_chunk(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    if (g->shared->ends && !hk_is_cut(g))
        hk_chunk_end(g, id, me);
    if (g->shared->begins)
        hk_chunk_begin(me);
}

/* ---- all ---- */

/* Before the first step. */
HK_FN void hk_rows_begin(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    hk_i32 r, c;

    if (id < HK_ROWS)
        hk_row_open(g, id);
    me->has_partial = 0;
    me->acc_m = -HK_INFINITY;
    hk_next_clear(me);
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        me->acc_l[r] = 0.0f;
        HK_UNROLL
        for (c = 0; c < HK_TC; c++)
            me->acc_o[r][c] = 0.0f;
    }
}

#if !HK_PLAIN
/* What row i of the strip begins from; 0: from nothing. */
HK_PIECE HK_GLOBAL const float *hk_state_of(const struct hk_group *g, hk_i32 i, float *m)
{
    const struct hk_call *call = g->call;
    const hk_i64 row = g->task->o_begin + g->shared->index[i], head = g->shared->head[i];
    HK_GLOBAL const float *from = hk_state_row(call, g->task->b, head, row);
    float joined;

    if (!g->shared->active[i])
        return 0;
    if (call->plan->kept_at) {
        HK_GLOBAL const struct hk_kept *kept = hk_kept_row(call, g->task->b, head, row);

        *m = kept->m;
        joined = kept->joined;
    } else {
        *m = from[0];
        joined = from[HK_STATE_AT_JOINED * call->plan->state.stride[5]];
    }
    return joined == 0.0f ? 0 : from;
}

/* What a thread begins with. */
HK_PIECE void hk_states_take(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    const hk_i64 channel = plan->state.stride[5];
    HK_GLOBAL const float *from;
    float m;
    hk_i32 r, c;

    HK_MARK(cold);
    if (id < HK_ROWS && hk_state_of(g, id, &m)) {
        me->acc_m = m;
        me->has_partial = 1;
    }
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        from = hk_state_of(g, id / 16 * HK_TR + r, &m);
        if (!from)
            continue;
        if (g->pass == 0 || !plan->kept_at)     /* else another group ends with it */
            me->acc_l[r] = from[(HK_STATE_AT_L + id % 16) * channel];
        HK_UNROLL
        for (c = 0; c < HK_TC; c++) {
            const hk_i64 t = g->pass + hk_channel(id % 16, c);

            if (t < plan->d_v)
                me->acc_o[r][c] = from[(HK_STATE_AT_O + t) * channel];
        }
    }
}
#endif

/* The strip, and the channels of V, of group number `group`, before its walk. */
HK_FN void hk_main_begin(const struct hk_call *call, hk_u32 group,
                         HK_LOCAL struct hk_shared *shared, struct hk_group *g,
                         struct hk_mine *mine)
{
    const hk_u32 passes = (hk_u32)call->plan->passes;
#if HK_CUTS
    struct hk_task_part at;
#endif
    hk_u32 task = group / passes;
    HK_THREAD_ID(id);

#if HK_CUTS
    hk_task_part_find(call, task, &at);
    task = at.task;
#endif
    hk_group_open(call, task, group % passes * HK_WIDTH, shared, g);
    HK_EACH(id) {
#if HK_CUTS
        hk_cut_open(g, id, &at);
#endif
        hk_rows_begin(g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
#if !HK_PLAIN
        if (call->plan->state.dtype && !hk_is_cut(g))
            hk_states_take(g, id, &mine[HK_OWN(id)]);
#endif
        if (id == 0)
            hk_walk_begin(g);
    }
    HK_BARRIER();
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    struct hk_mine mine[HK_MINE];
    struct hk_group g;
    hk_i32 r, rows;
    HK_THREAD_ID(id);

    hk_main_begin(call, (hk_u32)group, shared, &g, mine);
    do {
        hk_step(&g, mine);
    } while (!shared->done);
    rows = hk_is_cut(&g) ? 0 : HK_ROWS;         /* else few_join.cl ends them */
    HK_BARRIER();
    HK_EACH(id) {
        for (r = 0; r < HK_TR; r++)
            shared->out.red[(id / 16 * HK_TR + r) * HK_RED_LINE + id % 16] =
                mine[HK_OWN(id)].acc_l[r];
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id < rows)
            hk_row_finish(&g, id, &mine[HK_OWN(id)]);
    }
    HK_NO_UNROLL
    for (r = 0; r < rows; r += HK_OUT_ROWS) {
        HK_BARRIER();
        HK_EACH(id) {
            hk_out_put(&g, id, r, &mine[HK_OWN(id)]);
        }
        HK_BARRIER();
        HK_EACH(id) {
            hk_out_store(&g, id, r);
        }
    }
}

#include "../entry.h"
