/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for few rows: slabs of K and V on their way into local memory. Two are fetched into
 * registers, h says which, while the one before them is worked on. Where the type is a constant, K
 * stays there: each thread reads the row of its own key, 64 bytes at a time. Else it lies in local
 * memory by key, its four units at places that a key turns round, so that neighbours read different
 * banks. V lies by key and channel; halves by pairs of keys, so that a word has a channel of both.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_FEW_STAGE_H
#define HEED_BACKENDS_KERNELS_ATTN_FEW_STAGE_H

#include "few_units.h"

enum {
    HK_V_UNITS = HK_WIDTH / HK_UNIT,            /* of a key */
    HK_V_TOGETHER = HK_HALVES ? 2 : 1           /* keys that share words */
};

/* What lies there from the step before is not kept: registers are scarce where it is walked. */
HK_FN void hk_next_clear(struct hk_mine *me)
{
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < HK_NEXT_WORDS; i++)
        me->next[0][i] = me->next[1][i] = 0;
}

/* ---- K ---- */

#if HK_KV
HK_FN void hk_find_k(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step,
                     struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i64 at = shared->k_at[id % HK_PLACES];

    HK_MARK(stage_k);
    me->k_end = at != HK_NO_ROW && shared->k_wide ? step->d : 0;
    me->k_from = hk_byte(shared->k_rows.base,
                         me->k_end ? at * hk_element_bytes(&shared->k_rows) : 0);
#if HK_ANYWAY
    if (!me->k_end)
        me->k_from = hk_no_row(g);
#endif
}

/* Channels t on of a thread's key; where there are none anything will do. */
HK_FN void hk_fetch_unit(const struct hk_mine *me, hk_i32 t, hk_u32 *word)
{
    HK_IS_GLOBAL(me->k_from);
#if HK_ANYWAY
    hk_load_words(me->k_from + (t < me->k_end ? t * (16 / HK_UNIT) : 0), 4, word);
#else
    if (t < me->k_end)
        hk_load_words(me->k_from + t * (16 / HK_UNIT), 4, word);
#endif
}

HK_FN void hk_fetch_k(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step,
                      hk_i32 t0, struct hk_mine *me, const hk_i32 h)
{
    hk_i32 u;

    (void)g, (void)id, (void)step;
    HK_MARK(stage_k);
    HK_UNROLL
    for (u = 0; u < 4; u++)
        hk_fetch_unit(me, t0 + u * HK_UNIT, me->next[h] + 4 * u);
}

/* Rows that do not lie in units: the same when they are wanted, number by number, by way of the
 * thread's part of local memory, where registers are found by their number: a part of the words at
 * a time, which move up. Channels behind the last are 0. */
HK_FN void hk_read_k(const struct hk_group *g, hk_i32 id, hk_i32 d, hk_i32 t0, hk_u32 *word)
{
    enum { OWN = HK_SLAB_WORDS / HK_THREADS };
    HK_LOCAL const struct hk_matrix *m = &g->shared->k_rows;
    HK_LOCAL float *own = g->shared->in.slab + id * OWN;
    const hk_i64 at = g->shared->k_at[id % HK_PLACES];
    hk_i32 i, j;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (j = 0; j < 16; j += OWN) {
        HK_NO_UNROLL
        for (i = 0; i < OWN; i++)
#if HK_HALVES
            own[i] = hk_float(hk_half_slowly(m, at, t0 + 2 * (j + i), d) |
                              hk_half_slowly(m, at, t0 + 2 * (j + i) + 1, d) << 16);
#else
            own[i] = hk_number_slowly(m, at, t0 + j + i, d);
#endif
        HK_UNROLL
        for (i = 0; i + OWN < 16; i++)
            word[i] = word[i + OWN];
        HK_UNROLL
        for (i = 0; i < OWN; i++)
            word[16 - OWN + i] = hk_word(own[i]);
    }
}
#else
/* Where local memory has unit u of K of a place. */
HK_FN HK_LOCAL float *hk_k_unit(const struct hk_group *g, hk_i32 place, hk_i32 u)
{
    return g->shared->in.slab + place * 16 + ((u ^ place >> 1) & 3) * 4;
}

/* The rows that a thread stages in a step, where they lie in units. */
HK_FN void hk_find_k(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step,
                     struct hk_mine *me)
{
    hk_i32 i;

    (void)step;
    HK_MARK(stage_k);
    HK_UNROLL
    for (i = 0; i < HK_FETCHED; i++)
        me->k_row[i] = g->shared->k_wide ? g->shared->k_at[(id + i * HK_THREADS) / 4] : HK_NO_ROW;
}

/* Channels t0 on; where there is no key anything will do. */
HK_FN void hk_fetch_k(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step,
                      hk_i32 t0, struct hk_mine *me, const hk_i32 h)
{
    const hk_i32 t = t0 + id % 4 * HK_UNIT;

    HK_MARK(stage_k);
    if (t < step->d)
        hk_units_load(g, &g->shared->k_rows, me->k_row, t, me->next[h]);
}

HK_FN void hk_put_k_slowly(const struct hk_group *g, hk_i32 id, hk_i32 d, hk_i32 t0)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_matrix *m = &shared->k_rows;
    hk_i32 i;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (i = id; i < HK_PLACES * 16; i += HK_THREADS) {
        const hk_i64 at = shared->k_at[i / 16];
        HK_LOCAL float *to = hk_k_unit(g, i / 16, i % 16 / 4) + i % 4;

        *to = hk_number_slowly(m, at, t0 + i % 16, d);
    }
}

HK_FN void hk_put_k(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step, hk_i32 t0,
                    hk_u32 *next)
{
    const hk_i32 t = t0 + id % 4 * HK_UNIT;
    hk_i32 i;

    HK_MARK(stage_k);
    if (!g->shared->k_wide) {
        hk_put_k_slowly(g, id, step->d, t0);
        return;
    }
    if (t >= step->d)
        return;
    hk_units_widen(&g->shared->k_rows, t, next);
    HK_UNROLL
    for (i = 0; i < HK_FETCHED; i++)
        hk_words_put(hk_k_unit(g, (id + i * HK_THREADS) / 4, id % 4), next + 4 * i);
}
#endif

/* ---- V ---- */

/* The key of a thread's unit i in a slab; all are of the same channels. */
HK_FN hk_i32 hk_v_key(hk_i32 id, const hk_i32 i)
{
    const hk_i32 n = id / HK_V_UNITS + i / HK_V_TOGETHER * (HK_THREADS / HK_V_UNITS);

    return n * HK_V_TOGETHER + i % HK_V_TOGETHER;
}

/* The first of a thread's channels among those of the pass. */
HK_FN hk_i32 hk_v_channel(hk_i32 id)
{
    return id % HK_V_UNITS * HK_UNIT;
}

#if HK_SCALES
/* A thread's scale and minimum of V in a slab: key id % HK_SLAB_KEYS, group id / HK_SLAB_KEYS. */
HK_FN void hk_fetch_scales(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step,
                           hk_i32 k0, hk_u32 *scale)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i32 key = k0 + id % HK_SLAB_KEYS, t = id / HK_SLAB_KEYS * HK_BLOCK_CHANNELS;
    const hk_i64 row = shared->v_at[key];

    scale[0] = scale[1] = 0;
    if (id < HK_SLAB_KEYS * HK_V_GROUPS && row != HK_NO_ROW && t < step->width)
        hk_scales_load(&shared->v_rows, row, shared->scales.v_at[key], g->pass + t, scale);
}

HK_FN void hk_put_scales(const struct hk_group *g, hk_i32 id, const hk_u32 *scale)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_matrix *m = &shared->v_rows;

    if (id >= HK_SLAB_KEYS * HK_V_GROUPS)
        return;
    shared->scales.v[id] = hk_scale_widen(m, scale[0], 0);
    shared->scales.v_low[id] = hk_scale_widen(m, scale[1], 1);
}
#endif

/* Keys k0 on; what there is where there is none hk_clear_v removes. */
HK_FN void hk_fetch_v(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step,
                      hk_i32 k0, hk_u32 *next)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    hk_i64 at[HK_FETCHED];
    hk_i32 i;

    const int some = k0 < step->keys && shared->v_wide && hk_v_channel(id) < step->width;

    HK_MARK(stage_v);
    if (!HK_ANYWAY && !some)
        return;
    HK_UNROLL
    for (i = 0; i < HK_FETCHED; i++) {
        at[i] = shared->v_at[some ? k0 + hk_v_key(id, i) : 0];
        if (!some)
            at[i] = HK_NO_ROW;
    }
    hk_units_load(g, &shared->v_rows, at, (hk_i32)g->pass + hk_v_channel(id), next);
}

/* Where local memory has a channel of V among those of a key: the fours of a unit of halves change
 * places from unit to unit, so that neighbours write to different banks. */
HK_FN hk_i32 hk_v_place(hk_i32 channel)
{
    return HK_HALVES ? channel ^ (channel / 32 % 2 * 4) : channel;
}

HK_FN void hk_put_v_slowly(const struct hk_group *g, hk_i32 id, hk_i32 k0)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_matrix *m = &shared->v_rows;
    const hk_i64 end = g->call->plan->d_v;
    hk_i32 i;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (i = id; i < HK_SLAB_WORDS; i += HK_THREADS) {
        const hk_i32 key = k0 + i / HK_WIDTH * HK_V_TOGETHER;
        const hk_i64 t = g->pass + hk_v_place(i % HK_WIDTH);

#if HK_HALVES
        shared->in.slab[i] =
            hk_float(hk_half_slowly(m, shared->v_at[key], t, end) |
                     hk_half_slowly(m, shared->v_at[key + 1], t, end) << 16);
#else
        shared->in.slab[i] = hk_number_slowly(m, shared->v_at[key], t, end);
#endif
    }
}

/* Keys that are not there are 0. */
HK_FN void hk_clear_v(const struct hk_group *g, hk_i32 id, hk_i32 k0, hk_u32 *next)
{
    hk_i32 i;

    HK_MARK(cold);
    HK_UNROLL
    for (i = 0; i < HK_FETCHED * 4; i++) {
        if (g->shared->v_at[k0 + hk_v_key(id, i / 4)] == HK_NO_ROW)
            next[i] = 0;
    }
}

/* Two keys' units of halves, to words of a channel of both; turn: whether fours change places. */
HK_FN void hk_halves_put(HK_LOCAL float *to, hk_i32 turn, const hk_u32 *first,
                         const hk_u32 *second)
{
    hk_u32 word[8];
    hk_i32 j;

    HK_UNROLL
    for (j = 0; j < 4; j++) {
        word[2 * j] = (first[j] & 0xffffu) | second[j] << 16;
        word[2 * j + 1] = first[j] >> 16 | (second[j] & 0xffff0000u);
    }
    hk_words_put(to + 4 * turn, word);
    hk_words_put(to + 4 * (1 - turn), word + 4);
}

HK_FN void hk_put_v(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step, hk_i32 k0,
                    hk_u32 *next)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_i32 i;

    HK_MARK(stage_v);
    if (!shared->v_wide) {
        hk_put_v_slowly(g, id, k0);
        return;
    }
    if (hk_v_channel(id) >= step->width)
        return;
    if (shared->few.marks[k0 / HK_BLOCK] & HK_MARK_GAPS)
        hk_clear_v(g, id, k0, next);
    hk_units_widen(&shared->v_rows, (hk_i32)g->pass + hk_v_channel(id), next);
    HK_UNROLL
    for (i = 0; i < HK_FETCHED; i += HK_V_TOGETHER) {
        HK_LOCAL float *to = shared->in.slab + hk_v_key(id, i) / HK_V_TOGETHER * HK_WIDTH +
                             id % HK_V_UNITS * HK_UNIT;

#if HK_HALVES
        hk_halves_put(to, id / 4 % 2, next + 4 * i, next + 4 * i + 4);
#else
        hk_words_put(to, next + 4 * i);
#endif
    }
}

#endif
