/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention for GPUs: a group takes one strip of query rows and up to HK_WIDTH channels of V (wider
 * ones take several groups, which form the same scores again). Q lies in local memory, K and V pass
 * through it a slice at a time; scores, sums and outputs stay in registers.
 */
#include "dot_group.h"
#include "stage.h"
#include "walk.h"

/* ---- scores ---- */

/* Step 3: one fma chain over d per score; HK_SLICE channels, of Q those from t0 on. */
HK_PIECE void hk_score_slice(const struct hk_group *g, hk_i32 id, hk_i32 t0, struct hk_mine *me)
{
    HK_LOCAL const float *q = g->shared->q + t0 * HK_Q_LINE + id / 16 * HK_TR;
    HK_LOCAL const float *k = g->shared->in.k + id % 16 * 4;
    hk_i32 t, r, c;

    HK_MARK(qk);
    HK_UNROLL_FEW
    for (t = 0; t < HK_SLICE; t++) {
        float a[HK_TR], b[4];

        hk_local_get4(k + t * HK_K_LINE, b);
        HK_UNROLL
        for (r = 0; r < HK_TR; r += 4)
            hk_local_get4(q + t * HK_Q_LINE + r, a + r);
        HK_UNROLL
        for (r = 0; r < HK_TR; r++) {
            HK_UNROLL
            for (c = 0; c < 4; c++)
                me->s[r][c] = hk_fma(a[r], b[c], me->s[r][c]);
        }
    }
}

/* ---- softmax ---- */

/* Of four keys none has a y above -Inf: NaN if all are removed, else -Inf. */
HK_FN float hk_none_remains(const float *y)
{
    const int some = !hk_ordered(y[0]) || !hk_ordered(y[1]) || !hk_ordered(y[2]) ||
                     !hk_ordered(y[3]);

    return some ? -HK_INFINITY : hk_float(HK_NAN_WORD);
}

/* Steps 3 and 4: scores to y, -Inf where the key is removed, which no other y is; the largest of
 * each row goes to red, NaN where the thread has no remaining key. */
HK_PIECE void hk_score_end(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_i32 r, c;

    HK_MARK(softmax);
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const hk_i32 row = id / 16 * HK_TR + r, x = id % 16;
        const hk_u32 low = shared->masks[2 * row] >> x, high = shared->masks[2 * row + 1] >> x;
        float max = -HK_INFINITY;

        HK_UNROLL
        for (c = 0; c < 4; c++) {
            int visible = (int)((c < 2 ? low : high) >> c % 2 * 16 & 1);
            float y;

#if HK_PLAIN
            y = hk_mul(me->s[r][c], g->call->plan->c);
#else
            y = -HK_INFINITY;
            if (visible)
                visible = hk_pair_score(g, hk_group_sub(g), row, x + 16 * c, me->s[r][c], &y);
#endif
            y = visible ? y : -HK_INFINITY;
            max = hk_max_f(y, max);
            me->s[r][c] = y;
        }
        shared->out.red[row * HK_RED_LINE + x] = max;
        if (max == -HK_INFINITY) {      /* no key, or but keys whose scores are NaN */
            HK_MARK(cold);
            shared->out.red[row * HK_RED_LINE + x] = hk_none_remains(me->s[r]);
        }
        HK_ORDER();
    }
}

/* Step 5, by thread i for row i: its reference rises, w is what its sums are multiplied by. */
HK_PIECE void hk_row_rise(const struct hk_group *g, hk_i32 i, struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    float max = -HK_INFINITY, e, w = 1.0f;
    int some = 0;
    hk_i32 x, j;

    HK_MARK(softmax);
    HK_NO_UNROLL
    for (x = 0; x < 16; x += 4) {
        float y[4];

        hk_local_get4(shared->out.red + i * HK_RED_LINE + x, y);
        HK_UNROLL
        for (j = 0; j < 4; j++) {
            some |= y[j] == y[j];
            max = hk_max_f(y[j], max);
        }
    }
    e = hk_row_max(max);
    if (some)
        me->empty = 0;
    if (some && e > me->m) {
        w = hk_power(hk_sub(me->m, e));
        me->m = e;
        shared->raised = 1;
    }
    shared->m[i] = me->m;
    shared->w[i] = w;
}

/* Steps 5 to 7: sums follow their rows' references, scores become weights: of a removed key -0,
 * which changes no sum. */
HK_PIECE void hk_weigh(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i32 row = id / 16 * HK_TR;
    hk_i32 r, c;

    HK_MARK(softmax);
    if (shared->raised) {
        HK_UNROLL
        for (r = 0; r < HK_TR; r++) {
            const float w = shared->w[row + r];

            me->l[r] = hk_mul(me->l[r], w);
            HK_UNROLL
            for (c = 0; c < HK_TC; c++)
                me->o[r][c] = hk_mul(me->o[r][c], w);
        }
        HK_ORDER();
    }
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const float m = shared->m[row + r];

        HK_UNROLL
        for (c = 0; c < 4; c++) {
            const float y = me->s[r][c];
            const float p = y == -HK_INFINITY ? hk_float(HK_REMOVED) : hk_weight(y, m);

            me->l[r] = hk_add(me->l[r], p);
            me->s[r][c] = p;
        }
        HK_ORDER();
    }
}

/* ---- values ---- */

/* The weights of 16 keys from place k0 on, transposed. */
HK_PIECE void hk_put_p(const struct hk_group *g, hk_i32 id, hk_i32 k0, const struct hk_mine *me)
{
    HK_LOCAL float *to = g->shared->out.p + id % 16 * HK_P_LINE + id / 16 * HK_TR;
    hk_i32 r, j;

    HK_MARK(softmax);
    HK_UNROLL
    for (r = 0; r < HK_TR; r += 4) {
        float p[4];

        HK_UNROLL
        for (j = 0; j < 4; j++) {           /* no index of a register is computed */
            const float s0 = me->s[r + j][0], s1 = me->s[r + j][1];
            const float s2 = me->s[r + j][2], s3 = me->s[r + j][3];

            p[j] = hk_select(k0 < 32, hk_select(k0 < 16, s0, s1), hk_select(k0 < 48, s2, s3));
        }
        hk_local_put4(to + r, p);
    }
}

/* Step 7. A removed key's weight is -0, which a finite V leaves without effect (but for the sign of
 * a zero). */
HK_PIECE void hk_value_slice(const struct hk_group *g, hk_i32 id, hk_i32 k0, struct hk_mine *me)
{
    HK_LOCAL const float *v = g->shared->in.v + id % 16 * 4;
    HK_LOCAL const float *p = g->shared->out.p + k0 % 16 * HK_P_LINE + id / 16 * HK_TR;
    hk_i32 t, r, c;

    HK_MARK(pv);
    HK_UNROLL_FEW
    for (t = 0; t < HK_KEYS; t++) {
        float a[HK_TR], b[HK_TC];

        HK_UNROLL
        for (r = 0; r < HK_TR; r += 4)
            hk_local_get4(p + t * HK_P_LINE + r, a + r);
        HK_UNROLL
        for (c = 0; c < HK_TC; c += 4)
            hk_local_get4(v + t * HK_WIDTH + c * 16, b + c);
        HK_UNROLL
        for (r = 0; r < HK_TR; r++) {
            HK_UNROLL
            for (c = 0; c < HK_TC; c++)
                me->o[r][c] = hk_fma(a[r], b[c], me->o[r][c]);
        }
    }
}

/* The same where some V is not finite: removed keys are left out. */
HK_PIECE void hk_value_slice_careful(const struct hk_group *g, hk_i32 id, hk_i32 k0,
                                     struct hk_mine *me)
{
    HK_LOCAL const float *v = g->shared->in.v + id % 16 * 4;
    HK_LOCAL const float *p = g->shared->out.p + k0 % 16 * HK_P_LINE + id / 16 * HK_TR;
    hk_i32 t, r, c;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (t = 0; t < HK_KEYS; t++) {
        HK_UNROLL
        for (r = 0; r < HK_TR; r++) {
            const float a = p[t * HK_P_LINE + r];
            const int seen = hk_word(a) != HK_REMOVED;

            HK_UNROLL
            for (c = 0; c < HK_TC; c++) {
                const float o = hk_fma(a, v[t * HK_WIDTH + hk_channel(0, c)], me->o[r][c]);

                me->o[r][c] = seen ? o : me->o[r][c];
            }
        }
    }
}

/* ---- a block ---- */

/* Which keys the block's places are and what every row sees of them: shared->any and words; all
 * none if there is no block. */
HK_FN void hk_block_look(const struct hk_group *g, struct hk_mine *mine)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_THREAD_ID(id);

    HK_MARK(walk);
    HK_EACH(id) {
        if (shared->works && id < HK_BLOCK && hk_place_open(g, id))
            hk_local_or(&shared->available[id / 32], 1u << id % 32);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id < HK_ROWS) {
            const hk_u64 mask = shared->works ? hk_mask_get(g, id, &mine[HK_OWN(id)]) : 0;

            shared->masks[2 * id] = (hk_u32)mask;
            shared->masks[2 * id + 1] = (hk_u32)(mask >> 32);
            hk_or_mask(shared->any, mask);
        }
    }
    HK_BARRIER();
}

/* The next slice is fetched while one is worked on. */
HK_FN void hk_block_scores(const struct hk_group *g, struct hk_mine *mine, hk_u64 any)
{
    const hk_i64 d = any != 0 ? g->call->plan->d : 0;
    hk_i64 t0;
    hk_i32 r, c;
    HK_THREAD_ID(id);

    HK_EACH(id) {
        HK_UNROLL
        for (r = 0; r < HK_TR; r++) {
            HK_UNROLL
            for (c = 0; c < 4; c++)
                mine[HK_OWN(id)].s[r][c] = 0.0f;
        }
    }
    HK_EACH(id) {
        hk_find_k(g, id, any, &mine[HK_OWN(id)]);
        hk_fetch_k(g, id, 0, &mine[HK_OWN(id)]);
    }
    HK_NO_UNROLL
    for (t0 = 0; t0 < d; t0 += HK_SLICE) {
        HK_BARRIER();
        HK_EACH(id) {
            hk_put_k(g, id, &mine[HK_OWN(id)]);
            if (t0 % HK_KEPT == 0 && (d > HK_KEPT || !g->shared->has_q))
                hk_stage_q(g, id, t0);
        }
        HK_BARRIER();
        HK_EACH(id) {
            hk_fetch_k(g, id, t0 + HK_SLICE, &mine[HK_OWN(id)]);
            hk_score_slice(g, id, (hk_i32)(t0 % HK_KEPT), &mine[HK_OWN(id)]);
        }
    }
}

/* From the slice on that lies in local memory and has a V that is not finite; a loop of its own, so
 * that the other one keeps its sums where they are. */
HK_FN void hk_block_values_careful(const struct hk_group *g, struct hk_mine *mine, hk_u64 any,
                                   hk_i32 k0, hk_i32 n)
{
    HK_THREAD_ID(id);

    HK_NO_UNROLL
    for (; k0 < n; k0 += HK_KEYS) {
        HK_MARK(cold);
        HK_EACH(id) {
            hk_value_slice_careful(g, id, k0, &mine[HK_OWN(id)]);
            hk_fetch_v(g, id, k0 + HK_KEYS, any, &mine[HK_OWN(id)]);
        }
        HK_BARRIER();
        HK_EACH(id) {
            hk_put_v(g, id, &mine[HK_OWN(id)]);
            if ((k0 + HK_KEYS) % 16 == 0)
                hk_put_p(g, id, k0 + HK_KEYS, &mine[HK_OWN(id)]);
        }
        HK_BARRIER();
    }
}

HK_FN void hk_block_values(const struct hk_group *g, struct hk_mine *mine, hk_u64 any)
{
    const hk_i32 n = any != 0 ? HK_BLOCK : 0;
    hk_i32 k0;
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_fetch_v(g, id, 0, any, &mine[HK_OWN(id)]);
    }
    HK_NO_UNROLL
    for (k0 = 0; k0 < n; k0 += HK_KEYS) {
        HK_BARRIER();
        HK_EACH(id) {
            hk_put_v(g, id, &mine[HK_OWN(id)]);
            if (k0 % 16 == 0)
                hk_put_p(g, id, k0, &mine[HK_OWN(id)]);
        }
        HK_BARRIER();
        if (g->shared->poison)
            break;
        HK_EACH(id) {
            hk_fetch_v(g, id, k0 + HK_KEYS, any, &mine[HK_OWN(id)]);
            hk_value_slice(g, id, k0, &mine[HK_OWN(id)]);
        }
    }
    hk_block_values_careful(g, mine, any, k0, n);
}

HK_FN void hk_block_attend(const struct hk_group *g, struct hk_mine *mine)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_u64 any;
    HK_THREAD_ID(id);

    hk_block_look(g, mine);
    any = hk_joined(shared->any);
    hk_block_scores(g, mine, any);
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
        hk_weigh(g, id, &mine[HK_OWN(id)]);
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
            shared->poison = shared->raised = 0;
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (shared->opens && id < HK_ROWS) {
            HK_MARK(cold);
            hk_reach_row(g, hk_group_sub(g), id, &mine[HK_OWN(id)]);
        }
        if (shared->ends && id < HK_ROWS)
            hk_row_join(g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (shared->opens && id < HK_REACHES) {
            HK_MARK(cold);
            hk_reach_hull(g, id);
        }
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id == 0)
            hk_walk_in(g);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (shared->ends)
            hk_chunk_end(g, id, &mine[HK_OWN(id)]);
        if (shared->begins)
            hk_chunk_begin(&mine[HK_OWN(id)]);
    }
    hk_block_attend(g, mine);
}

/* ---- rows ---- */

/* Rows first to first + HK_OUT_ROWS of the strip leave through local memory, where Q was. */
#define HK_OUT_ROWS (HK_ROWS * HK_KEPT / HK_WIDTH)

/* Step 10 of a thread's rows and channels. */
HK_PIECE void hk_out_put(const struct hk_group *g, hk_i32 id, hk_i32 first, const struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 row = id / 16 * HK_TR;
    hk_i32 r, c, j;

    if (row < first || row >= first + HK_OUT_ROWS)
        return;
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const float sink = shared->w[2 * (row + r)], factor = shared->w[2 * (row + r) + 1];
        HK_LOCAL float *to = shared->q + (row + r - first) * HK_WIDTH;

        HK_UNROLL
        for (c = 0; c < HK_TC; c += 4) {
            float x[4];

            HK_UNROLL
            for (j = 0; j < 4; j++)
                x[j] = hk_mul(hk_mul(me->acc_o[r][c + j], sink), factor);
            hk_local_put4(to + hk_channel(id % 16, c), x);
        }
    }
}

/* Step 11. */
HK_PIECE void hk_out_store(const struct hk_group *g, hk_i32 id, hk_i32 first)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i64 from = hk_batch_offset(g->call, plan->o.stride, g->task->b);
    hk_i32 i;

    HK_NO_UNROLL
    for (i = id; i < HK_OUT_ROWS * HK_WIDTH; i += HK_THREADS) {
        const hk_i32 row = first + i / HK_WIDTH;
        const hk_i64 t = g->pass + i % HK_WIDTH;

        if (shared->active[row] && t < plan->d_v)
            hk_put(plan->o.dtype, hk_o(g->call),
                   from + shared->head[row] * plan->o.stride[3] +
                       (g->task->begin + shared->index[row]) * plan->o.stride[4] +
                       t * plan->o.stride[5], shared->q[i]);
    }
}

/* Row i, by thread i: its factors to w, its LSE to memory. red: its partial sums. */
HK_PIECE void hk_row_finish(const struct hk_group *g, hk_i32 i, const struct hk_mine *me)
{
    const struct hk_call *call = g->call;
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_LOCAL float *red = shared->out.red + i * HK_RED_LINE;
    const hk_i64 head = shared->head[i], at = g->task->begin + shared->index[i];
    float sink, lse;
    hk_i32 reach, x;

    HK_NO_UNROLL
    for (reach = 8; reach > 0; reach /= 2) {
        HK_NO_UNROLL
        for (x = 0; x < reach; x++)
            red[x] = hk_add(red[x], red[x + reach]);
    }
    shared->w[2 * i + 1] = hk_row_end(call, head, me->has_partial != 0, me->acc_m, red[0], &sink,
                                      &lse);
    shared->w[2 * i] = sink;
    if (plan->lse.dtype && shared->active[i] && g->pass == 0)
        hk_lse_out(call)[hk_batch_offset(call, plan->lse.stride, g->task->b) +
                         head * plan->lse.stride[3] + at * plan->lse.stride[4]] = lse;
}

/* Before the first step. */
HK_FN void hk_rows_begin(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    hk_i32 r, c;

    if (id < HK_ROWS)
        hk_row_open(g, id);
    me->has_partial = 0;
    me->acc_m = -HK_INFINITY;
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        me->acc_l[r] = 0.0f;
        HK_UNROLL
        for (c = 0; c < HK_TC; c++)
            me->acc_o[r][c] = 0.0f;
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    struct hk_mine mine[HK_MINE];
    struct hk_task_place at;
    struct hk_group g;
    hk_i32 r;
    HK_THREAD_ID(id);

    g.call = call;
    g.shared = shared;
    g.pass = (hk_u32)group % (hk_u32)call->plan->passes * HK_WIDTH;
    hk_task_find(call, (hk_u32)group / (hk_u32)call->plan->passes, &at);
    HK_EACH(id) {
        if (id == 0) {
            const hk_u32 y = (hk_u32)call->plan->batch[1], z = (hk_u32)call->plan->batch[2];

            shared->item[0] = (hk_u32)at.b / z / y;
            shared->item[1] = (hk_u32)at.b / z % y;
            shared->item[2] = (hk_u32)at.b % z;
        }
    }
    HK_BARRIER();
    g.task = &shared->task;
    HK_EACH(id) {
        if (id == 0) {
            struct hk_task task;

            hk_task_open(call, &at, &task);
            shared->task = task;
        }
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_rows_begin(&g, id, &mine[HK_OWN(id)]);
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
    HK_BARRIER();
    HK_EACH(id) {
        for (r = 0; r < HK_TR; r++)
            shared->out.red[(id / 16 * HK_TR + r) * HK_RED_LINE + id % 16] =
                mine[HK_OWN(id)].acc_l[r];
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id < HK_ROWS)
            hk_row_finish(&g, id, &mine[HK_OWN(id)]);
    }
    HK_NO_UNROLL
    for (r = 0; r < HK_ROWS; r += HK_OUT_ROWS) {
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

#include "entry.h"
