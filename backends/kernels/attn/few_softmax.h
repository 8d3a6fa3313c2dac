/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work-groups for few rows: softmax over the blocks of a step, which lie in local memory as scores,
 * then as y, then as weights. References rise block by block; what each asks is found first.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_FEW_SOFTMAX_H
#define HEED_BACKENDS_KERNELS_ATTN_FEW_SOFTMAX_H

#include "few_products.h"

/* Rows of the group, those that are not there at the end of its strip left out. */
HK_FN hk_i32 hk_few_rows(const struct hk_group *g)
{
    return g->shared->few.rows;
}

/* Those whose outputs a thread has. */
HK_FN hk_i32 hk_few_share(hk_i32 rows)
{
    return rows <= HK_ROWS / 2 ? HK_ROWS / 4 : HK_ROWS / 2;
}

/* Block `number` of the step. */
HK_FN struct hk_group hk_few_at(const struct hk_group *g, hk_i32 number)
{
    struct hk_group at = *g;

    at.number = number;
    return at;
}

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

/* Step 5: what block id / HK_ROWS asks of the reference of row id % HK_ROWS. */
HK_FN void hk_few_top(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step)
{
    HK_LOCAL const float *red = g->shared->out.red + id * HK_RED_LINE;
    const int there = id % HK_ROWS < step->rows && id / HK_ROWS * HK_BLOCK < step->keys;
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
    g->shared->few.top[id] =
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
        hk_local_or(&g->shared->few.marks[g->number], HK_MARK_POISON);
}

/* What block id / HK_ROWS does to the sums of row id % HK_ROWS. */
HK_FN void hk_few_raise(const struct hk_group *g, hk_i32 id)
{
    HK_LOCAL struct hk_few_shared *few = &g->shared->few;
    const struct hk_group at = hk_few_at(g, id / HK_ROWS);
    const float m = hk_few_reference(&at, id % HK_ROWS), e = few->top[id];

    few->follow[id] = e > m ? hk_power(hk_sub(m, e)) : 1.0f;
    if (e > m)
        hk_local_or(&few->marks[at.number], HK_MARK_RAISED);
}

/* A row's reference behind the step, which is told when nobody reads the one before it. */
HK_FN void hk_few_risen(const struct hk_group *g, hk_i32 row)
{
    HK_LOCAL struct hk_few_shared *few = &g->shared->few;
    const struct hk_group end = hk_few_at(g, HK_BLOCKS);
    hk_i32 j;

    few->risen[row] = hk_few_reference(&end, row);
    HK_UNROLL
    for (j = 0; j < HK_BLOCKS; j++) {
        if (hk_ordered(few->top[j * HK_ROWS + row]))
            few->joined[row] = 1.0f;
    }
}

/* Steps 5 and 7: a partial sum of a row over the step. */
HK_FN void hk_few_partial(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step,
                          struct hk_mine *me)
{
    HK_LOCAL const struct hk_few_shared *few = &g->shared->few;
    HK_LOCAL const float *p = hk_few_place(g, id / 16, id % 16);
    hk_i32 k, c;

    HK_MARK(softmax);
    HK_NO_UNROLL
    for (k = 0; k < step->keys; k += HK_BLOCK) {
        if (few->marks[k / HK_BLOCK] & HK_MARK_RAISED)
            me->l[0] = hk_mul(me->l[0], few->follow[k / HK_BLOCK * HK_ROWS + id / 16]);
        HK_UNROLL
        for (c = 0; c < 4; c++)
            me->l[0] = hk_add(me->l[0], p[2 * (k + 16 * c)]);
    }
}

/* Of a thread's row those blocks that are its: scores become y or, where `weighs` is 1, weights. */
HK_FN void hk_few_softmax(const struct hk_group *g, hk_i32 id, const struct hk_few_step *step,
                          const int weighs, struct hk_mine *me)
{
    const hk_i32 i = id % HK_LINES;
    hk_i32 j;

    if (i / 16 >= step->rows)
        return;
    HK_NO_UNROLL
    for (j = id / HK_LINES; j * HK_BLOCK < step->keys; j += HK_THREADS / HK_LINES) {
        const struct hk_group at = hk_few_at(g, j), behind = hk_few_at(g, j + 1);

        if (weighs)
            hk_few_weigh(&at, i, hk_few_reference(&behind, i / 16));
        else
            hk_few_take(&at, i, me);
    }
}

#endif
