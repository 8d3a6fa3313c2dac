/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Workgroup kernels: numbers of K and V as they lie in memory, and rows of Q on their way into
 * local memory.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_GROUP_UNITS_H
#define HEED_BACKENDS_KERNELS_ATTN_GROUP_UNITS_H

#include "group.h"

/* ---- a unit: HK_UNIT neighbouring channels of a row, in words as they lie ---- */

/* Channel t, without its scale, of the row that begins `row` elements or blocks from the base. */
HK_FN float hk_row_element(HK_LOCAL const struct hk_matrix *m, hk_i64 row, hk_i64 t)
{
    const hk_i64 at = row + t * m->channel;

#if HK_KV == 1
    return ((HK_GLOBAL const float *)m->base)[at];
#elif HK_KV == 2
    return hk_load_f16((HK_GLOBAL const hk_u16 *)m->base + at);
#elif HK_KV == 3
    return hk_from_bf16(((HK_GLOBAL const hk_u16 *)m->base)[at]);
#elif HK_SCALES
    if (HK_IN_PIECES(m->dtype))
        return hk_element(m->dtype, hk_byte(m->base, row * hk_size(m->dtype)), t);
    return hk_element(m->dtype, m->base, at);
#else
    return hk_element(m->dtype, m->base, at);
#endif
}

#if HK_KV == 0
/* Four neighbours at once, of types that never have scales. There is no way on which words stay as
 * they were, for loops would hand them on in registers. */
HK_FN void hk_load_any(hk_u32 dtype, HK_GLOBAL const char *from, hk_u32 *word)
{
    hk_u32 pairs[2];

    if (dtype == HK_F32) {
        hk_load_words(from, 4, word);
        return;
    }
    hk_load_words(from, 2, pairs);
    if (dtype == HK_F16) {
        word[0] = hk_word(hk_from_f16((hk_u16)pairs[0]));
        word[1] = hk_word(hk_from_f16((hk_u16)(pairs[0] >> 16)));
        word[2] = hk_word(hk_from_f16((hk_u16)pairs[1]));
        word[3] = hk_word(hk_from_f16((hk_u16)(pairs[1] >> 16)));
    } else {
        if (dtype != HK_BF16)
            HK_UNREACHABLE();
        word[0] = pairs[0] << 16;
        word[1] = pairs[0] & 0xffff0000u;
        word[2] = pairs[1] << 16;
        word[3] = pairs[1] & 0xffff0000u;
    }
}

/* d channels of a row of Q, `line` floats apart, before two rows of such a type, four at a time. */
HK_INLINE void hk_two_products(HK_LOCAL const float *q, const hk_i32 line, hk_u32 d,
                               hk_u32 dtype, HK_GLOBAL const char *a, HK_GLOBAL const char *b,
                               float *sum)
{
    const hk_i64 step = 4 * hk_size(dtype);
    hk_u32 left, j;

    HK_UNROLL_FEW
    for (left = d; left != 0; left -= 4, q += 4 * line) {
        hk_u32 x[4], y[4];

        hk_load_any(dtype, a, x);
        hk_load_any(dtype, b, y);
        HK_UNROLL
        for (j = 0; j < 4; j++) {
            sum[0] = hk_fma(q[j * (hk_u32)line], hk_float(x[j]), sum[0]);
            sum[1] = hk_fma(q[j * (hk_u32)line], hk_float(y[j]), sum[1]);
        }
        a = hk_byte(a, step);
        b = hk_byte(b, step);
    }
}
#endif

HK_FN hk_i64 hk_element_bytes(HK_LOCAL const struct hk_matrix *m)
{
    return hk_size(hk_type_of(m->dtype));
}

/* The unit of a matrix, or of rows of a type, that begins there. */
HK_FN void hk_unit_load_as(hk_u32 dtype, HK_GLOBAL const char *from, hk_u32 *word)
{
#if HK_KV == 0
    hk_load_any(dtype, from, word);
#else
    (void)dtype;
    hk_load_words(from, HK_UNIT_WORDS, word);
#endif
}

HK_FN void hk_unit_load(HK_LOCAL const struct hk_matrix *m, HK_GLOBAL const char *from,
                        hk_u32 *word)
{
    hk_unit_load_as(m->dtype, from, word);
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

/* ---- Q, transposed ---- */

/* HK_KEPT channels of Q from t0 on. */
HK_FN void hk_stage_q(const struct hk_group *g, hk_i32 id, hk_i64 t0)
{
    HK_GLOBAL const struct hk_plan *plan = g->call->plan;
    HK_LOCAL struct hk_shared *shared = g->shared;
#if !HK_FEW
    const hk_i64 q_at = hk_batch_offset(g->call, plan->q.stride, g->task->b);
#endif
    hk_i32 i;

    HK_MARK(cold);
    HK_NO_UNROLL
    for (i = id; i < HK_ROWS * HK_KEPT; i += HK_THREADS) {
        const hk_i32 row = i / HK_KEPT, t = i % HK_KEPT;
        float x = 0.0f;
#if HK_FEW
        const hk_i64 q_at = shared->few.q_at[row];
#endif

        if (shared->active[row] && t0 + t < plan->d)
            x = hk_element(plan->q.dtype, hk_q(g->call),
                           q_at + shared->head[row] * plan->q.stride[3] +
                               (g->task->begin + shared->index[row]) * plan->q.stride[4] +
                               (t0 + t) * plan->q.stride[5]);
        shared->q[t * HK_Q_LINE + row] = x;
    }
}

#endif
