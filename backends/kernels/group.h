/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: a group of 256 threads as 16 x 16 on a strip of HK_GROUP_ROWS query rows.
 * Thread (x, y) has rows y * HK_TR + r, keys x + 16 * c of a block, channels x + 16 * c of a pass:
 * so the 16 partial sums of a row are the 16 threads of its line. Threads below HK_GROUP_ROWS look
 * after the reach of the row of their number.
 */
#ifndef HEED_BACKENDS_KERNELS_GROUP_H
#define HEED_BACKENDS_KERNELS_GROUP_H

#define HK_THREADS 256
#define HK_HAS_SHARED 1
#define HK_SUB_SPACE HK_GLOBAL
#define HK_VIEW_SPACE HK_LOCAL
#include "bias.h"
#include "finish.h"
#include "tasks.h"

#define HK_ROWS HK_GROUP_ROWS
#define HK_TR (HK_ROWS / 16)    /* rows of an thread */
#define HK_TC (HK_WIDTH / 16)   /* channels of an thread */
#if HK_LARGE
#define HK_SLICE 16             /* channels of K, or keys of V, staged at a time */
#else
#define HK_SLICE 32
#endif
#define HK_Q_LINE (HK_ROWS + 1)
#define HK_K_LINE (HK_BLOCK + 1)
#define HK_P_LINE (HK_BLOCK + 1)
#define HK_STAGE_QK (HK_SLICE * (HK_Q_LINE + HK_K_LINE))
#define HK_STAGE_V (HK_SLICE * HK_WIDTH)
#define HK_NO_BLOCK ((hk_i64)1 << 62)
#define HK_REMOVED 0x80000000u  /* as a weight: -0; others are +0 or more, or NaN */

/* Places whose rows have scales: where the type of rows is not known, any may be of I8. */
#define HK_SCALED (HK_KV ? 1 : HK_BLOCK)

struct hk_shared {
    hk_i64 keys[HK_BLOCK];              /* key index of each place, if available, and its rows: */
    hk_i64 k_at[HK_BLOCK], v_at[HK_BLOCK];      /* elements from k.base and v.base */
    float k_scale[HK_SCALED], v_scale[HK_SCALED];       /* of I8 */
    hk_u64 masks[HK_ROWS];              /* what a row sees of the block */
    hk_i64 hull_lo[HK_RANGES], hull_hi[HK_RANGES];
    hk_i64 index[HK_ROWS], head[HK_ROWS], q[HK_ROWS];
    struct hk_sub_view views[HK_SUBS];
    /* The walk over windows of rows, sources, their sub-sources and blocks; written by thread 0. */
    struct hk_matrix k, v;              /* of the source at hand */
    hk_i64 len;                         /* its keys */
    hk_i64 residue;
    hk_i64 block, chunk;
    hk_i32 window, windows;             /* a window: all rows, or one where they do not agree */
    hk_i32 window_first, window_end;
    hk_u32 source, sub;                 /* sub: of the source */
    hk_u32 in_sub, opens;               /* a sub-source is being walked; it is new */
    hk_u32 works, ends, begins, done;   /* there is a block; a chunk ends, begins; all is done */
    hk_u32 all[HK_ROWS];
    hk_u32 active[HK_ROWS];             /* 0: no row; 1: absent, sees nothing; 2: a row */
    hk_u32 available[2], any[2];        /* words in halves */
    hk_u32 poison, reserved;
    float red[HK_ROWS * 17];
    float p[HK_ROWS * HK_P_LINE];
    union {
        float stage[HK_STAGE_QK > HK_STAGE_V ? HK_STAGE_QK : HK_STAGE_V];
        struct {                        /* of a sub-source that opens: before anything is staged */
            hk_i64 lo[HK_ROWS * HK_RANGES], hi[HK_ROWS * HK_RANGES];
        } reach;
    } in;
};

/* What an thread keeps. */
struct hk_mine {
    float s[HK_TR][4];
    float o[HK_TR][HK_TC], acc_o[HK_TR][HK_TC];
    float l[HK_TR], acc_l[HK_TR];
    float m[HK_TR], acc_m[HK_TR];
    hk_u32 empty[HK_TR], has_partial[HK_TR];
    struct hk_reach reach;              /* of row `id`, for the first HK_ROWS threads */
};

/* A strip at work. */
struct hk_group {
    const struct hk_call *call;
    HK_LOCAL struct hk_shared *shared;
    struct hk_task task;
    hk_i64 pass;                        /* first channel of V */
};

HK_FN hk_u64 hk_joined(HK_LOCAL const hk_u32 *halves)
{
    return (hk_u64)halves[1] << 32 | halves[0];
}

HK_FN void hk_or_mask(HK_LOCAL hk_u32 *halves, hk_u64 mask)
{
    if ((hk_u32)mask)
        hk_local_or(&halves[0], (hk_u32)mask);
    if ((hk_u32)(mask >> 32))
        hk_local_or(&halves[1], (hk_u32)(mask >> 32));
}

/* Channel t of the row that lies `row` elements from m's base; scale: its own, if it is of I8. */
HK_FN float hk_kv_at(HK_LOCAL const struct hk_matrix *m, hk_i64 row, hk_i64 t,
                     HK_LOCAL const float *scale)
{
    const hk_i64 at = row + t * m->channel;

    (void)scale;
#if HK_KV == 1
    return ((HK_GLOBAL const float *)m->base)[at];
#elif HK_KV == 2
    return hk_load_f16((HK_GLOBAL const hk_u16 *)m->base + at);
#elif HK_KV == 3
    return hk_from_bf16(((HK_GLOBAL const hk_u16 *)m->base)[at]);
#else
    if (m->dtype == HK_I8)
        return hk_mul(hk_from_i8(((HK_GLOBAL const hk_i8 *)m->base)[at]), *scale);
    return hk_element(m->dtype, m->base, at);
#endif
}

/* Of the key at place i of the block. */
HK_FN float hk_k_element(HK_LOCAL const struct hk_shared *shared, hk_i32 i, hk_i64 t)
{
    return hk_kv_at(&shared->k, shared->k_at[i], t, shared->k_scale + i % HK_SCALED);
}

HK_FN float hk_v_element(HK_LOCAL const struct hk_shared *shared, hk_i32 i, hk_i64 t)
{
    return hk_kv_at(&shared->v, shared->v_at[i], t, shared->v_scale + i % HK_SCALED);
}

HK_FN struct hk_row hk_group_row(const struct hk_group *g, hk_i32 i)
{
    struct hk_row row;

    row.q = g->shared->q[i];
    row.index = g->shared->index[i];
    row.head = g->shared->head[i];
    row.all = (hk_i64)(g->shared->all[i] >> g->shared->source & 1);
    return row;
}

/* ---- rows of the strip ---- */

/* Row i of the group, by thread i. */
HK_FN void hk_row_open(const struct hk_group *g, hk_i32 i)
{
    const hk_i64 stack = g->call->plan->strips.stack, at = i / stack;
    HK_LOCAL struct hk_shared *shared = g->shared;
    struct hk_query query;

    shared->active[i] = 0;
    shared->index[i] = shared->head[i] = shared->q[i] = 0;
    shared->all[i] = 0;
    if (at >= g->task.count || !hk_query_get(g->call, &g->task, at, &query))
        return;
    shared->active[i] = query.absent ? 1 : 2;
    shared->index[i] = query.index;
    shared->head[i] = query.head + i % stack;
    shared->q[i] = query.q;
    shared->all[i] = query.all;
}

/* The first row there is, -1: none. */
HK_FN hk_i32 hk_rows_first(const struct hk_group *g)
{
    hk_i32 i;

    for (i = 0; i < HK_ROWS; i++) {
        if (g->shared->active[i])
            return i;
    }
    return -1;
}

/* Do all rows share the residue of every strided sub-source that follows the query? */
HK_FN int hk_rows_agree(const struct hk_group *g, hk_i32 first)
{
    const hk_i64 step = g->call->plan->strips.row_step;
    hk_i32 i;

    for (i = first; i < HK_ROWS && step > 1; i++) {
        if (g->shared->active[i] && (g->shared->q[i] - g->shared->q[first]) % step != 0)
            return 0;
    }
    return 1;
}

/* ---- what the rows see of a sub-source ---- */

/* By thread i for row i. */
HK_PIECE void hk_reach_row(const struct hk_group *g, HK_GLOBAL const struct hk_sub *sub,
                           HK_LOCAL const struct hk_sub_view *view, hk_i32 i, struct hk_mine *me)
{
    const struct hk_row row = hk_group_row(g, i);
    HK_LOCAL struct hk_shared *shared = g->shared;
    hk_u32 r;

    hk_reach_find(sub, view, &row, &me->reach);
    if (shared->active[i] < 2 || i < shared->window_first || i >= shared->window_end)
        me->reach.n = 0;
    for (r = me->reach.n; r < HK_RANGES; r++)
        me->reach.lo[r] = me->reach.hi[r] = 0;
    for (r = 0; r < HK_RANGES; r++) {
        shared->in.reach.lo[i * HK_RANGES + (hk_i32)r] = me->reach.lo[r];
        shared->in.reach.hi[i * HK_RANGES + (hk_i32)r] = me->reach.hi[r];
    }
    if (i == shared->window_first)
        shared->residue = me->reach.residue;
}

/* By thread r for range r. */
HK_FN void hk_reach_hull(const struct hk_group *g, hk_i32 r)
{
    hk_i64 lo = HK_NO_BLOCK, hi = -HK_NO_BLOCK;
    hk_i32 i;

    for (i = 0; i < HK_ROWS; i++) {
        const hk_i64 a = g->shared->in.reach.lo[i * HK_RANGES + r],
                     b = g->shared->in.reach.hi[i * HK_RANGES + r];

        if (a < b) {
            lo = hk_min(a, lo);
            hi = hk_max(b, hi);
        }
    }
    g->shared->hull_lo[r] = lo;
    g->shared->hull_hi[r] = hi;
}

HK_FN HK_GLOBAL const struct hk_sub *hk_group_sub(const struct hk_group *g)
{
    return hk_subs(g->call, g->call->sources + g->shared->source) + g->shared->sub;
}

/* The first block from `block` on that some row may see; HK_NO_BLOCK: none. */
HK_FN hk_i64 hk_group_next(const struct hk_group *g, hk_i64 block)
{
    HK_GLOBAL const struct hk_sub *sub = hk_group_sub(g);
    HK_LOCAL const struct hk_sub_view *view = &g->shared->views[g->shared->sub];
    hk_i64 best = HK_NO_BLOCK;
    hk_i32 r;

    if (sub->kind == HK_SUB_GATHER)
        block = hk_gather_next(sub, view, block);
    for (r = 0; r < HK_RANGES; r++) {
        const hk_i64 lo = g->shared->hull_lo[r], hi = g->shared->hull_hi[r];

        if (lo < hi && hi > block * HK_BLOCK)
            best = hk_min(best, hk_max(lo / HK_BLOCK, block));
    }
    return best;
}

/* The end of what any row may see: what a STRIDED has behind it may be no number. */
HK_FN hk_i64 hk_group_end(const struct hk_group *g)
{
    hk_i64 end = g->shared->hull_hi[0];
    hk_i32 r;

    for (r = 1; r < HK_RANGES; r++)
        end = hk_max(g->shared->hull_hi[r], end);
    return end;
}

/* Place i of the block, by thread i: which key it is, and is it there for any row (as hk_block_mask
 * has it)? */
HK_FN int hk_place_open(const struct hk_group *g, HK_GLOBAL const struct hk_sub *sub,
                        HK_LOCAL const struct hk_sub_view *view, hk_i64 block, hk_i32 i)
{
    const hk_i64 ordinal = block * HK_BLOCK + i;
    struct hk_reach reach;
    hk_i64 key;

    if (sub->kind == HK_SUB_LIST && ordinal >= view->n_list)
        return 0;
    if (sub->kind == HK_SUB_GATHER && ordinal >= view->n_list * sub->run)
        return 0;
    if (sub->kind == HK_SUB_STRIDED && ordinal >= hk_group_end(g))
        return 0;
    reach.residue = g->shared->residue;
    key = hk_key(sub, view, &reach, ordinal);
    if (key < 0 || key >= view->len || (view->mask && view->mask[key * view->mask_stride] == 0))
        return 0;
    if ((sub->kind == HK_SUB_KEYS || sub->kind == HK_SUB_STRIDED) && hk_is_global(sub, view, key))
        return 0;
    if (!hk_row_present(&g->shared->k, key))
        return 0;
    g->shared->keys[i] = key;
    g->shared->k_at[i] = hk_row_offset(&g->shared->k, key);
    g->shared->v_at[i] = hk_row_offset(&g->shared->v, key);
#if HK_KV == 0
    if (g->shared->k.dtype == HK_I8)
        g->shared->k_scale[i] = hk_row_scale(&g->shared->k, key);
    if (g->shared->v.dtype == HK_I8)
        g->shared->v_scale[i] = hk_row_scale(&g->shared->v, key);
#endif
    return 1;
}

#endif
