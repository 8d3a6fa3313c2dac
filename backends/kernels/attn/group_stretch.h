/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for many rows: biases that depend on the distance of a key from a row. Between the
 * rows of a strip and the keys of a block there are few distances, which lie side by side: a
 * **stretch** in local memory has what the bias gives at each, so that tables, maps and types are
 * looked at once for a distance and not for every score. Coordinates are taken to lie between those
 * of the first and of the last row, or key; where one does not, or distances are too many, scores
 * find what is theirs one by one (group_bias.h).
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_STRETCH_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_STRETCH_H

#include "group_bias.h"

#if HK_BIASES

#define HK_STRETCH (HK_ROWS * HK_RED_LINE)      /* numbers that there is room for */

/* Distances first, first + 1, .., `count` of them; 0: too many, or they are not known. */
struct hk_reached {
    hk_i64 first;
    hk_i32 count;
};

HK_FN hk_i32 hk_last_bit(hk_u64 word)           /* not 0 */
{
    hk_i32 n = 0, step;

    HK_UNROLL
    for (step = 32; step > 0; step /= 2) {
        if (word >> step) {
            word >>= step;
            n += step;
        }
    }
    return n;
}

/* ---- distances ---- */

/* The coordinate of row i or, behind the rows, of a place of the block. */
HK_PIECE void hk_coordinate_put(const struct hk_group *g, HK_GLOBAL const struct hk_lookup *from,
                                hk_u64 any, hk_i32 i)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 n = i - HK_ROWS;

    if (n < 0 && shared->active[i] == 2)
        shared->in.distances.q[i] = hk_lookup_query(g->call, from, g->task->b, shared->index[i],
                                                    shared->q_pos[i]);
    else if (n >= 0 && (any >> n & 1))
        shared->in.distances.k[n] = hk_lookup_key(g->call, from, hk_group_sub(g), g->task->b,
                                                  shared->len, shared->keys[n]);
}

/* From there to the last one of the rows, or from the first one of the keys: both are known. */
HK_PIECE void hk_distance_put(const struct hk_group *g, hk_u64 any, hk_i32 i)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_LOCAL struct hk_distances *to = &shared->in.distances;
    const int is_row = i < HK_ROWS;
    const hk_i32 n = is_row ? i : i - HK_ROWS;
    const hk_i64 one = is_row ? to->q[shared->first_row] : to->k[hk_first_bit(any)],
                 other = is_row ? to->q[shared->last_row] : to->k[hk_last_bit(any)];
    const hk_i64 low = hk_min(one, other), high = hk_max(one, other);
    hk_i64 at = 0, distance = 0;

    if (is_row ? shared->active[n] == 2 : (int)(any >> n & 1)) {
        at = is_row ? to->q[n] : to->k[n];
        distance = is_row ? high - at : at - low;
        if (at < low || at > high)
            hk_local_or(&shared->uneven, 1);
    }
    if (is_row)
        to->from_row[n] = (hk_i32)distance;
    else
        to->to_key[n] = (hk_i32)distance;
}

/* What all threads know of them then. */
HK_FN void hk_reached_get(const struct hk_group *g, hk_u64 any, struct hk_reached *out)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_distances *at = &shared->in.distances;
    const hk_i64 q = at->q[shared->first_row], last = at->q[shared->last_row];
    const hk_i64 k = at->k[hk_first_bit(any)], end = at->k[hk_last_bit(any)];
    const hk_i64 high = hk_max(q, last);
    const hk_i64 count = high - hk_min(q, last) + hk_max(k, end) - hk_min(k, end) + 1;

    out->first = hk_min(k, end) - high;
    out->count = shared->uneven || count > HK_STRETCH ? 0 : (hk_i32)count;
}

/* The distances of a block before a lookup; no row sees any key: none. */
HK_FN void hk_reached_find(const struct hk_group *g, HK_GLOBAL const struct hk_lookup *from,
                           hk_u64 any, struct hk_reached *out)
{
    hk_i32 i;
    HK_THREAD_ID(id);

    HK_BARRIER();
    HK_EACH(id) {
        if (id == 0)
            g->shared->uneven = 0;
        HK_NO_UNROLL
        for (i = id; any != 0 && i < HK_ROWS + HK_BLOCK; i += HK_THREADS)
            hk_coordinate_put(g, from, any, i);
    }
    HK_BARRIER();
    HK_EACH(id) {
        HK_NO_UNROLL
        for (i = id; any != 0 && i < HK_ROWS + HK_BLOCK; i += HK_THREADS)
            hk_distance_put(g, any, i);
    }
    HK_BARRIER();
    out->first = 0;
    out->count = 0;
    if (any != 0)
        hk_reached_get(g, any, out);
}

/* Entry of a table at a distance; negative: there is none. */
HK_FN hk_i64 hk_reached_entry(HK_GLOBAL const struct hk_lookup *from, HK_GLOBAL const char *map,
                              hk_i64 entries, hk_i64 delta)
{
    const hk_i64 length = hk_lookup_length(from, entries);

    return length == 0 ? -1 : hk_lookup_entry(from, map, length, entries, delta);
}

/* ---- biases ---- */

/* What the bias gives at each distance, for each of so many heads one behind the other; and what
 * that is multiplied by. */
HK_FN void hk_stretch_fill(const struct hk_group *g, hk_i32 id,
                           HK_GLOBAL const struct hk_bias *bias, const struct hk_reached *at,
                           hk_i32 heads)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i64 of_head = bias->t.stride[bias->kind == HK_BIAS_TABLE ? 4 : 5],
                 first = g->task->group * g->call->plan->strips.stack;
    HK_GLOBAL const char *base = hk_aux_of(g->call, &bias->t, g->task->b), *map = 0;
    hk_i32 i;

    if (bias->from.map.slot)
        map = hk_aux_of(g->call, &bias->from.map, g->task->b);
    HK_NO_UNROLL
    for (i = id; i < at->count * heads; i += HK_THREADS) {
        const hk_i32 head = i / at->count;
        const hk_i64 delta = at->first + (i - head * at->count);
        float x = 0.0f;

        if (bias->kind == HK_BIAS_TABLE) {
            const hk_i64 entry = hk_reached_entry(&bias->from, map, bias->t.shape[2], delta);

            if (entry >= 0)
                x = hk_element(bias->t.dtype, base,
                               (first + head) * of_head + entry * bias->t.stride[5]);
        } else {
            x = hk_bias_alibi(delta);
        }
        shared->out.red[i] = x;
    }
    HK_NO_UNROLL
    for (i = id; i < HK_ROWS; i += HK_THREADS) {
        float factor = HK_LOG2_E;

        if (bias->kind == HK_BIAS_ALIBI)
            factor = -hk_mul(hk_element(bias->t.dtype, base, shared->head[i] * of_head), factor);
        shared->in.distances.factor[i] = factor;
        if (heads > 1) /* the stretch of the row's head */
            shared->in.distances.from_row[i] += i % heads * at->count;
    }
}

/* Step 4: a thread's logits with what the stretch has for them. */
HK_PIECE void hk_stretch_join(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL const struct hk_distances *of = &g->shared->in.distances;
    hk_i32 r, c, to[4];

    HK_MARK(softmax);
    HK_UNROLL
    for (c = 0; c < 4; c++)
        to[c] = of->to_key[id % 16 + 16 * c];
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const hk_i32 row = id / 16 * HK_TR + r;
        const hk_i32 from = of->from_row[row];
        const float factor = of->factor[row];

        HK_UNROLL
        for (c = 0; c < 4; c++) {
            const hk_u32 bit = 1u << (r * 4 + c);
            const float x = g->shared->out.red[from + to[c]];
            const float y = hk_fma(x, factor, me->s[r][c]);

            me->gone |= x == -HK_INFINITY ? bit : 0;
            me->s[r][c] = me->gone & bit ? -HK_INFINITY : y;
        }
    }
}

/* Step 3, end. */
HK_FN void hk_scores_end(const struct hk_group *g, struct hk_mine *me)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    const int capped = (plan->flags & HK_PLAN_CAPPED) != 0;
    const float by = capped ? plan->c2 : plan->c, c1 = plan->c1;
    const hk_i32 n = capped ? 4 : 0; /* a loop of any number: no second way */
    hk_i32 r, c, i;

    me->gone = 0;
    HK_NO_UNROLL
    for (i = 0; i < n; i++) {
        HK_UNROLL
        for (r = 0; r < HK_TR; r++) {
            const float y = hk_cap_tanh(hk_mul(me->s[r][0], c1));

            me->s[r][0] = me->s[r][1];  /* no index of a register is computed */
            me->s[r][1] = me->s[r][2];
            me->s[r][2] = me->s[r][3];
            me->s[r][3] = y;
        }
    }
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        HK_UNROLL
        for (c = 0; c < 4; c++)
            me->s[r][c] = hk_mul(me->s[r][c], by);
    }
}

#endif

#endif
