/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention for GPUs where a strip has few rows, as in decoding: what matters then is that keys and
 * values come in as fast as memory has them. A group takes some chunks of the keys of a strip, and
 * leaves their sums in the workspace (docs/numerics.md step 8; few_join.cl joins them), so that a
 * whole device works on one sequence. K and V of a block pass through local memory, but for rows
 * with scales, which threads read where they lie. A thread forms the scores of one key and then the
 * outputs of one channel of V.
 */
#define HK_FEW 1
#define HK_THREADS 128
#define HK_WIDTH 128
#include "few_products.h"
#include "walk.h"

#if HK_THREADS != HK_PART_THREADS || HK_WIDTH != HK_PART_WIDTH
#error "the host numbers groups by HK_PART_THREADS and HK_PART_WIDTH"
#endif

/* Rows of the strip, those that are not there at its end left out. */
HK_FN hk_i32 hk_few_rows(const struct hk_group *g)
{
    return (hk_i32)(g->task->count * g->call->plan->strips.stack);
}

/* ---- scores ---- */

/* Scores of the block to local memory: half of the threads form those of half of the rows. */
HK_FN void hk_block_scores(const struct hk_group *g, struct hk_mine *mine, hk_u64 any)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i64 d = any != 0 ? g->call->plan->d : 0;
    const hk_u32 q_stays = d <= HK_KEPT && shared->has_q;
    const hk_i32 share = hk_few_rows(g) <= HK_ROWS / 2 ? HK_ROWS / 4 : HK_ROWS / 2;
    hk_i64 t0;
    hk_i32 r;
    HK_THREAD_ID(id);

    HK_EACH(id) {
        HK_UNROLL
        for (r = 0; r < HK_ROWS / 2; r++) {
            mine[HK_OWN(id)].k[r] = 0.0f;
#if HK_SCALES
            mine[HK_OWN(id)].part[r] = mine[HK_OWN(id)].sum[r] = 0.0f;
#endif
        }
    }
    HK_EACH(id) {
        if (d > 0)
            hk_fetch_k(g, id, 0, &mine[HK_OWN(id)]);
        else if (any != 0)
            hk_fetch_v(g, id, 0, &mine[HK_OWN(id)]);
    }
    HK_NO_UNROLL
    for (t0 = 0; t0 < d; t0 += HK_SLAB) {
        HK_BARRIER();
        HK_EACH(id) {
            hk_put_k(g, id, t0, &mine[HK_OWN(id)]);
            if (t0 % HK_KEPT == 0 && !q_stays) {
                HK_MARK(cold);
                hk_stage_q(g, id, t0);
            }
        }
        HK_BARRIER();
        HK_EACH(id) {
            const hk_i64 end = hk_min(t0 + HK_SLAB, d);

            if (end < d)
                hk_fetch_k(g, id, end, &mine[HK_OWN(id)]);
            else
                hk_fetch_v(g, id, 0, &mine[HK_OWN(id)]);
            if (share == HK_ROWS / 4)
                hk_few_scores(g, id % HK_BLOCK, id / HK_BLOCK * (HK_ROWS / 4), HK_ROWS / 4, t0, end,
                              &mine[HK_OWN(id)]);
            else
                hk_few_scores(g, id % HK_BLOCK, id / HK_BLOCK * (HK_ROWS / 2), HK_ROWS / 2, t0, end,
                              &mine[HK_OWN(id)]);
        }
    }
    HK_EACH(id) {
        HK_UNROLL
        for (r = 0; r < HK_ROWS / 2; r++) {
            if (r < share)
                shared->in.s[(id / HK_BLOCK * share + r) * HK_S_LINE + id % HK_BLOCK] =
                    mine[HK_OWN(id)].k[r];
        }
    }
    HK_BARRIER();
}

/* ---- softmax ---- */

/* A thread's scores become y. */
HK_FN void hk_few_take(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    hk_i32 c;

    HK_UNROLL
    for (c = 0; c < 4; c++)
        me->s[0][c] = g->shared->in.s[id / 16 * HK_S_LINE + id % 16 + 16 * c];
    hk_score_end(g, id, me);
}

/* Step 5: sums follow their rows' references. */
HK_FN void hk_few_follow(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    hk_i32 r;

    if (!shared->raised)
        return;
    me->l[0] = hk_mul(me->l[0], shared->w[id / 16]);
    HK_UNROLL
    for (r = 0; r < HK_ROWS; r++) {
        me->o[r] = hk_mul(me->o[r], shared->w[r]);
#if HK_SCALES
        me->low[r] = hk_mul(me->low[r], shared->w[r]);
#endif
    }
}

/* Steps 6 and 7: y become weights, of a removed key -0. poison: a row has removed a key that is
 * there. */
HK_FN void hk_few_weigh(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 row = id / 16, x = id % 16;
    const float m = shared->m[row];
    hk_u32 poison = 0;
    hk_i32 c;

    HK_MARK(softmax);
    HK_UNROLL
    for (c = 0; c < 4; c++) {
        const float y = me->s[0][c];
        const int removed = y == -HK_INFINITY;
        const float p = hk_select(removed, hk_float(HK_REMOVED), hk_weight(y, m));

        me->l[0] = hk_add(me->l[0], p);
        shared->out.p[(x + 16 * c) * HK_ROWS + row] = p;
        poison |= removed && shared->v_at[x + 16 * c] != HK_NO_ROW;
    }
    if (poison && shared->active[row])
        hk_local_or(&shared->poison, 1);
}

/* ---- values ---- */

HK_FN void hk_few_channel(const struct hk_group *g, hk_i32 id, hk_i32 k0, struct hk_mine *me)
{
    if (g->pass + id >= g->call->plan->d_v)
        return;
    if (g->shared->poison) {
        HK_MARK(cold);
        hk_few_values(g, id, k0, HK_ROWS, 1, me);
    } else if (hk_few_rows(g) <= HK_ROWS / 2) {
        hk_few_values(g, id, k0, HK_ROWS / 2, 0, me);
    } else {
        hk_few_values(g, id, k0, HK_ROWS, 0, me);
    }
}

HK_FN void hk_block_values(const struct hk_group *g, struct hk_mine *mine, hk_u64 any)
{
    const hk_i32 n = any != 0 ? HK_BLOCK : 0;
    hk_i32 k0;
    HK_THREAD_ID(id);

    HK_NO_UNROLL
    for (k0 = 0; k0 < n; k0 += HK_SLAB_KEYS) {
        HK_BARRIER();
        HK_EACH(id) {
            hk_put_v(g, id, k0, &mine[HK_OWN(id)]);
        }
        HK_BARRIER();
        HK_EACH(id) {
            if (k0 + HK_SLAB_KEYS < n)
                hk_fetch_v(g, id, k0 + HK_SLAB_KEYS, &mine[HK_OWN(id)]);
            hk_few_channel(g, id, k0, &mine[HK_OWN(id)]);
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
    HK_EACH(id) {
        hk_few_take(g, id, &mine[HK_OWN(id)]);
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
        hk_few_follow(g, id, &mine[HK_OWN(id)]);
        hk_few_weigh(g, id, &mine[HK_OWN(id)]);
    }
    hk_block_values(g, mine, any);
}

/* ---- chunks ---- */

/* Row r of the thread's channel; where V has minima their sums join it. */
HK_FN float hk_few_sum(const struct hk_mine *me, const hk_i32 r)
{
#if HK_SCALES
    return hk_add(me->o[r], me->low[r]);
#else
    return me->o[r];
#endif
}

/* What came of a chunk, before thread 0 knows of the next. */
HK_FN void hk_few_leave(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_GLOBAL char *chunk = g->shared->few.chunks + g->shared->few.number * plan->chunk_bytes;
    hk_i32 r;

    HK_MARK(cold);
    if (g->pass == 0) {
        if (id < HK_ROWS) {
            hk_few_kept(chunk)[id].m = me->m;
            hk_few_kept(chunk)[id].joined = me->empty ? 0.0f : 1.0f;
        }
        hk_few_l(chunk, id / 16)[id % 16] = me->l[0];
    }
    HK_UNROLL
    for (r = 0; r < HK_ROWS; r++) {
        if (r < hk_few_rows(g) && g->pass + id < plan->d_v)
            hk_few_o(g->call, chunk, r)[g->pass + id] = hk_few_sum(me, r);
    }
}

HK_FN void hk_step_row(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    if (g->shared->ends)
        hk_few_leave(g, id, me);
}

HK_FN void hk_step_reach(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    if (g->shared->opens)
        hk_reach_take(g, id, me);
}

HK_FN void hk_step_chunk(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    hk_i32 r;

    (void)id;
    if (!g->shared->begins)
        return;
    HK_MARK(cold);
    me->m = -HK_INFINITY;
    me->empty = 1;
    me->l[0] = 0.0f;
    HK_UNROLL
    for (r = 0; r < HK_ROWS; r++) {
        me->o[r] = 0.0f;
#if HK_SCALES
        me->low[r] = 0.0f;
#endif
    }
}

/* ---- all ---- */

/* A part of a task: no chunk of it has a key yet. */
HK_FN void hk_part_begin(const struct hk_group *g, hk_i32 id, hk_u32 task, hk_u32 part,
                         struct hk_mine *me)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_GLOBAL char *chunks = hk_few_chunks(g->call, task);
    const hk_i64 first = part * plan->part_chunks,
                 end = hk_min(first + plan->part_chunks, plan->chunks);
    hk_i64 i;

#if HK_SCALES
    (void)me;
#else
    HK_UNROLL
    for (i = 0; i < HK_FETCHED * HK_UNIT_WORDS; i++)
        me->next[i] = 0;
#endif
    if (id < HK_ROWS) {
        hk_row_open(g, id);
        HK_NO_UNROLL
        for (i = first; g->pass == 0 && i < end; i++)
            hk_few_kept(chunks + i * plan->chunk_bytes)[id].joined = 0.0f;
    }
    if (id == 0) {
        g->shared->few.first_chunk = first;
        g->shared->few.end_chunk = end;
        g->shared->few.chunks = chunks;
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    const hk_u32 passes = (hk_u32)call->plan->passes, parts = (hk_u32)call->plan->parts;
    const hk_u32 part = (hk_u32)group / passes % parts, task = (hk_u32)group / passes / parts;
    struct hk_mine mine[HK_MINE];
    struct hk_group g;
    HK_THREAD_ID(id);

    hk_group_open(call, task, (hk_u32)group % passes * HK_WIDTH, shared, &g);
    HK_EACH(id) {
        hk_part_begin(&g, id, task, part, &mine[HK_OWN(id)]);
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
}

#include "../entry.h"
