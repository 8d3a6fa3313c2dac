/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for many rows: a LISTED source whose lists few rows share, so that a strip has many
 * of them: else strips would be as few rows, and read all other keys once for each. A thread reads
 * the rows of K that its scores want, and the threads of a row those of V side by side, from where
 * they lie; nothing is staged. Places of a block are those of each row's own list.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_LISTED_H
#define HEED_BACKENDS_KERNELS_ATTN_LISTED_H

#include "stage.h"

/* Is the source at hand of this kind? */
HK_FN int hk_is_apart(const struct hk_group *g)
{
#if HK_LISTS
    return g->shared->apart != 0;
#else
    (void)g;
    return 0;
#endif
}

/* Is it not, as sums are told: did compilers know that it is one or the other, they would keep the
 * sums of both ways in registers. */
HK_FN int hk_is_staged(const struct hk_group *g)
{
#if HK_LISTS
    return g->shared->staged != 0;
#else
    (void)g;
    return 1;
#endif
}

#if HK_LISTS

/* ---- keys ---- */

/* Place i of the block, by thread i: is it one of a list's? Where the list of row i begins, from
 * that of the first row, takes the place of a key. */
HK_FN int hk_listed_open(const struct hk_group *g, hk_i32 i)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    HK_GLOBAL const struct hk_source *source = g->call->sources + shared->source;
    HK_GLOBAL const struct hk_sub_slots *slots =
        (HK_GLOBAL const struct hk_sub_slots *)(g->call->blob + g->call->plan->slots_at) +
        source->first_sub;
    const hk_i64 first = hk_quotient(shared->index[shared->window_first], source->list_rows);

    if (i < HK_ROWS)
        shared->keys[i] = (hk_quotient(shared->index[i], source->list_rows) - first) *
                          slots->list.stride[4];
    return shared->block * HK_BLOCK + i < shared->views[0].n_list * hk_group_sub(g)->run;
}

/* The key that row i's list has at a place of the block; negative: none. */
HK_FN hk_i64 hk_listed_key(const struct hk_group *g, hk_i32 i, hk_i32 place)
{
    HK_LOCAL const struct hk_sub_view *view = &g->shared->views[0];
    const hk_i64 run = hk_group_sub(g)->run, ordinal = g->shared->block * HK_BLOCK + place;
    const hk_i64 at = run == 1 ? ordinal : hk_quotient(ordinal, run);
    const hk_i64 entry = view->list[g->shared->keys[i] + at * view->list_stride];

    return entry < 0 ? -1 : (entry - at) * run + ordinal;
}

/* Of places that row i's ranges hold, those whose keys it sees. */
HK_PIECE hk_u64 hk_listed_mask(const struct hk_group *g, hk_i32 i, hk_u64 mask)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    HK_LOCAL const struct hk_sub_view *view = &shared->views[0];
    const hk_i64 end = hk_keys_decide(hk_group_sub(g)) ? hk_min(shared->limit[i], view->len)
                                                       : view->len;
    hk_u64 left;

    HK_NO_UNROLL
    for (left = mask; left != 0; left &= left - 1) {
        const hk_i32 n = hk_first_bit(left);
        const hk_i64 key = hk_listed_key(g, i, n);

        if (key < 0 || key >= end || (view->mask && view->mask[key * view->mask_stride] == 0) ||
            !hk_row_present(&shared->k_rows.layout, key))
            mask &= ~((hk_u64)1 << n);
    }
    return mask;
}

/* The row of memory that holds such a key, which row i sees. There are no pages. */
HK_FN hk_i64 hk_listed_row(const struct hk_group *g, hk_i32 i, hk_i32 place)
{
    hk_i64 page, in;

    hk_row_find(&g->shared->k_rows.layout, hk_listed_key(g, i, place), &page, &in);
    return in;
}

/* ---- scores ---- */

/* Row i of the group before rows of K that begin `at` elements from the base, two of them. */
HK_INLINE void hk_listed_wide(const struct hk_group *g, const hk_u32 dtype, hk_i32 i,
                              const hk_i64 *at, float *sum)
{
    HK_GLOBAL const char *base = g->shared->k_rows.base;
    const hk_i64 size = hk_size(dtype);

    hk_two_products(g->shared->q + i, HK_Q_LINE, (hk_u32)g->call->plan->d, dtype,
                    hk_byte(base, at[0] * size), hk_byte(base, at[1] * size), sum);
}

/* The same where rows of K do not lie in units, or those of Q are not in local memory. */
HK_FN void hk_listed_slowly(const struct hk_group *g, hk_i32 i, const hk_i64 *at, float *sum)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    const hk_i64 q = hk_batch_offset(g->call, plan->q.stride, g->task->b) +
                     g->shared->head[i] * plan->q.stride[3] +
                     (g->task->begin + g->shared->index[i]) * plan->q.stride[4];
    hk_i64 t;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (t = 0; t < plan->d; t++) {
        const float x = hk_element(plan->q.dtype, hk_q(g->call), q + t * plan->q.stride[5]);

        sum[0] = hk_fma(x, hk_row_element(&g->shared->k_rows, at[0], t), sum[0]);
        sum[1] = hk_fma(x, hk_row_element(&g->shared->k_rows, at[1], t), sum[1]);
    }
}

HK_FN void hk_listed_products(const struct hk_group *g, hk_i32 i, const hk_i64 *at, float *sum)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;

    if (!shared->k_wide || g->call->plan->d > HK_KEPT)
        hk_listed_slowly(g, i, at, sum);
    else if (shared->k_rows.dtype == HK_F32)
        hk_listed_wide(g, HK_F32, i, at, sum);
    else if (shared->k_rows.dtype == HK_F16)
        hk_listed_wide(g, HK_F16, i, at, sum);
    else if (shared->k_rows.dtype == HK_BF16)
        hk_listed_wide(g, HK_BF16, i, at, sum);
    else
        HK_UNREACHABLE();
}

/* A thread's scores of places x + 32 * half and 16 behind, one of which row i sees at least. Of a
 * key that it does not see nothing is read, and its score may be any. */
HK_FN void hk_listed_pair(const struct hk_group *g, hk_i32 i, hk_i32 place, hk_u32 seen, float *sum)
{
    const hk_i64 row = g->shared->k_rows.row;
    hk_i64 at[2];

    at[0] = hk_listed_row(g, i, seen & 1 ? place : place + 16) * row;
    at[1] = (seen & 3) == 3 ? hk_listed_row(g, i, place + 16) * row : at[0];
    hk_listed_products(g, i, at, sum);
}

/* Those of a word's keys x and x + 16, if the row sees one. */
HK_FN void hk_listed_half(const struct hk_group *g, hk_i32 row, hk_i32 x, const hk_i32 h,
                          float *sum)
{
    const hk_u32 word = g->shared->masks[2 * row + h] >> x, seen = (word & 1) | (word >> 15 & 2);

    if (seen)
        hk_listed_pair(g, row, x + 32 * h, seen, sum);
}

/* Step 3 for the thread's rows. Halves one by one: Intel's compiler does not unroll a loop of so
 * much, and would find the sums by number, in memory. */
HK_PIECE void hk_listed_scores(const struct hk_group *g, hk_i32 id, struct hk_mine *me)
{
    const hk_i32 x = id % 16;
    hk_i32 n, r, c;

    HK_MARK(qk);
    HK_NO_UNROLL
    for (n = 0; n < HK_TR; n++) {
        const hk_i32 row = id / 16 * HK_TR + n;
        float sum[4] = { 0.0f, 0.0f, 0.0f, 0.0f };

        hk_listed_half(g, row, x, 0, sum);
        hk_listed_half(g, row, x, 1, sum + 2);
        HK_UNROLL
        for (c = 0; c < 4; c++) {
            HK_UNROLL
            for (r = 0; r < HK_TR - 1; r++)     /* no index of a register is computed */
                me->s[r][c] = me->s[r + 1][c];
            me->s[HK_TR - 1][c] = sum[c];
        }
    }
}

/* ---- values ---- */

/* Where V of the places from k0 on lies, of each row. */
HK_PIECE void hk_listed_put(const struct hk_group *g, hk_i32 id, hk_i32 k0)
{
    HK_LOCAL struct hk_shared *shared = g->shared;
    const hk_i32 x = id % 16, place = k0 + x;
    hk_i32 r;

    HK_MARK(stage_v);
    if (x >= HK_KEYS)
        return;
    HK_NO_UNROLL
    for (r = 0; r < HK_TR; r++) {
        const hk_i32 row = id / 16 * HK_TR + r;
        const int sees = (int)(shared->masks[2 * row + place / 32] >> place % 32 & 1);

        shared->in.rows[x * HK_ROWS + row] = sees ? (hk_u32)hk_listed_row(g, row, place) : 0;
    }
}

/* Four channels of V from t on. */
HK_FN void hk_listed_value(const struct hk_group *g, hk_u32 row, hk_i64 t, hk_u32 *word)
{
    HK_LOCAL const struct hk_matrix *m = &g->shared->v_rows;
    const hk_i64 at = (hk_i64)row * m->row;
    hk_i32 j;

    if (g->shared->v_wide) {
        if (t < g->call->plan->d_v)
            hk_load_any(m->dtype, hk_byte(m->base, (at + t) * hk_element_bytes(m)), word);
        return;
    }
    HK_MARK(cold);
    HK_NO_UNROLL
    for (j = 0; j < 4; j++) {           /* no index of a register is computed */
        word[0] = word[1];
        word[1] = word[2];
        word[2] = word[3];
        if (t + j < g->call->plan->d_v)
            word[3] = hk_word(hk_row_element(m, at, t + j));
    }
}

/* Step 7 of some rows from `from` on, with four channels from c on, of one key. What a removed key
 * has is not read. p, rows: those of the thread's rows. */
HK_FN void hk_listed_step(const struct hk_group *g, hk_i64 t, HK_LOCAL const float *p,
                          HK_LOCAL const hk_u32 *rows, const hk_i32 from, const hk_i32 c,
                          struct hk_mine *me)
{
    hk_u32 word[HK_TR_STEP][4];
    float a[HK_TR_STEP];
    hk_i32 r, j;

    HK_UNROLL
    for (r = 0; r < HK_TR_STEP; r++) {
        HK_UNROLL
        for (j = 0; j < 4; j++)
            word[r][j] = 0;
        a[r] = p[from + r];
        if (hk_word(a[r]) != HK_REMOVED)
            hk_listed_value(g, rows[from + r], t, word[r]);
    }
    HK_UNROLL
    for (r = 0; r < HK_TR_STEP; r++) {
        HK_UNROLL
        for (j = 0; j < 4; j++)
            me->o[from + r][c + j] = hk_fma(a[r], hk_float(word[r][j]), me->o[from + r][c + j]);
    }
}

HK_PIECE void hk_listed_values(const struct hk_group *g, hk_i32 id, hk_i32 k0, struct hk_mine *me)
{
    HK_LOCAL const float *p = g->shared->out.p + k0 % HK_GROUP_KEYS * HK_P_LINE + id / 16 * HK_TR;
    HK_LOCAL const hk_u32 *rows = g->shared->in.rows + id / 16 * HK_TR;
    hk_i32 k, r, c;

    HK_MARK(pv);
    HK_NO_UNROLL
    for (k = 0; k < HK_KEYS; k++, p += HK_P_LINE, rows += HK_ROWS) {
        HK_UNROLL
        for (c = 0; c < HK_TC; c += 4) {
            HK_UNROLL
            for (r = 0; r < HK_TR; r += HK_TR_STEP)
                hk_listed_step(g, g->pass + hk_channel(id % 16, c), p, rows, r, c, me);
        }
    }
}
#endif

#endif
