/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention for GPUs where a strip has few rows, as in decoding: what matters then is that keys and
 * values come in as fast as memory has them. A group takes some chunks of the keys of a strip, and
 * leaves their sums in the workspace (docs/numerics.md step 8; few_join.cl joins them), so that a
 * whole device works on one sequence. Up to HK_BLOCKS blocks are taken at a time: what threads wait
 * for is then waited for once. A thread forms the scores of one key, and then outputs of one channel
 * of V.
 */
#define HK_FEW 1
#define HK_THREADS 256
#define HK_WIDTH 128
#include "group_softmax.h"
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

/* Those whose outputs a thread has. */
HK_FN hk_i32 hk_few_share(const struct hk_group *g)
{
    return hk_few_rows(g) <= HK_ROWS / 2 ? HK_ROWS / 4 : HK_ROWS / 2;
}

/* Block `number` of the step. */
HK_FN struct hk_group hk_few_at(const struct hk_group *g, hk_i32 number)
{
    struct hk_group at = *g;

    at.number = number;
    return at;
}

/* Does any row see a key of block `number`? Only of those that the step has. */
HK_FN int hk_few_any(const struct hk_group *g, hk_i32 number)
{
    return hk_joined(g->shared->any + 2 * number) != 0;
}

/* ---- which keys ---- */

HK_FN void hk_few_look(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 i = id % HK_LOOKING;
    const struct hk_group at = hk_few_at(g, id / HK_LOOKING);
    const hk_i32 place = hk_place(&at, i);

    HK_MARK(walk);
    if (id < HK_BLOCKS)
        shared->few.raised[id] = shared->few.poison[id] = 0;
    if (at.number < shared->few.count)
        hk_mask_part(&at, i, me);
    if (i >= HK_BLOCK)
        return;
    shared->k_at[place] = shared->v_at[place] = HK_NO_ROW;      /* also where there is no block */
    if (at.number < shared->few.count && hk_place_open(&at, i))
        hk_local_or(&shared->available[2 * at.number + i / 32], 1u << i % 32);
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
    hk_or_mask(shared->any + 2 * at.number, mask);
}

/* ---- slabs: those of K, an even number of them, then those of V ---- */

HK_FN hk_i32 hk_few_slabs(const struct hk_group *g)
{
    const hk_u32 d = (hk_u32)g->call->plan->d;

    return (hk_i32)((d + 2 * HK_SLAB - 1) / (2 * HK_SLAB)) * 2;
}

/* Slab number s, if there is one, as the h-th of the two that are on their way. */
HK_FN void hk_few_fetch(const struct hk_group *g, hk_i32 id, hk_i32 s, const hk_i32 h,
                        struct hk_mine *me)
{
    const hk_i32 slabs = hk_few_slabs(g), k0 = (s - slabs) * HK_SLAB_KEYS;

    if (s < slabs) {
        hk_fetch_k(g, id, (hk_i64)s * HK_SLAB, me->next[h]);
    } else if (k0 < g->shared->few.count * HK_BLOCK) {
        hk_fetch_v(g, id, k0, me->next[h]);
#if HK_SCALES
        hk_fetch_scales(g, id, k0, me->scale[h]);
#endif
    }
}

/* ---- scores ---- */

/* The scores of the thread's key with the channels of a slab. */
HK_FN void hk_few_key(const struct hk_group *g, hk_i32 id, hk_i64 t0, struct hk_mine *me)
{
    const hk_i64 end = hk_min(t0 + HK_SLAB, g->call->plan->d);
    const hk_i32 place = id % HK_PLACES, row = id / HK_PLACES * (HK_ROWS / 2);

    if (t0 >= end || !hk_few_any(g, place / HK_BLOCK) || row >= hk_few_rows(g))
        return;
    if (HK_PLACES < HK_THREADS || hk_few_rows(g) <= HK_ROWS / 2)
        hk_few_scores(g, place, row, HK_ROWS / 2, t0, end, me);
    else
        hk_few_scores(g, place, row, HK_ROWS, t0, end, me);
}

HK_FN void hk_few_key_slab(const struct hk_group *g, struct hk_mine *mine, hk_i32 s, const hk_i32 h)
{
    const hk_i64 t0 = (hk_i64)s * HK_SLAB;
    HK_THREAD_ID(id);

    HK_BARRIER();
    HK_EACH(id) {
        hk_put_k(g, id, t0, mine[HK_OWN(id)].next[h]);
        if (t0 % HK_KEPT == 0 && t0 < g->call->plan->d &&
            !(g->call->plan->d <= HK_KEPT && g->shared->has_q)) {
            HK_MARK(cold);
            hk_stage_q(g, id, t0);
        }
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_few_fetch(g, id, s + 2, h, &mine[HK_OWN(id)]);
        hk_few_key(g, id, t0, &mine[HK_OWN(id)]);
    }
}

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
HK_FN void hk_few_leave_scores(const struct hk_group *g, hk_i32 id, const struct hk_mine *me)
{
    const hk_i32 place = id % HK_PLACES, row = id / HK_PLACES * (HK_ROWS / 2);
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < HK_ROWS * HK_PLACES / HK_THREADS; r++) {
        if (row + r < hk_few_rows(g))
            *hk_few_place(g, row + r, place) = me->k[r];
    }
}

/* ---- softmax ---- */

/* Steps 3 and 4 of one block: a thread's scores become y. */
HK_FN void hk_few_take(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    hk_i32 c;

    HK_UNROLL
    for (c = 0; c < 4; c++)
        me->s[0][c] = *hk_few_place(g, id / 16, hk_place(g, id % 16 + 16 * c));
    hk_score_end(g, id, me);
    HK_UNROLL
    for (c = 0; c < 4; c++)
        *hk_few_place(g, id / 16, hk_place(g, id % 16 + 16 * c)) = me->s[0][c];
}

/* Step 5: what a block asks of a row's reference. */
HK_FN void hk_few_top(const struct hk_group *g, hk_i32 row)
{
    HK_LOCAL const float *red = g->shared->out.red + hk_line(g, row) * HK_RED_LINE;
    const int there = row < hk_few_rows(g) && g->number < g->shared->few.count;
    float max = -HK_INFINITY;
    int some = 0;
    hk_i32 x, j;

    HK_MARK(softmax);
    HK_UNROLL
    for (x = 0; x < 16; x += 4) {
        float y[4];

        hk_local_get4(red + x, y);
        HK_UNROLL
        for (j = 0; j < 4; j++) {
            some |= y[j] == y[j];
            max = hk_max_number(y[j], max);
        }
    }
    g->shared->few.top[hk_line(g, row)] =
        some && there ? hk_row_max(max) : hk_float(HK_NAN_WORD);
}

/* A row's reference from before the step to before the block at hand. */
HK_FN float hk_few_reference(const struct hk_group *g, hk_i32 row)
{
    float m = g->shared->m[row];
    hk_i32 j;

    HK_UNROLL
    for (j = 0; j < HK_BLOCKS; j++) {
        const float e = g->shared->few.top[j * HK_ROWS + row];

        m = j < g->number && e > m ? e : m;
    }
    return m;
}

/* Steps 6 and 7 of one block: y become weights, of a removed key -0. */
HK_FN void hk_few_weigh(const struct hk_group *g, hk_i32 id, float m)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    hk_u32 poison = 0;
    hk_i32 c;

    HK_MARK(softmax);
    HK_UNROLL
    for (c = 0; c < 4; c++) {
        const hk_i32 place = hk_place(g, id % 16 + 16 * c);
        HK_LOCAL float *at = hk_few_place(g, id / 16, place);
        const float y = *at;
        const int removed = y == -HK_INFINITY;

        *at = hk_select(removed, hk_float(HK_REMOVED), hk_weight(y, m));
        poison |= removed && shared->v_at[place] != HK_NO_ROW;
    }
    if (poison && shared->active[id / 16])
        hk_local_or(&g->shared->few.poison[g->number], 1);
}

/* What the block does to a row's sums. */
HK_FN void hk_few_raise(const struct hk_group *g, hk_i32 row)
{
    HK_LOCAL struct hk_few_shared *few = &g->shared->few;
    const float m = hk_few_reference(g, row), e = few->top[hk_line(g, row)];

    few->follow[hk_line(g, row)] = e > m ? hk_power(hk_sub(m, e)) : 1.0f;
    if (e > m)
        few->raised[g->number] = 1;
}

/* A row's reference behind the step, which is told when nobody reads the one before it. */
HK_FN void hk_few_risen(const struct hk_group *g, hk_i32 row, struct hk_mine *me)
{
    const struct hk_group end = hk_few_at(g, HK_BLOCKS);
    hk_i32 j;

    me->m = hk_few_reference(&end, row);
    HK_UNROLL
    for (j = 0; j < HK_BLOCKS; j++)
        me->empty = hk_ordered(g->shared->few.top[j * HK_ROWS + row]) ? 0 : me->empty;
}

/* Steps 5 and 7: a partial sum of a row over the step. */
HK_FN void hk_few_partial(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i32 count = (hk_i32)shared->few.count;
    hk_i32 j, c;

    HK_MARK(softmax);
    HK_NO_UNROLL
    for (j = 0; j < count; j++) {
        if (shared->few.raised[j])
            me->l[0] = hk_mul(me->l[0], shared->few.follow[j * HK_ROWS + id / 16]);
        HK_UNROLL
        for (c = 0; c < 4; c++)
            me->l[0] = hk_add(me->l[0], *hk_few_place(g, id / 16, j * HK_BLOCK + id % 16 + 16 * c));
    }
}

/* Of a thread's row those blocks that are its. */
HK_FN void hk_few_softmax(const struct hk_group *g, hk_i32 id, const int weigh, struct hk_mine *me)
{
    const hk_i32 i = id % HK_LINES;
    hk_i32 j;

    if (i / 16 >= hk_few_rows(g))
        return;
    HK_NO_UNROLL
    for (j = id / HK_LINES; j < g->shared->few.count; j += HK_THREADS / HK_LINES) {
        const struct hk_group at = hk_few_at(g, j), behind = hk_few_at(g, j + 1);

        if (weigh)
            hk_few_weigh(&at, i, hk_few_reference(&behind, i / 16));
        else
            hk_few_take(&at, i, me);
    }
}

/* ---- values ---- */

/* Step 5: sums over V follow their rows' references to a block. */
HK_FN void hk_few_follow(const struct hk_group *g, hk_i32 id, hk_i32 number, struct hk_mine *me)
{
    HK_LOCAL const float *follow =
        g->shared->few.follow + number * HK_ROWS + id / HK_WIDTH * hk_few_share(g);
    hk_i32 r;

    if (!g->shared->few.raised[number])
        return;
    HK_UNROLL
    for (r = 0; r < HK_ROWS / 2; r++) {
        const float w = r < hk_few_share(g) ? follow[r] : 1.0f;

        me->o[r] = hk_mul(me->o[r], w);
#if HK_SCALES
        me->low[r] = hk_mul(me->low[r], w);
#endif
    }
}

/* Keys of the slab that begins with place k0: the thread's channel. */
HK_FN void hk_few_channel(const struct hk_group *g, hk_i32 id, hk_i32 k0, struct hk_mine *me)
{
    const hk_i32 number = k0 / HK_BLOCK;

    if (k0 >= g->shared->few.count * HK_BLOCK || g->pass + id % HK_WIDTH >= g->call->plan->d_v ||
        id / HK_WIDTH * hk_few_share(g) >= hk_few_rows(g))
        return;
    if (k0 % HK_BLOCK == 0)
        hk_few_follow(g, id, number, me);
    if (!hk_few_any(g, number))
        return;
    if (g->shared->few.poison[number]) {
        HK_MARK(cold);
        if (hk_few_share(g) == HK_ROWS / 4)
            hk_few_values(g, id, k0, HK_ROWS / 4, 1, me);
        else
            hk_few_values(g, id, k0, HK_ROWS / 2, 1, me);
    } else if (hk_few_share(g) == HK_ROWS / 4) {
        hk_few_values(g, id, k0, HK_ROWS / 4, 0, me);
    } else {
        hk_few_values(g, id, k0, HK_ROWS / 2, 0, me);
    }
}

HK_FN void hk_few_value_slab(const struct hk_group *g, struct hk_mine *mine, hk_i32 k0,
                             const hk_i32 h)
{
    HK_THREAD_ID(id);

    HK_BARRIER();
    HK_EACH(id) {
        if (k0 < g->shared->few.count * HK_BLOCK) {
            hk_put_v(g, id, k0, mine[HK_OWN(id)].next[h]);
#if HK_SCALES
            hk_put_scales(g, id, mine[HK_OWN(id)].scale[h]);
#endif
        }
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_few_fetch(g, id, hk_few_slabs(g) + k0 / HK_SLAB_KEYS + 2, h, &mine[HK_OWN(id)]);
        hk_few_channel(g, id, k0, &mine[HK_OWN(id)]);
    }
}

/* ---- a step ---- */

/* From scores to weights. */
HK_FN void hk_few_weights(const struct hk_group *g, struct hk_mine *mine)
{
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_few_leave_scores(g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_few_softmax(g, id, 0, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id < HK_BLOCKS * HK_ROWS) {
            const struct hk_group at = hk_few_at(g, id / HK_ROWS);

            hk_few_top(&at, id % HK_ROWS);
        }
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_few_softmax(g, id, 1, &mine[HK_OWN(id)]);
        if (id < HK_BLOCKS * HK_ROWS) {
            const struct hk_group at = hk_few_at(g, id / HK_ROWS);

            hk_few_raise(&at, id % HK_ROWS);
        }
        if (id < HK_ROWS)
            hk_few_risen(g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        if (id < HK_ROWS)
            g->shared->m[id] = mine[HK_OWN(id)].m;
        if (id < HK_LINES && id / 16 < hk_few_rows(g))
            hk_few_partial(g, id, &mine[HK_OWN(id)]);
    }
}

HK_FN void hk_block_attend(const struct hk_group *g, struct hk_mine *mine)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_i32 slabs, keys, s;
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_few_look(g, id, &mine[HK_OWN(id)]);
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_few_mask(g, id, &mine[HK_OWN(id)]);
        hk_few_clear(&mine[HK_OWN(id)]);
        hk_few_fetch(g, id, 0, 0, &mine[HK_OWN(id)]);
        hk_few_fetch(g, id, 1, 1, &mine[HK_OWN(id)]);
    }
    slabs = shared->few.count > 0 ? hk_few_slabs(g) : 0;
    keys = (hk_i32)shared->few.count * HK_BLOCK;
    HK_NO_UNROLL
    for (s = 0; s < slabs; s += 2) {
        hk_few_key_slab(g, mine, s, 0);
        hk_few_key_slab(g, mine, s + 1, 1);
    }
    hk_few_weights(g, mine);
    HK_NO_UNROLL
    for (s = 0; s < keys; s += 2 * HK_SLAB_KEYS) {
        hk_few_value_slab(g, mine, s, 0);
        hk_few_value_slab(g, mine, s + HK_SLAB_KEYS, 1);
    }
    HK_EACH(id) {
        if (id == 0 && keys > 0)
            shared->has_q = 1;
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
    HK_GLOBAL char *chunk = g->shared->few.chunks + g->shared->few.number * plan->chunk_bytes;
    const hk_i64 t = g->pass + id % HK_WIDTH;
    const hk_i32 n = hk_few_share(g), first = id / HK_WIDTH * n;
    hk_i32 r;

    HK_MARK(cold);
    if (g->pass == 0 && id < HK_ROWS) {
        hk_few_kept(chunk)[id].m = me->m;
        hk_few_kept(chunk)[id].joined = me->empty ? 0.0f : 1.0f;
    }
    if (g->pass == 0 && id < HK_LINES)
        hk_few_l(chunk, id / 16)[id % 16] = me->l[0];
    HK_UNROLL
    for (r = 0; r < HK_ROWS / 2; r++) {
        if (r < n && first + r < hk_few_rows(g) && t < plan->d_v)
            hk_few_o(g->call, chunk, first + r)[t] = hk_few_sum(me, r);
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
    me->m = -HK_INFINITY;
    me->empty = 1;
    me->l[0] = 0.0f;
    if (id < HK_ROWS)
        g->shared->m[id] = me->m;
    HK_UNROLL
    for (r = 0; r < HK_ROWS / 2; r++) {
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

    HK_UNROLL
    for (i = 0; i < HK_FETCHED * 4; i++)
        me->next[0][i] = me->next[1][i] = 0;
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
