/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: scores become logits: DOT biases, softcap and the other biases
 * (docs/numerics.md steps 3 and 4). Their text is long, so there is one copy of it: a thread's
 * scores pass, those of one key at a time, through places of its own in local memory, over whose
 * rows loops go. A thread reads the rows of a DOT bias's tables by itself: neighbours have
 * neighbouring entries, which caches hold.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_BIAS_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_BIAS_H

#include "group_scales.h"

#if !HK_PLAIN

/* A thread's rows before one key. */
struct hk_column {
    HK_GLOBAL const struct hk_source *source;
    HK_LOCAL float *own;                /* score or logit of row r at r * HK_RED_LINE */
    hk_i32 row, place;                  /* its first row; the place of the key in the block */
    hk_u64 seen;                        /* bit r: row r sees the key; loops go over these bits,
                                         * for compilers unroll what they can count */
};

/* ---- lookups ---- */

/* What a lookup has for the item and one key. */
struct hk_asked {
    HK_GLOBAL const char *map, *q_coord;        /* 0: there is none */
    hk_i64 key;                                 /* its coordinate */
};

HK_FN void hk_asked_get(const struct hk_group *g, HK_GLOBAL const struct hk_lookup *from,
                        hk_i64 key, struct hk_asked *out)
{
    const hk_i64 b = g->task->b;

    out->map = from->map.slot ? hk_aux_of(g->call, &from->map, b) : 0;
    out->q_coord = from->q_coord.slot ? hk_aux_of(g->call, &from->q_coord, b) : 0;
    out->key = hk_lookup_key(g->call, from, hk_group_sub(g), b, g->shared->len, key);
}

HK_FN hk_i64 hk_asked_delta(const struct hk_group *g, HK_GLOBAL const struct hk_lookup *from,
                            const struct hk_asked *asked, hk_i32 row)
{
    const hk_i64 q = asked->q_coord
                         ? hk_coordinate(&from->q_coord, asked->q_coord, g->shared->index[row])
                         : g->shared->q_pos[row];

    return asked->key - q;
}

/* Index into a table of so many entries; negative: the key gets nothing. */
HK_FN hk_i64 hk_asked_entry(HK_GLOBAL const struct hk_lookup *from, const struct hk_asked *asked,
                            hk_i64 entries, hk_i64 delta)
{
    const hk_i64 length = hk_lookup_length(from, entries);

    return length == 0 ? -1 : hk_lookup_entry(from, asked->map, length, entries, delta);
}

/* ---- DOT ---- */

/* Numbers side by side in memory: the next one, and bytes to the one behind. */
struct hk_chain {
    HK_GLOBAL const char *at;
    hk_i64 step;
    hk_u32 dtype;
};

HK_FN void hk_chain_get(HK_GLOBAL const char *base, hk_i64 at, hk_i64 step, hk_u32 dtype,
                        struct hk_chain *out)
{
    out->at = hk_byte(base, at * hk_size(dtype));
    out->step = step * hk_size(dtype);
    out->dtype = dtype;
}

#if HK_SCALES
/* Row `entry` of a table, which y begins with, times the key, widened. */
HK_FN float hk_key_product(const struct hk_group *g, hk_i32 place, struct hk_chain *y)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    float sum = 0.0f;
    hk_i64 t;

    HK_NO_UNROLL
    for (t = 0; t < g->call->plan->d; t++) {
        const float a = hk_key_widened(shared, place, t);

        sum = hk_fma(a, hk_element(y->dtype, y->at, 0), sum);
        y->at += y->step;
    }
    return sum;
}
#endif

/* Row `entry` of a table times the query or, `by_key`, times the key: a chain of its own. */
HK_FN float hk_table_product(const struct hk_group *g, HK_GLOBAL const struct hk_aux *table,
                             HK_GLOBAL const char *base, hk_i32 row, hk_i32 place, hk_i64 entry,
                             int by_key)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i64 head = shared->head[row];
    struct hk_chain x, y;
    float sum = 0.0f;
    hk_i64 left;

    hk_chain_get(base, head * table->stride[3] + entry * table->stride[4], table->stride[5],
                 table->dtype, &y);
#if HK_SCALES
    if (by_key)
        return hk_key_product(g, place, &y);
#endif
    if (by_key)
        hk_chain_get(shared->k_rows.base, shared->k_at[place], shared->k_rows.channel,
                     shared->k_rows.dtype, &x);
    else
        hk_chain_get(hk_q(g->call),
                     hk_batch_offset(g->call, plan->q.stride, g->task->b) +
                         head * plan->q.stride[3] +
                         (g->task->begin + shared->index[row]) * plan->q.stride[4],
                     plan->q.stride[5], plan->q.dtype, &x);
    HK_NO_UNROLL
    for (left = plan->d; left > 0; left--) {
        sum = hk_fma(hk_element(x.dtype, x.at, 0), hk_element(y.dtype, y.at, 0), sum);
        x.at += x.step;
        y.at += y.step;
    }
    return sum;
}

/* t or, `by_key`, u of a DOT bias. */
HK_FN void hk_dot_join(const struct hk_group *g, const struct hk_column *at,
                       HK_GLOBAL const struct hk_dot *dot, int by_key)
{
    HK_GLOBAL const struct hk_aux *table = by_key ? &dot->u : &dot->t;
    HK_GLOBAL const char *base;
    struct hk_asked asked;
    hk_u64 left;

    HK_MARK(cold);
    if (!table->slot)
        return;
    base = hk_aux_of(g->call, table, g->task->b);
    hk_asked_get(g, &dot->from, g->shared->keys[at->place], &asked);
    HK_NO_UNROLL
    for (left = at->seen; left != 0; left &= left - 1) {
        const hk_i32 r = hk_first_bit(left), row = at->row + r;
        HK_LOCAL float *s = at->own + r * HK_RED_LINE;
        const hk_i64 entry = hk_asked_entry(&dot->from, &asked, hk_dot_entries(dot),
                                            hk_asked_delta(g, &dot->from, &asked, row));

        if (entry >= 0)
            *s = hk_add(*s, hk_table_product(g, table, base, row, at->place, entry, by_key));
    }
}

/* ---- others ---- */

/* Step 4: what one bias adds; where it removes the key that is -Inf, and stays. */
HK_FN void hk_bias_join(const struct hk_group *g, struct hk_column *at,
                        HK_GLOBAL const struct hk_bias *bias)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    HK_GLOBAL const hk_i64 *stride = bias->t.stride;
    const hk_u32 kind = bias->kind;
    const hk_i64 of_head = kind == HK_BIAS_DENSE   ? stride[3]
                           : kind == HK_BIAS_TABLE ? stride[4]
                                                   : stride[5];
    HK_GLOBAL const char *base = hk_aux_of(g->call, &bias->t, g->task->b);
    const hk_i64 key = shared->keys[at->place];
    struct hk_asked asked;
    hk_u64 left;

    HK_MARK(cold);
    hk_asked_get(g, &bias->from, key, &asked);
    HK_NO_UNROLL
    for (left = at->seen; left != 0; left &= left - 1) {
        const hk_i32 r = hk_first_bit(left), row = at->row + r;
        HK_LOCAL float *y = at->own + r * HK_RED_LINE;
        hk_i64 i = shared->head[row] * of_head, delta = 0, entry = 0;
        float x = 0.0f;

        if (kind == HK_BIAS_DENSE) {
            i += shared->index[row] * stride[4] + key * stride[5];
        } else {
            delta = hk_asked_delta(g, &bias->from, &asked, row);
            if (kind == HK_BIAS_TABLE) {
                entry = hk_asked_entry(&bias->from, &asked, bias->t.shape[2], delta);
                i += entry * stride[5];
            }
        }
        if (entry >= 0)
            x = hk_element(bias->t.dtype, base, i);
        if (kind == HK_BIAS_DENSE && bias->u.slot)
            x = hk_bias_scaled(x, hk_bias_scale(g->call, bias, g->task->b, shared->head[row]));
        if (kind == HK_BIAS_ALIBI) {
            *y = hk_fma(hk_bias_alibi(delta), -hk_mul(x, HK_LOG2_E), *y);
        } else if (x == -HK_INFINITY) {
            at->seen &= ~((hk_u64)1 << r);
            *y = x;
        } else {
            *y = hk_fma(x, HK_LOG2_E, *y);
        }
    }
}

/* ---- all ---- */

/* Of the thread's rows, those that see key x + 16 * c. */
HK_FN hk_u32 hk_rows_seeing(const struct hk_group *g, hk_i32 row, hk_i32 x, hk_i32 c)
{
    hk_u32 seen = 0;
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < HK_TR; r++)
        seen |= (g->shared->masks[2 * hk_line(g, row + r) + c / 2] >> (x + c % 2 * 16) & 1) << r;
    return seen;
}

#if HK_BIASES
/* A thread's scores of one column, for it to work on in local memory, and back. */
HK_FN void hk_column_open(const struct hk_group *g, hk_i32 id, hk_i32 c, const struct hk_mine *me,
                          struct hk_column *at)
{
    hk_i32 r;

    at->source = g->call->sources + g->shared->source;
    at->row = id / 16 * HK_TR;
    at->own = g->shared->out.red + at->row * HK_RED_LINE + id % 16;
    at->place = id % 16 + 16 * c;
    at->seen = hk_rows_seeing(g, at->row, id % 16, c);
    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        at->own[r * HK_RED_LINE] = me->s[r][0];
        at->seen &= ~((hk_u64)(me->gone >> (r * 4 + c) & 1) << r);
    }
}

HK_FN void hk_column_close(const struct hk_column *at, struct hk_mine *me)
{
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < HK_TR; r++) {
        me->s[r][0] = me->s[r][1];      /* no index of a register is computed */
        me->s[r][1] = me->s[r][2];
        me->s[r][2] = me->s[r][3];
        me->s[r][3] = at->own[r * HK_RED_LINE];
    }
}

/* t or, `by_key`, u of a DOT bias, or else a bias, score by score. */
HK_PIECE void hk_item_slowly(const struct hk_group *g, hk_i32 id,
                             HK_GLOBAL const struct hk_dot *dot, int by_key,
                             HK_GLOBAL const struct hk_bias *bias, struct hk_mine *me)
{
    struct hk_column at;
    hk_u64 seen;
    hk_i32 r, c;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (c = 0; c < 4; c++) {
        hk_column_open(g, id, c, me, &at);
        seen = at.seen;
        if (seen && dot)
            hk_dot_join(g, &at, dot, by_key);
        else if (seen)
            hk_bias_join(g, &at, bias);
        HK_UNROLL
        for (r = 0; r < HK_TR; r++)
            me->gone |= (hk_u32)((seen & ~at.seen) >> r & 1) << (r * 4 + c);
        hk_column_close(&at, me);
    }
}

#else
/* Step 3, end. */
HK_FN void hk_scores_scale(const struct hk_group *g, const struct hk_column *at)
{
    const float c = g->call->plan->c, c1 = g->call->plan->c1, c2 = g->call->plan->c2;
    hk_i32 r, j;

    if (g->call->plan->flags & HK_PLAN_CAPPED) {
        HK_NO_UNROLL
        for (r = 0; r < HK_TR; r += HK_TR_STEP) {
            HK_UNROLL
            for (j = 0; j < HK_TR_STEP; j++) {
                HK_LOCAL float *s = at->own + (r + j) * HK_RED_LINE;

                *s = hk_mul(hk_cap_tanh(hk_mul(*s, c1)), c2);
            }
        }
        return;
    }
    HK_UNROLL
    for (r = 0; r < HK_TR; r++)
        at->own[r * HK_RED_LINE] = hk_mul(at->own[r * HK_RED_LINE], c);
}

/* The scores of a column become logits; what its rows do not see is not read. */
HK_FN void hk_column_logits(const struct hk_group *g, struct hk_column *at)
{
    HK_GLOBAL const struct hk_dot *dots = hk_dots(g->call, at->source);
    HK_GLOBAL const struct hk_bias *biases = hk_biases(g->call, at->source);
    hk_u32 i;

    HK_NO_UNROLL
    for (i = 0; at->seen && i < 2 * at->source->n_dots; i++)
        hk_dot_join(g, at, dots + i / 2, (int)(i % 2));
    hk_scores_scale(g, at);
    HK_NO_UNROLL
    for (i = 0; at->seen && i < at->source->n_biases; i++)
        hk_bias_join(g, at, biases + i);
}

/* Steps 3 and 4: scores become y, -Inf where a bias removes the key, anything where the row does
 * not see it. */
HK_FN void hk_logits(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    const hk_i32 x = id % 16;
    struct hk_column at;
    hk_i32 r, c;

    at.source = g->call->sources + g->shared->source;
    at.row = id / 16 * HK_TR;
    at.own = g->shared->out.red + hk_line(g, at.row) * HK_RED_LINE + x;
    HK_NO_UNROLL
    for (c = 0; c < 4; c++) {
        at.place = hk_place(g, x + 16 * c);
        at.seen = hk_rows_seeing(g, at.row, x, c);
        HK_UNROLL
        for (r = 0; r < HK_TR; r++)
            at.own[r * HK_RED_LINE] = me->s[r][0];
        hk_column_logits(g, &at);
        HK_UNROLL
        for (r = 0; r < HK_TR; r++) {
            me->s[r][0] = me->s[r][1];  /* no index of a register is computed */
            me->s[r][1] = me->s[r][2];
            me->s[r][2] = me->s[r][3];
            me->s[r][3] = at.own[r * HK_RED_LINE];
        }
    }
}

#endif

#endif

#endif
