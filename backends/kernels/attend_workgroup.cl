/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention for GPUs: a group takes one strip of query rows and up to HK_WIDTH channels of V (wider
 * ones take several groups, which form the same scores again). Q, K and V pass through local memory
 * a slice at a time; scores, sums and outputs stay in registers.
 */
#include "dot_group.h"
#include "walk.h"

/* ---- scores ---- */

/* HK_SLICE channels from t0 on of all rows and of the keys in `any`, transposed. */
HK_FN void hk_stage_qk(const struct hk_group *g, hk_i32 id, hk_i64 t0, hk_u64 any)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL float *q = g->shared->in.stage, *k = q + HK_SLICE * HK_Q_LINE;
    const hk_i64 q_at = hk_batch_offset(g->call, plan->q.stride, g->task.b);
    hk_i32 i;

    for (i = id; i < HK_ROWS * HK_SLICE; i += HK_THREADS) {
        const hk_i32 row = i / HK_SLICE, t = i % HK_SLICE;
        float x = 0.0f;

        if (g->shared->active[row] && t0 + t < plan->d)
            x = hk_element(plan->q.dtype, hk_q(g->call),
                           q_at + g->shared->head[row] * plan->q.stride[3] +
                               (g->task.begin + g->shared->index[row]) * plan->q.stride[4] +
                               (t0 + t) * plan->q.stride[5]);
        q[t * HK_Q_LINE + row] = x;
    }
    for (i = id; i < HK_BLOCK * HK_SLICE; i += HK_THREADS) {
        const hk_i32 key = i / HK_SLICE, t = i % HK_SLICE;
        float x = 0.0f;

        if ((any >> key & 1) && t0 + t < plan->d)
            x = hk_k_element(g->shared, key, t0 + t);
        k[t * HK_K_LINE + key] = x;
    }
}

/* Step 3: one fma chain over d per score. */
HK_PIECE void hk_score_slice(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL const float *q = g->shared->in.stage + id / 16 * HK_TR;
    HK_LOCAL const float *k = g->shared->in.stage + HK_SLICE * HK_Q_LINE + id % 16;
    hk_i32 t, r, c;

    HK_UNROLL_FEW
    for (t = 0; t < HK_SLICE; t++) {
        float b[4];

        HK_UNROLL
        for (c = 0; c < 4; c++)
            b[c] = k[t * HK_K_LINE + 16 * c];
        HK_UNROLL
        for (r = 0; r < HK_TR; r++) {
            const float a = q[t * HK_Q_LINE + r];

            HK_UNROLL
            for (c = 0; c < 4; c++)
                me->s[r][c] = hk_fma(a, b[c], me->s[r][c]);
        }
    }
}

/* ---- softmax ---- */

/* Steps 3 and 4: scores to y, -Inf where the key is removed, whose bit leaves the thread's; the
 * largest of each row goes to red, NaN where the thread has no remaining key. */
HK_PIECE hk_u32 hk_score_end(const struct hk_group *g, HK_GLOBAL const struct hk_sub *sub,
                             hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_u32 rest = 0;
    hk_i32 r, c;

    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const hk_i32 row = id / 16 * HK_TR + r;
        const hk_u64 mask = shared->masks[row];
        float max = -HK_INFINITY;
        hk_u32 some = 0;

        HK_UNROLL
        for (c = 0; c < 4; c++) {
            const hk_i32 n = id % 16 + 16 * c;
            int visible = (int)(mask >> n & 1);
            float y;

#if HK_PLAIN
            y = hk_mul(me->s[r][c], g->call->plan->c);
            visible = visible && !(y == -HK_INFINITY);
            (void)sub;
#else
            y = 0.0f;
            if (visible)
                visible = hk_pair_score(g, sub, row, n, me->s[r][c], &y);
#endif
            me->s[r][c] = y;
            if (visible) {
                some |= 1u << c;
                max = hk_max_f(y, max);
            }
        }
        rest |= some << (4 * r);
        shared->red[row * 17 + id % 16] = some ? max : hk_float(HK_NAN_WORD);
    }
    return rest;
}

/* Steps 5 to 7: the rows' references rise, weights go to p. rest: hk_score_end's. */
HK_PIECE void hk_weigh(const struct hk_group *g, hk_i32 id, struct hk_mine *me, hk_u32 rest)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_i32 r, c, x;

    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const hk_i32 row = id / 16 * HK_TR + r;
        float max = -HK_INFINITY, e;
        int some = 0;

        for (x = 0; x < 16; x++) {
            const float y = shared->red[row * 17 + x];

            some |= y == y;
            max = hk_max_f(y, max);
        }
        e = hk_row_max(max);
        if (some && e > me->m[r]) {
            const float w = hk_power(hk_sub(me->m[r], e));

            me->l[r] = hk_mul(me->l[r], w);
            HK_UNROLL
            for (c = 0; c < HK_TC; c++)
                me->o[r][c] = hk_mul(me->o[r][c], w);
            me->m[r] = e;
        }
        if (some)
            me->empty[r] = 0;
        HK_UNROLL
        for (c = 0; c < 4; c++) {
            float p = hk_float(HK_REMOVED);

            if (rest >> (4 * r + c) & 1) {
                p = hk_weight(me->s[r][c], me->m[r]);
                me->l[r] = hk_add(me->l[r], p);
            }
            shared->p[row * HK_P_LINE + id % 16 + 16 * c] = p;
        }
    }
}

/* ---- values ---- */

/* HK_SLICE keys from place k0 on, of those in `any`. Sets poison where a V that is not finite lies
 * under a key that not all rows see. */
HK_FN void hk_stage_v(const struct hk_group *g, hk_i32 id, hk_i32 k0, hk_u64 any)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i64 d_v = g->call->plan->d_v;
    int bad = 0;
    hk_i32 i;

    for (i = id; i < HK_STAGE_V; i += HK_THREADS) {
        const hk_i32 key = k0 + i / HK_WIDTH, t = i % HK_WIDTH;
        float x = 0.0f;

        if ((any >> key & 1) && g->pass + t < d_v)
            x = hk_v_element(shared, key, g->pass + t);
        bad |= (hk_word(x) & 0x7f800000u) == 0x7f800000u;
        shared->in.stage[i] = x;
    }
    if (bad)
        hk_local_or(&shared->poison, 1);
}

/* Step 7. A removed key's weight is -0, which a finite V leaves without effect (but for the sign of
 * a zero); careful: some V is not finite and removed keys are left out. */
HK_PIECE void hk_value_slice(const struct hk_group *g, hk_i32 id, hk_i32 k0, struct hk_mine *me,
                             const int careful)
{
    HK_LOCAL const float *v = g->shared->in.stage + id % 16;
    HK_LOCAL const float *p = g->shared->p + id / 16 * HK_TR * HK_P_LINE + k0;
    hk_i32 t, r, c;

    for (t = 0; t < HK_SLICE; t++) {
        float b[HK_TC];

        HK_UNROLL
        for (c = 0; c < HK_TC; c++)
            b[c] = v[t * HK_WIDTH + 16 * c];
        HK_UNROLL
        for (r = 0; r < HK_TR; r++) {
            const float a = p[r * HK_P_LINE + t];

            if (careful && hk_word(a) == HK_REMOVED)
                continue;
            HK_UNROLL
            for (c = 0; c < HK_TC; c++)
                me->o[r][c] = hk_fma(a, b[c], me->o[r][c]);
        }
    }
}

/* ---- a block ---- */

/* Which keys the block's places are and what every row sees of them: shared->any and words; all
 * none if there is no block. */
HK_FN void hk_block_look(const struct hk_group *g, struct hk_mine *mine)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_GLOBAL const struct hk_sub *sub = hk_group_sub(g);
    HK_LOCAL const struct hk_sub_view *view = &shared->views[shared->sub];
    HK_THREAD_ID(id);

    HK_EACH(id) {
        if (shared->works && id < HK_BLOCK && hk_place_open(g, sub, view, shared->block, id))
            hk_local_or(&shared->available[id / 32], 1u << id % 32);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id < HK_ROWS) {
            const struct hk_row row = hk_group_row(g, id);
            hk_u64 mask = 0;

            if (shared->works)
                mask = hk_row_mask(sub, view, &row, &mine[HK_OWN(id)].reach, shared->block,
                                   hk_joined(shared->available));
            shared->masks[id] = mask;
            hk_or_mask(shared->any, mask);
        }
    }
    HK_BARRIER();
}

HK_FN void hk_block_scores(const struct hk_group *g, struct hk_mine *mine, hk_u64 any)
{
    const hk_i64 d = any != 0 ? g->call->plan->d : 0;
    hk_i64 t0;
    hk_i32 r, c;
    HK_THREAD_ID(id);

    HK_EACH(id) {
        for (r = 0; r < HK_TR; r++) {
            for (c = 0; c < 4; c++)
                mine[HK_OWN(id)].s[r][c] = 0.0f;
        }
    }
    for (t0 = 0; t0 < d; t0 += HK_SLICE) {
        HK_BARRIER();
        HK_EACH(id) {
            hk_stage_qk(g, id, t0, any);
        }
        HK_BARRIER();
        HK_EACH(id) {
            hk_score_slice(g, id, &mine[HK_OWN(id)]);
        }
    }
}

HK_FN void hk_block_values(const struct hk_group *g, struct hk_mine *mine, hk_u64 any)
{
    const hk_i32 n = any != 0 ? HK_BLOCK : 0;
    hk_i32 k0;
    HK_THREAD_ID(id);

    for (k0 = 0; k0 < n; k0 += HK_SLICE) {
        HK_BARRIER();
        HK_EACH(id) {
            hk_stage_v(g, id, k0, any);
        }
        HK_BARRIER();
        HK_EACH(id) {
            if (g->shared->poison)
                hk_value_slice(g, id, k0, &mine[HK_OWN(id)], 1);
            else
                hk_value_slice(g, id, k0, &mine[HK_OWN(id)], 0);
        }
    }
}

HK_FN void hk_block_attend(const struct hk_group *g, struct hk_mine *mine)
{
    HK_GLOBAL const struct hk_sub *sub = hk_group_sub(g);
    hk_u32 rest[HK_MINE];
    hk_u64 any;
    HK_THREAD_ID(id);

    hk_block_look(g, mine);
    any = hk_joined(g->shared->any);
    hk_block_scores(g, mine, any);
    HK_EACH(id) {
        rest[HK_OWN(id)] = hk_score_end(g, sub, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (any != 0)
            hk_weigh(g, id, &mine[HK_OWN(id)], rest[HK_OWN(id)]);
    }
    hk_block_values(g, mine, any);
}

/* ---- chunks ---- */

HK_PIECE void hk_chunk_begin(struct hk_mine *me)
{
    hk_i32 r, c;

    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        me->m[r] = -HK_INFINITY;
        me->empty[r] = 1;
        me->l[r] = 0.0f;
        HK_UNROLL
        for (c = 0; c < HK_TC; c++)
            me->o[r][c] = 0.0f;
    }
}

/* Step 8. A chunk without a remaining key does not exist. */
HK_PIECE void hk_chunk_end(struct hk_mine *me)
{
    hk_i32 r, c;

    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const float m = me->m[r] > me->acc_m[r] ? me->m[r] : me->acc_m[r];
        const float w1 = hk_power(hk_sub(me->acc_m[r], m));
        const float w2 = hk_power(hk_sub(me->m[r], m));
        const int join = !me->empty[r] && me->has_partial[r], copy = !me->empty[r] && !join;

        if (join) {
            me->acc_l[r] = hk_fma(me->l[r], w2, hk_mul(me->acc_l[r], w1));
            me->acc_m[r] = m;
        } else if (copy) {
            me->acc_l[r] = me->l[r];
            me->acc_m[r] = me->m[r];
            me->has_partial[r] = 1;
        }
        HK_UNROLL
        for (c = 0; c < HK_TC; c++) {
            if (join)
                me->acc_o[r][c] = hk_fma(me->o[r][c], w2, hk_mul(me->acc_o[r][c], w1));
            else if (copy)
                me->acc_o[r][c] = me->o[r][c];
        }
    }
}

/* ---- the walk ---- */

/* One step: the next block, if it has one. */
HK_FN void hk_step(const struct hk_group *g, struct hk_mine *mine)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_THREAD_ID(id);

    HK_BARRIER();
    HK_EACH(id) {
        if (id == 0)
            hk_walk_on(g);
        if (id < 2)
            shared->available[id] = shared->any[id] = 0;
        if (id == 2)
            shared->poison = 0;
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (shared->opens && id < HK_ROWS)
            hk_reach_row(g, hk_group_sub(g), &shared->views[shared->sub], id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (shared->opens && id < HK_RANGES)
            hk_reach_hull(g, id);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id == 0)
            hk_walk_in(g);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (shared->ends)
            hk_chunk_end(&mine[HK_OWN(id)]);
        if (shared->begins)
            hk_chunk_begin(&mine[HK_OWN(id)]);
    }
    hk_block_attend(g, mine);
}

/* ---- rows ---- */

/* Steps 9 to 12 of an thread's rows and channels; red holds the rows' sums. */
HK_PIECE void hk_rows_finish(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    const struct hk_call *call = g->call;
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_LOCAL const struct hk_shared *shared = g->shared;
    hk_i32 r, c;

    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const hk_i32 row = id / 16 * HK_TR + r;
        const hk_i64 head = shared->head[row], at = g->task.begin + shared->index[row];
        const hk_i64 to = hk_batch_offset(call, plan->o.stride, g->task.b) +
                          head * plan->o.stride[3] + at * plan->o.stride[4];
        float sink, lse, factor;

        if (!shared->active[row])
            continue;
        factor = hk_row_end(call, head, me->has_partial[r] != 0, me->acc_m[r],
                            shared->red[row * 17], &sink, &lse);
        HK_UNROLL
        for (c = 0; c < HK_TC; c++) {
            const hk_i64 t = g->pass + id % 16 + 16 * c;
            const float x = me->has_partial[r] ? me->acc_o[r][c] : 0.0f;

            if (t < plan->d_v)
                hk_put(plan->o.dtype, hk_o(call), to + t * plan->o.stride[5],
                       hk_mul(hk_mul(x, sink), factor));
        }
        if (plan->lse.dtype && id % 16 == 0 && g->pass == 0)
            hk_lse_out(call)[hk_batch_offset(call, plan->lse.stride, g->task.b) +
                             head * plan->lse.stride[3] + at * plan->lse.stride[4]] = lse;
    }
}

/* The sums of the rows' 16 lanes into red[row * 17] (step 9). */
HK_FN void hk_rows_sum(const struct hk_group *g, const struct hk_mine *mine)
{
    HK_LOCAL float *red = g->shared->red;
    hk_i32 reach, r;
    HK_THREAD_ID(id);

    HK_BARRIER();
    HK_EACH(id) {
        for (r = 0; r < HK_TR; r++)
            red[(id / 16 * HK_TR + r) * 17 + id % 16] =
                mine[HK_OWN(id)].has_partial[r] ? mine[HK_OWN(id)].acc_l[r] : 0.0f;
    }
    for (reach = 8; reach > 0; reach /= 2) {
        HK_BARRIER();
        HK_EACH(id) {
            for (r = 0; r < HK_TR && id % 16 < reach; r++) {
                HK_LOCAL float *at = red + (id / 16 * HK_TR + r) * 17 + id % 16;

                at[0] = hk_add(at[0], at[reach]);
            }
        }
    }
    HK_BARRIER();
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    struct hk_mine mine[HK_MINE];
    struct hk_group g;
    hk_i32 r;
    HK_THREAD_ID(id);

    g.call = call;
    g.shared = shared;
    g.pass = group % call->plan->passes * HK_WIDTH;
    hk_task_get(call, group / call->plan->passes, &g.task);
    HK_EACH(id) {
        if (id < HK_ROWS)
            hk_row_open(&g, id);
        for (r = 0; r < HK_TR; r++) {
            mine[HK_OWN(id)].has_partial[r] = 0;
            mine[HK_OWN(id)].acc_m[r] = -HK_INFINITY;
        }
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id == 0)
            hk_walk_begin(&g);
    }
    HK_BARRIER();
    do {
        hk_step(&g, mine);
    } while (!shared->done);
    hk_rows_sum(&g, mine);
    HK_EACH(id) {
        hk_rows_finish(&g, id, &mine[HK_OWN(id)]);
    }
}

#include "entry.h"
