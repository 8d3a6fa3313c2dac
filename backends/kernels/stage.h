/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: rows of Q, K and V on their way into local memory, as f32. Those of K and V
 * come a slice at a time: fetched into registers while the slice before is worked on, then put.
 */
#ifndef HEED_BACKENDS_KERNELS_STAGE_H
#define HEED_BACKENDS_KERNELS_STAGE_H

#include "group.h"

/* ---- a unit: HK_UNIT neighbouring channels of a row, in words as they lie ---- */

/* One element that lies `at` elements from the base, for unit words. */
HK_FN hk_u32 hk_raw(HK_LOCAL const struct hk_matrix *m, hk_i64 at, HK_LOCAL const float *scale)
{
    (void)scale;
#if HK_KV == 1
    return ((HK_GLOBAL const hk_u32 *)m->base)[at];
#elif HK_HALVES
    return ((HK_GLOBAL const hk_u16 *)m->base)[at];
#else
    if (m->dtype == HK_I8)
        return hk_word(hk_mul(hk_from_i8(((HK_GLOBAL const hk_i8 *)m->base)[at]), *scale));
    return hk_word(hk_element(m->dtype, m->base, at));
#endif
}

#if HK_KV == 0
/* Four neighbours of any type but I8 at once. */
HK_FN void hk_load_any(HK_LOCAL const struct hk_matrix *m, hk_i64 at, hk_u32 *word)
{
    hk_u32 pairs[2];

    if (m->dtype == HK_F32) {
        hk_load_words(m->base + at * 4, 4, word);
        return;
    }
    hk_load_words(m->base + at * 2, 2, pairs);
    if (m->dtype == HK_F16) {
        word[0] = hk_word(hk_from_f16((hk_u16)pairs[0]));
        word[1] = hk_word(hk_from_f16((hk_u16)(pairs[0] >> 16)));
        word[2] = hk_word(hk_from_f16((hk_u16)pairs[1]));
        word[3] = hk_word(hk_from_f16((hk_u16)(pairs[1] >> 16)));
    } else {
        word[0] = pairs[0] << 16;
        word[1] = pairs[0] & 0xffff0000u;
        word[2] = pairs[1] << 16;
        word[3] = pairs[1] & 0xffff0000u;
    }
}
#endif

/* Channels t on of the row at `row`, zeros from channel n on. */
HK_FN void hk_unit_load(HK_LOCAL const struct hk_matrix *m, hk_u32 wide, hk_i64 row, hk_i64 t,
                        hk_i64 n, HK_LOCAL const float *scale, hk_u32 *word)
{
    hk_i32 j;

    if (wide && t + HK_UNIT <= n) {
#if HK_KV == 0
        hk_load_any(m, row + t, word);
#else
        hk_load_words(m->base + (row + t) * (HK_HALVES ? 2 : 4), HK_UNIT_WORDS, word);
#endif
        return;
    }
    HK_UNROLL
    for (j = 0; j < HK_UNIT; j++) {
        HK_MARK(cold);
        if (t + j < n) {
            const hk_u32 x = hk_raw(m, row + (t + j) * m->channel, scale);

            if (HK_HALVES)
                word[j / 2] |= x << j % 2 * 16;
            else
                word[j] = x;
        }
    }
}

/* Element j of a unit. */
HK_FN float hk_unit_get(const hk_u32 *word, const hk_i32 j)
{
#if HK_KV == 2
    return hk_from_f16((hk_u16)(j % 2 ? word[j / 2] >> 16 : word[j / 2]));
#elif HK_KV == 3
    return hk_float(j % 2 ? word[j / 2] & 0xffff0000u : word[j / 2] << 16);
#else
    return hk_float(word[j]);
#endif
}

HK_FN void hk_next_clear(struct hk_mine *me)
{
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < HK_UNITS * HK_UNIT_WORDS; i++)
        me->next[i] = 0;
}

/* ---- Q and K, transposed ---- */

/* HK_KEPT channels of Q from t0 on. */
HK_FN void hk_stage_q(const struct hk_group *g, hk_i32 id, hk_i64 t0)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i64 q_at = hk_batch_offset(g->call, plan->q.stride, g->task->b);
    hk_i32 i;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (i = id; i < HK_ROWS * HK_KEPT; i += HK_THREADS) {
        const hk_i32 row = i / HK_KEPT, t = i % HK_KEPT;
        float x = 0.0f;

        if (shared->active[row] && t0 + t < plan->d)
            x = hk_element(plan->q.dtype, hk_q(g->call),
                           q_at + shared->head[row] * plan->q.stride[3] +
                               (g->task->begin + shared->index[row]) * plan->q.stride[4] +
                               (t0 + t) * plan->q.stride[5]);
        shared->q[t * HK_Q_LINE + row] = x;
    }
}

/* Where a line of K holds a key: the four of a thread side by side. */
HK_FN hk_i32 hk_key_place(hk_i32 key)
{
    return key % 16 * 4 + key / 16;
}

enum { HK_ROW_UNITS = HK_SLICE / HK_UNIT };     /* of a row of K in a slice */

/* The rows of K that the thread stages: of the keys in `any`. */
HK_PIECE void hk_find_k(const struct hk_group *g, hk_i32 id, hk_u64 any, struct hk_mine *me)
{
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < HK_UNITS; i++) {
        const hk_i32 key = (id + i * HK_THREADS) / HK_ROW_UNITS;

        me->k_at[i] = any >> key & 1 ? g->shared->k_at[key] : HK_NO_ROW;
    }
}

/* Channels t0 on. */
HK_PIECE void hk_fetch_k(const struct hk_group *g, hk_i32 id, hk_i64 t0, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    hk_i32 i;

    HK_MARK(stage_k);
    hk_next_clear(me);
    HK_UNROLL
    for (i = 0; i < HK_UNITS; i++) {
        const hk_i32 at = id + i * HK_THREADS, key = at / HK_ROW_UNITS;

        if (me->k_at[i] != HK_NO_ROW)
            hk_unit_load(&shared->k_rows, shared->k_wide, me->k_at[i],
                         t0 + at % HK_ROW_UNITS * HK_UNIT, g->call->plan->d,
                         shared->k_scale + key % HK_SCALED, me->next + i * HK_UNIT_WORDS);
    }
}

HK_PIECE void hk_put_k(const struct hk_group *g, hk_i32 id, const struct hk_mine *me)
{
    hk_i32 i, j;

    HK_MARK(stage_k);
    HK_UNROLL
    for (i = 0; i < HK_UNITS; i++) {
        const hk_i32 at = id + i * HK_THREADS;
        HK_LOCAL float *to = g->shared->in.k + at % HK_ROW_UNITS * HK_UNIT * HK_K_LINE +
                             hk_key_place(at / HK_ROW_UNITS);

        HK_UNROLL
        for (j = 0; j < HK_UNIT; j++)
            to[j * HK_K_LINE] = hk_unit_get(me->next + i * HK_UNIT_WORDS, j);
    }
}

/* ---- V ---- */

enum { HK_KEY_UNITS = HK_WIDTH / HK_UNIT };     /* of a row of V */

/* HK_KEYS keys from place k0 on, of those in `any`. */
HK_PIECE void hk_fetch_v(const struct hk_group *g, hk_i32 id, hk_i32 k0, hk_u64 any,
                         struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    hk_i32 i;

    HK_MARK(stage_v);
    hk_next_clear(me);
    HK_UNROLL
    for (i = 0; i < HK_UNITS; i++) {
        const hk_i32 at = id + i * HK_THREADS, key = k0 + at / HK_KEY_UNITS;

        if (key < HK_BLOCK && (any >> key & 1))
            hk_unit_load(&shared->v_rows, shared->v_wide, shared->v_at[key],
                         g->pass + at % HK_KEY_UNITS * HK_UNIT, g->call->plan->d_v,
                         shared->v_scale + key % HK_SCALED, me->next + i * HK_UNIT_WORDS);
    }
}

/* Sets poison where a V is not finite: it may lie under a key that not all rows see. */
HK_PIECE void hk_put_v(const struct hk_group *g, hk_i32 id, const struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_u32 bad = 0;
    hk_i32 i, j;

    HK_MARK(stage_v);
    HK_UNROLL
    for (i = 0; i < HK_UNITS; i++) {
        HK_LOCAL float *to = shared->in.v + (id + i * HK_THREADS) * HK_UNIT;

        HK_UNROLL
        for (j = 0; j < HK_UNIT; j += 4) {
            float x[4];
            hk_i32 c;

            HK_UNROLL
            for (c = 0; c < 4; c++) {
                x[c] = hk_unit_get(me->next + i * HK_UNIT_WORDS, j + c);
                bad |= (hk_word(x[c]) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
            }
            hk_local_put4(to + j, x);
        }
    }
    if (bad)
        hk_local_or(&shared->poison, 1);
}

#endif
