/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention for GPUs where a strip has few rows, as in decoding: what matters then is that keys and
 * values come in as fast as memory has them. A group takes some chunks of the keys of a strip, and
 * leaves their sums in the workspace (docs/numerics.md step 8; few_join.cl joins them), so that a
 * whole device works on one sequence. Up to HK_BLOCKS blocks are taken at a time: what threads wait
 * for is then waited for once. A thread forms the scores of one key, and then outputs of one
 * channel of V.
 */
#define HK_FEW 1
#define HK_THREADS 256
#define HK_WIDTH 128
#if (!HK_SCALES || HK_OF) && !defined HK_RESIDENT
#define HK_RESIDENT 2
#endif
#include "group_softmax.h"
#include "few_products.h"
#include "few_softmax.h"
#include "few_items.h"
#include "walk.h"

#if HK_THREADS != HK_PART_THREADS || HK_WIDTH != HK_PART_WIDTH
#error "the host numbers groups by HK_PART_THREADS and HK_PART_WIDTH"
#endif

/* ---- which keys ---- */

HK_FN void hk_few_look(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 i = id % HK_LOOKING;
    const struct hk_group at = hk_few_at(g, id / HK_LOOKING);
    const hk_i32 place = hk_place(&at, i);

    HK_MARK(walk);
    if (at.number < shared->few.count)
        hk_mask_part(&at, i, me);
    if (i >= HK_BLOCK)
        return;
    shared->k_at[place] = shared->v_at[place] = HK_NO_ROW;      /* also where there is no block */
    if (at.number < shared->few.count && hk_place_open(&at, i))
        hk_local_or(&shared->available[2 * at.number + i / 32], 1u << i % 32);
    else
        hk_local_or(&shared->few.marks[at.number], HK_MARK_GAPS);
}

HK_FN void hk_few_mask(const struct hk_group *g, hk_i32 id, const struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const struct hk_group at = hk_few_at(g, id / HK_ROWS);
    hk_u64 mask = 0;

    HK_MARK(walk);
    if (id >= HK_BLOCKS * HK_ROWS)
        return;
    if (at.number < shared->few.count)
        mask = hk_mask_get(&at, id % HK_ROWS, me);
    shared->masks[2 * id] = (hk_u32)mask;
    shared->masks[2 * id + 1] = (hk_u32)(mask >> 32);
    if (mask != 0)
        hk_local_or(&shared->few.marks[at.number], HK_MARK_ANY);
}

HK_FN struct hk_few_step hk_few_step_get(const struct hk_group *g)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    const hk_u32 d = (hk_u32)plan->d;
    struct hk_few_step step;

    step.rows = hk_few_rows(g);
    step.share = hk_few_share(step.rows);
    step.d = (hk_i32)d;
    step.width = (hk_i32)hk_min(plan->d_v - g->pass, HK_WIDTH);
    step.slabs = (hk_i32)((hk_max(d, 1) + 2 * HK_SLAB - 1) / (2 * HK_SLAB)) * 2;
    step.keys = (hk_i32)g->shared->few.count * HK_BLOCK;
    step.stages = d > HK_KEPT || !g->shared->has_q;
    if (step.keys == 0)
        step.slabs = 0;
    return step;
}

/* ---- slabs: those of K, then those of V ---- */

/* Slab number s of V, if there is one, as the h-th of the two that are on their way. */
HK_FN void hk_few_fetch(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step,
                        hk_i32 s, const hk_i32 h, struct hk_mine *me)
{
    hk_fetch_v(g, id, step, s * HK_SLAB_KEYS, me->next[h]);
#if HK_SCALES
    if (s * HK_SLAB_KEYS < step->keys)
        hk_fetch_scales(g, id, step, s * HK_SLAB_KEYS, me->scale[h]);
#endif
}

/* ---- scores ---- */

#if HK_KV
/* The scores of the thread's key with the channels of a slab. */
HK_FN void hk_few_key(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step, hk_i32 s,
                      const hk_i32 h, struct hk_mine *me)
{
    const hk_i32 t0 = s * HK_SLAB, row = id / HK_PLACES * (HK_ROWS / 2);

    if (id % HK_PLACES < step->keys && row < step->rows) {
        if (!g->shared->k_wide && t0 < step->d)
            hk_read_k(g, id, step->d, t0, me->next[h]);
        if (HK_PLACES < HK_THREADS || step->rows <= HK_ROWS / 2)
            hk_few_scores(g, row, HK_ROWS / 2, step->d, t0, h, me);
        else
            hk_few_scores(g, row, HK_ROWS, step->d, t0, h, me);
    }
    if (s + 2 >= step->slabs)
        hk_few_fetch(g, id, step, s + 2 - step->slabs, h, me);
}

/* Of all slabs; Q of some is staged before them. */
HK_FN void hk_few_keys(const struct hk_group *g, struct hk_mine *mine,
                       const struct hk_few_step *step)
{
    const hk_i32 some = HK_KEPT / HK_SLAB;
    hk_i32 first, s;
    HK_THREAD_ID(id);

    HK_NO_UNROLL
    for (first = 0; first < step->slabs; first += some) {
        if (HK_FLAT || step->stages) {
            HK_MARK(cold);
            HK_BARRIER();
            HK_EACH(id) {
                if (step->stages)
                    hk_stage_q(g, id, first * HK_SLAB);
            }
            HK_BARRIER();
        }
        HK_EACH(id) {
            HK_NO_UNROLL
            for (s = first; s < step->slabs && s < first + some; s += 2) {
                hk_few_key(g, id, step, s, 0, &mine[HK_OWN(id)]);
                hk_few_key(g, id, step, s + 1, 1, &mine[HK_OWN(id)]);
            }
        }
    }
}
#else
/* The scores of the thread's key with the channels of a slab. */
HK_FN void hk_few_key(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step,
                      hk_i32 t0, struct hk_mine *me)
{
    const hk_i32 end = t0 + HK_SLAB < step->d ? t0 + HK_SLAB : step->d;
    const hk_i32 place = id % HK_PLACES, row = id / HK_PLACES * (HK_ROWS / 2);

    if (t0 >= end || place >= step->keys || row >= step->rows)
        return;
    if (HK_PLACES < HK_THREADS || step->rows <= HK_ROWS / 2)
        hk_few_scores(g, place, row, HK_ROWS / 2, t0, end, me);
    else
        hk_few_scores(g, place, row, HK_ROWS, t0, end, me);
}

HK_FN void hk_few_key_slab(const struct hk_group *g, struct hk_mine *mine,
                           const struct hk_few_step *step, hk_i32 s, const hk_i32 h)
{
    const hk_i32 t0 = s * HK_SLAB;
    HK_THREAD_ID(id);

    HK_BARRIER();
    HK_EACH(id) {
        hk_put_k(g, id, step, t0, mine[HK_OWN(id)].next[h]);
        if (step->stages && t0 % HK_KEPT == 0 && t0 < step->d) {
            HK_MARK(cold);
            hk_stage_q(g, id, t0);
        }
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (s + 2 < step->slabs)
            hk_fetch_k(g, id, step, t0 + 2 * HK_SLAB, &mine[HK_OWN(id)], h);
        else
            hk_few_fetch(g, id, step, s + 2 - step->slabs, h, &mine[HK_OWN(id)]);
        hk_few_key(g, id, step, t0, &mine[HK_OWN(id)]);
    }
}

HK_FN void hk_few_keys(const struct hk_group *g, struct hk_mine *mine,
                       const struct hk_few_step *step)
{
    hk_i32 s;

    HK_NO_UNROLL
    for (s = 0; s < step->slabs; s += 2) {
        hk_few_key_slab(g, mine, step, s, 0);
        hk_few_key_slab(g, mine, step, s + 1, 1);
    }
}
#endif

HK_FN void hk_few_clear(struct hk_mine *me)
{
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < HK_ROWS; r++) {
        me->k[r] = 0.0f;
#if HK_SCALES
        me->part[r] = me->sum[r] = 0.0f;
#endif
    }
}

/* A thread's scores to local memory. */
HK_FN void hk_few_leave_scores(const struct hk_group *g, hk_i32 id, hk_i32 rows,
                               const struct hk_mine *me)
{
    const hk_i32 place = id % HK_PLACES, row = id / HK_PLACES * (HK_ROWS / 2);
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < HK_ROWS * HK_PLACES / HK_THREADS; r++) {
        if (row + r < rows)
            *hk_few_place(g, row + r, place) = me->k[r];
    }
}

/* ---- values ---- */

/* Step 5: sums over V follow their rows' references to a block. */
HK_FN void hk_few_follow(const struct hk_group *g, hk_i32 row, hk_i32 number, const hk_i32 n,
                         struct hk_mine *me)
{
    HK_LOCAL const float *follow = g->shared->few.follow + number * HK_ROWS + row;
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < n; r++) {
        me->o[r] = hk_mul(me->o[r], follow[r]);
#if HK_SCALES
        me->low[r] = hk_mul(me->low[r], follow[r]);
#endif
    }
}

/* Keys of the slab that begins with place k0: the thread's channel of n rows. */
HK_FN void hk_few_channel(const struct hk_group *g, hk_i32 id, hk_i32 k0, const hk_i32 n,
                          struct hk_mine *me)
{
    const hk_i32 number = k0 / HK_BLOCK;
    const hk_u32 marks = g->shared->few.marks[number];

    if ((marks & HK_MARK_RAISED) && k0 % HK_BLOCK == 0)
        hk_few_follow(g, id / HK_WIDTH * n, number, n, me);
    if (marks & HK_MARK_POISON) {
        HK_MARK(cold);
        hk_few_values(g, id, k0, n, 1, me);
    } else if (marks & HK_MARK_ANY) {
        hk_few_values(g, id, k0, n, 0, me);
    }
}

HK_FN void hk_few_value_slab(const struct hk_group *g, struct hk_mine *mine,
                             const struct hk_few_step *step, hk_i32 k0, const hk_i32 h)
{
    HK_THREAD_ID(id);

    HK_BARRIER();
    HK_EACH(id) {
        if (k0 < step->keys) {
            hk_put_v(g, id, step, k0, mine[HK_OWN(id)].next[h]);
#if HK_SCALES
            hk_put_scales(g, id, mine[HK_OWN(id)].scale[h]);
#endif
        }
    }
    HK_BARRIER();
    HK_EACH(id) {
        const int has = k0 < step->keys && id % HK_WIDTH < step->width &&
                        id / HK_WIDTH * step->share < step->rows;

        hk_few_fetch(g, id, step, k0 / HK_SLAB_KEYS + 2, h, &mine[HK_OWN(id)]);
        if (has && step->share == HK_ROWS / 4)
            hk_few_channel(g, id, k0, HK_ROWS / 4, &mine[HK_OWN(id)]);
        else if (has)
            hk_few_channel(g, id, k0, HK_ROWS / 2, &mine[HK_OWN(id)]);
    }
}

/* ---- a step ---- */

/* From scores to weights. */
HK_FN void hk_few_weights(const struct hk_group *g, struct hk_mine *mine,
                          const struct hk_few_step *step)
{
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_few_leave_scores(g, id, step->rows, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_few_softmax(g, id, step, 0, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id < HK_BLOCKS * HK_ROWS)
            hk_few_top(g, id, step);
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_few_softmax(g, id, step, 1, &mine[HK_OWN(id)]);
        if (id < HK_BLOCKS * HK_ROWS)
            hk_few_raise(g, id);
        if (id < HK_ROWS)
            hk_few_risen(g, id);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id < HK_ROWS)
            g->shared->m[id] = g->shared->few.risen[id];
        if (id < HK_LINES && id / 16 < step->rows)
            hk_few_partial(g, id, step, &mine[HK_OWN(id)]);
    }
}

HK_FN void hk_block_attend(const struct hk_group *g, struct hk_mine *mine)
{
    struct hk_few_step step;
    hk_i32 s;
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_few_look(g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    step = hk_few_step_get(g);
    HK_EACH(id) {
        hk_next_clear(&mine[HK_OWN(id)]);
        if (step.keys > 0) {
            hk_find_k(g, id, &step, &mine[HK_OWN(id)]);
            hk_fetch_k(g, id, &step, 0, &mine[HK_OWN(id)], 0);
            hk_fetch_k(g, id, &step, HK_SLAB, &mine[HK_OWN(id)], 1);
        }
        hk_few_mask(g, id, &mine[HK_OWN(id)]);
        hk_few_clear(&mine[HK_OWN(id)]);
    }
    hk_few_keys(g, mine, &step);
    hk_few_weights(g, mine, &step);
    HK_NO_UNROLL
    for (s = 0; s < step.keys; s += 2 * HK_SLAB_KEYS) {
        hk_few_value_slab(g, mine, &step, s, 0);
        hk_few_value_slab(g, mine, &step, s + HK_SLAB_KEYS, 1);
    }
    HK_EACH(id) {
        if (id == 0 && step.keys > 0)
            g->shared->has_q = 1;
    }
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
    const hk_i64 t = g->pass + id % HK_WIDTH, number = g->shared->few.number;
    const hk_i32 rows = hk_few_rows(g), n = hk_few_share(rows), first = id / HK_WIDTH * n;
    hk_i32 r;

    HK_MARK(cold);
    if (g->pass == 0 && id < rows) {
        HK_GLOBAL struct hk_kept *kept =
            hk_few_kept(hk_few_chunk(g, id, number)) + hk_few_row(g, id);

        kept->m = g->shared->m[id];
        kept->joined = g->shared->few.joined[id];
    }
    if (g->pass == 0 && id / 16 < rows)
        hk_few_l(hk_few_chunk(g, id / 16, number), hk_few_row(g, id / 16))[id % 16] = me->l[0];
    HK_UNROLL
    for (r = 0; r < HK_ROWS / 2; r++) {
        const hk_i32 row = first + r;

        if (r < n && row < rows && t < plan->d_v)
            hk_few_o(g->call, hk_few_chunk(g, row, number), hk_few_row(g, row))[t] =
                hk_few_sum(me, r);
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

    if (!g->shared->begins)
        return;
    HK_MARK(cold);
    me->l[0] = 0.0f;
    if (id < HK_ROWS) {
        g->shared->m[id] = -HK_INFINITY;
        g->shared->few.joined[id] = 0.0f;
    }
    HK_UNROLL
    for (r = 0; r < HK_ROWS / 2; r++) {
        me->o[r] = 0.0f;
#if HK_SCALES
        me->low[r] = 0.0f;
#endif
    }
}

/* ---- all ---- */

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    const hk_u32 passes = (hk_u32)call->plan->passes, parts = (hk_u32)call->plan->parts;
    const hk_u32 part = (hk_u32)group / passes % parts, task = (hk_u32)group / passes / parts;
    struct hk_mine mine[HK_MINE];
    struct hk_task_place at;
    struct hk_group g;
    hk_i32 items, item;
    HK_THREAD_ID(id);

    hk_group_find(call, task, (hk_u32)group % passes * HK_WIDTH, shared, &g, &at);
    items = hk_few_items(call->plan, at.b, part);
    HK_EACH(id) {
        hk_plan_touch(call, id, shared);
        hk_part_begin(&g, id, task, part, items);
    }
    HK_NO_UNROLL                        /* the first one last: it stays at hand */
    for (item = items - 1; item >= 0; item--) {
        hk_group_item(&g, &at, at.b + item);
        HK_EACH(id) {
            hk_part_rows_open(&g, id, item);
        }
        HK_BARRIER();
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
