/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: rows of K and V on their way into local memory, as f32. They come a slice at a
 * time: fetched into registers while the slice before is worked on, then put.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_STAGE_H
#define HEED_BACKENDS_KERNELS_ATTN_STAGE_H

#include "group_units.h"

#if !HK_FEW

HK_FN void hk_next_clear(struct hk_mine *me)
{
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < HK_UNITS * HK_UNIT_WORDS; i++)
        me->next[i] = 0;
}

/* ---- K, transposed ---- */

/* Where a line of K holds a key: the four of a thread side by side. */
HK_FN hk_i32 hk_key_place(hk_i32 key)
{
    return key % 16 * 4 + key / 16;
}

enum { HK_ROW_UNITS = HK_SLICE / HK_UNIT };     /* of a row of K in a slice */

/* Where the rows of K begin that the thread stages, in units that are loaded at once. */
HK_PIECE void hk_find_k(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    hk_i32 i;

    HK_MARK(stage_k);
    HK_UNROLL
    for (i = 0; i < HK_UNITS; i++) {
        const hk_i64 at = shared->k_at[(id + i * HK_THREADS) / HK_ROW_UNITS];

        me->k_from[i] = 0;
        if (at != HK_NO_ROW && shared->k_wide)
            me->k_from[i] = hk_byte(shared->k_rows.base, at * hk_element_bytes(&shared->k_rows));
    }
}

/* Channels t0 on of rows of a type: 0 from d on. Where there is no row anything will do: its score
 * is not used. */
HK_PIECE void hk_fetch_rows(const struct hk_group *g, hk_i32 id, hk_i64 t0, hk_u32 dtype,
                            struct hk_mine *me)
{
    const hk_i64 d = g->call->plan->d;
    hk_i32 i;

    HK_MARK(stage_k);
    if (t0 < d && t0 + HK_SLICE > d) {  /* not before V, for which anything will do as well */
        HK_MARK(cold);
        hk_next_clear(me);
    }
    HK_UNROLL
    for (i = 0; i < HK_UNITS; i++) {
        const hk_i64 t = t0 + (id + i * HK_THREADS) % HK_ROW_UNITS * HK_UNIT;

        if (me->k_from[i] != 0 && t < d)
            hk_unit_load_as(dtype, hk_byte(me->k_from[i], t * hk_size(HK_KV ? HK_KV : dtype)),
                         me->next + i * HK_UNIT_WORDS);
    }
}

HK_FN void hk_fetch_k(const struct hk_group *g, hk_i32 id, hk_i64 t0, struct hk_mine *me)
{
    hk_fetch_rows(g, id, t0, g->shared->k_rows.dtype, me);
}

/* Rows that do not lie in units are read number by number, when they are wanted. */
HK_FN void hk_put_k_slowly(const struct hk_group *g, hk_i32 id, hk_i64 t0)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_i32 i;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (i = id; i < HK_BLOCK * HK_SLICE; i += HK_THREADS) {
        const hk_i32 key = i / HK_SLICE, t = i % HK_SLICE;
        float x = 0.0f;

        if (shared->k_at[key] != HK_NO_ROW && t0 + t < g->call->plan->d)
            x = hk_row_element(&shared->k_rows, shared->k_at[key], t0 + t);
        shared->in.k[t * HK_K_LINE + hk_key_place(key)] = x;
    }
}

/* wide: as k_wide. */
HK_PIECE void hk_put_k(const struct hk_group *g, hk_i32 id, hk_i64 t0, hk_u32 wide,
                       const struct hk_mine *me)
{
    hk_i32 i, j;

    HK_MARK(stage_k);
    if (!wide) {
        hk_put_k_slowly(g, id, t0);
        return;
    }
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

/* Where the thread's channels of V begin, in units that are loaded at once. */
HK_PIECE void hk_find_v(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    const hk_i64 t = g->pass + id % HK_KEY_UNITS * HK_UNIT;

    HK_MARK(stage_v);
    me->v_from = 0;
    if (shared->v_wide && t < g->call->plan->d_v)
        me->v_from = hk_byte(shared->v_rows.base, t * hk_element_bytes(&shared->v_rows));
}

/* HK_KEYS keys from place k0 on. Where there is no row anything will do: rows leave out its key. */
HK_PIECE void hk_fetch_v(const struct hk_group *g, hk_i32 id, hk_i32 k0, struct hk_mine *me)
{
    HK_LOCAL const struct hk_matrix *m = &g->shared->v_rows;
    hk_i32 i;

    HK_MARK(stage_v);
    HK_UNROLL
    for (i = 0; i < HK_UNITS; i++) {
        const hk_i64 at = g->shared->v_at[(k0 + (id + i * HK_THREADS) / HK_KEY_UNITS) % HK_BLOCK];

        if (k0 < HK_BLOCK && me->v_from != 0 && at != HK_NO_ROW)
            hk_unit_load(m, hk_byte(me->v_from, at * hk_element_bytes(m)),
                         me->next + i * HK_UNIT_WORDS);
    }
}

/* NaN once an x is not finite. */
HK_FN float hk_finite_so_far(float x, float before)
{
    return hk_fma(x, 0.0f, before);
}

HK_FN float hk_put_v_slowly(const struct hk_group *g, hk_i32 id, hk_i32 k0)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    float good = 0.0f;
    hk_i32 i;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (i = id; i < HK_KEYS * HK_WIDTH; i += HK_THREADS) {
        const hk_i32 key = k0 + i / HK_WIDTH;
        const hk_i64 t = g->pass + i % HK_WIDTH;
        float x = 0.0f;

        if (shared->v_at[key] != HK_NO_ROW && t < g->call->plan->d_v)
            x = hk_row_element(&shared->v_rows, shared->v_at[key], t);
        good = hk_finite_so_far(x, good);
        shared->in.v[i] = x;
    }
    return good;
}

HK_FN float hk_put_v_units(const struct hk_group *g, hk_i32 id, const struct hk_mine *me)
{
    float good = 0.0f;
    hk_i32 i, j, c;

    HK_UNROLL
    for (i = 0; i < HK_UNITS; i++) {
        HK_LOCAL float *to = g->shared->in.v + (id + i * HK_THREADS) * HK_UNIT;

        HK_UNROLL
        for (j = 0; j < HK_UNIT; j += 4) {
            float x[4];

            HK_UNROLL
            for (c = 0; c < 4; c++) {
                x[c] = hk_unit_get(me->next + i * HK_UNIT_WORDS, j + c);
                good = hk_finite_so_far(x[c], good);
            }
            hk_local_put4(to + j, x);
        }
    }
    return good;
}

#if HK_SCALES
HK_FN float hk_put_v_scales(const struct hk_group *g, hk_i32 id, hk_i32 k0);
#endif

/* Sets poison where a V is not finite: it may lie under a key that not all rows see. wide: as
 * v_wide. */
HK_PIECE void hk_put_v(const struct hk_group *g, hk_i32 id, hk_i32 k0, hk_u32 wide,
                       const struct hk_mine *me)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    float good;

    HK_MARK(stage_v);
    if (wide)
        good = hk_put_v_units(g, id, me);
    else
        good = hk_put_v_slowly(g, id, k0);
#if HK_SCALES
    good = hk_add(good, hk_put_v_scales(g, id, k0));
#endif
    if (!hk_ordered(good))
        hk_local_or(&shared->poison, 1);
}

#endif

#endif
