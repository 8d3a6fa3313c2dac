/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: the score of a row and a key becomes its logit: DOT biases, softcap and the
 * other biases (docs/numerics.md steps 3 and 4). A thread reads the rows of a DOT bias's tables by
 * itself: neighbours have neighbouring entries, which caches hold.
 */
#ifndef HEED_BACKENDS_KERNELS_DOT_GROUP_H
#define HEED_BACKENDS_KERNELS_DOT_GROUP_H

#include "stage.h"

#if !HK_PLAIN

/* Channel t of the key at place i. */
HK_FN float hk_k_element(HK_LOCAL const struct hk_shared *shared, hk_i32 i, hk_i64 t)
{
    return hk_row_element(&shared->k_rows, shared->k_at[i] + t * shared->k_rows.channel,
                          shared->k_scale + i % HK_SCALED);
}

/* Row i of a table times the query or, `by_key`, times the key at place n: a chain of its own. */
HK_FN float hk_table_product(const struct hk_group *g, HK_GLOBAL const struct hk_aux *table,
                             const struct hk_place *at, hk_i32 n, hk_i64 i, int by_key)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    const struct hk_matrix m = hk_dot_table(g->call, table, at->b, at->head);
    const hk_i64 q_at = hk_batch_offset(g->call, plan->q.stride, at->b) +
                        at->head * plan->q.stride[3] +
                        (g->task->begin + at->index) * plan->q.stride[4];
    float sum = 0.0f;
    hk_i64 t;

    for (t = 0; t < plan->d; t++) {
        const float x = by_key ? hk_k_element(g->shared, n, t)
                               : hk_element(plan->q.dtype, hk_q(g->call),
                                            q_at + t * plan->q.stride[5]);

        sum = hk_fma(x, hk_element(m.dtype, m.base, i * m.row + t * m.channel), sum);
    }
    return sum;
}

/* y of a row and the key at place n of the block; 0: the key is removed. */
HK_FN int hk_pair_score(const struct hk_group *g, HK_GLOBAL const struct hk_sub *sub, hk_i32 row,
                        hk_i32 n, float s, float *y)
{
    HK_LOCAL const struct hk_shared *shared = g->shared;
    HK_GLOBAL const struct hk_source *source = g->call->sources + shared->source;
    HK_GLOBAL const struct hk_dot *dot = hk_dots(g->call, source);
    const hk_i64 key = shared->keys[n];
    struct hk_place at;
    hk_u32 i;

    at.sub = sub;
    at.b = g->task->b;
    at.len = shared->len;
    at.index = shared->index[row];
    at.head = shared->head[row];
    at.q = shared->q_pos[row];
    for (i = 0; i < source->n_dots; i++, dot++) {
        const hk_i64 entry = hk_lookup_index(g->call, &dot->from, hk_dot_entries(dot), at.b,
                                             hk_lookup_delta(g->call, &dot->from, &at, key));

        if (entry >= 0 && dot->t.slot)
            s = hk_add(s, hk_table_product(g, &dot->t, &at, n, entry, 0));
        if (entry >= 0 && dot->u.slot)
            s = hk_add(s, hk_table_product(g, &dot->u, &at, n, entry, 1));
    }
    return hk_score(g->call, source, &at, key, s, y);
}

#endif

#endif
