/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups with matrix units: rows of Q, K and V on their way into local memory, as halves, and
 * Q on to registers.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_MMA_STAGE_H
#define HEED_BACKENDS_KERNELS_ATTN_MMA_STAGE_H

#include "group.h"

/* Channels t to t + 7 of a row of halves that begins at element `at`; zeros from channel n on. */
HK_FN void hk_halves_load(HK_GLOBAL const char *base, hk_u32 wide, hk_i64 at, hk_i64 channel,
                          hk_i64 t, hk_i64 n, hk_u32 *word)
{
    hk_i32 j;

    if (wide && t + 8 <= n) {
        hk_load_words(base + (at + t) * 2, 4, word);
        return;
    }
    HK_UNROLL
    for (j = 0; j < 8; j++) {
        HK_MARK(cold);
        if (t + j < n)
            word[j / 2] |= (hk_u32)((HK_GLOBAL const hk_u16 *)base)[at + (t + j) * channel]
                           << j % 2 * 16;
    }
}

HK_FN void hk_words_put(HK_LOCAL hk_u32 *to, const hk_u32 *word)
{
    hk_i32 j;

    HK_UNROLL
    for (j = 0; j < 4; j++)
        to[j] = word[j];
}

/* ---- Q ---- */

HK_PIECE void hk_stage_q(const struct hk_group *g, hk_i32 id)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i64 q_at = hk_batch_offset(g->call, plan->q.stride, g->task->b);
    hk_i32 i;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (i = id; i < HK_ROWS * HK_UNITS_OF_ROW; i += HK_THREADS) {
        const hk_i32 row = i / HK_UNITS_OF_ROW, t = i % HK_UNITS_OF_ROW * 8;
        const hk_i64 at = q_at + shared->head[row] * plan->q.stride[3] +
                          (g->task->begin + shared->index[row]) * plan->q.stride[4];
        hk_u32 word[4] = { 0, 0, 0, 0 };

        if (shared->active[row])
            hk_halves_load(hk_q(g->call), 0, at, plan->q.stride[5], t, plan->d, word);
        hk_words_put(shared->HK_Q_PLACE + row * HK_K_LINE + t / 2, word);
    }
}

/* Channels 16 * t on of a thread's rows. */
HK_FN void hk_get_q(const struct hk_group *g, hk_i32 id, hk_i32 t, struct hk_mine *me)
{
    const hk_i32 row = id / HK_MMA_LANES * HK_MMA_M;

    hk_mma_get_a(g->shared->HK_Q_PLACE + row * HK_K_LINE + t * 8, HK_K_LINE, id % HK_MMA_LANES,
                 &me->HK_Q_STEP(t));
}

HK_PIECE void hk_keep_q(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    hk_i32 t;

    HK_UNROLL
    for (t = 0; t < HK_WIDTH / 16; t++)
        hk_get_q(g, id, t, me);
}

/* ---- K and V of the block: of the keys in `any` ---- */

HK_PIECE void hk_stage_k(const struct hk_group *g, hk_i32 id, hk_u64 any)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_i32 i;

    HK_MARK(stage_k);
    HK_UNROLL_FEW
    for (i = id; i < HK_BLOCK * HK_UNITS_OF_ROW; i += HK_THREADS) {
        const hk_i32 key = i / HK_UNITS_OF_ROW, t = i % HK_UNITS_OF_ROW * 8;
        hk_u32 word[4] = { 0, 0, 0, 0 };

        if (any >> key & 1)
            hk_halves_load(shared->k_rows.base, shared->k_wide, shared->k_at[key],
                           shared->k_rows.channel, t, g->call->plan->d, word);
        hk_words_put(shared->in.k + key * HK_K_LINE + t / 2, word);
    }
}

/* Is a half no number? */
HK_FN int hk_half_bad(hk_u32 bits)
{
    const hk_u32 all = HK_KV == 2 ? 0x7c00u : 0x7f80u;

    return (bits & all) == all;
}

/* Of two halves: the highest bit of each that is no number, and others. */
HK_FN hk_u32 hk_halves_bad(hk_u32 word)
{
    return HK_KV == 2 ? (word & 0x7c007c00u) + 0x04000400u : (word & 0x7f807f80u) + 0x00800080u;
}

/* Two keys at a time, so that words are written. Sets poison where a V is not finite: it may lie
 * under a key that not all rows see. */
HK_PIECE void hk_stage_v(const struct hk_group *g, hk_i32 id, hk_u64 any)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_u32 bad = 0;
    hk_i32 i, j;

    HK_MARK(stage_v);
    HK_UNROLL_FEW
    for (i = id; i < HK_BLOCK / 2 * HK_UNITS_OF_ROW; i += HK_THREADS) {
        const hk_i32 key = i % (HK_BLOCK / 2) * 2, t = i / (HK_BLOCK / 2) * 8;
        HK_LOCAL hk_u32 *to = shared->mma.v + t * HK_V_LINE + key / 2;
        hk_u32 even[4] = { 0, 0, 0, 0 }, odd[4] = { 0, 0, 0, 0 };

        if (any >> key & 1)
            hk_halves_load(shared->v_rows.base, shared->v_wide, shared->v_at[key],
                           shared->v_rows.channel, g->pass + t, g->call->plan->d_v, even);
        if (any >> (key + 1) & 1)
            hk_halves_load(shared->v_rows.base, shared->v_wide, shared->v_at[key + 1],
                           shared->v_rows.channel, g->pass + t, g->call->plan->d_v, odd);
        HK_UNROLL
        for (j = 0; j < 4; j++) {
            bad |= hk_halves_bad(even[j]) | hk_halves_bad(odd[j]);
            to[2 * j * HK_V_LINE] = (even[j] & 0xffffu) | odd[j] << 16;
            to[(2 * j + 1) * HK_V_LINE] = even[j] >> 16 | (odd[j] & 0xffff0000u);
        }
    }
    if (bad & 0x80008000u)
        hk_local_or(&shared->poison, 1);
}

#endif
